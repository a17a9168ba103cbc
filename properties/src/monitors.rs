//! All monitors of a run in one value: what an engine puts into its state.

mod tested;

pub use tested::Tests;

use crate::Promise;
use crate::access::{AccessModes, Accesses};
use crate::bounded_overtaking::BoundedOvertaking;
use crate::fenced_resource::FencedResource;
use crate::fifo::Fifo;
use crate::fresh_read::FreshRead;
use crate::history::{ClientId, Event, FencingToken, HoldId};
use crate::lease_loss::LeaseLoss;
use crate::lemma_1::Lemma1;
use crate::lost_update::LostUpdate;
use crate::min_validity::MinValidity;
use crate::monitor::{Monitor, Violation};
use crate::mutual_exclusion::MutualExclusion;
use crate::no_herd::NoHerd;
use crate::promise_set::{PromiseSet, StrayPromises};
use crate::theorem_1::Theorem1;
use crate::theorem_2::Theorem2;
use crate::theorem_3::Theorem3;
use crate::time_order::TimeOrder;
use crate::token_order::TokenOrder;
use crate::usage::Usage;
use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Everything that does the same for each monitor, from one list of them.
macro_rules! monitors {
    ($($field:ident: $Promise:ident,)*) => {
        /// The usage of the lock and one monitor per wanted promise, fed together.
        ///
        /// A promise that is not wanted costs nothing: its monitor is never fed, so that it tells no two states apart, and it
        /// is left out of the serialised form.
        #[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct Monitors {
            promises: PromiseSet,
            usage: Usage,
            $($field: $Promise,)*
        }

        impl Monitors {
            /// Takes the next event of the history, and reports the promises that it breaks, in the order of
            /// [`Promise::ALL`].
            pub fn observe(&mut self, event: Event, on_violation: &mut dyn FnMut(Violation)) {
                self.usage.observe(event);
                $(if self.promises.contains(Promise::$Promise)
                    && let Err(violation) = self.$field.observe_beside(event, &self.usage)
                {
                    on_violation(violation);
                })*
            }

            /// The clients have other numbers from now on ([`Monitor::renumber_clients`]).
            pub fn renumber_clients(&mut self, numbers: &[u8]) {
                self.usage.renumber_clients(numbers);
                $(if self.promises.contains(Promise::$Promise) {
                    self.$field.renumber_clients(numbers);
                })*
            }

            /// Shows every number of a hold that the monitors remember, so that an engine can renumber a client's holds.
            pub fn each_hold(&mut self, show: &mut dyn FnMut(ClientId, &mut HoldId)) {
                $(if self.promises.contains(Promise::$Promise) {
                    self.$field.each_hold(show);
                })*
            }

            /// Shows every fencing token that the monitors remember, so that an engine can move tokens that are times.
            pub fn each_token(&mut self, show: &mut dyn FnMut(&mut FencingToken)) {
                $(if self.promises.contains(Promise::$Promise) {
                    self.$field.each_token(show);
                })*
            }

            /// Forgets the holds of which the engine knows that nothing can arrive from them any more.
            pub fn forget_holds(&mut self, is_over: &dyn Fn(ClientId, HoldId) -> bool) {
                $(if self.promises.contains(Promise::$Promise) {
                    self.$field.forget_holds(is_over);
                })*
            }
        }

        /// The set of promises, the usage, the modes of access if there are several, and then the monitors that are watched, in
        /// the order of [`Promise::ALL`].
        impl Serialize for Monitors {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let watched = self.promises.intersection(PromiseSet::safety()).len() as usize;
                let has_modes = *self.usage.accesses.modes() != AccessModes::EXCLUSIVE;
                let mut parts = serializer.serialize_tuple(2 + usize::from(has_modes) + watched)?;
                parts.serialize_element(&Watched { promises: self.promises, has_modes })?;
                parts.serialize_element(&self.usage)?;
                if has_modes {
                    parts.serialize_element(&(self.usage.accesses, self.usage.just_granted))?;
                }
                $(if self.promises.contains(Promise::$Promise) {
                    parts.serialize_element(&self.$field)?;
                })*
                parts.end()
            }
        }

        impl<'de> Visitor<'de> for PartsVisitor {
            type Value = Monitors;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a set of promises, the usage, the modes, and one monitor for each promise of the set that has one")
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut parts: S) -> Result<Monitors, S::Error> {
                let Watched { promises, has_modes } = next_part(&mut parts)?;
                let mut monitors = Monitors::new(promises);
                monitors.usage = next_part(&mut parts)?;
                if has_modes {
                    (monitors.usage.accesses, monitors.usage.just_granted) = next_part(&mut parts)?;
                }
                $(if monitors.promises.contains(Promise::$Promise) {
                    monitors.$field = next_part(&mut parts)?;
                })*
                Ok(monitors)
            }
        }
    };
}

// In the order of `Promise::ALL`. The liveness promises need no monitor: they are predicates over the usage.
monitors! {
    mutual_exclusion: MutualExclusion,
    fenced_resource: FencedResource,
    fifo: Fifo,
    lease_loss: LeaseLoss,
    theorem_1: Theorem1,
    theorem_2: Theorem2,
    theorem_3: Theorem3,
    lemma_1: Lemma1,
    min_validity: MinValidity,
    no_herd: NoHerd,
    fresh_read: FreshRead,
    time_order: TimeOrder,
    token_order: TokenOrder,
    lost_update: LostUpdate,
    bounded_overtaking: BoundedOvertaking,
}

impl Monitors {
    /// Watches these promises. The liveness promises among them need no monitor: they are predicates over
    /// [`Monitors::usage`], which is always kept.
    pub fn new(promises: PromiseSet) -> Monitors {
        Monitors { promises, ..Monitors::default() }
    }

    /// Puts up with this many overtakes before [`Promise::Fifo`] counts as broken, and counts them up to one more.
    /// By default none is put up with. Starts the order anew; changes nothing if [`Promise::Fifo`] is not watched.
    #[must_use]
    pub fn allowing_overtakes(mut self, overtakes: u32) -> Monitors {
        if self.promises.contains(Promise::Fifo) {
            self.fifo = Fifo::allowing(overtakes);
        }
        self
    }

    /// Watches a lock with these modes of access. By default it has one, and excludes everybody else.
    #[must_use]
    pub fn with_modes(mut self, modes: AccessModes) -> Monitors {
        self.usage.accesses = Accesses::new(modes);
        self
    }

    /// The lock's modes of access.
    pub fn modes(&self) -> &AccessModes {
        self.usage.accesses.modes()
    }

    /// The promises that are watched.
    pub fn promises(&self) -> PromiseSet {
        self.promises
    }

    /// Who waits, holds, releases.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// How many overtakes there were, up to one more than allowed; 0 if [`Promise::Fifo`] is not watched.
    pub fn overtakes(&self) -> u32 {
        self.fifo.overtakes()
    }

    /// The monitor of Theorem 3, which is read as "leads to", too; as at the start if [`Promise::Theorem3`] is not
    /// watched.
    pub fn theorem_3(&self) -> &Theorem3 {
        &self.theorem_3
    }
}

impl<'de> Deserialize<'de> for Monitors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Monitors, D::Error> {
        // How many parts there are is known only once the first is read; no self-delimiting format minds the bound.
        deserializer.deserialize_tuple(3 + Promise::ALL.len(), PartsVisitor)
    }
}

/// The first part: the set of promises, with its topmost bit for "the modes of access follow". A lock with one mode is as short
/// as if there were none.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
struct Watched {
    promises: PromiseSet,
    has_modes: bool,
}

const HAS_MODES: u32 = 1 << 31;

const _: () = assert!(Promise::ALL.len() < 31, "no promise has the topmost bit");

impl From<Watched> for u32 {
    fn from(watched: Watched) -> u32 {
        u32::from(watched.promises) | if watched.has_modes { HAS_MODES } else { 0 }
    }
}

impl TryFrom<u32> for Watched {
    type Error = StrayPromises;

    fn try_from(bits: u32) -> Result<Watched, StrayPromises> {
        Ok(Watched { promises: PromiseSet::try_from(bits & !HAS_MODES)?, has_modes: bits & HAS_MODES != 0 })
    }
}

struct PartsVisitor;

fn next_part<'de, T: Deserialize<'de>, S: SeqAccess<'de>>(parts: &mut S) -> Result<T, S::Error> {
    parts.next_element()?.ok_or_else(|| S::Error::custom("the monitors end too early"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientId;
    use crate::notation::*;

    fn broken(monitors: &mut Monitors, history: &[Event]) -> Vec<(Promise, ClientId)> {
        let mut broken = Vec::new();
        for event in history {
            monitors.observe(*event, &mut |violation| broken.push((violation.promise, violation.client)));
        }
        broken
    }

    #[test]
    fn one_event_may_break_several_promises_and_they_are_reported_in_the_order_of_the_table() {
        let mut monitors = Monitors::new(PromiseSet::ALL);
        let history = [lock(A), enqueued(A), lock(B), enqueued(B), lock(C), granted(C), granted(B)];
        let expected =
            [(Promise::Fifo, C), (Promise::MutualExclusion, B), (Promise::Fifo, B), (Promise::Theorem1, B)];
        assert_eq!(broken(&mut monitors, &history), expected);
    }

    #[test]
    fn a_promise_that_is_not_watched_tells_no_states_apart() {
        let mut monitors = Monitors::new(PromiseSet::EMPTY);
        let history =
            [try_lock(A), enqueued(A), read(A, &[]), granted(A), granted(B), renewed(A), accepted(A)];
        assert_eq!(broken(&mut monitors, &history), []);
        assert_eq!(Monitors { usage: Usage::default(), ..monitors }, Monitors::new(PromiseSet::EMPTY));
    }

    #[test]
    fn the_usage_is_kept_whatever_is_watched() {
        let mut monitors = Monitors::new(PromiseSet::EMPTY);
        broken(&mut monitors, &[lock(A), lock(B), granted(A)]);
        assert!(monitors.usage().holding.contains(A) && monitors.usage().waiting.contains(B));
    }

    #[test]
    fn overtakes_are_counted_up_to_one_more_than_allowed() {
        let history = [lock(A), enqueued(A), lock(B), enqueued(B), lock(C), granted(C)];
        for (allowed, counted, violations) in [(0, 1, 1), (1, 2, 1), (2, 2, 0)] {
            let mut monitors =
                Monitors::new([Promise::Fifo].into_iter().collect()).allowing_overtakes(allowed);
            assert_eq!(broken(&mut monitors, &history).len(), violations);
            assert_eq!(monitors.overtakes(), counted);
        }
    }

    #[test]
    fn what_is_not_watched_takes_no_bytes() {
        let bytes = |promises: PromiseSet| postcard::to_stdvec(&Monitors::new(promises)).unwrap().len();
        assert_eq!(bytes(PromiseSet::EMPTY), 6);
        let progress = [Promise::DeadlockFreedom, Promise::StarvationFreedom];
        assert_eq!(bytes(progress.into_iter().collect()), 6);
        // The set itself takes more for promises at the end of the table.
        assert_eq!(bytes([Promise::ReleaseEnds].into_iter().collect()), 8);
        assert_eq!(bytes([Promise::MutualExclusion].into_iter().collect()), 7);
    }

    #[test]
    fn a_lock_with_several_modes_says_so_in_its_first_part_and_one_with_one_mode_takes_no_bytes_for_it() {
        let watched = PromiseSet::safety();
        let history = [lock(A), granted(A), lock(B), enqueued(B), renewed(A), accepted(A)];
        let mut exclusive = Monitors::new(watched).with_modes(AccessModes::EXCLUSIVE);
        let mut shared = Monitors::new(watched).with_modes(AccessModes::SHARED_EXCLUSIVE);
        for event in history {
            exclusive.observe(event, &mut |_| {});
            shared.observe(event, &mut |_| {});
        }
        let (bytes, shared_bytes) =
            (postcard::to_stdvec(&exclusive).unwrap(), postcard::to_stdvec(&shared).unwrap());
        let (bits, rest) = postcard::take_from_bytes::<u32>(&bytes).unwrap();
        let (shared_bits, shared_rest) = postcard::take_from_bytes::<u32>(&shared_bytes).unwrap();
        assert_eq!((bits, shared_bits), (u32::from(watched), u32::from(watched) | HAS_MODES));
        // The table, three sets of clients, and what was last done.
        assert_eq!(shared_rest.len(), rest.len() + 5);
        let (usage, monitors) = rest.split_at(5);
        assert_eq!((&shared_rest[..5], &shared_rest[10..]), (usage, monitors));
        for monitors in [exclusive, shared] {
            let bytes = postcard::to_stdvec(&monitors).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok(monitors.clone()));
            let json = serde_json::to_string(&monitors).unwrap();
            assert_eq!(serde_json::from_str::<Monitors>(&json).unwrap(), monitors);
        }
    }

    #[test]
    fn monitors_that_end_too_early_are_refused() {
        let monitors = Monitors::new(PromiseSet::ALL);
        let bytes = postcard::to_stdvec(&monitors).unwrap();
        assert_eq!(postcard::from_bytes::<Monitors>(&bytes).as_ref(), Ok(&monitors));
        assert!(postcard::from_bytes::<Monitors>(&bytes[..bytes.len() - 1]).is_err());
        let usage = serde_json::to_string(&Usage::default()).unwrap();
        assert!(serde_json::from_str::<Monitors>(&format!("[1,{usage}]")).is_err());
    }
}
