//! The lease that keeper, guard and application share (`hosted/lease.rs`), under every interleaving of their steps.
//!
//! The file is included here beside loom's atomics and mutex in place of the standard library's: what is checked is the
//! code that runs, without a second build of everything else under `--cfg loom`, under which tokio has no network.
//!
//! Bounds: two or three threads, at most [`PREEMPTIONS`] preemptions in a run, and every schedule within that. No limit of
//! schedules or of time is set, for either would pass in silence.
//!
//! Each scenario runs on the lease as it is, which must pass, and on one that is broken in the way that the scenario is
//! there to find (`loom/broken.rs`), which must not.

#[path = "loom/broken.rs"]
mod broken;
#[path = "../src/hosted/lease.rs"]
mod lease;

/// What `lease.rs` finds as its `super::sync`.
mod sync {
    pub use loom::sync::Mutex;
    pub use loom::sync::atomic::{AtomicU64, Ordering};
}

use broken::{CheckThenStore, EagerRelease, LateRenewal, MissedWakeUp, TwoReleases};
use lease::{End, Lease, Renewal};
use loom::future::block_on;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;
use picklock_model::time::Monotonic;
use std::future::poll_fn;
use std::task::{Context, Poll, Wake, Waker};

/// More than any of these bugs needs; without a bound the largest scenario takes minutes.
const PREEMPTIONS: usize = 3;

const BEFORE: Monotonic = Monotonic(5);
const END: Monotonic = Monotonic(10);
const RENEWED: Monotonic = Monotonic(20);

/// What the scenarios do with a lease: with the real one, or with one that has a flaw and is else like the real one.
trait Shared: Send + Sync + 'static {
    fn new(valid_until: Monotonic) -> Self;
    fn right(&self) -> &Lease;
    fn is_valid(&self, now: Monotonic) -> bool {
        self.right().is_valid(now)
    }
    fn lose(&self) {
        self.right().lose();
    }
    fn begin_release(&self) -> bool {
        self.right().begin_release()
    }
    fn poll_quiet(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.right().poll_quiet(cx)
    }
    fn poll_end(&self, cx: &mut Context<'_>) -> Poll<End> {
        self.right().poll_end(cx)
    }
    /// Renews it, if that may begin; `send` is what the keeper does meanwhile.
    fn renew(&self, valid_until: Monotonic, send: impl FnOnce()) -> bool {
        let Some(renewal) = Renewal::begin(self.right()) else { return false };
        send();
        renewal.done(Some(valid_until))
    }
}

impl Shared for Lease {
    fn new(valid_until: Monotonic) -> Self {
        Lease::new(Some(valid_until))
    }
    fn right(&self) -> &Lease {
        self
    }
}

/// A waker that says whether it was used.
#[derive(Default)]
struct Bell(std::sync::atomic::AtomicBool);

impl Bell {
    fn has_rung(&self) -> bool {
        self.0.load(std::sync::atomic::Ordering::SeqCst)
    }
}

impl Wake for Bell {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
    }
}

/// How many schedules there were; panics if one of them breaks an assertion, or blocks for ever.
fn schedules(scenario: impl Fn() + Send + Sync + 'static) -> usize {
    let counted = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = counted.clone();
    let mut builder = Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.max_permutations = None;
    builder.max_duration = None;
    builder.check(move || {
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        scenario();
    });
    counted.load(std::sync::atomic::Ordering::Relaxed)
}

fn holds(scenario: impl Fn() + Send + Sync + 'static) {
    let schedules = schedules(scenario);
    println!("{schedules} schedules");
    assert!(schedules > 10, "{schedules} schedules are hardly every interleaving");
}

/// The words of the panic that some schedule ended in.
fn breaks(scenario: impl Fn() + Send + Sync + std::panic::UnwindSafe + 'static) -> String {
    let Err(panic) = std::panic::catch_unwind(move || schedules(scenario)) else {
        panic!("no schedule shows the flaw");
    };
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast_ref::<&str>().map_or_else(String::new, |text| (*text).to_owned()),
    }
}

/// The keeper renews while the application asks, at a moment when the old lease has run out and the new one has not.
fn a_no_is_final<L: Shared>() {
    let lease = Arc::new(L::new(END));
    let keeper = thread::spawn({
        let lease = lease.clone();
        move || lease.renew(RENEWED, || {})
    });
    let was_valid = lease.is_valid(END);
    let is_valid = lease.is_valid(END);
    assert!(was_valid || !is_valid, "a lease that was over is valid again");
    let renewed = keeper.join().expect("the keeper ends");
    assert!(is_valid || !lease.is_valid(BEFORE), "a lease that was over is valid again");
    assert_eq!(renewed, lease.is_valid(END), "the keeper believes something else");
}

/// The guard gives back while the keeper renews: what goes over the wire, in which order?
fn no_renewal_after_the_release<L: Shared>() {
    let lease = Arc::new(L::new(END));
    let release_is_sent = Arc::new(AtomicBool::new(false));
    let keeper = thread::spawn({
        let (lease, release_is_sent) = (lease.clone(), release_is_sent.clone());
        move || {
            lease.renew(RENEWED, || {
                assert!(!release_is_sent.load(Ordering::SeqCst), "a renewal is sent after the release");
            })
        }
    });
    if lease.begin_release() {
        block_on(poll_fn(|cx| lease.poll_quiet(cx)));
        release_is_sent.store(true, Ordering::SeqCst);
    }
    let _renewed = keeper.join().expect("the keeper ends");
    assert!(!lease.is_valid(BEFORE), "what is given back is not valid");
}

/// The guard is dropped while it is released explicitly elsewhere, and the keeper loses the lease.
fn one_release<L: Shared>() {
    let lease = Arc::new(L::new(END));
    let releases = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (lease, releases) = (lease.clone(), releases.clone());
            thread::spawn(move || {
                if lease.begin_release() {
                    releases.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    lease.lose();
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
    assert_eq!(releases.load(Ordering::SeqCst), 1, "releases");
}

/// Somebody waits for the end while it comes: by the keeper's word, and by the clock.
fn who_waits_is_woken<L: Shared>() {
    let lease = Arc::new(L::new(END));
    let keeper = thread::spawn({
        let lease = lease.clone();
        move || lease.lose()
    });
    let looker = thread::spawn({
        let lease = lease.clone();
        move || assert!(!lease.is_valid(RENEWED))
    });
    let bell = std::sync::Arc::new(Bell::default());
    let seen = lease.poll_end(&mut Context::from_waker(&Waker::from(bell.clone())));
    keeper.join().expect("the keeper ends");
    looker.join().expect("it ends");
    // Not by a deadlock, which loom finds as well, but cannot clean up after.
    assert!(seen == Poll::Ready(End::Lost) || bell.has_rung(), "nobody wakes who waits");
}

#[test]
fn a_lease_that_was_over_is_never_valid_again() {
    holds(a_no_is_final::<Lease>);
}

#[test]
fn to_check_and_then_to_store_brings_a_lease_back() {
    assert!(breaks(a_no_is_final::<CheckThenStore>).contains("valid again"));
}

#[test]
fn nothing_is_renewed_once_the_release_is_sent() {
    holds(no_renewal_after_the_release::<Lease>);
}

#[test]
fn a_release_that_does_not_wait_is_followed_by_a_renewal() {
    assert!(breaks(no_renewal_after_the_release::<EagerRelease>).contains("after the release"));
}

#[test]
fn a_renewal_that_looks_first_and_begins_then_follows_the_release() {
    assert!(breaks(no_renewal_after_the_release::<LateRenewal>).contains("after the release"));
}

#[test]
fn of_all_who_release_one_does() {
    holds(one_release::<Lease>);
}

#[test]
fn to_look_first_and_release_then_releases_twice() {
    assert!(breaks(one_release::<TwoReleases>).contains("releases"));
}

#[test]
fn whoever_waits_for_the_end_is_woken() {
    holds(who_waits_is_woken::<Lease>);
}

#[test]
fn to_look_before_the_name_is_on_the_list_misses_the_wake_up() {
    assert!(breaks(who_waits_is_woken::<MissedWakeUp>).contains("nobody wakes"));
}
