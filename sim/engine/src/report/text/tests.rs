use super::*;
use crate::report::toy::{self, A, B, Bench, S1};
use picklock_model::cluster::Wake;
use picklock_properties::{Event, ObjectAnswer, ObjectCall, ObjectId, Violation};

const NARROW: TextOptions = TextOptions {
    width: 100,
    time: TimeColumn::Seconds,
    last: None,
    fold: true,
    colour: false,
    ascii: false,
    names_command: true,
    tells_how: true,
};

fn heading() -> Heading {
    Heading { lock: "notice-board".to_owned(), ..Heading::default() }
}

fn trace(options: TextOptions, run: impl FnOnce(&mut TextTrace)) -> String {
    let mut trace = TextTrace::new(heading(), options);
    run(&mut trace);
    trace.finish()
}

/// How often a client asks in vain while another holds.
fn poll(bench: &mut Bench<'_, TextTrace>, times: usize) {
    for _ in 0..times {
        bench.pass(Micros::millis(10));
        bench.wake(B, Wake::Machine);
        bench.exchange(B);
    }
}

fn hold(bench: &mut Bench<'_, TextTrace>) {
    bench.wake(A, Wake::App);
    bench.exchange(A);
    bench.exchange(A);
    bench.wake(B, Wake::App);
    bench.exchange(B);
}

#[test]
fn two_holders_stand_side_by_side() {
    golden(&trace(NARROW, toy::overlap), "overlap", include_str!("golden/overlap.txt"));
}

#[test]
fn every_fault_is_a_row_in_the_column_of_the_node_it_strikes() {
    golden(&trace(NARROW, toy::misfortune), "misfortune", include_str!("golden/misfortune.txt"));
}

#[test]
fn polls_are_one_row() {
    golden(&trace(NARROW, toy::patience), "patience", include_str!("golden/patience.txt"));
}

/// Compares, or with `PICKLOCK_UPDATE_GOLDEN` set rewrites, a trace that was looked at and found good.
#[track_caller]
fn golden(found: &str, name: &str, expected: &str) {
    if std::env::var_os("PICKLOCK_UPDATE_GOLDEN").is_some() {
        let path = format!("{}/src/report/text/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, found).expect("the goldens lie beside the sources");
    } else {
        assert!(found == expected, "{name} is shown differently now:\n{found}");
    }
}

#[test]
fn nothing_is_folded_when_folding_is_off() {
    let folded = trace(NARROW, toy::patience);
    let whole = trace(TextOptions { fold: false, ..NARROW }, toy::patience);
    assert!(folded.contains("… 14 polls …"));
    assert!(!whole.contains("polls") && whole.matches("→ s1 look").count() == 18, "{whole}");
}

#[test]
fn three_polls_in_a_row_are_not_worth_folding_and_the_fourth_is() {
    let polls = |times: usize| {
        trace(NARROW, |trace| {
            let mut bench = Bench::new(toy::WORKLOAD, trace);
            hold(&mut bench);
            // The first one is news.
            poll(&mut bench, 1 + times);
        })
    };
    assert!(!polls(3).contains("polls"), "{}", polls(3));
    assert!(polls(4).contains("… 4 polls …"), "{}", polls(4));
}

#[test]
fn polls_are_told_in_full_again_after_something_happened() {
    let text = trace(NARROW, |trace| {
        let mut bench = Bench::new(toy::WORKLOAD, trace);
        hold(&mut bench);
        poll(&mut bench, 6);
        bench.pause(A);
        poll(&mut bench, 6);
    });
    assert_eq!(text.matches("… 5 polls …").count(), 2, "{text}");
}

#[test]
fn a_bar_stands_in_the_column_of_a_client_from_its_call_to_the_answer_and_the_answer_names_the_call() {
    let (a, b) = (ClientId(0), ClientId(1));
    let variable = ObjectId(0);
    let read = |client| Event::Invoked { client, call: ObjectCall::Read { variable } };
    let write = |client| Event::Invoked { client, call: ObjectCall::Write { variable, value: 7 } };
    let run = |trace: &mut TextTrace| {
        let mut bench = Bench::new(toy::WORKLOAD, trace);
        bench.tell(A, &[write(a)], &[]);
        bench.tell(S1, &[], &[]);
        bench.tell(A, &[Event::Unknown { client: a }], &[]);
        bench.tell(S1, &[], &[]);
        bench.tell(B, &[read(b)], &[]);
        let answer = ObjectAnswer::Value { value: None, version: None };
        let violation = Violation::new(Promise::Linearizable, b, b);
        bench.tell(B, &[Event::Returned { client: b, answer }], &[violation]);
        bench.tell(A, &[read(a)], &[]);
        bench.crash(A, false);
    };
    let text = trace(NARROW, run);
    let column = |step: usize, column: usize| -> Vec<String> {
        let lines = text
            .lines()
            .skip_while(|line| line.split_whitespace().find(|word| *word != "✗") != Some(&step.to_string()));
        let cell = |line: &str| line.split('│').nth(column).map(|cell| cell.trim_end().to_owned());
        let next = (step + 1).to_string();
        let rows = lines.take_while(|line| line.split_whitespace().find(|word| *word != "✗") != Some(&next));
        rows.filter_map(cell).filter(|cell| !cell.is_empty()).collect()
    };
    assert_eq!(column(1, 1)[0], "┃ x0.write(7)", "{text}");
    assert_eq!(column(2, 1), ["┃"], "{text}");
    assert_eq!(column(3, 1)[..2], ["┃ gives the call up", "┃ x0.write(7) → ?"], "{text}");
    assert!(column(4, 1).is_empty(), "{text}");
    assert_eq!(column(6, 2)[0], "┃ x0.read() → absent", "{text}");
    assert_eq!(column(8, 1), ["┃ ✗ crashed", "┃ x0.read() → ?"], "{text}");
    assert!(text.contains("┃ waits for an answer of an object"), "{text}");
    let plain = trace(TextOptions { ascii: true, ..NARROW }, run);
    assert!(plain.is_ascii() && plain.contains("I x0.read() -> absent"), "{plain}");
    let coloured = trace(TextOptions { colour: true, ..NARROW }, run);
    assert!(coloured.contains("\x1b[1;31mx0.read() → absent"), "what breaks a promise is red: {coloured}");
}

#[test]
fn a_lasso_says_where_its_loop_begins_and_ends_and_shows_it() {
    let text = trace(NARROW, |trace| {
        let mut bench = Bench::new(toy::WORKLOAD, trace);
        hold(&mut bench);
        poll(&mut bench, 2);
        bench.observer.loop_starts();
        poll(&mut bench, 1);
        bench.observer.loop_ends("nobody is granted the lock");
    });
    let (_, round) = text.split_once("\n── the loop starts here ──\n").expect("it has a beginning");
    let (round, _) = round
        .split_once("\n── and back to there: nobody is granted the lock, for ever ──\n")
        .expect("it has an end");
    assert!(
        round.contains("→ s1 look") && round.contains("← B look") && round.contains("waiting"),
        "{round}"
    );
}

#[test]
fn the_last_rows_are_shown_with_all_faults_broken_promises_and_grants() {
    let text = trace(TextOptions { last: Some(1), ..NARROW }, toy::overlap);
    assert!(text.contains("⋮ 6 steps not shown\n"), "{text}");
    assert!(text.contains("⋮ 3 steps not shown, in which 1 message got lost or came twice\n"), "{text}");
    assert!(text.contains("⏸ paused") && text.contains("▶ resumed"), "{text}");
    assert!(text.contains("mutual-exclusion broken") && text.contains("theorem-1 broken"), "{text}");
    assert_eq!(text.matches("HOLDS").count(), 2, "{text}");
}

#[test]
fn what_befalls_machines_connections_and_disks_is_named() {
    let text = trace(NARROW, toy::hardship);
    for words in ["suspended", "15.625ms", "reset", "disk lost"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn only_the_last_grant_of_a_client_outlasts() {
    let text = trace(TextOptions { last: Some(0), ..NARROW }, |trace| {
        let workload = picklock_model::workload::Workload { rounds: 3, ..toy::WORKLOAD };
        let mut bench = Bench::new(workload, trace);
        for _ in 0..3 {
            bench.wake(A, Wake::App);
            bench.exchange(A);
            bench.exchange(A);
            bench.wake(A, Wake::App);
            bench.exchange(A);
        }
    });
    assert_eq!(text.matches("HOLDS").count(), 1, "{text}");
    assert!(text.contains("⋮ 20 steps not shown") && text.contains("⋮ 3 steps not shown"), "{text}");
}

#[test]
fn a_step_that_the_reader_is_told_of_elsewhere_has_a_row_whatever_is_left_out() {
    let of = |steps: &[usize]| {
        trace(TextOptions { last: Some(0), ..NARROW }, |trace| {
            trace.keep(steps);
            let mut bench = Bench::new(toy::WORKLOAD, trace);
            hold(&mut bench);
            poll(&mut bench, 200);
        })
    };
    let has_row =
        |text: &str, step: &str| text.lines().any(|line| line.split_whitespace().next() == Some(step));
    let (without, with) = (of(&[]), of(&[3, 300]));
    assert!(!has_row(&without, "3") && !has_row(&without, "300"), "{without}");
    assert!(has_row(&with, "3") && has_row(&with, "300"), "{with}");
}

#[test]
fn a_long_run_of_which_the_end_is_wanted_takes_little_memory() {
    let mut trace = TextTrace::new(heading(), TextOptions { last: Some(10), fold: false, ..NARROW });
    let mut bench = Bench::new(toy::WORKLOAD, &mut trace);
    hold(&mut bench);
    poll(&mut bench, 2_000);
    assert!(trace.rows.len() < 100, "{}", trace.rows.len());
    assert!(trace.finish().contains("⋮ 5993 steps not shown\n"));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [72, 80, 100, 120, 200] {
        for run in [toy::overlap, toy::patience, toy::misfortune] {
            let text = trace(TextOptions { width, ..NARROW }, run);
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(width), "{width}: {longest:?}\n{text}");
        }
    }
}

#[test]
fn servers_share_a_column_where_there_is_no_room_for_each() {
    let text = trace(TextOptions { width: 76, ..NARROW }, toy::overlap);
    assert!(
        text.contains("│  servers ") && text.contains("│  s1 ← A look") && text.contains("│  s2 ✗ lost"),
        "{text}"
    );
}

#[test]
fn plain_ascii_is_plain_ascii() {
    for run in [toy::overlap, toy::patience, toy::misfortune] {
        let text = trace(TextOptions { ascii: true, ..NARROW }, run);
        assert!(text.is_ascii(), "{text}");
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let plain = trace(NARROW, toy::overlap);
    assert!(!plain.contains('\x1b'));
    let mut text = trace(TextOptions { colour: true, ..NARROW }, toy::overlap);
    for code in ["0", "1", "2", "33", "1;31", "1;32"] {
        text = text.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(text, plain);
}

#[test]
fn time_is_shown_in_ticks_or_not_at_all() {
    let length = Micros::millis(1);
    let ticks = trace(TextOptions { time: TimeColumn::Ticks { length }, width: 160, ..NARROW }, toy::overlap);
    assert!(ticks.contains("    7    tick 3 │█"), "{ticks}");
    assert!(ticks.contains("tick -1999 (clock -2000)"), "{ticks}");
    let hidden = trace(TextOptions { time: TimeColumn::Hidden, ..NARROW }, toy::overlap);
    assert!(hidden.contains("\n    7 │█ ← s1 done") && hidden.contains("│  clock 2s behind"), "{hidden}");
}

#[test]
fn the_head_names_lock_settings_promise_and_the_command_that_replays() {
    let token = format!("pk5_{}", "x".repeat(150));
    let heading = Heading {
        settings: vec!["ttl_seconds=2".to_owned(), "own_id_check=true".to_owned()],
        token: Some(token.clone()),
        broken: Some(Promise::Theorem1),
        ..heading()
    };
    let mut trace = TextTrace::new(heading, NARROW);
    toy::overlap(&mut trace);
    let text = trace.finish();
    let head: Vec<&str> = text.lines().take(5).collect();
    let expected = [
        "notice-board".to_owned(),
        "  settings  ttl_seconds=2, own_id_check=true".to_owned(),
        "  broken    theorem-1: While several clients call lock, at most one of them holds.".to_owned(),
        "  how       in step 12, B enters by lock while A holds by lock".to_owned(),
        format!("  replay    picklock replay {token}"),
    ];
    assert_eq!(head, expected);
}

#[test]
fn how_a_promise_breaks_is_said_once_and_marked_where_it_breaks() {
    let (words, marked) = ("B enters while A holds", "\n✗ mutual-exclusion broken\n");
    let text = trace(NARROW, toy::overlap);
    assert!(text.matches(words).count() == 1 && text.contains(marked), "{text}");
    // Nobody else says so of another promise.
    assert!(text.contains("\n✗ theorem-1 broken: B enters by lock while A holds by lock\n"), "{text}");
    let untold = trace(TextOptions { tells_how: false, ..NARROW }, toy::overlap);
    assert!(!untold.contains(words) && untold.contains(marked), "{untold}");
}

#[test]
fn the_same_promise_broken_once_more_is_told_in_words() {
    let broken = Violation::new(Promise::MutualExclusion, ClientId(1), ClientId(0));
    let text = trace(NARROW, |trace| {
        let mut bench = Bench::new(toy::WORKLOAD, trace);
        bench.tell(B, &[], &[broken]);
        bench.tell(B, &[], &[broken]);
    });
    let marks: Vec<&str> = text.lines().filter(|line| line.starts_with("✗ mutual-exclusion")).collect();
    assert_eq!(
        marks,
        ["✗ mutual-exclusion broken", "✗ mutual-exclusion broken: B enters while A holds"],
        "{text}"
    );
}

#[test]
fn a_trace_comes_apart_between_its_head_and_its_table() {
    for run in [toy::overlap, toy::patience] {
        let text = trace(NARROW, run);
        let (head, table) = TextTrace::parts(&text);
        assert!(head.starts_with("notice-board\n") && table.starts_with("  marks     "), "{text}");
        assert_eq!(format!("{head}\n{table}"), text);
    }
    assert_eq!(TextTrace::parts("nothing else\n"), ("nothing else\n", ""));
}

#[test]
fn a_run_that_breaks_nothing_says_so_and_so_does_one_in_which_nothing_happens() {
    assert!(trace(NARROW, toy::patience).contains("  broken    nothing, in 61 steps\n"));
    let nothing = trace(NARROW, |_| ());
    assert!(nothing.contains("nothing, in 0 steps") && nothing.ends_with("nothing happened\n"), "{nothing}");
}

#[test]
fn a_crashed_holder_does_not_hold() {
    let text = trace(NARROW, |trace| {
        let mut bench = Bench::new(toy::WORKLOAD, trace);
        hold(&mut bench);
        bench.crash(A, false);
        bench.pause(S1);
    });
    let last = text.lines().last().expect("there are rows");
    assert!(last.contains("│ ×") && !last.contains('█'), "{text}");
}
