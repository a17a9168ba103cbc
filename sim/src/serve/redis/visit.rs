//! What the servers of a Redis have for their clients' sake, and how a client's command is run.

use super::busy::{Job, holds_up};
use super::commands::{again, execute};
use super::events::Class;
use super::house::{House, Outgoing, Quiet, Sent, Session, Waiter};
use super::queue::Queue;
use super::reply::Reply;
use super::store::{Content, Instance, Place, Settings};
use super::turn::{Refusal, Surroundings, Turn, Within};
use super::watched::{Asked, Sight, Tells, reply_text, show_command};
use crate::serve::condition::Direction;
use crate::serve::servers::{self, Connection, Served, ServerState};
use crate::serve::watch::claims::{Claims, Owner};
use crate::serve::watch::record::{Happened, LinkId, What};
use bytes::Bytes;
use picklock_model::machine::{Context, Effects, Silence};
use picklock_model::stores::redis::Layout;
use picklock_model::time::Micros;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Simulated Redis servers, which outlive the connections to them and their processes. Cheap to clone: all clones are the
/// same servers.
pub type Servers = servers::Servers<Instance>;

/// Most replies are not longer.
const REPLY_BYTES: usize = 32;

pub(super) type State = servers::State<Instance>;

/// What the servers have for their clients' sake.
#[derive(Debug, Default)]
pub struct Desk {
    /// Of each server that runs; that in which a command is being run is taken out.
    houses: Vec<Option<Box<House>>>,
    addresses: Arc<[SocketAddr]>,
}

impl Desk {
    /// A server's.
    pub fn house(&self, server: u8) -> Option<&House> {
        self.houses.get(usize::from(server))?.as_deref()
    }

    fn house_mut(&mut self, server: u8) -> Option<&mut House> {
        self.houses.get_mut(usize::from(server))?.as_deref_mut()
    }

    /// A server's house is taken out, until it is put back.
    pub fn take(&mut self, server: u8) -> Option<Box<House>> {
        self.houses.get_mut(usize::from(server))?.take()
    }

    pub fn put(&mut self, server: u8, house: Box<House>) {
        let place = usize::from(server);
        if self.houses.len() <= place {
            self.houses.resize_with(place + 1, || None);
        }
        self.houses[place] = Some(house);
    }
}

impl Served for Instance {
    type Desk = Desk;

    fn says(&self, _server: u8, _client: u8, reply: Silence, _desk: &mut Desk) {
        match reply {}
    }

    fn acted(servers: &Servers, server: u8) {
        servers.step(|state, now| {
            let expired = state.nodes[usize::from(server)].machine.keyspace.take_expired();
            let Some(mut house) = state.desk.take(server) else { return };
            expired.iter().for_each(|place| house.event(Class::Expired, "expired", place));
            state.push(server, &mut house, now);
            state.desk.put(server, house);
        });
    }

    fn ended(server: u8, desk: &mut Desk) {
        drop(desk.take(server));
    }
}

impl Servers {
    /// Where the servers listen, for `ROLE` and `INFO` to say.
    pub fn advertise(&self, addresses: Vec<SocketAddr>) {
        self.state().desk.addresses = addresses.into();
    }

    /// From now on it is kept what happens, in this file, too, if there is one, and followed who holds what. `date` is that of
    /// true time 0, in microseconds since 1970. Through these ports come clients of a trial.
    #[cfg(feature = "cli")]
    pub(crate) fn watch(&self, date: i64, file: Option<std::fs::File>, doors: BTreeMap<u16, u8>) {
        // The date is that of true time 0, which begins here if it has not.
        let _begun = self.now();
        let enough = match self.settings().layout {
            Layout::Independent => usize::from(self.count()) / 2 + 1,
            // A master's word is enough.
            Layout::Replicated { .. } => 1,
        };
        let state = &mut *self.state();
        state.watch.record.begin(date, file);
        state.watch.record.know_doors(doors);
        state.watch.claims = Claims::new(enough);
    }
}

/// Somebody has connected: its number on this server.
pub fn admit(servers: &Servers, connection: &Connection, outbox: Arc<Queue<Outgoing>>) -> i64 {
    let now = servers.now();
    let desk = &mut servers.state().desk;
    let mut house = desk.take(connection.server).unwrap_or_default();
    let id = house.admit(connection.owner(), now, outbox);
    desk.put(connection.server, house);
    id
}

/// A client is gone: it has closed its connection, or that was reset.
pub fn dismiss(servers: &Servers, server: u8, client: i64, link: LinkId, is_reset: bool) {
    let now = servers.now();
    let what = if is_reset { What::Reset } else { What::Closed };
    servers.state().watch.record.add(Happened { link: Some(link), ..Happened::new(now, what, "") });
    if let Some(house) = servers.state().desk.house_mut(server) {
        house.dismiss(client);
    }
}

/// What becomes of a command.
pub enum Said {
    /// This is replied.
    Reply(Outgoing),
    /// It waits for keys.
    Waits {
        /// Its place among those who do.
        ticket: u64,
        /// Here comes what it waits for.
        answer: oneshot::Receiver<Reply>,
        /// For how long it does; 0: for ever.
        timeout_ms: u64,
        /// What is replied if it was in vain.
        in_vain: Reply,
    },
    /// It waits until so many replicas have come as far as this; the time-out is as above.
    Replicas {
        /// How far.
        offset: Option<(u32, u32)>,
        /// How many.
        replicas: i64,
        /// How long.
        timeout_ms: u64,
    },
    /// A script takes too long for one step: it is to be started.
    Runs(Box<Job>),
    /// The server runs a script, and hears nothing until that has ended or is known to take too long: ask again.
    Held(Vec<Bytes>),
    /// It has not arrived: its link or its server is held up, or has ended.
    OnTheWay(Vec<Bytes>),
    /// The server does not know this client, or wants to hear no more of it: it is about to close its connection.
    Stranger,
    /// It has ended the server's process.
    Ended,
}

/// Runs a client's command: one step, in which nobody else comes in.
pub fn ask(
    servers: &Servers,
    connection: &Connection,
    client: i64,
    words: Vec<Bytes>,
    asked: &mut Asked,
) -> Said {
    let said = step(servers, connection, client, words, asked);
    if matches!(said, Said::Ended) {
        // Whoever is connected is to hear of it.
        servers.change(|_| ());
    }
    said
}

fn step(
    servers: &Servers,
    connection: &Connection,
    client: i64,
    words: Vec<Bytes>,
    asked: &mut Asked,
) -> Said {
    let server = connection.server;
    servers.step(|state, now| {
        if !state.is_open(connection, now) {
            return Said::OnTheWay(words);
        }
        if holds_up(state.desk.house(server)) {
            return Said::Held(words);
        }
        let is_watched = state.watch.record.is_on();
        let mut sight = None;
        let around = Surroundings::of(state, servers.settings());
        let Some(mut house) = state.desk.take(server) else { return Said::Stranger };
        if is_http(&words) {
            house.attacked();
            for notice in house.notices.drain(..) {
                state.notice(server, now, &notice);
            }
            state.desk.put(server, house);
            return Said::Stranger;
        }
        let Some(mut session) = house.sessions.take(client) else {
            state.desk.put(server, house);
            return Said::Stranger;
        };
        let name = session.name.clone();
        let is_looked_at = is_watched && Sight::is_needed(&words, &session, asked, &state.watch.claims);
        let emptied = match is_looked_at {
            true => Sight::emptied(&words, &session, &state.watch.claims),
            false => Vec::new(),
        };
        let mut ran = Ok(Reply::Nil);
        house.may_be_busy = !is_simulated();
        state.enter(servers, server, now, |instance, cx, effects| {
            instance.begin(cx);
            for place in instance.keyspace.take_expired() {
                house.event(Class::Expired, "expired", &place);
            }
            settle(instance, cx, effects, &mut house, &mut session, &around);
            sight = is_looked_at.then(|| Sight::before(&words, &session, instance, emptied, cx));
            let mut turn = Turn {
                instance,
                cx,
                house: &mut house,
                session: &mut session,
                around: &around,
                within: Within::Itself,
            };
            ran = execute(&mut turn, &words);
            if let Some(sight) = &mut sight {
                sight.look_again(instance);
            }
            settle(instance, cx, effects, &mut house, &mut session, &around);
        });
        if ran == Err(Refusal::Runs) {
            let sight = sight.or_else(|| is_watched.then(Sight::default));
            let job = Job::new(&mut house, &session, words, sight, asked);
            house.sessions.put(session);
            state.desk.put(server, house);
            return job.map_or(Said::Stranger, |job| Said::Runs(Box::new(job)));
        }
        let mut tells = Tells::default();
        if let Some(sight) = sight {
            tells.claims = sight.tell(server, &words, asked, now, &mut state.watch);
        }
        if is_watched {
            tells.text = match &ran {
                Ok(_) if house.ends => "the process ends".into(),
                Ok(reply) => reply_text(reply),
                Err(Refusal::Error(text)) => format!("-{}", crate::serve::watch::shown(text)).into(),
                Err(Refusal::Block { .. } | Refusal::Replicas { .. } | Refusal::Runs) => "waits".into(),
            };
            let (record, link) = (&mut state.watch.record, session.owner.link);
            let text = |to: &mut Vec<u8>| show_command(&words, to);
            record.of_command(now, What::Ran, server, link, text, Some(&tells.text));
            if session.name != name {
                record.name(link, &String::from_utf8_lossy(&session.name));
            }
        }
        if house.ends {
            // What it is busy with ends with it.
            drop(house);
            state.crash(server, false);
            state.notice(server, now, "has ended, as a client has told it to (SHUTDOWN)");
            return Said::Ended;
        }
        let (version, owner) = (session.version, session.owner);
        if let Some(told) = unsaid(&mut session, ran.as_ref()) {
            ran = Ok(told);
        }
        let is_last = words.first().is_some_and(|name| name.eq_ignore_ascii_case(b"quit"));
        house.sessions.put(session);
        let said = match ran {
            Ok(reply) => {
                let outgoing = state.outgoing(server, owner, &reply, version, is_last, now);
                Said::Reply(Outgoing { tells, ..outgoing })
            }
            Err(Refusal::Error(text)) => {
                let outgoing = state.outgoing(server, owner, &Reply::error(text), version, false, now);
                Said::Reply(Outgoing { tells, ..outgoing })
            }
            Err(Refusal::Block { places, timeout_ms, in_vain }) => {
                let (sender, answer) = oneshot::channel();
                let ticket = house.wait(Waiter { client, places, words, answer: sender });
                Said::Waits { ticket, answer, timeout_ms, in_vain }
            }
            Err(Refusal::Replicas { offset, replicas, timeout_ms }) => {
                Said::Replicas { offset, replicas, timeout_ms }
            }
            Err(Refusal::Runs) => unreachable!("it was said that it runs"),
        };
        state.push(server, &mut house, now);
        for notice in house.notices.drain(..) {
            state.notice(server, now, &notice);
        }
        state.desk.put(server, house);
        said
    })
}

/// Whether this is a line of HTTP: somebody's browser is made to speak to the server, and what it says next is not to be run
/// (`src/server.c` `processCommand`).
fn is_http(words: &[Bytes]) -> bool {
    let is_line = |word: &Bytes| word.eq_ignore_ascii_case(b"post") || word.eq_ignore_ascii_case(b"host:");
    words.first().is_some_and(is_line)
}

/// Whether time is virtual: what depends on the real one would make two runs differ.
pub(super) fn is_simulated() -> bool {
    #[cfg(feature = "hosted")]
    return turmoil::sim_elapsed().is_some();
    #[cfg(not(feature = "hosted"))]
    return false;
}

/// What is told instead of a reply to who wants none: nothing, but for what it listens to. A reply that is still to come counts
/// when it comes.
pub(super) fn unsaid(session: &mut Session, ran: Result<&Reply, &Refusal>) -> Option<Reply> {
    if matches!(ran, Err(Refusal::Block { .. } | Refusal::Replicas { .. } | Refusal::Runs)) {
        return None;
    }
    let is_quiet = session.quiet != Quiet::No;
    session.quiet = match session.quiet {
        Quiet::ThisAndNext => Quiet::Next,
        Quiet::Next => Quiet::No,
        other => other,
    };
    let is_push = |reply: &Reply| matches!(reply, Reply::Push(_));
    match ran {
        _ if !is_quiet => None,
        Ok(Reply::Several(replies)) if replies.iter().all(is_push) => None,
        Ok(Reply::Push(_)) => None,
        Ok(_) | Err(_) => Some(Reply::Several(Vec::new())),
    }
}

/// A reply that comes later than the step in which it was asked for. A place among those who wait is given up.
pub fn late(
    servers: &Servers,
    server: u8,
    client: i64,
    reply: &Reply,
    ticket: Option<u64>,
) -> Option<Outgoing> {
    let now = servers.now();
    let mut state = servers.state();
    let is_kept = state.watch.record.is_on();
    let house = state.desk.house_mut(server)?;
    if let Some(ticket) = ticket {
        house.waiters.remove(&ticket);
    }
    let session = house.sessions.get_mut(client)?;
    let (version, owner, unsaid) = (session.version, session.owner, unsaid(session, Ok(reply)));
    let text = if is_kept { reply_text(reply) } else { Cow::default() };
    let outgoing = state.outgoing(server, owner, unsaid.as_ref().unwrap_or(reply), version, false, now);
    Some(Outgoing { tells: Tells { text, claims: Vec::new() }, ..outgoing })
}

/// What is told to a client before its connection is closed.
pub fn last_word(servers: &Servers, connection: &Connection, text: String) -> Outgoing {
    let now = servers.now();
    servers.state().outgoing(connection.server, connection.owner(), &Reply::error(text), 2, true, now)
}

/// How many other servers have come as far as this.
pub fn acknowledged(servers: &Servers, server: u8, offset: Option<(u32, u32)>) -> i64 {
    let Some(offset) = offset else { return 0 };
    let state = servers.state();
    let others = state.nodes.iter().enumerate().filter(|(other, _)| *other != usize::from(server));
    let has_it = |node: &ServerState<Instance>| {
        node.machine.replicated().is_some_and(|its| its.0 == offset.0 && its >= offset)
    };
    others.filter(|(_, node)| has_it(node)).count() as i64
}

impl Surroundings {
    pub(super) fn of(state: &State, settings: &Settings) -> Surroundings {
        if settings.layout == Layout::Independent {
            return Surroundings { addresses: state.desk.addresses.clone(), replicas: Vec::new() };
        }
        let replica =
            |node: &ServerState<Instance>| match node.machine.is_master() || node.condition.is_down() {
                true => None,
                false => node.machine.replicated().map(|(_, offset)| offset),
            };
        Surroundings {
            addresses: state.desk.addresses.clone(),
            replicas: state.nodes.iter().map(replica).collect(),
        }
    }
}

impl State {
    pub(super) fn outgoing(
        &mut self,
        server: u8,
        owner: Owner,
        reply: &Reply,
        version: u8,
        is_last: bool,
        now: Micros,
    ) -> Outgoing {
        let mut bytes = Vec::with_capacity(REPLY_BYTES);
        reply.write(version, &mut bytes);
        self.tally.commands += 1;
        self.sent(server, owner, bytes, is_last, now)
    }

    fn sent(&mut self, server: u8, owner: Owner, bytes: Vec<u8>, is_last: bool, now: Micros) -> Outgoing {
        let (latency, is_lost) = self.fate(server, owner.client, Direction::Reply, now);
        Outgoing { due: now + latency, is_lost, bytes, is_last, tells: Tells::default() }
    }

    /// Sends what is to be told to those who did not ask.
    pub(super) fn push(&mut self, server: u8, house: &mut House, now: Micros) {
        if house.pushes.is_empty() {
            return;
        }
        let limit = house.limits.of_subscribers();
        let mut gives_up = false;
        for (client, sent) in house.pushes.drain(..) {
            let Some(session) = house.sessions.get_mut(client) else { continue };
            let (mut bytes, is_last) = (Vec::new(), sent == Sent::Close);
            if let Sent::Reply(reply) = &sent {
                reply.write(session.version, &mut bytes);
            }
            let (waited, size) = (session.outbox.size(), bytes.len());
            // If its connection has ended, nobody is told.
            session.outbox.send(size, self.sent(server, session.owner, bytes, is_last, now));
            if limit.is_passed(waited, waited + size, &mut session.behind_since, now) {
                session.outbox.give_up();
                gives_up = true;
            }
        }
        if gives_up {
            house.gave_up();
        }
    }
}

/// After a step: replicas are told, who watches what was changed is overtaken, and who waits for it gets it.
pub(super) fn settle(
    instance: &mut Instance,
    cx: &Context<Settings>,
    effects: &mut Effects<Instance>,
    house: &mut House,
    session: &mut Session,
    around: &Surroundings,
) {
    while !instance.is_settled() {
        instance.end(cx, effects);
        let touched = instance.take_unseen();
        if touched.is_empty() {
            return;
        }
        house.overtake(&touched, session);
        for place in touched {
            serve_waiters(&place, instance, cx, house, around);
        }
    }
}

fn serve_waiters(
    place: &Place,
    instance: &mut Instance,
    cx: &Context<Settings>,
    house: &mut House,
    around: &Surroundings,
) {
    if house.waiters.is_empty() {
        return;
    }
    let waits = |(ticket, waiter): (&u64, &Waiter)| waiter.places.contains(place).then_some(*ticket);
    let tickets: Vec<u64> = house.waiters.iter().filter_map(waits).collect();
    for ticket in tickets {
        let content = instance.keyspace.peek(place).map(|entry| &entry.content);
        if !matches!(content, Some(Content::List(_) | Content::Sorted(_))) {
            return;
        }
        let Some(waiter) = house.waiters.remove(&ticket) else { continue };
        let Some(mut session) = house.sessions.take(waiter.client) else { continue };
        let mut turn = Turn { instance, cx, house, session: &mut session, around, within: Within::Itself };
        let got = again(&mut turn, &waiter.words);
        house.sessions.put(session);
        match got {
            // If it has gone meanwhile, what it got is lost with it, as in the real server.
            Some(reply) => drop(waiter.answer.send(reply)),
            None => drop(house.waiters.insert(ticket, waiter)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Servers;
    use crate::serve::redis::direct::Direct;

    #[test]
    fn who_speaks_http_is_heard_no_more() {
        let servers = Servers::new(1, Default::default());
        for first in ["POST", "post", "Host:"] {
            let client = Direct::new(&servers);
            assert_eq!(client.say(&[first, "x"]), None, "{first}");
        }
        let client = Direct::new(&servers);
        assert_eq!(client.line("MULTI"), "+OK");
        assert_eq!(client.say(&["POST"]), None);
        let other = Direct::new(&servers);
        assert_eq!(other.line("hosts: x"), "-ERR unknown command 'hosts:', with args beginning with: 'x'");
        let notices: Vec<String> = servers.take_notices().into_iter().map(|(_, text)| text).collect();
        assert_eq!(notices, ["s1 was spoken to in HTTP (POST or Host:), and closes such connections"]);
    }
}
