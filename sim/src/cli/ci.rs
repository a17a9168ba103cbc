//! `--junit FILE` and `--github`: verdicts as a build server shows them, each as a test case, an annotation, or a line of a summary.
//!
//! What fails is what the exit code speaks of: what is known to break, and breaks, passes where the command exits with 0.

use super::screen::{Screen, counted};
use super::{BadCall, Ending, names, written};
use clap::Args;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The options.
#[derive(Clone, Debug, Default, Args)]
pub struct Ci {
    /// Writes the verdicts into this file as JUnit XML, for a build server
    #[arg(long, value_parser = written::named(), value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Prints what fails as annotations of GitHub Actions, and adds a summary to the file that $GITHUB_STEP_SUMMARY names
    #[arg(long)]
    github: bool,
}

/// What came of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// As it should be.
    Passed,
    /// Not so, and why.
    Failed(String),
    /// There is no verdict, and why not: no pass.
    Unclear(String),
    /// Nothing put it to the test, where that is no failure of the whole.
    Skipped(String),
}

/// A verdict.
pub struct Case {
    /// What it is of: a lock, a theorem, a row of the catalogue.
    pub group: String,
    /// Which of its verdicts.
    pub name: String,
    /// What came of it.
    pub outcome: Outcome,
    /// What was seen, if that is worth a line even where it passes.
    pub said: String,
    /// Replays what broke, or a short name for that.
    pub token: Option<String>,
    /// How long it took, if that is known.
    pub seconds: Option<f64>,
}

/// GitHub shows ten of a kind for each step, and drops the others.
const ANNOTATIONS_MAX: usize = 9;
/// A summary is to be read; the rest is in the JUnit file, and in `--json`.
const SUMMARY_LINES_MAX: usize = 50;

impl Ci {
    /// Makes sure, before anything is run, that the file can be written.
    pub fn check(&self) -> Result<(), BadCall> {
        match &self.junit {
            None => Ok(()),
            Some(path) => {
                let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
                opened.map(drop).map_err(|error| unwritable(path, &error))
            }
        }
    }

    /// Reports these verdicts of a command, which ends so.
    pub fn report(
        &self,
        command: &str,
        mut cases: Vec<Case>,
        ending: Ending,
        screen: &mut Screen,
    ) -> Result<(), BadCall> {
        if self.junit.is_none() && !self.github {
            return Ok(());
        }
        cases.extend(unsaid(command, &cases, ending));
        if let Some(path) = &self.junit {
            std::fs::write(path, junit(command, &cases)).map_err(|error| unwritable(path, &error))?;
        }
        if self.github {
            let lines = annotations(command, &cases);
            // Both streams are searched for annotations; a document stays alone.
            match screen.wants_json() {
                true => {
                    let _ = write!(std::io::stderr(), "{lines}");
                }
                false => screen.text(&lines),
            }
            if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
                let opened = std::fs::OpenOptions::new().append(true).create(true).open(&path);
                let written =
                    opened.and_then(|mut file| file.write_all(summary(command, &cases, ending).as_bytes()));
                written.map_err(|error| {
                    BadCall(format!(
                        "GITHUB_STEP_SUMMARY={}: it cannot be written: {error}",
                        Path::new(&path).display()
                    ))
                })?;
            }
        }
        Ok(())
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> BadCall {
    BadCall(format!("--junit {}: it cannot be written: {error}", path.display()))
}

/// A case for an ending that no other case explains, so that no report passes where the command does not.
fn unsaid(command: &str, cases: &[Case], ending: Ending) -> Option<Case> {
    let is_said = cases.iter().any(|case| matches!(case.outcome, Outcome::Failed(_) | Outcome::Unclear(_)));
    let why = match ending {
        Ending::Fine => return None,
        Ending::Incomplete => "a limit or an interruption came first: what is missing is NOT a pass",
        Ending::Vacuous => "nothing that would give a pass its meaning ever happened",
        Ending::Unexpected => "a verdict differs from the expected one",
        Ending::Broken => "a promise was broken",
    };
    let outcome = match ending {
        Ending::Broken | Ending::Unexpected => Outcome::Failed(why.to_owned()),
        Ending::Fine | Ending::Incomplete | Ending::Vacuous => Outcome::Unclear(why.to_owned()),
    };
    let (group, name) = (command.to_owned(), "all of it".to_owned());
    // An interrupted command may have failed cases, too; what it did not run is told in any case, unless it had no more than one.
    let is_told = is_said && (ending != Ending::Incomplete || cases.len() == 1);
    (!is_told).then_some(Case { group, name, outcome, said: String::new(), token: None, seconds: None })
}

impl Case {
    /// What to type to see it, if there is something to see.
    fn replay(&self) -> Option<String> {
        self.token.as_ref().map(|token| format!("{} replay {token}", names::program()))
    }

    /// All that is to be said, in lines.
    fn words(&self, why: &str) -> String {
        let replay = self.replay().map(|replay| format!("see it: {replay}"));
        [Some(why.to_owned()).filter(|why| !why.is_empty()), replay]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("\n")
    }
}

fn junit(command: &str, cases: &[Case]) -> String {
    let mut report = Report::new(format!("{} {command}", names::name()));
    let mut groups: Vec<&str> = Vec::new();
    for case in cases {
        if !groups.contains(&case.group.as_str()) {
            groups.push(&case.group);
        }
    }
    for group in groups {
        // What is about the whole command is in a group of its name.
        let name = if group == command { command.to_owned() } else { format!("{command} {group}") };
        let mut suite = TestSuite::new(name);
        let of_group = || cases.iter().filter(|case| case.group == group);
        for case in of_group() {
            suite.add_test_case(test_case(command, case));
        }
        let seconds: f64 = of_group().filter_map(|case| case.seconds).sum();
        suite.set_time(Duration::from_secs_f64(seconds.max(0.0)));
        report.add_test_suite(suite);
    }
    match report.to_string() {
        Ok(text) => text.lines().map(|line| skipped_counted(line) + "\n").collect(),
        Err(error) => unreachable!("a report is plain text: {error}"),
    }
}

/// The writer calls what was skipped disabled where it counts it, as Jenkins' schema of old has it; all schemas since have `skipped`.
fn skipped_counted(line: &str) -> String {
    match line.trim_start().starts_with("<testsuite ") {
        true => line.replacen(" disabled=\"", " skipped=\"", 1),
        false => line.to_owned(),
    }
}

fn test_case(command: &str, case: &Case) -> TestCase {
    let mut status = match &case.outcome {
        Outcome::Passed => TestCaseStatus::success(),
        Outcome::Failed(_) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Outcome::Unclear(_) => TestCaseStatus::non_success(NonSuccessKind::Error),
        Outcome::Skipped(_) => TestCaseStatus::skipped(),
    };
    if let Outcome::Failed(why) | Outcome::Unclear(why) | Outcome::Skipped(why) = &case.outcome {
        status.set_message(why.as_str());
        if case.token.is_some() && !matches!(case.outcome, Outcome::Skipped(_)) {
            status.set_description(case.words(why));
        }
    }
    let mut test = TestCase::new(case.name.as_str(), status);
    test.set_classname(format!("{command}.{}", case.group));
    if let Some(seconds) = case.seconds {
        test.set_time(Duration::from_secs_f64(seconds.max(0.0)));
    }
    let said = case.words(&case.said);
    if !said.is_empty() {
        test.set_system_out(said);
    }
    test
}

/// Workflow commands, a line each.
fn annotations(command: &str, cases: &[Case]) -> String {
    let mut text = String::new();
    type Kind = (&'static str, fn(&&Case) -> bool);
    let kinds: [Kind; 2] = [
        ("error", |case| matches!(case.outcome, Outcome::Failed(_))),
        ("warning", |case| matches!(case.outcome, Outcome::Unclear(_))),
    ];
    for (kind, is_of) in kinds {
        let of_kind: Vec<&Case> = cases.iter().filter(is_of).collect();
        for case in of_kind.iter().take(ANNOTATIONS_MAX) {
            let (Outcome::Failed(why) | Outcome::Unclear(why)) = &case.outcome else { continue };
            let title = format!("{command}: {} · {}", case.group, case.name);
            let _ = writeln!(text, "::{kind} title={}::{}", in_property(&title), in_data(&case.words(why)));
        }
        let more = of_kind.len().saturating_sub(ANNOTATIONS_MAX);
        if more > 0 {
            let _ = writeln!(text, "::{kind} title={command}::and {more} more, which the summary has");
        }
    }
    text
}

/// As a workflow command wants what is behind its last colons.
fn in_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// As it wants what is behind `title=`.
fn in_property(text: &str) -> String {
    in_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Markdown: how many of each, and the cases that are no passes.
fn summary(command: &str, cases: &[Case], ending: Ending) -> String {
    let count = |is_of: fn(&Outcome) -> bool| cases.iter().filter(|case| is_of(&case.outcome)).count() as u64;
    let [passed, failed, unclear, skipped] = [
        count(|outcome| matches!(outcome, Outcome::Passed)),
        count(|outcome| matches!(outcome, Outcome::Failed(_))),
        count(|outcome| matches!(outcome, Outcome::Unclear(_))),
        count(|outcome| matches!(outcome, Outcome::Skipped(_))),
    ];
    let mark = if ending == Ending::Fine { "✓" } else { "✗" };
    let mut text = format!(
        "### {mark} {} {command}\n\n{} passed, {failed} failed, {unclear} without a verdict, {skipped} not put to the test\n",
        names::name(),
        counted(passed, "verdict"),
    );
    let told: Vec<(&Case, &String)> = cases
        .iter()
        .filter_map(|case| match &case.outcome {
            Outcome::Failed(why) | Outcome::Unclear(why) => Some((case, why)),
            Outcome::Passed | Outcome::Skipped(_) => None,
        })
        .collect();
    if !told.is_empty() {
        text += "\n| | what | why | see it |\n|---|---|---|---|\n";
    }
    for (case, why) in told.iter().take(SUMMARY_LINES_MAX) {
        let mark = if matches!(case.outcome, Outcome::Failed(_)) { "✗" } else { "?" };
        let replay = case.replay().map_or_else(String::new, |replay| format!("`{replay}`"));
        let what = format!("{} · {}", case.group, case.name);
        let _ =
            writeln!(text, "| {mark} | {} | {} | {} |", in_table(&what), in_table(why), in_table(&replay));
    }
    let more = told.len().saturating_sub(SUMMARY_LINES_MAX);
    if more > 0 {
        let _ = writeln!(text, "\nand {more} more");
    }
    text + "\n"
}

fn in_table(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, outcome: Outcome) -> Case {
        let token = matches!(outcome, Outcome::Failed(_)).then(|| "redlock:pause:3".to_owned());
        let (group, said) = ("redlock".to_owned(), String::new());
        Case { group, name: name.to_owned(), outcome, said, token, seconds: Some(0.5) }
    }

    fn cases() -> Vec<Case> {
        vec![
            case("loss · fifo", Outcome::Passed),
            case("pause · fifo, 1", Outcome::Failed("100% broken:\nA & <B>".to_owned())),
            case("clock · fifo", Outcome::Unclear("it did not end".to_owned())),
            case("crash · fifo", Outcome::Skipped("nothing happened".to_owned())),
        ]
    }

    #[test]
    fn junit_counts_and_escapes() {
        let text = junit("matrix", &cases());
        let suite = text.lines().find(|line| line.contains("<testsuite ")).expect("a suite");
        let counts = ["tests=\"4\"", "failures=\"1\"", "errors=\"1\"", "skipped=\"1\"", "time=\"2.000\""];
        for said in ["name=\"matrix redlock\""].into_iter().chain(counts) {
            assert!(suite.contains(said), "{said}: {suite}");
        }
        let whole = text.lines().find(|line| line.contains("<testsuites ")).expect("all of them");
        assert!(!whole.contains('/') && !text.contains("disabled"), "{text}");
        assert!(text.contains("100% broken:") && text.contains("A &amp; &lt;B&gt;"), "{text}");
        assert!(
            text.contains("replay redlock:pause:3") && text.contains("classname=\"matrix.redlock\""),
            "{text}"
        );
    }

    #[test]
    fn annotations_are_one_line_each_with_what_a_workflow_command_would_take_for_its_own_escaped() {
        let text = annotations("matrix", &cases());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        let error =
            "::error title=matrix%3A redlock · pause · fifo%2C 1::100%25 broken:%0AA & <B>%0Asee it: ";
        assert!(lines[0].starts_with(error) && lines[0].ends_with("replay redlock:pause:3"), "{text}");
        assert_eq!(lines[1], "::warning title=matrix%3A redlock · clock · fifo::it did not end");
        let many: Vec<Case> = (0..20).map(|_| case("x", Outcome::Failed("y".to_owned()))).collect();
        assert!(annotations("matrix", &many).ends_with("::and 11 more, which the summary has\n"));
    }

    #[test]
    fn a_summary_counts_all_and_lists_what_is_no_pass() {
        let text = summary("matrix", &cases(), Ending::Unexpected);
        assert!(
            text.starts_with("### ✗ ") && text.contains("1 verdict passed, 1 failed, 1 without a verdict"),
            "{text}"
        );
        assert!(text.contains("| ✗ | redlock · pause · fifo, 1 | 100% broken: A & <B> | `"), "{text}");
        assert!(!text.contains("crash"), "{text}");
    }

    #[test]
    fn no_report_passes_where_the_command_does_not() {
        let passed = || vec![case("a", Outcome::Passed)];
        assert!(unsaid("matrix", &passed(), Ending::Fine).is_none());
        for ending in [Ending::Vacuous, Ending::Incomplete, Ending::Unexpected, Ending::Broken] {
            assert!(unsaid("matrix", &passed(), ending).is_some(), "{ending:?}");
        }
        assert!(unsaid("matrix", &cases(), Ending::Unexpected).is_none(), "a case says it already");
        assert!(unsaid("matrix", &cases(), Ending::Incomplete).is_some(), "what was not run failed nowhere");
    }
}
