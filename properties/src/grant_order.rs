//! The order of grants: when the lock became whose.
//!
//! Grants count in the order in which the store made them, where it says so ([`Event::Acquired`](crate::Event::Acquired)), else in the
//! order in which clients learned of them: a client that learns late was granted early.
//!
//! A client may believe in a grant that the store never made. It counts from when its client believes in it, but for this: while the
//! store has made the lock another client's who has not learned of it yet ([`Made::Awaited`]), theirs is the later one. If that one's record
//! is gone before its client learns of it ([`Made::Over`]), nobody knows whether it is this grant that the client takes for its own in the end, or
//! none: of it and of what others believed in meanwhile, neither is before the other, until somebody has learned of a grant that the store made
//! later. (Not of a lock with several modes of access: what is shared stores do not tell of.)
//!
//! Left out: that such grants of two clients come one after the other, if somebody believes in one before either of them learns of theirs.
//!
//! No single moment dates a grant of a quorum: it is made from the first to the last of the records that it rests on
//! ([`Event::RecordMade`](crate::Event::RecordMade), [`Event::Secured`](crate::Event::Secured)). One grant is before another if its
//! last record was made before the other's first; of two whose records were made across each other neither is before the other.

use crate::access::Access;
use crate::history::{ClientId, ClientSet, ServerSet};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// Grants, earliest first, with what a monitor wants to know of each: one of a quorum has two places, where its making began and where it
/// ended, and no other place of the same client's lies between them.
///
/// A grant is dated once. That the store makes the lock a holder's once more (it set its record again, say) is no new
/// grant: its token is the old one, and whoever was granted meanwhile came later.
///
/// What a client acquired and did not learn of dates the grant of its next call, too, if nothing newer was acquired: a doubled
/// request of the earlier call may have left the record that the later one is granted by. Stores that tell of acquisitions
/// tell of each new record, so a grant that rests on a record of its own is dated by that. Only of a lock with several modes
/// of access is it void, because the store does not say in which mode it was acquired.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Clone + Serialize"))]
pub(crate) struct GrantOrder<T> {
    pub(crate) grants: Vec<Grant<T>>,
    /// Who is in its critical section.
    pub(crate) holding: ClientSet,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "Told<T>", into = "Told<T>", bound(serialize = "T: Clone + Serialize"))]
pub(crate) struct Grant<T> {
    pub(crate) client: ClientId,
    /// `None`: the client has acquired the lock, or a part of it, and not learned it yet.
    pub(crate) learned: Option<T>,
    pub(crate) made: Made,
    /// In which mode of access; the first one where the monitor does not ask.
    pub(crate) access: Access,
}

/// What was made here of a grant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Made {
    /// All of it.
    Whole,
    /// The first record that it rests on.
    Begun,
    /// The last one.
    Ended,
    /// Records on these servers that may make a grant together with others.
    Parts(ServerSet),
    /// All of it, and the lock is its client's by the store's last word, who has not learned of it.
    Awaited,
    /// All of it, or the last of it if it begins elsewhere, and the lock is another's or nobody's by now; its client has not learned of it,
    /// nor has any client of a later one that the store made.
    Over,
}

/// How a grant is written down: one in the first mode as if there were no modes.
#[derive(Serialize, Deserialize)]
struct Told<T> {
    client: ClientId,
    learned: ToldLearned<T>,
}

#[derive(Serialize, Deserialize)]
enum ToldLearned<T> {
    No,
    Yes(T),
    NotIn(Access),
    In(Access, T),
    InPart(Access, ServerSet),
    Begun(Access, Option<T>),
    Ended(Access, Option<T>),
    Awaited(Access),
    Over(Access),
}

impl<T> From<Grant<T>> for Told<T> {
    fn from(Grant { client, learned, made, access }: Grant<T>) -> Told<T> {
        let learned = match (made, access, learned) {
            (Made::Whole, Access::FIRST, None) => ToldLearned::No,
            (Made::Whole, Access::FIRST, Some(learned)) => ToldLearned::Yes(learned),
            (Made::Whole, access, None) => ToldLearned::NotIn(access),
            (Made::Whole, access, Some(learned)) => ToldLearned::In(access, learned),
            (Made::Begun, access, learned) => ToldLearned::Begun(access, learned),
            (Made::Ended, access, learned) => ToldLearned::Ended(access, learned),
            (Made::Parts(servers), access, _) => ToldLearned::InPart(access, servers),
            (Made::Awaited, access, _) => ToldLearned::Awaited(access),
            (Made::Over, access, _) => ToldLearned::Over(access),
        };
        Told { client, learned }
    }
}

impl<T> From<Told<T>> for Grant<T> {
    fn from(Told { client, learned }: Told<T>) -> Grant<T> {
        let (made, access, learned) = match learned {
            ToldLearned::No => (Made::Whole, Access::FIRST, None),
            ToldLearned::Yes(learned) => (Made::Whole, Access::FIRST, Some(learned)),
            ToldLearned::NotIn(access) => (Made::Whole, access, None),
            ToldLearned::In(access, learned) => (Made::Whole, access, Some(learned)),
            ToldLearned::InPart(access, servers) => (Made::Parts(servers), access, None),
            ToldLearned::Begun(access, learned) => (Made::Begun, access, learned),
            ToldLearned::Ended(access, learned) => (Made::Ended, access, learned),
            ToldLearned::Awaited(access) => (Made::Awaited, access, None),
            ToldLearned::Over(access) => (Made::Over, access, None),
        };
        Grant { client, learned, made, access }
    }
}

impl<T> Grant<T> {
    /// Which records that may make a grant together with others.
    pub(crate) fn parts(&self) -> ServerSet {
        match self.made {
            Made::Parts(servers) => servers,
            Made::Whole | Made::Begun | Made::Ended | Made::Awaited | Made::Over => ServerSet::EMPTY,
        }
    }

    fn is_awaited_no_more(&mut self) {
        if self.made == Made::Awaited {
            self.made = Made::Over;
        }
    }

    /// Whether the grant is there from here on.
    pub(crate) fn is_made(&self) -> bool {
        matches!(self.made, Made::Whole | Made::Ended | Made::Awaited | Made::Over)
    }
}

impl<T> Default for GrantOrder<T> {
    fn default() -> GrantOrder<T> {
        GrantOrder { grants: Vec::new(), holding: ClientSet::EMPTY }
    }
}

impl<T: Copy> GrantOrder<T> {
    pub(crate) fn on_called(&mut self, client: ClientId, usage: &Usage) {
        self.holding.remove(client);
        self.forget_parts(client);
        if !usage.accesses.modes().is_exclusive() {
            self.void(client);
        }
    }

    pub(crate) fn on_acquired(&mut self, client: ClientId, access: Access, usage: &Usage) {
        self.grants.iter_mut().for_each(Grant::is_awaited_no_more);
        if !self.holding.contains(client) {
            self.void(client);
            let is_exclusive = usage.accesses.modes().is_exclusive();
            let made = if is_exclusive { Made::Awaited } else { Made::Whole };
            self.grants.push(Grant { client, learned: None, made, access });
        }
    }

    /// The lock may be another client's from now on, of which the store need not tell at once.
    pub(crate) fn on_record_gone(&mut self, client: ClientId) {
        self.grants.iter_mut().filter(|grant| grant.client == client).for_each(Grant::is_awaited_no_more);
    }

    /// What was on that server before is replaced by the new record.
    pub(crate) fn on_record_made(&mut self, client: ClientId, server: u8, access: Access) {
        if self.holding.contains(client) {
            return;
        }
        self.grants.retain_mut(|grant| match &mut grant.made {
            Made::Parts(servers) if grant.client == client => {
                servers.remove(server);
                !servers.is_empty()
            }
            Made::Parts(_) | Made::Whole | Made::Begun | Made::Ended | Made::Awaited | Made::Over => true,
        });
        let made = Made::Parts([server].into_iter().collect());
        self.grants.push(Grant { client, learned: None, made, access });
        self.join_parts();
    }

    /// The records that the client's grant, which follows, rests on. Says whether it is known when one of them was made.
    pub(crate) fn on_secured(&mut self, client: ClientId, servers: ServerSet) -> bool {
        let is_of_it = |grant: &Grant<T>| grant.client == client && grant.parts().meets(servers);
        let Some(first) = self.grants.iter().position(is_of_it) else {
            self.forget_parts(client);
            return false;
        };
        let last = self.grants.iter().rposition(is_of_it).unwrap_or(first);
        self.grants[first].made = Made::Begun;
        self.grants[last].made = if first == last { Made::Whole } else { Made::Ended };
        let mut places = 0..;
        self.grants.retain(|grant| {
            let place = places.next();
            place == Some(first) || place == Some(last) || grant.client != client || grant.learned.is_some()
        });
        self.join_parts();
        true
    }

    /// Says from which place to which one in the order the grant was made.
    pub(crate) fn on_granted(&mut self, client: ClientId, access: Access, learned: T) -> (usize, usize) {
        self.holding.insert(client);
        self.forget_parts(client);
        let is_it = |grant: &Grant<T>| grant.client == client && grant.learned.is_none();
        let first = self.grants.iter().position(is_it);
        let Some((first, last)) = first.zip(self.grants.iter().rposition(is_it)) else {
            let place = self.on_believed();
            let grant = Grant { client, learned: Some(learned), made: Made::Whole, access };
            self.grants.insert(place, grant);
            return (place, place);
        };
        for place in [first, last] {
            let grant = &mut self.grants[place];
            grant.is_awaited_no_more();
            *grant = Grant { learned: Some(learned), access, ..*grant };
        }
        // What anybody comes to believe in from here on is later than the grants before this one.
        for place in 0..=last {
            if self.grants[place].made == Made::Over && (place < first || place == last) {
                self.grants[place].made = if self.begun(place) == place { Made::Whole } else { Made::Ended };
            }
        }
        (first, last)
    }

    /// Makes room for a grant that its client believes in from here on, and says at which place: grants that are over end behind it.
    fn on_believed(&mut self) -> usize {
        let awaited = self.grants.iter().position(|grant| grant.made == Made::Awaited);
        let mut place = awaited.unwrap_or(self.grants.len());
        let over: Vec<Grant<T>> =
            self.grants[..place].iter().filter(|grant| grant.made == Made::Over).copied().collect();
        for Grant { client, .. } in &over {
            let is_it = |grant: &Grant<T>| grant.client == *client && grant.made == Made::Over;
            let Some(ends) = self.grants.iter().position(is_it) else { continue };
            if self.begun(ends) == ends {
                self.grants[ends].made = Made::Begun;
            } else {
                self.grants.remove(ends);
                place -= 1;
            }
        }
        self.grants.splice(place..place, over);
        place
    }

    /// Where the making of the grant began that was made at this place.
    pub(crate) fn begun(&self, place: usize) -> usize {
        let Grant { client, learned, made, .. } = self.grants[place];
        let begun = |grant: &Grant<T>| {
            grant.client == client
                && grant.made == Made::Begun
                && grant.learned.is_none() == learned.is_none()
        };
        match made {
            Made::Ended | Made::Over => self.grants[..place].iter().rposition(begun).unwrap_or(place),
            Made::Whole | Made::Begun | Made::Parts(_) | Made::Awaited => place,
        }
    }

    pub(crate) fn on_hold_ended(&mut self, client: ClientId) {
        self.holding.remove(client);
    }

    /// The clients have other numbers from now on ([`Monitor::renumber_clients`](crate::Monitor::renumber_clients)).
    pub(crate) fn renumber_clients(&mut self, numbers: &[u8]) {
        self.holding = self.holding.renumbered(numbers);
        self.grants.iter_mut().for_each(|grant| grant.client = grant.client.renumbered(numbers));
    }

    /// No grant rests on records that were made before.
    pub(crate) fn forget_parts(&mut self, client: ClientId) {
        self.grants.retain(|grant| grant.client != client || grant.parts().is_empty());
        self.join_parts();
    }

    /// In which order records of one client came does not matter where nothing came between them, nor from when to when a grant was made.
    pub(crate) fn join_parts(&mut self) {
        self.grants.dedup_by(|later, earlier| match (later.made, &mut earlier.made) {
            (Made::Over, made @ Made::Begun)
                if later.client == earlier.client && earlier.learned.is_none() =>
            {
                *made = Made::Over;
                true
            }
            (Made::Parts(more), Made::Parts(servers)) if later.client == earlier.client => {
                *servers = servers.union(more);
                true
            }
            _ => false,
        });
    }

    /// What the client has acquired dates no grant.
    pub(crate) fn void(&mut self, client: ClientId) {
        self.grants.retain(|grant| grant.client != client || grant.learned.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::A;

    /// A grant as it was before there were modes of access.
    #[derive(Serialize)]
    struct Former {
        client: ClientId,
        learned: Option<u32>,
    }

    #[test]
    fn a_grant_in_the_first_mode_has_the_bytes_that_it_had_without_modes() {
        for learned in [None, Some(7), Some(4711)] {
            let grant = Grant { client: A, learned, made: Made::Whole, access: Access::FIRST };
            let former = Former { client: A, learned };
            assert_eq!(postcard::to_stdvec(&grant), postcard::to_stdvec(&former));
        }
    }

    #[test]
    fn a_grant_comes_back_from_its_bytes_in_every_mode() {
        for access in (0..8).map(Access) {
            for (learned, made) in [None, Some(4711)]
                .into_iter()
                .flat_map(|learned| [Made::Whole, Made::Begun, Made::Ended].map(|made| (learned, made)))
            {
                let grant = Grant { client: A, learned, made, access };
                let bytes = postcard::to_stdvec(&grant).unwrap();
                assert_eq!(postcard::from_bytes::<Grant<u32>>(&bytes), Ok(grant));
            }
            let made = Made::Parts([0, 9].into_iter().collect());
            for made in [made, Made::Awaited, Made::Over] {
                let grant = Grant { client: A, learned: None, made, access };
                let bytes = postcard::to_stdvec(&grant).unwrap();
                assert_eq!(postcard::from_bytes::<Grant<u32>>(&bytes), Ok(grant));
            }
        }
    }
}
