"""kazoo's ReadLock and WriteLock under `picklock try zookeeper`: B reads, all others write, again and again.

    pip install kazoo
    picklock try zookeeper --clients 3 -- python3 drivers/kazoo_readers_writer.py
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
    # There is one reader: nobody else may be in while anybody is.
    lock = zk.ReadLock("/orders") if os.environ["PICKLOCK_CLIENT"] == "B" else zk.WriteLock("/orders")
    try:
        lock.acquire()
        say("enter orders")
        time.sleep(lease_ms / 1000 * random.uniform(0.02, 0.07))
        say("leave orders")
        lock.release()
    except KazooException:
        time.sleep(0.05)  # the servers are away, or the session is over
