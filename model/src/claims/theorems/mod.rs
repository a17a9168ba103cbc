//! What the sources prove or claim: under all assumptions, and with each one dropped.

mod cassandra;
mod cassandra_shadow;
mod etcd;
mod redis;
mod zookeeper;
mod zookeeper_inside;

use super::{Assumption, Expected, Judgement, NamedSpace};

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
pub const THEOREMS: [Theorem; 19] = [
    Theorem {
        name: "lemma-1",
        statement: "of two threads that write a cell each into a row and then read it, one sees both",
        source: "document 000, section 5.1, Lemma 1",
    },
    Theorem {
        name: "theorem-1",
        statement: "GetLock never lets two threads hold the lock at once",
        source: "document 000, section 5.1, Theorem 1, Listing 6",
    },
    Theorem {
        name: "theorem-2",
        statement: "TryGetLock never lets two threads hold the lock at once",
        source: "document 000, section 5.2, Theorem 2, Listing 7",
    },
    Theorem {
        name: "theorem-3",
        statement: "of several threads that call TryGetLock, at least one gets the lock",
        source: "document 000, section 5.2, Theorem 3, Listing 7",
    },
    Theorem {
        name: "progress",
        statement: "whoever calls GetLock gets the lock in the end (the source's \"обязательно возьмет блокировку\")",
        source: "document 000, section 3; not proved there",
    },
    Theorem {
        name: "old-lock",
        statement: "Listings 3 and 4 never let two threads hold the lock at once",
        source: "document 000, section 4, Listings 3 and 4; not proved there",
    },
    Theorem {
        name: "old-lock-progress",
        statement: "whoever calls GetLock of Listing 4 gets the lock in the end",
        source: "document 000, section 3, of the lock of section 4; not proved there, and doubted",
    },
    Theorem {
        name: "redlock",
        statement: "at most one client holds a Redlock lock",
        source: "document 001, guarantees, safety property",
    },
    Theorem {
        name: "min-validity",
        statement: "all keys of a quorum live together until MIN_VALIDITY = TTL - (T2 - T1) - CLOCK_DRIFT is over",
        source: "document 001, safety arguments",
    },
    Theorem {
        name: "liveness-a",
        statement: "whoever waits for a Redlock lock, somebody gets it in the end, also if its holder crashed",
        source: "document 001, guarantees, liveness property A",
    },
    Theorem {
        name: "liveness-b",
        statement: "as long as a majority of the nodes is up, locks are acquired and released",
        source: "document 001, guarantees, liveness property B",
    },
    Theorem {
        name: "zookeeper",
        statement: "the five steps never let two clients hold the lock at once",
        source: "document 003, \"Система распределенных блокировок\"; not proved there",
    },
    Theorem {
        name: "zookeeper-fifo",
        statement: "the five steps grant the lock in the order of the sequence numbers",
        source: "document 003, \"Система распределенных блокировок\", steps 1 and 3; not proved there",
    },
    Theorem {
        name: "zookeeper-progress",
        statement: "whoever waits in the queue of the five steps gets the lock in the end",
        source: "document 003, \"Система распределенных блокировок\", steps 4 and 5; not proved there",
    },
    Theorem {
        name: "inside",
        statement: "work inside the ensemble, guarded by a check of the lock's znode, is safe whatever happens to its session",
        source: "document 003, the closing question and its answer: only if the whole flow of data stays inside",
    },
    Theorem {
        name: "etcd",
        statement: "etcd's concurrency.Mutex never lets two clients hold the lock at once",
        source: "document 004, etcd; client/v3/concurrency/mutex.go; not proved there",
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
    claims
}
