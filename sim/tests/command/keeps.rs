//! What a matrix is held against: files of what it was, and two results side by side.

use super::{document, folder, has_keys, run, text_of};
use serde_json::Value;
use std::path::Path;

/// Two locks, of which one breaks under pauses by the first seeds.
const MATRIX: &str = "matrix --lock redis-single,redis-single-fenced --fault none,pause";

fn accepted(name: &str, seeds: u64) -> String {
    let file = folder(name).join("matrix.json");
    let file = file.to_str().expect("a plain path").to_owned();
    let ended = run(&format!("{MATRIX} --seeds {seeds} --accept {file}"));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains(&format!("accepted: {file} has ")), "{}", ended.stdout);
    file
}

#[test]
fn what_is_named_twice_is_a_row_once() {
    let cells = |line: &str| super::rows(&format!("{line} --seeds 2")).len();
    let once = cells("matrix --lock redlock --fault pause");
    assert_eq!(cells("matrix --lock redlock,Redlock --fault pause --fault pause"), once);
}

fn edited(file: &str, edit: impl Fn(&str) -> String) {
    let text = std::fs::read_to_string(file).expect("it was written");
    let edited = edit(&text);
    assert_ne!(edited, text, "nothing to edit");
    std::fs::write(file, edited).expect("it can be written");
}

/// The lines of a text with this in them.
fn with(text: &str, of: &str) -> Vec<String> {
    text.lines().filter(|line| line.contains(of)).map(str::to_owned).collect()
}

#[test]
fn a_matrix_is_as_it_was_accepted_whatever_the_number_of_seeds() {
    let file = accepted("accepted", 300);
    for seeds in [300, 20, 400] {
        let ended = run(&format!("{MATRIX} --seeds {seeds} --expect {file}"));
        let last = with(&ended.stdout, &format!("of {file}: "));
        assert!(last[0].contains(" 0 differences, "), "{seeds}: {last:?}");
        assert_eq!(ended.code, 0, "{seeds}: {}", ended.stdout);
    }
    let part = run(&format!("matrix --lock redis-single --fault pause --seeds 20 --expect {file}"));
    assert_eq!(part.code, 0, "what is not asked for is not missed: {}", part.stdout);
    assert!(!with(&part.stdout, " not asked for")[0].contains(" 0 not asked for"), "{}", part.stdout);
}

#[test]
fn what_differs_from_the_file_is_told_in_a_line_each_and_exits_5() {
    let file = accepted("differs", 300);
    // As if a pause had broken nothing, and as if something had been broken that is not.
    let text = std::fs::read_to_string(&file).expect("it was written");
    let line =
        text.lines().find(|line| line.contains("\"not-seen\"")).expect("not all of it breaks").to_owned();
    let cell: Value = serde_json::from_str(line.trim_end_matches(',')).expect("a line is a cell");
    let of = |key: &str| text_of(&cell[key]);
    let broken =
        line.replace("\"first_seed\":null", "\"first_seed\":7").replace("\"not-seen\"", "\"violated\"");
    edited(&file, |text| {
        let paused = "\"redis-single\",\"fault\":\"pause\",\"property\":\"mutual-exclusion\"";
        let edit = |old: &str| match old {
            old if old == line => broken.clone(),
            old if old.contains(paused) => old.replace("\"violated\"", "\"not-seen\""),
            old => old.to_owned(),
        };
        text.lines().map(edit).collect::<Vec<_>>().join("\n")
    });
    let ended = run(&format!("{MATRIX} --seeds 300 --expect {file}"));
    assert_eq!(ended.code, 5, "{}", ended.stdout);
    let worse = "redis-single · pause · mutual-exclusion: was not seen to break in 300 runs, is broken by";
    let better =
        format!("{} · {} · {}: was broken by seed 7, is not", of("lock"), of("fault"), of("property"));
    assert_eq!(with(&ended.stdout, worse).len(), 1, "{}", ended.stdout);
    assert_eq!(with(&ended.stdout, &better).len(), 1, "{}", ended.stdout);
    // Seven seeds do not have the eighth.
    let few = format!("matrix --lock {} --fault {} --seeds 7 --expect {file}", of("lock"), of("fault"));
    let few = run(&few).stdout;
    assert!(with(&few, &better).is_empty(), "{few}");
    assert_eq!(run(&format!("{MATRIX} --seeds 300 --accept {file}")).code, 0);
    assert_eq!(run(&format!("{MATRIX} --seeds 300 --expect {file}")).code, 0);
}

#[test]
fn files_that_hold_nothing_are_refused() {
    let folder = folder("refused");
    let path = |name: &str| folder.join(name).to_str().expect("a plain path").to_owned();
    let none = run(&format!("{MATRIX} --expect {}", path("none.json")));
    assert_eq!(none.code, 2);
    assert!(none.stderr.contains("there is no such file; --accept"), "{}", none.stderr);
    std::fs::write(path("theorems.json"), "{\"rows\": [{\"theorem\": \"lemma-1\"}]}").expect("it is written");
    let here = path(".");
    for line in [
        format!("{MATRIX} --expect {here}"),
        format!("{MATRIX} --accept {here}"),
        format!("sweep redlock --seeds 0..2 --plan {here}"),
        format!("sweep redlock --seeds 0..2 --results {here}"),
        format!("merge {here}"),
        format!("{MATRIX} --expect {}", path("theorems.json")),
        format!("diff {0} {0}", path("theorems.json")),
        format!("diff {0} {0}", path("none.json")),
    ] {
        let ended = run(&line);
        assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "{line}: {}", ended.stderr);
    }
}

/// What has no end would be read for ever.
#[cfg(target_os = "linux")]
#[test]
fn devices_are_no_files() {
    for line in [
        "sweep redlock --seeds 0..2 --results /dev/full",
        "sweep redlock --seeds 0..2 --results /dev/zero",
        "sweep redlock --seeds 0..2 --plan /dev/zero",
        "matrix --lock redlock --fault none --seeds 2 --expect /dev/zero",
        "matrix --lock redlock --fault none --seeds 2 --accept /dev/full",
        "merge /dev/zero",
        "diff /dev/zero /dev/zero",
    ] {
        let ended = run(line);
        assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains("it is a device or a pipe, not a file"), "{line}: {}", ended.stderr);
    }
}

fn written(file: &Path, document: &Value) {
    std::fs::write(file, document.to_string()).expect("it is written");
}

#[test]
fn two_results_are_compared_cell_by_cell() {
    let folder = folder("diff");
    let [before, after] = ["before.json", "after.json"].map(|name| folder.join(name));
    let matrix = document(&format!("{MATRIX} --seeds 100"));
    written(&before, &matrix);
    written(&after, &matrix);
    let diff = format!("diff {} {}", before.display(), after.display());
    let same = run(&diff);
    assert_eq!((same.code, same.stdout.contains("0 differences")), (0, true), "{}", same.stdout);

    let mut worse = matrix.clone();
    let cells = worse["rows"].as_array_mut().expect("cells");
    let cell = cells.iter_mut().find(|cell| cell["verdict"] == "not-seen").expect("not all of it breaks");
    cell["verdict"] = "violated".into();
    cell["first_seed"] = 42.into();
    let (lock, property) = (text_of(&cell["lock"]), text_of(&cell["property"]));
    written(&after, &worse);
    let ended = run(&diff);
    assert_eq!(ended.code, 5);
    let line = with(&ended.stdout, "is broken by seed 42");
    assert!(line.len() == 1 && line[0].starts_with(&lock) && line[0].contains(&property), "{}", ended.stdout);
    let told = document(&diff);
    has_keys(&told["rows"][0], "lock fault property change was is");
    assert_eq!((&told["rows"][0]["change"], &told["unmet"]), (&"worse".into(), &0.into()));
}

#[test]
fn two_sweeps_are_compared_as_well() {
    let folder = folder("diff-sweeps");
    let [before, after] = ["before.json", "after.json"].map(|name| folder.join(name));
    let sweep = |seeds: &str| {
        document(&format!("sweep redis-single --faults pause --keep-going --watch 0 --seeds {seeds}"))
    };
    written(&before, &sweep("0..300"));
    written(&after, &sweep("0..1"));
    let ended = run(&format!("diff {} {}", before.display(), after.display()));
    assert_eq!(ended.code, 0, "one seed contradicts nobody: {}", ended.stdout);
    let ended = run(&format!("diff {} {}", after.display(), before.display()));
    assert_eq!(ended.code, 5, "{}", ended.stdout);
    assert!(ended.stdout.contains("redis-single · pause · mutual-exclusion: "), "{}", ended.stdout);
}
