//! Breadth-first search, level by level, over packed states with an exact set.
//!
//! States are kept as rows of the numbers of their parts ([`super::steps`]) in one arena per shard, found through a table of indices; a
//! state's shard is chosen by the hash of its parts' bytes, whose numbers depend on which thread met them first. A level is worked off in batches, and a batch in as many chunks at a time as keep all cores busy: first
//! they make successors, by what each thread remembers of local steps ([`super::steps`]) or else of the state as a whole
//! ([`super::parts`]; no shared memory is written), then they sort the successors in, each into shards of its own. The order of
//! everything is the order in which a search with one core finds it, so the number of cores changes nothing but the time, and what is close
//! in a level has much in common, which caches notice. Of several shortest paths the one is told whose actions come first.

use super::label::label;
use super::parts::{Parent, pack_parts};
use super::steps::{Numbers, Outcome, Row, Steps, nodes_of};
use super::{Path, Space};
use crate::system::System;
use crate::world::{Action, View, Workspace, World};
use hashbrown::HashTable;
use picklock_properties::{Event, Monitors, PromiseSet, Tally, Tests, Violation};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// When to give up, and whom to tell.
pub struct Limits<'a> {
    /// How many states to keep at most.
    pub states_max: u64,
    /// Set from outside to stop the search.
    pub stop: &'a AtomicBool,
    /// Told now and then how far the search is.
    pub on_progress: &'a (dyn Fn(&Seen) + Sync),
}

/// How far a search is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Seen {
    /// Unique states seen.
    pub states: u64,
    /// How many of them are kept.
    pub kept: u64,
    /// Transitions made.
    pub transitions: u64,
    /// Steps from the first state.
    pub depth: u32,
    /// Of the states that are kept: how many still have to be gone on from, as far as they are known.
    pub waiting: u64,
    /// How many more will be found and kept, by a guess: once each level is smaller than the one before it, as if they went on falling
    /// like that. `None` before.
    pub left: Option<u64>,
}

impl Limits<'_> {
    /// Up to `states_max` states, silently.
    pub fn states(states_max: u64) -> Limits<'static> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Limits { states_max, stop: &NEVER, on_progress: &|_| {} }
    }
}

/// What a search found out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The whole space within the bounds was seen, and the promise kept.
    Verified,
    /// The promise was broken, by this shortest path.
    Violated {
        /// What was broken by whom.
        violation: Violation,
        /// From the first state to the one that is broken.
        path: Path,
    },
    /// A limit was hit before the space was exhausted: this says nothing.
    Incomplete {
        /// Which limit.
        reason: &'static str,
    },
}

/// How often the interesting things happened in the explored transitions: a check during which none did proves nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Coverage {
    /// Grants.
    pub granted: u64,
    /// Refusals of `try_lock`.
    pub refused: u64,
    /// Releases that were completed.
    pub released: u64,
    /// Renewals acknowledged.
    pub renewed: u64,
    /// Leases whose loss was noticed by the holder.
    pub lost_leases: u64,
    /// Writes accepted by the resource.
    pub accepted: u64,
    /// Writes turned down by the resource.
    pub rejected: u64,
    /// Rows read back after an own write, or after somebody else's.
    pub row_reads: u64,
    /// Records that went without their client's doing: expired, lost, evicted.
    pub records_gone: u64,
    /// Waiters woken.
    pub woken: u64,
    /// Calls of shared objects that came back.
    pub returned: u64,
    /// Calls of shared objects that were given up.
    pub unknown: u64,
    /// Numbers that came out of a handler, and counts that it raised.
    pub outputs: u64,
    /// Ticks of time.
    pub ticks: u64,
    /// Faults: messages lost or duplicated, pauses, crashes, power losses, clock steps and freezes.
    pub faults: u64,
    /// Transitions that put each promise to the test.
    pub tested: Tests,
}

impl Coverage {
    /// Counts what happened in a transition of so many worlds that differ in nothing but which client is which.
    fn count(&mut self, action: Action, events: &[Event], tested: PromiseSet, worlds: u64) {
        self.tested.count_times(tested, worlds);
        match action {
            Action::Deliver { .. } | Action::Wake { .. } | Action::Resume { .. } => {}
            Action::Tick => self.ticks += worlds,
            Action::DriftingTick { .. } => {
                self.ticks += worlds;
                self.faults += worlds;
            }
            Action::Lose { .. }
            | Action::Duplicate { .. }
            | Action::Pause { .. }
            | Action::Crash { .. }
            | Action::LosePower { .. }
            | Action::CrashServer { .. }
            | Action::RestartResource
            | Action::StepServerClock { .. }
            | Action::StepClock { .. }
            | Action::FreezeClock { .. } => self.faults += worlds,
        }
        for event in events {
            match event.tally() {
                Some(Tally::Grant) => self.granted += worlds,
                Some(Tally::Refusal) => self.refused += worlds,
                Some(Tally::Release) => self.released += worlds,
                Some(Tally::Renewal) => self.renewed += worlds,
                Some(Tally::LostLease) => self.lost_leases += worlds,
                Some(Tally::Accepted) => self.accepted += worlds,
                Some(Tally::Rejected) => self.rejected += worlds,
                Some(Tally::RowRead) => self.row_reads += worlds,
                Some(Tally::RecordGone) => self.records_gone += worlds,
                Some(Tally::Woken) => self.woken += worlds,
                Some(Tally::Answer) => self.returned += worlds,
                Some(Tally::Unknown) => self.unknown += worlds,
                Some(Tally::Output) => self.outputs += worlds,
                Some(Tally::Enqueued) | None => {}
            }
        }
    }

    fn add(&mut self, other: &Coverage) {
        self.granted += other.granted;
        self.refused += other.refused;
        self.released += other.released;
        self.renewed += other.renewed;
        self.lost_leases += other.lost_leases;
        self.accepted += other.accepted;
        self.rejected += other.rejected;
        self.row_reads += other.row_reads;
        self.records_gone += other.records_gone;
        self.woken += other.woken;
        self.returned += other.returned;
        self.unknown += other.unknown;
        self.outputs += other.outputs;
        self.ticks += other.ticks;
        self.faults += other.faults;
        self.tested += other.tested;
    }
}

/// A finished search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exploration {
    /// The verdict.
    pub verdict: Verdict,
    /// Unique states seen, the first one included.
    pub states: u64,
    /// How many of them were kept: where clients are alike, one stands for all that differ in which client is which, and the others
    /// are counted with it.
    pub kept: u64,
    /// Transitions made.
    pub transitions: u64,
    /// Length of the longest shortest path.
    pub depth: u32,
    /// Size of what was kept of all states together, with the index that they are found by and the parts that they are made of.
    pub bytes: u64,
    /// How often the interesting things happened.
    pub coverage: Coverage,
}

/// Which states are one state to a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alike {
    /// None that differ.
    Same,
    /// Those that differ in what is on its way to a client that will not look at it ([`Lock::strike_out`](crate::machine::Lock::strike_out)).
    Read,
    /// Those, and all that differ in nothing but which client is which. One is kept, and counted for all of them.
    Renamed,
}

/// Explores the whole space, or up to the first broken promise, on the threads of the current rayon pool.
///
/// Where clients are told apart by nothing but their numbers, one state is kept of all that differ only in which client is which
/// ([`Alike::Renamed`], [`Exploration::kept`]). What is broken is looked for again with every state kept, so that a path is one of worlds
/// as they are, and as short as can be.
pub fn search<Y: System>(space: &Space<Y>, limits: &Limits) -> Exploration {
    Graph::build(space, limits, None).exploration
}

/// The same with states kept apart so far; `None`: it was found to matter which client is which. By what [`Alike::Same`] and
/// [`Alike::Read`] count, [`search`] is judged.
pub fn search_alike<Y: System>(space: &Space<Y>, limits: &Limits, alike: Alike) -> Option<Exploration> {
    Graph::build_alike(space, limits, None, alike).map(|graph| graph.exploration)
}

pub(super) const SHARDS: usize = 32;
const CHUNK_STATES: usize = 512;
/// How many are worked off before it is asked whether to go on. What a search that ends early has seen depends on it.
const BATCH_CHUNKS: usize = 128;
/// Of how many the successors are made before they are sorted in: so few that they are still in the caches then.
const CHUNKS_PER_THREAD: usize = 8;
/// More messages under way than a bounded world has: they pile up, and the space never closes.
const MESSAGES_MAX: usize = 64;
/// A state of this many bytes would be a mistake in the model.
const STATE_BYTES_MAX: usize = 8192;

/// A state's number: position in its shard and shard.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct StateId(pub u32);

impl StateId {
    fn new(shard: usize, position: usize) -> StateId {
        match u32::try_from(position * SHARDS + shard) {
            Ok(id) => StateId(id),
            Err(_) => unreachable!("the limit of states is checked before and is below 2^32"),
        }
    }

    fn shard(self) -> usize {
        self.0 as usize % SHARDS
    }

    fn position(self) -> usize {
        self.0 as usize / SHARDS
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub from: StateId,
    pub to: StateId,
    /// What a fair schedule owes, by name; 0 for what it does not owe.
    pub label: u32,
    pub action: u16,
    /// Whether it is what the edge before it is, with another number drawn by the client.
    pub is_redrawn: bool,
}

#[derive(Default)]
struct Shard {
    rows: Vec<u32>,
    ends: Vec<u32>,
    parents: Vec<u32>,
    actions: Vec<u16>,
    /// What a liveness check wants to know; nothing, if nobody asks.
    flags: Vec<u16>,
    table: HashTable<(u32, u32)>,
    edges: Vec<Edge>,
    /// The states whose successors are made next, and those that were found after them.
    level: Level,
    next_level: Level,
}

/// A state, for how many worlds it stands, and what led to it.
struct Found<'a> {
    row: &'a [u32],
    worlds: u16,
    parent: u32,
    action: u16,
    flags: Option<u16>,
}

/// Of states that were found one after the other: for how many worlds each of them stands.
#[derive(Default)]
struct Level {
    first: usize,
    worlds: Vec<u16>,
}

impl Shard {
    fn row(&self, position: usize) -> &[u32] {
        let start = if position == 0 { 0 } else { self.ends[position - 1] };
        &self.rows[start as usize..self.ends[position] as usize]
    }

    /// How much memory its states take with their index, in bytes.
    fn size(&self) -> u64 {
        let Shard { rows, ends, parents, actions, flags, table, .. } = self;
        let lists =
            size_of_val(rows.as_slice()) + size_of_val(ends.as_slice()) + size_of_val(parents.as_slice());
        let lists = lists + size_of_val(actions.as_slice()) + size_of_val(flags.as_slice());
        (lists + table.allocation_size()) as u64
    }

    /// For how many worlds a state of this level stands.
    fn worlds(&self, position: usize) -> u16 {
        self.level.worlds[position - self.level.first]
    }

    /// What was found becomes the level whose successors are made.
    fn turn(&mut self) {
        std::mem::swap(&mut self.level, &mut self.next_level);
        self.next_level.worlds.clear();
        self.next_level.first = self.ends.len();
    }

    /// The position of the state, and whether it is new.
    fn insert(&mut self, hash: u64, found: &Found) -> (usize, bool) {
        let Found { row, worlds, parent, action, flags } = *found;
        let tag = tag_of(hash);
        let found = self.table.find(in_table(tag), |(other_tag, position)| {
            *other_tag == tag && self.row(*position as usize) == row
        });
        if let Some((_, position)) = found {
            return (*position as usize, false);
        }
        let position = self.ends.len();
        self.rows.extend_from_slice(row);
        self.ends.push(self.rows.len() as u32);
        self.parents.push(parent);
        self.actions.push(action);
        self.flags.extend(flags);
        self.next_level.worlds.push(worlds);
        self.table.insert_unique(in_table(tag), (tag, position as u32), |(tag, _)| in_table(*tag));
        (position, true)
    }

    /// Reads what [`Self::insert`] will compare these states with, one after the other without waiting for any: most of a large
    /// shard is in no cache.
    fn prefetch(&self, successors: &[Successor]) {
        let mut starts = [None; BLOCK];
        for (start, successor) in starts.iter_mut().zip(successors) {
            let tag = tag_of(successor.hash);
            let found = self.table.find(in_table(tag), |(other_tag, _)| *other_tag == tag);
            *start = found.map(|(_, position)| *position as usize);
        }
        for position in starts.iter_mut().flatten() {
            *position = if *position == 0 { 0 } else { self.ends[*position - 1] as usize };
        }
        let read = starts.iter().flatten().fold(0, |read, start| read ^ self.rows[*start]);
        std::hint::black_box(read);
    }
}

/// The part of a state's hash that the table of its shard keeps. All states of a shard have its lowest bits in common.
fn tag_of(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The hash for the table of a shard, which numbers its buckets by the lowest bits and tells states in a bucket apart by the
/// highest. It depends on the tag only, so that a table that grows need not look at the states.
fn in_table(tag: u32) -> u64 {
    let spread = u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    spread ^ spread >> 32
}

fn shard_of(hash: u64) -> usize {
    hash as usize % SHARDS
}

/// How many states the latest levels have.
#[derive(Default)]
struct Levels {
    /// The latest one first.
    sizes: [u64; 4],
    /// States whose successors are known.
    worked_off: u64,
}

impl Levels {
    fn begin(&mut self, size: u64) {
        self.sizes.rotate_right(1);
        self.sizes[0] = size;
    }

    /// A guess how many states there are after the latest level: levels fall as they have fallen.
    fn left(&self) -> Option<u64> {
        let [latest, .., earliest] = self.sizes;
        let is_falling = self.sizes.windows(2).all(|pair| pair[0] < pair[1]);
        // In three levels; one level for a third of that.
        let ratio = (latest as f64 / earliest as f64).cbrt();
        (is_falling && ratio < 0.97).then(|| (latest as f64 * ratio / (1.0 - ratio)) as u64)
    }
}

/// A successor on its way into its shard, and where in [`Expanded`] its row is.
struct Successor {
    hash: u64,
    start: u32,
    length: u16,
    worlds: u16,
    action: u16,
    parent: u32,
    label: u32,
    flags: Option<u16>,
    is_redrawn: bool,
}

/// What one chunk of states leads to.
#[derive(Default)]
struct Expanded {
    rows: Vec<u32>,
    /// By shard.
    successors: Vec<Vec<Successor>>,
    transitions: u64,
    coverage: Coverage,
    broken: Option<(Violation, StateId, u16)>,
    /// A state has more messages under way than an action can name.
    is_flooded: bool,
    /// States that were taken for one were found to go on differently.
    is_in_vain: bool,
}

impl Expanded {
    fn begin(&mut self) {
        self.rows.clear();
        self.successors.resize_with(SHARDS, Vec::new);
        self.successors.iter_mut().for_each(Vec::clear);
        (self.transitions, self.coverage) = (0, Coverage::default());
        (self.broken, self.is_flooded, self.is_in_vain) = (None, false, false);
    }
}

/// What a liveness check wants to know of every state, as up to 16 bits, by what was observed of each lock.
pub(super) type Flags<'a> = &'a (dyn Fn(&[Monitors]) -> u16 + Sync);

/// What a chunk of states, kept in these shards, leads to: the one part of the search that knows the lock.
/// What it finds replaces what was in the memory that it is given.
type Expand<'a> = &'a (dyn Fn(&[StateId], &[Shard], &mut Expanded) + Sync);

/// The explored space.
pub(super) struct Graph {
    pub exploration: Exploration,
    shards: Vec<Shard>,
    /// What the latest chunks led to: memory for the next ones.
    expanded: Vec<Expanded>,
}

impl Graph {
    /// Explores. With `flags`, edges and flags are kept too, and broken promises do not end the search.
    pub fn build<Y: System>(space: &Space<Y>, limits: &Limits, flags: Option<Flags>) -> Graph {
        // A path is one of worlds whose clients keep their numbers: what is broken is looked for again without leaving any out.
        if flags.is_none() && space.has_clients_alike() {
            let graph = Graph::build_alike(space, limits, None, Alike::Renamed);
            if let Some(graph) = graph
                && !matches!(graph.exploration.verdict, Verdict::Violated { .. })
            {
                return graph;
            }
        }
        match Graph::build_alike(space, limits, flags, Alike::Same) {
            Some(graph) => graph,
            None => unreachable!("where no state is left out, none is left out in vain"),
        }
    }

    /// The same, with states kept apart so far. `None`: states that were taken for one go on differently.
    fn build_alike<Y: System>(
        space: &Space<Y>,
        limits: &Limits,
        flags: Option<Flags>,
        alike: Alike,
    ) -> Option<Graph> {
        let mut shards: Vec<Shard> = (0..SHARDS).map(|_| Shard::default()).collect();
        let first = World::new(&space.setup, &space.bounds);
        let (mut packed, mut lengths) = (Vec::new(), Vec::new());
        pack_parts(&first, &mut packed, &mut lengths);
        let numbers = Arc::new(Numbers::new(nodes_of(space)));
        let mut steps = Steps::new(space, Arc::clone(&numbers), alike);
        if steps.reduce(&mut packed, &mut lengths) > 1 {
            return None;
        }
        let mut row = Vec::new();
        let hash = steps.keep(&packed, &lengths, &mut row);
        let shard = shard_of(hash);
        let flags_of_first = flags.map(|flags| flags(&first.cluster.monitors));
        let found = Found { row: &row, worlds: 1, parent: NO_PARENT, action: 0, flags: flags_of_first };
        shards[shard].insert(hash, &found);

        let mut graph = Graph {
            exploration: Exploration {
                verdict: Verdict::Verified,
                states: 1,
                kept: 1,
                transitions: 0,
                depth: 0,
                bytes: 0,
                coverage: Coverage::default(),
            },
            shards,
            expanded: Vec::new(),
        };
        // One for each thread that expands.
        let idle: Mutex<Vec<Steps<Y>>> = Mutex::new(vec![steps]);
        graph.explore(StateId::new(shard, 0), flags.is_some(), limits, &|chunk, shards, expanded| {
            let steps = lock(&idle).pop();
            let mut steps = steps.unwrap_or_else(|| Steps::new(space, Arc::clone(&numbers), alike));
            expand(space, chunk, shards, flags, &mut steps, expanded);
            lock(&idle).push(steps);
        });
        graph.exploration.bytes = graph.shards.iter().map(Shard::size).sum::<u64>() + numbers.size();
        let is_in_vain = graph.expanded.iter().any(|expanded| expanded.is_in_vain);
        (!is_in_vain).then_some(graph)
    }

    /// All that the first state leads to. Nothing from here on is generic in the lock.
    fn explore(&mut self, first: StateId, keep_edges: bool, limits: &Limits, expand: Expand) {
        let mut frontier = vec![first];
        let mut levels = Levels::default();
        while !frontier.is_empty() {
            levels.begin(frontier.len() as u64);
            self.shards.iter_mut().for_each(Shard::turn);
            let mut next = Vec::new();
            for batch in frontier.chunks(CHUNK_STATES * BATCH_CHUNKS) {
                let verdict = self.step(batch, keep_edges, limits, &mut next, expand);
                levels.worked_off += batch.len() as u64;
                let Exploration { states, kept, transitions, depth, .. } = self.exploration;
                let (waiting, left) = (kept.saturating_sub(levels.worked_off), levels.left());
                (limits.on_progress)(&Seen { states, kept, transitions, depth, waiting, left });
                if let Some(verdict) = verdict {
                    self.exploration.verdict = verdict;
                    return;
                }
            }
            frontier = next;
            self.exploration.depth += u32::from(!frontier.is_empty());
        }
    }

    fn step(
        &mut self,
        batch: &[StateId],
        keep_edges: bool,
        limits: &Limits,
        next: &mut Vec<StateId>,
        expand: Expand,
    ) -> Option<Verdict> {
        let (mut is_flooded, mut broken) = (false, None);
        for some in batch.chunks(CHUNK_STATES * CHUNKS_PER_THREAD * rayon::current_num_threads()) {
            let shards = &self.shards;
            let chunks = some.par_chunks(CHUNK_STATES);
            self.expanded.resize_with(chunks.len().max(self.expanded.len()), Expanded::default);
            let mut all = std::mem::take(&mut self.expanded);
            let expanded = &mut all[..chunks.len()];
            chunks.zip(expanded.par_iter_mut()).for_each(|(chunk, expanded)| expand(chunk, shards, expanded));
            let (states, kept) = self.take_in(expanded, keep_edges, next);
            self.exploration.states += states;
            self.exploration.kept += kept;
            let mut is_in_vain = false;
            for chunk in &*expanded {
                is_in_vain |= chunk.is_in_vain;
                self.exploration.transitions += chunk.transitions;
                self.exploration.coverage.add(&chunk.coverage);
                is_flooded |= chunk.is_flooded;
                broken = broken.or(chunk.broken);
            }
            self.expanded = all;
            if is_in_vain {
                return Some(Verdict::Incomplete {
                    reason: "states that were taken for one go on differently",
                });
            }
        }
        if is_flooded {
            return Some(Verdict::Incomplete { reason: "messages pile up without end" });
        }
        // A liveness check judges the whole graph; a broken state is an end in it.
        if let (Some((violation, parent, action)), false) = (broken, keep_edges) {
            let mut path = self.path_to(parent);
            path.push(action);
            self.exploration.depth += 1;
            return Some(Verdict::Violated { violation, path });
        }
        if self.exploration.kept > limits.states_max.min(u64::from(u32::MAX) / 2) {
            return Some(Verdict::Incomplete { reason: "the limit of states was reached" });
        }
        if limits.stop.load(Ordering::Relaxed) {
            return Some(Verdict::Incomplete { reason: "the search was interrupted" });
        }
        None
    }

    /// Sorts successors in and appends those that are new to `next`, in the order in which they were found; says how many worlds are new,
    /// and how many of them are kept.
    fn take_in(&mut self, expanded: &[Expanded], keep_edges: bool, next: &mut Vec<StateId>) -> (u64, u64) {
        let number_and_shard = self.shards.par_iter_mut().enumerate();
        let new = number_and_shard.map(|(number, shard)| {
            let (mut worlds, mut found) = (0, Vec::new());
            for (chunk, expanded) in expanded.iter().enumerate() {
                worlds += take_in(shard, number, expanded, chunk as u32, keep_edges, &mut found);
            }
            (worlds, found)
        });
        let new: Vec<(u64, Vec<Place>)> = new.collect();
        let worlds = new.iter().map(|(worlds, _)| worlds).sum();
        // Each shard has its own in order already, which a stable sort makes use of.
        let mut found: Vec<Place> = new.into_iter().flat_map(|(_, found)| found).collect();
        found.sort_by_key(|(place, _)| *place);
        next.extend(found.iter().map(|(_, state)| *state));
        (worlds, found.len() as u64)
    }

    /// The shortest path from the first state.
    pub fn path_to(&self, state: StateId) -> Path {
        let mut path = Path::new();
        let mut at = state;
        // Only the first state has depth 0; it is the only one that no parent's action leads to.
        while at != self.first() {
            let Shard { parents, actions, .. } = &self.shards[at.shard()];
            path.push(actions[at.position()]);
            at = StateId(parents[at.position()]);
        }
        path.reverse();
        path
    }

    /// The first state: the one that was inserted into an empty set.
    pub fn first(&self) -> StateId {
        let shard = self.shards.iter().position(|shard| shard.parents.first() == Some(&NO_PARENT));
        match shard {
            Some(shard) => StateId::new(shard, 0),
            None => unreachable!("the first state is inserted before all others"),
        }
    }

    /// All edges, in no particular order.
    pub fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.shards.iter().flat_map(|shard| &shard.edges)
    }

    /// What was asked of the state; `None` for numbers that no state has.
    pub fn flags(&self, state: StateId) -> Option<u16> {
        self.shards[state.shard()].flags.get(state.position()).copied()
    }

    /// One more than the largest state number.
    pub fn numbers(&self) -> usize {
        self.shards.iter().map(|shard| shard.ends.len()).max().unwrap_or(0) * SHARDS
    }
}

/// The parent of the first state.
const NO_PARENT: u32 = u32::MAX;

/// What can happen in a state.
#[derive(Default)]
struct Listed {
    actions: Vec<Action>,
    /// What a fair schedule owes, and which draw each is one more of, if that is asked for.
    labels: Vec<u32>,
    are_redrawn: Vec<bool>,
}

fn list<Y: System>(view: &View<Y>, space: &Space<Y>, listed: &mut Listed, are_labelled: bool) {
    view.actions(&space.setup, &space.bounds, &mut listed.actions);
    listed.labels.clear();
    listed.are_redrawn.clear();
    if are_labelled {
        listed.are_redrawn.extend(listed.actions.iter().map(|action| view.is_redrawn(*action)));
        listed.labels.extend(listed.actions.iter().map(|action| label(view, *action)));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is kept in it is whole between two chunks, whatever became of one.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn expand<'s, Y: System>(
    space: &'s Space<Y>,
    chunk: &[StateId],
    shards: &[Shard],
    flags: Option<Flags>,
    steps: &mut Steps<'s, Y>,
    expanded: &mut Expanded,
) {
    expanded.begin();
    let mut workspace = Workspace::default();
    let mut listed = Listed::default();
    let (mut packed, mut lengths) = (Vec::new(), Vec::new());
    let (mut row, mut state) = (Row::default(), Vec::new());
    let mut parent = Parent::like(World::new(&space.setup, &space.bounds));
    steps.make_room();
    for id in chunk {
        let shard = &shards[id.shard()];
        let kept = shard.row(id.position());
        let worlds = u64::from(shard.worlds(id.position()));
        let place = steps.place(kept);
        // Not before somebody needs the world as a whole.
        let mut is_unpacked = false;
        match place {
            Some(place) => {
                steps.read(place, kept, &mut row);
                let view = steps.memory(place).view(&row, place.budget, place.broken.is_some());
                list(&view, space, &mut listed, flags.is_some());
            }
            None => {
                steps.pack(kept, &mut state, &mut lengths);
                parent.unpack(&state);
                is_unpacked = true;
                list(&parent.world().view(), space, &mut listed, flags.is_some());
            }
        }
        expanded.transitions += worlds * listed.actions.len() as u64;
        for (number, action) in listed.actions.iter().enumerate() {
            let stepped = place.and_then(|place| steps.memory(place).step(&row, place.budget, *action));
            if let (None, false, Some(place)) = (stepped, is_unpacked, place) {
                steps.pack(kept, &mut state, &mut lengths);
                parent.restore(&state, &lengths, &row, (place.memory, steps.memory(place)));
                is_unpacked = true;
            }
            let start = expanded.rows.len();
            let (messages, broken, seen, worlds_next) = match (stepped, place) {
                (Some(stepped), Some(place)) => {
                    let memory = steps.memory(place);
                    let outcome = memory.outcome(stepped);
                    let (events, tested, broken) = match outcome {
                        Some(Outcome { events, tested, broken, .. }) => (events.as_slice(), *tested, *broken),
                        None => (&[][..], PromiseSet::EMPTY, None),
                    };
                    expanded.coverage.count(*action, events, tested, worlds);
                    let seen = flags.map(|flags| flags(memory.monitors_next()));
                    let worlds_next = memory.reduce_next();
                    (memory.messages_next(), broken, seen, worlds_next)
                }
                (None, _) | (_, None) => {
                    let successor = parent.begin_successor();
                    successor.apply(*action, &space.setup, &space.bounds, &mut workspace);
                    let effects = &workspace.effects;
                    expanded.coverage.count(*action, &effects.events, effects.tested, worlds);
                    parent.pack_successor(&mut packed, &mut lengths);
                    let worlds_next = steps.reduce(&mut packed, &mut lengths);
                    let World { cluster, in_flight, broken, .. } = parent.successor();
                    let seen = flags.map(|flags| flags(&cluster.monitors));
                    (in_flight.len(), *broken, seen, worlds_next)
                }
            };
            if messages > MESSAGES_MAX {
                expanded.is_flooded = true;
                return;
            }
            if let (Some(violation), None) = (broken, expanded.broken) {
                expanded.broken = Some((violation, *id, number as u16));
            }
            let hash = match (stepped, place) {
                (Some(stepped), Some(place)) => {
                    steps.keep_next(place, stepped.budget, broken, &mut expanded.rows)
                }
                (None, _) | (_, None) => {
                    assert!(packed.len() <= STATE_BYTES_MAX, "a state takes {} bytes", packed.len());
                    steps.keep(&packed, &lengths, &mut expanded.rows)
                }
            };
            // Not each time, for it takes longer than all the rest.
            let is_checked = hash.is_multiple_of(if cfg!(debug_assertions) { 32 } else { 512 });
            if let (Some(place), Alike::Renamed, true) = (place, steps.alike(), is_checked) {
                if let Some(stepped) = stepped {
                    steps.memory(place).pack_next(stepped.budget, broken, &mut packed, &mut lengths);
                }
                steps.check(place, &row, *action, &packed, &mut workspace);
            }
            let is_sampled = hash.is_multiple_of(64) && steps.alike() == Alike::Same;
            if let (true, true, Some(stepped), Some(place)) =
                (cfg!(debug_assertions), is_sampled, stepped, place)
            {
                if !is_unpacked {
                    steps.pack(kept, &mut state, &mut lengths);
                    parent.restore(&state, &lengths, &row, (place.memory, steps.memory(place)));
                    is_unpacked = true;
                }
                let memory = steps.memory(place);
                memory.pack_next(stepped.budget, broken, &mut packed, &mut lengths);
                parent.put_successor(memory, stepped.budget, broken);
            }
            debug_assert!(!is_sampled || parent.leads_to_successor(*action, space));
            debug_assert!(!is_sampled || parent.is_packed_into(&packed));
            expanded.successors[shard_of(hash)].push(Successor {
                hash,
                start: start as u32,
                length: (expanded.rows.len() - start) as u16,
                worlds: worlds_next,
                action: number as u16,
                parent: id.0,
                label: listed.labels.get(number).copied().unwrap_or(0),
                is_redrawn: listed.are_redrawn.get(number).copied().unwrap_or(false),
                flags: seen,
            });
        }
    }
    expanded.is_in_vain = steps.are_told_apart();
}

/// How many states are looked up at a time.
const BLOCK: usize = 16;

/// A state, behind the numbers of the chunk and of the successor in it as which it was found first.
type Place = ((u32, u32), StateId);

/// Sorts the successors of one chunk into one shard and appends the new ones to `found`; says how many worlds those are.
fn take_in(
    shard: &mut Shard,
    number: usize,
    chunk: &Expanded,
    chunk_number: u32,
    keep_edges: bool,
    found: &mut Vec<Place>,
) -> u64 {
    let mut worlds_new = 0;
    for (at, successor) in chunk.successors[number].iter().enumerate() {
        if at.is_multiple_of(BLOCK) {
            let others = &chunk.successors[number][at..];
            shard.prefetch(&others[..others.len().min(BLOCK)]);
        }
        let Successor { hash, start, length, worlds, parent, action, flags, .. } = *successor;
        let row = &chunk.rows[start as usize..][..usize::from(length)];
        let (position, is_new) = shard.insert(hash, &Found { row, worlds, parent, action, flags });
        if is_new {
            worlds_new += u64::from(worlds);
            // Rows are put down in the order in which they are found.
            found.push(((chunk_number, start), StateId::new(number, position)));
        }
        if keep_edges {
            shard.edges.push(Edge {
                from: StateId(successor.parent),
                to: StateId::new(number, position),
                label: successor.label,
                action: successor.action,
                is_redrawn: successor.is_redrawn,
            });
        }
    }
    worlds_new
}

#[cfg(test)]
mod tests {
    use super::super::steps::RowHash;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_left_is_guessed_once_levels_fall() {
        let mut levels = Levels::default();
        let mut guess = |size| {
            levels.begin(size);
            levels.left()
        };
        assert_eq!([1, 100, 8_000].map(&mut guess), [None; 3]);
        assert_eq!([4_000, 2_000].map(&mut guess), [None; 2]);
        // 500, 250, 125 and so on.
        assert_eq!(guess(1_000), Some(1_000));
        assert_eq!(guess(1_001), None);
    }

    #[test]
    fn the_states_of_a_shard_are_spread_over_all_buckets_of_its_table_and_told_apart_in_them() {
        let hashes = (0..100_000_u64).map(|number| {
            let mut hash = RowHash::default();
            hash.add(number);
            hash.end()
        });
        let of_shard = hashes.filter(|hash| shard_of(*hash) == 3).map(tag_of).map(in_table);
        let of_shard: Vec<u64> = of_shard.collect();
        let lowest: BTreeSet<u64> = of_shard.iter().map(|hash| hash % 64).collect();
        let highest: BTreeSet<u64> = of_shard.iter().map(|hash| hash >> 57).collect();
        assert_eq!((lowest.len(), highest.len()), (64, 128));
    }
}
