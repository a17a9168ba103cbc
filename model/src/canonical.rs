//! The canonical form of a world: two worlds that differ in nothing but the date, the numbering of requests, or marks
//! that nobody can see any more, become equal.
//!
//! Every time in a state is rewritten relative to now, which becomes zero, so that `now` is not part of the state:
//!
//! - a *due* moment that has come becomes "now" (of a wall clock: stays at most as old as clocks may still step back),
//!   any other is rounded up to a whole tick (durations in a timed world
//!   should be whole ticks); in an untimed world every due moment has come;
//! - a *since* moment becomes at most its limit old; in an untimed world no time has passed since;
//! - an *expiry* that every server's clock has passed becomes "just passed";
//! - *stamps* keep only what comparisons can see. Later readings of any wall clock are above `floor`, the smallest
//!   present reading (less what clocks may still step back). Stamps at or below it can be compared only with their own
//!   group, so their order within the group is kept and nothing else. Stamps above it will be passed by a slower clock
//!   some ticks from now: those keep their tick, and within it the order in their group (from its middle on, so that the
//!   largest may be counted on from, as in `max(last + 1, now)`, without leaving the tick). A lock that carries stamps
//!   from one group over into another has one group;
//! - *serials* keep their order per owner; the numbers of a client's holds, which monitors remember, are among them.
//!
//! This is a bisimulation: what a machine can compare, it compares alike before and after. `tests/canonical` walks
//! beside an executor that keeps absolute times and forgets nothing.

use crate::cluster::Setup;
use crate::machine::{Lock, Message, Node, Owner, StampGroup, Store, Visit, Visitor};
use crate::time::{Due, Micros, Monotonic, Wall};
use crate::world::{Bounds, Envelope, TICK, World};
use picklock_properties::{ClientId, HoldId};
use smallvec::SmallVec;

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
    /// Whether the two above hold everything.
    is_compact: bool,
    /// Every stamp once.
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

/// Rewrites `world`, in which true time is `now`, to the equal world in which it is zero.
pub fn rewrite<L: Lock>(
    world: &mut World<L>,
    now: Micros,
    setup: &Setup<L>,
    bounds: &Bounds,
    buffers: &mut Buffers,
) {
    let frame = Frame::new(world, now, setup, bounds);
    settle(world, setup, frame.horizon);
    forget_holds(world);
    let clients = world.cluster.clients.len();
    buffers.recent.clear();
    buffers.small.clear();
    buffers.small.resize(world.cluster.conditions().len(), 0);
    buffers.is_compact = true;
    visit(world, setup, &mut Scan { frame: &frame, place: Place::new(clients), buffers });
    if !buffers.is_compact {
        buffers.stamps.clear();
        buffers.serials.clear();
        visit(world, setup, &mut Collect { frame: &frame, place: Place::new(clients), buffers });
    }
    visit(world, setup, &mut Rewrite { frame: &frame, place: Place::new(clients), buffers });
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

/// Drops from a world that is not in canonical form, in which true time is `now`, what the canonical form of it drops.
pub fn settle_at<L: Lock>(world: &mut World<L>, now: Micros, setup: &Setup<L>, bounds: &Bounds) {
    let horizon = Frame::new(world, now, setup, bounds).horizon;
    settle(world, setup, horizon);
}

/// How times are moved.
struct Frame {
    shift: i64,
    timed: bool,
    /// No later reading of a moving wall clock is at or below this (relative to the new now).
    floor: i64,
    /// Every later reading of every wall clock is at least this (relative to the old zero).
    horizon: i64,
    /// By how much clocks may still step back in all.
    back: i64,
    /// The smallest present reading of a server's clock, less what clocks may still step back, in whole seconds.
    floor_seconds: i64,
    /// The reading of the clock that stands still (relative to the new now).
    frozen: Option<i64>,
    /// All stamps are one group.
    one_group: bool,
    /// Offsets of the nodes' wall clocks.
    offsets: SmallVec<[i64; 8]>,
    /// What the nodes' monotonic clocks have gained in this step.
    gained: SmallVec<[i64; 8]>,
}

impl Frame {
    fn new<L: Lock>(world: &World<L>, now: Micros, setup: &Setup<L>, bounds: &Bounds) -> Frame {
        let offsets: SmallVec<[i64; 8]> =
            world.cluster.conditions().iter().map(|condition| condition.clock.wall_offset.0).collect();
        let frozen = world.cluster.conditions().iter().find_map(|condition| condition.clock.frozen);
        let gained =
            world.cluster.conditions().iter().map(|condition| condition.clock.monotonic_offset.0).collect();
        let back_ticks = |step: i8, times: u8| -i64::from(step.min(0)) * i64::from(times);
        let back = TICK.0
            * (back_ticks(bounds.clock_step_ticks, world.budget.clock_steps)
                + back_ticks(bounds.server_clock_step_ticks, world.budget.server_clock_steps));
        let lowest = offsets.iter().copied().min().unwrap_or(0);
        let timed = bounds.latency_ticks.is_some();
        let moving = lowest - back + now.0 + 1;
        Frame {
            horizon: frozen.map_or(moving, |reading| moving.min(reading.0)),
            shift: now.0,
            timed,
            // In an untimed world no stamp is whole ticks old, so a step back always goes below all stamps.
            floor: if timed { lowest - back } else { lowest },
            floor_seconds: (lowest - back).div_euclid(TICK.0),
            frozen: frozen.map(|reading| reading.0 - now.0),
            one_group: L::carries_stamps_over(&setup.lock),
            back,
            offsets,
            gained,
        }
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

/// What is being visited.
struct Place {
    clients: usize,
    /// Whose state; none in a message.
    me: Option<Node>,
    from: Option<Node>,
    to: Option<Node>,
}

impl Place {
    fn new(clients: usize) -> Place {
        Place { clients, me: None, from: None, to: None }
    }

    fn enter(&mut self, me: Option<Node>, from: Option<Node>, to: Option<Node>) {
        (self.me, self.from, self.to) = (me, from, to);
    }

    /// The position among the cluster's nodes.
    fn index(&self, node: Node) -> usize {
        match node {
            Node::Client(client) => usize::from(client),
            Node::Server(server) => self.clients + usize::from(server),
            Node::Resource => unreachable!("the resource draws no serials and has no clock"),
        }
    }

    fn owner(&self, owner: Owner) -> usize {
        let node = match owner {
            Owner::Me => self.me,
            Owner::Sender => self.from,
            Owner::Receiver => self.to,
            Owner::Node(node) => Some(node),
        };
        match node {
            Some(node) => self.index(node),
            None => unreachable!("a message has a sender and a receiver, a state has itself"),
        }
    }
}

trait PlacedVisitor: Visitor {
    fn place(&mut self) -> &mut Place;
}

fn visit<L: Lock, V: PlacedVisitor>(world: &mut World<L>, setup: &Setup<L>, visitor: &mut V) {
    for (number, client) in world.cluster.clients.iter_mut().enumerate() {
        visitor.place().enter(Some(Node::Client(number as u8)), None, None);
        client.visit(&setup.lock, visitor);
    }
    for (number, server) in world.cluster.servers.iter_mut().enumerate() {
        visitor.place().enter(Some(Node::Server(number as u8)), None, None);
        server.visit(visitor);
    }
    visitor.place().enter(None, None, None);
    world.cluster.resource.visit::<L::Store, V>(visitor);
    for monitors in &mut world.cluster.monitors {
        monitors.each_hold(&mut |client, hold| {
            visitor.serial(Owner::Node(Node::Client(client.0)), &mut hold.0);
        });
        monitors.each_token(&mut |token| L::Store::visit_fence(token, visitor));
    }
    for envelope in &mut world.in_flight {
        visitor.place().enter(None, Some(envelope.from), Some(envelope.to));
        envelope.message.visit(visitor);
    }
}

/// The first visit: what there is, as bits, or that bits are not enough.
struct Scan<'a> {
    frame: &'a Frame,
    place: Place,
    buffers: &'a mut Buffers,
}

impl PlacedVisitor for Scan<'_> {
    fn place(&mut self) -> &mut Place {
        &mut self.place
    }
}

impl Visitor for Scan<'_> {
    fn stamp(&mut self, group: StampGroup, at: &mut Wall) {
        let age = self.frame.floor + self.frame.shift - at.0;
        if !(0..64).contains(&age) || self.frame.frozen.is_some() {
            self.buffers.is_compact = false;
            return;
        }
        let group = self.frame.group_key(group);
        let bit = 1 << age;
        match self.buffers.recent.iter_mut().find(|(other, _)| *other == group) {
            Some((_, present)) => *present |= bit,
            None => self.buffers.recent.push((group, bit)),
        }
    }

    fn due(&mut self, _due: &mut Due) {}

    fn since(&mut self, _at: &mut Monotonic, _limit: Micros) {}

    fn expiry_seconds(&mut self, _at: &mut i64) {}

    fn serial(&mut self, owner: Owner, serial: &mut u32) {
        match 1_u64.checked_shl(*serial) {
            Some(bit) => {
                let owner = self.place.owner(owner);
                self.buffers.small[owner] |= bit;
            }
            None => self.buffers.is_compact = false,
        }
    }
}

/// The second visit, if bits are not enough.
struct Collect<'a> {
    frame: &'a Frame,
    place: Place,
    buffers: &'a mut Buffers,
}

impl PlacedVisitor for Collect<'_> {
    fn place(&mut self) -> &mut Place {
        &mut self.place
    }
}

impl Visitor for Collect<'_> {
    fn stamp(&mut self, group: StampGroup, at: &mut Wall) {
        let at = at.0 - self.frame.shift;
        let stamp = Stamp { group: self.frame.group_key(group), at, tick_end: self.frame.tick_end(at) };
        if !self.buffers.stamps.contains(&stamp) {
            self.buffers.stamps.push(stamp);
        }
    }

    fn due(&mut self, _due: &mut Due) {}

    fn since(&mut self, _at: &mut Monotonic, _limit: Micros) {}

    fn expiry_seconds(&mut self, _at: &mut i64) {}

    fn serial(&mut self, owner: Owner, serial: &mut u32) {
        let owned = (self.place.owner(owner), *serial);
        if !self.buffers.serials.contains(&owned) {
            self.buffers.serials.push(owned);
        }
    }
}

struct Rewrite<'a> {
    frame: &'a Frame,
    place: Place,
    buffers: &'a Buffers,
}

impl Rewrite<'_> {
    /// What the visited node's monotonic clock has gained in this step: it starts from zero again.
    fn gained(&self) -> i64 {
        self.place.me.map_or(0, |me| self.frame.gained[self.place.index(me)])
    }
}

impl PlacedVisitor for Rewrite<'_> {
    fn place(&mut self) -> &mut Place {
        &mut self.place
    }
}

impl Visitor for Rewrite<'_> {
    fn stamp(&mut self, group: StampGroup, at: &mut Wall) {
        if self.buffers.is_compact {
            let group = self.frame.group_key(group);
            let age = self.frame.floor + self.frame.shift - at.0;
            let later = (1_u64 << age) - 1;
            let present = self.buffers.recent.iter().find(|(other, _)| *other == group);
            let rank = present.map_or(0, |(_, present)| (present & later).count_ones());
            at.0 = self.frame.floor - i64::from(rank);
            return;
        }
        let stamp = at.0 - self.frame.shift;
        let end = self.frame.tick_end(stamp);
        let group = self.frame.group_key(group);
        let tick_mates =
            || self.buffers.stamps.iter().filter(|other| other.group == group && other.tick_end == end);
        if end > self.frame.floor && self.frame.frozen.is_none() {
            let earlier = tick_mates().filter(|other| other.at < stamp).count() as i64;
            at.0 = end - TICK.0 / 2 + earlier;
            return;
        }
        // A stamp on this side of the frozen reading; equal ones count as later than this side.
        let is_near =
            |later: i64| self.frame.frozen.is_none_or(|frozen| !(stamp <= frozen && frozen < later));
        // The rank among the group's stamps of the same tick, counted from the latest.
        let rank = tick_mates().filter(|other| other.at > stamp && is_near(other.at)).count() as i64;
        at.0 = match (self.frame.frozen, self.frame.standstill()) {
            (Some(frozen), Some(standstill)) if stamp == frozen => standstill,
            // Stamps equal to the frozen reading are counted above as later than this one, or are not there.
            (Some(frozen), Some(standstill)) if stamp < frozen && end == self.frame.tick_end(frozen) => {
                standstill - 1 - rank
            }
            (Some(_) | None, _) => end - rank,
        };
    }

    fn due(&mut self, due: &mut Due) {
        let reading = self.place.me.map_or(0, |me| self.frame.offsets[self.place.index(me)]);
        match due {
            Due::Wall(at) => {
                // A clock that steps back makes undue what came not long ago.
                at.0 = if self.frame.timed {
                    self.frame.whole_ticks(at.0).max(reading - self.frame.back)
                } else {
                    reading
                }
            }
            Due::Monotonic(at) => {
                at.0 =
                    if self.frame.timed { (self.frame.whole_ticks(at.0) - self.gained()).max(0) } else { 0 }
            }
        }
    }

    fn since(&mut self, at: &mut Monotonic, limit: Micros) {
        at.0 =
            if self.frame.timed { (self.frame.whole_ticks(at.0) - self.gained()).max(-limit.0) } else { 0 };
    }

    fn expiry_seconds(&mut self, at: &mut i64) {
        *at = (*at - self.frame.shift.div_euclid(TICK.0)).max(self.frame.floor_seconds);
    }

    fn serial(&mut self, owner: Owner, serial: &mut u32) {
        let owner = self.place.owner(owner);
        if self.buffers.is_compact {
            *serial = (self.buffers.small[owner] & ((1_u64 << *serial) - 1)).count_ones();
            return;
        }
        let smaller = self.buffers.serials.iter().filter(|(other, value)| *other == owner && value < serial);
        *serial = smaller.count() as u32;
    }
}

fn settle<L: Lock>(world: &mut World<L>, setup: &Setup<L>, horizon: i64) {
    let World { cluster, in_flight, .. } = world;
    let kept = cluster.clients.iter().filter_map(|client| client.lock.earliest_timestamp(&setup.lock));
    let horizon = kept.map(|at| at.0).min().map_or(horizon, |kept| kept.min(horizon));
    let mut servers: SmallVec<[&mut L::Store; 3]> = cluster.servers.iter_mut().collect();
    let mut messages = in_flight.iter().map(|envelope| &envelope.message);
    L::Store::settle(&mut servers, &mut messages, Wall(horizon), &setup.store);
}

/// The monitors need not remember a hold from which nothing can arrive any more: none of the client's latest, and of no
/// message under way.
pub(crate) fn forget_holds<L: Lock>(world: &mut World<L>) {
    let World { cluster, in_flight, .. } = world;
    let is_over = |client: ClientId, hold: HoldId| {
        let is_of_it = |envelope: &Envelope<L>| match envelope.message {
            Message::Read { serial, .. } | Message::Write { serial, .. } => {
                envelope.from == Node::Client(client.0) && serial == hold.0
            }
            Message::Request(_)
            | Message::Reply(_)
            | Message::Peer(_)
            | Message::Shown { .. }
            | Message::Written { .. } => false,
        };
        cluster.clients[usize::from(client.0)].latest_hold() != hold && !in_flight.iter().any(is_of_it)
    };
    for monitors in &mut cluster.monitors {
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
