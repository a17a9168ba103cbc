//! An example for users: an application that does its work under a guard, while hosts crash and links break.
//!
//! Three workers count up a ledger: each reads it and writes it back, one more. Two at once would lose an update. They
//! hold the lock of the Redlock article, *Distributed Locks with Redis*, on a simulated Redis, which speaks RESP; the ledger turns down
//! whoever comes with a smaller fencing token than it has seen. Everything runs inside a turmoil simulation, in virtual time.

use picklock_model::locks::redis_single::{RedisSingle, Settings};
use picklock_model::stores::redis::Persistence;
use picklock_model::time::Micros;
use picklock_properties::LockId;
use picklock_sim::hosted::{Client, Guard, Locker, Names, Simulated};
use picklock_sim::serve::redis::{self as served, Servers, serve};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::time::{sleep, timeout};
use turmoil::net::{TcpListener, TcpStream};

const LEDGER_LOCK: LockId = LockId(0);
const WORKERS: u8 = 3;

/// What is worked on, and what happened to it.
#[derive(Debug, Default)]
struct Ledger {
    count: u64,
    largest_fence: i64,
    updates: u64,
    turned_down: u64,
}

impl Ledger {
    /// `read FENCE`, or `write FENCE COUNT`; the answer is a line, too. A read shows its token as well: a write that
    /// comes after it with a smaller one would change what was read.
    fn answer(&mut self, line: &str, checks_fences: bool) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        let fence = words[1].parse().expect("a fence");
        if checks_fences && fence < self.largest_fence {
            self.turned_down += 1;
            return "stale".to_owned();
        }
        self.largest_fence = fence;
        match words[..] {
            ["read", _] => self.count.to_string(),
            ["write", _, count] => {
                self.count = count.parse().expect("a count");
                self.updates += 1;
                "written".to_owned()
            }
            _ => panic!("nobody says {line:?}"),
        }
    }
}

async fn keep_ledger(ledger: Rc<RefCell<Ledger>>, checks_fences: bool) -> turmoil::Result {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let ledger = ledger.clone();
        tokio::task::spawn_local(async move {
            let mut stream = BufStream::new(stream);
            let mut line = String::new();
            while stream.read_line(&mut line).await.is_ok_and(|length| length > 0) {
                let answer = ledger.borrow_mut().answer(line.trim(), checks_fences);
                line.clear();
                let written = stream.write_all(format!("{answer}\n").as_bytes()).await;
                if written.is_err() || stream.flush().await.is_err() {
                    return;
                }
            }
        });
    }
}

/// Asks the ledger one thing.
async fn ask(line: &str) -> std::io::Result<String> {
    let mut stream = BufStream::new(TcpStream::connect("ledger:80").await?);
    stream.write_all(format!("{line}\n").as_bytes()).await?;
    stream.flush().await?;
    let mut answer = String::new();
    stream.read_line(&mut answer).await?;
    Ok(answer.trim().to_owned())
}

/// The work under the lock: reads, thinks, writes back one more.
async fn count_up(guard: &Guard, thinks: Duration) -> std::io::Result<()> {
    let fence = guard.fence().expect("this lock gives tokens").0;
    let count = ask(&format!("read {fence}")).await?.parse::<u64>().map_err(std::io::Error::other)?;
    sleep(thinks).await;
    ask(&format!("write {fence} {}", count + 1)).await?;
    Ok(())
}

/// A worker for as long as its process lives. `minds` whether its guard says that the lock is lost.
async fn work(thread: u8, life: u32, minds: bool) -> turmoil::Result {
    let network = Simulated::servers(["redis"], 6379);
    // Another signature in every life of the process: random, outside of a simulation.
    let names = Names::new(["ledger"], format!("worker-{thread}-{life}"));
    let settings = Settings {
        ttl: Some(Micros::seconds(2)),
        validity_margin: Some(Micros::millis(50)),
        ..Settings::repaired()
    };
    let locker = Locker::connect_redis::<RedisSingle, _>(Client::new(thread, 1), settings, &network, names);
    for round in 0_u64.. {
        let guard = locker.lock(LEDGER_LOCK).await?;
        // Every fifth piece of work takes longer than the lease.
        let thinks = Duration::from_millis(if (round + u64::from(thread)) % 5 == 4 { 4_000 } else { 100 });
        tokio::select! {
            biased;
            () = guard.lost(), if minds => {}
            // The ledger may be out of reach for a while; work that takes too long is given up.
            _done = timeout(Duration::from_secs(10), count_up(&guard, thinks)) => {}
        }
        guard.release().await;
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// A minute of work, in which every worker is cut off from Redis once and crashed once, and Redis crashes twice.
fn a_minute(checks_fences: bool, minds: bool) -> Ledger {
    let mut sim = turmoil::Builder::new()
        .rng_seed(1)
        .tick_duration(Duration::from_millis(5))
        .simulation_duration(Duration::from_secs(120))
        .build();
    let ledger = Rc::new(RefCell::new(Ledger::default()));
    let kept = ledger.clone();
    sim.host("ledger", move || keep_ledger(kept.clone(), checks_fences));
    let settings = served::Settings { persistence: Persistence::AofAlways, ..served::Settings::default() };
    let servers = Servers::new(1, settings);
    sim.host("redis", move || {
        let servers = servers.clone();
        async move { match serve(&servers, 0, TcpListener::bind("0.0.0.0:6379").await?).await? {} }
    });
    let name = |thread: u8| format!("worker-{thread}");
    for thread in 0..WORKERS {
        let lives = Cell::new(0);
        sim.host(name(thread), move || {
            lives.set(lives.get() + 1);
            work(thread, lives.get(), minds)
        });
    }
    let run = |seconds: u64, sim: &mut turmoil::Sim<'_>| {
        let until = sim.elapsed() + Duration::from_secs(seconds);
        while sim.elapsed() < until {
            sim.step().expect("no host fails");
        }
    };
    for thread in 0..WORKERS {
        run(7, &mut sim);
        sim.partition(name(thread), "redis");
        run(3, &mut sim);
        sim.repair(name(thread), "redis");
        run(5, &mut sim);
        sim.crash(name(thread));
        run(1, &mut sim);
        sim.bounce(name(thread));
        if thread > 0 {
            sim.crash("redis");
            run(1, &mut sim);
            sim.bounce("redis");
        }
    }
    run(10, &mut sim);
    drop(sim);
    Rc::into_inner(ledger).expect("nobody else keeps it").into_inner()
}

#[test]
fn under_a_guard_with_fencing_no_update_is_lost_whatever_breaks() {
    for minds in [true, false] {
        let ledger = a_minute(true, minds);
        assert_eq!(ledger.count, ledger.updates, "{ledger:?}");
        assert!(ledger.count > 50, "little was done: {ledger:?}");
        assert!(minds || ledger.turned_down > 0, "no token was needed: {ledger:?}");
    }
}

#[test]
fn who_goes_on_when_the_lease_is_lost_loses_updates_without_fencing() {
    let ledger = a_minute(false, false);
    assert!(ledger.count < ledger.updates, "{ledger:?}");
}
