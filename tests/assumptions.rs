//! The tables of assumptions in the book, held against the claims that they sum up: a cell is what came out where the assumption was
//! dropped, and an empty one is an assumption that no claim drops.

use picklock_model::claims::{Assumption, Expected, claims};

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

/// What the claims about a theorem say of one that is dropped.
fn came_out(theorem: &str, dropped: &[Assumption]) -> Option<&'static str> {
    let mut outcomes = claims()
        .into_iter()
        .filter(|claim| claim.theorem == theorem && claim.dropped == dropped)
        .map(|claim| claim.expected)
        .peekable();
    outcomes.peek()?;
    Some(if outcomes.any(|expected| expected == Expected::Violated) { "leans on" } else { "does not need" })
}

fn says_what_the_claims_say(page: &str, theorems: &[&str], rows: &[Row]) {
    for (begins, dropped) in rows {
        let line = page
            .lines()
            .find(|line| line.strip_prefix("| ").is_some_and(|row| row.starts_with(begins)))
            .unwrap_or_else(|| panic!("no row says {begins:?}"));
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).skip(1).collect();
        assert_eq!(cells.len(), theorems.len(), "{line}");
        for (cell, theorem) in cells.iter().zip(theorems) {
            for dropped in *dropped {
                match came_out(theorem, dropped) {
                    None => assert_eq!(*cell, "", "{theorem}: no claim drops {dropped:?}"),
                    Some(said) => {
                        assert!(
                            cell.starts_with(said),
                            "{theorem} without {dropped:?}: {said}, not {cell:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_book_says_of_each_assumption_of_the_cassandra_paper_what_the_claims_say() {
    let theorems = ["lemma-1", "theorem-1", "theorem-2", "theorem-3", "progress"];
    says_what_the_claims_say(include_str!("../docs/src/findings/cassandra.md"), &theorems, &OF_CASSANDRA);
}

#[test]
fn the_book_says_of_each_assumption_of_redlock_what_the_claims_say() {
    says_what_the_claims_say(
        include_str!("../docs/src/findings/redis.md"),
        &["redlock", "min-validity"],
        &OF_REDLOCK,
    );
}
