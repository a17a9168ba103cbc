//! Every example that a `--help`, the README or the book in `docs/` shows is a call that the command takes.
//!
//! Each is started in a folder of its own, with what it needs. A wrong call ends at once, with exit code 2; what is still running
//! after [`PATIENCE`] was understood, and is ended; some run at once. `PICKLOCK_LONG=1` lets each run to its end, but for servers,
//! which have none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const PICKLOCK: &str = env!("CARGO_BIN_EXE_picklock");
const README: &str = include_str!("../../README.md");
const PATIENCE: Duration = Duration::from_millis(700);

/// How many run at once.
const AT_ONCE: usize = 6;

/// These run until somebody ends them.
const ENDLESS: &str = "serve ";

const PLAN: &str = r#"{
  "network": {"latency_min": 200, "latency_max": 2000, "tail_per_mille": 0, "tail_max": 0,
              "loss_per_mille": 0, "duplicate_per_mille": 0, "reply_loss_per_mille": 0},
  "faults": [{"when": {"at": 0}, "fault": {"clock-step": {"node": {"server": 0}, "by": -1000000}}}],
  "heal_at": 60000000
}"#;

fn output(line: &str, folder: &Path) -> String {
    let output = Command::new(PICKLOCK)
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("PICKLOCK_CACHE", "")
        .output()
        .expect("the binary runs");
    String::from_utf8(output.stdout).expect("the output is UTF-8")
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("examples").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the example");
    folder
}

/// A token of today's format.
fn token() -> String {
    let sweep = output("sweep redis-single --faults pause --seeds 0..500 --watch 0 --json", Path::new("."));
    let token = sweep.split('"').find(|text| text.starts_with("pk") && text.len() > 20);
    token.expect("a pause breaks this lock").to_owned()
}

/// The commands, as the help of `picklock` names them.
fn commands() -> Vec<String> {
    let help = output("--help", Path::new("."));
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| line.starts_with("  ")).filter_map(|line| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty()).then(|| name.to_owned())
    });
    names.filter(|name| name != "help").collect()
}

/// The calls under "Examples:" in a help text.
fn examples(help: &str) -> Vec<String> {
    let below = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let lines = below.take_while(|line| line.starts_with("  "));
    lines.filter_map(|line| call(line.trim())).collect()
}

/// The calls in a text with code spans and code blocks.
fn calls(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2).filter(|span| !span.contains("```"));
    let spans = spans.filter(|span| span.starts_with("picklock ")).map(|span| span.replace('\n', " "));
    let lines = text.lines().map(|line| line.strip_prefix("$ ").unwrap_or(line));
    let lines = lines.map(|line| line.replacen("cargo run --release -- ", "picklock ", 1));
    let lines = lines.filter(|line| line.starts_with("picklock "));
    lines.chain(spans).filter_map(|line| call(&line)).collect()
}

/// The call at the beginning of a line, up to what is said of it and without what may be left out; `None` for what a shell
/// would have to work out.
fn call(line: &str) -> Option<String> {
    let arguments = line.strip_prefix("picklock")?;
    let (arguments, _) = arguments.trim_start().split_once("  ").unwrap_or((arguments.trim_start(), ""));
    if line.starts_with("picklock  ") && !line.trim_end().contains("picklock -") {
        return Some(String::new());
    }
    let mut words = String::new();
    let mut depth = 0;
    for letter in arguments.chars() {
        depth += i32::from(letter == '[');
        if depth == 0 {
            words.push(letter);
        }
        depth -= i32::from(letter == ']');
    }
    // Whose client it is that is tried matters to nobody here.
    let words = match words.split_once(" -- ") {
        Some((call, _)) if call.trim_start().starts_with("try") => format!("{call} -- sleep 2"),
        _ => words.replace(" .. ", " "),
    };
    (!words.contains("$(")).then(|| words.split('|').next().unwrap_or_default().trim().to_owned())
}

/// What the chapters of the book say.
fn chapters() -> Vec<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src")];
    let mut chapters = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the book is part of the repository") {
            let path = entry.expect("it can be listed").path();
            match path.extension() {
                None => folders.push(path),
                Some(extension) if extension == "md" => {
                    chapters.push(std::fs::read_to_string(path).expect("a chapter can be read"));
                }
                Some(_) => {}
            }
        }
    }
    chapters
}

/// Whatever stands for a token, a file or a folder.
fn filled_in(call: &str, token: &str) -> Vec<String> {
    let fill = |word: &str| match word {
        "TOKEN" => vec![token.to_owned()],
        word if word.starts_with("pk") && word.ends_with('…') => vec![token.to_owned()],
        "DIR" => vec!["out".to_owned()],
        "FILE.." | "*.jsonl" => vec!["1.jsonl".to_owned(), "2.jsonl".to_owned()],
        ".." => Vec::new(),
        // They are called where the repository is.
        word if word.starts_with("drivers/") => vec![format!("{}/../{word}", env!("CARGO_MANIFEST_DIR"))],
        word => vec![word.to_owned()],
    };
    call.split_whitespace().flat_map(fill).collect()
}

fn started(arguments: &[String], folder: &Path) -> Child {
    Command::new(PICKLOCK)
        .args(arguments)
        .current_dir(folder)
        .env("PICKLOCK_CACHE", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs")
}

/// Why the command does not take the call.
#[expect(clippy::disallowed_methods, reason = "a real process is given some real time")]
fn refusal(call: &str, token: &str, folder: &Path) -> Option<String> {
    std::fs::write(folder.join("plan.json"), PLAN).expect("the plan is written");
    // What `@last` stands for: each call has a folder of its own, for calls run side by side.
    std::fs::write(folder.join("last"), format!("{token}\n")).expect("the last token is written");
    if call.starts_with("merge") {
        for part in 1..=2 {
            output(
                &format!("sweep redlock --seeds 0..20 --shard {part}/2 --results {part}.jsonl --watch 0"),
                folder,
            );
        }
    }
    if call.contains("before.json") || call.contains("--expect") {
        for file in ["before.json", "after.json", "matrix.json"] {
            output(&format!("matrix --lock redlock --fault none --seeds 3 --accept {file}"), folder);
        }
    }
    let is_endless = call.contains(ENDLESS);
    let in_full = std::env::var_os("PICKLOCK_LONG").is_some() && !is_endless;
    let mut child = started(&filled_in(call, token), folder);
    let begun = Instant::now();
    while in_full || begun.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().expect("the child is ours") {
            let wrong = !matches!(status.code(), Some(0 | 1 | 3..=5));
            let said = std::io::read_to_string(child.stderr.take()?).unwrap_or_default();
            // The same example elsewhere is served at the same time, or nothing here shows pages: the call was understood.
            let wrong = wrong && !said.contains("nobody can listen on") && !said.contains("error: --open: ");
            return wrong.then(|| format!("{status}: {said}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("the child is ours");
    child.wait().expect("the child is ours");
    None
}

fn all_are_taken(name: &str, calls: &[String]) {
    let token = token();
    let (next, refused) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let take_one_after_the_other = || {
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(call) = calls.get(nth) else { return };
            if let Some(why) = refusal(call, &token, &folder(&format!("{name}-{nth}"))) {
                refused.lock().expect("no thread has panicked").push(format!("picklock {call}\n  {why}"));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(take_one_after_the_other);
        }
    });
    let refused = refused.into_inner().expect("no thread has panicked");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_command_takes_every_example_of_its_help() {
    let commands = commands();
    assert!(commands.len() > 15 && commands.contains(&"sweep".to_owned()), "{commands:?}");
    let helps = commands.iter().map(|command| output(&format!("{command} --help"), Path::new(".")));
    let helps: Vec<String> = helps.chain([output("--help", Path::new("."))]).collect();
    let examples: Vec<String> = helps.iter().flat_map(|help| examples(help)).collect();
    assert!(examples.len() > 30, "{examples:?}");
    all_are_taken("help", &examples);
}

#[test]
fn the_command_takes_every_call_in_the_readme() {
    let calls = calls(README);
    assert!(calls.len() > 5, "{calls:?}");
    all_are_taken("readme", &calls);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_command_takes_every_call_in_the_book() {
    let in_readme: BTreeSet<String> = calls(README).into_iter().collect();
    let chapters = chapters();
    assert!(chapters.len() > 10, "{} chapters", chapters.len());
    let shown: BTreeSet<String> = chapters.iter().flat_map(|chapter| calls(chapter)).collect();
    let calls: Vec<String> = shown.difference(&in_readme).cloned().collect();
    assert!(calls.len() > 20, "{calls:?}");
    all_are_taken("book", &calls);
}

#[test]
fn a_call_that_is_none_is_refused() {
    let call = "sweep redlock-repaired --strategy mixed --keep-going";
    assert!(refusal(call, "", &folder("wrong")).is_some_and(|why| why.contains("no lock is called")));
}
