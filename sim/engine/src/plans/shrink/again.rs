//! When nothing gets a run any smaller: the same failure, sought anew where there is less to do. A run that hangs on one seed's
//! luck with all its messages is found in less work only under a seed, or with a plan, that has the luck there.

use super::{Candidate, Scene, Shrinker, Size, Smallest};
use crate::plans::plan::Plan;
use picklock_model::workload::Workload;

/// Under how many seeds each smaller work is tried, with the plan that there is and with plans drawn anew.
const SEEDS: u64 = 1000;
/// No more rounds are tried than these: what needs more is not small.
const ROUNDS_MAX: u8 = 3;

impl Shrinker<'_> {
    /// Looks for a run that breaks the promise by the same kinds of faults with fewer clients or rounds, in at most half of
    /// the steps. Whether there is one, which is the best then, however many faults are in it: those go later.
    pub(super) fn find_again(&mut self) -> bool {
        let around = self.best.run.scene;
        for workload in smaller(&around.workload) {
            let scene = Scene { workload, ..around };
            if !self.trials.runs_of.can_be(&scene) {
                continue;
            }
            let scale = self.trials.runs_of.scale(&scene);
            for seed in 0..SEEDS {
                for plan in [Plan::random(self.needed, seed, &scale), self.best.run.plan.clone()] {
                    if self.trials.is_stopped() {
                        return false;
                    }
                    if self.keep_if_half(Candidate { scene, plan, seed }) {
                        return true;
                    }
                }
            }
        }
        false
    }

    fn keep_if_half(&mut self, trial: Candidate) -> bool {
        let steps_max = self.best.size.steps / 2;
        let size: Option<Size> = match self.allows(&trial) {
            true => self.trials.size(&trial, steps_max).filter(|size| size.steps <= steps_max),
            false => None,
        };
        if let Some(size) = size {
            self.best = Smallest { run: trial, size };
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
