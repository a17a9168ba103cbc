//! What the servers have for their clients' sake: what names mean, who waits for which answer, and who has which session.

use super::answer::Dates;
use super::names::Names;
use crate::serve::servers::{self, Served, ServerState, SessionOver};
use crate::serve::watch::record::LinkId;
use picklock_model::stores::zookeeper::{
    Body, Fired, Outcome, Path, Reply, SessionId, Stat, ZooKeeper, Zxid,
};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::mpsc;

/// Simulated servers, which outlive the connections to them and their processes. Cheap to clone: all clones are the same
/// servers.
pub type Servers = servers::Servers<ZooKeeper>;

pub type State = servers::State<ZooKeeper>;

/// Of how long a session may be (`minSessionTimeout`, `maxSessionTimeout`), with a `tickTime` of 2 s, as in milliseconds.
const TIMEOUT_MS: (i32, i32) = (4_000, 40_000);

/// How many sessions there can be at a time: the simulator tells its clients apart by a byte.
pub const SESSIONS_MAX: usize = 256;

/// What the servers have for their clients' sake.
#[derive(Debug)]
pub struct Desk {
    pub names: Names,
    pub dates: Dates,
    /// The date of true time 0, in milliseconds since 1970.
    pub began_ms: i64,
    timeout_ms: (i32, i32),
    /// The last number of a connection or a request.
    serial: u32,
    /// The last session of each client of the simulator.
    sessions: Vec<Option<SessionId>>,
    /// Where the search for a free one begins.
    next_client: usize,
    /// Who listens to what a server says to a client on a connection.
    seats: BTreeMap<SeatId, Seated>,
    /// How many connections there are.
    pub connected: u64,
    /// The newest connection of each session.
    newest: BTreeMap<SessionId, u32>,
    /// The sessions that clients have.
    open: BTreeMap<SessionId, Open>,
    /// What was asked for in vain, each once.
    missing: BTreeSet<String>,
}

/// A session that its client was told of.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its newest connection.
    link: LinkId,
    /// Which servers have it, a bit each.
    on: u16,
    /// Its client has asked for its end.
    is_closed: bool,
}

/// Who listens.
#[derive(Debug)]
struct Seated {
    to: mpsc::UnboundedSender<Say>,
    /// The znodes that are looked at by requests that are under way.
    looked_at: BTreeMap<u32, Path>,
    /// What the client waits for, by the requests that have asked for it.
    watches: Watches,
}

/// A watch that was set and has not fired, as far as its client was told.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    pub path: Path,
    pub is_of_children: bool,
}

pub type Watches = BTreeMap<u32, Watched>;

/// A server, a client of the simulator, and the number of a connection between them.
pub type SeatId = (u8, u8, u32);

/// What a server says to a client.
#[derive(Clone, Debug)]
pub struct Say {
    /// Which watches have fired, as far as the server knows.
    pub fired: SmallVec<[Fired; 1]>,
    pub what: What,
}

/// See [`Say`].
#[derive(Clone, Debug)]
pub enum What {
    Connected(SessionId),
    Expired,
    Closed,
    /// No more than what has fired.
    Fired,
    Heard(u32, Heard),
}

/// How an operation ended.
#[derive(Clone, Debug)]
pub struct Heard {
    pub outcome: Outcome,
    /// The last transaction that the server had applied.
    pub zxid: Zxid,
    /// What the znode held that was looked at.
    pub data: Option<u32>,
    /// Its stat, if its children were looked at.
    pub stat: Option<Stat>,
}

impl Default for Desk {
    fn default() -> Self {
        Desk {
            names: Names::default(),
            dates: Dates::default(),
            began_ms: 0,
            timeout_ms: TIMEOUT_MS,
            serial: 0,
            sessions: vec![None; SESSIONS_MAX],
            next_client: 0,
            connected: 0,
            seats: BTreeMap::new(),
            newest: BTreeMap::new(),
            open: BTreeMap::new(),
            missing: BTreeSet::new(),
        }
    }
}

impl Served for ZooKeeper {
    type Desk = Desk;

    fn says(&self, server: u8, client: u8, reply: Reply, desk: &mut Desk) {
        let Reply { connection, zxid, fired, body } = reply;
        let Some(seated) = desk.seats.get_mut(&(server, client, connection)) else { return };
        let what = match body {
            Body::Connected(session) => What::Connected(session),
            Body::Expired => What::Expired,
            Body::Closed => What::Closed,
            // A ping is answered by whoever has passed it on.
            Body::Notified | Body::Pong => What::Fired,
            Body::Outcome { serial, outcome } => {
                let znode = seated.looked_at.remove(&serial).and_then(|path| self.znode(path));
                let stat = match (&outcome, znode) {
                    (Outcome::Children(children), Some(znode)) => {
                        let children = i32::try_from(children.len()).unwrap_or(i32::MAX);
                        Some(Stat {
                            czxid: znode.czxid,
                            mzxid: znode.mzxid,
                            pzxid: znode.pzxid,
                            version: znode.version,
                            cversion: znode.creates.wrapping_mul(2).wrapping_sub(children),
                            children,
                            owner: znode.owner,
                        })
                    }
                    (_, _) => None,
                };
                What::Heard(serial, Heard { outcome, zxid, data: znode.map(|znode| znode.data), stat })
            }
        };
        // If nobody listens any more, nobody minds.
        let _gone = seated.to.send(Say { fired, what });
    }

    fn ended(server: u8, desk: &mut Desk) {
        desk.seats.retain(|(of, ..), _| *of != server);
        // What it has when it starts again is what its disk has: that it lacks a session then ends none.
        desk.open.values_mut().for_each(|open| open.on &= !bit(server));
    }

    fn sessions_over(&self, server: u8, desk: &mut Desk) -> Vec<SessionOver> {
        let mut all = Vec::new();
        desk.open.retain(|session, open| {
            let (had, has) = (open.on & bit(server) != 0, self.has_session(*session));
            if has {
                open.on |= bit(server);
            }
            let is_over = had && !has;
            if is_over {
                all.push(SessionOver { link: open.link, is_closed: open.is_closed });
            }
            !is_over
        });
        all
    }
}

fn bit(server: u8) -> u16 {
    1 << server
}

impl Servers {
    /// Every session gets a timeout between these, in milliseconds, whatever its client asks for: 4 to 40 s if nothing is said.
    ///
    /// # Panics
    /// If the first is not positive, or larger than the second.
    pub fn bound_sessions(&self, min_ms: i32, max_ms: i32) {
        assert!(0 < min_ms && min_ms <= max_ms, "no timeout is at least {min_ms} ms and at most {max_ms} ms");
        self.state().desk.timeout_ms = (min_ms, max_ms);
    }

    /// The date at true time 0, in milliseconds since 1970, for the stats of znodes.
    pub fn set_date(&self, began_ms: i64) {
        self.state().desk.began_ms = began_ms;
    }

    /// From now on it is kept what happens, in this file, too, if there is one. `date` is that of true time 0, in microseconds
    /// since 1970. Through these ports come clients of a trial.
    #[cfg(feature = "cli")]
    pub(crate) fn watch(&self, date: i64, file: Option<std::fs::File>, doors: BTreeMap<u16, u8>) {
        // The date is that of true time 0, which begins here if it has not.
        let _begun = self.now();
        let state = &mut *self.state();
        state.watch.record.begin(date, file);
        state.watch.record.know_doors(doors);
        state.desk.began_ms = date / 1000;
    }
}

impl Desk {
    /// A number that no connection and no request has.
    pub fn draw(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    /// The timeout that a client gets who asks for this one.
    pub fn timeout_ms(&self, asked_ms: i32) -> i32 {
        asked_ms.clamp(self.timeout_ms.0, self.timeout_ms.1)
    }

    /// Somebody listens to what the server says there.
    pub fn sit(&mut self, seat: SeatId, to: mpsc::UnboundedSender<Say>) {
        self.seats.insert(seat, Seated { to, looked_at: BTreeMap::new(), watches: Watches::new() });
    }

    /// Nobody does any more.
    pub fn stand(&mut self, seat: SeatId) {
        self.seats.remove(&seat);
    }

    /// A request looks at this znode.
    pub fn looks_at(&mut self, seat: SeatId, serial: u32, path: Path) {
        if let Some(seated) = self.seats.get_mut(&seat) {
            seated.looked_at.insert(serial, path);
        }
    }

    /// What the client waits for; `None`: the process has ended.
    pub fn watches(&mut self, seat: SeatId) -> Option<&mut Watches> {
        self.seats.get_mut(&seat).map(|seated| &mut seated.watches)
    }

    /// The same by its numbers, as the server is told: of all else the client knows that it has fired.
    pub fn waiting(&self, seat: SeatId) -> SmallVec<[u32; 2]> {
        self.seats.get(&seat).into_iter().flat_map(|seated| seated.watches.keys().copied()).collect()
    }

    /// The session goes on on this connection. The server closes those that it had here before (`ServerCnxnFactory.closeSession`).
    pub fn moves(&mut self, session: SessionId, server: u8, connection: u32) {
        let newest = self.newest.entry(session).or_default();
        *newest = connection.max(*newest);
        let here = (server, session.client, 0)..(server, session.client, connection);
        for (_, seated) in self.seats.range(here) {
            let _gone = seated.to.send(Say { fired: SmallVec::new(), what: What::Closed });
        }
    }

    /// The client asks for the session's end.
    pub fn closes(&mut self, session: SessionId) {
        if let Some(open) = self.open.get_mut(&session) {
            open.is_closed = true;
        }
    }

    /// Whether the session goes on on another connection.
    pub fn has_moved(&self, session: SessionId, connection: u32) -> bool {
        self.newest.get(&session).is_some_and(|newest| *newest > connection)
    }

    /// Whether this was not asked for in vain before.
    pub fn is_first(&mut self, missing: &str) -> bool {
        self.missing.insert(missing.to_owned())
    }
}

impl State {
    /// The client has the session, and uses it on this connection.
    pub fn opens(&mut self, session: SessionId, link: LinkId) {
        let has = |(server, node): (u8, &ServerState<ZooKeeper>)| {
            let has = node.machine.has_session(session) && !node.condition.is_down();
            if has { bit(server) } else { 0 }
        };
        // Its server may do nothing more until it ends it.
        let on = (0..).zip(&self.nodes).map(has).sum();
        let open = self.desk.open.entry(session).or_insert(Open { link, on, is_closed: false });
        open.link = link;
    }

    /// A new session, of a client of the simulator who has none that any server has open; `None`: all have one.
    pub fn new_session(&mut self, serial: u32) -> Option<SessionId> {
        let is_open =
            |session: SessionId| {
                self.nodes.iter().any(|node| node.machine.has_session(session))
                    || self.desk.seats.keys().any(|(_, client, connection)| {
                        (*client, *connection) == (session.client, session.serial)
                    })
            };
        let order = (0..SESSIONS_MAX).map(|place| (self.desk.next_client + place) % SESSIONS_MAX);
        let free = order
            .into_iter()
            .find(|client| self.desk.sessions[*client].is_none_or(|session| !is_open(session)))?;
        self.desk.next_client = free + 1;
        let session = SessionId { client: u8::try_from(free).ok()?, serial };
        if let Some(old) = self.desk.sessions[free].replace(session) {
            self.desk.newest.remove(&old);
            self.desk.open.remove(&old);
        }
        Some(session)
    }
}
