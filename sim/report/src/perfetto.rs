//! The run as a trace that <https://ui.perfetto.dev> opens: the Chrome Trace Event Format, in its JSON object form.
//!
//! Each node is a thread of one process. Holding, pausing, being down, and an operation from call to return are slices; so is a step, with its details as
//! arguments; a message is a flow from the step that sent it to the step in which it arrived, and one that is lost an instant at its receiver.
//! How wrong a node's wall clock is is a counter.

use crate::flights::{Flight, flights};
use picklock_engine::report::Story;
use picklock_engine::report::TimeColumn;
use picklock_engine::report::{Operation, operations};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Microseconds between steps that share an instant, where time passes in ticks or not at all.
const STEP_MICROS: i64 = 1_000;
/// A step takes no time, but a slice of a microsecond is never seen: it is drawn up to its node's next step, and no longer than this.
const STEP_MICROS_MAX: i64 = 1_000;

/// The trace as one JSON document.
pub fn perfetto(story: Story) -> String {
    let times = times(&story);
    let mut events = vec![json!({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": story.lock}})];
    for (thread, node) in story.nodes.iter().enumerate() {
        events.push(
            json!({"ph": "M", "pid": 1, "tid": thread + 1, "name": "thread_name", "args": {"name": node}}),
        );
        events.push(json!({"ph": "M", "pid": 1, "tid": thread + 1, "name": "thread_sort_index", "args": {"sort_index": thread}}));
    }
    let thread = |node: &str| story.nodes.iter().position(|known| known == node).map_or(0, |at| at + 1);
    events.extend(slices(&story, &times, &thread));
    for operation in operations(story.events) {
        events.extend(asked(&operation, &times, thread(&operation.client)));
    }
    for ((event, at), lasts) in story.events.iter().zip(&times).zip(lengths(&story, &times)) {
        let Some(node) = &event.node else { continue };
        let words: Vec<&str> = event.line.as_deref().into_iter().chain(event.doing).collect();
        let name = if words.is_empty() { event.what.to_owned() } else { words.join(" ") };
        events.push(json!({
            "ph": "X", "pid": 1, "tid": thread(node), "ts": at, "dur": lasts, "cat": "step", "name": name,
            "args": {"step": event.step, "what": event.what, "message": event.message, "stored": event.stored,
                     "reported": event.reported, "true_us": event.at_us, "wall_us": event.wall_us},
        }));
        if let (Some(from), Some(message)) =
            (event.from.as_ref().filter(|_| event.what == "lost"), &event.message)
        {
            events.push(instant("t", thread(node), *at, "lost", &format!("lost from {from}: {message}")));
        }
        for violation in &event.violations {
            let name = format!("{}: {}", violation.property, violation.words);
            events.push(instant("g", thread(node), *at, "violation", &name));
        }
    }
    events.extend(never(&story, &times, &thread));
    events.extend(clock_errors(&story, &times));
    for (number, flight) in flights(story.events, story.time).iter().enumerate() {
        events.extend(flow(number, flight, &times, &thread));
    }
    let document = json!({
        "displayTimeUnit": "ms",
        "otherData": {"token": story.token, "lock": story.lock, "broken": story.broken},
        "traceEvents": events,
    });
    document.to_string() + "\n"
}

/// When each step is shown: at its true time, and after the one before it.
fn times(story: &Story) -> Vec<i64> {
    let mut times: Vec<i64> = Vec::with_capacity(story.events.len());
    for event in story.events {
        let apart = if story.time == TimeColumn::Seconds { 1 } else { STEP_MICROS };
        let after = times.last().map_or(i64::MIN, |before| before + apart);
        times.push(event.at_us.max(after));
    }
    times
}

/// How long each step is drawn.
fn lengths(story: &Story, times: &[i64]) -> Vec<i64> {
    let mut next: BTreeMap<&str, i64> = BTreeMap::new();
    let mut lengths: Vec<i64> = Vec::with_capacity(times.len());
    for (event, at) in story.events.iter().zip(times).rev() {
        let until = event.node.as_deref().and_then(|node| next.insert(node, *at));
        lengths.push(until.map_or(STEP_MICROS_MAX, |until| (until - at).clamp(1, STEP_MICROS_MAX)));
    }
    lengths.reverse();
    lengths
}

/// An event without length, for all threads (`g`) or its own (`t`).
fn instant(scope: &str, thread: usize, at: i64, category: &str, name: &str) -> Value {
    json!({"ph": "i", "s": scope, "pid": 1, "tid": thread, "ts": at, "cat": category, "name": name})
}

/// What a loop breaks no step does: it is told at the loop's end.
fn never(story: &Story, times: &[i64], thread: &dyn Fn(&str) -> usize) -> Vec<Value> {
    let (Some(_), Some((event, at))) = (story.loop_start, story.events.last().zip(times.last())) else {
        return Vec::new();
    };
    let in_steps = |broken: &String| {
        let mut told = story.events.iter().flat_map(|event| &event.violations);
        told.any(|violation| *broken == format!("{}: {}", violation.property, violation.words))
    };
    let node = event.node.as_deref().map_or(1, thread);
    let never = story.broken.iter().filter(|broken| !in_steps(broken));
    never.map(|broken| instant("g", node, *at, "violation", broken)).collect()
}

/// How far the wall clocks are from true time, of the nodes where one is wrong at any time.
fn clock_errors(story: &Story, times: &[i64]) -> Vec<Value> {
    let mut events = Vec::new();
    for node in story.nodes {
        let of_node = story.events.iter().zip(times).filter(|(event, _)| event.node.as_ref() == Some(node));
        let mut errors: Vec<(i64, i64)> =
            of_node.filter_map(|(event, at)| Some((*at, event.wall_us? - event.at_us))).collect();
        if errors.iter().all(|(_, error)| *error == 0) {
            continue;
        }
        errors.dedup_by_key(|(_, error)| *error);
        events.extend(errors.iter().map(|(at, error)| {
            json!({"ph": "C", "pid": 1, "ts": at, "cat": "clock", "name": format!("clock error of {node}"),
                   "args": {"us": error}})
        }));
    }
    events
}

/// What lasts: from the step in which it begins to the one in which it ends.
fn slices(story: &Story, times: &[i64], thread: &dyn Fn(&str) -> usize) -> Vec<Value> {
    let mut slices: Vec<Value> = Vec::new();
    let end = times.last().map_or(0, |last| last + 1);
    for node in story.nodes {
        let mut slice = |what: &'static str, is_on: &dyn Fn(usize) -> Option<bool>| {
            let mut since = None;
            for (position, at) in times.iter().enumerate() {
                match (since, is_on(position)) {
                    (None, Some(true)) => since = Some(*at),
                    (Some(start), Some(false)) => {
                        slices.extend(lasting(what, node, thread(node), start, *at));
                        since = None;
                    }
                    (None | Some(_), _) => {}
                }
            }
            if let Some(start) = since {
                slices.extend(lasting(what, node, thread(node), start, end));
            }
        };
        let between = |begins: &'static str, ends: &'static [&'static str]| {
            move |position: usize| {
                let event = &story.events[position];
                let is_here = event.node.as_ref() == Some(node);
                match event.what {
                    what if is_here && what == begins => Some(true),
                    what if is_here && ends.contains(&what) => Some(false),
                    _ => None,
                }
            }
        };
        slice("holds", &|position| Some(story.events[position].holders.contains(node)));
        slice("paused", &between("paused", &["resumed", "crashed"]));
        slice("suspended", &between("suspended", &["resumed", "crashed"]));
        slice("down", &between("crashed", &["restarted"]));
    }
    slices
}

/// Slices of one thread must nest, which these need not: they are asynchronous ones, which viewers put together by their names.
fn lasting(what: &'static str, node: &str, thread: usize, start: i64, end: i64) -> [Value; 2] {
    let id = format!("{what}-{thread}-{start}");
    let part = |phase, at| json!({"ph": phase, "pid": 1, "tid": thread, "ts": at, "cat": what, "name": format!("{node} {what}"), "id": id});
    [part("b", start), part("e", end)]
}

/// An operation of a shared object. What is given up, or was asked by a client that crashed, may be done until the end.
fn asked(operation: &Operation, times: &[i64], thread: usize) -> [Value; 2] {
    let start = times[operation.begun];
    let known = operation.ended.filter(|_| operation.answer.is_some());
    // As long as an instant, at least.
    let end = known.map_or(times.last().map_or(0, |last| last + 1), |ended| times[ended]).max(start + 1);
    let mark = if operation.broke.is_empty() { "" } else { "✱ " };
    let (name, id) = (format!("{mark}{}", operation.label()), format!("operation-{thread}-{start}"));
    let part = |phase, at| {
        json!({"ph": phase, "pid": 1, "tid": thread, "ts": at, "cat": "operation", "name": name, "id": id,
               "args": {"call": operation.call, "answer": operation.answer, "broke": operation.broke}})
    };
    [part("b", start), part("e", end)]
}

fn flow(number: usize, flight: &Flight, times: &[i64], thread: &dyn Fn(&str) -> usize) -> Vec<Value> {
    let Some(ended) = flight.ended.filter(|_| !flight.is_lost) else { return Vec::new() };
    let part = |phase, node: &str, at: i64| {
        json!({"ph": phase, "pid": 1, "tid": thread(node), "ts": at, "cat": "message", "name": flight.message,
               "id": number, "bp": "e"})
    };
    vec![part("s", &flight.from, times[flight.sent]), part("f", &flight.to, times[ended])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    fn trace_of(story: Story) -> Vec<Value> {
        let mut trace: Value = serde_json::from_str(&perfetto(story)).unwrap();
        let Value::Array(events) = trace["traceEvents"].take() else { panic!("a trace has events") };
        events
    }

    fn named(events: &[Value], phase: &str, category: &str) -> Vec<String> {
        let of_kind = |event: &&Value| event["ph"] == phase && event["cat"] == category;
        events.iter().filter(of_kind).map(|event| event["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_arrival_is_a_flow_between_two_steps_and_every_slice_that_begins_ends() {
        toy::story(toy::overlap, |story| {
            let events = trace_of(story);
            let phase = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
            let arrivals = story.events.iter().filter(|event| event.what == "delivered").count();
            assert_eq!((phase("s").len(), phase("f").len()), (arrivals, arrivals));
            assert!(!phase("b").is_empty());
            assert_eq!(phase("b").len(), phase("e").len());
            for (begins, ends) in phase("b").iter().zip(phase("e")) {
                assert!(begins["ts"].as_i64() < ends["ts"].as_i64(), "{begins}");
            }
            assert_eq!(
                named(&events, "i", "violation").len(),
                story.events.iter().map(|event| event.violations.len()).sum::<usize>()
            );
        });
    }

    #[test]
    fn what_lasts_says_whom_it_is_about_because_viewers_put_slices_of_one_name_together() {
        toy::story(toy::overlap, |story| {
            let events = trace_of(story);
            assert_eq!(named(&events, "b", "holds"), ["A holds", "B holds"]);
            assert_eq!(named(&events, "b", "paused"), ["A paused"]);
        });
    }

    #[test]
    fn a_step_lasts_until_its_nodes_next_one_and_no_longer_than_a_millisecond() {
        toy::story(toy::overlap, |story| {
            let events = trace_of(story);
            let steps: Vec<&Value> = events.iter().filter(|event| event["cat"] == "step").collect();
            let length = |step: &Value| step["dur"].as_i64().unwrap();
            assert!(steps.iter().all(|step| (1..=STEP_MICROS_MAX).contains(&length(step))));
            // s1 is asked by A and half a millisecond later by B; then nobody asks it for longer than a slice lasts.
            for (nth, step) in steps.iter().enumerate() {
                let ends = step["ts"].as_i64().unwrap() + length(step);
                let next = steps[nth + 1..].iter().find(|next| next["tid"] == step["tid"]);
                assert!(
                    next.is_none_or(|next| ends <= next["ts"].as_i64().unwrap()),
                    "{step} is over {next:?}"
                );
            }
            assert!(steps.iter().any(|step| length(step) < STEP_MICROS_MAX));
        });
    }

    #[test]
    fn a_lost_message_is_an_instant_at_its_receiver_and_a_wrong_clock_a_counter() {
        toy::story(toy::overlap, |story| {
            let events = trace_of(story);
            let lost: Vec<&Value> = events.iter().filter(|event| event["cat"] == "lost").collect();
            assert_eq!(lost.len(), 1, "{lost:?}");
            assert!(lost[0]["name"].as_str().unwrap().starts_with("lost from s1: copy "));
            assert_eq!(lost[0]["tid"], 4, "s2 is the fourth node");
            assert_eq!(named(&events, "C", "clock"), ["clock error of B"], "that of A is right");
            let counter = events.iter().find(|event| event["ph"] == "C").unwrap();
            assert_eq!(counter["args"]["us"], -2_000_000);
        });
    }

    #[test]
    fn what_a_loop_breaks_is_told_at_its_end() {
        toy::story(toy::patience, |story| {
            let broken = ["starvation-freedom: never, however long the loop goes on".to_owned()];
            let events = trace_of(Story { broken: &broken, loop_start: Some(9), ..story });
            assert_eq!(named(&events, "i", "violation"), broken);
            let last =
                events.iter().filter(|event| event["cat"] == "step").map(|event| event["ts"].as_i64()).max();
            let told = events.iter().find(|event| event["cat"] == "violation").unwrap();
            assert_eq!(Some(told["ts"].as_i64()), last);
        });
    }

    #[test]
    fn steps_come_one_after_the_other_even_in_one_instant() {
        toy::story(toy::patience, |story| {
            let times = times(&Story { time: TimeColumn::Hidden, ..story });
            assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
        });
    }

    #[test]
    fn an_operation_is_a_slice_from_call_to_return_and_one_of_unknown_outcome_lasts_to_the_end() {
        let told = toy::told(&toy::calls(), perfetto);
        let trace: Value = serde_json::from_str(&told).unwrap();
        let of_phase = |phase: &str| -> Vec<(String, i64)> {
            let events = trace["traceEvents"].as_array().unwrap().iter();
            let slices = events.filter(|event| event["cat"] == "operation" && event["ph"] == phase);
            slices
                .map(|event| (event["name"].as_str().unwrap().to_owned(), event["ts"].as_i64().unwrap()))
                .collect()
        };
        let (begins, ends) = (of_phase("b"), of_phase("e"));
        let names: Vec<&str> = begins.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "x0.compare_and_set(1, 2) → refused",
                "✱ x0.read() → 1",
                "x0.write(7) → ?",
                "x0.read() → 7",
                "x0.delete() → ?"
            ]
        );
        let last = ends.iter().map(|(_, at)| *at).max().unwrap();
        let lasting: Vec<bool> = ends.iter().map(|(_, at)| *at == last).collect();
        assert_eq!(lasting, [false, false, true, false, true]);
        assert!(begins.iter().zip(&ends).all(|(begin, end)| begin.1 < end.1), "{begins:?} {ends:?}");
    }
}
