//! Faults that wait for a line, pinned to the steps in which they struck.
//!
//! A plan may aim a fault at a line of a listing: that says why it matters. But lines are labels ([`Process::line`]), which
//! somebody may change without changing what the lock does; and a run that is to be had again must not depend on a label.
//! So a token keeps both: the plan as it was drawn, and by which step of which client its faults were set off.

use crate::plans::plan::{Plan, Planned, Trigger, When};
use crate::seeded::trigger::Armed;
use picklock_model::cluster::Setup;
use picklock_model::machine::{Line, Node};
use picklock_model::system::{Process, System};
use picklock_model::trace::{Happening, Observer, Step};

/// A step of a client.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pin {
    /// Whose step.
    pub client: u8,
    /// The how manieth it takes, from 1 on.
    pub step: u16,
}

impl Plan {
    /// The plan with its faults that wait for a line pinned to these steps, in order; those without one never strike.
    /// Without any pins the plan as it is.
    #[must_use]
    pub fn pinned(&self, pins: &[Option<Pin>]) -> Plan {
        if pins.is_empty() {
            return self.clone();
        }
        let mut pins = pins.iter();
        let pinned = |planned: &Planned| match planned.when {
            When::Trigger { event: Trigger::Line(_), delay, .. } => {
                let Pin { client, step } = (*pins.next()?)?;
                let when = When::Trigger { client: Some(client), event: Trigger::Step, nth: step, delay };
                Some(Planned { when, fault: planned.fault.clone() })
            }
            When::Trigger { .. } | When::At(_) => Some(planned.clone()),
        };
        Plan { faults: self.faults.iter().filter_map(pinned).collect(), ..self.clone() }
    }
}

/// Finds the pins of a plan by watching its run.
pub(crate) struct PinFinder<'a> {
    plan: &'a Plan,
    /// How often each client has stepped, and the line it stood at after its last step.
    clients: Vec<(u64, Option<Line>)>,
    /// Of the faults that wait for a line, those that still do: by their place among them.
    waiting: Vec<(usize, Armed)>,
    pins: Vec<Option<Pin>>,
    /// A step has a number that no pin can hold.
    is_too_late: bool,
}

impl<'a> PinFinder<'a> {
    /// For a run of this setup with this plan.
    pub fn new<Y: System>(setup: &Setup<Y>, plan: &'a Plan) -> PinFinder<'a> {
        let waits = |planned: &Planned| matches!(planned.when, When::Trigger { event: Trigger::Line(_), .. });
        let of_lines = (0..).zip(&plan.faults).filter(|(_, planned)| waits(planned));
        let waiting: Vec<(usize, Armed)> = of_lines.map(|(index, _)| Armed::new(index)).enumerate().collect();
        PinFinder {
            plan,
            clients: vec![(0, None); usize::from(setup.workload.processes())],
            pins: vec![None; waiting.len()],
            waiting,
            is_too_late: false,
        }
    }

    /// The pins; none if they cannot be told, which only a run of very many steps cannot.
    pub fn finish(self) -> Vec<Option<Pin>> {
        if self.is_too_late { Vec::new() } else { self.pins }
    }
}

impl<Y: System> Observer<Y> for PinFinder<'_> {
    fn observe(&mut self, step: &Step<Y>) {
        let (Happening::Delivered { to: Node::Client(client), .. }
        | Happening::Woke { node: Node::Client(client), .. }
        | Happening::Restarted { node: Node::Client(client) }) = *step.happening
        else {
            return;
        };
        if self.waiting.is_empty() {
            return;
        }
        let processes = self.clients.len() as u8;
        let (taken, stood_at) = &mut self.clients[usize::from(client)];
        *taken += 1;
        let line = Some(step.cluster.clients[usize::from(client)].line());
        let arrived_at = if std::mem::replace(stood_at, line) == line { None } else { line };
        let number = u16::try_from(*taken);
        let (plan, pins, is_too_late) = (self.plan, &mut self.pins, &mut self.is_too_late);
        self.waiting.retain_mut(|(place, armed)| {
            let pulled =
                armed.is_pulled(plan, processes, Node::Client(client), arrived_at, &step.effects.events);
            if pulled.is_some() {
                match number {
                    Ok(step) => pins[*place] = Some(Pin { client, step }),
                    Err(_) => *is_too_late = true,
                }
            }
            pulled.is_none()
        });
    }
}
