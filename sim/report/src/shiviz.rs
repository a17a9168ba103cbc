//! The run as a log that ShiViz (<https://bestchai.bitbucket.io/shiviz/>) draws: each step with its vector clock.
//!
//! The first line is the regular expression that ShiViz is to be given; the log follows after an empty line.

use crate::flights::flights;
use picklock_engine::report::Story;
use serde_json::{Map, Value};
use std::fmt::Write;

/// What ShiViz takes the log apart with.
const PARSER: &str = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)";

/// The log, two lines a step. Steps of nobody in particular (a tick of time) are not in it.
pub fn shiviz(story: Story) -> String {
    let flights = flights(story.events, story.time);
    let nodes = story.nodes.len();
    let lane = |node: &str| story.nodes.iter().position(|known| known == node);
    // What each node knows of all, and what each step knew.
    let mut known = vec![vec![0_u64; nodes]; nodes];
    let mut after: Vec<Vec<u64>> = Vec::with_capacity(story.events.len());
    let mut log = format!("{PARSER}\n\n");
    for (position, event) in story.events.iter().enumerate() {
        let Some((node, me)) = event.node.as_ref().and_then(|node| Some((node, lane(node)?))) else {
            after.push(Vec::new());
            continue;
        };
        if event.what == "delivered"
            && let Some(flight) = flights.iter().find(|flight| flight.ended == Some(position))
        {
            for (own, theirs) in known[me].iter_mut().zip(&after[flight.sent]) {
                *own = (*own).max(*theirs);
            }
        }
        known[me][me] += 1;
        after.push(known[me].clone());
        let clock: Map<String, Value> = (story.nodes.iter().zip(&known[me]))
            .filter(|(_, count)| **count > 0)
            .map(|(node, count)| (node.clone(), Value::from(*count)))
            .collect();
        let message = event.message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
        let doing = event.doing.map_or_else(String::new, |doing| format!(", {doing}"));
        let broken: String =
            event.violations.iter().map(|violation| format!(" ({})", violation.words)).collect();
        let _ = writeln!(log, "{node} {}\n{}{message}{doing}{broken}", Value::Object(clock), event.what);
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    #[test]
    fn who_receives_a_message_knows_all_that_its_sender_knew() {
        toy::story(toy::overlap, |story| {
            let log = shiviz(story);
            let (parser, steps) = log.split_once("\n\n").unwrap();
            assert_eq!(parser, PARSER);
            let lines: Vec<&str> = steps.lines().collect();
            let clock = |step: usize| -> Value {
                let (_, clock) = lines[2 * step].split_once(' ').unwrap();
                serde_json::from_str(clock).unwrap()
            };
            // A wakes and asks, and s1 hears of it.
            assert_eq!(clock(0), serde_json::json!({"A": 1}));
            assert_eq!(clock(1), serde_json::json!({"A": 1, "s1": 1}));
            let own = story.events.iter().filter(|event| event.node.is_some()).count();
            assert_eq!(lines.len(), 2 * own);
        });
    }
}
