//! `picklock replay TOKEN`: the same run again, to look at.

mod instead;
mod text;

use super::open::open;
use super::screen::{Paint, Screen, Versioned, json};
use super::{BadCall, Ending, given, names, written};
use crate::registry::{Broken, Locks, Replay};
use crate::report::{
    Cause, JsonEvent, Story, TextOptions, TimeColumn, Window, other_runs, page, page_with_others, perfetto,
    shiviz, svg, why_of, why_text,
};
use crate::token::{Body, Token};
use clap::{Args, ValueEnum};
use instead::Instead;
use picklock_model::claims;
use picklock_properties::Promise;
use serde::Serialize;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use text::{Shown, told_of};

/// Shows the run of a token again, step by step
#[derive(Debug, Args)]
#[command(after_help = format!("{}\n\n{EXAMPLES}", given::WHAT))]
pub struct ReplayToken {
    /// What matrix, theorems, check, sweep, hunt and scenarios print, pk5_…, or a short name: C1, redlock:pause:3, @last
    token: String,
    /// Shows it for this promise, not for the one that the token was printed for
    #[arg(long, value_name = "P")]
    property: Option<String>,
    /// How it is shown; unless given, as the name of --out ends (.html, .svg, .json), a page with --open, else text
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Writes it into this file, not to stdout
    #[arg(long, value_parser = written::named(), value_name = "FILE")]
    out: Option<PathBuf>,
    /// Lists what else could have happened in this step of a run of the exhaustive engine, or, with a number of those, shows that run
    #[arg(long, value_name = "STEP[:N]")]
    instead: Option<Instead>,
    /// Opens what was written, with what the system opens such files with
    #[arg(long)]
    open: bool,
    /// Shows the last N rows, 0 or more, and of those before them only faults of nodes, clocks and links, broken promises, last grants, and what the causes name
    #[arg(long, value_name = "N", default_value_t = 60)]
    last: usize,
    /// Shows all rows
    #[arg(long, conflicts_with = "last")]
    all: bool,
    /// Columns, 32 to 65535; those of the terminal, or 120, unless given
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(u16).range(32..))]
    width: Option<u16>,
    /// Nothing but ASCII
    #[arg(long)]
    ascii: bool,
}

const EXAMPLES: &str = "\
Examples:
  picklock replay C1
  picklock replay redlock:pause:70 --out run.html
  picklock replay redlock:pause:70 --open
  picklock replay @last --all | less
  picklock replay C1 --instead 12
  picklock replay C1 --instead 12:1 --out run.html
  picklock replay pk5_… --json | jq '.events[] | select(.violations != [])'

A token was printed for a promise: the run is shown for that one, and --property asks for another; a run that nobody asked \
anything of is shown for the gravest promise that it breaks. Exits 1 if the run breaks the promise that it was asked for, or \
any if none was, and 4 if nothing in it put that promise to the test; else 0, and 0 when a file was written; 3 if a row was searched for, and a limit or ^C came first.";

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// A table: a row per step, a column per node
    Text,
    /// One document; the same as --json
    Json,
    /// A page with a space-time diagram to step through, which loads nothing from anywhere
    Html,
    /// The diagram alone
    Svg,
    /// A trace for Perfetto (ui.perfetto.dev)
    Perfetto,
    /// A log for ShiViz
    Shiviz,
}

impl Format {
    /// What files are called that hold nothing else; `None`: one that is called otherwise may hold anything.
    fn of_file(path: &Path) -> Option<Format> {
        match path.extension().and_then(OsStr::to_str).map(str::to_lowercase)?.as_str() {
            "html" | "htm" => Some(Format::Html),
            "svg" => Some(Format::Svg),
            "json" => Some(Format::Json),
            "txt" | "text" | "log" => Some(Format::Text),
            _ => None,
        }
    }

    /// Whether the files of both may be called alike.
    fn is_called_like(self, other: Format) -> bool {
        let kind = |format| match format {
            Format::Json | Format::Perfetto => Format::Json,
            Format::Text | Format::Shiviz => Format::Text,
            Format::Html | Format::Svg => format,
        };
        kind(self) == kind(other)
    }

    /// What --format calls it.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn extension(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Json | Format::Perfetto => "json",
            Format::Html => "html",
            Format::Svg => "svg",
            Format::Shiviz => "log",
        }
    }
}

#[derive(Serialize)]
struct Document {
    token: String,
    lock: String,
    trace_hash: String,
    /// The lock, its store or the simulator has changed since the token was made.
    came_out_otherwise: bool,
    /// What the run was asked for, or else the gravest promise that it breaks.
    property: Option<Promise>,
    /// Whether the run could have broken it; `null` where the token names no promise.
    tested: Option<bool>,
    violation: Option<Broken>,
    violations: Vec<Broken>,
    /// The steps that it took, in order.
    why: Vec<Because>,
    plan: Option<Vec<String>>,
    events: Vec<JsonEvent>,
}

/// A step of the run that what broke is about.
#[derive(Serialize)]
struct Because {
    step: u64,
    kind: &'static str,
    words: String,
}

const WIDTH_OF_FILES: usize = 120;
const OTHERWISE: &str = "this run came out otherwise than when the token was made: the lock, its store, or picklock has changed since";

impl ReplayToken {
    /// Runs it again.
    pub fn run(mut self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        let wanted = self.format(screen)?;
        let Some(mut token) = given::token(locks, &self.token)? else { return Ok(Ending::Incomplete) };
        let lock = names::lock_of(locks, &token)?;
        // What never comes in a run is not judged in another one that ends.
        let is_unjudged =
            self.instead.is_some() && token.promise.is_some_and(|promise| promise.is_of_progress());
        if let Some(instead) = self.instead {
            if instead.is_a_list() && (self.out.is_some() || self.open || wanted != Format::Text) {
                return Err(BadCall(format!(
                    "--instead {instead} is a list, and no run: {instead}:1 is its first run"
                )));
            }
            let Some(other) = instead.token(lock, &token, &self.token, screen)? else {
                return Ok(Ending::Fine);
            };
            self.token = other.encode();
            token = other;
        }
        let asked = names::promises(self.property.as_slice())?.iter().next();
        if let Some(promise) = asked {
            token = token.for_promise(promise);
        }
        let format = match (screen.wants_json(), wanted) {
            (false, format) => format,
            (true, Format::Text | Format::Json) => Format::Json,
            (true, Format::Html | Format::Svg | Format::Perfetto | Format::Shiviz) => {
                return Err(BadCall("--json and another format: it writes the one or the other".to_owned()));
            }
        };
        self.refuse_another_name(format, screen)?;
        let made_up = self.open && self.out.is_none();
        let path = match made_up {
            true => Some(file_to_open(format)?),
            false => self.out.clone(),
        };
        if path.is_none() && Screen::is_terminal() && !matches!(format, Format::Text | Format::Json) {
            return Err(BadCall(
                "a terminal shows no pictures: name a file with --out, or add --open".to_owned(),
            ));
        }
        let option = if made_up { "--open" } else { "--out" };
        let unwritten = |path: &Path, error: std::io::Error| {
            BadCall(format!("{option} {}: cannot be written: {error}", path.display()))
        };
        let file = path.as_ref().map(|path| File::create(path).map_err(|error| unwritten(path, error)));
        let mut file = file.transpose()?;

        let paint = if file.is_some() { Paint::NONE } else { screen.paint() };
        let terminal = if file.is_some() { None } else { Screen::width() };
        let options = TextOptions {
            width: self.width.map(usize::from).or(terminal).unwrap_or(WIDTH_OF_FILES),
            time: TimeColumn::Seconds,
            last: (!self.all).then_some(self.last),
            fold: !self.all,
            colour: paint.has_colour(),
            ascii: self.ascii,
            // Whoever has typed it knows it, and a token takes lines of a terminal.
            names_command: terminal.is_none(),
            // The chain of causes does, which ends with it.
            tells_how: false,
        };
        let cannot = |error| BadCall(format!("this token cannot be replayed: {error}"));
        let mut replay = lock.replay(&token, &options).map_err(cannot)?;
        if format == Format::Text && !self.all {
            // What the chain of causes names is shown, and what it names is known once the run is over.
            let named = replay.told(&token, &replay.in_words(), |story| because(&story));
            let named: Vec<usize> = named.iter().map(|because| because.step as usize).collect();
            if !named.is_empty() {
                replay = lock.replay_keeping(&token, &options, &named).map_err(cannot)?;
            }
        }

        if let Some(promise) =
            asked.filter(|promise| !replay.watched.contains(*promise) && !replay.breaks(asked))
        {
            let watched: Vec<&str> = replay.watched.iter().map(Promise::name).collect();
            let watched = watched.join(", ");
            let name = self.token.trim();
            // A lock, faults and a seed, and what to watch for behind them.
            let hint = match name.split(':').count() {
                3 => format!("; {name}:{promise} is the same seed, watched for that"),
                _ => String::new(),
            };
            return Err(BadCall(format!("this run was not watched for {promise}, but for {watched}{hint}")));
        }

        let about = about(&self.token);
        let broken = replay.in_words();
        let is_untested = |promise| !replay.breaks(Some(promise)) && !replay.tested.contains(promise);
        let ending = match token.promise {
            _ if replay.panicked.is_some() => Ending::Incomplete,
            Some(promise) if is_untested(promise) => Ending::Vacuous,
            None if is_unjudged && !replay.breaks(None) => Ending::Vacuous,
            promise => Ending::broken_if(replay.breaks(promise)),
        };
        let otherwise = replay.came_out_otherwise;
        let window = if self.all { Window::All } else { Window::Last(self.last) };
        let shown = match format {
            Format::Json => {
                let why = replay.told(&token, &broken, |story| because(&story));
                json(&Versioned::new(&document(&token, replay, broken, why)))
            }
            Format::Text => {
                let why = replay.told(&token, &broken, |story| why_text(&story, options));
                let shown = Shown {
                    token: &token,
                    name: &self.token,
                    replay: &replay,
                    broken: &broken,
                    all: self.all,
                    paint,
                    terminal: self.width.map(usize::from).or(terminal),
                };
                shown.text(&told_of(&about, options.width), &why)
            }
            Format::Html => {
                let others = |step| other_runs(lock, &token, step).unwrap_or_default();
                replay.told(&token, &broken, |story| {
                    let story = Story { about: &about, ..story };
                    match &token.body {
                        Body::Path { .. } => page_with_others(story, window, &others),
                        Body::Planned { .. } => page(story, window),
                    }
                })
            }
            Format::Svg => replay.told(&token, &broken, |story| svg(story, window)),
            Format::Perfetto => replay.told(&token, &broken, perfetto),
            Format::Shiviz => replay.told(&token, &broken, shiviz),
        };
        if otherwise && format != Format::Text {
            eprintln!("note: {OTHERWISE}");
        }
        let (Some(file), Some(path)) = (&mut file, &path) else {
            screen.write(shown.as_bytes());
            return Ok(ending);
        };
        file.write_all(shown.as_bytes()).map_err(|error| unwritten(path, error))?;
        eprintln!("wrote {}", path.display());
        if self.open {
            open(path)?;
        }
        Ok(Ending::Fine)
    }

    /// How it is shown: as was asked for, or else as the name of the file says.
    fn format(&self, screen: &Screen) -> Result<Format, BadCall> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        let out = self.out.as_deref();
        if let Some(format) = out.and_then(Format::of_file) {
            return Ok(format);
        }
        Ok(match out.and_then(Path::extension).map(OsStr::to_string_lossy) {
            // It is a document, whatever its file is called.
            Some(_) if screen.wants_json() => Format::Json,
            Some(other) => {
                let file = out.unwrap_or(Path::new("")).display();
                return Err(BadCall(format!(
                    "--out {file}: nothing is written as .{other}: .html, .svg, .json and .txt are, and --format says what else is meant"
                )));
            }
            None if self.open => Format::Html,
            None => Format::Text,
        })
    }

    /// Refuses a file whose name says that something else is in it.
    fn refuse_another_name(&self, format: Format, screen: &Screen) -> Result<(), BadCall> {
        let Some(path) = &self.out else { return Ok(()) };
        if Format::of_file(path).is_none_or(|named| named.is_called_like(format)) {
            return Ok(());
        }
        let asked =
            if screen.wants_json() { "--json".to_owned() } else { format!("--format {}", format.name()) };
        let (file, extension) = (path.display(), format.extension());
        Err(BadCall(format!(
            "{asked} --out {file}: the name says something else than the format; leave {asked} out, or let it end in .{extension}"
        )))
    }
}

/// So many pictures may lie about before somebody has to clear them away.
const OPENED_MAX: usize = 10_000;

/// A new file for what is opened, and kept nowhere else: what was opened before stays.
fn file_to_open(format: Format) -> Result<PathBuf, BadCall> {
    let folder = std::env::temp_dir();
    for nth in 1..=OPENED_MAX {
        let number = if nth == 1 { String::new() } else { format!("-{nth}") };
        let file = folder.join(format!("picklock-run{number}.{}", format.extension()));
        match File::create_new(&file) {
            Ok(_) => return Ok(file),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(BadCall(format!("--open {}: cannot be written: {error}", file.display())));
            }
        }
    }
    Err(BadCall(format!(
        "--open: {} has {OPENED_MAX} runs of earlier calls: --out names another file",
        folder.display()
    )))
}

/// What the catalogue says of the row that is called like this, in sentences; nothing, if none is.
fn about(name: &str) -> Vec<String> {
    let row = claims::scenarios().into_iter().find(|row| row.id.eq_ignore_ascii_case(name.trim()));
    let Some(row) = row else { return Vec::new() };
    let mut about = vec![format!("{}: {}", row.id, row.story), format!("repair: {}", row.fix)];
    if !row.note.is_empty() {
        about.push(format!("note: {}", row.note));
    }
    about
}

fn document(token: &Token, replay: Replay, broken: Vec<Broken>, why: Vec<Because>) -> Document {
    let is_tested = |promise| replay.tested.contains(promise) || replay.breaks(Some(promise));
    let tested = token.promise.map(is_tested);
    Document {
        token: token.encode(),
        lock: token.lock.clone(),
        trace_hash: replay.trace_hash,
        came_out_otherwise: replay.came_out_otherwise,
        property: token.promise.or(replay.shown_for),
        tested,
        violation: broken
            .iter()
            .find(|broken| token.promise.is_none_or(|promise| promise == broken.property))
            .cloned(),
        violations: broken,
        why,
        plan: replay.plan.map(|plan| plan.lines().map(str::to_owned).collect()),
        events: replay.events,
    }
}

fn because(story: &Story) -> Vec<Because> {
    let of = |cause: Cause| Because {
        step: story.events[cause.position].step,
        kind: cause.kind.name(),
        words: cause.words,
    };
    why_of(story).into_iter().map(of).collect()
}
