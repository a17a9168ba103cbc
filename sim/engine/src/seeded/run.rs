//! The seeded engine: one run of a lock in virtual time, decided by a seed and a fault plan.
//!
//! ```text
//!   Agenda: (true time, sequence) ──▶ one step of one node (Cluster::step) ──▶ effects
//!      ▲                                        │ sends    ──▶ Wires: latency, loss … ──▶ Agenda
//!      │                                        │ deadlines ──▶ alarms, by the node's own clocks ──▶ Agenda
//!      └── faults of the Plan, triggers ◀───────┘ events   ──▶ monitors, triggers, progress
//! ```
//!
//! Idle time costs nothing: the run jumps from one event to the next. No two steps of a node share a microsecond, as
//! [`Context`](picklock_model::machine::Context) promises. What faults do to a run is in `strike`.

use crate::plans::plan::{Plan, When};
use crate::seeded::agenda::{Agenda, Next, Parcel, Pending, Route};
use crate::seeded::dice::{Dice, Stream};
use crate::seeded::network::{Kind, Wires};
use crate::seeded::outcome::{Limits, Outcome};
use crate::seeded::progress::Progress;
use crate::seeded::schedule::Ranks;
use crate::seeded::trigger::Armed;
use crate::seeded::witness::Witness;
use picklock_model::cluster::{Cluster, Entry, Setup, Status, Wake};
use picklock_model::machine::{Effects, Line, Message, Node, Store};
use picklock_model::panics::{self, Panicked, PanickedRun};
use picklock_model::system::{Process, System};
use picklock_model::time::{Clock, Micros, Monotonic};
use picklock_model::trace::{Happening, Observer, Step};
use picklock_properties::{Judge, Monitors, Tally, Violation};

/// One run, with an engine of its own. For many runs keep an [`Engine`].
pub fn run<Y: System, O: Observer<Y>>(
    setup: &Setup<Y>,
    plan: &Plan,
    seed: u64,
    limits: &Limits,
    observer: &mut O,
) -> Outcome {
    Engine::new().run(setup, plan, seed, limits, observer)
}

/// Runs, one after the other, in memory that they share.
pub struct Engine<Y: System> {
    pub(crate) agenda: Agenda<Y::Store>,
    pub(crate) wires: Wires,
    pub(crate) progress: Progress,
    /// What the step under way wants done.
    pub(crate) effects: Effects<Y::Store>,
    /// Always empty: what happens to a message on its way has no effects.
    nothing: Effects<Y::Store>,
    /// What the step under way broke.
    pub(crate) violations: Vec<Violation>,
    /// Positions of nodes that are paused, and slots of messages that wait for them, in order of arrival.
    pub(crate) waiting: Vec<(usize, u32)>,
    pub(crate) nodes: Vec<NodeState>,
    pub(crate) triggers: Vec<Armed>,
    pub(crate) witness: Witness,
}

/// What the engine remembers of a node.
#[derive(Clone, Copy, Default)]
pub(crate) struct NodeState {
    /// The first true time at which it may take its next step.
    pub free_at: Micros,
    /// Counts its process's starts.
    pub life: u8,
    pub paused_until: Micros,
    pub frozen_until: Micros,
    /// While its machine is suspended: what its monotonic clock showed then, and whether its wall clock loses the time, too.
    pub suspended: Option<(Monotonic, bool)>,
    pub suspended_until: Micros,
    /// Whether it is down and will start again.
    pub restarts: bool,
    /// The line a client stood at after its last step.
    pub line: Option<Line>,
    /// Whether a client's renewal was under way after its last step.
    pub renews: bool,
    /// Whether a server took itself for the leader after its last step.
    pub leads: bool,
}

impl<Y: System> Default for Engine<Y> {
    fn default() -> Self {
        Engine::new()
    }
}

impl<Y: System> Engine<Y> {
    /// An engine that has not run yet.
    pub fn new() -> Self {
        Engine {
            agenda: Agenda::new(),
            wires: Wires::new(),
            progress: Progress::new(),
            effects: Effects::default(),
            nothing: Effects::default(),
            violations: Vec::new(),
            waiting: Vec::new(),
            nodes: Vec::new(),
            triggers: Vec::new(),
            witness: Witness::default(),
        }
    }

    /// One run: the same arguments give the same outcome and show the same steps, on every machine.
    pub fn run<O: Observer<Y>>(
        &mut self,
        setup: &Setup<Y>,
        plan: &Plan,
        seed: u64,
        limits: &Limits,
        observer: &mut O,
    ) -> Outcome {
        // The engine itself is compiled once a lock, whoever watches: a watched step costs a call through a pointer, an
        // unwatched one a look whether there is one.
        let observer: Option<&mut dyn Observer<Y>> = if observer.watches() { Some(observer) } else { None };
        self.run_watched(setup, plan, seed, limits, observer)
    }

    fn run_watched(
        &mut self,
        setup: &Setup<Y>,
        plan: &Plan,
        seed: u64,
        limits: &Limits,
        observer: Option<&mut dyn Observer<Y>>,
    ) -> Outcome {
        let mut cluster = Cluster::new(setup, |_| Clock::default());
        let monitors = Monitors::new(setup.promises)
            .with_modes(Y::access_modes(&setup.lock))
            .allowing_overtakes(limits.overtakes_allowed);
        cluster.monitors.fill(monitors);
        let mut run = Run {
            setup,
            plan,
            seed,
            limits,
            observer,
            engine: self,
            cluster,
            resource: Status::Up,
            network_dice: Dice::new(seed, Stream::Network),
            choice_dice: Dice::new(seed, Stream::Choice),
            last_words_dice: Dice::new(seed, Stream::LastWords),
            now: Micros::ZERO,
            end_at: Micros(i64::MAX),
            wall_error: Micros::ZERO,
            over: false,
            outcome: Outcome::default(),
            shown: 0,
            acting: 0,
            sent_in: 0,
        };
        let ended = panics::caught(|| {
            run.begin();
            run.go_on();
        });
        match ended {
            Ok(()) => run.end(),
            Err(what) => panics::unwind(Panicked { what, run: PanickedRun::Seed { seed, at: run.now } }),
        }
    }
}

/// A run under way.
pub(crate) struct Run<'a, 'o, Y: System> {
    pub setup: &'a Setup<Y>,
    pub plan: &'a Plan,
    seed: u64,
    pub limits: &'a Limits,
    /// Nobody, or whoever is shown each step.
    observer: Option<&'a mut (dyn Observer<Y> + 'o)>,
    pub engine: &'a mut Engine<Y>,
    pub cluster: Cluster<Y>,
    /// Whether the resource works; the cluster knows it of everybody else.
    pub resource: Status,
    pub network_dice: Dice,
    pub choice_dice: Dice,
    /// One toss for each process that ends.
    pub last_words_dice: Dice,
    pub now: Micros,
    /// When it is enough; known once healed.
    pub end_at: Micros,
    /// The largest error that a wall clock has had.
    pub wall_error: Micros,
    /// Whether no client will do anything any more.
    pub over: bool,
    pub outcome: Outcome,
    /// How many steps were shown.
    shown: u32,
    /// The last of them that a node took: what is sent is sent in it.
    acting: u32,
    /// The step that sent the message which arrives or is lost now.
    sent_in: u32,
}

impl<Y: System> Run<'_, '_, Y> {
    fn begin(&mut self) {
        let nodes = self.cluster.conditions().len();
        self.engine.agenda.reset(2 * nodes);
        self.engine.wires.reset(self.plan.network, nodes + 1);
        self.engine.wires.rank(Ranks::of(self.plan.schedule, self.seed, nodes + 1));
        self.engine.progress.reset(&self.setup.workload);
        self.engine.waiting.clear();
        self.engine.triggers.clear();
        self.engine.nodes.clear();
        self.engine.nodes.resize(nodes + 1, NodeState::default());
        self.engine.witness.reset(self.cluster.clients.len());
        for (server, state) in self.engine.nodes[self.cluster.clients.len()..nodes].iter_mut().enumerate() {
            state.leads = self.cluster.servers[server].leads();
        }
        for (index, planned) in (0..).zip(&self.plan.faults) {
            match planned.when {
                When::At(at) => {
                    self.engine.agenda.push(at.max(Micros::ZERO), Pending::Fault { index, struck: 0 });
                }
                When::Trigger { .. } => self.engine.triggers.push(Armed::new(index)),
            }
        }
        self.engine.agenda.push(self.plan.heal_at.max(Micros::ZERO), Pending::Heal);
        self.cluster.nodes().for_each(|node| self.set_alarms(node, true));
        self.look_whether_over();
    }

    fn go_on(&mut self) {
        while !self.over {
            let due = self.engine.progress.due();
            let next_at = self.engine.agenda.next_at();
            if next_at.is_none_or(|at| at > due) && due != Micros(i64::MAX) {
                self.now = due;
                self.stop_waiting();
                continue;
            }
            let Some(at) = next_at else { break };
            if at > self.end_at && due == Micros(i64::MAX) {
                break;
            }
            if self.outcome.events >= self.limits.events_max {
                self.outcome.truncated = true;
                break;
            }
            debug_assert!(at >= self.now, "time runs backwards, from {} to {at}", self.now);
            self.now = at;
            match self.engine.agenda.pop() {
                Some(Next::Parcel(slot)) => self.arrive(slot),
                Some(Next::Alarm(alarm)) => self.ring(alarm),
                Some(Next::Pending(pending)) => self.happen(pending),
                None => unreachable!("something was to come at {at}"),
            }
        }
    }

    fn end(mut self) -> Outcome {
        self.outcome.ended_at = self.now;
        // What nobody watches is not put to the test, whatever happens.
        self.outcome.tested = self.outcome.tested.intersection(self.setup.promises);
        self.outcome.overtakes = self.cluster.monitors.iter().map(Monitors::overtakes).sum();
        self.outcome
    }

    /// A liveness promise has been broken by waiting.
    fn stop_waiting(&mut self) {
        self.engine.violations.clear();
        let violation = self.engine.progress.violation(&self.cluster.monitors);
        self.engine.violations.push(violation);
        self.keep_violations();
        self.engine.effects.clear();
        self.show(|| Happening::Ticked);
        self.over |= self.engine.progress.is_decided();
    }

    /// A deadline has come.
    fn ring(&mut self, alarm: usize) {
        let node = self.node(alarm / 2);
        let wake = if alarm.is_multiple_of(2) && matches!(node, Node::Client(_)) {
            Wake::App
        } else {
            Wake::Machine
        };
        if self.engine.nodes[alarm / 2].free_at > self.now {
            return self.set_alarms(node, true);
        }
        self.outcome.events += 1;
        self.engine.witness.waited_in_vain = wake == Wake::Machine;
        self.step(node, wake.entry(), || Happening::Woke { node, wake });
        self.engine.witness.waited_in_vain = false;
    }

    fn happen(&mut self, pending: Pending) {
        self.outcome.events += 1;
        match pending {
            Pending::Fault { index, struck } => self.strike(index, struck),
            Pending::Mend { index, struck } => self.mend(index, struck),
            Pending::Strobe { index, struck, left } => self.strobe(index, struck, left),
            Pending::Resume { node } => self.pause_may_be_over(node),
            Pending::Thaw { node } => self.freeze_may_be_over(node),
            Pending::Restart { node, life } => self.restart_if_down(node, life),
            Pending::Heal => self.heal(),
        }
    }

    /// A message reaches its receiver, which may not be able to take it.
    fn arrive(&mut self, slot: u32) {
        let Parcel { from, to, life, unsent, .. } = *self.engine.agenda.parcel(slot);
        if unsent {
            return self.lose_connection(slot);
        }
        let position = self.position(to);
        let state = &self.engine.nodes[position];
        match self.status(position) {
            Status::Paused { .. } => self.engine.waiting.push((position, slot)),
            Status::Down { .. } => self.lose_connection(slot),
            Status::Up if state.life != life => self.lose_connection(slot),
            Status::Up if state.free_at > self.now => self.engine.agenda.send_again(state.free_at, slot),
            Status::Up if self.engine.wires.is_cut(self.position(from), position) => {
                self.outcome.strikes.cut_off += 1;
                self.lose(slot);
            }
            Status::Up => self.deliver(slot, from, to),
        }
    }

    fn deliver(&mut self, slot: u32, from: Node, to: Node) {
        self.outcome.events += 1;
        let sent_in = self.engine.agenda.parcel(slot).sent_in;
        let message = self.engine.agenda.open(slot);
        if self.observer.is_some() {
            self.sent_in = sent_in;
            let happening = Happening::Delivered { from, to, message: message.clone() };
            self.step(to, Entry::Message { from, message }, || happening);
        } else {
            self.step(to, Entry::Message { from, message }, || unreachable!("nobody watches"));
        }
    }

    /// The message is lost because its receiver's process has ended, because it went with its sender, or with a connection that was reset.
    pub(crate) fn lose_connection(&mut self, slot: u32) {
        self.outcome.strikes.reset += 1;
        if !self.engine.agenda.parcel(slot).unsent {
            self.witness_dead_receiver();
        }
        self.lose(slot);
    }

    fn lose(&mut self, slot: u32) {
        self.outcome.events += 1;
        let Parcel { from, to, sent_in, .. } = *self.engine.agenda.parcel(slot);
        self.sent_in = sent_in;
        let message = self.engine.agenda.open(slot);
        self.witness_loss(from, to, &message);
        self.show_on_the_way(|| Happening::Lost { from, to, message });
    }

    fn step(&mut self, node: Node, entry: Entry<Y::Store>, happening: impl FnOnce() -> Happening<Y::Store>) {
        self.enter(node, entry);
        self.after_step(node, happening);
    }

    fn enter(&mut self, node: Node, entry: Entry<Y::Store>) {
        let ways = self.cluster.choices(node, &entry, self.setup);
        let choice = if ways > 1 { self.choice_dice.below(u64::from(ways)) as u32 } else { 0 };
        let Engine { effects, violations, .. } = &mut *self.engine;
        violations.clear();
        let on_violation = &mut |violation| violations.push(violation);
        self.cluster.step(node, entry, choice, self.now, self.setup, effects, on_violation);
    }

    /// The node has taken a step, and its effects lie ready.
    pub(crate) fn after_step(&mut self, node: Node, happening: impl FnOnce() -> Happening<Y::Store>) {
        let position = self.position(node);
        self.note_step(node, position);
        self.show(happening);
        self.take_effects(node, position);
    }

    fn note_step(&mut self, node: Node, position: usize) {
        let clock = self.clock(position);
        let mut free_at = self.now + Micros(1);
        // A slow clock shows the same microsecond twice.
        while clock.drift_ppm < 0 && clock.monotonic(free_at) <= clock.monotonic(self.now) {
            free_at = free_at + Micros(1);
        }
        self.engine.nodes[position].free_at = free_at;
        if !self.engine.effects.events.is_empty() {
            self.take_events();
        }
        match node {
            Node::Client(client) => {
                let process = &self.cluster.clients[usize::from(client)];
                self.engine.nodes[position].renews = process.is_renewing();
            }
            Node::Server(server) => self.witness_lead(server, position),
            Node::Resource => {}
        }
    }

    fn take_effects(&mut self, node: Node, position: usize) {
        if !self.engine.triggers.is_empty() {
            self.pull_triggers(node, position);
        }
        self.send(node, position);
        self.set_alarms(node, false);
    }

    /// Something happened that the monitors have seen.
    pub(crate) fn take_events(&mut self) {
        self.outcome.tested = self.outcome.tested.union(self.engine.effects.tested);
        for place in 0..self.engine.effects.events.len() {
            let event = self.engine.effects.events[place];
            self.witness(event);
            match event.tally() {
                Some(Tally::Grant | Tally::Answer) => self.outcome.grants += 1,
                Some(Tally::Refusal) => self.outcome.refusals += 1,
                Some(Tally::Enqueued) => self.outcome.enqueued += 1,
                Some(Tally::Renewal) => self.outcome.renewals += 1,
                Some(Tally::RowRead) => self.outcome.row_reads += 1,
                _ => {}
            }
        }
        self.engine.progress.observe(self.now, &self.cluster.monitors);
        self.keep_violations();
        self.look_whether_over();
    }

    fn keep_violations(&mut self) {
        for violation in &self.engine.violations {
            if !self.outcome.breaks(violation.promise) {
                self.outcome.violations.push(*violation);
                self.outcome.tested.insert(violation.promise);
            }
        }
    }

    /// A run is over when every client is done, or dead for good.
    pub(crate) fn look_whether_over(&mut self) {
        let dead = |client: usize| {
            matches!(self.status(client), Status::Down { .. }) && !self.engine.nodes[client].restarts
        };
        self.over =
            self.cluster.clients.iter().enumerate().all(|(client, state)| state.is_done() || dead(client));
    }

    pub(crate) fn send(&mut self, from: Node, from_position: usize) {
        let mut sends = std::mem::take(&mut self.engine.effects.sends);
        self.sent_in = self.acting;
        for (to, message) in &mut sends {
            let to = *to;
            let to_position = self.position(to);
            let route = Route { from, to, life: self.engine.nodes[to_position].life, sent_in: self.acting };
            if to_position == from_position {
                // A server that talks to itself does not use the network.
                let at = self.engine.nodes[to_position].free_at;
                self.engine.agenda.send(at, route, message);
                continue;
            }
            self.witness_request(from, to);
            let (kind, in_order) = match message {
                Message::Request(_) => (Kind::Request, Y::Store::CLIENTS_IN_ORDER),
                Message::Reply(_) => (Kind::Reply, Y::Store::CLIENTS_IN_ORDER),
                Message::Peer(_) => (Kind::Other, Y::Store::PEERS_IN_ORDER),
                Message::Write { .. } | Message::Read { .. } => (Kind::Request, false),
                Message::Written { .. } | Message::Shown { .. } => (Kind::Other, false),
            };
            let (dice, strikes) = (&mut self.network_dice, &mut self.outcome.strikes);
            let fate = self.engine.wires.fate(from_position, to_position, kind, dice, strikes);
            let is_late = |latency: Micros| latency > self.plan.network.latency_max;
            if fate.again.is_some() || fate.first.is_none_or(is_late) {
                self.cluster.judge.struck();
            }
            if let Some(latency) = fate.again {
                if self.observer.is_some() {
                    self.show_on_the_way(|| Happening::Duplicated { from, to, message: message.clone() });
                }
                self.engine.agenda.send(self.now + latency, route, &mut message.clone());
            }
            match fate.first {
                Some(latency) if in_order => {
                    let at = self.engine.wires.in_order(from_position, to_position, self.now + latency);
                    self.engine.agenda.send(at, route, message);
                }
                Some(latency) => self.engine.agenda.send(self.now + latency, route, message),
                None => {
                    self.witness_loss(from, to, message);
                    self.show_on_the_way(|| Happening::Lost { from, to, message: message.clone() });
                }
            }
        }
        sends.clear();
        self.engine.effects.sends = sends;
    }

    /// Reads the node's deadlines again. `clock_changed`: alarms set for the same deadlines as before are wrong, too.
    pub(crate) fn set_alarms(&mut self, node: Node, clock_changed: bool) {
        let position = self.position(node);
        if position == self.cluster.conditions().len() {
            return;
        }
        let is_up = self.status(position) == Status::Up;
        let clock = self.clock(position);
        let deadlines = self.cluster.deadlines(node, self.setup);
        let NodeState { free_at, .. } = self.engine.nodes[position];
        for (nth, deadline) in deadlines.into_iter().enumerate() {
            let alarm = 2 * position + nth;
            let due = deadline.map(|(due, _)| due).filter(|_| is_up);
            if clock_changed || due != self.engine.agenda.due(alarm) {
                let at = due.and_then(|due| clock.true_time_of(due, self.now)).map(|at| at.max(free_at));
                self.engine.agenda.set_alarm(alarm, due, at);
            }
        }
    }

    pub(crate) fn node(&self, position: usize) -> Node {
        match position.checked_sub(self.cluster.clients.len()) {
            None => Node::Client(position as u8),
            Some(server) if server < self.cluster.servers.len() => Node::Server(server as u8),
            Some(_) => Node::Resource,
        }
    }

    /// The position of a node; the resource comes last.
    pub(crate) fn position(&self, node: Node) -> usize {
        self.cluster.index(node).unwrap_or(self.cluster.conditions().len())
    }

    pub(crate) fn status(&self, position: usize) -> Status {
        self.cluster.conditions().get(position).map_or(self.resource, |condition| condition.status)
    }

    pub(crate) fn clock(&self, position: usize) -> Clock {
        self.cluster.conditions().get(position).map_or_else(Clock::default, |condition| condition.clock)
    }

    /// Shows a step that had effects to whoever watches.
    pub(crate) fn show(&mut self, happening: impl FnOnce() -> Happening<Y::Store>) {
        if self.observer.is_some() {
            self.tell(&happening(), true);
        }
    }

    /// Shows something that no node did.
    pub(crate) fn show_on_the_way(&mut self, happening: impl FnOnce() -> Happening<Y::Store>) {
        if self.observer.is_some() {
            self.tell(&happening(), false);
        }
    }

    fn tell(&mut self, happening: &Happening<Y::Store>, has_effects: bool) {
        let Some(observer) = &mut self.observer else { return };
        let (effects, violations): (_, &[Violation]) = match has_effects {
            true => (&self.engine.effects, &self.engine.violations),
            false => (&self.engine.nothing, &[]),
        };
        self.shown += 1;
        if has_effects {
            self.acting = self.shown;
        }
        let is_of_message = matches!(
            happening,
            Happening::Delivered { .. } | Happening::Lost { .. } | Happening::Duplicated { .. }
        );
        let sent_in = is_of_message.then_some(self.sent_in);
        let (at, cluster) = (self.now, &self.cluster);
        observer.observe(&Step { at, happening, effects, cluster, violations, sent_in });
    }
}

/// So much later; lengths of a plan may come from a file, and be anything.
pub fn later(now: Micros, length: Micros) -> Micros {
    Micros(now.0.saturating_add(length.0.clamp(0, i64::MAX / 4)))
}

#[cfg(test)]
pub(crate) mod tests;
