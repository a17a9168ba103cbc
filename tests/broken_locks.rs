//! Locks that somebody broke: ours, with one mistake each, as people make them. Every one is caught by `sweep` or by `check`
//! as they are without any option, and the lock without the mistake is accused of nothing by either.
//!
//! A mistake sits between the lock's machine and the rest of the world: it changes what is sent, or what is understood. For
//! `sweep` the promises are those that the lock really makes under all faults: a lock with a lease does not exclude under
//! pauses, whoever wrote it, but its fencing tokens protect the resource.

use picklock_model::claims::Judgement;
use picklock_model::claims::unpack_setup;
use picklock_model::cluster::Setup;
use picklock_model::explore::{Limits, Space};
use picklock_model::locks::zookeeper_paths;
use picklock_model::locks::{
    CassandraLwt, CassandraQueue, FeedbackLock, RedisSingle, Redlock, ZookeeperLock,
};
use picklock_model::machine::{Answer, Call, Context, Effects, Line, Lock, Message, Store, Visitor};
use picklock_model::names::Words;
use picklock_model::stores::zookeeper::{Body, CreateMode, Operation, Write};
use picklock_model::stores::{cassandra, feedback, redis, zookeeper};
use picklock_model::time::{Due, Micros, Wall};
use picklock_properties::{Event, FencingToken, LockId, Promise};
use picklock_sim::plans::fault::{FaultKind, FaultSet};
use picklock_sim::registry::{AnyLock, CheckOptions, CheckVerdict, Registered, SweepHow, locks};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;

/// What somebody got wrong.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Mistake {
    #[default]
    None,
    /// Forgot `NX`.
    SetsWithoutCondition,
    /// Wrote a TTL in seconds where milliseconds are meant.
    SecondsForMilliseconds,
    /// Does not subtract what clocks may drift, nor what the request took.
    NoMargin,
    /// Hands out the same fencing token for ever.
    TokenStandsStill,
    /// Counts one server's no as a yes: a quorum that is one short.
    QuorumOneShort,
    /// Does not unlock: deletes something that is not there.
    NeverUnlocks,
    /// Took the wrong flag: the znode outlives its session.
    PersistentZnode,
    /// Skips the first of the queue, as one does who counts from one.
    SkipsTheFirst,
    /// Does not look at `[applied]`.
    AppliedUnread,
    /// Reads the queue before its own place in it is acknowledged.
    ReadsTooEarly,
    /// Takes a place in the queue for the lock.
    QueuedIsGranted,
}

/// What a mistake does to a lock's messages.
trait Spoil: Lock {
    fn spoil_settings(_mistake: Mistake, _settings: &mut Self::Settings) {}
    fn spoil_request(_mistake: Mistake, _request: &mut <Self::Store as Store>::Request) {}
    fn spoil_reply(_mistake: Mistake, _from: u8, _reply: &mut <Self::Store as Store>::Reply) {}
}

impl Spoil for RedisSingle {
    fn spoil_settings(mistake: Mistake, settings: &mut Self::Settings) {
        if mistake == Mistake::NoMargin {
            settings.validity_margin = Some(Micros::ZERO);
        }
    }

    fn spoil_request(mistake: Mistake, request: &mut redis::Request) {
        match (mistake, &mut request.command) {
            (Mistake::SetsWithoutCondition, redis::Command::Set { if_absent, .. }) => *if_absent = false,
            (Mistake::SecondsForMilliseconds, redis::Command::Set { ttl: Some(ttl), .. }) => ttl.0 /= 1000,
            (_, _) => {}
        }
    }
}

impl Spoil for Redlock {
    fn spoil_reply(mistake: Mistake, from: u8, reply: &mut redis::Reply) {
        if (mistake, from, reply.outcome) == (Mistake::QuorumOneShort, 0, redis::Outcome::Nil) {
            reply.outcome = redis::Outcome::Ok;
        }
    }
}

impl Spoil for ZookeeperLock {
    fn spoil_request(mistake: Mistake, request: &mut zookeeper::Request) {
        let zookeeper::Request::Do { operation: Operation::Write(write), .. } = request else { return };
        match (mistake, write) {
            (Mistake::NeverUnlocks, Write::Delete { path, .. }) => {
                *path = zookeeper_paths::work_path(LockId(7))
            }
            (Mistake::PersistentZnode, Write::Create { mode, .. })
                if *mode == CreateMode::EphemeralSequential =>
            {
                *mode = CreateMode::PersistentSequential;
            }
            (_, _) => {}
        }
    }

    fn spoil_reply(mistake: Mistake, _from: u8, reply: &mut zookeeper::Reply) {
        match (mistake, &mut reply.body) {
            (
                Mistake::SkipsTheFirst,
                Body::Outcome { outcome: zookeeper::Outcome::Children(children), .. },
            ) if children.len() > 1 => {
                children.sort();
                children.remove(0);
            }
            (_, _) => {}
        }
    }
}

impl Spoil for CassandraLwt {
    fn spoil_reply(mistake: Mistake, _from: u8, reply: &mut cassandra::Reply) {
        if mistake == Mistake::AppliedUnread && matches!(reply.outcome, cassandra::Outcome::Slice(_)) {
            reply.outcome = cassandra::Outcome::Applied;
        }
    }
}

impl Spoil for CassandraQueue {
    fn spoil_settings(mistake: Mistake, settings: &mut Self::Settings) {
        settings.reads_before_ack |= mistake == Mistake::ReadsTooEarly;
    }
}

impl Spoil for FeedbackLock {
    fn spoil_reply(mistake: Mistake, _from: u8, reply: &mut feedback::Reply) {
        if let (Mistake::QueuedIsGranted, feedback::Reply::Queued { ticket, serial }) = (mistake, *reply) {
            *reply = feedback::Reply::Granted { ticket, heard: Some(serial), fence: FencingToken(1) };
        }
    }
}

/// A lock with a mistake in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
struct Spoilt<L: Lock>(L);

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct WithMistake<S> {
    settings: S,
    mistake: Mistake,
}

impl<L: Spoil> Spoilt<L> {
    fn enter(
        &mut self,
        cx: &Context<WithMistake<L::Settings>>,
        out: &mut Effects<L::Store>,
        entry: impl FnOnce(&mut L, &Context<L::Settings>, &mut Effects<L::Store>),
    ) {
        let WithMistake { settings, mistake } = cx.settings;
        let Context { me, servers, wall, monotonic, choice, .. } = *cx;
        entry(&mut self.0, &Context { me, servers, wall, monotonic, choice, settings }, out);
        for (_, message) in &mut out.sends {
            if let Message::Request(request) = message {
                L::spoil_request(*mistake, request);
            }
        }
        if let (Mistake::TokenStandsStill, Some(Answer::Granted { fence: Some(fence) })) =
            (mistake, &mut out.answer)
        {
            *fence = FencingToken(1);
        }
    }
}

type Settings<L> = WithMistake<<L as Lock>::Settings>;

impl<L: Spoil> Lock for Spoilt<L> {
    type Store = L::Store;
    type Settings = Settings<L>;

    const WORDS: Words = L::WORDS;

    fn new(me: u8, settings: &Settings<L>) -> Self {
        Spoilt(L::new(me, &settings.settings))
    }

    fn on_call(&mut self, call: Call, cx: &Context<Settings<L>>, out: &mut Effects<L::Store>) {
        self.enter(cx, out, |lock, cx, out| lock.on_call(call, cx, out));
    }

    fn on_reply(
        &mut self,
        from: u8,
        mut reply: <L::Store as Store>::Reply,
        cx: &Context<Settings<L>>,
        out: &mut Effects<L::Store>,
    ) {
        L::spoil_reply(cx.settings.mistake, from, &mut reply);
        self.enter(cx, out, |lock, cx, out| lock.on_reply(from, reply, cx, out));
    }

    fn on_deadline(&mut self, cx: &Context<Settings<L>>, out: &mut Effects<L::Store>) {
        self.enter(cx, out, L::on_deadline);
    }

    fn on_restart(&mut self, cx: &Context<Settings<L>>) {
        let Context { me, servers, wall, monotonic, choice, settings } = *cx;
        self.0.on_restart(&Context { me, servers, wall, monotonic, choice, settings: &settings.settings });
    }

    fn deadline(&self, settings: &Settings<L>) -> Option<Due> {
        self.0.deadline(&settings.settings)
    }

    fn means(change: &<L::Store as Store>::Change, server: u8) -> Option<Event> {
        L::means(change, server)
    }

    fn choices(&self, reply: Option<&<L::Store as Store>::Reply>, settings: &Settings<L>) -> u32 {
        self.0.choices(reply, &settings.settings)
    }

    fn visit<V: Visitor>(&mut self, settings: &Settings<L>, visitor: &mut V) {
        self.0.visit(&settings.settings, visitor);
    }

    fn carries_stamps_over(settings: &Settings<L>, clocks_err: bool) -> bool {
        L::carries_stamps_over(&settings.settings, clocks_err)
    }

    fn earliest_timestamp(&self, settings: &Settings<L>) -> Option<Wall> {
        self.0.earliest_timestamp(&settings.settings)
    }

    fn line(&self) -> Line {
        self.0.line()
    }

    fn doing(&self) -> &'static str {
        self.0.doing()
    }

    fn valid_until(&self, settings: &Settings<L>) -> Option<Due> {
        self.0.valid_until(&settings.settings)
    }

    fn is_renewing(&self) -> bool {
        self.0.is_renewing()
    }

    fn lease(settings: &Settings<L>) -> Option<Micros> {
        L::lease(&settings.settings)
    }
}

/// A setup of a lock of ours, with a mistake.
fn spoilt<L: Spoil>(setup: Setup<L>, mistake: Mistake) -> Setup<Spoilt<L>> {
    let Setup { mut lock, store, servers, workload, promises } = setup;
    L::spoil_settings(mistake, &mut lock);
    Setup { lock: WithMistake { settings: lock, mistake }, store, servers, workload, promises }
}

fn of_ours(name: &str) -> Box<dyn AnyLock> {
    locks().into_iter().find(|lock| lock.name() == name).expect("one of ours")
}

/// What seeded runs run, with the promises that a lock with fencing tokens makes under all faults.
fn seeded<L: Spoil>(name: &str, mistake: Mistake) -> Setup<Spoilt<L>> {
    use Promise::*;
    let promises = [FencedResource, DeadlockFreedom, StarvationFreedom].into_iter().collect();
    spoilt(unpack_setup::<L>(&of_ours(name).setup(Some(promises))).expect("it is one of this lock"), mistake)
}

fn small<L: Spoil>(name: &str, options: &CheckOptions, mistake: Mistake) -> Space<Spoilt<L>> {
    let space = of_ours(name).space(options);
    let setup = unpack_setup::<L>(&space.setup).expect("it is one of this lock");
    Space { setup: spoilt(setup, mistake), bounds: space.bounds }
}

macro_rules! spoilt {
    ($lock:ty, $name:literal, $mistake:ident) => {
        Box::new(
            Registered::<Spoilt<$lock>>::new($name, "a lock of ours with a mistake", || {
                seeded::<$lock>($name, Mistake::$mistake)
            })
            .checked_with_servers(of_ours($name).usual_servers())
            .checked_in(|options| small::<$lock>($name, options, Mistake::$mistake)),
        ) as Box<dyn AnyLock>
    };
}

/// What `picklock check LOCK` says.
fn checked(lock: &dyn AnyLock) -> CheckVerdict {
    let options = CheckOptions {
        clients: 2,
        servers: lock.usual_servers(),
        rounds: 1,
        try_lock: false,
        drop: Vec::new(),
        promises: Default::default(),
    };
    let checked = lock.check(&lock.space(&options), &Judgement::Safety, &Limits::states(10_000_000));
    checked.expect("it can be checked").verdict
}

/// The first seed of `picklock sweep LOCK` that breaks a promise, and which.
fn swept(lock: &dyn AnyLock, faults: FaultSet) -> Option<(u64, Promise)> {
    let stop = AtomicBool::new(false);
    let how = SweepHow { jobs: 2, ..SweepHow::new(&|_| {}, &stop) };
    let report = lock.sweep(&lock.setup(None), faults, 0..1000, &how).expect("it can be swept");
    assert_eq!(report.truncated, 0, "{}: some runs did not end", lock.name());
    report.violations.first().map(|found| (found.seed, found.violation.promise))
}

/// Pairs of a lock of ours as it is, put together by the same hands, and with a mistake.
fn checked_pairs() -> [[Box<dyn AnyLock>; 2]; 8] {
    [
        [
            spoilt!(RedisSingle, "redis-single", None),
            spoilt!(RedisSingle, "redis-single", SetsWithoutCondition),
        ],
        [
            spoilt!(RedisSingle, "redis-single", None),
            spoilt!(RedisSingle, "redis-single", SecondsForMilliseconds),
        ],
        [
            spoilt!(RedisSingle, "redis-single-fenced", None),
            spoilt!(RedisSingle, "redis-single-fenced", NoMargin),
        ],
        [spoilt!(Redlock, "redlock", None), spoilt!(Redlock, "redlock", QuorumOneShort)],
        [
            spoilt!(ZookeeperLock, "zookeeper-lock", None),
            spoilt!(ZookeeperLock, "zookeeper-lock", SkipsTheFirst),
        ],
        [spoilt!(CassandraLwt, "cassandra-lwt", None), spoilt!(CassandraLwt, "cassandra-lwt", AppliedUnread)],
        [
            spoilt!(CassandraQueue, "cassandra-queue", None),
            spoilt!(CassandraQueue, "cassandra-queue", ReadsTooEarly),
        ],
        [
            spoilt!(FeedbackLock, "feedback-lock", None),
            spoilt!(FeedbackLock, "feedback-lock", QueuedIsGranted),
        ],
    ]
}

#[test]
fn what_a_few_schedules_show_is_caught_by_check_and_the_lock_without_the_mistake_is_not_accused() {
    for (nth, [_, broken]) in checked_pairs().iter().enumerate() {
        let name = broken.name();
        assert_eq!(checked(of_ours(name).as_ref()), CheckVerdict::Holds, "{name} is correct");
        assert_eq!(checked(broken.as_ref()), CheckVerdict::Violated, "{name}, pair {nth}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn nor_is_the_lock_without_the_mistake_if_the_same_hands_have_put_it_together() {
    for [ours, _] in &checked_pairs() {
        assert_eq!(checked(ours.as_ref()), CheckVerdict::Holds, "{} is correct", ours.name());
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_needs_faults_is_caught_by_sweep_and_the_lock_without_the_mistake_is_not_accused() {
    let all = FaultSet::ALL;
    // The counter of a Redis that syncs once a second goes back when it loses power, which is no mistake of the lock's.
    let kept = all.without(FaultKind::PowerLoss);
    let single = [
        (spoilt!(RedisSingle, "redis-single-fenced", None), kept, None),
        (spoilt!(RedisSingle, "redis-single-fenced", TokenStandsStill), kept, Some(Promise::FencedResource)),
        (spoilt!(ZookeeperLock, "zookeeper-lock-repaired", None), all, None),
        (
            spoilt!(ZookeeperLock, "zookeeper-lock-repaired", NeverUnlocks),
            all,
            Some(Promise::DeadlockFreedom),
        ),
        (
            spoilt!(ZookeeperLock, "zookeeper-lock-repaired", PersistentZnode),
            all,
            Some(Promise::DeadlockFreedom),
        ),
        (
            spoilt!(ZookeeperLock, "zookeeper-lock-repaired", TokenStandsStill),
            all,
            Some(Promise::FencedResource),
        ),
    ];
    for (lock, faults, breaks) in single {
        let found = swept(lock.as_ref(), faults).map(|(_, promise)| promise);
        assert_eq!(found, breaks, "{}", lock.name());
    }
}
