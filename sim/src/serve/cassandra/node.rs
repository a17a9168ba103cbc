//! A server of the cluster: the simulated one, asked with the consistency level and the time-outs of each request, and a beat by
//! which servers know of each other whether they are alive.
//!
//! The simulated server has one consistency level for all: what a request waits for is looked up in its settings as answers come.
//! Here each request brings its own, and every step about it is made under those settings. Which request an answer is about is
//! known by its number: it is that of a message which was sent in a step about the request.

use picklock_model::machine::{Context, Effects, Message, Node as Place, Silence, Store, Visit, Visitor};
use picklock_model::stores::cassandra::{self, Cassandra, Consistency, Peer, Said, Settings};
use picklock_model::time::{Due, Micros, Monotonic};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt::{Display, Formatter};

/// How often servers tell each other that they are alive.
const BEAT_PERIOD: Micros = Micros::seconds(1);
/// After how long without a beat a server counts as down: what a threshold of 8 comes to with a beat a second
/// (`gms/FailureDetector.java`: 8 · ln 10 of the mean interval).
const SILENCE_MAX: Micros = Micros::millis(18_400);

/// On which terms something is asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Terms {
    pub level: Consistency,
    pub timeout: Micros,
    /// How many of the choices of replicas to read are passed over: a second try asks others.
    pub skips: u32,
}

/// See [`cassandra::Request`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Request {
    pub terms: Terms,
    pub asked: cassandra::Request,
}

/// See [`cassandra::Reply`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Reply {
    pub reply: cassandra::Reply,
    /// How many replicas have answered in the last step.
    pub received: u8,
    /// The last step was a proposal or after it: a conditional write that timed out may be done.
    pub is_proposed: bool,
}

/// From server to server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Letter {
    /// The sender is alive.
    Beat,
    Store(Peer),
}

/// A request under way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Order {
    request: u32,
    terms: Terms,
    /// The numbers of the messages of its last step to others.
    steps: SmallVec<[u32; 2]>,
    /// Who has answered those, and not with a refusal.
    answered: u16,
    is_proposed: bool,
}

/// A server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Node {
    inner: Cassandra,
    orders: Vec<Order>,
    /// When each of the others was last heard of, by the own clock; `None`: not since the start.
    heard: Vec<Option<Monotonic>>,
    started: Monotonic,
    beats: Monotonic,
}

impl Node {
    /// Whether the server takes that one for alive.
    pub fn believes_in(&self, me: u8, server: u8, now: Monotonic) -> bool {
        let heard = self.heard.get(usize::from(server)).copied().flatten().unwrap_or(self.started);
        server == me || now - heard < SILENCE_MAX
    }

    fn forget(&mut self, request: u32) {
        self.orders.retain(|order| order.request != request);
    }

    /// Which choice of replicas to read is made: the first whose members are alive, after those that are passed over.
    fn choice(&self, terms: Terms, cx: &Context<Settings>) -> u32 {
        let others: Vec<u8> = (0..cx.servers).filter(|server| *server != cx.me).collect();
        let wanted = u32::from(terms.level.of(cx.servers) - 1);
        let alive =
            others.iter().enumerate().filter(|(_, server)| self.believes_in(cx.me, **server, cx.monotonic));
        let alive: u32 = alive.map(|(at, _)| 1 << at).sum();
        let all = subsets(others.len() as u32, wanted);
        let good: Vec<usize> = (0..all.len()).filter(|rank| all[*rank] & !alive == 0).collect();
        let among = if good.is_empty() { (0..all.len()).collect() } else { good };
        // Who coordinates reads the next servers in the ring first, not all of them the first one.
        let first = usize::from(cx.me) + terms.skips as usize;
        among.get(first % among.len().max(1)).map_or(0, |rank| *rank as u32)
    }

    /// A step of the simulated server, about a request or about none.
    fn step(
        &mut self,
        about: Option<u32>,
        cx: &Context<Settings>,
        effects: &mut Effects<Node>,
        step: impl FnOnce(&mut Cassandra, &Context<Settings>, &mut Effects<Cassandra>),
    ) {
        let order = about.and_then(|request| self.orders.iter().find(|order| order.request == request));
        let terms = order.map(|order| order.terms);
        let settings = match terms {
            None => cx.settings.clone(),
            Some(Terms { level, timeout, .. }) => Settings {
                writes: level,
                reads: level,
                request_timeout: Some(timeout),
                ..cx.settings.clone()
            },
        };
        let choice = terms.map_or(0, |terms| self.choice(terms, cx));
        let cx = Context {
            me: cx.me,
            servers: cx.servers,
            wall: cx.wall,
            monotonic: cx.monotonic,
            choice,
            settings: &settings,
        };
        let mut inner = Effects::default();
        step(&mut self.inner, &cx, &mut inner);
        let mut is_new_step = true;
        for (to, message) in inner.sends {
            match (to, message) {
                (Place::Server(server), Message::Peer(peer)) => {
                    let order = about
                        .and_then(|request| self.orders.iter_mut().find(|order| order.request == request));
                    if let (Some(order), Some(serial)) = (order, question(&peer)) {
                        if std::mem::take(&mut is_new_step) {
                            order.steps.clear();
                            order.answered = 1 << cx.me;
                            order.is_proposed = is_proposal(&peer);
                        }
                        if !order.steps.contains(&serial) {
                            order.steps.push(serial);
                        }
                    }
                    effects.peer(server, Letter::Store(peer));
                }
                (Place::Client(client), Message::Reply(reply)) => {
                    let order = self.orders.iter().find(|order| order.request == reply.serial);
                    let received = order.map_or(1, |order| order.answered.count_ones() as u8);
                    let is_proposed = order.is_some_and(|order| order.is_proposed);
                    self.forget(reply.serial);
                    effects.reply(client, Reply { reply, received, is_proposed });
                }
                (to, message) => unreachable!("a server says nothing like {message:?} to {to}"),
            }
        }
    }
}

/// The number of a message that is to be answered.
fn question(peer: &Peer) -> Option<u32> {
    match peer {
        Peer::Mutation { serial, .. } => *serial,
        Peer::Read { serial, .. } | Peer::Repair { serial, .. } => Some(*serial),
        Peer::Paxos(paxos) => match paxos.said {
            Said::Prepare(_) | Said::Propose(_) | Said::Commit(_) => Some(paxos.serial),
            Said::Promise { .. } | Said::Accept | Said::Refuse(_) | Said::Committed => None,
        },
        Peer::Ack { .. } | Peer::Cells { .. } => None,
    }
}

fn is_proposal(peer: &Peer) -> bool {
    matches!(peer, Peer::Paxos(paxos) if matches!(paxos.said, Said::Propose(_) | Said::Commit(_)))
}

/// The number of the message that this answers.
fn answer(peer: &Peer) -> Option<u32> {
    match peer {
        Peer::Ack { serial } | Peer::Cells { serial, .. } => Some(*serial),
        Peer::Paxos(paxos) if question(peer).is_none() => Some(paxos.serial),
        Peer::Mutation { .. } | Peer::Read { .. } | Peer::Repair { .. } | Peer::Paxos(_) => None,
    }
}

/// All ways to choose so many of so many, as bits, in the order in which the simulated server counts them.
fn subsets(all: u32, chosen: u32) -> Vec<u32> {
    let mut ways: Vec<u32> = (0..1 << all).filter(|way: &u32| way.count_ones() == chosen).collect();
    ways.sort_by_key(|way| (0..all).filter(|at| way & 1 << at != 0).collect::<Vec<_>>());
    ways
}

impl Store for Node {
    type Settings = Settings;
    type Request = Request;
    type Reply = Reply;
    type Peer = Letter;
    type Change = Silence;

    fn new(me: u8, servers: u8, settings: &Settings) -> Self {
        Node {
            inner: Cassandra::new(me, servers, settings),
            orders: Vec::new(),
            heard: vec![None; servers.into()],
            started: Monotonic(0),
            beats: Monotonic(0),
        }
    }

    fn on_request(
        &mut self,
        from: u8,
        request: Request,
        cx: &Context<Settings>,
        effects: &mut Effects<Self>,
    ) {
        let Request { terms, asked } = request;
        let serial = asked.serial;
        self.orders.push(Order {
            request: serial,
            terms,
            steps: SmallVec::new(),
            answered: 1 << cx.me,
            is_proposed: false,
        });
        self.step(Some(serial), cx, effects, |inner, cx, effects| inner.on_request(from, asked, cx, effects));
    }

    fn on_peer(&mut self, from: u8, letter: Letter, cx: &Context<Settings>, effects: &mut Effects<Self>) {
        if let Some(heard) = self.heard.get_mut(usize::from(from)) {
            *heard = Some(cx.monotonic);
        }
        let Letter::Store(peer) = letter else { return };
        let answered = answer(&peer);
        let order =
            self.orders.iter_mut().find(|order| answered.is_some_and(|serial| order.steps.contains(&serial)));
        let about = order.map(|order| {
            // Who refuses has done nothing of what was asked (`ProposeCallback.getAcceptCount`).
            let refuses = matches!(&peer, Peer::Paxos(paxos) if matches!(paxos.said, Said::Refuse(_)));
            order.answered |= u16::from(!refuses) << from;
            order.request
        });
        self.step(about, cx, effects, |inner, cx, effects| inner.on_peer(from, peer, cx, effects));
    }

    fn on_deadline(&mut self, cx: &Context<Settings>, effects: &mut Effects<Self>) {
        if cx.servers > 1 && self.beats <= cx.monotonic {
            self.beats = cx.monotonic + BEAT_PERIOD;
            (0..cx.servers)
                .filter(|server| *server != cx.me)
                .for_each(|server| effects.peer(server, Letter::Beat));
        }
        self.step(None, cx, effects, |inner, cx, effects| inner.on_deadline(cx, effects));
    }

    fn on_restart(&mut self, power_lost: bool, cx: &Context<Settings>, effects: &mut Effects<Self>) {
        self.orders.clear();
        self.heard.fill(None);
        self.started = cx.monotonic;
        self.beats = cx.monotonic;
        self.step(None, cx, effects, |inner, cx, effects| inner.on_restart(power_lost, cx, effects));
    }

    fn deadline(&self, settings: &Settings) -> Option<Due> {
        let beats = (self.heard.len() > 1).then_some(Due::Monotonic(self.beats));
        [self.inner.deadline(settings), beats].into_iter().flatten().min()
    }

    fn is_durable(settings: &Settings) -> bool {
        Cassandra::is_durable(settings)
    }

    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.inner.visit(visitor);
    }

    fn contents(&self) -> Vec<String> {
        self.inner.contents()
    }
}

impl Visit for Request {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.asked.visit(visitor);
    }
}

impl Visit for Reply {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.reply.visit(visitor);
    }
}

impl Visit for Letter {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Letter::Beat => {}
            Letter::Store(peer) => peer.visit(visitor),
        }
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.asked.fmt(f)
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.reply.fmt(f)
    }
}

impl Display for Letter {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Letter::Beat => f.write_str("alive"),
            Letter::Store(peer) => peer.fmt(f),
        }
    }
}
