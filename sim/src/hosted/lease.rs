//! The lease of one grant, as those see it who share it: the keeper, which renews it and loses it; the guard, which gives
//! it back; and whoever asks whether it still holds, or waits for its end.
//!
//! ```text
//!          is_valid, poll_end                keeper: Renewal::begin … done, lose
//!                  │                                  │
//!                  ▼                                  ▼
//!   word:  valid until │ LOST │ RELEASING │ RENEWING       waiting: who is to be woken
//!                                  ▲
//!                                  │
//!                       guard: begin_release, poll_quiet
//! ```
//!
//! Promises, each checked under every interleaving by `tests/loom.rs`:
//!
//! - A lease that was seen to be over stays over, whatever a late renewal brings.
//! - Once its release has begun, no renewal begins; and the release is sent only when the renewal under way has ended.
//!   (Row C10 of the catalogue: a renewal that lands after the release's delete brings the record back.)
//! - Of all who want to release it, one does.
//! - Whoever waits for the end, or for the quiet before the release, is woken.
//!
//! No runtime, no clock: what time it is, the caller says. All that is promised about `valid until` and the flags rests
//! on their being one word, changed by compare-and-swap.

// The standard library's; `tests/loom.rs` includes this file beside loom's.
use super::sync::{AtomicU64, Mutex, Ordering};
use picklock_model::time::Monotonic;
use std::ops::Deref;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

/// A renewal is under way.
const RENEWING: u64 = 1;
/// The guard is giving the lock back, or has.
const RELEASING: u64 = 2;
/// The lease was over before the release began.
const LOST: u64 = 4;
/// Above the flags, in microseconds of the node's monotonic clock.
const UNTIL_SHIFT: u32 = 3;
/// Nobody knows of an end: it is over when the keeper says so.
const ENDLESS: u64 = u64::MAX >> UNTIL_SHIFT;

/// What the keeper, the guard and the application share.
#[derive(Debug)]
pub struct Lease {
    word: AtomicU64,
    waiting: Mutex<Vec<Waker>>,
}

/// Why a lease is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It ran out, or the lock found out that it is somebody else's.
    Lost,
    /// It was given back.
    Released,
}

impl Lease {
    /// A lease that was just granted. `None`: until when is not known here, and the keeper will say when it is over.
    pub fn new(valid_until: Option<Monotonic>) -> Lease {
        Lease { word: AtomicU64::new(until(valid_until)), waiting: Mutex::new(Vec::new()) }
    }

    /// Whether the lock is held when the node's monotonic clock shows `now`. From the first no on it is always no.
    pub fn is_valid(&self, now: Monotonic) -> bool {
        let runs_out = |word| is_on(word) && word >> UNTIL_SHIFT <= micros(now);
        match self.change(|word| runs_out(word).then_some(word | LOST)) {
            Ok(_) => {
                self.wake_all();
                false
            }
            Err(word) => is_on(word),
        }
    }

    /// The lock says that it is lost. After the release has begun that is nobody's concern any more.
    pub fn lose(&self) {
        if self.change(|word| is_on(word).then_some(word | LOST)).is_ok() {
            self.wake_all();
        }
    }

    /// From here on no renewal begins. True for one caller only: who is to send the release, when all is
    /// [quiet](Lease::poll_quiet). A lost lease is released, too: what the store keeps of it is of no use.
    pub fn begin_release(&self) -> bool {
        let begins = self.change(|word| (word & RELEASING == 0).then_some(word | RELEASING)).is_ok();
        if begins {
            self.wake_all();
        }
        begins
    }

    /// Whether no renewal is under way; after [`Lease::begin_release`] it stays so.
    pub fn poll_quiet(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll(cx, |word| (word & RENEWING == 0).then_some(()))
    }

    /// Whether the lease is over, and why. That its time has run out shows when the keeper or [`Lease::is_valid`] has
    /// looked at the clock.
    pub fn poll_end(&self, cx: &mut Context<'_>) -> Poll<End> {
        self.poll(cx, |word| match (word & LOST != 0, word & RELEASING != 0) {
            (true, _) => Some(End::Lost),
            (false, true) => Some(End::Released),
            (false, false) => None,
        })
    }

    fn poll<T>(&self, cx: &mut Context<'_>, ready: impl Fn(u64) -> Option<T>) -> Poll<T> {
        // Looked at with the list in hand: who changes the word takes the list afterwards, and finds this waker in it.
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match ready(self.word.load(Ordering::Acquire)) {
            Some(value) => Poll::Ready(value),
            None => {
                if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                    waiting.push(cx.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    fn wake_all(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Changes the word in one step, if `next` wants it changed. The word before it, or the word that was to stay.
    fn change(&self, next: impl Fn(u64) -> Option<u64>) -> Result<u64, u64> {
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let Some(changed) = next(word) else { return Err(word) };
            match self.word.compare_exchange(word, changed, Ordering::AcqRel, Ordering::Acquire) {
                Ok(before) => return Ok(before),
                Err(now) => word = now,
            }
        }
    }
}

/// A renewal under way: the keeper holds it from before it sends one until it knows what became of it.
#[derive(Debug)]
pub struct Renewal<R: Deref<Target = Lease>> {
    lease: R,
}

impl<R: Deref<Target = Lease>> Renewal<R> {
    /// Begins one. `None`: the lease is over, or is being released, or is being renewed: nothing may be sent.
    pub fn begin(lease: R) -> Option<Renewal<R>> {
        let may_begin = |word: u64| word & (RENEWING | RELEASING | LOST) == 0;
        lease.change(|word| may_begin(word).then_some(word | RENEWING)).ok()?;
        Some(Renewal { lease })
    }

    /// The lease lasts until then. False: too late, it was found to be over meanwhile.
    pub fn done(self, valid_until: Option<Monotonic>) -> bool {
        let flags = |word: u64| word & !(ENDLESS << UNTIL_SHIFT);
        self.lease
            .change(|word| (word & LOST == 0).then_some(until(valid_until) | flags(word)))
            .is_ok_and(is_on)
    }
}

impl<R: Deref<Target = Lease>> Drop for Renewal<R> {
    fn drop(&mut self) {
        let ended = self.lease.change(|word| (word & RENEWING != 0).then_some(word & !RENEWING));
        debug_assert!(ended.is_ok(), "nobody but this renewal ends it");
        self.lease.wake_all();
    }
}

fn is_on(word: u64) -> bool {
    word & (LOST | RELEASING) == 0
}

fn until(valid_until: Option<Monotonic>) -> u64 {
    valid_until.map_or(ENDLESS, micros) << UNTIL_SHIFT
}

/// A reading below zero, of a clock that was set wrong from the start, counts as zero.
fn micros(at: Monotonic) -> u64 {
    u64::try_from(at.0).unwrap_or(0).min(ENDLESS)
}
