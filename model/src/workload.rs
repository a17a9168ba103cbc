//! Who uses the lock: how many clients, how often, how long, and what they do while they hold. Not part of any lock.

mod client;

pub use client::Client;

use crate::machine::{Effects, Message, Node, Store, Visitor};
use crate::time::Micros;
use picklock_properties::{
    Access, AccessModes, ClientId, Event, FencingToken, HoldId, LockId, Mode, Promise, PromiseSet,
};
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

/// What the clients do. The same for every engine; durations do not matter where time does not pass.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Workload {
    /// How many clients there are, 1 to 128.
    pub clients: u8,
    /// How often each asks for the lock before it is done; [`ROUNDS_WITHOUT_END`] has no last time.
    pub rounds: u8,
    /// Whether a refused client asks again, for as long as it takes, without using up a round.
    pub retries: bool,
    /// What they ask for.
    pub calls: Calls,
    /// In which of the lock's modes of access they ask.
    pub access: AccessChoice,
    /// How long a client waits before each call.
    pub think: Micros,
    /// How long a client works in its critical section before it writes and leaves.
    pub hold: Micros,
    /// Whether a holder leaves after that; if not, it holds for good.
    pub releases: bool,
    /// Where a holder writes to at the end of its work; it waits for the answer.
    pub writes: Writes,
    /// Whether the resource turns down a write whose fencing token is smaller than one it has seen.
    pub resource_checks: bool,
    /// Whether the resource forgets what it has seen when it starts again.
    pub resource_forgets: bool,
    /// How many locks there are, each of its own id and with its own resource behind it, 1 to 8. Each client asks for one after
    /// the other, every client beginning with another one.
    pub locks: u8,
    /// How many processes beside the clients use the store and are part of the lock, numbered after the clients (a
    /// service that keeps the time, say): machines of the lock like a client's, with clocks and failures of their
    /// own, but nobody ever asks them for the lock.
    pub attendants: u8,
    /// How unevenly clients think and hold; `None`: always for as long as `think` and `hold` say.
    pub pace: Option<Pace>,
    /// Whether this is a workload to draw others around: where many seeds are run, each has its own number of clients and
    /// rounds, and its own lengths of thinking and holding. One run alone does what stands here, and so does the exhaustive
    /// engine.
    pub varies: bool,
    /// Whether the work of this kind fits into the lock's lease, as whoever uses a lock must see to that neither prolongs its
    /// lease nor tells its holder that it is over: then the lengths of holding that are drawn end well before the lease does.
    pub work_fits: bool,
}

/// Clients that take longer at one time than at another.
///
/// How long is a function of the client and its round, and nothing is drawn while a run goes on: the same client takes as long
/// in its third round, whatever became of the others. A round that is not counted (rounds without end; a refused client that asks
/// again) is as long as the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Pace {
    /// Another seed, other lengths.
    pub seed: u64,
    /// By how much a length may be shorter than the workload says, in thousandths of it: at 1000 all from nothing to the whole are
    /// equally likely. No more than that counts.
    pub spread_per_mille: u16,
}

impl Pace {
    /// The part of `length` that this client takes in this round. `salt` tells one use from another.
    fn of(self, length: Micros, client: u8, round: u8, salt: u64) -> Micros {
        let place = u64::from(client) << 16 | u64::from(round) << 8 | salt;
        let luck = mixed(self.seed ^ mixed(place)) >> 32;
        let spread = u128::from(self.spread_per_mille.min(1000)) * u128::from(luck);
        let less = (length.0.max(0) as u128 * spread / (1000 << 32)) as i64;
        Micros(length.0 - less)
    }
}

/// The output function of SplitMix64 (Steele, Lea, Flood 2014): all bits of the result depend on all bits of `bits`.
fn mixed(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// Clients that ask again and again. The exhaustive engine comes to an end with them; a seeded run is ended by its limits.
pub const ROUNDS_WITHOUT_END: u8 = u8::MAX;

/// What the clients ask for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Calls {
    /// All call `lock`.
    Lock,
    /// All call `try_lock`.
    TryLock,
}

/// Who asks in which of the lock's modes of access ([`Lock::modes`](crate::machine::Lock::modes)).
///
/// A holder whose mode does not let it write works, reads what there is to read, and writes nothing.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum AccessChoice {
    /// All in the first, which bears least: of a lock with one mode, that one.
    #[default]
    First,
    /// Client number *n* always in mode number *n* of the list, and clients beyond its end in the last one.
    ByClient([Access; AccessModes::MODES_MAX]),
    /// In another one each round, whoever it is. As with [`Pace`], which one is a function of the client and its round.
    Drawn {
        /// Another seed, other modes.
        seed: u64,
        /// How often each mode comes, in comparison: by number, 0 is never.
        weights: [u8; AccessModes::MODES_MAX],
    },
}

impl AccessChoice {
    /// The mode in which this client asks in this round.
    fn of(&self, client: u8, round: u8) -> Access {
        match self {
            AccessChoice::First => Access::FIRST,
            AccessChoice::ByClient(modes) => modes[usize::from(client).min(modes.len() - 1)],
            AccessChoice::Drawn { seed, weights } => {
                let all: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
                let place = u64::from(client) << 8 | u64::from(round);
                let mut luck = ((mixed(seed ^ mixed(place)) >> 32) * all) >> 32;
                let drawn = weights.iter().position(|weight| {
                    let is_drawn = luck < u64::from(*weight);
                    luck = luck.saturating_sub(u64::from(*weight));
                    is_drawn
                });
                drawn.map_or(Access::FIRST, |number| Access(number as u8))
            }
        }
    }

    /// Whether all that can be asked for are modes of this lock.
    pub fn is_of(&self, modes: &AccessModes) -> bool {
        match self {
            AccessChoice::First => true,
            AccessChoice::ByClient(list) => list.iter().all(|access| modes.has(*access)),
            AccessChoice::Drawn { weights, .. } => {
                (0..).zip(weights).all(|(number, weight)| *weight == 0 || modes.has(Access(number)))
            }
        }
    }
}

/// What a holder's work changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Writes {
    /// Nothing.
    None,
    /// The resource behind the lock, outside the store.
    Resource,
    /// Something in the lock's own store: the lock is asked to write it ([`Call::Write`](crate::machine::Call::Write)). Not every
    /// lock can ([`Lock::WRITES_INSIDE`](crate::machine::Lock::WRITES_INSIDE)).
    Store,
    /// The resource behind the lock, which the holder reads before it works: what it writes at the end rests on that.
    ReadModifyWrite {
        /// Whether it shows its fencing token when it reads, too, so that a resource that checks tokens has seen it.
        reads_with_token: bool,
    },
}

impl Writes {
    /// What holders have to do so that these promises are put to the test: nothing, if none of them is about the resource.
    pub fn judged_by(promises: PromiseSet) -> Writes {
        if promises.contains(Promise::LostUpdate) {
            return Writes::ReadModifyWrite { reads_with_token: false };
        }
        Writes::resource_if(promises.contains(Promise::FencedResource))
    }

    /// Whether they come to the resource behind the lock.
    pub const fn reach_the_resource(self) -> bool {
        matches!(self, Writes::Resource | Writes::ReadModifyWrite { .. })
    }

    /// To the resource if that is of interest, else nowhere.
    pub const fn resource_if(is_of_interest: bool) -> Writes {
        if is_of_interest { Writes::Resource } else { Writes::None }
    }
}

impl Default for Workload {
    /// Two clients that each take the lock three times for a second, with two seconds between, and write to a resource that
    /// checks nothing.
    fn default() -> Workload {
        Workload {
            clients: 2,
            rounds: 3,
            retries: false,
            calls: Calls::Lock,
            access: AccessChoice::First,
            think: Micros::seconds(2),
            hold: Micros::seconds(1),
            releases: true,
            writes: Writes::Resource,
            resource_checks: false,
            resource_forgets: false,
            locks: 1,
            attendants: 0,
            pace: None,
            varies: false,
            work_fits: false,
        }
    }
}

impl Workload {
    /// Whether all clients do the same, at least by this: asked for one lock in one mode, each as long as the other.
    pub(crate) fn has_clients_alike(&self) -> bool {
        self.pace.is_none() && self.access == AccessChoice::First && self.locks <= 1
    }

    /// Whether whoever has so many rounds left has been through one.
    pub(crate) fn is_past_first_round(&self, rounds_left: u8) -> bool {
        self.rounds == ROUNDS_WITHOUT_END || rounds_left < self.rounds
    }

    /// Whether somebody is to be granted the lock, come what may: nobody is refused, and all ask at least once. In endless use nobody has
    /// to ask at all.
    pub fn somebody_is_owed(&self) -> bool {
        !self.may_be_refused() && self.rounds != ROUNDS_WITHOUT_END
    }

    /// Clients and attendants together.
    pub fn processes(&self) -> u8 {
        self.clients + self.attendants
    }

    /// How long this client waits before it asks, when it has finished so many rounds.
    pub fn think_of(&self, client: u8, rounds_before: u8) -> Micros {
        self.pace.map_or(self.think, |pace| pace.of(self.think, client, rounds_before, 0))
    }

    /// How long it works in its critical section then.
    pub fn hold_of(&self, client: u8, rounds_before: u8) -> Micros {
        self.pace.map_or(self.hold, |pace| pace.of(self.hold, client, rounds_before, 1))
    }

    /// In which mode of access this client asks, when it has finished so many rounds.
    pub fn access_of(&self, client: u8, rounds_before: u8) -> Access {
        self.access.of(client, rounds_before)
    }

    /// What every client asks for.
    pub fn mode(&self) -> Mode {
        match self.calls {
            Calls::Lock => Mode::Lock,
            Calls::TryLock => Mode::TryLock,
        }
    }

    /// Whether whoever asks may be refused, and then asks no more for this round.
    pub fn may_be_refused(&self) -> bool {
        self.calls == Calls::TryLock && !self.retries
    }
}

/// What the locks protect: it applies writes, and may check their fencing tokens (catalogue, "Fencing").
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Resource {
    /// The largest token seen, lock by lock.
    largest: SmallVec<[Option<FencingToken>; 1]>,
}

impl Resource {
    /// The resource before anything was written.
    pub fn new(workload: &Workload) -> Resource {
        Resource { largest: smallvec![None; usize::from(workload.locks.max(1))] }
    }

    /// A read arrived: answers it. If it shows a token, a resource that checks them will turn down what is written with an
    /// older one; whoever reads with an older one learns of that when it writes.
    pub fn on_read<S: Store>(
        &mut self,
        client: u8,
        serial: u32,
        lock: LockId,
        fence: Option<FencingToken>,
        workload: &Workload,
        effects: &mut Effects<S>,
    ) {
        if workload.resource_checks {
            let largest = &mut self.largest[usize::from(lock.0)];
            *largest = (*largest).max(fence);
        }
        effects.record(Event::ResourceRead { client: ClientId(client), hold: HoldId(serial) });
        effects.sends.push((Node::Client(client), Message::Shown { serial }));
    }

    /// A write arrived: applies it, or turns it down, and answers.
    pub fn on_write<S: Store>(
        &mut self,
        client: u8,
        serial: u32,
        lock: LockId,
        fence: Option<FencingToken>,
        workload: &Workload,
        effects: &mut Effects<S>,
    ) {
        let largest = &mut self.largest[usize::from(lock.0)];
        let accepted = match (fence, *largest) {
            (Some(token), Some(largest)) if workload.resource_checks => token >= largest,
            (Some(_), _) | (None, _) => true,
        };
        if let Some(token) = fence
            && workload.resource_checks
        {
            *largest = (*largest).max(Some(token));
        }
        let (client, hold) = (ClientId(client), Some(HoldId(serial)));
        effects.record(match accepted {
            true => Event::Accepted { client, fence, hold },
            false => Event::Rejected { client, fence, hold },
        });
        effects.sends.push((Node::Client(client.0), Message::Written { serial, accepted }));
    }

    /// The resource's process ended and has started again.
    pub fn restart(&mut self, workload: &Workload) {
        if workload.resource_forgets {
            self.largest.fill(None);
        }
    }

    /// Shows every token in the state to `visitor`.
    pub fn visit<S: Store, V: Visitor>(&mut self, visitor: &mut V) {
        for largest in self.largest.iter_mut().flatten() {
            S::visit_fence(largest, visitor);
        }
    }

    /// What the resource remembers, lock by lock, for the reader of a trace.
    pub fn contents(&self) -> Vec<String> {
        let of = |lock| if self.largest.len() == 1 { String::new() } else { format!(" of {}", LockId(lock)) };
        let known = (0..).zip(&self.largest).filter_map(|(lock, token)| Some((lock, (*token)?)));
        known.map(|(lock, token)| format!("largest token{} {}", of(lock), token.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paced(spread_per_mille: u16) -> Workload {
        Workload {
            hold: Micros::seconds(10),
            pace: Some(Pace { seed: 4711, spread_per_mille }),
            ..Workload::default()
        }
    }

    fn holds(workload: &Workload) -> Vec<i64> {
        let rounds = (0..8).flat_map(|client| (0..100).map(move |round| (client, round)));
        rounds.map(|(client, round)| workload.hold_of(client, round).0).collect()
    }

    #[test]
    fn without_a_pace_or_a_spread_every_hold_is_as_long_as_the_workload_says() {
        for workload in [Workload { pace: None, ..paced(0) }, paced(0)] {
            assert!(holds(&workload).iter().all(|hold| *hold == Micros::seconds(10).0));
        }
    }

    #[test]
    fn at_full_spread_all_lengths_from_nothing_to_the_whole_are_equally_likely() {
        let holds = holds(&paced(1000));
        for tenth in 0..10 {
            let within = (tenth * 1_000_000)..=((tenth + 1) * 1_000_000);
            let count = holds.iter().filter(|hold| within.contains(*hold)).count();
            assert!((50..110).contains(&count), "{count} of 800 holds lie within {within:?}");
        }
    }

    #[test]
    fn at_a_smaller_spread_none_is_shorter_than_that() {
        let holds = holds(&paced(100));
        assert!(holds.iter().all(|hold| (9_000_000..=10_000_000).contains(hold)));
        assert!(holds.iter().any(|hold| *hold < 9_100_000) && holds.iter().any(|hold| *hold > 9_900_000));
    }

    #[test]
    fn modes_of_access_are_drawn_as_often_as_their_weights_say() {
        let weights = [1, 3, 0, 0, 0, 0, 0, 0];
        let access = AccessChoice::Drawn { seed: 4711, weights };
        let rounds = (0..8).flat_map(|client| (0..100).map(move |round| (client, round)));
        let drawn: Vec<Access> = rounds.map(|(client, round)| access.of(client, round)).collect();
        let first = drawn.iter().filter(|access| **access == Access::FIRST).count();
        assert!((150..250).contains(&first), "{first} of 800");
        assert!(drawn.iter().all(|access| access.0 < 2));
        assert!(access.is_of(&AccessModes::SHARED_EXCLUSIVE) && !access.is_of(&AccessModes::EXCLUSIVE));
        let never = AccessChoice::Drawn { seed: 4711, weights: [0; AccessModes::MODES_MAX] };
        assert_eq!(never.of(3, 5), Access::FIRST);
    }

    #[test]
    fn clients_beyond_the_end_of_the_list_ask_like_the_last_one() {
        let mut modes = [Access(1); AccessModes::MODES_MAX];
        modes[0] = Access::FIRST;
        let access = AccessChoice::ByClient(modes);
        let of: Vec<u8> = (0..10).map(|client| access.of(client, 1).0).collect();
        assert_eq!(of, [0, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert!(access.is_of(&AccessModes::SHARED_EXCLUSIVE) && !access.is_of(&AccessModes::permits(3)));
    }

    #[test]
    fn how_long_a_client_thinks_says_nothing_of_how_long_it_holds() {
        let workload = Workload { think: Micros::seconds(10), ..paced(1000) };
        let longer =
            (0..100).filter(|round| workload.think_of(0, *round) > workload.hold_of(0, *round)).count();
        assert!((30..70).contains(&longer), "{longer} of 100");
    }
}
