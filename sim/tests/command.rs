//! The `picklock` command as its users have it: the built binary, its exit codes, its one-line errors, its documents.

#[path = "command/action.rs"]
mod action;
#[path = "command/documents.rs"]
mod documents;
#[path = "command/honest.rs"]
mod honest;
#[path = "command/hunts.rs"]
mod hunts;
#[path = "command/keeps.rs"]
mod keeps;
#[path = "command/knobs.rs"]
mod knobs;
#[path = "command/measured.rs"]
mod measured;
#[path = "command/objects.rs"]
mod objects;
#[path = "command/overview.rs"]
mod overview;
#[path = "command/shown.rs"]
mod shown;
#[path = "command/tokens.rs"]
mod tokens;
#[path = "command/valid.rs"]
mod valid;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PICKLOCK: &str = env!("CARGO_BIN_EXE_picklock");

struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

fn ended(output: Output) -> Ended {
    let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
    Ended {
        code: output.status.code().expect("the command ends by itself"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn picklock(arguments: &[&str]) -> Ended {
    ended(quiet().args(arguments).output().expect("the binary runs"))
}

/// The binary, which keeps nothing for later.
fn quiet() -> Command {
    let mut command = Command::new(PICKLOCK);
    command.env("PICKLOCK_CACHE", "");
    command
}

/// The arguments are split at blanks.
fn run(line: &str) -> Ended {
    picklock(&line.split_whitespace().collect::<Vec<_>>())
}

/// The document that the command prints with `--json`, and nothing else.
fn document(line: &str) -> Value {
    let ended = run(&format!("{line} --json"));
    assert_eq!(ended.stderr, "", "{line}");
    assert!(!matches!(ended.code, 2 | 101), "{line} exits {}", ended.code);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// The rows of a document that has rows, all of them.
fn rows(line: &str) -> Vec<Value> {
    let document = document(line);
    has_keys(&document, "picklock schema complete rows");
    assert_eq!((&document["schema"], &document["complete"]), (&1.into(), &true.into()), "{line}");
    document["rows"].as_array().unwrap_or_else(|| panic!("{line}: no rows")).clone()
}

fn has_keys(object: &Value, keys: &str) {
    for key in keys.split_whitespace() {
        assert!(object.get(key).is_some(), "no {key:?} in {object}");
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// Without what is allowed to differ from run to run.
fn timeless(mut document: Value) -> Value {
    match &mut document {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.starts_with("seconds"));
            fields.values_mut().for_each(|value| *value = timeless(value.take()));
        }
        Value::Array(rows) => rows.iter_mut().for_each(|row| *row = timeless(row.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    document
}

/// A folder of one test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Of a seed that breaks mutual exclusion by a clock.
fn broken_seed() -> (String, Value) {
    let sweep = document("sweep cassandra-queue --faults clock --property mutual-exclusion --seeds 0..200");
    let first = sweep["violations"][0].clone();
    (text_of(&first["token"]), first)
}

#[test]
fn a_wrong_call_exits_2_after_one_line_that_says_what_would_be_right() {
    let wrong = [
        ("sweep cassandra-quue", "cassandra-queue"),
        ("check nolock", "picklock locks lists them"),
        (
            "widen nothing",
            "picklock locks and picklock scenarios --list and picklock theorems --help list them",
        ),
        ("matrix --lock cassandra-queu", "cassandra-queue"),
        ("matrix --lock row-probe", "not a lock"),
        ("matrix --fault puase", "pause"),
        ("matrix --fault suspend", "picklock sweep redlock --faults suspend strikes with it"),
        ("matrix --lock etcd-mutex --fault reset", "picklock sweep etcd-mutex --faults reset strikes"),
        ("matrix --fault network", "; there are none, pause, clock, delay,"),
        ("matrix --fault redlock", "; there are none, pause, clock, delay,"),
        ("matrix --lock partition", "partition is a fault, and no lock; "),
        ("matrix --seeds 0..100", "type --seeds 100; "),
        ("herd --clients x", "type --clients 2,4,8,16,32; "),
        ("matrix --seeds 0", "at least 1"),
        ("sweep cassandra-queue --faults pause,clok", "clock"),
        ("sweep cassandra-queue --property fif", "fifo"),
        ("check cassandra-queue --property theorem1", "theorem-1"),
        ("check cassandra-queue --drop no-paus", "no-pause"),
        ("theorems theorem-9", "theorem-"),
        ("scenarios C999", "C"),
        ("scenarios --system casandra", "cassandra"),
        ("hunt C999", "C"),
        ("hunt C6 --system casandra", "cassandra"),
        ("hunt C6 --starts 0", "1 to"),
        ("hunt C6 --starts 100001", "1 to 100000"),
        ("hunt C6 --seeds-max 0", "1 to 1000000"),
        ("hunt C6 --seeds-max 1000001", "1 to 1000000"),
        ("hunt C6 --jobs 0", "1 to"),
        ("hunt C6 --strategy swam", "the nearest name is swarm"),
        ("hunt C6 --strategy pct,pct", "named twice"),
        ("sweep cassandra-queue --strategy ptc", "the nearest name is pct"),
        ("sweep cassandra-queue --faults none,all", "none stands alone"),
        ("check cassandra-queue --drop free-at-start", "not in force here"),
        ("herd --clients 2,1", "--clients 1: it takes 2 to 128"),
        ("herd --clients 256", "2 to 128"),
        ("ttl --skew 10", "--skew 10: it takes 0 to 9"),
        ("ttl --latency 10", "0 to 9"),
        ("widen lemma-1 --out /nowhere/table.md", "cannot be written"),
        ("serve redis --listen 6379", "127.0.0.1:6379"),
        ("serve redis --listen 127.0.0.1:65535 --servers 2", "not 2 ports"),
        ("serve redis --servers 0", "1 to 16"),
        ("serve redis --servers 17", "1 to 16"),
        ("serve redis --replicated", "--servers 2"),
        ("serve redis --faults puase", "pause"),
        ("serve redis --lease 0", "1 to"),
        ("serve redis --round 0", "1 to"),
        ("serve redis --plan /nowhere", "cannot be read"),
        ("serve etcd --listen 2379", "127.0.0.1:2379"),
        ("serve etcd --members 2", "1, 3 or 5"),
        ("serve etcd --members 0", "1, 3 or 5"),
        ("serve etcd --faults puase", "pause"),
        ("serve etcd --listen 127.0.0.1:65535 --members 3", "not 3 ports"),
        ("serve etcd --plan /nowhere", "cannot be read"),
        ("bench --locks cassandra-quue", "cassandra-queue"),
        ("bench --threads 0", "1 to 128"),
        ("bench --threads 2,129", "1 to 128"),
        ("bench --hold-ms 60001", "0 to 60000"),
        ("bench --seconds 0", "1 to 3600"),
        ("bench --seeds 5..5", "5..6"),
        ("bench --seeds 0..1001", "at most 1000"),
        ("bench --jobs 0", "1 to"),
        ("sweep cassandra-queue --seeds 5..5", "5..6"),
        ("sweep cassandra-queue --seeds 9..3", "3..9"),
        ("sweep cassandra-queue --seeds many", "0..1000"),
        ("sweep cassandra-queue --seeds 100", "a range of seeds: --seeds 0..100"),
        ("sweep cassandra-queue --shard 5/4", "there is no part 5 of 4; they are 1/4 to 4/4"),
        ("sweep cassandra-queue --shard 0/4", "1/4"),
        ("sweep cassandra-queue --shard half", "1/4"),
        ("sweep cassandra-queue --seeds 0..3 --shard 1/4", "3 parts"),
        ("sweep cassandra-queue --jobs 0", "1 to"),
        ("matrix --jobs 0", "1 to"),
        ("theorems --jobs 0", "1 to"),
        ("check cassandra-queue --jobs 0", "1 to"),
        ("scenarios --jobs 0", "1 to"),
        ("check cassandra-queue --clients 0", "1 to 8"),
        ("check cassandra-queue --clients 9", "1 to 8"),
        ("check cassandra-queue --servers 6", "1 to 5"),
        ("check cassandra-queue --max-states 0", "1 to"),
        ("check cassandra-queue --property deadlock-freedom", "--progress"),
        ("check cassandra-queue --property theorem-2", "--try-lock"),
        ("check cassandra-queue --progress --property mutual-exclusion", "leave out --progress"),
        ("check cassandra-queue --progress --servers 2", "one server"),
        ("check cassandra-queue --progress --clients 8", "at once"),
        ("check row-probe --property fifo", "lemma-1"),
        ("check znode-probe --property lemma-1", "fresh-read"),
        ("sweep cassandra-queue --plan /no/such/file", "cannot be read"),
        ("replay pk5_", "cut or altered"),
        ("replay nonsense", "begins with pk5_"),
        ("replay C1 --width 3", "Columns, 32 to 65535"),
        ("scenarios C1 --list --junit x.xml", "cannot be used with"),
        ("replay C99", "picklock scenarios --list has them all"),
        ("check dlm", "these begin so: dlm-"),
        ("replay c22", "C22a or C22b or C22c"),
        ("replay redlok:pause:3", "redlock"),
        ("replay redlock:puase:3", "pause"),
        ("replay redlock:pause:many", "number of a seed"),
        ("replay redlock:pause:3:fiffo", "fifo"),
        ("replay redlock:pause:3 --property fifo", "was not watched for fifo"),
        ("replay @last", "there is no last token"),
        ("replay @lost", "begins with pk5_"),
        ("replay @last:0", "@last:2"),
        ("replay pk9_abc", "format 9"),
        ("replay C1 --out -", "- is no name of a file"),
        ("widen lemma-1 --out -", "- is no name of a file"),
        ("sweep redlock --results -", "- is no name of a file"),
        ("sweep redlock --junit -", "- is no name of a file"),
        ("matrix --accept -", "- is no name of a file"),
        ("matrix --out -", "- is no name of a file"),
        ("bench --svg -", "- is no name of a file"),
        ("man --out -", "- is no name of a file"),
        ("serve redis --record -", "- is no name of a file"),
        ("serve redis --out -", "- is no name of a file"),
        ("try --record - -- true", "- is no name of a file"),
        ("try --out - -- true", "- is no name of a file"),
        ("replay C1 --format json --out x.html", "leave --format json out, or let it end in .json"),
        ("replay C1 --format svg --out x.TXT", "leave --format svg out, or let it end in .svg"),
        ("replay C1 --json --out x.txt", "leave --json out, or let it end in .json"),
    ];
    for (line, right) in wrong {
        let Ended { code, stdout, stderr } = run(line);
        assert_eq!((code, stdout.as_str()), (2, ""), "{line}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.lines().count() == 1, "{line}: {stderr}");
        assert!(stderr.contains(right), "{line}: {stderr}");
    }
    assert!(!["-", "x.html", "x.TXT", "x.txt"].iter().any(|file| Path::new(file).exists()));
}

#[test]
fn what_clap_refuses_exits_2_too() {
    for line in ["nonsense", "sweep", "replay", "check cassandra-queue --clients many", "matrix --jobs -1"] {
        assert_eq!(run(line).code, 2, "{line}");
    }
}

#[test]
fn exit_codes_tell_kept_broken_and_unknown_apart() {
    let kept = run("check cassandra-queue");
    assert_eq!(kept.code, 0, "{}", kept.stdout);
    let broken = run("check cassandra-queue --drop unique-ids");
    assert_eq!(broken.code, 1, "{}", broken.stdout);
    assert!(broken.stdout.contains("picklock replay pk5_") && broken.stdout.contains("HOLDS"));
    let unknown = run("check cassandra-queue --clients 3 --max-states 100");
    assert_eq!(unknown.code, 3, "{}", unknown.stdout);
    assert!(unknown.stdout.contains("NOT a pass"), "{}", unknown.stdout);

    let kept = run("sweep cassandra-queue-repaired --faults none --property mutual-exclusion --seeds 0..20");
    assert_eq!(kept.code, 0, "{}", kept.stdout);
    let (token, _) = broken_seed();
    assert_eq!(run(&format!("replay {token}")).code, 1);
}

#[test]
fn a_check_of_progress_finds_the_lasso_of_a_crashed_holder() {
    let checked = document("check cassandra-queue --progress --drop no-crash");
    assert_eq!(checked["verdict"], "violated");
    assert_eq!(checked["property"], "deadlock-freedom");
    let replay = document(&format!("replay {}", text_of(&checked["token"])));
    assert_eq!(replay["violation"]["property"], "deadlock-freedom");
    assert_eq!(document("check cassandra-queue --progress")["verdict"], "holds");
}

#[test]
fn every_document_has_the_keys_of_the_contract() {
    let matrix = rows("matrix --lock cassandra-queue-repaired --fault none --seeds 3");
    let keys = "lock fault property verdict expected known_by reason runs tested first_seed violations token";
    assert!(matrix.len() >= 6, "a cell for each promise");
    matrix.iter().for_each(|cell| has_keys(cell, keys));

    let theorems = rows("theorems lemma-1");
    let keys = "theorem lock clients servers variant dropped verdict expected states transitions depth steps token \
                coverage seconds used time allowed not_in_force untested falls";
    assert!(theorems.iter().any(|row| row["dropped"].is_null()) && theorems.len() > 5);
    theorems.iter().for_each(|row| {
        has_keys(row, keys);
        assert_eq!(row["verdict"] == "violated", row["token"].is_string(), "{row}");
    });

    let sweep = document("sweep cassandra-queue --faults clock --seeds 0..20 --keep-going");
    let keys = "lock faults strategy seeds verdict runs tested untested events seconds violations strikes marks truncated";
    has_keys(&sweep, keys);
    assert_eq!((&sweep["strategy"], sweep["marks"]["lease-outlived"].is_u64()), (&"swarm".into(), true));
    assert_eq!(sweep["faults"], serde_json::json!(["clock"]));
    assert_eq!(sweep["seeds"], serde_json::json!([0, 20]));
    assert!(sweep["strikes"]["clock_steps"].as_u64() > Some(0));
    has_keys(&sweep["violations"][0], "property seed token");

    let scenarios = rows("scenarios C16");
    let keys = "id system breaks found found_in seeds_tried steps token fix fix_verdict fix_holds fix_in fix_states \
                fix_runs fix_falls note";
    has_keys(&scenarios[0], keys);
    assert_eq!((&scenarios[0]["found"], &scenarios[0]["fix_holds"]), (&true.into(), &true.into()));

    let hunts = rows("hunt c6 --starts 3");
    let keys = "id system breaks lock faults starts found median_seeds least_seeds most_seeds seconds strategy \
                seconds_median seconds_least seconds_most token fix fix_holds fix_runs";
    has_keys(&hunts[0], keys);
    assert_eq!(hunts.len(), 1, "one row was asked for");

    let (token, _) = broken_seed();
    let replay = document(&format!("replay {token}"));
    has_keys(&replay, "token trace_hash violation violations plan events");
    assert_eq!(replay["token"], token.as_str());
    assert!(replay["events"].as_array().is_some_and(|events| events.len() > 10));

    for (list, name) in [
        ("locks", "cassandra-queue"),
        ("faults", "pause"),
        ("properties", "mutual-exclusion"),
        ("assumptions", "no-pause"),
    ] {
        let rows = rows(list);
        rows.iter().for_each(|row| has_keys(row, "name description"));
        assert!(rows.iter().any(|row| row["name"] == name), "{list}");
        let text = run(list).stdout;
        assert_eq!(text.lines().count(), rows.len(), "{list}: one line each");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_hunt_finds_from_every_start_and_the_repaired_lock_survives_the_same_seeds() {
    let hunt = &rows("hunt C6 --starts 3")[0];
    assert_eq!((&hunt["found"], &hunt["fix_holds"]), (&3.into(), &true.into()), "{hunt}");
    let seeds = |key: &str| hunt[key].as_u64().unwrap_or_else(|| panic!("no {key}: {hunt}"));
    let (least, median, most) = (seeds("least_seeds"), seeds("median_seeds"), seeds("most_seeds"));
    assert!(1 <= least && least <= median && median <= most, "{hunt}");
    assert_eq!(seeds("fix_runs"), least + median + most, "the seeds that three starts tried");
    let replay = document(&format!("replay {}", text_of(&hunt["token"])));
    assert_eq!(replay["violation"]["property"], hunt["breaks"]);

    let text = run("hunt C6 --starts 3");
    assert_eq!(text.code, 0, "{}", text.stdout);
    assert!(text.stdout.contains("✓ 3 of 3 "), "{}", text.stdout);
    assert!(text.stdout.contains("✓ holds, ") && text.stdout.contains(&text_of(&hunt["token"])));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_repaired_row_without_a_lock_holds_by_what_is_read() {
    let hunt = &rows("hunt Z9 --starts 3")[0];
    assert_eq!((&hunt["found"], &hunt["fix_holds"]), (&3.into(), &true.into()), "{hunt}");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn strategies_are_compared_line_by_line_and_in_the_end_all_together() {
    let line = "hunt C6 C14 --starts 2 --strategy swarm,guided,pct";
    let rows = rows(line);
    let shown = |row: &Value| (text_of(&row["id"]), text_of(&row["strategy"]));
    let shown: Vec<(String, String)> = rows.iter().map(shown).collect();
    let of = |id: &str, strategy: &str| (id.to_owned(), strategy.to_owned());
    let expected =
        ["C6", "C14"].map(|id| ["swarm", "guided", "pct"].map(|strategy| of(id, strategy))).concat();
    assert_eq!(shown, expected);
    for row in &rows {
        let replay = document(&format!("replay {}", text_of(&row["token"])));
        assert_eq!(replay["violation"]["property"], row["breaks"], "{row}");
        assert!(row["seconds_median"].is_number() && row["fix_holds"] == true, "{row}");
    }
    let text = run(line).stdout;
    let summary = text.split("from every start").nth(1).unwrap_or_else(|| panic!("no summary: {text}"));
    for strategy in ["swarm", "guided", "pct"] {
        assert!(summary.contains(strategy), "{text}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn replicas_that_have_not_heard_are_found_sooner_by_ranks_than_by_equal_latencies() {
    let rows = rows("hunt C11 --starts 5 --strategy plain,pct");
    let seeds = |place: usize| rows[place]["median_seeds"].as_u64().expect("it was found");
    assert!(4 * seeds(1) < seeds(0), "pct {}, plain {}", seeds(1), seeds(0));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn plans_of_a_strategy_are_in_its_tokens() {
    for strategy in ["plain", "swarm", "pct", "mixed"] {
        let sweep =
            document(&format!("sweep cassandra-queue --faults pause --strategy {strategy} --seeds 0..500"));
        let found = &sweep["violations"][0];
        let replay = document(&format!("replay {}", text_of(&found["token"])));
        assert_eq!(replay["violation"]["property"], found["property"], "{strategy}");
        let is_ranked = replay["plan"].to_string().contains("schedule: ");
        assert!(strategy == "mixed" || is_ranked == (strategy == "pct"), "{strategy}: {}", replay["plan"]);
    }
}

#[test]
fn a_herd_is_counted_for_both_watches_and_each_number_of_clients() {
    let herds = rows("herd --clients 2,8,32");
    let keys = "clients watch first_seed seeds releases wake_ups_per_release wake_ups_max requests_per_acquisition \
                as_catalogued";
    herds.iter().for_each(|row| has_keys(row, keys));
    let counted: Vec<(u64, String, f64, u64)> = herds
        .iter()
        .map(|row| {
            let number = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("no {key}: {row}"));
            let per_release = row["wake_ups_per_release"].as_f64().expect("a number");
            (number("clients"), text_of(&row["watch"]), per_release, number("wake_ups_max"))
        })
        .collect();
    let expected = [
        (2, "parent", 1.0, 1),
        (2, "predecessor", 1.0, 1),
        (8, "parent", 4.0, 7),
        (8, "predecessor", 1.0, 1),
        // In the book.
        (32, "parent", 16.0, 31),
        (32, "predecessor", 1.0, 1),
    ];
    assert_eq!(counted, expected.map(|(clients, watch, mean, most)| (clients, watch.to_owned(), mean, most)));
    assert_eq!(run("herd --clients 2,8").code, 0);
}

#[test]
fn the_smallest_safe_ttl_stands_beside_its_formula() {
    let document = document("ttl --skew 1 --pause 0");
    has_keys(&document, "picklock schema complete rows authors_ttl_seconds borne_seconds");
    let rows = document["rows"].as_array().expect("an array");
    let keys = "skew_seconds pause_seconds latency_seconds holder formula_seconds answer states counterexample_steps \
                as_formula";
    rows.iter().for_each(|row| has_keys(row, keys));
    let answers: Vec<u64> = rows.iter().filter_map(|row| row["answer"]["seconds"].as_u64()).collect();
    assert_eq!(answers, [2, 2, 4, 3]);
    assert_eq!(document["borne_seconds"], 449);

    let text = run("ttl --skew 1 --pause 0");
    assert_eq!(text.code, 0, "{}", text.stdout);
    assert!(text.stdout.contains("4s = 4s") && text.stdout.contains("449s"), "{}", text.stdout);
    // An incomplete search is no number.
    let cut = run("ttl --skew 0 --pause 0 --max-states 100");
    assert_eq!(cut.code, 3);
    assert!(cut.stdout.contains("unknown from 1s on ?"), "{}", cut.stdout);
}

#[test]
fn what_widening_leaves_open_is_left_open_by_a_limit_that_is_named() {
    let tries = rows("widen Lemma-1 --max-states 100");
    assert!(!tries.is_empty());
    for row in &tries {
        has_keys(row, "claim lock clients servers widening verdict expected why why_incomplete states token");
        let is_open = row["why_incomplete"] == "the limit of states was reached";
        assert_eq!(row["verdict"] == "incomplete", is_open, "{row}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_row_with_several_forms_is_found_by_the_id_that_they_share() {
    let ids: Vec<String> = rows("scenarios C22").iter().map(|row| text_of(&row["id"])).collect();
    assert_eq!(ids, ["C22a", "C22b", "C22c"]);
}

#[test]
fn a_hunt_that_gives_up_says_more_than_and_exits_5() {
    let gave_up = run("hunt C14 --starts 2 --seeds-max 1");
    assert_eq!(gave_up.code, 5, "{}", gave_up.stdout);
    assert!(gave_up.stdout.contains("✗ 0 of 2 ") && gave_up.stdout.contains("> 1 "));
    let hunt = &rows("hunt C14 --starts 2 --seeds-max 1")[0];
    assert_eq!((&hunt["found"], &hunt["fix_runs"]), (&0.into(), &2.into()), "{hunt}");
    for nothing in ["median_seeds", "least_seeds", "most_seeds", "token"] {
        assert!(hunt[nothing].is_null(), "{nothing}: {hunt}");
    }
}

#[test]
fn a_token_from_a_sweep_is_the_same_run_in_every_process() {
    let (token, first) = broken_seed();
    let (once, again) = (document(&format!("replay {token}")), document(&format!("replay {token}")));
    assert_eq!(once, again);
    assert_eq!(once["violation"]["property"], first["property"]);
    let text = run(&format!("replay {token} --last 5"));
    let hash = format!("\n  hash      {}\n", text_of(&once["trace_hash"]));
    assert!(text.stdout.contains(&hash), "{}", text.stdout);
    assert!(text.stdout.contains("the plan"), "{}", text.stdout);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn one_thread_and_two_print_the_same() {
    for line in [
        "sweep cassandra-queue --faults all --seeds 0..20 --keep-going",
        "sweep cassandra-queue --faults clock --seeds 0..100 --property mutual-exclusion",
        "matrix --fault clock --seeds 3",
        "theorems lemma-1",
        "check cassandra-queue --clients 2 --drop clocks-agree",
        "check cassandra-queue --drop no-clock-step",
        "scenarios C16",
        "hunt C6 C14 --starts 2",
        "sweep cassandra-queue --faults pause --strategy guided --seeds 0..100 --keep-going",
        "hunt C14 --starts 2 --strategy plain,swarm,pct,mixed,guided",
    ] {
        let [one, two] = ["1", "2"].map(|jobs| timeless(document(&format!("{line} --jobs {jobs}"))));
        assert_eq!(one, two, "{line}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn shards_together_are_the_whole_sweep() {
    let line = "sweep cassandra-queue --faults clock --seeds 0..100 --keep-going";
    let whole = document(line);
    let shards = [1, 2, 3].map(|shard| document(&format!("{line} --shard {shard}/3")));
    let sum = |key: &str| shards.iter().map(|shard| shard[key].as_u64().expect("a number")).sum::<u64>();
    for key in ["runs", "events", "truncated"] {
        assert_eq!(Some(sum(key)), whole[key].as_u64(), "{key}");
    }
    let violations = |report: &Value| report["violations"].as_array().expect("an array").clone();
    assert_eq!(shards.iter().flat_map(violations).collect::<Vec<_>>(), violations(&whole));
}

const PLAN: &str = r#"{
  "network": {"latency_min": 200, "latency_max": 2000, "tail_per_mille": 0, "tail_max": 0,
              "loss_per_mille": 0, "duplicate_per_mille": 0, "reply_loss_per_mille": 0},
  "faults": [{"when": {"trigger": {"client": null, "event": "granted", "nth": 1, "delay": 3000}},
              "fault": {"pause": {"node": "struck", "length": 45000000}}}],
  "heal_at": 60000000
}"#;

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_given_plan_strikes_in_every_run_and_its_token_replays() {
    let plan = folder("plan").join("plan.json");
    std::fs::write(&plan, PLAN).expect("the plan is written");
    let line = format!("sweep cassandra-queue --seeds 0..40 --keep-going --plan {}", plan.display());
    let [one, two] = ["1", "2"].map(|jobs| timeless(document(&format!("{line} --jobs {jobs}"))));
    assert_eq!(one, two);
    assert_eq!((&one["runs"], &one["strikes"]["pauses"]), (&40.into(), &40.into()));
    let first = &one["violations"][0];
    let replay = document(&format!("replay {}", text_of(&first["token"])));
    let broken = replay["violations"].as_array().expect("an array");
    assert!(broken.iter().any(|violation| violation["property"] == first["property"]), "{broken:?}");
    assert!(replay["plan"].to_string().contains("pauses for 45s"), "{}", replay["plan"]);
}

#[test]
fn a_bad_plan_is_refused_with_its_place_or_its_flaw() {
    let plan = folder("bad-plan").join("plan.json");
    for (from, to, why) in [
        ("\"heal_at\": 60", "\"heal_at\" 60", "line 6 column"),
        ("\"pause\"", "\"puase\"", "line 5 column"),
        ("\"latency_min\": 200", "\"latency_min\": 3000", "shortest latency"),
        ("45000000", "-45000000", "less than nothing"),
        ("60000000", "9000000000000000000", "30 days"),
    ] {
        let bad = PLAN.replacen(from, to, 1);
        assert_ne!(bad, PLAN);
        std::fs::write(&plan, bad).expect("the plan is written");
        let Ended { code, stderr, .. } = run(&format!("sweep cassandra-queue --plan {}", plan.display()));
        assert_eq!((code, stderr.lines().count()), (2, 1), "{stderr}");
        assert!(stderr.contains(why), "{stderr}");
    }
}

#[test]
fn reports_go_where_they_are_asked_for() {
    let out = folder("out").join("new");
    let line = format!("matrix --lock cassandra-queue --fault none --seeds 3 --out {}", out.display());
    let printed = document(&line);
    let written = std::fs::read_to_string(out.join("report.json")).expect("the report");
    assert_eq!(serde_json::from_str::<Value>(&written).expect("a document"), printed);
    let text = std::fs::read_to_string(out.join("report.txt")).expect("the report");
    assert!(run(&line).stdout.starts_with(&text), "{text}");

    let (token, _) = broken_seed();
    let file = out.join("trace.txt");
    let replay = run(&format!("replay {token} --out {}", file.display()));
    let wrote = format!("wrote {}\n", file.display());
    assert_eq!((replay.code, replay.stdout.as_str(), replay.stderr), (0, "", wrote));
    assert!(std::fs::read_to_string(file).is_ok_and(|trace| trace.contains("\n  hash      ")));

    // A file is no folder.
    let under_file = out.join("report.txt").join("below");
    for line in ["matrix".to_owned(), format!("replay {token}")] {
        let Ended { code, stdout, stderr } = run(&format!("{line} --out {}", under_file.display()));
        assert_eq!((code, stdout.as_str(), stderr.lines().count()), (2, "", 1), "{stderr}");
    }
}

#[test]
fn a_claim_is_made_only_of_what_happened() {
    let sweep = run("sweep cassandra-queue-repaired --faults all --seeds 0..1");
    assert!(sweep.stdout.contains("never struck, though asked for: "), "{}", sweep.stdout);
    let sweep = run("sweep cassandra-queue-repaired --faults none --seeds 0..1");
    assert!(sweep.stdout.contains("nothing struck"), "{}", sweep.stdout);
}

/// Other faults that are let in are no reason to believe that the one at this line struck.
#[test]
fn a_fault_at_a_line_that_nobody_comes_to_struck_nobody() {
    for line in
        ["check redis-single --drop no-crash --at L99:99", "check redis-single --drop no-pause --at L99:99"]
    {
        let check = run(line);
        assert_eq!(check.code, 4, "{line}: {}", check.stdout);
        assert!(check.stdout.contains("nothing struck: no client ever came to"), "{}", check.stdout);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn quick_theorems_say_what_they_left_out_and_what_each_leans_on() {
    let theorems = run("theorems lemma-1 theorem-2 --quick");
    assert_eq!(theorems.code, 0, "{}", theorems.stdout);
    assert!(theorems.stdout.contains("leans on") && theorems.stdout.contains("does not need"));
    let (_, left_out) = theorems.stdout.split_once("--quick left out").expect("what was left out");
    assert!(left_out.contains("theorem-2, 4 threads"), "{left_out}");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_document_of_quick_theorems_is_complete_only_if_nothing_was_left_out() {
    let quick = document("theorems lemma-1 theorem-2 --quick");
    let left_out: Vec<String> =
        quick["left_out"].as_array().expect("what was left out").iter().map(text_of).collect();
    assert!(left_out.iter().any(|claim| claim.starts_with("theorem-2, 4 threads")), "{left_out:?}");
    assert_eq!(quick["complete"], false);
    let whole = document("theorems lemma-1 --quick");
    assert_eq!((&whole["complete"], &whole["left_out"]), (&true.into(), &Value::Array(Vec::new())));
}

#[test]
fn a_document_of_widenings_is_complete_only_if_nothing_was_left_out() {
    let without = document("widen theorem-2 --max-states 100");
    let left_out = without["left_out"].as_array().expect("what was left out");
    assert!(!left_out.is_empty() && without["complete"] == false, "{left_out:?}");
    let whole = document("widen lemma-1 --max-states 100");
    assert_eq!((&whole["complete"], &whole["left_out"]), (&true.into(), &Value::Array(Vec::new())));
}

#[test]
fn what_is_not_a_terminal_gets_neither_colours_nor_progress() {
    for line in ["matrix --seeds 3 --fault clock", "check cassandra-queue --drop unique-ids", "locks"] {
        let Ended { stdout, stderr, .. } = run(line);
        assert!(!stdout.contains('\x1b') && stderr.is_empty(), "{line}: {stderr}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_reader_who_has_read_enough_is_no_error() {
    let (token, _) = broken_seed();
    let lines = ["", "--help", "theorems lemma-1", "matrix --seeds 3 --fault clock", "locks", "locks --json"];
    for line in lines.map(str::to_owned).into_iter().chain([format!("replay {token} --all")]) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = quiet().args(line.split_whitespace()).stdout(writer).stderr(Stdio::piped()).output();
        let ended = ended(output.expect("the binary runs"));
        assert_eq!((ended.code, ended.stderr.as_str()), (141, ""), "{line}");
    }
}

#[test]
fn completions_are_there_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let Ended { code, stdout, .. } = run(&format!("completions {shell}"));
        assert!(code == 0 && stdout.contains("scenarios"), "{shell}");
        // Help does not show it either.
        assert!(!stdout.contains("fingerprints"), "{shell} offers what is hidden");
    }
}

/// What a command says that hears ^C after so long. `env` gives the interrupt its usual effect again, in case the tests run
/// where it is ignored.
#[cfg(target_os = "linux")]
fn interrupted(line: &str, after: std::time::Duration) -> Ended {
    let child = Command::new("env")
        .env("PICKLOCK_CACHE", "")
        .args(["--default-signal=INT", PICKLOCK])
        .args(line.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    std::thread::sleep(after);
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success(), "{line}");
    ended(child.wait_with_output().expect("the command ends"))
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_check_says_what_it_has_and_is_no_pass() {
    let ended = interrupted("check cassandra-queue --clients 5", std::time::Duration::from_millis(1500));
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stdout.contains("interrupted: this is NOT a pass"), "{}", ended.stdout);
    assert!(ended.stdout.contains("states"), "{}", ended.stdout);
}

/// Each takes minutes where nobody stops it.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn commands_that_take_long_stop_early_with_what_they_have_and_pass_nothing() {
    let lines = [
        "widen theorem-1 --max-states 100000000",
        "herd --clients 100,110,120,128",
        "shrink --catalogue --starts 3",
    ];
    for line in lines {
        let ended = interrupted(line, std::time::Duration::from_millis(1500));
        assert_eq!((ended.code, ended.stderr.as_str()), (3, ""), "{line}: {}", ended.stdout);
        assert!(ended.stdout.contains("NOT a pass"), "{line}: {}", ended.stdout);
    }
}

/// What is stopped before anything is finished says so, and nothing of what it has not.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_matrix_that_is_stopped_tells_of_the_locks_that_it_came_to() {
    let ended = interrupted("matrix --seeds 1000000 --jobs 1", std::time::Duration::from_millis(1500));
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(
        ended.stdout.contains("interrupted after ") && !ended.stdout.contains("dlm-pages"),
        "{}",
        ended.stdout
    );
    let shrunk = interrupted("shrink --catalogue --starts 3", std::time::Duration::from_millis(1500)).stdout;
    assert!(shrunk.contains("stopped after ") && !shrunk.contains('✗'), "{shrunk}");
}

#[test]
fn a_benchmark_is_the_same_on_any_number_of_threads_and_draws_its_plot() {
    let plot = folder("bench").join("plot.svg");
    let line = |jobs: u8| {
        format!(
            "bench --threads 1,3 --hold-ms 5 --seconds 1 --seeds 0..2 --jobs {jobs} --svg {}",
            plot.display()
        )
    };
    let measured = document(&line(1));
    has_keys(
        &measured,
        "latency_ms warm_up_seconds seconds first_seed seeds poll_interval_ms ttl_seconds locks points",
    );
    let points = measured["points"].as_array().expect("a list");
    assert_eq!(points.len(), 2 * measured["locks"].as_array().expect("a list").len());
    for point in points {
        has_keys(
            point,
            "lock threads hold_ms per_second wait_p50_ms wait_p99_ms wait_max_ms jain longest_run",
        );
        has_keys(
            point,
            "requests_per_acquisition replica_messages_per_acquisition overtakes_per_acquisition",
        );
        assert_eq!(point["mutual_exclusion_broken"], false);
    }
    let drawn = std::fs::read_to_string(&plot).expect("the plot is there");
    assert!(drawn.starts_with("<svg") && drawn.contains("feedback-lock"));
    assert_eq!(measured, document(&line(3)));
    assert_eq!(drawn, std::fs::read_to_string(&plot).expect("the plot is there"));
}

#[test]
fn a_plot_that_cannot_be_written_is_a_wrong_call() {
    let ended = run("bench --threads 1 --hold-ms 5 --seconds 1 --seeds 0..1 --svg /nowhere/plot.svg");
    assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "{}", ended.stderr);
}

#[test]
fn what_nothing_could_break_is_vacuous_and_exits_4() {
    for (line, promise, never) in [
        ("check redis-single --property fifo", "fifo", "stood in the queue"),
        ("check zookeeper-lock --property lemma-1", "lemma-1", "had read and missed its record"),
        (
            "check redis-single --property min-validity --clients 1 --property fifo",
            "fifo",
            "stood in the queue",
        ),
        ("check cassandra-queue --clients 1", "mutual-exclusion", "another one held"),
        ("sweep redlock --property fifo --seeds 0..5", "fifo", "stood in the queue"),
    ] {
        let ended = run(line);
        assert_eq!(ended.code, 4, "{line}: {}", ended.stdout);
        assert!(
            ended.stdout.contains("NOT a pass") && ended.stdout.contains(never),
            "{line}: {}",
            ended.stdout
        );
        let document = document(line);
        let untested = document["untested"].as_array().expect("a list");
        assert_eq!(document["verdict"], "vacuous", "{line}");
        assert!(untested.contains(&promise.into()), "{line}: {untested:?}");
    }
    let cells = rows("matrix --lock redlock --fault none --seeds 5");
    let fifo = cells.iter().find(|cell| cell["property"] == "fifo").expect("a cell for each promise");
    assert_eq!((&fifo["verdict"], &fifo["tested"]), (&"vacuous".into(), &0.into()));
    assert_eq!(run("matrix --lock redlock --fault none --seeds 5").code, 0, "the other cells mean something");
}

#[test]
fn a_sweep_of_the_usual_promises_needs_mutual_exclusion_to_be_tested_and_names_what_was_not() {
    let sweep = document("sweep redlock --faults none --seeds 0..5");
    assert_eq!(sweep["verdict"], "not-seen");
    assert_eq!(sweep["untested"], serde_json::json!(["lease-loss"]));
    assert!(sweep["tested"]["mutual-exclusion"].as_u64() > Some(0), "{}", sweep["tested"]);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_sweep_goes_on_until_its_promises_were_tested_often_enough() {
    let line = "sweep cassandra-queue-repaired --faults none --property mutual-exclusion";
    let enough = document(&format!("{line} --seeds 0..100000 --until-tested 100"));
    let (runs, tested) = (enough["runs"].as_u64(), enough["tested"]["mutual-exclusion"].as_u64());
    assert!(tested >= Some(100) && runs < Some(1000), "{tested:?} of {runs:?}");
    let [one, two] = ["1", "2"].map(|jobs| {
        timeless(document(&format!("{line} --seeds 0..100000 --until-tested 100 --jobs {jobs}")))
    });
    assert_eq!(one, two);
    let short = run(&format!("{line} --seeds 0..10 --until-tested 100"));
    assert_eq!(short.code, 3, "{}", short.stdout);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_few_seeds_and_many_say_nothing_against_each_other() {
    for seeds in [1, 10, 300] {
        let ended = run(&format!(
            "matrix --lock redis-single,cassandra-queue --fault pause,clock,none --seeds {seeds}"
        ));
        assert_eq!(ended.code, 0, "{seeds} seeds: {}", ended.stdout);
    }
    let cells = rows("matrix --lock redlock --fault clock --seeds 1");
    let exclusion = cells.iter().find(|cell| cell["property"] == "mutual-exclusion").expect("a cell");
    assert_eq!(exclusion["verdict"], "known-violated");
    assert!(text_of(&exclusion["known_by"]).contains("R3"), "{exclusion}");
}

#[test]
fn the_same_words_give_the_same_verdict_in_check_and_theorems() {
    let checked = document("check cassandra-queue --try-lock --property theorem-3 --progress");
    assert_eq!(checked["verdict"], "holds", "as theorems says");
    let released = document("check cassandra-queue --try-lock --property theorem-3 --drop free-at-start");
    assert_eq!(released["verdict"], "violated");
    assert_eq!(released["not_in_force"], serde_json::json!(["free-at-start"]));
}

#[test]
fn a_check_names_the_faults_that_nobody_dropped() {
    let ended = run("check redis-single --progress");
    assert!(ended.stdout.contains("a server loses power once"), "{}", ended.stdout);
    assert!(ended.stdout.contains("hold ") && ended.stdout.contains("messages take"), "{}", ended.stdout);
}

#[test]
fn why_a_row_is_not_hunted_is_an_answer() {
    let ended = run("hunt R28");
    assert_eq!(ended.code, 4, "nothing was hunted: {}", ended.stderr);
    assert!(ended.stdout.contains("R28 is not hunted: "), "{}", ended.stdout);
    let document = document("hunt C22a");
    assert!(
        text_of(&document["unhunted"][0]["why"]).contains("the service's time stands still"),
        "{document}"
    );
}

#[test]
fn the_last_seeds_there_are_can_be_swept() {
    let last = format!("{}..{}", u64::MAX - 1, u64::MAX);
    let ended = run(&format!("sweep redlock --faults none --seeds {last}"));
    assert!(matches!(ended.code, 0 | 1 | 4), "{} {}", ended.code, ended.stderr);
}

#[test]
fn names_are_read_however_they_are_capitalised() {
    let ended = run("sweep REDLOCK --faults None --seeds 0..2");
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(run("theorems Theorem-9").code, 2);
    assert_eq!(run("matrix --lock Redlock --fault NONE --seeds 2").code, 0);
    let all_but = run("sweep redlock --faults -Pause,-clock --seeds 0..2").stdout;
    assert!(all_but.contains("faults    delay,loss,"), "{all_but}");
}

#[test]
fn a_probe_is_swept_through_replies_that_arrive_twice() {
    let ended = run("sweep row-probe --seeds 0..50 --keep-going");
    assert!(!matches!(ended.code, 2 | 101), "{} {}", ended.code, ended.stderr);
}

#[test]
fn faults_that_nothing_can_come_of_are_not_tried() {
    let ended = run("try --faults duplicate -- true");
    assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "{}", ended.stderr);
    assert!(ended.stderr.contains("nothing comes twice over TCP"), "{}", ended.stderr);
    for call in ["try --faults pause,resource -- true", "serve redis --faults resource"] {
        let ended = run(call);
        assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "{}", ended.stderr);
        assert!(ended.stderr.contains("no fault of the resource can strike it"), "{}", ended.stderr);
    }
}

#[test]
fn whoever_waits_for_a_server_that_lost_power_asks_again_where_progress_is_checked() {
    let checked = document("check redis-single --progress");
    assert_eq!(checked["verdict"], "holds", "{checked}");
}
