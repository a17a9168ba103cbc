//! Not a lock: one client that changes a znode and tells the others, and not through ZooKeeper (row Z9 of the catalogue).
//!
//! ```text
//!        A                                  ZooKeeper                               B
//!   1    │── set ─▶ s1                      s1 ──── propose ────▶ s2                │
//!        │◀─ set ── s1                      (on its way, perhaps)                   │
//!   2    │ · · · · · · · · · · · · it is written, says A · · · · · · · · · · · · ▶ │ may know
//!   3    │                                                             s2 ◀─ sync ──│ if it is repaired
//!   4    │                                                             s2 ◀─ get ───│
//! ```
//!
//! The ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, WTF #4, «quorum write, но не read»: "если один клиент узнал
//! об изменении части данных через канал связи все ZooKeeper, ему может помочь принудительная синхронизация". What A says to B is no
//! message of the model, and takes no time: whenever A knows, B may know. B begins to read at a moment of its own, and
//! [`picklock_properties::FreshRead`] judges only reads that begin after A has known.

use super::zookeeper_paths;
use crate::machine::{Call, Context, Effects, IDLE, Line, Lock, Visitor};
use crate::names::Words;
use crate::stores::zookeeper::session::{Here, Notice, Notices, Session, SessionSettings};
use crate::stores::zookeeper::{Change, Operation, Outcome, Path, Reply, Write, ZooKeeper};
use crate::time::{Due, Micros};
use picklock_properties::{ClientId, ClientSet, Event, LockId};
use serde::{Deserialize, Serialize};

/// How the clients go about it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// How they hold their sessions.
    pub session: SessionSettings,
    /// A reader has its server catch up with the leader first.
    pub sync_before_read: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { session: SessionSettings::DEFAULT, sync_before_read: false }
    }
}

/// One client. Client 0 writes, all others read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ZnodeProbe {
    session: Session,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    Idle,
    /// Connects; then writes or reads.
    Connects,
    Writes,
    Syncs,
    Reads,
    Done,
}

enum Input {
    Up,
    Down,
    Expired,
    Answered(Outcome),
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<ZooKeeper>;

/// What is written and read. It holds 0 before anybody writes, else one more than the writer's number.
const ZNODE: Path = zookeeper_paths::work_path(LockId(0));

/// The client that writes.
const WRITER: u8 = 0;

impl ZnodeProbe {
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        let client = ClientId(cx.me);
        match (self.phase, input) {
            (Phase::Connects, Input::Up) if cx.me == WRITER => self.go(Phase::Writes, cx, out),
            (Phase::Connects, Input::Up) => {
                out.record(Event::ReadBegun { client });
                let first = if cx.settings.sync_before_read { Phase::Syncs } else { Phase::Reads };
                self.go(first, cx, out);
            }
            (Phase::Writes, Input::Answered(Outcome::Applied(_))) => {
                out.record(Event::Written { client });
                self.phase = Phase::Done;
            }
            (Phase::Syncs, Input::Answered(Outcome::Synced)) => self.go(Phase::Reads, cx, out),
            (Phase::Reads, Input::Answered(Outcome::Data { data, .. })) => {
                self.phase = Phase::Done;
                let writer = data.checked_sub(1).map(|writer| ClientId(writer as u8));
                out.record(Event::RowRead { client, saw: writer.into_iter().collect::<ClientSet>() });
            }
            // What was under way is asked again: none of it does harm when it is done twice.
            (Phase::Writes | Phase::Syncs | Phase::Reads, Input::Up) => self.go(self.phase, cx, out),
            (_, Input::Down) => {}
            (Phase::Connects | Phase::Writes | Phase::Syncs | Phase::Reads, Input::Expired) => {
                self.go(self.phase, cx, out);
            }
            // Nobody asks for anything any more.
            (Phase::Idle | Phase::Done, Input::Up | Input::Expired) => {}
            // The leader found the session ended before the client did: its own word comes next.
            (Phase::Writes | Phase::Syncs | Phase::Reads, Input::Answered(Outcome::Failed(_))) => {}
            (_, Input::Answered(outcome)) => unreachable!("nothing that was asked is answered {outcome:?}"),
        }
    }

    /// Goes to a phase, and asks what it has to ask: now, or when there is a connection.
    fn go(&mut self, phase: Phase, cx: &Cx, out: &mut Out) {
        self.phase = phase;
        let operation = match phase {
            Phase::Idle | Phase::Connects | Phase::Done => None,
            Phase::Writes => Some(Operation::Write(Write::SetData {
                path: ZNODE,
                data: u32::from(cx.me) + 1,
                version: None,
            })),
            Phase::Syncs => Some(Operation::Sync),
            Phase::Reads => Some(Operation::GetData { path: ZNODE, watch: false }),
        };
        let here = Here::new(cx, &cx.settings.session);
        match operation {
            _ if self.session.is_over() => self.session.connect(&here, out),
            Some(operation) if self.session.is_up() => self.session.request(operation, &here, out),
            Some(_) | None => {}
        }
    }

    fn take(&mut self, notices: Notices, cx: &Cx, out: &mut Out) {
        for notice in notices {
            let input = match notice {
                Notice::Connected => Input::Up,
                Notice::Disconnected => Input::Down,
                Notice::Expired => Input::Expired,
                Notice::Answered(outcome) => Input::Answered(outcome),
                Notice::Fired(..) => unreachable!("the probe watches nothing"),
            };
            self.step(input, cx, out);
        }
    }
}

impl Lock for ZnodeProbe {
    type Store = ZooKeeper;
    type Settings = Settings;

    const HOLDS: bool = false;

    const WORDS: Words = zookeeper_paths::WORDS;

    fn new(_me: u8, _settings: &Settings) -> Self {
        ZnodeProbe { session: Session::new(), phase: Phase::Idle }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, out: &mut Out) {
        match call {
            Call::Acquire { .. } => self.go(Phase::Connects, cx, out),
            Call::Write | Call::Release => {
                unreachable!("the probe never answers, so nothing is ever held")
            }
        }
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Cx, out: &mut Out) {
        let notices = self.session.on_reply(reply, &Here::new(cx, &cx.settings.session));
        self.take(notices, cx, out);
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        let notices = self.session.on_deadline(&Here::new(cx, &cx.settings.session), out);
        self.take(notices, cx, out);
    }

    fn on_restart(&mut self, _cx: &Cx) {
        self.session.restart();
        self.phase = Phase::Done;
    }

    fn means(change: &Change, server: u8) -> Option<Event> {
        zookeeper_paths::means(change, server)
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        self.session.deadline().map(Due::Monotonic)
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        self.session.dismisses(reply)
    }

    fn visit<V: Visitor>(&mut self, _settings: &Settings, visitor: &mut V) {
        self.session.visit(visitor);
    }

    fn line(&self) -> Line {
        Line::NONE
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::Connects => "connecting",
            Phase::Writes => "writing",
            Phase::Syncs => "having its server catch up",
            Phase::Reads => "reading",
            Phase::Done => "done",
        }
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        settings.session.timeout
    }
}
