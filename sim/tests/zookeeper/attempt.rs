//! `picklock try zookeeper`, and as its client this very test: the lock recipe by hand.
//!
//! With kazoo and Curator, `attempt/drivers.rs` tries it.

use crate::client::{Client, EPHEMERAL_SEQUENTIAL, PERSISTENT, create, op};
use crate::tried::{ask, breaks_again, connect, env, folder, plan_file, said, tried};
use std::time::Duration;
use tokio::time::sleep;

const SERVERS: &str = "PICKLOCK_ZOOKEEPER";

/// No test of its own: takes the lock again and again. While it waits it looks who is before it, which is a sign of life, too.
#[test]
fn client_of_a_znode() {
    let Ok(servers) = std::env::var(SERVERS) else { return };
    let mut witness = connect(&env("PICKLOCK_WITNESS"));
    let timeout_ms = env("PICKLOCK_LEASE_MS").parse().expect("milliseconds");
    let address = servers.split(',').next().expect("a server").parse().expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut client = Client::connect_for(address, timeout_ms).await.expect("it takes clients");
        assert_eq!(client.timeout_ms, timeout_ms, "every session has the timeout of the call");
        // Whoever comes second finds it there.
        let _there = client.ask(op::CREATE, create("/orders", b"", PERSISTENT)).await;
        while ask(&mut witness, "want orders").is_some() {
            let path = client.create("/orders/n-", b"", EPHEMERAL_SEQUENTIAL).await;
            let mine = path.rsplit('/').next().expect("a name");
            while client.children("/orders", false).await.first().is_none_or(|first| first != mine) {
                sleep(Duration::from_millis(10)).await;
            }
            let number: i64 = mine.trim_start_matches("n-").parse().expect("a number");
            ask(&mut witness, &format!("enter orders {number}"));
            sleep(Duration::from_millis(20)).await;
            ask(&mut witness, &format!("write orders {number}"));
            ask(&mut witness, "leave orders");
            client.delete(&path).await;
        }
    });
}

const CLIENT: &str = "attempt::client_of_a_znode";

#[test]
fn a_client_that_outlives_its_session_breaks_the_lock_and_its_plan_breaks_it_again() {
    let folder = folder("zookeeper");
    let (plan, out, record) =
        (plan_file(&folder, 3_000_000), folder.join("out"), folder.join("record.jsonl"));
    let arguments = ["zookeeper", "--json", "--lease", "600", "--out", out.to_str().expect("UTF-8")];
    let more = ["--plan", &plan, "--record", record.to_str().expect("UTF-8")];
    let round = breaks_again(&arguments, &more, "3s", CLIENT);
    let page = std::fs::read_to_string(round["picture"].as_str().expect("a picture")).expect("it is there");
    assert!(
        page.contains("try zookeeper --servers 3 --clients 2 --lease 600 --plan"),
        "the call that does it again"
    );
    // The end of the session is what let the other one in: a cause, and a step of its server.
    let because = round["violations"][0]["because"].as_array().cloned().unwrap_or_default();
    let ended = because.iter().filter_map(|line| line.as_str()).find(|line| line.contains("'s session at "));
    assert!(ended.is_some_and(|line| line.starts_with('s') && line.contains(" ended ")), "{because:?}");
    assert!(page.contains("s session is over: nothing came from it in time"), "{page}");
    let lines = std::fs::read_to_string(&record).expect("a record");
    for what in [
        "connected",
        "asked",
        "told",
        "wants",
        "entered",
        "wrote",
        "left",
        "struck",
        "session-over",
        "broken",
    ] {
        assert!(lines.contains(&format!("\"what\":\"{what}\"")), "no line says {what}");
    }
    assert!(lines.contains(r#""client":"B""#), "who asks is known by the port");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn without_faults_nothing_breaks() {
    let arguments = ["zookeeper", "--servers", "1", "--rounds", "1", "--round", "2", "--faults", "none"];
    let output = tried(&arguments, CLIENT);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("not broken in 1 round"), "{}", said(&output));
}

/// No test of its own: has a session, and tells nobody what for.
#[test]
fn client_without_a_word() {
    let Ok(servers) = std::env::var(SERVERS) else { return };
    let address = servers.split(',').next().expect("a server").parse().expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut client = Client::connect(address).await;
        while client.ping().await.is_some() {
            sleep(Duration::from_millis(50)).await;
        }
    });
}

#[test]
fn without_a_witness_there_is_no_verdict() {
    let arguments = ["zookeeper", "--rounds", "1", "--round", "1", "--faults", "none"];
    let output = tried(&arguments, "attempt::client_without_a_word");
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(said(&output).contains("no client told a witness what it holds"), "{}", said(&output));
}

#[test]
fn two_servers_are_no_ensemble() {
    let output = tried(&["zookeeper", "--servers", "2"], CLIENT);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("--servers 2: it takes 1, 3 or 5"), "{}", said(&output));
}
