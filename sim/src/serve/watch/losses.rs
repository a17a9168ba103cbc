//! What clients of a trial have put into the servers, and how it went without their doing: a session or a lease was over, or somebody else
//! took it away.
//!
//! Known is what the servers were asked and what it came to, in their order: what a client puts is its own until somebody else
//! puts something in its place. Redis's locks are followed more closely ([`super::claims`]).

use super::claims::{How, Owner};
use super::record::LinkId;
use bytes::Bytes;
use picklock_model::time::Micros;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

/// How many keys and leases are followed (of more, the first by name are forgotten), and how many ends are remembered: the last ones.
const KEYS_MAX: usize = 10_000;
const ENDS_MAX: usize = 10_000;

/// Something is gone that was a client's, and the client has not asked for that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// The client of a trial whose it was.
    pub whose: u8,
    /// The server that said so.
    pub server: u8,
    pub at: Micros,
    pub cause: Cause,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A server had not heard from the client for too long, and ended its session.
    SessionOver,
    /// Nobody had prolonged its lease.
    LeaseOver,
    /// Somebody else took away what the client had put there at this time.
    Taken { by: Owner, how: How, key: Bytes, put: Micros },
}

/// Who has put a key there.
#[derive(Clone, Copy, Debug)]
struct Put {
    client: u8,
    at: Micros,
    /// What it goes with; 0: nothing.
    lease: i64,
}

/// What is known of keys and leases.
#[derive(Debug, Default)]
pub struct Losses {
    keys: BTreeMap<Bytes, Put>,
    leases: BTreeMap<i64, u8>,
    /// The newest connection when the process of a client ended last: those until then were not the next one's.
    before: BTreeMap<u8, LinkId>,
    past: VecDeque<Loss>,
}

impl Losses {
    /// A server has put this where nothing was.
    pub fn created(&mut self, at: Micros, key: &Bytes, by: Owner, lease: i64) {
        match by.client {
            None => {
                self.keys.remove(key);
            }
            Some(client) => {
                if self.keys.len() >= KEYS_MAX {
                    self.keys.pop_first();
                }
                self.keys.insert(Bytes::copy_from_slice(key), Put { client, at, lease });
            }
        }
    }

    /// A server has put this there, for a client or for somebody else, whatever was there.
    pub fn put(&mut self, at: Micros, server: u8, key: &Bytes, by: Owner, lease: i64) {
        self.taken(at, server, key, by, How::Overwritten);
        self.created(at, key, by, lease);
    }

    /// A server has deleted this at somebody's wish.
    pub fn deleted(&mut self, at: Micros, server: u8, key: &Bytes, by: Owner) {
        self.taken(at, server, key, by, How::Deleted);
    }

    /// A server has deleted all from this key on, up to another one that stays; `None`: to the last.
    pub fn deleted_range(&mut self, at: Micros, server: u8, first: &Bytes, end: Option<&Bytes>, by: Owner) {
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        if matches!(end, Bound::Excluded(end) if end <= first) {
            return;
        }
        let range = (Bound::Included(first), end);
        let keys: Vec<Bytes> = self.keys.range::<Bytes, _>(range).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| self.deleted(at, server, key, by));
    }

    /// A server has given a client this lease.
    pub fn granted(&mut self, lease: i64, to: Owner) {
        if let Some(client) = to.client {
            if self.leases.len() >= KEYS_MAX {
                self.leases.pop_first();
            }
            self.leases.insert(lease, client);
        }
    }

    /// A lease is over, and nobody has asked for that.
    pub fn lease_over(&mut self, at: Micros, server: u8, lease: i64) {
        self.keys.retain(|_, put| put.lease != lease);
        if let Some(whose) = self.leases.remove(&lease) {
            self.add(Loss { whose, server, at, cause: Cause::LeaseOver });
        }
    }

    /// A lease is over, and its keys with it, because somebody has asked for that.
    pub fn revoked(&mut self, at: Micros, server: u8, lease: i64, by: Owner) {
        self.leases.remove(&lease);
        let of_lease = self.keys.iter().filter(|(_, put)| put.lease == lease);
        let keys: Vec<Bytes> = of_lease.map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| self.deleted(at, server, key, by));
    }

    /// A session of a client is over, and with it what went with it: so much as can be told, all that was the client's.
    pub fn session_ended(&mut self, client: u8) {
        self.keys.retain(|_, put| put.client != client);
    }

    /// A server has ended the session of a client of which it had not heard for too long.
    pub fn session_over(&mut self, at: Micros, server: u8, whose: u8, link: LinkId) {
        if self.before.get(&whose).is_some_and(|before| link <= *before) {
            return;
        }
        self.add(Loss { whose, server, at, cause: Cause::SessionOver });
    }

    /// The process of a client has ended, and so has all that it believed. `last`: the newest connection.
    pub fn ended(&mut self, client: u8, last: LinkId) {
        self.keys.retain(|_, put| put.client != client);
        self.leases.retain(|_, whose| *whose != client);
        self.before.insert(client, last);
    }

    /// What was a client's and is gone since then, the first first.
    pub fn of(&self, client: u8, since: Micros) -> impl Iterator<Item = &Loss> {
        let counts = move |loss: &&Loss| {
            let began = match loss.cause {
                Cause::Taken { put, .. } => put,
                Cause::SessionOver | Cause::LeaseOver => loss.at,
            };
            loss.whose == client && began >= since
        };
        self.past.iter().filter(counts)
    }

    fn taken(&mut self, at: Micros, server: u8, key: &Bytes, by: Owner, how: How) {
        if let Some(Put { client: whose, at: put, .. }) = self.keys.remove(key)
            && by.client != Some(whose)
        {
            self.add(Loss { whose, server, at, cause: Cause::Taken { by, how, key: key.clone(), put } });
        }
    }

    fn add(&mut self, loss: Loss) {
        if self.past.len() >= ENDS_MAX {
            self.past.pop_front();
        }
        self.past.push_back(loss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: u8) -> Owner {
        Owner { link: 0, client: Some(number) }
    }

    const ONE: Bytes = Bytes::from_static(b"lock/1");
    const TWO: Bytes = Bytes::from_static(b"lock/2");
    const END: Bytes = Bytes::from_static(b"lock0");

    #[test]
    fn what_another_one_takes_away_is_a_loss_and_what_a_client_gives_up_is_none() {
        let mut losses = Losses::default();
        losses.put(Micros(10), 0, &ONE, client(0), 0);
        losses.deleted(Micros(20), 0, &ONE, client(0));
        losses.deleted(Micros(21), 0, &ONE, client(1));
        assert_eq!(losses.of(0, Micros(0)).count(), 0, "it was not there any more");
        losses.put(Micros(30), 0, &ONE, client(0), 0);
        losses.put(Micros(31), 0, &TWO, client(0), 0);
        losses.deleted_range(Micros(40), 1, &ONE, Some(&END), client(1));
        losses.put(Micros(50), 0, &ONE, client(0), 0);
        losses.put(Micros(60), 0, &ONE, client(1), 0);
        let seen: Vec<(i64, Option<How>)> = losses
            .of(0, Micros(0))
            .map(|loss| match &loss.cause {
                Cause::Taken { how, .. } => (loss.at.0, Some(*how)),
                Cause::SessionOver | Cause::LeaseOver => (loss.at.0, None),
            })
            .collect();
        assert_eq!(seen, [(40, Some(How::Deleted)), (40, Some(How::Deleted)), (60, Some(How::Overwritten))]);
        assert_eq!(losses.of(0, Micros(31)).count(), 2, "one was put there before");
        // A range that ends before it begins has nothing in it.
        losses.deleted_range(Micros(70), 1, &END, Some(&ONE), client(0));
        assert_eq!(losses.of(1, Micros(0)).count(), 0);
    }

    #[test]
    fn a_lease_that_nobody_prolongs_is_lost_once_and_one_that_is_revoked_is_not() {
        let mut losses = Losses::default();
        losses.granted(7, client(0));
        losses.granted(8, client(0));
        losses.put(Micros(10), 0, &ONE, client(0), 7);
        losses.put(Micros(10), 0, &TWO, client(0), 8);
        losses.revoked(Micros(15), 0, 8, client(0));
        for lease in [7, 7, 8] {
            losses.lease_over(Micros(20), 0, lease);
        }
        assert_eq!(
            losses.of(0, Micros(0)).map(|loss| loss.cause.clone()).collect::<Vec<_>>(),
            [Cause::LeaseOver]
        );
        // What went with its lease is nobody's to overwrite, and what goes with one that another client revokes is taken away.
        losses.put(Micros(30), 0, &ONE, client(1), 9);
        losses.revoked(Micros(40), 0, 9, client(0));
        assert_eq!((losses.of(0, Micros(0)).count(), losses.of(1, Micros(0)).count()), (1, 1));
    }
}
