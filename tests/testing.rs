//! What a test of one's own lock says when it passes, and when it does not.

use picklock_model::locks::RedisSingle;
use picklock_sim::prelude::*;
use picklock_sim::testing::{keeps, verified};
use std::path::PathBuf;

fn lock(name: &str) -> Box<dyn AnyLock> {
    let found = locks().into_iter().find(|lock| lock.name() == name);
    found.unwrap_or_else(|| panic!("there is no {name}"))
}

/// A folder of one test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("testing").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Whether somebody asks for seeds of their own: then these tests say nothing.
fn seeds_are_chosen() -> bool {
    ["PICKLOCK_SEED", "PICKLOCK_SEEDS"].iter().any(|name| std::env::var_os(name).is_some())
}

/// These leave nothing behind.
fn unkept() -> Runs {
    Runs { regressions: None, pages: None, ..Runs::default() }
}

/// Nor does this.
fn unkept_world() -> World {
    World { regressions: None, pages: None, ..World::default() }
}

#[test]
fn a_lock_that_keeps_its_promise_passes_and_says_what_was_run() {
    if seeds_are_chosen() {
        return;
    }
    let faults = [FaultKind::Loss, FaultKind::Delay].into();
    let redis = lock("redis-single");
    let report = assert_keeps(&*redis, Promise::MutualExclusion, &Runs { faults, seeds: 300, ..unkept() });
    assert_eq!(report.runs, 300);
    assert!(report.tested.times(Promise::MutualExclusion) > 200 && report.strikes.lost > 0);

    let explored = assert_verified(&*redis, Promise::MutualExclusion, &World::default());
    assert!(explored.states > 100, "{explored:?}");
}

#[test]
fn a_broken_promise_is_shown_small_and_run_first_from_then_on() {
    if seeds_are_chosen() {
        return;
    }
    let folder = folder("broken");
    let file = folder.join("regressions.txt");
    let faults = FaultKind::Pause.into();
    let runs = Runs { faults, regressions: Some(file.clone()), pages: Some(folder.clone()), ..unkept() };
    let redis = lock("redis-single");
    let why = keeps(&*redis, Promise::MutualExclusion, &runs).expect_err("a pause breaks every lease");
    let says =
        ["redis-single breaks mutual-exclusion under pause, with seed ", "enters while ", "pauses for"];
    assert!(says.iter().all(|says| why.contains(says)), "{why}");
    let token =
        why.split("token   ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a token");
    let kept = std::fs::read_to_string(&file).expect("it was written");
    assert!(kept.ends_with(&format!("redis-single mutual-exclusion {token} pause\n")), "{kept}");
    assert!(std::fs::read_to_string(page_of(&why)).is_ok_and(|page| page.contains(token)));

    // The run that failed is enough now, whatever else may happen beside its pause.
    let more = [FaultKind::Pause, FaultKind::Loss].into();
    let again = keeps(&*redis, Promise::MutualExclusion, &Runs { faults: more, seeds: 1, ..runs.clone() });
    let again = again.expect_err("it is in the file");
    assert!(again.starts_with("redis-single breaks mutual-exclusion again, as in ") && again.contains(token));
    assert_eq!(std::fs::read_to_string(&file).ok(), Some(kept), "it is kept once");
    // It says nothing of another promise, nor of a test that asks for no pause.
    let fewer = Runs { seeds: 20, ..runs.clone() };
    let calm = Runs { faults: FaultKind::Loss.into(), ..fewer.clone() };
    assert!(keeps(&*redis, Promise::MutualExclusion, &calm).is_ok());
    assert!(keeps(&*redis, Promise::DeadlockFreedom, &fewer).is_ok());
}

#[test]
fn a_schedule_in_the_file_is_run_by_tests_of_its_own_world_alone() {
    if seeds_are_chosen() {
        return;
    }
    let file = folder("schedule").join("regressions.txt");
    let redis = lock("redis-single");
    let paused = World { drop: vec![Assumption::NoPause], ..unkept_world() };
    let why = verified(&*redis, Promise::MutualExclusion, &paused).expect_err("a pause outlasts the lease");
    let (_, token) = why.split_once("token   ").expect("a token");
    let token = token.split_whitespace().next().expect("a token");
    std::fs::write(&file, format!("redis-single mutual-exclusion {token}\n")).expect("the folder is there");
    let kept = |world: World| World { regressions: Some(file.clone()), ..world };

    // So few states hold no counterexample: it comes from the file.
    let few = World { states_max: 10, ..paused };
    let again = verified(&*redis, Promise::MutualExclusion, &kept(few.clone())).expect_err("it is kept");
    assert!(again.starts_with("redis-single breaks mutual-exclusion again, as in "), "{again}");
    for other in [
        World { rounds: 1, ..few.clone() },
        World { clients: 3, ..few.clone() },
        World { try_lock: true, ..few.clone() },
        World { drop: vec![Assumption::NoPause, Assumption::NoLoss], ..few.clone() },
        World { drop: vec![], ..few.clone() },
    ] {
        let why = verified(&*redis, Promise::MutualExclusion, &kept(other.clone())).expect_err("few states");
        assert!(why.contains("but there are more, which is no pass"), "{other:?}: {why}");
    }
    // Nor does a test of random runs have anything to do with it.
    let runs = Runs { faults: FaultKind::Loss.into(), seeds: 50, regressions: Some(file), ..unkept() };
    let kept = keeps(&*redis, Promise::MutualExclusion, &runs);
    assert!(kept.is_ok(), "{kept:?}");
}

/// The page that a failure names.
fn page_of(why: &str) -> PathBuf {
    let (_, path) = why.split_once("page    ").expect("a page");
    PathBuf::from(path.trim_end())
}

#[test]
fn two_tests_of_one_promise_that_fail_have_two_pages() {
    if seeds_are_chosen() {
        return;
    }
    let pages = Some(folder("pages"));
    let redis = lock("redis-single");
    let page = |faults: FaultSet| {
        let runs = Runs { faults, pages: pages.clone(), ..unkept() };
        page_of(&keeps(&*redis, Promise::MutualExclusion, &runs).expect_err("it breaks every lease"))
    };
    let (one, other) = (page(FaultKind::Pause.into()), page(FaultKind::Clock.into()));
    assert!(one != other && one.exists() && other.exists(), "{} {}", one.display(), other.display());
    let name = one.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    assert!(name.starts_with("redis-single-mutual-exclusion-under-pause"), "{name}");
    // The tests of a thread of their own have its name.
    let same = std::thread::scope(|scope| {
        let named = std::thread::Builder::new().name("leases::of_one".to_owned());
        let thread = named.spawn_scoped(scope, || page(FaultKind::Pause.into())).expect("a thread");
        thread.join().expect("it ends")
    });
    assert!(
        same.ends_with("redis-single-mutual-exclusion-under-pause-leases-of_one.html"),
        "{}",
        same.display()
    );
}

#[test]
fn a_failure_says_what_shows_the_run_again_whether_the_command_knows_the_lock_or_not() {
    if seeds_are_chosen() {
        return;
    }
    let runs = Runs { faults: FaultKind::Pause.into(), ..unkept() };
    let known =
        keeps(&*lock("redis-single"), Promise::MutualExclusion, &runs).expect_err("a pause breaks it");
    assert!(known.contains("picklock replay pk5_") && !known.contains("PICKLOCK_REPLAY"), "{known}");
    let own: Registered<RedisSingle> = Registered::new("my-lock", "SET NX PX, and DEL", Setup::default);
    let own = keeps(&own, Promise::MutualExclusion, &runs).expect_err("a pause breaks it");
    assert!(own.contains("again   PICKLOCK_REPLAY=pk5_") && !own.contains("picklock replay"), "{own}");
}

#[test]
fn a_file_of_regressions_that_cannot_be_read_is_told_with_its_line() {
    let file = folder("unreadable").join("regressions.txt");
    let runs = Runs { regressions: Some(file.clone()), ..unkept() };
    for (text, says) in [
        ("# fine\nredis-single mutual-exclusion\n", "line 2: there should be a lock, a promise and a token"),
        ("redis-single mutual-exclusion pk5_nonsense\n", "line 1: "),
    ] {
        std::fs::write(&file, text).expect("the folder is there");
        let why =
            keeps(&*lock("redis-single"), Promise::MutualExclusion, &runs).expect_err("it is not readable");
        assert!(why.contains(says) && why.contains("regressions.txt"), "{why}");
    }
}

#[test]
fn what_nothing_put_to_the_test_is_no_pass() {
    let redis = lock("redis-single");
    let why = keeps(&*redis, Promise::Fifo, &Runs { seeds: 50, ..unkept() }).expect_err("it has no queue");
    assert!(why.contains("put fifo to the test, which is no pass"), "{why}");
    let why = verified(&*redis, Promise::Fifo, &unkept_world());
    assert!(why.is_err_and(|why| why.contains("put fifo to the test, which is no pass")));
}

#[test]
fn a_schedule_that_breaks_the_promise_is_shown_step_by_step() {
    let world = World { drop: vec![Assumption::NoPause], ..unkept_world() };
    let redis = lock("redis-single");
    let why = verified(&*redis, Promise::MutualExclusion, &world).expect_err("a pause outlasts the lease");
    let says =
        ["redis-single breaks mutual-exclusion without no-pause, in ", "⏸ paused", "HOLDS", "token   pk5_"];
    assert!(says.iter().all(|says| why.contains(says)), "{why}");

    let small = World { states_max: 10, ..world.clone() };
    let why = verified(&*redis, Promise::MutualExclusion, &World { drop: vec![], ..small });
    assert!(why.is_err_and(|why| why.contains("but there are more, which is no pass")));
    let nothing = World { drop: vec![Assumption::NoPause, Assumption::NoExpiry], ..world };
    let why = verified(&*redis, Promise::MutualExclusion, &nothing).expect_err("it has a lease");
    assert!(why.contains("to drop no-expiry changes nothing here"), "{why}");
}

#[test]
fn progress_is_judged_on_every_fair_schedule() {
    let one = World { rounds: 1, ..unkept_world() };
    let held = verified(&*lock("cassandra-queue"), Promise::DeadlockFreedom, &one);
    assert!(held.is_ok(), "{held:?}");
    let dead = World { drop: vec![Assumption::NoCrash], ..one };
    let why = verified(&*lock("cassandra-queue"), Promise::DeadlockFreedom, &dead)
        .expect_err("without a TTL nobody ends a dead client's wait");
    assert!(why.contains("in the loop at the end, for ever, nobody is granted the lock"), "{why}");
}
