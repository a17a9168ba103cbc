//! The table: each row of the catalogue with a plan that aims at it.
//!
//! Setups are the catalogue's own: those of its searches, whose times are a few ticks of a second, or those that it lets
//! random plans loose on. Where a search leaves its clients no time (nobody holds, everybody calls once) it is given here.

use super::Case;
use super::plans::*;
use crate::scenarios::row;
use picklock_model::claims::{Search, unpack_setup};
use picklock_model::cluster::Setup;
use picklock_model::locks::cassandra_served::KEEPER_READS;
use picklock_model::locks::cassandra_shadow::Backoff;
use picklock_model::locks::redlock::Contact;
use picklock_model::locks::zookeeper_lock::OnConnectionLoss;
use picklock_model::locks::{
    CassandraQueue, CassandraServed, CassandraShadow, ChubbyLock, EtcdElection, EtcdLeaseKey, EtcdMutex,
    RedisSingle, Redlock, ZnodeProbe, ZookeeperLock,
};
use picklock_model::machine::Lock;
use picklock_model::time::Micros;
use picklock_model::workload::Workload;
use picklock_properties::Promise;
use picklock_sim::hosted::turmoil::NotExpressible;
use picklock_sim::plans::fault::FaultKind;
use picklock_sim::plans::plan::Side::{Everybody, Servers};
use picklock_sim::plans::plan::Trigger::{self, Granted, Left};
use picklock_sim::plans::plan::{Plan, Planned, Target, When};
use std::time::Duration;

/// A row of the table.
pub(super) struct Row {
    pub id: &'static str,
    pub breaks: Promise,
    pub broken: Box<dyn Case>,
    pub repaired: Box<dyn Case>,
    pub plan: Plan,
    /// For how long connections put up with silence, where the usual second is too short: a slow link is silent.
    pub silence: Option<Duration>,
    /// Whether there is a lock to hold: what only writes and reads grants nothing.
    pub grants: bool,
}

impl Row {
    fn patient(self) -> Row {
        Row { silence: Some(Duration::from_secs(15)), ..self }
    }

    fn without_grants(self) -> Row {
        Row { grants: false, ..self }
    }
}

/// Why a row of the catalogue is not in the table.
#[derive(Clone, Copy, Debug)]
pub(super) enum Why {
    /// It takes faults that are refused.
    Refused { faults: &'static [FaultKind], error: NotExpressible },
    /// Of the faults that are not refused, no plan was found that aims at it.
    NoPlan(&'static str),
}

/// Of the rows of three members.
const STORE: Why =
    Why::NoPlan("stuck disks, handovers and reads of a variable are no faults of a plan, and no lock");

/// A pause, an answer that is lost, a clock that is set: they break these on the seeded engine, or not with every seed.
const TRIED: Why = Why::NoPlan("no plan was found that breaks it on both engines, whatever the seed");

/// Of the rows of shared objects.
const OBJECT: Why = Why::NoPlan("the hosted engine runs locks; it has no client of shared objects yet");

/// Of the rows of lock managers.
const MANAGER: Why = Why::NoPlan("the hosted engine runs locks; it has no client of a lock manager yet");

const SHARED: Why = Why::NoPlan("nobody has written plans for the rows of locks that several may hold yet");

/// What is not in the table.
pub(super) const UNEXPRESSED: &[(&str, Why)] = &[
    ("C1", Why::NoPlan("the clock must step between two messages of one round trip; no trigger says which")),
    (
        "C9",
        Why::NoPlan("two deletions that overtake each other: over one stream they arrive as they were sent"),
    ),
    (
        "C10",
        Why::NoPlan(
            "a renewal overtaken by the deletion that was sent after it: over one stream they arrive as sent",
        ),
    ),
    (
        "C21",
        Why::NoPlan("they refuse each other for ever only in step; after the healing two clients are not"),
    ),
    (
        "C29",
        Why::NoPlan(
            "the reply alone must be lost: over TCP its connection is, between two messages no trigger names",
        ),
    ),
    (
        "C22a",
        Why::NoPlan(
            "time stands still for as long as a clock was ahead, and progress is owed twice that later",
        ),
    ),
    ("R18", Why::NoPlan("votes are split for ever only in step; after the healing two clients are not")),
    ("R20", Why::NoPlan("progress is owed once healed, and healing brings the node back")),
    ("R24", Why::Refused { faults: &[FaultKind::Duplicate], error: NotExpressible::Duplicate }),
    ("R28", Why::NoPlan("progress is owed once healed, and healing ends the partitions")),
    ("R29", SHARED),
    ("R30", SHARED),
    ("R31", SHARED),
    ("R32", SHARED),
    ("R33", SHARED),
    (
        "R34",
        Why::NoPlan("a SET that overtakes the deletion sent before it: over one stream they arrive as sent"),
    ),
    ("X1", OBJECT),
    ("X2", OBJECT),
    ("X3", OBJECT),
    ("X4", OBJECT),
    ("X5", OBJECT),
    ("X6", OBJECT),
    ("X7", OBJECT),
    ("X8", OBJECT),
    (
        "F3",
        Why::NoPlan("no trigger names the moment between two writes at which the resource has to restart"),
    ),
    (
        "F4",
        Why::NoPlan("it takes two quorums that count apart for eight rounds: one in 3000 random plans does"),
    ),
    ("Z19", Why::Refused { faults: &[FaultKind::Delay], error: NotExpressible::Overtaking }),
    (
        "Z20",
        Why::NoPlan(
            "the follower must die between a pong and the next beat: milliseconds that no trigger names",
        ),
    ),
    ("E5", STORE),
    ("E6", STORE),
    ("E8", STORE),
    ("E9", STORE),
    ("E19", Why::NoPlan("connections of the hosted engine end with their host, and its client is told")),
    ("C36", TRIED),
    (
        "C37",
        Why::NoPlan(
            "nobody has written a plan yet in which a replica is away for longer than tombstones are kept",
        ),
    ),
    (
        "C35",
        Why::NoPlan(
            "a grant comes some round trips after the first write since the last mark, which are about a tenth of a second at the ticks of this network: it is chance whether the record has its mark",
        ),
    ),
    (
        "C39",
        Why::NoPlan(
            "a proposal must reach its coordinator's own replica alone: between two messages that no trigger names",
        ),
    ),
    (
        "E11",
        Why::NoPlan(
            "an answer must be read before the clock after a pause: over TCP it is still in the connection when the clock is looked at",
        ),
    ),
    (
        "E14",
        Why::NoPlan(
            "a resignation overtaken by the campaign that was sent after it: over one stream they arrive as sent",
        ),
    ),
    (
        "E15",
        Why::NoPlan(
            "the row doubles a transaction, and over TCP what is sent once arrives once, or never; a late one was not tried",
        ),
    ),
    ("V1", MANAGER),
    ("V2", MANAGER),
    ("V3", MANAGER),
    ("V4", MANAGER),
    ("V5", MANAGER),
    ("V6", MANAGER),
    ("V7", MANAGER),
    ("V8", MANAGER),
    ("V9", MANAGER),
    ("H1", Why::NoPlan("an answer must be late and the next KeepAlive lost; no trigger names them")),
    ("H2", TRIED),
    ("H3", TRIED),
    ("H4", TRIED),
];

/// The table.
pub(super) fn rows() -> Vec<Row> {
    let mut rows = cassandra();
    rows.extend(shadow());
    rows.extend(served());
    rows.extend(redlock());
    rows.extend(redis());
    rows.extend(zookeeper());
    rows.extend(etcd());
    rows.extend(chubby());
    rows
}

fn cassandra() -> Vec<Row> {
    type L = CassandraQueue;
    // The searches poll without a pause, which costs nothing where time is ticks.
    let polling = |setup: &mut Setup<L>| setup.lock.poll_interval = Micros::millis(200);
    let cut_short = [S1, S2, S3].map(|node| later(Granted, 100, power_loss(node, 500)));
    vec![
        searched::<L, L>(
            "C2",
            |work| (work.hold, work.think) = (Micros::seconds(5), Micros::millis(50)),
            plan(30, [late(5_000), on_a(line(6, 4), 1, 0, pause(A, 8_000))]),
        ),
        searched::<L, L>(
            "C3",
            |work| (work.hold, work.think) = (Micros::seconds(3), Micros::millis(50)),
            plan(30, [late(6_000), on_a(Granted, 1, 0, pause(A, 10_000))]),
        ),
        hunted::<L, L>(
            "C4",
            |work| (work.hold, work.rounds) = (Micros::seconds(40), 1),
            plan(60, [late(18_000), on_a(Granted, 1, 0, pause(A, 28_000))]),
        ),
        hunted::<L, L>("C6", usual, plan(60, [on(line(6, 10), pause(STRUCK, 30_000))])),
        searched_with(
            "C7",
            |setup: &mut Setup<L>| {
                polling(setup);
                busy(&mut setup.workload);
            },
            plan(20, [on(line(6, 2), crash(STRUCK))]),
        ),
        hunted::<L, L>("C8", usual, plan(20, [on(Granted, crash(STRUCK))])),
        // Each of the three goes on alone.
        hunted::<L, L>(
            "C11",
            usual,
            plan(
                60,
                [at_first(cut(nodes([S1]), Servers, 30_000)), at_first(cut(nodes([S2]), Servers, 30_000))],
            ),
        ),
        hunted::<L, L>("C12", usual, plan(30, [late(8_000)].into_iter().chain(cut_short))),
        hunted::<L, L>("C38", |_| {}, plan(60, [])),
        hunted::<L, L>("C14", usual, plan(60, [on(Left, cut(nodes([S1]), nodes([S2, S3]), 10_000))])),
        searched::<L, L>(
            "C15",
            |work| (work.hold, work.think) = (Micros::seconds(5), Micros::millis(50)),
            plan(20, [late(1_300), at_first(step(S2, 3))]),
        ),
        searched_with(
            "C16",
            |setup: &mut Setup<L>| {
                polling(setup);
                busy(&mut setup.workload);
            },
            plan(20, []),
        ),
        searched_with(
            "C23",
            |setup: &mut Setup<L>| {
                polling(setup);
                busy(&mut setup.workload);
                (setup.workload.clients, setup.workload.rounds) = (3, 1);
            },
            plan(30, [at_first(slow(nodes([A]), Servers, 600, 5_000))]),
        ),
        // B takes its time early and is late with the cell: it is first in the queue after A, who dies in its second round.
        searched_with(
            "C24",
            |setup: &mut Setup<L>| {
                polling(setup);
                setup.promises.insert(Promise::StarvationFreedom);
                let work = &mut setup.workload;
                (work.hold, work.think, work.rounds) = (Micros::millis(100), Micros::millis(700), 2);
            },
            plan(20, [at_first(slow(nodes([B]), Servers, 600, 5_000)), on_a(line(7, 6), 2, 0, crash(A))]),
        ),
        searched::<L, L>("C25", usual, plan(20, [on(line(7, 6), crash(STRUCK))])),
        hunted::<L, L>("C31", usual, plan(60, [on(Left, cut(nodes([STRUCK]), Everybody, 10_000))])),
    ]
}

fn shadow() -> Vec<Row> {
    type L = CassandraShadow;
    vec![
        hunted::<L, L>("C17", usual, plan(20, [on(line(3, 8), crash(STRUCK))])),
        searched_with(
            "C18",
            |setup: &mut Setup<L>| {
                setup.lock.backoff = Backoff::Fixed(Micros::millis(200));
                setup.workload.hold = Micros::seconds(10);
            },
            plan(30, [late(2_000), on_a(line(3, 10), 1, 0, pause(A, 8_000))]),
        ),
        // B stands in the shadow row, and has seen the main row empty, when A comes back with its clock behind.
        hunted::<L, L>(
            "C19",
            |work| (work.hold, work.think) = (Micros::seconds(2), Micros::seconds(3)),
            plan(60, [late(6_500), on_a(Left, 1, 0, step(A, -30)), on_b(line(3, 10), pause(B, 2_500))]),
        ),
        hunted::<L, L>(
            "C30",
            |work| (work.hold, work.rounds) = (Micros::seconds(40), 1),
            plan(60, [late(18_000), on_a(Granted, 1, 0, pause(A, 28_000))]),
        ),
    ]
}

/// Attendants are numbered after the clients, keepers before replicas.
fn served() -> Vec<Row> {
    type L = CassandraServed;
    let attendant = |number: u8| Target::Client(2 + number);
    let line_of = |number: u8, event, nth, delay_ms, fault| Planned {
        when: When::Trigger { client: Some(2 + number), event, nth, delay: Micros::millis(delay_ms) },
        fault,
    };
    vec![
        searched_with(
            "C22b",
            |setup: &mut Setup<L>| {
                setup.lock.queue.poll_interval = Micros::millis(200);
                setup.workload.hold = Micros::seconds(5);
            },
            plan(20, [at_first(pause(A, 1_000))]),
        ),
        searched_with(
            "C22c",
            |setup: &mut Setup<L>| {
                setup.lock.queue.poll_interval = Micros::millis(50);
                let work = &mut setup.workload;
                (work.hold, work.think, work.rounds) = (Micros::millis(50), Micros::millis(50), 20);
            },
            plan(
                20,
                [
                    at_first(slow(Servers, nodes([Target::Client(1)]), 600, 5_000)),
                    at_first(pause(Target::Client(2), 300)),
                ],
            ),
        ),
        searched_with(
            "C32",
            |setup: &mut Setup<L>| {
                setup.lock.queue.poll_interval = Micros::millis(200);
                setup.workload.hold = Micros::seconds(10);
            },
            plan(30, [late(3_000), on_a(Granted, 1, 0, crash(attendant(1)))]),
        ),
        // B took its time before A, its cell arrives when the keeper has just deleted A's record.
        searched_with(
            "C33",
            |setup: &mut Setup<L>| {
                setup.lock.queue.ttl_seconds = Some(8);
                setup.workload.think = Micros::millis(200);
            },
            plan(
                30,
                [
                    at_first(pause(A, 300)),
                    on_b(line(7, 1), slow(nodes([B]), Servers, 13_000, 1_000)),
                    at_first(slow(Servers, nodes([attendant(0)]), 300, 5_000)),
                    line_of(0, Trigger::Line(KEEPER_READS), 3, 450, pause(STRUCK, 9_000)),
                ],
            ),
        )
        .patient(),
        searched::<L, L>(
            "C34",
            usual,
            plan(20, [on(Granted, crash(STRUCK)), on(Granted, crash(attendant(0)))]),
        ),
    ]
}

fn redlock() -> Vec<Row> {
    type L = Redlock;
    let all = |fault: fn(Target) -> picklock_sim::plans::plan::Fault| [S1, S2, S3].map(fault);
    let ahead = all(|node| step(node, 11)).map(|fault| later(Granted, 1_000, fault));
    let restarts = all(|node| restart(node, 500)).map(|fault| later(Granted, 1_000, fault));
    let losses = all(|node| power_loss(node, 200)).map(|fault| later(Granted, 100, fault));
    let fast = all(|node| drift(node, 450_000)).map(at_first);
    let slowly = [A, B].map(|client| at_first(drift(client, -450_000)));
    vec![
        hunted::<L, RedisSingle>("R1", usual, paused_holder()),
        searched_with(
            "R2",
            |setup: &mut Setup<L>| {
                // All are asked before any reply is read.
                (setup.lock.contact, setup.lock.node_timeout) = (Contact::AtOnce, None);
                trying(&mut setup.workload);
                setup.workload.hold = Micros::millis(2_500);
            },
            plan(60, [late(500), on_a(line(0, 2), 1, 0, slow(Servers, nodes([A]), 4_500, 1_000))]),
        )
        .patient(),
        hunted::<L, L>("R3", usual, plan(60, ahead)),
        hunted::<L, L>("R4", usual, plan(60, restarts)),
        searched::<L, L>(
            "R5",
            |work| {
                trying(work);
                work.hold = Micros::millis(1_800);
            },
            plan(60, losses),
        ),
        searched::<L, L>(
            "R9",
            |work| {
                trying(work);
                work.hold = Micros::seconds(20);
            },
            plan(60, [on_a(line(0, 2), 1, 0, step(A, -20)), on_b(line(0, 2), step(B, -20))]),
        ),
        searched::<L, L>(
            "R10",
            |work| {
                trying(work);
                work.hold = Micros::millis(3_900);
            },
            plan(60, fast.into_iter().chain(slowly)),
        ),
        searched::<L, L>(
            "R16",
            |work| {
                trying(work);
                work.hold = Micros::seconds(12);
            },
            plan(60, [later(Granted, 500, slow(Servers, nodes([STRUCK]), 2_700, 2_000))]),
        )
        .patient(),
        searched::<L, L>(
            "R19",
            trying,
            plan(
                10,
                [
                    at_first(slow(nodes([A]), nodes([S2]), 100, 5_000)),
                    at_first(slow(nodes([B]), nodes([S1]), 100, 5_000)),
                ],
            ),
        ),
        searched_with(
            "R21",
            |setup: &mut Setup<L>| {
                setup.lock.node_timeout = Some(Micros::millis(500));
                trying(&mut setup.workload);
                setup.workload.think = Micros::seconds(1);
            },
            plan(
                10,
                [
                    at_first(cut(nodes([A]), nodes([S2]), 5_000)),
                    at_first(cut(nodes([B]), nodes([S1]), 5_000)),
                ],
            ),
        ),
        searched::<L, L>("R25", trying, plan(60, [at_first(crash(S1))])),
    ]
}

fn redis() -> Vec<Row> {
    type L = RedisSingle;
    let cut_off = || at_first(cut(nodes([S1]), nodes([S2]), 50_000));
    vec![
        hunted::<L, Redlock>("R7", usual, plan(60, [cut_off(), on(Granted, crash(S1))])),
        searched::<L, Redlock>(
            "R8",
            |work| {
                trying(work);
                work.hold = Micros::seconds(5);
            },
            plan(60, [at_first(step(S2, 20)), later(Granted, 100, crash(S1))]),
        ),
        searched::<L, L>(
            "R11",
            trying,
            plan(60, [on(Granted, slow(nodes([STRUCK]), Servers, 2_600, 4_000))]),
        )
        .patient(),
        searched::<L, L>(
            "R12",
            trying,
            plan(60, [on(Granted, slow(nodes([STRUCK]), Servers, 1_400, 4_000))]),
        )
        .patient(),
        // The key goes, B has it for half a second, and it goes again.
        searched::<L, L>(
            "R15",
            |work| {
                trying(work);
                (work.hold, work.rounds) = (Micros::seconds(3), 1);
            },
            plan(60, [late(200), on_a(Granted, 1, 300, step(S1, 10)), on_a(Granted, 1, 800, step(S1, 10))]),
        ),
        searched::<L, L>("R23", busy, plan(20, [])),
        searched::<L, L>(
            "F1",
            |work| {
                trying(work);
                work.rounds = 1;
            },
            plan(60, [late(400), on_a(line(0, 1), 1, 0, slow(nodes([A]), Servers, 2_600, 1_000))]),
        )
        .patient(),
        searched::<L, L>(
            "F2",
            |work| (work.hold, work.think) = (Micros::seconds(3), Micros::millis(100)),
            plan(60, [cut_off(), late(400), on(Granted, pause(STRUCK, 12_000)), on(Granted, crash(S1))]),
        )
        .patient(),
    ]
}

fn zookeeper() -> Vec<Row> {
    type L = ZookeeperLock;
    let reply_lost = || plan(30, [on_a(line(0, 1), 2, 0, cut_one_way(Servers, nodes([A]), 100))]);
    let goes_on = |setup: &mut Setup<L>| {
        setup.lock.on_connection_loss = OnConnectionLoss::GoOn;
        setup.workload.hold = Micros::seconds(1);
        setup.workload.think = Micros::millis(300);
    };
    vec![
        searched::<L, L>("Z1", again, reply_lost()),
        searched::<L, L>("Z2", again, reply_lost()),
        hunted::<L, L>("Z3", usual, paused_holder()),
        searched::<L, L>(
            "Z4",
            |work| {
                again(work);
                (work.hold, work.rounds) = (Micros::seconds(8), 2);
            },
            plan(60, [on(Granted, isolate(STRUCK, 10_000))]),
        ),
        searched::<L, L>("Z5", again, plan(10, [])),
        searched::<L, L>("Z7", again, plan(10, [])),
        searched::<L, L>("Z8", again, plan(10, [])),
        // B's session is older than what A writes, and both are told to B's server late.
        searched::<ZnodeProbe, ZnodeProbe>(
            "Z9",
            usual,
            plan(20, [at_first(pause(A, 300)), at_first(slow(nodes([S1]), nodes([S2]), 700, 10_000))]),
        )
        .without_grants(),
        searched::<L, L>("Z11", again, plan(10, [on(Granted, crash(STRUCK))])),
        searched_with(
            "Z12",
            |setup: &mut Setup<L>| {
                setup.lock.session.reconnect_delay = Micros::millis(100);
                again(&mut setup.workload);
                setup.workload.hold = Micros::millis(2_500);
            },
            plan(10, [on(Granted, step(S1, 30)), on(Granted, cut_one_way(Servers, nodes([STRUCK]), 1_800))]),
        ),
        searched_with("Z13", goes_on, plan(30, [late(6_000), on_a(Granted, 1, 0, pause(A, 10_000))])),
        searched_with("Z18", goes_on, plan(20, [on(Granted, pause(STRUCK, 10_000))])),
    ]
}

fn etcd() -> Vec<Row> {
    type L = EtcdMutex;
    type Candidate = EtcdElection;
    type OneKey = EtcdLeaseKey;
    // lock.go:123, the transaction.
    let unanswered = plan(30, [on_a(line(1, 123), 1, 0, cut_one_way(Servers, nodes([A]), 1_500))]);
    // B's clock goes at half the speed, so that it keeps its lease of three seconds alive every two, and one of the keep-alives is lost: the
    // lease is over after three seconds, A leaves, and B does not ask again before four.
    let between_two = || {
        let cut = cut_one_way(nodes([B]), Servers, 800);
        plan(60, [late(100), at_first(drift(B, -500_000)), later_on_b(line(2, 30), 1_600, cut)])
    };
    let leaves_in_between = |work: &mut Workload| work.hold = Micros::millis(3_500);
    vec![
        searched::<L, L>("E1", leaves_in_between, between_two()),
        hunted::<L, L>("E2", usual, paused_holder()),
        searched::<Candidate, Candidate>("E3", leaves_in_between, between_two()),
        // A's unlock is not answered, and is called again two seconds later. A has locked again by then, and B has come to wait.
        searched_with(
            "E4",
            |setup: &mut Setup<L>| {
                setup.lock.session.ttl = Some(Micros::seconds(9));
                (setup.workload.hold, setup.workload.think) = (Micros::seconds(2), Micros::millis(200));
            },
            plan(60, [late(3_650), on_a(Left, 1, 0, cut_one_way(Servers, nodes([A]), 500))]),
        ),
        // It is three seconds before A asks again for its lease.
        searched_with(
            "E7",
            |setup: &mut Setup<L>| setup.lock.session.ttl = Some(Micros::seconds(9)),
            plan(60, [later(Granted, 500, step(S1, 20))]),
        ),
        hunted::<L, L>("E12", usual, unanswered),
        searched::<Candidate, Candidate>(
            "E13",
            |work| (work.hold, work.think) = (Micros::seconds(1), Micros::millis(10)),
            plan(30, [later(Granted, 900, cut_one_way(nodes([STRUCK]), Servers, 400))]),
        ),
        hunted::<OneKey, OneKey>(
            "E16",
            usual,
            plan(60, [on(Left, cut_one_way(Servers, nodes([STRUCK]), 1_500))]),
        ),
        // B asks for a lease, is refused, and watches: each takes it so long. A leaves between the last two.
        searched::<OneKey, OneKey>(
            "E17",
            |work| (work.hold, work.think, work.rounds) = (Micros::millis(1_500), Micros::millis(10), 1),
            plan(30, [at_first(slow(nodes([B]), Servers, 600, 10_000))]),
        )
        .patient(),
        hunted::<OneKey, OneKey>(
            "E18",
            |work| work.clients = 2,
            plan(30, [late(1_000), on_a(line(1, 2), 1, 0, cut_one_way(Servers, nodes([A]), 1_500))]),
        ),
    ]
}

fn chubby() -> Vec<Row> {
    type L = ChubbyLock;
    vec![
        hunted::<L, L>("H5", usual, plan(60, [later(Granted, 12_000, restart(S1, 100))])),
        // The renewal that is sent after three seconds fails.
        hunted::<L, L>("H6", usual, plan(60, [later(Granted, 2_500, restart(S1, 2_000))])),
    ]
}

/// As the catalogue has it.
fn usual(_work: &mut Workload) {}

/// Everybody comes back, and holds for long enough to be seen.
fn busy(work: &mut Workload) {
    (work.hold, work.think, work.rounds) = (Micros::seconds(2), Micros::millis(50), 3);
}

/// The same, and who is refused asks again.
fn trying(work: &mut Workload) {
    (work.hold, work.think, work.rounds, work.retries) = (Micros::seconds(1), Micros::millis(100), 3, true);
}

/// Everybody comes back four times.
fn again(work: &mut Workload) {
    (work.hold, work.think, work.rounds) = (Micros::seconds(1), Micros::millis(300), 4);
}

/// The setups that the row is searched in, broken and repaired, with another workload.
fn searched<B: Lock, R: Lock>(id: &'static str, work: fn(&mut Workload), plan: Plan) -> Row {
    let row = row(id);
    let (broken, repaired) = (setup_of::<B>(&row.search), setup_of::<R>(&row.fix_search));
    built(id, row.breaks, broken, repaired, work, plan)
}

/// The setups that random plans are let loose on.
fn hunted<B: Lock, R: Lock>(id: &'static str, work: fn(&mut Workload), plan: Plan) -> Row {
    let row = row(id);
    let Some(hunt) = &row.hunt else { panic!("{id} is not hunted") };
    built(id, row.breaks, unpacked::<B>(&hunt.setup), unpacked::<R>(&hunt.fixed), work, plan)
}

/// [`searched`], with more changed than the workload, on both alike.
fn searched_with<L: Lock>(id: &'static str, change: impl Fn(&mut Setup<L>), plan: Plan) -> Row {
    let row = row(id);
    let (mut broken, mut repaired) = (setup_of::<L>(&row.search), setup_of::<L>(&row.fix_search));
    change(&mut broken);
    change(&mut repaired);
    built(id, row.breaks, broken, repaired, usual, plan)
}

fn built<B: Lock, R: Lock>(
    id: &'static str,
    breaks: Promise,
    mut broken: Setup<B>,
    mut repaired: Setup<R>,
    work: fn(&mut Workload),
    plan: Plan,
) -> Row {
    work(&mut broken.workload);
    work(&mut repaired.workload);
    // Where the search judges progress by the graph, no promise is watched.
    broken.promises.insert(breaks);
    if repaired.promises.is_empty() {
        repaired.promises.insert(Promise::DeadlockFreedom);
    }
    Row {
        id,
        breaks,
        broken: Box::new(broken),
        repaired: Box::new(repaired),
        plan,
        silence: None,
        grants: true,
    }
}

fn setup_of<L: Lock>(search: &Search) -> Setup<L> {
    match search {
        Search::Space { space, .. } => unpacked(&space.setup),
        Search::Seeds { setup, .. } => unpacked(setup),
    }
}

fn unpacked<L: Lock>(setup: &[u8]) -> Setup<L> {
    unpack_setup(setup).unwrap_or_else(|error| panic!("the catalogue's own setup: {error}"))
}
