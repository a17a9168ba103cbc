"""redlock-py under `picklock try`: takes a lock again and again, and says to the witness when it is in.

    pip install redlock-py
    picklock try -- python3 drivers/redlock_py.py
"""
import os, random, socket, time
from redlock import Redlock

lease_ms = int(os.environ["PICKLOCK_LEASE_MS"])
servers = [address.rsplit(":", 1) for address in os.environ["PICKLOCK_REDIS"].split(",")]
patience = int(os.environ.get("PATIENCE_MS", 100)) / 1000 or None  # of a server's answer; 0: without an end
servers = [{"host": host, "port": int(port), "db": 0, "socket_timeout": patience} for host, port in servers]
redlock = Redlock(servers, retry_count=1)
host, port = os.environ["PICKLOCK_WITNESS"].rsplit(":", 1)
witness = socket.create_connection((host, int(port))).makefile("rw")


def say(line):
    """Says it, and waits until it was heard."""
    print(line, file=witness, flush=True)
    return witness.readline().strip()


while say("want orders") == "ok":
    lock = redlock.lock("orders", lease_ms)
    if not lock:
        time.sleep(random.uniform(0, 0.02))
        continue
    say("enter orders")
    time.sleep(lease_ms / 1000 * random.uniform(0.1, 0.4))
    say("write orders")  # this library has no token that the write could carry
    say("leave orders")
    redlock.unlock(lock)
