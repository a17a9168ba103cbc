"""python-redis-lock under `picklock try`: takes a lock again and again, and says to the witness when it is in.

    pip install python-redis-lock
    picklock try --servers 1 -- python3 drivers/python_redis_lock.py
"""
import os, random, socket, time
import redis, redis_lock

lease_ms = int(os.environ["PICKLOCK_LEASE_MS"])
host, port = os.environ["PICKLOCK_REDIS"].split(",")[0].rsplit(":", 1)
client = redis.StrictRedis(host=host, port=int(port))
host, port = os.environ["PICKLOCK_WITNESS"].rsplit(":", 1)
witness = socket.create_connection((host, int(port))).makefile("rw")


def say(line):
    """Says it, and waits until it was heard."""
    print(line, file=witness, flush=True)
    return witness.readline().strip()


while say("want orders") == "ok":
    lock = redis_lock.Lock(client, "orders", expire=max(1, lease_ms // 1000))  # in whole seconds
    try:
        if not lock.acquire(blocking=False):
            time.sleep(random.uniform(0, 0.02))
            continue
        say("enter orders")
        time.sleep(lease_ms / 1000 * random.uniform(0.1, 0.4))
        say("write orders")  # this library has no token that the write could carry
        say("leave orders")
        lock.release()
    except (redis.exceptions.RedisError, redis_lock.NotAcquired):
        time.sleep(0.05)  # the server is away, or the lock was somebody else's when it was given back
