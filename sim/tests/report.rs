//! `matrix --out`: a page, and behind each red cell the picture of a run that breaks the promise, with little in it.

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

#[test]
fn every_broken_promise_leads_to_the_picture_of_a_small_run_that_breaks_it() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("report");
    let _ = std::fs::remove_dir_all(&folder);
    let picklock = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_picklock")).args(args).output().expect("picklock runs")
    };
    let out = folder.to_str().expect("the folder's name is text");
    let matrix = |jobs: &str| {
        let rows = "matrix --lock redis-single,feedback-lock --fault pause,none --seeds 100";
        let args: Vec<&str> = rows.split(' ').chain(["--jobs", jobs, "--out", out]).collect();
        picklock(&args)
    };
    matrix("2");

    let read = |name: &str| {
        std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let (index, report) = (read("index.html"), read("report.json"));
    let document: Value = serde_json::from_str(&report).expect("a document");
    assert_eq!(document["complete"], true);
    let cells = document["rows"].as_array().expect("an array of cells");
    let broken: Vec<&Value> = cells.iter().filter(|cell| cell["verdict"] == "violated").collect();
    assert!(broken.len() >= 3, "{report}");
    for cell in broken {
        let picture = cell["picture"].as_str().unwrap_or_else(|| panic!("no picture for {cell}"));
        assert!(index.contains(&format!("href=\"{picture}\"")), "{picture}");
        let page = read(picture);
        let shrunk = cell["shrunk"].as_str().expect("a token");
        assert!(page.contains(shrunk) && page.contains("<svg"), "{picture}");
        assert!(!page.contains("src=\"http") && !page.contains("url(http"), "it loads nothing: {picture}");
        let replayed = picklock(&["replay", shrunk, "--json"]);
        let replayed: Value = serde_json::from_slice(&replayed.stdout).expect("a document");
        assert_eq!(replayed["violation"]["property"], cell["property"], "{picture}");
        // How it breaks is told where one points at its cell.
        let told = |cause: &Value| index.contains(cause["words"].as_str().expect("words"));
        let is_plain = |cause: &&Value| {
            !cause["words"].as_str().is_some_and(|words| words.contains(['<', '>', '&', '"']))
        };
        let why = replayed["why"].as_array().expect("a chain of causes");
        assert!(!why.is_empty() && why.iter().filter(is_plain).all(told), "{picture}: {why:?}");
        assert!(replayed["plan"].as_array().expect("a plan").len() <= 4, "{}", replayed["plan"]);
    }
    let kept = cells.iter().filter(|cell| cell["verdict"] == "not-seen");
    assert!(kept.clone().count() > 0 && kept.clone().all(|cell| cell.get("picture").is_none()), "{report}");
    assert!(read("report.txt").contains("redis-single"));
    // Made again, it is the same, byte for byte.
    let before = (index, read("redis-single/pause-mutual-exclusion.html"));
    matrix("1");
    assert_eq!((read("index.html"), read("redis-single/pause-mutual-exclusion.html")), before);
}
