//! Breadth-first search, level by level, over packed states with an exact set.
//!
//! States are kept as rows of the numbers of their parts ([`super::steps`]) in one arena per shard, found through a table of indices; a
//! state's shard is chosen by the hash of its parts' bytes, for the parts' numbers depend on which thread met them first. A level is worked
//! off in batches, and a batch in as many chunks at a time as keep all cores busy: first they make successors, by what each thread remembers
//! of local steps ([`super::steps`]) or else of the state as a whole ([`super::parts`]; no shared memory is written), then they sort the
//! successors in, each into shards of its own. The order of everything is the order in which a search with one core finds it, so the number
//! of cores changes nothing but the time, and what is close in a level has much in common, which caches notice. Of several shortest paths the
//! one is told whose actions come first.

mod arena;
mod expanding;
mod levels;
mod shards;

use super::parts::pack_parts;
use super::steps::{Numbers, Steps, nodes_of};
use super::{Path, Space};
use crate::panics::{self, Panicked, PanickedRun};
use crate::system::System;
use crate::world::{Action, Struck, World};
use expanding::{Expand, Expanded, expand};
use levels::Levels;
use picklock_properties::{Event, Monitors, PromiseSet, Tally, Tests, Violation};
use rayon::prelude::*;
use serde::Serialize;
pub(super) use shards::{Edge, SHARDS, StateId};
use shards::{Found, NO_PARENT, Place, Shard, shard_of, take_in};
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
    /// Faults of all kinds.
    pub faults: u64,
    /// Of each kind.
    pub struck: Struck,
    /// Transitions that put each promise to the test.
    pub tested: Tests,
}

impl Coverage {
    /// Counts what happened in a transition of so many worlds that differ in nothing but which client is which.
    fn count<'e>(
        &mut self,
        action: Action,
        events: impl IntoIterator<Item = &'e Event>,
        tested: PromiseSet,
        worlds: u64,
    ) {
        self.tested.count_times(tested, worlds);
        if action.passes_time() {
            self.ticks += worlds;
        }
        if let Some(fault) = action.fault() {
            self.faults += worlds;
            self.struck[fault] += worlds;
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
        self.struck.add(&other.struck);
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
///
/// # Panics
///
/// With a [`Panicked`] that has the shortest path there, if a machine panics.
pub fn search<Y: System>(space: &Space<Y>, limits: &Limits) -> Exploration {
    Graph::build(space, limits, None).exploration
}

/// The same with states kept apart so far; `None`: it was found to matter which client is which. By what [`Alike::Same`] and
/// [`Alike::Read`] count, [`search`] is judged.
pub fn search_alike<Y: System>(space: &Space<Y>, limits: &Limits, alike: Alike) -> Option<Exploration> {
    let graph = Graph::build_alike(space, limits, None, alike)?;
    match graph.panicked {
        Some(panicked) => panics::unwind(panicked),
        None => Some(graph.exploration),
    }
}

const CHUNK_STATES: usize = 512;
/// How many are worked off before it is asked whether to go on. What a search that ends early has seen depends on it.
const BATCH_CHUNKS: usize = 128;
/// Of how many the successors are made before they are sorted in: so few that they are still in the caches then.
const CHUNKS_PER_THREAD: usize = 8;
/// What a liveness check wants to know of every state, as up to 16 bits, by what was observed of each lock.
pub(super) type Flags<'a> = &'a (dyn Fn(&[Monitors]) -> u16 + Sync);

/// The explored space.
pub(super) struct Graph {
    pub exploration: Exploration,
    shards: Vec<Shard>,
    /// What the latest chunks led to: memory for the next ones.
    expanded: Vec<Expanded>,
    /// The first step that ended in a panic, which ends the search.
    panicked: Option<Panicked>,
}

impl Graph {
    /// Explores. With `flags`, edges and flags are kept too, and broken promises do not end the search.
    pub fn build<Y: System>(space: &Space<Y>, limits: &Limits, flags: Option<Flags>) -> Graph {
        // A path is one of worlds whose clients keep their numbers: what is broken is looked for again without leaving any out.
        let mut panicked = None;
        if flags.is_none() && space.has_clients_alike() {
            let graph = Graph::build_alike(space, limits, None, Alike::Renamed);
            if let Some(graph) = graph {
                if graph.panicked.is_none() && !matches!(graph.exploration.verdict, Verdict::Violated { .. })
                {
                    return graph;
                }
                panicked = graph.panicked;
            }
        }
        match Graph::build_alike(space, limits, flags, Alike::Same) {
            Some(Graph { panicked: Some(panicked), .. }) => panics::unwind(panicked),
            Some(graph) => {
                // It was no machine's then, but that of the search that leaves states out.
                let is_whole = graph.exploration.verdict == Verdict::Verified;
                if let Some(Panicked { what, .. }) = panicked.filter(|_| is_whole) {
                    panic!(
                        "only where one state stands for all that differ in which client is which: {what}"
                    );
                }
                graph
            }
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
            panicked: None,
        };
        // One for each thread that expands.
        let idle: Mutex<Vec<Steps<Y>>> = Mutex::new(vec![steps]);
        graph.explore(StateId::new(shard, 0), flags.is_some(), limits, &|chunk, shards, expanded| {
            let steps = lock(&idle).pop();
            let mut steps = steps.unwrap_or_else(|| Steps::new(space, Arc::clone(&numbers), alike));
            match panics::caught(|| expand(space, chunk, shards, flags, &mut steps, expanded)) {
                Ok(()) => lock(&idle).push(steps),
                Err(what) => expanded.panicked = Some(what),
            }
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
            if let Some((what, (parent, action))) =
                expanded.iter_mut().find_map(|chunk| Some((chunk.panicked.take()?, chunk.at)))
            {
                let mut path = self.path_to(parent);
                path.push(action);
                self.panicked = Some(Panicked { what, run: PanickedRun::Path(path) });
                return Some(Verdict::Incomplete { reason: "a machine panicked" });
            }
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
            return Some(Verdict::Incomplete {
                reason: "messages, or what a server remembers, pile up without end",
            });
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
        self.shards.iter().map(Shard::len).max().unwrap_or(0) * SHARDS
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is kept in it is whole between two chunks, whatever became of one.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
