//! What nodes report, judged by the same monitors and the same bounds on waiting as on the seeded engine.

use crate::report::TraceHash;
use crate::seeded::outcome::{Limits, Outcome};
use crate::seeded::progress::Progress;
use picklock_model::cluster::Setup;
use picklock_model::machine::{Lock, Store};
use picklock_model::system::Process;
use picklock_model::time::{Micros, Monotonic};
use picklock_model::trace::Happening;
use picklock_model::workload::Client;
use picklock_properties::{Event, LockId, Monitors, Tally, Violation};

/// The judge of one run. Everything is shown to it in the order of true time.
pub(super) struct Judge {
    /// Lock by lock.
    monitors: Vec<Monitors>,
    /// The lock that each client asks for, or holds, in its present round.
    asks_for: Vec<LockId>,
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
        let workload = &setup.workload;
        progress.reset(workload);
        let monitors = Monitors::new(setup.promises)
            .with_modes(L::modes(&setup.lock))
            .allowing_overtakes(limits.overtakes_allowed);
        let client = |me| Client::<L>::new(me, workload, Monotonic::default(), &setup.lock);
        Judge {
            monitors: vec![monitors; usize::from(workload.locks.max(1))],
            asks_for: (0..workload.processes()).map(|me| client(me).busy_with(me, workload)).collect(),
            progress,
            limits: *limits,
            is_decided: false,
            hash: TraceHash::default(),
            outcome: Outcome::default(),
        }
    }

    /// From now on the client asks for this lock.
    pub fn asks_for(&mut self, client: u8, lock: LockId) {
        self.asks_for[usize::from(client)] = lock;
    }

    /// Something happened; `about` is the lock that the node's own events are about.
    pub fn observe<S: Store>(
        &mut self,
        at: Micros,
        happening: &Happening<S>,
        events: &[Event],
        about: Option<LockId>,
    ) {
        self.wait_until(at);
        self.hash.add(&(at, happening, events));
        self.outcome.events += 1;
        if events.is_empty() {
            return;
        }
        let mut violations = Vec::new();
        for event in events {
            match event.tally() {
                Some(Tally::Grant) => self.outcome.grants += 1,
                Some(Tally::Refusal) => self.outcome.refusals += 1,
                Some(Tally::Enqueued) => self.outcome.enqueued += 1,
                Some(Tally::Renewal) => self.outcome.renewals += 1,
                Some(Tally::RowRead) => self.outcome.row_reads += 1,
                _ => {}
            }
            let about = event.lock().or(about);
            let about = about.unwrap_or_else(|| self.asks_for[usize::from(event.client().0)]);
            self.monitors[usize::from(about.0)].observe(*event, &mut |violation| violations.push(violation));
        }
        self.progress.observe(at, &self.monitors);
        violations.into_iter().for_each(|violation| self.keep(violation));
    }

    /// Nothing more happens before `now`: whoever is owed something may have waited for too long.
    pub fn wait_until(&mut self, now: Micros) {
        while self.progress.due() < now {
            let violation = self.progress.violation(&self.monitors);
            self.keep(violation);
            self.is_decided |= self.progress.is_decided();
        }
    }

    /// From now on nothing goes wrong any more, and progress is owed.
    pub fn heal<L: Lock>(&mut self, now: Micros, setup: &Setup<L>, wall_error: Micros) {
        self.outcome.healed_at = Some(now);
        self.progress.begin(now, &self.monitors, setup.promises, &self.limits, wall_error);
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
        self.outcome.overtakes = self.monitors.iter().map(Monitors::overtakes).sum();
        (self.outcome, self.hash)
    }

    fn keep(&mut self, violation: Violation) {
        if !self.outcome.breaks(violation.promise) {
            self.outcome.violations.push(violation);
        }
    }
}
