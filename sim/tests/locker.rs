//! The lock as a library: guards over real TCP and under turmoil, on picklock's own frames, on the simulated Redis, and on
//! a real one.

#[path = "serve/process.rs"]
#[allow(dead_code, reason = "shared with the tests of the served Redis, which use the rest")]
mod process;

use picklock_model::locks::redis_single::{ExtendBy, Extension, RedisSingle, Settings};
use picklock_model::locks::redlock::{self, Redlock};
use picklock_model::machine::{Message, Node};
use picklock_model::stores::redis::{self as store, Command, Outcome, Redis, Reply, Request};
use picklock_model::time::Micros;
use picklock_properties::LockId;
use picklock_sim::hosted::{
    Client, Guard, LockError, Locker, Names, Patience, Post, ReleaseOutcome, Simulated, Tcp, host_store,
};
use picklock_sim::plans::plan::{Fault, Target};
use picklock_sim::serve::redis::{Servers, serve};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, timeout};

const LOCK: LockId = LockId(0);
const S1: Target = Target::Server(0);

fn names(signature: &str) -> Names {
    Names::new(["orders"], signature)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn tcp(ports: &[u16]) -> Tcp {
    let address = |port: &u16| SocketAddr::from(([127, 0, 0, 1], *port));
    Tcp { addresses: (0..).map(Node::Server).zip(ports.iter().map(address)).collect() }
}

/// Of two lockers one gets the lock, and the other when it is given back.
async fn one_after_the_other(first: &Locker, second: &Locker) {
    let guard = first.lock(LOCK).await.expect("it is granted");
    assert!(guard.is_valid());
    assert_eq!(guard.lock_id(), LOCK);
    assert!(second.try_lock(LOCK).await.expect("it is refused").is_none());
    let fence = guard.fence();
    guard.release().await;
    let guard = second.lock(LOCK).await.expect("it is granted");
    assert!(guard.fence() > fence || fence.is_none());
    drop(guard);
    first.lock(LOCK).await.expect("what was dropped is given back").release().await;
}

fn on_ports(ports: &[u16]) {
    let transport = tcp(ports);
    runtime().block_on(async {
        let count = ports.len() as u8;
        match count {
            1 => {
                let locker = |thread: u8, signature: &str| {
                    let settings = Settings { retry_delay: Micros::millis(5), ..Settings::repaired() };
                    Locker::connect_redis::<RedisSingle, _>(
                        Client::new(thread, 1),
                        settings,
                        &transport,
                        names(signature),
                    )
                };
                let (first, second) = (locker(0, "first"), locker(1, "second"));
                one_after_the_other(&first, &second).await;
                let guard = first.lock(LOCK).await.expect("it is granted");
                assert_eq!(guard.release().await, ReleaseOutcome::Released);
            }
            count => {
                let locker = |thread: u8, signature: &str| {
                    let settings = redlock::Settings {
                        retry_delay: Micros::millis(5),
                        ..redlock::Settings::multiplexed()
                    };
                    Locker::connect_redis::<Redlock, _>(
                        Client::new(thread, count),
                        settings,
                        &transport,
                        names(signature),
                    )
                };
                one_after_the_other(&locker(0, "first"), &locker(1, "second")).await;
            }
        }
    });
}

#[test]
fn a_guard_over_tcp_on_the_served_redis() {
    let served = process::Served::start(&[]);
    on_ports(&[served.port()]);
}

#[test]
fn redlock_over_tcp_on_three_served_masters() {
    let served = process::Served::start(&["--servers", "3"]);
    on_ports(served.ports());
}

#[test]
fn a_guard_over_tcp_on_a_real_redis() {
    let Some(real) = process::RealRedis::start() else { return };
    on_ports(&[real.port()]);
}

#[test]
fn a_guard_over_tcp_on_our_own_frames() {
    let port = process::free_port();
    runtime().block_on(async {
        let transport = tcp(&[port]);
        let hosted = transport.clone();
        let store = tokio::spawn(async move {
            host_store::<Redis, _>(0, 1, store::Settings::default(), &hosted, Patience::default()).await
        });
        let settings = Settings { retry_delay: Micros::millis(5), ..Settings::repaired() };
        let first = Locker::connect::<RedisSingle, _>(Client::new(0, 1), settings, &transport)
            .await
            .expect("a client");
        let second = Locker::connect::<RedisSingle, _>(Client::new(1, 1), settings, &transport)
            .await
            .expect("a client");
        one_after_the_other(&first, &second).await;
        store.abort();
    });
}

/// Nothing of this process runs meanwhile, the lock's own task neither: only a look at the clock can tell.
#[test]
fn after_a_pause_that_outlasts_the_lease_a_guard_is_not_valid_from_the_first_look_on() {
    let served = process::Served::start(&[]);
    let transport = tcp(&[served.port()]);
    runtime().block_on(async {
        let settings = Settings {
            ttl: Some(Micros::millis(500)),
            validity_margin: Some(Micros::millis(5)),
            ..Settings::repaired()
        };
        let locker =
            Locker::connect_redis::<RedisSingle, _>(Client::new(0, 1), settings, &transport, names("paused"));
        let guard = locker.lock(LOCK).await.expect("it is granted");
        assert!(guard.is_valid());
        std::thread::sleep(Duration::from_millis(500));
        assert!(!guard.is_valid());
        guard.lost().await;
        assert_eq!(guard.release().await, ReleaseOutcome::Unknown);
        assert!(locker.try_lock(LOCK).await.expect("it is free").is_some());
    });
}

// Under turmoil.

/// One simulated Redis, and an application beside it.
fn simulate<F>(
    settings: picklock_sim::serve::redis::Settings,
    application: impl FnOnce(Servers) -> F + 'static,
) where
    F: Future<Output = turmoil::Result> + 'static,
{
    let mut sim = turmoil::Builder::new().rng_seed(7).simulation_duration(Duration::from_secs(300)).build();
    let servers = Servers::new(1, settings);
    let hosted = servers.clone();
    sim.host("redis", move || {
        let servers = hosted.clone();
        async move { match serve(&servers, 0, turmoil::net::TcpListener::bind("0.0.0.0:6379").await?).await? {} }
    });
    sim.client("application", application(servers));
    sim.run().expect("the application does not fail");
}

fn locker(thread: u8, settings: Settings) -> Locker {
    let transport = Simulated::servers(["redis"], 6379);
    Locker::connect_redis::<RedisSingle, _>(Client::new(thread, 1), settings, &transport, names("turmoil"))
}

async fn take(locker: &Locker) -> Guard {
    locker.lock(LOCK).await.expect("it is granted")
}

#[test]
fn a_lease_that_is_not_renewed_is_lost_before_somebody_else_gets_the_lock() {
    simulate(picklock_sim::serve::redis::Settings::default(), |_| async {
        let (first, second) = (locker(0, Settings::repaired()), locker(1, Settings::repaired()));
        let (began, guard) = (Instant::now(), take(&first).await);
        let next = tokio::spawn(async move {
            let guard = take(&second).await;
            (Instant::now(), guard)
        });
        guard.lost().await;
        let lost = Instant::now();
        assert!(!guard.is_valid());
        assert!((9_800..9_910).contains(&(lost - began).as_millis()), "{:?}", lost - began);
        let (granted, next) = next.await?;
        assert!(granted > lost && next.is_valid());
        assert_eq!(guard.release().await, ReleaseOutcome::Unknown);
        assert!(next.is_valid());
        Ok(())
    });
}

fn extended() -> Settings {
    let extension = Extension { lead: Micros::seconds(3), times_max: 5, how: ExtendBy::CompareAndExtend };
    Settings { extension: Some(extension), ..Settings::repaired() }
}

#[test]
fn a_lease_is_renewed_for_as_long_as_the_lock_says() {
    simulate(picklock_sim::serve::redis::Settings::default(), |_| async {
        let guard = take(&locker(0, extended())).await;
        sleep(Duration::from_secs(30)).await;
        assert!(guard.is_valid());
        // Five extensions, each of some seven seconds.
        assert!(timeout(Duration::from_secs(30), guard.lost()).await.is_ok());
        Ok(())
    });
}

/// What a locker says, read by the test; what it hears, the test says.
struct Pen(UnboundedSender<Request>);

impl Post<Redis> for Pen {
    fn post(&mut self, _to: Node, message: Message<Redis>) {
        let Message::Request(request) = message else { unreachable!("a client asks") };
        self.0.send(request).expect("the test reads");
    }
}

/// Row C10: a release that is sent while a renewal is under way may be overtaken by it.
#[test]
fn a_release_waits_for_the_renewal_under_way() {
    for is_dropped in [true, false] {
        simulate(picklock_sim::serve::redis::Settings::default(), move |_| async move {
            let ((sent, mut said), (slot, inbox)) = (unbounded_channel(), unbounded_channel());
            let reply = |to: Request, outcome: Outcome| {
                let reply = Message::Reply(Reply { serial: to.serial, outcome });
                slot.send((Node::Server(0), reply)).expect("the locker hears");
            };
            let locker = Locker::start::<RedisSingle, _>(Client::new(0, 1), extended(), Pen(sent), inbox);
            let asking = tokio::spawn(async move { take(&locker).await });
            reply(said.recv().await.expect("it asks"), Outcome::Integer(1));
            let guard = asking.await?;
            let renewal = said.recv().await.expect("it renews");
            assert!(matches!(renewal.command, Command::CompareAndExtend { .. }), "{renewal}");
            assert!(guard.is_valid());
            let releasing = tokio::spawn(async move {
                if is_dropped {
                    drop(guard)
                } else {
                    assert_eq!(guard.release().await, ReleaseOutcome::Released)
                }
            });
            let early = timeout(Duration::from_millis(500), said.recv()).await;
            assert!(early.is_err(), "{early:?} is sent while the renewal is under way");
            reply(renewal, Outcome::Integer(1));
            let release = said.recv().await.expect("it releases");
            assert!(matches!(release.command, Command::CompareAndDelete { .. }), "{release}");
            reply(release, Outcome::Integer(1));
            releasing.await?;
            assert!(timeout(Duration::from_secs(60), said.recv()).await.is_ok_and(|said| said.is_none()));
            Ok(())
        });
    }
}

#[test]
fn a_call_that_is_dropped_at_any_moment_leaves_nothing_behind_that_blocks_others() {
    simulate(picklock_sim::serve::redis::Settings::default(), |_| async {
        let mut granted_first = 0;
        for micros in (0..12_000).step_by(250) {
            let (first, second) = (locker(0, Settings::repaired()), locker(1, Settings::repaired()));
            // Both are connected.
            take(&first).await.release().await;
            take(&second).await.release().await;
            let cancelled = timeout(Duration::from_micros(micros), first.lock(LOCK)).await;
            granted_first += u32::from(cancelled.is_ok());
            drop(cancelled);
            let asked = Instant::now();
            let guard = take(&second).await;
            assert!(asked.elapsed() < Duration::from_secs(3), "after {micros} us: {:?}", asked.elapsed());
            guard.release().await;
            // Nor does it block the one whose call it was.
            take(&first).await.release().await;
        }
        assert!(
            (1..48).contains(&granted_first),
            "{granted_first} of 48 were granted before they were dropped"
        );
        Ok(())
    });
}

#[test]
fn a_waiter_that_gives_up_does_not_take_the_lock_later() {
    simulate(picklock_sim::serve::redis::Settings::default(), |_| async {
        let (first, second) = (locker(0, Settings::repaired()), locker(1, Settings::repaired()));
        let guard = take(&first).await;
        assert!(timeout(Duration::from_secs(1), second.lock(LOCK)).await.is_err());
        guard.release().await;
        sleep(Duration::from_secs(2)).await;
        // It got the lock in the background, and gave it back at once.
        assert!(first.try_lock(LOCK).await.expect("it is free").is_some());
        Ok(())
    });
}

#[test]
fn a_release_that_no_server_answers_is_of_unknown_outcome() {
    simulate(picklock_sim::serve::redis::Settings::default(), |servers| async move {
        let locker = locker(0, Settings::repaired());
        let guard = take(&locker).await;
        servers.strike(&Fault::Pause { node: S1, length: Micros::seconds(5) });
        assert_eq!(guard.release().await, ReleaseOutcome::Unknown);
        Ok(())
    });
}

#[test]
fn one_locker_is_one_thread() {
    simulate(picklock_sim::serve::redis::Settings::default(), |_| async {
        let locker = locker(0, Settings::repaired());
        let guard = take(&locker).await;
        assert_eq!(guard.thread_id().0, 0);
        assert_eq!(locker.lock(LockId(1)).await.map(|_| ()), Err(LockError::Busy));
        drop(guard);
        assert!(locker.lock(LockId(1)).await.is_ok());
        Ok(())
    });
}
