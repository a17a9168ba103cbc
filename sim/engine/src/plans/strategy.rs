//! How plans are drawn: which of several ways to look for a broken promise.

use crate::plans::fault::FaultSet;
use crate::plans::plan::Plan;
use crate::plans::swarm::Scale;
use crate::seeded::dice::{Dice, Stream};
use crate::seeded::schedule::Schedule;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// A way of drawing plans, one for each seed. What differs is what is tried, never what counts as broken.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Every kind of fault in every plan, all moments at random, latencies uniform: what the others are measured by.
    Plain,
    /// Each seed its own few kinds of faults, half of the moments aimed: [`Plan::random`].
    #[default]
    Swarm,
    /// As swarm, and messages travel by rank: [`Schedule::Priorities`].
    Pct,
    /// A coin for each seed: as swarm, or as pct.
    Mixed,
    /// As swarm, and then changes of those plans that met something new: [`crate::plans::guided`].
    Guided,
}

impl Strategy {
    /// Every strategy, in the order of every table.
    pub const ALL: [Strategy; 5] =
        [Strategy::Plain, Strategy::Swarm, Strategy::Pct, Strategy::Mixed, Strategy::Guided];

    /// The name that the command line takes and JSON carries.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Plain => "plain",
            Strategy::Swarm => "swarm",
            Strategy::Pct => "pct",
            Strategy::Mixed => "mixed",
            Strategy::Guided => "guided",
        }
    }

    /// The strategy in one line.
    pub fn description(self) -> &'static str {
        match self {
            Strategy::Plain => "every kind of fault in every plan, at random times",
            Strategy::Swarm => "each seed a few kinds of faults, half of them aimed at what clients do",
            Strategy::Pct => "as swarm, and the messages of some nodes or links are always the faster ones",
            Strategy::Mixed => "as swarm for half of the seeds, as pct for the others",
            Strategy::Guided => "as swarm, and plans that met something new are changed and tried again",
        }
    }

    /// The plan of a seed: the same for the same arguments, on every machine. Faults are those of swarm, but for
    /// [`Strategy::Plain`]; a guided search draws such plans where it changes none.
    pub fn plan(self, kinds: FaultSet, seed: u64, scale: &Scale) -> Plan {
        match self {
            Strategy::Plain => Plan::plain(kinds, seed, scale),
            Strategy::Swarm | Strategy::Guided => Plan::random(kinds, seed, scale),
            Strategy::Pct => ranked(kinds, seed, scale, true),
            Strategy::Mixed => ranked(kinds, seed, scale, false),
        }
    }
}

/// A swarm plan with ranks, always or by a coin. The faults are those of the seed without ranks.
fn ranked(kinds: FaultSet, seed: u64, scale: &Scale, always: bool) -> Plan {
    let mut plan = Plan::random(kinds, seed, scale);
    let mut dice = Dice::new(seed, Stream::Schedule);
    if dice.coin() || always {
        plan.schedule = Schedule::random(&mut dice, scale.messages);
        // Ranks end when the run heals: without faults it must not heal before it begins.
        plan.heal_at = plan.heal_at.max(scale.horizon);
    }
    plan
}

impl Display for Strategy {
    /// The [name](Strategy::name), padded as the format asks.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    /// Reads a [name](Strategy::name), spelt exactly as it is printed.
    fn from_str(name: &str) -> Result<Strategy, UnknownStrategy> {
        Strategy::ALL.into_iter().find(|strategy| strategy.name() == name).ok_or_else(|| UnknownStrategy {
            name: name.to_owned(),
            nearest: Strategy::ALL
                .into_iter()
                .min_by_key(|strategy| strsim::damerau_levenshtein(name, strategy.name()))
                .unwrap_or_default(),
        })
    }
}

/// No strategy has this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no strategy is called {name:?}; the nearest name is {nearest}")]
pub struct UnknownStrategy {
    /// The name that was asked for.
    pub name: String,
    /// The strategy whose name comes nearest.
    pub nearest: Strategy,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::plan::When;
    use crate::toy;

    fn plans(strategy: Strategy) -> impl Iterator<Item = Plan> {
        let scale = Scale::of(&toy::leased_setup());
        (0..400).map(move |seed| strategy.plan(FaultSet::ALL, seed, &scale))
    }

    #[test]
    fn name_display_parse_and_json_agree() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
            assert_eq!(serde_json::to_value(strategy).unwrap(), strategy.name());
            assert!(!strategy.description().is_empty());
        }
    }

    #[test]
    fn a_misspelt_strategy_is_refused_with_the_nearest_one() {
        let error = "swam".parse::<Strategy>().unwrap_err();
        assert_eq!(error.to_string(), "no strategy is called \"swam\"; the nearest name is swarm");
    }

    #[test]
    fn plain_plans_have_no_aimed_moment_and_hardly_a_kind_is_missing() {
        for plan in plans(Strategy::Plain) {
            assert!(plan.faults.iter().all(|planned| matches!(planned.when, When::At(_))), "{plan}");
            assert!(plan.faults.len() >= 5 && plan.network.duplicate_per_mille > 0, "{plan}");
            assert_eq!(plan.schedule, Schedule::Uniform);
        }
    }

    #[test]
    fn ranks_leave_the_faults_of_a_seed_as_they_are() {
        for (swarm, pct) in plans(Strategy::Swarm).zip(plans(Strategy::Pct)) {
            assert!(swarm.schedule == Schedule::Uniform && pct.schedule != Schedule::Uniform);
            assert_eq!(swarm, Plan { schedule: Schedule::Uniform, ..pct });
        }
    }

    #[test]
    fn about_half_of_the_mixed_plans_have_ranks_and_those_are_the_ones_of_pct() {
        let mut ranked = 0;
        for (mixed, pct) in plans(Strategy::Mixed).zip(plans(Strategy::Pct)) {
            let has_ranks = mixed.schedule != Schedule::Uniform;
            ranked += u32::from(has_ranks);
            assert!(!has_ranks || mixed == pct);
        }
        assert!((160..240).contains(&ranked), "{ranked} of 400 have ranks");
    }

    #[test]
    fn without_faults_ranks_last_as_long_as_a_run_usually_does() {
        let scale = Scale::of(&toy::setup());
        let plan = Strategy::Pct.plan(FaultSet::EMPTY, 1, &scale);
        assert!(
            plan.faults.is_empty() && plan.heal_at == scale.horizon && plan.schedule != Schedule::Uniform
        );
    }
}
