//! Stores know no lock: what a key, a row or a path is for, its users know, and say beside the lock.
//!
//! - no store's source has a word of locks
//! - names of one's own want no change of a store, and take no more bytes than they must
//!
//! Engines know no lock either: they run systems.

use picklock_model::locks::zookeeper_paths::{parent_path, place_path, work_path};
use picklock_model::locks::{CassandraQueue, RedisSingle};
use picklock_model::machine::{Context, Effects, Lock, Store};
use picklock_model::names::{Word, Words};
use picklock_model::stores::zookeeper::{Guid, Name, Path, Suffix};
use picklock_model::time::{Monotonic, Wall};
use picklock_properties::LockId;
use std::fs;
use std::path::{Path as File, PathBuf};

/// The stores that this is about. The feedback store is a lock service, and may speak of locks.
const STORES: [&str; 5] = ["redis", "zookeeper", "cassandra", "etcd", "memory"];

/// What no store speaks of: words, and beginnings of words that go on with a capital letter, an underscore or a number.
const FOREIGN: [&str; 5] = ["lock", "locks", "locked", "locking", "listing"];

/// The same, as phrases.
const FOREIGN_PHRASES: [&str; 2] = ["queue of waiters", "locknode"];

/// Events of locks, which a store leaves to [`picklock_model::machine::Lock::means`].
const EVENTS: [&str; 2] = ["effects.record(", "out.record("];

/// Where such a word is in place all the same, and why.
const EXCEPTIONS: [(&str, &str, &str); 9] = [
    (
        "cassandra/protocol.rs",
        "crate::machine::Lock::carries_stamps_over",
        "the contract that a client's machine, whatever it is, keeps with the search",
    ),
    ("redis/mod.rs", "*Distributed Locks with Redis*", "the title of a source"),
    ("redis/protocol.rs", "*Distributed Locks with Redis*", "the title of a source"),
    ("zookeeper/mod.rs", "*ZooKeeper, or writing a distributed lock service*", "the title of a source"),
    ("zookeeper/protocol.rs", "*ZooKeeper, or writing a distributed lock service*", "the title of a source"),
    ("zookeeper/settings.rs", "*ZooKeeper, or writing a distributed lock service*", "the title of a source"),
    ("zookeeper/session.rs", "*ZooKeeper, or writing a distributed lock", "the title of a source"),
    ("cassandra/mod.rs", "*The Cassandra queue lock*", "the title of a source"),
    ("cassandra/protocol.rs", "*The Cassandra queue lock*", "the title of a source"),
];

fn sources(folder: &File) -> Vec<PathBuf> {
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
    let stores = File::new(env!("CARGO_MANIFEST_DIR")).join("src/stores");
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

/// What one entry of the first server does, told in its own words and put down as it stores it.
fn entered<S: Store>(
    server: &mut S,
    settings: &S::Settings,
    request: S::Request,
) -> (Vec<S::Change>, Vec<String>) {
    let mut effects = Effects::<S>::default();
    let cx = Context { me: 0, servers: 1, wall: Wall(1), monotonic: Monotonic(1), choice: 0, settings };
    server.on_request(0, request, &cx, &mut effects);
    (effects.changes, server.contents())
}

#[test]
fn a_third_key_wants_a_word_and_no_other_server() {
    use picklock_model::stores::redis::{Change, Command, Key, Redis, Request, Settings, Value};
    const WORDS: Words = Words { names: &["lock", "counter", "tickets_{}"], labels: &[] };
    let (key, value) = (Key { word: Word(2), number: 0 }, Value::Integer(7));
    let settings = Settings::default();
    let command = Command::Set { key, value, if_absent: false, ttl: None };
    let request = Request { serial: 1, command, wait: false };
    assert_eq!(WORDS.fill_in(&request.to_string()), "SET tickets_0 7");
    let (changes, contents) = entered(&mut Redis::new(0, 1, &settings), &settings, request);
    assert_eq!(changes, [Change::Came { key, value, alone: true }]);
    assert_eq!(RedisSingle::means(&changes[0], 0), None, "it is no lock's");
    assert_eq!(WORDS.fill_in(&contents[0]), "tickets_0 = 7");
}

#[test]
fn another_table_wants_a_word_and_no_other_server() {
    use picklock_model::stores::cassandra::{
        Cassandra, Change, ColumnName, Mutation, Operation, Prefix, Request, Row, Settings, Target, ThreadId,
        Value, Written,
    };
    const WORDS: Words = Words { names: &["M", "Q", "S", "T", "readers"], labels: &["owner"] };
    let row = Row { table: Word(4), key: 1 };
    let target = Target::Column(ColumnName { prefix: Prefix::None, thread: ThreadId(0) });
    let change = Change::Put { value: Value::EMPTY, ttl_seconds: None };
    let mutation = Mutation { row, target, change, timestamp: Some(Wall(5)) };
    let request = Request { serial: 1, operation: Operation::Write(mutation) };
    let settings = Settings::default();
    let (changes, contents) = entered(&mut Cassandra::new(0, 1, &settings), &settings, request);
    assert_eq!(changes, [Written::Put { row, client: 0 }, Written::Kept { row, client: 0 }]);
    for change in &changes {
        assert_eq!(CassandraQueue::means(change, 0), None, "it is no queue and no main row");
    }
    assert_eq!(WORDS.fill_in(&contents[0]), "readers1: tA@5us");
}

#[test]
fn a_path_is_packed_into_few_bytes_and_keeps_its_place_in_the_order() {
    let lock = LockId(0);
    let guid = Some(Guid { client: 1, serial: 7 });
    let numbered = place_path(lock, guid).with_suffix(Some(Suffix::Number(3)));
    let other = Path::Child {
        parent: Name { word: Word(5), number: 2 },
        label: Word(3),
        guid: None,
        suffix: Some(Suffix::Order(300)),
    };
    // Traces have a hash, which is of these bytes.
    let packed: [(Path, &[u8]); 7] = [
        (Path::Root, &[0]),
        (parent_path(lock), &[1, 0]),
        (place_path(lock, None), &[2, 0, 0, 0]),
        (numbered, &[2, 0, 1, 1, 7, 1, 0, 6]),
        (work_path(lock), &[3, 0]),
        (Path::top(Word(5), 2), &[11, 2]),
        (other, &[12, 2, 6, 1, 1, 172, 2]),
    ];
    for (path, bytes) in packed {
        assert_eq!(postcard::to_stdvec(&path).expect("it can be packed"), bytes, "{path}");
        assert_eq!(postcard::from_bytes::<Path>(bytes).expect("it was packed"), path);
    }
    assert!(packed.is_sorted_by_key(|(path, _)| *path));
    let words = Words { names: &["", "", "", "", "", "readers-{}"], labels: &["", "", "", "read-"] };
    assert_eq!(words.fill_in(&other.to_string()), "/readers-2/read-0000000300");
}

/// The engines, and what shows and repeats their runs. From this crate's folder.
const ENGINES: [&str; 13] = [
    "src/world.rs",
    "src/world",
    "src/cluster.rs",
    "src/canonical.rs",
    "src/canonical",
    "src/explore",
    "src/trace.rs",
    "../sim/engine/src/seeded",
    "../sim/engine/src/plans",
    "../sim/engine/src/report/text",
    "../sim/report/src",
    "../sim/engine/src/sweep",
    "../sim/engine/src/sweep.rs",
];

/// How one would get at a lock, a store or the application of either.
const LOCKS: [&str; 6] = [
    "crate::locks",
    "crate::stores",
    "crate::objects",
    "picklock_model::locks",
    "picklock_model::stores",
    "workload::Client",
];

/// What else runs and shows runs, and what of the engines is not above.
const REPORTS: [&str; 2] = ["../sim/engine/src/report", "../sim/src/hosted"];

/// The lines of code of these files, without comments and tests.
fn code(places: &[&str], mut look: impl FnMut(&File, &str)) -> usize {
    let root = File::new(env!("CARGO_MANIFEST_DIR"));
    let mut looked_at = 0;
    for place in places {
        let path = root.join(place);
        let files = if path.is_dir() { sources(&path) } else { vec![path] };
        for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
            let text = fs::read_to_string(file).expect("it can be read");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                looked_at += 1;
                look(file, line);
            }
        }
    }
    looked_at
}

#[test]
fn no_engine_names_a_lock_a_store_or_an_object() {
    let looked_at = code(&ENGINES, |file, line| {
        assert!(!LOCKS.iter().any(|name| line.contains(name)), "{}: {line}", file.display());
        let imports_lock = line.contains("machine::") && words(line).contains(&"lock".to_owned());
        assert!(!imports_lock, "{}: {line}", file.display());
    });
    assert!(looked_at > 4000, "{looked_at} lines");
}

/// Whether a line of code names an event, or makes its names known: `Event::Granted`, and not `Event::client` or `WatchEvent::Put`.
fn names_an_event(line: &str) -> bool {
    let is_whole = |before: &str| !before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    let goes_on =
        |after: &str| after.starts_with(|letter: char| letter.is_uppercase() || "{*".contains(letter));
    line.match_indices("Event::")
        .any(|(place, name)| is_whole(&line[..place]) && goes_on(&line[place + name.len()..]))
        || line.contains("Event as ")
}

/// A new system's events are counted, told and heeded by what they say of themselves.
#[test]
fn no_engine_names_an_event() {
    let places = [&ENGINES[..], &REPORTS[..]].concat();
    let mut found = Vec::new();
    let looked_at = code(&places, |file, line| {
        if names_an_event(line) {
            found.push(format!("{}: {}", file.display(), line.trim()));
        }
    });
    assert!(found.is_empty(), "an engine names an event:\n{}", found.join("\n"));
    assert!(looked_at > 8000, "{looked_at} lines");
    assert!(names_an_event("Event::Granted { .. } => {}") && names_an_event("use x::Event::*;"));
    assert!(!names_an_event("map(Event::client)") && !names_an_event("WatchEvent::Put(kv)"));
}
