//! What stands in one cell: what the node got, did, stores and sent, line by line.

use super::super::message_words;
use super::super::newer::{HIDDEN, is_hidden};
use super::super::operations::labelled;
use super::TimeColumn;
use picklock_model::cluster::Wake;
use picklock_model::machine::{Message, Node, Store};
use picklock_model::names::Words;
use picklock_model::system::{Process, System};
use picklock_model::time::{Clock, Micros};
use picklock_model::trace::{Happening, Step};
use picklock_properties::{
    Accesses, CallPart, ClientId, Emphasis, Event, ObjectAnswer, ObjectCall, Violation,
};
use std::collections::BTreeMap;

/// One line of a cell, before it is wrapped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) style: Style,
}

/// What a line is about, and so its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Nothing in particular.
    Plain,
    /// Of less weight than what stands beside it.
    Faint,
    /// A heading.
    Strong,
    /// Somebody is in the critical section.
    Holds,
    /// What struck.
    Fault,
    /// What breaks.
    Broken,
}

impl From<Emphasis> for Style {
    fn from(emphasis: Emphasis) -> Style {
        match emphasis {
            Emphasis::Plain => Style::Plain,
            Emphasis::Strong => Style::Strong,
            Emphasis::Holds => Style::Holds,
        }
    }
}

/// A blank at which no line is broken.
pub(super) const UNBROKEN: char = '\u{a0}';

/// The lines of one cell, as they are put together.
#[derive(Default)]
pub(super) struct Lines(pub(super) Vec<Line>);

/// More entries than this are not shown of one change.
const ENTRIES_MAX: usize = 4;

impl Lines {
    fn add(&mut self, style: Style, text: impl Into<String>) {
        self.0.push(Line { text: text.into(), style });
    }

    /// `remark` is what the node does of its own accord.
    pub(super) fn add_happening<S: Store>(
        &mut self,
        happening: &Happening<S>,
        remark: Option<&'static str>,
        words: Words,
    ) {
        let fault = match happening {
            Happening::Delivered { from, message, .. } => {
                self.add(Style::Plain, format!("←{UNBROKEN}{from} {}", message_words(message, words)));
                remark.into_iter().for_each(|remark| self.add(Style::Strong, remark));
                return;
            }
            // What an application does when it wakes says enough.
            Happening::Woke { wake: Wake::App, .. } | Happening::Ticked | Happening::Healed => return,
            Happening::Woke { wake: Wake::Machine, .. } => {
                let (style, words) = match remark {
                    None => (Style::Faint, "timer"),
                    Some(remark) => (Style::Strong, remark),
                };
                return self.add(style, words);
            }
            Happening::Lost { from, message, .. } => {
                format!("✗ lost ←{UNBROKEN}{from} {}", message_words(message, words))
            }
            Happening::Duplicated { from, message, .. } => {
                format!("✗ once more ←{UNBROKEN}{from} {}", message_words(message, words))
            }
            Happening::TickedUnevenly { gained, .. } => format!("clocks drift {}", signed(*gained)),
            Happening::Paused { .. } => "⏸ paused".to_owned(),
            Happening::Suspended { .. } => "⏸ suspended".to_owned(),
            Happening::ClockCoarse { granularity, .. } => format!("clock in steps of {granularity}"),
            Happening::ConnectionReset { from, .. } => format!("✗ connection to {from} reset"),
            Happening::DiskLost { .. } => "✗ disk lost".to_owned(),
            Happening::Resumed { .. } => "▶ resumed".to_owned(),
            Happening::Crashed { power_lost: false, .. } => "✗ crashed".to_owned(),
            Happening::Crashed { power_lost: true, .. } => "✗ power lost".to_owned(),
            Happening::Restarted { .. } => "▶ restarted".to_owned(),
            Happening::ClockStepped { by: Micros(by), .. } if *by < 0 => {
                format!("clock steps back {}", Micros(-by))
            }
            Happening::ClockStepped { by, .. } => format!("clock steps forward {by}"),
            Happening::ClockDrifts { ppm: 0, .. } => "clock runs true".to_owned(),
            Happening::ClockDrifts { ppm, .. } => format!("clock runs {ppm:+} ppm"),
            Happening::ClockFroze { .. } => "clock stopped".to_owned(),
            Happening::ClocksFroze { .. } => "all clients' clocks stopped".to_owned(),
            Happening::ClockThawed { .. } => "clock goes on".to_owned(),
            Happening::LinkCut { from, .. } => format!("✗ link from {from} cut"),
            Happening::LinkMended { from, .. } => format!("▶ link from {from} mended"),
        };
        self.add(Style::Fault, fault);
    }

    /// `asked` is what clients wait for, before the step and then after it; what the step broke stands out.
    pub(super) fn add_events(
        &mut self,
        events: &[Event],
        accesses: &Accesses,
        asked: &mut BTreeMap<ClientId, ObjectCall>,
        violations: &[Violation],
    ) {
        for event in events {
            if let Some((emphasis, words)) = event.told(accesses) {
                self.add(Style::from(emphasis), words);
            }
            let client = event.client();
            match event.call_part() {
                Some(CallPart::Invoked(call)) => {
                    asked.insert(client, call);
                }
                Some(CallPart::Returned(answer)) => {
                    let breaks = violations.iter().any(|violation| violation.client == client);
                    self.add_outcome(asked.remove(&client), Some(answer), breaks);
                }
                Some(CallPart::Unknown) => self.add_outcome(asked.remove(&client), None, false),
                None => {}
            }
        }
    }

    /// Says of a record that was written by a message that what is stored then hides it.
    pub(super) fn mark_hidden(&mut self, message: &str, stored: &[String]) {
        let written = self.0.iter_mut().find(|line| line.text.ends_with("record is written"));
        if let Some(line) = written.filter(|_| is_hidden(message, stored)) {
            line.text.push_str(HIDDEN);
        }
    }

    /// What came of a call of a shared object, if one was under way.
    pub(super) fn add_outcome(
        &mut self,
        call: Option<ObjectCall>,
        answer: Option<ObjectAnswer>,
        breaks: bool,
    ) {
        if let Some(call) = call {
            let answer = answer.map(|answer| answer.to_string());
            let style = if breaks { Style::Broken } else { Style::Strong };
            self.add(style, labelled(&call.to_string(), answer.as_deref()));
        }
    }

    pub(super) fn add_doing<Y: System>(&mut self, step: &Step<Y>, client: u8) {
        let holds = step.cluster.usage().holding.contains(ClientId(client));
        let client = &step.cluster.clients[usize::from(client)];
        let line = client.line().to_string();
        match self.0.last_mut() {
            // The bar says that it holds; where in the source it does is said once.
            Some(last) if last.style == Style::Holds && !line.is_empty() => {
                last.text.push(' ');
                last.text.push_str(&line);
            }
            _ if holds => {}
            _ if line.is_empty() => self.add(Style::Plain, client.doing()),
            _ => self.add(Style::Plain, format!("{line} {}", client.doing())),
        }
    }

    /// Messages that say the same to several are one line.
    pub(super) fn add_sends<S: Store>(&mut self, sends: &[(Node, Message<S>)], words: Words) {
        let mut said: Vec<(String, String)> = Vec::new();
        for (to, message) in sends {
            let said_now = message_words(message, words);
            match said.last_mut() {
                Some((receivers, before)) if *before == said_now => receivers.push_str(&format!(", {to}")),
                _ => said.push((to.to_string(), said_now)),
            }
        }
        said.iter().for_each(|(to, words)| self.add(Style::Plain, format!("→{UNBROKEN}{to} {words}")));
    }

    /// What is stored now and was not before, and what is gone; an entry that was rewritten is not gone.
    pub(super) fn add_contents(&mut self, before: &[String], after: &[String]) {
        if after.is_empty() {
            return self.add(Style::Faint, "= nothing");
        }
        let new: Vec<&String> = after.iter().filter(|entry| !before.contains(entry)).collect();
        let gone = before.iter().filter(|entry| !after.iter().any(|stored| key(stored) == key(entry)));
        new.iter().take(ENTRIES_MAX).for_each(|entry| self.add(Style::Faint, format!("= {entry}")));
        if new.len() > ENTRIES_MAX {
            self.add(Style::Faint, format!("= … {} more", new.len() - ENTRIES_MAX));
        }
        gone.for_each(|entry| self.add(Style::Faint, format!("gone: {}", key(entry))));
    }

    /// On top: what the node believes the time to be, if it is wrong.
    pub(super) fn add_clock(&mut self, clock: Clock, now: Micros, time: TimeColumn) {
        let wall = clock.wall(now);
        let offset = Micros(wall.0 - now.0);
        if offset == Micros::ZERO || self.0.is_empty() {
            return;
        }
        let text = match (clock.frozen, time) {
            (Some(_), TimeColumn::Hidden) => "clock stopped".to_owned(),
            (Some(_), time) => {
                format!("{} (clock{UNBROKEN}stopped)", time.show(Micros(wall.0)))
            }
            // Not as what happens in the step in which it is set.
            (None, TimeColumn::Hidden) => {
                let side = if offset.0 < 0 { "behind" } else { "ahead" };
                format!("clock{UNBROKEN}{}{UNBROKEN}{side}", Micros(offset.0.abs()))
            }
            (None, TimeColumn::Ticks { length }) if offset.0 % length.0.max(1) == 0 => {
                format!("{} (clock{UNBROKEN}{:+})", time.show(Micros(wall.0)), offset.0 / length.0.max(1))
            }
            (None, time) => format!("{} (clock{UNBROKEN}{})", time.show(Micros(wall.0)), signed(offset)),
        };
        self.0.insert(0, Line { text, style: Style::Faint });
    }

    /// Equal for two steps that differ in nothing but numbers and times.
    pub(super) fn likeness(&self, node: Option<Node>) -> String {
        let mut likeness = node.map_or_else(String::new, |node| node.to_string());
        for line in &self.0 {
            likeness.push('\n');
            let mut rest = line.text.as_str();
            while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
                let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
                let length = rest[start..].bytes().take_while(is_part).count();
                let number = rest[start..start + length].trim_end_matches('.');
                let (before, after) = (&rest[..start], &rest[start + number.len()..]);
                // Short ones are names, `s1`, `L6:3`, unless they count something: `A#7`, `7us`.
                let counts = before.ends_with('#') || after.starts_with("us");
                let is_name = number.len() <= 2 && !counts;
                likeness.push_str(before);
                likeness.push_str(if is_name { number } else { "#" });
                rest = after;
            }
            likeness.push_str(rest);
        }
        likeness
    }
}

/// `+2s`, `-2s`.
fn signed(length: Micros) -> String {
    if length.0 > 0 { format!("+{length}") } else { length.to_string() }
}

/// The part of an entry that names it: `Q` of `Q: tA, tB`, `lock` of `lock = 7`.
fn key(entry: &str) -> &str {
    entry.split([':', '=', '@', ' ']).next().unwrap_or(entry)
}
