//! The locks on etcd, on a real one: the machines that the simulators run, over gRPC. Who holds when is judged by the same monitors.
//!
//! Needs `apt-get install etcd-server`; where there is none, each test says so and passes. What is staged is what happens to clients: a
//! process hangs, an answer is lost, a call comes twice, an operator revokes a lease. What the server makes of it is its own affair.
//!
//! - `real`: a real `etcd`
//! - `stage`: clients, what happens to them, and their judge
//! - here: locks that are contended for, and failures of the catalogue

#[path = "etcd/real.rs"]
mod real;
#[path = "etcd_locks/stage.rs"]
mod stage;

use picklock_model::locks::etcd_election::{self, ResignErrors};
use picklock_model::locks::etcd_lease_key::{self, Wait};
use picklock_model::locks::etcd_mutex::{self, KeyName, UnlockErrors};
use picklock_model::locks::{EtcdElection, EtcdLeaseKey, EtcdMutex};
use picklock_model::stores::etcd::Outcome;
use picklock_model::stores::etcd::session::{Deadline, SessionSettings};
use picklock_model::time::Micros;
use picklock_properties::{LockId, Promise};
use picklock_sim::hosted::{Client, Locker, Names, Tcp};
use real::Real;
use stage::{Happening, Stage, Told, at_once};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The shortest that the server grants.
const LEASE: Micros = Micros::seconds(2);

/// As the library counts it, and as it should be counted.
const SESSION: SessionSettings = SessionSettings { ttl: Some(LEASE), ..SessionSettings::DEFAULT };
const CAREFUL: SessionSettings = SessionSettings {
    deadline: Deadline::FromSending,
    margin: Micros::millis(500),
    deadline_interval: Micros::ZERO,
    ..SESSION
};

fn mutex() -> etcd_mutex::Settings {
    etcd_mutex::Settings { session: SESSION, ..etcd_mutex::Settings::as_written() }
}

fn repaired_mutex() -> etcd_mutex::Settings {
    etcd_mutex::Settings { session: CAREFUL, ..etcd_mutex::Settings::repaired() }
}

fn election() -> etcd_election::Settings {
    etcd_election::Settings { session: SESSION, ..etcd_election::Settings::as_written() }
}

fn lease_key() -> etcd_lease_key::Settings {
    etcd_lease_key::Settings { session: SESSION, ..etcd_lease_key::Settings::as_written() }
}

/// Whoever wants to hold, fights for it.
fn contended<L: stage::OnEtcd>(real: &Real, lock: L::Settings) {
    let stage = Stage::<L>::new(lock, 5, 12).holding(Micros::millis(3)).thinking(Micros::millis(1));
    let told = stage.play(real, &[], Duration::from_secs(60));
    assert_eq!(told.violations, []);
    assert_eq!(told.grants(), 5 * 12, "{told:?}");
    assert!(told.tokens_grow(), "{told:?}");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn nobody_enters_while_another_holds() {
    let Some(real) = Real::start() else { return };
    contended::<EtcdMutex>(&real, mutex());
    contended::<EtcdMutex>(&real, repaired_mutex());
    contended::<EtcdElection>(&real, election());
    contended::<EtcdElection>(
        &real,
        etcd_election::Settings { session: CAREFUL, ..etcd_election::Settings::repaired() },
    );
    contended::<EtcdLeaseKey>(
        &real,
        etcd_lease_key::Settings { session: CAREFUL, ..etcd_lease_key::Settings::repaired() },
    );
    let polls = Wait::Poll(Micros::millis(20));
    contended::<EtcdLeaseKey>(&real, etcd_lease_key::Settings { wait: polls, ..lease_key() });
}

/// Row E2. The process hangs; what keeps its connections goes on, and so does the server's count.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_paused_holder_outlives_its_lease() {
    let Some(real) = Real::start() else { return };
    let pause = [(0, Happening::HangsWhenGranted(Duration::from_secs(6)))];
    let play = |lock| {
        let stage = Stage::<EtcdMutex>::new(lock, 2, 1).holding(Micros::seconds(3));
        stage.late(1, Micros::millis(300)).play(&real, &pause, Duration::from_secs(30))
    };
    at_once([mutex(), repaired_mutex()], |lock| {
        let told = play(lock);
        assert!(told.breaks(Promise::MutualExclusion), "{told:?}");
        assert!(told.tokens_grow(), "the next one's token is larger: {told:?}");
    });
}

/// Rows E1 and E3. An operator revokes the lease of a waiter, who has a key no more; when the holder leaves, the waiter and who came
/// next are both first. `Lock` looks for its key today, `Campaign` does not.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_waiter_whose_lease_is_revoked_takes_itself_for_the_first() {
    let Some(real) = Real::start() else { return };
    let revoked = [(1, Happening::LeaseRevokedWhenWaiting)];
    fn play<L: stage::OnEtcd>(real: &Real, lock: L::Settings, happens: &[(u8, Happening)]) -> Told {
        // A keep-alive would say so first: none is due meanwhile.
        let stage = Stage::<L>::new(lock, 3, 1).holding(Micros::millis(1_500));
        let stage = stage.late(1, Micros::millis(200)).late(2, Micros::millis(400));
        stage.play(real, happens, Duration::from_secs(30))
    }
    let long = SessionSettings { ttl: Some(Micros::seconds(20)), ..SESSION };
    let mutex = |checks_own_key| etcd_mutex::Settings { session: long, checks_own_key, ..mutex() };
    let election = |checks_own_key| etcd_election::Settings { session: long, checks_own_key, ..election() };
    at_once([(true, false), (true, true), (false, false), (false, true)], |(is_mutex, checks_own_key)| {
        let told = match is_mutex {
            true => play::<EtcdMutex>(&real, mutex(checks_own_key), &revoked),
            false => play::<EtcdElection>(&real, election(checks_own_key), &revoked),
        };
        assert_eq!(told.breaks(Promise::MutualExclusion), !checks_own_key, "{told:?}");
    });
}

/// Row E4. The answer to an unlock is lost; the session locks again, and the unlock, called again, deletes the new key.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn an_unlock_called_again_deletes_what_the_same_session_has_locked_since() {
    let Some(real) = Real::start() else { return };
    let lost = [(0, Happening::AnswerLost { of: |outcome| matches!(outcome, Outcome::Deleted(_)) })];
    let guarded =
        |outcome: &Outcome| matches!(outcome, Outcome::Txn { responses, .. } if responses.len() < 2);
    let guarded = [(0, Happening::AnswerLost { of: guarded })];
    let play = |lock, happens: &[_]| {
        let stage = Stage::<EtcdMutex>::new(lock, 2, 2).holding(Micros::millis(3_500));
        stage.late(1, Micros::seconds(2)).play(&real, happens, Duration::from_secs(40))
    };
    let long = SessionSettings { ttl: Some(Micros::seconds(20)), ..SESSION };
    let again_later = |guards_unlock| etcd_mutex::Settings {
        session: long,
        unlock_errors: UnlockErrors::CalledAgainLater,
        guards_unlock,
        ..mutex()
    };
    let called_again = etcd_mutex::Settings { unlock_errors: UnlockErrors::CalledAgain, ..again_later(true) };
    let cases = [
        (again_later(false), lost, true),
        // The first deletion was done, and the guard holds.
        (again_later(true), guarded, false),
        // It never came, and the guard finds the old key.
        (again_later(true), [(0, Happening::ReleaseLost)], true),
        (called_again, guarded, false),
        (called_again, [(0, Happening::ReleaseLost)], false),
    ];
    at_once(cases, |(lock, happens, is_broken)| {
        let told = play(lock, &happens);
        assert_eq!(told.breaks(Promise::MutualExclusion), is_broken, "{lock:?} {happens:?} {told:?}");
    });
}

/// Row E12: for as long as its session lasts, which is for ever.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_key_drawn_anew_waits_behind_its_own_first_one() {
    let Some(real) = Real::start() else { return };
    let lost = [(0, Happening::AnswerLost { of: |outcome| matches!(outcome, Outcome::Txn { .. }) })];
    at_once([(KeyName::DrawnAnew, 0), (KeyName::Lease, 1)], |(key_name, grants)| {
        let stage = Stage::<EtcdMutex>::new(etcd_mutex::Settings { key_name, ..mutex() }, 1, 1);
        // Four times as long as the lease.
        let told = stage.play(&real, &lost, Duration::from_secs(8));
        assert_eq!(told.grants(), grants, "{told:?}");
    });
}

/// Row E13.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_resignation_that_fails_is_forgotten_and_the_election_stops() {
    let Some(real) = Real::start() else { return };
    let cases =
        [(ResignErrors::Forgotten, 1), (ResignErrors::CalledAgain, 2), (ResignErrors::SessionOrphaned, 2)];
    at_once(cases, |(resign_errors, grants)| {
        let lock = etcd_election::Settings { resign_errors, ..election() };
        let lost = [(0, Happening::ReleaseLost)];
        let stage = Stage::<EtcdElection>::new(lock, 2, 1).late(1, Micros::millis(300));
        let told = stage.play(&real, &lost, Duration::from_secs(10));
        assert_eq!(told.grants(), grants, "{told:?}");
    });
}

/// Row E16: a deletion by name that comes a second time when somebody else holds.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn an_unlock_that_comes_twice_deletes_anybodys_key() {
    let Some(real) = Real::start() else { return };
    at_once([(false, true), (true, false)], |(guards_unlock, is_broken)| {
        let lock = etcd_lease_key::Settings { guards_unlock, wait: Wait::WatchFromAnswer, ..lease_key() };
        let twice = [(0, Happening::ReleaseComesAgain(Duration::from_millis(500)))];
        let stage = Stage::<EtcdLeaseKey>::new(lock, 3, 1).holding(Micros::seconds(1));
        let stage = stage.late(1, Micros::millis(200)).late(2, Micros::millis(400));
        let told = stage.play(&real, &twice, Duration::from_secs(30));
        assert_eq!(told.breaks(Promise::MutualExclusion), is_broken, "{told:?}");
    });
}

/// Row E17: the answer that refuses comes late, and the watch begins after the deletion.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_watch_from_now_on_misses_a_deletion_before_it() {
    let Some(real) = Real::start() else { return };
    let late = Happening::AnswerLate {
        of: |outcome| matches!(outcome, Outcome::Txn { succeeded: false, .. }),
        by: Duration::from_millis(1_500),
    };
    at_once([(Wait::WatchFromNow, 1), (Wait::WatchFromAnswer, 2)], |(wait, grants)| {
        let lock = etcd_lease_key::Settings { wait, ..lease_key() };
        let stage = Stage::<EtcdLeaseKey>::new(lock, 2, 1).holding(Micros::seconds(1));
        let stage = stage.late(1, Micros::millis(300));
        let told = stage.play(&real, &[(1, late)], Duration::from_secs(10));
        assert_eq!(told.grants(), grants, "{told:?}");
    });
}

/// Row E18: who repeats its transaction finds its own key, and waits for itself unless it looks whose it is.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_repeated_transaction_waits_for_itself() {
    let Some(real) = Real::start() else { return };
    let lost = [(0, Happening::AnswerLost { of: |outcome| matches!(outcome, Outcome::Txn { .. }) })];
    at_once([(false, 0), (true, 1)], |(finds_own_key, grants)| {
        let lock = etcd_lease_key::Settings { finds_own_key, wait: Wait::WatchFromAnswer, ..lease_key() };
        let stage = Stage::<EtcdLeaseKey>::new(lock, 1, 1);
        let told = stage.play(&real, &lost, Duration::from_secs(8));
        assert_eq!(told.grants(), grants, "{told:?}");
    });
}

/// `etcdctl lock` is `concurrency.Mutex` itself. A number in a file is counted up by both, and nobody's step is lost.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_guard_and_etcdctl_stand_in_one_queue() {
    let Some(real) = Real::start() else { return };
    const TIMES: u32 = 8;
    let file = std::env::temp_dir().join(format!("picklock-counter-{}", std::process::id()));
    std::fs::write(&file, "0").expect("it is written");
    let count = || {
        let text = std::fs::read_to_string(&file).expect("it is there");
        text.trim().parse::<u32>().expect("it is a number")
    };
    let script = format!("n=$(cat {0}); sleep 0.02; echo $((n+1)) > {0}", file.display());
    stage::runtime().block_on(async {
        let transport = Tcp { addresses: [(stage::MEMBER, real.address)].into() };
        let locker = Locker::connect_etcd::<EtcdMutex, _>(
            Client::new(0, 1),
            repaired_mutex(),
            &transport,
            Names::new(["orders"], "this test"),
        );
        // The server is there when the first is granted.
        locker.lock(LockId(0)).await.expect("it is granted").release().await;
        let mut others = Vec::new();
        for _ in 0..TIMES {
            let spawned = Command::new("etcdctl")
                .env("ETCDCTL_API", "3")
                .args(["--endpoints", &format!("http://{}", real.address), "lock", "orders"])
                .args(["--", "sh", "-c", &script])
                .stdout(Stdio::null())
                .spawn();
            match spawned {
                Ok(process) => others.push(process),
                Err(_) => {
                    return println!("skipped: no etcdctl here; to install it: apt-get install etcd-client");
                }
            }
        }
        for _ in 0..TIMES {
            let guard = locker.lock(LockId(0)).await.expect("it is granted");
            let before = count();
            tokio::time::sleep(Duration::from_millis(20)).await;
            std::fs::write(&file, (before + 1).to_string()).expect("it is written");
            assert!(guard.is_valid());
            guard.release().await;
        }
        for mut process in others {
            assert!(process.wait().expect("it ends").success());
        }
        assert_eq!(count(), 2 * TIMES);
    });
    std::fs::remove_file(&file).expect("it is there");
}
