//! What can be set otherwise than it is registered.

use super::{document, run};
use serde_json::{Value, json};

fn refused(line: &str, said: &str) {
    let ended = run(line);
    assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{line}: {}", ended.stderr);
    assert!(ended.stderr.contains(said), "{line}: {}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{line}: {}", ended.stderr);
}

#[test]
fn what_is_set_is_what_runs() {
    let swept = |more: &str| document(&format!("sweep redis-single --faults crash --watch 0 {more}"));
    assert_eq!(swept("")["verdict"], "not-seen");
    // As Redis ships: without a log, a server that is killed has forgotten every key.
    let forgetful = swept("--set store.persistence=None");
    assert_eq!(forgetful["set"], json!(["store.persistence=None"]));
    assert_eq!(forgetful["verdict"], "violated");
    let token = forgetful["violations"][0]["token"].as_str().expect("a token");
    let replayed = document(&format!("replay {token}"));
    assert_eq!(
        replayed["violation"]["property"], forgetful["violations"][0]["property"],
        "the token has it, too"
    );

    let set = document("check redis-single --set ttl=2999ms")["settings"].clone();
    assert!(set.as_array().expect("a list").contains(&json!("ttl=2999000")), "{set}");
}

/// Each seed of a sweep has its own use, unless it is told not to.
#[test]
fn a_sweep_says_that_its_seeds_have_not_exactly_the_use_that_was_set() {
    let swept =
        |more: &str| run(&format!("sweep redlock --faults none --seeds 0..2 --watch 0 {more}")).stdout;
    let drawn = swept("--set clients=1");
    assert!(drawn.contains("\nuse       1 client") && drawn.contains("--set varies=false"), "{drawn}");
    for exact in ["", "--set ttl=5s", "--set clients=2 --set varies=false"] {
        assert!(!swept(exact).contains("\nuse "), "{exact}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_space_has_the_holds_the_latency_and_the_losses_that_are_asked_for() {
    let explored = |more: &str| document(&format!("check redis-single --drop no-loss {more}"));
    let usual = explored("");
    assert_eq!(usual["verdict"], "holds");
    let more = explored("--times 2");
    assert!(more["states"].as_u64() > usual["states"].as_u64(), "{more}");
    let allowed = more["allowed"].to_string();
    assert!(allowed.contains("a message is lost up to 2 times"), "{allowed}");
    let slow = explored("--latency 1");
    assert_eq!(slow["time"], "in ticks of a second; messages take up to a tick");
    let hold = explored("--hold 2 --drop stops-in-time");
    let used = hold["used"].as_str().unwrap_or_default();
    assert!(used.contains("hold 2s"), "{used}");
    // Work that does not fit into the lease, of a lock that does not look at it.
    let verdict = |hold: u8| document(&format!("check redis-single --hold {hold}"))["verdict"].clone();
    assert_eq!([verdict(1), verdict(5)], ["holds", "violated"]);
}

#[test]
fn what_cannot_be_set_is_refused_in_a_sentence() {
    for (line, said) in [
        ("sweep redlock --set ttl", "--set ttl: it takes NAME=VALUE, such as ttl=5s"),
        ("sweep redlock --set ttk=5s", "--set ttk=5s: redlock has no setting ttk; the nearest is ttl"),
        ("sweep redlock --set ttl=5", "--set ttl=5: it is a time: 5s, 100ms, 250us, or 0"),
        ("sweep redlock --set ttl=86401s", "--set ttl=86401s: it may be a day at most, 86400s"),
        ("check redlock --set clients=3", "--set clients=3: check has options for it, --clients, --servers"),
        ("sweep redlock --set ttl=soon", "--set ttl=soon: it is a time"),
        ("sweep redlock --set clients=2s", "--set clients=2s: it is no time, but counts"),
        ("sweep redlock --set clients=0", "--set clients=0: "),
        ("sweep redlock --set clients=1000", "--set clients=1000: it takes a whole number, 1 to 128"),
        ("sweep redlock --set clients=many", "--set clients=many: it takes a whole number, 1 to 128"),
        ("sweep redlock --set servers=999", "--set servers=999: it takes a whole number, 1 to 9"),
        ("sweep redlock --set servers=0", "--set servers=0: 0 servers: a store has 1 to 9"),
        ("sweep redlock --set hold=none", "--set hold=none: it is a time: 5s"),
        ("sweep redlock --set ttl=99999999999999999s", "it may be a day at most, 86400s"),
        ("check redis-single --servers 2", "--servers 2: redis-single is not checked with another number"),
        (
            "check zookeeper-lock --set fence=Check",
            "--set fence=Check: it does nothing here: it goes with a write inside",
        ),
        (
            "check zookeeper-lock --set fence=Czxid --property fenced-resource",
            "--set fence=Czxid: it does nothing here: the resource does not look at the tokens",
        ),
        ("check consul-lock --drop stops-in-time", "--drop stops-in-time: "),
        ("check redlock --set varies=false", "--set varies=false: a check draws nothing"),
        ("check redlock --rounds 9999999", "1 to 254, or endless"),
        // The number that stands for no end.
        ("check redlock --rounds 255", "1 to 254, or endless"),
        ("check redlock --rounds 0", "1 to 254, or endless"),
        ("ttl --skew 1000", "0 to 9"),
        ("ttl --skew 1.5", "0 to 9"),
        ("replay redlock:pause:70 --last -1", "0 or more"),
        ("replay redlock:pause:3:fifo:x", "has too many parts: a run is LOCK:FAULTS:SEED"),
        ("replay redlock:pause:70 --out x.pdf", "--out x.pdf: nothing is written as .pdf"),
        ("bench --svg /dev/null", "--svg /dev/null: it cannot be written: it is a device or a pipe"),
        ("try --record /dev/null -- true", "--record /dev/null: cannot be written: it is a device or a pipe"),
        ("man --json", "--json has nothing to say about it"),
        ("sweep redlock --set releases=maybe", "--set releases=maybe: it is true or false"),
        ("sweep redlock --set store.persistence=Sometimes", "--set store.persistence=Sometimes: "),
        ("sweep redlock --set promises=none", "--set promises=none: redlock has no setting promises"),
        ("check cassandra-queue --hold 2", "--hold 2: cassandra-queue is checked without time here"),
        ("check cassandra-queue --latency 1", "--latency 1: cassandra-queue is checked without time here"),
        ("check redis-single --hold 21", "--hold 21: it takes 0 to 20 ticks"),
        ("check redis-single --latency 6", "--latency 6: it takes 0 to 5 ticks"),
        ("check redis-single --times 9", "--times 9: it takes 1 to 8"),
        ("check cassandra-queue --times 2", "--times 2: nothing is let in that strikes a number of times"),
        ("check cas-variable --hold 2", "--hold 2: cas-variable is not a lock"),
        (
            "widen lease-key --let-in losse",
            "no kind of fault is called \"losse\"; the nearest name is losses",
        ),
        ("widen lemma-1 --let-in drifts", "--let-in drifts: no such claim has these"),
    ] {
        refused(line, said);
    }
}

#[test]
fn only_claims_that_a_fault_strikes_are_widened_if_so_wished() {
    let widened = super::rows("widen lemma-1 --let-in crashes,losses --max-states 100 -j 1");
    let dropped: std::collections::BTreeSet<&str> =
        widened.iter().filter_map(|row| row["dropped"].as_str()).collect();
    assert_eq!(dropped.into_iter().collect::<Vec<_>>(), ["no-crash", "no-loss"]);
}

#[test]
fn a_verdict_says_what_a_lock_is_checked_without() {
    let text = run("check cassandra-lwt --progress --property deadlock-freedom --drop no-crash");
    assert_eq!(text.code, 1, "{}", text.stdout);
    let said = text.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("without request_timeout, ttl_seconds"), "{said}");
    assert!(said.contains("--drop no-expiry brings its lease back"), "{said}");
    let line = "check cassandra-lwt --progress --property deadlock-freedom --drop no-crash --drop no-expiry";
    let verdict: Value = document(line)["verdict"].clone();
    assert_eq!(verdict, "holds");
}
