//! What puts a promise to the test: the one table of what must have happened for a pass to mean anything.
//!
//! A lock that nobody contends for excludes everybody from nothing, one without a queue overtakes nobody, one that is never
//! renewed prolongs no lease wrongly. Such a pass is *vacuous*: it says nothing of the lock, and no engine may show it as
//! a pass. So every engine counts, for each promise, the events at which it was at stake.

use super::Monitors;
use crate::history::{ClientSet, Event, Mode};
use crate::{Promise, PromiseSet, Usage};
use serde::de::MapAccess;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

impl Promise {
    /// What puts the promise to the test: where it never happened, that nothing was broken proves nothing.
    pub fn tested_by(self) -> &'static str {
        match self {
            Promise::DeadlockFreedom | Promise::StarvationFreedom => {
                "a client that waited was granted, or answered"
            }
            Promise::MutualExclusion => {
                "a client asked while another one held, or was granted while another one waited or held"
            }
            Promise::FencedResource => {
                "a write reached the resource after one of another client was accepted that may not hold beside it"
            }
            Promise::Fifo => "a client was granted while another one stood in the queue",
            Promise::BoundedOvertaking => {
                "of two in the queue one was granted, and one of them had been granted already while the other waited"
            }
            Promise::LeaseLoss => {
                "a lease of the lock itself, not of a session, was renewed while another client waited or held"
            }
            Promise::Theorem1 => {
                "a caller of lock asked while another one held, or was granted while another one waited or held"
            }
            Promise::Theorem2 => {
                "a caller of try_lock asked while another one held, or was granted while another one waited or held"
            }
            Promise::Theorem3 => "a call of try_lock on a free lock ended",
            Promise::Lemma1 => "a client read after another one had read and missed its record",
            Promise::MinValidity => {
                "a record went without its client's doing: it expired, was lost or evicted"
            }
            Promise::NoHerd => "a waiter was told that a holder's record was gone, while another one waited",
            Promise::FreshRead => "a client read what was acknowledged before it began to read",
            Promise::TimeOrder => "the time service gave a client the time for the second time",
            Promise::TokenOrder => "a grant came with a token after another one had",
            Promise::LostUpdate => {
                "a client that had read the resource wrote to it after another one had read it, too"
            }
            Promise::ReleaseEnds => "a client gave the lock back",
            Promise::Linearizable => {
                "an answer depended on the object, which was changed before or meanwhile"
            }
            Promise::Conservation => "the sum of the accounts was looked at after something was put in",
            Promise::NoHole => "a position below one known to be filled was read",
            Promise::NoOverwrite => "a position known to be filled was read again",
            Promise::NoDuplicate => "an item was found while another place of it, or another item, was known",
            Promise::IndexNeverFalls => "the index was read after it had been read above zero",
            Promise::ExactlyOnce => {
                "something came out after a fault of a node or a message, or from a second handler"
            }
        }
    }
}

impl Monitors {
    /// The promises that this event, coming next, puts to the test. Promises of progress are tested whether they are
    /// watched or not; others only if they are.
    pub fn tested_by(&self, event: Event) -> PromiseSet {
        let judged = self.promises.union(PromiseSet::liveness());
        judged.iter().filter(|promise| self.is_tested_by(*promise, event)).collect()
    }

    fn is_tested_by(&self, promise: Promise, event: Event) -> bool {
        let client = event.client();
        let besides = |clients: ClientSet| clients.iter().any(|other| other != client);
        let (waiting, holding) = (self.usage.waiting, self.usage.holding);
        let accesses = &self.usage.accesses;
        let access = match event {
            Event::Called { access, .. } => access,
            _ => accesses.of(client),
        };
        // Of a lock with one mode of access, all others.
        let contended = |clients: ClientSet| !accesses.in_the_way(client, access, clients).is_empty();
        match promise {
            // Whoever waits is owed something, alone or not.
            Promise::DeadlockFreedom | Promise::StarvationFreedom => {
                matches!(event, Event::Granted { .. } | Event::Returned { .. }) && waiting.contains(client)
            }
            Promise::MutualExclusion => match event {
                Event::Called { .. } => contended(holding),
                Event::Granted { .. } => contended(waiting.union(holding)),
                _ => false,
            },
            Promise::FencedResource => {
                let accesses = &self.usage.accesses;
                let excludes = |writer| {
                    writer != client && !accesses.modes().compatible(accesses.of(writer), accesses.of(client))
                };
                matches!(event, Event::Accepted { .. } | Event::Rejected { .. })
                    && self.fenced_resource.writer().is_some_and(excludes)
            }
            Promise::Fifo => matches!(event, Event::Granted { .. }) && besides(self.fifo.enqueued()),
            Promise::BoundedOvertaking => {
                matches!(event, Event::Granted { .. }) && self.bounded_overtaking.decides(client)
            }
            Promise::LeaseLoss => matches!(event, Event::Renewed { .. }) && contended(waiting.union(holding)),
            Promise::Theorem1 => {
                is_contended_by(Mode::Lock, &self.usage, self.theorem_1.callers(), event, contended)
            }
            Promise::Theorem2 => {
                is_contended_by(Mode::TryLock, &self.usage, self.theorem_2.callers(), event, contended)
            }
            Promise::Theorem3 => {
                let contending = self.theorem_3.contending();
                matches!(event, Event::Granted { .. } | Event::Refused { .. } | Event::Crashed { .. })
                    && contending.contains(client)
            }
            Promise::Lemma1 => matches!(event, Event::RowRead { .. }) && self.lemma_1.depends_on(client),
            Promise::MinValidity => matches!(event, Event::RecordGone { .. }),
            // Not when it wakes: by then the releaser may wait again, whom its own record's going does not wake.
            Promise::NoHerd => match event {
                Event::Notified { of, .. } => {
                    self.no_herd.is_holder(of) && waiting.contains(client) && besides(waiting)
                }
                _ => false,
            },
            Promise::FreshRead => {
                matches!(event, Event::RowRead { .. }) && self.fresh_read.must_see_some(client)
            }
            Promise::TimeOrder => {
                matches!(event, Event::TimeGiven { .. }) && self.time_order.has_given(client)
            }
            Promise::TokenOrder => {
                matches!(event, Event::Granted { fence: Some(_), .. }) && self.token_order.has_given()
            }
            Promise::LostUpdate => match event {
                Event::Accepted { hold, .. } | Event::Rejected { hold, .. } => {
                    self.lost_update.is_contended_by(client, hold)
                }
                _ => false,
            },
            Promise::ReleaseEnds => matches!(event, Event::Left { .. } | Event::Lost { .. }),
            // Judged, and put to the test, by the monitors of objects.
            Promise::Linearizable
            | Promise::Conservation
            | Promise::NoHole
            | Promise::NoOverwrite
            | Promise::NoDuplicate
            | Promise::IndexNeverFalls
            | Promise::ExactlyOnce => false,
        }
    }
}

/// As mutual exclusion is tested, among the callers of one mode.
fn is_contended_by(
    mode: Mode,
    usage: &Usage,
    callers: ClientSet,
    event: Event,
    contended: impl Fn(ClientSet) -> bool,
) -> bool {
    let callers_of = |clients: ClientSet| clients.without(clients.without(callers));
    match event {
        Event::Called { mode: called, .. } => called == mode && contended(callers_of(usage.holding)),
        Event::Granted { client, .. } => {
            callers.contains(client) && contended(callers_of(usage.waiting.union(usage.holding)))
        }
        _ => false,
    }
}

/// How often each promise was put to the test.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Tests([u64; Promise::ALL.len()]);

impl Tests {
    /// Each of these once more.
    pub fn count(&mut self, tested: PromiseSet) {
        self.count_times(tested, 1);
    }

    /// Each of these so many times more.
    pub fn count_times(&mut self, tested: PromiseSet, times: u64) {
        if !tested.is_empty() {
            tested.iter().for_each(|promise| self.0[promise as usize] += times);
        }
    }

    /// How often this one.
    pub fn times(&self, promise: Promise) -> u64 {
        self.0[promise as usize]
    }

    /// Those of `promises` that never were.
    pub fn untested(&self, promises: PromiseSet) -> PromiseSet {
        promises.iter().filter(|promise| self.times(*promise) == 0).collect()
    }

    /// Whether each of `promises` was tested so often.
    pub fn reach(&self, promises: PromiseSet, times: u64) -> bool {
        promises.iter().all(|promise| self.times(promise) >= times)
    }

    /// Those that were, with how often, in the order of every table.
    pub fn iter(&self) -> impl Iterator<Item = (Promise, u64)> {
        Promise::ALL.into_iter().zip(self.0).filter(|(_, times)| *times > 0)
    }
}

impl std::ops::AddAssign for Tests {
    fn add_assign(&mut self, other: Tests) {
        self.0.iter_mut().zip(other.0).for_each(|(times, more)| *times += more);
    }
}

/// The promises that were tested, by name, with how often.
impl Serialize for Tests {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.iter().count()))?;
        for (promise, times) in self.iter() {
            map.serialize_entry(&promise, &times)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Tests {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tests, D::Error> {
        deserializer.deserialize_map(TestsVisitor)
    }
}

struct TestsVisitor;

impl<'de> serde::de::Visitor<'de> for TestsVisitor {
    type Value = Tests;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("promises, each with how often it was put to the test")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Tests, M::Error> {
        let mut tests = Tests::default();
        while let Some((promise, times)) = map.next_entry::<Promise, u64>()? {
            tests.0[promise as usize] = times;
        }
        Ok(tests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AccessModes;
    use crate::history::{LockId, ServerSet};
    use crate::notation::*;

    /// Which promises a history puts to the test.
    fn tested(history: &[Event]) -> PromiseSet {
        let mut monitors = Monitors::new(PromiseSet::ALL);
        let mut tests = Tests::default();
        for event in history {
            tests.count(monitors.tested_by(*event));
            monitors.observe(*event, &mut |_| {});
        }
        tests.iter().map(|(promise, _)| promise).collect()
    }

    fn set<const N: usize>(promises: [Promise; N]) -> PromiseSet {
        promises.into_iter().collect()
    }

    /// One history that tests the promise and, as near to it as can be, one that does not.
    fn histories(promise: Promise) -> (Vec<Event>, Vec<Event>) {
        let time = Event::TimeGiven { client: A, less: false };
        let gone = Event::RecordGone { client: A, lock: LockId(0), server: 1 };
        let secured = |servers: &[u8]| Event::Secured {
            client: A,
            servers: servers.iter().fold(ServerSet::EMPTY, |mut all, server| {
                all.insert(*server);
                all
            }),
        };
        match promise {
            Promise::DeadlockFreedom | Promise::StarvationFreedom => {
                (vec![lock(A), granted(A)], vec![lock(A), lock(B)])
            }
            Promise::MutualExclusion | Promise::Theorem1 => (
                vec![lock(A), lock(B), granted(A)],
                vec![lock(A), granted(A), left(A), released(A), lock(B), granted(B)],
            ),
            Promise::Theorem2 => (
                vec![try_lock(A), granted(A), try_lock(B)],
                vec![try_lock(A), granted(A), lock(B), left(A), released(A)],
            ),
            Promise::FencedResource => (
                vec![granted(A), accepted(A), granted(B), accepted(B)],
                vec![granted(A), accepted(A), granted(B), accepted(A)],
            ),
            Promise::Fifo => (
                vec![lock(A), enqueued(A), lock(B), enqueued(B), granted(A)],
                vec![lock(A), enqueued(A), lock(B), granted(A)],
            ),
            Promise::BoundedOvertaking => {
                let once = [lock(A), enqueued(A), lock(B), enqueued(B), granted(B), left(B), released(B)];
                let again = [lock(B), enqueued(B), granted(A)];
                (once.into_iter().chain(again).collect(), once.into_iter().chain([granted(A)]).collect())
            }
            Promise::LeaseLoss => (
                vec![lock(A), granted(A), lock(B), renewed(A)],
                vec![lock(A), granted(A), renewed(A), lock(B)],
            ),
            Promise::Theorem3 => {
                (vec![try_lock(A), refused(A)], vec![lock(B), granted(B), try_lock(A), refused(A)])
            }
            Promise::Lemma1 => (vec![read(A, &[A]), read(B, &[A, B])], vec![read(A, &[A, B]), read(B, &[B])]),
            Promise::MinValidity => {
                (vec![secured(&[1]), left(A), gone], vec![secured(&[1]), granted(A), left(A), released(A)])
            }
            Promise::NoHerd => (
                vec![lock(A), granted(A), lock(B), lock(C), left(A), notified(B, A)],
                // Of two clients one alone can be woken, whenever the other one asks again.
                vec![lock(A), granted(A), lock(B), left(A), notified(B, A), released(A), lock(A), woken(B)],
            ),
            Promise::FreshRead => (
                vec![Event::Written { client: A }, Event::ReadBegun { client: B }, read(B, &[A])],
                vec![Event::ReadBegun { client: B }, Event::Written { client: A }, read(B, &[A])],
            ),
            Promise::TimeOrder => (vec![time, time], vec![time]),
            Promise::TokenOrder => (
                vec![granted_token(A, 1), left(A), granted_token(B, 2)],
                vec![granted_token(A, 1), left(A), granted(B)],
            ),
            Promise::LostUpdate => {
                (vec![reads(A), reads(B), accepted(A)], vec![reads(A), accepted(A), accepted(B)])
            }
            Promise::ReleaseEnds => (vec![granted(A), left(A)], vec![granted(A), crashed(A)]),
            Promise::Linearizable
            | Promise::Conservation
            | Promise::NoHole
            | Promise::NoOverwrite
            | Promise::NoDuplicate
            | Promise::IndexNeverFalls
            | Promise::ExactlyOnce => {
                unreachable!("the monitors of locks do not judge it")
            }
        }
    }

    #[test]
    fn every_promise_has_a_history_that_tests_it_and_a_near_one_that_does_not() {
        for promise in PromiseSet::safety().union(PromiseSet::liveness()).iter() {
            let (testing, idle) = histories(promise);
            assert!(tested(&testing).contains(promise), "{promise} is tested by {testing:?}");
            assert!(!tested(&idle).contains(promise), "{promise} is not tested by {idle:?}");
        }
    }

    #[test]
    fn what_breaks_mutual_exclusion_or_a_promise_of_order_tests_it_too() {
        let overlap = [lock(A), enqueued(A), lock(B), enqueued(B), granted(B), granted(A)];
        let all = tested(&overlap);
        for promise in [Promise::MutualExclusion, Promise::Fifo, Promise::Theorem1] {
            assert!(all.contains(promise), "{promise}");
        }
    }

    #[test]
    fn readers_that_hold_together_do_not_test_what_keeps_writers_apart() {
        let tested = |history: &[Event]| {
            let mut monitors = Monitors::new(PromiseSet::ALL).with_modes(AccessModes::SHARED_EXCLUSIVE);
            let mut tests = Tests::default();
            for event in history {
                tests.count(monitors.tested_by(*event));
                monitors.observe(*event, &mut |_| {});
            }
            let exclusion = set([Promise::MutualExclusion, Promise::Theorem1, Promise::LeaseLoss]);
            tests.untested(exclusion).is_empty()
        };
        let with = |last: Event| [reads_lock(A), granted(A), last, renewed(A), granted(B), renewed(A)];
        assert!(!tested(&with(reads_lock(B))));
        assert!(tested(&with(lock(B))));
    }

    #[test]
    fn a_promise_that_is_not_watched_is_not_tested_unless_it_is_one_of_progress() {
        let mut monitors = Monitors::new(PromiseSet::EMPTY);
        monitors.observe(lock(A), &mut |_| {});
        monitors.observe(lock(B), &mut |_| {});
        let progress = set([Promise::DeadlockFreedom, Promise::StarvationFreedom]);
        assert_eq!(monitors.tested_by(granted(A)), progress);
    }

    #[test]
    fn tests_add_up_and_come_back_from_json_by_name() {
        let mut tests = Tests::default();
        tests.count(set([Promise::Fifo, Promise::LeaseLoss]));
        tests.count(set([Promise::Fifo]));
        tests += tests;
        assert_eq!((tests.times(Promise::Fifo), tests.times(Promise::LeaseLoss)), (4, 2));
        assert_eq!(tests.untested(set([Promise::Fifo, Promise::NoHerd])), set([Promise::NoHerd]),);
        let json = serde_json::to_value(tests).unwrap();
        assert_eq!(json, serde_json::json!({"fifo": 4, "lease-loss": 2}));
        assert_eq!(serde_json::from_value::<Tests>(json).unwrap(), tests);
    }
}
