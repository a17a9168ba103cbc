//! `picklock theorems`: each theorem with all its assumptions, and with each one dropped.

mod leaning;

use super::check::{never, why_incomplete};
use super::ci::{Case, Ci, Outcome};
use super::jobs::Jobs;
use super::memory::{self, MaxMemory};
use super::names::program;
use super::progress::{Progress, Stopwatch};
use super::screen::{Paint, Rows, Screen, Tone, counted, grouped, indented, rule, sentence, wrapped};
use super::{BadCall, Ending, STATES_MAX, interrupt, last, names, next};
use crate::registry::{CheckVerdict, Checked, Locks, Surroundings};
use clap::Args;
use leaning::leaning;
use picklock_model::claims::{Claim, Expected, Fall, THEOREMS, Unmet, claims, known_falls};
use picklock_model::explore::{Coverage, Limits, Seen};
use picklock_model::world::Fault;
use picklock_properties::Promise;
use serde::Serialize;
use std::fmt::Write;

/// Checks each theorem with all its assumptions, and with each one dropped
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Theorems {
    /// Only these: lemma-1, theorem-1 to theorem-3, progress, old-lock, old-lock-progress; redlock, min-validity, liveness-a,
    /// liveness-b, readers-writer, semaphore; zookeeper, zookeeper-fifo, zookeeper-progress, inside; etcd, etcd-fifo,
    /// etcd-progress, etcd-fencing; election, election-fifo, election-progress, election-fencing; lease-key, lease-key-progress,
    /// lease-key-fencing; chubby, chubby-fencing, chubby-progress, consul, consul-fencing; variable, transfer, queue, exactly-once;
    /// lock-manager, lock-manager-progress, cache; or those about a lock, by its name. All unless given
    names: Vec<String>,
    /// Leaves out every claim that takes longer than a few seconds by itself, and says which; the document is not complete then
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    memory: MaxMemory,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    ci: Ci,
}

const EXAMPLES: &str = "\
Examples:
  picklock theorems
  picklock theorems theorem-3 --quick
  picklock theorems lemma-1 --junit junit.xml --github

Behind a theorem's name stands its variant: \"in turn\" asks one server after the other, \"at once\" all of them together. Below a \
verdict stands the world it is about; \"not assumed\" are assumptions (picklock assumptions) that are not made in it, dropped or not.

A claim that kept its promise where nothing happened of what the dropped assumption rules out is \"vacuous\", too: it does not show \
that the theorem does without. Those that are known to be are claimed to be.

Exits 5 if a verdict differs from the expected one, 3 if none was reached, 4 if nothing could have broken a theorem \
(\"vacuous\": what would put it to the test never happened) of which that is not known.";

/// The claims that were checked, and those that --quick left out.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    rows: Rows<'a, Row>,
    left_out: Vec<String>,
}

/// A claim that was checked.
#[derive(Serialize)]
struct Row {
    theorem: &'static str,
    lock: &'static str,
    clients: u8,
    servers: u8,
    variant: &'static str,
    dropped: Option<String>,
    #[serde(flatten)]
    surroundings: Surroundings,
    verdict: CheckVerdict,
    untested: Vec<Promise>,
    never_struck: Vec<Fault>,
    nothing_expired: bool,
    /// Why it is no evidence that what was dropped is not needed.
    unmet: Vec<Unmet>,
    /// Whether it is vacuous for no other reason.
    #[serde(skip)]
    is_merely_unmet: bool,
    expected: Expected,
    reason: &'static str,
    why_incomplete: Option<&'static str>,
    states: u64,
    /// Of these, how many were kept; one stands for all that differ only in which client is which.
    kept: u64,
    transitions: u64,
    depth: u32,
    steps: Option<usize>,
    token: Option<String>,
    coverage: Coverage,
    /// By what it is known to fall, a step beyond its bounds.
    falls: Vec<Fall>,
    seconds: f64,
}

impl Theorems {
    /// Checks all claims.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        let all = self.chosen(locks)?;
        let pool = self.jobs.pool()?;
        self.ci.check()?;
        let (long, chosen): (Vec<Claim>, Vec<Claim>) =
            all.into_iter().partition(|claim| self.quick && claim.long);
        let paint = screen.paint();
        let longest = chosen.iter().filter_map(Claim::dropped_names).map(|names| names.len()).max();
        let lay = if Screen::fits(COLUMNS + longest.unwrap_or(0)) { Lay::Beside } else { Lay::Below };
        screen.text(&header(lay, paint));

        let watch = self.memory.watch();
        let progress = Progress::states();
        let on_progress = |seen: &Seen| {
            progress.search(seen);
            watch.look();
        };
        let mut rows: Vec<Row> = Vec::new();
        for (number, claim) in chosen.iter().enumerate() {
            if interrupt::happened() || screen.is_closed() {
                break;
            }
            watch.begin_anew();
            progress.begin_of(number, chosen.len(), &name(claim));
            let lock = names::lock(locks, claim.space.lock)?;
            let limits = Limits { states_max: STATES_MAX, stop: watch.stop(), on_progress: &on_progress };
            let stopwatch = Stopwatch::start();
            let checked = pool.install(|| lock.check(&claim.space, &claim.judgement, &limits))?;
            let checked = checked.without(&claim.dropped);
            let mut row = Row::new(
                claim,
                lock.surroundings(&claim.space)?.without(&claim.dropped),
                &checked,
                stopwatch.seconds(),
            );
            if row.why_incomplete.is_some() && watch.is_too_much() {
                row.why_incomplete = Some(memory::REACHED);
            }
            let nth = rows.iter().filter(|row| row.token.is_some()).count() + 1;
            let is_other = |before: &Row| (before.theorem, before.variant) != (row.theorem, row.variant);
            let title = if rows.last().is_none_or(is_other) { title(&row, paint) } else { String::new() };
            progress.aside(|| screen.text(&(title + &line(&row, nth, lay, paint))));
            rows.push(row);
        }
        drop(progress);

        if !interrupt::happened() {
            screen.text(&format!("\n{}", leaning(&rows, paint)));
        }
        screen.text(&self.remarks(&rows, chosen.len(), &long, paint));
        last::keep(rows.iter().filter_map(|row| row.token.as_deref()));
        let is_cut_short = rows.len() < chosen.len();
        let left_out: Vec<String> = long.iter().map(name).collect();
        screen.document(&Document { rows: Rows::new(&rows, !is_cut_short && long.is_empty()), left_out });
        let missing = Ending::Incomplete.or_fine(is_cut_short);
        let ending = rows.iter().map(Row::ending).fold(missing, Ending::max);
        self.ci.report("theorems", rows.iter().map(Row::case).collect(), ending, screen)?;
        Ok(ending)
    }

    fn chosen(&self, locks: &Locks) -> Result<Vec<Claim>, BadCall> {
        let all = claims();
        let (mut theorems, mut chosen) = (Vec::new(), Vec::new());
        for name in &self.names {
            let found = names::find("theorem", name, THEOREMS.to_vec(), |theorem| theorem.name.to_owned());
            let known = all.iter().map(|claim| claim.space.lock).find(|lock| lock.eq_ignore_ascii_case(name));
            // Some theorems and locks have one name: it is the theorem's.
            match (found, known) {
                (Ok(theorem), _) => theorems.push(theorem.name),
                (Err(_), Some(lock)) => chosen.push(lock),
                (Err(unknown), None) => {
                    return Err(match names::lock(locks, name) {
                        Ok(lock) => BadCall(format!(
                            "no theorem is about {name}; {} check {name} searches a small world of it",
                            names::program(),
                            name = lock.name()
                        )),
                        Err(_) => unknown,
                    });
                }
            }
        }
        let is_chosen = |claim: &Claim| {
            self.names.is_empty() || theorems.contains(&claim.theorem) || chosen.contains(&claim.space.lock)
        };
        Ok(all.into_iter().filter(is_chosen).collect())
    }

    fn remarks(&self, rows: &[Row], chosen: usize, left_out: &[Claim], paint: Paint) -> String {
        let mut text = String::new();
        if rows.len() < chosen {
            let note = format!("stopped after {} of {chosen} claims: the rest is NOT a pass", rows.len());
            text += &format!("\n{}", paint.text(Tone::Unclear, &sentence(&note)));
        }
        if !left_out.is_empty() {
            let _ = writeln!(text, "\n--quick left out what takes longer:");
            left_out.iter().for_each(|claim| text += &indented(&name(claim), "  "));
        }
        let of = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        let (hold, violated) = (of(CheckVerdict::Holds), of(CheckVerdict::Violated));
        let mut note =
            format!("{}: {hold} hold, {violated} are violated", counted(rows.len() as u64, "claim"));
        let untested = rows.iter().filter(|row| row.is_known_to_be_untested()).count();
        if untested > 0 {
            note += &format!(", {untested} are not put to the test");
        }
        match rows.len() - hold - violated - untested {
            0 => {}
            others => note += &format!(", {others} are undecided"),
        }
        let differ = rows.iter().filter(|row| row.differs()).count();
        let (tone, and) = match differ {
            0 => (Tone::Plain, "none otherwise than claimed".to_owned()),
            1 => (Tone::Bad, "1 of them otherwise than claimed".to_owned()),
            _ => (Tone::Bad, format!("{differ} of them otherwise than claimed")),
        };
        let _ = write!(text, "\n{}", paint.text(tone, &sentence(&format!("{note}; {and}"))));
        if let Some(token) = rows.iter().find_map(|row| row.token.as_deref()) {
            let name = if Screen::is_terminal() { "@last" } else { token };
            let _ = write!(text, "\nthe first counterexample:\n{}", next::of_path(name));
        }
        text
    }
}

fn name(claim: &Claim) -> String {
    let dropped = claim.dropped_names().map_or_else(String::new, |names| format!(", without {names}"));
    let variant = if claim.variant.is_empty() { String::new() } else { format!(" ({})", claim.variant) };
    let threads = counted(claim.clients.into(), "thread");
    let replicas = counted(claim.servers.into(), "replica");
    format!("{}{variant}, {threads}, {replicas}{dropped}", claim.theorem)
}

impl Row {
    fn new(claim: &Claim, surroundings: Surroundings, checked: &Checked, seconds: f64) -> Row {
        let exploration = &checked.exploration;
        let counterexample = checked.counterexample.as_ref();
        Row {
            theorem: claim.theorem,
            lock: claim.space.lock,
            clients: claim.clients,
            servers: claim.servers,
            variant: claim.variant,
            dropped: claim.dropped_names(),
            surroundings,
            verdict: checked.verdict,
            untested: checked.untested.iter().collect(),
            never_struck: checked.never_struck.clone(),
            nothing_expired: checked.nothing_expired,
            unmet: checked.unmet.clone(),
            is_merely_unmet: checked.is_merely_unmet(),
            expected: claim.expected,
            reason: claim.reason,
            why_incomplete: why_incomplete(checked),
            states: exploration.states,
            kept: exploration.kept,
            transitions: exploration.transitions,
            depth: exploration.depth,
            steps: counterexample.map(|counterexample| counterexample.steps),
            token: counterexample.map(|counterexample| counterexample.token.encode()),
            coverage: exploration.coverage,
            falls: known_falls(claim.theorem, claim.variant, claim.dropped_names().as_deref())
                .copied()
                .collect(),
            seconds,
        }
    }

    /// What never happened, in one line.
    fn never(&self) -> String {
        let lines = never(&self.untested, &self.never_struck, self.nothing_expired, &self.unmet);
        lines.iter().map(|line| line.trim_start()).collect::<Vec<_>>().join("; ")
    }

    /// Whether it is no evidence, as it is said to be.
    fn is_known_to_be_untested(&self) -> bool {
        self.is_merely_unmet && self.expected == Expected::Untested
    }

    /// Whether the verdict is the opposite of the claim.
    fn differs(&self) -> bool {
        self.verdict.contradicts(self.expected)
    }

    fn ending(&self) -> Ending {
        let ending = Ending::of_claim(self.verdict, self.expected);
        // It is said to be no evidence, and is none for that reason alone.
        if self.is_known_to_be_untested() { Ending::Fine } else { ending }
    }

    /// As a build server shows it.
    fn case(&self) -> Case {
        let verdict = self.verdict.name();
        let outcome = match (self.ending(), self.why_incomplete) {
            (Ending::Fine, _) if self.verdict == CheckVerdict::Vacuous => Outcome::Skipped(self.never()),
            (Ending::Fine, _) => Outcome::Passed,
            (Ending::Incomplete, why) => Outcome::Unclear(why.unwrap_or("incomplete").to_owned()),
            (Ending::Vacuous, _) => Outcome::Unclear(self.never()),
            (Ending::Unexpected | Ending::Broken, _) => {
                Outcome::Failed(format!("{verdict}, which was not expected: {}", self.reason))
            }
        };
        let variant = if self.variant.is_empty() { String::new() } else { format!("{}, ", self.variant) };
        let clients = counted(self.clients.into(), "client");
        let servers = counted(self.servers.into(), "server");
        let dropped =
            self.dropped.as_ref().map_or_else(String::new, |dropped| format!(", without {dropped}"));
        Case {
            group: self.theorem.to_owned(),
            name: format!("{variant}{clients}, {servers}{dropped}"),
            outcome,
            said: format!("{verdict}, {}", counted(self.states, "state")),
            token: self.token.clone(),
            seconds: Some(self.seconds),
        }
    }

    /// What the space was: without it no verdict means anything.
    fn space(&self) -> String {
        let Surroundings { used, time, settings_told, .. } = &self.surroundings;
        let set = match settings_told.is_empty() {
            true => String::new(),
            false => format!("set: {}; ", self.surroundings.settings_in_words()),
        };
        format!(
            "{used}; {set}{time}; allowed: {}; not assumed: {}",
            self.surroundings.allowed_in_words(),
            self.surroundings.not_in_force_in_words()
        )
    }
}

/// Where a row says what was dropped: in the last column, or in a line of its own, where that column has no room.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lay {
    Beside,
    Below,
}

/// How many columns a row has before the last one.
const COLUMNS: usize = 50;

/// The head of the table.
fn header(lay: Lay, paint: Paint) -> String {
    let titles =
        format!("  {:10}  {:>11}  {:>5}  {:>5}  {:>7}", "verdict", "states", "depth", "steps", "seconds");
    let without = if lay == Lay::Beside { "  without" } else { "" };
    format!("{}\n{}", paint.text(Tone::Strong, &(titles + without)), rule(78))
}

/// What is claimed, above its first row.
fn title(row: &Row, paint: Paint) -> String {
    let variant = if row.variant.is_empty() { String::new() } else { format!(": {}", row.variant) };
    paint.text(Tone::Strong, &sentence(&format!("{}{variant}", row.theorem)))
}

/// A verdict, in a world that is told below it; `nth` of the tokens that are kept is its own.
fn line(row: &Row, nth: usize, lay: Lay, paint: Paint) -> String {
    let (tone, mark) = match row.verdict {
        CheckVerdict::Holds => (Tone::Good, "✓"),
        CheckVerdict::Violated => (Tone::Bad, "✗"),
        CheckVerdict::Incomplete => (Tone::Unclear, "?"),
        CheckVerdict::Vacuous => (Tone::Unclear, "–"),
    };
    let verdict = format!("{mark} {:8}", row.verdict.name());
    let dropped = row.dropped.as_deref();
    let (beside, below) = match (lay, dropped) {
        (Lay::Beside, dropped) => (format!("  {}", dropped.unwrap_or("-")), String::new()),
        (Lay::Below, Some(dropped)) => (String::new(), indented(&format!("without {dropped}"), "    ")),
        (Lay::Below, None) => (String::new(), String::new()),
    };
    let mut text = format!(
        "  {}  {:>11}  {:>5}  {:>5}  {:>7.1}{beside}\n{below}",
        paint.text(tone, &verdict),
        grouped(row.states),
        row.depth,
        row.steps.map_or_else(|| "-".to_owned(), |steps| steps.to_string()),
        row.seconds,
    );
    text += &paint.text(Tone::Faint, &wrapped(&row.space(), Screen::text_width(), "    "));
    for fall in row.falls.iter().filter(|_| row.verdict == CheckVerdict::Holds || row.is_merely_unmet) {
        text += &paint.text(Tone::Unclear, &wrapped(&fall.in_words(), Screen::text_width(), "    "));
    }
    if row.verdict == CheckVerdict::Vacuous {
        let never = format!("{}: this is NOT a pass", row.never());
        text += &paint.text(Tone::Unclear, &indented(&never, "      "));
    }
    if let Some(why) = row.why_incomplete {
        text += &paint.text(Tone::Unclear, &indented(&format!("? {why}: this is NOT a pass"), "    "));
    }
    if row.differs() {
        let expected = match row.expected {
            Expected::Holds => "to hold",
            Expected::Violated => "to be violated",
            Expected::Untested => "not to be put to the test",
        };
        let note = wrapped(&format!("! expected {expected}: {}", row.reason), Screen::text_width(), "    ");
        text += &paint.text(Tone::Bad, &note);
    }
    if let Some(token) = &row.token {
        let name =
            if Screen::is_terminal() { format!("{} replay @last:{nth}", program()) } else { token.clone() };
        let _ = writeln!(text, "{}", paint.text(Tone::Faint, &format!("    {name}")));
    }
    text
}
