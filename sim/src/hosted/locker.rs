//! The lock as a library: `using(remoteLocker.GetLock(lockId)) { … }` of the Cassandra paper, *The Cassandra queue lock* (Listings 1 and
//! 2), in Rust.
//!
//! | the Cassandra paper, Listing 1 | here |
//! |---|---|
//! | `IRemoteLocker.GetLock(lockId)` ("mandatory": waits) | [`Locker::lock`] |
//! | `IRemoteLocker.TryGetLock(lockId, out remoteLock)` ("soft": may be refused) | [`Locker::try_lock`] |
//! | `IRemoteLock.LockId`, `ThreadId` | [`Guard::lock_id`], [`Guard::thread_id`] |
//! | `IRemoteLock.Dispose` | dropping the [`Guard`], or [`Guard::release`] |
//!
//! One locker is one thread of the document: it holds one lock at a time. Whoever wants two at once makes two lockers.
//!
//! A task owns the lock's machine, renews when the machine says so, and tells the guard when the lock is lost; the two share
//! a [`Lease`]. A guard that is dropped gives the lock back in the background. A call that is dropped before its lock was
//! granted is finished in the background, and what it is granted given back at once; the next call waits for that. If the
//! process ends, the lease does the rest.
//!
//! # Example
//!
//! Under turmoil, on the simulated Redis; over real TCP it is [`Tcp`](super::Tcp) in place of
//! [`Simulated`](super::Simulated), with the address of any Redis.
//!
//! ```
//! use picklock_model::locks::redis_single::{RedisSingle, Settings};
//! use picklock_properties::LockId;
//! use picklock_sim::hosted::{Client, Locker, Names, Simulated};
//! use picklock_sim::serve::redis::{Servers, serve};
//! use turmoil::net::TcpListener;
//!
//! let mut sim = turmoil::Builder::new().build();
//! let servers = Servers::new(1, Default::default());
//! sim.host("redis", move || {
//!     let servers = servers.clone();
//!     async move { match serve(&servers, 0, TcpListener::bind("0.0.0.0:6379").await?).await? {} }
//! });
//! for thread in 0..2 {
//!     sim.client(format!("application-{thread}"), async move {
//!         let (network, names) = (Simulated::servers(["redis"], 6379), Names::new(["orders"], "random"));
//!         let client = Client::new(thread, 1);
//!         let locker = Locker::connect_redis::<RedisSingle, _>(client, Settings::repaired(), &network, names);
//!         let guard = locker.lock(LockId(0)).await?;
//!         // Work, and stop if `guard.lost()` comes first; every write carries the token.
//!         assert!(guard.is_valid() && guard.fence().is_some());
//!         guard.release().await;
//!         Ok(())
//!     });
//! }
//! sim.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::connections::{Connections, Patience};
use super::driver::{Driver, Inbox, NodeClock, Post, SinceStart, TrueTime, Turn};
use super::etcd_client::EtcdConnections;
use super::lease::{End, Lease};
use super::redis_client::{Names, RedisConnections};
use super::thread::{Ask, Grant, Thread};
use super::transport::Transport;
use crate::seeded::dice::{Dice, Stream};
use picklock_model::machine::{Lock, Node};
use picklock_model::stores::etcd::Etcd;
use picklock_model::stores::redis::Redis;
use picklock_model::time::Monotonic;
use picklock_properties::{ClientId, FencingToken, LockId, Mode};
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// Takes locks, one at a time. Clones are the same thread.
#[derive(Clone, Debug)]
pub struct Locker {
    thread: ClientId,
    asks: UnboundedSender<Ask>,
    is_taken: Arc<AtomicBool>,
    now: Now,
}

/// Why there is neither a lock nor a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LockError {
    /// This locker holds a lock, or asks for one.
    #[error("this locker holds a lock or asks for one already: whoever wants two at once makes two lockers")]
    Busy,
    /// The task that owns the lock's machine is gone: it has panicked, or its runtime has ended.
    #[error("the task of this locker has ended")]
    Stopped,
}

/// What became of a release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReleaseOutcome {
    /// A server's answer has ended it.
    Released,
    /// Nobody knows: no server has answered, or the lock does not wait for answers, or was lost before. What is left in the
    /// store goes with its lease.
    Unknown,
}

/// The node's monotonic clock.
#[derive(Clone, Debug)]
struct Now {
    clock: NodeClock,
    true_time: SinceStart,
}

impl Now {
    fn get(&self) -> Monotonic {
        self.clock.get().monotonic(self.true_time.now())
    }
}

/// Who a locker is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Client {
    /// Another one for every locker of the same locks, in all processes.
    pub thread: ClientId,
    /// How many servers the store has.
    pub servers: u8,
    /// What the waits between two attempts are drawn from.
    pub seed: u64,
    /// How long is waited for connections.
    pub patience: Patience,
}

impl Client {
    /// A thread that uses a store of so many servers, with the usual patience.
    pub fn new(thread: u8, servers: u8) -> Client {
        Client { thread: ClientId(thread), servers, seed: thread.into(), patience: Patience::default() }
    }
}

impl Locker {
    /// A locker on servers that are [hosted by picklock](super::host_store). To be called inside of a tokio runtime, in
    /// which its task will run; so are the others.
    ///
    /// # Errors
    /// None that a client can have: it dials for as long as it takes.
    pub async fn connect<L: Lock, T: Transport>(
        client: Client,
        settings: L::Settings,
        transport: &T,
    ) -> io::Result<Locker> {
        let servers: Vec<Node> = (0..client.servers).map(Node::Server).collect();
        let me = Node::Client(client.thread.0);
        let (connections, inbox) =
            Connections::<L::Store>::open(me, &servers, false, transport, client.patience).await?;
        Ok(Locker::start::<L, _>(client, settings, connections, inbox))
    }

    /// A locker on Redis servers, real or [simulated](crate::serve::redis).
    pub fn connect_redis<L: Lock<Store = Redis>, T: Transport>(
        client: Client,
        settings: L::Settings,
        transport: &T,
        names: Names,
    ) -> Locker {
        let (connections, inbox) =
            RedisConnections::open(client.thread.0, client.servers, transport, client.patience, names);
        Locker::start::<L, _>(client, settings, connections, inbox)
    }

    /// A locker on etcd members, real or [simulated](crate::serve::etcd).
    pub fn connect_etcd<L: Lock<Store = Etcd>, T: Transport>(
        client: Client,
        settings: L::Settings,
        transport: &T,
        names: Names,
    ) -> Locker {
        let (connections, inbox) =
            EtcdConnections::open(client.thread.0, client.servers, transport, client.patience, names);
        Locker::start::<L, _>(client, settings, connections, inbox)
    }

    /// A locker whose machine speaks through `post` and hears through `inbox`.
    pub fn start<L, P>(client: Client, settings: L::Settings, post: P, inbox: Inbox<L::Store>) -> Locker
    where
        L: Lock,
        P: Post<L::Store> + Send + 'static,
    {
        let now = Now { clock: NodeClock::default(), true_time: SinceStart::new() };
        let (asks, calls) = unbounded_channel();
        let machine = Thread::<L>::new(client.thread.0, client.servers, settings);
        let dice = Dice::new(client.seed, Stream::Choice);
        let driver = Driver::new(machine, now.clock.clone(), now.true_time, dice, post, ());
        // Nobody awaits it: if it panics, the next call finds it stopped, and a guard its lock lost.
        tokio::spawn(keep(driver, inbox, calls));
        Locker { thread: client.thread, asks, is_taken: Arc::default(), now }
    }

    /// Waits until the lock is held: for as long as it takes.
    ///
    /// # Errors
    /// If this locker is in use, or its task has ended.
    pub async fn lock(&self, lock: LockId) -> Result<Guard, LockError> {
        let granted = self.acquire(lock, Mode::Lock).await?;
        // Who waits is not refused.
        granted.ok_or(LockError::Stopped)
    }

    /// Tries to take the lock: `None` if somebody else has it, or asked for it at the same time.
    ///
    /// # Errors
    /// If this locker is in use, or its task has ended.
    pub async fn try_lock(&self, lock: LockId) -> Result<Option<Guard>, LockError> {
        self.acquire(lock, Mode::TryLock).await
    }

    async fn acquire(&self, lock: LockId, mode: Mode) -> Result<Option<Guard>, LockError> {
        let seat = Seat::take(&self.is_taken).ok_or(LockError::Busy)?;
        let (granted, answer) = oneshot::channel();
        self.asks.send(Ask::Acquire { lock, mode, granted }).map_err(|_| LockError::Stopped)?;
        let grant = answer.await.map_err(|_| LockError::Stopped)?;
        Ok(grant.map(|Grant { lease, fence, released }| Guard {
            lock,
            fence,
            thread: self.thread,
            lease,
            released: Some(released),
            asks: self.asks.clone(),
            now: self.now.clone(),
            _seat: seat,
        }))
    }
}

/// One machine turns until nobody can call it any more, and nothing is held.
async fn keep<L: Lock, P: Post<L::Store>>(
    mut driver: Driver<Thread<L>, SinceStart, P, ()>,
    mut inbox: Inbox<L::Store>,
    mut calls: tokio::sync::mpsc::UnboundedReceiver<Ask>,
) {
    loop {
        match driver.turn(&mut inbox, &mut calls).await {
            Turn::Message | Turn::Called | Turn::Woke | Turn::ClockChanged => {}
            Turn::NobodyCalls => break,
            Turn::NobodySends => return,
        }
    }
    let (_open, mut no_calls) = unbounded_channel();
    while !driver.machine().is_idle() && driver.turn(&mut inbox, &mut no_calls).await != Turn::NobodySends {}
}

/// The right to use a locker.
#[derive(Debug)]
struct Seat(Arc<AtomicBool>);

impl Seat {
    fn take(is_taken: &Arc<AtomicBool>) -> Option<Seat> {
        (!is_taken.swap(true, Ordering::AcqRel)).then(|| Seat(is_taken.clone()))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// A lock that is held. Dropped, it is given back.
#[must_use = "a guard that is dropped gives the lock back"]
#[derive(Debug)]
pub struct Guard {
    lock: LockId,
    fence: Option<FencingToken>,
    thread: ClientId,
    lease: Arc<Lease>,
    released: Option<oneshot::Receiver<ReleaseOutcome>>,
    asks: UnboundedSender<Ask>,
    now: Now,
    _seat: Seat,
}

impl Guard {
    /// Which lock it is.
    pub fn lock_id(&self) -> LockId {
        self.lock
    }

    /// Who holds it.
    pub fn thread_id(&self) -> ClientId {
        self.thread
    }

    /// The fencing token, if the lock gives one: to be sent along with every write to what the lock protects, which is to
    /// turn down smaller tokens than it has seen.
    pub fn fence(&self) -> Option<FencingToken> {
        self.fence
    }

    /// Whether the lock is still held, as far as this process can know. From the first no on it is always no. A yes is true
    /// when the clock was looked at, and may not be by the time anybody acts on it: only a fencing token helps then.
    pub fn is_valid(&self) -> bool {
        self.lease.is_valid(self.now.get())
    }

    /// Waits until the lock is lost: until work under it must stop. For ever, if it is not.
    pub async fn lost(&self) {
        match poll_fn(|cx| self.lease.poll_end(cx)).await {
            End::Lost => {}
            End::Released => unreachable!("nobody gives back what is borrowed"),
        }
    }

    /// Gives the lock back, once the renewal under way has ended.
    pub async fn release(mut self) -> ReleaseOutcome {
        if self.lease.begin_release() {
            poll_fn(|cx| self.lease.poll_quiet(cx)).await;
            self.send_release();
        }
        match self.released.take() {
            // The task has ended without a word.
            Some(released) => released.await.unwrap_or(ReleaseOutcome::Unknown),
            None => ReleaseOutcome::Unknown,
        }
    }

    fn send_release(&self) {
        // If the task is gone, the lease will end by itself.
        let _stopped = self.asks.send(Ask::Release(self.lease.clone()));
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.lease.begin_release() {
            self.send_release();
        }
    }
}
