"""kazoo's Lock under `picklock try zookeeper`: takes a lock again and again, and says to the witness when it is in.

    pip install kazoo
    picklock try zookeeper -- python3 drivers/kazoo_lock.py
"""
import os, random, socket, time
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

lease_ms = int(os.environ["PICKLOCK_LEASE_MS"])
zk = KazooClient(hosts=os.environ["PICKLOCK_ZOOKEEPER"], timeout=lease_ms / 1000)
zk.start()
host, port = os.environ["PICKLOCK_WITNESS"].rsplit(":", 1)
witness = socket.create_connection((host, int(port))).makefile("rw")


def say(line):
    """Says it, and waits until it was heard."""
    print(line, file=witness, flush=True)
    return witness.readline().strip()


while say("want orders") == "ok":
    lock = zk.Lock("/orders")
    try:
        lock.acquire(timeout=5)
        token = int(lock.node[-10:])  # the number of its znode: later ones are larger
        say(f"enter orders {token}")
        until = time.monotonic() + lease_ms / 1000 * random.uniform(0.1, 1.5)
        while zk.connected and time.monotonic() < until:
            time.sleep(0.01)
        if zk.connected:
            say(f"write orders {token}")
        say("leave orders" if zk.connected else "lost orders")
        lock.release()
    except KazooException:
        time.sleep(0.05)  # the servers are away, or the session is over
