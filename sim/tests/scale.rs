//! Sweeps that are cut into shards, killed, and gone on with, come to what one sweep comes to that nobody disturbs.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const PICKLOCK: &str = env!("CARGO_BIN_EXE_picklock");
const LOCK: &str = "redis-single";
const SEEDS: &str = "0..12000";

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    folder
}

fn picklock(folder: &Path) -> Command {
    let mut command = Command::new(PICKLOCK);
    command.current_dir(folder).env("NO_COLOR", "1");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A document without what is about the processes and not about the runs.
fn document(output: &Output) -> Value {
    let mut document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)));
    let fields = document.as_object_mut().expect("a document");
    fields.remove("seconds").expect("it says how long it took");
    fields.remove("watch");
    document
}

fn undisturbed(folder: &Path) -> Value {
    let output = picklock(folder)
        .args(["sweep", LOCK, "--seeds", SEEDS, "--keep-going", "--json", "--watch", "0"])
        .output()
        .expect("picklock runs");
    document(&output)
}

fn merged(folder: &Path, files: &[&str]) -> Output {
    picklock(folder).arg("merge").args(files).arg("--json").output().expect("picklock runs")
}

fn lines(path: &Path) -> usize {
    std::fs::read(path).map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count())
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_sweep_that_is_killed_in_the_middle_and_goes_on_comes_to_the_same_as_one_that_is_not() {
    let folder = folder("killed");
    let file = folder.join("results.jsonl");
    let sweep = || {
        let mut command = picklock(&folder);
        command.args(["sweep", LOCK, "--seeds", SEEDS, "--results", "results.jsonl", "--watch", "0"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    for kill_after in [2, 5] {
        let mut running = sweep().spawn().expect("picklock runs");
        while lines(&file) < kill_after {
            assert!(running.try_wait().expect("it can be asked").is_none(), "it ended before it was killed");
            std::thread::sleep(Duration::from_millis(2));
        }
        running.kill().expect("it can be killed");
        running.wait().expect("it has ended");
        let half = merged(&folder, &["results.jsonl"]);
        assert_eq!((half.status.code(), document(&half)["interrupted"].as_bool()), (Some(1), Some(true)));
    }
    let last = sweep().output().expect("picklock runs");
    assert_eq!(last.status.code(), Some(1), "{}", text(&last.stderr));
    let after = std::fs::read(&file).expect("there are results");
    assert_eq!(document(&merged(&folder, &["results.jsonl"])), undisturbed(&folder));

    // Once more does nothing.
    assert_eq!(sweep().output().expect("picklock runs").status.code(), Some(1));
    assert_eq!(std::fs::read(&file).expect("there are results"), after);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_example_for_a_scheduler_does_what_it_says() {
    let folder = folder("scheduled");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/slurm_sweep.sh");
    for task in ["3", "1", "2"] {
        let status = Command::new("sh")
            .arg(script)
            .current_dir(&folder)
            .envs([("PICKLOCK", PICKLOCK), ("LOCK", LOCK), ("SEEDS", SEEDS)])
            .envs([
                ("SLURM_ARRAY_TASK_ID", task),
                ("SLURM_ARRAY_TASK_COUNT", "3"),
                ("SLURM_CPUS_PER_TASK", "2"),
            ])
            .stdout(Stdio::null())
            .status()
            .expect("there is a shell");
        assert!(status.success(), "task {task}: {status}");
    }
    let files = ["results-1.jsonl", "results-2.jsonl", "results-3.jsonl"];
    assert_eq!(document(&merged(&folder, &files)), undisturbed(&folder));

    let missing = merged(&folder, &files[..2]);
    assert_eq!((missing.status.code(), document(&missing)["interrupted"].as_bool()), (Some(1), Some(true)));
    let shown = picklock(&folder).arg("merge").args(&files[1..]).output().expect("picklock runs");
    assert!(text(&shown.stdout).contains("no file has the seeds 0..4000"), "{}", text(&shown.stdout));
}

#[test]
fn results_that_do_not_fit_together_are_refused_in_one_sentence() {
    let folder = folder("misfits");
    let swept = |args: &[&str]| {
        let mut command = picklock(&folder);
        command.args(["sweep", LOCK, "--seeds", "0..100"]).args(args).output().expect("picklock runs")
    };
    swept(&["--faults", "pause", "--results", "pause.jsonl"]);
    swept(&["--faults", "loss", "--results", "loss.jsonl"]);
    std::fs::write(folder.join("diary.txt"), "Dear diary,\n").expect("it can be written");
    let refused = |output: Output, what: &str| {
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(what), "{said}");
    };
    refused(merged(&folder, &["pause.jsonl", "loss.jsonl"]), "another sweep, with other faults");
    refused(merged(&folder, &["pause.jsonl", "pause.jsonl"]), "counted twice");
    refused(merged(&folder, &["diary.txt"]), "line 1 is not what a sweep writes there");
    refused(merged(&folder, &["nothing.jsonl"]), "nothing.jsonl");
    refused(swept(&["--faults", "loss", "--results", "pause.jsonl"]), "another sweep, with other faults");
    refused(swept(&["--results", "diary.txt"]), "diary.txt");
    refused(swept(&["--results", "no/such/folder"]), "no/such/folder");
    refused(swept(&["--strategy", "guided", "--results", "guided.jsonl"]), "guided");
}
