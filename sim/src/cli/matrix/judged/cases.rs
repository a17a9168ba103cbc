//! The matrix as others keep it: a build server, and a file that a later one is held against.

use super::{Cell, Judged, Verdict};
use crate::cli::ci::{Case, Outcome};
use crate::cli::snapshot::{Difference, Shown};

impl Judged {
    /// Each cell as a build server shows it; by what differs from a file, if it is held against one.
    pub fn cases(&self, differences: Option<&[Difference]>) -> Vec<Case> {
        self.cells().into_iter().map(|cell| cell.case(differences)).collect()
    }
}

impl Cell {
    /// What a snapshot keeps of it.
    pub fn kept(&self) -> Shown {
        Shown {
            lock: self.lock.to_owned(),
            fault: self.fault.to_owned(),
            property: self.property.name().to_owned(),
            verdict: self.verdict,
            first_seed: self.first_seed,
            from: 0,
            runs: self.runs,
        }
    }

    fn case(&self, differences: Option<&[Difference]>) -> Case {
        let differs = differences.map(|all| {
            all.iter()
                .find(|one| one.is_of(self.lock, self.fault, self.property.name()))
                .map(Difference::words)
        });
        let outcome = match (differs, self.verdict) {
            (Some(Some(words)), _) => Outcome::Failed(words),
            (None, _) if self.is_surprise() => Outcome::Failed(self.surprise().unwrap_or_default()),
            (_, Verdict::Incomplete) => Outcome::Unclear("some runs did not end".to_owned()),
            (_, Verdict::Vacuous) => Outcome::Skipped("vacuous: no run could have broken it".to_owned()),
            (Some(None) | None, _) => Outcome::Passed,
        };
        Case {
            group: self.lock.to_owned(),
            name: format!("{} · {}", self.fault, self.property),
            outcome,
            said: self.text(),
            token: self.name_of_run(),
            seconds: None,
        }
    }
}
