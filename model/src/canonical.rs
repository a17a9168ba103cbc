//! The canonical form of a world: two worlds that differ in nothing but the date, the numbering of requests, or marks
//! that nobody can see any more, become equal.
//!
//! Every time in a state is rewritten relative to now, which becomes zero, so that `now` is not part of the state:
//!
//! - a *due* moment that has come becomes "now" (of a wall clock: stays at most as old as clocks may still step back),
//!   any other is rounded up to a whole tick (durations in a timed world
//!   should be whole ticks); in an untimed world every due moment has come;
//! - a *since* moment becomes at most its limit old; in an untimed world no time has passed since;
//! - an *expiry* that every server's clock has passed becomes "just passed", or passed before anything that looks back so far
//!   ([`Store::looks_back_seconds`]);
//! - *stamps* keep only what comparisons can see. Later readings of any wall clock are above `floor`, the smallest
//!   present reading (less what clocks may still step back). Stamps at or below it can be compared only with their own
//!   group, so their order within the group is kept and nothing else; in an untimed world in which a clock stands still, or
//!   may yet be set back or stop, with room between any two that were read, for who counts on there. Stamps above it will be passed by a slower clock
//!   some ticks from now: those keep their tick, and within it the order in their group, from its middle on, with room between
//!   any two that were read, so that each may be counted on from, as in `max(last + 1, now)`, without meeting the next or leaving
//!   the tick. A lock that carries stamps from one group over into another has one group;
//! - *serials* keep their order per owner; the numbers of a client's holds, which monitors remember, are among them.
//!
//! A step of one node ([`Step`]) leaves most of this as it is: only what that node holds, what it sent, and what holds a stamp
//! or a serial whose rank has changed is rewritten.
//!
//! What a machine can compare, it compares alike before and after: a bisimulation, but for one coincidence. A stamp above the floor
//! that is counted on from another, step by step, may meet a later reading to the microsecond; the form keeps that apart from
//! passing it by only for the first step, and takes longer ways round for readings that are further off. It takes a clock that is
//! ahead, and somebody who counts on from what it showed earlier: the time service that publishes past the last.
//!
//! `tests/canonical` walks beside an executor that keeps absolute times and forgets nothing.

mod local;
mod visits;

pub(crate) use local::{Holds, Piece, Ranks};

use crate::cluster::{Condition, Setup};
use crate::machine::{Message, Node, Owner, StampGroup, Store, Visit, Visitor};
use crate::system::{Process, System};
use crate::time::{Micros, Wall};
use crate::world::{Bounds, Budget, Envelope, TICK, World};
use picklock_properties::{ClientId, HoldId, Monitors};
use smallvec::SmallVec;
use visits::{Collect, Place, Rewrite, Scan, visit};

/// Memory for one rewrite, kept from step to step.
///
/// Almost always every stamp is among the last 64 moments before now and every serial below 64, for they were ranks
/// before this step: then a set is a word, and a rank is a count of its bits. Else (a tick has passed, a clock is off) the
/// lists below are searched; a state has a dozen of each.
#[derive(Default)]
pub struct Buffers {
    /// Per group, which of the last 64 moments up to the floor are there.
    recent: Vec<(u64, u64)>,
    /// Per node, which of the serials below 64 are there.
    small: Vec<u64>,
    /// Whether the two above hold everything; part by part ([`Ranks`]), everything but the stamps above the floor.
    is_compact: bool,
    /// Part by part, what it holds.
    held: Vec<Held>,
    /// Whose stamps and serials are not their ranks already, if the two above hold everything.
    moved: Held,
    /// Every stamp once; part by part, every one above the floor.
    stamps: Vec<Stamp>,
    /// Every serial once, with its owner's place.
    serials: Vec<(usize, u32)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    group: u64,
    /// Relative to the new now.
    at: i64,
    tick_end: i64,
}

/// Which groups of stamps and whose serials, as bits: of the groups by their place among [`Buffers::recent`], of the owners by
/// theirs among the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Held {
    groups: u64,
    owners: u64,
}

impl Held {
    fn meets(self, other: Held) -> bool {
        self.groups & other.groups != 0 || self.owners & other.owners != 0
    }
}

/// One node took a step, in a world that was in canonical form before it, and no clock was touched.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Which node.
    pub of: Node,
    /// How many of the messages, the first ones, were under way before.
    pub messages_before: usize,
}

/// Rewrites `world`, in which true time is `now`, to the equal world in which it is zero. With `step`, that is all that has
/// happened since; without, anything may have.
pub fn rewrite<Y: System>(
    world: &mut World<Y>,
    now: Micros,
    step: Option<Step>,
    setup: &Setup<Y>,
    bounds: &Bounds,
    buffers: &mut Buffers,
) {
    let frame = Frame::of(world, now, setup, bounds);
    settle(world, setup, frame.horizon);
    forget_holds(world);
    let clients = world.cluster.clients.len();
    buffers.recent.clear();
    buffers.small.clear();
    buffers.small.resize(world.cluster.conditions().len(), 0);
    buffers.is_compact = true;
    buffers.held.clear();
    visit(world, setup, &mut Scan { frame: &frame, place: Place::new(clients), buffers });
    let step = step.filter(|_| buffers.is_compact && frame.is_compact());
    if buffers.is_compact {
        buffers.find_moved(step.map(|_| now));
    } else {
        buffers.stamps.clear();
        buffers.serials.clear();
        visit(world, setup, &mut Collect { frame: &frame, place: Place::new(clients), buffers });
    }
    visit(world, setup, &mut Rewrite { frame: &frame, place: Place::new(clients), step, buffers });
    for node in world.cluster.nodes() {
        if let Some(condition) = world.cluster.condition_mut(node) {
            // Readings of a monotonic clock meet only others of the same clock: all of them were moved.
            condition.clock.monotonic_offset = Micros::ZERO;
            if condition.clock.frozen.is_some() {
                condition.clock.frozen = frame.standstill().map(Wall);
            }
        }
    }
}

impl Buffers {
    fn find_moved(&mut self, since: Option<Micros>) {
        let groups = self.recent.iter().map(|(_, present)| *present);
        self.moved = moved(since, groups, self.small.iter().copied());
    }
}

/// Ranks are in place if they count on from the first without a gap. Those of stamps do so only if all that has happened
/// `since` the last canonical form is one step: then the stamps from before are older by its length.
fn moved(
    since: Option<Micros>,
    groups: impl Iterator<Item = u64>,
    owners: impl Iterator<Item = u64>,
) -> Held {
    let counts_on = |present: u64| present & present.wrapping_add(1) == 0;
    let mut moved = Held::default();
    for (number, present) in groups.enumerate() {
        let are_ranks = since.is_some_and(|length| {
            let before = present.checked_shr(length.0 as u32).unwrap_or(0);
            before.checked_shl(length.0 as u32) == Some(present) && counts_on(before)
        });
        moved.groups |= if are_ranks { 0 } else { bit_of(number) };
    }
    for (number, present) in owners.enumerate() {
        moved.owners |= if counts_on(present) { 0 } else { bit_of(number) };
    }
    moved
}

/// The bit of a group or an owner. Those beyond the last bit share it.
fn bit_of(number: usize) -> u64 {
    1 << number.min(63)
}

/// Drops from a world that is not in canonical form, in which true time is `now`, what the canonical form of it drops.
pub fn settle_at<Y: System>(world: &mut World<Y>, now: Micros, setup: &Setup<Y>, bounds: &Bounds) {
    let horizon = Frame::of(world, now, setup, bounds).horizon;
    settle(world, setup, horizon);
}

/// How times are moved.
#[derive(Clone, PartialEq)]
pub(crate) struct Frame {
    shift: i64,
    timed: bool,
    /// No later reading of a moving wall clock is at or below this (relative to the new now).
    floor: i64,
    /// Every later reading of every wall clock is at least this (relative to the old zero).
    horizon: i64,
    /// By how much clocks may still step back in all.
    back: i64,
    /// The smallest present reading of a server's clock, less what clocks may still step back, in whole seconds; and less that for
    /// which expiries that have passed are told apart ([`Store::looks_back_seconds`]).
    floor_seconds: i64,
    /// The reading of the clock that stands still (relative to the new now).
    frozen: Option<i64>,
    /// All stamps are one group.
    one_group: bool,
    /// Stamps up to the floor are put down with room between any two that were read: without time, where clients count on from the last
    /// stamp that they gave, and a clock stands still or may yet do so or be set back, so that they do it among later stamps of others.
    has_room: bool,
    /// Offsets of the nodes' wall clocks.
    offsets: SmallVec<[i64; 8]>,
    /// What the nodes' monotonic clocks have gained in this step.
    gained: SmallVec<[i64; 8]>,
}

impl Frame {
    fn of<Y: System>(world: &World<Y>, now: Micros, setup: &Setup<Y>, bounds: &Bounds) -> Frame {
        Frame::new(world.cluster.conditions(), &world.budget, now, setup, bounds)
    }

    /// The frame of a world in which true time is `now`.
    pub fn new<Y: System>(
        conditions: &[Condition],
        budget: &Budget,
        now: Micros,
        setup: &Setup<Y>,
        bounds: &Bounds,
    ) -> Frame {
        let offsets: SmallVec<[i64; 8]> =
            conditions.iter().map(|condition| condition.clock.wall_offset.0).collect();
        let frozen = conditions.iter().find_map(|condition| condition.clock.frozen);
        let gained = conditions.iter().map(|condition| condition.clock.monotonic_offset.0).collect();
        let back_ticks = |step: i8, times: u8| -i64::from(step.min(0)) * i64::from(times);
        let back = TICK.0
            * (back_ticks(bounds.clock_step_ticks, budget.clock_steps)
                + back_ticks(bounds.server_clock_step_ticks, budget.server_clock_steps));
        let lowest = offsets.iter().copied().min().unwrap_or(0);
        let timed = bounds.latency_ticks.is_some();
        let clocks_err = bounds.freezes > 0
            || bounds.clock_steps > 0 && bounds.clock_step_ticks < 0
            || bounds.server_clock_steps > 0 && bounds.server_clock_step_ticks < 0;
        let counts_on = !timed && Y::has_one_stamp_group(&setup.lock, true);
        let has_room = counts_on && (back > 0 || budget.freezes > 0 || frozen.is_some());
        let moving = lowest - back + now.0 + 1;
        let looks_back = bounds.latency_ticks.map_or(0, |ticks| {
            let latency = Micros(i64::from(ticks) * TICK.0);
            Y::Store::looks_back_seconds(&setup.store, setup.servers, latency)
        });
        Frame {
            horizon: frozen.map_or(moving, |reading| moving.min(reading.0)),
            shift: now.0,
            timed,
            // In an untimed world no stamp is whole ticks old, so a step back always goes below all stamps.
            floor: if timed { lowest - back } else { lowest },
            floor_seconds: (lowest - back).div_euclid(TICK.0) - looks_back,
            frozen: frozen.map(|reading| reading.0 - now.0),
            one_group: Y::has_one_stamp_group(&setup.lock, clocks_err),
            has_room,
            back,
            offsets,
            gained,
        }
    }

    /// Every later reading of every wall clock is at least this (relative to the old zero).
    pub fn horizon(&self) -> i64 {
        self.horizon
    }

    /// Whether the stamps of a world fit into bits if they are recent: if not, their ranks are not all that is kept of them.
    pub fn is_compact(&self) -> bool {
        self.frozen.is_none() && !self.has_room
    }

    /// Whether the first clients, so many, have clocks that show the same: a step is what it is for each of them.
    pub fn has_clocks_alike(&self, clients: usize) -> bool {
        let are_alike = |times: &[i64]| times[..clients].windows(2).all(|pair| pair[0] == pair[1]);
        are_alike(&self.offsets) && are_alike(&self.gained)
    }

    /// The tick that a stamp (relative to the new now) belongs to, named by its last moment.
    fn tick_end(&self, stamp: i64) -> i64 {
        if stamp <= self.floor { self.floor } else { -(-stamp).div_euclid(TICK.0) * TICK.0 }
    }

    fn group_key(&self, group: StampGroup) -> u64 {
        if self.one_group { 0 } else { u64::from(group.space) << 32 | u64::from(group.member) }
    }

    /// Where the clock that stands still is put: in the middle of its tick.
    fn standstill(&self) -> Option<i64> {
        self.frozen.map(|reading| self.tick_end(reading) - TICK.0 / 2)
    }

    /// A moment relative to the new now, to whole ticks: the microseconds that steps take within a tick order readings,
    /// but are no time that passes.
    fn whole_ticks(&self, at: i64) -> i64 {
        -(self.shift - at).div_euclid(TICK.0) * TICK.0
    }
}

fn settle<Y: System>(world: &mut World<Y>, setup: &Setup<Y>, horizon: i64) {
    let World { cluster, in_flight, .. } = world;
    let mut servers: SmallVec<[&mut Y::Store; 3]> = cluster.servers.iter_mut().collect();
    let mut messages = in_flight.iter().map(|envelope| &envelope.message);
    settle_servers::<Y>(&mut cluster.clients.iter(), &mut servers, &mut messages, setup, horizon);
}

pub(crate) fn settle_servers<Y: System>(
    clients: &mut dyn Iterator<Item = &Y::Process>,
    servers: &mut [&mut Y::Store],
    messages: &mut dyn Iterator<Item = &Message<Y::Store>>,
    setup: &Setup<Y>,
    horizon: i64,
) {
    let kept = clients.filter_map(|client| client.earliest_timestamp(&setup.lock));
    let horizon = kept.map(|at| at.0).min().map_or(horizon, |kept| kept.min(horizon));
    Y::Store::settle(servers, messages, Wall(horizon), &setup.store);
}

/// The monitors need not remember a hold from which nothing can arrive any more: none of the client's latest, and of no
/// message under way.
pub(crate) fn forget_holds<Y: System>(world: &mut World<Y>) {
    let World { cluster, in_flight, .. } = world;
    let clients = &cluster.clients;
    let latest = |client: ClientId| clients[usize::from(client.0)].latest_hold();
    forget_holds_of(&mut cluster.monitors, latest, || in_flight.iter());
}

pub(crate) fn forget_holds_of<'a, Y: System, I: Iterator<Item = &'a Envelope<Y>>>(
    monitors: &mut [Monitors],
    latest_hold: impl Fn(ClientId) -> HoldId,
    in_flight: impl Fn() -> I,
) {
    let is_over = |client: ClientId, hold: HoldId| {
        let is_of_it = |envelope: &Envelope<Y>| match envelope.message {
            Message::Read { serial, .. } | Message::Write { serial, .. } => {
                envelope.from == Node::Client(client.0) && serial == hold.0
            }
            Message::Request(_)
            | Message::Reply(_)
            | Message::Peer(_)
            | Message::Shown { .. }
            | Message::Written { .. } => false,
        };
        latest_hold(client) != hold && !in_flight().any(is_of_it)
    };
    for monitors in monitors {
        monitors.forget_holds(&is_over);
    }
}

impl<S: Store> Visit for Message<S> {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Message::Request(request) => request.visit(visitor),
            Message::Reply(reply) => reply.visit(visitor),
            Message::Peer(peer) => peer.visit(visitor),
            Message::Read { serial, fence, lock: _ } | Message::Write { serial, fence, lock: _ } => {
                visitor.serial(Owner::Sender, serial);
                if let Some(token) = fence {
                    S::visit_fence(token, visitor);
                }
            }
            Message::Shown { serial } | Message::Written { serial, .. } => {
                visitor.serial(Owner::Receiver, serial);
            }
        }
    }
}
