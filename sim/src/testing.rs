//! For `cargo test`: a lock keeps a promise in so many random runs, or on every schedule of a small world, or the test fails
//! and says why.
//!
//! ```no_run
//! use picklock_sim::prelude::*;
//! # use picklock_model::locks::RedisSingle as MyLock;
//!
//! fn my_lock() -> Registered<MyLock> {
//!     Registered::new("my-lock", "SET NX PX, and DEL", Setup::default)
//! }
//!
//! #[test]
//! fn nobody_enters_while_another_holds_whatever_the_network_does() {
//!     let faults = [FaultKind::Loss, FaultKind::Delay, FaultKind::Partition].into();
//!     assert_keeps(&my_lock(), Promise::MutualExclusion, &Runs { faults, ..Runs::default() });
//! }
//!
//! #[test]
//! fn nor_on_any_schedule_of_two_clients() {
//!     assert_verified(&my_lock(), Promise::MutualExclusion, &World::default());
//! }
//! ```
//!
//! A failure is shown made small: what broke, the last steps, the token of the run, and a page to step through. The token is
//! kept in a file beside `Cargo.toml` ([`Runs::regressions`]) and is run first from then on, by everybody who has the file, in tests
//! of the same lock and promise that ask for its faults. The token of a schedule, as `picklock check` prints it, can be put there by hand: it
//! is run by [`assert_verified`] of the same world. What a test leaves out it names. Two setups of a lock that are tested apart bear two names.
//! A pass that nothing put to the test is a failure, too: it would mean nothing.
//!
//! `PICKLOCK_REPLAY=TOKEN cargo test NAME` shows the run of a token again, all its steps, in a test of its lock and promise: the
//! command replays the locks that it knows, and knows a lock of one's own only if it was built over it.

mod again;
mod regressions;
mod seeds;

pub use seeds::seeds;

use crate::plans::fault::FaultSet;
use crate::registry::{
    AnyLock, Audit, CheckOptions, CheckVerdict, Reduced, Replay, ShrinkHow, Surroundings, SweepHow, goals,
};
use crate::report::TextOptions;
use crate::sweep::SweepReport;
use crate::token::Token;
use picklock_model::claims::{Assumption, Judgement, NamedSpace};
use picklock_model::explore::{Draws, Exploration, Limits};
use picklock_properties::Promise;
use regressions::Regressions;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Which random runs a lock is put through.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Runs {
    /// What may go wrong; each run has a few of these, of its own strength, at moments of its own. None unless given.
    pub faults: FaultSet,
    /// How many runs, at least 1: the seeds from 0 on. `PICKLOCK_SEEDS=N` asks for another number, `PICKLOCK_SEED=n` for
    /// that seed alone.
    pub seeds: u64,
    /// The file of the runs that once failed: `picklock-regressions.txt` beside `Cargo.toml` unless given; `None`: there is none.
    pub regressions: Option<PathBuf>,
    /// The folder for the pages of what fails: `target/picklock` beside `Cargo.toml` unless given; `None`: nothing is drawn.
    pub pages: Option<PathBuf>,
}

impl Default for Runs {
    fn default() -> Self {
        let beside = package();
        Runs {
            faults: FaultSet::EMPTY,
            seeds: 1_000,
            regressions: Some(beside.join("picklock-regressions.txt")),
            pages: Some(beside.join("target").join("picklock")),
        }
    }
}

/// Which small world is gone through, on every schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct World {
    /// How many clients, 1 to 8.
    pub clients: u8,
    /// How many servers, 1 to 5; `None`: as many as the lock is registered with.
    pub servers: Option<u8>,
    /// How often each client asks for the lock. Nobody is overtaken more often than the others ask: whether somebody starves in endless use
    /// is judged with 255, which stands for no end.
    pub rounds: u8,
    /// They call `try_lock`, not `lock`.
    pub try_lock: bool,
    /// What is not assumed: a pause, a lost message, … may happen, once or a few times.
    pub drop: Vec<Assumption>,
    /// The search gives up after so many states, which is a failure.
    pub states_max: u64,
    /// As [`Runs::regressions`]: the schedules of this world that are in there come before the search. None is added, as the search
    /// finds them again.
    pub regressions: Option<PathBuf>,
    /// As [`Runs::pages`].
    pub pages: Option<PathBuf>,
}

impl Default for World {
    fn default() -> Self {
        World {
            clients: 2,
            servers: None,
            rounds: 2,
            try_lock: false,
            drop: Vec::new(),
            states_max: 10_000_000,
            regressions: Runs::default().regressions,
            pages: Runs::default().pages,
        }
    }
}

/// Where the package that is tested lies: cargo says so to the tests that it runs.
fn package() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from)
}

/// Fails unless the lock keeps the promise in all these runs, and in those that once failed.
///
/// # Panics
///
/// If a run breaks the promise, if no run could have broken it, if some did not come to an end, or if the file of regressions or
/// the environment cannot be read.
#[track_caller]
pub fn assert_keeps(lock: &dyn AnyLock, promise: Promise, runs: &Runs) -> SweepReport {
    match keeps(lock, promise, runs) {
        Ok(report) => report,
        Err(why) => panic!("{why}"),
    }
}

/// The same, for whoever wants to know and not to fail.
///
/// # Errors
///
/// What [`assert_keeps`] panics with.
pub fn keeps(lock: &dyn AnyLock, promise: Promise, runs: &Runs) -> Result<SweepReport, String> {
    let name = lock.name();
    let under = if runs.faults.is_empty() { "no faults".to_owned() } else { runs.faults.to_string() };
    let pages = runs.pages.as_deref().map(|folder| Pages { folder, of: format!("under {under}") });
    shows_what_is_asked_for(lock, promise, pages.as_ref())?;
    let kept = runs.regressions.as_deref().map(Regressions::read).transpose()?;
    let (mut others, mut schedules) = (FaultSet::EMPTY, 0);
    let file = shown(runs.regressions.as_deref());
    for kept in kept.iter().flat_map(|kept| kept.of(name, promise)) {
        match kept.faults() {
            None => schedules += 1,
            Some(faults) if !kept.is_of(runs.faults) => {
                others = faults.iter().chain(others.iter()).collect();
            }
            Some(_) => still_keeps(lock, promise, &kept.token, &file, pages.as_ref())?,
        }
    }
    if !others.is_empty() {
        eprintln!(
            "{name}, {promise}: runs in {file} with {others} are left out here, where {under} may happen"
        );
    }
    if schedules > 0 {
        eprintln!(
            "{name}, {promise}: {} in {file} left out here, where runs are random: tests of that world \
             (assert_verified) run what was found on every schedule of it",
            if schedules == 1 { "one schedule is".to_owned() } else { format!("{schedules} schedules are") }
        );
    }

    let (seeds, stop) = (seeds(runs.seeds)?, AtomicBool::new(false));
    let setup = lock.setup(Some([promise].into_iter().collect()));
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let how = SweepHow { jobs, sought: Some(promise), ..SweepHow::new(&|_| {}, &stop) };
    let swept = lock.sweep(&setup, runs.faults, seeds.clone(), &how);
    let report = swept.map_err(|error| format!("{name} cannot be run: {error}"))?;

    if let Some(seed) = report.first_seed(promise) {
        let plans = lock.plans(&setup, runs.faults, how.strategy, &[seed]);
        let broken =
            |error| format!("{name} breaks {promise} with seed {seed}, which cannot be shown: {error}");
        let plan = plans.map_err(broken)?.pop().unwrap_or_default();
        let run = crate::sweep::PlannedRun { plan, seed };
        let found = lock.token(&setup, &run, Some(promise)).map_err(broken)?;
        let token = smallest(lock, found, promise);
        let replay = replayed(lock, &token, Some(STEPS))?;
        let mut head = format!("{name} breaks {promise} under {under}, with seed {seed}");
        if let Some(path) = &runs.regressions {
            match Regressions::add(path, &token, promise, runs.faults) {
                Ok(()) => write!(head, "; it is kept in {}, and run first from now on", shown(Some(path))),
                Err(why) => write!(head, "; it could not be kept: {why}"),
            }
            .unwrap_or_else(|_| unreachable!("a string takes all that is written"));
        }
        return Err(failure(&head, lock, &token, &replay, pages.as_ref()));
    }
    if report.truncated > 0 {
        let runs = match report.truncated {
            1 => "one run".to_owned(),
            runs => format!("{runs} runs"),
        };
        return Err(format!("{name} under {under}: {runs} did not come to an end, which is no pass"));
    }
    if report.tested.times(promise) == 0 {
        let runs = match report.runs {
            1 => "one run".to_owned(),
            runs => format!("{runs} runs"),
        };
        return Err(format!(
            "{name} under {under}: nothing in {runs} put {promise} to the test, which is no pass"
        ));
    }
    Ok(report)
}

/// Fails unless the lock keeps the promise on every schedule of this world.
///
/// # Panics
///
/// If a schedule breaks the promise, if nothing could have broken it, if the search did not end, if what is dropped was never
/// assumed, or if nothing happened of what it rules out.
#[track_caller]
pub fn assert_verified(lock: &dyn AnyLock, promise: Promise, world: &World) -> Exploration {
    match verified(lock, promise, world) {
        Ok(exploration) => exploration,
        Err(why) => panic!("{why}"),
    }
}

/// The same, for whoever wants to know and not to fail.
///
/// # Errors
///
/// What [`assert_verified`] panics with.
pub fn verified(lock: &dyn AnyLock, promise: Promise, world: &World) -> Result<Exploration, String> {
    let name = lock.name();
    if world.rounds == 0 || world.rounds > lock.rounds_max() {
        return Err(format!("{name}: it takes 1 to {} rounds, not {}", lock.rounds_max(), world.rounds));
    }
    let options = |drop: &[Assumption]| CheckOptions {
        clients: world.clients,
        servers: world.servers.unwrap_or_else(|| lock.usual_servers()),
        rounds: world.rounds,
        try_lock: world.try_lock,
        drop: drop.to_vec(),
        promises: [promise].into_iter().collect(),
    };
    let space = lock.space(&options(&world.drop));
    for (nth, dropped) in world.drop.iter().enumerate() {
        let mut others = world.drop.clone();
        others.remove(nth);
        if lock.space(&options(&others)) == space {
            return Err(format!("{name}: to drop {dropped} changes nothing here, and would prove nothing"));
        }
    }
    let surroundings = lock.surroundings(&space).map_err(|error| error.to_string())?;
    if let Some(unseen) = surroundings.unseen.first() {
        return Err(format!(
            "{name}: it sets store.{unseen}, whose effect no search sees, so that {promise} would hold whatever it does; assert_keeps sees it"
        ));
    }
    if promise.is_liveness() && space.bounds.link_messages_max != 0 {
        return Err(format!("{name}: {promise} is judged with one server, whose links are unbounded"));
    }
    let dropped: Vec<&str> = world.drop.iter().map(|assumption| assumption.name()).collect();
    let without = if dropped.is_empty() { String::new() } else { format!(" without {}", dropped.join(", ")) };
    let pages =
        world.pages.as_deref().map(|folder| Pages { folder, of: format!("on every schedule{without}") });
    shows_what_is_asked_for(lock, promise, pages.as_ref())?;
    if let Some(path) = &world.regressions {
        keeps_its_schedules(lock, promise, &space, path, pages.as_ref())?;
    }
    let audit = lock.audit(&space).map_err(|error| error.to_string())?;
    if let Some(Audit { what, steps, token }) = audit {
        return Err(format!(
            "{name}: after {steps} steps the search sees something else than what happens, {what} differs; its visit leaves out a time or \
             a number that it keeps: {}",
            token.encode()
        ));
    }
    let judgement = match promise.is_liveness() {
        false => Judgement::Safety,
        true => {
            let mut goals =
                goals(world.clients, 1, options(&[]).somebody_is_owed(), [promise].into_iter().collect());
            goals.retain(|goal| goal.promise() == promise);
            Judgement::Progress { goals, draws: Draws::Dice }
        }
    };
    let checked = lock.check(&space, &judgement, &Limits::states(world.states_max));
    let checked = checked.map_err(|error| format!("{name} cannot be checked: {error}"))?.without(&world.drop);
    let states = checked.exploration.states;
    match (checked.verdict, checked.counterexample) {
        (CheckVerdict::Holds, _) => Ok(checked.exploration),
        (CheckVerdict::Violated, Some(found)) => {
            let replay = replayed(lock, &found.token, Some(STEPS))?;
            let head = format!("{name} breaks {promise}{without}, in {} steps", found.steps);
            Err(failure(&head, lock, &found.token, &replay, pages.as_ref()))
        }
        (CheckVerdict::Violated, None) => Err(format!("{name} breaks {promise}{without}")),
        (CheckVerdict::Incomplete, _) => Err(format!(
            "{name}{without}: {states} states were seen and {promise} was not broken, but there are more, which is no pass"
        )),
        (CheckVerdict::Vacuous, _) if checked.nothing_expired => Err(format!(
            "{name}{without}: the lock has a lease, and no time passes in {states} states, so that it never ended, which is no pass"
        )),
        (CheckVerdict::Vacuous, _) if !checked.unmet.is_empty() => Err(format!(
            "{name}{without}: {promise} was kept in {states} states, and what was dropped was not put to the test, which is no pass: {}",
            checked.unmet.iter().map(|unmet| unmet.in_words()).collect::<Vec<_>>().join("; ")
        )),
        (CheckVerdict::Vacuous, _) => Err(format!(
            "{name}{without}: nothing in {states} states put {promise} to the test, which is no pass"
        )),
    }
}

/// Runs what is kept of this world's schedules, and says what is left out as one of another world.
fn keeps_its_schedules(
    lock: &dyn AnyLock,
    promise: Promise,
    space: &NamedSpace,
    path: &Path,
    pages: Option<&Pages>,
) -> Result<(), String> {
    let (name, file) = (lock.name(), shown(Some(path)));
    for kept in Regressions::read(path)?.of(name, promise) {
        let of = lock.space_of_path(&kept.token);
        let unreadable = |error| format!("{name}: {} in {file} cannot be run: {error}", kept.token.encode());
        match of.map_err(unreadable)? {
            // A random run, of other tests.
            None => {}
            Some(of) if of == *space => still_keeps(lock, promise, &kept.token, &file, pages)?,
            Some(of) => {
                let (there, here) = (in_words(lock, &of)?, in_words(lock, space)?);
                eprintln!(
                    "{name}, {promise}: a schedule in {file} is left out here: it is one of {there}; this is {here}"
                );
            }
        }
    }
    Ok(())
}

/// A world, as far as tests tell theirs apart.
fn in_words(lock: &dyn AnyLock, space: &NamedSpace) -> Result<String, String> {
    let surroundings = lock.surroundings(space).map_err(|error| error.to_string())?;
    let Surroundings { used, time, .. } = &surroundings;
    let (set, not_assumed) = (surroundings.settings_in_words(), surroundings.not_in_force_in_words());
    let set = if set.is_empty() { set } else { format!(", with {set}") };
    Ok(format!("{used}, {time}{set}, not assumed: {not_assumed}"))
}

/// Fails if a run that is kept breaks the promise again.
fn still_keeps(
    lock: &dyn AnyLock,
    promise: Promise,
    token: &Token,
    file: &str,
    pages: Option<&Pages>,
) -> Result<(), String> {
    let name = lock.name();
    let replay = replayed(lock, token, Some(STEPS))?;
    if let Some(what) = &replay.panicked {
        return Err(format!("{name} panicked in a run of {file}: {what}"));
    }
    if replay.breaks(Some(promise)) {
        let head = format!("{name} breaks {promise} again, as in {file}");
        return Err(failure(&head, lock, token, &replay, pages));
    }
    Ok(())
}

/// The run made small, where that succeeds.
fn smallest(lock: &dyn AnyLock, token: Token, promise: Promise) -> Token {
    let stop = AtomicBool::new(false);
    let how = ShrinkHow { promise: Some(promise), ..ShrinkHow::new(&stop, &|_| {}) };
    match lock.shrink(&token, &how) {
        Ok(Reduced::Shrunk { token, .. }) => token,
        Ok(Reduced::NothingBroken | Reduced::Shortest { .. }) | Err(_) => token,
    }
}

/// The run that the environment asks for, with all its steps: it fails this test if it breaks the promise still.
fn shows_what_is_asked_for(
    lock: &dyn AnyLock,
    promise: Promise,
    pages: Option<&Pages>,
) -> Result<(), String> {
    let name = lock.name();
    let Some(token) = again::asked_for(name, promise)? else { return Ok(()) };
    let replay = replayed(lock, &token, None)?;
    if replay.breaks(Some(promise)) {
        let head = format!("{name} breaks {promise} in the run that was asked for");
        return Err(failure(&head, lock, &token, &replay, pages));
    }
    eprintln!("{}\n{name} keeps {promise} in the run that was asked for", replay.text.trim_end());
    Ok(())
}

/// The run of a token; its text has so many last steps, or all.
fn replayed(lock: &dyn AnyLock, token: &Token, last: Option<usize>) -> Result<Replay, String> {
    let names_command = again::call(lock, token).is_none();
    let options = TextOptions { last, width: 110, names_command, ..TextOptions::default() };
    let replay = lock.replay(token, &options);
    replay.map_err(|error| format!("{}: {} cannot be run: {error}", lock.name(), token.encode()))
}

/// How many of a failing run's last steps a test shows.
const STEPS: usize = 16;

fn shown(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| path.display().to_string())
}

/// What a failed test says.
fn failure(head: &str, lock: &dyn AnyLock, token: &Token, replay: &Replay, pages: Option<&Pages>) -> String {
    let mut text = format!("{head}\n");
    for broken in replay.in_words() {
        text += &format!("  {}: {}\n", broken.property, broken.words);
    }
    text += &format!("\n{}\n", replay.text.trim_end());
    if let Some(plan) = &replay.plan {
        text += "\nwhat went wrong\n";
        plan.lines().for_each(|line| text += &format!("  {line}\n"));
    }
    text += &format!("\ntoken   {}\n", token.encode());
    let again = again::call(lock, token);
    if let Some(call) = &again {
        text += &format!("again   {call}\n");
    }
    if let Some(pages) = pages {
        match pages.write(token, replay, again.as_deref().unwrap_or_default()) {
            Ok(Some(path)) => text += &format!("page    {}\n", path.display()),
            Ok(None) => {}
            Err(error) => {
                text += &format!("page    could not be written to {}: {error}\n", pages.folder.display());
            }
        }
    }
    text
}

/// Where pages of a test go.
struct Pages<'a> {
    folder: &'a Path,
    /// What tells its runs from those of other tests of the same lock and promise: `under pause`.
    of: String,
}

impl Pages<'_> {
    /// A page of this run, in a file that no other test writes; `again` is what shows the run again, if that is not the command.
    #[cfg(feature = "report")]
    fn write(&self, token: &Token, replay: &Replay, again: &str) -> std::io::Result<Option<PathBuf>> {
        use crate::report::{Story, Window, page};
        let path = self.folder.join(self.file_name(token, replay, again::test().as_deref()));
        let shown =
            replay.told(token, &replay.in_words(), |story| page(Story { again, ..story }, Window::Last(200)));
        std::fs::create_dir_all(self.folder)?;
        std::fs::write(&path, shown)?;
        Ok(Some(path))
    }

    #[cfg(not(feature = "report"))]
    fn write(&self, _token: &Token, _replay: &Replay, _again: &str) -> std::io::Result<Option<PathBuf>> {
        Ok(None)
    }

    /// By the lock, the promise, what may happen, and the test.
    #[cfg(feature = "report")]
    fn file_name(&self, token: &Token, replay: &Replay, test: Option<&str>) -> String {
        // No file system takes longer names than of 255 bytes.
        const LENGTH_MAX: usize = 200;
        let promise = token.promise.or(replay.shown_for).map_or("run", Promise::name);
        let parts = [token.lock.as_str(), promise, &self.of, test.unwrap_or_default()];
        let words = parts.join(" ");
        let is_kept = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let words: Vec<&str> =
            words.split(|letter: char| !is_kept(letter)).filter(|word| !word.is_empty()).collect();
        let mut name = words.join("-");
        name.truncate(LENGTH_MAX);
        name + ".html"
    }
}
