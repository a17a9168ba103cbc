//! Runs of somebody's own locks are made small, too: the mistakes of an outside author whose failures were long.
//!
//! All are one machine on Redis, which prolongs its lease by `GET` and `PEXPIRE` in place of the script that does both at once,
//! takes its fencing tokens from a counter in the same store, where nothing is durable, and may do without a lease at all.

use crate::evidence::breaks;
use crate::truth;
use picklock_model::cluster::Setup;
use picklock_model::locks::redis_keys;
use picklock_model::machine::{Answer, Call, Context, Effects, Line, Lock, Owner, Visitor};
use picklock_model::names::Words;
use picklock_model::stores::redis::{
    Change, Command, Key, Millis, Outcome, Redis, Reply, Request, Token, Value,
};
use picklock_model::time::{Due, Micros, Monotonic};
use picklock_model::workload::{Workload, Writes};
use picklock_properties::{ClientId, Event, FencingToken, LockId, Mode, Promise};
use picklock_sim::plans::fault::{FaultKind, FaultSet};
use picklock_sim::plans::shrink::Size;
use picklock_sim::plans::strategy::Strategy;
use picklock_sim::registry::{AnyLock, Reduced, Registered, ShrinkHow, SweepHow};
use picklock_sim::report::TextOptions;
use picklock_sim::sweep::PlannedRun;
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;

const LOCK: Key = redis_keys::lock_key(LockId(0));
const COUNTER: Key = redis_keys::counter_key(LockId(0));
const LEASE: Micros = Micros::seconds(10);
const RENEWAL: Micros = Micros::seconds(3);
const RETRY: Micros = Micros::millis(500);

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Ends {
    /// The key expires unless its holder prolongs it.
    #[default]
    WithItsLease,
    /// The key stays until its holder deletes it.
    Never,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Watchdog {
    phase: Phase,
    /// The number of the last request, which its reply repeats.
    serial: u32,
    /// What signs this hold.
    signature: u32,
    /// When the request is sent again, or the lease prolonged.
    next: Option<Monotonic>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    Idle,
    Asks(Mode),
    Numbers,
    Holds,
    Looks,
    Prolongs,
    Leaves,
}

impl Watchdog {
    fn send(&mut self, phase: Phase, cx: &Context<Ends>, out: &mut Effects<Redis>) {
        let serial = self.serial + 1;
        let signature = if matches!(phase, Phase::Asks(_)) { serial } else { self.signature };
        let value = Value::Token(Token { client: cx.me, serial: signature });
        let lease = Millis(LEASE.0 / 1000);
        let ttl = (*cx.settings == Ends::WithItsLease).then_some(lease);
        let command = match phase {
            Phase::Asks(_) => Command::Set { key: LOCK, value, if_absent: true, ttl },
            Phase::Numbers => Command::Incr(COUNTER),
            Phase::Looks => Command::Get(LOCK),
            Phase::Prolongs => Command::PExpire(LOCK, lease),
            Phase::Leaves => Command::CompareAndDelete { key: LOCK, value },
            Phase::Idle | Phase::Holds => unreachable!("there is nothing to ask"),
        };
        *self = Watchdog { phase, serial, signature, next: Some(cx.monotonic + RETRY) };
        out.request(0, Request { serial, command, wait: false });
    }

    fn hold(&mut self, cx: &Context<Ends>) {
        let next = (*cx.settings == Ends::WithItsLease).then_some(cx.monotonic + RENEWAL);
        *self = Watchdog { phase: Phase::Holds, next, ..*self };
    }

    fn stop(&mut self, answer: Answer, out: &mut Effects<Redis>) {
        *self = Watchdog { phase: Phase::Idle, next: None, ..*self };
        out.answer(answer);
    }
}

impl Lock for Watchdog {
    type Store = Redis;
    type Settings = Ends;

    const WORDS: Words = redis_keys::WORDS;

    fn new(_me: u8, _settings: &Ends) -> Self {
        Watchdog { phase: Phase::Idle, serial: 0, signature: 0, next: None }
    }

    fn on_call(&mut self, call: Call, cx: &Context<Ends>, out: &mut Effects<Redis>) {
        match call {
            Call::Acquire { mode, .. } => self.send(Phase::Asks(mode), cx, out),
            Call::Release => self.send(Phase::Leaves, cx, out),
            Call::Write => unreachable!("only a lock that says so writes in its own store"),
        }
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Context<Ends>, out: &mut Effects<Redis>) {
        if reply.serial != self.serial {
            return;
        }
        let mine = Value::Token(Token { client: cx.me, serial: self.signature });
        match (self.phase, reply.outcome) {
            (Phase::Asks(_), Outcome::Ok) => self.send(Phase::Numbers, cx, out),
            (Phase::Asks(Mode::TryLock), _) => self.stop(Answer::Refused, out),
            (Phase::Numbers, Outcome::Integer(number)) => {
                self.hold(cx);
                out.answer(Answer::Granted { fence: Some(FencingToken(number)) });
            }
            (Phase::Looks, Outcome::Bulk(value)) if value == mine => self.send(Phase::Prolongs, cx, out),
            (Phase::Prolongs, Outcome::Integer(1)) => {
                out.record(Event::Renewed { client: ClientId(cx.me) });
                self.hold(cx);
            }
            (Phase::Looks | Phase::Prolongs, _) => self.stop(Answer::Lost, out),
            (Phase::Leaves, _) => self.stop(Answer::Released, out),
            // Somebody else has it, or an answer came twice: again, later.
            (Phase::Idle | Phase::Holds | Phase::Asks(Mode::Lock) | Phase::Numbers, _) => {}
        }
    }

    fn on_deadline(&mut self, cx: &Context<Ends>, out: &mut Effects<Redis>) {
        let phase = if self.phase == Phase::Holds { Phase::Looks } else { self.phase };
        self.send(phase, cx, out);
    }

    fn on_restart(&mut self, _cx: &Context<Ends>) {
        *self = Watchdog { phase: Phase::Idle, next: None, ..*self };
    }

    fn deadline(&self, _settings: &Ends) -> Option<Due> {
        self.next.map(Due::Monotonic)
    }

    fn visit<V: Visitor>(&mut self, _settings: &Ends, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        visitor.serial(Owner::Me, &mut self.signature);
        self.next.iter_mut().for_each(|next| visitor.wake(next));
    }

    fn means(change: &Change, server: u8) -> Option<Event> {
        redis_keys::signed(LOCK.word, change, server)
    }

    fn line(&self) -> Line {
        let number = match self.phase {
            Phase::Idle | Phase::Holds => return Line::NONE,
            Phase::Asks(_) => 1,
            Phase::Numbers => 2,
            Phase::Looks => 3,
            Phase::Prolongs => 4,
            Phase::Leaves => 5,
        };
        Line { listing: 0, number }
    }

    fn is_renewing(&self) -> bool {
        matches!(self.phase, Phase::Looks | Phase::Prolongs)
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => "idle",
            Phase::Asks(_) => "SET NX PX",
            Phase::Numbers => "INCR",
            Phase::Holds => "holds",
            Phase::Looks => "GET",
            Phase::Prolongs => "PEXPIRE",
            Phase::Leaves => "if mine then DEL",
        }
    }

    fn lease(settings: &Ends) -> Option<Micros> {
        (*settings == Ends::WithItsLease).then_some(LEASE)
    }
}

fn setup(ends: Ends) -> Setup<Watchdog> {
    let workload = Workload {
        clients: 3,
        think: Micros::millis(500),
        hold: Micros::seconds(12),
        writes: Writes::Resource,
        resource_checks: true,
        ..Workload::default()
    };
    let promises = [Promise::LeaseLoss, Promise::FencedResource, Promise::DeadlockFreedom];
    Setup { lock: ends, workload, promises: promises.into_iter().collect(), ..Setup::default() }
}

fn watchdog() -> Registered<Watchdog> {
    Registered::new("watchdog", "SET NX PX, prolonged by GET and PEXPIRE", || setup(Ends::WithItsLease))
}

fn kept() -> Registered<Watchdog> {
    Registered::new("kept", "SET NX, deleted by its holder or never", || setup(Ends::Never))
}

/// The first run among random plans that breaks the promise, and what becomes of it.
fn shrunk(lock: &Registered<Watchdog>, promise: Promise, faults: &[FaultKind], seeds: u64) -> (Size, Size) {
    let stop = AtomicBool::new(false);
    let faults: FaultSet = faults.iter().copied().collect();
    let setup = lock.setup(Some([promise].into_iter().collect()));
    let how = SweepHow { jobs: 2, sought: Some(promise), ..SweepHow::new(&|_| {}, &stop) };
    let report = lock.sweep(&setup, faults, 0..seeds, &how).expect("the setup is this lock's");
    let seed = report.first_seed(promise);
    let seed = seed.unwrap_or_else(|| panic!("{promise} is not broken in {} runs", report.runs));
    let plan = lock.plans(&setup, faults, Strategy::Swarm, &[seed]).expect("it was run").remove(0);
    let found = lock.token(&setup, &PlannedRun { plan, seed }, Some(promise)).expect("it was run");
    let how = ShrinkHow { promise: Some(promise), ..ShrinkHow::new(&stop, &|_| {}) };
    let Ok(Reduced::Shrunk { before, after, token, .. }) = lock.shrink(&found, &how) else {
        panic!("{found} cannot be made small")
    };
    let replay = lock.replay(&token, &TextOptions::default()).expect("it is a token of this lock");
    truth::assert_true(&token, &replay);
    assert!(breaks(&replay, promise), "{token}");
    (before, after)
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_lease_that_was_taken_back_between_a_look_and_the_prolonging() {
    let faults = [FaultKind::Delay, FaultKind::Loss, FaultKind::Partition];
    let (before, after) = shrunk(&watchdog(), Promise::LeaseLoss, &faults, 100_000);
    assert!(after.steps <= before.steps / 2 && after.faults <= 2, "{before:?} became {after:?}");
}

/// A waiter asks twice a second for as long as a lease lasts: those steps stay.
fn is_small(before: Size, after: Size) {
    assert!(after.faults <= before.faults / 2 && after.faults <= 3, "{before:?} became {after:?}");
    assert!(after.steps < before.steps, "{before:?} became {after:?}");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_fencing_token_that_was_given_twice_since_its_counter_was_not_durable() {
    let faults = [FaultKind::Loss, FaultKind::Partition, FaultKind::PowerLoss];
    let (before, after) = shrunk(&watchdog(), Promise::FencedResource, &faults, 100_000);
    is_small(before, after);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_late_write_that_was_found_among_all_faults() {
    let (before, after) = shrunk(&watchdog(), Promise::FencedResource, &FaultKind::USUAL, 100_000);
    is_small(before, after);
}

/// What is left are the questions of those who wait, until the run has lasted long enough to accuse.
#[test]
fn a_key_that_nobody_deletes_since_its_holder_is_dead() {
    let faults = [FaultKind::Crash, FaultKind::Loss, FaultKind::Delay];
    let (before, after) = shrunk(&kept(), Promise::DeadlockFreedom, &faults, 10_000);
    assert!(after.steps <= before.steps / 2 && after.faults <= 1, "{before:?} became {after:?}");
}
