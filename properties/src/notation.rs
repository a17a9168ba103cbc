//! How the unit tests of the monitors write histories.

use crate::history::{ClientId, ClientSet, Event, FencingToken, HoldId, LockId, Mode};
use crate::monitor::{Monitor, Violation};

pub(crate) const A: ClientId = ClientId(0);
pub(crate) const B: ClientId = ClientId(1);
pub(crate) const C: ClientId = ClientId(2);

pub(crate) fn lock(client: ClientId) -> Event {
    Event::Called { client, mode: Mode::Lock }
}

pub(crate) fn try_lock(client: ClientId) -> Event {
    Event::Called { client, mode: Mode::TryLock }
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

pub(crate) fn written(client: ClientId) -> Event {
    Event::Written { client }
}

pub(crate) fn begins_to_read(client: ClientId) -> Event {
    Event::ReadBegun { client }
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
