//! The exhaustive engine's world: a cluster, the messages under way, and which faults may still come.
//!
//! [`World::actions`] lists everything that can happen next; [`World::apply`] makes one of it happen and brings the
//! result into canonical form (`crate::canonical`). Nothing here knows a lock or a store.
//!
//! **Time.** An untimed world has none: every deadline may fire at any moment, every message may take any time. That
//! covers every speed of every node at once, and so every pause; it cannot tell a prompt renewal from a late one. A
//! timed world counts ticks of one second. Time passes only when no live, unpaused node has a deadline that is due, and
//! no message to one is older than the latency bound (urgency, as in timed automata).

mod budget;
mod view;

pub use budget::{Budget, Fault, Struck};
pub(crate) use view::View;

use crate::canonical;
use crate::cluster::{Cluster, Entry, Setup, Status, Wake};
use crate::few::sort_few;
use crate::machine::{Effects, Line, Message, Node};
use crate::system::System;
use crate::time::{Clock, Micros};
use crate::trace::Happening;
use picklock_properties::{Judge, Violation};
use serde::{Deserialize, Serialize};

/// One tick of a timed world: the unit in which Cassandra counts a TTL.
pub const TICK: Micros = Micros::seconds(1);

/// Every step takes a microsecond, so that no two readings of a clock are equal.
pub(crate) const STEP: Micros = Micros(1);

/// The bounds of the space: how time passes, and which faults may come how often.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Bounds {
    /// `None`: untimed. Else a message is delivered, and a reply to it sent, within so many ticks; 0 means within the
    /// tick in which it was sent.
    pub latency_ticks: Option<u8>,
    /// Clients think for as long as they like before they ask: time may pass over the end of a think time.
    pub unhurried: bool,
    /// How many messages may be lost; [`WITHOUT_END`] has no last one.
    pub losses: u8,
    /// How many messages may arrive twice, the second time as late as may be: the latency bound is not for duplicates.
    pub duplicates: u8,
    /// How many times a client may pause (timed worlds only).
    pub pauses: u8,
    /// How long a pause may last.
    pub pause_ticks: u8,
    /// How many times a client may crash.
    pub crashes: u8,
    /// Whether it starts again at once, with what it had made durable; if not, it crashes for good.
    pub crashes_restart: bool,
    /// At which moments a pause or crash may strike a client.
    pub aim: Aim,
    /// How many times a server may lose power; it starts again at once.
    pub power_losses: u8,
    /// How many times a server may crash.
    pub server_crashes: u8,
    /// Whether it starts again at once, with what a process that is killed leaves behind; if not, it is down for as long as it likes,
    /// which may be for good. Either way what is under way to it is lost, as with a connection that ends: left out is a request that was
    /// sent to it while it was down and reaches it when it is back.
    pub server_crashes_restart: bool,
    /// Whether what they had just said is lost with them in any case: the machine goes off. If neither this nor
    /// [`Self::crashes_keep_sent`] is set, it may be lost, all of it together, or arrive, as with the last words of whoever else crashes or
    /// loses power. Left out: that a part of it is lost. Seeded runs toss for each process that ends whether all of it is lost or none is,
    /// and for each message where power is lost.
    pub crashes_take_sent: bool,
    /// How many times the resource may crash; it starts again at once. What it has answered arrives: left out is that it goes with the
    /// resource, which is tossed in seeded runs as for any process, and is a lost message.
    pub resource_restarts: u8,
    /// How many times a server's wall clock may step.
    pub server_clock_steps: u8,
    /// How far it steps; negative is back.
    pub server_clock_step_ticks: i8,
    /// How many ticks of true time may be uneven (timed worlds only): one server's clocks show `drift_ticks` more, or
    /// one client's clocks one less (they stand still), than true time. These are the harmful directions: a record
    /// that lives longer, or a client that gives up earlier, is in nobody's way.
    pub drifts: u8,
    /// How much a server's clocks gain in an uneven tick.
    pub drift_ticks: u8,
    /// How many times a client's wall clock may step.
    pub clock_steps: u8,
    /// How far it steps; negative is back.
    pub clock_step_ticks: i8,
    /// How many times a client's wall clock may stop for good (untimed worlds only, at most once).
    pub freezes: u8,
    /// Whether all clients' clocks stop at that moment and show the same from then on, as clocks do that are too coarse to tell one
    /// moment from the next.
    pub freezes_all: bool,
    /// What the last server's wall clock shows more than true time, from the beginning.
    pub last_server_ahead_ticks: i8,
    /// What the last client's wall clock shows more than true time, from the beginning.
    pub last_client_ahead_ticks: i8,
    /// Each client shares a machine with its coordinator (client `i` with server `i` modulo their number): what they say
    /// to each other arrives at once, within one step, wherever only one thing can come of it. A trace shows such a step as one, with
    /// all that its nodes sent.
    pub colocated: bool,
    /// How many messages one link between servers holds; a server whose link is full waits (backpressure). 0: no limit.
    pub link_messages_max: u8,
    /// Holders leave when they like (timed worlds only): time may pass over the end of a hold, so that one space has all holds
    /// that are no shorter than the workload's, those that outlast every lease and those that need none prolonged.
    pub unhurried_holders: bool,
    /// Whether who pauses is suspended with its whole machine: its monotonic clock does not count the pause, its wall clock is
    /// right again afterwards.
    pub pauses_suspend: bool,
    /// Whether what a server that crashes had just said arrives in any case: only the process ends, and the machine sends what it was
    /// given.
    pub crashes_keep_sent: bool,
    /// The same as [`Self::colocated`] for attendants alone: what one of them and the server beside it say to each other arrives at once,
    /// and what clients say takes its time. Left out: whatever comes between two requests of one pass of an attendant, and that what it
    /// says is lost, doubled or late.
    pub attendants_colocated: bool,
}

impl Bounds {
    /// Whether messages of some nodes arrive within the step in which they are sent.
    pub fn delivers_at_once(&self) -> bool {
        self.colocated || self.attendants_colocated
    }
}

impl Bounds {
    /// What an uneven tick adds to this node's clocks beside the tick itself ([`Bounds::drifts`]).
    pub fn gained_by(&self, node: Node) -> Micros {
        match node {
            Node::Server(_) => Micros(i64::from(self.drift_ticks) * TICK.0),
            Node::Client(_) | Node::Resource => -TICK,
        }
    }
}

impl Bounds {
    /// Lets every fault that may strike do so this many times; whether there is one. A clock that stops for good has no second time, and
    /// drifts are as many as a lock allows for.
    pub fn strike_times(&mut self, times: u8) -> bool {
        let budgets = [
            &mut self.losses,
            &mut self.duplicates,
            &mut self.pauses,
            &mut self.crashes,
            &mut self.power_losses,
            &mut self.server_crashes,
            &mut self.resource_restarts,
            &mut self.server_clock_steps,
            &mut self.clock_steps,
        ];
        let mut strikes = false;
        for budget in budgets.into_iter().filter(|budget| **budget > 0) {
            *budget = times;
            strikes = true;
        }
        strikes
    }
}

/// A budget that is never used up.
pub const WITHOUT_END: u8 = u8::MAX;

/// The age of a message that may take as long as it likes.
pub const LATE: u8 = u8::MAX;

/// At which moments a pause or crash may strike a client: a trigger of the fault, as data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Aim {
    /// Whenever.
    #[default]
    Always,
    /// In its critical section.
    Holding,
    /// After its call, before it is granted or refused.
    Asking,
    /// Standing at this line of the listing.
    At(Line),
}

/// A message under way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Envelope<Y: System> {
    /// Sender.
    pub from: Node,
    /// Receiver.
    pub to: Node,
    /// For how many ticks it has been under way, up to the latency bound; of a duplicate in a timed world [`LATE`].
    pub age: u8,
    /// What is said.
    pub message: Message<Y::Store>,
}

impl Bounds {
    /// How old a message is a tick later.
    pub(crate) fn a_tick_older(&self, age: u8) -> u8 {
        match age {
            LATE => LATE,
            age => (age + 1).min(self.latency_ticks.unwrap_or(0)),
        }
    }

    /// How old the duplicate of a message is.
    pub(crate) fn age_of_twin(&self, age: u8) -> u8 {
        if self.latency_ticks.is_some() { LATE } else { age }
    }
}

/// One thing that can happen next. Positions are into [`World::in_flight`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Action {
    /// The message arrives; the receiver handles it in the `choice`th of the possible ways.
    Deliver {
        /// Which message.
        position: u8,
        /// Which of the ways.
        choice: u8,
    },
    /// The node's deadline is noticed.
    Wake {
        /// Where.
        node: Node,
        /// Whose.
        wake: Wake,
        /// Which of the possible ways.
        choice: u8,
    },
    /// A tick of true time passes.
    Tick,
    /// The message is lost.
    Lose {
        /// Which message.
        position: u8,
    },
    /// The message will arrive twice.
    Duplicate {
        /// Which message.
        position: u8,
    },
    /// The client pauses.
    Pause {
        /// Which.
        client: u8,
    },
    /// The client goes on.
    Resume {
        /// Which.
        client: u8,
    },
    /// The client's process ends.
    Crash {
        /// Which.
        client: u8,
    },
    /// The server loses power and starts again.
    LosePower {
        /// Which.
        server: u8,
    },
    /// The server crashes.
    CrashServer {
        /// Which.
        server: u8,
    },
    /// The resource's process ends and starts again.
    RestartResource,
    /// The server's wall clock steps.
    StepServerClock {
        /// Which.
        server: u8,
    },
    /// A tick of true time passes, in which this node's clocks drift.
    DriftingTick {
        /// Whose.
        node: Node,
    },
    /// The client's wall clock steps.
    StepClock {
        /// Which.
        client: u8,
    },
    /// The client's wall clock stops.
    FreezeClock {
        /// Which.
        client: u8,
    },
    /// A server that is down starts again.
    RestartServer {
        /// Which.
        server: u8,
    },
    /// The client's process ends, and what it had said and has not arrived is lost with it.
    CrashUnheard {
        /// Which.
        client: u8,
    },
    /// The server loses power and starts again, and what it had said and has not arrived is lost with it.
    LosePowerUnheard {
        /// Which.
        server: u8,
    },
    /// The server crashes, and what it had said and has not arrived is lost with it.
    CrashServerUnheard {
        /// Which.
        server: u8,
    },
}

/// How a process ends, and whether it starts again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct End {
    /// Power is lost, not the process alone.
    pub power_lost: bool,
    /// It starts again at once; what is under way to it is lost, as with a connection that ends.
    pub restarts: bool,
    /// What it had said and has not arrived is lost with it.
    pub takes_sent: bool,
}

impl End {
    /// Whether this message is lost when the process of `node` ends so.
    pub fn takes<Y: System>(&self, node: Node, envelope: &Envelope<Y>) -> bool {
        self.restarts && envelope.to == node || self.takes_sent && envelope.from == node
    }
}

impl Action {
    /// Whose process ends by it, and how; `None` if none does.
    pub(crate) fn end(&self, bounds: &Bounds) -> Option<(Node, End)> {
        let of_client = |client, takes_sent| {
            (Node::Client(client), End { power_lost: true, restarts: bounds.crashes_restart, takes_sent })
        };
        let of_power =
            |server, takes_sent| (Node::Server(server), End { power_lost: true, restarts: true, takes_sent });
        let of_server = |server, takes_sent| {
            let power_lost = bounds.crashes_take_sent;
            (Node::Server(server), End { power_lost, restarts: bounds.server_crashes_restart, takes_sent })
        };
        match *self {
            Action::Crash { client } => Some(of_client(client, false)),
            Action::CrashUnheard { client } => Some(of_client(client, true)),
            Action::LosePower { server } => Some(of_power(server, false)),
            Action::LosePowerUnheard { server } => Some(of_power(server, true)),
            Action::CrashServer { server } => Some(of_server(server, bounds.crashes_take_sent)),
            Action::CrashServerUnheard { server } => Some(of_server(server, true)),
            Action::RestartResource => {
                Some((Node::Resource, End { power_lost: false, restarts: true, takes_sent: false }))
            }
            Action::Deliver { .. }
            | Action::Wake { .. }
            | Action::Tick
            | Action::Lose { .. }
            | Action::Duplicate { .. }
            | Action::Pause { .. }
            | Action::Resume { .. }
            | Action::RestartServer { .. }
            | Action::StepServerClock { .. }
            | Action::DriftingTick { .. }
            | Action::StepClock { .. }
            | Action::FreezeClock { .. } => None,
        }
    }

    /// Whether it takes a tick of true time; everything else takes no time that counts.
    pub fn passes_time(&self) -> bool {
        matches!(self, Action::Tick | Action::DriftingTick { .. })
    }

    /// Whether it does no more than to put a clock wrong.
    pub fn is_of_a_clock(&self) -> bool {
        match self {
            Action::DriftingTick { .. }
            | Action::StepServerClock { .. }
            | Action::StepClock { .. }
            | Action::FreezeClock { .. } => true,
            Action::Deliver { .. }
            | Action::Wake { .. }
            | Action::Tick
            | Action::Resume { .. }
            | Action::Lose { .. }
            | Action::Duplicate { .. }
            | Action::Pause { .. }
            | Action::Crash { .. }
            | Action::LosePower { .. }
            | Action::CrashServer { .. }
            | Action::CrashUnheard { .. }
            | Action::LosePowerUnheard { .. }
            | Action::CrashServerUnheard { .. }
            | Action::RestartServer { .. }
            | Action::RestartResource => false,
        }
    }

    /// Whether a fair schedule cannot put it off for ever: steps, deliveries and the passing of time are owed, faults
    /// are not, and whoever is down need not come back.
    pub fn is_fair(&self) -> bool {
        match self {
            Action::Deliver { .. } | Action::Wake { .. } | Action::Tick | Action::Resume { .. } => true,
            Action::Lose { .. }
            | Action::Duplicate { .. }
            | Action::Pause { .. }
            | Action::Crash { .. }
            | Action::LosePower { .. }
            | Action::CrashServer { .. }
            | Action::CrashUnheard { .. }
            | Action::LosePowerUnheard { .. }
            | Action::CrashServerUnheard { .. }
            | Action::RestartServer { .. }
            | Action::RestartResource
            | Action::StepServerClock { .. }
            | Action::DriftingTick { .. }
            | Action::StepClock { .. }
            | Action::FreezeClock { .. } => false,
        }
    }
}

/// A state of the exhaustive engine, in canonical form.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct World<Y: System> {
    /// The nodes, and what was observed of them.
    pub cluster: Cluster<Y>,
    /// The messages under way, sorted: no order among them is promised.
    pub in_flight: Vec<Envelope<Y>>,
    /// The faults that may still come.
    pub budget: Budget,
    /// The promise that the last step broke. A broken world goes no further.
    pub broken: Option<Violation>,
}

impl<Y: System> Clone for World<Y> {
    fn clone(&self) -> Self {
        World {
            cluster: self.cluster.clone(),
            in_flight: self.in_flight.clone(),
            budget: self.budget,
            broken: self.broken,
        }
    }

    fn clone_from(&mut self, source: &Self) {
        self.cluster.clone_from(&source.cluster);
        self.in_flight.clone_from(&source.in_flight);
        self.budget = source.budget;
        self.broken = source.broken;
    }
}

/// What [`World::apply`] works with, kept from step to step so that a step allocates nothing.
pub struct Workspace<Y: System> {
    /// What the last step's node wanted done.
    pub effects: Effects<Y::Store>,
    /// The same for the steps that follow within the same action.
    at_once: Effects<Y::Store>,
    canonical: canonical::Buffers,
}

impl<Y: System> Default for Workspace<Y> {
    fn default() -> Self {
        Workspace {
            effects: Effects::default(),
            at_once: Effects::default(),
            canonical: canonical::Buffers::default(),
        }
    }
}

impl<Y: System> World<Y> {
    /// The one state in which everything begins.
    pub fn new(setup: &Setup<Y>, bounds: &Bounds) -> Self {
        let mut world = World::as_set_up(setup, bounds);
        world.canonicalise(Micros::ZERO, None, setup, bounds, &mut canonical::Buffers::default());
        world
    }

    /// The same, not yet in canonical form.
    pub(crate) fn as_set_up(setup: &Setup<Y>, bounds: &Bounds) -> Self {
        let clock_of = |node| {
            let ticks = match node {
                Node::Server(server) if server + 1 == setup.servers => bounds.last_server_ahead_ticks,
                Node::Client(client) if client + 1 == setup.workload.processes() => {
                    bounds.last_client_ahead_ticks
                }
                Node::Server(_) | Node::Client(_) | Node::Resource => 0,
            };
            Clock { wall_offset: Micros(i64::from(ticks) * TICK.0), ..Clock::default() }
        };
        World {
            cluster: Cluster::new(setup, clock_of),
            in_flight: Vec::new(),
            budget: bounds.budget(),
            broken: None,
        }
    }

    /// Lists what can happen next, in a fixed order: first what is owed, then faults.
    pub fn actions(&self, setup: &Setup<Y>, bounds: &Bounds, actions: &mut Vec<Action>) {
        self.view().actions(setup, bounds, actions);
    }

    /// What can be seen of it.
    pub(crate) fn view(&self) -> View<'_, Y> {
        let World { cluster, in_flight, budget, broken } = self;
        View {
            clients: cluster.clients.iter().collect(),
            servers: cluster.servers.iter().collect(),
            conditions: cluster.conditions(),
            monitors: &cluster.monitors,
            in_flight: in_flight.iter().collect(),
            budget: *budget,
            is_broken: broken.is_some(),
        }
    }

    /// Makes `action` happen; it must be one of [`Self::actions`].
    pub fn apply(&mut self, action: Action, setup: &Setup<Y>, bounds: &Bounds, workspace: &mut Workspace<Y>) {
        let stepping = self.stepping(action, bounds);
        let now = self.act(action, setup, bounds, workspace);
        let step = stepping.map(|of| canonical::Step {
            of,
            messages_before: self.in_flight.len() - workspace.effects.sends.len(),
        });
        self.canonicalise(now, step, setup, bounds, &mut workspace.canonical);
    }

    /// The node whose step the action is, if it is no more than that.
    fn stepping(&self, action: Action, bounds: &Bounds) -> Option<Node> {
        match action {
            Action::Deliver { .. } | Action::Wake { .. } if bounds.delivers_at_once() => None,
            Action::Deliver { position, .. } => Some(self.in_flight[usize::from(position)].to),
            Action::Wake { node, .. } => Some(node),
            Action::Tick
            | Action::DriftingTick { .. }
            | Action::Lose { .. }
            | Action::Duplicate { .. }
            | Action::Pause { .. }
            | Action::Resume { .. }
            | Action::Crash { .. }
            | Action::LosePower { .. }
            | Action::CrashServer { .. }
            | Action::CrashUnheard { .. }
            | Action::LosePowerUnheard { .. }
            | Action::CrashServerUnheard { .. }
            | Action::RestartServer { .. }
            | Action::RestartResource
            | Action::StepServerClock { .. }
            | Action::StepClock { .. }
            | Action::FreezeClock { .. } => None,
        }
    }

    /// [`Self::apply`]; leaves in `places` where each message under way was before the canonical form dropped and sorted
    /// them, so that a list kept beside this one can be put into the same order. Takes nothing for settled that a step
    /// leaves alone: what [`Self::apply`] is held to.
    pub(crate) fn apply_and_place(
        &mut self,
        action: Action,
        setup: &Setup<Y>,
        bounds: &Bounds,
        workspace: &mut Workspace<Y>,
        places: &mut Vec<usize>,
    ) {
        let now = self.act(action, setup, bounds, workspace);
        places.clear();
        let kept =
            |(_, envelope): &(usize, &Envelope<Y>)| !self.cluster.dismisses(envelope.to, &envelope.message);
        places.extend(self.in_flight.iter().enumerate().filter(kept).map(|(place, _)| place));
        self.forget_dismissed(0);
        canonical::rewrite(self, now, None, setup, bounds, &mut workspace.canonical);
        // As `canonicalise` sorts: what is equal is the same.
        let mut order: Vec<usize> = (0..places.len()).collect();
        sort_few(&mut order, |left, right| self.in_flight[*left] < self.in_flight[*right]);
        *places = order.into_iter().map(|at| places[at]).collect();
        sort_few(&mut self.in_flight, PartialOrd::lt);
    }

    /// Makes `action` happen, and what follows at once; says what time it is then, relative to the time before.
    fn act(
        &mut self,
        action: Action,
        setup: &Setup<Y>,
        bounds: &Bounds,
        workspace: &mut Workspace<Y>,
    ) -> Micros {
        let mut broken = None;
        let mut on_violation = |violation: Violation| {
            broken.get_or_insert(violation);
        };
        let Workspace { effects, at_once, .. } = workspace;
        let mut now = self.happen(action, Micros::ZERO, setup, bounds, effects, &mut on_violation);
        if bounds.delivers_at_once() {
            while let Some(position) = self.due_at_once(setup, bounds) {
                now = self.deliver_at_once(position, now, setup, at_once, &mut on_violation);
                effects.sends.append(&mut at_once.sends);
                effects.events.append(&mut at_once.events);
                effects.tested = effects.tested.union(at_once.tested);
            }
        }
        self.broken = broken;
        now
    }

    /// Makes `action` happen, before which it is `now`, and says what time it is then. Nothing here needs the canonical form:
    /// times may just as well run on from the beginning (`crate::explore::Telling`).
    pub(crate) fn happen(
        &mut self,
        action: Action,
        now: Micros,
        setup: &Setup<Y>,
        bounds: &Bounds,
        effects: &mut Effects<Y::Store>,
        on_violation: &mut dyn FnMut(Violation),
    ) -> Micros {
        let now = now + if action.passes_time() { TICK } else { STEP };
        effects.clear();
        self.budget = self.budget.after(action, bounds);
        if !action.is_fair() && !action.is_of_a_clock() {
            self.cluster.judge.struck();
        }
        match action {
            Action::Deliver { position, choice } => {
                let Envelope { from, to, message, .. } = self.in_flight.remove(usize::from(position));
                let entry = Entry::Message { from, message };
                self.cluster.step(to, entry, u32::from(choice), now, setup, effects, on_violation);
                self.send(to, effects);
            }
            Action::Wake { node, wake, choice } => {
                self.cluster.step(node, wake.entry(), u32::from(choice), now, setup, effects, on_violation);
                self.send(node, effects);
            }
            Action::Tick | Action::DriftingTick { .. } => {
                if let Action::DriftingTick { node } = action {
                    self.drift(node, bounds);
                }
                for envelope in &mut self.in_flight {
                    envelope.age = bounds.a_tick_older(envelope.age);
                }
                for client in 0..setup.workload.processes() {
                    let Some(condition) = self.cluster.condition_mut(Node::Client(client)) else { continue };
                    condition.status = condition.status.a_tick_later();
                    if let (Status::Paused { .. }, true) = (condition.status, bounds.pauses_suspend) {
                        condition.clock.monotonic_offset = condition.clock.monotonic_offset - TICK;
                    }
                }
            }
            Action::Lose { position } => {
                self.in_flight.remove(usize::from(position));
            }
            Action::Duplicate { position } => {
                let mut twin = self.in_flight[usize::from(position)].clone();
                twin.age = bounds.age_of_twin(twin.age);
                self.in_flight.push(twin);
            }
            Action::Pause { client } => {
                self.set_status(client, Status::Paused { ticks_left: bounds.pause_ticks });
            }
            Action::Resume { client } => self.set_status(client, Status::Up),
            Action::Crash { .. }
            | Action::LosePower { .. }
            | Action::CrashServer { .. }
            | Action::CrashUnheard { .. }
            | Action::LosePowerUnheard { .. }
            | Action::CrashServerUnheard { .. }
            | Action::RestartResource => {
                let Some((node, end)) = action.end(bounds) else { unreachable!("a process ends") };
                self.cluster.crash(node, end.power_lost, setup, effects, on_violation);
                self.in_flight.retain(|envelope| !end.takes(node, envelope));
                if end.restarts {
                    self.cluster.restart(node, now, setup, effects, on_violation);
                    self.send(node, effects);
                }
            }
            Action::RestartServer { server } => {
                let node = Node::Server(server);
                self.cluster.restart(node, now, setup, effects, on_violation);
                self.send(node, effects);
            }
            Action::StepServerClock { server } => {
                let by = Micros(i64::from(bounds.server_clock_step_ticks) * TICK.0);
                self.clock_mut(Node::Server(server)).step(by);
            }
            Action::StepClock { client } => {
                let by = Micros(i64::from(bounds.clock_step_ticks) * TICK.0);
                self.clock_mut(Node::Client(client)).step(by);
            }
            Action::FreezeClock { client } => {
                let clock = self.clock_mut(Node::Client(client));
                clock.freeze(now);
                let reading = clock.frozen;
                let others = if bounds.freezes_all { 0..setup.workload.processes() } else { 0..0 };
                others.for_each(|other| self.clock_mut(Node::Client(other)).frozen = reading);
            }
        }
        now
    }

    /// The next message between colocated nodes that arrives within the step in which it was sent ([`Bounds::colocated`]).
    pub(crate) fn due_at_once(&self, setup: &Setup<Y>, bounds: &Bounds) -> Option<usize> {
        self.view().due_at_once(setup, bounds)
    }

    /// Delivers that message, which takes a microsecond; says what time it is then.
    pub(crate) fn deliver_at_once(
        &mut self,
        position: usize,
        now: Micros,
        setup: &Setup<Y>,
        effects: &mut Effects<Y::Store>,
        on_violation: &mut dyn FnMut(Violation),
    ) -> Micros {
        let now = now + STEP;
        let Envelope { from, to, message, .. } = self.in_flight.remove(position);
        let entry = Entry::Message { from, message };
        self.cluster.step(to, entry, 0, now, setup, effects, on_violation);
        self.send(to, effects);
        now
    }

    /// What `action` is, in words that do not depend on positions.
    pub fn happening(&self, action: Action, bounds: &Bounds) -> Happening<Y::Store> {
        let envelope = |position: u8| {
            let Envelope { from, to, message, .. } = self.in_flight[usize::from(position)].clone();
            (from, to, message)
        };
        match action {
            Action::Deliver { position, .. } => {
                let (from, to, message) = envelope(position);
                Happening::Delivered { from, to, message }
            }
            Action::Wake { node, wake, .. } => Happening::Woke { node, wake },
            Action::Tick => Happening::Ticked,
            Action::Lose { position } => {
                let (from, to, message) = envelope(position);
                Happening::Lost { from, to, message }
            }
            Action::Duplicate { position } => {
                let (from, to, message) = envelope(position);
                Happening::Duplicated { from, to, message }
            }
            Action::Pause { client } if bounds.pauses_suspend => {
                Happening::Suspended { node: Node::Client(client) }
            }
            Action::Pause { client } => Happening::Paused { node: Node::Client(client) },
            Action::Resume { client } => Happening::Resumed { node: Node::Client(client) },
            Action::Crash { client } | Action::CrashUnheard { client } => {
                Happening::Crashed { node: Node::Client(client), power_lost: true }
            }
            Action::LosePower { server } | Action::LosePowerUnheard { server } => {
                Happening::Crashed { node: Node::Server(server), power_lost: true }
            }
            Action::CrashServer { server } | Action::CrashServerUnheard { server } => {
                Happening::Crashed { node: Node::Server(server), power_lost: bounds.crashes_take_sent }
            }
            Action::RestartServer { server } => Happening::Restarted { node: Node::Server(server) },
            Action::RestartResource => Happening::Restarted { node: Node::Resource },
            Action::StepServerClock { server } => Happening::ClockStepped {
                node: Node::Server(server),
                by: Micros(i64::from(bounds.server_clock_step_ticks) * TICK.0),
            },
            Action::DriftingTick { node } => {
                Happening::TickedUnevenly { node, gained: bounds.gained_by(node) }
            }
            Action::StepClock { client } => Happening::ClockStepped {
                node: Node::Client(client),
                by: Micros(i64::from(bounds.clock_step_ticks) * TICK.0),
            },
            Action::FreezeClock { client } if bounds.freezes_all => {
                Happening::ClocksFroze { node: Node::Client(client) }
            }
            Action::FreezeClock { client } => Happening::ClockFroze { node: Node::Client(client) },
        }
    }

    fn send(&mut self, from: Node, effects: &mut Effects<Y::Store>) {
        for (to, message) in &effects.sends {
            self.in_flight.push(Envelope { from, to: *to, age: 0, message: message.clone() });
        }
    }

    fn set_status(&mut self, client: u8, status: Status) {
        if let Some(condition) = self.cluster.condition_mut(Node::Client(client)) {
            condition.status = status;
        }
    }

    fn clock_mut(&mut self, node: Node) -> &mut Clock {
        match self.cluster.condition_mut(node) {
            Some(condition) => &mut condition.clock,
            None => unreachable!("every client and every server has a clock"),
        }
    }

    /// The node's clocks gain what an uneven tick gives them; the tick itself is still to come.
    fn drift(&mut self, node: Node, bounds: &Bounds) {
        let by = bounds.gained_by(node);
        let clock = self.clock_mut(node);
        clock.wall_offset = clock.wall_offset + by;
        clock.monotonic_offset = clock.monotonic_offset + by;
    }

    fn canonicalise(
        &mut self,
        now: Micros,
        mut step: Option<canonical::Step>,
        setup: &Setup<Y>,
        bounds: &Bounds,
        buffers: &mut canonical::Buffers,
    ) {
        let before = step.map_or(0, |step| step.messages_before);
        let forgotten = self.forget_dismissed(before);
        if let Some(step) = &mut step {
            step.messages_before -= forgotten;
        }
        canonical::rewrite(self, now, step, setup, bounds, buffers);
        if !self.in_flight.is_sorted() {
            sort_few(&mut self.in_flight, PartialOrd::lt);
        }
    }

    /// Drops the messages that nobody will mind; says how many of the first `before` they were.
    fn forget_dismissed(&mut self, before: usize) -> usize {
        let World { cluster, in_flight, .. } = self;
        let (mut number, mut forgotten) = (0, 0);
        in_flight.retain(|envelope| {
            let is_kept = !cluster.dismisses(envelope.to, &envelope.message);
            forgotten += usize::from(!is_kept && number < before);
            number += 1;
            is_kept
        });
        forgotten
    }
}
