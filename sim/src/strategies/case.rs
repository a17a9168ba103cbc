//! A run that a property is about: what it depends on, what it comes to, and what is shown of it when the property fails.

use crate::plans::plan::Trigger;
use crate::plans::shrink::Trial;
use crate::plans::shrink::reductions::{Reduce, Reduction};
use crate::registry::unregistered_token;
use crate::report::{Heading, TextOptions, TextTrace};
use crate::seeded::outcome::{Limits, Outcome};
use crate::seeded::run::run;
use crate::sweep::PlannedRun;
use crate::token::Token;
use picklock_model::cluster::Setup;
use picklock_model::system::System;
use picklock_model::trace::{Observer, Step};
use picklock_properties::Promise;
use proptest::test_runner::TestCaseError;
use std::fmt::{Debug, Display, Formatter};

/// A run of the seeded engine: setup, plan and seed.
#[derive(Clone, PartialEq, Eq)]
pub struct Case<Y: System> {
    /// Name of a registered lock; it says which machine the setup is of.
    pub lock: String,
    /// Setup, plan and seed.
    pub trial: Trial<Y>,
}

/// How many steps are shown of a run that breaks a promise.
const LAST_STEPS: usize = 30;
/// How many of them after the one that breaks it.
const AFTERMATH_STEPS: usize = 6;

impl<Y: System> Case<Y> {
    /// What the run comes to: the same every time.
    pub fn outcome(&self) -> Outcome {
        self.observed(&mut ())
    }

    /// Replays it: `picklock replay TOKEN`.
    ///
    /// # Panics
    /// If the setup cannot be told by the names of its parts: a map whose keys are no words, say.
    pub fn token(&self) -> Token {
        let Trial { setup, plan, seed } = &self.trial;
        let run = PlannedRun { plan: plan.clone(), seed: *seed };
        unregistered_token(&self.lock, setup, &run).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Fails if the run breaks this promise, whether the setup watches it or not; and rejects a run that was cut short, and
    /// is no verdict.
    ///
    /// # Errors
    /// The failure says what `picklock replay` would: the promise, the token, and the last steps.
    pub fn keeps(&self, promise: Promise) -> Result<(), TestCaseError> {
        let case = self.watching(promise);
        let outcome = case.outcome();
        if outcome.breaks(promise) {
            return Err(TestCaseError::fail(case.evidence(promise)));
        }
        match outcome.truncated {
            true => Err(TestCaseError::reject("a run that was cut short is no verdict")),
            false => Ok(()),
        }
    }

    /// The same run, with this promise watched too.
    fn watching(&self, promise: Promise) -> Case<Y> {
        let Trial { setup, plan, seed } = self.trial.clone();
        let promises = setup.promises.iter().chain([promise]).collect();
        Case { lock: self.lock.clone(), trial: Trial { setup: Setup { promises, ..setup }, plan, seed } }
    }

    fn evidence(&self, promise: Promise) -> String {
        let token = self.token().for_promise(promise);
        let heading = Heading {
            lock: self.lock.clone(),
            token: Some(token.encode()),
            broken: Some(promise),
            ..Heading::default()
        };
        let options = TextOptions { last: Some(LAST_STEPS), ..TextOptions::default() };
        let text = TextTrace::new(heading, options);
        let mut shown = UpTo { promise, text, more: AFTERMATH_STEPS, is_broken: false };
        self.observed(&mut shown);
        format!(
            "promise: {promise}: {}\ntoken:   {token}\n{}again:   picklock replay {token}",
            promise.statement(),
            shown.text.finish()
        )
    }

    fn observed(&self, observer: &mut impl Observer<Y>) -> Outcome {
        let Trial { setup, plan, seed } = &self.trial;
        run(setup, plan, *seed, &Limits::of(setup), observer)
    }
}

/// A trace up to the step that breaks the promise, and a little further.
struct UpTo {
    promise: Promise,
    text: TextTrace,
    more: usize,
    is_broken: bool,
}

impl<Y: System> Observer<Y> for UpTo {
    fn observe(&mut self, step: &Step<Y>) {
        if self.is_broken {
            let Some(more) = self.more.checked_sub(1) else { return };
            self.more = more;
        }
        Observer::<Y>::observe(&mut self.text, step);
        self.is_broken |= step.violations.iter().any(|violation| violation.promise == self.promise);
    }
}

impl<Y: System> Display for Case<Y> {
    /// How large it is and its seed, the plan, a line a fault, and how to see it again.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Trial { setup, plan, seed } = &self.trial;
        let (workload, token) = (&setup.workload, self.token());
        writeln!(
            f,
            "{}, clients {}, servers {}, rounds {}, seed {seed}",
            self.lock, workload.clients, setup.servers, workload.rounds
        )?;
        writeln!(f, "{plan}\ntoken:   {token}")?;
        write!(f, "again:   picklock replay {token}")
    }
}

impl<Y: System> Debug for Case<Y> {
    /// As [`Display`]: proptest prints what failed by this, and the fields of a setup are of no help there.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        Display::fmt(self, f)
    }
}

impl<Y: System> Reduce for Case<Y> {
    fn reductions(&self, aims: &[Trigger]) -> Vec<Reduction> {
        self.trial.reductions(aims)
    }

    fn without(&self, reduction: Reduction, aims: &[Trigger]) -> Option<Self> {
        Some(Case { lock: self.lock.clone(), trial: self.trial.without(reduction, aims)? })
    }

    fn otherwise(&self, nth: u64) -> Option<Self> {
        Some(Case { lock: self.lock.clone(), trial: self.trial.otherwise(nth)? })
    }
}
