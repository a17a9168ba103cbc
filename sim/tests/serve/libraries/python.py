"""Takes, extends and gives back a lock with each Python library, on the server at a port: python.py PORT.

Needs: pip install redis redlock-py pottery python-redis-lock aioredlock (the last one up to Python 3.11). One line per library: what
went as it should, or what did not.
"""

import asyncio
import importlib.metadata
import sys
import threading
import time

import redis

PORT = int(sys.argv[1])
URL = f"redis://127.0.0.1:{PORT}/"


def attempt(name, package, check):
    version = importlib.metadata.version(package)
    try:
        print(f"{name} {version}: {check()}")
    except Exception as error:  # noqa: BLE001: whatever it is, it is the result
        print(f"{name} {version}: FAILED {type(error).__name__}: {error}")


def expect(**claims):
    wrong = [name for name, holds in claims.items() if not holds]
    if wrong:
        raise AssertionError(f"not so: {', '.join(wrong)}")
    return "ok: " + ", ".join(claims)


def redis_py():
    client = redis.Redis(port=PORT)
    client.flushall()
    lock = client.lock("py", timeout=10)
    other = client.lock("py", timeout=10, blocking=False)
    acquired = lock.acquire()
    refused = not other.acquire()
    extended = lock.extend(20) and client.pttl("py") > 20_000
    replaced = lock.extend(5, replace_ttl=True) and client.pttl("py") <= 5_000
    reacquired = lock.reacquire()
    lock.release()
    try:
        lock.release()
        twice = False
    except redis.exceptions.LockError:
        twice = True
    pipeline = client.pipeline()
    pipeline.set("a", 1).incr("a")
    piped = pipeline.execute() == [True, 2]
    watched = client.transaction(lambda pipe: pipe.multi() or pipe.set("a", 5), "a") == [True]
    third = redis.Redis(port=PORT, db=3).ping()
    return expect(
        acquire=acquired, refuse=refused, extend=extended, replace_ttl=replaced, reacquire=reacquired,
        release_once=twice, pipeline=piped, watch=watched, database_3=third, released=not client.exists("py"),
    )


def redis_py_pubsub():
    client = redis.Redis(port=PORT)
    listener = client.pubsub()
    listener.subscribe("channel")
    listener.get_message(timeout=2)
    reached = client.publish("channel", "hello") == 1
    message = listener.get_message(timeout=2)
    client.delete("list")
    threading.Timer(0.2, lambda: redis.Redis(port=PORT).rpush("list", "x")).start()
    popped = client.blpop(["list"], timeout=3)
    # The newest say a list, the others a pair.
    return expect(publish=reached, message=message["data"] == b"hello", blpop=popped is not None and list(popped) == [b"list", b"x"])


def redlock_py():
    import redlock

    redis.Redis(port=PORT).flushall()
    manager = redlock.Redlock([{"host": "127.0.0.1", "port": PORT, "db": 0}])
    lock = manager.lock("rl", 10_000)
    refused = redlock.Redlock([redis.Redis(port=PORT)], retry_count=1).lock("rl", 1_000)
    manager.unlock(lock)
    return expect(acquire=bool(lock), refuse=refused is False, release=not redis.Redis(port=PORT).exists("rl"))


def pottery():
    from pottery import Redlock, RedisDict

    client = redis.Redis(port=PORT)
    client.flushall()
    lock = Redlock(key="pot", masters={client}, auto_release_time=5)
    acquired = lock.acquire(blocking=False)
    locked = lock.locked() > 0
    lock.extend()
    refused = not Redlock(key="pot", masters={client}, auto_release_time=5).acquire(blocking=False)
    lock.release()
    table = RedisDict({"a": 1}, redis=client, key="dict")
    return expect(acquire=acquired, locked=locked, refuse=refused, release=not lock.locked(), dict=table["a"] == 1)


def python_redis_lock():
    import redis_lock

    client = redis.Redis(port=PORT)
    redis_lock.reset_all(client)
    lock = redis_lock.Lock(client, "prl", expire=5, auto_renewal=True)
    acquired = lock.acquire()
    refused = not redis_lock.Lock(client, "prl").acquire(blocking=False)
    time.sleep(4)
    renewed = client.ttl("lock:prl") >= 2
    lock.extend(20)
    extended = client.ttl("lock:prl") > 10
    waits = redis_lock.Lock(client, "prl", expire=5)
    threading.Timer(0.3, lock.release).start()
    waited = waits.acquire(timeout=3)
    waits.release()
    return expect(acquire=acquired, refuse=refused, renewal=renewed, extend=extended, blocking=waited)


async def of_aioredlock():
    from aioredlock import Aioredlock, LockError

    client = redis.Redis(port=PORT)
    client.flushall()
    one, other = (Aioredlock([("127.0.0.1", PORT)], retry_count=1) for _ in range(2))
    lock = await one.lock("air", lock_timeout=5)
    acquired = lock.valid and 4_000 < client.pttl("air") <= 5_000
    try:
        await other.lock("air", lock_timeout=5)
        refused = False
    except LockError:
        refused = True
    await one.extend(lock, 20)
    extended = client.pttl("air") > 15_000
    seen = await other.is_locked("air")
    await one.unlock(lock)
    released = not client.exists("air")
    await one.destroy()
    await other.destroy()
    return expect(acquire=acquired, refuse=refused, extend=extended, is_locked=seen, release=released)


def aioredlock():
    return asyncio.run(of_aioredlock())


attempt("redis-py Lock", "redis", redis_py)
attempt("redis-py publish, BLPOP", "redis", redis_py_pubsub)
attempt("redlock-py", "redlock-py", redlock_py)
attempt("pottery", "pottery", pottery)
attempt("python-redis-lock", "python-redis-lock", python_redis_lock)
attempt("aioredlock", "aioredlock", aioredlock)
