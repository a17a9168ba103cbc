//! What the master promises, request by request, and over all histories.

mod client;
mod fail_over;
mod locks;
mod properties;

use super::*;
use crate::machine::{Message, Node};
use crate::time::{Monotonic, Wall};
use picklock_properties::Access;

const A: u8 = 0;
const B: u8 = 1;
const C: u8 = 2;
const LOCK: LockId = LockId(0);
const LEASE: Micros = Micros::seconds(12);
const DELAY: Micros = Micros::seconds(20);
const EXCLUSIVE: Access = Access(0);
const SHARED: Access = Access(1);

/// A cell, and a clock that the test moves.
struct Cell {
    chubby: Chubby,
    settings: Settings,
    now: Monotonic,
    choice: u32,
    out: Out,
    /// What changed in the last step.
    changes: Vec<Change>,
}

impl Cell {
    fn new(settings: Settings) -> Cell {
        let (chubby, out, changes) = (Chubby::default(), Effects::default(), Vec::new());
        Cell { chubby, settings, now: Monotonic(0), choice: 1, out, changes }
    }

    fn does(&mut self, step: impl FnOnce(&mut Chubby, &Cx, &mut Out)) -> Vec<(u8, Reply)> {
        let Cell { chubby, settings, now, choice, out, .. } = self;
        let cx = Context { me: 0, servers: 1, wall: Wall(0), monotonic: *now, choice: *choice, settings };
        out.clear();
        step(chubby, &cx, out);
        self.changes = self.out.changes.clone();
        let said = |(to, message): &(Node, Message<Chubby>)| match (to, message) {
            (Node::Client(client), Message::Reply(reply)) => (*client, *reply),
            other => panic!("a master only replies: {other:?}"),
        };
        self.out.sends.iter().map(said).collect()
    }

    /// A request to the present master.
    fn hears(&mut self, from: u8, serial: u32, operation: Operation) -> Vec<(u8, Reply)> {
        let epoch = self.chubby.epoch;
        self.hears_in(epoch, from, serial, operation)
    }

    fn hears_in(&mut self, epoch: u32, from: u8, serial: u32, operation: Operation) -> Vec<(u8, Reply)> {
        self.does(|chubby, cx, out| chubby.on_request(from, Request { serial, epoch, operation }, cx, out))
    }

    /// A session of this client, with the number 1.
    fn creates(&mut self, from: u8) -> SessionId {
        let replies = self.hears(from, 1, Operation::CreateSession { lease: Some(LEASE) });
        assert_eq!(replies, [(from, Reply { serial: 1, outcome: Outcome::Created { lease: Some(LEASE) } })]);
        SessionId { client: from, number: 1 }
    }

    fn acquires(&mut self, session: SessionId, handle: u32, access: Access) -> Vec<(u8, Reply)> {
        let handle = Handle { session, number: handle };
        let mode = Mode::Lock;
        let operation = Operation::Acquire { handle, lock: LOCK, access, mode, lock_delay: DELAY };
        self.hears(session.client, handle.number, operation)
    }

    fn tries(&mut self, session: SessionId, handle: u32) -> Vec<(u8, Reply)> {
        let handle = Handle { session, number: handle };
        let (access, mode) = (EXCLUSIVE, Mode::TryLock);
        let operation = Operation::Acquire { handle, lock: LOCK, access, mode, lock_delay: DELAY };
        self.hears(session.client, handle.number, operation)
    }

    fn releases(&mut self, session: SessionId, handle: u32) -> Vec<(u8, Reply)> {
        let operation = Operation::Release { handle: Handle { session, number: handle }, lock: LOCK };
        self.hears(session.client, 90, operation)
    }

    fn writes(&mut self, session: SessionId, handle: u32, sequencer: Option<i64>) -> Vec<(u8, Reply)> {
        let handle = Handle { session, number: handle };
        let sequencer = sequencer.map(Generation);
        self.hears(session.client, 91, Operation::Write { handle, lock: LOCK, sequencer })
    }

    fn keeps_alive(&mut self, session: SessionId, serial: u32) -> Vec<(u8, Reply)> {
        self.hears(session.client, serial, Operation::KeepAlive(session))
    }

    fn after(&mut self, length: Micros) -> Vec<(u8, Reply)> {
        self.now = self.now + length;
        self.does(|chubby, cx, out| chubby.on_deadline(cx, out))
    }

    fn fails_over(&mut self) {
        let replies = self.does(|chubby, cx, out| chubby.on_restart(true, cx, out));
        assert_eq!(replies, [], "a new master speaks when it is spoken to");
    }
}

fn acquired(serial: u32, generation: i64) -> Reply {
    Reply { serial, outcome: Outcome::Acquired(Generation(generation)) }
}

fn kept_alive(serial: u32, held: Micros) -> Reply {
    Reply { serial, outcome: Outcome::KeptAlive { held, lease: LEASE, failed_over: false } }
}
