//! What a chunk of states leads to: the one part of the search that knows the system.

use super::shards::{SHARDS, Shard, StateId, Successor, shard_of};
use super::{Alike, Coverage, Flags};
use crate::explore::Space;
use crate::explore::label::{debt_of_message, label};
use crate::explore::parts::Parent;
use crate::explore::steps::{Row, Steps};
use crate::system::System;
use crate::world::{Action, View, Workspace, World};
use picklock_properties::{PromiseSet, Violation};

/// More messages under way than a bounded world has: they pile up, and the space never closes.
pub(super) const MESSAGES_MAX: usize = 64;
/// A state of this many bytes would be a mistake in the model.
pub(super) const STATE_BYTES_MAX: usize = 8192;

/// What a chunk of states, kept in these shards, leads to: the one part of the search that knows the lock.
/// What it finds replaces what was in the memory that it is given.
pub(super) type Expand<'a> = &'a (dyn Fn(&[StateId], &[Shard], &mut Expanded) + Sync);

/// What one chunk of states leads to.
#[derive(Default)]
pub(super) struct Expanded {
    pub rows: Vec<u16>,
    /// By shard.
    pub successors: Vec<Vec<Successor>>,
    pub transitions: u64,
    pub coverage: Coverage,
    pub broken: Option<(Violation, StateId, u16)>,
    /// A state has more messages under way than an action can name.
    pub is_flooded: bool,
    /// States that were taken for one were found to go on differently.
    pub is_in_vain: bool,
    /// The step that is being made.
    pub at: (StateId, u16),
    /// What was said in it, if it ended in a panic.
    pub panicked: Option<String>,
}

impl Expanded {
    pub fn begin(&mut self) {
        self.rows.clear();
        self.successors.resize_with(SHARDS, Vec::new);
        self.successors.iter_mut().for_each(Vec::clear);
        (self.transitions, self.coverage) = (0, Coverage::default());
        (self.broken, self.is_flooded, self.is_in_vain) = (None, false, false);
        self.panicked = None;
    }
}

/// What can happen in a state.
#[derive(Default)]
pub(super) struct Listed {
    pub actions: Vec<Action>,
    /// What a fair schedule owes, and which draw each is one more of, if that is asked for.
    pub labels: Vec<u32>,
    pub are_redrawn: Vec<bool>,
    /// What a fair schedule owes by each message under way, if that is asked for.
    debts: Vec<u32>,
}

pub(super) fn list<Y: System>(view: &View<Y>, space: &Space<Y>, listed: &mut Listed, are_labelled: bool) {
    view.actions(&space.setup, &space.bounds, &mut listed.actions);
    listed.labels.clear();
    listed.are_redrawn.clear();
    if are_labelled {
        listed.are_redrawn.extend(listed.actions.iter().map(|action| view.is_redrawn(*action)));
        let Listed { actions, labels, debts, .. } = listed;
        labels.extend(actions.iter().map(|action| label(view, *action, debts, space)));
    }
}

pub(super) fn expand<'s, Y: System>(
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
                let memory = steps.memory(place);
                if flags.is_some() {
                    memory.debts(&row, &mut listed.debts);
                }
                let view = memory.view(&row, place.budget, place.broken.is_some());
                list(&view, space, &mut listed, flags.is_some());
            }
            None => {
                steps.pack(kept, &mut state, &mut lengths);
                parent.unpack(&state);
                is_unpacked = true;
                listed.debts.clear();
                if flags.is_some() {
                    listed.debts.extend(parent.world().in_flight.iter().map(debt_of_message));
                }
                list(&parent.world().view(), space, &mut listed, flags.is_some());
            }
        }
        expanded.transitions += worlds * listed.actions.len() as u64;
        for (number, action) in listed.actions.iter().enumerate() {
            expanded.at = (*id, number as u16);
            let stepped = place.and_then(|place| steps.step(place, &row, *action));
            if let (None, false, Some(place)) = (stepped, is_unpacked, place) {
                steps.pack(kept, &mut state, &mut lengths);
                parent.restore(&state, &lengths, &row, (place.memory, steps.memory(place)));
                is_unpacked = true;
            }
            let start = expanded.rows.len();
            let (messages, broken, seen, worlds_next) = match stepped {
                Some(next) => {
                    let memory = steps.memory(next);
                    let (mut tested, mut broken) = (PromiseSet::EMPTY, None);
                    for outcome in memory.outcomes() {
                        tested = tested.union(outcome.tested);
                        broken = broken.or(outcome.broken);
                    }
                    let events = memory.outcomes().flat_map(|outcome| &outcome.events);
                    expanded.coverage.count(*action, events, tested, worlds);
                    let seen = flags.map(|flags| memory.flags_next(flags));
                    let worlds_next = memory.reduce_next();
                    (memory.messages_next(), broken, seen, worlds_next)
                }
                None => {
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
            let hash = match stepped {
                Some(next) => steps.keep_next(next, broken, &mut expanded.rows),
                // A store that remembers more and more: this space never closes, either.
                None if packed.len() > STATE_BYTES_MAX => {
                    expanded.is_flooded = true;
                    return;
                }
                None => steps.keep(&packed, &lengths, &mut expanded.rows),
            };
            // Not each time, for it takes longer than all the rest.
            let is_checked = hash.is_multiple_of(if cfg!(debug_assertions) { 32 } else { 512 });
            if let (Some(place), Alike::Renamed, true) = (place, steps.alike(), is_checked) {
                if let Some(next) = stepped {
                    steps.memory(next).pack_next(next.budget, broken, &mut packed, &mut lengths);
                }
                steps.check(place, &row, *action, &packed, &mut workspace);
            }
            let is_sampled = hash.is_multiple_of(64) && steps.alike() == Alike::Same;
            if let (true, true, Some(next), Some(place)) =
                (cfg!(debug_assertions), is_sampled, stepped, place)
            {
                if !is_unpacked {
                    steps.pack(kept, &mut state, &mut lengths);
                    parent.restore(&state, &lengths, &row, (place.memory, steps.memory(place)));
                    is_unpacked = true;
                }
                let memory = steps.memory(next);
                memory.pack_next(next.budget, broken, &mut packed, &mut lengths);
                parent.put_successor(memory, next.budget, broken);
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
