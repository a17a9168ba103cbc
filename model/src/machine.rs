//! The one seam between algorithm and engine.
//!
//! A lock client ([`Lock`]) and a store's server ([`Store`]) are deterministic state machines without I/O. They are
//! entered by an engine (`on_*`), read the clocks of their own node from a [`Context`], and push what they want done
//! into an [`Effects`] buffer that the engine owns, so that a step allocates nothing. Nothing else crosses the seam:
//! deadlines are state that the engine reads, randomness is an input, and which order things happen in, how long they
//! take and what goes wrong is the engine's alone.
//!
//! ```text
//!                       engine: order, time, faults
//!        on_call on_reply on_deadline │ on_request on_peer on_deadline on_restart
//!                 ▼                   │                 ▼
//!        ┌──── Lock ────┐        request        ┌──── Store ────┐
//!        │ one client's │  ───────────────────▶ │  one server's │ ◀── peer ──▶ other servers
//!        │   machine    │  ◀─────────────────── │    machine    │
//!        └──────────────┘         reply         └───────────────┘
//!                 ▲ answers: granted, refused, released, lost
//!              workload (crate::workload): who asks when, how long it holds, what it writes
//! ```
//!
//! A store knows no lock: keys, rows and paths are names that its users chose ([`crate::names`]), and what changed it tells
//! in words of its own ([`Store::Change`]). The lock knows which of its names means what, so the lock says what a change
//! means to the judges ([`Lock::means`]). Another recipe on the same store, with other names, changes nothing in the store.

use crate::cluster::Setup;
use crate::few::sort_few;
use crate::names::Words;
use crate::time::{Due, Micros, Monotonic, Wall};
use crate::workload::Workload;
use picklock_properties::{Access, AccessModes, ClientId, Event, FencingToken, LockId, Mode, PromiseSet};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::error::Error;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::str::FromStr;

/// What a lock's machine does that nobody has asked for anything.
pub const IDLE: &str = "idle";

/// What every state and message is made of: small plain data, comparable, and packable into bytes.
pub trait Data:
    Clone + Eq + Ord + Hash + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
}
impl<T: Clone + Eq + Ord + Hash + Debug + Serialize + DeserializeOwned + Send + Sync + 'static> Data for T {}

/// A place in the cluster that has clocks, can be crashed or paused, and can be sent messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Node {
    /// A client of the lock, with its application.
    Client(u8),
    /// A server of the store.
    Server(u8),
    /// The resource that the lock protects, outside the store.
    Resource,
}

impl Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Node::Client(client) => write!(f, "{}", ClientId(*client)),
            Node::Server(server) => write!(f, "s{}", server + 1),
            Node::Resource => f.write_str("resource"),
        }
    }
}

/// What a machine is told on every entry.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a, Settings> {
    /// Number of this client, or of this server among the servers.
    pub me: u8,
    /// How many servers the store has.
    pub servers: u8,
    /// What this node's wall clock shows. Two entries of one node see different readings, the later one larger, unless
    /// the clock was stepped back or stands still: no two steps happen within one microsecond.
    pub wall: Wall,
    /// What this node's monotonic clock shows.
    pub monotonic: Monotonic,
    /// Randomness from the engine: a number below what [`Lock::choices`] or [`Store::choices`] returned for this entry.
    /// The seeded engine draws it, the exhaustive engine tries them all.
    pub choice: u32,
    /// The variant of the algorithm or store; the same in every entry of a run.
    pub settings: &'a Settings,
}

/// What goes from one node to another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub enum Message<S: Store> {
    /// From a client to a server.
    Request(S::Request),
    /// From a server to a client.
    Reply(S::Reply),
    /// From a server to a server.
    Peer(S::Peer),
    /// From a client in its critical section to the resource.
    Write {
        /// Which of the client's holds, so that a late answer is not taken for one of a later hold.
        serial: u32,
        /// The lock that protects what is written.
        lock: LockId,
        /// The token that came with the grant, if the lock gives any.
        fence: Option<FencingToken>,
    },
    /// From the resource to the client: the write was applied, or turned down because of its token.
    Written {
        /// The hold whose write this answers.
        serial: u32,
        /// Whether it was applied.
        accepted: bool,
    },
    /// From a client in its critical section to the resource: what is there to work on?
    Read {
        /// Which of the client's holds, so that a late answer is not taken for one of a later hold.
        serial: u32,
        /// The lock that protects what is read.
        lock: LockId,
        /// The token that came with the grant, if the client shows it already now.
        fence: Option<FencingToken>,
    },
    /// From the resource to the client: this is there.
    Shown {
        /// The hold whose read this answers.
        serial: u32,
    },
}

/// What a client's application asks of its lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Call {
    /// Take a lock: wait for it, or try.
    Acquire {
        /// Which.
        lock: LockId,
        /// Whether to wait.
        mode: Mode,
        /// In which of the lock's modes of access ([`Lock::modes`]) to hold it.
        access: Access,
    },
    /// Do the work's write in the lock's own store. Called only while granted, and only if [`Lock::WRITES_INSIDE`].
    Write,
    /// Give it back. Called only while granted.
    Release,
}

/// What a lock tells its application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// The lock is held from now on.
    Granted {
        /// A number that grows with every grant, if the lock gives one.
        fence: Option<FencingToken>,
    },
    /// `try_lock` only: somebody else has it.
    Refused,
    /// The write is done, or is known not to be.
    Written {
        /// Whether the store took it.
        accepted: bool,
    },
    /// The release is done, as far as this client can know.
    Released,
    /// The lease ran out while held, and the lock noticed: the application must stop.
    Lost,
}

/// What a machine wants done, in order. Owned by the engine and cleared before each entry.
#[derive(Clone, Debug)]
pub struct Effects<S: Store> {
    /// Messages to send.
    pub sends: Vec<(Node, Message<S>)>,
    /// What happened, for the monitors.
    pub events: Vec<Event>,
    /// What changed in a server, in the store's words: [`Effects::read_changes`] makes events of it.
    pub changes: Vec<S::Change>,
    /// What the lock tells its application; at most one per entry.
    pub answer: Option<Answer>,
    /// What a server does of its own accord in this step, where neither a message nor its contents say so. For the readers of
    /// traces only: no engine looks at it.
    pub remark: Option<&'static str>,
    /// The promises that the events put to the test. The cluster's to say, no machine's.
    pub tested: PromiseSet,
}

impl<S: Store> Default for Effects<S> {
    fn default() -> Self {
        Effects {
            sends: Vec::with_capacity(8),
            events: Vec::with_capacity(8),
            changes: Vec::with_capacity(8),
            answer: None,
            remark: None,
            tested: PromiseSet::EMPTY,
        }
    }
}

impl<S: Store> Effects<S> {
    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.sends.clear();
        self.events.clear();
        self.changes.clear();
        self.answer = None;
        self.remark = None;
        self.tested = PromiseSet::EMPTY;
    }

    /// A client sends a request to a server.
    pub fn request(&mut self, server: u8, request: S::Request) {
        self.sends.push((Node::Server(server), Message::Request(request)));
    }

    /// A server replies to a client.
    pub fn reply(&mut self, client: u8, reply: S::Reply) {
        self.sends.push((Node::Client(client), Message::Reply(reply)));
    }

    /// A server sends a message to another server.
    pub fn peer(&mut self, server: u8, message: S::Peer) {
        self.sends.push((Node::Server(server), Message::Peer(message)));
    }

    /// Something happened that a monitor wants to know.
    pub fn record(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Something changed in this server that its users may want to know.
    pub fn changed(&mut self, change: S::Change) {
        self.changes.push(change);
    }

    /// Puts what the changes of this step mean to the lock ([`Lock::means`]) behind the events, in the order in which they
    /// happened. For who drives a server: once after each entry.
    pub fn read_changes(&mut self, server: u8, means: impl Fn(&S::Change, u8) -> Option<Event>) {
        self.events.extend(self.changes.drain(..).filter_map(|change| means(&change, server)));
    }

    /// The lock answers its application. At most one answer per entry.
    pub fn answer(&mut self, answer: Answer) {
        debug_assert!(self.answer.is_none(), "one entry, two answers");
        self.answer = Some(answer);
    }
}

/// The line of the source document that a client stands at, for triggers and for the reader of a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Line {
    /// Listing number in the document; 0 for a numbered step outside a listing.
    #[serde(default)]
    pub listing: u8,
    /// Line number within the listing, or the step's number; 0 for a state that no line stands for.
    pub number: u8,
}

impl Line {
    /// Not inside any listing.
    pub const NONE: Line = Line { listing: 0, number: 0 };
}

impl Display for Line {
    /// `L6:3` for Listing 6, line 3; `step 3` outside of listings; empty for no line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Line::NONE => Ok(()),
            Line { listing: 0, number } => write!(f, "step {number}"),
            Line { listing, number } => write!(f, "L{listing}:{number}"),
        }
    }
}

impl FromStr for Line {
    type Err = NoLine;

    /// As it is displayed.
    fn from_str(text: &str) -> Result<Line, NoLine> {
        let (listing, number) = match text.strip_prefix("step ") {
            Some(number) => ("0", number),
            None => text.strip_prefix('L').and_then(|line| line.split_once(':')).ok_or(NoLine)?,
        };
        let (listing, number) = (listing.parse().map_err(|_| NoLine)?, number.parse().map_err(|_| NoLine)?);
        if number == 0 {
            return Err(NoLine);
        }
        Ok(Line { listing, number })
    }
}

/// The text is no line of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoLine;

impl Display for NoLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not a line: L6:3 is line 3 of listing 6, \"step 3\" is one outside of listings")
    }
}

impl Error for NoLine {}

/// Why a token that is shown does nothing.
pub const UNCHECKED_TOKENS: &str =
    "the resource does not look at the tokens that it is shown: --set resource_checks=true has it look";

/// A setting that does nothing in some use: a verdict with it is one without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Idle {
    /// The name of the setting.
    pub setting: &'static str,
    /// Why it does nothing, and what would be right, in a phrase.
    pub why: &'static str,
}

/// One client's machine of a lock algorithm. Written once, runs on every engine.
///
/// Requests may be lost, delayed, duplicated; replies too. A request that gets no reply in time has an *unknown*
/// outcome. A reply to a request that the machine no longer waits for must be told apart (serial numbers) and dismissed.
pub trait Lock: Data {
    /// The store the lock lives on.
    type Store: Store;
    /// The variant: named knobs. The same for all clients of a run.
    type Settings: Data + Default;

    /// The words for what the lock calls keys, rows or paths in its store.
    const WORDS: Words = Words::NONE;

    /// Whether it is a lock, which its application holds for a while; if not, each round is one operation.
    const HOLDS: bool = true;

    /// Whether the lock can write to its own store on behalf of the application ([`Call::Write`]).
    const WRITES_INSIDE: bool = false;

    /// Whether its machines show their visitors every number of a client that is in them ([`Visitor::client`]), and each does the
    /// same, whoever it is. It is not taken on faith: where a client is found that does otherwise, the exhaustive engine tells clients
    /// apart.
    const SHOWS_CLIENTS: bool = false;

    /// The machine before its first call.
    fn new(me: u8, settings: &Self::Settings) -> Self;

    /// The application asks for something. Never entered while an earlier call is unanswered.
    fn on_call(&mut self, call: Call, cx: &Context<Self::Settings>, effects: &mut Effects<Self::Store>);

    /// A reply arrived, wanted or not.
    fn on_reply(
        &mut self,
        from: u8,
        reply: <Self::Store as Store>::Reply,
        cx: &Context<Self::Settings>,
        effects: &mut Effects<Self::Store>,
    );

    /// [`Lock::deadline`] has come.
    fn on_deadline(&mut self, cx: &Context<Self::Settings>, effects: &mut Effects<Self::Store>);

    /// The process starts again after a crash: everything but what it had made durable is gone. Nothing is held.
    fn on_restart(&mut self, cx: &Context<Self::Settings>);

    /// When the machine wants to be woken next, if at all.
    fn deadline(&self, settings: &Self::Settings) -> Option<Due>;

    /// What a change in a server means to the judges: whose record came or went, who took a place, whose write was taken.
    /// Only the lock knows which of its names are records. `None`: nothing; a lock that leaves it at that is not judged by
    /// what its store sees ([`Event::Acquired`], [`Event::RecordGone`]), only by what its clients do.
    fn means(_change: &<Self::Store as Store>::Change, _server: u8) -> Option<Event> {
        None
    }

    /// How many ways this entry can go, by chance ([`Context::choice`]). `None` is an entry at the deadline.
    fn choices(&self, _reply: Option<&<Self::Store as Store>::Reply>, _settings: &Self::Settings) -> u32 {
        1
    }

    /// Whether the machine will dismiss this reply, now and at any later time, without a trace. The exhaustive engine
    /// drops such messages at once, which changes nothing but the number of states.
    fn dismisses(&self, _reply: &<Self::Store as Store>::Reply) -> bool {
        false
    }

    /// Strikes out of a reply what the machine will not look at, whenever it arrives: replies that differ in nothing else are one. It has to
    /// be the same whoever the machine is ([`Self::SHOWS_CLIENTS`]). Only a search up to the names of clients asks for it, and it takes the
    /// machine's step with the one reply and with the other to see whether they come to the same.
    fn strike_out(&self, _reply: &mut <Self::Store as Store>::Reply, _settings: &Self::Settings) {}

    /// Shows every time and number in the state to `visitor`: see [`Visitor`].
    fn visit<V: Visitor>(&mut self, settings: &Self::Settings, visitor: &mut V);

    /// Whether machines of this variant carry stamps from one group over into another (a time read from a cell becomes
    /// part of a name, say). Then all stamps are kept in one order, which costs states. `clocks_err`: a clock may be set back or stop, so that
    /// the last stamp that somebody gave may be later than what it shows; whoever counts on from there carries it over.
    fn carries_stamps_over(_settings: &Self::Settings, _clocks_err: bool) -> bool {
        false
    }

    /// A write timestamp that the machine keeps for a later request, if that may be less than its clock shows by then: the
    /// store must not settle what such a request can still meet ([`Store::settle`]).
    fn earliest_timestamp(&self, _settings: &Self::Settings) -> Option<Wall> {
        None
    }

    /// Where in its source the machine stands: nowhere, if it has none. Faults of a plan can be aimed at lines.
    fn line(&self) -> Line {
        Line::NONE
    }

    /// What the machine does right now, in a few words, for the reader of a trace; [`IDLE`] if nothing is asked of it.
    fn doing(&self) -> &'static str;

    /// Until when a holder takes the lock for its own without another word from the store, by one of its clocks: it says
    /// [`Answer::Lost`] then at the latest. `None`: it does not hold, or does not look.
    fn valid_until(&self, _settings: &Self::Settings) -> Option<Due> {
        None
    }

    /// Whether a holder's renewal is under way: a release that is sent now might be overtaken by it.
    fn is_renewing(&self) -> bool {
        false
    }

    /// With fewer servers it would be another algorithm: a run that is made small keeps so many, if it had them.
    fn fewest_servers(_settings: &Self::Settings) -> u8 {
        1
    }

    /// The modes of access that the lock has: who may hold it together with whom. It is asked for no other ones, and its grants
    /// are judged by these. By default there is one, and whoever holds excludes everybody else.
    fn modes(_settings: &Self::Settings) -> AccessModes {
        AccessModes::EXCLUSIVE
    }

    /// How long a grant lasts without renewal, if it ends by itself.
    fn lease(settings: &Self::Settings) -> Option<Micros>;

    /// Whether its clients ever look at their wall clocks: if not, it does not matter to them what these show.
    fn reads_wall_clock(_settings: &Self::Settings) -> bool {
        true
    }

    /// Whether anything of it rests on the wall clock of a server that has one.
    fn needs_server_clock(_settings: &Self::Settings) -> bool {
        true
    }

    /// A setting that does nothing in this use, and why not.
    fn idle(_settings: &Self::Settings, _workload: &Workload) -> Option<Idle> {
        None
    }

    /// After how long a silence somebody else can get what a holder still believes to have: what durations of faults and of holds are
    /// measured by in drawn runs. By default the lease; a store that waits for longer than the lease of its client has more.
    fn patience(setup: &Setup<Self>) -> Option<Micros> {
        Self::lease(&setup.lock)
    }

    /// The settings for so many clients: other ones only where they name that number.
    fn used_by(settings: &Self::Settings, _clients: u8) -> Self::Settings {
        settings.clone()
    }
}

/// One server's machine of a store, with what servers say to each other.
pub trait Store: Data {
    /// Configuration: consistency levels, persistence, which clock… The same for all servers of a run.
    type Settings: Data + Default;
    /// From client to server.
    type Request: Data + Visit + Display;
    /// From server to client.
    type Reply: Data + Visit + Display;
    /// From server to server.
    type Peer: Data + Visit + Display;
    /// What changed in a server, told in the words of the store ([`Effects::changed`]) for the lock to read
    /// ([`Lock::means`]). [`Silence`], for a store that tells nothing.
    type Change: Clone + PartialEq + Debug + Send + 'static;

    /// Whether what one server sends to another arrives in the order in which it was sent: over one connection, as TCP keeps it. The
    /// exhaustive engine promises no order, here and below: what holds there holds over connections, too.
    const PEERS_IN_ORDER: bool = false;

    /// Whether [`Store::settle`] drops anything, ever.
    const SETTLES: bool = true;

    /// Whether servers and messages show their visitors every number of a client that is in them ([`Visitor::client`]), and servers
    /// do the same whoever of their clients is which.
    const SHOWS_CLIENTS: bool = false;

    /// Whether it tells ([`Effects::changed`], or an event of its own) of every record that ends without its client's doing: where nothing
    /// was told, nothing has ended.
    const TELLS_OF_ENDS: bool = false;

    /// Whether servers with these settings look at their wall clocks.
    fn reads_wall_clock(_settings: &Self::Settings) -> bool {
        true
    }

    /// The settings for so many clients: other ones only where they name that number.
    fn used_by(settings: &Self::Settings, _clients: u8) -> Self::Settings {
        settings.clone()
    }

    /// Whether what a client and a server say to each other arrives in the order in which it was sent: over one connection, on which
    /// the client goes on without waiting for answers, and which the server reads one request after the other. No, where each call
    /// goes by itself (gRPC, CQL), and where a connection carries one call at a time, so that whoever asks again before the answer has
    /// come does it over another one (the pools of Redis clients): there nothing overtakes but what did not wait.
    const CLIENTS_IN_ORDER: bool = false;

    /// The server before anything happened.
    fn new(me: u8, servers: u8, settings: &Self::Settings) -> Self;

    /// A client's request arrived.
    fn on_request(
        &mut self,
        from: u8,
        request: Self::Request,
        cx: &Context<Self::Settings>,
        effects: &mut Effects<Self>,
    );

    /// Another server's message arrived.
    fn on_peer(
        &mut self,
        from: u8,
        message: Self::Peer,
        cx: &Context<Self::Settings>,
        effects: &mut Effects<Self>,
    );

    /// [`Store::deadline`] or [`Store::other_deadline`] has come.
    fn on_deadline(&mut self, cx: &Context<Self::Settings>, effects: &mut Effects<Self>);

    /// The server starts again. After a plain crash of the process everything written survives (the operating system
    /// has it); after a power loss only what was made durable does.
    fn on_restart(&mut self, power_lost: bool, cx: &Context<Self::Settings>, effects: &mut Effects<Self>);

    /// When the server wants to be woken next, if at all.
    fn deadline(&self, settings: &Self::Settings) -> Option<Due>;

    /// A second such wish, for a server that waits by both of its clocks: which of the two comes first is not its to say.
    fn other_deadline(&self, _settings: &Self::Settings) -> Option<Due> {
        None
    }

    /// How many ways the handling of this message can go, by chance ([`Context::choice`]).
    fn choices(&self, _message: &Message<Self>, _servers: u8, _settings: &Self::Settings) -> u32 {
        1
    }

    /// How many ways an entry at its deadline can go, by chance: which of several moments that may have come is seen first.
    fn choices_at_deadline(&self, _settings: &Self::Settings) -> u32 {
        1
    }

    /// Whether the server will dismiss this message, now and at any later time, without a trace.
    fn dismisses(&self, _message: &Self::Peer) -> bool {
        false
    }

    /// Whether nothing that was written goes but by its users' doing, or at the end of its lease.
    fn keeps_keys(_settings: &Self::Settings) -> bool {
        true
    }

    /// Whether what it has acknowledged survives a loss of power.
    fn is_durable(_settings: &Self::Settings) -> bool {
        true
    }

    /// Whether a server may be put in the place of the one that decides.
    fn fails_over(_settings: &Self::Settings) -> bool {
        false
    }

    /// The settings in force whose effect no search sees, because what they act on is no part of a state. Seeded runs see it.
    fn unseen(_settings: &Self::Settings) -> Vec<&'static str> {
        Vec::new()
    }

    /// What this store's surroundings do to it in such a setup, beyond the faults of the world around it: a phrase for each.
    fn surroundings(_settings: &Self::Settings) -> Vec<String> {
        Vec::new()
    }

    /// Whether this server decides for the others, for all it knows. For who watches a run; stores without a leader have none.
    fn leads(&self) -> bool {
        false
    }

    /// Whether a reply answers no request: the store has something to tell (a watch that fired).
    fn is_notice(_reply: &Self::Reply) -> bool {
        false
    }

    /// Shows every time and number in the state to `visitor`: see [`Visitor`].
    fn visit<V: Visitor>(&mut self, visitor: &mut V);

    /// Shows a fencing token drawn from this store to `visitor`. By default tokens count something: they stay as they
    /// are, and there are as many as there is to count. Where they are times, they are stamps.
    fn visit_fence<V: Visitor>(_token: &mut FencingToken, _visitor: &mut V) {}

    /// Drops from all servers what no message in flight and no later request can tell from its absence (a tombstone
    /// that hides nothing any more, say). The exhaustive engine calls this to keep the space finite; the default keeps all.
    ///
    /// `horizon` is below every later reading of every wall clock, and of every [`Lock::earliest_timestamp`]; and
    /// `in_flight` shows every message under way. Times that clients may read from the store are the store's to mind.
    /// With an earlier horizon, no more is dropped; beside several messages, what is dropped beside each of them.
    fn settle(
        _servers: &mut [&mut Self],
        _in_flight: &mut dyn Iterator<Item = &Message<Self>>,
        _horizon: Wall,
        _settings: &Self::Settings,
    ) {
    }

    /// Whether this server has anything that [`Store::settle`] may drop, whatever the others have and whatever is under way. Where none of
    /// them has, it changes nothing.
    fn may_settle(&self, _horizon: Wall) -> bool {
        true
    }

    /// Whether [`Store::settle`] may drop less because of this message, whatever the servers are.
    fn may_keep(_message: &Message<Self>) -> bool {
        true
    }

    /// Whether servers that have what [`Store::settle`] drops talk to each other of it, as of a tombstone that one of them lacks. What they
    /// tell clients is the same.
    fn talks_of_what_settles(_settings: &Self::Settings) -> bool {
        false
    }

    /// For how many seconds after an expiry has passed it is still compared with moments before now ([`Visitor::expiry_seconds`]): by what is
    /// under way since, and is judged by when it began. A message takes at most `latency`. Not by default.
    fn looks_back_seconds(_settings: &Self::Settings, _servers: u8, _latency: Micros) -> i64 {
        0
    }

    /// What the server stores, one short line per entry, for the reader of a trace.
    fn contents(&self) -> Vec<String>;
}

/// A message whose times and numbers can be visited.
pub trait Visit {
    /// Shows every time and number in the message to `visitor`.
    fn visit<V: Visitor>(&mut self, visitor: &mut V);
}

/// What is said by who has nothing to say: the [`Store::Peer`] of a store with one server, the [`Store::Change`] of one that
/// tells of no changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Silence {}

impl Visit for Silence {
    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {
        match *self {}
    }
}

impl Display for Silence {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

/// Sees, and may rewrite, the times and counters in a state.
///
/// The seeded engine lets time and counters run; the exhaustive engine must find out that two states differ in nothing
/// but the date. It visits a state twice, first to collect, then to rewrite every time relative to now (with what is
/// past reduced to its order) and every counter to its rank. That is sound as long as machines use these values in no
/// other way than the method's text says.
pub trait Visitor {
    /// Whether the visit gives clients other numbers ([`Self::client`]): what is kept in an order that depends on them is to be put
    /// in order again behind it ([`put_in_order`]).
    const RENUMBERS: bool = false;

    /// A moment of some wall clock that is compared only with other stamps of the same `group`, and with later readings
    /// of wall clocks: write timestamps (group: the column), times in column names (group: the row), fencing tokens.
    fn stamp(&mut self, group: StampGroup, at: &mut Wall);

    /// A moment that is compared only with this node's own clock: "has it come?"
    fn due(&mut self, due: &mut Due);

    /// [`Self::due`] for a moment of the monotonic clock.
    fn wake(&mut self, at: &mut Monotonic) {
        let mut due = Due::Monotonic(*at);
        self.due(&mut due);
        match due {
            Due::Monotonic(moved) => *at = moved,
            Due::Wall(_) => unreachable!("a visitor moves a moment, not from one clock to another"),
        }
    }

    /// A moment of this node's own monotonic clock, used only to ask whether `limit` or less has passed since.
    fn since(&mut self, at: &mut Monotonic, limit: Micros);

    /// Whole seconds that any server may compare with its wall clock's whole seconds: "has it come?"
    fn expiry_seconds(&mut self, at: &mut i64);

    /// A number that only tells requests of one owner apart, compared only with numbers of the same owner. New ones are
    /// drawn by adding one to the owner's counter, which must be visited too.
    fn serial(&mut self, owner: Owner, serial: &mut u32);

    /// The number of a client, compared only with numbers of clients, and only for equality. Who shows all of them can be searched
    /// up to the names of clients ([`Store::SHOWS_CLIENTS`]); who shows none cannot.
    fn client(&mut self, _client: &mut u8) {}

    /// A client's number, and one from its counter.
    fn serial_of(&mut self, client: &mut u8, serial: &mut u32) {
        self.serial(Owner::Node(Node::Client(*client)), serial);
        self.client(client);
    }
}

/// Puts in order again what is ordered by names in which clients' numbers are, if this visit has changed those.
pub fn put_in_order<V: Visitor, T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    if V::RENUMBERS {
        sort_few(items, |one, other| key(one) < key(other));
    }
}

/// Whose counter a serial number was drawn from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// In a machine's state: that machine's.
    Me,
    /// In a message: its sender's.
    Sender,
    /// In a message: its receiver's.
    Receiver,
    /// This node's.
    Node(Node),
}

/// Which stamps are compared with each other: `space` says what they are, `member` which one (a column, say).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StampGroup {
    /// What kind of stamp: 0 to 7.
    pub space: u8,
    /// Which group of that kind.
    pub member: u32,
}
