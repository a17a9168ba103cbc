//! Pictures of runs: that a real browser draws the page and steps through it, and that the README's picture is the run's.

use crate::evidence::replay;
use crate::scenarios::{found, is_golden_file};
use picklock_sim::report::{Story, TextOptions, Window, operations, page, svg, violation_words};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A pause under Redlock, a session that expires, two holders by a clock step, and a lasso; and of objects an answer that is lost, and a
/// client that dies; and of a lock manager two conversions that wait for each other, and a reader beside a writer.
const ROWS: [&str; 8] = ["R1", "Z3", "C1", "C6", "X1", "X3", "V1", "V2"];

#[test]
fn the_pictures_of_these_failures_are_as_they_were() {
    for row in ROWS {
        let drawn = picture(row, |story| svg(story, Window::Last(60)));
        is_golden_file(&format!("{}.svg", row.to_lowercase()), &drawn);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_browser_draws_the_page_of_each_failure_and_steps_through_all_of_it() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no Chromium is installed, so no page was opened in a browser");
        return;
    };
    for row in ROWS {
        let page = picture(row, |story| page(story, Window::Last(60)));
        assert!(!page.contains("src=") && !page.contains("@import"), "{row}: the page loads something");
        let walk = format!("<script>{WALK}</script></body>");
        let (head, tail) = page.rsplit_once("</body>").expect("a page ends with its body");
        let seen = opened(&browser, row, &format!("{head}{walk}{tail}"));
        let report =
            seen.split_once("walk:").and_then(|(_, rest)| rest.split_once(";")).map(|(report, _)| report);
        let rows = page.matches("class=\"row\"").count();
        // From the last row up to the first: every row was shown, and nothing went wrong.
        assert_eq!(report, Some(format!("{rows} rows, {rows} shown, 0 errors").as_str()), "{row}: {seen}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn in_a_low_window_all_that_stands_above_the_steps_takes_a_quarter_of_600_pixels_at_most() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no Chromium is installed, so no page was opened in a browser");
        return;
    };
    for row in ["R1", "Z3"] {
        let page = picture(row, |story| page(story, Window::Last(60)));
        assert!(page.contains("class=\"cause "), "{row}: else there is no chain of causes to leave room for");
        let (head, tail) = page.rsplit_once("</body>").expect("a page ends with its body");
        let measured = format!("{head}<script>{MEASURE}</script></body>{tail}");
        let seen = opened(&browser, &format!("{row}-low"), &measured);
        let above = seen.split_once("above:").and_then(|(_, rest)| rest.split_once(';'));
        let above = above.and_then(|(pixels, _)| pixels.parse::<u32>().ok());
        assert!(above.is_some_and(|pixels| (40..=150).contains(&pixels)), "{row}: {above:?}");
    }
}

#[test]
fn a_picture_of_a_lock_manager_shows_in_which_modes_locks_are_held_and_converted_and_no_other_picture_does() {
    for row in ROWS {
        let drawn = picture(row, |story| svg(story, Window::All));
        let text = replay(&found(row), &TextOptions::default()).text;
        let is_manager = row.starts_with('V');
        for (what, told) in [("class=\"mode wanted\"", &drawn), ("PR→EX", &text)] {
            assert_eq!(told.contains(what), is_manager, "{row}: {what}");
        }
    }
    let drawn = picture("V1", |story| svg(story, Window::All));
    assert_eq!(drawn.matches("<title>has R1 in PR, waits for EX</title>").count(), 2, "both convert");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_picture_of_an_object_has_a_bar_for_each_operation_and_marks_the_one_whose_answer_breaks_a_promise() {
    let operations = |row: &str| {
        let replay = replay(&found(row), &TextOptions::default());
        operations(&replay.events)
    };
    for row in ["X1", "X2", "X3", "X5", "X7"] {
        let drawn = picture(row, |story| svg(story, Window::All));
        let (mut open, mut breaks) = (0, 0);
        for operation in operations(row) {
            assert!(drawn.contains(&format!(">{}</text>", operation.label())), "{row}: {operation:?}");
            open += usize::from(operation.answer.is_none());
            breaks += usize::from(!operation.broke.is_empty());
        }
        assert_eq!(breaks, 1, "{row}");
        assert_eq!(drawn.matches("class=\"operation open\"").count(), open, "{row}");
        assert_eq!(drawn.matches("class=\"operation breaks\"").count(), breaks, "{row}");
    }
    let died = operations("X3").into_iter().find(|operation| operation.answer.is_none());
    assert!(died.is_some_and(|operation| operation.label().ends_with("→ ?")), "a client dies in row X3");
}

/// Presses keys as a reader would, and writes what came of it into the page's title.
const WALK: &str = r##"
let errors = 0;
addEventListener("error", () => errors += 1);
const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const shown = new Set();
const note = () => {
  const chosen = document.querySelectorAll(".row.chosen");
  const details = document.querySelector("#details h2");
  if (chosen.length === 1 && details && details.textContent.startsWith("step ")) shown.add(chosen[0].dataset.row);
};
const all = document.querySelectorAll(".row").length;
press("End"); note();
for (let row = 0; row < all; row++) { press("ArrowUp"); note(); }
press("n"); press("p"); press("Home"); note();
document.querySelector(".row").dispatchEvent(new MouseEvent("click", { bubbles: true })); note();
if (document.body.dataset.ready !== "yes") errors += 1;
document.title = `walk:${all} rows, ${shown.size} shown, ${errors} errors;`;
"##;

/// Writes into the page's title at how many pixels the steps begin.
const MEASURE: &str = "document.title = `above:${Math.round(drawing.getBoundingClientRect().top)};`;";

fn picture(row: &str, draw: impl Fn(Story) -> String) -> String {
    let token = found(row);
    let replay = replay(&token, &TextOptions::default());
    let mut broken: Vec<String> = replay
        .violations
        .iter()
        .map(|violation| format!("{}: {}", violation.promise, violation_words(violation)))
        .collect();
    broken.extend(replay.starved.map(|promise| format!("{promise}: never, however long the loop goes on")));
    draw(Story {
        lock: &token.lock,
        settings: &replay.settings_told,
        token: &token.encode(),
        broken: &broken,
        again: "",
        reasons: &[],
        about: &[],
        plan: &[],
        shown_for: replay.shown_for,
        nodes: &replay.nodes,
        locks: replay.locks,
        events: &replay.events,
        loop_start: replay.loop_start,
        time: replay.time,
    })
}

fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let path = std::env::var_os("PATH")?;
    let known = |directory: PathBuf| names.iter().map(move |name| directory.join(name)).collect::<Vec<_>>();
    std::env::split_paths(&path).flat_map(known).find(|file| file.is_file())
}

/// What the browser makes of a page, scripts run.
fn opened(browser: &Path, name: &str, page: &str) -> String {
    let directory = std::env::temp_dir().join(format!("picklock-pictures-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("there is room for a page");
    let file = directory.join("run.html");
    std::fs::write(&file, page).expect("there is room for a page");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"])
        .arg(format!("--user-data-dir={}", directory.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("the browser starts");
    let _ = std::fs::remove_dir_all(&directory);
    String::from_utf8_lossy(&output.stdout).into_owned()
}
