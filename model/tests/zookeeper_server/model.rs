//! The simulator's side: one server, and its clients' libraries, with nothing in between.

use picklock_model::machine::{Context, Effects, Message, Node, Store};
use picklock_model::stores::zookeeper::session::{Here, Notice, Session, SessionSettings};
use picklock_model::stores::zookeeper::{
    Operation, Outcome, Path, SessionId, Settings, WatchEvent, ZooKeeper,
};
use picklock_model::time::{Micros, Monotonic, Wall};
use std::collections::BTreeSet;

const SETTINGS: SessionSettings =
    SessionSettings { timeout: None, reconnect_delay: Micros::ZERO, judges_itself: false };

pub struct Model {
    server: ZooKeeper,
    sessions: Vec<Session>,
    notices: Vec<Vec<Notice>>,
    settings: Settings,
    now: i64,
}

impl Model {
    pub fn new(sessions: usize, settings: Settings) -> Model {
        let mut model = Model {
            server: ZooKeeper::new(0, 1, &settings),
            sessions: (0..sessions).map(|_| Session::new()).collect(),
            notices: vec![Vec::new(); sessions],
            settings,
            now: 0,
        };
        (0..sessions).for_each(|session| model.connect(session));
        model
    }

    pub fn session(&self, session: usize) -> SessionId {
        self.sessions[session].id().expect("it is connected")
    }

    /// How many transactions there were.
    pub fn last_counter(&self) -> i64 {
        i64::from(self.server.last_applied().counter)
    }

    pub fn ask(&mut self, session: usize, operation: Operation) -> Outcome {
        let here = here(session, self.now);
        let mut out = Effects::default();
        self.sessions[session].request(operation, &here, &mut out);
        self.deliver(session, out);
        let notices = &mut self.notices[session];
        let place = notices.iter().position(|notice| matches!(notice, Notice::Answered(_)));
        match notices.remove(place.expect("it is answered at once")) {
            Notice::Answered(outcome) => outcome,
            notice => unreachable!("{notice:?} is no answer"),
        }
    }

    pub fn reopen(&mut self, session: usize) {
        self.ask(session, Operation::CloseSession);
        self.notices[session].clear();
        self.connect(session);
    }

    /// The events since the last time.
    pub fn events(&mut self, session: usize) -> BTreeSet<(Path, WatchEvent)> {
        let notices = std::mem::take(&mut self.notices[session]);
        let event = |notice| match notice {
            Notice::Fired(path, event) => Some((path, event)),
            Notice::Connected | Notice::Disconnected | Notice::Expired | Notice::Answered(_) => None,
        };
        notices.into_iter().filter_map(event).collect()
    }

    fn connect(&mut self, session: usize) {
        let here = here(session, self.now);
        let mut out = Effects::default();
        self.sessions[session].connect(&here, &mut out);
        self.deliver(session, out);
    }

    fn deliver(&mut self, from: usize, out: Effects<ZooKeeper>) {
        for (_, message) in out.sends {
            let Message::Request(request) = message else { unreachable!("a client sends requests") };
            self.now += 1;
            let mut replies = Effects::default();
            let (wall, monotonic) = (Wall(self.now), Monotonic(self.now));
            let cx = Context { me: 0, servers: 1, wall, monotonic, choice: 0, settings: &self.settings };
            self.server.on_request(from as u8, request, &cx, &mut replies);
            for (to, message) in replies.sends {
                let (Node::Client(to), Message::Reply(reply)) = (to, message) else {
                    unreachable!("a single server sends replies")
                };
                let notices =
                    self.sessions[usize::from(to)].on_reply(reply, &here(usize::from(to), self.now));
                self.notices[usize::from(to)].extend(notices);
            }
        }
    }
}

fn here(me: usize, now: i64) -> Here<'static> {
    Here { me: me as u8, servers: 1, now: Monotonic(now), settings: &SETTINGS }
}
