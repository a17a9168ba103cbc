//! The store that the Cassandra paper, *The Cassandra queue lock*, wishes for in section 6: it queues who waits, tells each when its turn
//! has come ("механизм обратной связи"), and looks itself after whether a holder is alive ("логику с проверкой активности … лучше решать на
//! стороне хранилища").
//!
//! ```text
//!     A                    store                     B
//!     │── enqueue A#1 ──────▶│ [A#1]                  │
//!     │◀─ granted, token 1 ──│                        │
//!     │── keep A#1 ─────────▶│ [A#1 B#1] ◀─ enqueue B#1 ─│
//!     │ holds                │──────── queued ───────▶│ waits, says nothing but that it lives
//!     │── release A#1 ──────▶│ [B#1]                  │
//!     │◀─ released ──────────│── granted, token 2 ───▶│ pushed, and again until B says that it keeps it
//!     │                      │◀──────── keep B#1 ─────│ holds
//! ```
//!
//! It exists nowhere: the document announces it. This is the simplest one that deserves the comparison with the document's
//! locks on Cassandra: a single server.
//!
//! # What it does
//!
//! - *A call is a ticket.* A client's tickets grow, each is used once. Said again, a request is known by its ticket: it takes
//!   no second place, and its answer says where the call stands. Of each client the newest ticket is remembered, so that a
//!   request that comes late does not bring a call back that is over; a newer ticket ends the call before it.
//! - *The queue is in the order of arrival* at the server, which is one order: no clock has a part in it.
//! - *A grant is pushed*, every [`Settings::push_interval`] until the client keeps it. It names the last request that was
//!   heard of the call, by which the client knows since when its lease runs at least, whatever time the push took.
//! - *A place has a lease*, a waiter's as a holder's. It runs anew from each sign of life, on the server's own monotonic
//!   clock. When it is over the place is gone, and the next one's turn has come.
//! - *A fencing token* for each grant, from one counter.
//! - *Durable is* the queue, the tickets and the counter, before any of it is told to anybody ([`Log::Synced`]). Signs of
//!   life are not written: after a restart every lease runs anew from there, as ZooKeeper's sessions do, and every grant is
//!   pushed again.
//!
//! # What is left out, and which failures that hides
//!
//! - *Replication.* One server: while it is down, nobody gets the lock or gives it back, and holders stop one after the other
//!   as their leases run out. Hidden: everything that goes wrong when a leader changes.
//! - *Connections.* Each message goes alone, and may be lost, doubled or overtaken. TCP would hide that from the server as long as a
//!   connection lives; the end of a connection would tell it at once that a client's process is gone, where here the lease
//!   has to run out.
//! - *What a sync takes.* A step is one moment. So is it with the other stores.
//! - *A disk that lies, or is full; the queue's limits; who may ask for what.*
//!
//! # In the exhaustive engine
//!
//! In an untimed world every due moment has come: leave leases and [`Settings::push_interval`] out there. The counter of
//! tokens stays as it is: there are as many as there are grants.

mod protocol;
#[cfg(test)]
mod tests;

pub use protocol::{Reply, Request};

use crate::machine::{Context, Effects, Silence, Store, Visitor};
use crate::time::{Due, Micros, Monotonic};
use picklock_properties::{ClientId, Event, FencingToken, LockId, Mode};
use protocol::{call, numbers_of};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// How the server is configured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// What survives a power loss.
    pub log: Log,
    /// How long the server waits for a client to keep its grant before it pushes it again; `None`: it says it once.
    pub push_interval: Option<Micros>,
}

/// What survives a power loss. The end of the process alone costs nothing but the time it takes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Log {
    /// The queue, the tickets and the counter are on the disk before anybody is told.
    #[default]
    Synced,
    /// They are written when the operating system likes: the worst case, never. The server begins anew, and so do its
    /// fencing tokens.
    Unsynced,
}

impl Default for Settings {
    /// Synced; a grant is pushed again after half a second.
    fn default() -> Settings {
        Settings { log: Log::Synced, push_interval: Some(Micros::millis(500)) }
    }
}

/// The server.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FeedbackStore {
    /// All queues in one, in the order of arrival: the first place of each lock has it.
    places: SmallVec<[Place; 2]>,
    /// Of each client, the newest ticket that was heard of. Older ones are over, and so is this one if it has no place.
    newest: SmallVec<[Option<u32>; 3]>,
    /// The last fencing token drawn.
    fence: i64,
}

/// A call in the queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Place {
    lock: LockId,
    client: u8,
    ticket: u32,
    lease: Option<Micros>,
    /// When the lease is over, if nothing more is heard.
    lapses_at: Option<Monotonic>,
    standing: Standing,
}

/// How far a call is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Standing {
    /// `heard` is its last request, if that is remembered.
    Waits { heard: Option<u32> },
    /// It has the lock, and has not said that it knows.
    Pushed { fence: FencingToken, heard: Option<u32>, again_at: Option<Monotonic> },
    /// It has the lock, and knows.
    Kept { fence: FencingToken },
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<FeedbackStore>;

impl FeedbackStore {
    /// Who has the lock, by the store's books.
    pub fn owner(&self, lock: LockId) -> Option<ClientId> {
        self.places.iter().find(|place| place.lock == lock).map(|place| ClientId(place.client))
    }

    fn enqueue(&mut self, place: Place, serial: u32, mode: Mode, cx: &Cx, out: &mut Out) {
        let Place { lock, client, ticket, .. } = place;
        let newest = self.newest(client);
        if newest.is_some_and(|newest| ticket < newest) {
            return out.reply(client, Reply::Over { ticket });
        }
        let known = self.places.iter().position(|place| place.client == client);
        match known {
            Some(at) if self.places[at].ticket == ticket => return self.hear(at, serial, cx, out),
            None if newest == Some(ticket) => return out.reply(client, Reply::Over { ticket }),
            // A client has one call at a time: that it has another now says that the old one is over.
            Some(at) => self.vacate(at, cx, out),
            None => {}
        }
        self.set_newest(client, ticket);
        let is_free = self.owner(lock).is_none();
        match mode {
            Mode::TryLock if !is_free => return out.reply(client, Reply::Refused { ticket }),
            Mode::Lock => out.record(Event::Enqueued { client: ClientId(client), lock }),
            Mode::TryLock => {}
        }
        self.places.push(place);
        if is_free {
            self.grant_first(lock, cx, out);
        } else {
            out.reply(client, Reply::Queued { ticket, serial });
        }
    }

    /// A call that has a place asks again.
    fn hear(&mut self, at: usize, serial: u32, cx: &Cx, out: &mut Out) {
        let place = &mut self.places[at];
        place.lives(cx.monotonic);
        let Place { client, ticket, .. } = *place;
        match &mut place.standing {
            Standing::Waits { heard } => {
                *heard = (*heard).max(Some(serial));
                out.reply(client, Reply::Queued { ticket, serial });
            }
            // The push is on its way, or lost: this is it again.
            Standing::Pushed { fence, heard, .. } => {
                *heard = (*heard).max(Some(serial));
                out.reply(client, Reply::Granted { ticket, heard: *heard, fence: *fence });
            }
            // It came late: the call has been told.
            Standing::Kept { .. } => {}
        }
    }

    fn keep(&mut self, client: u8, ticket: u32, serial: u32, kept: FencingToken, cx: &Cx, out: &mut Out) {
        let known = self.places.iter_mut().find(|place| place.client == client && place.ticket == ticket);
        let granted = known.filter(|place| place.fence() == Some(kept));
        let reply = match granted {
            Some(place) => {
                place.lives(cx.monotonic);
                place.standing = Standing::Kept { fence: kept };
                Reply::Kept { ticket, serial }
            }
            None => Reply::Over { ticket },
        };
        out.reply(client, reply);
    }

    fn release(&mut self, client: u8, ticket: u32, cx: &Cx, out: &mut Out) {
        let known = self.places.iter().position(|place| place.client == client && place.ticket == ticket);
        match known {
            Some(at) => self.vacate(at, cx, out),
            // It was over before. A server that has forgotten the ticket learns it again.
            None => {
                let newest = self.newest(client).map_or(ticket, |newest| newest.max(ticket));
                self.set_newest(client, newest);
            }
        }
        out.reply(client, Reply::Released { ticket });
    }

    /// Somebody gives up his place.
    fn vacate(&mut self, at: usize, cx: &Cx, out: &mut Out) {
        let Place { lock, .. } = self.places.remove(at);
        self.grant_first(lock, cx, out);
    }

    /// Whose turn it is, is told, unless he has been already.
    fn grant_first(&mut self, lock: LockId, cx: &Cx, out: &mut Out) {
        let Some(first) = self.places.iter_mut().find(|place| place.lock == lock) else { return };
        let Standing::Waits { heard } = first.standing else { return };
        self.fence += 1;
        let fence = FencingToken(self.fence);
        first.standing = Standing::Pushed { fence, heard, again_at: cx.settings.push_due(cx.monotonic) };
        out.record(Event::Acquired { client: ClientId(first.client), lock });
        out.reply(first.client, Reply::Granted { ticket: first.ticket, heard, fence });
    }

    /// Places whose lease is over go, all of them before anybody's turn comes.
    fn expire(&mut self, cx: &Cx, out: &mut Out) {
        let mut locks: SmallVec<[LockId; 4]> = SmallVec::new();
        self.places.retain(|place| {
            let is_over = place.lapses_at.is_some_and(|at| at <= cx.monotonic);
            if is_over {
                out.record(place.gone(cx.me));
                locks.push(place.lock);
            }
            !is_over
        });
        locks.into_iter().for_each(|lock| self.grant_first(lock, cx, out));
    }

    fn push_again(&mut self, cx: &Cx, out: &mut Out) {
        for place in &mut self.places {
            if let Standing::Pushed { fence, heard, again_at } = &mut place.standing
                && again_at.is_some_and(|at| at <= cx.monotonic)
            {
                *again_at = cx.settings.push_due(cx.monotonic);
                let (heard, fence) = (*heard, *fence);
                out.reply(place.client, Reply::Granted { ticket: place.ticket, heard, fence });
            }
        }
    }

    fn newest(&self, client: u8) -> Option<u32> {
        self.newest.get(usize::from(client)).copied().flatten()
    }

    fn set_newest(&mut self, client: u8, ticket: u32) {
        let client = usize::from(client);
        if self.newest.len() <= client {
            self.newest.resize(client + 1, None);
        }
        self.newest[client] = Some(ticket);
    }
}

impl Settings {
    fn push_due(&self, now: Monotonic) -> Option<Monotonic> {
        self.push_interval.map(|interval| now + interval)
    }
}

impl Place {
    /// It was heard of.
    fn lives(&mut self, now: Monotonic) {
        self.lapses_at = self.lease.map(|lease| now + lease);
    }

    fn gone(&self, server: u8) -> Event {
        Event::RecordGone { client: ClientId(self.client), lock: self.lock, server }
    }

    fn fence(&self) -> Option<FencingToken> {
        match self.standing {
            Standing::Waits { .. } => None,
            Standing::Pushed { fence, .. } | Standing::Kept { fence } => Some(fence),
        }
    }

    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        let owner = numbers_of(self.client);
        visitor.serial(owner, &mut self.ticket);
        self.lapses_at.iter_mut().for_each(|at| visitor.wake(at));
        match &mut self.standing {
            Standing::Waits { heard } => heard.iter_mut().for_each(|heard| visitor.serial(owner, heard)),
            Standing::Pushed { heard, again_at, fence: _ } => {
                heard.iter_mut().for_each(|heard| visitor.serial(owner, heard));
                again_at.iter_mut().for_each(|at| visitor.wake(at));
            }
            Standing::Kept { fence: _ } => {}
        }
    }
}

impl Store for FeedbackStore {
    type Settings = Settings;
    type Request = Request;
    type Reply = Reply;
    type Peer = Silence;
    type Change = Silence;

    const SETTLES: bool = false;
    const TELLS_OF_ENDS: bool = true;

    fn reads_wall_clock(_settings: &Settings) -> bool {
        false
    }

    fn is_durable(settings: &Settings) -> bool {
        settings.log == Log::Synced
    }

    /// A second server would have nothing to do: clients ask the first.
    fn new(_me: u8, _servers: u8, _settings: &Settings) -> Self {
        FeedbackStore::default()
    }

    fn on_request(&mut self, from: u8, request: Request, cx: &Cx, out: &mut Out) {
        self.expire(cx, out);
        match request {
            Request::Enqueue { lock, ticket, serial, mode, lease } => {
                let standing = Standing::Waits { heard: Some(serial) };
                let mut place = Place { lock, client: from, ticket, lease, lapses_at: None, standing };
                place.lives(cx.monotonic);
                self.enqueue(place, serial, mode, cx, out);
            }
            Request::Keep { ticket, serial, fence } => self.keep(from, ticket, serial, fence, cx, out),
            Request::Release { ticket } => self.release(from, ticket, cx, out),
        }
    }

    fn on_peer(&mut self, _from: u8, message: Silence, _cx: &Cx, _out: &mut Out) {
        match message {}
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        self.expire(cx, out);
        self.push_again(cx, out);
    }

    fn on_restart(&mut self, power_lost: bool, cx: &Cx, out: &mut Out) {
        match (power_lost, cx.settings.log) {
            (true, Log::Unsynced) => {
                for place in &self.places {
                    out.record(place.gone(cx.me));
                }
                *self = FeedbackStore::default();
            }
            // Nobody is known to have been silent while the server was not there to hear.
            (false, _) | (true, Log::Synced) => {
                for place in &mut self.places {
                    place.lives(cx.monotonic);
                    place.standing = match place.standing {
                        Standing::Waits { .. } => Standing::Waits { heard: None },
                        Standing::Pushed { fence, .. } | Standing::Kept { fence } => Standing::Pushed {
                            fence,
                            heard: None,
                            again_at: cx.settings.push_due(cx.monotonic),
                        },
                    };
                }
            }
        }
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        let pushes = self.places.iter().filter_map(|place| match place.standing {
            Standing::Pushed { again_at, .. } => again_at,
            Standing::Waits { .. } | Standing::Kept { .. } => None,
        });
        self.places.iter().filter_map(|place| place.lapses_at).chain(pushes).min().map(Due::Monotonic)
    }

    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.places.iter_mut().for_each(|place| place.visit(visitor));
        for (client, newest) in (0..).zip(&mut self.newest) {
            newest.iter_mut().for_each(|newest| visitor.serial(numbers_of(client), newest));
        }
    }

    fn contents(&self) -> Vec<String> {
        let line = |place: &Place| {
            let who = call(place.client, place.ticket);
            match place.standing {
                Standing::Waits { .. } => format!("{who} waits"),
                Standing::Pushed { fence, .. } => format!("{who} has it, token {}, not kept yet", fence.0),
                Standing::Kept { fence } => format!("{who} has it, token {}", fence.0),
            }
        };
        self.places.iter().map(line).collect()
    }
}
