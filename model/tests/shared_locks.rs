//! The locks on Redis that several may hold: who is served, beside what their theorems and rows of the catalogue say.

use picklock_model::claims::redis::{readers_writer, semaphore};
use picklock_model::explore::{Draws, Goal, Limits, Space, Verdict, check_liveness};
use picklock_model::locks::redis_readers_writer::{self as shared, RedisReadersWriter};
use picklock_model::locks::redis_semaphore as permits;
use picklock_model::machine::Lock;
use picklock_model::time::Micros;
use picklock_model::workload::{Calls, ROUNDS_WITHOUT_END};
use picklock_properties::ClientId;

/// Whether each of the goals is kept, on a server that is always there, with so many clients that crash.
fn kept<L: Lock>(mut space: Space<L>, crashes: u8, goals: &[Goal]) -> Vec<bool> {
    (space.bounds.power_losses, space.bounds.drifts, space.bounds.crashes) = (0, 0, crashes);
    space.setup.workload.hold = Micros::ZERO;
    let (exploration, lassos) = check_liveness(&space, goals, Draws::Adversary, &Limits::states(2_000_000));
    assert_eq!(exploration.verdict, Verdict::Verified, "the space is not exhausted");
    assert!(exploration.coverage.granted > 0 && (crashes == 0 || exploration.coverage.faults > 0));
    lassos.iter().map(Option::is_none).collect()
}

#[test]
fn somebody_gets_a_readers_writer_lock_in_the_end_also_if_holders_died() {
    for lock in [shared::Settings::counted(), shared::Settings::repaired()] {
        for crashes in [0, 1, 2] {
            let space = readers_writer(lock, 3, Calls::Lock, &[]);
            assert_eq!(kept(space, crashes, &[Goal::DeadlockFreedom]), [true], "{lock:?}, {crashes} crashes");
        }
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn somebody_gets_a_permit_in_the_end_also_if_holders_died() {
    for lock in [permits::Settings::basic(), permits::Settings::fair(), permits::Settings::repaired()] {
        for crashes in [0, 1] {
            let space = semaphore(lock, 3, Calls::Lock, &[]);
            assert_eq!(kept(space, crashes, &[Goal::DeadlockFreedom]), [true], "{lock:?}, {crashes} crashes");
        }
    }
}

fn endless(lock: shared::Settings) -> Space<RedisReadersWriter> {
    let mut space = readers_writer(lock, 3, Calls::Lock, &[]);
    space.setup.workload.rounds = ROUNDS_WITHOUT_END;
    space
}

/// Row R30's note.
#[test]
fn either_the_writer_starves_or_the_readers_do() {
    let served = [0, 1].map(|client| Goal::StarvationFreedom(ClientId(client)));
    let readers_first = shared::Settings { writers_first: false, ..shared::Settings::repaired() };
    assert_eq!(kept(endless(readers_first), 0, &served), [false, false]);
    assert_eq!(kept(endless(shared::Settings::repaired()), 0, &served), [true, false]);
    let counted = shared::Settings { writers_first: true, ..shared::Settings::counted() };
    assert_eq!(kept(endless(counted), 0, &served), [true, false]);
}
