//! Row Z8 of the catalogue: how many waiters one release wakes, and how many requests the lock costs, by what the waiters
//! of the ZooKeeper recipe watch.
//!
//! ```text
//!   all ask, one holds, the rest wait │ it leaves │ the next holds │ it leaves │ …
//!                                     └─ woken ───────────────────┴─ woken ───── …   watches' events that servers send
//! ```
//!
//! The ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, step 4, has every waiter watch the znode right before its
//! own, and does not say why: with a watch on the parent the lock would be as safe, and each release would wake everybody.
//!
//! # Example
//!
//! ```
//! use picklock_model::locks::zookeeper_lock::Watch;
//! use picklock_sim::measures::herd::{SEEDS, measure};
//!
//! assert_eq!(measure(Watch::Parent, 8, SEEDS).wake_ups_max(), 7);
//! assert_eq!(measure(Watch::Predecessor, 8, SEEDS).wake_ups_max(), 1);
//! ```

use crate::plans::plan::Plan;
use crate::seeded::outcome::Limits;
use crate::seeded::run::Engine;
use picklock_model::cluster::Setup;
use picklock_model::locks::ZookeeperLock;
use picklock_model::locks::zookeeper_lock::{Settings, Watch};
use picklock_model::machine::{Message, Node};
use picklock_model::stores::zookeeper::{self as store, Request};
use picklock_model::time::Micros;
use picklock_model::trace::{Observer, Step};
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_properties::{Event, Promise};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The seeds that the command and the tests measure with. They decide latencies and the order of the queue, and nothing else:
/// no fault strikes.
pub const SEEDS: Range<u64> = 0..10;

/// How long each client holds: so long that everybody waits before the first one leaves, and whoever was woken waits again
/// before the next one does.
const HOLD: Micros = Micros::seconds(1);

/// One release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Release {
    /// How many clients had asked and waited when the holder left.
    pub waiting: u32,
    /// How many events of watches the server sent before the next one left.
    pub woken: u32,
}

/// What was counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Herd {
    /// What the waiters watched.
    pub watch: Watch,
    /// How many clients there were.
    pub clients: u8,
    /// Each release that somebody waited for, of all runs.
    pub releases: Vec<Release>,
    /// Requests that clients sent, pings and the beginning of connections left out.
    pub requests: u64,
    /// How often the lock was granted.
    pub grants: u64,
}

/// Runs the recipe as written, but for what its waiters watch, on one server and without faults: 1 to 128 clients ask at the
/// same time, each once.
pub fn measure(watch: Watch, clients: u8, seeds: Range<u64>) -> Herd {
    let stop = AtomicBool::new(false);
    measure_unless(&stop, watch, clients, seeds)
        .unwrap_or_else(|| unreachable!("nobody but this function has the flag"))
}

/// The same; `None` if told to stop, which is looked at between runs.
pub fn measure_unless(stop: &AtomicBool, watch: Watch, clients: u8, seeds: Range<u64>) -> Option<Herd> {
    let setup = setup(watch, clients);
    let limits = Limits::of(&setup);
    let mut engine = Engine::new();
    let mut count =
        Count { waiting: 0, herd: Herd { watch, clients, releases: Vec::new(), requests: 0, grants: 0 } };
    for seed in seeds {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let outcome = engine.run(&setup, &Plan::default(), seed, &limits, &mut count);
        debug_assert!(outcome.violations.is_empty() && !outcome.truncated, "seed {seed}: {outcome:?}");
    }
    let Herd { releases, .. } = &mut count.herd;
    releases.retain(|release| release.waiting > 0);
    Some(count.herd)
}

impl Herd {
    /// How many were woken by a release on average; 0 if nobody ever waited.
    pub fn wake_ups_per_release(&self) -> f64 {
        let woken: u64 = self.releases.iter().map(|release| u64::from(release.woken)).sum();
        ratio(woken, self.releases.len() as u64)
    }

    /// How many one release woke at most.
    pub fn wake_ups_max(&self) -> u32 {
        self.releases.iter().map(|release| release.woken).max().unwrap_or(0)
    }

    /// How many requests an acquisition and its release cost on average.
    pub fn requests_per_acquisition(&self) -> f64 {
        ratio(self.requests, self.grants)
    }

    /// Whether each release woke as many as row Z8 says: one, if the predecessor is watched; all who wait, if the parent
    /// is, or the first znode of all. `None` for a watch of which the row says nothing.
    pub fn is_as_catalogued(&self) -> Option<bool> {
        let woken = |expected: fn(&Release) -> u32| {
            Some(self.releases.iter().all(|release| release.woken == expected(release)))
        };
        match self.watch {
            Watch::Predecessor => woken(|_| 1),
            Watch::Parent | Watch::First => woken(|release| release.waiting),
            Watch::Successor => None,
        }
    }
}

fn ratio(sum: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

fn setup(watch: Watch, clients: u8) -> Setup<ZookeeperLock> {
    Setup {
        lock: Settings { watch, ..Settings::as_written() },
        store: store::Settings::default(),
        servers: 1,
        workload: Workload {
            clients,
            rounds: 1,
            retries: false,
            calls: Calls::Lock,
            access: AccessChoice::First,
            think: Micros::ZERO,
            hold: HOLD,
            releases: true,
            writes: Writes::None,
            resource_checks: false,
            resource_forgets: false,
            locks: 1,
            attendants: 0,
            pace: None,
            varies: false,
            work_fits: false,
        },
        promises: [Promise::MutualExclusion].into_iter().collect(),
    }
}

/// Counts, run after run.
struct Count {
    /// How many wait at the moment.
    waiting: u32,
    herd: Herd,
}

impl Observer<ZookeeperLock> for Count {
    fn observe(&mut self, step: &Step<ZookeeperLock>) {
        for event in &step.effects.events {
            match event {
                Event::Called { .. } => self.waiting += 1,
                Event::Granted { .. } => {
                    self.waiting -= 1;
                    self.herd.grants += 1;
                }
                Event::Left { .. } => {
                    self.herd.releases.push(Release { waiting: self.waiting, woken: 0 });
                }
                _ => {}
            }
        }
        for (to, message) in &step.effects.sends {
            match message {
                Message::Request(Request::Do { .. }) => self.herd.requests += 1,
                // What wakes waiters before anybody has left are arrivals: they cost requests, and are no release's.
                Message::Reply(reply)
                    if reply.is_event() && matches!(to, Node::Client(_)) && self.waiting > 0 =>
                {
                    if let Some(release) = self.herd.releases.last_mut() {
                        release.woken += 1;
                    }
                }
                Message::Request(_)
                | Message::Reply(_)
                | Message::Peer(_)
                | Message::Read { .. }
                | Message::Shown { .. }
                | Message::Write { .. }
                | Message::Written { .. } => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENTS: [u8; 3] = [2, 8, 32];

    #[test]
    fn a_watch_on_the_predecessor_wakes_one_waiter_per_release() {
        for clients in CLIENTS {
            let herd = measure(Watch::Predecessor, clients, SEEDS);
            has_all_waiting(&herd);
            assert!(herd.releases.iter().all(|release| release.woken == 1), "{herd:?}");
            assert_eq!(herd.is_as_catalogued(), Some(true));
            // Create, list, exists, list again, delete; the first one needs neither exists nor another list.
            let most = 5.0;
            let per_acquisition = herd.requests_per_acquisition();
            assert!((3.0..=most).contains(&per_acquisition), "{per_acquisition}");
        }
    }

    #[test]
    fn a_watch_on_the_parent_or_on_the_first_znode_wakes_all_who_wait_at_each_release() {
        for (clients, watch) in CLIENTS.into_iter().flat_map(|n| [(n, Watch::Parent), (n, Watch::First)]) {
            let herd = measure(watch, clients, SEEDS);
            has_all_waiting(&herd);
            assert!(herd.releases.iter().all(|release| release.woken == release.waiting), "{herd:?}");
            assert_eq!(herd.is_as_catalogued(), Some(true));
            assert_eq!(herd.wake_ups_max(), u32::from(clients) - 1);
            assert_eq!(herd.wake_ups_per_release(), f64::from(clients) / 2.0);
        }
    }

    #[test]
    fn a_herd_costs_requests_in_proportion_to_its_size() {
        let requests = |watch, clients| measure(watch, clients, SEEDS).requests_per_acquisition();
        assert!(requests(Watch::Predecessor, 32) < requests(Watch::Predecessor, 8) + 1.0);
        assert!(requests(Watch::Parent, 32) > 2.0 * requests(Watch::Parent, 8));
    }

    #[test]
    fn the_same_seeds_count_the_same() {
        assert_eq!(measure(Watch::Parent, 4, 7..9), measure(Watch::Parent, 4, 7..9));
    }

    #[test]
    fn a_herd_that_wakes_too_many_is_not_as_catalogued() {
        let herd = |watch, woken| Herd {
            watch,
            clients: 4,
            releases: vec![Release { waiting: 3, woken }],
            requests: 0,
            grants: 1,
        };
        assert_eq!(herd(Watch::Predecessor, 2).is_as_catalogued(), Some(false));
        assert_eq!(herd(Watch::Parent, 2).is_as_catalogued(), Some(false));
        assert_eq!(herd(Watch::Successor, 2).is_as_catalogued(), None);
    }

    /// When one leaves, everybody who has not held yet waits.
    fn has_all_waiting(herd: &Herd) {
        let expected: Vec<u32> = SEEDS.flat_map(|_| (1..u32::from(herd.clients)).rev()).collect();
        let waiting: Vec<u32> = herd.releases.iter().map(|release| release.waiting).collect();
        assert_eq!(waiting, expected);
    }
}
