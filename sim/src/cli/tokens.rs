//! The tokens that are printed for runs of a sweep.

use super::BadCall;
use crate::plans::fault::FaultSet;
use crate::plans::plan::Plan;
use crate::plans::strategy::Strategy;
use crate::registry::AnyLock;
use crate::sweep::{PlannedRun, SweepReport};
use crate::token::Token;
use picklock_properties::Promise;
use std::collections::BTreeMap;

/// Makes them: each run is run once more for its token, so that whoever replays it can tell whether it still is the same.
pub struct Tokens<'a> {
    /// Which lock.
    pub lock: &'a dyn AnyLock,
    /// Its packed setup.
    pub setup: &'a [u8],
    /// Where the plans come from.
    pub plans: Plans<'a>,
}

/// Where the plans of a sweep come from.
pub enum Plans<'a> {
    /// Each seed draws its own.
    Drawn {
        /// Of these kinds of faults.
        faults: FaultSet,
        /// In this way.
        strategy: Strategy,
        /// But for those that a guided search changed.
        planned: &'a BTreeMap<u64, PlannedRun>,
    },
    /// One for all seeds.
    Given(&'a Plan),
}

/// No plan was changed.
pub const UNCHANGED: &BTreeMap<u64, PlannedRun> = &BTreeMap::new();

impl Tokens<'_> {
    /// For each of these seeds a token, printed for this promise. The seeds are in order.
    pub fn of(&self, wanted: &[(u64, Option<Promise>)]) -> Result<Vec<String>, BadCall> {
        let mut seeds: Vec<u64> = wanted.iter().map(|(seed, _)| *seed).collect();
        seeds.dedup();
        let runs = self.runs(&seeds)?;
        let (mut runs, mut wanted, mut texts) =
            (runs.into_iter().zip(seeds), wanted.iter().peekable(), Vec::new());
        while let (Some((run, seed)), Some(_)) = (runs.next(), wanted.peek()) {
            let token = self.lock.token(self.setup, &run, None)?;
            while let Some((_, promise)) = wanted.next_if(|(of, _)| *of == seed) {
                let token = token.clone();
                texts.push(match promise {
                    Some(promise) => self.still_for(*promise, token, &run, seed)?.encode(),
                    None => token.encode(),
                });
            }
        }
        Ok(texts)
    }

    /// The token for this promise, if its run, drawn anew, breaks it as it did when it was found: files of results may be
    /// another picklock's.
    fn still_for(
        &self,
        promise: Promise,
        token: Token,
        run: &PlannedRun,
        seed: u64,
    ) -> Result<Token, BadCall> {
        let seeds = run.seed..run.seed.saturating_add(1);
        let outcomes = self.lock.run_planned(self.setup, &run.plan, seeds)?;
        match outcomes.iter().any(|outcome| outcome.breaks(promise)) {
            true => Ok(token.for_promise(promise)),
            false => Err(BadCall(format!(
                "seed {seed} was found to break {promise}, and when it is run again it does not: these \
                 results are another picklock's"
            ))),
        }
    }

    /// The token of one seed.
    pub fn of_one(&self, seed: u64, promise: Option<Promise>) -> Result<String, BadCall> {
        match self.of(&[(seed, promise)])?.pop() {
            Some(token) => Ok(token),
            None => unreachable!("a token was made for each seed that was asked for"),
        }
    }

    /// A name for the run of a seed, broken this promise, that is shorter than its token and means the same.
    pub fn name(&self, seed: u64, promise: Promise) -> Option<String> {
        let Plans::Drawn { faults, strategy, planned } = &self.plans else { return None };
        let is_usual = *strategy == Strategy::default() && !planned.contains_key(&seed);
        let (lock, usual) = (self.lock.name(), self.lock.setup(None) == self.setup);
        let faults = if *faults == FaultSet::ALL { "all".to_owned() } else { faults.to_string() };
        (is_usual && usual).then(|| format!("{lock}:{faults}:{seed}:{promise}"))
    }

    /// The tokens of the first seeds that break each promise.
    pub fn of_first(&self, report: &SweepReport) -> Result<BTreeMap<Promise, String>, BadCall> {
        let mut first: Vec<(u64, Promise)> = report
            .broken
            .keys()
            .filter_map(|promise| Some((report.first_seed(*promise)?, *promise)))
            .collect();
        first.sort_unstable();
        let wanted: Vec<(u64, Option<Promise>)> =
            first.iter().map(|(seed, promise)| (*seed, Some(*promise))).collect();
        Ok(first.into_iter().map(|(_, promise)| promise).zip(self.of(&wanted)?).collect())
    }

    fn runs(&self, seeds: &[u64]) -> Result<Vec<PlannedRun>, BadCall> {
        match &self.plans {
            Plans::Given(plan) => {
                Ok(seeds.iter().map(|seed| PlannedRun { plan: (*plan).clone(), seed: *seed }).collect())
            }
            Plans::Drawn { faults, strategy, planned } => {
                let drawn: Vec<u64> =
                    seeds.iter().copied().filter(|seed| !planned.contains_key(seed)).collect();
                let plans = match drawn.is_empty() {
                    true => Vec::new(),
                    false => self.lock.plans(self.setup, *faults, *strategy, &drawn)?,
                };
                let mut drawn =
                    drawn.into_iter().zip(plans).map(|(seed, plan)| (seed, PlannedRun { plan, seed }));
                let mut run = |seed: &u64| match planned.get(seed) {
                    Some(changed) => changed.clone(),
                    None => match drawn.next() {
                        Some((_, run)) => run,
                        None => unreachable!("a plan was drawn for each seed that has no other"),
                    },
                };
                Ok(seeds.iter().map(&mut run).collect())
            }
        }
    }
}
