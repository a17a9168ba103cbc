//! What a cell is called, for everything that may be known of it and everything that runs may show.

use super::*;
use crate::sweep::Found;
use picklock_model::claims::Assumption;
use picklock_properties::{ClientId, PromiseSet, Tests, Violation};

const PROMISE: Promise = Promise::Fifo;

fn known(known: Known) -> Entry {
    Entry { lock: "lock", fault: "fault", promise: PROMISE, known, reason: "because (row C16)" }
}

const VERIFIED: Known = Known::Verified { theorem: "theorem-1", dropped: &[Assumption::NoExpiry] };

/// A report on 100 runs, of which so many tested and broke the promise.
fn report(tested: u64, broken: u64) -> SweepReport {
    let mut tests = Tests::default();
    (0..tested).for_each(|_| tests.count([PROMISE].into_iter().collect::<PromiseSet>()));
    let violation = Violation::new(PROMISE, ClientId(0), ClientId(1));
    let found = Found { seed: 17, violation };
    SweepReport {
        runs: 100,
        tested: tests,
        broken: (broken > 0).then_some((PROMISE, broken)).into_iter().collect(),
        violations: (broken > 0).then_some(found).into_iter().collect(),
        ..SweepReport::default()
    }
}

fn judged(entry: Option<Entry>, report: &SweepReport) -> Judged {
    let known: Vec<&Entry> = entry.iter().collect();
    let cell = Cell::new(("lock", "fault", PROMISE), &known, report, Some("pk5_token".to_owned()));
    let row = Row { kind: Kind::Locks, lock: "lock", fault: "fault", cells: vec![cell] };
    Judged { rows: vec![row], uses: Vec::new(), seeds: 100, planned: 1, interrupted: false }
}

fn shown(entry: Option<Known>, report: &SweepReport) -> (String, Ending) {
    let judged = judged(entry.map(known), report);
    (judged.cells()[0].shown().1, judged.ending())
}

#[test]
fn what_is_known_to_break_is_never_a_surprise_whether_the_seeds_meet_it_or_not() {
    assert_eq!(shown(Some(Known::Broken), &report(100, 3)), ("✗ 17 ×3".to_owned(), Ending::Fine));
    assert_eq!(shown(Some(Known::Broken), &report(100, 0)), ("✗ C16".to_owned(), Ending::Fine));
    assert_eq!(shown(Some(Known::Broken), &report(0, 0)), ("✗ C16".to_owned(), Ending::Fine));
}

#[test]
fn what_several_kinds_of_faults_break_each_in_its_own_way_is_known_by_all_their_rows() {
    let (late, untold) =
        (known(Known::Broken), Entry { reason: "else (rows E19, C16)", ..known(Known::Broken) });
    let cell = Cell::new(("lock", "all", PROMISE), &[&late, &late, &untold], &report(100, 1), None);
    assert_eq!(cell.known_by(), Some("C16, E19"));
    assert_eq!(cell.reason(), Some("because (row C16); or else (rows E19, C16)"));
}

#[test]
fn a_row_of_all_faults_is_known_by_what_each_of_them_does() {
    let promises = [Promise::DeadlockFreedom].into_iter().collect();
    let row = Row::new((Kind::Locks, "etcd-mutex-3"), "all", promises, &report(0, 0), &BTreeMap::new());
    assert_eq!(row.cells[0].known_by(), Some("E15, E19"));
}

#[test]
fn what_is_not_known_may_break_and_is_not_called_kept_if_it_does_not() {
    assert_eq!(shown(None, &report(100, 3)), ("✗ 17 ×3".to_owned(), Ending::Fine));
    assert_eq!(shown(None, &report(100, 0)), ("·".to_owned(), Ending::Fine));
    assert_eq!(shown(None, &report(12, 0)), ("· 12".to_owned(), Ending::Fine));
}

#[test]
fn what_is_believed_or_verified_to_be_kept_and_breaks_is_a_surprise() {
    for believed in [Known::Kept, VERIFIED] {
        assert_eq!(shown(Some(believed), &report(100, 1)), ("✗ 17 ×1 !".to_owned(), Ending::Unexpected));
    }
    assert_eq!(shown(Some(Known::Kept), &report(100, 0)).0, "·", "a belief is no proof");
    assert_eq!(shown(Some(VERIFIED), &report(100, 0)), ("✓".to_owned(), Ending::Fine));
    let text = judged(Some(known(VERIFIED)), &report(100, 1)).text(Paint::NONE);
    assert!(text.contains("broken by seed 17, but verified by theorem-1 without no-expiry"), "{text}");
}

#[test]
fn what_nothing_could_break_is_vacuous_and_a_matrix_of_nothing_else_is_no_pass() {
    assert_eq!(shown(None, &report(0, 0)), ("–".to_owned(), Ending::Vacuous));
    let mut two = judged(None, &report(0, 0));
    two.rows.extend(judged(None, &report(100, 0)).rows);
    two.planned = 2;
    assert_eq!(two.ending(), Ending::Fine);
}

#[test]
fn what_did_not_end_and_what_was_not_run_is_incomplete() {
    let truncated = SweepReport { truncated: 1, ..report(100, 0) };
    assert_eq!(shown(None, &truncated), ("?".to_owned(), Ending::Incomplete));
    let interrupted = Judged { interrupted: true, ..judged(None, &report(100, 0)) };
    assert_eq!(interrupted.ending(), Ending::Incomplete);
    assert!(interrupted.text(Paint::NONE).contains("NOT a pass"));
}

#[test]
fn a_broken_cell_says_how_to_see_it() {
    let text = judged(None, &report(100, 3)).text(Paint::NONE);
    assert!(text.contains("replay lock:fault:17:fifo") && text.contains("by 3 of 100 runs"), "{text}");
}

#[test]
fn under_one_fault_the_locks_of_which_nothing_broke_are_named() {
    let row = |lock: &'static str, entry: Option<Known>, broken: u64| Row {
        lock,
        ..judged(entry.map(known), &report(100, broken)).rows.remove(0)
    };
    let of = |rows: Vec<Row>| Judged { rows, ..judged(None, &report(100, 0)) }.survivors();
    let rows = vec![row("one", None, 0), row("two", None, 3), row("three", Some(Known::Broken), 0)];
    let kept = of(rows);
    let said = "under fault no promise broke, here or in any run that is known, of: one\n  try harder  ";
    assert!(
        kept.starts_with(said) && kept.ends_with(" sweep one --faults fault --seeds 0..100000\n\n"),
        "{kept}"
    );
    let broken = of(vec![row("one", None, 1), row("two", None, 3)]);
    assert!(broken.starts_with("under fault each of these broke a promise"), "{broken}");
    let idle = || Row { lock: "four", ..judged(None, &report(0, 0)).rows.remove(0) };
    let with_idle = of(vec![row("one", None, 0), idle()]);
    assert!(with_idle.contains("of: one\n"), "{with_idle}");
    let none_tried = of(vec![row("two", None, 3), idle()]);
    assert!(none_tried.replace('\n', " ").contains("or nothing could have broken it"), "{none_tried}");
    assert_eq!(of(vec![row("one", None, 0)]), "", "one lock is said of by its row");
}
