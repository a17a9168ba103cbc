//! Which cells contradict each other, and which do not.

use super::*;

fn cell(verdict: Verdict, first_seed: Option<u64>, runs: u64) -> Shown {
    let [lock, fault, property] = ["lock", "pause", "fifo"].map(str::to_owned);
    Shown { lock, fault, property, verdict, first_seed, from: 0, runs }
}

fn change(was: &Shown, is: &Shown) -> Option<Change> {
    differences(std::slice::from_ref(was), std::slice::from_ref(is)).changed.first().map(Difference::change)
}

const BROKEN: Verdict = Verdict::Violated;
const UNSEEN: Verdict = Verdict::NotSeen;

#[test]
fn fewer_seeds_that_meet_nothing_contradict_nobody() {
    let broken = cell(BROKEN, Some(500), 1000);
    assert_eq!(change(&broken, &cell(UNSEEN, None, 500)), None, "the seed was not among them");
    assert_eq!(change(&broken, &cell(UNSEEN, None, 501)), Some(Change::Better), "it was, and broke nothing");
    assert_eq!(change(&broken, &Shown { from: 501, ..cell(UNSEEN, None, 10_000) }), None);
    assert_eq!(change(&broken, &cell(Verdict::KnownViolated, None, 10)), None, "broken either way");
    assert_eq!(change(&cell(Verdict::KnownViolated, None, 10), &cell(UNSEEN, None, 1000)), None);
    assert_eq!(change(&cell(UNSEEN, None, 1000), &cell(Verdict::Vacuous, None, 10)), None);
}

#[test]
fn a_break_contradicts_whatever_else_was_said_by_however_few_seeds() {
    for was in [UNSEEN, Verdict::Verified, Verdict::Vacuous, Verdict::Incomplete] {
        for is in [BROKEN, Verdict::KnownViolated] {
            assert_eq!(
                change(&cell(was, None, 1000), &cell(is, Some(3), 10)),
                Some(Change::Worse),
                "{was:?}"
            );
        }
    }
}

#[test]
fn a_proof_that_is_lost_is_worse_and_one_that_is_won_is_better() {
    assert_eq!(change(&cell(Verdict::Verified, None, 9), &cell(UNSEEN, None, 9)), Some(Change::Worse));
    assert_eq!(change(&cell(UNSEEN, None, 9), &cell(Verdict::Verified, None, 1)), Some(Change::Better));
    assert_eq!(change(&cell(UNSEEN, None, 9), &cell(Verdict::Vacuous, None, 9)), Some(Change::Worse));
    assert_eq!(change(&cell(Verdict::Vacuous, None, 9), &cell(UNSEEN, None, 9)), Some(Change::Better));
    assert_eq!(
        change(&cell(Verdict::Vacuous, None, 9), &cell(UNSEEN, None, 10)),
        None,
        "more runs test more"
    );
}

#[test]
fn what_did_not_end_contradicts_nothing() {
    assert_eq!(change(&cell(BROKEN, Some(1), 9), &cell(Verdict::Incomplete, None, 9)), None);
    assert_eq!(change(&cell(Verdict::Verified, None, 9), &cell(Verdict::Incomplete, None, 9)), None);
}

#[test]
fn cells_come_and_go() {
    let one = [cell(UNSEEN, None, 9)];
    let all = differences(&one, &[]);
    assert_eq!(all.changed[0].line(), "lock · pause · fifo: was not seen to break in 9 runs, is not there");
    assert_eq!(differences(&[], &one).changed[0].change(), Change::New);
    let same = differences(&one, &one);
    assert_eq!((same.changed.len(), same.unmet, same.same), (0, 0, 1));
}

#[test]
fn what_is_accepted_forgets_no_failure_that_was_not_contradicted() {
    let (broken, unmet) = (cell(BROKEN, Some(500), 1000), cell(UNSEEN, None, 100));
    let other = Shown { fault: "loss".to_owned(), ..unmet.clone() };
    let was = [broken.clone(), other.clone()];
    assert_eq!(accepted(&was, std::slice::from_ref(&unmet)), [broken, other.clone()]);
    let repaired = cell(UNSEEN, None, 1000);
    assert_eq!(accepted(&was, std::slice::from_ref(&repaired)), [repaired, other]);
}

#[test]
fn a_snapshot_is_read_as_it_was_written_a_line_for_each_cell() {
    let all = [cell(BROKEN, Some(7), 100), Shown { from: 5, ..cell(UNSEEN, None, 9) }];
    let text = text(&all);
    assert_eq!(cells(&text).as_deref(), Ok(all.as_slice()));
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(
        cells(&text.replacen("\"schema\": 1", "\"schema\": 2", 1)).is_err_and(|why| why.contains("newer"))
    );
    for none in ["", "[]", "{\"rows\": [{\"theorem\": \"x\"}]}", "{\"lock\": \"redlock\"}"] {
        assert!(cells(none).is_err_and(|why| why.contains("no result of")), "{none}");
    }
}

#[test]
fn a_sweep_has_a_cell_for_each_promise() {
    let sweep = r#"{"lock": "redlock", "faults": ["pause", "clock"], "plan": null, "seeds": [100, 200], "runs": 50,
        "truncated": 0, "interrupted": false, "tested": {"fifo": 3, "mutual-exclusion": 50}, "untested": ["lease-loss"],
        "broken": {"fifo": 1}, "violations": [{"property": "fifo", "seed": 149, "token": "pk"}]}"#;
    let all = cells(sweep).expect("it is one");
    let found: Vec<(&str, Verdict)> = all.iter().map(|cell| (cell.property.as_str(), cell.verdict)).collect();
    let expected = [("fifo", BROKEN), ("mutual-exclusion", UNSEEN), ("lease-loss", Verdict::Vacuous)];
    assert_eq!(found, expected);
    assert_eq!((all[0].fault.as_str(), all[0].first_seed, all[0].from), ("pause,clock", Some(149), 100));
}
