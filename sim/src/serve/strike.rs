//! Faults of a plan, as far as servers and the links to them feel them.

use super::condition::Direction;
use super::servers::{Served, Servers, State};
use crate::plans::plan::{Fault, Plan, Side, Target, When};
use crate::seeded::dice::{Dice, Stream};
use crate::seeded::network::Network;
use picklock_model::time::Micros;
use smallvec::SmallVec;
use std::collections::BTreeMap;
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
        let number = self.state().watch.struck(now, fault, struck(fault, count), None);
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
            let felt = state.strike(fault, count, now);
            state.tally.faults += u64::from(felt == Felt::Here);
        });
        number
    }

    /// Whether [`Servers::strike`] would find anything to strike.
    pub fn feels(&self, fault: &Fault) -> bool {
        let count = self.count();
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
            | Fault::Replace { node, .. }
            | Fault::Isolate { node, .. } => is_server(node),
            Fault::Cut { from, to, .. } | Fault::Reset { between: from, and: to } => {
                !Links::between(from, to, count).is_empty()
            }
            Fault::SlowLink { from, to, .. } | Fault::LoseNext { from, to, .. } => {
                !Links::between(from, to, count).ways.is_empty()
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
        // Nothing comes twice out of a stream of TCP.
        let network = Network { duplicate_per_mille: 0, ..plan.network };
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
    fn strike(&mut self, fault: &Fault, count: u8, now: Micros) -> Felt {
        let server = |node: &Target| server_of(*node, count).map(usize::from);
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
                let links = Links::between(between, and, count);
                if links.is_empty() {
                    return Felt::Elsewhere;
                }
                for &(server, _) in &links.ways {
                    self.nodes[usize::from(server)].condition.reset();
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
            Fault::Isolate { node, length } => match server_of(*node, count) {
                Some(server) => {
                    let alone = Side::Nodes(SmallVec::from_iter([Target::Server(server)]));
                    let mut links = Links::between(&alone, &Side::Everybody, count);
                    links.add_reverse();
                    self.cut(&links, now + *length);
                }
                None => return Felt::Elsewhere,
            },
            Fault::Cut { from, to, both_ways, length } => {
                let mut links = Links::between(from, to, count);
                if *both_ways {
                    links.add_reverse();
                }
                if links.is_empty() {
                    return Felt::Elsewhere;
                }
                self.cut(&links, now + *length);
            }
            Fault::SlowLink { from, to, extra, length } => {
                let ways = Links::between(from, to, count).ways;
                if ways.is_empty() {
                    return Felt::Elsewhere;
                }
                for (server, direction) in ways {
                    self.nodes[usize::from(server)].condition.slow(direction, *extra, now + *length);
                }
            }
            Fault::LoseNext { from, to, count: times } => {
                let ways = Links::between(from, to, count).ways;
                if ways.is_empty() {
                    return Felt::Elsewhere;
                }
                for (server, direction) in ways {
                    self.nodes[usize::from(server)].condition.lose_next(direction, *times);
                }
            }
            Fault::Crash { .. } | Fault::PowerLoss { .. } | Fault::Replace { .. } => {
                unreachable!("the end of a process is struck outside")
            }
        }
        Felt::Here
    }

    fn cut(&mut self, links: &Links, until: Micros) {
        for &(server, direction) in &links.ways {
            self.nodes[usize::from(server)].condition.cut(direction, until);
        }
        self.cuts.extend(links.peers.iter().map(|&(from, to)| (from, to, until)));
        // What is under way does not arrive, either.
        self.letters_retain(|from, to| !links.peers.contains(&(from, to)));
    }

    /// How long a client's message takes, and whether it is lost.
    pub(super) fn fate(&mut self, server: u8, direction: Direction, now: Micros) -> (Micros, bool) {
        let condition = &mut self.nodes[usize::from(server)].condition;
        let mut is_lost = condition.loses(direction);
        let mut latency = condition.extra(direction, now);
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

/// Which servers a fault is about.
fn struck(fault: &Fault, count: u8) -> Vec<u8> {
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
        | Fault::Replace { node, .. }
        | Fault::Isolate { node, .. } => server_of(*node, count).into_iter().collect(),
        Fault::Cut { from, to, .. }
        | Fault::Reset { between: from, and: to }
        | Fault::SlowLink { from, to, .. }
        | Fault::LoseNext { from, to, .. } => {
            let links = Links::between(from, to, count);
            let ways = links.ways.iter().map(|(server, _)| *server);
            let peers = links.peers.iter().flat_map(|(from, to)| [*from, *to]);
            let servers: std::collections::BTreeSet<u8> = ways.chain(peers).collect();
            servers.into_iter().collect()
        }
    }
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

/// Links that a plan names.
#[derive(Debug, Default)]
struct Links {
    /// Between the clients, all of them, and a server.
    ways: Vec<(u8, Direction)>,
    /// From server to server.
    peers: Vec<(u8, u8)>,
}

impl Links {
    /// From one side to the other. Who is on both sides counts as `from`. The links of single clients are not here: nobody
    /// knows which client of the plan a connection is.
    fn between(from: &Side, to: &Side, count: u8) -> Links {
        let (from_clients, from_servers) = members(from, count);
        let (to_clients, to_servers) = members(to, count);
        let to_servers: Vec<u8> =
            to_servers.into_iter().filter(|server| !from_servers.contains(server)).collect();
        let mut links = Links::default();
        for &server in &to_servers {
            if from_clients {
                links.ways.push((server, Direction::Request));
            }
            links.peers.extend(from_servers.iter().map(|from| (*from, server)));
        }
        if to_clients && !from_clients {
            links.ways.extend(from_servers.iter().map(|server| (*server, Direction::Reply)));
        }
        links
    }

    fn add_reverse(&mut self) {
        let reverse = |direction| match direction {
            Direction::Request => Direction::Reply,
            Direction::Reply => Direction::Request,
        };
        let ways: Vec<_> = self.ways.iter().map(|(server, way)| (*server, reverse(*way))).collect();
        let peers: Vec<_> = self.peers.iter().map(|(from, to)| (*to, *from)).collect();
        self.ways.extend(ways);
        self.peers.extend(peers);
    }

    fn is_empty(&self) -> bool {
        self.ways.is_empty() && self.peers.is_empty()
    }
}

/// Whether the clients are among these, and which servers are.
fn members(side: &Side, count: u8) -> (bool, Vec<u8>) {
    match side {
        Side::Everybody => (true, (0..count).collect()),
        Side::Clients => (true, Vec::new()),
        Side::Servers => (false, (0..count).collect()),
        Side::Resource => (false, Vec::new()),
        Side::Nodes(nodes) => (false, nodes.iter().filter_map(|node| server_of(*node, count)).collect()),
    }
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
    use crate::serve::redis::{Instance, Settings};

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
        assert_eq!(state.strike(&fault, 1, Micros::seconds(at_seconds)), Felt::Here);
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
