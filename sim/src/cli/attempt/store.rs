//! The stores that clients are tried on, and what is usual with each.

use crate::cli::BadCall;
use crate::cli::serve::{LEASE_MAX_MS, in_range};
use clap::ValueEnum;
use std::net::SocketAddr;

/// What clients are tried on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Store {
    /// Masters that know nothing of each other
    Redis,
    /// Members that elect a leader, behind version 3 of etcd's API
    Etcd,
    /// Servers that elect a leader, behind ZooKeeper's client protocol
    #[value(name = "zookeeper")]
    ZooKeeper,
    /// Servers each of which has everything, behind CQL
    Cassandra,
}

/// What holds where the call says nothing else.
pub struct Usual {
    pub servers: u64,
    pub lease_ms: u64,
    pub round_s: u64,
    pub faults: &'static str,
}

/// A round is long enough for a few leases to be taken, one to pass on, and its holder to come back.
const REDIS: Usual = Usual { servers: 5, lease_ms: 1_000, round_s: 8, faults: "pause,clock,power-loss" };
/// A wall clock that jumps, or a loss of power, takes nothing from those whose clocks are monotonic, and who write first.
const ENSEMBLE: Usual =
    Usual { servers: 3, lease_ms: 2_000, round_s: 12, faults: "pause,partition,crash,reset" };

/// Its leases are whole seconds, by the wall clocks of its servers.
const CASSANDRA: Usual =
    Usual { servers: 3, lease_ms: 2_000, round_s: 12, faults: "pause,partition,crash,clock" };

const SERVERS_MAX: u64 = 16;
/// What etcd grants at least, with its defaults: one and a half elections, in whole seconds.
const ETCD_LEASE_MIN_MS: u64 = 2_000;

impl Store {
    pub fn usual(self) -> Usual {
        match self {
            Store::Redis => REDIS,
            Store::Etcd | Store::ZooKeeper => ENSEMBLE,
            Store::Cassandra => CASSANDRA,
        }
    }

    /// What a call begins with that is about this store: `try` alone is about Redis.
    pub fn call(self) -> &'static str {
        match self {
            Store::Redis => "try",
            Store::Etcd => "try etcd",
            Store::ZooKeeper => "try zookeeper",
            Store::Cassandra => "try cassandra",
        }
    }

    /// Where clients find the addresses of the servers.
    pub fn variable(self) -> &'static str {
        match self {
            Store::Redis => "PICKLOCK_REDIS",
            Store::Etcd => "PICKLOCK_ETCD",
            Store::ZooKeeper => "PICKLOCK_ZOOKEEPER",
            Store::Cassandra => "PICKLOCK_CASSANDRA",
        }
    }

    /// Whether servers know whom they have given a lock to: then theirs is the verdict where no client says anything.
    pub fn servers_judge(self) -> bool {
        self == Store::Redis
    }

    pub fn servers(self, asked: Option<u64>) -> Result<u8, BadCall> {
        let count = asked.unwrap_or(self.usual().servers);
        match (self, count) {
            (Store::Redis | Store::Cassandra, _) => {
                in_range("servers", count, SERVERS_MAX).map(|count| count as u8)
            }
            (Store::Etcd | Store::ZooKeeper, 1 | 3 | 5) => Ok(count as u8),
            (Store::Etcd | Store::ZooKeeper, _) => {
                Err(BadCall(format!("--servers {count}: it takes 1, 3 or 5")))
            }
        }
    }

    pub fn lease_ms(self, asked: Option<u64>) -> Result<u64, BadCall> {
        let lease = in_range("lease", asked.unwrap_or(self.usual().lease_ms), LEASE_MAX_MS)?;
        let is_whole = lease.is_multiple_of(1_000) && lease >= ETCD_LEASE_MIN_MS;
        if self == Store::Etcd && !is_whole {
            let what = "an etcd counts leases in whole seconds, and grants two at least";
            return Err(BadCall(format!("--lease {lease}: {what}, as in --lease 2000")));
        }
        if self == Store::Cassandra && !lease.is_multiple_of(1_000) {
            let what = "a Cassandra counts leases in whole seconds";
            return Err(BadCall(format!("--lease {lease}: {what}, as in --lease 2000")));
        }
        Ok(lease)
    }
}

/// Addresses as the members of an etcd tell theirs.
pub fn urls(addresses: &[SocketAddr]) -> Vec<String> {
    addresses.iter().map(|address| format!("http://{address}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usual_with_a_store_is_what_it_takes() {
        for store in [Store::Redis, Store::Etcd, Store::ZooKeeper, Store::Cassandra] {
            assert_eq!(store.servers(None).map(u64::from).ok(), Some(store.usual().servers));
            assert_eq!(store.lease_ms(None).ok(), Some(store.usual().lease_ms));
            assert!(crate::cli::names::faults(store.usual().faults).is_ok_and(|kinds| !kinds.is_empty()));
        }
    }

    #[test]
    fn an_ensemble_is_odd_and_etcd_counts_in_seconds() {
        let refused = |refused: Result<u64, BadCall>| refused.err().map(|BadCall(why)| why);
        let even = Store::ZooKeeper.servers(Some(2)).map(u64::from);
        assert_eq!(refused(even).as_deref(), Some("--servers 2: it takes 1, 3 or 5"));
        for lease in [1_000, 2_500] {
            let why = refused(Store::Etcd.lease_ms(Some(lease))).unwrap_or_default();
            assert!(why.contains("whole seconds"), "{lease}: {why}");
        }
        assert_eq!(Store::ZooKeeper.lease_ms(Some(2_500)).ok(), Some(2_500));
    }
}
