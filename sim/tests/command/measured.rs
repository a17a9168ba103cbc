//! The sizes of spaces that the book names, and no claim has.

use super::document;

/// Larger spaces are gone through with `PICKLOCK_LONG=1`.
const STATES_MAX: u64 = 1_000_000;

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_the_book_says_a_search_went_through_it_goes_through() {
    let measured = include_str!("../../../tests/golden/measured.txt");
    let calls = measured.lines().filter_map(|line| line.split_once(" picklock "));
    let calls = calls.filter(|(_, call)| call.starts_with("check "));
    let calls = calls.map(|(size, call)| (size.parse::<u64>().expect("a number"), call));
    let is_long = std::env::var_os("PICKLOCK_LONG").is_some();
    let mut gone_through = 0;
    for (size, call) in calls.filter(|(size, _)| is_long || *size <= STATES_MAX) {
        let found = document(&format!("{call} --max-states 1000000000"));
        let sizes = [&found["states"], &found["kept"]];
        assert!(sizes.iter().any(|found| **found == size), "{call}: {} and {}", sizes[0], sizes[1]);
        assert_eq!(found["verdict"], "holds", "{call}");
        gone_through += 1;
    }
    assert!(gone_through > 1, "{gone_through}");
}
