//! `picklock sweep LOCK`: many seeds, each with its own random faults, or all with one given plan.

mod cases;
mod kept;
mod text;

use super::ci::Ci;
use super::jobs::Jobs;
use super::plan_file::PlanFile;
use super::progress::{Progress, Stopwatch};
use super::screen::Screen;
use super::settings::Set;
use super::tokens::{Plans, Tokens};
use super::watch::{self, Watched};
use super::{BadCall, Ending, interrupt, last, names, seeds, written};
use crate::plans::fault::{FaultKind, FaultSet};
use crate::plans::plan::Plan;
use crate::plans::strategy::Strategy;
use crate::registry::{Locks, SweepHow};
use crate::report::violation_words;
use crate::seeded::marks::Marks;
use crate::seeded::outcome::Strikes;
use crate::sweep::results::{Question, Results};
use crate::sweep::{Found, SweepReport};
use clap::Args;
use picklock_properties::{Promise, PromiseSet, Tests};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

/// Runs many seeds, each with its own random faults, up to the first that breaks a promise
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Sweep {
    /// A lock: picklock locks lists them
    lock: String,
    /// Which kinds of faults a seed may draw, with commas between; `none`; `all` for the usual eight, `all,-pause` for
    /// all of these but some, `all,suspend` for one more
    #[arg(long, value_name = "F,F", default_value = "all", conflicts_with = "plan")]
    #[arg(allow_hyphen_values = true)]
    faults: String,
    /// How plans are drawn: plain, swarm, pct, mixed or guided; guided learns from the first seed on
    #[arg(long, value_name = "S", default_value = "swarm", conflicts_with = "plan")]
    strategy: String,
    /// From seed A up to but without seed B
    #[arg(allow_hyphen_values = true, long, value_name = "A..B", default_value = "0..1000")]
    seeds: String,
    /// Only the I-th of N equal parts of the seeds, I from 1
    #[arg(long, value_name = "I/N")]
    shard: Option<String>,
    /// Goes on after the first seed that breaks a promise
    #[arg(long)]
    keep_going: bool,
    /// Ends once each promise was put to the test in so many runs: of those that --property names, or of all that the
    /// lock is watched for; not to get there with all seeds is no pass
    #[arg(long, value_name = "N", conflicts_with_all = ["plan", "results"])]
    until_tested: Option<u64>,
    /// Writes the results into this file, and goes on where it ends if it is there: for sweeps that may be killed, and
    /// for shards, which picklock merge puts together. Goes on after broken promises, too
    #[arg(long, value_parser = written::named(), value_name = "FILE", conflicts_with = "plan")]
    results: Option<PathBuf>,
    /// Repeats one seed of so many in a second process and compares the runs step by step; 0: none
    #[arg(long, value_name = "N", default_value_t = watch::SHARE, conflicts_with = "plan")]
    watch: u64,
    /// Watches this promise, not the lock's usual ones; may be repeated
    #[arg(long = "property", value_name = "P", value_delimiter = ',')]
    properties: Vec<String>,
    #[command(flatten)]
    set: Set,
    /// A JSON file with the faults and their moments; every seed runs this plan
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Says how often each fault struck and each situation arose
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    ci: Ci,
}

const EXAMPLES: &str = "\
Examples:
  picklock sweep cassandra-queue --faults pause --keep-going
  picklock sweep cassandra-queue-repaired --seeds 0..1000000 --shard 3/8 --results 3.jsonl
  picklock sweep cassandra-queue --property fifo --faults none
  picklock sweep redlock --strategy mixed --keep-going
  picklock sweep zookeeper-lock-repaired --property fenced-resource --until-tested 500
  picklock sweep redis-single --faults crash --set store.persistence=None --set hold=30s
  picklock sweep cassandra-queue --plan plan.json
  picklock sweep redlock --faults all,-pause,-clock -v --junit junit.xml

Exits 1 if a promise was broken, 3 if runs are missing or did not end, 4 if no run could have broken a promise that was \
asked for by name, or, if none was, mutual exclusion; 5 if a repeated run differs from the first, whatever was broken.
JSON: \"verdict\" is violated, not-seen (\"tested\" says in how many runs each promise could have been broken), incomplete \
or vacuous (\"untested\" says which promises).

A plan, times in microseconds; `picklock faults --fields` lists what one may say, and replay shows the plans of random runs in words:
  {\"faults\": [{\"when\": {\"trigger\": {\"client\": null, \"event\": \"granted\", \"nth\": 1, \"delay\": 3000}},
                \"fault\": {\"pause\": {\"node\": \"struck\", \"length\": 45000000}}},
              {\"when\": {\"at\": 0}, \"fault\": {\"clock-step\": {\"node\": {\"server\": 0}, \"by\": -1000000}}}],
   \"heal_at\": 60000000}
A trigger waits for an event of a client (by number from 0; null: of any): enqueued, granted,
renewed, left, step or {\"line\": {\"listing\": 6, \"number\": 4}}.";

#[derive(Serialize)]
pub struct Document {
    lock: &'static str,
    /// Whether it is a lock, and not an object or a probe.
    #[serde(skip)]
    is_lock: bool,
    faults: Vec<FaultKind>,
    /// What is set otherwise than it is registered, as it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    set: Vec<String>,
    /// Around which use each seed draws its own, if that is not what was asked for.
    #[serde(skip)]
    used: Option<String>,
    strategy: Option<Strategy>,
    plan: Option<Plan>,
    seeds: [u64; 2],
    #[serde(skip)]
    asked: PromiseSet,
    verdict: Verdict,
    runs: u64,
    events: u64,
    seconds: f64,
    /// In how many runs each promise was put to the test.
    tested: Tests,
    /// Promises that were asked for, and that no run put to the test.
    untested: Vec<Promise>,
    violations: Violations,
    broken: BTreeMap<Promise, u64>,
    strikes: Strikes,
    marks: Marks,
    never_struck: Vec<FaultKind>,
    /// A plan was given that has faults, and none of them came in any run.
    nothing_struck: bool,
    grants: u64,
    truncated: u64,
    interrupted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    watch: Option<Watched>,
}

/// Broken promises, those that are listed with their tokens.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Violations {
    listed: Vec<Violated>,
    /// How many there are to list.
    #[serde(skip)]
    count: usize,
}

/// What a sweep came to. It never shows that a promise is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Violated,
    NotSeen,
    Incomplete,
    Vacuous,
}

/// What a sweep is asked.
#[derive(Clone, Copy)]
pub struct Asked {
    /// The promises.
    pub promises: PromiseSet,
    /// Whether they were named; else they are the lock's usual ones, not all of which every lock can break.
    pub by_name: bool,
    /// In how many runs each must have been put to the test.
    pub until_tested: Option<u64>,
}

impl Asked {
    /// Whether nothing that matters could have been broken.
    fn is_vacuous(&self, untested: PromiseSet) -> bool {
        let matters = Promise::MutualExclusion;
        match (self.by_name, self.promises.contains(matters)) {
            (true, _) => !untested.is_empty(),
            (false, true) => untested.contains(matters),
            (false, false) => untested == self.promises,
        }
    }

    /// Whether some were not put to the test as often as they should have been.
    fn is_short(&self, tested: &Tests) -> bool {
        self.until_tested.is_some_and(|runs| !tested.reach(self.promises, runs))
    }
}

#[derive(Serialize)]
struct Violated {
    property: Promise,
    seed: u64,
    token: String,
    words: String,
    /// A shorter name for the token, if there is one.
    #[serde(skip)]
    name: Option<String>,
}

impl Sweep {
    /// Runs them.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        let lock = names::lock(locks, &self.lock)?;
        let faults = names::faults(&self.faults)?;
        let strategy = names::strategy(&self.strategy)?;
        let promises = names::promises(&self.properties)?;
        names::can_break(lock, promises)?;
        let of = seeds::range(&self.seeds)?;
        let range = match &self.shard {
            Some(shard) => seeds::shard(of.clone(), shard)?,
            None => of.clone(),
        };
        let plan = self.plan.as_deref().map(PlanFile::read).transpose()?;
        if self.until_tested == Some(0) {
            return Err(BadCall("--until-tested 0: it takes 1 or more runs".to_owned()));
        }
        self.ci.check()?;
        let jobs = self.jobs.count()?;
        let setup = self.set.in_setup(lock, lock.setup((!promises.is_empty()).then_some(promises)))?;
        let asked = Asked {
            promises: lock.watched_in(&setup)?,
            by_name: !promises.is_empty(),
            until_tested: self.until_tested,
        };

        let question = Question::new(lock.name(), &setup, faults, strategy, range.clone(), of);
        let mut results = self.results.as_deref().map(|path| kept::open(path, &question)).transpose()?;
        let rest = results.as_ref().map_or(range.start, Results::next)..range.end;

        let progress = Progress::runs(range.end - range.start);
        progress.set(rest.start - range.start);
        let on_progress = |runs| progress.add(runs);
        let stop = interrupt::flag();
        let usual = SweepHow::new(&on_progress, stop);
        let until_tested = self.until_tested.map(|runs| (asked.promises, runs));
        let how = SweepHow { jobs, keep_going: self.keep_going, until_tested, strategy, ..usual };
        let stopwatch = Stopwatch::start();
        let (mut report, seconds) = match (&plan, results.take()) {
            (Some(plan), _) => {
                let report = plan.sweep(lock, &setup, range.clone(), &how, &self.jobs.pool()?)?;
                (report, stopwatch.seconds())
            }
            (None, Some(results)) => kept::sweep(lock, (&setup, faults), rest, how, results)?,
            (None, None) => (lock.sweep(&setup, faults, rest, &how)?, stopwatch.seconds()),
        };
        drop(progress);

        let planned = std::mem::take(&mut report.planned);
        let plans = match &plan {
            Some(plan) => Plans::Given(plan.plan()),
            None => Plans::Drawn { faults, strategy, planned: &planned },
        };
        let tokens = Tokens { lock, setup: &setup, plans };
        let given = plan.as_ref().map(PlanFile::plan).cloned();
        let faults = if plan.is_some() { FaultSet::EMPTY } else { faults };
        let drawn = plan.is_none().then_some(strategy);
        let seen = range.start..range.start + report.runs;
        let violations = Violations::of(&report, &tokens, screen)?;
        let mut document = Document::new(
            (lock.name(), lock.is_lock()),
            (faults, drawn),
            given,
            asked,
            range,
            report,
            seconds,
            violations,
        );
        document.used = self.set.drawn_around(lock, &setup)?;
        document.set = self.set.given();
        if self.watch > 0 && plan.is_none() && !document.interrupted {
            let mut repeated: Vec<u64> = watch::chosen(seen, self.watch).collect();
            repeated.extend(document.violations.listed.first().map(|violated| violated.seed));
            repeated.sort_unstable();
            repeated.dedup();
            let repeated: Vec<(u64, Option<Promise>)> =
                repeated.into_iter().map(|seed| (seed, None)).collect();
            document.watch = Some(watch::watch(locks, tokens.of(&repeated)?)?);
        }
        let ending = document.show(screen, self.verbose)?;
        self.ci.report("sweep", document.cases(), ending, screen)?;
        Ok(ending)
    }
}

/// Whether a plan has faults, and none of them came in any run: that is a run without faults, which nobody asked for.
fn never_struck_at_all(plan: Option<&Plan>, strikes: &Strikes) -> bool {
    plan.is_some_and(|plan| !plan.faults.is_empty())
        && strikes.named().into_iter().all(|(_, times)| times == 0)
}

/// How often a kind of fault struck.
fn struck(kind: FaultKind, strikes: &Strikes) -> u64 {
    match kind {
        FaultKind::Pause => strikes.pauses,
        FaultKind::Clock => strikes.clock_steps + strikes.clock_freezes + strikes.clock_drifts,
        FaultKind::Delay => strikes.delayed,
        FaultKind::Loss => strikes.lost + strikes.replies_lost,
        FaultKind::Duplicate => strikes.duplicated,
        FaultKind::Partition => strikes.partitions,
        FaultKind::Crash => strikes.crashes,
        FaultKind::PowerLoss => strikes.power_losses,
        FaultKind::Suspend => strikes.suspensions,
        FaultKind::CoarseClock => strikes.coarse_clocks,
        FaultKind::Resource => strikes.resource_faults,
        FaultKind::Reset => strikes.connection_resets,
        FaultKind::Replace => strikes.replacements,
    }
}

/// So many violations are listed as text; JSON lists more.
const LINES_MAX: usize = 20;

impl Violations {
    /// Of a report. JSON lists all; text no more than anybody reads, and the others need no token.
    pub fn of(report: &SweepReport, tokens: &Tokens, screen: &Screen) -> Result<Violations, BadCall> {
        let count = report.violations.len();
        let listed = &report.violations[..if screen.wants_json() { count } else { count.min(LINES_MAX) }];
        let wanted: Vec<(u64, Option<Promise>)> =
            listed.iter().map(|found| (found.seed, Some(found.violation.promise))).collect();
        let texts = tokens.of(&wanted)?;
        // On a terminal a token takes lines, and hides what they say.
        let is_kept = last::keep(texts.iter().map(String::as_str)) && Screen::is_terminal();
        let violated = |((nth, found), token): ((usize, &Found), String)| Violated {
            property: found.violation.promise,
            seed: found.seed,
            token,
            words: violation_words(&found.violation),
            name: tokens
                .name(found.seed, found.violation.promise)
                .or_else(|| is_kept.then(|| last::name_of(nth))),
        };
        let listed = (1..).zip(listed).zip(texts).map(violated).collect();
        Ok(Violations { listed, count })
    }
}

impl Document {
    /// Of a report on these seeds.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is a line of the document; nothing else takes them together"
    )]
    pub fn new(
        (lock, is_lock): (&'static str, bool),
        (faults, strategy): (FaultSet, Option<Strategy>),
        plan: Option<Plan>,
        asked: Asked,
        seeds: Range<u64>,
        report: SweepReport,
        seconds: f64,
        violations: Violations,
    ) -> Document {
        let untested = report.tested.untested(asked.promises);
        let nothing_struck = never_struck_at_all(plan.as_ref(), &report.strikes);
        let verdict = if !report.is_clean() {
            Verdict::Violated
        } else if report.truncated > 0 || report.stopped {
            Verdict::Incomplete
        } else if asked.is_vacuous(untested) || nothing_struck {
            Verdict::Vacuous
        } else if asked.is_short(&report.tested) {
            Verdict::Incomplete
        } else {
            Verdict::NotSeen
        };
        Document {
            lock,
            is_lock,
            asked: asked.promises,
            verdict,
            tested: report.tested,
            untested: untested.iter().collect(),
            faults: faults.iter().collect(),
            set: Vec::new(),
            used: None,
            strategy,
            plan,
            seeds: [seeds.start, seeds.end],
            runs: report.runs,
            events: report.events,
            seconds,
            violations,
            never_struck: faults.iter().filter(|kind| struck(*kind, &report.strikes) == 0).collect(),
            nothing_struck,
            broken: report.broken,
            strikes: report.strikes,
            marks: report.marks,
            grants: report.grants,
            truncated: report.truncated,
            interrupted: report.stopped,
            watch: None,
        }
    }

    /// Prints it.
    pub fn show(&self, screen: &mut Screen, verbose: bool) -> Result<Ending, BadCall> {
        screen.text(&self.text(screen.paint(), verbose));
        screen.versioned(self);
        let ending = match self.verdict {
            Verdict::Violated => Ending::Broken,
            Verdict::NotSeen => Ending::Fine,
            Verdict::Incomplete => Ending::Incomplete,
            Verdict::Vacuous => Ending::Vacuous,
        };
        let differs = self.watch.as_ref().is_some_and(Watched::differs);
        // Where runs are not repeatable a broken promise says little, too.
        Ok(if differs { Ending::Unexpected } else { ending })
    }
}

/// What is watched, for those who print it.
pub fn names_of(promises: PromiseSet) -> Vec<&'static str> {
    promises.iter().map(Promise::name).collect()
}
