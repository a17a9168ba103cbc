//! Members with a network between them: in order and at once, unless a test says otherwise.

use super::*;
use crate::stores::etcd::peer::Entry;

/// Where a message comes from, where it goes, and what it says.
pub type Flight = (Node, Node, Message<Etcd>);

/// All of it, in one time.
pub struct Cluster {
    pub members: Vec<Etcd>,
    pub settings: Settings,
    pub in_flight: Vec<Flight>,
    /// Members that neither hear nor are heard.
    pub cut: Vec<u8>,
    /// Members that do nothing at all.
    pub paused: Vec<u8>,
    /// Whether the next write makes its disk stuck.
    pub stalls: bool,
    pub now: Micros,
    pub serial: u32,
    /// What clients were told: by which member, to whom.
    pub told: Vec<(u8, u8, Reply)>,
    pub events: Vec<Event>,
}

impl Cluster {
    pub fn new(members: u8, settings: Settings) -> Cluster {
        Cluster {
            members: (0..members).map(|me| Etcd::new(me, members, &settings)).collect(),
            settings,
            in_flight: Vec::new(),
            cut: Vec::new(),
            paused: Vec::new(),
            stalls: false,
            now: Micros::ZERO,
            serial: 0,
            told: Vec::new(),
            events: Vec::new(),
        }
    }

    pub fn size(&self) -> u8 {
        self.members.len() as u8
    }

    /// Whether it leads, for all it knows.
    pub fn leaders(&self) -> Vec<u8> {
        (0..self.size()).filter(|me| self.members[usize::from(*me)].leads()).collect()
    }

    pub fn part(&self, me: u8) -> &Part {
        self.members[usize::from(me)].part.as_ref().expect("it has others")
    }

    /// The log, as far as it is applied.
    pub fn applied(&self, me: u8) -> &[Entry] {
        let part = self.part(me);
        &part.raft.log[..part.applied as usize]
    }

    fn step(&mut self, me: u8, step: impl FnOnce(&mut Etcd, &Cx, &mut Out)) {
        let mut out = Out::default();
        let (wall, monotonic) = (Wall(self.now.0), Monotonic(self.now.0));
        let choice = u32::from(!self.stalls);
        let (servers, settings) = (self.size(), self.settings);
        let cx = Context { me, servers, wall, monotonic, choice, settings: &settings };
        step(&mut self.members[usize::from(me)], &cx, &mut out);
        out.read_changes(me, EtcdMutex::means);
        self.events.append(&mut out.events);
        for (to, message) in out.sends.drain(..) {
            match (to, message) {
                (Node::Client(client), Message::Reply(reply)) => self.told.push((me, client, reply)),
                (to, message) => self.in_flight.push((Node::Server(me), to, message)),
            }
        }
    }

    /// A client asks a member; the request is there at once.
    pub fn send(&mut self, client: u8, me: u8, operation: Operation) -> u32 {
        self.send_as(client, me, |serial| Request::new(serial, operation))
    }

    /// The same, with more said of the request.
    pub fn send_as(&mut self, client: u8, me: u8, request: impl FnOnce(u32) -> Request) -> u32 {
        self.serial += 1;
        let request = request(self.serial);
        self.step(me, |etcd, cx, out| etcd.on_request(client, request, cx, out));
        self.serial
    }

    /// Asks, and lets everything arrive; the answer, if there is one.
    pub fn ask(&mut self, me: u8, operation: Operation) -> Option<Reply> {
        let serial = self.send(0, me, operation);
        self.settle();
        self.answer_to(serial)
    }

    pub fn answer_to(&self, serial: u32) -> Option<Reply> {
        let is_answer = |(_, _, reply): &&(u8, u8, Reply)| {
            reply.serial == serial && !matches!(reply.outcome, Outcome::Events(_))
        };
        self.told.iter().find(is_answer).map(|(_, _, reply)| reply.clone())
    }

    /// This message arrives.
    pub fn deliver(&mut self, (from, to, message): Flight) {
        match (from, to, message) {
            (Node::Server(from), Node::Server(to), Message::Peer(message)) => {
                self.step(to, |etcd, cx, out| {
                    if !etcd.dismisses(&message) {
                        etcd.on_peer(from, message, cx, out);
                    }
                });
            }
            other => panic!("{other:?} does not go from member to member"),
        }
    }

    fn is_cut(&self, (from, to, _): &Flight) -> bool {
        let is_one = |node: &Node, of: &[u8]| of.iter().any(|member| *node == Node::Server(*member));
        is_one(from, &self.cut) || is_one(to, &self.cut)
    }

    /// Everything arrives, but for who is cut off or paused.
    pub fn settle(&mut self) {
        let mut waiting = Vec::new();
        while !self.in_flight.is_empty() {
            let flight = self.in_flight.remove(0);
            let Node::Server(to) = flight.1 else { unreachable!("only members are sent something here") };
            if self.is_cut(&flight) {
            } else if self.paused.contains(&to) {
                waiting.push(flight);
            } else {
                self.deliver(flight);
            }
        }
        self.in_flight = waiting;
    }

    /// Wakes a member if it wants to be.
    pub fn wake(&mut self, me: u8) {
        let settings = self.settings;
        let due = self.members[usize::from(me)].deadline(&settings);
        if matches!(due, Some(Due::Monotonic(at)) if at.0 <= self.now.0) {
            self.step(me, |etcd, cx, out| etcd.on_deadline(cx, out));
        }
    }

    /// Time passes, ten milliseconds at a time, and everything arrives at once.
    pub fn pass(&mut self, length: Micros) {
        let end = self.now + length;
        while self.now < end {
            self.now = (self.now + Micros::millis(10)).min(end);
            for me in 0..self.size() {
                if !self.paused.contains(&me) {
                    self.wake(me);
                }
            }
            self.settle();
        }
    }

    pub fn restart(&mut self, me: u8, power_lost: bool) {
        self.step(me, |etcd, cx, out| etcd.on_restart(power_lost, cx, out));
    }

    /// The value of a word, as this member has it.
    pub fn value(&self, me: u8, name: u16) -> Option<Value> {
        self.members[usize::from(me)].get(key(name)).map(|kv| kv.value)
    }
}
