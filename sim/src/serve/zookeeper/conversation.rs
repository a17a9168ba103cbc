//! What is said on one connection, as a server's steps: each is one in which nobody else comes in.

mod besides;

use super::answer::{self, Answer, Around, code, welcome, zxid_of};
use super::desk::{Heard, Say, SeatId, Servers, State, Watched, What};
use super::names::{password, session_id, session_of};
use super::operation::{Plan, Refusal, plan};
use super::request::{Asked, Change, Hello, Request};
use crate::serve::condition::Direction;
use crate::serve::servers::Connection;
use crate::serve::watch::record::{Happened, What as Deed};
use bytes::Bytes;
use picklock_model::machine::Store;
use picklock_model::stores::zookeeper::{
    Applied, Connect, Fired, Operation, Outcome, Path, Request as Message, SessionId, WatchEvent, ZooKeeper,
};
use picklock_model::time::Micros;
use smallvec::SmallVec;
use std::net::SocketAddr;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A message on its way to a client.
#[derive(Debug)]
pub struct Outgoing {
    pub due: Micros,
    /// It does not arrive, and takes the connection with it.
    pub is_lost: bool,
    pub bytes: Bytes,
    /// Nothing comes after it.
    pub is_last: bool,
    /// What it says, if that is kept.
    pub text: String,
}

/// How a connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gone {
    /// The server or the client has closed it, or the client is not there any more.
    Closed,
    /// The server's process has ended, or a message was lost.
    Reset,
}

/// Which connection of which server it is.
#[derive(Clone, Debug)]
pub struct Line {
    pub servers: Servers,
    pub server: u8,
    pub connection: Connection,
    /// Where its client is, if that is known.
    pub address: Option<SocketAddr>,
}

/// A request that the server has not answered.
#[derive(Debug)]
struct Pending {
    request: Request,
    refusal: Option<Refusal>,
    /// The operations that it came to, and what came of them.
    serials: Vec<u32>,
    heard: Vec<Heard>,
}

/// A session's use of a connection.
#[derive(Debug)]
pub struct Conversation {
    line: Line,
    session: SessionId,
    number: u32,
    timeout_ms: i32,
    says_read_only: bool,
    pending: Option<Pending>,
    outbox: UnboundedSender<Outgoing>,
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.line.servers.state().desk.stand(self.seat());
    }
}

impl Line {
    /// Sends a message. `is_answer`: somebody has asked for it.
    fn send(
        &self,
        state: &mut State,
        now: Micros,
        answer: Answer,
        is_answer: bool,
        is_last: bool,
        to: &UnboundedSender<Outgoing>,
    ) {
        let (latency, is_lost) = state.fate(self.server, self.connection.client, Direction::Reply, now);
        state.tally.commands += u64::from(is_answer);
        let text = if state.watch.record.is_on() { answer.text } else { String::new() };
        // Whoever writes it ends later than this does.
        let _sent = to.send(Outgoing { due: now + latency, is_lost, bytes: answer.bytes, is_last, text });
    }

    /// What is asked for in vain is named once.
    fn missing(&self, state: &mut State, now: Micros, what: &str) {
        if state.desk.is_first(what) {
            state.notice(self.server, now, what);
        }
    }

    /// A client wants to begin: a new session, or to go on with one. What its server says to it comes through the receiver.
    ///
    /// # Errors
    /// It is turned away: the connection ends, perhaps with an answer that was sent.
    pub fn begin(
        &self,
        hello: &Hello,
        outbox: &UnboundedSender<Outgoing>,
    ) -> Result<(Conversation, UnboundedReceiver<Say>), Option<Gone>> {
        let server = self.server;
        self.servers.step(|state, now| {
            let node = &state.nodes[usize::from(server)];
            if node.condition.is_down() {
                return Err(Some(Gone::Reset));
            }
            let last = zxid_of(hello.last_zxid);
            if !node.machine.serves() || last > node.machine.last_applied() {
                // `processConnectRequest`: "client must try another server".
                return Err(Some(Gone::Closed));
            }
            let number = state.desk.draw();
            let known = session_of(hello.session).filter(|session| password(*session) == hello.password[..]);
            let session = match (hello.session, known) {
                (0, _) => match state.new_session(number) {
                    Some(session) => session,
                    None => {
                        self.missing(
                            state,
                            now,
                            "turns clients away: there are 256 sessions, and it knows no more",
                        );
                        return Err(Some(Gone::Closed));
                    }
                },
                (_, Some(session)) => session,
                (_, None) => {
                    self.send(state, now, welcome(None, hello.says_read_only), true, true, outbox);
                    return Err(None);
                }
            };
            let timeout_ms = state.desk.timeout_ms(hello.timeout_ms);
            let (to, says) = unbounded_channel();
            state.desk.sit((server, session.client, number), to);
            let connect = Connect {
                serial: number,
                session: known,
                timeout: Some(Micros::millis(timeout_ms.into())),
                last,
                watches: SmallVec::new(),
            };
            let conversation = Conversation {
                line: self.clone(),
                session,
                number,
                timeout_ms,
                says_read_only: hello.says_read_only,
                pending: None,
                outbox: outbox.clone(),
            };
            conversation.enter(state, now, Message::Connect(connect));
            Ok((conversation, says))
        })
    }

    /// The server takes clients.
    pub fn serves(&self) -> bool {
        self.servers.state().nodes[usize::from(self.server)].machine.serves()
    }

    /// What happens on this connection, for the record.
    pub fn note(&self, what: Deed, text: &str) {
        if text.is_empty() {
            return;
        }
        let now = self.servers.now();
        let happened = Happened { link: Some(self.connection.link), ..Happened::new(now, what, text) };
        self.servers.state().watch.record.add(happened);
    }
}

impl Conversation {
    /// Where its server's words come to.
    pub fn seat(&self) -> SeatId {
        (self.line.server, self.session.client, self.number)
    }

    /// Whether a request waits for its answer.
    pub fn is_busy(&self) -> bool {
        self.pending.is_some()
    }

    fn enter(&self, state: &mut State, now: Micros, message: Message) {
        let client = self.session.client;
        state.enter(&self.line.servers, self.line.server, now, |machine: &mut ZooKeeper, cx, effects| {
            machine.on_request(client, message, cx, effects);
        });
    }

    /// The server has said that the connection stands, or that the session is over.
    pub fn begun(&self, is_over: bool) {
        self.line.servers.step(|state, now| {
            if is_over {
                return self.send(state, now, welcome(None, self.says_read_only), true, true);
            }
            let id = session_id(self.session);
            state.desk.moves(self.session, self.line.server, self.number);
            state.opens(self.session, self.line.connection.link);
            state.watch.record.name(self.line.connection.link, &format!("{id:#x}"));
            let session = Some((id, self.timeout_ms, password(self.session)));
            self.send(state, now, welcome(session, self.says_read_only), true, false);
        });
    }

    fn send(&self, state: &mut State, now: Micros, answer: Answer, is_answer: bool, is_last: bool) {
        self.line.send(state, now, answer, is_answer, is_last, &self.outbox);
    }

    /// The client asks for something. True: nothing more is taken from it.
    ///
    /// # Errors
    /// The connection ends.
    pub fn ask(&mut self, request: Request) -> Result<bool, Gone> {
        let servers = self.line.servers.clone();
        servers.step(|state, now| {
            let server = usize::from(self.line.server);
            if state.nodes[server].condition.is_down() {
                return Err(Gone::Reset);
            }
            let planned = plan(&request.asked, &mut state.desk.names);
            let Some(Plan { operations, refusal }) = planned else {
                self.touch(state, now);
                return Ok(self.at_once(request, state, now));
            };
            let is_order = matches!(
                request.asked,
                Asked::Change(_) | Asked::Multi(_) | Asked::Sync { .. } | Asked::Close
            );
            if is_order && state.desk.has_moved(self.session, self.number) {
                // SESSIONMOVED: "a connection level error, we need to tear down the connection" (`FinalRequestProcessor`).
                return Err(Gone::Closed);
            }
            if let Some(refusal) = refusal {
                self.refused(refusal, state, now);
            }
            let serials: Vec<u32> =
                operations.into_iter().map(|operation| self.operate(operation, state, now)).collect();
            if serials.is_empty() {
                self.touch(state, now);
            }
            let is_nothing = serials.is_empty();
            self.pending = Some(Pending { request, refusal, serials, heard: Vec::new() });
            Ok(if is_nothing { self.answered(state, now) } else { false })
        })
    }

    /// One operation enters the server; the number by which its answer is known.
    fn operate(&mut self, operation: Operation, state: &mut State, now: Micros) -> u32 {
        let (seat, connection) = (self.seat(), self.number);
        let serial = state.desk.draw();
        if operation == Operation::CloseSession {
            state.desk.closes(self.session);
        }
        let waiting = state.desk.waiting(seat);
        let looked_at = match &operation {
            Operation::Exists { path, watch } | Operation::GetData { path, watch } => {
                Some((*path, *watch, false))
            }
            Operation::GetChildren { path, watch } => Some((*path, *watch, true)),
            Operation::Write(_) | Operation::Multi(_) | Operation::Sync | Operation::CloseSession => None,
        };
        if let Some((path, watch, is_of_children)) = looked_at {
            state.desk.looks_at(seat, serial, path);
            if let (true, Some(watches)) = (watch, state.desk.watches(seat)) {
                watches.insert(serial, Watched { path, is_of_children });
            }
        }
        self.enter(state, now, Message::Do { connection, serial, waiting, operation });
        serial
    }

    /// The client is alive.
    fn touch(&self, state: &mut State, now: Micros) {
        touch(&self.line, self.seat(), state, now);
    }

    /// The server says something. True: nothing more is taken from the client.
    ///
    /// # Errors
    /// The connection ends.
    pub fn said(&mut self, say: Say) -> Result<bool, Gone> {
        let servers = self.line.servers.clone();
        servers.step(|state, now| {
            let mut told: Vec<(WatchEvent, Path)> = Vec::new();
            for Fired { serial, event } in say.fired {
                let fired = state.desk.watches(self.seat()).and_then(|watches| watches.remove(&serial));
                if let Some(Watched { path, .. }) = fired
                    // Who watches a znode and its children is told once that it is gone.
                    && !told.contains(&(event, path))
                {
                    told.push((event, path));
                    let text = state.desk.names.text(path);
                    self.send(state, now, answer::event(event, &text), false, false);
                }
            }
            match say.what {
                What::Closed | What::Expired => Err(Gone::Closed),
                What::Connected(_) | What::Fired => Ok(false),
                What::Heard(serial, heard) => {
                    self.settle_watch(serial, &heard.outcome, state);
                    let Some(pending) = &mut self.pending else { return Ok(false) };
                    if !pending.serials.contains(&serial) {
                        return Ok(false);
                    }
                    pending.heard.push(heard);
                    if pending.heard.len() < pending.serials.len() {
                        return Ok(false);
                    }
                    Ok(self.answered(state, now))
                }
            }
        })
    }

    /// Whether a request has set its watch is known by its answer. A second one on the same takes the first one's place.
    fn settle_watch(&self, serial: u32, outcome: &Outcome, state: &mut State) {
        let Some(watches) = state.desk.watches(self.seat()) else { return };
        let Some(Watched { path, is_of_children }) = watches.get(&serial).copied() else { return };
        let waits_for_absent = self.pending.as_ref().is_none_or(|pending| waits_for_absent(&pending.request));
        match outcome {
            Outcome::Data { .. } | Outcome::Children(_) | Outcome::Exists(_) => {}
            // `exists` of what is not there waits for it.
            Outcome::Failed(_) if waits_for_absent => {}
            _ => {
                watches.remove(&serial);
                return;
            }
        }
        let is_same = |watch: &Watched| (watch.path, watch.is_of_children) == (path, is_of_children);
        watches.retain(|other, watch| *other == serial || !is_same(watch));
    }

    /// The request that waits has its answer. True: nothing more is taken from the client.
    fn answered(&mut self, state: &mut State, now: Micros) -> bool {
        let Some(Pending { request, refusal, heard, .. }) = self.pending.take() else { return false };
        let server = usize::from(self.line.server);
        let now_ms = date_ms(state, server, now);
        let applied = state.nodes[server].machine.last_applied();
        let zxid = heard.last().map_or(applied, |heard| heard.zxid);
        let desk = &mut state.desk;
        let mut around = Around { names: &desk.names, dates: &mut desk.dates, now_ms };
        let answer = answer::answer((request.xid, zxid), &request.asked, refusal, &heard, &mut around);
        self.ran(&request.asked, &answer, state, now);
        if state.watch.record.is_on() {
            self.used(&request.asked, &heard, state, now);
        }
        let is_over = heard.iter().any(|heard| heard.outcome == Outcome::SessionClosed);
        self.send(state, now, answer, true, is_over);
        is_over
    }

    fn ran(&self, asked: &Asked, answer: &Answer, state: &mut State, now: Micros) {
        if state.watch.record.is_on() && *asked != Asked::Ping {
            let (link, reply) = (Some(self.line.connection.link), Some(answer.text.clone()));
            state.watch.record.add(Happened {
                link,
                reply: reply.map(Into::into),
                ..Happened::new(now, Deed::Ran, asked.to_string())
            });
        }
    }

    /// Whose znodes are there, and who has deleted whose.
    fn used(&self, asked: &Asked, heard: &[Heard], state: &mut State, now: Micros) {
        let (server, owner) = (self.line.server, self.line.connection.owner());
        let State { watch, desk, .. } = state;
        let mut note = |change: &Change, applied: &Applied| match (change, applied) {
            (Change::Create { .. }, Applied::Created { path, .. }) => {
                watch.losses.created(now, &Bytes::from(desk.names.text(*path)), owner, 0);
            }
            (Change::Delete { path, .. }, Applied::Done) => {
                watch.losses.deleted(now, server, &Bytes::from(path.clone()), owner);
            }
            _ => {}
        };
        match (asked, heard.first().map(|heard| &heard.outcome)) {
            (Asked::Change(change), Some(Outcome::Applied(applied))) => note(change, applied),
            (Asked::Multi(changes), Some(Outcome::Multi(all))) => {
                changes.iter().zip(all).for_each(|(change, applied)| note(change, applied));
            }
            _ => {}
        }
    }

    /// What is turned down though the real server would not have is named once.
    fn refused(&self, refusal: Refusal, state: &mut State, now: Micros) {
        if refusal.code == code::INVALID_ACL {
            let what = "is asked for an access list in vain: here anybody may do anything (world:anyone), and nothing else is kept";
            self.line.missing(state, now, what);
        }
    }
}

fn waits_for_absent(request: &Request) -> bool {
    matches!(request.asked, Asked::Look { look: super::request::Look::Exists, .. })
}

/// A sign of life of a client whose request waits: it is taken when it comes, and not when its turn does
/// (`ZooKeeperServer.touch`).
pub fn touched(line: &Line, seat: SeatId) {
    line.servers.step(|state, now| touch(line, seat, state, now));
}

fn touch(line: &Line, seat: SeatId, state: &mut State, now: Micros) {
    let (_, client, connection) = seat;
    let (serial, waiting) = (state.desk.draw(), state.desk.waiting(seat));
    let ping = Message::Ping { connection, serial, waiting };
    state.enter(&line.servers, line.server, now, |machine: &mut ZooKeeper, cx, effects| {
        machine.on_request(client, ping, cx, effects);
    });
}

/// The date in milliseconds since 1970, as the leader has it, or whoever stands in for it here.
fn date_ms(state: &State, server: usize, now: Micros) -> i64 {
    let leads = |node: &&crate::serve::servers::ServerState<ZooKeeper>| {
        node.machine.leads() && !node.condition.is_down()
    };
    let node = state.nodes.iter().find(leads).unwrap_or(&state.nodes[server]);
    state.desk.began_ms.saturating_add(node.clock.wall(now).0 / 1000)
}
