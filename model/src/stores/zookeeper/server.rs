//! What every server does for its clients, alone or in an ensemble.

use super::connections::{Connection, Pending, closed, read};
use super::peer::{Peer, Role};
use super::protocol::*;
use super::replica::{Action, Origin, Txn};
use super::tree::Edits;
use super::{Cx, Flaw, Out, SessionId, ZooKeeper, Zxid};
use smallvec::SmallVec;

impl ZooKeeper {
    /// A client wants a connection.
    pub(super) fn connect(&mut self, from: u8, connect: Connect, cx: &Cx, out: &mut Out) {
        let number = connect.serial;
        if self.connections.has_reached(from, number) {
            // The client has gone on since it sent this, or this came twice.
            return;
        }
        let is_ahead = connect.last > self.replica.last && cx.settings.flaw != Flaw::TakesClientsAhead;
        if !self.serves() || is_ahead {
            // `ZooKeeperServer.processConnectRequest`: "client must try another server".
            return out.reply(from, closed(number));
        }
        let Some(session) = connect.session else {
            let session = SessionId { client: from, serial: number };
            let timeout = connect.timeout;
            return self.submit(session, number, Action::CreateSession { timeout }, cx, out);
        };
        match self.following() {
            Some((leader, epoch)) => out.peer(leader, Peer::Revalidate { epoch, connect }),
            None => {
                if let Some(open) = self.revalidate(session, number, cx) {
                    self.reconnect(from, connect, open, out);
                }
            }
        }
    }

    /// The leader's (or the only server's) word on whether a session is open; `None` if the question is too old.
    pub(super) fn revalidate(&mut self, session: SessionId, number: u32, cx: &Cx) -> Option<bool> {
        let Some(open) = self.replica.session(session) else { return Some(false) };
        if self.member.is_none() && open.timeout.is_none() {
            return Some(true);
        }
        let admitted = self.tracker.admit(session, number)?;
        Some(admitted && self.tracker.touch(session, open.timeout, cx))
    }

    /// The answer to a client that comes back.
    pub(super) fn reconnect(&mut self, client: u8, connect: Connect, open: bool, out: &mut Out) {
        if self.connections.has_reached(client, connect.serial) {
            return;
        }
        match (open, connect.session) {
            (true, Some(session)) => {
                let mut connection = Connection::new(session, connect.serial, connect.timeout);
                connection.watch_again(&connect.watches, connect.last, &self.replica);
                self.connections.open(connection);
                self.connections.say(client, self.replica.last, Body::Connected(session), out);
            }
            (false, _) | (true, None) => {
                let fired = SmallVec::new();
                let body = Body::Expired;
                out.reply(client, Reply { connection: connect.serial, zxid: Zxid::NONE, fired, body });
            }
        }
    }

    /// Whether a request comes in on the client's connection, for the first time. If so its session is alive.
    pub(super) fn takes(
        &mut self,
        from: u8,
        number: u32,
        serial: u32,
        waiting: &[u32],
        cx: &Cx,
        out: &mut Out,
    ) -> bool {
        match self.connections.of(from) {
            Some(connection) if connection.number == number => {
                if !connection.takes(serial, waiting) {
                    return false;
                }
                let (session, expires) = (connection.session, connection.expires());
                if expires {
                    self.hear(session, cx);
                }
                true
            }
            // Sent before the client went on to the connection it has now.
            Some(connection) if connection.number > number => false,
            Some(_) | None => {
                out.reply(from, closed(number));
                false
            }
        }
    }

    /// A session's client is alive.
    pub(super) fn hear(&mut self, session: SessionId, cx: &Cx) {
        if let Some(member) = &mut self.member
            && let Role::Follower { touched, .. } = &mut member.role
        {
            if !touched.contains(&session) {
                touched.push(session);
                touched.sort_unstable();
            }
        } else if let Some(open) = self.replica.session(session) {
            self.tracker.touch(session, open.timeout, cx);
        }
    }

    /// A client asks for something.
    pub(super) fn operate(&mut self, from: u8, serial: u32, operation: Operation, cx: &Cx, out: &mut Out) {
        if let Some((outcome, watch)) = read(&operation, &self.replica) {
            if let (Some((path, kind)), Some(connection)) = (watch, self.connections.of(from)) {
                connection.watch(Watch { serial, path, kind });
            }
            return self.connections.say(from, self.replica.last, Body::Outcome { serial, outcome }, out);
        }
        let Some(connection) = self.connections.of(from) else {
            unreachable!("a request is taken on a connection only");
        };
        let session = connection.session;
        let action = match operation {
            Operation::Write(write) => Action::Write(write),
            Operation::Multi(writes) => Action::Multi(writes),
            Operation::CloseSession => Action::CloseSession,
            Operation::Sync => return self.sync(from, serial, cx, out),
            Operation::Exists { .. } | Operation::GetData { .. } | Operation::GetChildren { .. } => {
                unreachable!("reads were answered above")
            }
        };
        connection.pending = Some(Pending::Txn { serial });
        self.submit(session, serial, action, cx, out);
    }

    fn sync(&mut self, from: u8, serial: u32, _cx: &Cx, out: &mut Out) {
        let pending = match self.following() {
            Some((leader, epoch)) => {
                out.peer(leader, Peer::Sync { epoch, client: from, serial });
                Pending::Leader { serial }
            }
            None => Pending::Caught { serial, until: self.last_logged() },
        };
        if let Some(connection) = self.connections.of(from) {
            connection.pending = Some(pending);
        }
        self.answer_syncs(out);
    }

    /// Answers every `sync` whose transaction is applied.
    pub(super) fn answer_syncs(&mut self, out: &mut Out) {
        let last = self.replica.last;
        let mut caught: SmallVec<[(u8, u32); 1]> = SmallVec::new();
        for connection in self.connections.iter_mut() {
            if let Some(Pending::Caught { serial, until }) = connection.pending
                && until <= last
            {
                connection.pending = None;
                caught.push((connection.session.client, serial));
            }
        }
        for (client, serial) in caught {
            let body = Body::Outcome { serial, outcome: Outcome::Synced };
            self.connections.say(client, last, body, out);
        }
    }

    /// A client's change goes to whoever orders changes.
    fn submit(&mut self, session: SessionId, serial: u32, action: Action, cx: &Cx, out: &mut Out) {
        match self.following() {
            Some((leader, epoch)) => out.peer(leader, Peer::Forward { epoch, session, serial, action }),
            None => {
                let origin = Origin { server: cx.me, serial };
                self.admit(session, origin, action, cx, out);
            }
        }
    }

    /// Takes a client's change as the leader or the only server.
    pub(super) fn admit(
        &mut self,
        session: SessionId,
        origin: Origin,
        action: Action,
        cx: &Cx,
        out: &mut Out,
    ) {
        let action = match (&self.member, action) {
            // Its connection has told a late or doubled request already.
            (None, action) => action,
            (Some(_), action @ Action::CreateSession { .. }) => action,
            (Some(_), action) => match self.tracker.admit(session, origin.serial) {
                None => return,
                Some(true) => action,
                Some(false) => Action::Fail(Error::SessionExpired),
            },
        };
        if action == Action::CloseSession {
            self.tracker.set_closing(session);
        }
        self.order(session, Some(origin), action, cx, out);
    }

    /// Gives a change its place in the order of all.
    pub(super) fn order(
        &mut self,
        session: SessionId,
        origin: Option<Origin>,
        action: Action,
        cx: &Cx,
        out: &mut Out,
    ) {
        match &self.member {
            None => {
                let txn = Txn { zxid: self.replica.last.next(1), session, origin, action };
                self.apply(&txn, cx, out);
            }
            Some(_) => self.propose(session, origin, action, cx, out),
        }
    }

    /// Makes a committed transaction happen here, and tells the clients of this server whom it concerns.
    pub(super) fn apply(&mut self, txn: &Txn, cx: &Cx, out: &mut Out) {
        let effect = self.replica.apply(txn, cx.settings);
        let leads = self.leads();
        if leads {
            let is_own = self.leading().is_none_or(|epoch| epoch == txn.zxid.epoch);
            effect.tell(is_own, out);
            match &txn.action {
                Action::CreateSession { timeout }
                    if effect.outcome == Outcome::Synced && (self.member.is_some() || timeout.is_some()) =>
                {
                    let taken = txn.origin.map_or(txn.session.serial, |origin| origin.serial);
                    self.tracker.track(txn.session, *timeout, taken, cx);
                }
                Action::CreateSession { .. } | Action::Write(_) | Action::Multi(_) | Action::Fail(_) => {}
                Action::CloseSession => self.tracker.forget(txn.session),
            }
        }
        let client = txn.session.client;
        let serial = txn.origin.filter(|origin| origin.server == cx.me).map(|origin| origin.serial);
        self.notify(&effect.edits, serial.map(|_| client), cx, out);
        if let Some(serial) = serial {
            self.answer(txn, serial, effect.outcome, out);
        }
        if let Some(session) = effect.closed
            && let Some(connection) = self.connections.of(session.client)
            && connection.session == session
        {
            if serial.is_none() {
                out.reply(client, closed(connection.number));
            }
            self.connections.close(client);
        }
        self.answer_syncs(out);
    }

    /// Answers the client that a transaction came from.
    fn answer(&mut self, txn: &Txn, serial: u32, outcome: Outcome, out: &mut Out) {
        let client = txn.session.client;
        let last = self.replica.last;
        if let Action::CreateSession { timeout } = txn.action {
            if outcome == Outcome::Synced && !self.connections.has_reached(client, serial) {
                self.connections.open(Connection::new(txn.session, serial, timeout));
                self.connections.say(client, last, Body::Connected(txn.session), out);
            }
            return;
        }
        if let Some(connection) = self.connections.of(client)
            && connection.pending == Some(Pending::Txn { serial })
        {
            connection.pending = None;
            self.connections.say(client, last, Body::Outcome { serial, outcome }, out);
        }
    }

    /// Fires watches. The client that is about to be answered gets its events with the answer.
    fn notify(&mut self, edits: &Edits, answered: Option<u8>, cx: &Cx, out: &mut Out) {
        let mut told: SmallVec<[u8; 4]> = SmallVec::new();
        for connection in self.connections.iter_mut() {
            let client = connection.session.client;
            let mut any = false;
            for edit in edits.iter().filter(|edit| connection.fire(**edit)) {
                any = true;
                edit.notifies(client).into_iter().for_each(|change| out.changed(change));
            }
            let with_answer = answered == Some(client) && cx.settings.flaw != Flaw::EventsAfterReplies;
            if any && !with_answer {
                told.push(client);
            }
        }
        for client in told {
            self.connections.say(client, self.replica.last, Body::Notified, out);
            if cx.settings.flaw == Flaw::EventsAfterReplies {
                self.connections.forget_fired(client);
            }
        }
    }

    /// All sessions have their full timeout from now on.
    pub(super) fn count_all_sessions(&mut self, cx: &Cx) {
        self.tracker.forget_all();
        for open in self.replica.sessions() {
            if self.member.is_some() || open.timeout.is_some() {
                self.tracker.track(open.id, open.timeout, 0, cx);
            }
        }
    }
}
