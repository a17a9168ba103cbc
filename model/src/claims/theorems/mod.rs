//! What the sources prove or claim: under all assumptions, and with each one dropped.

mod cassandra;
mod cassandra_shadow;
mod chubby;
mod dlm;
mod etcd;
mod etcd_election;
mod etcd_lease_key;
mod objects;
mod redis;
mod zookeeper;
mod zookeeper_inside;

use super::{Assumption, Expected, Judgement, NamedSpace};
use crate::explore::Space;
use crate::system::System;

/// A statement of the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Theorem {
    /// The name it goes by on the command line.
    pub name: &'static str,
    /// What it says.
    pub statement: &'static str,
    /// Where.
    pub source: &'static str,
}

/// The statements, in the order of the source.
pub const THEOREMS: [Theorem; 41] = [
    Theorem {
        name: "lemma-1",
        statement: "of two threads that write a cell each into a row and then read it, one sees both",
        source: "the Cassandra paper, section 5.1, Lemma 1",
    },
    Theorem {
        name: "theorem-1",
        statement: "GetLock never lets two threads hold the lock at once",
        source: "the Cassandra paper, section 5.1, Theorem 1, Listing 6",
    },
    Theorem {
        name: "theorem-2",
        statement: "TryGetLock never lets two threads hold the lock at once",
        source: "the Cassandra paper, section 5.2, Theorem 2, Listing 7",
    },
    Theorem {
        name: "theorem-3",
        statement: "of several threads that call TryGetLock, at least one gets the lock",
        source: "the Cassandra paper, section 5.2, Theorem 3, Listing 7",
    },
    Theorem {
        name: "bounded-overtaking",
        statement: "in the queue of GetLock nobody is passed twice by the same thread",
        source: "the Cassandra paper, section 5, which calls the queue \"not very fair\"; not proved there",
    },
    Theorem {
        name: "progress",
        statement: "whoever calls GetLock gets the lock in the end (the source's \"обязательно возьмет блокировку\")",
        source: "the Cassandra paper, section 3; not proved there",
    },
    Theorem {
        name: "old-lock",
        statement: "Listings 3 and 4 never let two threads hold the lock at once",
        source: "the Cassandra paper, section 4, Listings 3 and 4; not proved there",
    },
    Theorem {
        name: "old-lock-progress",
        statement: "whoever calls GetLock of Listing 4 gets the lock in the end",
        source: "the Cassandra paper, section 3, of the lock of section 4; not proved there, and doubted",
    },
    Theorem {
        name: "redlock",
        statement: "at most one client holds a Redlock lock",
        source: "the Redlock article, guarantees, safety property",
    },
    Theorem {
        name: "min-validity",
        statement: "all keys of a quorum live together until MIN_VALIDITY = TTL - (T2 - T1) - CLOCK_DRIFT is over",
        source: "the Redlock article, safety arguments",
    },
    Theorem {
        name: "liveness-a",
        statement: "whoever waits for a Redlock lock, somebody gets it in the end, also if its holder crashed",
        source: "the Redlock article, guarantees, liveness property A",
    },
    Theorem {
        name: "liveness-b",
        statement: "as long as a majority of the nodes is up, locks are acquired and released",
        source: "the Redlock article, guarantees, liveness property B",
    },
    Theorem {
        name: "readers-writer",
        statement: "whoever writes holds the readers-writer lock on Redis alone, whatever readers there are",
        source: "Redisson, RReadWriteLock (RedissonReadLock.java, RedissonWriteLock.java); not proved there",
    },
    Theorem {
        name: "semaphore",
        statement: "a semaphore of n permits on Redis is held by at most n clients",
        source: "J. Carlson, Redis in Action, sections 6.3 and 11.2.3; not proved there",
    },
    Theorem {
        name: "zookeeper",
        statement: "the five steps never let two clients hold the lock at once",
        source: "the ZooKeeper article, \"Система распределенных блокировок\"; not proved there",
    },
    Theorem {
        name: "zookeeper-fifo",
        statement: "the five steps grant the lock in the order of the sequence numbers",
        source: "the ZooKeeper article, \"Система распределенных блокировок\", steps 1 and 3; not proved there",
    },
    Theorem {
        name: "zookeeper-progress",
        statement: "whoever waits in the queue of the five steps gets the lock in the end",
        source: "the ZooKeeper article, \"Система распределенных блокировок\", steps 4 and 5; not proved there",
    },
    Theorem {
        name: "inside",
        statement: "work inside the ensemble, guarded by a check of the lock's znode, is safe whatever happens to its session",
        source: "the ZooKeeper article, the closing question and its answer: only if the whole flow of data stays inside",
    },
    Theorem {
        name: "etcd",
        statement: "etcd's concurrency.Mutex never lets two clients hold the lock at once",
        source: "the lock-manager article, etcd; client/v3/concurrency/mutex.go; not proved there",
    },
    Theorem {
        name: "etcd-fifo",
        statement: "etcd's concurrency.Mutex grants the lock in the order of the keys' create revisions",
        source: "client/v3/concurrency/mutex.go: \"oldest waiter holds lock\"; not proved there",
    },
    Theorem {
        name: "etcd-progress",
        statement: "whoever waits in the queue of etcd's concurrency.Mutex gets the lock in the end",
        source: "client/v3/concurrency/key.go, waitDeletes; not proved there",
    },
    Theorem {
        name: "etcd-fencing",
        statement: "the create revision of the lock's key is a fencing token",
        source: "client/v3/concurrency/mutex.go, IsOwner and Header; not proved there",
    },
    Theorem {
        name: "election",
        statement: "etcd's concurrency.Election never lets two candidates lead at once",
        source: "the lock-manager article, etcd; client/v3/concurrency/election.go: \"only one can be the leader at a time\"; not proved there",
    },
    Theorem {
        name: "election-fifo",
        statement: "etcd's concurrency.Election elects in the order of the keys' create revisions",
        source: "client/v3/concurrency/election.go, Campaign; not proved there",
    },
    Theorem {
        name: "election-progress",
        statement: "whoever campaigns in etcd's concurrency.Election leads in the end",
        source: "client/v3/concurrency/key.go, waitDeletes; not proved there",
    },
    Theorem {
        name: "election-fencing",
        statement: "the create revision of the leader's key is a fencing token",
        source: "client/v3/concurrency/election.go, Rev; not proved there",
    },
    Theorem {
        name: "lease-key",
        statement: "of those who put one key in etcd if there is none, bound to a lease, at most one holds",
        source: "the exactly-once article, \"CAS\", with a lease; ours",
    },
    Theorem {
        name: "lease-key-progress",
        statement: "whoever waits for the key to be deleted puts it once the others ask no more",
        source: "the exactly-once article, \"CAS\", with a lease; ours",
    },
    Theorem {
        name: "lease-key-fencing",
        statement: "the create revision of the one key is a fencing token",
        source: "the exactly-once article, \"CAS\", with a lease; ours",
    },
    Theorem {
        name: "chubby",
        statement: "whoever hold a lock of a Chubby cell at once share it",
        source: "the lock-manager article, Chubby; M. Burrows, OSDI 2006, sections 2.4, 2.8 and 2.9; not proved there",
    },
    Theorem {
        name: "chubby-fencing",
        statement: "the generation of a Chubby lock, in its sequencer, is a fencing token",
        source: "M. Burrows, OSDI 2006, section 2.4; not proved there",
    },
    Theorem {
        name: "chubby-progress",
        statement: "whoever waits for a lock of a Chubby cell gets it once the others ask no more",
        source: "M. Burrows, OSDI 2006, section 2.6, Acquire; not proved there, and no order is promised",
    },
    Theorem {
        name: "consul",
        statement: "whoever holds Consul's Lock holds it alone",
        source: "hashicorp/consul, api/lock.go: \"It is NOT safe to assume that the lock is held until Unlock()\"; not proved there",
    },
    Theorem {
        name: "consul-fencing",
        statement: "the LockIndex of Consul's key is a fencing token",
        source: "hashicorp/consul, website, Sessions: \"the Key, LockIndex and Session act as a unique sequencer\"; not proved there",
    },
    Theorem {
        name: "variable",
        statement: "a compare-and-set of versions is done as if at one moment, also if it is repeated until it is answered",
        source: "the exactly-once article, \"CAS\"; not proved there, and not true of the answer",
    },
    Theorem {
        name: "transfer",
        statement: "of money that is moved in two half-transactions nothing is lost and nothing comes up twice",
        source: "the exactly-once article, \"Example\"; not proved there",
    },
    Theorem {
        name: "queue",
        statement: "what is pushed into the lock-free queue is at one place, in the order of the pushes, and no place is left empty",
        source: "the exactly-once article, \"Lock-free реализация добавления\"; not proved there",
    },
    Theorem {
        name: "exactly-once",
        statement: "what handlers of a stream put out is what one of them would have put out that does not crash",
        source: "the exactly-once article, the beginning and \"Exactly-once\"; the text ends before its own handler, and ours stands for it",
    },
    Theorem {
        name: "lock-manager",
        statement: "whoever has locks of a lock manager on one resource has them in modes that go together",
        source: "the lock-manager article, \"Режимы блокировки\"; Linux, fs/dlm/lock.c; not proved there",
    },
    Theorem {
        name: "lock-manager-progress",
        statement: "of those who wait for locks of a lock manager, somebody is granted in the end: deadlocks are found and ended",
        source: "the lock-manager article, \"Определение ситуаций взаимной блокировки\"; not proved there",
    },
    Theorem {
        name: "cache",
        statement: "a cache that a lock manager keeps fresh, by blocking ASTs and a number in the value block, shows what was written last",
        source: "the lock-manager article, \"Блок значения блокировки\"; fs/gfs2/glops.c; not proved there",
    },
];

/// A statement under all of its assumptions but the dropped ones, in one space.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Which statement: a name in [`THEOREMS`].
    pub theorem: &'static str,
    /// The space.
    pub space: NamedSpace,
    /// How many threads.
    pub clients: u8,
    /// How many replicas.
    pub servers: u8,
    /// What sets this space apart from others of the same statement and size; may be empty.
    pub variant: &'static str,
    /// Which assumptions are dropped.
    pub dropped: Vec<Assumption>,
    /// By what it is judged.
    pub judgement: Judgement,
    /// What is claimed to come out.
    pub expected: Expected,
    /// Why that is expected.
    pub reason: &'static str,
    /// Whether checking it takes longer than a few seconds.
    pub long: bool,
}

impl Claim {
    /// Of safety in this space, in which these assumptions are dropped already. No variant, no reason; it does not take long.
    pub(super) fn of<Y: System>(
        lock: &'static str,
        theorem: &'static str,
        space: &Space<Y>,
        dropped: &[Assumption],
        expected: Expected,
    ) -> Claim {
        Claim {
            theorem,
            space: NamedSpace::new(lock, space),
            clients: space.setup.workload.clients,
            servers: space.setup.servers,
            variant: "",
            dropped: dropped.to_vec(),
            judgement: Judgement::Safety,
            expected,
            reason: "",
            long: false,
        }
    }

    /// The dropped assumptions as the JSON contract has them: `None`, one name, or several joined by `+`.
    pub fn dropped_names(&self) -> Option<String> {
        let names: Vec<&str> = self.dropped.iter().map(|assumption| assumption.name()).collect();
        (!names.is_empty()).then(|| names.join("+"))
    }
}

/// Every claim about the statements.
pub fn claims() -> Vec<Claim> {
    let mut claims = cassandra::claims();
    claims.extend(cassandra_shadow::claims());
    claims.extend(redis::claims());
    claims.extend(zookeeper::claims());
    claims.extend(zookeeper_inside::claims());
    claims.extend(etcd::claims());
    claims.extend(etcd_election::claims());
    claims.extend(etcd_lease_key::claims());
    claims.extend(chubby::claims());
    claims.extend(objects::claims());
    claims.extend(dlm::claims());
    claims
}
