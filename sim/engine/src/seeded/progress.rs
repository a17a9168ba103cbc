//! Judges the liveness promises of a healed run: TigerBeetle's way (`src/vopr.zig`): faults, then heal a core, freeze the
//! rest, and require progress within a bound. On the exhaustive engine the same promises are judged on cycles.

use crate::seeded::outcome::Limits;
use picklock_model::time::Micros;
use picklock_model::workload::Workload;
use picklock_properties::{ClientId, DeadlockFreedom, Monitors, Promise, PromiseSet, ReleaseEnds, Violation};

/// Who is owed progress, since when, and when that becomes a violation.
#[derive(Debug)]
pub struct Progress {
    /// Whether somebody's being stuck is judged: only once healed, only if promised, and only once per promise.
    deadlock: bool,
    starvation: bool,
    release: bool,
    progress_bound: Micros,
    starvation_bound: Micros,
    /// Since when somebody has waited for the lock whom no holder kept from it, lock by lock.
    owed_since: Vec<Micros>,
    /// Since when each client has waited, for whichever lock.
    waiting_since: Vec<Micros>,
    /// Since when each client has been releasing, whichever lock.
    releasing_since: Vec<Micros>,
}

const NEVER: Micros = Micros(i64::MAX);

impl Default for Progress {
    fn default() -> Self {
        Progress::new()
    }
}

impl Progress {
    /// Nothing is judged yet.
    pub fn new() -> Self {
        Progress {
            deadlock: false,
            starvation: false,
            release: false,
            progress_bound: NEVER,
            starvation_bound: NEVER,
            owed_since: Vec::new(),
            waiting_since: Vec::new(),
            releasing_since: Vec::new(),
        }
    }

    /// Nothing is judged until [`Self::begin`].
    pub fn reset(&mut self, workload: &Workload) {
        let mut owed_since = std::mem::take(&mut self.owed_since);
        let mut waiting_since = std::mem::take(&mut self.waiting_since);
        let mut releasing_since = std::mem::take(&mut self.releasing_since);
        for (since, len) in [
            (&mut owed_since, workload.locks),
            (&mut waiting_since, workload.clients),
            (&mut releasing_since, workload.clients),
        ] {
            since.clear();
            since.resize(usize::from(len), NEVER);
        }
        *self = Progress { owed_since, waiting_since, releasing_since, ..Progress::new() };
    }

    /// The run healed: from now on, progress is owed. `wall_error` is the largest error that a wall clock ever had.
    pub fn begin(
        &mut self,
        now: Micros,
        locks: &[Monitors],
        promises: PromiseSet,
        limits: &Limits,
        wall_error: Micros,
    ) {
        self.deadlock = promises.contains(Promise::DeadlockFreedom);
        self.starvation = promises.contains(Promise::StarvationFreedom);
        self.release = promises.contains(Promise::ReleaseEnds);
        self.progress_bound = limits.progress_bound + Micros(2 * wall_error.0);
        self.starvation_bound = limits.starvation_bound + Micros(2 * wall_error.0);
        self.observe(now, locks);
    }

    /// Something happened that may have changed who waits and who holds.
    pub fn observe(&mut self, now: Micros, locks: &[Monitors]) {
        if self.deadlock {
            for (since, lock) in self.owed_since.iter_mut().zip(locks) {
                *since = if DeadlockFreedom::served(lock.usage()) { NEVER } else { (*since).min(now) };
            }
        }
        if self.starvation {
            for (client, since) in self.waiting_since.iter_mut().enumerate() {
                let waits = locks.iter().any(|lock| lock.usage().waiting.contains(ClientId(client as u8)));
                *since = if waits { (*since).min(now) } else { NEVER };
            }
        }
        if self.release {
            for (client, since) in self.releasing_since.iter_mut().enumerate() {
                let client = ClientId(client as u8);
                let releases = locks.iter().any(|lock| ReleaseEnds::owed(lock.usage(), client));
                *since = if releases { (*since).min(now) } else { NEVER };
            }
        }
    }

    /// When the next promise breaks if nothing changes; far away if nobody is owed anything.
    pub fn due(&self) -> Micros {
        self.deadlock_due().min(self.starvation_due()).min(self.release_due())
    }

    /// Whether there is nothing left to judge though something was promised.
    pub fn is_decided(&self) -> bool {
        self.progress_bound != NEVER && !self.deadlock && !self.starvation && !self.release
    }

    /// [`Self::due`] has come: which promise is broken. It is not judged again.
    pub fn violation(&mut self, locks: &[Monitors]) -> Violation {
        if self.release_due() < self.deadlock_due().min(self.starvation_due()) {
            self.release = false;
            let longest = (0..).zip(&self.releasing_since).min_by_key(|(_, since)| **since);
            let client = ClientId(longest.map_or(0, |(client, _)| client));
            self.releasing_since.fill(NEVER);
            return Violation::new(Promise::ReleaseEnds, client, client);
        }
        if self.deadlock_due() <= self.starvation_due() {
            self.deadlock = false;
            let longest = locks.iter().zip(&self.owed_since).min_by_key(|(_, since)| **since);
            let client = longest.and_then(|(lock, _)| DeadlockFreedom::owed_to(lock.usage()).first());
            let client = client.expect("progress is owed to somebody who waits");
            self.owed_since.fill(NEVER);
            return Violation::new(Promise::DeadlockFreedom, client, client);
        }
        self.starvation = false;
        let longest = (0..).zip(&self.waiting_since).min_by_key(|(_, since)| **since);
        let client = ClientId(longest.map_or(0, |(client, _)| client));
        self.waiting_since.fill(NEVER);
        let waits_for = locks.iter().map(Monitors::usage).find(|usage| usage.waiting.contains(client));
        let other = waits_for.and_then(|usage| usage.holding.first()).unwrap_or(client);
        Violation::new(Promise::StarvationFreedom, client, other)
    }

    fn deadlock_due(&self) -> Micros {
        after(self.owed_since.iter().copied().min().unwrap_or(NEVER), self.progress_bound)
    }

    /// A release is nobody's to be outrun in: its bound is that of progress.
    fn release_due(&self) -> Micros {
        after(self.releasing_since.iter().copied().min().unwrap_or(NEVER), self.progress_bound)
    }

    fn starvation_due(&self) -> Micros {
        // Without the promise nobody is on record, and the minimum of all is never.
        after(self.waiting_since.iter().copied().min().unwrap_or(NEVER), self.starvation_bound)
    }
}

fn after(since: Micros, bound: Micros) -> Micros {
    Micros(since.0.saturating_add(bound.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;
    use picklock_properties::{Access, Event, HoldId, Mode};

    const A: ClientId = ClientId(0);
    const B: ClientId = ClientId(1);

    fn limits() -> Limits {
        Limits {
            events_max: 0,
            progress_bound: Micros(100),
            starvation_bound: Micros(300),
            after_heal_max: Micros::ZERO,
            overtakes_allowed: 0,
        }
    }

    /// Two clients of one lock.
    fn progress() -> Progress {
        let mut progress = Progress::new();
        progress.reset(&Workload { clients: 2, ..toy::setup().workload });
        progress
    }

    fn unused() -> [Monitors; 1] {
        [Monitors::new(PromiseSet::EMPTY)]
    }

    fn watched(history: &[(i64, Event)], promises: PromiseSet) -> (Progress, [Monitors; 1]) {
        let (mut progress, mut usage) = (progress(), unused());
        progress.begin(Micros::ZERO, &usage, promises, &limits(), Micros::ZERO);
        for (at, event) in history {
            usage[0].observe(*event, &mut |_| {});
            progress.observe(Micros(*at), &usage);
        }
        (progress, usage)
    }

    #[test]
    fn a_free_lock_is_owed_within_the_bound_and_a_grant_starts_it_anew() {
        let called = (10, Event::Called { client: A, mode: Mode::Lock, access: Access::FIRST });
        let deadlock = PromiseSet::from_iter([Promise::DeadlockFreedom]);
        let (mut progress, usage) = watched(&[called], deadlock);
        assert_eq!(progress.due(), Micros(110));
        let violation = Violation::new(Promise::DeadlockFreedom, A, A);
        assert_eq!(progress.violation(&usage), violation);
        assert_eq!((progress.due(), progress.is_decided()), (NEVER, true));

        let waiting = (20, Event::Called { client: B, mode: Mode::Lock, access: Access::FIRST });
        let granted = (50, Event::Granted { client: A, fence: None, hold: HoldId(1) });
        let (progress, _) = watched(&[called, waiting, granted], deadlock);
        assert_eq!(progress.due(), NEVER);
        let left = (90, Event::Left { client: A });
        let (progress, _) = watched(&[called, waiting, granted, left], deadlock);
        assert_eq!(progress.due(), Micros(190));
    }

    #[test]
    fn a_release_that_is_not_done_within_the_bound_is_a_violation() {
        let release = PromiseSet::from_iter([Promise::ReleaseEnds]);
        let granted = (20, Event::Granted { client: A, fence: None, hold: HoldId(1) });
        let left = (40, Event::Left { client: A });
        let (mut progress, usage) = watched(&[granted, left], release);
        assert_eq!(progress.due(), Micros(140));
        let violation = Violation::new(Promise::ReleaseEnds, A, A);
        assert_eq!(progress.violation(&usage), violation);
        assert_eq!((progress.due(), progress.is_decided()), (NEVER, true));
        for end in [Event::Released { client: A }, Event::Crashed { client: A }] {
            let (progress, _) = watched(&[granted, left, (60, end)], release);
            assert_eq!(progress.due(), NEVER);
        }
    }

    #[test]
    fn one_who_waits_while_others_are_granted_starves() {
        let history = [
            (10, Event::Called { client: B, mode: Mode::Lock, access: Access::FIRST }),
            (20, Event::Called { client: A, mode: Mode::Lock, access: Access::FIRST }),
            (30, Event::Granted { client: A, fence: None, hold: HoldId(1) }),
        ];
        let (mut progress, usage) = watched(&history, PromiseSet::liveness());
        assert_eq!(progress.due(), Micros(310));
        let violation = Violation::new(Promise::StarvationFreedom, B, A);
        assert_eq!(progress.violation(&usage), violation);
        assert!(!progress.is_decided());
    }

    #[test]
    fn nobody_is_owed_anything_before_the_run_heals_or_without_the_promise() {
        let (mut progress, mut usage) = (progress(), unused());
        usage[0].observe(Event::Called { client: A, mode: Mode::Lock, access: Access::FIRST }, &mut |_| {});
        progress.observe(Micros(1), &usage);
        assert_eq!(progress.due(), NEVER);
        progress.begin(Micros(1), &usage, PromiseSet::safety(), &limits(), Micros::ZERO);
        assert_eq!(progress.due(), NEVER);
    }

    #[test]
    fn a_wrong_clock_widens_the_bounds() {
        let (mut progress, mut usage) = (progress(), unused());
        usage[0].observe(Event::Called { client: A, mode: Mode::Lock, access: Access::FIRST }, &mut |_| {});
        progress.begin(Micros::ZERO, &usage, PromiseSet::liveness(), &limits(), Micros(1000));
        assert_eq!(progress.due(), Micros(2100));
    }
}
