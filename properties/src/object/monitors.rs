//! All monitors of shared objects in one value: the judge of such a system.

use super::Conservation;
use super::exactly_once::ExactlyOnce;
use super::handler::Handler;
use super::index_never_falls::IndexNeverFalls;
use super::judge::Judge;
use super::linearizable::Linearizable;
use super::no_duplicate::NoDuplicate;
use super::no_hole::NoHole;
use super::no_overwrite::NoOverwrite;
use crate::Promise;
use crate::history::Event;
use crate::monitor::{Monitor, Violation};
use crate::promise_set::PromiseSet;
use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Everything that does the same for each monitor, from one list of them.
macro_rules! monitors {
    ($($field:ident: $Promise:ident,)*) => {
        /// One monitor per wanted promise of shared objects, fed together.
        ///
        /// A promise that is not wanted costs nothing: its monitor is never fed, so that it tells no two states apart, and it
        /// is left out of the serialised form. Promises of locks are not judged.
        #[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct ObjectMonitors {
            promises: PromiseSet,
            $($field: $Promise,)*
        }

        impl ObjectMonitors {
            fn feed(&mut self, event: Event, on_violation: &mut dyn FnMut(Violation)) {
                $(if self.promises.contains(Promise::$Promise)
                    && let Err(violation) = self.$field.observe(event)
                {
                    on_violation(violation);
                })*
            }
        }

        /// The set of promises, and then the monitors that are watched, in the order of [`Promise::ALL`].
        impl Serialize for ObjectMonitors {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut parts = serializer.serialize_tuple(1 + self.promises.len() as usize)?;
                parts.serialize_element(&self.promises)?;
                $(if self.promises.contains(Promise::$Promise) {
                    parts.serialize_element(&self.$field)?;
                })*
                parts.end()
            }
        }

        impl<'de> Visitor<'de> for PartsVisitor {
            type Value = ObjectMonitors;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a set of promises of shared objects, and a monitor for each")
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut parts: S) -> Result<ObjectMonitors, S::Error> {
                let mut next = ObjectMonitors { promises: next_part(&mut parts)?, ..ObjectMonitors::default() };
                if next.promises != next.promises.intersection(PromiseSet::objects()) {
                    return Err(S::Error::custom("a promise of locks among those of shared objects"));
                }
                $(if next.promises.contains(Promise::$Promise) {
                    next.$field = next_part(&mut parts)?;
                })*
                Ok(next)
            }
        }
    };
}

// In the order of `Promise::ALL`.
monitors! {
    linearizable: Linearizable,
    conservation: Conservation,
    no_hole: NoHole,
    no_overwrite: NoOverwrite,
    no_duplicate: NoDuplicate,
    index_never_falls: IndexNeverFalls,
    exactly_once: ExactlyOnce,
}

impl ObjectMonitors {
    /// Judges [`Promise::ExactlyOnce`] of this handler; by default it is [`Handler::default`]. Starts anew; changes nothing if
    /// the promise is not watched.
    #[must_use]
    pub fn with_handler(mut self, handler: Handler) -> ObjectMonitors {
        if self.promises.contains(Promise::ExactlyOnce) {
            self.exactly_once = ExactlyOnce::of(handler);
        }
        self
    }

    /// The promises that are watched.
    pub fn promises(&self) -> PromiseSet {
        self.promises
    }

    fn is_tested_by(&self, promise: Promise, event: Event) -> bool {
        match (promise, event) {
            (Promise::Linearizable, Event::Returned { client, .. }) => self.linearizable.is_tested_by(client),
            (Promise::Conservation, Event::Returned { client, .. }) => self.conservation.is_tested_by(client),
            (Promise::NoHole, Event::Returned { client, .. }) => self.no_hole.is_tested_by(client),
            (Promise::NoOverwrite, Event::Returned { client, .. }) => self.no_overwrite.is_tested_by(client),
            (Promise::NoDuplicate, Event::Returned { client, answer }) => {
                self.no_duplicate.is_tested_by(client, answer)
            }
            (Promise::IndexNeverFalls, Event::Returned { client, .. }) => {
                self.index_never_falls.is_tested_by(client)
            }
            (Promise::ExactlyOnce, Event::Output { client, .. } | Event::Counted { client }) => {
                self.exactly_once.is_tested_by(client)
            }
            // A promise of objects is tested by what comes back or comes out, one of locks not here.
            _ => false,
        }
    }
}

impl Judge for ObjectMonitors {
    fn new(promises: PromiseSet) -> ObjectMonitors {
        ObjectMonitors { promises: promises.intersection(PromiseSet::objects()), ..ObjectMonitors::default() }
    }

    fn observe(&mut self, event: Event, on_violation: &mut dyn FnMut(Violation)) {
        self.feed(event, on_violation);
    }

    fn struck(&mut self) {
        if self.promises.contains(Promise::ExactlyOnce) {
            self.exactly_once.struck();
        }
    }

    fn tested_by(&self, event: Event) -> PromiseSet {
        self.promises.iter().filter(|promise| self.is_tested_by(*promise, event)).collect()
    }
}

impl<'de> Deserialize<'de> for ObjectMonitors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMonitors, D::Error> {
        // How many parts there are is known only once the first is read; no self-delimiting format minds the bound.
        deserializer.deserialize_tuple(1 + Promise::ALL.len(), PartsVisitor)
    }
}

struct PartsVisitor;

fn next_part<'de, T: Deserialize<'de>, S: SeqAccess<'de>>(parts: &mut S) -> Result<T, S::Error> {
    parts.next_element()?.ok_or_else(|| S::Error::custom("the monitors end too early"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;
    use crate::object::{ObjectAnswer, ObjectCall, ObjectId};

    const Q: ObjectId = ObjectId(0);

    fn push(item: i32) -> ObjectCall {
        ObjectCall::Push { queue: Q, item }
    }

    fn at(position: u32) -> ObjectCall {
        ObjectCall::ReadAt { queue: Q, position }
    }

    fn pushed(position: u32) -> ObjectAnswer {
        ObjectAnswer::Pushed { position }
    }

    fn item(item: i32) -> ObjectAnswer {
        ObjectAnswer::Item { item: Some(item) }
    }

    const EMPTY: ObjectAnswer = ObjectAnswer::Item { item: None };

    /// Which promises a history puts to the test, and which it breaks.
    fn judged(promises: PromiseSet, history: &[Event]) -> (PromiseSet, Vec<Promise>) {
        let (mut monitors, mut tested, mut broken) =
            (ObjectMonitors::new(promises), PromiseSet::EMPTY, Vec::new());
        for event in history {
            tested = tested.union(monitors.tested_by(*event));
            monitors.observe(*event, &mut |violation| broken.push(violation.promise));
        }
        (tested, broken)
    }

    /// One history that tests the promise and, as near to it as can be, one that does not.
    fn histories(promise: Promise) -> (Vec<Event>, Vec<Event>) {
        let (variable, account) = (ObjectId(0), ObjectId(0));
        let write = done(A, ObjectCall::Write { variable, value: 1 }, ObjectAnswer::Done);
        let read =
            |value| done(B, ObjectCall::Read { variable }, ObjectAnswer::Value { value, version: None });
        let add = done(A, ObjectCall::Add { account, amount: 5 }, ObjectAnswer::Done);
        let audit = |total| done(B, ObjectCall::Audit, ObjectAnswer::Total { total });
        let index = |index| done(A, ObjectCall::ReadIndex { queue: Q }, ObjectAnswer::Index { index });
        let (input, output) =
            (Event::Input { client: C, stream: 0, value: 1 }, |client| Event::Output { client, value: 1 });
        match promise {
            Promise::Linearizable => ([write, read(Some(1))].concat(), [read(None), write].concat()),
            Promise::Conservation => ([add, audit(5)].concat(), [audit(0), add].concat()),
            Promise::NoHole => (
                [done(A, push(1), pushed(1)), done(B, at(0), item(2))].concat(),
                [done(A, push(1), pushed(1)), done(B, at(1), item(1))].concat(),
            ),
            Promise::NoOverwrite => (
                [done(A, push(1), pushed(0)), done(B, at(0), item(1))].concat(),
                [done(A, push(1), pushed(0)), done(B, at(1), EMPTY)].concat(),
            ),
            Promise::NoDuplicate => (
                [done(A, push(1), pushed(0)), done(B, at(1), item(1))].concat(),
                [done(A, push(1), pushed(0)), done(B, at(0), item(1))].concat(),
            ),
            Promise::IndexNeverFalls => ([index(1), index(1)].concat(), [index(0), index(1)].concat()),
            Promise::ExactlyOnce => (
                vec![input, input, output(A), crashed(A), output(A)],
                vec![input, input, output(A), output(A), Event::Settled { client: C }],
            ),
            of_locks => unreachable!("{of_locks} is not of objects"),
        }
    }

    #[test]
    fn every_promise_has_a_history_that_tests_it_and_a_near_one_that_does_not() {
        for promise in PromiseSet::objects().iter() {
            let (testing, idle) = histories(promise);
            assert!(
                judged(PromiseSet::ALL, &testing).0.contains(promise),
                "{promise} is tested by {testing:?}"
            );
            assert!(
                !judged(PromiseSet::ALL, &idle).0.contains(promise),
                "{promise} is not tested by {idle:?}"
            );
        }
    }

    /// A queue at its worst: a hole, an item twice, another one in its place, an index that falls.
    fn worst() -> Vec<Event> {
        let index = |index| done(B, ObjectCall::ReadIndex { queue: Q }, ObjectAnswer::Index { index });
        let reads = [done(B, at(0), EMPTY), done(B, at(2), item(1)), done(B, at(1), item(7))];
        [&done(A, push(1), pushed(1))[..], &reads.concat(), &index(2), &index(1)].concat()
    }

    #[test]
    fn one_history_may_break_several_promises_and_each_is_reported_by_its_own_monitor() {
        let all = judged(PromiseSet::ALL, &worst()).1;
        let alone = |promise: Promise| judged([promise].into_iter().collect(), &worst()).1;
        for promise in [Promise::NoHole, Promise::NoOverwrite, Promise::NoDuplicate, Promise::IndexNeverFalls]
        {
            let times = all.iter().filter(|broken| **broken == promise).count();
            assert!(times > 0, "{promise}");
            assert_eq!(alone(promise), vec![promise; times]);
        }
    }

    #[test]
    fn a_promise_that_is_not_watched_tells_no_states_apart_and_takes_no_bytes() {
        let none = ObjectMonitors::new(PromiseSet::safety());
        let mut fed = none.clone();
        for event in worst() {
            assert_eq!(fed.tested_by(event), PromiseSet::EMPTY);
            fed.observe(event, &mut |violation| panic!("{violation:?}"));
        }
        assert_eq!(fed, none);
        assert_eq!(postcard::to_stdvec(&fed).unwrap(), [0]);
        assert_eq!(none.clone().with_handler(Handler { window: 9, boundary: 9 }), none);
    }

    #[test]
    fn monitors_come_back_from_their_bytes_and_those_that_end_too_early_are_refused() {
        let mut monitors =
            ObjectMonitors::new(PromiseSet::ALL).with_handler(Handler { window: 3, boundary: 1 });
        let stream = [Event::Input { client: C, stream: 1, value: 5 }, invoked(C, push(8)), unknown(C)];
        for event in worst().into_iter().chain(stream) {
            monitors.observe(event, &mut |_| {});
            let bytes = postcard::to_stdvec(&monitors).unwrap();
            assert_eq!(postcard::from_bytes(&bytes), Ok(monitors.clone()));
            assert!(postcard::from_bytes::<ObjectMonitors>(&bytes[..bytes.len() - 1]).is_err());
            let json = serde_json::to_string(&monitors).unwrap();
            assert_eq!(serde_json::from_str::<ObjectMonitors>(&json).unwrap(), monitors);
        }
        let locks = serde_json::to_string(&(PromiseSet::safety(),)).unwrap();
        assert!(serde_json::from_str::<ObjectMonitors>(&locks).is_err());
    }

    #[test]
    fn an_unused_judge_of_everything_is_a_few_bytes() {
        let bytes = postcard::to_stdvec(&ObjectMonitors::new(PromiseSet::objects())).unwrap();
        assert!(bytes.len() < 40, "{bytes:?}");
    }
}
