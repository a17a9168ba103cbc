//! `matrix --out DIR`: the matrix as a page, each broken promise linked to the picture of a run that breaks it, as small as
//! it can be made.
//!
//! ```text
//!   DIR/index.html                       the matrix, with how each cell breaks as its title; what is not as expected, what
//!                                        else is known to break, and what shows it
//!   DIR/redlock/pause-mutual-exclusion.html   a shrunk run, to step through
//!   DIR/report.txt, DIR/report.json      the same as on the screen, and as --json prints
//! ```
//!
//! Nothing in it is loaded from anywhere.

use super::judged::{Cell, Judged, Verdict};
use super::kind::Kind;
use crate::cli::progress::Progress;
use crate::cli::screen::{Paint, Rows, json};
use crate::cli::{BadCall, interrupt, names};
use crate::registry::{Locks, Reduced, RunError, ShrinkHow, known_run};
use crate::report::{Cause, STYLE, Story, TextOptions, Window, page, why_of};
use crate::token::Token;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use picklock_model::claims::{Scenario, scenarios};
use picklock_properties::Promise;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

const PAGE_STYLE: &str = include_str!("report.css");
/// So many steps of a run that could not be made small.
const STEPS_MAX: usize = 80;

/// Where the report goes.
pub struct Folder<'a> {
    path: &'a Path,
}

impl<'a> Folder<'a> {
    /// Makes sure, before anything is run, that the report can be written.
    pub fn open(path: &'a Path) -> Result<Folder<'a>, BadCall> {
        let folder = Folder { path };
        std::fs::create_dir_all(path).map_err(|error| folder.unwritable(&error))?;
        for name in ["report.txt", "report.json", "index.html"] {
            let opened = std::fs::OpenOptions::new().append(true).create(true).open(path.join(name));
            opened.map_err(|error| folder.unwritable(&error))?;
        }
        Ok(folder)
    }

    /// Writes the report, with a picture for each broken promise; says what was written.
    pub fn fill(
        &self,
        locks: &Locks,
        judged: &mut Judged,
        pool: &rayon::ThreadPool,
    ) -> Result<String, BadCall> {
        self.write("report.txt", &judged.text(Paint::NONE))?;
        let pictures = self.draw(locks, judged, pool)?;
        self.write("report.json", &json(&Rows::new(&judged.cells(), judged.is_complete())))?;
        self.write("index.html", &index(judged))?;
        let folder = self.path.display();
        Ok(format!(
            "\nthe report: {folder}/index.html, with {pictures} pictures; report.txt and report.json beside it\n"
        ))
    }

    /// Draws a picture of every broken promise, and notes in its cell where it is.
    fn draw(&self, locks: &Locks, judged: &mut Judged, pool: &rayon::ThreadPool) -> Result<usize, BadCall> {
        let mut cells: Vec<&mut Cell> = judged.rows.iter_mut().flat_map(|row| &mut row.cells).collect();
        cells.retain(|cell| cell.token.is_some());
        let progress = Progress::uneven_runs(cells.len() as u64);
        progress.begin("making the failures small".to_owned());
        let draw = |cell: &mut Cell| {
            if !interrupt::happened() {
                self.draw_cell(locks, cell)?;
            }
            progress.add(1);
            Ok(usize::from(cell.picture.is_some()))
        };
        pool.install(|| cells.into_par_iter().map(draw).sum())
    }

    fn draw_cell(&self, locks: &Locks, cell: &mut Cell) -> Result<(), BadCall> {
        let Some(Ok(found)) = cell.token.as_ref().map(|token| token.parse::<Token>()) else { return Ok(()) };
        let lock = names::lock_of(locks, &found)?;
        let reduced = lock.shrink(&found, &ShrinkHow::new(interrupt::flag(), &|_| {}));
        let token = match reduced.map_err(unrunnable)? {
            Reduced::Shrunk { token, .. } => token,
            Reduced::Shortest { .. } | Reduced::NothingBroken => found,
        };
        let replay = lock.replay(&token, &TextOptions::default()).map_err(unrunnable)?;
        let (shown, how) = replay.told(&token, &replay.in_words(), |story| {
            (page(story, Window::Last(STEPS_MAX)), in_short(&story))
        });
        let name = format!("{}/{}-{}.html", cell.lock, cell.fault, cell.property);
        std::fs::create_dir_all(self.path.join(cell.lock)).map_err(|error| self.unwritable(&error))?;
        self.write(&name, &shown)?;
        cell.shrunk = Some(token.encode());
        cell.picture = Some(name);
        cell.story = Some(how).filter(|how| !how.is_empty());
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), BadCall> {
        std::fs::write(self.path.join(name), text).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &std::io::Error) -> BadCall {
        BadCall(format!("--out {}: nothing can be written there: {error}", self.path.display()))
    }
}

fn unrunnable(error: RunError) -> BadCall {
    BadCall(format!("a failure that was found cannot be run again: {error}"))
}

/// Why a promise breaks in a run, a line for each cause.
fn in_short(story: &Story) -> String {
    let line = |Cause { when, words, .. }: Cause| format!("{when}: {words}");
    why_of(story).into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The page.
fn index(judged: &Judged) -> String {
    let title = |promise: Promise| promise.name().replacen('-', "-\u{200b}", 1);
    let surprises = judged.surprises_listed();
    let known = Known::of(judged);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "picklock: which lock survives what" }
                style { (PreEscaped(STYLE)) (PreEscaped(PAGE_STYLE)) }
            }
            body {
                h1 { "Which lock keeps which promise under which fault" }
                p { (judged.seeds) " seeds a row, each with its own random faults of that kind. A cell with a count leads to the picture of \
                     a run that breaks the promise, with as little in it as still does." }
                p class="marks" {
                    @for (class, mark, words) in MARKS { span { b class=(class) { (mark) } " " (words) } " " }
                }
                @if !judged.is_complete() { p class="unclear" { "Interrupted: what is missing is NOT a pass." } }
                @if !surprises.is_empty() {
                    h2 { "Not as expected" }
                    ul { @for surprise in &surprises { li { (surprise) } } }
                }
                @for kind in Kind::ALL {
                    @let (rows, columns) = (judged.of_kind(kind), judged.columns(kind));
                    @if !rows.is_empty() { table {
                        thead { tr {
                            th { (kind.singular()) } th { "fault" }
                            @for promise in &columns { th title=(promise.statement()) { (title(*promise)) } }
                        } }
                        @for of_lock in rows.chunk_by(|one, next| one.lock == next.lock) {
                            tbody { @for (nth, row) in of_lock.iter().enumerate() {
                                tr {
                                    @if nth == 0 { th rowspan=(of_lock.len()) scope="rowgroup" { (row.lock) } }
                                    th scope="row" { (row.fault) }
                                    @for promise in &columns {
                                        @if let Some(cell) = row.cell(*promise) { (shown(cell, &known)) } @else { td {} }
                                    }
                                }
                            } }
                        }
                    } }
                }
                (known.listed())
                h2 { "Marks" }
                @for line in judged.legend_of_page() { p class="legend" { (line) } }
            }
        }
    };
    page.into_string() + "\n"
}

/// The marks of the table in a line: their classes, and what they mean in few words.
const MARKS: [(&str, &str, &str); 8] = [
    ("broken", "✗ ×3", "broken by 3 runs"),
    ("broken", "✗ R3", "known to break, as told below"),
    ("kept", "✓", "verified"),
    ("unseen", "·", "not seen to break"),
    ("unseen", "· 12", "which only 12 runs could have shown"),
    ("nothing", "–", "nothing could have broken it"),
    ("unclear", "?", "runs are missing"),
    ("broken", "!", "a surprise"),
];

/// A cell, with how it breaks as its title. What it names leads to a picture, or to a line below the tables.
fn shown(cell: &Cell, known: &Known) -> Markup {
    let (class, text) = cell.mark();
    let leads = known.leads(cell);
    let title = match (&cell.story, leads) {
        (Some(story), _) => Some(format!("{}\n{story}", cell.property.statement())),
        (None, [_, ..]) => Some(leads.iter().map(Lead::title).collect::<Vec<_>>().join("\n\n")),
        // Broken, and without a picture, if it was interrupted.
        (None, []) => cell.name_of_run().map(|run| format!("{} replay {run}", names::program())),
    };
    let mark = text.split(' ').next().unwrap_or_default();
    let meaning = || MARKS.iter().find(|(of, shown, _)| *of == class && *shown == mark);
    let title = title.or_else(|| meaning().map(|(_, _, words)| (*words).to_owned()));
    html! {
        td class=(class) title=[title] {
            @if let Some(picture) = &cell.picture { a href=(picture) { (text) } }
            @else if leads.is_empty() { (text) }
            @else {
                "✗ " @for (nth, lead) in leads.iter().enumerate() {
                    @if nth > 0 { ", " }
                    a href={ "#" (lead.place) } { (lead.name) }
                }
            }
        }
    }
}

/// What is known to break, though these runs did not meet it: what the cells of a page lead to that have no picture.
struct Known {
    /// By lock, fault and promise.
    leads: BTreeMap<(&'static str, &'static str, Promise), Vec<Lead>>,
}

/// A row of the catalogue, a run, or only a reason.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Lead {
    /// As its cell calls it: `R3`, `@115`.
    name: String,
    /// Where on the page it is told.
    place: String,
    /// What it is about: `redlock · pause · fifo`; a row of the catalogue stands for itself.
    about: String,
    /// How the promise breaks.
    story: String,
    /// What shows it.
    command: Option<String>,
}

impl Lead {
    fn title(&self) -> String {
        let Lead { name, story, command, .. } = self;
        format!("{name}: {story}{}", command.as_ref().map_or_else(String::new, |call| format!("\n{call}")))
    }
}

impl Known {
    fn of(judged: &Judged) -> Known {
        let rows = scenarios();
        let is_known = |cell: &&Cell| cell.verdict() == Verdict::KnownViolated;
        let leads = |cell: &Cell| ((cell.lock, cell.fault, cell.property), leads(cell, &rows));
        Known { leads: judged.cells().into_iter().filter(is_known).map(leads).collect() }
    }

    /// None of a cell that is not known to break, or was seen to.
    fn leads(&self, cell: &Cell) -> &[Lead] {
        self.leads.get(&(cell.lock, cell.fault, cell.property)).map(Vec::as_slice).unwrap_or_default()
    }

    /// All of them, each once.
    fn listed(&self) -> Markup {
        let mut each: Vec<&Lead> = Vec::new();
        for lead in self.leads.values().flatten() {
            if !each.iter().any(|known| known.place == lead.place) {
                each.push(lead);
            }
        }
        // Rows of the catalogue first, as they are numbered.
        each.sort_by_cached_key(|Lead { name, about, .. }| {
            (about.clone(), name.chars().next(), name.len(), name.clone())
        });
        html! {
            @if !each.is_empty() {
                h2 { "Known to break, and not met by these runs" }
                dl class="known" {
                    @for lead in each {
                        dt id=(lead.place) { (lead.name) @if !lead.about.is_empty() { " " small { (lead.about) } } }
                        dd { (lead.story) @if let Some(command) = &lead.command { ": " code { (command) } } }
                    }
                }
            }
        }
    }
}

/// What a cell names that is known to break: rows of the catalogue, or else a run, or else why.
fn leads(cell: &Cell, rows: &[Scenario]) -> Vec<Lead> {
    let Cell { lock, fault, property, .. } = cell;
    let name = cell.known_by().unwrap_or("known");
    let of_row = |id: &str| {
        let row = rows.iter().find(|row| row.id == id)?;
        let (name, place) = (id.to_owned(), format!("row-{id}"));
        let command = Some(format!("{} replay {id}", names::program()));
        Some(Lead { name, place, about: String::new(), story: row.story.to_owned(), command })
    };
    let of_rows: Option<Vec<Lead>> = name.split(", ").map(of_row).collect();
    if let Some(leads) = of_rows {
        return leads;
    }
    let run = known_run(lock, fault, *property).filter(|_| name.contains('@'));
    let command = run.map(|run| {
        format!("{} replay {}:{}:{}:{}", names::program(), run.lock, run.fault, run.seed, run.promise)
    });
    vec![Lead {
        name: name.to_owned(),
        place: format!("{lock}-{fault}-{property}"),
        about: format!("{lock} · {fault} · {property}"),
        story: cell.reason().unwrap_or("a run of another seed breaks it").to_owned(),
        command,
    }]
}

#[cfg(test)]
mod tests {
    use super::super::judged::Row;
    use super::*;
    use crate::sweep::SweepReport;
    use picklock_model::claims::{Known as IsKnown, MATRIX};
    use std::collections::BTreeSet;

    /// A matrix of all locks and objects of which something is known to break, of which no run was met.
    fn of_what_is_known() -> Judged {
        let cells = MATRIX.into_iter().flatten().filter(|cell| cell.known == IsKnown::Broken);
        let pairs: BTreeSet<(&str, &str)> = cells.map(|cell| (cell.lock, cell.fault)).collect();
        let report = SweepReport { runs: 100, ..SweepReport::default() };
        let row = |(lock, fault)| {
            let promises = Kind::Locks.columns().iter().copied().collect();
            Row::new((Kind::Locks, lock), fault, promises, &report, &BTreeMap::new())
        };
        let rows: Vec<Row> = pairs.into_iter().map(row).collect();
        Judged { planned: rows.len(), rows, uses: Vec::new(), seeds: 100, interrupted: false }
    }

    #[test]
    fn what_a_cell_is_known_by_leads_to_a_line_of_the_page_and_says_how_it_breaks() {
        let (judged, rows) = (of_what_is_known(), scenarios());
        let made = index(&judged);
        let leads: Vec<&str> =
            made.split("href=\"#").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0)).collect();
        let known = judged.cells().into_iter().filter(|cell| cell.verdict() == Verdict::KnownViolated);
        assert!(leads.len() >= known.clone().count() && leads.len() > 20, "{}", leads.len());
        for lead in &leads {
            assert_eq!(made.matches(&format!("id=\"{lead}\"")).count(), 1, "{lead}");
        }
        assert!(leads.iter().any(|lead| lead.starts_with("row-")), "{leads:?}");
        for cell in known {
            let named: Vec<String> = super::leads(cell, &rows).into_iter().map(|lead| lead.name).collect();
            assert_eq!(cell.mark().1, format!("✗ {}", named.join(", ")));
        }
        assert_eq!(made.matches("<td class=\"broken\">").count(), 0, "each has a title");
    }

    #[test]
    fn a_row_of_the_catalogue_is_told_with_what_replays_it() {
        let rows = scenarios();
        let made = index(&of_what_is_known());
        let (_, listed) = made.split_once("class=\"known\"").expect("a list of what is known");
        let id = listed.split_once("id=\"row-").and_then(|(_, rest)| rest.split_once('"')).expect("a row").0;
        let row = rows.iter().find(|row| row.id == id).expect("a row of the catalogue");
        let told = html! { dd { (row.story) ": " code { (format!("{} replay {id}", names::program())) } } };
        assert!(listed.contains(&told.into_string()), "{id}");
    }

    #[test]
    fn a_cell_with_a_picture_leads_there_and_has_the_story_of_its_run_as_its_title() {
        let mut judged = of_what_is_known();
        let cell = &mut judged.rows[0].cells[0];
        cell.picture = Some("lock/picture.html".to_owned());
        cell.story = Some("1 s: A pauses\n2 s: B enters while A holds".to_owned());
        let known = Known { leads: BTreeMap::new() };
        let made = shown(cell, &known).into_string();
        assert!(made.contains("2 s: B enters while A holds\">"), "{made}");
        assert!(made.contains("<a href=\"lock/picture.html\">"), "{made}");
    }
}
