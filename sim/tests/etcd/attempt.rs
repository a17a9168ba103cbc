//! `picklock try etcd`, and as its client this very test: a lease that is kept alive, and the members' own lock.
//!
//! With Go's client and others, `attempt/drivers.rs` tries it.

use crate::client::Client;
use crate::pb;
use crate::tried::{ask, breaks_again, connect, env, folder, plan_file, said, tried};
use std::time::Duration;
use tokio::time::sleep;

/// No test of its own: takes the lock again and again.
#[test]
fn client_of_a_lease() {
    let Ok(members) = std::env::var("PICKLOCK_ETCD") else { return };
    let mut witness = connect(&env("PICKLOCK_WITNESS"));
    let lease_ms: i64 = env("PICKLOCK_LEASE_MS").parse().expect("milliseconds");
    let address = members.split(',').next().expect("a member").parse().expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = Client::connect(address).await;
        let lease = client.grant(0, lease_ms / 1_000).await.expect("a lease").id;
        let keeper = client.clone();
        let keeps = tokio::spawn(async move {
            while keeper.keep_alive(lease).await > 0 {
                sleep(Duration::from_millis(300)).await;
            }
        });
        while ask(&mut witness, "want orders").is_some() {
            let held = client.lock("orders", lease).await.expect("it is granted");
            let token = held.header.as_ref().map_or(0, |header| header.revision);
            ask(&mut witness, &format!("enter orders {token}"));
            sleep(Duration::from_millis(20)).await;
            ask(&mut witness, &format!("write orders {token}"));
            ask(&mut witness, "leave orders");
            let unlocked: Result<pb::UnlockResponse, _> =
                client.call("/v3lockpb.Lock/Unlock", pb::UnlockRequest { key: held.key }).await;
            unlocked.expect("it is given back");
        }
        keeps.abort();
    });
}

const CLIENT: &str = "attempt::client_of_a_lease";

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_client_that_outlives_its_lease_breaks_the_lock_and_its_plan_breaks_it_again() {
    let folder = folder("etcd");
    let (plan, out, record) =
        (plan_file(&folder, 6_000_000), folder.join("out"), folder.join("record.jsonl"));
    let arguments = ["etcd", "--json", "--out", out.to_str().expect("UTF-8")];
    let more = ["--plan", &plan, "--record", record.to_str().expect("UTF-8")];
    let round = breaks_again(&arguments, &more, "6s", CLIENT);
    let page = std::fs::read_to_string(round["picture"].as_str().expect("a picture")).expect("it is there");
    assert!(
        page.contains("try etcd --servers 3 --clients 2 --lease 2000 --plan"),
        "the call that does it again"
    );
    let lines = std::fs::read_to_string(&record).expect("a record");
    for what in ["connected", "asked", "told", "wants", "entered", "wrote", "left", "struck", "broken"] {
        assert!(lines.contains(&format!("\"what\":\"{what}\"")), "no line says {what}");
    }
    assert!(
        lines.contains(r#""text":"lock orders with lease "#) && lines.contains(r#""client":"B""#),
        "who asks for what is known"
    );
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn without_faults_nothing_breaks() {
    let arguments = ["etcd", "--servers", "1", "--rounds", "1", "--round", "2", "--faults", "none"];
    let output = tried(&arguments, CLIENT);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("not broken in 1 round"), "{}", said(&output));
}

#[test]
fn etcd_counts_leases_in_whole_seconds() {
    let output = tried(&["etcd", "--lease", "1500"], CLIENT);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(
        said(&output).contains("--lease 1500: an etcd counts leases in whole seconds"),
        "{}",
        said(&output)
    );
}
