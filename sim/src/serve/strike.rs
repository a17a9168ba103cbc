//! Faults of a plan, as far as servers and the links to them feel them.

use super::condition::Direction;
use super::servers::{Served, Servers, State};
use crate::plans::plan::{Fault, Plan, Side, Target, When};
use crate::seeded::dice::{Dice, Stream};
use crate::seeded::network::Network;
use picklock_model::time::Micros;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::sleep;

/// Whether a fault strikes anything here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Felt {
    /// It does.
    Here,
    /// It is about clients, or about what nobody here can see.
    Elsewhere,
}

/// Slower, and a clock would stand still.
pub const DRIFT_PPM_MIN: i32 = -900_000;

/// What is to be done at a moment.
#[derive(Clone, Debug)]
enum Due {
    Strike(Fault),
    Restart(u8),
    Thaw(u8),
    /// A fault that ends by itself has ended.
    Over(usize),
    /// The clock goes the other way, so many times still.
    Strobe {
        server: u8,
        by: Micros,
        period: Micros,
        times: u16,
    },
}

impl<S: Served> Servers<S> {
    /// A fault strikes now. Its end, if it has one, needs nobody's attention but for a restart, a clock that stands still,
    /// and one that goes to and fro: those are [`Servers::follow`]'s.
    pub fn strike(&self, fault: &Fault) -> Felt {
        if !self.feels(fault) {
            return Felt::Elsewhere;
        }
        self.strike_numbered(fault);
        Felt::Here
    }

    /// A fault that is felt strikes; its number.
    fn strike_numbered(&self, fault: &Fault) -> usize {
        let (now, count) = (self.now(), self.count());
        let number = {
            let watch = &mut self.state().watch;
            let (servers, client) = struck(fault, Nodes { servers: count, clients: watch.record.clients() });
            watch.struck(now, fault, servers, client)
        };
        if let Fault::Crash { node, .. } | Fault::PowerLoss { node, .. } | Fault::Replace { node, .. } = fault
        {
            let Some(server) = server_of(*node, count) else { return number };
            self.crash(server, !matches!(fault, Fault::Crash { .. }));
            if let Fault::Replace { .. } = fault {
                self.lose_disk(server);
            }
            self.state().tally.faults += 1;
            return number;
        }
        self.change(|state| {
            let clients = state.watch.record.clients();
            let felt = state.strike(fault, Nodes { servers: count, clients }, now);
            state.tally.faults += u64::from(felt == Felt::Here);
        });
        number
    }

    /// Whether [`Servers::strike`] would find anything to strike.
    pub fn feels(&self, fault: &Fault) -> bool {
        let count = self.count();
        let nodes = Nodes { servers: count, clients: self.state().watch.record.clients() };
        let is_server = |node: &Target| server_of(*node, count).is_some();
        match fault {
            Fault::Pause { node, .. }
            | Fault::Crash { node, .. }
            | Fault::PowerLoss { node, .. }
            | Fault::ClockStep { node, .. }
            | Fault::Drift { node, .. }
            | Fault::Freeze { node, .. }
            | Fault::Strobe { node, .. }
            | Fault::Suspend { node, .. }
            | Fault::CoarseClock { node, .. }
            | Fault::Replace { node, .. } => is_server(node),
            Fault::Isolate { node, .. } => !Links::of(*node, nodes).is_empty(),
            Fault::Cut { from, to, .. } | Fault::Reset { between: from, and: to } => {
                !Links::between(from, to, nodes).is_empty()
            }
            Fault::SlowLink { from, to, .. } | Fault::LoseNext { from, to, .. } => {
                !Links::between(from, to, nodes).ways.is_empty()
            }
        }
    }

    /// Lets a plan happen, from now on until it heals: what is about servers, and at a time. `told` hears of each fault
    /// as it strikes, and when that is.
    pub async fn follow(&self, plan: &Plan, told: impl FnMut(Micros, &Fault)) {
        let (_nobody, mut aimed) = unbounded_channel();
        self.follow_aimed(plan, &mut aimed, told).await;
    }

    /// The same, and faults that somebody else aims strike as they come.
    pub(crate) async fn follow_aimed(
        &self,
        plan: &Plan,
        aimed: &mut UnboundedReceiver<Fault>,
        mut told: impl FnMut(Micros, &Fault),
    ) {
        let began = self.now();
        let mut agenda: BTreeMap<(Micros, usize), Due> = BTreeMap::new();
        let mut added = 0;
        let mut add = |agenda: &mut BTreeMap<(Micros, usize), Due>, at: Micros, due: Due| {
            added += 1;
            agenda.insert((at, added), due);
        };
        for planned in &plan.faults {
            match planned.when {
                When::At(at) if self.feels(&planned.fault) => {
                    add(&mut agenda, began + at, Due::Strike(planned.fault.clone()));
                }
                When::At(_) | When::Trigger { .. } => {}
            }
        }
        let network = over_tcp(plan.network);
        self.change(|state| {
            state.network = Some(network);
            state.plan_began = began;
        });
        let heal_at = began + plan.heal_at;
        loop {
            let next = agenda.first_key_value().map(|((at, _), _)| *at).filter(|at| *at < heal_at);
            let due = tokio::select! {
                biased;
                Some(fault) = aimed.recv() => Some((self.now(), Due::Strike(fault))),
                () = self.sleep_until(next.unwrap_or(heal_at)) => match next {
                    Some(_) => agenda.pop_first().map(|((at, _), due)| (at, due)),
                    None => None,
                },
            };
            let Some((at, due)) = due else { break };
            match due {
                Due::Strike(fault) if !self.feels(&fault) => {}
                Due::Strike(fault) => {
                    told(self.now(), &fault);
                    let number = self.strike_numbered(&fault);
                    for (after, due) in self.after(&fault) {
                        add(&mut agenda, at + after, due);
                    }
                    if let Some(length) = lasts(&fault) {
                        add(&mut agenda, at + length, Due::Over(number));
                    }
                }
                Due::Over(number) => {
                    let now = self.now();
                    self.state().watch.over(now, number);
                }
                Due::Restart(server) => {
                    self.restart(server);
                    self.notice(server, "starts again");
                }
                Due::Thaw(server) => {
                    self.change(|state| state.nodes[usize::from(server)].clock.unfreeze());
                    self.notice(server, "has a wall clock that goes on");
                }
                Due::Strobe { server, by, period, times } => {
                    self.change(|state| state.nodes[usize::from(server)].clock.step(by));
                    if times > 1 {
                        add(
                            &mut agenda,
                            at + period,
                            Due::Strobe { server, by: -by, period, times: times - 1 },
                        );
                    }
                }
            }
        }
        self.heal();
    }

    /// What is due at one moment is done in one go: not even a sleep of no length is between.
    async fn sleep_until(&self, at: Micros) {
        let now = self.now();
        if at > now {
            sleep(super::servers::duration(at - now)).await;
        }
    }

    /// Links are whole, processes run, clocks go on and show the true time: somebody has set them, which is a step.
    pub fn heal(&self) {
        for server in 0..self.count() {
            self.restart(server);
        }
        let now = self.now();
        self.change(|state| {
            state.network = None;
            state.cuts.clear();
            for node in &mut state.nodes {
                node.condition.heal();
                node.clock.unfreeze();
                node.clock.coarsen(Micros(1));
                node.clock.set_drift(0, now);
                node.clock.step(Micros(now.0 - node.clock.wall(now).0));
            }
            state.watch.healed(now);
        });
    }

    fn after(&self, fault: &Fault) -> Vec<(Micros, Due)> {
        let server = |node: &Target| server_of(*node, self.count());
        let one = |after: Option<Micros>, due: Option<Due>| after.zip(due).into_iter().collect();
        match fault {
            Fault::Crash { node, restart_after }
            | Fault::PowerLoss { node, restart_after }
            | Fault::Replace { node, restart_after } => one(*restart_after, server(node).map(Due::Restart)),
            Fault::Freeze { node, length } => one(Some(*length), server(node).map(Due::Thaw)),
            Fault::Strobe { node, by, period, times } if *times > 1 => {
                let next = |server| Due::Strobe { server, by: -*by, period: *period, times: times - 1 };
                one(Some(*period), server(node).map(next))
            }
            Fault::Strobe { .. }
            | Fault::Suspend { .. }
            | Fault::CoarseClock { .. }
            | Fault::Reset { .. }
            | Fault::Pause { .. }
            | Fault::ClockStep { .. }
            | Fault::Drift { .. }
            | Fault::Cut { .. }
            | Fault::Isolate { .. }
            | Fault::SlowLink { .. }
            | Fault::LoseNext { .. } => Vec::new(),
        }
    }
}

impl<S: Served> State<S> {
    fn strike(&mut self, fault: &Fault, nodes: Nodes, now: Micros) -> Felt {
        let server = |node: &Target| server_of(*node, nodes.servers).map(usize::from);
        match fault {
            Fault::Pause { node, length } => match server(node) {
                Some(server) => self.nodes[server].condition.pause(now + *length),
                None => return Felt::Elsewhere,
            },
            Fault::Suspend { node, length, wall_too } => match server(node) {
                Some(server) => self.nodes[server].suspend(now, now + *length, *wall_too),
                None => return Felt::Elsewhere,
            },
            Fault::CoarseClock { node, granularity } => match server(node) {
                Some(server) => self.nodes[server].clock.coarsen(*granularity),
                None => return Felt::Elsewhere,
            },
            Fault::Reset { between, and } => {
                let links = Links::between(between, and, nodes);
                if links.is_empty() {
                    return Felt::Elsewhere;
                }
                for &(server, client, _) in &links.ways {
                    self.nodes[usize::from(server)].condition.reset(client);
                }
                self.letters_retain(|from, to| {
                    !links.peers.contains(&(from, to)) && !links.peers.contains(&(to, from))
                });
            }
            Fault::ClockStep { node, by } | Fault::Strobe { node, by, .. } => match server(node) {
                Some(server) => self.nodes[server].clock.step(*by),
                None => return Felt::Elsewhere,
            },
            Fault::Drift { node, ppm } => match server(node) {
                Some(server) => self.nodes[server].clock.set_drift((*ppm).max(DRIFT_PPM_MIN), now),
                None => return Felt::Elsewhere,
            },
            Fault::Freeze { node, .. } => match server(node) {
                Some(server) => self.nodes[server].clock.freeze(now),
                None => return Felt::Elsewhere,
            },
            Fault::Isolate { node, length } => {
                let mut links = Links::of(*node, nodes);
                if links.is_empty() {
                    return Felt::Elsewhere;
                }
                links.add_reverse();
                self.cut(&links, now + *length);
            }
            Fault::Cut { from, to, both_ways, length } => {
                let mut links = Links::between(from, to, nodes);
                if *both_ways {
                    links.add_reverse();
                }
                if links.is_empty() {
                    return Felt::Elsewhere;
                }
                self.cut(&links, now + *length);
            }
            Fault::SlowLink { from, to, extra, length } => {
                let ways = Links::between(from, to, nodes).ways;
                if ways.is_empty() {
                    return Felt::Elsewhere;
                }
                for (server, client, direction) in ways {
                    let condition = &mut self.nodes[usize::from(server)].condition;
                    condition.slow(client, direction, *extra, now + *length);
                }
            }
            Fault::LoseNext { from, to, count: times } => {
                let ways = Links::between(from, to, nodes).ways;
                if ways.is_empty() {
                    return Felt::Elsewhere;
                }
                for (server, client, direction) in ways {
                    self.nodes[usize::from(server)].condition.lose_next(client, direction, *times);
                }
            }
            Fault::Crash { .. } | Fault::PowerLoss { .. } | Fault::Replace { .. } => {
                unreachable!("the end of a process is struck outside")
            }
        }
        Felt::Here
    }

    fn cut(&mut self, links: &Links, until: Micros) {
        for &(server, client, direction) in &links.ways {
            self.nodes[usize::from(server)].condition.cut(client, direction, until);
        }
        self.cuts.extend(links.peers.iter().map(|&(from, to)| (from, to, until)));
        // What is under way does not arrive, either.
        self.letters_retain(|from, to| !links.peers.contains(&(from, to)));
    }

    /// How long a client's message takes, and whether it is lost.
    pub(super) fn fate(
        &mut self,
        server: u8,
        client: Option<u8>,
        direction: Direction,
        now: Micros,
    ) -> (Micros, bool) {
        let condition = &mut self.nodes[usize::from(server)].condition;
        let mut is_lost = condition.loses(client, direction);
        let mut latency = condition.extra(client, direction, now);
        if let Some(network) = self.network {
            let longest = match self.dice.per_mille(network.tail_per_mille) {
                true => network.tail_max.max(network.latency_min),
                false => network.latency_max.max(network.latency_min),
            };
            latency = latency + Micros(self.dice.between(network.latency_min.0, longest.0));
            is_lost |= self.dice.per_mille(network.loss_per_mille);
            if direction == Direction::Reply {
                is_lost |= self.dice.per_mille(network.reply_loss_per_mille);
            }
        }
        self.tally.lost += u64::from(is_lost);
        if is_lost {
            let what = match direction {
                Direction::Request => "is not reached by a request, which is lost with its connection",
                Direction::Reply => "has a reply lost, with its connection: the command was run",
            };
            self.notice(server, now, what);
        }
        (latency, is_lost)
    }
}

/// The server that a plan names; `None`: it names a client.
pub(super) fn server_of(target: Target, count: u8) -> Option<u8> {
    match target {
        Target::Server(server) => Some(server % count),
        Target::Client(_) | Target::Struck | Target::Resource => None,
    }
}

/// Which servers a fault is about, and which client of a trial, if it is about one.
fn struck(fault: &Fault, nodes: Nodes) -> (Vec<u8>, Option<u8>) {
    let links = match fault {
        Fault::Pause { node, .. }
        | Fault::Crash { node, .. }
        | Fault::PowerLoss { node, .. }
        | Fault::ClockStep { node, .. }
        | Fault::Drift { node, .. }
        | Fault::Freeze { node, .. }
        | Fault::Strobe { node, .. }
        | Fault::Suspend { node, .. }
        | Fault::CoarseClock { node, .. }
        | Fault::Replace { node, .. } => {
            return (server_of(*node, nodes.servers).into_iter().collect(), None);
        }
        Fault::Isolate { node, .. } if server_of(*node, nodes.servers).is_some() => {
            return (server_of(*node, nodes.servers).into_iter().collect(), None);
        }
        Fault::Isolate { node, .. } => Links::of(*node, nodes),
        Fault::Cut { from, to, .. }
        | Fault::Reset { between: from, and: to }
        | Fault::SlowLink { from, to, .. }
        | Fault::LoseNext { from, to, .. } => Links::between(from, to, nodes),
    };
    let ways = links.ways.iter().map(|(server, ..)| *server);
    let peers = links.peers.iter().flat_map(|(from, to)| [*from, *to]);
    let servers: BTreeSet<u8> = ways.chain(peers).collect();
    let clients: BTreeSet<Option<u8>> = links.ways.iter().map(|(_, client, _)| *client).collect();
    let one = clients.first().copied().flatten().filter(|_| clients.len() == 1);
    (servers.into_iter().collect(), one)
}

/// After how long a fault is over; `None`: at once, or when all is healed.
fn lasts(fault: &Fault) -> Option<Micros> {
    match fault {
        Fault::Pause { length, .. }
        | Fault::Suspend { length, .. }
        | Fault::Freeze { length, .. }
        | Fault::Isolate { length, .. }
        | Fault::Cut { length, .. }
        | Fault::SlowLink { length, .. } => Some(*length),
        Fault::Strobe { period, times, .. } => Some(Micros(period.0.saturating_mul((*times).into()))),
        Fault::Crash { restart_after, .. }
        | Fault::PowerLoss { restart_after, .. }
        | Fault::Replace { restart_after, .. } => *restart_after,
        Fault::ClockStep { .. }
        | Fault::Drift { .. }
        | Fault::CoarseClock { .. }
        | Fault::Reset { .. }
        | Fault::LoseNext { .. } => None,
    }
}

/// Who is there.
#[derive(Clone, Copy, Debug)]
struct Nodes {
    servers: u8,
    /// How many clients of a trial, each of which is known by its port. None: whoever comes is just a client.
    clients: u8,
}

/// Links that a plan names.
#[derive(Debug, Default, PartialEq, Eq)]
struct Links {
    /// Between a server and one client, or all of them.
    ways: Vec<(u8, Option<u8>, Direction)>,
    /// From server to server.
    peers: Vec<(u8, u8)>,
}

impl Links {
    /// From one side to the other, as [`Cast::links`](crate::seeded::cast::Cast::links) has them. The links of single clients are here in
    /// a trial: nobody else knows which client of the plan a connection is.
    fn between(from: &Side, to: &Side, nodes: Nodes) -> Links {
        match (from, to) {
            (Side::Everybody, Side::Everybody) => Links::all(nodes),
            // What comes in goes out the other way round.
            (Side::Everybody, to) => Links::out_of(to, &Side::Everybody, nodes).reversed(),
            (from, to) => Links::out_of(from, to, nodes),
        }
    }

    fn all(nodes: Nodes) -> Links {
        let mut links = Links::out_of(&Side::Clients, &Side::Servers, nodes);
        links.add_reverse();
        let servers = 0..nodes.servers;
        let peers = servers.clone().flat_map(|from| servers.clone().map(move |to| (from, to)));
        links.peers = peers.filter(|(from, to)| from != to).collect();
        links
    }

    /// From some nodes to the other side. Who is on both sides counts as `from`.
    fn out_of(from: &Side, to: &Side, nodes: Nodes) -> Links {
        let (from_clients, from_servers) = members(from, nodes);
        let (to_clients, to_servers) = members(to, nodes);
        let to_servers: Vec<u8> =
            to_servers.into_iter().filter(|server| !from_servers.contains(server)).collect();
        let to_clients: Vec<Option<u8>> = match from_clients.as_slice() {
            [] => to_clients,
            // All of them are on that side.
            [None] => Vec::new(),
            some if to_clients == [None] => {
                (0..nodes.clients).map(Some).filter(|client| !some.contains(client)).collect()
            }
            some => to_clients.into_iter().filter(|client| !some.contains(client)).collect(),
        };
        let mut links = Links::default();
        for &server in &to_servers {
            links.ways.extend(from_clients.iter().map(|client| (server, *client, Direction::Request)));
            links.peers.extend(from_servers.iter().map(|from| (*from, server)));
        }
        for &server in &from_servers {
            links.ways.extend(to_clients.iter().map(|client| (server, *client, Direction::Reply)));
        }
        links
    }

    /// From one node to all others.
    fn of(node: Target, nodes: Nodes) -> Links {
        Links::between(&Side::Nodes(SmallVec::from_iter([node])), &Side::Everybody, nodes)
    }

    fn reversed(&self) -> Links {
        let reverse = |direction| match direction {
            Direction::Request => Direction::Reply,
            Direction::Reply => Direction::Request,
        };
        let ways = self.ways.iter().map(|(server, client, way)| (*server, *client, reverse(*way)));
        Links { ways: ways.collect(), peers: self.peers.iter().map(|(from, to)| (*to, *from)).collect() }
    }

    fn add_reverse(&mut self) {
        let Links { ways, peers } = self.reversed();
        self.ways.extend(ways);
        self.peers.extend(peers);
    }

    fn is_empty(&self) -> bool {
        self.ways.is_empty() && self.peers.is_empty()
    }
}

/// Which clients are among these (`None`: all of them), and which servers.
fn members(side: &Side, nodes: Nodes) -> (Vec<Option<u8>>, Vec<u8>) {
    let servers = || (0..nodes.servers).collect();
    match side {
        Side::Everybody => (vec![None], servers()),
        Side::Clients => (vec![None], Vec::new()),
        Side::Servers => (Vec::new(), servers()),
        Side::Resource => (Vec::new(), Vec::new()),
        Side::Nodes(named) => {
            let client = |node: &Target| match node {
                Target::Client(client) => client.checked_rem(nodes.clients).map(Some),
                Target::Server(_) | Target::Struck | Target::Resource => None,
            };
            let clients = named.iter().filter_map(client).collect();
            (clients, named.iter().filter_map(|node| server_of(*node, nodes.servers)).collect())
        }
    }
}

/// A network, as connections feel it: nothing comes twice out of a stream of TCP.
pub fn over_tcp(network: Network) -> Network {
    Network { duplicate_per_mille: 0, ..network }
}

/// A random plan, turned to where it can be felt here: faults that wait for what a client does strike at a time drawn from
/// the seed, those of clients strike a server.
pub fn for_servers(plan: Plan, seed: u64, count: u8, horizon: Micros) -> Plan {
    let mut dice = Dice::new(seed, Stream::Choice);
    let mut faults = plan.faults;
    for planned in &mut faults {
        if let When::Trigger { .. } = planned.when {
            planned.when = When::At(Micros(dice.between(0, horizon.0)));
        }
        let mut turn = |node: &mut Target| {
            if server_of(*node, count).is_none() {
                *node = Target::Server(dice.below(u64::from(count)) as u8);
            }
        };
        match &mut planned.fault {
            Fault::Pause { node, .. }
            | Fault::Crash { node, .. }
            | Fault::PowerLoss { node, .. }
            | Fault::ClockStep { node, .. }
            | Fault::Drift { node, .. }
            | Fault::Freeze { node, .. }
            | Fault::Strobe { node, .. }
            | Fault::Suspend { node, .. }
            | Fault::CoarseClock { node, .. }
            | Fault::Replace { node, .. }
            | Fault::Isolate { node, .. } => turn(node),
            Fault::Cut { from, to, .. }
            | Fault::Reset { between: from, and: to }
            | Fault::SlowLink { from, to, .. }
            | Fault::LoseNext { from, to, .. } => {
                for side in [from, to] {
                    if let Side::Nodes(nodes) = side
                        && nodes.iter().any(|node| server_of(*node, count).is_none())
                    {
                        *side = Side::Clients;
                    }
                }
            }
        }
    }
    Plan { faults, ..plan }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::cast::Cast;
    use crate::serve::redis::{Instance, Settings};
    use picklock_model::machine::Node;

    const ONE: Nodes = Nodes { servers: 1, clients: 0 };

    fn nodes(targets: &[Target]) -> Side {
        Side::Nodes(SmallVec::from_iter(targets.iter().copied()))
    }

    #[test]
    fn a_client_of_a_trial_has_links_of_its_own_and_nobody_else_has() {
        let trial = Nodes { servers: 2, clients: 2 };
        let cut_off = Links::of(Target::Client(3), trial);
        assert_eq!(cut_off.ways, [(0, Some(1), Direction::Request), (1, Some(1), Direction::Request)]);
        assert!(cut_off.peers.is_empty());
        assert!(
            Links::of(Target::Client(3), Nodes { clients: 0, ..trial }).is_empty(),
            "served, and not tried"
        );
        let all = Links::between(&Side::Clients, &nodes(&[Target::Server(0)]), trial);
        assert_eq!(all.ways, [(0, None, Direction::Request)]);
        // One client and one server on this side, whoever is left on the other.
        let half = Links::between(&nodes(&[Target::Client(0), Target::Server(0)]), &Side::Everybody, trial);
        assert_eq!(half.ways, [(1, Some(0), Direction::Request), (0, Some(1), Direction::Reply)]);
        assert_eq!(half.peers, [(0, 1)]);
    }

    /// The same links one by one, of those that have a server at one end or both.
    fn one_by_one(links: &Links, nodes: Nodes) -> BTreeSet<(Node, Node)> {
        let of_client = |server: u8, client: u8, way: Direction| match way {
            Direction::Request => (Node::Client(client), Node::Server(server)),
            Direction::Reply => (Node::Server(server), Node::Client(client)),
        };
        let ways = links.ways.iter().flat_map(|&(server, client, way)| {
            let clients = client.map_or(0..nodes.clients, |client| client..client + 1);
            clients.map(move |client| of_client(server, client, way))
        });
        let peers = links.peers.iter().map(|&(from, to)| (Node::Server(from), Node::Server(to)));
        ways.chain(peers).collect()
    }

    #[test]
    fn whatever_two_sides_are_named_the_links_are_those_of_a_seeded_run() {
        let trial = Nodes { servers: 3, clients: 3 };
        let cast = Cast { clients: trial.clients, servers: trial.servers, struck: 0 };
        let all = [0, 1, 2].map(Target::Client).into_iter().chain([0, 1, 2].map(Target::Server));
        let all: Vec<Target> = all.chain([Target::Resource]).collect();
        let some = (0..1 << all.len()).map(|bits: usize| {
            nodes(
                &(0..all.len())
                    .filter(|place| bits >> place & 1 == 1)
                    .map(|place| all[place])
                    .collect::<Vec<_>>(),
            )
        });
        let words = [Side::Everybody, Side::Clients, Side::Servers, Side::Resource];
        let sides: Vec<Side> = words.into_iter().chain(some).collect();
        for (from, to) in sides.iter().flat_map(|from| sides.iter().map(move |to| (from, to))) {
            let links = Links::between(from, to, trial);
            let is_here = |node: Node| matches!(node, Node::Server(_));
            let seeded = cast.links(from, to).filter(|(one, other)| {
                (is_here(*one) || is_here(*other)) && *one != Node::Resource && *other != Node::Resource
            });
            assert_eq!(one_by_one(&links, trial), seeded.collect(), "{from} to {to}");
        }
    }

    #[test]
    fn everybody_is_a_sender_as_well() {
        let (first, length) = (nodes(&[Target::Server(0)]), Micros::seconds(1));
        let served = Nodes { servers: 2, clients: 0 };
        let links = |to: &Side| Links::between(&Side::Everybody, to, served);
        assert_eq!(links(&first).ways, [(0, None, Direction::Request)]);
        assert_eq!(links(&first).peers, [(1, 0)]);
        assert_eq!(links(&Side::Clients).ways, [(0, None, Direction::Reply), (1, None, Direction::Reply)]);
        assert!(links(&Side::Resource).is_empty(), "it is not here");
        let servers: Servers<Instance> = Servers::new(2, Settings::default());
        let (from, to) = (Side::Everybody, Side::Everybody);
        let lost = Fault::LoseNext { from: from.clone(), to: to.clone(), count: 1 };
        let reset = Fault::Reset { between: from.clone(), and: to.clone() };
        let cut = Fault::Cut { from, to, both_ways: true, length };
        for fault in [lost, reset, cut] {
            assert_eq!(servers.strike(&fault), Felt::Here, "{fault}");
        }
        assert_eq!(servers.state().tally.faults, 3);
        let idle = Fault::Cut { from: Side::Servers, to: first, both_ways: true, length };
        assert_eq!(servers.strike(&idle), Felt::Elsewhere);
        assert_eq!(servers.state().tally.faults, 3);
    }

    #[test]
    fn a_fault_of_one_client_s_links_is_about_that_client() {
        let trial = Nodes { servers: 2, clients: 2 };
        let length = Micros::seconds(1);
        let cut_off = |node| struck(&Fault::Isolate { node, length }, trial);
        assert_eq!(cut_off(Target::Client(1)), (vec![0, 1], Some(1)));
        assert_eq!(cut_off(Target::Server(1)), (vec![1], None));
        let both = Fault::Cut { from: Side::Clients, to: Side::Servers, both_ways: true, length };
        assert_eq!(struck(&both, trial), (vec![0, 1], None));
    }

    #[test]
    fn healed_clocks_show_the_true_time() {
        let servers: Servers<Instance> = Servers::new(1, Settings::default());
        let (node, by) = (Target::Server(0), Micros::seconds(-20));
        servers.strike(&Fault::ClockStep { node, by });
        servers.strike(&Fault::Drift { node, ppm: 50_000 });
        servers.strike(&Fault::Freeze { node, length: Micros::seconds(5) });
        servers.heal();
        let later = servers.now() + Micros::seconds(100);
        let error = servers.state().nodes[0].clock.wall(later).0 - later.0;
        assert!(error.abs() < 1_000, "{error} us");
    }

    fn suspend(state: &mut State<Instance>, at_seconds: i64, seconds: i64) {
        let (node, length) = (Target::Server(0), Micros::seconds(seconds));
        let fault = Fault::Suspend { node, length, wall_too: false };
        assert_eq!(state.strike(&fault, ONE, Micros::seconds(at_seconds)), Felt::Here);
    }

    /// Whole seconds, for a clock is a microsecond ahead after each suspension.
    fn lost_seconds(state: &State<Instance>) -> i64 {
        let late = Micros::seconds(1000);
        let lost = Micros(late.0 - state.nodes[0].clock.monotonic(late).0);
        (lost + Micros::millis(1)).whole_seconds()
    }

    #[test]
    fn suspensions_that_overlap_take_the_time_they_share_once() {
        let servers = Servers::new(1, Settings::default());
        let state: &mut State<Instance> = &mut servers.state();
        suspend(state, 10, 10);
        suspend(state, 15, 10);
        suspend(state, 16, 1);
        assert_eq!(lost_seconds(state), 15);
        suspend(state, 40, 2);
        assert_eq!(lost_seconds(state), 17);
    }

    #[test]
    fn a_machine_that_is_down_is_not_suspended() {
        let servers = Servers::new(1, Settings::default());
        let state: &mut State<Instance> = &mut servers.state();
        state.nodes[0].condition.crash(false);
        suspend(state, 10, 10);
        assert_eq!(lost_seconds(state), 0);
    }
}
