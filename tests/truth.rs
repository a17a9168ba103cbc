//! A trace tells what happened: what arrives was sent, what is stored was written, what expires was given that expiry.
//!
//! That messages arrive as they were sent, byte for byte, is checked by the replay itself, for every lock
//! ([`picklock_sim::report::Post`]), and so is that the exhaustive search and its telling agree in every step. What a store
//! keeps is checked here for Cassandra, Redis and etcd, by the words that a reader compares; of ZooKeeper's znodes and of the
//! feedback store's queue nothing but the messages is.

use picklock_model::time::{Micros, Wall};
use picklock_sim::plans::fault::FaultSet;
use picklock_sim::registry::Replay;
use picklock_sim::report::{JsonEvent, JsonMessage, TextOptions, TimeColumn};
use picklock_sim::token::Token;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Fails if the trace tells of something that did not happen.
pub fn assert_true(token: &Token, replay: &Replay) {
    assert_eq!(replay.defect, None, "{token}");
    let family = token.lock.split('-').next().unwrap_or_default();
    let mut untrue = match family {
        "cassandra" => cells_that_nobody_wrote(&replay.events),
        "redis" | "redlock" => keys_that_nobody_set(&replay.events, replay.time != TimeColumn::Seconds),
        "etcd" => keys_that_nobody_put(&replay.events),
        _ => Vec::new(),
    };
    untrue.extend(steps_of_the_dead(&replay.events));
    untrue.extend(overtakings(&replay.events, |from, to| {
        let are_servers = is_server(from) && is_server(to);
        family == "zookeeper" || are_servers && matches!(family, "redis" | "redlock" | "etcd")
    }));
    assert!(untrue.is_empty(), "{token}\n{}", untrue.join("\n"));
}

/// Steps that a node takes between its end and its next start.
fn steps_of_the_dead(events: &[JsonEvent]) -> Vec<String> {
    let mut down: BTreeSet<&str> = BTreeSet::new();
    let mut untrue = Vec::new();
    for event in events {
        let Some(node) = event.node.as_deref() else { continue };
        match event.what {
            "crashed" => {
                down.insert(node);
            }
            "restarted" => {
                down.remove(node);
            }
            "delivered" | "woke" if down.contains(node) => {
                untrue.push(format!("step {}: {node} is down, and is {}", event.step, event.what));
            }
            _ => {}
        }
    }
    untrue
}

/// Messages that came before an earlier one of their connection, where connections keep the order
/// ([`Store::CLIENTS_IN_ORDER`](picklock_model::machine::Store::CLIENTS_IN_ORDER), `PEERS_IN_ORDER`): the exhaustive search lets them overtake
/// each other, and a counterexample that needs it is none.
fn overtakings(events: &[JsonEvent], in_order: impl Fn(&str, &str) -> bool) -> Vec<String> {
    // What is under way on each connection, oldest first.
    let mut under_way: BTreeMap<(&str, &str), VecDeque<&str>> = BTreeMap::new();
    let mut found = Vec::new();
    for event in events {
        let ends = (event.from.as_deref(), event.to.as_deref());
        match (event.what, event.node.as_deref(), ends, event.message.as_deref()) {
            // A copy that nothing here knows of may come at any time.
            (what @ ("delivered" | "lost"), _, (Some(from), Some(to)), Some(message)) => {
                let sent = under_way.entry((from, to)).or_default();
                let Some(place) = sent.iter().position(|other| *other == message) else { continue };
                // The answer to a connect is the first on its connection: what is still under way is on one that was given up.
                let begins = message.starts_with("connected") || message == "session expired";
                if what == "delivered" && place > 0 && !begins {
                    found.push(format!("step {}: {message:?} overtakes {:?}", event.step, sent[0]));
                }
                sent.remove(place);
            }
            // Another connection follows, and what is left of this one may come beside it.
            ("crashed", Some(node), ..) => under_way.retain(|(from, to), _| *from != node && *to != node),
            ("connection-reset", _, (Some(one), Some(other)), _) => {
                under_way.retain(|ends, _| *ends != (one, other) && *ends != (other, one));
            }
            _ => {}
        }
        let Some(node) = event.node.as_deref() else { continue };
        for sent in event.sent.iter().filter(|sent| in_order(node, &sent.to)) {
            if sent.message.starts_with("connect, ") {
                // A client of ZooKeeper opens another connection.
                let to = sent.to.as_str();
                under_way.retain(|ends, _| *ends != (node, to) && *ends != (to, node));
            }
            under_way.entry((node, &sent.to)).or_default().push_back(&sent.message);
        }
    }
    found
}

fn is_server(node: &str) -> bool {
    node.strip_prefix('s').is_some_and(|number| number.parse::<u8>().is_ok())
}

/// A column that a client wrote, as its coordinator took it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Written {
    /// `Q[7us·tA]`
    column: String,
    value: String,
    timestamp: String,
    expiry: Option<String>,
}

/// Stored cells that no client wrote so.
fn cells_that_nobody_wrote(events: &[JsonEvent]) -> Vec<String> {
    let mut written: BTreeSet<Written> = BTreeSet::new();
    let mut untrue = Vec::new();
    for event in events {
        if let (Some(message), Some(wall)) = (&event.message, event.wall_us.map(Wall)) {
            written.extend(message.split(", ").filter_map(|part| write(part, wall)));
        }
        for line in event.stored.iter().flatten() {
            let Some((row, cells)) = line.split_once(": ") else { continue };
            for cell in cells.split(", ") {
                let (named, stamped) = cell.split_once('@').expect("a cell has a timestamp");
                let (name, value) = named.split_once('=').unwrap_or((named, ""));
                // Ballots are drawn by coordinators, and a lifetime counts from them: of a conditional write the value is
                // what a client chose.
                let column = format!("{row}[{}]", name.trim_start_matches('†'));
                let is_conditional = name.trim_start_matches('†') == "owner" && row.starts_with('M');
                let (timestamp, expiry) = match stamped.split_once(" until ") {
                    Some((timestamp, expiry)) => (timestamp, Some(expiry)),
                    None => (stamped, None),
                };
                let is_it = |write: &&Written| {
                    write.column == column
                        && (is_conditional || write.timestamp == timestamp)
                        && (name.starts_with('†') || write.value == value)
                        && (is_conditional || expiry.is_none() || write.expiry.as_deref() == expiry)
                };
                if !written.iter().any(|write| is_it(&write)) {
                    untrue.push(format!("step {}: {row} holds {cell}, which nobody wrote", event.step));
                }
            }
        }
    }
    untrue
}

/// `add Q[7us·tA]=… at 7us ttl 3s`, `delete M[tA] at 9us`, `insert M[owner]=tA if not exists`.
fn write(words: &str, wall: Wall) -> Option<Written> {
    let mut words = words.split(' ').skip_while(|word| !matches!(*word, "add" | "delete" | "insert"));
    words.next()?;
    let target = words.next()?;
    let (column, value) = target.split_once('=').unwrap_or((target, ""));
    let column = column.replace("now()", &wall.to_string());
    let (mut timestamp, mut expiry) = (wall.to_string(), None);
    while let Some(word) = words.next() {
        match word {
            "at" => timestamp = words.next()?.to_owned(),
            "ttl" => {
                let seconds: i64 = words.next()?.trim_end_matches('s').parse().ok()?;
                expiry = Some(format!("{}s", wall.whole_seconds() + seconds));
            }
            _ => {}
        }
    }
    Some(Written { column, value: value.to_owned(), timestamp, expiry })
}

/// Stored keys with a value that nobody gave them; or an end, which is looked at in paths of the exhaustive search only: in
/// seeded runs keys outlive restarts by clocks that no trace shows.
fn keys_that_nobody_set(events: &[JsonEvent], is_path: bool) -> Vec<String> {
    let mut said: BTreeSet<&str> = BTreeSet::new();
    let mut ends: BTreeSet<String> = BTreeSet::new();
    let mut untrue = Vec::new();
    // A key may die by a monotonic clock, which no trace shows; as long as none drifts, it gains what true time does.
    let is_even = events.iter().all(|event| !matches!(event.what, "ticked-unevenly" | "clock-drifts"));
    for event in events {
        if let (Some(message), Some(wall)) = (&event.message, event.wall_us) {
            said.extend(message.split([' ', ',']));
            let numbers = message.split([' ', ',']).filter_map(|word| word.parse::<i64>().ok());
            for length in numbers.map(Micros::millis) {
                // Redis counts in milliseconds, and in the last one of its life a key is still there.
                let after = |now: i64| Micros::millis(now.div_euclid(1_000) + 1);
                ends.extend([wall, event.at_us].map(|now| (after(now) + length).to_string()));
            }
        }
        for line in event.stored.iter().flatten() {
            let Some((key, rest)) = line.split_once(" = ") else { continue };
            let (value, end) = match rest.split_once(", dies at ") {
                Some((value, end)) => (value, Some(end)),
                None => (rest, None),
            };
            // Of a sorted set, each member with its score, which may come from the server's own clock.
            let is_member = |member: &str| match member.split_once(": ") {
                Some((name, score)) => said.contains(name) && (said.contains(score) || said.contains("TIME")),
                None => false,
            };
            let is_said = match value.strip_prefix('{').and_then(|members| members.strip_suffix('}')) {
                Some(members) => members.split(", ").all(is_member),
                None => said.contains(value),
            };
            // Counters are counted by the server.
            if value.contains('#') && !is_said {
                untrue.push(format!("step {}: {key} = {value}, which nobody set", event.step));
            }
            let is_given = |end: &str| ends.contains(end) || said.contains(end);
            if is_path && is_even && end.is_some_and(|end| !is_given(end)) {
                untrue.push(format!("step {}: {line}, which nobody asked for", event.step));
            }
        }
    }
    untrue
}

/// Stored keys of etcd that nobody put, or that were created at a revision which the store has not reached.
fn keys_that_nobody_put(events: &[JsonEvent]) -> Vec<String> {
    let mut put: BTreeSet<&str> = BTreeSet::new();
    let mut untrue = Vec::new();
    for event in events {
        if let Some(message) = &event.message {
            let puts = message.split("put ").skip(1);
            put.extend(puts.filter_map(|rest| rest.split([' ', ',', ';', ')']).next()));
        }
        let stored: Vec<&String> = event.stored.iter().flatten().collect();
        let revision = stored.iter().find_map(|line| line.strip_prefix("revision ")?.parse::<u32>().ok());
        for line in &stored {
            let Some((key, created)) = line.split_once(" (created at ") else { continue };
            let created: Option<u32> = created.trim_end_matches(')').parse().ok();
            if !put.contains(key) || created > revision {
                untrue
                    .push(format!("step {}: {line} at revision {revision:?}, which nobody put", event.step));
            }
        }
    }
    untrue
}

/// The seeded engine never renumbered anything; the same holds of it.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn seeded_runs_tell_what_happened_too() {
    for name in [
        "cassandra-queue",
        "cassandra-lwt",
        "redis-single",
        "redlock",
        "zookeeper-lock",
        "etcd-mutex",
        "feedback-lock",
    ] {
        let setup = crate::evidence::lock(name).setup(None);
        for seed in 0..3 {
            let token = crate::evidence::seeded_token(name, &setup, FaultSet::ALL, seed);
            let replay = crate::evidence::replay(&token, &TextOptions::default());
            assert!(replay.events.iter().any(|event| event.what == "delivered"), "{token}");
        }
    }
}

fn event(step: u64, what: &'static str, message: &str, stored: &[&str]) -> JsonEvent {
    JsonEvent {
        step,
        at_us: step as i64,
        node: Some("s1".to_owned()),
        what,
        from: Some("A".to_owned()),
        to: Some("s1".to_owned()),
        message: Some(message.to_owned()),
        sent_in: None,
        wake: None,
        power_lost: None,
        by_us: None,
        ppm: None,
        line: None,
        wall_us: Some(step as i64),
        doing: None,
        remark: None,
        stored: Some(stored.iter().map(|line| (*line).to_owned()).collect()),
        sent: Vec::new(),
        reported: Vec::new(),
        operations: Vec::new(),
        holders: Vec::new(),
        modes: Vec::new(),
        holders_share: false,
        violations: Vec::new(),
    }
}

#[test]
fn a_step_of_a_server_that_is_down_is_noticed() {
    let story = |between: Option<&'static str>| {
        let mut events = vec![event(1, "crashed", "", &[]), event(3, "delivered", "GET lock", &[])];
        events.extend(between.map(|what| event(2, what, "", &[])));
        events.sort_by_key(|event| event.step);
        steps_of_the_dead(&events)
    };
    assert!(story(Some("restarted")).is_empty());
    assert_eq!(story(None), ["step 3: s1 is down, and is delivered"]);
}

#[test]
fn a_message_that_overtakes_another_on_its_connection_is_noticed() {
    let told = |order: &[&str], is_reset: bool| {
        let mut first = event(1, "woke", "", &[]);
        (first.node, first.message) = (Some("A".to_owned()), None);
        first.sent = ["sync", "GET"]
            .map(|message| JsonMessage { to: "s1".to_owned(), message: message.to_owned() })
            .into();
        let mut events = vec![first];
        events.extend(is_reset.then(|| event(2, "connection-reset", "", &[])));
        events.extend(order.iter().map(|message| event(3, "delivered", message, &[])));
        overtakings(&events, |_, _| true)
    };
    assert!(told(&["sync", "GET"], false).is_empty());
    assert!(told(&["sync", "GET", "sync"], false).is_empty(), "a copy");
    assert_eq!(told(&["GET", "sync"], false), ["step 3: \"GET\" overtakes \"sync\""]);
    assert!(told(&["GET", "sync"], true).is_empty(), "they went on two connections");
}

#[test]
fn a_cell_that_was_written_with_another_time_is_noticed() {
    let told =
        |stored| cells_that_nobody_wrote(&[event(5, "delivered", "add Q[3us·tA] at 3us ttl 2s", &[stored])]);
    assert!(told("Q: 3us·tA@3us until 2s").is_empty());
    assert_eq!(told("Q: 3us·tA@2us until 2s").len(), 1);
    assert_eq!(told("Q: 3us·tA@3us until 1s").len(), 1);
    assert_eq!(told("Q: 2us·tA@3us").len(), 1);
}

#[test]
fn a_key_that_was_set_to_another_value_or_end_is_noticed() {
    let told =
        |stored| keys_that_nobody_set(&[event(5, "delivered", "SET lock A#2 NX PX 3999", &[stored])], true);
    assert!(told("lock = A#2, dies at 4s").is_empty());
    assert_eq!(told("lock = A#1, dies at 4s").len(), 1);
    assert_eq!(told("lock = A#2, dies at 3s").len(), 1);
}

#[test]
fn a_key_that_was_put_under_another_name_or_in_the_future_is_noticed() {
    let told = |key| {
        keys_that_nobody_put(&[event(
            5,
            "delivered",
            "if create(0/A@1) = 0: put 0/A@1 \"\"",
            &["revision 2", key],
        )])
    };
    assert!(told("0/A@1 (created at 2)").is_empty());
    assert_eq!(told("0/A@2 (created at 2)").len(), 1);
    assert_eq!(told("0/A@1 (created at 3)").len(), 1);
}
