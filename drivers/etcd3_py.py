"""Python's etcd3 under `picklock try etcd`: takes a lock again and again, and says to the witness when it is in.

    pip install etcd3 'protobuf<4' 'tenacity<7'
    picklock try etcd -- python3 drivers/etcd3_py.py
"""
import os, random, socket, time
import etcd3

lease_ms = int(os.environ["PICKLOCK_LEASE_MS"])
member = random.choice(os.environ["PICKLOCK_ETCD"].split(",")).rsplit(":", 1)
client = etcd3.client(host=member[0], port=int(member[1]), timeout=5)
host, port = os.environ["PICKLOCK_WITNESS"].rsplit(":", 1)
witness = socket.create_connection((host, int(port))).makefile("rw")


def say(line):
    """Says it, and waits until it was heard."""
    print(line, file=witness, flush=True)
    return witness.readline().strip()


while say("want orders") == "ok":
    # Its lease is not kept alive: whoever stays longer calls refresh().
    lock = client.lock("orders", ttl=lease_ms // 1000)
    try:
        if not lock.acquire(timeout=1):
            continue
        say("enter orders")
        time.sleep(lease_ms / 1000 * random.uniform(0.1, 0.4))
        say("write orders")  # this lock has no token that the write could carry
        say("leave orders")
        lock.release()
    except (etcd3.exceptions.Etcd3Exception, AttributeError):
        # The member is away. Where it goes while the lock is watched, the library means to read the events of an error.
        time.sleep(0.05)
