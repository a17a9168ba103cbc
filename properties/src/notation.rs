//! How the unit tests of the monitors write histories.

use crate::access::{Access, AccessModes, Accesses};
use crate::history::{ClientId, ClientSet, Event, FencingToken, HoldId, LockId, Mode};
use crate::monitor::{Monitor, Verdict, Violation};
use crate::object::{ObjectAnswer, ObjectCall};
use crate::usage::Usage;

pub(crate) const A: ClientId = ClientId(0);
pub(crate) const B: ClientId = ClientId(1);
pub(crate) const C: ClientId = ClientId(2);
pub(crate) const D: ClientId = ClientId(3);

pub(crate) fn lock(client: ClientId) -> Event {
    Event::Called { client, mode: Mode::Lock, access: Access::FIRST }
}

/// In the second mode of access: to read, in a readers-writer lock.
pub(crate) fn reads_lock(client: ClientId) -> Event {
    locks_in(client, Access(1))
}

pub(crate) fn locks_in(client: ClientId, access: Access) -> Event {
    Event::Called { client, mode: Mode::Lock, access }
}

pub(crate) fn try_lock(client: ClientId) -> Event {
    Event::Called { client, mode: Mode::TryLock, access: Access::FIRST }
}

pub(crate) fn found_free(client: ClientId) -> Event {
    Event::FoundFree { client }
}

pub(crate) fn enqueued(client: ClientId) -> Event {
    Event::Enqueued { client, lock: LockId(0) }
}

pub(crate) fn granted(client: ClientId) -> Event {
    granted_again(client, 1)
}

pub(crate) fn granted_again(client: ClientId, hold: u32) -> Event {
    Event::Granted { client, fence: None, hold: HoldId(hold) }
}

pub(crate) fn granted_token(client: ClientId, token: i64) -> Event {
    Event::Granted { client, fence: Some(FencingToken(token)), hold: HoldId(1) }
}

pub(crate) fn refused(client: ClientId) -> Event {
    Event::Refused { client }
}

pub(crate) fn acquired(client: ClientId) -> Event {
    Event::Acquired { client, lock: LockId(0) }
}

pub(crate) fn record_gone(client: ClientId) -> Event {
    Event::RecordGone { client, lock: LockId(0), server: 0 }
}

pub(crate) fn record_made(client: ClientId, server: u8) -> Event {
    Event::RecordMade { client, lock: LockId(0), server }
}

pub(crate) fn secured(client: ClientId, servers: &[u8]) -> Event {
    Event::Secured { client, servers: servers.iter().copied().collect() }
}

pub(crate) fn left(client: ClientId) -> Event {
    Event::Left { client }
}

pub(crate) fn lost(client: ClientId) -> Event {
    Event::Lost { client }
}

pub(crate) fn released(client: ClientId) -> Event {
    Event::Released { client }
}

pub(crate) fn renewed(client: ClientId) -> Event {
    Event::Renewed { client }
}

pub(crate) fn record_written(client: ClientId) -> Event {
    Event::RecordWritten { client, lock: LockId(0) }
}

pub(crate) fn crashed(client: ClientId) -> Event {
    Event::Crashed { client }
}

pub(crate) fn accepted(client: ClientId) -> Event {
    accepted_of(client, 1)
}

pub(crate) fn accepted_of(client: ClientId, hold: u32) -> Event {
    Event::Accepted { client, fence: None, hold: Some(HoldId(hold)) }
}

pub(crate) fn reads(client: ClientId) -> Event {
    reads_in(client, 1)
}

pub(crate) fn reads_in(client: ClientId, hold: u32) -> Event {
    Event::ResourceRead { client, hold: HoldId(hold) }
}

pub(crate) fn rejected(client: ClientId) -> Event {
    Event::Rejected { client, fence: None, hold: Some(HoldId(1)) }
}

pub(crate) fn read(client: ClientId, saw: &[ClientId]) -> Event {
    Event::RowRead { client, saw: saw.iter().copied().collect::<ClientSet>() }
}

pub(crate) fn woken(client: ClientId) -> Event {
    Event::Woken { client }
}

pub(crate) fn notified(client: ClientId, of: ClientId) -> Event {
    Event::Notified { client, lock: LockId(0), of }
}

pub(crate) fn written(client: ClientId) -> Event {
    Event::Written { client }
}

pub(crate) fn begins_to_read(client: ClientId) -> Event {
    Event::ReadBegun { client }
}

pub(crate) fn invoked(client: ClientId, call: ObjectCall) -> Event {
    Event::Invoked { client, call }
}

pub(crate) fn returned(client: ClientId, answer: ObjectAnswer) -> Event {
    Event::Returned { client, answer }
}

pub(crate) fn unknown(client: ClientId) -> Event {
    Event::Unknown { client }
}

/// A call and its answer with nothing in between, for histories in which few calls overlap.
pub(crate) fn done(client: ClientId, call: ObjectCall, answer: ObjectAnswer) -> [Event; 2] {
    [invoked(client, call), returned(client, answer)]
}

/// A monitor that watches a lock with these modes of access.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Among<M> {
    pub(crate) monitor: M,
    pub(crate) usage: Usage,
}

impl<M: Monitor> Monitor for Among<M> {
    fn observe(&mut self, event: Event) -> Verdict {
        self.usage.observe(event);
        self.monitor.observe_beside(event, &self.usage)
    }
}

pub(crate) fn among<M: Default>(modes: AccessModes) -> Among<M> {
    Among { monitor: M::default(), usage: Usage { accesses: Accesses::new(modes), ..Usage::default() } }
}

/// Of a readers-writer lock.
pub(crate) fn shared<M: Default>() -> Among<M> {
    among(AccessModes::SHARED_EXCLUSIVE)
}

/// The monitor after a history that keeps the promise.
#[track_caller]
pub(crate) fn after<M: Monitor>(mut monitor: M, history: &[Event]) -> M {
    for (position, event) in history.iter().enumerate() {
        if let Err(violation) = monitor.observe(*event) {
            panic!("event {position}, {event:?}, was rejected: {violation:?}");
        }
    }
    monitor
}

#[track_caller]
pub(crate) fn assert_kept<M: Monitor>(monitor: M, history: &[Event]) {
    after(monitor, history);
}

/// Asserts that the last event breaks the promise, by `client` against `other`, and no earlier one does.
#[track_caller]
pub(crate) fn assert_broken<M: Monitor>(monitor: M, history: &[Event], client: ClientId, other: ClientId) {
    let (last, before) = history.split_last().expect("a history to reject has an event");
    let violation = after(monitor, before).observe(*last);
    match violation {
        Err(Violation { client: by, other: against, .. }) => assert_eq!((by, against), (client, other)),
        Ok(()) => panic!("{last:?} was accepted"),
    }
}
