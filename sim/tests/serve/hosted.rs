//! The `redis` crate against simulated servers inside a turmoil simulation.

use picklock_model::stores::redis::{Layout, Persistence};
use picklock_model::time::Micros;
use picklock_sim::plans::plan::{Fault, Side, Target};
use picklock_sim::serve::redis::{Servers, Settings, serve};
use redis::aio::MultiplexedConnection;
use std::sync::LazyLock;
use std::time::Duration;
use turmoil::net::{TcpListener, TcpStream};

/// No password, the first database, RESP2. The future that serves a connection borrows it.
static INFO: LazyLock<redis::RedisConnectionInfo> = LazyLock::new(Default::default);

/// A connection, with the task that serves it.
struct Connection {
    redis: MultiplexedConnection,
    io: tokio::task::JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.io.abort();
    }
}

impl Connection {
    async fn make() -> redis::RedisResult<Connection> {
        Connection::make_to("redis").await
    }

    async fn make_to(host: &str) -> redis::RedisResult<Connection> {
        let stream = TcpStream::connect((host, 6379)).await?;
        let (redis, io) = MultiplexedConnection::new(&INFO, stream).await?;
        Ok(Connection { redis, io: tokio::spawn(io) })
    }

    async fn set(&mut self, value: &str) -> redis::RedisResult<Option<String>> {
        redis::cmd("SET").arg(&["lock", value, "NX", "PX", "10000"]).query_async(&mut self.redis).await
    }

    async fn get(&mut self) -> redis::RedisResult<Option<String>> {
        redis::cmd("GET").arg("lock").query_async(&mut self.redis).await
    }
}

fn host(sim: &mut turmoil::Sim<'_>, servers: &Servers) {
    let servers = servers.clone();
    sim.host("redis", move || {
        let servers = servers.clone();
        async move { match serve(&servers, 0, TcpListener::bind("0.0.0.0:6379").await?).await? {} }
    });
}

fn simulation<'a>() -> turmoil::Sim<'a> {
    turmoil::Builder::new().rng_seed(7).simulation_duration(Duration::from_secs(120)).build()
}

const S1: Target = Target::Server(0);

#[test]
fn a_key_dies_in_the_simulations_time() {
    let (mut sim, servers) = (simulation(), Servers::new(1, Settings::default()));
    host(&mut sim, &servers);
    sim.client("application", async {
        let mut connection = Connection::make().await?;
        assert_eq!(connection.set("A").await?.as_deref(), Some("OK"));
        assert_eq!(connection.set("B").await?, None);
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert_eq!(connection.set("B").await?, None);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(connection.set("B").await?.as_deref(), Some("OK"));
        Ok(())
    });
    sim.run().expect("nobody fails");
}

#[test]
fn a_reply_is_lost_after_the_command_was_run() {
    let (mut sim, servers) = (simulation(), Servers::new(1, Settings::default()));
    host(&mut sim, &servers);
    sim.client("application", async move {
        let mut connection = Connection::make().await?;
        servers.strike(&Fault::LoseNext { from: Side::Servers, to: Side::Clients, count: 1 });
        connection.set("A").await.expect_err("the connection breaks");
        assert_eq!(Connection::make().await?.get().await?.as_deref(), Some("A"));
        Ok(())
    });
    sim.run().expect("nobody fails");
}

#[test]
fn a_pause_and_a_cut_delay_and_lose_nothing() {
    let (mut sim, servers) = (simulation(), Servers::new(1, Settings::default()));
    host(&mut sim, &servers);
    sim.client("application", async move {
        // The crate's own patience with a reply is shorter.
        let length = Micros::millis(300);
        let mut connection = Connection::make().await?;
        for fault in [Fault::Pause { node: S1, length }, Fault::Isolate { node: S1, length }] {
            servers.strike(&fault);
            let asked = tokio::time::Instant::now();
            connection.get().await?;
            let waited = asked.elapsed();
            assert!(
                waited >= Duration::from_millis(299) && waited < Duration::from_millis(500),
                "{waited:?}"
            );
        }
        Ok(())
    });
    sim.run().expect("nobody fails");
}

#[test]
fn what_a_crashed_host_keeps_is_for_the_persistence_to_say() {
    for (persistence, power_lost, kept) in [
        (Persistence::None, false, false),
        (Persistence::AofEverySecond, false, true),
        (Persistence::AofEverySecond, true, false),
        (Persistence::AofAlways, true, true),
        (Persistence::Rdb, false, false),
        (Persistence::Rdb, true, false),
    ] {
        let settings = Settings { persistence, ..Settings::default() };
        let (mut sim, servers) = (simulation(), Servers::new(1, settings));
        host(&mut sim, &servers);
        let strikes = servers.clone();
        sim.client("before", async move {
            assert_eq!(Connection::make().await?.set("A").await?.as_deref(), Some("OK"));
            if power_lost {
                strikes.strike(&Fault::PowerLoss { node: S1, restart_after: None });
            }
            Ok(())
        });
        sim.run().expect("nobody fails");
        sim.crash("redis");
        sim.bounce("redis");
        sim.client("after", async move {
            let expected = kept.then(|| "A".to_owned());
            assert_eq!(Connection::make().await?.get().await?, expected, "{persistence:?}");
            Ok(())
        });
        sim.run().expect("nobody fails");
    }
}

/// Row R7 of the catalogue, as a client sees it.
#[test]
fn a_failover_to_a_replica_that_has_not_heard_of_the_lock_makes_two_holders() {
    for is_cut in [true, false] {
        let layout = Layout::Replicated { ping_period: Micros::millis(100), down_after: Micros::seconds(1) };
        let (mut sim, servers) = (simulation(), Servers::new(2, Settings { layout, ..Settings::default() }));
        for (server, name) in [(0, "master"), (1, "replica")] {
            let servers = servers.clone();
            sim.host(name, move || {
                let servers = servers.clone();
                async move { match serve(&servers, server, TcpListener::bind("0.0.0.0:6379").await?).await? {} }
            });
        }
        sim.client("application", async move {
            if is_cut {
                let (from, to) = (Side::Nodes([S1].into_iter().collect()), Side::Servers);
                servers.strike(&Fault::Cut { from, to, both_ways: true, length: Micros::millis(500) });
            }
            assert_eq!(Connection::make_to("master").await?.set("A").await?.as_deref(), Some("OK"));
            tokio::time::sleep(Duration::from_millis(50)).await;
            servers.strike(&Fault::Crash { node: S1, restart_after: None });
            let mut replica = Connection::make_to("replica").await?;
            assert_eq!(replica.set("B").await.expect_err("it is a replica").code(), Some("READONLY"));
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert_eq!(replica.set("B").await?.is_some(), is_cut);
            Ok(())
        });
        sim.run().expect("nobody fails");
    }
}

#[test]
fn the_same_simulation_twice_is_the_same() {
    let run = || {
        let (mut sim, servers) = (simulation(), Servers::new(1, Settings::default()));
        host(&mut sim, &servers);
        let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        for name in ["A", "B", "C"] {
            let (told, servers) = (told.clone(), servers.clone());
            sim.client(name, async move {
                let mut connection = Connection::make().await?;
                for round in 0..5 {
                    let got = connection.set(name).await?;
                    told.lock().expect("nobody panics").push((name, round, got, turmoil::sim_elapsed()));
                    servers.strike(&Fault::Pause { node: S1, length: Micros::millis(30) });
                    tokio::time::sleep(Duration::from_millis(2_500)).await;
                }
                Ok(())
            });
        }
        sim.run().expect("nobody fails");
        drop(sim);
        std::sync::Arc::into_inner(told).expect("nobody else keeps it").into_inner().expect("nobody panics")
    };
    let (first, second) = (run(), run());
    assert!(
        first.iter().any(|(_, _, got, _)| got.is_some()) && first.iter().any(|(_, _, got, _)| got.is_none())
    );
    assert_eq!(first, second);
}
