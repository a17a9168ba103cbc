//! What would mislead: an assumption dropped that was never made, a pass of what nothing put to the test, a count that is not
//! the trace's, an end that is told by half.

use super::{document, run};

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_verified_claim_that_falls_a_step_beyond_its_bounds_says_so_beside_its_verdict() {
    let said = run("scenarios C9").stdout;
    assert!(
        said.contains("falls with a round more: a look at the main row")
            && said.contains("falls with a client more"),
        "{said}"
    );
    assert!(super::rows("theorems chubby").iter().any(|row| row["falls"][0]["widening"] == "pause"));
}

#[test]
fn an_assumption_that_is_not_made_cannot_be_dropped() {
    for lock in ["redis-single", "redis-single-fenced", "redlock", "redis-failover"] {
        let ended = run(&format!("check {lock} --drop no-pause --drop no-expiry"));
        let why =
            format!("error: --drop no-expiry: it is not in force for {lock} to begin with: leave it out\n");
        assert_eq!((ended.code, ended.stderr), (2, why));
    }
    // One server meets itself.
    for lock in ["cassandra-queue", "cassandra-kept", "cassandra-timed"] {
        let ended = run(&format!("check {lock} --drop quorums-meet"));
        assert_eq!(ended.code, 2, "{}", ended.stdout);
        assert!(ended.stderr.contains("dropping it would change nothing"), "{}", ended.stderr);
    }
}

/// A client that asks, is refused and asks again in no time keeps no lease from its end.
#[test]
fn asking_without_end_does_not_stop_time() {
    let endless =
        run("check redis-single --try-lock --progress --rounds endless --property deadlock-freedom");
    assert_eq!(endless.code, 0, "{}", endless.stdout);
}

/// A violation that comes without a drop is none of its doing, and a drop may bring in more than its name says.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_violation_is_held_against_the_same_check_with_nothing_dropped() {
    let needless = run("check redis-failover --drop clocks-agree");
    let said = "with nothing dropped it is violated, too, in 17 steps: no drop is needed for that";
    assert!(needless.code == 1 && needless.stdout.contains(said), "{}", needless.stdout);
    let needed = run("check zookeeper-lock --drop durable");
    let said =
        ["with nothing dropped it holds", "session.timeout=3s (else none)", "given up with that: no-expiry"];
    assert!(said.iter().all(|said| needed.stdout.contains(said)), "{}", needed.stdout);
    let both = document("check cassandra-queue --drop no-pause --drop no-expiry");
    let of = |control: usize| {
        (both["controls"][control]["in_force"].clone(), both["controls"][control]["verdict"].clone())
    };
    assert_eq!(of(0), (serde_json::Value::Null, "holds".into()));
    assert_eq!(of(1), ("no-pause".into(), "violated".into()));
    assert_eq!(of(2), ("no-expiry".into(), "holds".into()));
    assert!(both["changed"].as_array().is_some_and(|changed| !changed.is_empty()), "{both}");
    // Sessions end where clients pause, whether that is asked for by name or not: no check has them last.
    let given_up = document("check zookeeper-lock --rounds 1 --drop no-expiry --drop no-pause");
    let controls = given_up["controls"].as_array().expect("controls").iter();
    let in_force: Vec<_> = controls.map(|control| control["in_force"].as_str()).collect();
    assert_eq!(in_force, [None, Some("no-pause")]);
    let twice = run("check redis-single --drop no-pause --drop no-pause");
    assert_eq!((twice.code, twice.stderr.as_str()), (2, "error: no-pause is dropped twice\n"));
}

/// A state has no tombstones that hide nothing, and does not tell how long ago anything was written: a check would pass whatever
/// these do.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_a_check_does_not_see_cannot_be_set_in_it() {
    for set in ["store.tombstones_max=1", "store.gc_grace_seconds=1", "store.hint_period=2s"] {
        let ended = run(&format!("check cassandra-queue --progress --set {set}"));
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{set}");
        assert!(ended.stderr.ends_with(&format!("sweep cassandra-queue --set {set}\n")), "{}", ended.stderr);
        assert_ne!(run(&format!("sweep cassandra-queue --seeds 0..3 --set {set}")).code, 2, "{set}");
    }
}

/// What the lock or its store does not give is not among what is assumed.
#[test]
fn what_does_not_hold_is_not_assumed() {
    let assumed = |call: &str| {
        let found = document(call)["assumed"].clone();
        let names = found.as_array().cloned().unwrap_or_default();
        move |name: &str| names.iter().any(|known| known == name)
    };
    assert!(assumed("check redis-single")("stops-in-time"));
    let work = "fits into the lease";
    assert!(
        run("check redis-single").stdout.contains(work)
            && !run("check redis-single --hold 4").stdout.contains(work)
    );
    assert!(!assumed("check redis-single --set ttl=none")("keys-expire"));
    assert!(!assumed("check redis-single --set store.persistence=None")("durable"));
    assert!(
        document("check redis-failover")["not_in_force"]
            .as_array()
            .is_some_and(|names| names.contains(&"no-fail-over".into()))
    );
}

/// A clock that stops is for worlds without time, and a pause brings time in.
#[test]
fn a_fault_that_cannot_come_in_this_world_is_no_pass() {
    let found = document("check cassandra-shadow --rounds 1 --drop no-clock-freeze");
    assert_eq!(found["verdict"], "violated");
    let ended = run("check cassandra-shadow --rounds 1 --drop no-clock-freeze --drop no-pause");
    assert_eq!(ended.code, 4, "{}", ended.stdout);
    assert!(ended.stdout.contains("never came: no client's clock stopped"), "{}", ended.stdout);
}

#[test]
fn to_be_served_in_the_end_is_not_to_be_overtaken_at_most_twice() {
    let twice = run("check redis-single --progress");
    let said = "starvation-freedom, where each asks 2 times (--rounds endless: again and again)";
    assert!(twice.code == 0 && twice.stdout.contains(said), "{}", twice.stdout);
    for lock in ["redis-single", "cassandra-lwt"] {
        let endless = document(&format!("check {lock} --progress --rounds endless"));
        assert_eq!(
            (&endless["verdict"], &endless["property"]),
            (&"violated".into(), &"starvation-freedom".into()),
            "{lock}"
        );
    }
    let queue = run("check cassandra-queue --progress --rounds endless");
    assert!(queue.code == 0 && !queue.stdout.contains("where each asks"), "{}", queue.stdout);
    assert_eq!(run("check transfer --rounds endless").code, 2);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn clocks_drift_further_than_consul_allows_for() {
    for lock in ["consul-lock", "consul-lock-repaired"] {
        let found = document(&format!("check {lock} --rounds 1 --drop bounded-drift"));
        assert_eq!(found["verdict"], "violated", "{lock}");
    }
}

#[test]
fn as_many_servers_may_crash_as_leave_no_majority() {
    for (servers, times) in [(3, "up to 2 times"), (5, "up to 3 times")] {
        let line = format!(
            "check redlock --servers {servers} --clients 1 --rounds 1 --drop majority-up --max-states 1000"
        );
        let allowed = document(&line)["allowed"].to_string();
        assert!(
            allowed.contains(&format!("a server crashes, for good or for a while, {times}")),
            "{allowed}"
        );
    }
}

/// Beside a keeper messages take no time at all; where something is to happen to them they do.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn messages_that_are_to_be_lost_or_overtaken_take_time() {
    let kept = document("check cassandra-kept");
    for drop in ["no-loss", "no-duplicate"] {
        let all = document(&format!("check cassandra-kept --drop {drop} --max-states 50000"));
        let faults = |document: &serde_json::Value| document["coverage"]["faults"].as_u64();
        assert!(faults(&all) > Some(0) && faults(&kept) == Some(0), "{drop}: {all}");
    }
    assert_eq!(run("check cassandra-kept --drop read-after-ack").code, 1);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_a_holder_writes_to_the_resource_is_lost_and_doubled_like_anything_else() {
    for lock in ["redis-single", "etcd-election", "chubby-lock-unmodified"] {
        let found = document(&format!("check {lock} --drop no-duplicate --property fenced-resource"));
        assert_eq!((&found["verdict"], &found["property"]), (&"violated".into(), &"fenced-resource".into()));
    }
    let line = "check redis-single --drop no-loss --times 3 --hold 1 --latency 1 --property mutual-exclusion --property fenced-resource";
    assert_eq!(document(line)["verdict"], "violated");
}

#[test]
fn who_was_refused_is_owed_no_grant() {
    assert_eq!(document("check redis-single --try-lock --progress")["verdict"], "holds");
}

#[test]
fn records_that_cannot_go_put_min_validity_to_no_test() {
    assert_eq!(run("check zookeeper-lock --property min-validity").code, 4);
}

#[test]
fn a_lock_that_is_checked_without_its_delay_says_so() {
    let told = run("check chubby-lock").stdout;
    assert!(told.contains("lock_delay, ") && told.contains("seeded runs have it"), "{told}");
}

#[test]
fn what_a_space_does_not_mind_is_refused() {
    for (line, why) in [
        (
            "check dlm-upgrade --servers 3",
            "--servers 3: dlm-upgrade is not checked with another number of servers than 1",
        ),
        (
            "check cached-variable --servers 2",
            "--servers 2: cached-variable is not checked with another number",
        ),
        ("check chubby-lock --servers 3", "--servers 3: chubby-lock is not checked with another number"),
        ("check dlm-two --try-lock", "--try-lock: dlm-two has no such call"),
        ("check cached-variable --drop durable", "--drop durable: it has no meaning for cached-variable"),
        ("check cached-variable --drop no-pause", "--drop no-pause: it has no meaning for cached-variable"),
        ("check dlm-upgrade --drop no-pause --progress", "dlm-upgrade is checked without time"),
        ("check dlm-two --drop no-suspend --progress", "picklock sweep dlm-two --faults pause --property"),
    ] {
        let ended = run(line);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{line}");
        assert!(ended.stderr.contains(why), "{line}: {}", ended.stderr);
    }
}

#[test]
fn keys_without_a_ttl_are_an_assumption_of_their_own() {
    let dead = document("check redis-single --drop no-crash --drop keys-expire --progress --rounds 1");
    assert_eq!((&dead["verdict"], &dead["property"]), (&"violated".into(), &"deadlock-freedom".into()));
}

#[test]
fn a_promise_that_nothing_put_to_the_test_is_not_called_kept() {
    for promise in ["fifo", "lease-loss"] {
        let name = format!("replay redlock:pause:3:{promise}");
        let ended = run(&name);
        assert!(
            ended.stdout.contains(&format!("{promise}: nothing in this run put it to the test")),
            "{name}"
        );
        assert!(!ended.stdout.contains(&format!("{promise} kept")), "{name}");
        assert_eq!((ended.code, &document(&name)["tested"]), (4, &false.into()), "{name}");
    }
    let kept = document("replay redlock:none:3:mutual-exclusion");
    assert_eq!((&kept["tested"], &kept["violation"]), (&true.into(), &serde_json::Value::Null));
}

#[test]
fn a_run_is_not_made_small_for_a_promise_that_it_keeps() {
    let ended = run("shrink C1 --property fifo");
    let why = "error: this token cannot be shrunk: it does not break fifo, but mutual-exclusion\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (2, why));
}

/// Messages between neighbours are delivered within the step that sends them, and told as steps of their own.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn steps_are_counted_as_they_are_told() {
    let checked = document("check cassandra-queue --drop quorums-meet --servers 3 --rounds 1");
    let events = document(&format!("replay {}", super::text_of(&checked["token"])))["events"].take();
    let events = events.as_array().map(Vec::as_slice).unwrap_or_default();
    let breaks =
        |event: &&serde_json::Value| event["violations"].as_array().is_some_and(|all| !all.is_empty());
    let broken = events.iter().find(breaks).unwrap_or_else(|| panic!("nothing is broken"));
    assert_eq!(checked["steps"], broken["step"]);
}

#[test]
fn who_says_flushall_is_in_the_trace_and_among_what_is_allowed() {
    let ended = run("check redis-single --drop keys-kept --rounds 1");
    assert!(ended.stdout.contains("somebody else says FLUSHALL every 3s\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("│  somebody else: FLUSHALL"), "{}", ended.stdout);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_power_takes_along_is_told_and_so_is_the_new_start() {
    let ended = run("check redlock --drop no-pause --rounds 1");
    for told in ["✗ power lost", "✗ lost ← A SET", "▶ restarted"] {
        assert!(ended.stdout.contains(told), "no {told:?} in\n{}", ended.stdout);
    }
}

#[test]
fn a_plan_for_nodes_or_links_that_are_not_there_is_refused() {
    let plan = |fault: &str, network: &str| {
        format!(
            r#"{{"network": {{"latency_min": 200, "latency_max": 2000, "tail_per_mille": 0, "tail_max": 0, {network},
                 "duplicate_per_mille": 0, "reply_loss_per_mille": 0}},
                 "faults": [{{"when": {{"at": 0}}, "fault": {fault}}}], "heal_at": 60000000}}"#
        )
    };
    let pause = |who: &str| format!(r#"{{"pause": {{"node": {who}, "length": 1000}}}}"#);
    let good = r#""loss_per_mille": 0"#;
    let cases = [
        (
            plan(&pause(r#"{"client": 77}"#), good),
            "it names client 77, and the last one there can be is client 3",
        ),
        (
            plan(&pause(r#"{"server": 9}"#), good),
            "it names server 9, and the last one there can be is server 4",
        ),
        (
            plan(&pause(r#"{"client": 0}"#), r#""loss_per_mille": 5000"#),
            "loss_per_mille 5000: it takes 0 to 1000",
        ),
        (
            plan(&pause(r#"{"client": 0}"#), r#""loss_per_mille": 0, "los": 1"#),
            r#"no plan has a "network.los""#,
        ),
        (
            plan(r#"{"lose-next": {"from": "servers", "to": {"nodes": [{"server": 1}]}, "count": 3}}"#, good),
            "it can strike nothing at all; there is no such link: at 0: the next 3 messages",
        ),
    ];
    let file = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("nobody.json");
    for (plan, why) in cases {
        std::fs::write(&file, plan).expect("the folder is there");
        let ended = run(&format!("sweep redlock --seeds 0..2 --plan {}", file.display()));
        assert_eq!(ended.code, 2, "{}", ended.stdout);
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
    }
}

#[test]
fn a_search_that_ended_with_a_violation_says_nothing_of_the_other_promises() {
    let head = |line: &str| run(line).stdout.lines().nth(1).unwrap_or_default().to_owned();
    let two = head("check redis-single --drop no-pause --property mutual-exclusion,fenced-resource");
    assert!(two.starts_with("✗ violated: mutual-exclusion, in "), "{two}");
    assert!(two.ends_with("; the search ended with it: of the others it says nothing"), "{two}");
    let one = head("check redis-single --drop no-pause --property mutual-exclusion");
    assert!(one.starts_with("✗ violated: ") && !one.contains("others"), "{one}");
}

#[test]
fn limits_of_nothing_are_refused() {
    for line in ["ttl --max-states 0", "sweep redlock --until-tested 0", "check redlock --max-states 0"] {
        let ended = run(line);
        assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "{line}: {}", ended.stderr);
    }
    let ended = run("scenarios --system nope");
    assert_eq!(
        ended.stderr,
        "error: no system is called \"nope\"; there are cassandra, redis, zookeeper, etcd, objects, dlm, chubby\n"
    );
}

/// Random runs lose with a server what it has said, and a check that delivered it all the same passed what they break.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_server_that_loses_power_may_take_its_last_words_with_it() {
    for call in [
        "check redis-variable --drop durable --set store.persistence=AofAlways",
        "check etcd-variable-mod --drop durable --set store.log=Synced",
        "check etcd-lease-key --drop durable --set store.log=Synced",
    ] {
        let found = document(call);
        assert_eq!(found["verdict"], "violated", "{call}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_a_store_cannot_lose_cannot_be_dropped() {
    let durable = document("check etcd-variable-mod --drop durable");
    assert_eq!((&durable["verdict"], &durable["steps"]), (&"violated".into(), &10.into()));
    // The ideal store keeps what it has acknowledged, and so does the database of a cell, whichever master it has.
    for lock in ["cas-variable", "transfer", "lock-free-queue", "chubby-lock", "consul-lock"] {
        let ended = run(&format!("check {lock} --drop durable"));
        assert_eq!(ended.code, 2, "{}", ended.stdout);
        assert!(ended.stderr.contains("--drop durable: it has no meaning"), "{}", ended.stderr);
    }
    assert_eq!(document("check chubby-lock --drop no-fail-over --rounds 1")["verdict"], "holds");
}

#[test]
fn two_ways_to_pause_are_not_let_in_together() {
    for lock in ["transfer", "lock-free-queue", "redis-single"] {
        let ended = run(&format!("check {lock} --drop no-pause --drop no-suspend"));
        assert_eq!(ended.code, 2, "{}", ended.stdout);
        assert!(ended.stderr.contains("two ways to pause"), "{}", ended.stderr);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn how_often_a_fault_may_strike_is_what_was_asked_for() {
    let allowed = |times| {
        let call = "check etcd-lease-key --rounds 1 --drop no-expiry --drop no-loss --max-states 1000";
        document(&format!("{call} --times {times}"))["allowed"].clone()
    };
    assert_eq!(allowed(1), serde_json::json!(["a message is lost once"]));
    assert_eq!(allowed(2), serde_json::json!(["a message is lost up to 2 times"]));
    let too_few = run("check redlock --drop majority-up --times 1");
    assert_eq!(
        too_few.stderr,
        "error: --times 1 with --drop majority-up: with 3 servers it takes 2 crashes\n"
    );
    assert_eq!(run("check redlock --rounds 1 --times 1").code, 0);
    assert_eq!(run("check etcd-mutex --times 1").code, 2);
}

/// That an assumption is not needed is shown where something happened that it rules out.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_is_dropped_and_not_put_to_the_test_is_no_pass() {
    for (call, unmet) in [
        ("check zookeeper-lock --rounds 1 --drop no-expiry", "nothing-ended"),
        ("check consul-lock-repaired --rounds 1 --drop stops-in-time", "nothing-outlived"),
        ("check zookeeper-lock --rounds 1 --drop clocks-agree", "no-clock-read"),
        (
            "check zookeeper-lock --rounds 1 --drop no-duplicate --property fenced-resource --set writes=Store --set fence=Check",
            "nothing-turned-down",
        ),
    ] {
        assert_eq!(run(call).code, 4, "{call}");
        assert_eq!(document(call)["unmet"][0], unmet, "{call}");
    }
    let told = run("theorems zookeeper-fifo --quick");
    assert_eq!(told.code, 0, "{}", told.stdout);
    assert!(told.stdout.contains("not put to the test"), "{}", told.stdout);
}

/// A lease that is set where no time passes ends for nobody.
#[test]
fn where_nothing_can_expire_a_lease_that_is_set_is_no_pass() {
    for lock in ["cassandra-queue --rounds 1", "cassandra-shadow"] {
        let ended = run(&format!("check {lock} --set ttl_seconds=4"));
        assert_eq!(ended.code, 4, "{}", ended.stdout);
        assert!(ended.stdout.contains("nothing ever expired"), "{}", ended.stdout);
    }
    assert_eq!(run("check etcd-mutex --set session.ttl=4s --rounds 1").code, 1);
    assert_eq!(run("check cassandra-queue --rounds 1").code, 0);
}

#[test]
fn that_nobody_comes_between_a_request_and_its_answer_is_said() {
    let time = document("check cassandra-queue --servers 3 --rounds 1 --max-states 1000")["time"].clone();
    assert!(time.as_str().is_some_and(|time| time.ends_with("arrives within the same step")), "{time}");
}

/// A lock with its keeper on one server: what clients say to it takes its time, too, or none of them would ever meet another.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn clients_meet_between_a_request_and_its_answer_where_a_keeper_stands_beside_them() {
    for lock in ["cassandra-kept", "cassandra-kept-repaired"] {
        for call in ["", " --try-lock", " --rounds 2"] {
            let found = document(&format!("check {lock} --drop unique-ids{call}"));
            assert_eq!(found["verdict"], "violated", "{lock}{call}");
        }
        let allowed =
            document(&format!("check {lock} --drop clocks-agree --max-states 1000"))["allowed"].clone();
        assert_eq!(
            allowed[0], "a client's clock is set forward by 1 tick once",
            "anybody's, not the keeper's alone"
        );
    }
}

/// Who is refused as the victim of a deadlock has been let down, and still wants what it asked for: it owes that it asks again, in every
/// round.
#[test]
fn who_is_refused_by_a_lock_manager_asks_again_in_every_round() {
    for lock in ["dlm-two", "dlm-upgrade"] {
        for rounds in 1..=3 {
            let found = document(&format!("check {lock} --progress --rounds {rounds}"));
            assert_eq!(found["verdict"], "holds", "{lock}, {rounds} rounds");
        }
    }
}

/// Who stamps past his last stamp counts on among those of others when his clock is behind. The search, which looks at itself first, has to
/// see that as it is.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn stamps_that_are_counted_on_are_searched_where_clocks_stop_or_are_set_back() {
    for lock in ["cassandra-queue-repaired", "cassandra-shadow-repaired"] {
        for clock in ["no-clock-step", "no-clock-freeze"] {
            let found = document(&format!("check {lock} --drop unique-ids --drop {clock}"));
            assert_eq!(found["verdict"], "violated", "{lock} without {clock}");
        }
    }
}

/// Entries of a semaphore are compared with what clocks show later: in a world of ticks they are good for whole ones.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_semaphore_is_checked_with_two_clocks_that_are_set() {
    for call in [
        "check redis-semaphore --drop no-clock-step --drop no-server-clock-step",
        "check redis-semaphore --drop no-clock-step --latency 2",
    ] {
        assert_eq!(document(call)["verdict"], "violated", "{call}");
    }
}

/// A theorem about a lock that is set otherwise than the lock of that name says so: `check` of that name may break.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn theorems_are_found_by_their_lock_and_say_how_it_is_set() {
    let told = run("theorems consul-lock --quick");
    assert_eq!(told.code, 0, "{}", told.stdout);
    for part in ["consul\n", "set:"] {
        assert!(told.stdout.contains(part), "no {part:?} in {}", told.stdout);
    }
    assert!(!told.stdout.contains("chubby"), "{}", told.stdout);
}
