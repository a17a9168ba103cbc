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

    /// A node has taken a step, in which a client may have arrived at a line: if that pulls the trigger, who did and how
    /// much later the fault strikes. Of a server's step counts what it says of clients.
    pub fn is_pulled(
        &mut self,
        plan: &Plan,
        clients: u8,
        by: Node,
        arrived_at: Option<Line>,
        events: &[Event],
    ) -> Option<Pulled> {
        let When::Trigger { client: whose, event, nth, delay } = plan.faults[self.index as usize].when else {
            unreachable!("what strikes at a known time has no trigger")
        };
        let mut does = |client: u8| {
            if whose.is_some_and(|whose| whose % clients != client) {
                return None;
            }
            self.seen = self.seen.saturating_add(1);
            (self.seen >= nth.max(1)).then_some(Pulled { client, delay })
        };
        match (event, by) {
            (Trigger::Line(at), Node::Client(client)) if arrived_at == Some(at) => does(client),
            (Trigger::Step, Node::Client(client)) => does(client),
            (Trigger::Line(_) | Trigger::Step, _) => None,
            (event, _) => {
                let mut pulling = events.iter().filter(|happened| is_pulled_by(event, happened));
                pulling.find_map(|happened| does(happened.client().0))
            }
        }
    }
}

/// A trigger was pulled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pulled {
    /// By whom.
    pub client: u8,
    /// How much later the fault strikes.
    pub delay: Micros,
}

impl<Y: System> Run<'_, '_, Y> {
    /// A node has taken a step, whose effects lie ready: the faults that waited for it will strike.
    pub(crate) fn pull_triggers(&mut self, node: Node, position: usize) {
        let line = match node {
            Node::Client(client) => Some(self.cluster.clients[usize::from(client)].line()),
            // Most steps of servers say nothing of clients.
            Node::Server(_) | Node::Resource if self.engine.effects.events.is_empty() => return,
            Node::Server(_) | Node::Resource => None,
        };
        let has_arrived = std::mem::replace(&mut self.engine.nodes[position].line, line) != line;
        let (plan, clients) = (self.plan, self.setup.workload.processes());
        let Engine { triggers, agenda, effects, .. } = &mut *self.engine;
        triggers.retain_mut(|armed| {
            let arrived_at = line.filter(|_| has_arrived);
            let Some(pulled) = armed.is_pulled(plan, clients, node, arrived_at, &effects.events) else {
                return true;
            };
            self.outcome.strikes.triggers += 1;
            let at = later(self.now, pulled.delay);
            agenda.push(at, Pending::Fault { index: armed.index, struck: pulled.client });
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
