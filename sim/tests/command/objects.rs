//! Shared objects at the command line: their table of the matrix, and what is shown of their operations.

use super::{document, rows, run, text_of};
use serde_json::Value;

fn of<'a>(cells: &'a [Value], object: &str) -> Vec<&'a Value> {
    cells.iter().filter(|cell| cell["lock"] == object).collect()
}

#[test]
fn the_matrix_of_objects_has_a_cell_for_each_promise_of_an_object_and_for_no_other() {
    let cells = rows("matrix --system objects --fault none,loss --seeds 20");
    for (object, promises) in [
        ("cas-variable", &["linearizable"] as &[&str]),
        ("transfer", &["conservation"]),
        ("lock-free-queue", &["linearizable", "no-hole", "no-overwrite", "no-duplicate", "deadlock-freedom"]),
        ("handler", &["exactly-once"]),
    ] {
        let found: Vec<String> =
            of(&cells, object).iter().take(promises.len()).map(|cell| text_of(&cell["property"])).collect();
        assert_eq!(found, promises, "{object}");
        assert_eq!(of(&cells, object).len(), 2 * promises.len(), "{object} has a row for each fault");
    }
    let is_lock = |cell: &Value| ["redlock", "row-probe"].iter().any(|lock| cell["lock"] == *lock);
    assert!(!cells.iter().any(is_lock));
    let locks = rows("matrix --fault none --seeds 1");
    assert!(
        of(&locks, "transfer").is_empty() && !of(&locks, "redlock").is_empty(),
        "locks are asked for as ever"
    );
}

#[test]
fn a_broken_cell_of_an_object_carries_a_token_that_replays_and_one_that_was_not_met_names_its_row() {
    let cells = rows("matrix --lock transfer --fault loss,crash --seeds 40");
    let [loss, crash] = ["loss", "crash"].map(|fault| {
        cells.iter().find(|cell| cell["fault"] == fault).unwrap_or_else(|| panic!("no row for {fault}"))
    });
    assert_eq!((&loss["verdict"], &loss["expected"]), (&"violated".into(), &"violated".into()));
    assert_eq!(loss["known_by"], "X1");
    let replay = document(&format!("replay {}", text_of(&loss["token"])));
    assert_eq!(replay["violation"]["property"], "conservation");
    assert_eq!((&crash["expected"], &crash["known_by"]), (&"violated".into(), &"X3".into()));
}

#[test]
fn a_handler_that_never_crashes_is_put_to_the_test_by_lost_messages_and_not_by_wrong_clocks() {
    let cells = rows("matrix --lock naive-stream --fault clock,loss --seeds 100");
    let [clock, loss] = ["clock", "loss"].map(|fault| {
        cells.iter().find(|cell| cell["fault"] == fault).unwrap_or_else(|| panic!("no row for {fault}"))
    });
    assert_eq!((&clock["verdict"], &clock["tested"]), (&"vacuous".into(), &0.into()));
    assert_eq!(loss["verdict"], "violated");
    let [tested, violations] = ["tested", "violations"].map(|field| loss[field].as_u64().expect("a number"));
    assert!(violations > 0 && tested > violations, "{violations} of {tested}");
}

#[test]
fn locks_and_objects_have_a_table_each_with_columns_of_their_own() {
    let text = run("matrix --lock handler,redlock --fault none --seeds 3").stdout;
    let (locks, objects) = text.split_once("object, under").unwrap_or_else(|| panic!("one table: {text}"));
    assert!(locks.contains("mutual-") && !locks.contains("exactly-"), "{locks}");
    assert!(objects.contains("exactly-") && !objects.contains("linearizable"), "{objects}");
    let wrong = run("matrix --system objcts");
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("objects"), "{}", wrong.stderr);
}

#[test]
fn a_replay_tells_of_each_operation_when_it_was_called_and_what_came_of_it() {
    let replay = document("replay X1");
    let events = replay["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ends = |what: &str| -> Vec<&Value> {
        let operations = events.iter().filter_map(|event| event["operations"].as_array()).flatten();
        operations.filter(|operation| operation["what"] == what).collect()
    };
    let calls: Vec<String> = ends("invoked").iter().map(|operation| text_of(&operation["call"])).collect();
    let answers: Vec<String> =
        ends("returned").iter().map(|operation| text_of(&operation["answer"])).collect();
    assert_eq!(calls.len(), answers.len(), "nobody gives up: {calls:?} {answers:?}");
    let drawn = run("replay X1 --format svg").stdout;
    for (call, answer) in calls.iter().zip(&answers) {
        assert!(drawn.contains(&format!(">{call} → {answer}</text>")), "{call} has no bar");
    }
    assert_eq!(drawn.matches("class=\"operation breaks\"").count(), 1, "the audit that finds it");
    let cut_short = run("replay X3 --format svg").stdout;
    assert!(cut_short.contains("class=\"operation open\"") && cut_short.contains(" → ?</text>"));
    let text = run("replay X3").stdout;
    assert!(text.contains("┃ transfer(a0, a1, 1) → ?"), "{text}");
}

#[test]
fn a_short_name_takes_no_promise_that_its_object_does_not_make() {
    let ended = run("replay naive-stream:pause:3:fifo");
    assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "{}", ended.stderr);
    assert!(ended.stderr.contains("naive-stream cannot break fifo"), "{}", ended.stderr);
    let ended = run("replay redlock:pause:3:no-hole");
    assert!(ended.stderr.contains("a promise of shared objects"), "{}", ended.stderr);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn two_handlers_are_explored_with_somebody_who_pushes_unless_told_otherwise() {
    // One number each is soon gone through, and puts nothing to the test.
    let clients = |line| document(line)["clients"].clone();
    assert_eq!(clients("check stream --rounds 1"), 3);
    assert_eq!(clients("check stream --rounds 1 --clients 2"), 2);
    assert_eq!(clients("check handler --rounds 1"), 2);
}
