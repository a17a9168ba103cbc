//! Triggers: faults of a plan that wait for what clients do.

use crate::agenda::Pending;
use crate::plan::{Trigger, When};
use crate::run::{Engine, Run, later};
use picklock_model::machine::{Lock, Node};
use picklock_model::trace::Observer;
use picklock_properties::Event;

/// A trigger that was not pulled yet.
#[derive(Clone, Copy)]
pub(crate) struct Armed {
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
}

impl<L: Lock, O: Observer<L>> Run<'_, L, O> {
    /// A node has taken a step, whose effects lie ready: the faults that waited for it will strike.
    pub(crate) fn pull_triggers(&mut self, node: Node, position: usize) {
        let Node::Client(client) = node else { return };
        let line = Some(self.cluster.clients[usize::from(client)].lock.line());
        let arrived = std::mem::replace(&mut self.engine.nodes[position].line, line) != line;
        let (plan, clients) = (self.plan, self.setup.workload.processes());
        let Engine { triggers, agenda, effects, .. } = &mut *self.engine;
        triggers.retain_mut(|armed| {
            let When::Trigger { client: whose, event, nth, delay } = plan.faults[armed.index as usize].when
            else {
                return false;
            };
            if whose.is_some_and(|whose| whose % clients != client) {
                return true;
            }
            let pulls = match event {
                Trigger::Line(at) => u16::from(arrived && line == Some(at)),
                event => {
                    effects.events.iter().filter(|happened| is_pulled_by(event, happened)).count() as u16
                }
            };
            armed.seen = armed.seen.saturating_add(pulls);
            if armed.seen < nth.max(1) {
                return true;
            }
            self.outcome.strikes.triggers += 1;
            let at = later(self.now, delay);
            agenda.push(at, Pending::Fault { index: armed.index, struck: client });
            false
        });
    }
}

fn is_pulled_by(trigger: Trigger, event: &Event) -> bool {
    match trigger {
        Trigger::Enqueued => matches!(event, Event::Enqueued { .. }),
        Trigger::Granted => matches!(event, Event::Granted { .. }),
        Trigger::Renewed => matches!(event, Event::Renewed { .. }),
        Trigger::Left => matches!(event, Event::Left { .. }),
        Trigger::Line(_) => false,
    }
}
