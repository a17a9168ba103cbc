//! What goes wrong, and what must not.

use crate::client::*;
use bytes::BytesMut;
use picklock_model::stores::zookeeper::{Log, Settings};
use picklock_model::time::Micros;
use picklock_sim::plans::plan::{Fault, Side, Target};
use picklock_sim::serve::zookeeper::settings;
use proptest::prelude::*;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

fn of(servers: &[u8]) -> Side {
    Side::Nodes(servers.iter().map(|server| Target::Server(*server)).collect())
}

#[test]
fn a_paused_server_answers_when_the_pause_is_over() {
    with_servers(1, settings(), async |ensemble| {
        let mut client = ensemble.client(0).await;
        client.create("/k", b"v", PERSISTENT).await;
        ensemble.servers.strike(&Fault::Pause { node: Target::Server(0), length: Micros::millis(600) });
        let began = ensemble.servers.now();
        assert_eq!(client.data("/k", false).await.0, b"v");
        assert!(ensemble.servers.now() - began >= Micros::millis(500), "nobody is answered");
    });
}

#[test]
fn what_was_sent_to_a_paused_server_is_done_though_its_client_has_gone() {
    with_servers(1, settings(), async |ensemble| {
        let mut client = ensemble.client(0).await;
        ensemble.servers.strike(&Fault::Pause { node: Target::Server(0), length: Micros::millis(600) });
        client.send(op::CREATE, create("/ghost", b"", EPHEMERAL)).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(client);
        let mut other = ensemble.client(0).await;
        assert!(other.exists("/ghost", false).await.is_some());
    });
}

#[test]
fn a_late_change_of_a_session_that_has_moved_on_is_not_done() {
    with_servers(3, settings(), async |ensemble| {
        let mut first = ensemble.client(2).await;
        ensemble.servers.strike(&Fault::Pause { node: Target::Server(2), length: Micros::millis(800) });
        first.send(op::CREATE, create("/late", b"", EPHEMERAL)).await;
        let mut second = first.again(ensemble.addresses[0]).await.expect("it goes on");
        assert!(timeout(Duration::from_secs(10), first.next()).await.expect("in time").is_none());
        second.ask(op::SYNC, Body::new().string("/")).await.ok();
        assert!(second.exists("/late", false).await.is_none());
    });
}

#[test]
fn a_crash_resets_connections_and_only_an_unsynced_log_forgets() {
    for (log, is_kept) in [(Log::Synced, true), (Log::Unsynced, false)] {
        with_servers(1, Settings { log, ..settings() }, async |ensemble| {
            let mut client = ensemble.client(0).await;
            client.create("/k", b"", PERSISTENT).await;
            client.create("/e", b"", EPHEMERAL).await;
            ensemble.servers.strike(&Fault::PowerLoss { node: Target::Server(0), restart_after: None });
            assert!(client.ping().await.is_none(), "its connection is reset");
            ensemble.servers.restart(0);
            let mut new = ensemble.client_again(0).await;
            assert_eq!(new.exists("/k", false).await.is_some(), is_kept);
            assert_eq!(
                new.exists("/e", false).await.is_some(),
                is_kept,
                "its session has its full time again"
            );
            let same = client.again(ensemble.addresses[0]).await;
            assert_eq!(same.is_some(), is_kept, "a client that has seen more is turned away");
        });
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_leader_that_is_cut_off_is_replaced_and_sessions_go_on() {
    with_servers(3, settings(), async |ensemble| {
        let (mut old, mut new) = (ensemble.client(0).await, ensemble.client(1).await);
        old.create("/k", b"before", PERSISTENT).await;
        new.create("/e", b"", EPHEMERAL).await;
        let cut =
            Fault::Cut { from: of(&[0]), to: of(&[1, 2]), both_ways: true, length: Micros::seconds(30) };
        ensemble.servers.strike(&cut);
        assert!(old.try_ask(op::SET_DATA, set("/k", b"never", -1)).await.is_none(), "it loses its quorum");
        let again = async {
            loop {
                if let Some(mut client) = new.again(ensemble.addresses[2]).await
                    && client
                        .try_ask(op::SET_DATA, set("/k", b"after", -1))
                        .await
                        .is_some_and(|reply| reply.error == 0)
                {
                    return client;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let mut new = timeout(Duration::from_secs(20), again).await.expect("another one leads");
        assert!(new.exists("/e", false).await.is_some());
        assert!(Client::connect_for(ensemble.addresses[0], 10_000).await.is_none(), "it takes nobody");
        ensemble.servers.heal();
        let mut old = ensemble.client_again(0).await;
        assert_eq!(old.data("/k", false).await.0, b"after");
    });
}

#[test]
fn a_reply_that_is_lost_takes_its_connection_with_it_after_the_change_was_done() {
    with_servers(1, settings(), async |ensemble| {
        let mut client = ensemble.client(0).await;
        ensemble.servers.strike(&Fault::LoseNext { from: of(&[0]), to: Side::Clients, count: 1 });
        assert!(client.try_ask(op::CREATE, create("/k", b"", PERSISTENT)).await.is_none());
        let mut again = client.again(ensemble.addresses[0]).await.expect("it goes on");
        assert!(again.exists("/k", false).await.is_some());
        assert_eq!(ensemble.servers.tally().lost, 1);
    });
}

#[test]
fn a_clock_that_runs_fast_ends_sessions_early_and_a_step_does_not() {
    with_servers(1, settings(), async |ensemble| {
        let (mut client, mut other) = (ensemble.client(0).await, ensemble.client(0).await);
        client.create("/e", b"", EPHEMERAL).await;
        ensemble.servers.strike(&Fault::ClockStep { node: Target::Server(0), by: Micros::seconds(100) });
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(other.exists("/e", false).await.is_some(), "sessions are counted by the monotonic clock");
        ensemble.servers.strike(&Fault::Drift { node: Target::Server(0), ppm: 20_000_000 });
        for _ in 0..100 {
            // Ten seconds are over in half of one.
            if other.ping().await.is_none() || other.exists("/e", false).await.is_none() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the session does not end");
    });
}

/// Sends bytes, and waits for the end of the connection, or until nothing more comes for a while.
async fn say(address: std::net::SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let _refused = stream.write_all(bytes).await;
    let _refused = stream.shutdown().await;
    let mut answer = Vec::new();
    let _reset = timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await.expect("it ends");
}

#[test]
fn what_is_no_request_harms_nobody() {
    with_servers(1, settings(), async |ensemble| {
        for said in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            b"",
            b"ru",
            b"\xff\xff\xff\xff",
            b"\x7f\xff\xff\xff....",
            &[0; 4096],
        ] {
            say(ensemble.addresses[0], said).await;
        }
        let mut client = ensemble.client(0).await;
        assert_eq!(client.children("/", false).await, ["zookeeper"]);
    });
}

/// Frames of a session as clients write them, to be damaged.
fn whole() -> Vec<u8> {
    let request = |xid: i32, kind: i32, body: Body| Body::new().int(xid).int(kind).more(body);
    let frames = [
        hello(0, 10_000, 0, &[0; 16]),
        request(1, op::CREATE, create("/a", b"x", EPHEMERAL_SEQUENTIAL)),
        request(
            2,
            op::MULTI,
            part(op::CHECK, at_version("/a", 0)).more(part(op::CREATE, create("/b", b"", 0))).more(done()),
        ),
        request(-8, op::SET_WATCHES, Body::new().long(1).strings(&["/a"]).strings(&["/c"]).strings(&["/"])),
        request(3, op::GET_CHILDREN_2, look("/", true)),
        request(4, op::SET_ACL, Body::new().string("/b").open().int(-1)),
        request(-2, op::PING, Body::new()),
        request(5, op::CLOSE, Body::new()),
    ];
    let mut bytes = BytesMut::new();
    for frame in frames {
        bytes.extend_from_slice(&(frame.0.len() as i32).to_be_bytes());
        bytes.extend_from_slice(&frame.0);
    }
    bytes.to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// A server that panics fails the test: its task does.
    #[test]
    fn damaged_requests_harm_nobody(
        streams in proptest::collection::vec(
            (proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), any::<prop::sample::Index>()),
            1..20,
        ),
    ) {
        with_servers(1, settings(), async |ensemble| {
            for (changes, end) in streams {
                let mut bytes = whole();
                for (at, byte) in changes {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                bytes.truncate(end.index(bytes.len()) + 1);
                say(ensemble.addresses[0], &bytes).await;
            }
            let mut client = ensemble.client(0).await;
            client.children("/", false).await;
        });
    }
}
