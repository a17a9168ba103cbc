//! The claims of the Cassandra paper, *The Cassandra queue lock*, about what its benchmark would have shown (sections 4, 5 and 6), on the
//! benchmark's own numbers.
//!
//! Windows are small here: what `picklock bench` prints is steadier, and says the same.

use picklock_model::time::Micros;
use picklock_sim::measures::bench::{Case, Figures, Grid, Point, contestants};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

const OLD: &str = "cassandra-shadow";
const NEW: &str = "cassandra-queue";
const REPAIRED: &str = "cassandra-queue-repaired";
const FEEDBACK: &str = "feedback-lock";

const FEW: u8 = 2;
const SOME: u8 = 8;
const MANY: u8 = 64;

/// Everything that these tests look at, measured once.
fn points() -> &'static [Point] {
    static POINTS: OnceLock<Vec<Point>> = OnceLock::new();
    POINTS.get_or_init(|| {
        let grid = Grid {
            contestants: contestants().to_vec(),
            threads: vec![FEW, SOME, MANY],
            holds: vec![Micros::millis(10)],
            seeds: 0..2,
            window: Micros::seconds(10),
        };
        grid.measure(&|_| {}, &AtomicBool::new(false))
    })
}

fn point(lock: &str, threads: u8) -> &'static Point {
    let found = points().iter().find(|point| point.lock == lock && point.threads == threads);
    found.unwrap_or_else(|| panic!("{lock} was not measured with {threads} threads"))
}

fn per_second(lock: &str, threads: u8) -> f64 {
    point(lock, threads).per_second.mean
}

fn requests(lock: &str, threads: u8) -> f64 {
    point(lock, threads).requests_per_acquisition.expect("somebody was served").mean
}

fn jain(lock: &str, threads: u8) -> f64 {
    point(lock, threads).jain.expect("somebody was served").mean
}

fn overtakes(lock: &str, threads: u8) -> f64 {
    point(lock, threads).overtakes_per_acquisition.expect("somebody was served").mean
}

/// Section 4: "с увеличением потоков увеличивается время, необходимое для взятия блокировки хотя бы одним потоком".
#[test]
fn the_old_lock_is_slower_the_more_threads_there_are() {
    assert!(per_second(OLD, SOME) < per_second(OLD, FEW), "{:#?}", points());
    assert!(per_second(OLD, MANY) < 0.7 * per_second(OLD, FEW), "{:#?}", points());
}

/// The introduction: "не имеющая проблемы со снижением производительности при большом количестве потоков".
#[test]
fn the_new_lock_is_as_fast_with_many_threads_as_with_few() {
    for lock in [NEW, REPAIRED, FEEDBACK] {
        let (few, many) = (per_second(lock, FEW), per_second(lock, MANY));
        assert!((many - few).abs() < 0.2 * few, "{lock}: {few} and {many} per second");
    }
}

/// Section 4: "сначала большую пачку действий выполнит первый поток, потом второй".
#[test]
fn the_old_lock_serves_one_thread_many_times_in_a_row_and_the_new_one_does_not() {
    assert!(point(OLD, FEW).longest_run.min >= 10.0, "{:?}", point(OLD, FEW));
    assert!(point(OLD, SOME).longest_run.min >= 5.0, "{:?}", point(OLD, SOME));
    for lock in [NEW, REPAIRED, FEEDBACK] {
        for threads in [FEW, SOME, MANY] {
            assert!(point(lock, threads).longest_run.max <= 2.0, "{:?}", point(lock, threads));
        }
    }
}

/// Section 5: "алгоритм, справедливо распределяющий доступ".
#[test]
fn the_old_lock_shares_unfairly_and_the_new_one_fairly() {
    for threads in [SOME, MANY] {
        assert!(jain(OLD, threads) < 0.9, "{:?}", point(OLD, threads));
    }
    for lock in [NEW, REPAIRED, FEEDBACK] {
        assert!(jain(lock, SOME) > 0.99, "{:?}", point(lock, SOME));
        assert!(jain(lock, SOME) > jain(OLD, SOME));
        assert!(overtakes(lock, SOME) < 0.1 && overtakes(OLD, SOME) > 2.0, "{:?}", point(lock, SOME));
    }
}

/// Section 6: "сам алгоритм постоянно обращается к базе данных, что заметно повышает нагрузку на нее".
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn both_cassandra_locks_ask_their_store_the_more_the_more_threads_wait() {
    for lock in [OLD, NEW, REPAIRED] {
        let [few, some, many] = [FEW, SOME, MANY].map(|threads| requests(lock, threads));
        assert!(few < some && some < many && many > 5.0 * few, "{lock}: {few}, {some}, {many}");
    }
}

/// What the document does not say: looking every 20 ms asks more of the store than the old lock's fighting and sleeping.
#[test]
fn with_many_threads_the_new_lock_asks_its_store_more_than_the_old_one() {
    assert!(requests(NEW, MANY) > 1.2 * requests(OLD, MANY), "{:#?}", points());
}

/// Section 6: "количество запросов к хранилищу можно было бы снизить, если бы оно поддерживало механизм обратной связи".
#[test]
fn with_feedback_an_acquisition_costs_three_requests_however_many_threads_wait() {
    for threads in [FEW, SOME, MANY] {
        // To enqueue, to keep, to release; and a sign of life now and then.
        let cost = requests(FEEDBACK, threads);
        assert!((2.9..3.2).contains(&cost), "{threads} threads: {cost}");
        assert!(requests(NEW, threads) > 2.0 * cost);
    }
    assert!(requests(NEW, MANY) > 20.0 * requests(FEEDBACK, MANY));
}

/// What the benchmark measures is locks: mutual exclusion was watched in every run.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn nobody_ever_held_beside_another() {
    assert_eq!(points().len(), 12);
    assert!(points().iter().all(|point| !point.mutual_exclusion_broken && point.per_second.min > 0.0));
}

#[test]
fn as_many_threads_as_there_can_be_are_measured() {
    let case = Case { threads: 128, hold: Micros::ZERO, window: Micros::seconds(1) };
    let feedback = contestants().into_iter().find(|contestant| contestant.name == FEEDBACK).unwrap();
    let Figures { acquisitions, mutual_exclusion_broken, .. } = feedback.measure(&case, 0);
    assert!(
        acquisitions > 256 && !mutual_exclusion_broken,
        "more than fit into a count of rounds: {acquisitions}"
    );
}
