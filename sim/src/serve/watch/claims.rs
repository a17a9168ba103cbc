//! Who holds what, as far as the servers can know: derived from what they were asked, and what they answered.
//!
//! A *claim* is a lock's key with a value that somebody has put there. It is *handed out* when so many servers have said so
//! to whoever asked as make the lock theirs: one, or a majority of servers that know nothing of each other (Redlock). From
//! then on it is its owner's, until its life is over, counted from the first request, less what Redlock takes off for clocks (a
//! hundredth, and 2 ms: the Redlock article, the algorithm, step 3), or until the owner asks for its end.
//!
//! Two claims of one lock that are handed out at once are two leases for one lock. Whether two clients believed that they hold
//! it, no server knows: that is for clients to say ([`super::witness`]).

use super::record::LinkId;
use bytes::Bytes;
use picklock_model::time::Micros;
use std::collections::{BTreeMap, VecDeque};

/// How many locks are followed, and how many claims of each: older ones are over for long.
const LOCKS_MAX: usize = 10_000;
const CLAIMS_MAX: usize = 16;

/// Who asks: a connection, and the client of a trial behind it, if there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Owner {
    pub link: LinkId,
    pub client: Option<u8>,
}

/// A claim on one server.
#[derive(Clone, Debug)]
struct There {
    /// Since when.
    ran: Micros,
    /// Its owner was told.
    told: bool,
    gone: Option<Micros>,
}

/// What somebody else has done to what is a client's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    Deleted,
    /// It has another value.
    Overwritten,
    /// It goes on for less time than its owner asked for.
    Shortened,
}

/// Who else has taken a claim away, which its owner does not know of.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub by: Owner,
    pub how: How,
    pub server: u8,
    pub at: Micros,
}

/// A lock's key with a value that somebody has put there.
#[derive(Clone, Debug)]
pub struct Claim {
    pub number: u64,
    pub value: Bytes,
    pub owner: Owner,
    /// When its life is over; `None`: never.
    ends: Option<Micros>,
    there: BTreeMap<u8, There>,
    /// Since when enough servers have said so.
    pub handed_out: Option<Micros>,
    /// Since when its owner has heard it from so many servers, be it too late.
    heard: Option<Micros>,
    given_up: Option<Micros>,
    /// By whom else than its owner it was taken away, server by server.
    pub taken: Vec<Taken>,
    /// A command that may give it up is on its way.
    in_doubt: u32,
    /// Servers that have prolonged it since the request that began to, and when that was.
    prolonged: (Micros, Vec<u8>),
}

/// A lock that two have at once.
#[derive(Clone, Debug)]
pub struct Overlap {
    pub key: Bytes,
    pub first: Claim,
    pub second: Claim,
    /// Servers that the second has, with since when the first had them.
    pub moved: Vec<(u8, Micros)>,
}

impl Overlap {
    /// For how long the first would have had it still.
    pub fn rest(&self, now: Micros) -> Option<Micros> {
        self.first.ends.map(|ends| ends - now)
    }
}

/// All claims.
#[derive(Debug, Default)]
pub struct Claims {
    /// How many servers make a lock somebody's.
    enough: usize,
    locks: BTreeMap<Bytes, VecDeque<Claim>>,
    last: u64,
    /// How many were handed out.
    pub handed_out: u64,
    /// How many times a lock was handed out to somebody else than before.
    pub changed_hands: u64,
}

impl Claim {
    /// When its life is over, if it has an end.
    pub fn ends(&self) -> Option<Micros> {
        self.ends
    }

    /// Whether its owner has heard that it has it between these times.
    pub fn was_heard_within(&self, from: Micros, to: Micros) -> bool {
        self.heard.is_some_and(|heard| (from..=to).contains(&heard))
    }

    /// The servers that had it and this one after it, with since when they had had it.
    pub fn moved_to(&self, after: &Claim) -> Vec<(u8, Micros)> {
        let had = |server: &u8| self.there.get(server).map(|there| (*server, there.ran));
        after.there.keys().filter_map(had).collect()
    }

    /// Whether this may be its owner.
    fn is_of(&self, by: Owner) -> bool {
        match (self.owner.client, by.client) {
            (Some(owner), Some(by)) => owner == by,
            _ => true,
        }
    }

    fn is_open(&self, now: Micros) -> bool {
        self.given_up.is_none() && self.ends.is_none_or(|ends| now < ends)
    }

    fn is_somebodys(&self, now: Micros) -> bool {
        self.handed_out.is_some() && self.in_doubt == 0 && self.is_open(now)
    }
}

/// When a life is over that was asked for then.
fn end(asked: Micros, life: Option<Micros>) -> Option<Micros> {
    life.map(|life| asked + life - Micros(life.0 / 100 + 2_000))
}

impl Claims {
    /// So many servers make a lock somebody's.
    pub fn new(enough: usize) -> Claims {
        Claims { enough: enough.max(1), ..Claims::default() }
    }

    /// How many servers make a lock somebody's; 0: nobody counts.
    pub fn enough(&self) -> usize {
        self.enough
    }

    /// How many there were, handed out or not.
    pub fn taken(&self) -> u64 {
        self.last
    }

    /// A server has taken this value for a key where none was, to live so long (`None`: for ever). The number of the claim.
    #[expect(clippy::too_many_arguments, reason = "a request and all that is known of it")]
    pub fn took(
        &mut self,
        server: u8,
        key: &Bytes,
        value: &Bytes,
        life: Option<Micros>,
        owner: Owner,
        asked: Micros,
        now: Micros,
    ) -> u64 {
        if self.locks.len() >= LOCKS_MAX && !self.locks.contains_key(key) {
            self.locks.retain(|_, claims| claims.iter().any(|claim| claim.is_open(now)));
            while self.locks.len() > LOCKS_MAX / 2 {
                self.locks.pop_first();
            }
        }
        let claims = self.locks.entry(Bytes::copy_from_slice(key)).or_default();
        for there in claims.iter_mut().filter_map(|claim| claim.there.get_mut(&server)) {
            there.gone.get_or_insert(now);
        }
        let there = There { ran: now, told: false, gone: None };
        let same = claims.iter_mut().rev().find(|claim| {
            // Whose it is when it comes again to a server that had it already, nobody can say but who took it first.
            let is_owners = match (claim.owner.client, owner.client) {
                (Some(first), Some(now)) => first == now,
                _ => !claim.there.contains_key(&server),
            };
            is_owners && claim.value == value && claim.is_open(now)
        });
        if let Some(same) = same {
            same.there.insert(server, there);
            return same.number;
        }
        self.last += 1;
        claims.push_back(Claim {
            number: self.last,
            value: Bytes::copy_from_slice(value),
            owner,
            ends: end(asked, life),
            there: BTreeMap::from([(server, there)]),
            handed_out: None,
            heard: None,
            given_up: None,
            taken: Vec::new(),
            in_doubt: 0,
            prolonged: (asked, Vec::new()),
        });
        while claims.len() > CLAIMS_MAX {
            claims.pop_front();
        }
        self.last
    }

    /// The owner was told so by a server. What overlaps since, if anything does.
    pub fn told(
        &mut self,
        server: u8,
        key: &Bytes,
        number: u64,
        now: Micros,
    ) -> (Option<Claim>, Vec<Overlap>) {
        let enough = self.enough;
        let Some(claims) = self.locks.get_mut(key) else { return (None, Vec::new()) };
        let Some(at) = claims.iter().position(|claim| claim.number == number) else {
            return (None, Vec::new());
        };
        let claim = &mut claims[at];
        if let Some(there) = claim.there.get_mut(&server) {
            there.told = true;
        }
        if claim.there.values().filter(|there| there.told).count() >= enough {
            claim.heard.get_or_insert(now);
        }
        let has = claim.there.values().filter(|there| there.told && there.gone.is_none()).count();
        if claim.handed_out.is_some() || has < enough || !claim.is_open(now) {
            return (None, Vec::new());
        }
        claim.handed_out = Some(now);
        self.handed_out += 1;
        let second = claim.clone();
        let others = claims.iter().filter(|other| other.number != number && other.handed_out.is_some());
        let (mut before, mut overlaps) = (None, Vec::new());
        for first in others {
            before = Some(first.owner);
            // The same word of somebody else's connection may be the same client's.
            let is_other = first.value != second.value
                || (first.owner.client != second.owner.client && first.owner.client.is_some());
            if is_other && first.is_somebodys(now) {
                let (first, second) = (first.clone(), second.clone());
                let moved = first.moved_to(&second);
                overlaps.push(Overlap { key: key.clone(), first, second, moved });
            }
        }
        let is_new = |before: Owner| match (before.client, second.owner.client) {
            (Some(before), Some(now)) => before != now,
            _ => before.link != second.owner.link,
        };
        self.changed_hands += u64::from(before.is_some_and(is_new));
        (Some(second), overlaps)
    }

    /// The locks on which there is a claim, be it over.
    pub fn locks(&self) -> impl Iterator<Item = &Bytes> {
        self.locks.keys()
    }

    /// Whether there is a claim on this lock, of whomever.
    pub fn knows(&self, key: &Bytes) -> bool {
        self.locks.contains_key(key)
    }

    /// A server lets this value live for so long from now on.
    #[expect(clippy::too_many_arguments, reason = "a request and all that is known of it")]
    pub fn prolonged(
        &mut self,
        server: u8,
        key: &Bytes,
        value: &Bytes,
        life: Option<Micros>,
        by: Owner,
        asked: Micros,
        now: Micros,
    ) {
        let enough = self.enough;
        let Some(claim) = self.open(key, value) else { return };
        let is_shorter = life.is_some_and(|life| claim.ends.is_none_or(|ends| now + life < ends));
        if is_shorter && !claim.is_of(by) {
            claim.taken.push(Taken { by, how: How::Shortened, server, at: now });
        }
        if claim.prolonged.1.is_empty() || claim.prolonged.1.contains(&server) {
            claim.prolonged = (asked, Vec::new());
        }
        claim.prolonged.1.push(server);
        if claim.prolonged.1.len() >= enough {
            claim.ends = end(claim.prolonged.0, life);
        }
    }

    /// Somebody has asked for something that may give this up: whether there is such a claim.
    pub fn in_doubt(&mut self, key: &Bytes, value: &Bytes) -> bool {
        let Some(claim) = self.open(key, value) else { return false };
        claim.in_doubt += 1;
        true
    }

    /// What was asked for has been done, or never will be; whether it has given this up, and when that was asked for.
    pub fn settled(&mut self, key: &Bytes, value: &Bytes, given_up: Option<Micros>) {
        let claims = self.locks.get_mut(key).into_iter().flatten();
        for claim in claims.filter(|claim| claim.value == value && claim.in_doubt > 0) {
            claim.in_doubt -= 1;
            if let Some(at) = given_up {
                claim.given_up.get_or_insert(at);
            }
        }
    }

    /// A server has let go of this value, because this connection wanted it to.
    #[expect(clippy::too_many_arguments, reason = "a request and all that is known of it")]
    pub fn let_go(
        &mut self,
        server: u8,
        key: &Bytes,
        value: &Bytes,
        how: How,
        by: Owner,
        asked: Micros,
        now: Micros,
    ) {
        let Some(claim) = self.open(key, value) else { return };
        if let Some(there) = claim.there.get_mut(&server) {
            there.gone.get_or_insert(now);
        }
        // Who else does that takes it away from its owner, who does not know.
        if claim.is_of(by) {
            claim.given_up.get_or_insert(asked);
        } else {
            claim.taken.push(Taken { by, how, server, at: now });
        }
    }

    /// The process of a client has ended: what it had is nobody's.
    pub fn ended(&mut self, client: u8, now: Micros) {
        for claim in self.locks.values_mut().flatten().filter(|claim| claim.owner.client == Some(client)) {
            claim.given_up.get_or_insert(now);
        }
    }

    /// The claims that these two clients of a trial have heard of last, on any one lock: in time, or when they were over already.
    pub fn between(&self, first: u8, second: u8) -> Option<(&Claim, &Claim)> {
        let last = |claims: &VecDeque<Claim>, client: u8| {
            let is_theirs = |claim: &&Claim| claim.owner.client == Some(client) && claim.heard.is_some();
            claims.iter().rev().find(is_theirs).map(|claim| claim.number)
        };
        let pairs = self.locks.values().filter_map(|claims| {
            let numbers = (last(claims, first)?, last(claims, second)?);
            let claim = |number| claims.iter().find(|claim| claim.number == number);
            claim(numbers.0).zip(claim(numbers.1))
        });
        pairs.max_by_key(|(_, second)| second.heard)
    }

    /// The claim that this client of a trial has heard of last, on whichever lock.
    pub fn last_of(&self, client: u8) -> Option<&Claim> {
        let is_theirs = |claim: &&Claim| claim.owner.client == Some(client) && claim.heard.is_some();
        self.locks.values().flatten().filter(is_theirs).max_by_key(|claim| claim.heard)
    }

    /// Who has this lock now.
    pub fn holders(&self, key: &Bytes, now: Micros) -> Vec<Owner> {
        let claims = self.locks.get(key).into_iter().flatten();
        claims.filter(|claim| claim.is_somebodys(now)).map(|claim| claim.owner).collect()
    }

    fn open(&mut self, key: &Bytes, value: &Bytes) -> Option<&mut Claim> {
        let claims = self.locks.get_mut(key)?;
        claims.iter_mut().rev().find(|claim| claim.value == value && claim.given_up.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Bytes = Bytes::from_static(b"lock");
    const LIFE: Option<Micros> = Some(Micros(1_000_000));

    fn owner(link: LinkId) -> Owner {
        Owner { link, client: None }
    }

    /// It takes the lock on these servers, and is told.
    fn takes(
        claims: &mut Claims,
        value: &'static str,
        link: LinkId,
        servers: &[u8],
        at: i64,
    ) -> Vec<Overlap> {
        let (value, at) = (Bytes::from_static(value.as_bytes()), Micros(at));
        let mut all = Vec::new();
        for server in servers {
            let number = claims.took(*server, &KEY, &value, LIFE, owner(link), at, at);
            all.extend(claims.told(*server, &KEY, number, at).1);
        }
        all
    }

    #[test]
    fn two_majorities_at_once_overlap_and_name_the_server_that_forgot() {
        let mut claims = Claims::new(3);
        assert!(takes(&mut claims, "one", 1, &[0, 1, 2], 0).is_empty());
        let overlaps = takes(&mut claims, "two", 2, &[2, 3, 4], 500_000);
        assert_eq!(overlaps.len(), 1);
        assert_eq!(overlaps[0].moved, [(2, Micros(0))]);
        assert_eq!(overlaps[0].rest(Micros(500_000)), Some(Micros(488_000)));
        assert_eq!((claims.handed_out, claims.changed_hands), (2, 1));
    }

    #[test]
    fn a_minority_has_nothing() {
        let mut claims = Claims::new(3);
        takes(&mut claims, "one", 1, &[0, 1], 0);
        assert!(takes(&mut claims, "two", 2, &[2, 3, 4], 1).is_empty());
        assert_eq!(claims.handed_out, 1);
    }

    #[test]
    fn what_is_over_or_given_up_overlaps_with_nothing() {
        let mut claims = Claims::new(1);
        takes(&mut claims, "one", 1, &[0], 0);
        assert!(takes(&mut claims, "two", 2, &[0], 990_000).is_empty(), "its last hundredth is not counted");
        claims.let_go(
            0,
            &KEY,
            &Bytes::from_static(b"two"),
            How::Deleted,
            owner(2),
            Micros(991_000),
            Micros(991_000),
        );
        assert!(takes(&mut claims, "three", 1, &[0], 992_000).is_empty());
        assert_eq!(takes(&mut claims, "four", 2, &[0], 993_000).len(), 1);
    }

    #[test]
    fn who_deletes_what_another_client_has_is_known_when_it_is_handed_out_again() {
        let (mut claims, one) = (Claims::new(1), Bytes::from_static(b"one"));
        let client = |client: u8| Owner { link: client.into(), client: Some(client) };
        let take = |claims: &mut Claims, value: &Bytes, by, at| {
            let number = claims.took(0, &KEY, value, LIFE, client(by), Micros(at), Micros(at));
            claims.told(0, &KEY, number, Micros(at)).1
        };
        take(&mut claims, &one, 0, 0);
        claims.let_go(0, &KEY, &one, How::Deleted, client(1), Micros(10), Micros(20));
        let overlaps = take(&mut claims, &Bytes::from_static(b"two"), 1, 30);
        let taken: Vec<_> =
            overlaps[0].first.taken.iter().map(|taken| (taken.by, taken.server, taken.at)).collect();
        assert_eq!(taken, [(client(1), 0, Micros(20))]);
        claims.let_go(0, &KEY, &Bytes::from_static(b"two"), How::Deleted, client(1), Micros(40), Micros(40));
        assert!(take(&mut claims, &one, 2, 50).iter().all(|overlap| overlap.first.owner != client(1)));
    }

    #[test]
    fn a_release_on_its_way_leaves_it_open_whose_the_lock_is() {
        let (mut claims, one) = (Claims::new(1), Bytes::from_static(b"one"));
        takes(&mut claims, "one", 1, &[0], 0);
        assert!(claims.in_doubt(&KEY, &one));
        assert!(takes(&mut claims, "two", 2, &[0], 10).is_empty());
        claims.settled(&KEY, &one, Some(Micros(5)));
        assert_eq!(claims.holders(&KEY, Micros(20)), [owner(2)]);
    }

    #[test]
    fn what_is_prolonged_by_enough_servers_ends_later() {
        let (mut claims, one) = (Claims::new(2), Bytes::from_static(b"one"));
        takes(&mut claims, "one", 1, &[0, 1, 2], 0);
        claims.prolonged(0, &KEY, &one, LIFE, owner(1), Micros(900_000), Micros(900_000));
        assert!(claims.holders(&KEY, Micros(1_100_000)).is_empty());
        claims.prolonged(1, &KEY, &one, LIFE, owner(1), Micros(900_100), Micros(900_100));
        assert_eq!(claims.holders(&KEY, Micros(1_100_000)), [owner(1)]);
    }

    #[test]
    fn the_same_word_over_another_connection_may_be_the_same_clients() {
        let mut claims = Claims::new(1);
        takes(&mut claims, "locked", 1, &[0], 0);
        assert!(takes(&mut claims, "locked", 2, &[0], 10).is_empty());
        let (value, client) = (Bytes::from_static(b"own"), |client| Owner { link: 7, client: Some(client) });
        let at = Micros(2_000_000);
        let number = claims.took(0, &KEY, &value, LIFE, client(0), at, at);
        claims.told(0, &KEY, number, at);
        let number = claims.took(0, &KEY, &value, LIFE, client(1), at, at);
        assert_eq!(claims.told(0, &KEY, number, at).1.len(), 1, "the same word of another client is not");
    }
}
