//! Tokens that are kept, each in a file of `tokens/` with its story: runs that once broke a promise, and a few of every kind.
//!
//! Whoever has a token in an issue relies on this: what was written in this format is read from now on, and says the same
//! plan. A run may come out otherwise when its lock changes: that shows in the file's last lines, and they are written
//! again on purpose (`PICKLOCK_UPDATE_GOLDEN=1`). The token in the file never changes.

use crate::evidence::{breaks, evidence, replay};
use picklock_sim::registry::Replay;
use picklock_sim::report::TextOptions;
use picklock_sim::token::Token;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What stands between the story with its token and what the run is.
const BETWEEN: &str = "\n---\n";

struct Kept {
    path: PathBuf,
    story: String,
    token: Token,
    told: String,
}

fn kept() -> Vec<Kept> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tokens");
    let files = std::fs::read_dir(&folder).expect("the folder is part of the tests");
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("it can be listed").path()).collect();
    paths.sort();
    paths.into_iter().map(read).collect()
}

fn read(path: PathBuf) -> Kept {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (story, told) = text.split_once(BETWEEN).unwrap_or((text.trim_end(), ""));
    let token = story.lines().last().unwrap_or_default();
    let token: Token = token.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (story, told) = (story.to_owned(), told.to_owned());
    Kept { path, story, token, told }
}

fn told(token: &Token, replay: &Replay) -> String {
    let mut text = format!("lock      {}\n", token.lock);
    let promise = token.promise.map_or("nothing", |promise| promise.name());
    let _ = writeln!(text, "made for  {promise}\nsettings  {}", replay.settings.join(", "));
    for line in replay.plan.iter().flat_map(|plan| plan.lines()) {
        let _ = writeln!(text, "plan      {line}");
    }
    let broken = replay.violations.iter().map(|violation| violation.promise).chain(replay.starved);
    let broken: Vec<&str> = broken.map(|promise| promise.name()).collect();
    let came_out =
        if replay.came_out_otherwise { "otherwise than when it was made" } else { "as it was made" };
    let steps = replay.events.len();
    let _ = writeln!(text, "breaks    {}\ncame out  {came_out}, in {steps} steps", broken.join(", "));
    text
}

#[test]
fn kept_tokens_are_read_and_are_the_runs_they_were() {
    let all = kept();
    assert!(all.len() >= 10, "{} are kept", all.len());
    for Kept { path, story, token, told: expected } in all {
        let name = path.display();
        assert_eq!(story.lines().last(), Some(token.encode().as_str()), "{name}: one text for one token");
        let replay = replay(&token, &TextOptions::default());
        let now = told(&token, &replay);
        if std::env::var_os("PICKLOCK_UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, format!("{story}{BETWEEN}{now}")).expect("the file can be written");
        } else {
            assert_eq!(
                now, expected,
                "{name} tells another run now; PICKLOCK_UPDATE_GOLDEN=1 writes it again"
            );
        }
        if let Some(promise) = token.promise {
            assert!(breaks(&replay, promise), "{name}: {promise} is kept\n{}", evidence(promise, &token));
        }
    }
}
