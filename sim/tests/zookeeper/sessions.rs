//! Who has which session, and until when.

use crate::client::*;
use picklock_model::time::Micros;
use picklock_sim::serve::zookeeper::settings;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn sleep_ms(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

#[test]
fn a_timeout_is_bounded() {
    with_servers(1, settings(), async |ensemble| {
        for (asked, given) in [(1, 4_000), (10_000, 10_000), (i32::MAX, 40_000), (-5, 4_000)] {
            let client = Client::connect_for(ensemble.addresses[0], asked).await.expect("it takes clients");
            assert_eq!(client.timeout_ms, given);
        }
        ensemble.servers.bound_sessions(300, 300);
        let client = Client::connect_for(ensemble.addresses[0], 10_000).await.expect("it takes clients");
        assert_eq!(client.timeout_ms, 300);
    });
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_session_without_a_sign_of_life_ends_and_takes_what_is_ephemeral_with_it() {
    with_servers(3, settings(), async |ensemble| {
        ensemble.servers.bound_sessions(1_500, 1_500);
        let (mut silent, mut watcher) = (ensemble.client(1).await, ensemble.client(2).await);
        silent.create("/e", b"", EPHEMERAL).await;
        watcher.ask(op::SYNC, Body::new().string("/")).await.ok();
        assert!(watcher.exists("/e", true).await.is_some());
        let began = ensemble.servers.now();
        let waited = || ensemble.servers.now() - began;
        while watcher.events.is_empty() {
            watcher.ping().await.expect("it goes on");
            sleep_ms(50).await;
            assert!(waited() < Micros::seconds(15), "it does not end");
        }
        assert!(waited() > Micros::seconds(1), "it ends after {}", waited());
        assert_eq!(watcher.events, [(2, "/e".to_owned())]);
        assert!(silent.answer().await.is_none(), "the connection is closed");
        let over = silent.again(ensemble.addresses[0]).await.expect("it is told so");
        assert_eq!((over.timeout_ms, over.session), (0, 0));
    });
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn pings_keep_a_session_also_on_a_follower() {
    with_servers(3, settings(), async |ensemble| {
        ensemble.servers.bound_sessions(1_500, 1_500);
        let mut client = ensemble.client(2).await;
        client.create("/e", b"", EPHEMERAL).await;
        for _ in 0..16 {
            sleep_ms(250).await;
            assert!(client.ping().await.is_some());
        }
        assert!(client.exists("/e", false).await.is_some());
    });
}

#[test]
fn a_session_goes_on_on_another_server_with_its_password_only() {
    with_servers(3, settings(), async |ensemble| {
        let mut first = ensemble.client(0).await;
        first.create("/e", b"", EPHEMERAL).await;
        let stranger = Client::begin(ensemble.addresses[1], 0, 10_000, first.session, &[7; 16]).await;
        assert_eq!(stranger.expect("it is told so").timeout_ms, 0, "another password");
        let nobody = Client::begin(ensemble.addresses[1], 0, 10_000, 4_711, &[7; 16]).await;
        assert_eq!(nobody.expect("it is told so").timeout_ms, 0, "no session has this number");
        let mut second = loop {
            // It may not have come as far as the first one.
            if let Some(second) = first.again(ensemble.addresses[1]).await {
                break second;
            }
            sleep_ms(10).await;
        };
        assert_eq!((second.session, second.timeout_ms), (first.session, 10_000));
        assert!(second.exists("/e", false).await.is_some());
        // The old connection is good for reads; a change is not taken from it any more.
        assert!(first.exists("/e", false).await.is_some());
        assert!(first.try_ask(op::DELETE, at_version("/e", -1)).await.is_none());
        assert!(second.exists("/e", false).await.is_some());
        let third = second.again(ensemble.addresses[1]).await.expect("it goes on");
        assert!(second.answer().await.is_none(), "one connection of a session on a server");
        assert_eq!(third.session, second.session);
    });
}

#[test]
fn a_session_that_is_closed_is_over_everywhere() {
    with_servers(3, settings(), async |ensemble| {
        let (mut closing, mut other) = (ensemble.client(1).await, ensemble.client(0).await);
        closing.create("/e", b"", EPHEMERAL).await;
        assert!(other.exists("/e", true).await.is_some());
        assert_eq!(closing.ask(op::CLOSE, Body::new()).await.error, 0);
        assert!(closing.answer().await.is_none(), "the connection ends");
        assert_eq!(other.event().await, (2, "/e".to_owned()));
        assert_eq!(closing.again(ensemble.addresses[0]).await.expect("it is told so").timeout_ms, 0);
    });
}

#[test]
fn who_has_seen_more_than_a_server_is_turned_away() {
    with_servers(1, settings(), async |ensemble| {
        let client = ensemble.client(0).await;
        let ahead = Client::begin(ensemble.addresses[0], client.zxid + (1 << 40), 10_000, 0, &[0; 16]).await;
        assert!(ahead.is_none());
    });
}

#[test]
fn requests_are_answered_in_the_order_in_which_they_come() {
    with_servers(3, settings(), async |ensemble| {
        let mut client = ensemble.client(1).await;
        let mut sent = Vec::new();
        for n in 0..20 {
            sent.push(client.send(op::CREATE, create(&format!("/n{n}"), b"", PERSISTENT)).await);
            sent.push(client.send(op::EXISTS, look(&format!("/n{n}"), false)).await);
            client.send_as(-2, op::PING, Body::new()).await;
            sent.push(-2);
        }
        for xid in sent {
            let reply = client.answer().await.expect("it answers");
            assert_eq!((reply.xid, reply.error), (xid, 0));
        }
    });
}

#[test]
fn there_is_room_for_256_sessions_and_again_for_one_when_one_is_over() {
    with_servers(1, settings(), async |ensemble| {
        let mut clients = Vec::new();
        for _ in 0..256 {
            clients.push(ensemble.client(0).await);
        }
        assert!(Client::connect_for(ensemble.addresses[0], 10_000).await.is_none());
        let mut last = clients.pop().expect("there are some");
        last.ask(op::CLOSE, Body::new()).await;
        let mut new = ensemble.client(0).await;
        assert_ne!(new.session, last.session);
        new.create("/e", b"", EPHEMERAL).await;
        assert_eq!(last.again(ensemble.addresses[0]).await.expect("it is told so").timeout_ms, 0);
        assert!(new.exists("/e", false).await.is_some());
    });
}

#[test]
fn words_of_four_letters_are_answered() {
    with_servers(1, settings(), async |ensemble| {
        for (word, expected) in [
            ("ruok", "imok"),
            ("srvr", "Mode: standalone"),
            // Those that have ended are not among them.
            ("srvr", "Connections: 1\n"),
            ("mntr", "zk_znode_count\t1"),
            ("wchp", "whitelist"),
        ] {
            let mut stream = TcpStream::connect(ensemble.addresses[0]).await.expect("it listens");
            stream.write_all(word.as_bytes()).await.expect("it reads");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("it ends");
            assert!(answer.contains(expected), "{word}: {answer}");
        }
    });
}
