//! What happened on a path, for whoever is told of it.
//!
//! The search works on worlds in canonical form: after every step times are counted from now again, and requests are
//! numbered anew. Shown as they are, a message would arrive that nobody sent (`add at 1` goes out, `add at 0` comes in).
//! So whoever shows a path walks beside the search with a second world that is never brought into canonical form:
//! absolute true time, a microsecond for each step and a second for each tick, serial numbers as they were drawn, every
//! tombstone. What it says arrives was sent, word for word.
//!
//! Both take the same actions. Positions of messages mean the search's order, so the messages of the told world are kept in
//! that order; a message that the search drops, because whoever gets it will dismiss it, is dropped here too. Should the
//! two come to differ in what a node reports, sends or breaks, the canonical form has a fault: [`Telling::parting`] says so.

use super::Space;
use super::label::Blank;
use crate::canonical;
use crate::cluster::{Entry, Wake};
use crate::machine::{Effects, Node, Owner, StampGroup, Store, Visitor};
use crate::system::{Process, System};
use crate::time::{Clock, Due, Micros, Monotonic, Wall};
use crate::trace::{Happening, Observer, Step};
use crate::world::{Action, Bounds, Envelope, STEP, World};
use picklock_properties::{Event, Monitors, Violation};
use smallvec::SmallVec;
use std::fmt::{Debug, Display, Formatter};

/// How much of what the search abstracts from is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    /// As much as the search sees. In a world without time a deadline has come as soon as it is set, and true time counts
    /// steps and nothing else; what can make no difference any more (a tombstone that hides nothing) is gone.
    AsSearched,
    /// Everything: true time runs on until a deadline comes, and nothing is forgotten. For comparisons with the search.
    Unabridged,
}

/// The told world and the search's have come to differ, which is a fault of picklock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parting {
    /// In which step of the path, from 1.
    pub step: usize,
    /// In what.
    pub what: &'static str,
}

impl Display for Parting {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Parting { step, what } = self;
        write!(f, "from step {step} of the path on it is not what the search saw: {what} differs")
    }
}

/// What the search saw of a step.
pub(super) struct Seen<'a, Y: System> {
    pub(super) effects: &'a Effects<Y::Store>,
    pub(super) broken: Option<Violation>,
}

/// The second executor.
pub struct Telling<'a, Y: System> {
    space: &'a Space<Y>,
    told: World<Y>,
    now: Micros,
    manner: Manner,
    effects: Effects<Y::Store>,
    /// Always empty: what happens to a message on its way has no effects.
    nothing: Effects<Y::Store>,
    dismissed: Vec<Envelope<Y>>,
    parting: Option<Parting>,
}

impl<'a, Y: System> Telling<'a, Y> {
    pub(super) fn new(space: &'a Space<Y>, manner: Manner) -> Self {
        let told = World::as_set_up(&space.setup, &space.bounds);
        let (effects, nothing, dismissed) = (Effects::default(), Effects::default(), Vec::new());
        Telling { space, told, now: Micros::ZERO, manner, effects, nothing, dismissed, parting: None }
    }

    /// A second one that has told the same.
    pub(super) fn fork(&self) -> Telling<'a, Y> {
        Telling {
            told: self.told.clone(),
            now: self.now,
            dismissed: Vec::new(),
            parting: self.parting.clone(),
            ..Telling::new(self.space, self.manner)
        }
    }

    /// Everything as it is, not in canonical form. The messages under way stand in the order of the search's world.
    pub fn world(&self) -> &World<Y> {
        &self.told
    }

    /// True time since the beginning.
    pub fn now(&self) -> Micros {
        self.now
    }

    /// The told world's monitors without the holds from which nothing can come any more, which the search forgets.
    pub fn observed(&self) -> SmallVec<[Monitors; 1]> {
        let mut told = self.told.clone();
        canonical::forget_holds(&mut told);
        told.cluster.monitors
    }

    /// Whether, and where first, it differed from what the search saw.
    pub fn parting(&self) -> Option<&Parting> {
        self.parting.as_ref()
    }

    /// The messages that were dropped because whoever gets them will dismiss them, since this was last asked.
    pub fn take_dismissed(&mut self) -> Vec<Envelope<Y>> {
        std::mem::take(&mut self.dismissed)
    }

    /// Delivers a message that was dropped, after all, and says whether that left no trace.
    pub fn is_dismissed(&mut self, envelope: Envelope<Y>) -> bool {
        let Envelope { from, to, message, .. } = envelope;
        let before = self.told.cluster.clone();
        self.now = self.now + STEP;
        let entry = Entry::Message { from, message };
        let mut effects = Effects::default();
        self.told.cluster.step(to, entry, 0, self.now, &self.space.setup, &mut effects, &mut |_| {});
        effects.sends.is_empty() && effects.events.is_empty() && self.told.cluster == before
    }

    /// Does what the search's world did in the `step`th step, tells it, and compares it with what was `seen` there. `places` says
    /// where each message that the search still has under way stood before that world was brought into canonical form.
    pub(super) fn tell(
        &mut self,
        step: usize,
        action: Action,
        seen: &Seen<Y>,
        places: &[usize],
        observer: &mut dyn Observer<Y>,
    ) {
        let Space { setup, bounds } = self.space;
        let is_untimed = bounds.latency_ticks.is_none();
        if let Action::Wake { node, wake, .. } = action
            && is_untimed
            && self.manner == Manner::Unabridged
        {
            self.wait_for(node, wake);
        }
        let Telling { told, now, effects, nothing, .. } = self;
        let (mut receivers, mut events) = (Vec::new(), Vec::new());
        let mut broken = None;
        let mut happening = told.happening(action, bounds);
        let mut at_once = None;
        let (gone, restarted) = taken_along(told, action, bounds);
        loop {
            let before = broken;
            let mut on_violation = |violation| {
                broken.get_or_insert(violation);
            };
            *now = match at_once {
                None => told.happen(action, *now, setup, bounds, effects, &mut on_violation),
                Some(position) => told.deliver_at_once(position, *now, setup, effects, &mut on_violation),
            };
            let violations = if before.is_none() { broken.as_slice() } else { &[] };
            // What goes with a node is told after its end, and what it does when it starts again after that.
            let ends = restarted.filter(|_| at_once.is_none());
            let shown = if ends.is_some() { &*nothing } else { &*effects };
            let cluster = &told.cluster;
            observer.observe(&Step {
                at: *now,
                happening: &happening,
                effects: shown,
                cluster,
                violations,
                sent_in: None,
            });
            if at_once.is_none() {
                for happening in &gone {
                    observer.observe(&Step {
                        at: *now,
                        happening,
                        effects: nothing,
                        cluster,
                        violations: &[],
                        sent_in: None,
                    });
                }
            }
            if let Some(node) = ends {
                let happening = &Happening::Restarted { node };
                observer.observe(&Step {
                    at: *now,
                    happening,
                    effects,
                    cluster,
                    violations: &[],
                    sent_in: None,
                });
            }
            receivers.extend(effects.sends.iter().map(|(to, _)| *to));
            events.extend(effects.events.iter().map(without_stamps::<Y>));
            at_once = if bounds.delivers_at_once() { told.due_at_once(setup, bounds) } else { None };
            let Some(position) = at_once else { break };
            let Envelope { from, to, message, .. } = told.in_flight[position].clone();
            happening = Happening::Delivered { from, to, message };
        }
        told.broken = broken;

        let was_sent = seen.effects.sends.iter().map(|(to, _)| *to);
        let was_reported = seen.effects.events.iter().map(without_stamps::<Y>);
        let what = if !events.into_iter().eq(was_reported) {
            Some("what is reported")
        } else if broken != seen.broken {
            Some("what is broken")
        } else if !receivers.into_iter().eq(was_sent) {
            Some("what is sent")
        } else if !self.keep(places) {
            Some("what is under way")
        } else {
            None
        };
        self.parting = what.map(|what| Parting { step, what });
        if self.manner == Manner::AsSearched {
            canonical::settle_at(&mut self.told, self.now, setup, bounds);
            if is_untimed {
                self.let_deadlines_come();
            }
        }
    }

    /// Keeps of the messages under way those that the search keeps, in its order; says whether these are those that somebody
    /// still waits for.
    fn keep(&mut self, places: &[usize]) -> bool {
        let World { cluster, in_flight, .. } = &mut self.told;
        let agrees = |(place, envelope): (usize, &Envelope<Y>)| {
            places.contains(&place) != cluster.dismisses(envelope.to, &envelope.message)
        };
        if !in_flight.iter().enumerate().all(agrees) || places.iter().any(|place| *place >= in_flight.len()) {
            return false;
        }
        let kept = places.iter().map(|place| in_flight[*place].clone()).collect();
        let before = std::mem::replace(in_flight, kept);
        let dropped = before.into_iter().enumerate().filter(|(place, _)| !places.contains(place));
        self.dismissed.extend(dropped.map(|(_, envelope)| envelope));
        true
    }

    fn wait_for(&mut self, node: Node, wake: Wake) {
        let clock = self.told.cluster.condition(node).clock;
        let deadlines = self.told.cluster.deadlines(node, &self.space.setup).into_iter().flatten();
        let moments = deadlines.filter(|(_, whose)| *whose == wake);
        let last = moments.filter_map(|(due, _)| clock.true_time_of(due, self.now)).max();
        self.now = last.unwrap_or(self.now);
    }

    /// In a world without time every deadline has come, and no time has passed since anything.
    fn let_deadlines_come(&mut self) {
        let (now, setup) = (self.now, &self.space.setup);
        let World { cluster, .. } = &mut self.told;
        for number in 0..cluster.clients.len() {
            let clock = cluster.condition(Node::Client(number as u8)).clock;
            cluster.clients[number].visit(&setup.lock, &mut Come { clock, now });
        }
        for number in 0..cluster.servers.len() {
            let clock = cluster.condition(Node::Server(number as u8)).clock;
            cluster.servers[number].visit(&mut Come { clock, now });
        }
    }
}

/// What a server's or the resource's end takes along: the messages that are lost with it, and the server itself, if the same action
/// starts it again.
fn taken_along<Y: System>(
    told: &World<Y>,
    action: Action,
    bounds: &Bounds,
) -> (Vec<Happening<Y::Store>>, Option<Node>) {
    let lost = |is_lost: &dyn Fn(&Envelope<Y>) -> bool| {
        let lost = told.in_flight.iter().filter(|envelope| is_lost(envelope));
        lost.map(|Envelope { from, to, message, .. }| Happening::Lost {
            from: *from,
            to: *to,
            message: message.clone(),
        })
        .collect()
    };
    match action.end(bounds) {
        None => (Vec::new(), None),
        Some((node, end)) => {
            let starts_again = end.restarts && node != Node::Resource;
            (lost(&|envelope| end.takes(node, envelope)), starts_again.then_some(node))
        }
    }
}

/// Tokens that are times differ between the two worlds, and so do the numbers of holds.
fn without_stamps<Y: System>(event: &Event) -> Event {
    event.without_numbers(|token| Y::Store::visit_fence(token, &mut Blank))
}

/// Makes every deadline of a node one that has just come.
struct Come {
    clock: Clock,
    now: Micros,
}

impl Visitor for Come {
    fn stamp(&mut self, _group: StampGroup, _at: &mut Wall) {}

    fn due(&mut self, due: &mut Due) {
        match due {
            // What waits for a clock that stands still waits for ever.
            Due::Wall(at) => {
                *at = self.clock.frozen.map_or(self.clock.wall(self.now), |reading| reading + Micros(1))
            }
            Due::Monotonic(at) => *at = self.clock.monotonic(self.now),
        }
    }

    fn since(&mut self, at: &mut Monotonic, _limit: Micros) {
        *at = self.clock.monotonic(self.now);
    }

    fn expiry_seconds(&mut self, _at: &mut i64) {}

    fn serial(&mut self, _owner: Owner, _serial: &mut u32) {}
}
