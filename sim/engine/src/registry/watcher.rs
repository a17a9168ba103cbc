//! Who watches a run that is shown.

use super::replayed::Replay;
use super::set::Set;
use crate::report::{Both, Heading, JsonEvents, TextOptions, TextTrace, TimeColumn, TraceHash};
use crate::token::{Mark, Token};
use picklock_model::cluster::Setup;
use picklock_model::machine::Node;
use picklock_model::system::System;
use picklock_model::trace::{Observer, Step};
use picklock_model::workload::Writes;
use picklock_properties::{Promise, PromiseSet, Violation};

/// Which promises the steps of a run break.
#[derive(Default)]
pub(super) struct Breaks(pub Vec<Promise>);

impl<Y: System> Observer<Y> for Breaks {
    fn observe(&mut self, step: &Step<Y>) {
        self.0.extend(step.violations.iter().map(|violation| violation.promise));
    }
}

/// Text, JSON and hash of one run, and what it broke.
pub(super) struct Watcher {
    observers: Both<TextTrace, Both<JsonEvents, TraceHash>>,
    violations: Vec<Violation>,
    /// The promise that the run is shown for.
    shown_for: Option<Promise>,
    /// How many more steps the text shows, once that promise is broken; `None`: all.
    more: Option<usize>,
    watched: PromiseSet,
    tested: PromiseSet,
    /// How many there were.
    pub steps: usize,
    set: Set,
    nodes: Vec<String>,
    locks: u8,
}

/// How many steps a shortened trace goes on after the broken promise.
const AFTERMATH_STEPS: usize = 6;

impl Watcher {
    pub fn new<Y: System>(heading: Heading, set: Set, setup: &Setup<Y>, options: TextOptions) -> Self {
        let workload = &setup.workload;
        let clients = (0..workload.processes()).map(Node::Client);
        let servers = (0..setup.servers).map(Node::Server);
        let resource = (workload.writes == Writes::Resource).then_some(Node::Resource);
        let nodes = clients.chain(servers).chain(resource);
        let shown_for = heading.broken;
        let text = TextTrace::new(heading, options);
        Watcher {
            shown_for,
            more: options.last.map(|_| AFTERMATH_STEPS),
            watched: setup.promises,
            tested: PromiseSet::EMPTY,
            observers: Both(text, Both(JsonEvents::default(), TraceHash::default())),
            violations: Vec::new(),
            steps: 0,
            set,
            nodes: nodes.map(|node| node.to_string()).collect(),
            locks: workload.locks,
        }
    }

    pub fn text(&mut self) -> &mut TextTrace {
        &mut self.observers.0
    }

    pub fn finish(
        self,
        token: &Token,
        starved: Option<Promise>,
        plan: Option<String>,
        parting: Option<String>,
        panicked: Option<String>,
    ) -> Replay {
        let Both(mut text, Both(events, hash)) = self.observers;
        let defect = parting.or(events.unsent().map(str::to_owned));
        if let Some(defect) = &defect {
            text.warn(&format!(
                "this trace is wrong: {defect}; a time or a number that a machine keeps is not shown by its visit, or picklock has a defect"
            ));
        }
        if let Some(what) = &panicked {
            text.warn(&format!("and in the next step a machine panicked: {what}"));
        }
        Replay {
            text: text.finish(),
            shown_for: self.shown_for,
            watched: self.watched,
            tested: self.tested,
            trace_hash: hash.to_string(),
            came_out_otherwise: token.mark.is_some_and(|mark| mark != Mark::of(hash.value())),
            violations: self.violations,
            events: events.finish(),
            starved,
            never: None,
            plan,
            nothing_struck: false,
            settings: self.set.plain,
            settings_told: self.set.told,
            nodes: self.nodes,
            locks: self.locks,
            loop_start: None,
            time: TimeColumn::Seconds,
            defect,
            panicked,
        }
    }
}

impl<Y: System> Observer<Y> for Watcher {
    fn observe(&mut self, step: &Step<Y>) {
        self.steps += 1;
        self.tested = self.tested.union(step.effects.tested);
        let Both(text, others) = &mut self.observers;
        Observer::<Y>::observe(others, step);
        match &mut self.more {
            Some(0) => {}
            Some(more) => {
                let is_broken =
                    self.violations.iter().any(|violation| Some(violation.promise) == self.shown_for);
                *more -= usize::from(is_broken);
                Observer::<Y>::observe(text, step);
            }
            None => Observer::<Y>::observe(text, step),
        }
        for violation in step.violations {
            if self.violations.iter().all(|known| known.promise != violation.promise) {
                self.violations.push(*violation);
            }
        }
    }
}
