//! Stores know no lock: what a key, a row or a path is for, its users know, and say beside the lock.

use std::fs;
use std::path::{Path, PathBuf};

/// The stores that this is about. The feedback store is a lock service, and may speak of locks.
const STORES: [&str; 4] = ["redis", "zookeeper", "cassandra", "etcd"];

/// What no store speaks of: words, and beginnings of words that go on with a capital letter, an underscore or a number.
const FOREIGN: [&str; 5] = ["lock", "locks", "locked", "locking", "listing"];

/// The same, as phrases.
const FOREIGN_PHRASES: [&str; 2] = ["queue of waiters", "locknode"];

/// Events of locks, which a store leaves to [`picklock_model::machine::Lock::means`].
const EVENTS: [&str; 2] = ["effects.record(", "out.record("];

/// Where such a word is in place all the same, and why.
const EXCEPTIONS: [(&str, &str, &str); 1] = [(
    "cassandra/protocol.rs",
    "crate::machine::Lock::carries_stamps_over",
    "the contract that a client's machine, whatever it is, keeps with the search",
)];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("it can be read"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let is_test = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == "tests");
    let (folders, files): (Vec<_>, Vec<_>) =
        paths.into_iter().filter(|path| !is_test(path)).partition(|path| path.is_dir());
    files.into_iter().chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

/// The words of a line: `LockId`, `SET_LOCK` and `lock_key` have a `lock` in them, `clock` and `block` have none.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in line.chars() {
        if !letter.is_alphabetic() || (was_small && letter.is_uppercase()) {
            words.push(String::new());
        }
        if letter.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        was_small = letter.is_lowercase();
    }
    words
}

fn is_foreign(line: &str) -> bool {
    let small = line.to_lowercase();
    words(line).iter().any(|word| FOREIGN.contains(&word.as_str()))
        || FOREIGN_PHRASES.iter().any(|phrase| small.contains(phrase))
        || EVENTS.iter().any(|call| line.contains(call))
}

#[test]
fn no_store_speaks_of_a_lock() {
    let stores = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/stores");
    let mut found = Vec::new();
    let (mut lines, mut excepted) = (0, 0);
    for path in STORES.iter().flat_map(|store| sources(&stores.join(store))) {
        let text = fs::read_to_string(&path).expect("it can be read");
        let name = path.strip_prefix(&stores).expect("it is below").display().to_string();
        for (place, line) in text.lines().enumerate() {
            lines += 1;
            let is_exception = |(file, part, _): &&(&str, &str, &str)| *file == name && line.contains(*part);
            match (is_foreign(line), EXCEPTIONS.iter().find(is_exception)) {
                (true, None) => found.push(format!("{name}:{}: {}", place + 1, line.trim())),
                (true, Some(_)) => excepted += 1,
                (false, _) => {}
            }
        }
    }
    assert!(found.is_empty(), "a store speaks of locks:\n{}", found.join("\n"));
    assert!(lines > 5_000, "only {lines} lines were read");
    assert_eq!(excepted, EXCEPTIONS.len(), "an exception that nothing needs any more");
}

#[test]
fn a_lock_is_found_in_whatever_way_it_is_written() {
    for line in
        ["Lock(u8)", "LockId", "the lock's parent", "fn lock_key(", "SET_LOCK", "Listing 5", "/_locknode_0"]
    {
        assert!(is_foreign(line), "{line}");
    }
    for line in
        ["a wall clock", "ReadRepair::Blocking", "BlockingReadRepair", "session_clock", "CLOCK", "unblocked"]
    {
        assert!(!is_foreign(line), "{line}");
    }
}
