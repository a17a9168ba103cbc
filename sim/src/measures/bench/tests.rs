//! What the benchmark promises of itself; what it says of the locks is in the root's `tests/bench.rs`.

use super::*;

static NEVER: AtomicBool = AtomicBool::new(false);

fn small() -> Grid {
    Grid {
        contestants: contestants().to_vec(),
        threads: vec![1, 4],
        holds: vec![Micros::ZERO, Micros::millis(10)],
        seeds: 0..2,
        window: Micros::seconds(1),
    }
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads for a test")
}

#[test]
fn the_figures_and_the_plot_are_the_same_on_any_number_of_threads() {
    let grid = small();
    let [one, three] = [1, 3].map(|threads| pool(threads).install(|| grid.measure(&|_| {}, &NEVER)));
    assert_eq!(one, three);
    assert_eq!(one.len(), 16);
    assert_eq!(plot(&grid, &one), plot(&grid, &three));
}

#[test]
fn every_run_is_told_once() {
    let told = std::sync::atomic::AtomicU64::new(0);
    let grid = small();
    grid.measure(&|runs| _ = told.fetch_add(runs, Ordering::Relaxed), &NEVER);
    assert_eq!(told.into_inner(), grid.runs());
}

#[test]
fn what_is_stopped_has_no_half_measured_points() {
    assert_eq!(small().measure(&|_| {}, &AtomicBool::new(true)), []);
}

#[test]
fn a_plot_names_every_lock_and_fills_no_background() {
    let grid = small();
    let svg = plot(&grid, &grid.measure(&|_| {}, &NEVER));
    assert!(grid.contestants.iter().all(|contestant| svg.contains(contestant.name)));
    assert!(!svg.contains("fill=\"#FFFFFF\""), "it would hide a dark page");
}

#[test]
fn a_plot_of_nothing_is_a_plot() {
    let grid = Grid { threads: vec![], ..small() };
    assert!(plot(&grid, &[]).starts_with("<svg"));
}
