//! The run as a trace that <https://ui.perfetto.dev> opens: the Chrome Trace Event Format, in its JSON object form.
//!
//! Each node is a thread of one process. Holding, pausing, being down, and an operation from call to return are slices; steps are instants with their details
//! as arguments; a message is a flow from the step that sent it to the step in which it arrived.

use super::TimeColumn;
use super::operations::{Operation, operations};
use super::story::{Flight, Story, flights};
use serde_json::{Value, json};

/// Microseconds between steps that share an instant, where time passes in ticks or not at all.
const STEP_MICROS: i64 = 1_000;

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
    for (event, at) in story.events.iter().zip(&times) {
        let Some(node) = &event.node else { continue };
        let words: Vec<&str> = event.line.as_deref().into_iter().chain(event.doing).collect();
        let name = if words.is_empty() { event.what.to_owned() } else { words.join(" ") };
        events.push(json!({
            "ph": "X", "pid": 1, "tid": thread(node), "ts": at, "dur": 1, "cat": "step", "name": name,
            "args": {"step": event.step, "what": event.what, "message": event.message, "stored": event.stored,
                     "reported": event.reported, "true_us": event.at_us, "wall_us": event.wall_us},
        }));
        for violation in &event.violations {
            events.push(json!({
                "ph": "i", "s": "g", "pid": 1, "tid": thread(node), "ts": at, "cat": "violation",
                "name": format!("{}: {}", violation.property, violation.words),
            }));
        }
    }
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
                        slices.extend(lasting(what, thread(node), start, *at));
                        since = None;
                    }
                    (None | Some(_), _) => {}
                }
            }
            if let Some(start) = since {
                slices.extend(lasting(what, thread(node), start, end));
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

/// Slices of one thread must nest, which these need not: they are asynchronous ones.
fn lasting(what: &'static str, thread: usize, start: i64, end: i64) -> [Value; 2] {
    let id = format!("{what}-{thread}-{start}");
    let part = |phase, at| json!({"ph": phase, "pid": 1, "tid": thread, "ts": at, "cat": what, "name": what, "id": id});
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
    use crate::report::toy;

    #[test]
    fn every_arrival_is_a_flow_between_two_steps_and_every_slice_that_begins_ends() {
        toy::story(toy::overlap, |story| {
            let trace: Value = serde_json::from_str(&perfetto(story)).unwrap();
            let events = trace["traceEvents"].as_array().unwrap();
            let phase = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
            let arrivals = story.events.iter().filter(|event| event.what == "delivered").count();
            assert_eq!((phase("s").len(), phase("f").len()), (arrivals, arrivals));
            assert!(!phase("b").is_empty());
            assert_eq!(phase("b").len(), phase("e").len());
            for (begins, ends) in phase("b").iter().zip(phase("e")) {
                assert!(begins["ts"].as_i64() < ends["ts"].as_i64(), "{begins}");
            }
            assert_eq!(
                phase("i").len(),
                story.events.iter().map(|event| event.violations.len()).sum::<usize>()
            );
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
