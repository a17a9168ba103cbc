//! A simulation under way, tick by tick.

use super::host::{Conditions, Host, Log, Logged, add};
use super::judge::Judge;
use super::net::Slowness;
use super::{Hosting, strikes::Links};
use crate::hosted::driver::duration;
use crate::hosted::node::{ClientNode, ResourceNode, ServerNode};
use crate::plans::plan::{Plan, When};
use crate::report::TraceHash;
use crate::seeded::agenda::Pending;
use crate::seeded::outcome::{Limits, Outcome};
use crate::seeded::run::later;
use crate::seeded::trigger::Armed;
use ::turmoil::{Builder, Sim};
use picklock_model::cluster::{Setup, Status};
use picklock_model::machine::{Lock, Node};
use picklock_model::time::{Micros, Monotonic};
use picklock_model::trace::Happening;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

pub(super) struct Run<'a, L: Lock> {
    pub setup: &'a Setup<L>,
    pub plan: &'a Plan,
    limits: &'a Limits,
    tick: Micros,
    pub sim: Sim<'static>,
    /// Clients, then servers, then the resource.
    pub hosts: Vec<Rc<Host>>,
    pub links: Links,
    pub slowness: Slowness,
    log: Log<L::Store>,
    /// What will happen by the plan: in the order of true time, and then of their numbers.
    agenda: BTreeMap<(Micros, u64), Pending>,
    numbers: u64,
    pub triggers: Vec<Armed>,
    pub judge: Judge,
    /// True time: a tick's beginning.
    pub now: Micros,
    /// The largest error that a wall clock has had.
    pub wall_error: Micros,
}

impl<'a, L: Lock> Run<'a, L> {
    pub fn new(
        setup: &'a Setup<L>,
        plan: &'a Plan,
        seed: u64,
        limits: &'a Limits,
        hosting: &Hosting,
    ) -> Self {
        let (mut sim, slowness, log) =
            (network(plan, seed, hosting.tick), Slowness::default(), Log::default());
        let patience = hosting.patience;
        let conditions = Conditions { seed, patience, slowness: slowness.clone(), log: log.clone() };
        let hosts = add_hosts(setup, &mut sim, &conditions);
        let mut run = Run {
            setup,
            plan,
            limits,
            tick: hosting.tick,
            sim,
            links: Links::new(hosts.len()),
            hosts,
            slowness,
            log,
            agenda: BTreeMap::new(),
            numbers: 0,
            triggers: Vec::new(),
            judge: Judge::new(setup, limits),
            now: Micros::ZERO,
            wall_error: Micros::ZERO,
        };
        for (index, planned) in (0..).zip(&plan.faults) {
            match planned.when {
                When::At(at) => run.push(at, Pending::Fault { index, struck: 0 }),
                When::Trigger { .. } => run.triggers.push(Armed::new(index)),
            }
        }
        run.push(plan.heal_at, Pending::Heal);
        run
    }

    /// Until it is over.
    pub fn go_on(&mut self) {
        while !self.is_over() {
            if self.judge.outcome.events >= self.limits.events_max {
                self.judge.outcome.truncated = true;
                return;
            }
            while let Some(next) = self.agenda.first_entry()
                && next.key().0 <= self.now
            {
                let pending = next.remove();
                self.happen(pending);
            }
            self.step();
        }
    }

    pub fn end(self) -> (Outcome, TraceHash) {
        self.judge.end(self.now)
    }

    /// Something will happen, at the beginning of a tick.
    pub fn push(&mut self, at: Micros, pending: Pending) {
        self.agenda.insert((at, self.numbers), pending);
        self.numbers += 1;
    }

    pub fn position(&self, node: Node) -> usize {
        let clients = usize::from(self.setup.workload.processes());
        match node {
            Node::Client(client) => usize::from(client),
            Node::Server(server) => clients + usize::from(server),
            Node::Resource => clients + usize::from(self.setup.servers),
        }
    }

    /// Something happened that no process did.
    pub fn show(&mut self, happening: Happening<L::Store>) {
        self.judge.observe(self.now, &happening, &[], None);
    }

    fn step(&mut self) {
        if let Err(error) = self.sim.step() {
            // Processes end with an error only if they cannot listen, and nobody else uses their ports.
            unreachable!("a process ended: {error}");
        }
        self.now = self.now + self.tick;
        let mut log = std::mem::take(&mut *self.log.borrow_mut());
        // Stable: what one node did within a microsecond stays as it was.
        log.sort_by_key(|logged| logged.at);
        for logged in &log {
            self.judge.observe(logged.at, &logged.happening, &logged.events, logged.about[0]);
            self.note(logged);
        }
        self.judge.wait_until(self.now);
    }

    /// What a step of a node means for the triggers.
    fn note(&mut self, logged: &Logged<L::Store>) {
        let Logged { at, position, events, about: [_, next], line, is_done, .. } = logged;
        let host = self.hosts[*position].clone();
        host.is_done.set(*is_done);
        let has_arrived = host.line.replace(*line) != *line;
        if let (Node::Client(client), Some(next)) = (host.node, next) {
            self.judge.asks_for(client, *next);
        }
        let (plan, clients) = (self.plan, self.setup.workload.processes());
        let mut pulled = Vec::new();
        self.triggers.retain_mut(|armed| {
            let by = armed.is_pulled(plan, clients, host.node, line.filter(|_| has_arrived), events);
            pulled.extend(by.map(|by| (armed.index(), by)));
            by.is_none()
        });
        for (index, by) in pulled {
            self.judge.outcome.strikes.triggers += 1;
            self.push(later(*at, by.delay), Pending::Fault { index, struck: by.client });
        }
    }

    /// Attendants aside, a run is over when every client is done, or dead for good, or nothing is left to be judged.
    fn is_over(&self) -> bool {
        let clients = self.hosts.iter().take(usize::from(self.setup.workload.clients));
        let mut states = clients.map(|host| {
            host.is_done.get() || matches!(host.status.get(), Status::Down { .. }) && !host.restarts.get()
        });
        states.all(|is_over| is_over) || self.judge.is_decided(self.now)
    }
}

/// Without latency a message would arrive in the tick in which it was sent, and perhaps before that.
pub(super) fn latency_min(plan: &Plan) -> Micros {
    plan.network.latency_min.max(Micros(1))
}

fn network(plan: &Plan, seed: u64, tick: Micros) -> Sim<'static> {
    let latency_min = latency_min(plan);
    Builder::new()
        .epoch(UNIX_EPOCH)
        .rng_seed(seed)
        .tick_duration(duration(tick))
        .simulation_duration(Duration::MAX)
        .min_message_latency(duration(latency_min))
        .max_message_latency(duration(plan.network.latency_max.max(latency_min)))
        // A process that hangs does not read, and turmoil panics when too many dial it.
        .tcp_capacity(1 << 14)
        .build()
}

/// All hosts: clients dial servers and the resource, servers dial each other.
fn add_hosts<L: Lock>(
    setup: &Setup<L>,
    sim: &mut Sim<'static>,
    conditions: &Conditions<L::Store>,
) -> Vec<Rc<Host>> {
    let shared = Arc::new(setup.clone());
    let servers = || (0..setup.servers).map(Node::Server);
    let nodes = (0..setup.workload.processes()).map(Node::Client).chain(servers()).chain([Node::Resource]);
    let mut hosts = Vec::new();
    for (position, node) in nodes.enumerate() {
        let host = Rc::new(Host::new(node));
        match node {
            Node::Client(me) => {
                let client = ClientNode::new(me, Monotonic::default(), shared.clone());
                let dials = servers().chain([Node::Resource]).collect();
                add(sim, position, &host, client, dials, conditions);
            }
            Node::Server(me) => {
                let server = ServerNode::new(me, setup.servers, setup.store.clone()).read_by::<L>();
                let dials = servers().filter(|other| *other != node).collect();
                add(sim, position, &host, server, dials, conditions);
            }
            Node::Resource => {
                add(sim, position, &host, ResourceNode::new(shared.clone()), Vec::new(), conditions);
            }
        }
        hosts.push(host);
    }
    hosts
}
