//! What the world was like in which a verdict was reached: who used the lock, what was allowed to go wrong, and which
//! assumptions were not in force. A verdict without it says nothing.

use crate::plans::varied;
use picklock_model::claims::Assumption;
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::machine::{Idle, Store};
use picklock_model::system::System;
use picklock_model::time::Micros;
use picklock_model::workload::{Calls, ROUNDS_WITHOUT_END, Workload, Writes};
use picklock_model::world::Bounds;
use serde::Serialize;

/// A space in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Surroundings {
    /// Who uses the lock, and how.
    pub used: String,
    /// How time passes, and how long messages take.
    pub time: String,
    /// What is set otherwise than in seeded runs: `ttl=2000000`.
    pub settings: Vec<String>,
    /// The same for people: `ttl=2s`.
    #[serde(skip)]
    pub settings_told: Vec<String>,
    /// What may go wrong, and how often.
    pub allowed: Vec<String>,
    /// Whether every hold is shorter than the lease.
    #[serde(skip)]
    pub work_fits: bool,
    /// The store's settings that are in force, and whose effect a search does not see.
    #[serde(skip)]
    pub unseen: Vec<&'static str>,
    /// A setting that does nothing in this use.
    #[serde(skip)]
    pub idle: Option<Idle>,
    /// The assumptions that do not hold here, whether they were dropped or never made.
    pub not_in_force: Vec<&'static str>,
}

impl Surroundings {
    /// Of this space.
    pub fn of<Y: System>(space: &Space<Y>) -> Surroundings {
        let Space { setup, bounds } = space;
        let time = match bounds.latency_ticks {
            None => "deadlines and messages come in any order".to_owned(),
            Some(0) => "in ticks of a second; messages take less than a tick".to_owned(),
            Some(1) => "in ticks of a second; messages take up to a tick".to_owned(),
            Some(ticks) => format!("in ticks of a second; messages take up to {ticks} ticks"),
        };
        // Nobody comes between a request and its answer there.
        let at_once = match (bounds.colocated, setup.servers) {
            (false, _) if bounds.attendants_colocated => {
                "; what the lock's own services and the server beside them say to each other arrives within the same step"
            }
            (false, _) => "",
            (true, 1) => "; what clients and the server say to each other arrives within the same step",
            (true, _) => {
                "; what a client and the server beside it say to each other arrives within the same step"
            }
        };
        Surroundings {
            used: used_in::<Y>(&setup.workload, setup.servers, Some(bounds)),
            time: time + at_once,
            settings: Vec::new(),
            settings_told: Vec::new(),
            allowed: [bounds.allowed(), not_on_disk::<Y>(space), Y::Store::surroundings(&setup.store)]
                .concat(),
            work_fits: fits(space),
            unseen: Y::Store::unseen(&setup.store),
            idle: Y::idle(setup),
            not_in_force: not_in_force(space).into_iter().map(Assumption::name).collect(),
        }
    }

    /// The same, with these assumptions dropped: some only a lock or its store can drop, where no bound shows it.
    #[must_use]
    pub fn without(mut self, dropped: &[Assumption]) -> Surroundings {
        for name in dropped.iter().copied().map(Assumption::name) {
            if !self.not_in_force.contains(&name) {
                self.not_in_force.push(name);
            }
        }
        self
    }

    /// What may go wrong, as one phrase.
    pub fn allowed_in_words(&self) -> String {
        in_words(&self.allowed)
    }

    /// What is set otherwise than in seeded runs, as one phrase.
    pub fn settings_in_words(&self) -> String {
        in_words(&self.settings_told)
    }

    /// The assumptions that do not hold, as one phrase.
    pub fn not_in_force_in_words(&self) -> String {
        in_words(&self.not_in_force)
    }
}

/// Things in a row, or that there are none.
pub(super) fn in_words<T: AsRef<str>>(things: &[T]) -> String {
    let things: Vec<&str> = things.iter().map(AsRef::as_ref).collect();
    if things.is_empty() { "nothing".to_owned() } else { things.join(", ") }
}

/// Who uses the lock in seeded runs, how often and how long, on how many servers; and what its store goes through by itself.
pub fn use_in_words<Y: System>(setup: &Setup<Y>) -> String {
    let used = used_in::<Y>(&setup.workload, setup.servers, None);
    let used = [vec![used], Y::Store::surroundings(&setup.store)].concat().join("; ");
    match varied::in_words(&setup.workload, Y::patience(setup), Y::HOLDS) {
        Some(drawn) => format!("{used}; around these each seed draws {drawn}"),
        None => used,
    }
}

/// The same within bounds, which may leave it to the clients how long they take. They do where no time passes: there a length is a
/// deadline, and any other comes before it or after it.
fn used_in<Y: System>(workload: &Workload, servers: u8, bounds: Option<&Bounds>) -> String {
    let asks_at_any_time = bounds.is_some_and(|bounds| bounds.unhurried || bounds.latency_ticks.is_none());
    let holds_any_time =
        bounds.is_some_and(|bounds| bounds.unhurried_holders || bounds.latency_ticks.is_none());
    let some = |number: u8, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    if !Y::HOLDS {
        let begin = match asks_at_any_time {
            true => "beginning when they like".to_owned(),
            false => format!("thinking {} before each", workload.think),
        };
        let operations = some(workload.rounds, "operation");
        return format!(
            "{} with {operations} each, {begin}; {}",
            some(workload.clients, "client"),
            some(servers, "server")
        );
    }
    let is_timeless = bounds.is_some_and(|bounds| bounds.latency_ticks.is_none());
    let calls = match workload.calls {
        Calls::Lock => "lock",
        Calls::TryLock => "try_lock",
    };
    let rounds = match workload.rounds {
        ROUNDS_WITHOUT_END => "without end".to_owned(),
        rounds => format!("{} each", some(rounds, "time")),
    };
    let hold = match (workload.releases, holds_any_time) {
        (false, _) => "hold for good".to_owned(),
        (true, true) if workload.hold == Micros::ZERO || is_timeless => {
            "hold for as long as they like".to_owned()
        }
        (true, true) => format!("hold for as long as they like, {} at least", workload.hold),
        (true, false) => format!("hold {}", workload.hold),
    };
    let think = match asks_at_any_time {
        true if workload.think == Micros::ZERO || is_timeless => "ask when they like".to_owned(),
        true => format!("ask when they like, {} after they left at the earliest", workload.think),
        false => format!("think {}", workload.think),
    };
    let writes = match (workload.writes, workload.resource_checks) {
        (Writes::None, _) => "",
        (Writes::Store, _) => " and write in the store",
        (Writes::Resource, false) => " and write to the resource",
        (Writes::Resource, true) => " and write to the resource (it checks tokens)",
        (Writes::ReadModifyWrite { .. }, false) => " and read and write the resource",
        (Writes::ReadModifyWrite { .. }, true) => " and read and write the resource (it checks tokens)",
    };
    format!(
        "{} calling {calls} {rounds}, {hold}{writes}, {think}; {}",
        some(workload.clients, "client"),
        some(servers, "server"),
    )
}

/// That power takes with it what was acknowledged, where it may be lost.
fn not_on_disk<Y: System>(space: &Space<Y>) -> Vec<String> {
    let words = "a server that loses power loses writes that it has acknowledged";
    loses_with_power(space).then(|| words.to_owned()).into_iter().collect()
}

fn loses_with_power<Y: System>(space: &Space<Y>) -> bool {
    space.bounds.power_losses > 0 && !Y::Store::is_durable(&space.setup.store)
}

/// Whether all holds are shorter than the lease: those of a lock whose holder does not look at it.
fn fits<Y: System>(space: &Space<Y>) -> bool {
    let Space { setup, bounds } = space;
    let is_longer = |lease: Micros| setup.workload.hold < lease;
    let is_bounded = bounds.latency_ticks.is_some() && !bounds.unhurried_holders && setup.workload.releases;
    Y::HOLDS && is_bounded && Y::lease_of(&setup.lock).is_some_and(is_longer)
}

fn not_in_force<Y: System>(space: &Space<Y>) -> Vec<Assumption> {
    let Space { setup, bounds } = space;
    let lost = bounds.server_crashes.max(bounds.power_losses);
    let majority_lost = 2 * u16::from(lost) >= u16::from(setup.servers);
    let free_at_start = !setup.workload.releases;
    Assumption::ALL
        .into_iter()
        .filter(|assumption| match assumption {
            Assumption::NoExpiry => Y::lease_of(&setup.lock).is_some(),
            Assumption::FreeAtStart => !free_at_start,
            Assumption::MajorityUp => lost > 0 && majority_lost,
            Assumption::NoPause => bounds.pauses > 0 && !bounds.pauses_suspend,
            Assumption::NoSuspend => bounds.pauses > 0 && bounds.pauses_suspend,
            Assumption::NoCrash => bounds.crashes > 0,
            Assumption::NoLoss => bounds.losses > 0,
            Assumption::NoDuplicate => bounds.duplicates > 0,
            Assumption::NoClockStep => bounds.clock_steps > 0 && bounds.clock_step_ticks < 0,
            Assumption::NoClockFreeze => bounds.freezes > 0,
            Assumption::NoServerClockStep => bounds.server_clock_steps > 0,
            Assumption::ClocksAgree => {
                let ahead = bounds.clock_steps > 0 && bounds.clock_step_ticks > 0;
                ahead || bounds.last_client_ahead_ticks != 0 || bounds.last_server_ahead_ticks != 0
            }
            // These are the lock's and its store's affair: a caller that dropped them knows.
            Assumption::UniqueIds
            | Assumption::QuorumsMeet
            | Assumption::ReadAfterAck
            | Assumption::BoundedDrift
            | Assumption::StopsInTime
            | Assumption::KeysExpire => false,
            Assumption::NoFailOver => Y::Store::fails_over(&setup.store),
            Assumption::Durable => loses_with_power(space),
            Assumption::KeysKept => !Y::Store::keeps_keys(&setup.store),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_budget_has_words() {
        let bounds = Bounds {
            losses: 1,
            duplicates: 2,
            pauses: 1,
            pause_ticks: 3,
            crashes: 1,
            power_losses: 1,
            server_crashes: 1,
            resource_restarts: 1,
            server_clock_steps: 1,
            server_clock_step_ticks: 5,
            drifts: 4,
            drift_ticks: 1,
            clock_steps: 1,
            clock_step_ticks: -1,
            freezes: 1,
            last_server_ahead_ticks: 2,
            last_client_ahead_ticks: -1,
            ..Bounds::default()
        };
        // Pauses and drifts have no meaning without time, a clock that stops has none with it.
        assert_eq!(bounds.allowed().len(), 11);
        assert_eq!(Bounds { latency_ticks: Some(0), ..bounds }.allowed().len(), 12);
        assert!(Bounds::default().allowed().is_empty());
    }
}
