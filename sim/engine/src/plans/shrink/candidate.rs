//! A run that might be smaller, as plain data, and who runs it: the one place of shrinking that knows the lock's type, so that
//! everything else is there once and not once for each lock.

use super::{Size, Trial};
use crate::plans::plan::Plan;
use crate::plans::swarm::Scale;
use crate::seeded::network::Network;
use crate::seeded::outcome::Limits;
use crate::seeded::run::Engine;
use crate::seeded::schedule::Schedule;
use picklock_model::cluster::Setup;
use picklock_model::machine::Store;
use picklock_model::system::System;
use picklock_model::trace::{Happening, Observer, Step};
use picklock_model::workload::Workload;
use picklock_properties::Promise;

/// What of a setup can become less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Scene {
    /// How many servers there are.
    pub servers: u8,
    /// How many of them stay.
    pub servers_min: u8,
    /// What the clients do.
    pub workload: Workload,
}

/// A run that might be smaller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Candidate {
    /// Who works how.
    pub scene: Scene,
    /// What goes wrong.
    pub plan: Plan,
    /// Decides what the plan leaves open.
    pub seed: u64,
}

impl Scene {
    /// What of this setup can become less; of its servers so many stay as it is no other algorithm without
    /// ([`System::servers_min`]).
    pub fn of<Y: System>(setup: &Setup<Y>) -> Scene {
        let servers_min = Y::servers_min(&setup.lock).min(setup.servers);
        Scene { servers: setup.servers, servers_min, workload: setup.workload }
    }

    /// The setup with no more in it than that.
    pub fn applied_to<Y: System>(&self, around: &Setup<Y>) -> Setup<Y> {
        let setup = match self.workload == around.workload {
            true => around.clone(),
            false => around.with_workload(self.workload),
        };
        Setup { servers: self.servers, ..setup }
    }
}

impl<Y: System> Trial<Y> {
    /// As plain data.
    pub(super) fn candidate(&self) -> Candidate {
        Candidate { scene: Scene::of(&self.setup), plan: self.plan.clone(), seed: self.seed }
    }
}

/// Runs what might be smaller, of some lock.
pub(super) trait Rerun {
    /// Whether the lock and its store can be set up so.
    fn can_be(&self, scene: &Scene) -> bool;

    /// What random plans are measured by there.
    fn scale(&self, scene: &Scene) -> Scale;

    /// How much there is in the run if it breaks the promise within so many steps, or soon after them.
    fn size(&mut self, run: &Candidate, promise: Promise, steps_max: u64) -> Option<Size>;
}

/// The runs of one lock, in memory that they share.
pub(super) struct Runs<Y: System> {
    around: Setup<Y>,
    engine: Engine<Y>,
}

impl<Y: System> Runs<Y> {
    /// Of what is in this setup, or less.
    pub fn new(around: Setup<Y>) -> Runs<Y> {
        Runs { around, engine: Engine::new() }
    }

    pub fn setup(&self, scene: &Scene) -> Setup<Y> {
        scene.applied_to(&self.around)
    }
}

impl<Y: System> Rerun for Runs<Y> {
    fn can_be(&self, scene: &Scene) -> bool {
        self.setup(scene).check().is_ok()
    }

    fn scale(&self, scene: &Scene) -> Scale {
        Scale::of(&self.setup(scene))
    }

    fn size(&mut self, run: &Candidate, promise: Promise, steps_max: u64) -> Option<Size> {
        let setup = self.setup(&run.scene);
        let mut until = Until { promise, steps: 0, entries: 0, at: None };
        let mut limits = Limits::of(&setup);
        // Not every event is a step, but most are: what takes twice as many takes longer.
        limits.events_max = limits.events_max.min(steps_max.saturating_mul(2).saturating_add(64));
        let outcome = self.engine.run(&setup, &run.plan, run.seed, &limits, &mut until);
        // Promises of progress are broken by what does not happen: in no step, but in the end.
        outcome.breaks(promise).then(|| Size::of(run, &until))
    }
}

impl Size {
    fn of(run: &Candidate, until: &Until) -> Size {
        let (steps, entries) = until.at.unwrap_or((until.steps, until.entries));
        let Scene { servers, workload, .. } = run.scene;
        Size {
            faults: run.plan.faults.len() as u32 + ways_worse(&run.plan),
            clients: workload.clients,
            servers,
            rounds: workload.rounds,
            steps,
            entries,
        }
    }
}

/// In how many ways the network is worse than on a good day, and messages travel otherwise than by chance.
fn ways_worse(plan: &Plan) -> u32 {
    let (network, good) = (&plan.network, Network::default());
    let worse = [
        network.latency_max > good.latency_max,
        network.tail_per_mille > 0,
        network.loss_per_mille > 0,
        network.duplicate_per_mille > 0,
        network.reply_loss_per_mille > 0,
        plan.schedule != Schedule::Uniform,
    ];
    worse.into_iter().map(u32::from).sum()
}

/// Counts steps up to the one that breaks the promise.
struct Until {
    promise: Promise,
    steps: u64,
    entries: u64,
    /// Steps and entries up to that one.
    at: Option<(u64, u64)>,
}

impl<Y: System> Observer<Y> for Until {
    fn observe(&mut self, step: &Step<Y>) {
        self.steps += 1;
        self.entries += u64::from(is_entered(step.happening));
        let breaks = step.violations.iter().any(|violation| violation.promise == self.promise);
        if breaks && self.at.is_none() {
            self.at = Some((self.steps, self.entries));
        }
    }
}

/// Whether a node did something, and not something to a node.
fn is_entered<S: Store>(happening: &Happening<S>) -> bool {
    match happening {
        Happening::Delivered { .. } | Happening::Woke { .. } | Happening::Restarted { .. } => true,
        Happening::Lost { .. }
        | Happening::Duplicated { .. }
        | Happening::Ticked
        | Happening::TickedUnevenly { .. }
        | Happening::Paused { .. }
        | Happening::Suspended { .. }
        | Happening::ClockCoarse { .. }
        | Happening::ConnectionReset { .. }
        | Happening::DiskLost { .. }
        | Happening::Resumed { .. }
        | Happening::Crashed { .. }
        | Happening::ClockStepped { .. }
        | Happening::ClockDrifts { .. }
        | Happening::ClockFroze { .. }
        | Happening::ClocksFroze { .. }
        | Happening::ClockThawed { .. }
        | Happening::LinkCut { .. }
        | Happening::LinkMended { .. }
        | Happening::Healed => false,
    }
}
