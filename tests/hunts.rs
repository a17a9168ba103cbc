//! How many seeds random plans take to find some rows of the catalogue (`golden/hunts.txt`), and that the book says so.
//!
//! Every day the rows that are found soon are hunted again; with `PICKLOCK_LONG=1` all of them.

use crate::docs::{read, root};
use crate::evidence::{first_seed, is_long};
use crate::scenarios::is_golden_file;
use picklock_model::claims::{Scenario, scenarios};
use picklock_sim::plans::fault::{FaultKind, FaultSet};

/// What `picklock hunt` does unless told otherwise.
const STARTS: u64 = 20;
const SEEDS_MAX: u64 = 10_000;
const FROM_START_TO_START: u64 = 1_000_000;

const EVERY_DAY: [&str; 3] = ["R1", "Z3", "Z4"];

const HEAD: &str = "# Written by tests/hunts.rs: ROW, and the median, the least and the most of the seeds that 20 starts took to find it.\n";

const HUNTS: &str = include_str!("golden/hunts.txt");

/// By row, the three numbers.
fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = HUNTS.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(' ').expect("a row, and numbers"))
}

/// The three numbers of a row. The median of an even number is the lower one of the two in the middle.
fn hunted(row: &Scenario) -> String {
    let hunt = row.hunt.as_ref().expect("the row is hunted");
    let kind = |name: &&str| name.parse::<FaultKind>().expect("a kind of fault");
    let faults: FaultSet = hunt.faults.iter().map(kind).collect();
    let tried_from = |start: u64| {
        let first = start * FROM_START_TO_START;
        let (found, tried) = first_seed(hunt.lock, &hunt.setup, faults, first..first + SEEDS_MAX, row.breaks);
        assert!(found.is_some(), "{}: start {start} did not find it", row.id);
        tried
    };
    let mut tried: Vec<u64> = (0..STARTS).map(tried_from).collect();
    tried.sort_unstable();
    let [.., most] = tried.as_slice() else { unreachable!("there are starts") };
    format!("{} {} {most}", tried[(tried.len() - 1) / 2], tried[0])
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn rows_that_are_hunted_again_take_as_many_seeds() {
    let rows = scenarios();
    let mut again = HEAD.to_owned();
    for (id, counted) in known() {
        let row = rows.iter().find(|row| row.id == id).expect("it is in the catalogue");
        let is_due = is_long() || EVERY_DAY.contains(&id);
        let numbers = if is_due { hunted(row) } else { counted.to_owned() };
        again += &format!("{id} {numbers}\n");
    }
    is_golden_file("hunts.txt", &again);
}

#[test]
fn the_chapter_of_hunts_says_how_many_seeds_they_take() {
    let findings = root().join("docs/src/findings");
    let (page, zookeeper) = (read(&findings.join("hunting.md")), read(&findings.join("zookeeper.md")));
    let (mut shown, mut in_general) = (0, 0);
    for (line, text) in (1..).zip(page.lines()) {
        let cells: Vec<&str> = text.split('|').map(str::trim).collect();
        let Some((_, counted)) = known().find(|(id, _)| cells.get(1) == Some(id)) else { continue };
        match cells.as_slice() {
            [_, id, _, _, median, least, most, _] => {
                let said = format!("{median} {least} {most}");
                assert_eq!(said, counted, "hunting.md:{line}: {id} took other numbers of seeds");
                shown += 1;
            }
            [_, id, median, ..] => {
                let counted = counted.split(' ').next();
                assert_eq!(Some(*median), counted, "hunting.md:{line}: the median of {id} is another one");
                in_general += 1;
            }
            _ => {}
        }
    }
    assert_eq!(shown, known().count(), "each row of hunts.txt stands once in the table");
    assert!(in_general > 2, "{in_general}");
    let (_, counted) = known().find(|(id, _)| *id == "Z20").expect("it was hunted");
    let median = counted.split(' ').next().unwrap_or_default();
    let sentence = format!("`picklock hunt Z20` takes {median} seeds at the median");
    assert!(zookeeper.contains(&sentence), "zookeeper.md should say: {sentence}");
}
