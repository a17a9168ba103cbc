//! The README and the book in `docs/`: that what they are generated from, link to and quote is there, and says the same.
//!
//! That the command takes every call that they show is tested where the command is built, in `sim/tests/examples.rs`.

use crate::scenarios::is_kept;
use picklock_model::claims::{Known, MATRIX, Scenario, UNHUNTED, scenarios};
use picklock_properties::Promise;
use picklock_sim::registry::locks;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const README: &str = include_str!("../README.md");
const LOCKS: &str = include_str!("../docs/src/locks.md");

/// What a reader who knows none of the sources must be told at the first mention of one, in every chapter.
const SOURCES: [(&str, &str); 5] = [
    ("document 000", "\"The Cassandra queue lock\""),
    ("document 001", "\"Distributed Locks with Redis\""),
    ("document 002", "\"Heterogeneous concurrent exactly-once processing of data in real time\""),
    ("document 003", "\"ZooKeeper, or writing a distributed lock service\""),
    ("document 004", "\"Distributed lock manager\""),
];

const CATALOGUE: &str = "\
# The catalogue of known failures

<!-- Written by tests/docs.rs: PICKLOCK_UPDATE_GOLDEN=1 cargo test --test suite docs:: -->

Each row is a failure of a lock, the promise that it breaks, and a repair. `picklock scenarios` finds each failure again, in a small
world or by seeds, and runs the same search on the repaired lock, where it must find nothing. `picklock scenarios Z9` does so for one
row and says in what world; `picklock replay Z9` shows the run.

Steps and lines are those of the lock's description: see [Sources](sources.md).
";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The README and every chapter of the book: where it lies, and what it says.
fn pages() -> Vec<(PathBuf, String)> {
    let mut files = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the book is part of the repository") {
            let path = entry.expect("it can be listed").path();
            match path.extension() {
                None => folders.push(path),
                Some(extension) if extension == "md" => files.push(path),
                Some(_) => {}
            }
        }
    }
    files.sort();
    let read = |file: PathBuf| {
        let text =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (file, text)
    };
    files.into_iter().map(read).collect()
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
fn whoever_first_reads_of_a_document_is_told_which_it_is() {
    for (page, text) in pages() {
        if page.ends_with("sources.md") {
            continue;
        }
        let lowercase = text.to_lowercase();
        for (document, title) in SOURCES {
            let Some(place) = lowercase.find(document) else { continue };
            let told = format!("[{document}, {title}](");
            // The mention begins behind the bracket.
            let begins = lowercase[..place].ends_with('[')
                && lowercase[place - 1..].replace('\n', " ").starts_with(&told.to_lowercase());
            assert!(begins, "{} speaks of {document} before it says {told}…)", page.display());
        }
    }
    let (_, sources) =
        pages().into_iter().find(|(page, _)| page.ends_with("sources.md")).expect("a chapter of sources");
    for (document, title) in SOURCES {
        let heading = format!("## {}", document.replacen('d', "D", 1));
        let section = sources.split_once(&heading).unwrap_or_else(|| panic!("no section {heading}")).1;
        let section = section.split("\n## ").next().unwrap_or_default().replace('\n', " ");
        assert!(section.contains(title), "{heading} does not say {title}");
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

#[test]
fn the_book_names_every_lock_and_each_fault_that_is_known_to_break_its_mutual_exclusion_and_the_readme_agrees()
 {
    let table = table_of_locks(LOCKS);
    for row in table_of_locks(README) {
        assert!(table.contains(&row), "the README says otherwise of {}", row.0);
    }
    for lock in locks().iter().filter(|lock| lock.is_lock()) {
        assert!(table.iter().any(|(name, _)| *name == lock.name()), "no row for {}", lock.name());
    }
    for (name, cells) in table {
        assert!(locks().iter().any(|lock| lock.name() == name), "{name} is no lock");
        let named: Vec<&str> = cells[1].split(", ").collect();
        let breaks = MATRIX.into_iter().flatten().filter(|cell| cell.lock == name && cell.fault != "all");
        for cell in breaks.filter(|cell| cell.promise == Promise::MutualExclusion) {
            let is_named = named.contains(&cell.fault);
            match cell.known {
                Known::Broken => assert!(is_named, "{name}: {} breaks it as well", cell.fault),
                Known::Kept | Known::Verified { .. } => assert!(!is_named, "{name}: {}", cell.fault),
            }
        }
    }
}

#[test]
fn the_readme_counts_what_there_is() {
    let count = locks().iter().filter(|lock| lock.is_lock()).count();
    let matrix = format!("{count}0,000 runs of {count} locks, 1,000 under each kind of fault");
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

fn section(row: &Scenario) -> String {
    let (story, fix, breaks) = (sentence(row.story), sentence(row.fix), row.breaks.name());
    let mut text = format!("\n### {}\n\n{story}\n\n- Breaks: {breaks}\n- Repair: {fix}\n", row.id);
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
