//! Worlds up to which client is which.
//!
//! Where all clients do the same, and nobody asks more of a client's number than whether it is another's, a world in which two clients
//! have changed places goes on as it would have gone on before: it is enough to keep one of all that differ in nothing else (Ip and
//! Dill, Better Verification Through Symmetry, 1996: a *scalarset*). Which one is found by sorting the clients by what each is beside its
//! number, as far as that tells them apart (Bošnački, Dams and Holenderski, Symmetric Spin, 2000), and by trying where it does not.
//!
//! A world that is kept stands for as many as there are ways to give it other numbers that make another world of it: all are counted. So
//! states, transitions and coverage come out as if nothing were left out, which is how the reduced search is judged by the full one.
//!
//! Nobody's word is taken for it that clients are alike. A step that is taken for the first time is taken again by clients of other
//! numbers, and has to come to the same under these; if it does not, the search begins anew with nothing left out.

use super::known::{UNKNOWN, hash_of};
use super::memory::{Memory, Slot};
use super::outcomes::{Entered, Outcome};
use super::rows::Row;
use crate::cluster::{Shared, Status};
use crate::explore::Alike;
use crate::explore::packed::pack;
use crate::few::sort_few;
use crate::machine::{Node, Owner, StampGroup, Store, Visit, Visitor};
use crate::system::{Process, System};
use crate::time::{Due, Micros, Monotonic, Wall};
use crate::world::{Action, Envelope};
use smallvec::SmallVec;

/// Of more clients there are too many ways to number them: a search up to who is who gives up on more.
pub(in crate::explore) const CLIENTS_MAX: u8 = 5;

/// With up to so many clients a step is taken again under all numbers, with more under those of one way.
const CHECKED_IN_FULL_MAX: usize = 3;

/// A way to number clients: who is which.
type Way = SmallVec<[u8; CLIENTS_MAX as usize]>;

/// By place: the nodes, what is shared, messages. Then by the part's number.
type ByPart<T> = Vec<Vec<T>>;

/// What is remembered of parts whose clients have other numbers.
pub(super) struct Symmetry {
    clients: usize,
    /// All of them; the first changes nothing.
    ways: Vec<Way>,
    /// By way: the number of the part that it becomes, [`UNKNOWN`] if nobody asked.
    renumbered: Vec<ByPart<u32>>,
    /// What a client is beside its number. Of a message: what it is for each of the clients.
    looks: ByPart<Option<u64>>,
}

impl Symmetry {
    pub fn new(clients: u8, nodes: usize) -> Symmetry {
        let clients = usize::from(clients);
        let places = nodes + 2;
        let ways = ways(clients);
        Symmetry {
            clients,
            renumbered: ways.iter().map(|_| vec![Vec::new(); places]).collect(),
            ways,
            looks: vec![Vec::new(); places],
        }
    }

    fn place(&self, slot: Slot) -> usize {
        match slot {
            Slot::Node(at) => at,
            Slot::Shared => self.looks.len() - 2,
            Slot::Message => self.looks.len() - 1,
        }
    }

    /// In how many worlds one is known that so many ways make no other of.
    fn orbit(&self, stabiliser: usize) -> u16 {
        (self.ways.len() / stabiliser.max(1)) as u16
    }

    /// The way that puts clients into this order: the client `order[n]` becomes number *n*.
    fn way_of(&self, order: &[usize]) -> usize {
        let puts =
            |way: &Way| order.iter().enumerate().all(|(number, client)| usize::from(way[*client]) == number);
        self.ways.iter().position(puts).unwrap_or(0)
    }
}

/// All ways to give this many clients numbers, in lexicographic order.
fn ways(clients: usize) -> Vec<Way> {
    let mut ways = vec![Way::new()];
    for _ in 0..clients {
        let longer = |way: Way| {
            let left = (0..clients as u8).filter(|number| !way.contains(number)).collect::<Way>();
            left.into_iter().map(move |number| way.iter().copied().chain([number]).collect::<Way>())
        };
        ways = ways.into_iter().flat_map(longer).collect();
    }
    ways
}

/// Gives clients other numbers: client *n* has number `way[n]`.
struct Renumber<'a>(&'a Way);

impl Renumber<'_> {
    fn number(&self, client: u8) -> u8 {
        self.0.get(usize::from(client)).copied().unwrap_or(client)
    }

    fn node(&self, node: Node) -> Node {
        match node {
            Node::Client(client) => Node::Client(self.number(client)),
            Node::Server(_) | Node::Resource => node,
        }
    }

    fn message<Y: System>(&mut self, envelope: &mut Envelope<Y>) {
        (envelope.from, envelope.to) = (self.node(envelope.from), self.node(envelope.to));
        envelope.message.visit(self);
    }

    fn shared<Y: System>(&mut self, (resource, conditions, monitors, _): &mut Shared<Y::Judge>) {
        resource.visit::<Y::Store, _>(self);
        let before = conditions.clone();
        for (client, number) in self.0.iter().enumerate() {
            conditions[usize::from(*number)] = before[client];
        }
        monitors.iter_mut().for_each(|monitors| monitors.renumber_clients(self.0));
    }
}

impl Visitor for Renumber<'_> {
    const RENUMBERS: bool = true;

    fn stamp(&mut self, _group: StampGroup, _at: &mut Wall) {}

    fn due(&mut self, _due: &mut Due) {}

    fn since(&mut self, _at: &mut Monotonic, _limit: Micros) {}

    fn expiry_seconds(&mut self, _at: &mut i64) {}

    fn serial(&mut self, _owner: Owner, _serial: &mut u32) {}

    fn client(&mut self, client: &mut u8) {
        *client = self.number(*client);
    }
}

impl<Y: System> Memory<'_, Y> {
    /// Puts the last step's world in the place of all that differ from it in who is who, and says how many those are.
    pub fn reduce_next(&mut self) -> u16 {
        let mut row = std::mem::take(&mut self.next);
        let worlds = self.reduce(&mut row);
        self.next = row;
        worlds
    }

    /// The same for the world of a row; 1 where clients are told apart.
    pub fn reduce(&mut self, row: &mut Row) -> u16 {
        let Some(mut symmetry) = self.symmetry.take() else { return 1 };
        let worlds = self.reduce_by(&mut symmetry, row);
        self.symmetry = Some(symmetry);
        worlds
    }

    fn reduce_by(&mut self, symmetry: &mut Symmetry, row: &mut Row) -> u16 {
        let looks = self.looks_of(symmetry, row);
        let mut order: SmallVec<[usize; CLIENTS_MAX as usize]> = (0..symmetry.clients).collect();
        sort_few(&mut order, |one, other| looks[*one] < looks[*other]);
        let is_tied = |places: &[usize]| looks[places[0]] == looks[places[1]];
        if !order.windows(2).any(is_tied) {
            let way = symmetry.way_of(&order);
            if way != 0 {
                *row = self.renumber_row(symmetry, way, row);
            }
            return symmetry.orbit(1);
        }
        // Those that look the same are tried in every order.
        let keeps = |way: &Way| {
            way.iter()
                .enumerate()
                .all(|(place, other)| looks[order[place]] == looks[order[usize::from(*other)]])
        };
        let tried: SmallVec<[usize; 8]> =
            (0..symmetry.ways.len()).filter(|way| keeps(&symmetry.ways[*way])).collect();
        let mut best: Option<(Contents, Row, usize)> = None;
        for way in tried {
            let way = &symmetry.ways[way];
            let ordered: SmallVec<[usize; CLIENTS_MAX as usize]> =
                way.iter().map(|place| order[usize::from(*place)]).collect();
            let way = symmetry.way_of(&ordered);
            let other = self.renumber_row(symmetry, way, row);
            let contents = self.contents_of(&other);
            match &mut best {
                Some((least, _, count)) if *least == contents => *count += 1,
                Some((least, ..)) if *least < contents => {}
                Some(_) | None => best = Some((contents, other, 1)),
            }
        }
        let Some((_, least, stabiliser)) = best else { return 1 };
        *row = least;
        symmetry.orbit(stabiliser)
    }

    /// What each client is beside its number, with what is under way to it and from it.
    fn looks_of(&mut self, symmetry: &mut Symmetry, row: &Row) -> SmallVec<[u64; CLIENTS_MAX as usize]> {
        let clients = symmetry.clients;
        let mut looks: SmallVec<[u64; CLIENTS_MAX as usize]> = SmallVec::new();
        for (client, number) in row.nodes[..clients].iter().enumerate() {
            looks.push(self.look(symmetry, Slot::Node(client), *number, client));
        }
        let place = symmetry.place(Slot::Message);
        for message in &row.messages {
            let first = *message as usize * clients;
            let known = symmetry.looks[place].get(first..first + clients);
            match known.filter(|known| known.iter().all(Option::is_some)) {
                Some(known) => {
                    looks.iter_mut().zip(known.iter().flatten()).for_each(|(look, of_message)| {
                        *look = look.wrapping_add(*of_message);
                    });
                }
                None => {
                    for (client, look) in looks.iter_mut().enumerate() {
                        *look = look.wrapping_add(self.look(symmetry, Slot::Message, *message, client));
                    }
                }
            }
        }
        looks
    }

    fn look(&mut self, symmetry: &mut Symmetry, slot: Slot, number: u32, client: usize) -> u64 {
        let at = match slot {
            Slot::Message => number as usize * symmetry.clients + client,
            Slot::Node(_) | Slot::Shared => number as usize,
        };
        let place = symmetry.place(slot);
        if let Some(Some(look)) = symmetry.looks[place].get(at) {
            return *look;
        }
        // As this client is the first, and the others have whatever numbers are left.
        let firsts = symmetry.ways.iter().filter(|way| way[client] == 0);
        let mut packed = std::mem::take(&mut self.packed);
        let hash = |way: &Way| {
            self.renumber_into(way, slot, number, &mut packed);
            hash_of(&packed)
        };
        let look = firsts.map(hash).min().unwrap_or(0);
        self.packed = packed;
        // Sums of them are compared: they should have nothing in common.
        let look = look.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        put(&mut symmetry.looks[place], at, Some(look), None);
        look
    }

    fn contents_of(&self, row: &Row) -> Contents {
        let nodes = row.nodes.iter().enumerate().map(|(at, number)| (Slot::Node(at), *number));
        let messages = row.messages.iter().map(|number| (Slot::Message, *number));
        let parts = nodes.chain([(Slot::Shared, row.shared)]).chain(messages);
        parts.map(|(slot, number)| self.content(slot, number)).collect()
    }

    /// What the part is, as a number that depends on nothing else.
    fn content(&self, slot: Slot, number: u32) -> u64 {
        match slot {
            Slot::Node(at) => match at.checked_sub(self.clients.len()) {
                None => self.clients[at].hashes[number as usize],
                Some(server) => self.servers[server].hashes[number as usize],
            },
            Slot::Shared => self.shared.hashes[number as usize],
            Slot::Message => self.messages.hashes[number as usize],
        }
    }

    fn renumber_row(&mut self, symmetry: &mut Symmetry, way: usize, row: &Row) -> Row {
        let mut other = row.clone();
        for (at, number) in row.nodes.iter().enumerate() {
            let after = self.renumber(symmetry, way, Slot::Node(at), *number);
            let to = symmetry.ways[way].get(at).map_or(at, |to| usize::from(*to));
            other.nodes[to] = after;
        }
        other.shared = self.renumber(symmetry, way, Slot::Shared, row.shared);
        for message in &mut other.messages {
            *message = self.renumber(symmetry, way, Slot::Message, *message);
        }
        self.sort_messages(&mut other);
        other
    }

    /// The part with other numbers in it; a client's is then another client's.
    fn renumber(&mut self, symmetry: &mut Symmetry, way: usize, slot: Slot, number: u32) -> u32 {
        let place = symmetry.place(slot);
        if let Some(after) = symmetry.renumbered[way][place].get(number as usize)
            && *after != UNKNOWN
        {
            return *after;
        }
        let mut packed = std::mem::take(&mut self.packed);
        self.renumber_into(&symmetry.ways[way], slot, number, &mut packed);
        let after = match slot {
            Slot::Node(at) => {
                let to = symmetry.ways[way].get(at).map_or(at, |to| usize::from(*to));
                self.node_of(to, &packed)
            }
            Slot::Shared => self.shared_of(&packed),
            Slot::Message => self.message_of(&packed),
        };
        self.packed = packed;
        put(&mut symmetry.renumbered[way][place], number as usize, after, UNKNOWN);
        after
    }

    /// The bytes of the part with other numbers in it.
    fn renumber_into(&self, way: &Way, slot: Slot, number: u32, packed: &mut Vec<u8>) {
        let mut visitor = Renumber(way);
        match slot {
            Slot::Node(at) => match at.checked_sub(self.clients.len()) {
                None => {
                    let mut client = self.clients[at].value(number).clone();
                    client.visit(&self.space.setup.lock, &mut visitor);
                    pack(&client, packed);
                }
                Some(server) => {
                    let mut value = self.servers[server].value(number).clone();
                    value.visit(&mut visitor);
                    pack(&value, packed);
                }
            },
            Slot::Shared => {
                let mut shared = self.shared.value(number).clone();
                visitor.shared::<Y>(&mut shared);
                pack(&shared, packed);
            }
            Slot::Message => {
                let mut message = self.messages.value(number).clone();
                visitor.message(&mut message);
                pack(&message, packed);
            }
        }
    }

    /// The world of a row with other numbers of clients, chosen by `packed`, and the action that is this one in it. `None`: clients are told
    /// apart.
    pub fn renumbered(&mut self, row: &Row, action: Action, packed: &[u8]) -> Option<(Row, Action)> {
        let mut symmetry = self.symmetry.take()?;
        let way = 1 + hash_of(packed) as usize % (symmetry.ways.len() - 1);
        let other = self.renumber_row(&mut symmetry, way, row);
        let position = |memory: &mut Self, symmetry: &mut Symmetry, position: u8| {
            let message = row.messages[usize::from(position)];
            let message = memory.renumber(symmetry, way, Slot::Message, message);
            other
                .messages
                .iter()
                .position(|other| *other == message)
                .map_or(position, |position| position as u8)
        };
        let action = match action {
            Action::Deliver { position: at, choice } => {
                Action::Deliver { position: position(self, &mut symmetry, at), choice }
            }
            Action::Lose { position: at } => Action::Lose { position: position(self, &mut symmetry, at) },
            Action::Duplicate { position: at } => {
                Action::Duplicate { position: position(self, &mut symmetry, at) }
            }
            Action::Wake { node, wake, choice } => {
                Action::Wake { node: Renumber(&symmetry.ways[way]).node(node), wake, choice }
            }
            Action::DriftingTick { node } => {
                Action::DriftingTick { node: Renumber(&symmetry.ways[way]).node(node) }
            }
            Action::Pause { client } => Action::Pause { client: symmetry.ways[way][usize::from(client)] },
            Action::Resume { client } => Action::Resume { client: symmetry.ways[way][usize::from(client)] },
            Action::Crash { client } => Action::Crash { client: symmetry.ways[way][usize::from(client)] },
            Action::CrashUnheard { client } => {
                Action::CrashUnheard { client: symmetry.ways[way][usize::from(client)] }
            }
            Action::StepClock { client } => {
                Action::StepClock { client: symmetry.ways[way][usize::from(client)] }
            }
            Action::FreezeClock { client } => {
                Action::FreezeClock { client: symmetry.ways[way][usize::from(client)] }
            }
            Action::Tick
            | Action::LosePower { .. }
            | Action::CrashServer { .. }
            | Action::LosePowerUnheard { .. }
            | Action::CrashServerUnheard { .. }
            | Action::RestartServer { .. }
            | Action::RestartResource
            | Action::StepServerClock { .. } => action,
        };
        self.symmetry = Some(symmetry);
        Some((other, action))
    }

    /// Strikes out of all messages under way what nobody will look at.
    pub fn strike_out_of_all(&mut self, row: &mut Row) {
        let mut is_sorted = true;
        for at in 0..row.messages.len() {
            let left = self.struck_out(row, row.messages[at]);
            is_sorted &= left == row.messages[at];
            row.messages[at] = left;
        }
        if !is_sorted {
            self.sort_messages(row);
        }
    }

    pub(super) fn sort_messages(&self, row: &mut Row) {
        let messages = &self.messages;
        sort_few(&mut row.messages, |one, other| messages.value(*one) < messages.value(*other));
    }

    /// What is left of a message when that is struck out which its receiver will not look at. That is not taken on faith, either: the
    /// receiver takes the step with the one and with the other.
    pub(super) fn struck_out(&mut self, row: &Row, message: u32) -> u32 {
        if self.alike == Alike::Same {
            return message;
        }
        let Node::Client(client) = self.messages.value(message).to else { return message };
        let part = row.nodes[usize::from(client)];
        if let Some(left) = self.struck_out.get(&(client, part, message)) {
            return *left;
        }
        let mut envelope = self.messages.value(message).clone();
        self.clients[usize::from(client)]
            .value(part)
            .strike_out(&mut envelope.message, &self.space.setup.lock);
        let mut packed = Vec::new();
        pack(&envelope, &mut packed);
        let left = self.message_of(&packed);
        if left != message {
            // As it will be when the message arrives, whatever it is doing now.
            let mut row = row.clone();
            let mut shared = self.shared.value(row.shared).clone();
            shared.1[usize::from(client)].status = Status::Up;
            pack(&shared, &mut packed);
            row.shared = self.shared_of(&packed);
            let mut step = |message| self.take(&row, Node::Client(client), Entered::Message(message), 0);
            let (with, without) = (step(message), step(left));
            self.is_in_vain |= with != without;
        }
        self.struck_out.insert((client, part, message), left);
        left
    }

    /// Takes a step again that was taken for the first time, by clients of other numbers.
    pub(super) fn check_symmetry(
        &mut self,
        row: &Row,
        node: Node,
        entered: Entered,
        choice: u8,
        outcome: &Outcome,
    ) {
        let Some(mut symmetry) = self.symmetry.take() else { return };
        let others = 1..symmetry.ways.len();
        let one = 1 + self.luck(row, node, entered) % (others.len().max(1));
        let is_checked_in_full = symmetry.clients <= CHECKED_IN_FULL_MAX;
        // Where their clocks differ, others' steps belong to another memory.
        let are_kept = is_checked_in_full && self.frame.has_clocks_alike(symmetry.clients);
        for way in if is_checked_in_full { others } else { one..one + 1 } {
            match self.taken_again(&mut symmetry, way, row, node, entered, choice, outcome) {
                None => self.is_in_vain = true,
                // Compared with this one, all others are compared with each other.
                Some((row, node, entered, outcome)) if are_kept => {
                    if self.known_outcome(&row, node, entered, choice).is_none() {
                        self.remember(&row, node, entered, choice, outcome);
                    }
                }
                Some(_) => {}
            }
        }
        self.symmetry = Some(symmetry);
    }

    /// A number that depends on nothing but the step.
    fn luck(&self, row: &Row, node: Node, entered: Entered) -> usize {
        let part = self.slot(node).map(|slot| match slot.checked_sub(self.clients.len()) {
            None => self.clients[slot].bytes_of(row.nodes[slot]),
            Some(server) => self.servers[server].bytes_of(row.nodes[slot]),
        });
        let message = match entered {
            Entered::Message(number) => Some(self.messages.bytes_of(number)),
            Entered::Woken(_) | Entered::Ended(_) => None,
        };
        let of = |bytes: Option<&[u8]>| bytes.map_or(0, hash_of);
        (of(part) ^ of(message).rotate_left(32)) as usize
    }

    /// The step of clients of other numbers, and what comes of it; `None` if that is not the same.
    #[expect(clippy::too_many_arguments, reason = "a step and what came of it")]
    fn taken_again(
        &mut self,
        symmetry: &mut Symmetry,
        way: usize,
        row: &Row,
        node: Node,
        entered: Entered,
        choice: u8,
        outcome: &Outcome,
    ) -> Option<(Row, Node, Entered, Outcome)> {
        let to = Renumber(&symmetry.ways[way]).node(node);
        let other = self.renumber_row(symmetry, way, row);
        let entered = match entered {
            Entered::Message(number) => Entered::Message(self.renumber(symmetry, way, Slot::Message, number)),
            Entered::Woken(_) | Entered::Ended(_) => entered,
        };
        let again = self.take(&other, to, entered, choice);
        let part = match self.slot(node) {
            Some(from) => self.renumber(symmetry, way, Slot::Node(from), outcome.part),
            None => again.part,
        };
        let mut sends: SmallVec<[u32; 4]> = SmallVec::new();
        for message in &outcome.sends {
            let left = self.struck_out(row, *message);
            sends.push(self.renumber(symmetry, way, Slot::Message, left));
        }
        let mut sent: SmallVec<[u32; 4]> = SmallVec::new();
        for message in &again.sends {
            sent.push(self.struck_out(&other, *message));
        }
        sends.sort_unstable();
        sent.sort_unstable();
        let kinds = |outcome: &Outcome| {
            outcome.events.iter().map(std::mem::discriminant).collect::<SmallVec<[_; 4]>>()
        };
        let is_same = (part, sends) == (again.part, sent)
            && self.renumber(symmetry, way, Slot::Shared, outcome.shared) == again.shared
            && kinds(outcome) == kinds(&again)
            && outcome.tested == again.tested
            && outcome.broken.map(|broken| broken.promise) == again.broken.map(|broken| broken.promise);
        is_same.then_some((other, to, entered, again))
    }
}

/// What the parts of a world are, one after the other.
type Contents = SmallVec<[u64; 24]>;

fn put<T: Clone>(of_parts: &mut Vec<T>, at: usize, value: T, nothing: T) {
    if of_parts.len() <= at {
        of_parts.resize(at + 1, nothing);
    }
    of_parts[at] = value;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_ways_to_number_clients_are_all_permutations_and_the_first_changes_nothing() {
        for (clients, count) in [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120)] {
            let ways = ways(clients);
            assert_eq!(ways.iter().collect::<BTreeSet<_>>().len(), count);
            assert!(ways[0].iter().copied().eq(0..clients as u8));
        }
    }
}
