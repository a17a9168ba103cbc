//! The visits that a rewrite pays to a world: what is there, and then what it becomes.

use super::{Buffers, Frame, Held, Stamp, Step, bit_of};
use crate::cluster::Setup;
use crate::machine::{Node, Owner, StampGroup, Store, Visit, Visitor};
use crate::system::{Process, System};
use crate::time::{Due, Micros, Monotonic, Wall};
use crate::workload::Resource;
use crate::world::{TICK, World};
use picklock_properties::Monitors;
use smallvec::SmallVec;

/// Stamps that are no further apart were counted on one from the other, as in `max(last + 1, now)`: those stay as far apart as
/// they are, for who counts on from the same one comes to the same. A longer chain of which nobody holds the middle any more is
/// taken for two readings.
const COUNTED: i64 = 1;

/// Stamps that were read are further apart than anybody counts.
const APART: i64 = 1000;

/// Where a stamp above the floor is put that belongs to the tick with this `end`, by all stamps of its group in that tick.
pub(super) fn place_ahead(stamp: i64, end: i64, tick_mates: impl Iterator<Item = i64>) -> i64 {
    end - TICK.0 / 2 + with_room(tick_mates.filter(|at| *at <= stamp))
}

/// How far the last of these stamps is from the first if any two that were read are [`APART`].
fn with_room(stamps: impl Iterator<Item = i64>) -> i64 {
    let mut stamps: SmallVec<[i64; 8]> = stamps.collect();
    stamps.sort_unstable();
    let steps = stamps.windows(2).map(|pair| pair[1] - pair[0]);
    steps.map(|step| if step > COUNTED { APART } else { step }).sum()
}

/// What is being visited.
pub(super) struct Place {
    clients: usize,
    /// How many parts of the world were entered before this one.
    part: usize,
    /// Whose state; none in a message.
    me: Option<Node>,
    from: Option<Node>,
    to: Option<Node>,
}

impl Place {
    pub fn new(clients: usize) -> Place {
        Place { clients, part: 0, me: None, from: None, to: None }
    }

    /// Whose what is visited next is.
    pub fn put(&mut self, part: Part) {
        (self.me, self.from, self.to) = match part {
            Part::Of(node) => (Some(node), None, None),
            Part::Rest => (None, None, None),
            Part::Message(_, from, to) => (None, Some(from), Some(to)),
        };
    }

    /// The position among the cluster's nodes.
    fn index(&self, node: Node) -> usize {
        match node {
            Node::Client(client) => usize::from(client),
            Node::Server(server) => self.clients + usize::from(server),
            Node::Resource => unreachable!("the resource draws no serials and has no clock"),
        }
    }

    pub fn owner(&self, owner: Owner) -> usize {
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

pub(super) trait PlacedVisitor: Visitor {
    fn place(&mut self) -> &mut Place;

    /// Whether the part is to be visited that begins here.
    fn enter(&mut self, part: Part) -> bool;
}

/// A part of a world, which is visited as a whole or not at all.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Of(Node),
    /// The resource and what is observed.
    Rest,
    /// The message of this number, and between whom.
    Message(usize, Node, Node),
}

/// Shows all parts of the world to `visitor`, or those that it wants to see.
pub(super) fn visit<Y: System, V: PlacedVisitor>(world: &mut World<Y>, setup: &Setup<Y>, visitor: &mut V) {
    for (number, client) in world.cluster.clients.iter_mut().enumerate() {
        if enter(Part::Of(Node::Client(number as u8)), visitor) {
            client.visit(&setup.lock, visitor);
        }
    }
    for (number, server) in world.cluster.servers.iter_mut().enumerate() {
        if enter(Part::Of(Node::Server(number as u8)), visitor) {
            server.visit(visitor);
        }
    }
    if enter(Part::Rest, visitor) {
        visit_rest::<Y, V>(&mut world.cluster.resource, &mut world.cluster.monitors, visitor);
    }
    for (number, envelope) in world.in_flight.iter_mut().enumerate() {
        if enter(Part::Message(number, envelope.from, envelope.to), visitor) {
            envelope.message.visit(visitor);
        }
    }
}

/// Shows what no node owns.
pub(super) fn visit_rest<Y: System, V: Visitor>(
    resource: &mut Resource,
    monitors: &mut [Monitors],
    visitor: &mut V,
) {
    resource.visit::<Y::Store, V>(visitor);
    for monitors in monitors {
        monitors.each_hold(&mut |client, hold| {
            visitor.serial(Owner::Node(Node::Client(client.0)), &mut hold.0);
        });
        monitors.each_token(&mut |token| Y::Store::visit_fence(token, visitor));
    }
}

fn enter(part: Part, visitor: &mut impl PlacedVisitor) -> bool {
    visitor.place().put(part);
    let is_visited = visitor.enter(part);
    visitor.place().part += 1;
    is_visited
}

/// The first visit: what there is, as bits, or that bits are not enough.
pub(super) struct Scan<'a> {
    pub frame: &'a Frame,
    pub place: Place,
    pub buffers: &'a mut Buffers,
}

impl PlacedVisitor for Scan<'_> {
    fn place(&mut self) -> &mut Place {
        &mut self.place
    }

    fn enter(&mut self, _part: Part) -> bool {
        self.buffers.held.push(Held::default());
        true
    }
}

impl Scan<'_> {
    /// What the visited part holds.
    fn held(&mut self) -> &mut Held {
        match self.buffers.held.last_mut() {
            Some(held) => held,
            None => unreachable!("a part is entered before it is visited"),
        }
    }
}

impl Visitor for Scan<'_> {
    fn stamp(&mut self, group: StampGroup, at: &mut Wall) {
        let age = self.frame.floor + self.frame.shift - at.0;
        if !(0..64).contains(&age) || !self.frame.is_compact() {
            self.buffers.is_compact = false;
            return;
        }
        let group = self.frame.group_key(group);
        let bit = 1 << age;
        let recent = &mut self.buffers.recent;
        let number = recent.iter().position(|(other, _)| *other == group).unwrap_or(recent.len());
        match recent.get_mut(number) {
            Some((_, present)) => *present |= bit,
            None => recent.push((group, bit)),
        }
        self.held().groups |= bit_of(number);
    }

    fn due(&mut self, _due: &mut Due) {}

    fn since(&mut self, _at: &mut Monotonic, _limit: Micros) {}

    fn expiry_seconds(&mut self, _at: &mut i64) {}

    fn serial(&mut self, owner: Owner, serial: &mut u32) {
        match 1_u64.checked_shl(*serial) {
            Some(bit) => {
                let owner = self.place.owner(owner);
                self.buffers.small[owner] |= bit;
                self.held().owners |= bit_of(owner);
            }
            None => self.buffers.is_compact = false,
        }
    }
}

/// The second visit, if bits are not enough.
pub(super) struct Collect<'a> {
    pub frame: &'a Frame,
    pub place: Place,
    pub buffers: &'a mut Buffers,
}

impl PlacedVisitor for Collect<'_> {
    fn place(&mut self) -> &mut Place {
        &mut self.place
    }

    fn enter(&mut self, _part: Part) -> bool {
        true
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

/// The last visit: what is found is put in its place.
pub(super) struct Rewrite<'a> {
    pub frame: &'a Frame,
    pub place: Place,
    /// If no more has happened, what it left alone is not visited.
    pub step: Option<Step>,
    pub buffers: &'a Buffers,
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

    fn enter(&mut self, part: Part) -> bool {
        let Some(step) = self.step else { return true };
        let is_of_step = match part {
            Part::Of(node) => node == step.of,
            // Steps of all nodes are observed.
            Part::Rest => true,
            Part::Message(number, ..) => number >= step.messages_before,
        };
        is_of_step || self.buffers.held[self.place.part].meets(self.buffers.moved)
    }
}

impl Visitor for Rewrite<'_> {
    fn stamp(&mut self, group: StampGroup, at: &mut Wall) {
        let stamp = at.0 - self.frame.shift;
        let group = self.frame.group_key(group);
        if self.buffers.is_compact && stamp <= self.frame.floor {
            let mut groups = self.buffers.recent.iter().enumerate();
            let Some((number, (_, present))) = groups.find(|(_, (other, _))| *other == group) else {
                unreachable!("what is rewritten was scanned before");
            };
            if self.buffers.moved.groups & bit_of(number) != 0 {
                let age = self.frame.floor - stamp;
                let later = (1_u64 << age) - 1;
                at.0 = self.frame.floor - i64::from((present & later).count_ones());
            }
            return;
        }
        let end = self.frame.tick_end(stamp);
        let tick_mates =
            || self.buffers.stamps.iter().filter(|other| other.group == group && other.tick_end == end);
        if end > self.frame.floor && self.frame.frozen.is_none() {
            at.0 = place_ahead(stamp, end, tick_mates().map(|other| other.at));
            return;
        }
        // A stamp on this side of the frozen reading; equal ones count as later than this side.
        let is_near =
            |later: i64| self.frame.frozen.is_none_or(|frozen| !(stamp <= frozen && frozen < later));
        // How far it is from the latest of the group's stamps of the same tick: as its rank among them, or with room between them.
        let later = tick_mates().filter(|other| other.at > stamp && is_near(other.at)).map(|other| other.at);
        let rank = match self.frame.has_room {
            true => with_room(later.chain([stamp])),
            false => later.count() as i64,
        };
        // Counted on from the frozen reading, by nobody else than those whose clock stands still.
        let is_counted = |frozen: i64| {
            let up_to = tick_mates().map(|other| other.at).filter(|at| (frozen..=stamp).contains(at));
            self.frame.has_room && stamp > frozen && with_room(up_to.chain([frozen])) == stamp - frozen
        };
        at.0 = match (self.frame.frozen, self.frame.standstill()) {
            (Some(frozen), Some(standstill)) if stamp == frozen => standstill,
            (Some(frozen), Some(standstill)) if is_counted(frozen) => standstill + stamp - frozen,
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
            if self.buffers.moved.owners & bit_of(owner) != 0 {
                *serial = (self.buffers.small[owner] & ((1_u64 << *serial) - 1)).count_ones();
            }
            return;
        }
        let smaller = self.buffers.serials.iter().filter(|(other, value)| *other == owner && value < serial);
        *serial = smaller.count() as u32;
    }
}
