//! The `events` of `picklock replay --json`: one object per step, for other tools.
//!
//! Fields may be added; the ones here keep their names and meanings. A field that does not apply to a step is left out,
//! except those that every step has.

use super::post::Post;
use super::{JsonOperation, message_words, violation_words};
use picklock_model::cluster::{Cluster, Wake};
use picklock_model::machine::{Node, Store};
use picklock_model::names::Words;
use picklock_model::system::{InMode, Process, System};
use picklock_model::trace::{Happening, Observer, Step};
use picklock_properties::{ClientId, Promise, Violation};
use serde::Serialize;

/// Collects the steps of a run.
#[derive(Clone, Debug, Default)]
pub struct JsonEvents {
    events: Vec<JsonEvent>,
    post: Post,
}

impl JsonEvents {
    /// The first message that is told of and was never sent: `None`, or the trace is wrong.
    pub fn unsent(&self) -> Option<&str> {
        self.post.unsent()
    }

    /// What was collected: serialises as the `events` array.
    pub fn finish(self) -> Vec<JsonEvent> {
        self.events
    }
}

/// One step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct JsonEvent {
    /// Number of the step, from 1.
    pub step: u64,
    /// True time since the run began, in microseconds.
    pub at_us: i64,
    /// Whose step it is, or whom it strikes; `null` if nobody in particular.
    pub node: Option<String>,
    /// What happened, in one word.
    pub what: &'static str,
    /// Sender, if it is about a message or a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Receiver, if it is about a message or a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What the message says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The step that sent the message; where the engine does not tell it from others that say the same, byte for byte, the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_in: Option<u64>,
    /// Who in the node was woken: `app` or `machine`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake: Option<&'static str>,
    /// Whether a crash took along what was not durable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_lost: Option<bool>,
    /// How far the clock stepped, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_us: Option<i64>,
    /// How fast the clock runs, in microseconds gained per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ppm: Option<i32>,
    /// Where in its source the client stands after the step, `L6:3` for Listing 6, line 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// What the node's wall clock shows, in microseconds since the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_us: Option<i64>,
    /// What the client does after the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doing: Option<&'static str>,
    /// What the server did of its own accord, or at somebody's behest who is no client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<&'static str>,
    /// What the server stores after the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<Vec<String>>,
    /// What the node sent, in order.
    pub sent: Vec<JsonMessage>,
    /// What the monitors were told, in order: `granted A`.
    pub reported: Vec<String>,
    /// Which operations of shared objects began or ended in it, in order. Left out if none did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<JsonOperation>,
    /// Who is in its critical section after the step.
    pub holders: Vec<String>,
    /// In which modes clients have what is converted while it is held, after the step. Left out if none does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<JsonMode>,
    /// Several are, and their modes of access let them. Left out unless it is so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub holders_share: bool,
    /// Which promises the step broke.
    pub violations: Vec<JsonViolation>,
}

/// In which mode a client has something, and which one it waits for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct JsonMode {
    /// Who.
    pub client: String,
    /// What: `R1`.
    pub resource: String,
    /// In which mode it has it; left out if in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has: Option<String>,
    /// In which one it wants it; left out if it waits for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wants: Option<String>,
}

/// What everybody has.
fn modes_words<Y: System>(cluster: &Cluster<Y>) -> Vec<JsonMode> {
    let modes = *cluster.usage().accesses.modes();
    let name = |access| modes.name(access).to_string();
    let of_client = |(client, process): (u8, &Y::Process)| {
        let in_mode = move |had: InMode| JsonMode {
            client: ClientId(client).to_string(),
            resource: format!("R{}", had.resource.0 + 1),
            has: had.has.map(name),
            wants: had.wants.map(name),
        };
        process.in_modes().into_iter().map(in_mode).collect::<Vec<_>>()
    };
    (0..).zip(&cluster.clients).flat_map(of_client).collect()
}

/// A message that was sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct JsonMessage {
    /// Receiver.
    pub to: String,
    /// What it says.
    pub message: String,
}

/// A broken promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct JsonViolation {
    /// The promise.
    pub property: Promise,
    /// Who broke it.
    pub client: String,
    /// Against whom; `client` itself where there is no second party.
    pub other: String,
    /// The same in words.
    pub words: String,
}

impl From<&Violation> for JsonViolation {
    fn from(violation: &Violation) -> JsonViolation {
        JsonViolation {
            property: violation.promise,
            client: violation.client.to_string(),
            other: violation.other.to_string(),
            words: violation_words(violation),
        }
    }
}

impl<Y: System> Observer<Y> for JsonEvents {
    fn observe(&mut self, step: &Step<Y>) {
        let node = step.happening.node();
        let usage = step.cluster.usage();
        let mut event = JsonEvent {
            step: self.events.len() as u64 + 1,
            at_us: step.at.0,
            node: node.map(|node| node.to_string()),
            what: what(step.happening),
            from: None,
            to: None,
            message: None,
            sent_in: self.post.take(step).map(u64::from),
            wake: None,
            power_lost: None,
            by_us: None,
            ppm: None,
            line: None,
            wall_us: node
                .filter(|node| step.cluster.index(*node).is_some())
                .map(|node| step.cluster.condition(node).clock.wall(step.at).0),
            doing: None,
            remark: step.effects.remark,
            stored: None,
            sent: step
                .effects
                .sends
                .iter()
                .map(|(to, message)| JsonMessage {
                    to: to.to_string(),
                    message: message_words(message, Y::WORDS),
                })
                .collect(),
            reported: step.effects.events.iter().map(|event| event.words(&usage.accesses)).collect(),
            operations: step.effects.events.iter().filter_map(JsonOperation::of).collect(),
            holders: usage.holding.iter().map(|client| client.to_string()).collect(),
            modes: modes_words(step.cluster),
            holders_share: usage.holding.len() > 1 && usage.is_legal(),
            violations: step.violations.iter().map(JsonViolation::from).collect(),
        };
        event.add_happening(step.happening, Y::WORDS);
        match node {
            Some(Node::Client(client)) => {
                let client = &step.cluster.clients[usize::from(client)];
                event.doing = Some(client.doing());
                event.line = Some(client.line().to_string()).filter(|line| !line.is_empty());
            }
            Some(Node::Server(server)) => {
                let stored = step.cluster.servers[usize::from(server)].contents();
                event.stored = Some(stored.iter().map(|line| Y::WORDS.fill_in(line)).collect());
            }
            Some(Node::Resource) => event.stored = Some(step.cluster.resource.contents()),
            None => {}
        }
        self.events.push(event);
    }
}

impl JsonEvent {
    fn add_happening<S: Store>(&mut self, happening: &Happening<S>, words: Words) {
        match happening {
            Happening::Delivered { from, to, message }
            | Happening::Lost { from, to, message }
            | Happening::Duplicated { from, to, message } => {
                self.add_route(*from, *to);
                self.message = Some(message_words(message, words));
            }
            Happening::LinkCut { from, to }
            | Happening::LinkMended { from, to }
            | Happening::ConnectionReset { from, to } => {
                self.add_route(*from, *to);
            }
            Happening::Woke { wake: Wake::App, .. } => self.wake = Some("app"),
            Happening::Woke { wake: Wake::Machine, .. } => self.wake = Some("machine"),
            Happening::Crashed { power_lost, .. } => self.power_lost = Some(*power_lost),
            Happening::ClockStepped { by, .. }
            | Happening::TickedUnevenly { gained: by, .. }
            | Happening::ClockCoarse { granularity: by, .. } => {
                self.by_us = Some(by.0);
            }
            Happening::ClockDrifts { ppm, .. } => self.ppm = Some(*ppm),
            Happening::Ticked
            | Happening::Paused { .. }
            | Happening::Suspended { .. }
            | Happening::DiskLost { .. }
            | Happening::Resumed { .. }
            | Happening::Restarted { .. }
            | Happening::ClockFroze { .. }
            | Happening::ClocksFroze { .. }
            | Happening::ClockThawed { .. }
            | Happening::Healed => {}
        }
    }

    fn add_route(&mut self, from: Node, to: Node) {
        self.from = Some(from.to_string());
        self.to = Some(to.to_string());
    }
}

fn what<S: Store>(happening: &Happening<S>) -> &'static str {
    match happening {
        Happening::Delivered { .. } => "delivered",
        Happening::Lost { .. } => "lost",
        Happening::Duplicated { .. } => "duplicated",
        Happening::Woke { .. } => "woke",
        Happening::Ticked => "ticked",
        Happening::TickedUnevenly { .. } => "ticked-unevenly",
        Happening::Paused { .. } => "paused",
        Happening::Suspended { .. } => "suspended",
        Happening::ClockCoarse { .. } => "clock-coarse",
        Happening::ConnectionReset { .. } => "connection-reset",
        Happening::DiskLost { .. } => "disk-lost",
        Happening::Resumed { .. } => "resumed",
        Happening::Crashed { .. } => "crashed",
        Happening::Restarted { .. } => "restarted",
        Happening::ClockStepped { .. } => "clock-stepped",
        Happening::ClockDrifts { .. } => "clock-drifts",
        Happening::ClockFroze { .. } => "clock-froze",
        Happening::ClocksFroze { .. } => "clocks-froze",
        Happening::ClockThawed { .. } => "clock-thawed",
        Happening::LinkCut { .. } => "link-cut",
        Happening::LinkMended { .. } => "link-mended",
        Happening::Healed => "healed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::toy;
    use serde_json::{Value, json};

    fn events(run: impl FnOnce(&mut JsonEvents)) -> Vec<Value> {
        let mut events = JsonEvents::default();
        run(&mut events);
        events.finish().into_iter().map(|event| serde_json::to_value(event).unwrap()).collect()
    }

    #[test]
    fn a_delivery_says_who_got_what_from_whom_and_what_became_of_it() {
        let expected = json!({
            "step": 12, "at_us": 5500, "node": "B", "what": "delivered",
            "from": "s1", "to": "B", "message": "done", "sent_in": 11,
            "line": "L1:4", "wall_us": 5500 - 2_000_000, "doing": "holds",
            "sent": [], "reported": ["granted B"], "holders": ["A", "B"],
            "violations": [
                {"property": "mutual-exclusion", "client": "B", "other": "A", "words": "B enters while A holds"},
                {"property": "theorem-1", "client": "B", "other": "A",
                 "words": "B enters by lock while A holds by lock"},
            ],
        });
        assert_eq!(events(toy::overlap)[11], expected);
    }

    #[test]
    fn a_server_says_what_it_stores_and_a_client_that_is_nowhere_has_no_line() {
        let events = events(toy::overlap);
        assert_eq!(events[5]["stored"], json!(["00001370044800002000tA"]));
        assert_eq!(
            events[5]["sent"],
            json!([{"to": "s2", "message": "copy 00001370044800002000tA"}, {"to": "A", "message": "done"}])
        );
        let resource = &events[14];
        assert_eq!((&resource["node"], &resource["what"]), (&json!("resource"), &json!("delivered")));
        assert_eq!(resource.get("wall_us"), None);
    }

    #[test]
    fn every_fault_has_its_name_and_its_measure() {
        let events = events(toy::misfortune);
        let what: Vec<&str> = events.iter().map(|event| event["what"].as_str().unwrap()).collect();
        let expected = [
            "woke",
            "duplicated",
            "lost",
            "paused",
            "resumed",
            "clock-stepped",
            "clock-drifts",
            "clock-froze",
            "clock-thawed",
            "link-cut",
            "link-mended",
            "ticked",
            "ticked",
            "crashed",
            "restarted",
            "crashed",
            "healed",
        ];
        assert_eq!(what, expected);
        assert_eq!((&events[5]["by_us"], &events[6]["ppm"]), (&json!(-2_000_000), &json!(200)));
        assert_eq!((&events[13]["power_lost"], &events[15]["power_lost"]), (&json!(true), &json!(false)));
        assert_eq!((&events[9]["from"], &events[9]["to"]), (&json!("A"), &json!("s1")));
    }

    #[test]
    fn what_befalls_machines_connections_and_disks_has_its_name_too() {
        let events = events(toy::hardship);
        let what: Vec<&str> = events.iter().map(|event| event["what"].as_str().unwrap()).collect();
        let expected = [
            "woke",
            "suspended",
            "resumed",
            "clock-coarse",
            "connection-reset",
            "crashed",
            "disk-lost",
            "restarted",
        ];
        assert_eq!(what, expected);
        assert_eq!(events[3]["by_us"], json!(15_625));
        assert_eq!((&events[4]["from"], &events[4]["to"]), (&json!("B"), &json!("s1")));
    }

    #[test]
    fn every_event_has_the_fields_that_tools_rely_on() {
        for event in [toy::overlap, toy::patience, toy::misfortune].into_iter().flat_map(events) {
            for field in ["step", "at_us", "node", "what", "sent", "reported", "holders", "violations"] {
                assert!(event.get(field).is_some(), "{field} is missing in {event}");
            }
        }
    }
}
