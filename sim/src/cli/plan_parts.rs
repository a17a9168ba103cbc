//! `picklock faults --fields`: what a plan file may say, each part as one writes it.

use super::Ending;
use super::screen::Screen;
use crate::plans::plan::{Fault, Plan, Side, Target, Trigger, When};
use crate::seeded::schedule::{Ranked, Schedule};
use picklock_model::machine::Line;
use picklock_model::time::Micros;
use serde::Serialize;
use serde_json::Value;

/// One thing that a plan file may say.
#[derive(Serialize)]
struct Part {
    /// What of a plan it is: `fault`, `when`, `event`, `node`, `side` (of links), `network`, `schedule`.
    of: &'static str,
    /// As one writes it, with values that are examples.
    example: Value,
    /// The same as text, its fields in the order in which people think of them.
    #[serde(skip)]
    written: String,
    /// What it does.
    description: &'static str,
}

fn part(of: &'static str, example: impl Serialize, description: &'static str) -> Part {
    match (serde_json::to_value(&example), serde_json::to_string(&example)) {
        (Ok(example), Ok(written)) => Part { of, example, written, description },
        (Err(error), _) | (_, Err(error)) => unreachable!("a part of a plan is plain data: {error}"),
    }
}

const A_WHILE: Micros = Micros::seconds(2);

/// Every fault that a plan can strike with, in the order in which their kinds are listed.
fn faults() -> [(Fault, &'static str); 15] {
    let node = Target::Server(0);
    let restart_after = Some(A_WHILE);
    let (from, to) = (Side::Clients, Side::Nodes([Target::Server(0)].into_iter().collect()));
    let links = || (from.clone(), to.clone());
    [
        (
            Fault::Pause { node: Target::Struck, length: A_WHILE },
            "the node handles nothing for so long; its clocks go on, its messages wait",
        ),
        (
            Fault::ClockStep { node, by: -A_WHILE },
            "its wall clock steps, back if negative, and stays wrong; at time 0 it is off from the beginning",
        ),
        (
            Fault::Drift { node, ppm: 200 },
            "both its clocks run fast, slow if negative: microseconds gained in a second",
        ),
        (
            Fault::Freeze { node, length: A_WHILE },
            "its wall clock stands still for so long, and is right again after that",
        ),
        (
            Fault::Strobe { node, by: A_WHILE, period: Micros::millis(100), times: 10 },
            "its wall clock steps to and fro so many times, and stays for a period at each end",
        ),
        (
            {
                let (from, to) = links();
                Fault::SlowLink { from, to, extra: Micros::millis(500), length: A_WHILE }
            },
            "for so long, messages from the one side to the other take so much longer",
        ),
        (
            {
                let (from, to) = links();
                Fault::LoseNext { from, to, count: 3 }
            },
            "the next so many messages from the one side to the other are lost, on each link",
        ),
        (
            {
                let (from, to) = links();
                Fault::Cut { from, to, both_ways: true, length: A_WHILE }
            },
            "for so long, no message from the one side arrives at the other, nor, if both ways, the other way round",
        ),
        (Fault::Isolate { node, length: A_WHILE }, "for so long, the node is cut off from all others"),
        (
            Fault::Crash { node, restart_after },
            "its process ends and starts again after so long; null: a client never, a server as all heals",
        ),
        (
            Fault::PowerLoss { node, restart_after },
            "as a crash, and what a server has not made durable is gone",
        ),
        (
            Fault::Suspend { node, length: A_WHILE, wall_too: false },
            "its machine stands still for so long, and its monotonic clock with it; its wall clock, too, if so said",
        ),
        (
            Fault::CoarseClock { node, granularity: Micros::millis(1) },
            "from then on its wall clock shows whole multiples only, so that readings tie",
        ),
        (
            {
                let (between, and) = links();
                Fault::Reset { between, and }
            },
            "connections end, with what was under way on them; both ends live on",
        ),
        (
            Fault::Replace { node, restart_after },
            "as a loss of power, and an empty server comes back under the name of the old one",
        ),
    ]
}

/// What a client does to pull a trigger.
fn events() -> [(Trigger, &'static str); 6] {
    [
        (Trigger::Granted, "it enters its critical section"),
        (Trigger::Renewed, "its lease was prolonged"),
        (Trigger::Left, "it leaves its critical section; its release is sent"),
        (Trigger::Enqueued, "a server has stored its place in the queue; each server counts"),
        (
            Trigger::Line(Line { listing: 6, number: 4 }),
            "it arrives at this line of its listing, as a replay names it",
        ),
        (Trigger::Step, "it takes a step, whatever comes of it"),
    ]
}

fn parts() -> Vec<Part> {
    let trigger =
        When::Trigger { client: Some(1), event: Trigger::Granted, nth: 2, delay: Micros::millis(3) };
    let when = [
        (When::At(Micros::seconds(5)), "at this time of the run"),
        (
            trigger,
            "when this client (null: any of them) has done this for the nth time, and so long after that; without a delay, at once",
        ),
    ];
    let nodes = [
        (Target::Client(0), "a client; the first one is 0"),
        (Target::Server(0), "a server; the first one is 0"),
        (Target::Struck, "the client that pulled the trigger"),
        (Target::Resource, "the resource that the lock protects; it has no clock"),
    ];
    let sides = [
        (Side::Everybody, "whoever is not on the other side; between everybody and everybody are all links"),
        (Side::Clients, "all clients"),
        (Side::Servers, "all servers"),
        (Side::Resource, "the resource"),
        (Side::Nodes([Target::Client(0), Target::Struck].into_iter().collect()), "these nodes"),
    ];
    let network = "how long messages take; of a thousand, so many take up to tail_max, so many are lost, so many requests \
                   come twice, so many replies are lost";
    let ranks = "who is first in rank gets its messages first; so often a sender falls to the last rank, while the first so \
                 many messages are sent; of nodes or of links";
    let schedule = Schedule::Priorities { of: Ranked::Nodes, changes: 2, messages: 200 };
    let of_faults = faults().map(|(fault, what)| part("fault", fault, what));
    let mut parts: Vec<Part> = of_faults.into_iter().collect();
    parts.extend(when.map(|(when, what)| part("when", when, what)));
    parts.extend(events().map(|(event, what)| part("event", event, what)));
    parts.extend(nodes.map(|(node, what)| part("node", node, what)));
    parts.extend(sides.map(|(side, what)| part("side", side, what)));
    parts.push(part("network", Plan::default().network, network));
    parts.push(part("schedule", Schedule::Uniform, "every message has its own luck"));
    parts.push(part("schedule", schedule, ranks));
    parts
}

const HEAD: &str = "A plan file is JSON, its times in microseconds:\n  {\"faults\": [{\"when\": WHEN, \"fault\": FAULT}, ...], \
                    \"heal_at\": TIME, \"network\": NETWORK, \"schedule\": SCHEDULE}\nFrom heal_at on nothing goes wrong any \
                    more. Network and schedule may be left out: a good day.\nSo may a trigger's client and delay, restart_after, and \
                    both_ways: any client, at once, null, one way.\nNo time is longer than 30 days; no clock drifts by more than \
                    500000 ppm either way; clients and servers are some that there are.\n";

/// What a plan file may say.
pub fn fields(screen: &mut Screen) -> Ending {
    let parts = parts();
    let mut text = HEAD.to_owned();
    let mut of = "";
    for part in &parts {
        if of != part.of {
            of = part.of;
            text += &format!("\n{of}\n");
        }
        text += &format!("  {}\n", part.written);
        text += &super::screen::wrapped(part.description, Screen::text_width(), "      ");
    }
    screen.text(&text);
    screen.rows(&parts, true);
    Ending::Fine
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::plan_file::PlanFile;
    use crate::plans::plan::Planned;
    use serde_json::json;

    /// The place of its kind of fault in the list. A new one goes at the end.
    fn place(fault: &Fault) -> usize {
        match fault {
            Fault::Pause { .. } => 0,
            Fault::ClockStep { .. } => 1,
            Fault::Drift { .. } => 2,
            Fault::Freeze { .. } => 3,
            Fault::Strobe { .. } => 4,
            Fault::SlowLink { .. } => 5,
            Fault::LoseNext { .. } => 6,
            Fault::Cut { .. } => 7,
            Fault::Isolate { .. } => 8,
            Fault::Crash { .. } => 9,
            Fault::PowerLoss { .. } => 10,
            Fault::Suspend { .. } => 11,
            Fault::CoarseClock { .. } => 12,
            Fault::Reset { .. } => 13,
            Fault::Replace { .. } => 14,
        }
    }

    #[test]
    fn the_limits_that_are_told_are_those_that_plans_have() {
        let is_run = |fault: Fault| {
            let planned = Planned { when: When::At(Micros::ZERO), fault };
            Plan { faults: vec![planned], ..Plan::default() }.implausible().is_none()
        };
        let (node, month) = (Target::Client(0), Micros::seconds(30 * 86_400));
        let drift = |ppm| is_run(Fault::Drift { node, ppm });
        let pause = |length| is_run(Fault::Pause { node, length });
        assert!(HEAD.contains("longer than 30 days") && pause(month) && !pause(month + Micros(1)));
        assert!(HEAD.contains("more than 500000 ppm") && drift(-500_000) && !drift(-500_001));
    }

    fn place_of_event(event: Trigger) -> usize {
        match event {
            Trigger::Granted => 0,
            Trigger::Renewed => 1,
            Trigger::Left => 2,
            Trigger::Enqueued => 3,
            Trigger::Line(_) => 4,
            Trigger::Step => 5,
        }
    }

    #[test]
    fn every_fault_and_every_event_is_listed() {
        assert!(faults().iter().map(|(fault, _)| place(fault)).eq(0..15));
        assert!(events().iter().map(|(event, _)| place_of_event(*event)).eq(0..6));
    }

    #[test]
    fn whatever_is_listed_can_be_written() {
        let trigger = json!({"trigger": {"event": "granted", "nth": 1, "client": null}});
        for part in parts() {
            let example = part.example;
            let fault = json!({"pause": {"node": "struck", "length": 1_000_000}});
            let mut plan = json!({"faults": [{"when": trigger, "fault": fault}], "heal_at": 60_000_000});
            let fault = &mut plan["faults"][0];
            match part.of {
                "when" => {
                    fault["when"] = example;
                    fault["fault"]["pause"]["node"] = json!({"client": 0});
                }
                "event" => fault["when"]["trigger"]["event"] = example,
                "fault" => fault["fault"] = example,
                "node" => fault["fault"]["pause"]["node"] = example,
                "network" | "schedule" => plan[part.of] = example,
                _ => fault["fault"] = json!({"reset": {"between": example, "and": "servers"}}),
            }
            let read = PlanFile::parse(&plan.to_string());
            assert!(read.is_ok(), "{}: {plan}: {:?}", part.of, read.err());
        }
    }
}
