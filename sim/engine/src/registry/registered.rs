//! The one place where a lock's type meets what the command does with it.

use super::any::{AnyLock, Audit, PanickedIn, Reduced, RunError, ShrinkHow, SweepHow};
use super::checking::{CheckOptions, CheckVerdict, Checked, Counterexample, never_served, steps_of};
use super::set::{Set, fields};
use super::watcher::{Breaks, Watcher};
use super::{General, GeneralHow, Other, Replay, Surroundings, Wanted, general, surroundings, tokens};
use crate::plans::fault::FaultSet;
use crate::plans::plan::Plan;
use crate::plans::shrink::{Failing, ShrinkGoal, Trial, shrink};
use crate::plans::strategy::Strategy;
use crate::plans::swarm::Scale;
use crate::plans::varied;
use crate::report::{Heading, TextOptions, TimeColumn, TraceHash, never_again};
use crate::seeded::outcome::{Limits as RunLimits, Outcome};
use crate::seeded::run::Engine;
use crate::sweep::{BLOCK, PlannedRun, SweepOptions, SweepReport, sweep};
use crate::token::{Body, Token};
use picklock_model::claims::{
    Assumption, Judgement, NamedSpace, Sight, Widened, Widening, pack_setup, unpack_setup,
};
use picklock_model::cluster::Setup;
use picklock_model::explore::{Apart, Goal, Limits, Space, Verdict, check_liveness, search};
use picklock_model::panics::{self, Panicked, PanickedRun};
use picklock_model::system::System;
use picklock_model::time::Micros;
use picklock_model::workload::Writes;
use picklock_model::world::TICK;
use picklock_properties::{Promise, PromiseSet};
use std::ops::Range;

/// A lock with what the command has to know of it: the one entry that makes matrix, check, sweep, replay, shrink and the
/// rest of the command work for it.
#[derive(Clone, Debug)]
pub struct Registered<Y: System> {
    /// The name it goes by: in tokens, too.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// The settings of which only differences are told.
    pub default_settings: Y::Settings,
    /// What seeded runs are drawn around.
    pub setup: fn() -> Setup<Y>,
    /// What `check` explores; `None`: [`CheckOptions::space_of`] the setup.
    pub space: Option<fn(&CheckOptions) -> Space<Y>>,
    /// How many servers `check` gives it unless told otherwise.
    pub servers: u8,
    /// How many clients `check` gives it unless told otherwise.
    pub clients: u8,
    /// How many rounds `check` gives it unless told otherwise.
    pub rounds: u8,
    /// Whether it is a lock, and belongs into the matrix.
    pub is_lock: bool,
    /// Whether each seed draws its own workload around the setup's.
    pub varies: bool,
}

/// How many clients there are, unless something else is asked for.
pub const CLIENTS: u8 = 2;

/// How often each client does what it does, unless something else is asked for.
pub const ROUNDS: u8 = 2;

impl<Y: System> Registered<Y> {
    /// A lock of this name, and what it is in a line. `setup` is what seeded runs are drawn around, and the promises that they watch:
    /// [`Setup::default`] will do to begin with. `check` explores [`CheckOptions::space_of`] the same setup.
    pub fn new(name: &'static str, summary: &'static str, setup: fn() -> Setup<Y>) -> Registered<Y> {
        let Setup { lock, servers, .. } = setup();
        Registered {
            name,
            summary,
            default_settings: lock,
            setup,
            space: None,
            servers,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }
    }

    /// What `check` explores instead: for a lock that is judged in another setup than seeded runs have, or has assumptions
    /// of its own to drop.
    #[must_use]
    pub fn checked_in(self, space: fn(&CheckOptions) -> Space<Y>) -> Registered<Y> {
        Registered { space: Some(space), ..self }
    }

    /// How many servers `check` gives it unless told otherwise; as many as the setup has, unless this says so.
    #[must_use]
    pub fn checked_with_servers(self, servers: u8) -> Registered<Y> {
        Registered { servers, ..self }
    }

    /// How many clients `check` gives it unless told otherwise; two, unless this says so.
    #[must_use]
    pub fn checked_with_clients(self, clients: u8) -> Registered<Y> {
        Registered { clients, ..self }
    }

    /// How many rounds `check` gives it unless told otherwise; two, unless this says so.
    #[must_use]
    pub fn checked_with_rounds(self, rounds: u8) -> Registered<Y> {
        Registered { rounds, ..self }
    }

    /// Runs every seed with the setup's own numbers of clients and rounds, thinking and holding for as long as it says. Else
    /// those are what each seed's own are drawn around ([`varied`]): many a flaw shows at few of them only.
    #[must_use]
    pub fn used_as_set_up(self) -> Registered<Y> {
        Registered { varies: false, ..self }
    }

    fn unpack(&self, space: &NamedSpace) -> Result<Space<Y>, RunError> {
        Ok(Space { setup: unpack_setup(&space.setup)?, bounds: space.bounds.clone() })
    }

    /// What the seeded engine needs for the run of a token, if it is one of its runs.
    fn seeded(&self, token: &Token) -> Result<Option<Seeded<Y>>, RunError> {
        match &token.body {
            Body::Planned { plan, pins, seed } => {
                let setup = self.setup_of(token)?;
                if let Some(why) = plan.implausible() {
                    return Err(RunError::Plan(why));
                }
                Ok(Some(Seeded { setup, told: plan.clone(), plan: plan.pinned(pins), seed: *seed }))
            }
            Body::Path { .. } => Ok(None),
        }
    }

    /// What is set otherwise than in seeded runs, of the lock and of its store.
    fn settings_set_in(&self, setup: &Setup<Y>) -> Set {
        let of_store = Set::of(&(self.setup)().store, &setup.store);
        Set::of(&self.default_settings, &setup.lock).and("store.", of_store)
    }

    /// The same, for whoever looks at a run: with how to read what it stores.
    fn settings_to_read_by(&self, setup: &Setup<Y>) -> Set {
        let mut set = self.settings_set_in(setup);
        set.told.extend(Y::stored(&setup.lock).map(str::to_owned));
        set
    }

    /// Of a run that breaks these promises.
    fn heading(&self, token: &Token, setup: &Setup<Y>, broken: &[Promise]) -> Heading {
        let settings = self.settings_to_read_by(setup).told;
        let asked = token.promise.filter(|promise| broken.contains(promise));
        let shown_for = asked.or_else(|| Promise::gravest(broken.iter().copied()));
        Heading { lock: self.name.to_owned(), settings, token: Some(token.encode()), broken: shown_for }
    }

    fn replay_path(
        &self,
        token: &Token,
        space: &Space<Y>,
        actions: &[u16],
        loop_start: Option<usize>,
        options: &TextOptions,
        kept: &[usize],
    ) -> Result<Replay, RunError> {
        let time = match space.bounds.latency_ticks {
            Some(_) => TimeColumn::Ticks { length: TICK },
            None => TimeColumn::Hidden,
        };
        let options = TextOptions { time, fold: options.fold && loop_start.is_none(), ..*options };
        let (stem, cycle) = actions.split_at(loop_start.unwrap_or(actions.len()).min(actions.len()));
        let never = match loop_start {
            Some(_) => never_served(space, stem, cycle, token.promise)?,
            None => None,
        };
        let starved = never.map(Goal::promise);
        let mut broken = Breaks::default();
        let mut walker = space.walker();
        let walked =
            panics::caught(|| actions.iter().try_for_each(|action| walker.step(*action, &mut broken)));
        let panicked = match walked {
            Ok(walked) => walked.map(|()| None)?,
            Err(what) => Some(what),
        };
        // What comes before the step that panicked can be shown.
        let stem = &stem[..stem.len() - usize::from(panicked.is_some() && !stem.is_empty())];
        let broken: Vec<Promise> = starved.into_iter().chain(broken.0).collect();
        let heading = self.heading(token, &space.setup, &broken);
        let set = self.settings_to_read_by(&space.setup);
        let mut watcher = Watcher::new(heading, set, &space.setup, options);
        watcher.text().keep(kept);
        let mut walker = space.walker();
        for action in stem {
            walker.step(*action, &mut watcher)?;
        }
        // A loop in which what is owed is served is shown as the steps that it is.
        let told_stem = never.map(|_| watcher.steps);
        let goes_round = !cycle.is_empty();
        if never.is_some() && goes_round {
            watcher.text().loop_starts();
        }
        for action in cycle {
            walker.step(*action, &mut watcher)?;
        }
        if let Some(goal) = never {
            let what = never_in_words::<Y>(goal);
            match goes_round {
                true => watcher.text().loop_ends(&what),
                false => watcher.text().nothing_follows(&what),
            }
        }
        let parting = walker.telling().parting().map(ToString::to_string);
        let replay = watcher.finish(token, starved, None, parting, panicked);
        Ok(Replay {
            loop_start: told_stem,
            never: never.map(|goal| never_again(&never_in_words::<Y>(goal), goes_round)),
            time,
            ..replay
        })
    }

    fn replay_seeded(
        &self,
        token: &Token,
        Seeded { setup, told, plan, seed }: &Seeded<Y>,
        options: &TextOptions,
        kept: &[usize],
    ) -> Replay {
        let options = TextOptions { time: TimeColumn::Seconds, ..*options };
        let (limits, mut engine) = (RunLimits::of(setup), Engine::new());
        // What it breaks has to be known before it is shown.
        let ran = panics::of(|| engine.run(setup, plan, *seed, &limits, &mut ()));
        let broken = ran.iter().flat_map(|outcome| &outcome.violations).map(|violation| violation.promise);
        let (heading, set) =
            (self.heading(token, setup, &broken.collect::<Vec<_>>()), self.settings_to_read_by(setup));
        let mut watcher = Watcher::new(heading, set, setup, options);
        watcher.text().keep(kept);
        // It ends as it did.
        let _ = panics::of(|| Engine::new().run(setup, plan, *seed, &limits, &mut watcher));
        let told = Some(told_among(setup, told));
        match ran {
            Ok(Outcome { violations, strikes, .. }) => {
                let nothing_struck = plan.has_faults() && strikes.is_nothing();
                Replay { violations, nothing_struck, ..watcher.finish(token, None, told, None, None) }
            }
            Err(panicked) => watcher.finish(token, None, told, None, Some(panicked.what)),
        }
    }
}

/// How many walks beside true time are enough: a time that is not shown is met by the first that come to use it.
const AUDIT_WALKS: u32 = 48;

impl<Y: System> Registered<Y> {
    /// A machine panicked on a path of this space.
    fn panicked_on_path(&self, space: &Space<Y>, Panicked { what, run }: Panicked) -> RunError {
        let PanickedRun::Path(path) = run else { unreachable!("no seed is run in a space") };
        let place = format!("in step {} of a run of the exhaustive search", path.len());
        let token = self.path_token(space, path, None, None).ok();
        RunError::Panicked(Box::new(PanickedIn { lock: self.name, what, place, token }))
    }

    /// A machine panicked in the run of a seed, one of these.
    fn panicked_in_sweep(
        &self,
        setup: &Setup<Y>,
        (faults, strategy, jobs): (FaultSet, Strategy, usize),
        seeds: Range<u64>,
        panicked: Panicked,
    ) -> RunError {
        let (what, seed, at) = seed_of(panicked);
        // What a guided sweep has learnt until then is known to it alone.
        if strategy == Strategy::Guided {
            return self.panicked_in_run(what, seed, at, None);
        }
        let scale = Scale::of(setup);
        let planned = |seed| PlannedRun {
            plan: strategy.plan(faults, seed, &scale.of_seed(&setup.workload, seed)),
            seed,
        };
        // Of several threads it may have been the one that was ahead: the first seed is told, whoever is quicker.
        let of_seed = |seed| {
            let (setup, limits) = (varied::of_seed(setup, seed), RunLimits::of(setup));
            panics::of(|| Engine::new().run(&setup, &planned(seed).plan, seed, &limits, &mut ())).err()
        };
        let ahead = (jobs as u64 + 1) * BLOCK;
        let earlier = (seed.saturating_sub(ahead).max(seeds.start)..seed).find_map(of_seed);
        let (what, seed, at) = earlier.map_or((what, seed, at), seed_of);
        let token = self.planned_token(&varied::of_seed(setup, seed), &planned(seed), None).ok();
        self.panicked_in_run(what, seed, at, token)
    }

    fn panicked_in_run(&self, what: String, seed: u64, at: Micros, token: Option<Token>) -> RunError {
        let place = format!("in the run of seed {seed}, {at} after it began");
        RunError::Panicked(Box::new(PanickedIn { lock: self.name, what, place, token }))
    }
}

/// What was said, in the run of which seed, and when.
fn seed_of(Panicked { what, run }: Panicked) -> (String, u64, Micros) {
    match run {
        PanickedRun::Seed { seed, at } => (what, seed, at),
        PanickedRun::Path(_) => unreachable!("there is no space to search"),
    }
}

/// The plan in words, with the names that its nodes have in runs of this setup.
fn told_among<Y: System>(setup: &Setup<Y>, plan: &Plan) -> String {
    plan.among(setup.workload.processes(), setup.servers).to_string()
}

/// What never happens in a loop: who holds nothing is granted nothing.
fn never_in_words<Y: System>(goal: Goal) -> String {
    if Y::HOLDS { goal.never() } else { "no call comes back".to_owned() }
}

/// A run of the seeded engine.
struct Seeded<Y: System> {
    setup: Setup<Y>,
    /// The plan as it is told.
    told: Plan,
    /// The same, its faults pinned to steps where they waited for lines.
    plan: Plan,
    seed: u64,
}

impl<Y: System> AnyLock for Registered<Y> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn is_lock(&self) -> bool {
        self.is_lock
    }

    fn watched(&self) -> PromiseSet {
        (self.setup)().promises
    }

    fn settings(&self) -> Vec<String> {
        fields(&self.default_settings)
    }

    fn setup(&self, promises: Option<PromiseSet>) -> Vec<u8> {
        let mut setup = (self.setup)();
        setup.promises = promises.unwrap_or(setup.promises);
        let reads = matches!(setup.workload.writes, Writes::ReadModifyWrite { .. });
        if setup.promises.contains(Promise::LostUpdate) && !reads {
            setup.workload.writes = Writes::judged_by(setup.promises);
        }
        setup.workload.varies = self.varies;
        pack_setup(&setup)
    }

    fn changed(&self, setup: &[u8], name: &str, value: &str) -> Result<Vec<u8>, RunError> {
        Registered::changed(self, setup, name, value)
    }

    fn usual_servers(&self) -> u8 {
        self.servers
    }

    fn swept_servers(&self) -> u8 {
        (self.setup)().servers
    }

    fn usual_clients(&self) -> u8 {
        self.clients
    }

    fn usual_rounds(&self) -> u8 {
        self.rounds
    }

    fn space(&self, options: &CheckOptions) -> NamedSpace {
        let mut space = match self.space {
            Some(space) => space(options),
            None => options.space_of((self.setup)()),
        };
        // Theorem 3 speaks of a lock that is free when the contention begins: whoever is granted it keeps it.
        if options.promises.contains(Promise::Theorem3) {
            space.setup.workload.releases = options.drop.contains(&Assumption::FreeAtStart);
        }
        NamedSpace::new(self.name, &space)
    }

    fn space_of_path(&self, token: &Token) -> Result<Option<NamedSpace>, RunError> {
        let Body::Path { bounds, .. } = &token.body else { return Ok(None) };
        let mut setup = self.setup_of(token)?;
        if let Some(promise) = token.promise {
            setup.promises = [promise].into_iter().collect();
        }
        let space = Space { setup, bounds: tokens::bounds_of(bounds.as_ref())? };
        Ok(Some(NamedSpace::new(self.name, &space)))
    }

    fn with_hold(&self, named: &NamedSpace, hold: Micros) -> Result<NamedSpace, RunError> {
        let mut space = self.unpack(named)?;
        space.setup.workload.hold = hold;
        space.bounds.unhurried_holders = false;
        Ok(NamedSpace::new(self.name, &space))
    }

    fn surroundings(&self, space: &NamedSpace) -> Result<Surroundings, RunError> {
        let space = self.unpack(space)?;
        let Set { plain, told } = self.settings_set_in(&space.setup);
        Ok(Surroundings { settings: plain, settings_told: told, ..Surroundings::of(&space) })
    }

    fn judged(&self, space: &NamedSpace, judgement: &Judgement) -> Result<PromiseSet, RunError> {
        Ok(judgement.of(self.unpack(space)?.setup.promises))
    }

    fn use_in_words(&self, setup: &[u8]) -> Result<String, RunError> {
        Ok(surroundings::use_in_words(&unpack_setup::<Y>(setup)?))
    }

    fn varies(&self, setup: &[u8]) -> Result<bool, RunError> {
        Ok(unpack_setup::<Y>(setup)?.workload.varies)
    }

    fn nodes_in(&self, setup: &[u8]) -> Result<(u8, u8), RunError> {
        let setup: Setup<Y> = unpack_setup(setup)?;
        Ok((varied::processes_max(&setup.workload), setup.servers))
    }

    fn settings_in_words(&self, setup: &[u8]) -> Result<String, RunError> {
        Ok(surroundings::in_words(&self.settings_set_in(&unpack_setup::<Y>(setup)?).told))
    }

    fn watched_in(&self, setup: &[u8]) -> Result<PromiseSet, RunError> {
        Ok(unpack_setup::<Y>(setup)?.promises)
    }

    fn widened(&self, named: &NamedSpace, widening: Widening) -> Result<Option<Widened>, RunError> {
        // What is there to probe a store does its work once.
        let is_probe = !self.is_lock && !self.watched().iter().any(Promise::is_of_objects);
        if widening == Widening::Round && is_probe {
            return Ok(None);
        }
        Ok(widening.of(&self.unpack(named)?).map(|wider| Widened::new(self.name, &wider)))
    }

    fn audit(&self, named: &NamedSpace) -> Result<Option<Audit>, RunError> {
        let space = self.unpack(named)?;
        let apart = panics::of(|| space.audit(AUDIT_WALKS));
        let apart = apart.map_err(|panicked| self.panicked_on_path(&space, panicked))?;
        let audit = |Apart { path, what }: Apart| {
            let steps = steps_of(&space, &path)?;
            Ok(Audit { what, steps, token: self.path_token(&space, path, None, None)? })
        };
        apart.map(audit).transpose()
    }

    fn check(&self, named: &NamedSpace, judgement: &Judgement, limits: &Limits) -> Result<Checked, RunError> {
        let space = self.unpack(named)?;
        let searched = panics::of(|| match judgement {
            Judgement::Safety => {
                let exploration = search(&space, limits);
                let found = match &exploration.verdict {
                    Verdict::Violated { violation, path } => Some((violation.promise, path.clone(), None)),
                    Verdict::Verified | Verdict::Incomplete { .. } => None,
                };
                (exploration, found)
            }
            Judgement::Progress { goals, draws } => {
                let (exploration, lassos) = check_liveness(&space, goals, *draws, limits);
                let found = goals.iter().zip(lassos).find_map(|(goal, lasso)| {
                    let lasso = lasso?;
                    let start = lasso.stem.len();
                    Some((goal.promise(), [lasso.stem, lasso.cycle].concat(), Some(start)))
                });
                (exploration, found)
            }
        });
        let (exploration, found) = searched.map_err(|panicked| self.panicked_on_path(&space, panicked))?;
        let judged = judgement.of(space.setup.promises);
        let untested = exploration.coverage.tested.untested(judged);
        let never_struck = exploration.coverage.struck.never(space.bounds.let_in());
        let nothing_expired = space.bounds.latency_ticks.is_none()
            && Y::lease_of(&space.setup.lock).is_some()
            && exploration.coverage.records_gone == 0;
        let verdict = match (&found, &exploration.verdict) {
            (Some(_), _) => CheckVerdict::Violated,
            (None, Verdict::Incomplete { .. }) => CheckVerdict::Incomplete,
            // A fault that is let in and never strikes is as good as not let in.
            (None, Verdict::Verified | Verdict::Violated { .. })
                if untested.is_empty() && never_struck.is_empty() && !nothing_expired =>
            {
                CheckVerdict::Holds
            }
            (None, Verdict::Verified | Verdict::Violated { .. }) => CheckVerdict::Vacuous,
        };
        let counterexample = found.map(|(promise, actions, loop_start)| {
            let steps = steps_of(&space, &actions)?;
            let token = self.path_token(&space, actions, loop_start, Some(promise))?;
            Ok::<_, RunError>(Counterexample { promise, steps, token })
        });
        let counterexample = counterexample.transpose()?;
        Ok(Checked {
            verdict,
            judged,
            untested,
            never_struck,
            nothing_expired,
            unmet: Vec::new(),
            sight: Sight::of(&space.setup, judged),
            exploration,
            counterexample,
        })
    }

    fn sweep(
        &self,
        setup: &[u8],
        faults: FaultSet,
        seeds: std::ops::Range<u64>,
        how: &SweepHow,
    ) -> Result<SweepReport, RunError> {
        let setup: Setup<Y> = unpack_setup(setup)?;
        let options = SweepOptions {
            jobs: how.jobs,
            keep_going: how.keep_going,
            sought: how.sought,
            until_tested: how.until_tested,
            strategy: how.strategy,
            limits: None,
            scale: Scale::of(&setup),
            on_progress: how.on_progress,
            on_merged: how.on_merged,
            stop: how.stop,
        };
        let swept = panics::of(|| sweep(&setup, faults, seeds.clone(), &options));
        let how = (faults, how.strategy, how.jobs);
        Ok(swept.map_err(|panicked| self.panicked_in_sweep(&setup, how, seeds, panicked))??)
    }

    fn general(&self, wanted: &[Wanted], how: &GeneralHow) -> Result<General, RunError> {
        let broken = wanted.iter().map(|wanted| wanted.breaks);
        let setup = self.setup(Some(self.watched().iter().chain(broken).collect()));
        general::general::<Y>(&unpack_setup(&setup)?, wanted, how)
    }

    fn run_planned(
        &self,
        setup: &[u8],
        plan: &Plan,
        seeds: std::ops::Range<u64>,
    ) -> Result<Vec<Outcome>, RunError> {
        let setup: Setup<Y> = unpack_setup(setup)?;
        let clients = varied::processes_max(&setup.workload);
        if let Some(why) = plan.names_nobody(clients, setup.servers) {
            return Err(RunError::PlanFile(why));
        }
        let mut engine = Engine::new();
        let run = |seed| {
            let setup = varied::of_seed(&setup, seed);
            let run = panics::of(|| engine.run(&setup, plan, seed, &RunLimits::of(&setup), &mut ()));
            run.map_err(|panicked| {
                let run = PlannedRun { plan: plan.clone(), seed };
                let (what, seed, at) = seed_of(panicked);
                let token = self.planned_token(&setup, &run, None).ok();
                self.panicked_in_run(what, seed, at, token)
            })
        };
        seeds.map(run).collect()
    }

    fn plans(
        &self,
        setup: &[u8],
        faults: FaultSet,
        strategy: Strategy,
        seeds: &[u64],
    ) -> Result<Vec<Plan>, RunError> {
        let around: Setup<Y> = unpack_setup(setup)?;
        let scale = Scale::of(&around);
        let plan = |seed: &u64| strategy.plan(faults, *seed, &scale.of_seed(&around.workload, *seed));
        Ok(seeds.iter().map(plan).collect())
    }

    fn token(&self, setup: &[u8], run: &PlannedRun, promise: Option<Promise>) -> Result<Token, RunError> {
        // What the seed drew, not how it is drawn: a token means the same run however workloads come to be drawn.
        self.planned_token(&varied::of_seed(&unpack_setup(setup)?, run.seed), run, promise)
    }

    fn shrink(&self, token: &Token, how: &ShrinkHow) -> Result<Reduced, RunError> {
        let Some(Seeded { setup, plan, told, seed }) = self.seeded(token)? else {
            let replay = self.replay(token, &TextOptions { last: Some(0), ..TextOptions::default() })?;
            let asked = how.promise.or(token.promise).or(replay.shown_for);
            let broken = asked.filter(|promise| replay.breaks(Some(*promise)));
            return match (broken, asked, replay.shown_for) {
                (Some(promise), _, _) => Ok(Reduced::Shortest { promise }),
                (None, Some(asked), Some(broken)) => Err(RunError::BreaksAnother { asked, broken }),
                (None, _, _) => Ok(Reduced::NothingBroken),
            };
        };
        let mut engine = Engine::new();
        let mut run = |plan: &Plan| engine.run(&setup, plan, seed, &RunLimits::of(&setup), &mut ());
        let outcome = run(&plan);
        let gravest = Promise::gravest(outcome.violations.iter().map(|violation| violation.promise));
        let asked = how.promise.or(token.promise);
        let promise = match (asked, gravest) {
            (None, Some(gravest)) => gravest,
            (Some(asked), _) if outcome.breaks(asked) => asked,
            (Some(asked), Some(broken)) => return Err(RunError::BreaksAnother { asked, broken }),
            (_, None) => return Ok(Reduced::NothingBroken),
        };
        // As it is told, a plan says more of why a fault matters; but only while its lines are called what they were.
        let plan = if run(&told) == outcome { told } else { plan };
        let goal = ShrinkGoal { promise, keep_servers: how.keep_servers };
        let Some(shrunk) = shrink(&setup, &plan, seed, goal, how.stop, how.on_run) else {
            return Ok(Reduced::NothingBroken);
        };
        let Failing { trial: Trial { setup, plan, seed }, size } = shrunk.run;
        let words = told_among(&setup, &plan);
        Ok(Reduced::Shrunk {
            promise,
            token: self.planned_token(&setup, &PlannedRun { plan, seed }, Some(promise))?,
            before: shrunk.from,
            after: size,
            plan: words,
            runs: shrunk.runs,
            interrupted: shrunk.interrupted,
        })
    }

    fn fingerprint(&self, token: &Token) -> Result<String, RunError> {
        let Some(Seeded { setup, plan, seed, .. }) = self.seeded(token)? else {
            return Ok(self.replay(token, &TextOptions::default())?.trace_hash);
        };
        let (limits, mut engine, mut hash) = (RunLimits::of(&setup), Engine::new(), TraceHash::default());
        // Watched or not, in fresh memory or in used: the same run.
        let watched = engine.run(&setup, &plan, seed, &limits, &mut hash);
        let unwatched = engine.run(&setup, &plan, seed, &limits, &mut ());
        let mut outcomes = TraceHash::default();
        outcomes.add(&(watched, unwatched));
        Ok(format!("{hash} {outcomes}"))
    }

    fn replay_keeping(
        &self,
        token: &Token,
        options: &TextOptions,
        steps: &[usize],
    ) -> Result<Replay, RunError> {
        if let Some(seeded) = self.seeded(token)? {
            return Ok(self.replay_seeded(token, &seeded, options, steps));
        }
        let Body::Path { bounds, actions, loop_start } = &token.body else {
            unreachable!("what is no seeded run is a path");
        };
        let space = Space { setup: self.setup_of(token)?, bounds: tokens::bounds_of(bounds.as_ref())? };
        self.replay_path(token, &space, actions, loop_start.map(usize::from), options, steps)
    }

    fn others(&self, token: &Token, step: usize) -> Result<Vec<Other>, RunError> {
        let Body::Path { bounds, actions, loop_start } = &token.body else {
            return Err(RunError::OfASeed);
        };
        let space = Space { setup: self.setup_of(token)?, bounds: tokens::bounds_of(bounds.as_ref())? };
        self.others_of_path(token, &space, actions, loop_start.is_some(), step)
    }
}
