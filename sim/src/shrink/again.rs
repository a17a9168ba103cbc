//! When nothing gets a run any smaller: the same failure, sought anew where there is less to do. A run that hangs on one seed's
//! luck with all its messages is found in less work only under a seed, or with a plan, that has the luck there.

use super::{Failing, Shrinker, Size, Trial};
use crate::plan::Plan;
use crate::swarm::Scale;
use picklock_model::cluster::Setup;
use picklock_model::machine::Lock;
use picklock_model::workload::Workload;

/// Under how many seeds each smaller work is tried, with the plan that there is and with plans drawn anew.
const SEEDS: u64 = 1000;
/// No more rounds are tried than these: what needs more is not small.
const ROUNDS_MAX: u8 = 3;

impl<L: Lock> Shrinker<'_, L> {
    /// Looks for a run that breaks the promise by the same kinds of faults with fewer clients or rounds, in at most half of
    /// the steps. Whether there is one, which is the best then, however many faults are in it: those go later.
    pub(super) fn find_again(&mut self) -> bool {
        for workload in smaller(&self.best.trial.setup.workload) {
            let around = &self.best.trial.setup;
            let lock = L::used_by(&around.lock, workload.clients);
            let setup = Setup { lock, workload, ..around.clone() };
            if setup.check().is_err() {
                continue;
            }
            let scale = Scale::of(&setup);
            for seed in 0..SEEDS {
                for plan in [Plan::random(self.needed, seed, &scale), self.best.trial.plan.clone()] {
                    if self.trials.is_stopped() {
                        return false;
                    }
                    if self.keep_if_half(Trial { setup: setup.clone(), plan, seed }) {
                        return true;
                    }
                }
            }
        }
        false
    }

    fn keep_if_half(&mut self, trial: Trial<L>) -> bool {
        let steps_max = self.best.size.steps / 2;
        let size: Option<Size> = match self.allows(&trial) {
            true => self.trials.size(&trial, steps_max).filter(|size| size.steps <= steps_max),
            false => None,
        };
        if let Some(size) = size {
            self.best = Failing { trial, size };
        }
        size.is_some()
    }
}

/// Less work of the same kind, the least first.
fn smaller(workload: &Workload) -> Vec<Workload> {
    let all = (1..=workload.clients).flat_map(|clients| {
        (1..=workload.rounds.min(ROUNDS_MAX)).map(move |rounds| Workload { clients, rounds, ..*workload })
    });
    let mut smaller: Vec<Workload> =
        all.filter(|less| (less.clients, less.rounds) != (workload.clients, workload.rounds)).collect();
    smaller.sort_by_key(|less| (u16::from(less.clients) * u16::from(less.rounds), less.clients));
    smaller
}
