//! `picklock check LOCK`: every schedule of a small world.

mod asked;
mod control;

use super::ci::{Case, Ci, Outcome};
use super::jobs::Jobs;
use super::memory::{self, MaxMemory};
use super::progress::{Progress, Stopwatch};
use super::screen::{Paint, Screen, Tone, counted, fact, grouped, sentence};
use super::settings::Set;
use super::sweep::names_of;
use super::{BadCall, Ending, last, names, next, states_within};
use asked::{
    has_a_lease_to_bring_back, leans_on_what_it_drops, matters, minds_what_it_is_asked, outstays,
    pauses_one_way, shows_what_it_keeps,
};
use clap::Args;
use control::Control;
use picklock_model::claims::{Assumption, Judgement, NamedSpace, Unmet};
use picklock_model::machine::Line;
use picklock_model::time::Micros;
use picklock_model::workload::ROUNDS_WITHOUT_END;
use picklock_model::world::{Aim, Fault, TICK};

use crate::registry::{AnyLock, CheckOptions, CheckVerdict, Checked, Locks, Surroundings, goals};
use crate::report::TextOptions;
use picklock_model::explore::{Coverage, Draws, Limits, Seen, Verdict};
use picklock_properties::{Promise, PromiseSet};
use serde::Serialize;
use std::fmt::Write;

/// Explores every schedule of a small world
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    /// A lock or an object: picklock locks lists them
    lock: String,
    /// How many clients, 1 to 8; two, unless what is judged takes more
    #[arg(long, value_name = "N")]
    clients: Option<u8>,
    /// How many servers, 1 to 5; unless given, as many as the lock is judged with: picklock locks says how many
    #[arg(long, value_name = "N")]
    servers: Option<u8>,
    /// How often each client asks for the lock, or how many operations it does: 1 to 254, of objects 1 to 15; twice, unless what is judged takes more.
    /// For locks also "endless"; with --progress, whether somebody may be overtaken again and again
    #[arg(long, value_name = "K", value_parser = rounds)]
    rounds: Option<u8>,
    /// The clients call try_lock, not lock
    #[arg(long)]
    try_lock: bool,
    /// Holds are so long, no longer and no shorter: 0 to 20 ticks of a second. Unless given, as long as they like, or, where the lock asks for work that
    /// fits into its lease, a tick
    #[arg(long, value_name = "TICKS")]
    hold: Option<u8>,
    /// Messages take up to so many ticks, 0 to 5, for locks that are checked with time
    #[arg(long, value_name = "TICKS")]
    latency: Option<u8>,
    /// How often each fault that is let in may strike, 1 to 8; once, unless the lock is judged with more. How far clocks drift is
    /// the lock's affair
    #[arg(long, value_name = "N")]
    times: Option<u8>,
    #[command(flatten)]
    set: Set,
    /// Drops an assumption; may be repeated. picklock assumptions lists them
    #[arg(long, value_name = "ASSUMPTION", value_delimiter = ',')]
    drop: Vec<String>,
    /// Crashes and pauses strike a client only where its source is at this line, as replay shows it: L6:3, or "step 3" outside of listings
    #[arg(long, value_name = "LINE")]
    at: Option<String>,
    /// Watches this promise; may be repeated. Mutual exclusion unless given
    #[arg(long = "property", value_name = "P", value_delimiter = ',')]
    properties: Vec<String>,
    /// Judges promises of progress, on every fair schedule, not what single steps break
    #[arg(long)]
    progress: bool,
    /// Gives up after so many states; that is no pass
    #[arg(long, value_name = "N", default_value_t = STATES_MAX)]
    max_states: u64,
    #[command(flatten)]
    memory: MaxMemory,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    ci: Ci,
}

const EXAMPLES: &str = "\
Examples:
  picklock check cassandra-queue --clients 3
  picklock check cassandra-queue --drop no-pause --drop no-expiry
  picklock check redis-single --drop no-loss --times 3 --hold 2 --set ttl=4999ms
  picklock check naive-handler --clients 1 --drop no-crash --at L1:12
  picklock check cassandra-queue --try-lock --progress --property theorem-3
  picklock check redis-single --progress --rounds endless
  picklock check cassandra-queue --junit junit.xml --github

Exits 0 if every promise holds, 1 if one is violated, 3 if the search did not end, 4 if it is vacuous: nothing was broken, \
but what puts a promise to the test never happened (picklock properties says what that is), or nothing of what a dropped \
assumption rules out.";

/// A number of rounds, or "endless".
fn rounds(text: &str) -> Result<u8, String> {
    match text {
        "endless" => Ok(ROUNDS_WITHOUT_END),
        number => match number.parse() {
            Ok(rounds) if (1..ROUNDS_WITHOUT_END).contains(&rounds) => Ok(rounds),
            Ok(_) | Err(_) => Err("it takes 1 to 254, or endless".to_owned()),
        },
    }
}

const STATES_MAX: u64 = 50_000_000;
/// A state has room to judge so many goals.
const GOALS_MAX: usize = 8;

#[derive(Serialize)]
struct Document {
    lock: &'static str,
    clients: u8,
    servers: u8,
    rounds: u8,
    try_lock: bool,
    judged: &'static str,
    properties: Vec<&'static str>,
    dropped: Vec<&'static str>,
    /// The one line at which crashes and pauses strike.
    at: Option<String>,
    /// What of the space is otherwise for the one drop, apart from what may go wrong.
    changed: Vec<String>,
    /// Of a violation: whether it takes each of the drops.
    controls: Vec<Control>,
    /// What is assumed, and could be dropped.
    assumed: Vec<&'static str>,
    #[serde(flatten)]
    surroundings: Surroundings,
    verdict: CheckVerdict,
    /// Promises that nothing put to the test.
    untested: Vec<Promise>,
    /// Faults that were let in and never came.
    never_struck: Vec<Fault>,
    /// Whether the lock was given a lease in a world without time.
    nothing_expired: bool,
    /// Why it is no evidence that what was dropped is not needed.
    unmet: Vec<Unmet>,
    why_incomplete: Option<&'static str>,
    property: Option<Promise>,
    states: u64,
    /// Of these, how many were kept; one stands for all that differ only in which client is which.
    kept: u64,
    transitions: u64,
    depth: u32,
    bytes_per_state: u64,
    coverage: Coverage,
    steps: Option<usize>,
    token: Option<String>,
    seconds: f64,
    /// Whether the lock has a lease that it is checked without.
    #[serde(skip)]
    lease_comes_back: bool,
    /// What is not assumed where nothing is dropped.
    #[serde(skip)]
    not_in_force_before: Vec<&'static str>,
    /// Whether the lock or its use is another than the registered one.
    #[serde(skip)]
    is_set: bool,
    /// Whether all holds are equally long, and a promise about late writes holds.
    #[serde(skip)]
    holds_alike: bool,
}

/// What is asked for of the space. The default asks for nothing.
#[derive(Clone, Copy, Default)]
struct Within {
    /// In ticks.
    hold: Option<u8>,
    /// In ticks.
    latency: Option<u8>,
    /// How often each fault may strike.
    times: Option<u8>,
}

impl Check {
    fn within(&self) -> Within {
        Within { hold: self.hold, latency: self.latency, times: self.times }
    }

    /// Explores.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        let lock = names::lock(locks, &self.lock)?;
        let options = self.options(lock)?;
        let mut space = self.set.in_space(lock, self.bounded(lock, &options, self.within())?)?;
        let at = self.at(&options)?;
        if let Some(line) = at {
            space.bounds.aim = Aim::At(line);
        }
        let judgement = self.judgement(lock, &options, &space)?;
        shows_what_it_keeps(lock, &space)?;
        let pool = self.jobs.pool()?;
        self.ci.check()?;

        let progress = Progress::states();
        let watch = self.memory.watch();
        let on_progress = |seen: &Seen| {
            progress.search(seen);
            watch.look();
        };
        let limits = Limits { states_max: self.max_states, stop: watch.stop(), on_progress: &on_progress };
        let stopwatch = Stopwatch::start();
        let checked = pool.install(|| lock.check(&space, &judgement, &limits))?.without(&options.drop);
        let seconds = stopwatch.seconds();
        let others = control::spaces(&self, lock, &options);
        let controls = match checked.verdict {
            CheckVerdict::Violated => {
                let states = checked.exploration.states;
                pool.install(|| control::run(lock, &others, &judgement, states, &limits))?
            }
            CheckVerdict::Holds | CheckVerdict::Incomplete | CheckVerdict::Vacuous => Vec::new(),
        };
        drop(progress);

        let surroundings = lock.surroundings(&space)?.without(&options.drop);
        let surroundings = match outstays(lock, &options, &surroundings) {
            true => surroundings.without(&[Assumption::StopsInTime]),
            false => surroundings,
        };
        // Whoever asks for a hold gets it.
        let surroundings =
            Surroundings { work_fits: surroundings.work_fits && self.hold.is_none(), ..surroundings };
        let undropped = control::undropped(&others).map(|space| lock.surroundings(space)).transpose()?;
        let changed = undropped.as_ref().map_or_else(Vec::new, |was| control::changed(was, &surroundings));
        let mut document = Document::new(lock, &options, at, surroundings, &judgement, &checked, seconds);
        document.changed = changed;
        document.controls = controls;
        document.not_in_force_before = undropped.map_or_else(Vec::new, |was| was.not_in_force);
        document.is_set = !self.set.is_empty() || self.hold.is_some() || self.latency.is_some();
        let of_late_writes = |name: &&str| {
            [Promise::FencedResource, Promise::LostUpdate].iter().any(|promise| promise.name() == *name)
        };
        document.holds_alike = self.hold.is_some()
            && document.verdict == CheckVerdict::Holds
            && document.properties.iter().any(of_late_writes);
        if document.why_incomplete.is_some() && watch.is_too_much() {
            document.why_incomplete = Some(memory::REACHED);
        }
        last::keep(document.token.as_deref());
        screen.versioned(&document);
        if !screen.wants_json() {
            screen.text(&document.text(screen.paint()));
            if let Some(counterexample) = &checked.counterexample {
                let width = Screen::width().unwrap_or(120);
                let colour = screen.paint().has_colour();
                let options = TextOptions { width, colour, names_command: false, ..TextOptions::default() };
                let replay = lock.replay(&counterexample.token, &options)?;
                screen.text(&format!("\n{}", replay.text));
                let token = counterexample.token.encode();
                let name = if Screen::is_terminal() { "@last" } else { &token };
                screen.text(&format!("\n{}", next::of_path(name)));
            }
        }
        let ending = Ending::of(checked.verdict);
        self.ci.report("check", vec![document.case()], ending, screen)?;
        Ok(ending)
    }

    fn options(&self, lock: &dyn AnyLock) -> Result<CheckOptions, BadCall> {
        let within = |what: &str, n: u64, most: u64| match n {
            n if (1..=most).contains(&n) => Ok(()),
            n => Err(BadCall(format!("{what} {n}: it takes 1 to {most}"))),
        };
        let clients = self.clients.unwrap_or(lock.usual_clients());
        within("--clients", clients.into(), 8)?;
        let servers = self.servers.unwrap_or(lock.usual_servers());
        within("--servers", servers.into(), 5)?;
        let rounds = self.rounds.unwrap_or(lock.usual_rounds());
        if rounds == ROUNDS_WITHOUT_END && !lock.is_lock() {
            return Err(BadCall(format!("--rounds endless: {} is not a lock", lock.name())));
        }
        within("--rounds", rounds.into(), lock.rounds_max().into())?;
        states_within(self.max_states)?;
        let promises = names::promises(&self.properties)?;
        let drop = names::assumptions(&self.drop)?;
        if lock.is_lock() {
            self.fits_calls(promises)?;
        } else {
            let name = lock.name();
            let asks = lock.watched();
            let owes = asks.iter().any(Promise::is_liveness);
            if self.try_lock {
                return Err(BadCall(format!("{name} is not a lock: leave out --try-lock")));
            }
            if self.progress && !owes {
                return Err(BadCall(format!("{name} promises no progress: leave out --progress")));
            }
            names::can_break(lock, promises)?;
        }
        let options = CheckOptions { clients, servers, rounds, try_lock: self.try_lock, drop, promises };
        minds_what_it_is_asked(lock, &options)?;
        pauses_one_way(&options)?;
        leans_on_what_it_drops(lock, &options)?;
        if !self.progress || !promises.is_empty() {
            return Ok(options);
        }
        // What is judged is named, for whoever makes the space.
        let promises = goals(clients, 1, options.somebody_is_owed(), promises)
            .iter()
            .map(|goal| goal.promise())
            .collect();
        Ok(CheckOptions { promises, ..options })
    }

    /// The space, within the bounds that are asked for.
    fn bounded(
        &self,
        lock: &dyn AnyLock,
        options: &CheckOptions,
        within: Within,
    ) -> Result<NamedSpace, BadCall> {
        let Within { hold, latency, times } = within;
        let mut space = lock.space(options);
        let name = lock.name();
        let has_time = space.bounds.latency_ticks.is_some();
        let timeless = |what: &str| {
            BadCall(format!(
                "{what}: {name} is checked without time here, where deadlines and messages come in any order; what brings in time is to drop an \
                 assumption about it: {}",
                Assumption::NoExpiry
            ))
        };
        if let Some(hold) = hold {
            match hold {
                _ if !lock.is_lock() => return Err(BadCall(format!("--hold {hold}: {name} is not a lock"))),
                21.. => return Err(BadCall(format!("--hold {hold}: it takes 0 to 20 ticks"))),
                _ if !has_time => return Err(timeless(&format!("--hold {hold}"))),
                _ => space = lock.with_hold(&space, Micros(i64::from(hold) * TICK.0))?,
            }
        }
        match latency {
            None => {}
            Some(latency @ 6..) => {
                return Err(BadCall(format!("--latency {latency}: it takes 0 to 5 ticks")));
            }
            Some(latency) if !has_time => return Err(timeless(&format!("--latency {latency}"))),
            Some(latency) => space.bounds.latency_ticks = Some(latency),
        }
        match times {
            None => {}
            Some(times) if !(1..=8).contains(&times) => {
                return Err(BadCall(format!("--times {times}: it takes 1 to 8")));
            }
            Some(times) => {
                let crashes = options.servers.div_ceil(2);
                if options.drop.contains(&Assumption::MajorityUp) && times < crashes {
                    return Err(BadCall(format!(
                        "--times {times} with --drop {}: with {} servers it takes {crashes} crashes",
                        Assumption::MajorityUp,
                        options.servers
                    )));
                }
                if !space.bounds.strike_times(times) {
                    return Err(BadCall(format!(
                        "--times {times}: nothing is let in that strikes a number of times: --drop an assumption (how much clocks drift is \
                         the lock's affair, and a clock that stops stops once)"
                    )));
                }
            }
        }
        Ok(space)
    }

    /// The one line at which clients are struck. Other faults than those would hide that it is never come to.
    fn at(&self, options: &CheckOptions) -> Result<Option<Line>, BadCall> {
        use Assumption::{NoCrash, NoPause, NoSuspend};
        let Some(text) = &self.at else { return Ok(None) };
        let line = text.parse().map_err(|why| BadCall(format!("--at {text}: {why}")))?;
        let is_aimed = |dropped: &Assumption| matches!(dropped, NoCrash | NoPause | NoSuspend);
        match options.drop.iter().find(|dropped| !is_aimed(dropped)) {
            None if options.drop.is_empty() => Err(BadCall(format!(
                "--at {text}: nothing strikes there unless --drop {NoCrash}, {NoPause} or {NoSuspend} lets it"
            ))),
            None => Ok(Some(line)),
            Some(other) => Err(BadCall(format!(
                "--at {text} with --drop {other}: it says where {NoCrash}, {NoPause} and {NoSuspend} strike, and is for those alone"
            ))),
        }
    }

    /// A promise that nothing in the space could break would seem to be kept.
    fn fits_calls(&self, promises: PromiseSet) -> Result<(), BadCall> {
        for promise in promises.iter() {
            let of_progress = promise.is_liveness() || (promise == Promise::Theorem3 && self.progress);
            let wrong = match promise {
                Promise::Theorem1 if self.try_lock => "speaks of lock: leave out --try-lock",
                Promise::Theorem2 | Promise::Theorem3 if !self.try_lock => {
                    "speaks of try_lock: add --try-lock"
                }
                _ if promise.is_of_objects() => "is a promise of shared objects, not of locks",
                _ if of_progress && !self.progress => "is a promise of progress: add --progress",
                _ if self.progress && !of_progress => "is broken by single steps: leave out --progress",
                _ => continue,
            };
            return Err(BadCall(format!("{promise} {wrong}")));
        }
        Ok(())
    }

    fn judgement(
        &self,
        lock: &dyn AnyLock,
        options: &CheckOptions,
        space: &NamedSpace,
    ) -> Result<Judgement, BadCall> {
        if !self.progress {
            return Ok(Judgement::Safety);
        }
        // Its store takes the silent for dead, and without time nobody wakes and hears of it.
        let silence = [Assumption::NoPause, Assumption::NoSuspend];
        let silent = options.drop.iter().find(|assumption| silence.contains(assumption));
        if let (Some(silent), None) = (silent, space.bounds.latency_ticks) {
            let name = lock.name();
            return Err(BadCall(format!(
                "--progress with --drop {silent}: {name} is checked without time, and who is taken for dead while it only waits does \
                 not come to know of it; seeded runs have time: picklock sweep {name} --faults pause --property deadlock-freedom"
            )));
        }
        if space.bounds.link_messages_max != 0 {
            let servers = options.servers;
            return Err(BadCall(format!(
                "--progress with --servers {servers}: progress is judged with one server, whose links are unbounded"
            )));
        }
        let mut goals = goals(options.clients, 1, options.somebody_is_owed(), options.promises);
        if !options.promises.is_empty() {
            goals.retain(|goal| options.promises.contains(goal.promise()));
        }
        if goals.len() > GOALS_MAX {
            return Err(BadCall(format!(
                "--progress with --clients {}: there is one goal for each client and a few more, and {GOALS_MAX} can be \
                 judged at once",
                options.clients
            )));
        }
        Ok(Judgement::Progress { goals, draws: Draws::Dice })
    }
}

impl Document {
    fn new(
        lock: &dyn AnyLock,
        options: &CheckOptions,
        at: Option<Line>,
        surroundings: Surroundings,
        judgement: &Judgement,
        checked: &Checked,
        seconds: f64,
    ) -> Document {
        let &CheckOptions { clients, servers, rounds, try_lock, .. } = options;
        let is_leased = surroundings.not_in_force.contains(&Assumption::NoExpiry.name());
        let lease_comes_back = !is_leased && has_a_lease_to_bring_back(lock, options);
        let exploration = &checked.exploration;
        let counterexample = checked.counterexample.as_ref();
        let judged = match judgement {
            Judgement::Safety => "safety",
            Judgement::Progress { .. } => "progress",
        };
        Document {
            lock: lock.name(),
            clients,
            servers,
            rounds,
            try_lock,
            judged,
            properties: names_of(checked.judged),
            dropped: options.drop.iter().copied().map(Assumption::name).collect(),
            at: at.map(|line| line.to_string()),
            changed: Vec::new(),
            controls: Vec::new(),
            assumed: assumed(lock, options, &surroundings),
            surroundings,
            verdict: checked.verdict,
            untested: checked.untested.iter().collect(),
            never_struck: checked.never_struck.clone(),
            nothing_expired: checked.nothing_expired,
            unmet: checked.unmet.clone(),
            why_incomplete: why_incomplete(checked),
            property: counterexample.map(|counterexample| counterexample.promise),
            states: exploration.states,
            kept: exploration.kept,
            transitions: exploration.transitions,
            depth: exploration.depth,
            bytes_per_state: exploration.bytes / exploration.kept.max(1),
            coverage: exploration.coverage,
            steps: counterexample.map(|counterexample| counterexample.steps),
            token: counterexample.map(|counterexample| counterexample.token.encode()),
            seconds,
            lease_comes_back,
            not_in_force_before: Vec::new(),
            is_set: false,
            holds_alike: false,
        }
    }

    /// For a build server.
    fn case(&self) -> Case {
        let (_, verdict) = self.verdict();
        let outcome = match self.verdict {
            CheckVerdict::Holds => Outcome::Passed,
            CheckVerdict::Violated => Outcome::Failed(verdict),
            CheckVerdict::Incomplete | CheckVerdict::Vacuous => Outcome::Unclear(verdict),
        };
        let dropped = self.dropped.iter().map(|assumption| format!(", without {assumption}"));
        Case {
            group: self.lock.to_owned(),
            name: self.properties.join(", ") + &dropped.collect::<String>(),
            outcome,
            said: format!("{}, {}", self.surroundings.used, counted(self.states, "state")),
            token: self.token.clone(),
            seconds: Some(self.seconds),
        }
    }

    /// What came of it, in words.
    fn verdict(&self) -> (Tone, String) {
        let promises = self.properties.join(", ");
        let (tone, mut verdict) = match (self.verdict, self.property) {
            (CheckVerdict::Holds, _) => {
                (Tone::Good, format!("✓ holds: {promises}{}", self.while_others_ask()))
            }
            (CheckVerdict::Violated, Some(promise)) => {
                (Tone::Bad, format!("✗ violated: {promise}, in {} steps", self.steps.unwrap_or(0)))
            }
            (CheckVerdict::Violated, None) => (Tone::Bad, "✗ violated".to_owned()),
            (CheckVerdict::Incomplete, _) => {
                let why = self.why_incomplete.unwrap_or("a limit was hit");
                (Tone::Unclear, format!("? incomplete: {promises}; {why}: this is NOT a pass"))
            }
            (CheckVerdict::Vacuous, _) => {
                let why = if !self.untested.is_empty() {
                    "nothing could be"
                } else if !self.never_struck.is_empty() || self.nothing_expired {
                    "and not all came that was let in"
                } else {
                    "and what was dropped was not put to the test"
                };
                (
                    Tone::Unclear,
                    format!("– vacuous: nothing was broken, {why}; this is NOT a pass\n{}", self.never()),
                )
            }
        };
        if self.verdict == CheckVerdict::Violated && self.properties.len() > 1 {
            verdict += "; the search ended with it: of the others it says nothing";
        }
        (tone, verdict)
    }

    /// Nobody is overtaken more often than the others ask, which a promise to serve everybody in the end does not mind.
    fn while_others_ask(&self) -> String {
        let is_owed = self.properties.contains(&Promise::StarvationFreedom.name());
        match is_owed && self.clients > 1 && self.rounds != ROUNDS_WITHOUT_END {
            true => {
                let times =
                    if self.rounds == 1 { "once".to_owned() } else { format!("{} times", self.rounds) };
                format!(", where each asks {times} (--rounds endless: again and again)")
            }
            false => String::new(),
        }
    }

    fn assumed_in_words(&self) -> String {
        let (not_in_force, dropped) = (&self.surroundings.not_in_force, &self.dropped);
        let names = |names: &[&str]| if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        let mut words = names(&self.assumed);
        if self.is_set {
            words += " (of the lock as it is registered: what is set here may go against them)";
        }
        if !dropped.is_empty() {
            let _ = write!(words, "; dropped: {}", dropped.join(", "));
        }
        let others = not_in_force.iter().copied().filter(|name| !dropped.contains(name));
        let is_before = |name: &&str| dropped.is_empty() || self.not_in_force_before.contains(name);
        let (never, with_it): (Vec<&str>, Vec<&str>) = others.partition(is_before);
        if !with_it.is_empty() {
            let _ = write!(words, "; given up with that: {}", with_it.join(", "));
        }
        if !never.is_empty() {
            let _ = write!(words, "; never assumed: {}", never.join(", "));
        }
        words
    }

    fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        let (tone, verdict) = self.verdict();
        let used = &self.surroundings.used;
        let lock = paint.text(Tone::Strong, self.lock);
        let _ = writeln!(text, "{lock}\n{}", paint.text(tone, &sentence(&verdict)));
        text += &fact("space", used);
        text += &fact("set", &self.surroundings.settings_in_words());
        let absent = self.absent();
        if !absent.is_empty() {
            text += &fact("without", &absent);
        }
        if self.surroundings.work_fits {
            text += &fact("work", "fits into the lease, as this lock asks for: --hold TICKS makes it longer");
        }
        if self.holds_alike {
            let words = "every hold is just as long, so that writes come in the order of grants: that a short hold's write is late is not seen \
                         here, and is without --hold";
            text += &fact("alike", words);
        }
        text += &fact("time", &self.surroundings.time);
        text += &fact("allowed", &self.surroundings.allowed_in_words());
        text += &fact("assumed", &self.assumed_in_words());
        if !self.changed.is_empty() {
            let (names, changed) = (self.dropped.join(", "), self.changed.join("; "));
            text += &fact("changed", &format!("with the drop of {names} come also: {changed}"));
        }
        for control in &self.controls {
            text += &fact("control", &control.in_words());
        }
        let explored = format!(
            "{}{}, {}, depth {}, {} bytes a state, {} s",
            counted(self.states, "state"),
            self.kept_in_words(),
            counted(self.transitions, "transition"),
            self.depth,
            self.bytes_per_state,
            self.seconds,
        );
        text += &fact("explored", &explored);
        text += &fact("coverage", &coverage_words(&self.coverage));
        if self.verdict == CheckVerdict::Holds {
            text += &fact("tested", &self.tested());
        }
        text
    }

    /// What the lock and its store have in seeded runs, and not here.
    fn absent(&self) -> String {
        let parts = self.surroundings.settings.iter().filter_map(|set| match set.as_str() {
            // Of other numbers none is less, and not nothing.
            "lock_delay=0" => Some("lock_delay"),
            set => set.strip_suffix("=null"),
        });
        let parts: Vec<&str> = parts.collect();
        if parts.is_empty() {
            return String::new();
        }
        let lease = match self.lease_comes_back {
            true => format!("; --drop {} brings its lease back", Assumption::NoExpiry),
            false => String::new(),
        };
        format!(
            "{}: seeded runs have it, and what it mends or breaks is not seen here{lease}",
            parts.join(", ")
        )
    }

    /// Whether fewer states were kept than there are.
    fn kept_in_words(&self) -> String {
        match self.kept < self.states {
            true => format!(" ({} where it is the same which client is which)", grouped(self.kept)),
            false => String::new(),
        }
    }

    /// What never happened.
    fn never(&self) -> String {
        let is_aimed = |fault: &Fault| matches!(fault, Fault::Pause | Fault::Crash);
        match &self.at {
            Some(line) if self.never_struck.iter().any(is_aimed) => {
                let nowhere = format!("  nothing struck: no client ever came to {line}");
                std::iter::once(nowhere)
                    .chain(never(&self.untested, &[], false, &self.unmet))
                    .collect::<Vec<_>>()
                    .join("\n")
            }
            _ => never(&self.untested, &self.never_struck, self.nothing_expired, &self.unmet).join("\n"),
        }
    }

    /// In how many transitions each promise was put to the test.
    fn tested(&self) -> String {
        let asked = |promise: Promise| self.properties.contains(&promise.name());
        let tested = self.coverage.tested.iter().filter(|(promise, _)| asked(*promise));
        let words: Vec<String> =
            tested.map(|(promise, times)| format!("{promise} {}", counted(times, "time"))).collect();
        words.join(", ")
    }
}

/// What holds here, and would change the space if it were dropped, too.
fn assumed(lock: &dyn AnyLock, options: &CheckOptions, surroundings: &Surroundings) -> Vec<&'static str> {
    let is_lasting = !surroundings.not_in_force.contains(&Assumption::NoExpiry.name());
    let in_force = |assumption: &Assumption| {
        // What never expires does not expire in time.
        let expires = *assumption != Assumption::KeysExpire || !is_lasting;
        expires && !surroundings.not_in_force.contains(&assumption.name())
    };
    let too = |assumption: &Assumption| {
        let options = CheckOptions { drop: [&options.drop[..], &[*assumption]].concat(), ..options.clone() };
        matters(lock, &options, *assumption)
    };
    Assumption::ALL.into_iter().filter(in_force).filter(too).map(Assumption::name).collect()
}

/// What never happened, a line for each fault and each promise.
pub fn never(
    untested: &[Promise],
    never_struck: &[Fault],
    nothing_expired: bool,
    unmet: &[Unmet],
) -> Vec<String> {
    let faults = never_struck.iter().map(|fault| format!("  let in, and never came: {}", fault.never()));
    let promises =
        untested.iter().map(|promise| format!("  {promise}: this never happened: {}", promise.tested_by()));
    let drop = Assumption::NoExpiry;
    let expired = nothing_expired.then(|| {
        format!("  nothing ever expired, for no time passes here: --drop {drop} brings in both where a lock has a lease")
    });
    let unmet = unmet.iter().map(|unmet| format!("  not put to the test: {}", unmet.in_words()));
    faults.chain(promises).chain(expired).chain(unmet).collect()
}

/// Which limit was hit, if no verdict was reached.
pub fn why_incomplete(checked: &Checked) -> Option<&'static str> {
    match (checked.verdict, &checked.exploration.verdict) {
        (CheckVerdict::Incomplete, Verdict::Incomplete { reason }) => Some(reason),
        (_, _) => None,
    }
}

fn coverage_words(coverage: &Coverage) -> String {
    let counts = [
        ("grants", coverage.granted),
        ("refusals", coverage.refused),
        ("releases", coverage.released),
        ("renewals", coverage.renewed),
        ("leases found lost", coverage.lost_leases),
        ("writes accepted", coverage.accepted),
        ("writes turned down", coverage.rejected),
        ("rows read", coverage.row_reads),
        ("waiters woken", coverage.woken),
        ("calls answered", coverage.returned),
        ("calls given up", coverage.unknown),
        ("outputs and counts", coverage.outputs),
        ("ticks", coverage.ticks),
        ("faults", coverage.faults),
    ];
    let counts = counts.into_iter().filter(|(_, times)| *times > 0);
    let words: Vec<String> = counts.map(|(what, times)| format!("{} {what}", grouped(times))).collect();
    if words.is_empty() { "nothing of interest happened".to_owned() } else { words.join(", ") }
}
