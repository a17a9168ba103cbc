//! What section 4 of the Cassandra paper, *The Cassandra queue lock*, says of the old lock, and what it complains of.

use super::Claim;
use crate::claims::cassandra::TTL_SECONDS;
use crate::claims::cassandra_shadow::{backing_off, drop_from_shadow_lock, shadow_lock};
use crate::claims::{Assumption, Expected, Judgement, NamedSpace};
use crate::explore::{Draws, Goal, Space};
use crate::locks::CassandraShadow;
use crate::locks::cassandra_shadow::Backoff;
use crate::stores::cassandra::ReadRepair;
use crate::time::Micros;
use crate::workload::{Calls, ROUNDS_WITHOUT_END};
use crate::world::TICK;
use picklock_properties::{ClientId, Promise};

const LOCK: &str = "cassandra-shadow";

/// The claims, safety first.
pub(super) fn claims() -> Vec<Claim> {
    let mut claims = mutual_exclusion();
    claims.extend(progress());
    claims
}

fn safety(
    space: Space<CassandraShadow>,
    variant: &'static str,
    dropped: &[Assumption],
    expected: Expected,
    reason: &'static str,
) -> Claim {
    Claim {
        theorem: "old-lock",
        clients: space.setup.workload.clients,
        servers: space.setup.servers,
        space: NamedSpace::new(LOCK, &space),
        variant,
        dropped: dropped.to_vec(),
        judgement: Judgement::Safety,
        expected,
        reason,
        long: false,
    }
}

/// Longer than the TTL of small models: a lease that is not renewed in time runs out under its holder.
const LONG_HOLD: Micros = Micros::seconds(TTL_SECONDS as i64 + 2);

fn mutual_exclusion() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    let space = |clients, servers, calls, dropped: &[Assumption]| {
        let mut space = shadow_lock(clients, servers, calls, &[Promise::MutualExclusion]);
        for assumption in dropped {
            drop_from_shadow_lock(&mut space, *assumption);
        }
        space
    };
    let of = |clients, calls, dropped: &[Assumption], expected, reason| {
        safety(space(clients, 1, calls, dropped), "", dropped, expected, reason)
    };
    let drop = |clients, dropped: &[Assumption], expected, reason| {
        of(clients, Calls::Lock, dropped, expected, reason)
    };
    let replicated = || {
        let mut space = space(2, 3, Calls::Lock, &[]);
        // As with the theorems of the queue lock.
        space.setup.workload.releases = false;
        space.setup.store.read_repair = ReadRepair::None;
        Claim { long: true, ..safety(space, "QUORUM, kept for good", &[], Holds, "Lemma 1 at QUORUM") }
    };
    let leased = |variant, (ttl_seconds, shadow_ttl_seconds), latency_ticks, hold, expected, reason| {
        let mut space = space(2, 1, Calls::Lock, &[NoExpiry]);
        space.bounds.latency_ticks = Some(latency_ticks);
        space.setup.lock.ttl_seconds = ttl_seconds;
        space.setup.lock.shadow_ttl_seconds = shadow_ttl_seconds;
        space.setup.workload.hold = hold;
        safety(space, variant, &[NoExpiry], expected, reason)
    };
    let (no_ttl, ttl) = (None, Some(TTL_SECONDS));
    let lemma = "whoever finds the shadow row empty of another finds the main row full of it";
    vec![
        Claim { variant: "lock", ..of(3, Calls::Lock, &[], Holds, lemma) },
        Claim { variant: "try_lock", ..of(3, Calls::TryLock, &[], Holds, lemma) },
        replicated(),
        drop(2, &[UniqueIds], Violated, "two threads with one id share one shadow cell"),
        drop(
            2,
            &[NoClockStep],
            Violated,
            "the shadow cell is hidden by its own, later-stamped tombstone (row C19)",
        ),
        drop(2, &[NoClockFreeze], Violated, "at a tie the tombstone wins"),
        drop(3, &[ClocksAgree], Holds, "timestamps of different columns are not compared"),
        leased(
            "shadow cells expire, messages at once",
            (no_ttl, ttl),
            0,
            Micros::ZERO,
            Untested,
            "the shadow cell lasts until the main cell is written",
        ),
        leased(
            "shadow cells expire, slow messages",
            (no_ttl, ttl),
            1,
            Micros::ZERO,
            Violated,
            "lines 7 to 11 are seven messages in turn, and the TTL is four: row C18 without a pause",
        ),
        leased(
            "shadow cells expire later, slow messages",
            (no_ttl, Some(2 * TTL_SECONDS)),
            1,
            Micros::ZERO,
            Untested,
            "the TTL is longer than the seven messages of lines 7 to 11",
        ),
        leased(
            "main cells expire, short holds",
            (ttl, no_ttl),
            1,
            Micros::ZERO,
            Untested,
            "whoever leaves before its cell expires needs no renewal",
        ),
        leased(
            "holds longer, messages at once",
            (ttl, ttl),
            0,
            LONG_HOLD,
            Holds,
            "the renewal at N/2 comes in time",
        ),
        leased(
            "holds longer, slow messages",
            (ttl, no_ttl),
            1,
            LONG_HOLD,
            Violated,
            "the renewer starts at the grant, which is one more deletion later than the write",
        ),
        drop(2, &[NoPause], Holds, "without TTL a pause only delays"),
        drop(
            2,
            &[NoExpiry, NoPause],
            Violated,
            "a cell expires while its thread pauses (row C18, and row C3 of the queue lock)",
        ),
        drop(2, &[Durable], Violated, "the shadow cell or the main cell is lost"),
        safety(
            space(2, 2, Calls::Lock, &[QuorumsMeet]),
            "",
            &[QuorumsMeet],
            Violated,
            "each thread asks a replica that has not heard of the other",
        ),
        drop(2, &[ReadAfterAck], Violated, "a cell that is not there yet is not seen"),
        drop(3, &[NoCrash], Holds, "without TTL a crashed thread's cells stay"),
        drop(2, &[NoLoss], Holds, "an unknown addition is repeated before the row is read"),
        drop(2, &[NoDuplicate], Holds, "the same cell with the same timestamp changes nothing"),
    ]
}

fn progress() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    let claim = |space: Space<CassandraShadow>,
                 variant,
                 dropped: &[Assumption],
                 draws,
                 goals: Vec<Goal>,
                 expected,
                 reason| Claim {
        theorem: "old-lock-progress",
        judgement: Judgement::Progress { goals, draws },
        ..safety(space, variant, dropped, expected, reason)
    };
    let everybody = |clients: u8| {
        let mut goals = vec![Goal::DeadlockFreedom];
        goals.extend((0..clients).map(|client| Goal::StarvationFreedom(ClientId(client))));
        goals
    };
    let drawn = |dropped: &[Assumption], expected, reason| {
        let mut space = backing_off(2, 2);
        for assumption in dropped {
            drop_from_shadow_lock(&mut space, *assumption);
        }
        space.bounds.latency_ticks = Some(0);
        space.setup.lock.backoff = Backoff::Drawn { unit: TICK, below: 2 };
        claim(space, "almost surely", dropped, Draws::Dice, everybody(2), expected, reason)
    };
    let endless = || {
        let mut space = backing_off(2, 2);
        space.setup.workload.rounds = ROUNDS_WITHOUT_END;
        space
    };
    vec![
        drawn(&[], Holds, "in the end two draws differ, and the later thread finds the fight over"),
        claim(
            backing_off(2, 2),
            "whatever is drawn",
            &[],
            Draws::Adversary,
            vec![Goal::DeadlockFreedom],
            Violated,
            "two threads that draw the same lengths for ever fight for ever (row C21)",
        ),
        drawn(&[NoCrash], Violated, "the cells of the dead stay (row C17)"),
        drawn(&[NoLoss], Violated, "a lost deletion is taken for done"),
        drawn(&[NoExpiry], Untested, "each cell is deleted long before it expires"),
        drawn(&[NoExpiry, NoCrash], Holds, "the cells of the dead go in the end"),
        claim(
            endless(),
            "somebody, in endless use",
            &[],
            Draws::Dice,
            vec![Goal::DeadlockFreedom],
            Holds,
            "in the end two draws differ, and the later thread finds the fight over",
        ),
        claim(
            endless(),
            "everybody, in endless use",
            &[],
            Draws::Dice,
            vec![Goal::StarvationFreedom(ClientId(0))],
            Violated,
            "nobody stands in line: whoever sleeps is overtaken, and finds the other again whenever it wakes",
        ),
    ]
}
