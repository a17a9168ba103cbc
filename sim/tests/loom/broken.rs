//! Leases with one flaw each, as one might write them: the scenarios must find every one.

use crate::Shared;
use crate::lease::{End, Lease};
use loom::sync::Mutex;
use loom::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use picklock_model::time::Monotonic;
use std::task::{Context, Poll, Waker};

fn right(valid_until: Monotonic) -> Lease {
    Lease::new(Some(valid_until))
}

/// The moment and the flag are two words; the clock is looked at, and what follows is stored.
pub struct CheckThenStore {
    right: Lease,
    valid_until: AtomicI64,
    lost: AtomicBool,
}

impl Shared for CheckThenStore {
    fn new(valid_until: Monotonic) -> Self {
        let until = AtomicI64::new(valid_until.0);
        CheckThenStore { right: right(valid_until), valid_until: until, lost: AtomicBool::new(false) }
    }
    fn right(&self) -> &Lease {
        &self.right
    }
    fn is_valid(&self, now: Monotonic) -> bool {
        let is_valid = now.0 < self.valid_until.load(Ordering::SeqCst);
        self.lost.store(!is_valid, Ordering::SeqCst);
        is_valid
    }
    fn renew(&self, valid_until: Monotonic, send: impl FnOnce()) -> bool {
        if self.lost.load(Ordering::SeqCst) {
            return false;
        }
        send();
        self.valid_until.store(valid_until.0, Ordering::SeqCst);
        true
    }
}

/// The release is sent at once: the keeper is told to stop, and not waited for.
pub struct EagerRelease(Lease);

impl Shared for EagerRelease {
    fn new(valid_until: Monotonic) -> Self {
        EagerRelease(right(valid_until))
    }
    fn right(&self) -> &Lease {
        &self.0
    }
    fn poll_quiet(&self, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// The keeper sees that nobody releases, and then begins; the guard waits for a renewal that has not begun.
pub struct LateRenewal {
    right: Lease,
    releasing: AtomicBool,
}

impl Shared for LateRenewal {
    fn new(valid_until: Monotonic) -> Self {
        LateRenewal { right: right(valid_until), releasing: AtomicBool::new(false) }
    }
    fn right(&self) -> &Lease {
        &self.right
    }
    fn is_valid(&self, now: Monotonic) -> bool {
        !self.releasing.load(Ordering::SeqCst) && self.right.is_valid(now)
    }
    fn begin_release(&self) -> bool {
        !self.releasing.swap(true, Ordering::SeqCst)
    }
    fn renew(&self, valid_until: Monotonic, send: impl FnOnce()) -> bool {
        !self.releasing.load(Ordering::SeqCst) && self.right.renew(valid_until, send)
    }
}

/// Who releases looks whether somebody has, and then says so.
pub struct TwoReleases {
    right: Lease,
    releasing: AtomicBool,
}

impl Shared for TwoReleases {
    fn new(valid_until: Monotonic) -> Self {
        TwoReleases { right: right(valid_until), releasing: AtomicBool::new(false) }
    }
    fn right(&self) -> &Lease {
        &self.right
    }
    fn begin_release(&self) -> bool {
        if self.releasing.load(Ordering::SeqCst) {
            return false;
        }
        self.releasing.store(true, Ordering::SeqCst);
        true
    }
}

/// Who waits looks at the flag, and puts its name on the list after that.
pub struct MissedWakeUp {
    right: Lease,
    lost: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

impl MissedWakeUp {
    fn end(&self) {
        self.lost.store(true, Ordering::SeqCst);
        let waiting = std::mem::take(&mut *self.waiting.lock().expect("nobody panics"));
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Shared for MissedWakeUp {
    fn new(valid_until: Monotonic) -> Self {
        let (lost, waiting) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        MissedWakeUp { right: right(valid_until), lost, waiting }
    }
    fn right(&self) -> &Lease {
        &self.right
    }
    fn is_valid(&self, now: Monotonic) -> bool {
        let is_valid = self.right.is_valid(now);
        if !is_valid {
            self.end();
        }
        is_valid
    }
    fn lose(&self) {
        self.end();
    }
    fn poll_end(&self, cx: &mut Context<'_>) -> Poll<End> {
        if self.lost.load(Ordering::SeqCst) {
            return Poll::Ready(End::Lost);
        }
        self.waiting.lock().expect("nobody panics").push(cx.waker().clone());
        Poll::Pending
    }
}
