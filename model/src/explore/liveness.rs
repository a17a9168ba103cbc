//! Liveness: "P leads to Q, if the schedule is fair", judged on the explored graph.
//!
//! The promise fails iff some reachable state with P and not Q leads, through states without Q, into a strongly
//! connected component in which the schedule can stay for ever without being unfair: every owed action is disabled in
//! one of its states, or taken by one of its edges (weak fairness). A state in which nothing is owed any more is such a
//! component by itself. (stateright's `eventually` misses cycles and joins and knows
//! no fairness.)
//!
//! Where time passes in steps of its own, a schedule that stays somewhere for ever lets it pass, or else has a reason that is none of the
//! applications' doing: a client that asks, is refused and asks again would keep a lease from ever coming to its end, by asking without end in
//! no time at all. A machine that polls without a pause may do that.
//!
//! What clients draw by chance ([`crate::machine::Lock::choices`]) is either the adversary's choice, too, or dice
//! ([`Draws`]). With dice a promise fails only if the adversary can break it whatever is drawn: the schedule stays in a
//! component for ever with a probability above zero iff no draw that is taken in it leads out of it (an end component of
//! the Markov decision process). Whoever backs off for a random time needs that: an adversary who also rolls the dice
//! makes all clients wait equally long, for ever.

use super::label::debt_of_time;
use super::scc::{Rows, components};
use super::search::{Edge, Exploration, Graph, Limits, StateId, Verdict};
use super::{Path, Space};
use crate::system::System;
use crate::world::World;
use picklock_properties::{
    ClientId, DeadlockFreedom, LockId, Monitors, Promise, ReleaseEnds, StarvationFreedom, Usage,
};
use std::collections::VecDeque;
use std::rc::Rc;

/// A promise of progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// If somebody waits and nobody holds, somebody will hold. Of several locks: the first one.
    DeadlockFreedom,
    /// The same, of this lock.
    DeadlockFreedomOf(LockId),
    /// If this client waits, it will hold.
    StarvationFreedom(ClientId),
    /// If this client releases a lock, it will be done with that.
    ReleaseEnds(ClientId),
    /// If `try_lock` callers contend for a free lock (the first one), one of them will hold. The space must watch
    /// [`Promise::Theorem3`].
    Theorem3,
    /// Somebody will have held, whatever happens first.
    SomebodyIsGranted,
}

impl Goal {
    /// The promise that the goal is an instance of.
    pub fn promise(self) -> Promise {
        match self {
            Goal::DeadlockFreedom | Goal::DeadlockFreedomOf(_) => Promise::DeadlockFreedom,
            Goal::StarvationFreedom(_) => Promise::StarvationFreedom,
            Goal::ReleaseEnds(_) => Promise::ReleaseEnds,
            Goal::Theorem3 => Promise::Theorem3,
            Goal::SomebodyIsGranted => Promise::DeadlockFreedom,
        }
    }

    /// What never happens in a loop that breaks it.
    pub fn never(self) -> String {
        match self {
            Goal::DeadlockFreedom => "nobody is granted the lock".to_owned(),
            Goal::DeadlockFreedomOf(lock) => format!("nobody is granted {lock}"),
            Goal::StarvationFreedom(client) => format!("{client} is not granted the lock"),
            Goal::ReleaseEnds(client) => format!("{client} is not done with its release"),
            Goal::Theorem3 => "no caller of try_lock is granted the lock".to_owned(),
            Goal::SomebodyIsGranted => "nobody was ever granted the lock".to_owned(),
        }
    }

    /// Whether the promise is owed in this state (P) of a space, and whether it is kept (Q).
    pub fn owed_and_served<Y: System>(self, space: &Space<Y>, world: &World<Y>) -> (bool, bool) {
        self.judge(&world.cluster.monitors, space.setup.workload.clients)
    }

    /// The same, by what was observed of each lock that so many clients use.
    fn judge(self, locks: &[Monitors], clients: u8) -> (bool, bool) {
        let of = |lock: LockId| &locks[usize::from(lock.0)];
        match self {
            Goal::DeadlockFreedom => Goal::DeadlockFreedomOf(LockId(0)).judge(locks, clients),
            Goal::DeadlockFreedomOf(lock) => {
                let usage = of(lock).usage();
                (DeadlockFreedom::owed(usage), DeadlockFreedom::served(usage))
            }
            Goal::StarvationFreedom(client) => {
                let usage = Usage::of_all(locks);
                (StarvationFreedom::owed(&usage, client), StarvationFreedom::served(&usage, client))
            }
            Goal::ReleaseEnds(client) => {
                let usage = Usage::of_all(locks);
                (ReleaseEnds::owed(&usage, client), ReleaseEnds::served(&usage, client))
            }
            Goal::Theorem3 => {
                let theorem = of(LockId(0)).theorem_3();
                (theorem.owed(), theorem.served())
            }
            Goal::SomebodyIsGranted => {
                let usage = Usage::of_all(locks);
                // Of clients that have all crashed nobody can be.
                let is_over = (0..clients).all(|client| usage.crashed.contains(ClientId(client)));
                (true, is_over || !usage.granted.is_empty())
            }
        }
    }
}

/// Who decides what clients draw by chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Draws {
    /// The adversary, like everything else: the promise is to be kept whatever comes.
    Adversary,
    /// Dice: the promise is to be kept with probability one.
    Dice,
}

/// A fair schedule on which the promise is never kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lasso {
    /// From the first state to the loop.
    pub stem: Path,
    /// Round the loop, for ever; empty if nothing can happen any more.
    pub cycle: Path,
    /// How many owed actions the loop has to be fair to: each is taken in it, or not possible somewhere in it.
    pub owed_actions: usize,
}

/// Explores the whole space and judges each goal. `None` for a goal: the promise is kept. Nothing is judged if the space
/// was not exhausted ([`Exploration::verdict`] says so). A world in which a watched promise broke is an end in the graph:
/// watch only what the goals need.
///
/// # Panics
/// If more than 8 goals are asked for at once, or the space has a boundary that is not part of the world
/// ([`crate::world::Bounds::link_messages_max`]).
pub fn check_liveness<Y: System>(
    space: &Space<Y>,
    goals: &[Goal],
    draws: Draws,
    limits: &Limits,
) -> (Exploration, Vec<Option<Lasso>>) {
    assert!(goals.len() <= 8, "a state keeps flags for 8 goals");
    assert_eq!(space.bounds.link_messages_max, 0, "a liveness check must not stop at a boundary");
    let flags = |locks: &[Monitors]| {
        goals.iter().enumerate().fold(0_u16, |flags, (position, goal)| {
            let (owed, served) = goal.judge(locks, space.setup.workload.clients);
            flags | u16::from(owed) << (2 * position) | u16::from(served) << (2 * position + 1)
        })
    };
    let graph = Graph::build(space, limits, Some(&flags));
    if graph.exploration.verdict != Verdict::Verified {
        return (graph.exploration, vec![None; goals.len()]);
    }
    let time = space.bounds.latency_ticks.map(|_| debt_of_time());
    let edges = Edges::new(&graph, draws, time);
    let lassos = (0..goals.len()).map(|goal| edges.judge(&graph, goal)).collect();
    (graph.exploration, lassos)
}

/// All edges by the state they leave from.
struct Edges {
    starts: Vec<u32>,
    targets: Vec<u32>,
    labels: Vec<u32>,
    actions: Vec<u16>,
    depths: Vec<u32>,
    /// Draws of several numbers: their edges, which lie side by side. None where the adversary draws.
    draws: Vec<(u32, std::ops::Range<u32>)>,
    /// What the passing of time is called, where it passes in steps of its own.
    time: Option<u32>,
}

/// A component in which a schedule may stay, and which edges it may take there.
type Usable = Option<Rc<[bool]>>;

const UNREACHED: u32 = u32::MAX;

impl Edges {
    fn new(graph: &Graph, draws: Draws, time: Option<u32>) -> Edges {
        let numbers = graph.numbers();
        let mut starts = vec![0_u32; numbers + 1];
        graph.edges().for_each(|edge| starts[edge.from.0 as usize + 1] += 1);
        for node in 0..numbers {
            starts[node + 1] += starts[node];
        }
        let count = starts[numbers] as usize;
        let mut sorted: Vec<Option<Edge>> = vec![None; count];
        let mut next = starts.clone();
        for edge in graph.edges() {
            let at = &mut next[edge.from.0 as usize];
            sorted[*at as usize] = Some(*edge);
            *at += 1;
        }
        // The edges of one state arrive from several shards: put them into the order of its actions.
        for node in 0..numbers {
            let range = starts[node] as usize..starts[node + 1] as usize;
            sorted[range].sort_unstable_by_key(|edge| edge.map(|edge| edge.action));
        }
        let mut edges = Edges {
            starts,
            targets: sorted.iter().flatten().map(|edge| edge.to.0).collect(),
            labels: sorted.iter().flatten().map(|edge| edge.label).collect(),
            actions: sorted.iter().flatten().map(|edge| edge.action).collect(),
            depths: Vec::new(),
            draws: Vec::new(),
            time,
        };
        if draws == Draws::Dice {
            edges.draws = edges.find_draws(&sorted);
        }
        edges.depths = edges.distances(numbers, &mut VecDeque::from([(graph.first().0, 0)]));
        edges
    }

    /// The runs of edges that differ only in what was drawn.
    fn find_draws(&self, sorted: &[Option<Edge>]) -> Vec<(u32, std::ops::Range<u32>)> {
        let mut draws: Vec<(u32, std::ops::Range<u32>)> = Vec::new();
        for (at, edge) in (0_u32..).zip(sorted) {
            let Some(edge) = edge.filter(|edge| edge.is_redrawn) else { continue };
            match draws.last_mut() {
                Some((_, run)) if run.end == at => run.end += 1,
                Some(_) | None => draws.push((edge.from.0, at - 1..at + 1)),
            }
        }
        draws
    }

    /// The components in which a schedule can stay, and which edges it may take there: where clients roll dice, none of
    /// a draw that may lead out.
    fn end_components(
        &self,
        inside: &dyn Fn(u32) -> bool,
        edges: Option<Vec<bool>>,
    ) -> (Vec<Vec<u32>>, Option<Vec<bool>>) {
        let found_with = |usable: Option<&[bool]>| {
            components(&Rows { starts: &self.starts, targets: &self.targets, usable }, inside)
        };
        let mut found = found_with(edges.as_deref());
        if self.draws.is_empty() {
            return (found, edges);
        }
        let mut usable = edges.unwrap_or_else(|| vec![true; self.targets.len()]);
        loop {
            let mut component_of = vec![UNREACHED; self.depths.len()];
            for (number, component) in (0_u32..).zip(&found) {
                component.iter().for_each(|node| component_of[*node as usize] = number);
            }
            let mut changed = false;
            for (from, run) in &self.draws {
                let home = component_of[*from as usize];
                let run = run.start as usize..run.end as usize;
                if home == UNREACHED || !usable[run.start] {
                    continue;
                }
                if run.clone().any(|edge| component_of[self.targets[edge] as usize] != home) {
                    usable[run].fill(false);
                    changed = true;
                }
            }
            if !changed {
                return (found, Some(usable));
            }
            found = found_with(Some(&usable));
        }
    }

    fn of(&self, node: u32) -> std::ops::Range<usize> {
        self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize
    }

    fn distances(&self, numbers: usize, queue: &mut VecDeque<(u32, u32)>) -> Vec<u32> {
        let mut distances = vec![UNREACHED; numbers];
        while let Some((node, distance)) = queue.pop_front() {
            if distances[node as usize] != UNREACHED {
                continue;
            }
            distances[node as usize] = distance;
            queue.extend(self.of(node).map(|edge| (self.targets[edge], distance + 1)));
        }
        distances
    }

    /// A lasso on which goal number `goal` is owed and never served, if there is a fair one; the shortest stem.
    fn judge(&self, graph: &Graph, goal: usize) -> Option<Lasso> {
        let (owed, served) = (1_u16 << (2 * goal), 2_u16 << (2 * goal));
        let flags: Vec<Option<u16>> =
            (0..graph.numbers() as u32).map(|node| graph.flags(StateId(node))).collect();
        let unserved = |node: u32| flags[node as usize].is_some_and(|flags| flags & served == 0);
        let is_source =
            |node: u32| unserved(node) && flags[node as usize].is_some_and(|flags| flags & owed != 0);

        let reach = self.reach(is_source, &unserved);
        let inside = |node: u32| reach[node as usize].distance != UNREACHED;
        let mut fair: Vec<(Vec<u32>, Usable)> = Vec::new();
        let mut timeless = vec![false; flags.len()];
        self.stays(&inside, None, &mut |stay, component, usable| {
            if stay.lets_time_pass(&component) {
                if stay.is_fair(&component) {
                    fair.push((component, usable.clone()));
                }
                return;
            }
            let is_left = |node: &&u32| !stay.time_may_pass(**node);
            component.iter().filter(is_left).for_each(|node| timeless[*node as usize] = true);
        });
        // Of these, what is left without the states in which time may pass, and without new requests of applications.
        if timeless.contains(&true) {
            let is_owed = self.labels.iter().map(|label| *label != 0).collect();
            self.stays(&|node| timeless[node as usize], Some(is_owed), &mut |stay, component, usable| {
                if stay.is_fair(&component) {
                    fair.push((component, usable.clone()));
                }
            });
        }
        // The nearest entry into a fair component; equal ones by number, so that the choice is the same everywhere.
        let entry_of =
            |component: &Vec<u32>| component.iter().map(|&node| (reach[node as usize].distance, node)).min();
        let (component, usable) = fair.into_iter().min_by_key(|(component, _)| entry_of(component))?;
        let (_, entry) = entry_of(&component)?;
        let stay = Stay { edges: self, usable: usable.as_deref() };
        let (cycle, owed_actions) = stay.tour(&component, entry);
        Some(Lasso { stem: self.stem(graph, &reach, entry), cycle, owed_actions })
    }

    /// Each component in which a schedule can stay, by these edges if not by all.
    fn stays(
        &self,
        inside: &dyn Fn(u32) -> bool,
        edges: Option<Vec<bool>>,
        each: &mut dyn FnMut(&Stay, Vec<u32>, &Usable),
    ) {
        let (found, usable) = self.end_components(inside, edges);
        let usable: Usable = usable.map(Rc::from);
        let stay = Stay { edges: self, usable: usable.as_deref() };
        found.into_iter().for_each(|component| each(&stay, component, &usable));
    }

    fn reach(&self, is_source: impl Fn(u32) -> bool, unserved: &impl Fn(u32) -> bool) -> Vec<Reached> {
        let nodes = self.depths.len() as u32;
        let mut reached = vec![Reached { distance: UNREACHED, from: None }; nodes as usize];
        // Buckets by distance from the first state: sources come in at their depth, others one after who leads to them.
        let mut buckets: Vec<Vec<Arrival>> = Vec::new();
        let put = |buckets: &mut Vec<Vec<Arrival>>, distance: u32, item| {
            if buckets.len() <= distance as usize {
                buckets.resize_with(distance as usize + 1, Vec::new);
            }
            buckets[distance as usize].push(item);
        };
        for node in (0..nodes).filter(|node| is_source(*node)) {
            put(&mut buckets, self.depths[node as usize], (node, None));
        }
        let mut distance = 0;
        while distance < buckets.len() {
            for (node, from) in std::mem::take(&mut buckets[distance]) {
                if reached[node as usize].distance != UNREACHED {
                    continue;
                }
                reached[node as usize] = Reached { distance: distance as u32, from };
                for edge in self.of(node) {
                    let target = self.targets[edge];
                    if unserved(target) && reached[target as usize].distance == UNREACHED {
                        put(&mut buckets, distance as u32 + 1, (target, Some((node, self.actions[edge]))));
                    }
                }
            }
            distance += 1;
        }
        reached
    }

    fn stem(&self, graph: &Graph, reach: &[Reached], entry: u32) -> Path {
        let mut tail = Path::new();
        let mut at = entry;
        while let Some((from, action)) = reach[at as usize].from {
            tail.push(action);
            at = from;
        }
        let mut stem = graph.path_to(StateId(at));
        stem.extend(tail.into_iter().rev());
        stem
    }
}

/// A schedule that stays in a component.
struct Stay<'a> {
    edges: &'a Edges,
    /// Which edges it may take; `None`: all.
    usable: Option<&'a [bool]>,
}

impl Stay<'_> {
    /// Whether a fair schedule can stay in this component for ever.
    fn is_fair(&self, component: &[u32]) -> bool {
        if component.len() == 1 {
            return self.edges.of(component[0]).all(|edge| !self.is_owed(edge, component[0]));
        }
        let debts = self.debts(component);
        debts.iter().all(|debt| debt.enabled_in < component.len() || debt.is_taken)
    }

    /// Whether time passes in it, where it passes in steps of its own. A single state is an end, and no loop.
    fn lets_time_pass(&self, component: &[u32]) -> bool {
        self.edges.time.is_none() || component.len() == 1 || self.time_passes(component)
    }

    fn is_time(&self, edge: usize) -> bool {
        self.edges.time == Some(self.edges.labels[edge])
    }

    fn time_may_pass(&self, node: u32) -> bool {
        self.edges.of(node).any(|edge| self.is_time(edge))
    }

    /// Whether time passes on some edge within the component.
    fn time_passes(&self, component: &[u32]) -> bool {
        let mut members = component.to_vec();
        members.sort_unstable();
        let stays = |edge: usize| members.binary_search(&self.edges.targets[edge]).is_ok();
        let passes = |edge: usize| self.is_time(edge) && self.may_take(edge) && stays(edge);
        component.iter().any(|node| self.edges.of(*node).any(passes))
    }

    /// Whether a fair schedule owes this edge. One that leads back to its own state is not owed: taking it or not makes
    /// no difference (Lamport's weak fairness is of actions that change something).
    fn is_owed(&self, edge: usize, from: u32) -> bool {
        self.edges.labels[edge] != 0 && self.edges.targets[edge] != from
    }

    fn may_take(&self, edge: usize) -> bool {
        self.usable.is_none_or(|usable| usable[edge])
    }

    fn is_possible(&self, debt: &Debt, node: u32) -> bool {
        self.edges.of(node).any(|edge| self.edges.labels[edge] == debt.label && self.is_owed(edge, node))
    }

    /// The owed actions that are possible somewhere in the component.
    fn debts(&self, component: &[u32]) -> Vec<Debt> {
        let mut members = component.to_vec();
        members.sort_unstable();
        let mut enabled: Vec<(u32, u32, bool)> = Vec::new();
        for &node in component {
            for edge in self.edges.of(node).filter(|edge| self.is_owed(*edge, node)) {
                let taken = self.may_take(edge) && members.binary_search(&self.edges.targets[edge]).is_ok();
                enabled.push((self.edges.labels[edge], node, taken));
            }
        }
        enabled.sort_unstable();
        let mut debts: Vec<Debt> = Vec::new();
        let mut last = None;
        for (label, node, taken) in enabled {
            if debts.last().is_none_or(|debt| debt.label != label) {
                debts.push(Debt { label, enabled_in: 0, is_taken: false });
                last = None;
            }
            if let Some(debt) = debts.last_mut() {
                debt.enabled_in += usize::from(last != Some(node));
                debt.is_taken |= taken;
            }
            last = Some(node);
        }
        debts
    }

    /// A way round the component that takes, or passes a state without, each owed action; and how many those are.
    fn tour(&self, component: &[u32], entry: u32) -> (Path, usize) {
        if component.len() == 1 {
            return (Path::new(), 0);
        }
        let mut members = component.to_vec();
        members.sort_unstable();
        let debts = self.debts(component);
        let mut open: Vec<&Debt> = debts.iter().collect();
        let mut owes_time = self.time_passes(component);
        let mut path = Path::new();
        let mut at = entry;
        loop {
            // A debt is settled where its action is not possible…
            open.retain(|debt| debt.enabled_in == component.len() || self.is_possible(debt, at));
            if open.is_empty() && !owes_time {
                break;
            }
            // …or by taking it, if it is possible everywhere.
            let Some(way) = self.way(&members, at, |edge, node| {
                owes_time && self.is_time(edge)
                    || open.iter().any(|debt| {
                        if debt.enabled_in == component.len() {
                            self.is_owed(edge, node) && self.edges.labels[edge] == debt.label
                        } else {
                            !self.is_possible(debt, self.edges.targets[edge])
                        }
                    })
            }) else {
                unreachable!("a fair component settles each debt by one of its edges or states")
            };
            for edge in way {
                owes_time &= !self.is_time(edge);
                open.retain(|debt| {
                    debt.enabled_in < component.len() || debt.label != self.edges.labels[edge]
                });
                path.push(self.edges.actions[edge]);
                at = self.edges.targets[edge];
            }
        }
        if at != entry || path.is_empty() {
            let Some(way) = self.way(&members, at, |edge, _| self.edges.targets[edge] == entry) else {
                unreachable!("in a strongly connected component every state leads to every other")
            };
            path.extend(way.into_iter().map(|edge| self.edges.actions[edge]));
        }
        (path, debts.len())
    }

    /// The shortest way inside `members` from `start` whose last edge is `wanted` (edge, its source).
    fn way(&self, members: &[u32], start: u32, wanted: impl Fn(usize, u32) -> bool) -> Option<Vec<usize>> {
        let place = |node: u32| members.binary_search(&node).ok();
        let mut came_by: Vec<Option<usize>> = vec![None; members.len()];
        let mut came_from: Vec<u32> = vec![start; members.len()];
        let mut seen = vec![false; members.len()];
        seen[place(start)?] = true;
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for edge in self.edges.of(node).filter(|edge| self.may_take(*edge)) {
                let target = self.edges.targets[edge];
                let Some(position) = place(target) else { continue };
                if wanted(edge, node) {
                    let mut way = vec![edge];
                    let mut at = node;
                    while at != start {
                        let position = place(at)?;
                        way.push(came_by[position]?);
                        at = came_from[position];
                    }
                    way.reverse();
                    return Some(way);
                }
                if !seen[position] {
                    seen[position] = true;
                    came_by[position] = Some(edge);
                    came_from[position] = node;
                    queue.push_back(target);
                }
            }
        }
        None
    }
}

/// A state, and from which other one by which action it was reached.
type Arrival = (u32, Option<(u32, u16)>);

#[derive(Clone, Copy)]
struct Reached {
    distance: u32,
    from: Option<(u32, u16)>,
}

/// An action that a fair schedule owes.
struct Debt {
    label: u32,
    /// In how many of the component's states it is possible.
    enabled_in: usize,
    /// Whether an edge inside the component, between different states, takes it.
    is_taken: bool,
}
