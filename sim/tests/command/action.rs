//! The GitHub Action: what it says of itself, and what its script does, run here as a runner would.

use super::{PICKLOCK, folder};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use yaml_rust2::{Yaml, YamlLoader};

const ACTION: &str = include_str!("../../../.github/actions/picklock/action.yml");

fn action() -> Yaml {
    let mut all = YamlLoader::load_from_str(ACTION).expect("it is YAML");
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn steps(action: &Yaml) -> Vec<Yaml> {
    action["runs"]["steps"].as_vec().expect("steps").clone()
}

/// The step that runs the command.
fn run_step(action: &Yaml) -> Yaml {
    steps(action).into_iter().find(|step| step["id"].as_str() == Some("run")).expect("a step that runs it")
}

fn keys(of: &Yaml) -> BTreeSet<String> {
    of.as_hash().expect("a map").keys().filter_map(|key| key.as_str().map(str::to_owned)).collect()
}

/// The inputs that are used anywhere: `inputs.seeds`.
fn inputs_used() -> BTreeSet<String> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let behind = ACTION.split("inputs.").skip(1);
    behind
        .map(|rest| rest.split(|letter| !is_of_name(letter)).next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn the_action_has_no_input_that_it_does_not_use_and_uses_none_that_it_does_not_have() {
    let action = action();
    assert_eq!(action["runs"]["using"].as_str(), Some("composite"));
    assert_eq!(keys(&action["inputs"]), inputs_used());
    for (name, input) in action["inputs"].as_hash().expect("a map") {
        let is_told = |key: &str| input[key].as_str().is_some();
        assert!(is_told("description") && is_told("default"), "{name:?}: {input:?}");
    }
    for step in steps(&action) {
        // GitHub takes no script of a composite action without a shell.
        assert_eq!(step["run"].as_str().is_some(), step["shell"].as_str() == Some("bash"), "{step:?}");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    assert!(root.join(".github/actions/picklock/../../../Cargo.toml").exists(), "what it builds");
    let book = include_str!("../../../docs/src/ci.md");
    for name in keys(&action["inputs"]) {
        assert!(book.contains(&format!("`{name}`")), "the book says nothing of {name}");
    }
}

/// How the script ends the command, what files there are then, and what it adds to the job's summary.
fn ran(name: &str, given: &[(&str, &str)]) -> Option<(i32, BTreeSet<String>, String)> {
    let action = action();
    let step = run_step(&action);
    let folder = folder(&format!("action-{name}"));
    let file = |name: &str| folder.join(name).display().to_string();
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    for variable in keys(&step["env"]) {
        let from = step["env"][variable.as_str()].as_str().expect("an expression");
        let input = from.trim_start_matches("${{ inputs.").trim_end_matches(" }}");
        let usual = action["inputs"][input]["default"].as_str().unwrap_or_else(|| panic!("no input {input}"));
        let given = given.iter().find(|(name, _)| *name == input).map_or(usual, |(_, value)| value);
        variables.insert(variable, given.to_owned());
    }
    variables.insert("PROGRAM".to_owned(), PICKLOCK.to_owned());
    variables.insert("PAGES".to_owned(), file("pages"));
    let output = Command::new("bash")
        .args([
            "--noprofile",
            "--norc",
            "-e",
            "-o",
            "pipefail",
            "-c",
            step["run"].as_str().expect("a script"),
        ])
        .envs(variables)
        .env("GITHUB_OUTPUT", file("output"))
        .env("GITHUB_STEP_SUMMARY", file("summary"))
        .env("RUNNER_TEMP", file("temp"))
        .env("PICKLOCK_CACHE", file("cache"))
        .current_dir(&folder)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no bash here");
        return None;
    };
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {said}");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let code = read("output").trim().strip_prefix("exit-code=").and_then(|code| code.parse().ok());
    let pages = std::fs::read_dir(folder.join("pages")).expect("the folder is made");
    let pages = pages.filter_map(|page| page.ok()?.file_name().into_string().ok()).collect();
    Some((code.unwrap_or_else(|| panic!("{name} gives no exit code: {said}")), pages, read("summary")))
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_the_action_calls_is_a_call_that_the_command_takes() {
    for (given, code, page) in [
        (
            &[
                ("command", "matrix"),
                ("lock", "redlock,redis-single"),
                ("faults", "pause,none"),
                ("seeds", "20"),
            ][..],
            0,
            "index.html",
        ),
        (&[("command", "sweep"), ("lock", "redlock"), ("faults", "pause"), ("seeds", "100")], 1, "run.html"),
        (&[("command", "check"), ("lock", "redis-single"), ("arguments", "--drop no-pause")], 1, "run.html"),
        (&[("command", "check"), ("lock", "redis-single")], 0, "junit.xml"),
        (&[("command", "theorems"), ("lock", "transfer"), ("arguments", "--quick --jobs 1")], 0, "junit.xml"),
        (&[("command", "scenarios"), ("lock", "R18,V8")], 0, "junit.xml"),
    ] {
        let Some((ended, pages, summary)) = ran(given[0].1, given) else { return };
        assert_eq!(ended, code, "{given:?}: {summary}");
        assert!(pages.contains(page) && pages.contains("junit.xml"), "{given:?}: {pages:?}");
        assert!(summary.starts_with("### "), "{given:?}: {summary}");
        assert_eq!(summary.contains("the artifact picklock of this run"), code != 0, "{given:?}: {summary}");
    }
    let Some((code, _, _)) =
        ran("expect", &[("lock", "redlock"), ("seeds", "3"), ("expect", "missing.json")])
    else {
        return;
    };
    assert_eq!(code, 2, "there is no such file");
    let Some((code, _, _)) = ran("bogus", &[("command", "hunt")]) else { return };
    assert_eq!(code, 2);
}
