//! Triggers: faults of a plan that wait for what clients do.

use crate::plans::plan::{Plan, Trigger, When};
use crate::seeded::agenda::Pending;
use crate::seeded::run::{Engine, Run, later};
use picklock_model::machine::{Line, Node};
use picklock_model::system::{Process, System};
use picklock_model::time::Micros;
use picklock_properties::{Event, Hold, Tally};

/// A trigger that was not pulled yet.
#[derive(Clone, Copy)]
pub struct Armed {
    /// The fault's place in the plan.
    index: u32,
    /// How often it was done already what the trigger waits for.
    seen: u16,
}

impl Armed {
    /// The trigger of the plan's fault at this place.
    pub fn new(index: u32) -> Armed {
        Armed { index, seen: 0 }
    }

    /// The fault's place in the plan.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// A client has taken a step, in which it may have arrived at a line: if that pulls the trigger, how much later the
    /// fault strikes.
    pub fn is_pulled(
        &mut self,
        plan: &Plan,
        clients: u8,
        by: u8,
        arrived_at: Option<Line>,
        events: &[Event],
    ) -> Option<Micros> {
        let When::Trigger { client: whose, event, nth, delay } = plan.faults[self.index as usize].when else {
            unreachable!("what strikes at a known time has no trigger")
        };
        if whose.is_some_and(|whose| whose % clients != by) {
            return None;
        }
        let pulls = match event {
            Trigger::Line(at) => u16::from(arrived_at == Some(at)),
            Trigger::Step => 1,
            event => events.iter().filter(|happened| is_pulled_by(event, happened)).count() as u16,
        };
        self.seen = self.seen.saturating_add(pulls);
        (self.seen >= nth.max(1)).then_some(delay)
    }
}

impl<Y: System> Run<'_, '_, Y> {
    /// A node has taken a step, whose effects lie ready: the faults that waited for it will strike.
    pub(crate) fn pull_triggers(&mut self, node: Node, position: usize) {
        let Node::Client(client) = node else { return };
        let line = Some(self.cluster.clients[usize::from(client)].line());
        let arrived = std::mem::replace(&mut self.engine.nodes[position].line, line) != line;
        let (plan, clients) = (self.plan, self.setup.workload.processes());
        let Engine { triggers, agenda, effects, .. } = &mut *self.engine;
        triggers.retain_mut(|armed| {
            let arrived_at = line.filter(|_| arrived);
            let Some(delay) = armed.is_pulled(plan, clients, client, arrived_at, &effects.events) else {
                return true;
            };
            self.outcome.strikes.triggers += 1;
            let at = later(self.now, delay);
            agenda.push(at, Pending::Fault { index: armed.index, struck: client });
            false
        });
    }
}

fn is_pulled_by(trigger: Trigger, event: &Event) -> bool {
    match trigger {
        Trigger::Enqueued => event.tally() == Some(Tally::Enqueued),
        Trigger::Granted => event.hold() == Some(Hold::Begins),
        Trigger::Renewed => event.hold() == Some(Hold::Prolonged),
        Trigger::Left => event.hold() == Some(Hold::Left),
        Trigger::Line(_) | Trigger::Step => false,
    }
}
