//! Tokens and what stands for them on the command line, and the promise that a run is shown for.

use super::{Ended, PICKLOCK, broken_seed, document, ended, folder, picklock, quiet, rows, run, text_of};
use picklock_sim::plans::plan::Plan;
use picklock_sim::token::{Body, SetupBase, SetupChanges, Token};
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn a_damaged_token_is_refused() {
    let (token, _) = broken_seed();
    let middle = token.len() / 2;
    let other = if token.as_bytes()[middle] == b'7' { "8" } else { "7" };
    let altered = format!("{}{other}{}", &token[..middle], &token[middle + 1..]);
    let longer = format!("{token}z");
    for damaged in [&token[..token.len() - 1], &token[..middle], &altered, &longer] {
        let Ended { code, stdout, stderr } = picklock(&["replay", damaged]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{damaged}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.contains("cut or altered"), "{stderr}");
    }
}

#[test]
fn a_token_that_arrived_whole_but_is_no_run_of_ours_is_refused() {
    let changes = |changes| SetupChanges { base: SetupBase::Registered, changes: Some(changes) };
    for (lock, setup, why) in [
        ("lock-of-tomorrow", SetupChanges::none(), "\"lock-of-tomorrow\""),
        ("cassandra-queue", changes(json!({"workload": {"clients": 0}})), "a run has 1 to 128"),
        ("cassandra-queue", changes(json!({"lock": {"colour": "red"}})), "\"lock.colour\""),
    ] {
        let body = Body::Planned { plan: Plan::default(), pins: vec![], seed: 1 };
        let token = Token { lock: lock.to_owned(), promise: None, setup, body, mark: None }.encode();
        let Ended { code, stderr, .. } = picklock(&["replay", &token]);
        assert_eq!((code, stderr.lines().count()), (2, 1), "{stderr}");
        assert!(stderr.contains(why), "{stderr}");
    }
}

#[test]
fn a_token_of_the_format_before_is_refused_with_both_numbers() {
    let Ended { code, stderr, .. } = run("replay pk4_FRHviZ9jDjxwKRLfxTNAVSc7J7suGzZ");
    let expected = "error: this token was made by format 4; this picklock reads format 5\n";
    assert_eq!((code, stderr.as_str()), (2, expected));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_run_has_several_names_and_one_trace() {
    let (token, first) = broken_seed();
    let trace = |arguments: &[&str]| {
        let ended = picklock(&[&["replay", "--json"], arguments].concat());
        assert_eq!(ended.code, 1, "{arguments:?}: {}", ended.stderr);
        let document: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a document");
        assert_eq!(document["came_out_otherwise"], false);
        (text_of(&document["trace_hash"]), text_of(&document["token"]))
    };
    let of_token = trace(&[&token]);
    let (front, back) = token.split_at(token.len() / 2);
    assert_eq!(trace(&[&format!("  {front}\r\n  {back}\n")]), of_token, "broken into lines");

    // In the registered setup, which watches other promises than that sweep did, but runs alike.
    let name = format!("cassandra-queue:clock:{}:mutual-exclusion", first["seed"]);
    let of_name = trace(&[&name]);
    assert_eq!(trace(&[&of_name.1]), of_name);

    let of_row = trace(&["c1"]);
    assert_eq!(trace(&["C1"]), of_row);
    assert_eq!(rows("scenarios C1")[0]["token"], of_row.1.as_str());
}

#[test]
fn a_token_may_come_by_standard_input() {
    let (token, _) = broken_seed();
    let replay = |given: &str| {
        let mut child = quiet()
            .args(["replay", "-", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut stdin = child.stdin.take().expect("it was asked for");
        stdin.write_all(given.as_bytes()).expect("it reads");
        drop(stdin);
        ended(child.wait_with_output().expect("it ends"))
    };
    assert_eq!(replay(&format!("{token}\n")).stdout, picklock(&["replay", &token, "--json"]).stdout);
    let empty = replay(" \n");
    assert_eq!((empty.code, empty.stderr.as_str()), (2, "error: there is no token on standard input\n"));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_last_tokens_are_kept_for_whoever_wants_them() {
    let cache = folder("cache");
    let keeping = |line: &str| {
        let mut command = Command::new(PICKLOCK);
        command.env("PICKLOCK_CACHE", &cache).args(line.split_whitespace());
        ended(command.output().expect("the binary runs"))
    };
    let none = keeping("replay @last");
    assert_eq!((none.code, none.stdout.as_str()), (2, ""));
    assert_eq!(
        none.stderr,
        "error: there is no last token: no command has printed one here yet, or none could be kept\n"
    );

    let sweep = keeping("sweep cassandra-queue --faults clock --seeds 0..200 --json --keep-going --watch 0");
    let sweep: serde_json::Value = serde_json::from_str(&sweep.stdout).expect("a document");
    for (name, place) in [("@last", 0), ("@last:2", 1)] {
        let replay = keeping(&format!("replay {name} --json"));
        let replay: serde_json::Value = serde_json::from_str(&replay.stdout).expect("a document");
        assert_eq!(replay["token"], sweep["violations"][place]["token"], "{name}");
    }
    assert!(keeping("replay @last:999").stderr.contains("the last command printed "));
    assert!(keeping("replay @last2").stderr.contains("@last:2"));
}

#[test]
fn who_has_no_home_is_given_none() {
    let home = folder("homes").join("of-nobody");
    let check = || {
        let mut command = Command::new(PICKLOCK);
        for variable in ["PICKLOCK_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"] {
            command.env_remove(variable);
        }
        let line = "check redis-single --drop no-pause";
        ended(command.env("HOME", &home).args(line.split(' ')).output().expect("the binary runs")).code
    };
    assert_eq!((check(), home.exists()), (1, false));
    std::fs::create_dir(&home).expect("the folder is ours");
    assert_eq!((check(), home.join(".cache/picklock/last").exists()), (1, true));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_run_is_shown_for_the_promise_that_its_token_was_printed_for() {
    let sweep = document(
        "sweep cassandra-queue --faults clock --seeds 0..80 --keep-going --watch 0 \
                          --property mutual-exclusion,fifo,lease-loss",
    );
    let violations = sweep["violations"].as_array().expect("an array");
    assert!(violations.len() >= 4, "{}", violations.len());
    for violation in violations.iter().take(4) {
        let token = text_of(&violation["token"]);
        let replay = document(&format!("replay {token}"));
        assert_eq!(replay["property"], violation["property"]);
        assert_eq!(replay["violation"]["property"], violation["property"]);
        let text = run(&format!("replay {token} --width 300")).stdout;
        let head = format!("broken    {}: ", text_of(&violation["property"]));
        assert!(text.contains(&head), "{text}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn without_a_promise_a_run_is_shown_for_the_gravest_and_asked_for_a_kept_one_it_says_so() {
    let sweep = document("sweep cassandra-queue --seeds 0..200 --watch 0");
    let seed = &sweep["violations"][0]["seed"];
    let replay = document(&format!("replay cassandra-queue:all:{seed}"));
    let broken: Vec<String> = replay["violations"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|broken| text_of(&broken["property"]))
        .collect();
    assert_eq!(replay["violation"]["property"], broken[0].as_str());
    let kept = run("replay cassandra-queue:none:0:fenced-resource");
    assert_eq!(kept.code, 0, "{}", kept.stdout);
    assert!(kept.stdout.contains("fenced-resource kept"), "{}", kept.stdout);
}

#[test]
fn a_run_that_breaks_a_promise_of_progress_says_so_in_its_head() {
    let sweep =
        document("sweep cassandra-queue --faults crash --property deadlock-freedom --seeds 0..200 --watch 0");
    let text = run(&format!("replay {} --width 300", text_of(&sweep["violations"][0]["token"]))).stdout;
    assert!(text.contains("broken    deadlock-freedom: ") && !text.contains("broken    nothing"), "{text}");
    let (top, _) = text.split_once("\n  marks ").expect("a table");
    assert!(top.contains(", and nobody was granted the lock for three leases and a minute"), "{text}");
}

#[test]
fn who_names_a_lock_in_the_place_of_a_run_is_told_how_to_find_one() {
    for (line, said) in [
        ("replay redlock", "redlock is no run, but has many: redlock:pause:3 is that of seed 3, and "),
        (
            "shrink Redlock:clock",
            "Redlock:clock is no run, but has many: Redlock:clock:3 is that of seed 3, and ",
        ),
    ] {
        let ended = run(line);
        assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "{}", ended.stderr);
        assert!(ended.stderr.contains(said) && ended.stderr.contains(" sweep "), "{}", ended.stderr);
    }
}

#[test]
fn a_file_has_the_format_that_its_name_ends_with() {
    let folder = folder("formats");
    for (name, begins) in
        [("a.html", "<!DOCTYPE html>"), ("a.svg", "<svg "), ("a.json", "{"), ("a.txt", "redlock\n")]
    {
        let file = folder.join(name);
        let ended = run(&format!("replay redlock:pause:70 --out {}", file.display()));
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let written = std::fs::read_to_string(&file).expect("it was written");
        assert!(written.starts_with(begins), "{name}: {}", &written[..80]);
    }
    // A name that says something else than what is asked for is one that was mistyped.
    let file = folder.join("b.svg");
    let page = run(&format!("replay redlock:pause:70 --format html --out {}", file.display()));
    assert_eq!((page.code, page.stderr.lines().count()), (2, 1), "{}", page.stderr);
    assert!(!file.exists());
    let both = run(&format!("replay redlock:pause:70 --json --out {}", folder.join("c.svg").display()));
    assert_eq!((both.code, both.stderr.lines().count()), (2, 1), "{}", both.stderr);
}

#[test]
fn who_is_shown_a_failure_is_told_what_to_do_with_it() {
    let sweep = run("sweep cassandra-queue --faults clock --seeds 0..200 --watch 0");
    let next = [
        "see it      picklock replay cassandra-queue:clock:",
        "draw it     the same, and --out run.html",
        "shrink it   picklock shrink",
    ];
    assert!(next.iter().all(|next| sweep.stdout.contains(next)), "{}", sweep.stdout);
    let row = run("scenarios C1").stdout;
    assert!(row.contains("see it      picklock replay C1\n"), "{row}");
    let check = run("check cassandra-queue --drop unique-ids").stdout;
    assert!(check.contains("draw it     the same, and --out run.html"), "{check}");
    // There is no shorter run, but there are others.
    assert!(
        check.contains("what if     the same, and --instead STEP") && !check.contains("shrink it"),
        "{check}"
    );
    // Where nothing is kept @last would be another run, or none.
    let hunt = run("hunt C6 --starts 1").stdout;
    assert!(hunt.contains("see it      picklock replay pk5_"), "{hunt}");
}

#[test]
fn all_of_a_run_is_shown_unfolded_with_everything_that_is_broken_in_it() {
    let name = "redis-single:all:88:mutual-exclusion";
    let count = |text: &str, what: &str| text.matches(what).count();
    let (few, all) = (run(&format!("replay {name}")).stdout, run(&format!("replay {name} --all")).stdout);
    assert!(count(&few, "polls …") > 0 && count(&few, "steps not shown") > 0, "{few}");
    assert_eq!((count(&all, "polls …"), count(&all, "steps not shown")), (0, 0), "{all}");

    // What the promise is broken by a second time stands in the whole run only; the short one says that it is there.
    let (broken, more) = ("✗ mutual-exclusion broken", "in the same run: --all shows where");
    assert_eq!((count(&few, broken), count(&few, more)), (1, 1), "{few}");
    assert!(count(&all, broken) > 1 && count(&all, more) == 0, "{all}");
}

/// What a reader from the top on is told first, and what a terminal shows when it is over.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_run_says_on_top_what_broke_and_why_and_at_its_end_what_to_do_next() {
    for (name, next) in [("R3", "what if"), ("redlock:pause:70", "shrink it")] {
        let text = run(&format!("replay {name}")).stdout;
        let parts = ["broken    mutual-exclusion: ", "\nwhy\n", "│", "\n✗ mutual-exclusion broken\n", next];
        let places = parts.map(|part| text.find(part).unwrap_or_else(|| panic!("no {part:?} in\n{text}")));
        assert!(places.is_sorted(), "{places:?}\n{text}");
        if name.contains(':') {
            let plan = text.find("\nthe plan\n").expect("a seeded run has a plan");
            assert!(places[1] < plan && plan < places[2], "{text}");
        }
        // On top in words, in its row by name, and at the end of a long run once more.
        let words = text_of(&document(&format!("replay {name}"))["violation"]["words"]);
        assert_eq!(text.matches(&words).count(), 2, "{text}");
        let last = text.lines().rfind(|line| line.starts_with("mutual-exclusion broken in step "));
        assert!(last.is_some_and(|last| last.ends_with(&words)), "{text}");
        let short = run(&format!("replay {name} --last 0")).stdout;
        assert_eq!(short.matches(&words).count(), 1, "{short}");
    }
    let kept = run("replay redlock:none:3:mutual-exclusion").stdout;
    assert!(kept.contains("broken    nothing, in ") && !kept.contains("\nwhy\n"), "{kept}");
    let end = "\n\nmutual-exclusion kept\nno promise was broken\n\n  draw it     picklock replay redlock:none:3:mutual-exclusion --out run.html\n";
    assert!(kept.ends_with(end), "{kept}");
}

/// What the README's first minute prints, apart from the rows of the table, which it shows narrower than any terminal.
#[test]
fn the_readmes_first_minute_is_what_its_commands_print() {
    let readme = include_str!("../../../README.md");
    let shown = readme.split("```text\n").nth(1).and_then(|rest| rest.split("```").next());
    let shown = shown.expect("the README begins with a session");
    let cache = folder("first-minute");
    let (mut run, mut compared) = (String::new(), 0);
    for line in shown.lines() {
        if let Some(call) = line.strip_prefix("$ ") {
            let words = call.split('#').next().unwrap_or_default().strip_prefix("picklock ");
            // Installing it is not one of its commands.
            let Some(words) = words else { continue };
            let mut command = quiet();
            command.env("PICKLOCK_CACHE", &cache).args(words.split_whitespace());
            let output = command.output().expect("the binary runs");
            run = String::from_utf8(output.stdout).expect("the output is UTF-8");
        } else if !line.contains(['│', '…']) && !line.trim().is_empty() {
            let is_printed = run.lines().any(|printed| printed.trim_end() == line.trim_end());
            assert!(is_printed, "{line}\nis not printed:\n{run}");
            compared += 1;
        }
    }
    assert!(compared >= 15, "{compared} lines were compared");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_run_that_is_called_by_its_row_is_shown_with_what_the_catalogue_says_of_it() {
    let told = picklock(&["replay", "r1"]).stdout;
    let words: String = told.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in ["R1: the holder pauses", "repair: "] {
        assert_eq!(words.matches(sentence).count(), 1, "{sentence}: {told}");
    }
    let page = picklock(&["replay", "R1", "--format", "html"]).stdout;
    assert!(page.contains("<summary>R1: "), "the page has the story of its row");
    let (token, _) = broken_seed();
    assert!(!picklock(&["replay", &token]).stdout.contains("repair: "), "a run of no row has none");
}
