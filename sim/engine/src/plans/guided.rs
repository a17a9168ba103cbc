//! A search that learns: plans that got a run into something new are changed a little and tried again, beside fresh ones.
//!
//! ```text
//!   seed ──▶ a fresh swarm plan ─────────────┐
//!      or    a kept plan, changed in places ─┴─▶ run ──▶ new marks or features? keep the plan
//!                     ▲                                         │
//!                     └──── plans kept so far ◀─────────────────┘
//! ```
//!
//! What is new is judged by [`Marks`](crate::seeded::marks::Marks) and [`Features`] (coverage-guided fuzzing, as AFL does it with branches). A
//! failure that needs several things in a row is then met step by step, not all at once.
//!
//! The same for any number of threads: seeds are taken in generations of a fixed size, the plans of a generation depend on
//! what was kept before it and on nothing within it, and what it met is merged in the order of the seeds.

use crate::plans::fault::{FaultKind, FaultSet};
use crate::plans::plan::{Fault, Plan, When};
use crate::plans::swarm::Scale;
use crate::seeded::dice::{Dice, Stream};
use crate::seeded::marks::Features;
use crate::seeded::outcome::Outcome;
use crate::seeded::schedule::Schedule;
use crate::sweep::{PlannedRun, Runner, Runners, SweepError, SweepOptions, SweepReport, threads};
use picklock_model::time::Micros;
use picklock_model::workload::Workload;
use rayon::prelude::*;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// So many seeds do not learn from each other: few, for a failure that is found soon needs no search.
const GENERATION: u64 = 32;

/// Of a thousand seeds of a later generation so many change a kept plan.
const CHANGED_PER_MILLE: u16 = 500;

/// So many times at most a plan is changed before it is tried.
const CHANGES_MAX: i64 = 4;

/// A plan is not made worse without end.
const FAULTS_MAX: usize = 24;

/// [`crate::sweep::sweep`] with [`Strategy::Guided`](crate::plans::strategy::Strategy::Guided).
pub(crate) fn sweep(
    runner: Runners,
    around: Workload,
    faults: FaultSet,
    seeds: Range<u64>,
    options: &SweepOptions,
) -> Result<SweepReport, SweepError> {
    let pool = threads(options.jobs)?;
    let (scale, known) = (&options.scale, Features::default());
    let mut guide = Guide { faults, scale, around, kept: Vec::new(), known };
    let mut report = SweepReport::default();
    let mut next = seeds.start;
    while next < seeds.end && !options.ends(&report) {
        if options.stop.load(Ordering::Relaxed) {
            report.stopped = true;
            break;
        }
        let end = next.saturating_add(GENERATION).min(seeds.end);
        let candidates: Vec<(u64, PlannedRun)> =
            (next..end).map(|seed| (seed, guide.candidate(seed))).collect();
        let run =
            |runner: &mut Runner, (_, candidate): &(u64, PlannedRun)| runner(&candidate.plan, candidate.seed);
        let outcomes: Vec<Outcome> = pool.install(|| candidates.par_iter().map_init(runner, run).collect());
        let before = report.runs;
        for ((seed, candidate), outcome) in candidates.into_iter().zip(outcomes) {
            report.add(seed, &outcome);
            let is_listed = report.violations.last().is_some_and(|found| found.seed == seed);
            if is_listed {
                report.planned.insert(seed, candidate.clone());
            }
            if options.ends(&report) {
                break;
            }
            guide.learn(candidate, &outcome);
        }
        (options.on_progress)(report.runs - before);
        next = end;
    }
    Ok(report)
}

/// What the search has learnt.
struct Guide<'a> {
    faults: FaultSet,
    scale: &'a Scale,
    /// The workload that the scale was measured by, which may vary.
    around: Workload,
    /// The runs that met something new, in order.
    kept: Vec<PlannedRun>,
    /// What all runs together have met.
    known: Features,
}

impl Guide<'_> {
    /// What this seed runs.
    fn candidate(&self, seed: u64) -> PlannedRun {
        let mut dice = Dice::new(seed, Stream::Guide);
        let is_changed = dice.per_mille(CHANGED_PER_MILLE);
        match self.one_kept(&mut dice).filter(|_| is_changed) {
            None => {
                let scale = self.scale.of_seed(&self.around, seed);
                PlannedRun { plan: Plan::random(self.faults, seed, &scale), seed }
            }
            Some(kept) => {
                // The same luck shows what the change does, other luck what the plan does at other times.
                let seed = if dice.coin() { kept.seed } else { seed };
                let scale = self.scale.of_seed(&self.around, seed);
                let changes = dice.log_uniform(1, CHANGES_MAX);
                let change = |plan, _| self.changed(plan, &mut dice, &scale);
                let plan = (0..changes).fold(kept.plan.clone(), change);
                PlannedRun { plan, seed }
            }
        }
    }

    /// A kept run; the later ones, which met what is harder to meet, more often.
    fn one_kept(&self, dice: &mut Dice) -> Option<&PlannedRun> {
        let count = self.kept.len() as u64;
        let one = dice.below(count).max(dice.below(count));
        self.kept.get(one as usize)
    }

    fn learn(&mut self, candidate: PlannedRun, outcome: &Outcome) {
        // Where no kind of fault may strike nothing new is ever met, and one plan is there to be changed.
        if outcome.features.new_to(&self.known) > 0 || self.kept.is_empty() {
            self.known.add(&outcome.features);
            self.kept.push(candidate);
        }
    }

    /// The plan with one thing changed.
    fn changed(&self, mut plan: Plan, dice: &mut Dice, scale: &Scale) -> Plan {
        let kinds: SmallVec<[FaultKind; 16]> = self.faults.iter().collect();
        let place = dice.below(plan.faults.len() as u64) as usize;
        let has_room = plan.faults.len() < FAULTS_MAX;
        match (dice.below(7), dice.pick(&kinds)) {
            (0, Some(kind)) if has_room => plan.with_more(*kind, dice, scale),
            (1, _) if plan.faults.len() > 1 => {
                plan.faults.remove(place);
                plan
            }
            (2, _) => plan.with_another_moment(place, dice, scale),
            (3, _) if has_room => self.crossed(plan, dice),
            (4, _) => {
                plan.schedule = Schedule::random(dice, scale.messages);
                // Ranks end when the run heals: without faults it must not heal before it begins.
                plan.heal_at = plan.heal_at.max(scale.horizon);
                plan
            }
            (5, _) => {
                if let Some(planned) = plan.faults.get_mut(place) {
                    stretch(&mut planned.fault, dice, scale);
                }
                plan
            }
            (_, _) => {
                if let Some(planned) = plan.faults.get_mut(place) {
                    shift(&mut planned.when, dice, scale);
                }
                plan
            }
        }
    }

    /// The plan with a fault of another kept one.
    fn crossed(&self, mut plan: Plan, dice: &mut Dice) -> Plan {
        if let Some(other) = self.one_kept(dice)
            && let Some(planned) = dice.pick(&other.plan.faults)
        {
            plan.faults.push(planned.clone());
        }
        plan
    }
}

/// A little earlier or later.
fn shift(when: &mut When, dice: &mut Dice, scale: &Scale) {
    match when {
        When::At(at) => {
            let by = dice.log_uniform(100, (scale.horizon.0 / 8).max(100));
            at.0 = (at.0 + dice.sign(by)).clamp(0, scale.horizon.0);
        }
        When::Trigger { nth, delay, .. } => match dice.below(3) {
            0 => *nth = nth.saturating_add(1),
            1 => *nth = nth.saturating_sub(1).max(1),
            _ => delay.0 = if delay.0 == 0 { dice.log_uniform(100, 100_000) } else { delay.0 / 2 },
        },
    }
}

/// Half or twice as long, but not longer than any other fault.
fn stretch(fault: &mut Fault, dice: &mut Dice, scale: &Scale) {
    let longest = scale.longest().0;
    let doubles = dice.coin();
    let change = |length: &mut Micros| {
        length.0 = if doubles { (2 * length.0).clamp(-longest, longest) } else { length.0 / 2 };
    };
    match fault {
        Fault::Pause { length, .. }
        | Fault::Freeze { length, .. }
        | Fault::Cut { length, .. }
        | Fault::Isolate { length, .. }
        | Fault::Suspend { length, .. }
        | Fault::SlowLink { length, .. } => change(length),
        Fault::CoarseClock { granularity, .. } => change(granularity),
        Fault::Crash { restart_after: Some(after), .. }
        | Fault::PowerLoss { restart_after: Some(after), .. }
        | Fault::Replace { restart_after: Some(after), .. } => change(after),
        Fault::ClockStep { by, .. } | Fault::Strobe { by, .. } => change(by),
        Fault::LoseNext { count, .. } => {
            *count = if doubles { (2 * *count).min(8) } else { (*count / 2).max(1) }
        }
        Fault::Drift { ppm, .. } => {
            *ppm = if doubles { (2 * *ppm).clamp(-200_000, 200_000) } else { *ppm / 2 }
        }
        Fault::Crash { restart_after: None, .. }
        | Fault::PowerLoss { restart_after: None, .. }
        | Fault::Replace { restart_after: None, .. }
        | Fault::Reset { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::strategy::Strategy;
    use crate::plans::varied;
    use crate::seeded::outcome::Limits;
    use crate::seeded::run::Engine;
    use crate::sweep::sweep;
    use crate::toy::{self, Key};
    use picklock_model::cluster::Setup;
    use picklock_properties::Promise;
    use std::sync::atomic::AtomicBool;

    fn swept(setup: &Setup<Key>, seeds: Range<u64>, jobs: usize, keep_going: bool) -> SweepReport {
        let options = SweepOptions {
            jobs,
            keep_going,
            sought: Some(Promise::MutualExclusion),
            until_tested: None,
            strategy: Strategy::Guided,
            limits: None,
            scale: Scale::of(setup),
            on_progress: &|_| {},
            on_merged: None,
            stop: &AtomicBool::new(false),
        };
        sweep(setup, FaultSet::ALL, seeds, &options).unwrap()
    }

    #[test]
    fn a_guided_sweep_is_the_same_for_any_number_of_jobs() {
        for keep_going in [false, true] {
            let one = swept(&toy::leased_setup(), 100..700, 1, keep_going);
            assert!(!one.is_clean());
            for jobs in [2, 3] {
                assert_eq!(swept(&toy::leased_setup(), 100..700, jobs, keep_going), one);
            }
        }
    }

    #[test]
    fn what_a_guided_sweep_finds_is_found_again_by_its_plan() {
        let setup = toy::leased_setup();
        let report = swept(&setup, 0..1000, 2, true);
        assert_eq!(report.runs, 1000);
        for found in &report.violations {
            let PlannedRun { plan, seed } = &report.planned[&found.seed];
            let outcome = Engine::new().run(&setup, plan, *seed, &Limits::of(&setup), &mut ());
            assert!(outcome.violations.contains(&found.violation), "seed {}: {plan}", found.seed);
        }
        assert!(report.planned.iter().any(|(seed, run)| *seed != run.seed), "some plans keep their luck");
    }

    #[test]
    fn a_plan_is_measured_by_the_workload_that_its_seed_draws() {
        let mut setup = toy::leased_setup();
        setup.workload.varies = true;
        let (scale, around) = (Scale::of(&setup), setup.workload);
        let known = Features::default();
        let guide = Guide { faults: FaultSet::ALL, scale: &scale, around, kept: Vec::new(), known };
        for seed in 0..50 {
            let drawn = varied::of_seed(&setup, seed).workload;
            let measured = Plan::random(FaultSet::ALL, seed, &scale.resized(&around, &drawn));
            assert_eq!(guide.candidate(seed).plan, measured);
        }
    }

    #[test]
    fn a_changed_plan_has_no_other_kinds_of_faults_and_no_longer_ones() {
        let setup = toy::leased_setup();
        let scale = Scale::of(&setup);
        let mut guide = Guide {
            faults: FaultKind::Pause.into(),
            scale: &scale,
            around: setup.workload,
            kept: Vec::new(),
            known: Features::default(),
        };
        let mut engine = Engine::new();
        for seed in 0..500 {
            let candidate = guide.candidate(seed);
            for planned in &candidate.plan.faults {
                let Fault::Pause { length, .. } = planned.fault else {
                    unreachable!("only pauses were asked for")
                };
                assert!(length <= scale.longest(), "{}", candidate.plan);
            }
            let outcome = engine.run(&setup, &candidate.plan, candidate.seed, &Limits::of(&setup), &mut ());
            guide.learn(candidate, &outcome);
        }
        assert!(!guide.kept.is_empty() && guide.kept.len() < 250, "{} of 500 are kept", guide.kept.len());
    }
}
