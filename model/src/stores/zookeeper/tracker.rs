//! When sessions end: the leader counts their time (`SessionTrackerImpl.java`).

use super::{SessionClock, SessionId, Settings};
use crate::machine::{Context, Node, Owner, Visitor, put_in_order};
use crate::time::{Due, Micros};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Tracked {
    session: SessionId,
    /// When it ends, unless something is heard of its client; `None`: never.
    due: Option<Due>,
    /// The largest serial number seen from the client, through whichever server: what comes later with a smaller one
    /// was sent on a connection that is given up. The real leader knows the server that a session moved to, and turns
    /// requests from others down (`checkSession`, SESSIONMOVED, of which nobody hears).
    taken: u32,
    /// Its end is proposed.
    closing: bool,
}

/// The sessions whose time is counted, in the order of their numbers.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Tracker(SmallVec<[Tracked; 2]>);

fn end(timeout: Option<Micros>, cx: &Context<Settings>) -> Option<Due> {
    let timeout = timeout?;
    Some(match cx.settings.session_clock {
        SessionClock::Monotonic => Due::Monotonic(cx.monotonic + timeout),
        SessionClock::Wall => Due::Wall(cx.wall + timeout),
    })
}

impl Tracker {
    /// Begins to count a session's time, from its full timeout on.
    pub(super) fn track(
        &mut self,
        session: SessionId,
        timeout: Option<Micros>,
        taken: u32,
        cx: &Context<Settings>,
    ) {
        self.0.retain(|tracked| tracked.session != session);
        self.0.push(Tracked { session, due: end(timeout, cx), taken, closing: false });
        self.0.sort_unstable_by_key(|tracked| tracked.session);
    }

    pub(super) fn forget(&mut self, session: SessionId) {
        self.0.retain(|tracked| tracked.session != session);
    }

    pub(super) fn forget_all(&mut self) {
        self.0.clear();
    }

    /// Something was heard of the client: its session has its full timeout again. Whether it is open.
    pub(super) fn touch(
        &mut self,
        session: SessionId,
        timeout: Option<Micros>,
        cx: &Context<Settings>,
    ) -> bool {
        match self.0.iter_mut().find(|tracked| tracked.session == session && !tracked.closing) {
            Some(tracked) => {
                tracked.due = end(timeout, cx);
                true
            }
            None => false,
        }
    }

    /// Takes a request of the session by its serial number; `None` if it is too late, or was taken before. Else whether the
    /// session is open.
    pub(super) fn admit(&mut self, session: SessionId, serial: u32) -> Option<bool> {
        match self.0.iter_mut().find(|tracked| tracked.session == session) {
            Some(tracked) if serial <= tracked.taken => None,
            Some(tracked) => {
                tracked.taken = serial;
                Some(!tracked.closing)
            }
            None => Some(false),
        }
    }

    /// Nothing more is taken from the session, and its time is not counted any more.
    pub(super) fn set_closing(&mut self, session: SessionId) {
        for tracked in self.0.iter_mut().filter(|tracked| tracked.session == session) {
            tracked.closing = true;
            tracked.due = None;
        }
    }

    /// A session whose time is over.
    pub(super) fn expired(&self, cx: &Context<Settings>) -> Option<SessionId> {
        let is_over = |due: Due| match due {
            Due::Wall(at) => cx.wall >= at,
            Due::Monotonic(at) => cx.monotonic >= at,
        };
        self.0.iter().find(|tracked| tracked.due.is_some_and(is_over)).map(|tracked| tracked.session)
    }

    /// When the next session ends. All are counted by the same clock.
    pub(super) fn deadline(&self) -> Option<Due> {
        self.0.iter().filter_map(|tracked| tracked.due).min()
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        for tracked in &mut self.0 {
            visitor.serial(Owner::Node(Node::Client(tracked.session.client)), &mut tracked.taken);
            tracked.session.visit(visitor);
            if let Some(due) = &mut tracked.due {
                visitor.due(due);
            }
        }
        put_in_order::<V, _, _>(&mut self.0, |tracked| tracked.session);
    }
}
