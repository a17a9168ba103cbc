//! The tables of assumptions in the book, held against the claims that they sum up: a cell is what came out where the assumption was
//! dropped, and an empty one is an assumption that no claim drops.

use picklock_model::claims::{Assumption, Claim, Expected, claims};

use Assumption::*;

/// How a row begins, and what is dropped for it: each by itself, or all of one list together.
type Row = (&'static str, &'static [&'static [Assumption]]);

const OF_CASSANDRA: [Row; 14] = [
    ("thread ids are unique", &[&[UniqueIds]]),
    ("a client's clock never steps back", &[&[NoClockStep]]),
    ("a client's clock never stands still", &[&[NoClockFreeze]]),
    ("clients' clocks agree", &[&[ClocksAgree]]),
    ("no cell expires", &[&[NoExpiry]]),
    ("no client pauses", &[&[NoPause]]),
    ("the last two together", &[&[NoExpiry, NoPause]]),
    ("acknowledged writes survive power loss", &[&[Durable]]),
    ("quorums meet", &[&[QuorumsMeet]]),
    ("reads start after the own write's acknowledgement", &[&[ReadAfterAck]]),
    ("no client crashes", &[&[NoCrash]]),
    ("no message is lost", &[&[NoLoss]]),
    ("no message arrives twice", &[&[NoDuplicate]]),
    ("the lock is free at the start", &[&[FreeAtStart]]),
];

const OF_REDLOCK: [Row; 8] = [
    ("no client pauses", &[&[NoPause]]),
    ("clocks drift apart by less than the margin", &[&[BoundedDrift]]),
    ("no server's wall clock is set", &[&[NoServerClockStep]]),
    ("keys survive a restart", &[&[Durable]]),
    ("a holder stops when its validity is over", &[&[StopsInTime]]),
    ("no key is evicted or flushed", &[&[KeysKept]]),
    ("the client's wall clock is not set", &[&[NoClockStep]]),
    ("clocks agree", &[&[ClocksAgree]]),
];

const OF_ZOOKEEPER: [Row; 9] = [
    ("no client pauses", &[&[NoPause]]),
    ("no message is lost", &[&[NoLoss]]),
    ("… and a holder goes on without one", &[&[NoLoss, StopsInTime]]),
    ("clocks drift by less than a session allows", &[&[BoundedDrift]]),
    ("the servers' logs are synced", &[&[Durable]]),
    ("no client crashes", &[&[NoCrash]]),
    ("sessions do not end", &[&[NoExpiry]]),
    (
        "clocks agree, no client's is set, nor a server's",
        &[&[ClocksAgree], &[NoClockStep], &[NoServerClockStep]],
    ),
    ("no message arrives twice", &[&[NoDuplicate]]),
];

const OF_READERS_AND_PERMITS: [Row; 10] = [
    ("no client pauses", &[&[NoPause]]),
    ("no message is doubled", &[&[NoDuplicate]]),
    ("no message is lost", &[&[NoLoss]]),
    ("no client crashes", &[&[NoCrash]]),
    ("the clients' clocks agree", &[&[ClocksAgree]]),
    ("no client's clock is set", &[&[NoClockStep]]),
    ("no server's clock is set", &[&[NoServerClockStep]]),
    ("clocks drift", &[&[BoundedDrift]]),
    ("keys survive a restart, none is flushed", &[&[Durable], &[KeysKept]]),
    ("a holder stops when its lease is over", &[&[StopsInTime]]),
];

/// A column: the claims about a theorem, and of several variants of the lock those of this one.
type Column = (&'static str, Option<&'static str>);

/// What the claims of a column say of what is dropped.
fn came_out((theorem, variant): Column, dropped: &[Assumption]) -> Option<&'static str> {
    let of_column: Vec<Claim> = claims()
        .into_iter()
        .filter(|claim| claim.theorem == theorem && claim.dropped == dropped)
        .filter(|claim| variant.is_none_or(|variant| claim.variant == variant))
        .collect();
    let any = |expected| of_column.iter().any(|claim| claim.expected == expected);
    let of_clocks = [ClocksAgree, NoClockStep, NoServerClockStep];
    let is_of_clocks = of_clocks.iter().any(|assumption| dropped == [*assumption]);
    match of_column.is_empty() {
        true => None,
        false if any(Expected::Violated) => Some("leans on"),
        false if any(Expected::Holds) => Some("does not need"),
        false if is_of_clocks => Some("no clock is read"),
        false => Some("not put to the test"),
    }
}

fn says_what_the_claims_say(page: &str, columns: &[Column], rows: &[Row]) {
    for (begins, dropped) in rows {
        let line = page
            .lines()
            .find(|line| line.strip_prefix("| ").is_some_and(|row| row.starts_with(begins)))
            .unwrap_or_else(|| panic!("no row says {begins:?}"));
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).skip(1).collect();
        assert_eq!(cells.len(), columns.len(), "{line}");
        for (cell, column) in cells.iter().zip(columns) {
            for dropped in *dropped {
                match came_out(*column, dropped) {
                    None => assert_eq!(*cell, "", "{column:?}: no claim drops {dropped:?}"),
                    Some(said) => {
                        assert!(
                            cell.starts_with(said),
                            "{column:?} without {dropped:?}: {said}, not {cell:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_book_says_of_each_assumption_of_the_cassandra_paper_what_the_claims_say() {
    let columns =
        ["lemma-1", "theorem-1", "theorem-2", "theorem-3", "progress"].map(|theorem| (theorem, None));
    says_what_the_claims_say(include_str!("../docs/src/findings/cassandra.md"), &columns, &OF_CASSANDRA);
}

#[test]
fn the_book_says_of_each_assumption_of_redlock_what_the_claims_say() {
    says_what_the_claims_say(
        include_str!("../docs/src/findings/redis.md"),
        &[("redlock", None), ("min-validity", None)],
        &OF_REDLOCK,
    );
}

#[test]
fn the_book_says_of_each_assumption_of_the_zookeeper_recipe_what_the_claims_say() {
    let columns = ["zookeeper", "zookeeper-fifo", "zookeeper-progress"].map(|theorem| (theorem, None));
    says_what_the_claims_say(include_str!("../docs/src/findings/zookeeper.md"), &columns, &OF_ZOOKEEPER);
}

#[test]
fn the_book_says_of_each_assumption_of_the_other_locks_on_redis_what_the_claims_say() {
    const HEAD: &str = "| assumption | readers-writer, counted |";
    let page = include_str!("../docs/src/findings/redis.md");
    let Some((_, table)) = page.split_once(HEAD) else { panic!("no table begins {HEAD:?}") };
    let columns = [
        ("readers-writer", Some("counted")),
        ("readers-writer", Some("an entry each")),
        ("semaphore", Some("the clients' clocks")),
        ("semaphore", Some("the server's clock")),
    ];
    says_what_the_claims_say(table, &columns, &OF_READERS_AND_PERMITS);
}
