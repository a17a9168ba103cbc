"""A lock by lightweight transactions under `picklock try cassandra`, with DataStax's driver: takes it again and again, and says to
the witness when it is in. Its lease is the row's time to live.

    pip install cassandra-driver
    picklock try cassandra -- python3 drivers/cassandra_lwt.py
"""
import os, random, socket, time, uuid
from cassandra import ConsistencyLevel, DriverException, OperationTimedOut, RequestExecutionException
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.connection import DefaultEndPoint
from cassandra.policies import RoundRobinPolicy

lease_s = int(os.environ["PICKLOCK_LEASE_MS"]) // 1000
servers = [address.rsplit(":", 1) for address in os.environ["PICKLOCK_CASSANDRA"].split(",")]
quorum = ExecutionProfile(RoundRobinPolicy(), consistency_level=ConsistencyLevel.QUORUM, request_timeout=3)
cluster = Cluster([DefaultEndPoint(host, int(port)) for host, port in servers], protocol_version=4,
                  execution_profiles={EXEC_PROFILE_DEFAULT: quorum})
session = cluster.connect()
session.execute("CREATE KEYSPACE IF NOT EXISTS locks WITH replication = "
                f"{{'class': 'SimpleStrategy', 'replication_factor': {len(servers)}}}")
session.execute("CREATE TABLE IF NOT EXISTS locks.held (name text PRIMARY KEY, owner uuid)")
take = session.prepare("INSERT INTO locks.held (name, owner) VALUES (?, ?) IF NOT EXISTS USING TTL ?")
give = session.prepare("DELETE FROM locks.held WHERE name = ? IF owner = ?")
host, port = os.environ["PICKLOCK_WITNESS"].rsplit(":", 1)
witness = socket.create_connection((host, int(port))).makefile("rw")


def say(line):
    """Says it, and waits until it was heard."""
    print(line, file=witness, flush=True)
    return witness.readline().strip()


while say("want orders") == "ok":
    me = uuid.uuid4()
    try:
        asked = time.monotonic()
        if not session.execute(take, ("orders", me, lease_s)).was_applied:
            time.sleep(0.05)
            continue
        say("enter orders")
        # A row that is to live for n seconds is gone after more than n - 1: servers count in whole seconds.
        until = asked + (lease_s - 1) * random.uniform(0.1, 0.8)  # well within the lease, if nothing stops it
        while time.monotonic() < until:
            time.sleep(0.01)
        say("write orders")
        say("leave orders")
        session.execute(give, ("orders", me))
    except (DriverException, NoHostAvailable, OperationTimedOut, RequestExecutionException):
        time.sleep(0.05)  # nobody knows whether it was taken: if it was, it ends with its lease
