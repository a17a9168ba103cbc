//! What can happen next in a world, for whoever has its parts: as a whole ([`World`]) or each by itself.

use super::{Action, Aim, Bounds, Budget, Envelope, LATE};
use crate::cluster::{self, Condition, Setup, Status, Wake};
use crate::machine::{Message, Node, Store};
use crate::system::{Process, System};
use crate::time::{Due, Micros};
use picklock_properties::{ClientId, Monitors};
use smallvec::SmallVec;

/// A world, part by part.
pub(crate) struct View<'a, Y: System> {
    pub clients: SmallVec<[&'a Y::Process; 8]>,
    pub servers: SmallVec<[&'a Y::Store; 4]>,
    /// Of the clients, then of the servers.
    pub conditions: &'a [Condition],
    pub monitors: &'a [Monitors],
    /// Sorted.
    pub in_flight: SmallVec<[&'a Envelope<Y>; 12]>,
    pub budget: Budget,
    /// Whether the last step broke a promise: then it goes no further.
    pub is_broken: bool,
}

impl<'a, Y: System> View<'a, Y> {
    /// Lists what can happen next, in a fixed order: first what is owed, then faults.
    pub fn actions(&self, setup: &Setup<Y>, bounds: &Bounds, actions: &mut Vec<Action>) {
        actions.clear();
        if self.is_broken {
            return;
        }
        let mut time_may_pass = bounds.latency_ticks.is_some();
        for (position, envelope) in self.distinct_messages() {
            if !self.handles_now(envelope.to) || self.is_blocked(envelope, setup, bounds) {
                continue;
            }
            time_may_pass &=
                envelope.age == LATE || bounds.latency_ticks.is_some_and(|latency| envelope.age < latency);
            let choices = self.choices(envelope, setup);
            actions.extend((0..choices).map(|choice| Action::Deliver { position, choice: choice as u8 }));
        }
        for node in self.nodes() {
            let Condition { clock, status } = self.condition(node);
            if status != Status::Up {
                continue;
            }
            let mut woken = None;
            for (due, wake) in self.deadlines(node, setup).into_iter().flatten() {
                // A server is woken once, whichever of its moments has come.
                if woken == Some(wake)
                    || bounds.latency_ticks != Some(0) && self.answer_is_under_way(node, wake)
                {
                    continue;
                }
                if clock.is_due(due, Micros::ZERO) {
                    woken = Some(wake);
                    let choices = self.choices_when_woken(node, wake, setup);
                    actions.extend((0..choices).map(|choice| Action::Wake {
                        node,
                        wake,
                        choice: choice as u8,
                    }));
                    time_may_pass &= self.takes_its_time(node, wake, bounds);
                }
            }
        }
        for client in 0..setup.workload.processes() {
            if let Status::Paused { ticks_left } = self.condition(Node::Client(client)).status {
                actions.push(Action::Resume { client });
                time_may_pass &= ticks_left > 0;
            }
        }
        // Nobody waits for time to pass: the world is over, and a clock that ticks on would make no end of it.
        if time_may_pass && !self.is_over(setup) {
            actions.push(Action::Tick);
            if self.budget.drifts > 0 {
                // A clock that stands still with its machine does not drift.
                let has_clock = |node: &Node| match self.condition(*node).status {
                    Status::Up => true,
                    Status::Paused { .. } => !bounds.pauses_suspend,
                    Status::Down { .. } => false,
                };
                let nodes = self.nodes().filter(has_clock);
                actions.extend(nodes.map(|node| Action::DriftingTick { node }));
            }
        }
        self.faults(setup, bounds, actions);
    }

    fn faults(&self, setup: &Setup<Y>, bounds: &Bounds, actions: &mut Vec<Action>) {
        if self.budget.losses > 0 || self.budget.duplicates > 0 {
            for (position, _) in self.distinct_messages() {
                if self.budget.losses > 0 {
                    actions.push(Action::Lose { position });
                }
                if self.budget.duplicates > 0 {
                    actions.push(Action::Duplicate { position });
                }
            }
        }
        for client in 0..setup.workload.processes() {
            if self.condition(Node::Client(client)).status != Status::Up || self.is_done(client, setup) {
                continue;
            }
            let hit = self.is_aimed_at(client, bounds.aim);
            if hit && self.budget.pauses > 0 {
                actions.push(Action::Pause { client });
            }
            if hit && self.budget.crashes > 0 {
                actions.push(Action::Crash { client });
            }
            // A clock that stands still is not set: whoever sets it would set it going.
            let frozen = self.condition(Node::Client(client)).clock.frozen.is_some();
            if self.budget.clock_steps > 0 && !frozen {
                actions.push(Action::StepClock { client });
            }
            if self.budget.freezes > 0 {
                actions.push(Action::FreezeClock { client });
            }
        }
        for server in 0..setup.servers {
            if self.is_down(server) {
                continue;
            }
            if self.budget.power_losses > 0 {
                actions.push(Action::LosePower { server });
            }
            if self.budget.server_crashes > 0 {
                actions.push(Action::CrashServer { server });
            }
            if self.budget.server_clock_steps > 0 {
                actions.push(Action::StepServerClock { server });
            }
        }
        if self.budget.resource_restarts > 0 {
            actions.push(Action::RestartResource);
        }
        // Where it starts again at once it is never seen down.
        let down = (0..setup.servers).filter(|server| self.is_down(*server));
        actions.extend(down.map(|server| Action::RestartServer { server }));
        self.last_words(setup, bounds, actions);
    }

    /// Crashes and losses of power that take along what had just been said.
    fn last_words(&self, setup: &Setup<Y>, bounds: &Bounds, actions: &mut Vec<Action>) {
        let Budget { crashes, power_losses, server_crashes, .. } = self.budget;
        if crashes == 0 && power_losses == 0 && server_crashes == 0 {
            return;
        }
        let is_to_be_heard = |node| self.in_flight.iter().any(|envelope| envelope.from == node);
        for client in 0..setup.workload.processes() {
            let node = Node::Client(client);
            let is_up = self.handles_now(node) && !self.is_done(client, setup);
            if crashes > 0 && is_up && self.is_aimed_at(client, bounds.aim) && is_to_be_heard(node) {
                actions.push(Action::CrashUnheard { client });
            }
        }
        for server in 0..setup.servers {
            if self.is_down(server) || !is_to_be_heard(Node::Server(server)) {
                continue;
            }
            if power_losses > 0 {
                actions.push(Action::LosePowerUnheard { server });
            }
            if server_crashes > 0 && !bounds.crashes_take_sent && !bounds.crashes_keep_sent {
                actions.push(Action::CrashServerUnheard { server });
            }
        }
    }

    fn is_down(&self, server: u8) -> bool {
        matches!(self.condition(Node::Server(server)).status, Status::Down { .. })
    }

    /// Whether `action` is what the action listed before it is, with another number drawn by a client. (What a server
    /// picks is circumstance, not dice.)
    pub fn is_redrawn(&self, action: Action) -> bool {
        match action {
            Action::Deliver { position, choice } => {
                choice > 0 && matches!(self.in_flight[usize::from(position)].to, Node::Client(_))
            }
            Action::Wake { node, choice, .. } => choice > 0 && matches!(node, Node::Client(_)),
            Action::Tick
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
            | Action::DriftingTick { .. }
            | Action::StepClock { .. }
            | Action::FreezeClock { .. } => false,
        }
    }

    /// Whether nothing is owed any more: no message under way, nobody waits for a deadline.
    fn is_over(&self, setup: &Setup<Y>) -> bool {
        let idle = |node| {
            let down = matches!(self.condition(node).status, Status::Down { .. });
            down || self.deadlines(node, setup).into_iter().flatten().next().is_none()
        };
        self.in_flight.is_empty() && (0..setup.workload.clients).map(Node::Client).all(idle)
    }

    /// The messages under way, equal ones once.
    fn distinct_messages(&self) -> impl Iterator<Item = (u8, &Envelope<Y>)> {
        self.in_flight
            .iter()
            .enumerate()
            .filter(|(position, envelope)| *position == 0 || self.in_flight[position - 1] != **envelope)
            .map(|(position, envelope)| (position as u8, *envelope))
    }

    /// Whether a deadline that has come may wait: an application's that need not hurry.
    fn takes_its_time(&self, node: Node, wake: Wake, bounds: &Bounds) -> bool {
        match (node, wake) {
            (Node::Client(client), Wake::App) => {
                let client = self.clients[usize::from(client)];
                bounds.unhurried && client.is_thinking() || bounds.unhurried_holders && client.is_working()
            }
            (Node::Client(_), Wake::Machine) | (Node::Server(_) | Node::Resource, _) => false,
        }
    }

    /// Whether the application need not ask the resource again, for its request or the answer is still under way: where deadlines
    /// come in any order it would ask without end, and where messages take ticks its time-out would be shorter than the way there and
    /// back. Left out is the second copy of a write whose sender did not wait for it; seeded runs have it.
    fn answer_is_under_way(&self, node: Node, wake: Wake) -> bool {
        let (Node::Client(client), Wake::App) = (node, wake) else { return false };
        let between = |ends| ends == (node, Node::Resource) || ends == (Node::Resource, node);
        self.clients[usize::from(client)].awaits_resource()
            && self.in_flight.iter().any(|envelope| between((envelope.from, envelope.to)))
    }

    /// Backpressure: a server takes no step for a client while a link of its own to another server is full.
    fn is_blocked(&self, envelope: &Envelope<Y>, setup: &Setup<Y>, bounds: &Bounds) -> bool {
        let (Node::Server(_), Message::Request(_)) = (envelope.to, &envelope.message) else { return false };
        bounds.link_messages_max > 0
            && (0..setup.servers).map(Node::Server).any(|other| {
                let under_way =
                    self.in_flight.iter().filter(|e| e.from == envelope.to && e.to == other).count();
                under_way >= usize::from(bounds.link_messages_max)
            })
    }

    fn is_aimed_at(&self, client: u8, aim: Aim) -> bool {
        match aim {
            Aim::Always => true,
            Aim::Holding => self.clients[usize::from(client)].holds(),
            Aim::Asking => {
                self.monitors.iter().any(|of_lock| of_lock.usage().waiting.contains(ClientId(client)))
            }
            Aim::At(line) => self.clients[usize::from(client)].line() == line,
        }
    }

    /// The next message between colocated nodes that arrives within the step in which it was sent ([`Bounds::colocated`],
    /// [`Bounds::attendants_colocated`]).
    pub fn due_at_once(&self, setup: &Setup<Y>, bounds: &Bounds) -> Option<usize> {
        let are_neighbours = |from: Node, to: Node| match (from, to) {
            (Node::Client(client), Node::Server(server)) | (Node::Server(server), Node::Client(client)) => {
                (bounds.colocated || client >= setup.workload.clients) && client % setup.servers == server
            }
            _ => false,
        };
        self.in_flight.iter().position(|envelope| {
            are_neighbours(envelope.from, envelope.to)
                && self.handles_now(envelope.to)
                && self.choices(envelope, setup) == 1
        })
    }

    /// In how many ways the receiver can handle this message.
    fn choices(&self, envelope: &Envelope<Y>, setup: &Setup<Y>) -> u32 {
        match (envelope.to, &envelope.message) {
            (Node::Client(client), Message::Reply(reply)) => {
                self.clients[usize::from(client)].choices(Some(reply), &setup.lock)
            }
            (Node::Server(server), message) => {
                self.servers[usize::from(server)].choices(message, setup.servers, &setup.store)
            }
            (Node::Client(_) | Node::Resource, _) => 1,
        }
    }

    fn nodes(&self) -> impl Iterator<Item = Node> + use<Y> {
        let (clients, servers) = (self.clients.len() as u8, self.servers.len() as u8);
        (0..clients).map(Node::Client).chain((0..servers).map(Node::Server))
    }

    fn condition(&self, node: Node) -> Condition {
        match node {
            Node::Client(client) => self.conditions[usize::from(client)],
            Node::Server(server) => self.conditions[self.clients.len() + usize::from(server)],
            Node::Resource => Condition::default(),
        }
    }

    /// Whether the node handles what comes.
    fn handles_now(&self, node: Node) -> bool {
        self.condition(node).status == Status::Up
    }

    fn deadlines(&self, node: Node, setup: &Setup<Y>) -> [Option<(Due, Wake)>; 2] {
        match node {
            Node::Client(client) => cluster::deadlines_of_client(self.clients[usize::from(client)], setup),
            Node::Server(server) => cluster::deadlines_of_server(self.servers[usize::from(server)], setup),
            Node::Resource => [None, None],
        }
    }

    /// In how many ways the node can handle its deadline.
    fn choices_when_woken(&self, node: Node, wake: Wake, setup: &Setup<Y>) -> u32 {
        match (node, wake) {
            (Node::Client(client), Wake::Machine) => {
                self.clients[usize::from(client)].choices(None, &setup.lock)
            }
            (Node::Client(client), Wake::App) => {
                self.clients[usize::from(client)].app_choices(client, &setup.workload, &setup.lock)
            }
            (Node::Server(server), Wake::Machine) => {
                self.servers[usize::from(server)].choices_at_deadline(&setup.store)
            }
            (Node::Server(_), Wake::App) | (Node::Resource, _) => 1,
        }
    }

    /// Whether the client will not ask for a lock again. An attendant is never done.
    fn is_done(&self, client: u8, setup: &Setup<Y>) -> bool {
        client < setup.workload.clients && self.clients[usize::from(client)].is_done()
    }
}
