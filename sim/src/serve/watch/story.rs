//! The time line as a picture: the same page as for runs of the simulator.
//!
//! A command is a message from its client to its server, from when it came out of the client's socket to when it was run; a
//! reply is one the other way, until it was written into the socket.

use super::Watch;
use super::record::{Happened, LinkId, What};
use crate::plans::plan::Fault;
use crate::report::{JsonEvent, JsonMessage, JsonViolation, Reason, Story, TimeColumn};
use picklock_model::machine::Node;
use picklock_model::time::Micros;

/// How far back the picture goes, in things that happened, and how much of the aftermath it has.
const PAST_MAX: usize = 4_000;
/// How many clients it has room for.
const CLIENTS_MAX: usize = 24;

/// What a picture needs, of the first promise that was broken.
#[derive(Debug)]
pub struct Picture {
    title: String,
    broken: Vec<String>,
    reasons: Vec<Reason>,
    plan: Vec<String>,
    nodes: Vec<String>,
    events: Vec<JsonEvent>,
    /// What does it again.
    again: String,
}

impl Picture {
    /// The last of the time line, around what was broken first. `again` is what does it again.
    pub fn new(watch: &Watch, servers: u8, title: &str, plan: Vec<String>, again: String) -> Picture {
        let until = watch.broken().next().map(|broken| broken.at);
        let past: Vec<Happened> = watch.record.past().collect();
        let broken_at =
            past.iter().position(|happened| happened.what == What::Broken && Some(happened.at) == until);
        let end = broken_at.map_or(past.len(), |at| (at + 200).min(past.len()));
        let shown = &past[end.saturating_sub(PAST_MAX)..end];
        let mut drawing = Drawing { watch, events: Vec::new(), holders: Vec::new(), clients: Vec::new() };
        for happened in shown {
            drawing.add(happened);
        }
        let mut nodes = drawing.clients;
        nodes.sort_by_key(|name| (name.len(), name.clone()));
        nodes.truncate(CLIENTS_MAX);
        nodes.extend((0..servers).map(|server| Node::Server(server).to_string()));
        let told = |broken: &super::Broken| format!("{}: {}", broken.property, broken.words);
        Picture {
            title: title.to_owned(),
            broken: watch.broken().take(1).map(told).collect(),
            reasons: watch.broken().take(1).flat_map(super::Broken::reasons).collect(),
            plan,
            nodes,
            events: drawing.events,
            again,
        }
    }

    /// Tells it.
    pub fn tell<T>(&self, tell: impl FnOnce(Story) -> T) -> T {
        let shown_for = self.events.iter().flat_map(|event| &event.violations).next();
        tell(Story {
            lock: &self.title,
            settings: &[],
            token: "",
            broken: &self.broken,
            again: &self.again,
            reasons: &self.reasons,
            shown_for: shown_for.map(|violation| violation.property),
            about: &[],
            plan: &self.plan,
            nodes: &self.nodes,
            locks: 1,
            events: &self.events,
            loop_start: None,
            time: TimeColumn::Seconds,
        })
    }
}

struct Drawing<'a> {
    watch: &'a Watch,
    events: Vec<JsonEvent>,
    /// Who holds what.
    holders: Vec<(String, String)>,
    clients: Vec<String>,
}

impl Drawing<'_> {
    fn add(&mut self, happened: &Happened) {
        let server = happened.server.map(|server| Node::Server(server).to_string());
        let client = happened.client.clone().or_else(|| happened.link.map(|link| self.client(link)));
        if let Some(client) = client.as_ref().filter(|client| !self.clients.contains(client)) {
            self.clients.push(client.clone());
        }
        let mut event = self.blank(happened.at);
        match happened.what {
            What::Asked => {
                (event.node, event.doing) = (client, Some("asks"));
                event.sent = messages(server, &happened.text);
            }
            What::Ran => {
                (event.node, event.what) = (server.clone(), "delivered");
                (event.from, event.to) = (client.clone(), server);
                event.message = Some(happened.text.to_string());
                // Of some stores it is not kept what they answer.
                let reply = happened.reply.as_deref();
                event.sent = reply.map_or_else(Vec::new, |reply| messages(client, reply));
            }
            What::Told => {
                (event.node, event.what) = (client.clone(), "delivered");
                (event.from, event.to) = (server, client);
                event.message = Some(happened.text.to_string());
            }
            What::Struck | What::Over => return self.strike(happened),
            What::Healed => event.what = "healed",
            What::Wants => {
                (event.node, event.doing) = (client.clone(), Some("wants it"));
                event.reported = vec![format!("called {} {}", client.unwrap_or_default(), happened.text)];
            }
            What::Entered | What::HandedOut if self.is_hold(happened) => {
                let name = client.clone().unwrap_or_default();
                self.holders.push((name.clone(), lock_of(&happened.text)));
                event.node = client;
                event.doing = Some("holds");
                event.reported = vec![format!("granted {name} {}", happened.text)];
            }
            What::Left | What::Lost | What::Gone => {
                let name = client.clone().unwrap_or_default();
                self.holders.retain(|held| *held != (name.clone(), lock_of(&happened.text)));
                let (word, doing) = match happened.what {
                    What::Left => ("left", "leaves"),
                    What::Lost => ("lost", "has lost it"),
                    _ => ("crashed", "is gone"),
                };
                (event.node, event.doing) = (client, Some(doing));
                event.reported = vec![format!("{word} {name} {}", happened.text)];
            }
            What::Wrote | What::TurnedDown => {
                let (word, doing) = match happened.what {
                    What::Wrote => ("accepted", "writes"),
                    _ => ("rejected", "is turned down"),
                };
                event.doing = Some(doing);
                event.reported =
                    vec![format!("{word} {} {}", client.clone().unwrap_or_default(), happened.text)];
                event.node = client;
            }
            What::SessionOver => {
                (event.node, event.doing) = (server, Some("ends a session"));
                event.reported = vec![happened.text.to_string()];
            }
            What::Broken => return self.broken(happened),
            What::Noted | What::Connected | What::Closed | What::Reset | What::Entered | What::HandedOut => {
                return;
            }
        }
        event.holders = self.holding();
        self.events.push(event);
    }

    /// Whether this is what counts for the verdict.
    fn is_hold(&self, happened: &Happened) -> bool {
        (happened.what == What::Entered) == self.watch.has_witness()
    }

    fn holding(&self) -> Vec<String> {
        let mut names: Vec<String> = self.holders.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The same step as the one before, which broke it.
    fn broken(&mut self, happened: &Happened) {
        let broken =
            self.watch.broken().find(|broken| broken.at == happened.at && *broken.words == *happened.text);
        let Some((broken, event)) = broken.zip(self.events.last_mut()) else { return };
        event.violations.push(JsonViolation {
            property: broken.property,
            client: broken.client.clone(),
            other: broken.other.clone(),
            words: broken.words.clone(),
        });
    }

    fn strike(&mut self, happened: &Happened) {
        let number = happened.strike.unwrap_or(0);
        let Some(strike) = self.watch.strikes().find(|strike| strike.number == number) else { return };
        let begins = happened.what == What::Struck;
        let whom = strike.servers.iter().map(|server| Node::Server(*server));
        let whom: Vec<Node> = whom.chain(strike.client.map(Node::Client)).collect();
        for node in whom {
            let mut event = self.blank(happened.at);
            event.node = Some(node.to_string());
            event.message = Some(strike.fault.to_string());
            event.what = match (&strike.fault, begins) {
                (Fault::Pause { .. } | Fault::Suspend { .. }, true) => "paused",
                (Fault::Pause { .. } | Fault::Suspend { .. }, false) => "resumed",
                (Fault::Crash { .. } | Fault::PowerLoss { .. } | Fault::Replace { .. }, true) => {
                    event.power_lost = Some(!matches!(strike.fault, Fault::Crash { .. }));
                    "crashed"
                }
                (Fault::Crash { .. } | Fault::PowerLoss { .. } | Fault::Replace { .. }, false) => "restarted",
                (Fault::ClockStep { by, .. }, true) => {
                    event.by_us = Some(by.0);
                    "clock-stepped"
                }
                (Fault::Strobe { by, .. }, true) => {
                    event.by_us = Some(by.0);
                    "clock-stepped"
                }
                (Fault::Drift { ppm, .. }, true) => {
                    event.ppm = Some(*ppm);
                    "clock-drifts"
                }
                (Fault::Freeze { .. }, true) => "clock-froze",
                (Fault::Freeze { .. }, false) => "clock-thawed",
                (Fault::CoarseClock { granularity, .. }, true) => {
                    event.by_us = Some(granularity.0);
                    "clock-coarse"
                }
                (Fault::Isolate { .. } | Fault::Cut { .. }, _) => {
                    event.from = Some("the clients".to_owned());
                    event.to = event.node.clone();
                    if begins { "link-cut" } else { "link-mended" }
                }
                (Fault::Reset { .. }, _) => "connection-reset",
                _ => continue,
            };
            event.holders = self.holding();
            self.events.push(event);
        }
    }

    fn client(&self, link: LinkId) -> String {
        self.watch.owner(super::Owner { link, client: self.watch.record.client_of(link) })
    }

    fn blank(&self, at: Micros) -> JsonEvent {
        JsonEvent {
            step: self.events.len() as u64 + 1,
            at_us: at.0,
            node: None,
            what: "woke",
            from: None,
            to: None,
            message: None,
            sent_in: None,
            wake: None,
            power_lost: None,
            by_us: None,
            ppm: None,
            line: None,
            wall_us: None,
            doing: None,
            remark: None,
            stored: None,
            sent: Vec::new(),
            reported: Vec::new(),
            operations: Vec::new(),
            holders: Vec::new(),
            modes: Vec::new(),
            holders_share: false,
            violations: Vec::new(),
        }
    }
}

fn messages(to: Option<String>, message: &str) -> Vec<JsonMessage> {
    to.map(|to| JsonMessage { to, message: message.to_owned() }).into_iter().collect()
}

/// Without a token.
fn lock_of(text: &str) -> String {
    text.split(' ').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::servers::SessionOver;

    #[test]
    fn a_server_that_ends_a_session_is_shown_doing_that() {
        let mut watch = Watch::default();
        watch.record.begin(0, None);
        let link = watch.record.connect(Micros(1), 1, None);
        watch.session_over(Micros(5), 1, &SessionOver { link, is_closed: false });
        let picture = Picture::new(&watch, 3, "", Vec::new(), String::new());
        let seen = |event: &JsonEvent| (event.at_us, event.node.clone(), event.doing);
        let over = (5, Some("s2".to_owned()), Some("ends a session"));
        assert_eq!(picture.events.iter().map(seen).collect::<Vec<_>>(), [over]);
    }
}
