//! What nodes report, judged by the same monitors and the same bounds on waiting as on the seeded engine.

use crate::outcome::{Limits, Outcome};
use crate::progress::Progress;
use crate::report::TraceHash;
use picklock_model::cluster::Setup;
use picklock_model::machine::{Lock, Store};
use picklock_model::time::Micros;
use picklock_model::trace::Happening;
use picklock_properties::{Event, Monitors, Violation};

/// The judge of one run. Everything is shown to it in the order of true time.
pub(super) struct Judge {
    monitors: Monitors,
    progress: Progress,
    limits: Limits,
    /// Whether every promise of progress has been broken.
    is_decided: bool,
    pub hash: TraceHash,
    pub outcome: Outcome,
}

impl Judge {
    pub fn new<L: Lock>(setup: &Setup<L>, limits: &Limits) -> Judge {
        let mut progress = Progress::new();
        progress.reset(&setup.workload);
        Judge {
            monitors: Monitors::new(setup.promises).allowing_overtakes(limits.overtakes_allowed),
            progress,
            limits: *limits,
            is_decided: false,
            hash: TraceHash::default(),
            outcome: Outcome::default(),
        }
    }

    /// Something happened.
    pub fn observe<S: Store>(&mut self, at: Micros, happening: &Happening<S>, events: &[Event]) {
        self.wait_until(at);
        self.hash.add(&(at, happening, events));
        self.outcome.events += 1;
        if events.is_empty() {
            return;
        }
        let mut violations = Vec::new();
        for event in events {
            match event {
                Event::Granted { .. } => self.outcome.grants += 1,
                Event::Refused { .. } => self.outcome.refusals += 1,
                Event::Enqueued { .. } => self.outcome.enqueued += 1,
                Event::Renewed { .. } => self.outcome.renewals += 1,
                _ => {}
            }
            self.monitors.observe(*event, &mut |violation| violations.push(violation));
        }
        self.progress.observe(at, std::slice::from_ref(&self.monitors));
        violations.into_iter().for_each(|violation| self.keep(violation));
    }

    /// Nothing more happens before `now`: whoever is owed something may have waited for too long.
    pub fn wait_until(&mut self, now: Micros) {
        while self.progress.due() < now {
            let violation = self.progress.violation(std::slice::from_ref(&self.monitors));
            self.keep(violation);
            self.is_decided |= self.progress.is_decided();
        }
    }

    /// From now on nothing goes wrong any more, and progress is owed.
    pub fn heal<L: Lock>(&mut self, now: Micros, setup: &Setup<L>, wall_error: Micros) {
        self.outcome.healed_at = Some(now);
        self.progress.begin(
            now,
            std::slice::from_ref(&self.monitors),
            setup.promises,
            &self.limits,
            wall_error,
        );
    }

    /// Whether nothing that can still happen matters: it has gone on for long enough since it healed, and nobody is owed
    /// anything, or everything that was promised is broken.
    pub fn is_decided(&self, now: Micros) -> bool {
        let end_at = |healed: Micros| Micros(healed.0.saturating_add(self.limits.after_heal_max.0));
        let is_late = self.outcome.healed_at.is_some_and(|healed| now > end_at(healed));
        self.is_decided || is_late && self.progress.due() == Micros(i64::MAX)
    }

    /// The run is over.
    pub fn end(mut self, now: Micros) -> (Outcome, TraceHash) {
        self.outcome.ended_at = now;
        self.outcome.overtakes = self.monitors.overtakes();
        (self.outcome, self.hash)
    }

    fn keep(&mut self, violation: Violation) {
        if !self.outcome.breaks(violation.promise) {
            self.outcome.violations.push(violation);
        }
    }
}
