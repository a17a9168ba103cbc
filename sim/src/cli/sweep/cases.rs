//! A sweep as a build server shows it.

use super::{Document, Verdict};
use crate::cli::ci::{Case, Outcome};
use crate::cli::screen::{counted, grouped};
use picklock_properties::Promise;

impl Document {
    /// Each promise as a build server shows it, and whether runs can be repeated.
    pub fn cases(&self) -> Vec<Case> {
        let group = || self.lock.to_owned();
        let case = |promise: Promise| {
            let first = self.violations.listed.iter().find(|violated| violated.property == promise);
            let tested = self.tested.times(promise);
            let outcome = match self.broken.get(&promise) {
                Some(runs) => {
                    let words = first.map_or_else(String::new, |first| format!(": {}", first.words));
                    Outcome::Failed(format!("broken in {}{words}", counted(*runs, "run")))
                }
                None if self.truncated > 0 || self.interrupted => {
                    Outcome::Unclear("runs are missing or did not end".to_owned())
                }
                None if self.nothing_struck => {
                    Outcome::Unclear("nothing of the plan struck in any run".to_owned())
                }
                None if tested == 0 && self.verdict == Verdict::Vacuous => {
                    Outcome::Unclear(untested(promise))
                }
                None if tested == 0 => Outcome::Skipped(untested(promise)),
                None => Outcome::Passed,
            };
            let token = first.map(|first| first.name.as_ref().unwrap_or(&first.token).clone());
            let said = format!("put to the test in {} of {}", grouped(tested), counted(self.runs, "run"));
            Case { group: group(), name: promise.name().to_owned(), outcome, said, token, seconds: None }
        };
        let broken = self.broken.keys().copied().filter(|promise| !self.asked.contains(*promise));
        let mut cases: Vec<Case> = self.asked.iter().chain(broken).map(case).collect();
        if let Some(watch) = &self.watch {
            let outcome = match watch.differs() {
                true => Outcome::Failed("a repeated run differs from the first".to_owned()),
                false => Outcome::Passed,
            };
            let name = "runs repeat".to_owned();
            cases.push(Case {
                group: group(),
                name,
                outcome,
                said: String::new(),
                token: None,
                seconds: None,
            });
        }
        cases
    }
}

/// Why a promise that nothing put to the test says nothing.
pub fn untested(promise: Promise) -> String {
    format!("could not break, for this never happened: {}", promise.tested_by())
}
