"""pottery's Redlock under `picklock try`: takes a lock again and again, and says to the witness when it is in.

    pip install pottery
    picklock try -- python3 drivers/pottery_redlock.py
"""
import os, random, socket, time
import redis
from pottery import Redlock
from pottery.exceptions import PotteryError

lease_ms = int(os.environ["PICKLOCK_LEASE_MS"])
servers = [address.rsplit(":", 1) for address in os.environ["PICKLOCK_REDIS"].split(",")]
patience = int(os.environ.get("PATIENCE_MS", 100)) / 1000 or None  # of a server's answer; 0: without an end
masters = {redis.Redis(host=host, port=int(port), socket_timeout=patience) for host, port in servers}
host, port = os.environ["PICKLOCK_WITNESS"].rsplit(":", 1)
witness = socket.create_connection((host, int(port))).makefile("rw")


def say(line):
    """Says it, and waits until it was heard."""
    print(line, file=witness, flush=True)
    return witness.readline().strip()


while say("want orders") == "ok":
    lock = Redlock(key="orders", masters=masters, auto_release_time=lease_ms / 1000)
    if not lock.acquire(blocking=False):
        time.sleep(random.uniform(0, 0.02))
        continue
    say("enter orders")
    time.sleep(lease_ms / 1000 * random.uniform(0.1, 0.4))
    say("write orders")  # this library has no token that the write could carry
    say("leave orders")
    try:
        lock.release()
    except PotteryError:
        pass  # it was not ours any more
