//! Kinds of faults, how many of each may still come, and how many came.

use super::{Action, Bounds, WITHOUT_END};
use serde::Deserialize;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::ops::{Index, IndexMut};

/// A kind of fault that has a budget.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fault {
    /// A message is lost.
    Loss,
    /// A message arrives twice.
    Duplicate,
    /// A client pauses.
    Pause,
    /// A client crashes.
    Crash,
    /// A server loses power.
    PowerLoss,
    /// A server crashes.
    ServerCrash,
    /// The resource restarts.
    ResourceRestart,
    /// A server's wall clock steps.
    ServerClockStep,
    /// A clock drifts.
    Drift,
    /// A client's wall clock steps.
    ClockStep,
    /// A client's wall clock stops.
    Freeze,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 11] = [
        Fault::Loss,
        Fault::Duplicate,
        Fault::Pause,
        Fault::Crash,
        Fault::PowerLoss,
        Fault::ServerCrash,
        Fault::ResourceRestart,
        Fault::ServerClockStep,
        Fault::Drift,
        Fault::ClockStep,
        Fault::Freeze,
    ];

    /// The budget it comes out of, by its name in [`Budget`].
    pub fn name(self) -> &'static str {
        match self {
            Fault::Loss => "losses",
            Fault::Duplicate => "duplicates",
            Fault::Pause => "pauses",
            Fault::Crash => "crashes",
            Fault::PowerLoss => "power_losses",
            Fault::ServerCrash => "server_crashes",
            Fault::ResourceRestart => "resource_restarts",
            Fault::ServerClockStep => "server_clock_steps",
            Fault::Drift => "drifts",
            Fault::ClockStep => "clock_steps",
            Fault::Freeze => "freezes",
        }
    }

    /// What is to be said where it was let in and never came.
    pub fn never(self) -> &'static str {
        match self {
            Fault::Loss => "no message was lost",
            Fault::Duplicate => "no message arrived twice",
            Fault::Pause => "no client paused",
            Fault::Crash => "no client crashed",
            Fault::PowerLoss => "no server lost power",
            Fault::ServerCrash => "no server crashed",
            Fault::ResourceRestart => "the resource did not restart",
            Fault::ServerClockStep => "no server's clock was set",
            Fault::Drift => "no clock drifted",
            Fault::ClockStep => "no client's clock was set",
            Fault::Freeze => "no client's clock stopped (none does where time passes in ticks)",
        }
    }
}

impl Action {
    /// Which fault it is, if it is one.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Action::Lose { .. } => Some(Fault::Loss),
            Action::Duplicate { .. } => Some(Fault::Duplicate),
            Action::Pause { .. } => Some(Fault::Pause),
            Action::Crash { .. } | Action::CrashUnheard { .. } => Some(Fault::Crash),
            Action::LosePower { .. } | Action::LosePowerUnheard { .. } => Some(Fault::PowerLoss),
            Action::CrashServer { .. } | Action::CrashServerUnheard { .. } => Some(Fault::ServerCrash),
            Action::RestartResource => Some(Fault::ResourceRestart),
            Action::StepServerClock { .. } => Some(Fault::ServerClockStep),
            Action::DriftingTick { .. } => Some(Fault::Drift),
            Action::StepClock { .. } => Some(Fault::ClockStep),
            Action::FreezeClock { .. } => Some(Fault::Freeze),
            Action::Deliver { .. }
            | Action::Wake { .. }
            | Action::Tick
            | Action::Resume { .. }
            | Action::RestartServer { .. } => None,
        }
    }
}

/// How many faults may still come: [`Bounds`] counted down.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, Deserialize,
)]
pub struct Budget {
    /// See [`Bounds::losses`].
    pub losses: u8,
    /// See [`Bounds::duplicates`].
    pub duplicates: u8,
    /// See [`Bounds::pauses`].
    pub pauses: u8,
    /// See [`Bounds::crashes`].
    pub crashes: u8,
    /// See [`Bounds::power_losses`].
    pub power_losses: u8,
    /// See [`Bounds::server_crashes`].
    pub server_crashes: u8,
    /// See [`Bounds::resource_restarts`].
    pub resource_restarts: u8,
    /// See [`Bounds::server_clock_steps`].
    pub server_clock_steps: u8,
    /// See [`Bounds::drifts`].
    pub drifts: u8,
    /// See [`Bounds::clock_steps`].
    pub clock_steps: u8,
    /// See [`Bounds::freezes`].
    pub freezes: u8,
}

impl Bounds {
    /// What may come in all: less than the bounds say where a fault has no meaning with time, or without.
    pub fn budget(&self) -> Budget {
        let is_timed = self.latency_ticks.is_some();
        Budget {
            losses: self.losses,
            duplicates: self.duplicates,
            pauses: if is_timed { self.pauses } else { 0 },
            crashes: self.crashes,
            power_losses: self.power_losses,
            server_crashes: self.server_crashes,
            resource_restarts: self.resource_restarts,
            server_clock_steps: self.server_clock_steps,
            drifts: if is_timed { self.drifts } else { 0 },
            clock_steps: self.clock_steps,
            freezes: if is_timed { 0 } else { self.freezes.min(1) },
        }
    }

    /// What must have come for a pass to speak of it. Without time, pauses and drifts are no faults of their own: everybody is as slow as
    /// can be. With it no clock stops, though the bounds may let it.
    pub fn let_in(&self) -> Budget {
        Budget { freezes: self.freezes, ..self.budget() }
    }
}

impl Budget {
    /// Whether this fault may still come.
    pub fn allows(mut self, fault: Fault) -> bool {
        *self.of(fault) > 0
    }

    /// What may still come after this.
    pub(crate) fn after(mut self, action: Action, bounds: &Bounds) -> Budget {
        match action.fault() {
            None => {}
            Some(Fault::Loss) if bounds.losses == WITHOUT_END => {}
            Some(fault) => *self.of(fault) -= 1,
        }
        self
    }

    fn of(&mut self, fault: Fault) -> &mut u8 {
        match fault {
            Fault::Loss => &mut self.losses,
            Fault::Duplicate => &mut self.duplicates,
            Fault::Pause => &mut self.pauses,
            Fault::Crash => &mut self.crashes,
            Fault::PowerLoss => &mut self.power_losses,
            Fault::ServerCrash => &mut self.server_crashes,
            Fault::ResourceRestart => &mut self.resource_restarts,
            Fault::ServerClockStep => &mut self.server_clock_steps,
            Fault::Drift => &mut self.drifts,
            Fault::ClockStep => &mut self.clock_steps,
            Fault::Freeze => &mut self.freezes,
        }
    }
}

/// How often each fault came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Struck([u64; Fault::ALL.len()]);

impl Struck {
    /// All faults together.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The faults that were let in and never came: of what they could have done nothing was seen.
    pub fn never(&self, let_in: Budget) -> Vec<Fault> {
        Fault::ALL.into_iter().filter(|fault| let_in.allows(*fault) && self[*fault] == 0).collect()
    }

    /// Adds what another part of the search counted.
    pub(crate) fn add(&mut self, other: &Struck) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }
}

impl Index<Fault> for Struck {
    type Output = u64;

    fn index(&self, fault: Fault) -> &u64 {
        &self.0[fault as usize]
    }
}

impl IndexMut<Fault> for Struck {
    fn index_mut(&mut self, fault: Fault) -> &mut u64 {
        &mut self.0[fault as usize]
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// As a map from the names of faults to numbers, without those that never came.
impl Serialize for Struck {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for fault in Fault::ALL.into_iter().filter(|fault| self[*fault] > 0) {
            map.serialize_entry(fault.name(), &self[fault])?;
        }
        map.end()
    }
}
