//! The README and the book in `docs/`: that what they are generated from, link to and quote is there, and says the same.
//!
//! That the command takes every call that they show is tested where the command is built, in `sim/tests/examples.rs`.

use crate::scenarios::is_kept;
use picklock_model::claims::{FALLS, Fall, Known, Scenario, Search, UNHUNTED, scenarios};
use picklock_properties::Promise;
use picklock_sim::plans::fault::FaultKind;
use picklock_sim::registry::{known_of, known_run, locks};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const README: &str = include_str!("../README.md");
const LOCKS: &str = include_str!("../docs/src/locks.md");

/// What a text that the locks come from is called, and its title, which a reader must be told at the first mention in every chapter.
const SOURCES: [(&str, &str); 5] = [
    ("the Cassandra paper", "\"The Cassandra queue lock\""),
    ("the Redlock article", "\"Distributed Locks with Redis\""),
    ("the exactly-once article", "\"Heterogeneous concurrent exactly-once processing of data in real time\""),
    ("the ZooKeeper article", "\"ZooKeeper, or writing a distributed lock service\""),
    ("the lock-manager article", "\"Distributed lock manager\""),
];

const CATALOGUE: &str = "\
# The catalogue of known failures

<!-- Written by tests/docs.rs: PICKLOCK_UPDATE_GOLDEN=1 cargo test --test suite docs:: -->

Each row is a failure of a lock, the promise that it breaks, and a repair. `picklock scenarios` finds each failure again, in a small
world or by seeds, and runs the same search on the repaired lock, where it must find nothing. `picklock scenarios Z9` does so for one
row and says in what world; `picklock replay Z9` shows the run.

Steps and lines are those of the lock's description: see [Sources](sources.md).
";

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The README and every chapter of the book: where it lies, and what it says.
pub(crate) fn pages() -> Vec<(PathBuf, String)> {
    let readme = root().join("README.md");
    let mut pages = files(&root().join("docs/src"), "md");
    pages.push((readme.clone(), read(&readme)));
    pages.sort();
    pages
}

/// The files of this kind below a folder: where each lies, and what it says.
pub(crate) fn files(folder: &Path, kind: &str) -> Vec<(PathBuf, String)> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("it is part of the repository") {
            let path = entry.expect("it can be listed").path();
            match path.extension() {
                None if path.is_dir() => folders.push(path),
                Some(extension) if extension == kind => files.push((path.clone(), read(&path))),
                None | Some(_) => {}
            }
        }
    }
    files
}

/// What the book says that a search went through: `8,930,590 states`, `4,620,680 kept`.
fn sizes_in(text: &str) -> BTreeSet<u64> {
    numbers_before(&[" states", "\nstates", " kept", " of them kept", " moments", " recoveries"], text)
}

/// The numbers that stand before these words.
fn numbers_before(units: &[&'static str], text: &str) -> BTreeSet<u64> {
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == ',';
    let before = |unit: &&'static str| text.match_indices(*unit).map(|(at, _)| text[..at].trim_end());
    let all = units.iter().flat_map(before);
    let numbers = all.map(|before| before.rsplit(|letter| !is_of_number(letter)).next().unwrap_or_default());
    numbers.filter_map(|number| number.replace(',', "").parse().ok()).collect()
}

/// The same in tables, below `states` and `operations`: one number in a cell, or several with semicolons between.
fn sizes_in_columns(text: &str) -> BTreeSet<u64> {
    let (mut sizes, mut heads) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells.len() {
            1 => heads.clear(),
            _ if heads.is_empty() => heads = cells,
            _ => {
                let both = heads.iter().zip(cells);
                let below = both.filter(|(head, _)| ["states", "operations"].contains(head));
                sizes.extend(below.flat_map(|(_, cell)| cell.split("; ")));
            }
        }
    }
    sizes.into_iter().filter_map(|number| number.replace(',', "").parse().ok()).collect()
}

pub(crate) fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Where the links and pictures of a text lead: `](here)`, without a place inside the page.
fn links(text: &str) -> Vec<&str> {
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    ends.map(|(link, _)| link.split('#').next().unwrap_or_default()).collect()
}

fn is_elsewhere(link: &str) -> bool {
    link.is_empty() || link.contains("://")
}

#[test]
fn every_relative_link_in_the_readme_and_in_the_book_leads_to_a_file() {
    let mut followed = 0;
    for (page, text) in pages() {
        let folder = page.parent().expect("a page lies in a folder");
        for link in links(&text).into_iter().filter(|link| !is_elsewhere(link)) {
            assert!(folder.join(link).exists(), "{} links to {link}, which is not there", page.display());
            followed += 1;
        }
    }
    assert!(followed > 30, "{followed} links");
}

#[test]
fn every_chapter_stands_in_the_summary() {
    let book = root().join("docs/src");
    let summary = std::fs::read_to_string(book.join("SUMMARY.md")).expect("the book has a summary");
    let listed = links(&summary);
    for (page, _) in pages() {
        let Ok(chapter) = page.strip_prefix(&book) else { continue };
        let chapter = chapter.to_str().expect("chapters have plain names");
        assert!(chapter == "SUMMARY.md" || listed.contains(&chapter), "{chapter} is in no summary");
    }
}

#[test]
fn whoever_first_reads_of_a_source_is_told_its_title() {
    for (page, text) in pages() {
        // The catalogue is generated, and says at its head where the titles are.
        if page.ends_with("sources.md") || page.ends_with("catalogue.md") {
            continue;
        }
        let lowercase = text.to_lowercase().replace('\n', " ");
        for (source, title) in SOURCES.map(|(source, title)| (source.to_lowercase(), title)) {
            let Some(place) = lowercase.find(&source) else { continue };
            let told = format!("[{source}, {title}](").to_lowercase();
            // The mention begins behind the bracket.
            let begins = lowercase[..place].ends_with('[') && lowercase[place - 1..].starts_with(&told);
            assert!(begins, "{} speaks of {source} before it says {told}…)", page.display());
        }
    }
    let (_, sources) =
        pages().into_iter().find(|(page, _)| page.ends_with("sources.md")).expect("a chapter of sources");
    for (source, title) in SOURCES {
        let heading = format!("## {}", source.replacen('t', "T", 1));
        let section = sources.split_once(&heading).unwrap_or_else(|| panic!("no section {heading}")).1;
        let section = section.split("\n## ").next().unwrap_or_default().replace('\n', " ");
        assert!(section.contains(title), "{heading} does not say {title}");
    }
}

/// A number says nothing to whoever has not the list of them.
#[test]
fn no_source_goes_by_a_number() {
    let crates = ["properties", "model", "sim"].map(|folder| root().join(folder));
    let code = crates.iter().flat_map(|folder| files(folder, "rs"));
    for (file, text) in code.chain(pages()) {
        let numbered = text.to_lowercase().replace('\n', " ").contains("document 00");
        assert!(!numbered, "{} calls a text by a number: docs/src/sources.md has its name", file.display());
    }
}

#[test]
fn the_readme_is_short() {
    let lines = README.lines().count();
    assert!(lines <= 150, "{lines} lines: what is more belongs into docs/");
}

/// What stands in blocks of Rust is what documentation tests compile and run, line by line.
#[test]
fn the_rust_in_the_readme_and_in_the_book_is_compiled_elsewhere() {
    let compiled = [
        include_str!("../sim/src/own.rs"),
        include_str!("../sim/src/testing.rs"),
        include_str!("../sim/src/strategies/mod.rs"),
        include_str!("../sim/src/hosted/locker.rs"),
        include_str!("../sim/examples/own_lock.rs"),
    ]
    .concat();
    let compiled: Vec<&str> = compiled.lines().map(code).collect();
    let shown_only = ["#[test]", "proptest! {"];
    for (page, text) in pages() {
        for block in text.split("```rust").skip(1).filter_map(|rest| rest.split("```").next()) {
            for line in block.lines().skip(1).map(code).filter(|line| !line.is_empty()) {
                let is_known = shown_only.contains(&line) || compiled.contains(&line);
                assert!(is_known, "{} shows what no test compiles: {line}", page.display());
            }
        }
    }
}

/// A line of code without what it is indented by, what is remarked behind it, and what makes it part of a comment.
fn code(line: &str) -> &str {
    let line = line.trim().trim_start_matches("//!").trim();
    line.split_once("   // ").map_or(line, |(code, _)| code.trim_end())
}

/// `| name | … | pause, clock | … |`: the columns of a table of locks, by name of the lock.
fn table_of_locks(page: &'static str) -> Vec<(&'static str, Vec<&'static str>)> {
    let row = |line: &'static str| {
        let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
        let name = cells.next()?.strip_suffix('`')?;
        Some((name, cells.collect()))
    };
    page.lines().filter_map(row).collect()
}

/// How a fault comes to break a promise of a lock, as far as anybody knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Breaks {
    /// No run did, and no row or theorem does.
    NotKnown,
    /// A row of the catalogue or a theorem does; none of the random runs.
    InTheory,
    /// A run did.
    InARun,
}

fn breaks(lock: &str, fault: &str, promise: Promise) -> Breaks {
    let known = known_of(lock, fault, promise).map(|cell| cell.known);
    match (known_run(lock, fault, promise), known) {
        (Some(_), _) => Breaks::InARun,
        (None, Some(Known::Broken)) => Breaks::InTheory,
        (None, None | Some(Known::Kept | Known::Verified { .. })) => Breaks::NotKnown,
    }
}

/// The columns of a lock's row in the tables of locks, behind its name and what it is.
fn columns(lock: &str) -> [String; 4] {
    let faults: Vec<&str> = std::iter::once("none").chain(FaultKind::USUAL.map(|kind| kind.name())).collect();
    let under = |promises: &[Promise]| -> String {
        let breaks = |fault: &str| promises.iter().map(|promise| breaks(lock, fault, *promise)).collect();
        let named = |fault: &&str| -> Option<String> {
            let found: Vec<Breaks> = breaks(fault);
            match () {
                () if found.contains(&Breaks::InARun) => Some((*fault).to_owned()),
                () if found.contains(&Breaks::InTheory) => Some(format!("{fault}†")),
                () => None,
            }
        };
        let named: Vec<String> = faults.iter().filter_map(named).collect();
        match named.len() {
            0 => "–".to_owned(),
            all if all == faults.len() && !named.iter().any(|name| name.ends_with('†')) => {
                "any fault, or none".to_owned()
            }
            _ => named.join(", "),
        }
    };
    let is_unseen = |fault: &&&str| {
        **fault != "none" && breaks(lock, fault, Promise::MutualExclusion) == Breaks::NotKnown
    };
    let unseen: Vec<&str> = faults.iter().filter(is_unseen).copied().collect();
    [
        under(&[Promise::MutualExclusion]),
        if unseen.is_empty() { "–".to_owned() } else { unseen.join(", ") },
        under(&[Promise::FencedResource]),
        under(&[Promise::DeadlockFreedom, Promise::StarvationFreedom]),
    ]
}

/// A page, with what is known in the rows of its table.
fn with_known_rows(page: &str) -> String {
    let mut text = String::new();
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells.get(1).and_then(|cell| cell.strip_prefix('`')?.strip_suffix('`'));
        match name.filter(|name| cells.len() == 8 && locks().iter().any(|lock| lock.name() == *name)) {
            Some(name) => {
                let _ = writeln!(text, "| `{name}` | {} | {} |", cells[2], columns(name).join(" | "));
            }
            None => text += &format!("{line}\n"),
        }
    }
    text
}

#[test]
fn the_tables_of_locks_in_the_readme_and_in_the_book_say_what_is_known() {
    let table = table_of_locks(LOCKS);
    for lock in locks().iter().filter(|lock| lock.is_lock()) {
        assert!(table.iter().any(|(name, _)| *name == lock.name()), "no row for {}", lock.name());
    }
    for (name, _) in table.into_iter().chain(table_of_locks(README)) {
        assert!(locks().iter().any(|lock| lock.name() == name), "{name} is no lock");
    }
    is_kept(&root().join("docs/src/locks.md"), &with_known_rows(LOCKS));
    is_kept(&root().join("README.md"), &with_known_rows(README));
}

/// A page of findings, where a dot, not seen to break, is `known` if a run or a row is known that breaks the promise.
fn with_known_cells(page: &str) -> String {
    let mut text = String::new();
    let mut promise = None;
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let head = cells.get(1).copied().unwrap_or_default();
        if cells.get(2) == Some(&"none") {
            promise = head.parse::<Promise>().ok();
        }
        let lock = head.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
        let (Some(lock), Some(promise)) = (lock, promise.filter(|_| cells.len() == 13)) else {
            text += &format!("{line}\n");
            continue;
        };
        let faults = ["none"].into_iter().chain(FaultKind::USUAL.map(|kind| kind.name())).chain(["all"]);
        let cells: Vec<&str> = faults
            .zip(&cells[2..])
            .map(|(fault, cell)| match (*cell, breaks(lock, fault, promise)) {
                ("·", Breaks::InARun | Breaks::InTheory) => "known",
                _ => cell,
            })
            .collect();
        let _ = writeln!(text, "| `{lock}` | {} |", cells.join(" | "));
    }
    text
}

#[test]
fn where_the_findings_say_that_a_promise_was_not_seen_to_break_no_run_is_known_that_breaks_it() {
    let pages = files(&root().join("docs/src/findings"), "md");
    let tables = pages.iter().filter(|(_, text)| text.contains("| none | pause |")).count();
    assert!(tables >= 4, "{tables} pages have tables");
    for (page, text) in pages {
        is_kept(&page, &with_known_cells(&text));
    }
}

/// A line of the table of widenings: `theorem-1, called twice, without no-pause`, and what is wider.
fn widened(line: &str) -> Option<(String, &str, bool)> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
    let &[claim, _, wider, _, verdict, _] = cells.as_slice() else { return None };
    (claim != "claim").then(|| (claim.to_owned(), wider, verdict.starts_with('✗')))
}

#[test]
fn the_book_s_table_of_widenings_says_of_each_claim_that_falls_what_the_claims_say() {
    let page = include_str!("../docs/src/findings/widening.md");
    let table: Vec<_> = page.lines().filter_map(widened).collect();
    let named = |fall: &Fall| {
        let variant = if fall.variant.is_empty() { String::new() } else { format!(", {}", fall.variant) };
        let dropped = fall.dropped.map_or_else(String::new, |dropped| format!(", without {dropped}"));
        format!("{}{variant}{dropped}", fall.name)
    };
    let known: BTreeSet<(String, &str)> =
        FALLS.iter().map(|fall| (named(fall), fall.widening.in_words())).collect();
    for (claim, wider, falls) in &table {
        assert_eq!(known.contains(&(claim.clone(), *wider)), *falls, "{claim}, {wider}");
    }
    let counted = |mark: &str| table.len() > 800 && page.contains(mark);
    let fallen = table.iter().filter(|(_, _, falls)| *falls).count();
    assert!(counted(&format!("{fallen} fall")), "{fallen} of {} fall", table.len());
}

#[test]
fn the_readme_counts_what_there_is() {
    let count = locks().iter().filter(|lock| lock.is_lock()).count();
    let matrix = format!(
        "{count}0,000 runs of {count} locks: 1,000 runs of each lock under each of eight kinds of fault"
    );
    let catalogue = format!("the catalogue of {} known failures", scenarios().len());
    for said in [matrix, catalogue] {
        assert!(README.contains(&said), "the README should say: {said}");
    }
}

#[test]
fn the_catalogue_in_the_book_is_the_catalogue() {
    let mut text = CATALOGUE.to_owned();
    let mut system = "";
    for row in scenarios() {
        if row.system != system {
            system = row.system;
            let _ = write!(text, "\n## {}\n", title(system));
        }
        text += &section(&row);
    }
    is_kept(&root().join("docs/src/catalogue.md"), &text);
}

fn title(system: &str) -> &str {
    match system {
        "cassandra" => "Cassandra",
        "redis" => "Redis",
        "zookeeper" => "ZooKeeper",
        "objects" => "Objects, queues and streams",
        "dlm" => "The lock managers of VMS and Linux",
        "chubby" => "Chubby and Consul",
        // etcd writes itself so.
        other => other,
    }
}

/// What the repair is held to, if that is not what the row breaks.
fn held_to(row: &Scenario) -> Option<String> {
    let locks = locks();
    let named = |name: &str| locks.iter().find(|lock| lock.name() == name).expect("the lock is registered");
    let judged = match &row.fix_search {
        Search::Space { space, judgement } => named(space.lock).judged(space, judgement),
        Search::Seeds { lock, setup, .. } => named(lock).watched_in(setup),
    };
    let judged = judged.expect("the repair's setup is one of the lock");
    let names: Vec<&str> = judged.iter().map(Promise::name).collect();
    (!judged.contains(row.breaks)).then(|| names.join(", "))
}

fn section(row: &Scenario) -> String {
    let (story, fix, breaks) = (sentence(row.story), sentence(row.fix), row.breaks.name());
    let mut text = format!("\n### {}\n\n{story}\n\n- Breaks: {breaks}\n- Repair: {fix}\n", row.id);
    if let Some(names) = held_to(row) {
        let _ = writeln!(text, "- The repair is held to {names}, not to {breaks}.");
    }
    if !row.note.is_empty() {
        let _ = writeln!(text, "- Note: {}", sentence(row.note));
    }
    if let Some((_, why)) = UNHUNTED.iter().find(|(id, _)| *id == row.id) {
        let _ = writeln!(text, "- Random plans do not find it: {why}.");
    }
    text
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let stop = if words.ends_with('.') { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

/// `8,930,590`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(",")
}

/// What no claim and no widening has, and what shows it: a call of the command, or a test in which the number stands.
#[test]
fn every_number_of_steps_in_the_findings_is_the_length_of_a_shortest_counterexample() {
    let sizes = read(&root().join("tests/golden/sizes.txt"));
    let broken = sizes.lines().filter(|line| line.contains(": violated, "));
    let depth = |line: &str| line.rsplit("depth ").next().and_then(|depth| depth.parse::<u64>().ok());
    let lengths: BTreeSet<u64> = broken.filter_map(depth).collect();
    let mut named = 0;
    for (page, text) in pages() {
        let is_finding = page.parent().is_some_and(|folder| folder.ends_with("findings"));
        // That of the widenings is written by what measures them.
        if is_finding && !page.ends_with("widening.md") {
            for steps in numbers_before(&[" steps", "\nsteps"], &text) {
                assert!(lengths.contains(&steps), "{}: nothing breaks in {steps} steps", page.display());
                named += 1;
            }
        }
    }
    assert!(named > 10, "{named}");
}

#[test]
fn every_size_that_the_book_names_is_that_of_a_claim_of_a_widening_or_of_what_shows_it() {
    let golden = |name: &str| read(&root().join("tests/golden").join(name));
    let mut shown = sizes_in(&golden("sizes.txt"));
    let widening = read(&root().join("docs/src/findings/widening.md"));
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == ',';
    let of_widening = widening.split(|letter| !is_of_number(letter));
    shown.extend(of_widening.filter_map(|number| number.replace(',', "").parse::<u64>().ok()));
    let measured = golden("measured.txt");
    let mut measured: Vec<(u64, &str)> = measured
        .lines()
        .map(|line| line.split_once(' ').expect("a size, and what shows it"))
        .map(|(size, by)| (size.parse().expect("a number"), by))
        .collect();
    for (size, by) in &measured {
        if let Some(test) = by.strip_suffix(".rs") {
            let digits = size.to_string();
            let text = read(&root().join(format!("{test}.rs"))).replace('_', "");
            assert!(text.contains(&digits), "{by} does not say {size}");
        } else {
            assert!(by.starts_with("picklock check ") || by.starts_with("picklock theorems "), "{by}");
        }
    }
    let mut missing = Vec::new();
    for (page, text) in pages() {
        let mut sizes = sizes_in(&text);
        // The tables of other chapters say what earlier versions went through.
        if page.parent().is_some_and(|folder| folder.ends_with("findings")) {
            sizes.extend(sizes_in_columns(&text));
        }
        for size in sizes {
            let known = measured.iter().any(|(other, _)| *other == size);
            if !shown.contains(&size) && !known {
                missing.push(format!("{}: {size}", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "nothing shows these sizes: {missing:#?}");
    let pages = pages();
    let is_named = |size: u64| pages.iter().any(|(_, text)| text.contains(&grouped(size)));
    measured.retain(|(size, _)| !is_named(*size));
    assert!(measured.is_empty(), "the book does not name these any more: {measured:?}");
}
