//! The vocabulary every engine records: what happened, as seen from outside the lock.
//!
//! A history is a sequence of [`Event`]s in the order of true time. No event carries a time: a promise that depends
//! on *when* something happened is judged by the engine that knows the time, a promise that depends on the *order* is
//! judged here.

use crate::access::Access;
use crate::object::{ObjectAnswer, ObjectCall};
use serde::{Deserialize, Serialize};

/// A client of the lock: one thread of the source documents, numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ClientId(pub u8);

impl ClientId {
    /// The largest number of clients one run can have; a [`ClientSet`] is one machine word pair.
    pub const MAX: usize = 128;

    /// The same client by another number: client *n* has number `numbers[n]` now. Who is not among them keeps it.
    #[must_use]
    pub fn renumbered(self, numbers: &[u8]) -> ClientId {
        ClientId(numbers.get(usize::from(self.0)).copied().unwrap_or(self.0))
    }
}

impl std::fmt::Display for ClientId {
    /// `A`, `B`, … `Z`, then `c26`, `c27`, …: the names the catalogue uses.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            letter @ 0..=25 => write!(f, "{}", char::from(b'A' + letter)),
            number => write!(f, "c{number}"),
        }
    }
}

/// A set of clients, small enough to be hashed with every state.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientSet(u128);

impl ClientSet {
    /// The set without members.
    pub const EMPTY: ClientSet = ClientSet(0);

    /// Adds a client; adding it twice changes nothing.
    pub fn insert(&mut self, client: ClientId) {
        self.0 |= 1 << client.0;
    }

    /// Takes a client out; taking out an absent one changes nothing.
    pub fn remove(&mut self, client: ClientId) {
        self.0 &= !(1 << client.0);
    }

    /// Whether `client` is a member.
    pub fn contains(self, client: ClientId) -> bool {
        self.0 & (1 << client.0) != 0
    }

    /// Whether nobody is a member.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many members there are.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The members of either set.
    #[must_use]
    pub fn union(self, other: ClientSet) -> ClientSet {
        ClientSet(self.0 | other.0)
    }

    /// The members of this set that are not in `other`.
    #[must_use]
    pub fn without(self, other: ClientSet) -> ClientSet {
        ClientSet(self.0 & !other.0)
    }

    /// The same set of clients who have other numbers now: client *n* has number `numbers[n]`.
    #[must_use]
    pub fn renumbered(self, numbers: &[u8]) -> ClientSet {
        self.iter().map(|client| client.renumbered(numbers)).collect()
    }

    /// The members, smallest number first.
    pub fn iter(self) -> impl Iterator<Item = ClientId> {
        let mut left = self;
        std::iter::from_fn(move || {
            let first = left.first()?;
            left.remove(first);
            Some(first)
        })
    }

    /// The member with the smallest number.
    pub fn first(self) -> Option<ClientId> {
        (self.0 != 0).then(|| ClientId(self.0.trailing_zeros() as u8))
    }
}

impl FromIterator<ClientId> for ClientSet {
    fn from_iter<I: IntoIterator<Item = ClientId>>(clients: I) -> ClientSet {
        let mut set = ClientSet::EMPTY;
        clients.into_iter().for_each(|client| set.insert(client));
        set
    }
}

impl std::fmt::Debug for ClientSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("{")?;
        for (position, client) in self.iter().enumerate() {
            write!(f, "{}{client}", if position == 0 { "" } else { "," })?;
        }
        f.write_str("}")
    }
}

/// Which of the two strategies of the Cassandra paper, *The Cassandra queue lock*, section 3, a call asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Mode {
    /// `GetLock`: waits until the lock is granted ("обязательная блокировка").
    Lock,
    /// `TryGetLock`: is granted or refused ("мягкая блокировка").
    TryLock,
}

/// Which lock, of those that one store keeps: `lockId` in the Cassandra paper, Listing 1.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LockId(pub u8);

impl std::fmt::Display for LockId {
    /// `lock 1`, `lock 2`, …
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "lock {}", self.0 + 1)
    }
}

/// A number that the lock hands out with a grant, and that a resource may compare: larger means later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FencingToken(pub i64);

impl std::fmt::Display for FencingToken {
    /// `token 5`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "token {}", self.0)
    }
}

/// Which of a client's holds: a number that tells them apart, drawn with the grant. It means nothing to other clients.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct HoldId(pub u32);

/// One thing that happened, in the order of true time.
///
/// An event is about one lock. What a client does is about the lock it has asked for last; a server knows of nobody's
/// calls, and says which ([`Event::lock`]).
///
/// Events are hashed by their bytes, and a call for a lock that has but one mode of access has the bytes that it had before
/// there were modes: an old trace keeps its hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Event {
    /// The client began to ask for the lock.
    #[serde(with = "called")]
    Called {
        /// Who asks.
        client: ClientId,
        /// Whether it will wait or take no for an answer.
        mode: Mode,
        /// In which of the lock's modes of access it wants to hold. What the store makes it hold and what it is granted, up to
        /// the end of this call, is in the same mode. The first of a lock's modes takes no byte: see [`Event`].
        access: Access,
    },
    /// The client saw that the lock was free and goes on to compete for it (Listing 7 passes line 1).
    FoundFree {
        /// Who saw it.
        client: ClientId,
    },
    /// The store put the client into its queue: recorded by the server, when it applies the request. A client may be
    /// enqueued again (a lost cell, a repeated request).
    Enqueued {
        /// Whose place it is.
        client: ClientId,
        /// In whose queue.
        lock: LockId,
    },
    /// The client enters its critical section: from here on it holds.
    Granted {
        /// The new holder.
        client: ClientId,
        /// The number that came with the grant, if this lock hands one out.
        fence: Option<FencingToken>,
        /// Which of its holds begins.
        hold: HoldId,
    },
    /// `try_lock` returned false: the call is over.
    Refused {
        /// Who was refused.
        client: ClientId,
    },
    /// The client leaves its critical section by itself: from here on it does not hold. Its release begins.
    Left {
        /// Who held until now.
        client: ClientId,
    },
    /// The client noticed that its lease is gone and leaves its critical section.
    Lost {
        /// Who held until now.
        client: ClientId,
    },
    /// The release is complete as far as the client knows: the call is over.
    Released {
        /// Whose call is over.
        client: ClientId,
    },
    /// The store acknowledged that the lease of this client was prolonged.
    Renewed {
        /// Whose lease it is.
        client: ClientId,
    },
    /// The client's process ended; whatever it did or held, it does not any more.
    Crashed {
        /// Whose process ended.
        client: ClientId,
    },
    /// The resource behind the lock answered a read that this client sent while it held.
    ResourceRead {
        /// Who sent the read.
        client: ClientId,
        /// In which of its holds.
        hold: HoldId,
    },
    /// The resource behind the lock accepted a write that this client sent while it held.
    Accepted {
        /// Who sent the write.
        client: ClientId,
        /// The fencing token that the write carried, if it carried one.
        fence: Option<FencingToken>,
        /// In which of its holds it was sent; `None` where the resource cannot say, which means its latest one.
        hold: Option<HoldId>,
    },
    /// The resource behind the lock turned a write of this client down because of its fencing token.
    Rejected {
        /// Who sent the write.
        client: ClientId,
        /// The fencing token that was too small, if the write carried one.
        fence: Option<FencingToken>,
        /// In which of its holds it was sent; `None` where the resource cannot say.
        hold: Option<HoldId>,
    },
    /// The client read, and saw the records of these clients: of the row it had written to before (Lemma 1), or of
    /// whatever it began to read ([`Event::ReadBegun`]).
    RowRead {
        /// Who read.
        client: ClientId,
        /// Whose records the read returned.
        saw: ClientSet,
    },
    /// The client's grant or renewal, which follows, rests on its records on these servers.
    Secured {
        /// Whose records they are.
        client: ClientId,
        /// On which servers.
        servers: ServerSet,
    },
    /// The store made the lock this client's, by itself: recorded by a server that alone decides whose the lock is. The
    /// client learns it later ([`Event::Granted`]), if at all. A store that records this records it of every record that
    /// the lock passes to; saying it again of the same one is fine.
    Acquired {
        /// Whose the lock is.
        client: ClientId,
        /// Which lock.
        lock: LockId,
    },
    /// A record of this client is gone from a server, and not because the client deleted it: it expired, or was lost,
    /// evicted, deleted or replaced by somebody else. Recorded by the server.
    RecordGone {
        /// Whose record it was.
        client: ClientId,
        /// Of which lock.
        lock: LockId,
        /// The server's number.
        server: u8,
    },
    /// The store has written this client's record, for the first time or anew, as durably as the client asked for: the lease of
    /// whoever holds by it is prolonged from here on, though its holder may learn that much later ([`Event::Renewed`]), or
    /// never. Recorded by a server that knows it. A store that records this records it of every such write.
    RecordWritten {
        /// Whose record it is.
        client: ClientId,
        /// Of which lock.
        lock: LockId,
    },
    /// The client waited for the lock, and is told that something it watches has changed: it looks again.
    Woken {
        /// Who waited.
        client: ClientId,
    },
    /// The store has acknowledged the client's record: from here on the client may tell anybody of it, by whatever way.
    Written {
        /// Whose record it is.
        client: ClientId,
    },
    /// The client begins to read. It may have been told, and not by the store, of every record acknowledged before.
    /// [`Event::RowRead`] is the end of it.
    ReadBegun {
        /// Who reads.
        client: ClientId,
    },
    /// The lock's time service told this client what time it is.
    TimeGiven {
        /// Who asked.
        client: ClientId,
        /// Whether that is less than what it told the same client before.
        less: bool,
    },
    /// The client asks a shared object to do something. It has one such call under way at a time.
    Invoked {
        /// Who asks.
        client: ClientId,
        /// Which object, and to do what.
        call: ObjectCall,
    },
    /// The client's call of a shared object came back.
    Returned {
        /// Whose call it was.
        client: ClientId,
        /// What the client was told.
        answer: ObjectAnswer,
    },
    /// The client gave its call of a shared object up: it may have been done, may be done later, or never. A crash
    /// ([`Event::Crashed`]) leaves a call in the same way.
    Unknown {
        /// Whose call it was.
        client: ClientId,
    },
    /// A number is in an input stream, for the handler to take.
    Input {
        /// Who put it there.
        client: ClientId,
        /// Which stream; each has an order of its own.
        stream: u8,
        /// The number.
        value: i32,
    },
    /// A number came out of the handler. Recorded where the outside world receives it.
    Output {
        /// Which handler put it out.
        client: ClientId,
        /// The number.
        value: i32,
    },
    /// The counter outside was raised by one for the handler. Recorded where the counter is.
    Counted {
        /// Which handler raised it.
        client: ClientId,
    },
    /// Nothing more will come out of what had come in when this handler began its call, or of all that has come in so far if it has none:
    /// it has said that it is done.
    Settled {
        /// Who says so.
        client: ClientId,
    },
    /// The client has a lock of a lock manager in this mode from here on, for all it knows, and goes by that: another mode than before, or
    /// none. Such locks are converted while they are held, and a client may have several ([`ManagerMonitors`](crate::ManagerMonitors)).
    Has {
        /// Who has it.
        client: ClientId,
        /// On which resource.
        resource: LockId,
        /// In which mode; `None`: not any more.
        access: Option<Access>,
    },
    /// A new record of this client is on a server that does not decide alone whose the lock is: together with others it may come to be
    /// what a grant rests on ([`Event::Secured`]). Recorded by the server. A store that records this records it of every new record.
    RecordMade {
        /// Whose record it is.
        client: ClientId,
        /// Of which lock.
        lock: LockId,
        /// The server's number.
        server: u8,
    },
    /// Something this client watches has changed because a record is gone, whatever took it away: the client will be told, and learns it
    /// when that arrives ([`Event::Woken`]). Recorded by the server that tells it, when it does. A store that records this records it of
    /// every record whose owner it knows. Who begins to watch when it is gone already was not waiting for that.
    Notified {
        /// Who watched.
        client: ClientId,
        /// Of which lock the record was.
        lock: LockId,
        /// Whose record is gone.
        of: ClientId,
    },
}

/// How a call is written down: the mode of access, unless it is the first, in one with whether the client will wait.
mod called {
    use super::{Access, ClientId, Mode};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Called {
        client: ClientId,
        mode: Told,
    }

    #[derive(Serialize, Deserialize)]
    enum Told {
        Lock,
        TryLock,
        LockIn(Access),
        TryLockIn(Access),
    }

    pub fn serialize<S: Serializer>(
        client: &ClientId,
        mode: &Mode,
        access: &Access,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mode = match (*mode, *access) {
            (Mode::Lock, Access::FIRST) => Told::Lock,
            (Mode::TryLock, Access::FIRST) => Told::TryLock,
            (Mode::Lock, access) => Told::LockIn(access),
            (Mode::TryLock, access) => Told::TryLockIn(access),
        };
        Called { client: *client, mode }.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<(ClientId, Mode, Access), D::Error> {
        let Called { client, mode } = Called::deserialize(deserializer)?;
        let (mode, access) = match mode {
            Told::Lock => (Mode::Lock, Access::FIRST),
            Told::TryLock => (Mode::TryLock, Access::FIRST),
            Told::LockIn(access) => (Mode::Lock, access),
            Told::TryLockIn(access) => (Mode::TryLock, access),
        };
        Ok((client, mode, access))
    }
}

/// A set of servers; bit *n* stands for server number *n*.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ServerSet(u16);

impl ServerSet {
    /// The set without members.
    pub const EMPTY: ServerSet = ServerSet(0);

    /// Adds a server; adding it twice changes nothing.
    pub fn insert(&mut self, server: u8) {
        self.0 |= 1 << server;
    }

    /// Takes a server out; taking out an absent one changes nothing.
    pub fn remove(&mut self, server: u8) {
        self.0 &= !(1 << server);
    }

    /// Whether `server` is a member.
    pub fn contains(self, server: u8) -> bool {
        self.0 & (1 << server) != 0
    }

    /// How many members there are.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is no member.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members of either.
    #[must_use]
    pub fn union(self, other: ServerSet) -> ServerSet {
        ServerSet(self.0 | other.0)
    }

    /// The members that are not members of the other.
    #[must_use]
    pub fn without(self, other: ServerSet) -> ServerSet {
        ServerSet(self.0 & !other.0)
    }

    /// Whether a server is a member of both.
    pub fn meets(self, other: ServerSet) -> bool {
        self.0 & other.0 != 0
    }
}

impl FromIterator<u8> for ServerSet {
    fn from_iter<I: IntoIterator<Item = u8>>(servers: I) -> ServerSet {
        let mut set = ServerSet::EMPTY;
        servers.into_iter().for_each(|server| set.insert(server));
        set
    }
}

impl Event {
    /// The client the event is about.
    pub fn client(&self) -> ClientId {
        match *self {
            Event::Called { client, .. }
            | Event::FoundFree { client }
            | Event::Enqueued { client, .. }
            | Event::Granted { client, .. }
            | Event::Refused { client }
            | Event::Left { client }
            | Event::Lost { client }
            | Event::Released { client }
            | Event::Renewed { client }
            | Event::Crashed { client }
            | Event::ResourceRead { client, .. }
            | Event::Accepted { client, .. }
            | Event::Rejected { client, .. }
            | Event::RowRead { client, .. }
            | Event::Secured { client, .. }
            | Event::Acquired { client, .. }
            | Event::RecordGone { client, .. }
            | Event::RecordWritten { client, .. }
            | Event::TimeGiven { client, .. }
            | Event::Woken { client }
            | Event::Written { client }
            | Event::ReadBegun { client }
            | Event::Invoked { client, .. }
            | Event::Returned { client, .. }
            | Event::Unknown { client }
            | Event::Input { client, .. }
            | Event::Output { client, .. }
            | Event::Counted { client }
            | Event::Settled { client }
            | Event::Has { client, .. }
            | Event::RecordMade { client, .. }
            | Event::Notified { client, .. } => client,
        }
    }

    /// Which lock the event is about, if a server recorded it; `None` for what a client does.
    pub fn lock(&self) -> Option<LockId> {
        match *self {
            Event::Enqueued { lock, .. }
            | Event::Acquired { lock, .. }
            | Event::RecordGone { lock, .. }
            | Event::RecordWritten { lock, .. }
            | Event::RecordMade { lock, .. }
            | Event::Notified { lock, .. } => Some(lock),
            Event::Called { .. }
            | Event::FoundFree { .. }
            | Event::Granted { .. }
            | Event::Refused { .. }
            | Event::Left { .. }
            | Event::Lost { .. }
            | Event::Released { .. }
            | Event::Renewed { .. }
            | Event::Crashed { .. }
            | Event::ResourceRead { .. }
            | Event::Accepted { .. }
            | Event::Rejected { .. }
            | Event::RowRead { .. }
            | Event::Secured { .. }
            | Event::TimeGiven { .. }
            | Event::Woken { .. }
            | Event::Written { .. }
            | Event::ReadBegun { .. }
            | Event::Invoked { .. }
            | Event::Returned { .. }
            | Event::Unknown { .. }
            | Event::Input { .. }
            | Event::Output { .. }
            | Event::Counted { .. }
            | Event::Settled { .. }
            | Event::Has { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call as it was before there were modes of access.
    #[derive(Serialize)]
    enum Former {
        Called { client: ClientId, mode: Mode },
    }

    #[test]
    fn a_call_for_the_first_mode_of_access_has_the_bytes_that_it_had_without_modes() {
        for (client, mode) in [(ClientId(0), Mode::Lock), (ClientId(77), Mode::TryLock)] {
            let (call, former) =
                (Event::Called { client, mode, access: Access::FIRST }, Former::Called { client, mode });
            assert_eq!(postcard::to_stdvec(&call), postcard::to_stdvec(&former));
            assert_eq!(serde_json::to_string(&call).unwrap(), serde_json::to_string(&former).unwrap());
        }
    }

    #[test]
    fn an_event_is_no_larger_than_a_client_beside_a_set_of_clients() {
        assert_eq!(size_of::<Event>(), size_of::<(ClientId, ClientSet)>());
        assert!(size_of::<ObjectCall>() <= 16 && size_of::<ObjectAnswer>() <= 16);
    }

    #[test]
    fn a_call_comes_back_from_its_bytes_in_every_mode() {
        for access in (0..8).map(Access) {
            for mode in [Mode::Lock, Mode::TryLock] {
                let call = Event::Called { client: ClientId(3), mode, access };
                let bytes = postcard::to_stdvec(&call).unwrap();
                assert_eq!(postcard::from_bytes(&bytes), Ok(call));
                let json = serde_json::to_string(&call).unwrap();
                assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), call);
            }
        }
    }
}
