//! How far it is, on stderr, if that is a terminal.

use super::screen::grouped;
use comfy_table::Table;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use picklock_model::explore::Seen;
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Columns on which a bar has room beside everything else.
const WIDE: usize = 100;
/// What takes no more than so many columns: a short bar, the count of a million runs, and how long they take.
const MIDDLING: usize = 60;
/// The same of the count alone.
const NARROW: usize = 30;
/// The same of the time and the spinner.
const SPINNER: usize = 7;
/// Columns of a terminal that does not say how many it has.
const COLUMNS_UNTOLD: usize = 80;

/// The line that it is drawn on.
struct Line {
    columns: usize,
    /// Whether the terminal says how wide it is: then what is drawn follows it, however that changes.
    is_told: bool,
}

impl Line {
    fn of_stderr() -> Line {
        let told = Table::new().use_stderr().width().filter(|width| *width > 0).map(usize::from);
        let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
        Line { columns: told.or_else(variable).unwrap_or(COLUMNS_UNTOLD), is_told: told.is_some() }
    }

    /// What is being done, cut to the columns that are left.
    fn message(&self, taken: usize) -> String {
        match self.is_told {
            true => "{wide_msg}".to_owned(),
            false => format!("{{msg:{}!}}", self.columns.saturating_sub(taken)),
        }
    }
}

/// A bar or a spinner, or nothing where nobody watches.
pub struct Progress {
    bar: ProgressBar,
    /// What is being done; `None` where a count stands beside it anyway.
    name: Mutex<Option<String>>,
    /// Transitions of the search that was seen last, and since when it was.
    search: Mutex<Option<(u64, Stopwatch)>>,
}

impl Progress {
    /// A bar for so many runs that take about as long each.
    pub fn runs(total: u64) -> Progress {
        Progress::counted(total, ", {eta} to go")
    }

    /// A bar for so many runs of several things, of which one takes many times as long as another. Those that are over do not
    /// tell how long the rest takes, so that nothing is said of it.
    pub fn uneven_runs(total: u64) -> Progress {
        Progress::counted(total, "")
    }

    /// `left` is what it says of the time that is left.
    fn counted(total: u64, left: &str) -> Progress {
        Progress::new(Some(total), |line| match line.columns {
            WIDE.. => format!("{{elapsed:>4}} [{{wide_bar}}] {{count}} of {{total}} runs{left} {{msg}}"),
            MIDDLING.. => {
                let said = line.message(MIDDLING);
                format!("{{elapsed:>4}} [{{bar:10}}] {{count}} of {{total}} runs{left} {said}")
            }
            _ => format!("{{elapsed:>4}} {{count}} of {{total}} {}", line.message(NARROW)),
        })
    }

    /// A spinner for a search whose size nobody knows.
    pub fn states() -> Progress {
        let progress =
            Progress::new(None, |line| format!("{{elapsed:>4}} {{spinner}} {}", line.message(SPINNER)));
        *progress.name() = Some(String::new());
        progress.bar.enable_steady_tick(Duration::from_millis(100));
        progress
    }

    /// A spinner for runs up to one that nobody knows.
    pub fn seeds() -> Progress {
        let progress = Progress::new(None, |line| {
            format!("{{elapsed:>4}} {{spinner}} {{count}} runs {}", line.message(NARROW))
        });
        progress.bar.enable_steady_tick(Duration::from_millis(100));
        progress
    }

    fn new(total: Option<u64>, template: impl FnOnce(Line) -> String) -> Progress {
        // A terminal that cannot go back in its line would get a line for each step of the bar.
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if is_dumb || !std::io::stderr().is_terminal() {
            return Progress::of(ProgressBar::hidden());
        }
        let style = match ProgressStyle::with_template(&template(Line::of_stderr())) {
            Ok(style) => style,
            Err(error) => unreachable!("the templates are those above: {error}"),
        };
        let style = style
            .with_key("count", |state: &indicatif::ProgressState, out: &mut dyn Write| {
                let _ = out.write_str(&grouped(state.pos()));
            })
            .with_key("total", |state: &indicatif::ProgressState, out: &mut dyn Write| {
                let _ = out.write_str(&grouped(state.len().unwrap_or(0)));
            });
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        Progress::of(bar.with_style(style))
    }

    fn of(bar: ProgressBar) -> Progress {
        Progress { bar, name: Mutex::default(), search: Mutex::default() }
    }

    /// What is being done from now on.
    pub fn begin(&self, what: String) {
        if let Some(name) = &mut *self.name() {
            self.bar.set_position(0);
            name.clone_from(&what);
        }
        self.bar.set_message(what);
    }

    /// The same, as one of so many.
    pub fn begin_of(&self, number: usize, all: usize, what: &str) {
        self.begin(if all > 1 { format!("{} of {all}: {what}", number + 1) } else { what.to_owned() });
    }

    /// So many runs more.
    pub fn add(&self, more: u64) {
        self.bar.inc(more);
        if let Some(name) = &*self.name() {
            self.bar.set_message(format!("{name}, {} runs", grouped(self.bar.position())));
        }
    }

    fn name(&self) -> MutexGuard<'_, Option<String>> {
        self.name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many by now.
    pub fn set(&self, now: u64) {
        self.bar.set_position(now);
    }

    /// How far a search is.
    pub fn search(&self, seen: &Seen) {
        self.bar.set_position(seen.states);
        let mut search = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        if search.as_ref().is_none_or(|(before, _)| seen.transitions < *before) {
            // Another search than the last time.
            *search = Some((seen.transitions, Stopwatch::start()));
        }
        let Some((before, since)) = &mut *search else { return };
        *before = seen.transitions;
        let seconds = since.seconds();
        let mut said = self.name().clone().unwrap_or_default();
        if !said.is_empty() {
            said += ", ";
        }
        let states = grouped(seen.states);
        let _ = write!(said, "{states} states, depth {}, {} waiting", seen.depth, grouped(seen.waiting));
        if seconds > 1.0 {
            let _ = write!(said, ", {} transitions/s", grouped((seen.transitions as f64 / seconds) as u64));
        }
        if let Some(left) = seen.left {
            let _ = write!(said, ", perhaps {} more", grouped(left));
        }
        self.bar.set_message(said);
    }

    /// Prints something while nothing is drawn.
    pub fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Measures how long something took, for people to read: no run depends on it.
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// From now on.
    #[allow(
        clippy::disallowed_methods,
        reason = "the only place of the command that looks at the real clock"
    )]
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Seconds since then, to the millisecond.
    pub fn seconds(&self) -> f64 {
        (self.0.elapsed().as_secs_f64() * 1000.0).round() / 1000.0
    }
}
