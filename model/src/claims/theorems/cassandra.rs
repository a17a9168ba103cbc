//! Lemma 1, Theorems 1 to 3 and the progress of the Cassandra paper, *The Cassandra queue lock*.

use super::Claim;
use crate::claims::cassandra::{TTL_SECONDS, drop_from_queue_lock, drop_from_row, queue_lock, row};
use crate::claims::{Assumption, Expected, Judgement, NamedSpace};
use crate::explore::{Draws, Goal};
use crate::stores::cassandra::{Consistency, ReadRepair};
use crate::time::Micros;
use crate::workload::{Calls, ROUNDS_WITHOUT_END};
use picklock_properties::{ClientId, Promise};

/// The claims, in the order of the source.
pub(super) fn claims() -> Vec<Claim> {
    let mut claims = lemma_1();
    claims.extend(mutual_exclusion("theorem-1", Calls::Lock, Promise::Theorem1));
    claims.extend(mutual_exclusion("theorem-2", Calls::TryLock, Promise::Theorem2));
    claims.extend(theorem_3());
    claims.extend(fairness());
    claims.extend(progress());
    claims
}

fn lemma_1() -> Vec<Claim> {
    use Assumption::*;
    use Consistency::{All, One, Quorum};
    let on_replicas = |variant, writes, reads, dropped: Vec<Assumption>, expected, reason| Claim {
        theorem: "lemma-1",
        space: NamedSpace::new("row-probe", &row(2, 3, writes, reads)),
        clients: 2,
        servers: 3,
        variant,
        dropped,
        judgement: Judgement::Safety,
        expected,
        reason,
        long: false,
    };
    let dropped = |clients, assumption: Assumption, expected, reason| {
        let mut space = row(clients, 1, Quorum, Quorum);
        drop_from_row(&mut space, assumption);
        Claim {
            theorem: "lemma-1",
            space: NamedSpace::new("row-probe", &space),
            clients,
            servers: 1,
            variant: "",
            dropped: vec![assumption],
            judgement: Judgement::Safety,
            expected,
            reason,
            long: false,
        }
    };
    let base = |clients| Claim {
        theorem: "lemma-1",
        space: NamedSpace::new("row-probe", &row(clients, 1, Quorum, Quorum)),
        clients,
        servers: 1,
        variant: "",
        dropped: Vec::new(),
        judgement: Judgement::Safety,
        expected: Expected::Holds,
        reason: "whoever writes later reads later, and the earlier record is there",
        long: false,
    };
    use Expected::{Holds, Violated};
    vec![
        base(3),
        on_replicas("W=2 R=2 of 3", Quorum, Quorum, vec![], Holds, "any two of three meet"),
        on_replicas("W=3 R=1 of 3", All, One, vec![], Holds, "all meet any one"),
        on_replicas("W=1 R=1 of 3", One, One, vec![QuorumsMeet], Violated, "1 + 1 is not more than 3"),
        on_replicas("W=2 R=1 of 3", Quorum, One, vec![QuorumsMeet], Violated, "2 + 1 is not more than 3"),
        on_replicas("W=1 R=2 of 3", One, Quorum, vec![QuorumsMeet], Violated, "1 + 2 is not more than 3"),
        dropped(2, ReadAfterAck, Violated, "both may read before either has written"),
        dropped(2, UniqueIds, Violated, "they share one column, and the later record replaces the earlier"),
        dropped(2, Durable, Violated, "the earlier record is lost before the later thread reads"),
        dropped(
            2,
            NoExpiry,
            Violated,
            "a TTL of one second can run out while the two write and read promptly",
        ),
        dropped(3, NoPause, Holds, "without TTL a pause only delays"),
        dropped(3, NoCrash, Holds, "a thread that does not read sees nothing wrong"),
        dropped(3, NoLoss, Holds, "a lost request is a thread that never reads"),
        dropped(3, NoDuplicate, Holds, "writing the same cell again changes nothing"),
        dropped(3, NoClockStep, Holds, "each column is written once"),
        dropped(3, NoClockFreeze, Holds, "each column is written once"),
        dropped(3, ClocksAgree, Holds, "timestamps of different columns are not compared"),
    ]
}

/// Longer than the TTL of small models: a lease that is not renewed in time runs out under its holder.
const LONG_HOLD: Micros = Micros::seconds(TTL_SECONDS as i64 + 2);

fn mutual_exclusion(theorem: &'static str, calls: Calls, promise: Promise) -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    let twice = |clients: u8, long| {
        let mut space = queue_lock(clients, 1, calls, &[promise]);
        space.setup.workload.rounds = 2;
        Claim {
            theorem,
            space: NamedSpace::new("cassandra-queue", &space),
            clients,
            servers: 1,
            variant: "called twice",
            dropped: Vec::new(),
            judgement: Judgement::Safety,
            expected: Holds,
            reason: "what was left of the first call is deleted, or stands behind the second",
            long,
        }
    };
    let claim = |clients: u8, servers: u8, dropped: &[Assumption], expected, reason, long| {
        let mut space = queue_lock(clients, servers, calls, &[promise]);
        for assumption in dropped {
            drop_from_queue_lock(&mut space, *assumption);
        }
        // Replicas that lag make many states: there the lock is taken once and kept, and reads repair nothing. Without
        // repair more stale reads are possible, not fewer.
        let replicated = servers == 3;
        if replicated {
            space.setup.workload.releases = false;
            space.setup.store.read_repair = ReadRepair::None;
        }
        Claim {
            theorem,
            space: NamedSpace::new("cassandra-queue", &space),
            clients,
            servers,
            variant: if replicated { "QUORUM, kept for good" } else { "" },
            dropped: dropped.to_vec(),
            judgement: Judgement::Safety,
            expected,
            reason,
            long,
        }
    };
    let leased = |variant, hold, latency_ticks, expected, reason| {
        let mut space = queue_lock(2, 1, calls, &[promise]);
        drop_from_queue_lock(&mut space, NoExpiry);
        space.bounds.latency_ticks = Some(latency_ticks);
        space.setup.workload.hold = hold;
        let space = NamedSpace::new("cassandra-queue", &space);
        Claim { space, variant, ..claim(2, 1, &[NoExpiry], expected, reason, false) }
    };
    vec![
        claim(3, 1, &[], Holds, "Lemma 1: of two records, the later writer sees both", false),
        twice(2, false),
        twice(3, true),
        claim(4, 1, &[], Holds, "Lemma 1: of two records, the later writer sees both", true),
        claim(2, 3, &[], Holds, "Lemma 1 at QUORUM", true),
        claim(2, 1, &[UniqueIds], Violated, "two threads with one id share one record (row C16)", false),
        claim(
            2,
            1,
            &[NoClockStep],
            Violated,
            "a record is hidden by its own, later-stamped tombstone (row C1)",
            false,
        ),
        claim(2, 1, &[NoClockFreeze], Violated, "at a tie the tombstone wins (row C22)", false),
        claim(2, 1, &[ClocksAgree], Holds, "the order of the queue is no matter of safety", false),
        claim(3, 1, &[ClocksAgree], Holds, "the order of the queue is no matter of safety", true),
        leased(
            "holds shorter than the TTL",
            Micros::ZERO,
            1,
            Untested,
            "whoever leaves before its record expires needs no renewal",
        ),
        leased("holds longer, messages at once", LONG_HOLD, 0, Holds, "the renewal at N/2 comes in time"),
        leased(
            "holds longer, slow messages",
            LONG_HOLD,
            1,
            Violated,
            "the renewer starts at the grant, not at the write: the record expires before the first renewal arrives",
        ),
        claim(2, 1, &[NoPause], Holds, "without TTL a pause only delays", false),
        claim(
            2,
            1,
            &[NoExpiry, NoPause],
            Violated,
            "the record expires while its thread pauses (rows C2, C3)",
            false,
        ),
        claim(2, 1, &[Durable], Violated, "the record is lost while its thread holds (row C12)", false),
        claim(
            2,
            2,
            &[QuorumsMeet],
            Violated,
            "each thread asks a replica that has not heard of the other (row C11)",
            false,
        ),
        claim(2, 1, &[ReadAfterAck], Violated, "a record that is not there yet is not seen", false),
        claim(3, 1, &[NoCrash], Holds, "without TTL a crashed thread's records stay", false),
        claim(2, 1, &[NoLoss], Holds, "an unknown write is repeated before the row is read", false),
        claim(2, 1, &[NoDuplicate], Holds, "the same cell with the same timestamp changes nothing", false),
    ]
}

/// How unfair the queue is that its authors call "not very fair" (section 5).
fn fairness() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Violated};
    const PROMISE: [Promise; 1] = [Promise::BoundedOvertaking];
    let claim = |clients: u8, rounds: u8, dropped: &[Assumption], expected, reason| {
        let mut space = queue_lock(clients, 1, Calls::Lock, &PROMISE);
        space.setup.workload.rounds = rounds;
        for assumption in dropped {
            drop_from_queue_lock(&mut space, *assumption);
        }
        Claim {
            theorem: "bounded-overtaking",
            space: NamedSpace::new("cassandra-queue", &space),
            clients,
            servers: 1,
            variant: if rounds == ROUNDS_WITHOUT_END { "called without end" } else { "called twice" },
            dropped: dropped.to_vec(),
            judgement: Judgement::Safety,
            expected,
            reason,
            long: false,
        }
    };
    let endless =
        |dropped: &[Assumption], expected, reason| claim(2, ROUNDS_WITHOUT_END, dropped, expected, reason);
    let once =
        "whoever names its cell late passes those that wait; its next cell has a later name than theirs";
    vec![
        endless(&[], Holds, once),
        claim(3, 2, &[], Holds, once),
        endless(&[ClocksAgree], Violated, "whoever's clock is behind names its next cell earlier, too"),
        endless(&[NoClockStep], Violated, "a clock that is set back names the next cell earlier, too"),
        endless(
            &[NoClockFreeze],
            Violated,
            "a clock that stands still names the next cell as early as the last",
        ),
        endless(
            &[UniqueIds],
            Violated,
            "two threads with one id take each other's cells for their own (row C16)",
        ),
        endless(
            &[NoLoss],
            Violated,
            "a cell whose deletion was lost stands for the next call, too (row C31)",
        ),
        endless(
            &[Durable],
            Violated,
            "a waiter whose queue cell is lost is passed by all who come (row C12)",
        ),
        endless(
            &[NoExpiry],
            Violated,
            "a waiter whose queue cell expires is passed by all who come (row C6)",
        ),
        endless(&[NoCrash], Holds, "whoever crashes passes nobody any more"),
        endless(&[NoPause], Holds, "a pause delays the write of a cell, and not the name of the next"),
        endless(&[NoDuplicate], Holds, "a cell that arrives again is older than its deletion, and hidden"),
    ]
}

fn theorem_3() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Violated};
    let claim = |clients: u8, judgement: Judgement, dropped: &[Assumption], expected, reason| {
        let mut space = queue_lock(clients, 1, Calls::TryLock, &[Promise::Theorem3]);
        // A release under way is an assumption of its own (row C9).
        space.setup.workload.releases = false;
        for assumption in dropped {
            drop_from_queue_lock(&mut space, *assumption);
        }
        let variant = match judgement {
            Judgement::Safety => "not all are refused",
            Judgement::Progress { .. } => "contention leads to a grant",
        };
        Claim {
            theorem: "theorem-3",
            space: NamedSpace::new("cassandra-queue", &space),
            clients,
            servers: 1,
            variant,
            dropped: dropped.to_vec(),
            judgement,
            expected,
            reason,
            long: false,
        }
    };
    let leads_to = || Judgement::Progress { goals: vec![Goal::Theorem3], draws: Draws::Adversary };
    // Listing 5 orders equal times by thread id: here nothing else is left to go by.
    let at_one_time = {
        let mut space = queue_lock(3, 1, Calls::TryLock, &[Promise::Theorem3]);
        space.setup.workload.releases = false;
        drop_from_queue_lock(&mut space, NoClockFreeze);
        space.bounds.freezes_all = true;
        let reason = "of equal times the smaller thread id is first, and somebody has it";
        let space = NamedSpace::new("cassandra-queue", &space);
        let variant = "not all are refused, all clocks show the same";
        Claim { space, variant, ..claim(3, Judgement::Safety, &[NoClockFreeze], Holds, reason) }
    };
    let first =
        "the first in the queue stays, all others leave the main row, and the first finds itself alone";
    vec![
        claim(3, Judgement::Safety, &[], Holds, first),
        claim(3, leads_to(), &[], Holds, first),
        claim(
            2,
            Judgement::Safety,
            &[NoCrash],
            Violated,
            "the first dies in the main row after the others left (row C25)",
        ),
        claim(
            2,
            leads_to(),
            &[NoCrash],
            Violated,
            "the first dies in the main row after the others left (row C25)",
        ),
        claim(
            2,
            Judgement::Safety,
            &[FreeAtStart],
            Violated,
            "the queue still has a thread that has left the main row (row C9)",
        ),
        claim(2, Judgement::Safety, &[UniqueIds], Holds, "with one id both are first"),
        claim(2, leads_to(), &[UniqueIds], Holds, "with one id both are first"),
        claim(
            2,
            Judgement::Safety,
            &[NoExpiry, NoPause],
            Violated,
            "the only queue cell expires before it is read",
        ),
        claim(2, Judgement::Safety, &[NoPause], Holds, "without TTL a pause only delays"),
        claim(2, leads_to(), &[NoPause], Holds, "without TTL a pause only delays"),
        claim(
            2,
            Judgement::Safety,
            &[NoExpiry],
            Violated,
            "the first's queue cell expires while it repeats lines 4 to 10",
        ),
        claim(2, Judgement::Safety, &[NoClockStep], Holds, "a hidden record refuses nobody"),
        claim(
            2,
            leads_to(),
            &[NoClockStep],
            Violated,
            "a deletion stamped earlier than its record deletes nothing: the first is never alone",
        ),
        claim(2, Judgement::Safety, &[NoClockFreeze], Holds, "a hidden record refuses nobody"),
        claim(
            2,
            leads_to(),
            &[NoClockFreeze],
            Violated,
            "the first's record, added again, stays hidden by its own tombstone: it never finds itself (row C22)",
        ),
        at_one_time,
        claim(3, Judgement::Safety, &[ClocksAgree], Holds, "whatever the order of the queue, it has a first"),
        claim(2, leads_to(), &[ClocksAgree], Holds, "whatever the order of the queue, it has a first"),
        Claim {
            long: true,
            ..claim(3, leads_to(), &[ClocksAgree], Holds, "whatever the order of the queue, it has a first")
        },
        claim(2, Judgement::Safety, &[Durable], Violated, "the only queue cell is lost before it is read"),
        claim(2, Judgement::Safety, &[NoLoss], Holds, "an unknown outcome is asked for again"),
        claim(
            2,
            leads_to(),
            &[NoLoss],
            Violated,
            "a lost deletion is taken for done: the first is never alone (row C31)",
        ),
        claim(
            2,
            Judgement::Safety,
            &[NoDuplicate],
            Holds,
            "the same cell with the same timestamp changes nothing",
        ),
        claim(2, leads_to(), &[NoDuplicate], Holds, "the same cell with the same timestamp changes nothing"),
    ]
}

fn progress() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Violated};
    let called = |rounds: u8, clients: u8, dropped: &[Assumption], expected, reason| {
        let mut space = queue_lock(clients, 1, Calls::Lock, &[]);
        space.setup.workload.rounds = rounds;
        for assumption in dropped {
            drop_from_queue_lock(&mut space, *assumption);
        }
        let mut goals = vec![Goal::DeadlockFreedom];
        goals.extend((0..clients).map(|client| Goal::StarvationFreedom(ClientId(client))));
        Claim {
            theorem: "progress",
            space: NamedSpace::new("cassandra-queue", &space),
            clients,
            servers: 1,
            variant: if rounds == 1 {
                "nobody waits for ever"
            } else {
                "nobody waits for ever, called twice"
            },
            dropped: dropped.to_vec(),
            judgement: Judgement::Progress { goals, draws: Draws::Adversary },
            expected,
            reason,
            long: false,
        }
    };
    let claim =
        |clients, dropped: &[Assumption], expected, reason| called(1, clients, dropped, expected, reason);
    vec![
        claim(3, &[], Holds, "the head of the queue is served, and leaves"),
        called(2, 2, &[], Holds, "the head of the queue is served, and leaves"),
        Claim { long: true, ..called(2, 3, &[], Holds, "the head of the queue is served, and leaves") },
        claim(2, &[NoCrash], Violated, "the cells of the dead stay (rows C7, C8)"),
        claim(2, &[NoLoss], Violated, "a lost deletion is taken for done (row C31)"),
        claim(2, &[NoExpiry], Violated, "a waiter's queue cell expires, and is not put back (row C6)"),
        called(
            2,
            2,
            &[UniqueIds],
            Violated,
            "a release deletes under its id the record that the other thread has just added: it finds the main row empty, and each \
             such deletion hides the next record",
        ),
        claim(2, &[NoClockStep], Violated, "a deletion stamped earlier than its cell deletes nothing"),
        claim(
            2,
            &[NoClockFreeze],
            Violated,
            "a record added again stays hidden by its tombstone, and the row looks empty",
        ),
        claim(2, &[ClocksAgree], Holds, "whatever the order of the queue, it has a head"),
        Claim {
            long: true,
            ..claim(3, &[ClocksAgree], Holds, "whatever the order of the queue, it has a head")
        },
        claim(2, &[NoPause], Holds, "without TTL a pause only delays"),
        claim(2, &[NoDuplicate], Holds, "the same cell with the same timestamp changes nothing"),
    ]
}
