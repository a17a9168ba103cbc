//! `matrix --out DIR`: the matrix as a page, each broken promise linked to the picture of a run that breaks it, as small as
//! it can be made.
//!
//! ```text
//!   DIR/index.html                       the matrix, what is not as expected, what was run
//!   DIR/redlock/pause-mutual-exclusion.html   a shrunk run, to step through
//!   DIR/report.txt, DIR/report.json      the same as on the screen, and as --json prints
//! ```
//!
//! Nothing in it is loaded from anywhere.

use super::judged::{Cell, Judged};
use super::kind::Kind;
use crate::cli::progress::Progress;
use crate::cli::screen::{Paint, Rows, json};
use crate::cli::{BadCall, interrupt, names};
use crate::registry::{Locks, Reduced, RunError, ShrinkHow};
use crate::report::{STYLE, TextOptions, Window, page};
use crate::token::Token;
use maud::{DOCTYPE, PreEscaped, html};
use picklock_properties::Promise;
use rayon::prelude::*;
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
        let progress = Progress::runs(cells.len() as u64);
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
        let shown = replay.told(&token, &replay.in_words(), |story| page(story, Window::Last(STEPS_MAX)));
        let name = format!("{}/{}-{}.html", cell.lock, cell.fault, cell.property);
        std::fs::create_dir_all(self.path.join(cell.lock)).map_err(|error| self.unwritable(&error))?;
        self.write(&name, &shown)?;
        cell.shrunk = Some(token.encode());
        cell.picture = Some(name);
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

/// The page.
fn index(judged: &Judged) -> String {
    let title = |promise: Promise| promise.name().replacen('-', "-\u{200b}", 1);
    let surprises = judged.surprises_listed();
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
                @if !judged.is_complete() { p class="unclear" { "Interrupted: what is missing is NOT a pass." } }
                @if !surprises.is_empty() {
                    h2 { "Not as expected" }
                    ul { @for surprise in &surprises { li { (surprise) } } }
                }
                @for kind in Kind::ALL {
                    @let (rows, columns) = (judged.of_kind(kind), judged.columns(kind));
                    @if !rows.is_empty() { table {
                        thead { tr {
                            th { (kind.singular()) } th { "fault" } @for promise in &columns { th { (title(*promise)) } }
                        } }
                        @for of_lock in rows.chunk_by(|one, next| one.lock == next.lock) {
                            tbody { @for (nth, row) in of_lock.iter().enumerate() {
                                tr {
                                    @if nth == 0 { th rowspan=(of_lock.len()) scope="rowgroup" { (row.lock) } }
                                    th scope="row" { (row.fault) }
                                    @for promise in &columns {
                                        @if let Some(cell) = row.cell(*promise) { (shown(cell)) } @else { td {} }
                                    }
                                }
                            } }
                        }
                    } }
                }
                @for line in judged.legend_of_page() { p class="legend" { (line) } }
            }
        }
    };
    page.into_string() + "\n"
}

fn shown(cell: &Cell) -> maud::Markup {
    let (class, text) = cell.mark();
    html! {
        td class=(class) {
            @if let Some(picture) = &cell.picture { a href=(picture) { (text) } } @else { (text) }
        }
    }
}
