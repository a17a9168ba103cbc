"""kazoo's own tests of its recipes (kazoo/tests, in the package) against a ZooKeeper that runs already, simulated or real.

    pip install "kazoo[test]"
    picklock serve zookeeper --servers 3 --listen 127.0.0.1:7381 &
    tests=$(python3 -c 'import kazoo.tests; print(kazoo.tests.__path__[0])')
    ZOOKEEPER=127.0.0.1:7381,127.0.0.1:7382,127.0.0.1:7383 PYTHONPATH=drivers/kazoo_tests \
        python3 -m pytest -q -p served -p no:cacheprovider $tests/test_lock.py

The harness of these tests starts a cluster of Java servers for itself, and stops it. Here it gets one that is only an address
for each server. Everything else is kazoo's: a root of its own for each test, clients, lost connections and expired sessions,
for which kazoo breaks its own connection. Tests that stop one server of the cluster fail (`test_client.py` and
`test_connection.py` have some); those of the recipes do not.
"""
import os

# Some tests ask for the version with a word of four letters, unless they are told it so.
os.environ.setdefault("CI", "yes")
os.environ.setdefault("ZOOKEEPER_VERSION", "3.8.0")
import kazoo.testing.harness


class Server:
    """One that is always there."""

    running = True

    def __init__(self, address):
        self.address = address


class Cluster(list):
    """What the harness looks at: the servers, and whether they run."""

    def start(self):
        raise RuntimeError("the servers do not answer: start them, and say where they are in ZOOKEEPER")

    def terminate(self):
        pass  # whoever started them ends them

    def get_logs(self):
        return []


served = Cluster(Server(address) for address in os.environ["ZOOKEEPER"].split(","))
kazoo.testing.harness.get_global_cluster = lambda: served
