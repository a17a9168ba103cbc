//! How many of 1,000 runs of `picklock matrix` break which promise (`golden/counts.txt`), and that the book says so.
//!
//! The test that writes `known_runs.txt` again writes these, too. Every day one lock's runs are counted again; with `PICKLOCK_LONG=1`
//! those of all locks.

use crate::docs::{files, root};
use crate::evidence::{is_long, lock, sweep};
use crate::known_runs::{fault_rows, faults_of, watched};
use picklock_properties::Promise;
use picklock_sim::registry::{AnyLock, locks};
use picklock_sim::sweep::SweepReport;
use std::collections::{BTreeMap, BTreeSet};

/// How many runs each cell has.
pub const RUNS: u64 = 1000;

/// Whose runs are counted again every day: no lock's are cheaper; and one that hands out tokens.
const EVERY_DAY: [&str; 2] = ["redis-single", "redlock-fenced"];

/// What the golden file begins with.
pub const HEAD: &str = "# Written by tests/known_runs.rs: LOCK FAULT PROMISE, and how many of 1,000 runs broke it; \
                        –: none could have. Not here: none did.\n";

const COUNTS: &str = include_str!("golden/counts.txt");

/// A lock, a fault, and what runs with it break.
type Cell = (&'static str, &'static str, Promise);

/// What the prose says of runs: on which page, in which words, and of which cells the numbers are, each a `#` there.
const SAID: &[(&str, &str, &[Cell])] = &[
    (
        "cassandra.md",
        "# runs in 1,000 have two holders,",
        &[("cassandra-lwt-shipped", "power-loss", Promise::MutualExclusion)],
    ),
    (
        "etcd.md",
        "The election as written got stuck in # of 1,000 runs with lost messages, repaired in none.",
        &[("etcd-election", "loss", Promise::DeadlockFreedom)],
    ),
    (
        "etcd.md",
        "The lock on one key got stuck in # of 1,000 runs without any fault.",
        &[("etcd-lease-key", "none", Promise::DeadlockFreedom)],
    ),
    (
        "lock-managers.md",
        "the readers-writer lock in # of 1,000 runs with pauses and in # with partitions, two locks in # and #",
        &[
            ("dlm-readers-writer", "pause", Promise::MutualExclusion),
            ("dlm-readers-writer", "partition", Promise::MutualExclusion),
            ("dlm-two", "pause", Promise::MutualExclusion),
            ("dlm-two", "partition", Promise::MutualExclusion),
        ],
    ),
];

/// The lines of a lock under a fault.
pub fn lines(lock: &dyn AnyLock, fault: &str, report: &SweepReport) -> String {
    let line = |promise: Promise| {
        let broken = report.broken.get(&promise).copied().unwrap_or(0);
        let count = match (broken, report.tested.times(promise)) {
            (0, 0) => "–".to_owned(),
            (0, _) => return None,
            (broken, _) => broken.to_string(),
        };
        Some(format!("{} {fault} {promise} {count}\n", lock.name()))
    };
    watched(lock).iter().filter_map(line).collect()
}

/// The line of its tokens, which the matrix does not watch: in how many runs they do not grow. None where it hands out none.
pub fn line_of_tokens(lock: &dyn AnyLock, fault: &str) -> Option<String> {
    let broken = tokens_out_of_order(lock, fault, RUNS)?;
    (broken > 0).then(|| format!("{} {fault} {} {broken}\n", lock.name(), Promise::TokenOrder))
}

/// In how many of so many runs; `None`: none of them hands out two.
fn tokens_out_of_order(lock: &dyn AnyLock, fault: &str, runs: u64) -> Option<u64> {
    let promise = Promise::TokenOrder;
    let setup = lock.setup(Some([promise].into_iter().collect()));
    let report = sweep(lock.name(), &setup, faults_of(fault), 0..runs, true);
    (report.tested.times(promise) > 0).then(|| report.broken.get(&promise).copied().unwrap_or(0))
}

/// By lock, fault and promise, what the golden file says: a number, or `–`.
struct Counts(BTreeMap<(&'static str, &'static str, &'static str), &'static str>);

impl Counts {
    fn read() -> Counts {
        let parsed = |line: &'static str| {
            let words: Vec<&str> = line.split(' ').collect();
            let &[lock, fault, promise, count] = words.as_slice() else { panic!("{line}") };
            ((lock, fault, promise), count)
        };
        Counts(COUNTS.lines().filter(|line| !line.starts_with('#')).map(parsed).collect())
    }

    fn of(&self, lock: &str, fault: &str, promise: &str) -> &'static str {
        self.0.get(&(lock, fault, promise)).copied().unwrap_or("0")
    }
}

/// Whether a cell of a table says so. A row of the catalogue, `known` or ✓ stands where no run broke it; a dot, too, but some could have.
fn is_so(said: &str, count: &str) -> bool {
    match (said.bytes().all(|byte| byte.is_ascii_digit()), count) {
        (true, _) => said == count && count != "0",
        (false, "–") => said != "·",
        (false, "0") => said != "–",
        (false, _) => false,
    }
}

/// A line of a table: `| one | other |`.
fn cells(line: &str) -> Vec<&str> {
    let row = line.strip_prefix('|').and_then(|row| row.strip_suffix('|'));
    row.map_or_else(Vec::new, |row| row.split('|').map(str::trim).collect())
}

#[test]
fn the_tables_of_the_findings_say_how_many_runs_broke_each_promise() {
    let (counts, rows) = (Counts::read(), fault_rows());
    let known: BTreeSet<&str> = counts.0.keys().map(|(lock, _, _)| *lock).collect();
    let (mut compared, mut wrong) = (0, Vec::new());
    for (page, text) in files(&root().join("docs/src"), "md") {
        let mut promise = None;
        for (line, text) in (1..).zip(text.lines()) {
            let cells = cells(text);
            let (Some((head, said)), true) = (cells.split_first(), cells.len() == rows.len() + 1) else {
                promise = None;
                continue;
            };
            if said == rows.as_slice() {
                promise = Some(*head);
            }
            let name = head.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
            let (Some(promise), Some(name)) = (promise, name) else { continue };
            assert!(known.contains(name), "{}:{line}: nobody counted the runs of {name}", page.display());
            for (fault, said) in rows.iter().zip(said) {
                let count = counts.of(name, fault, promise);
                if !is_so(said, count) {
                    let page = page.display();
                    wrong.push(format!(
                        "{page}:{line}: {name}, {fault}, {promise}: it says {said}, and counts.txt {count}"
                    ));
                }
                compared += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(compared > 800, "{compared} cells");
}

/// Where a page has these words, of which each that begins with `#` is any number: the line, and the numbers, each with its own line.
fn found<'a>(page: &'a str, sought: &str) -> Vec<Vec<(usize, &'a str)>> {
    let words_of = |(line, text): (usize, &'a str)| text.split_whitespace().map(move |word| (line, word));
    let words: Vec<(usize, &str)> = (1..).zip(page.lines()).flat_map(words_of).collect();
    let sought: Vec<&str> = sought.split_whitespace().collect();
    let number = |word: &'a str| word.trim_matches(|letter: char| letter.is_ascii_punctuation());
    let is_number = |word: &str| word.starts_with(|letter: char| letter.is_ascii_digit());
    let is_it = |part: &&[(usize, &'a str)]| {
        part.iter().zip(&sought).all(|((_, word), sought)| match *sought {
            "#" => is_number(number(word)),
            sought => *word == sought,
        })
    };
    let numbers = |part: &[(usize, &'a str)]| {
        let both = part.iter().zip(&sought).filter(|(_, sought)| **sought == "#");
        both.map(|((line, word), _)| (*line, number(word))).collect()
    };
    words.windows(sought.len()).filter(is_it).map(numbers).collect()
}

#[test]
fn the_prose_of_the_findings_says_how_many_runs_broke_a_promise() {
    let counts = Counts::read();
    let (mut wrong, mut known) = (Vec::new(), BTreeSet::new());
    let pages = files(&root().join("docs/src/findings"), "md");
    for (name, words, cells) in SAID {
        let (page, text) = pages.iter().find(|(page, _)| page.ends_with(name)).expect("the page is there");
        let found = found(text, words);
        let [said] = found.as_slice() else { panic!("{}: once it says: {words}", page.display()) };
        assert_eq!(said.len(), cells.len(), "{words}");
        for ((line, said), (lock, fault, promise)) in said.iter().zip(*cells) {
            let count = counts.of(lock, fault, promise.name());
            known.insert((page, *line));
            if *said != count {
                let page = page.display();
                wrong.push(format!(
                    "{page}:{line}: {lock}, {fault}, {promise}: it says {said}, and counts.txt {count}"
                ));
            }
        }
    }
    for (page, text) in &pages {
        let all = ["# of 1,000 runs", "# runs in 1,000"].into_iter().flat_map(|words| found(text, words));
        for (line, said) in all.flatten().filter(|(line, _)| !known.contains(&(page, *line))) {
            wrong.push(format!(
                "{}:{line}: it says {said} of 1,000 runs, and SAID has it not",
                page.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_lock_that_is_run_again_breaks_as_many_promises_as_were_counted() {
    if std::env::var_os("PICKLOCK_UPDATE_GOLDEN").is_some() {
        return;
    }
    let chosen = if is_long() { locks() } else { EVERY_DAY.map(lock).into() };
    for lock in chosen.iter().filter(|lock| lock.is_lock()) {
        let setup = lock.setup(Some(watched(lock.as_ref())));
        let of_fault = |fault: &&str| {
            let report = sweep(lock.name(), &setup, faults_of(fault), 0..RUNS, true);
            lines(lock.as_ref(), fault, &report) + &line_of_tokens(lock.as_ref(), fault).unwrap_or_default()
        };
        let again: String = fault_rows().iter().map(of_fault).collect();
        let begins = format!("{} ", lock.name());
        let counted = COUNTS.lines().filter(|line| line.starts_with(&begins));
        assert_eq!(again.lines().collect::<Vec<_>>(), counted.collect::<Vec<_>>());
    }
}

#[test]
fn the_table_of_tokens_names_every_lock_that_hands_them_out() {
    let page = crate::docs::read(&root().join("docs/src/findings/tokens.md"));
    let heads = page.lines().filter_map(|line| cells(line).first().copied());
    let told: BTreeSet<&str> = heads.filter_map(|head| head.strip_prefix('`')?.strip_suffix('`')).collect();
    let hands_out = |lock: &dyn AnyLock| tokens_out_of_order(lock, "none", 20).is_some();
    let all = locks();
    let handing_out = all.iter().filter(|lock| lock.is_lock() && hands_out(lock.as_ref()));
    assert_eq!(told, handing_out.map(|lock| lock.name()).collect());
}
