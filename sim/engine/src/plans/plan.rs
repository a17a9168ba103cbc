//! The fault plan: what goes wrong in a run, as data.
//!
//! A plan is a network and a list of faults, each with the moment at which it strikes: a true time, or a trigger, which
//! aims it at something a client does ("when B reaches line 4, pause it for 40 s"). It can be written by hand, drawn
//! from a seed ([`Plan::random`]), kept in a file (JSON), told in a token by the names of its parts, printed and shrunk. Nodes
//! are numbered modulo how many there are, so that a plan stays valid when a shrinker takes clients away.

mod among;
mod plausible;

pub use plausible::DRIFT_PPM_MAX;
pub(crate) use plausible::LENGTH_MAX;

use crate::seeded::network::Network;
use crate::seeded::schedule::Schedule;
use picklock_model::machine::{Line, Node};
use picklock_model::time::Micros;
use picklock_properties::ClientId;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt::{Display, Formatter};

/// What goes wrong in a run, and until when.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// How messages fare. A file may leave it out: as on a good day.
    #[serde(default)]
    pub network: Network,
    /// What strikes when. The order matters only for faults that strike in the same microsecond.
    pub faults: Vec<Planned>,
    /// From this true time on nothing goes wrong any more, and progress is owed.
    pub heal_at: Micros,
    /// Who gets its messages first. A file may leave it out: nobody.
    #[serde(default)]
    pub schedule: Schedule,
}

/// A fault and its moment.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Planned {
    /// The moment.
    pub when: When,
    /// The fault.
    pub fault: Fault,
}

/// A moment in a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// A true time, counted from the beginning of the run.
    At(Micros),
    /// Something a client does.
    Trigger {
        /// Which client; `None`: any, and `nth` counts all of them together.
        client: Option<u8>,
        /// What it does.
        event: Trigger,
        /// At which time that it does it, counted from 1.
        nth: u16,
        /// How much later the fault strikes.
        #[serde(default)]
        delay: Micros,
    },
}

/// What a client does, or what a server says of it, to pull a trigger.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// It arrives at this line of its listing: what the line sends is sent, what it waits for has not come.
    Line(Line),
    /// It has a place in the queue: a server says so in the step in which it stores that, every server for itself.
    Enqueued,
    /// It enters its critical section.
    Granted,
    /// Its lease was prolonged.
    Renewed,
    /// It leaves its critical section; its release is sent.
    Left,
    /// It takes a step: a message, a deadline or a start after a crash, whatever comes of it.
    Step,
}

/// One node of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// A client, modulo how many there are.
    Client(u8),
    /// A server, modulo how many there are.
    Server(u8),
    /// The client that pulled the trigger; the first one where there is no trigger.
    Struck,
    /// The resource that the lock protects. It has no clock that could go wrong.
    Resource,
}

/// Some nodes of a plan.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// All nodes that are not on the other side of the links, whichever side this is; between everybody and everybody are all links.
    Everybody,
    /// All clients.
    Clients,
    /// All servers.
    Servers,
    /// The resource that the lock protects.
    Resource,
    /// These.
    Nodes(SmallVec<[Target; 4]>),
}

impl Side {
    /// Whether it is one node, whoever takes part.
    fn is_one(&self) -> bool {
        match self {
            Side::Resource => true,
            Side::Nodes(nodes) => nodes.len() == 1,
            Side::Everybody | Side::Clients | Side::Servers => false,
        }
    }
}

/// What goes wrong.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The node handles nothing for a while; its clocks go on, its messages wait, its deadlines fire late.
    Pause {
        /// Who.
        node: Target,
        /// For how long.
        length: Micros,
    },
    /// The node's process ends; messages to it are lost (connection reset). What it has sent and nobody has taken is lost as well, all of
    /// it, or arrives: in a seeded run that is tossed once for each crash. A server's disk survives.
    Crash {
        /// Who.
        node: Target,
        /// When it starts again, counted from the crash; `None`: a client never, a server when the run heals.
        restart_after: Option<Micros>,
    },
    /// As a crash, and what was not durable is gone, half of what the node had just said included.
    PowerLoss {
        /// Who.
        node: Target,
        /// As for a crash.
        restart_after: Option<Micros>,
    },
    /// The wall clock steps, and stays wrong after the run heals. At time 0 this is an offset.
    ClockStep {
        /// Whose.
        node: Target,
        /// How far; negative is back.
        by: Micros,
    },
    /// Both clocks run fast or slow.
    Drift {
        /// Whose.
        node: Target,
        /// Microseconds gained per second.
        ppm: i32,
    },
    /// The wall clock stands still, and then shows again what it would have shown.
    Freeze {
        /// Whose.
        node: Target,
        /// For how long.
        length: Micros,
    },
    /// The wall clock steps to and fro.
    Strobe {
        /// Whose.
        node: Target,
        /// How far.
        by: Micros,
        /// How long it stays at each end.
        period: Micros,
        /// How many steps.
        times: u16,
    },
    /// Messages from one side to the other do not arrive, nor do those under way. Who is on both sides counts as `from`.
    Cut {
        /// Senders.
        from: Side,
        /// Receivers.
        to: Side,
        /// Whether messages from `to` to `from` do not arrive, either.
        #[serde(default)]
        both_ways: bool,
        /// For how long.
        length: Micros,
    },
    /// One node is cut off from all the rest, both ways.
    Isolate {
        /// Who.
        node: Target,
        /// For how long.
        length: Micros,
    },
    /// Messages from one side to the other take longer.
    SlowLink {
        /// Senders.
        from: Side,
        /// Receivers.
        to: Side,
        /// How much longer.
        extra: Micros,
        /// For how long.
        length: Micros,
    },
    /// The next messages on each link from one side to the other are lost.
    LoseNext {
        /// Senders.
        from: Side,
        /// Receivers.
        to: Side,
        /// How many on each link.
        count: u16,
    },
    /// The node's whole machine stands still, a suspended or migrated virtual machine: as in a pause it handles nothing, but
    /// its monotonic clock does not count the time. `CLOCK_MONOTONIC` does so on Linux; a pause is for those who read
    /// `CLOCK_BOOTTIME`.
    Suspend {
        /// Who.
        node: Target,
        /// For how long.
        length: Micros,
        /// Whether the wall clock has lost the time, too, and stays behind; else it is right again on waking.
        wall_too: bool,
    },
    /// From now on the wall clock shows whole multiples only, so that readings in between tie: the milliseconds of many a
    /// library, the 1/64 s of Windows' timer, the seconds of `time(2)`. Stays so after the run heals.
    CoarseClock {
        /// Whose.
        node: Target,
        /// Of what.
        granularity: Micros,
    },
    /// Connections end, and those at both ends live on: requests under way are lost, or they were carried out and the reply is
    /// lost. What is said afterwards goes over a new connection. Who asked learns of it as of any loss, by waiting in vain.
    Reset {
        /// One end of the connections.
        between: Side,
        /// The other end. Who is on both sides counts as `between`.
        and: Side,
    },
    /// As a loss of power, and the server's disk does not come back: it is replaced by an empty one under the same name. A
    /// client has no more to lose than in a loss of power.
    Replace {
        /// Who.
        node: Target,
        /// As for a crash.
        restart_after: Option<Micros>,
    },
}

impl Fault {
    /// Whether nothing comes of it, whomever it strikes: it is over as it begins, or by nothing.
    pub fn amounts_to_nothing(&self) -> bool {
        let is_over = |length: Micros| length <= Micros::ZERO;
        match *self {
            Fault::Pause { length, .. }
            | Fault::Suspend { length, .. }
            | Fault::Isolate { length, .. }
            | Fault::Freeze { length, .. }
            | Fault::Cut { length, .. } => is_over(length),
            Fault::SlowLink { extra, length, .. } => is_over(extra) || is_over(length),
            Fault::LoseNext { count, .. } => count == 0,
            Fault::ClockStep { by, .. } => by == Micros::ZERO,
            Fault::Strobe { by, times, .. } => by == Micros::ZERO || times == 0,
            // A clock that was wrong is right from then on: no drift ends one, and the finest steps end coarse ones.
            Fault::Drift { .. } | Fault::CoarseClock { .. } => false,
            Fault::Crash { .. } | Fault::PowerLoss { .. } | Fault::Replace { .. } | Fault::Reset { .. } => {
                false
            }
        }
    }

    /// Whether it does no more than to put a clock wrong.
    pub fn is_of_a_clock(&self) -> bool {
        match self {
            Fault::ClockStep { .. }
            | Fault::Drift { .. }
            | Fault::Freeze { .. }
            | Fault::Strobe { .. }
            | Fault::CoarseClock { .. } => true,
            Fault::Pause { .. }
            | Fault::Suspend { .. }
            | Fault::Crash { .. }
            | Fault::PowerLoss { .. }
            | Fault::Replace { .. }
            | Fault::Cut { .. }
            | Fault::Isolate { .. }
            | Fault::Reset { .. }
            | Fault::SlowLink { .. }
            | Fault::LoseNext { .. } => false,
        }
    }
}

impl Plan {
    /// Whether anything may go wrong by it: it has faults, or messages are lost or doubled.
    pub fn has_faults(&self) -> bool {
        let Network { loss_per_mille, duplicate_per_mille, reply_loss_per_mille, .. } = self.network;
        !self.faults.is_empty() || [loss_per_mille, duplicate_per_mille, reply_loss_per_mille] != [0; 3]
    }
}

impl Display for Plan {
    /// The network, the schedule unless it is uniform, then a line per fault, then when the run heals. What strikes at a time
    /// comes first, the earliest first, then what waits for somebody, who has to come the fewest times first.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "network: {}", self.network)?;
        if self.schedule != Schedule::Uniform {
            writeln!(f, "schedule: {}", self.schedule)?;
        }
        let mut faults: Vec<&Planned> = self.faults.iter().collect();
        faults.sort_by_key(|planned| match planned.when {
            When::At(at) => (false, 0, at),
            When::Trigger { nth, delay, .. } => (true, nth, delay),
        });
        faults.into_iter().try_for_each(|planned| writeln!(f, "{planned}"))?;
        write!(f, "at {}: heals", self.heal_at)
    }
}

/// Whoever pulled the trigger, in words.
const STRUCK: &str = "that client";

impl Display for Planned {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let fault = self.fault.to_string();
        match self.when {
            When::Trigger { .. } => write!(f, "{}: {fault}", self.when),
            // Nobody pulled a trigger: it is the first client.
            When::At(_) => write!(f, "{}: {}", self.when, fault.replace(STRUCK, &ClientId(0).to_string())),
        }
    }
}

impl Display for When {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match *self {
            When::At(at) => write!(f, "at {at}"),
            When::Trigger { client, event, nth, delay } => {
                match delay {
                    Micros::ZERO => f.write_str("when ")?,
                    delay => write!(f, "{delay} after ")?,
                }
                match client {
                    Some(client) => write!(f, "{} {event}", ClientId(client))?,
                    None => write!(f, "a client {event}")?,
                }
                if nth > 1 { write!(f, " for the {} time", ordinal(nth)) } else { Ok(()) }
            }
        }
    }
}

/// `third`, `21st`.
fn ordinal(number: u16) -> String {
    const WORDS: [&str; 10] =
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];
    let word = number.checked_sub(1).and_then(|place| WORDS.get(usize::from(place)));
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        (_, _) => "th",
    };
    word.map_or_else(|| format!("{number}{ending}"), |word| (*word).to_owned())
}

impl Display for Trigger {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Trigger::Line(line) => write!(f, "reaches {line}"),
            Trigger::Enqueued => f.write_str("is enqueued"),
            Trigger::Granted => f.write_str("is granted"),
            Trigger::Renewed => f.write_str("has renewed"),
            Trigger::Left => f.write_str("leaves"),
            Trigger::Step => f.write_str("takes a step"),
        }
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match *self {
            Target::Client(client) => write!(f, "{}", Node::Client(client)),
            Target::Server(server) => write!(f, "{}", Node::Server(server)),
            Target::Struck => f.write_str(STRUCK),
            Target::Resource => write!(f, "the {}", Node::Resource),
        }
    }
}

impl Display for Side {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Side::Everybody => f.write_str("everybody"),
            Side::Clients => f.write_str("the clients"),
            Side::Servers => f.write_str("the servers"),
            Side::Resource => f.write_str("the resource"),
            Side::Nodes(nodes) if nodes.is_empty() => f.write_str("nobody"),
            Side::Nodes(nodes) => {
                for (position, node) in nodes.iter().enumerate() {
                    write!(f, "{}{node}", if position == 0 { "" } else { " and " })?;
                }
                Ok(())
            }
        }
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Pause { node, length } => write!(f, "{node} pauses for {length}"),
            Fault::Crash { node, restart_after } => {
                write!(f, "{node} crashes{}", Restart(*node, *restart_after))
            }
            Fault::PowerLoss { node, restart_after } => {
                write!(f, "{node} loses power{}", Restart(*node, *restart_after))
            }
            Fault::ClockStep { node, by } if by.0 < 0 => {
                write!(f, "{node}'s wall clock steps back by {}", -*by)
            }
            Fault::ClockStep { node, by } => write!(f, "{node}'s wall clock steps forward by {by}"),
            Fault::Drift { node, ppm } => write!(f, "{node}'s clocks drift by {ppm} ppm"),
            Fault::Freeze { node, length } => write!(f, "{node}'s wall clock stands still for {length}"),
            Fault::Strobe { node, by, period, times } => {
                write!(f, "{node}'s wall clock steps by {by} to and fro, {times} times, every {period}")
            }
            Fault::Cut { from, to, both_ways, length } => {
                let how = if *both_ways { "both ways" } else { "one way" };
                write!(f, "cut from {from} to {to}, {how}, for {length}")
            }
            Fault::Isolate { node, length } => write!(f, "{node} is cut off for {length}"),
            Fault::SlowLink { from, to, extra, length } => {
                write!(f, "from {from} to {to} messages take {extra} longer for {length}")
            }
            Fault::LoseNext { from, to, count } => {
                let on_each = if from.is_one() && to.is_one() { "" } else { " on each link" };
                match count {
                    1 => write!(f, "the next message{on_each} from {from} to {to} is lost"),
                    count => write!(f, "the next {count} messages{on_each} from {from} to {to} are lost"),
                }
            }
            Fault::Suspend { node, length, wall_too } => {
                let clocks = if *wall_too { "both its clocks" } else { "its monotonic clock" };
                write!(f, "{node} is suspended for {length}, which {clocks} will not have counted")
            }
            Fault::CoarseClock { node, granularity } => {
                write!(f, "{node}'s wall clock goes in steps of {granularity}")
            }
            Fault::Reset { between, and } => {
                write!(f, "connections between {between} and {and} are reset")
            }
            Fault::Replace { node, restart_after } => {
                write!(f, "{node} is lost with its disk{}", Restart(*node, *restart_after))
            }
        }
    }
}

/// Who starts again, and how long after.
struct Restart(Target, Option<Micros>);

impl Display for Restart {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match (self.1, self.0) {
            (Some(Micros::ZERO), _) => f.write_str(" and starts again at once"),
            (Some(after), _) => write!(f, " and starts again after {after}"),
            (None, Target::Client(_) | Target::Struck) => f.write_str(" and stays down"),
            (None, Target::Server(_) | Target::Resource) => f.write_str(" and stays down until all heals"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::schedule::Ranked;
    use smallvec::smallvec;

    fn written_by_hand() -> Plan {
        let granted =
            When::Trigger { client: None, event: Trigger::Granted, nth: 2, delay: Micros::millis(3) };
        let line = Trigger::Line(Line { listing: 6, number: 4 });
        let at_line = When::Trigger { client: Some(1), event: line, nth: 1, delay: Micros::ZERO };
        let cut = Fault::Cut {
            from: Side::Nodes(smallvec![Target::Server(0), Target::Server(1)]),
            to: Side::Everybody,
            both_ways: false,
            length: Micros::seconds(5),
        };
        Plan {
            network: Network::default(),
            faults: vec![
                Planned {
                    when: granted,
                    fault: Fault::Pause { node: Target::Struck, length: Micros::seconds(45) },
                },
                Planned {
                    when: at_line,
                    fault: Fault::Crash { node: Target::Server(2), restart_after: None },
                },
                Planned {
                    when: When::At(Micros::ZERO),
                    fault: Fault::ClockStep { node: Target::Client(0), by: Micros(-1500) },
                },
                Planned { when: When::At(Micros::millis(1)), fault: cut },
            ],
            heal_at: Micros::seconds(60),
            schedule: Schedule::Uniform,
        }
    }

    #[test]
    fn a_plan_is_printed_a_line_a_fault() {
        let printed = written_by_hand().to_string();
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!(
            lines,
            [
                "network: 200us to 2ms",
                "at 0: A's wall clock steps back by 1.500ms",
                "at 1ms: cut from s1 and s2 to everybody, one way, for 5s",
                "when B reaches L6:4: s3 crashes and stays down until all heals",
                "3ms after a client is granted for the second time: that client pauses for 45s",
                "at 60s: heals",
            ]
        );
    }

    #[test]
    fn times_are_counted_as_people_count() {
        let told = [1, 3, 10, 11, 12, 21, 22, 23, 40, 111, 113].map(ordinal);
        assert_eq!(
            told,
            ["first", "third", "tenth", "11th", "12th", "21st", "22nd", "23rd", "40th", "111th", "113th"]
        );
    }

    #[test]
    fn faults_of_machines_connections_and_disks_are_told_apart_in_words() {
        let (node, length) = (Target::Server(1), Micros::seconds(3));
        let suspend = |wall_too| Fault::Suspend { node: Target::Client(0), length, wall_too };
        let told = [
            (suspend(false), "A is suspended for 3s, which its monotonic clock will not have counted"),
            (suspend(true), "A is suspended for 3s, which both its clocks will not have counted"),
            (
                Fault::CoarseClock { node, granularity: Micros(15_625) },
                "s2's wall clock goes in steps of 15.625ms",
            ),
            (
                Fault::Reset { between: Side::Nodes(smallvec![Target::Struck]), and: Side::Servers },
                "connections between that client and the servers are reset",
            ),
            (
                Fault::Replace { node, restart_after: Some(length) },
                "s2 is lost with its disk and starts again after 3s",
            ),
            (Fault::Pause { node: Target::Resource, length }, "the resource pauses for 3s"),
        ];
        for (fault, words) in told {
            assert_eq!(fault.to_string(), words);
        }
    }

    #[test]
    fn a_schedule_has_a_line_of_its_own_unless_it_is_uniform() {
        let of = Ranked::Nodes;
        let line = |changes| {
            let schedule = Schedule::Priorities { of, changes, messages: 120 };
            Plan { schedule, ..written_by_hand() }.to_string().lines().nth(1).unwrap().to_owned()
        };
        assert_eq!(line(0), "schedule: nodes by rank");
        let falls = "schedule: nodes by rank, one of which falls to the last among the first 120 messages";
        assert_eq!(line(1), falls);
    }

    #[test]
    fn a_file_may_leave_the_schedule_out() {
        let mut json = serde_json::to_value(written_by_hand()).unwrap();
        assert!(json.as_object_mut().unwrap().remove("schedule").is_some());
        assert_eq!(serde_json::from_value::<Plan>(json).unwrap(), written_by_hand());
    }

    #[test]
    fn a_plan_comes_back_from_json_and_from_bytes() {
        let plan = written_by_hand();
        let json = serde_json::to_string_pretty(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
        assert!(json.contains("\"pause\"") && json.contains("\"struck\""), "{json}");
        let bytes = postcard::to_stdvec(&plan).unwrap();
        assert_eq!(postcard::from_bytes::<Plan>(&bytes), Ok(plan));
    }
}
