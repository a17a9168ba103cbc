//! Runs, plans and workloads as [proptest](https://docs.rs/proptest) strategies, for tests of one's own.
//!
//! ```text
//!   runs("redlock", setup, kinds) ──▶ Case: setup, plan, seed ──▶ your property: case.keeps(promise)?, case.outcome() …
//!                                        ▲                                │ fails
//!                                        └── a smaller case ◀── the reductions that `picklock shrink` tries
//! ```
//!
//! A case that fails is made small by the code that makes a token's run small ([`shrink`](crate::plans::shrink)), and is printed as
//! what went wrong in it, a line a fault, with the token that replays it.
//!
//! # Example
//!
//! Does Redlock get over lost messages? (In a test file each function has its `#[test]`.)
//!
//! ```
//! use picklock_model::cluster::Setup;
//! use picklock_model::locks::Redlock;
//! use picklock_properties::Promise;
//! use picklock_sim::plans::fault::FaultKind;
//! use picklock_sim::registry::Locks;
//! use picklock_sim::strategies::runs;
//! use proptest::prelude::*;
//!
//! fn redlock() -> Setup<Redlock> {
//!     Locks::builtin().setup_of("redlock").expect("it is registered")
//! }
//!
//! proptest! {
//!     #![proptest_config(ProptestConfig::with_cases(32))]
//!
//!     fn lost_messages_break_no_mutual_exclusion(case in runs("redlock", redlock(), FaultKind::Loss.into())) {
//!         case.keeps(Promise::MutualExclusion)?;
//!         prop_assert!(case.outcome().grants > 0);
//!     }
//! }
//!
//! lost_messages_break_no_mutual_exclusion();
//! ```

mod case;
mod tree;

pub use case::Case;

use crate::plans::fault::FaultSet;
use crate::plans::plan::Plan;
use crate::plans::shrink::Trial;
use crate::plans::shrink::reductions::aims;
use crate::plans::swarm::Scale;
use crate::plans::varied;
use picklock_model::cluster::Setup;
use picklock_model::system::System;
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Reason, TestRunner};
use tree::{Drawn, Tree};

/// In how many other ways a smaller case is tried: under other seeds. Few, for proptest counts every one.
const OTHER_SEEDS: u64 = 3;

/// Runs of a lock: the given setup, a plan of these kinds of faults, and a seed.
///
/// `lock` is the name of a registered lock that `setup` is of; tokens carry it. A setup that cannot be run
/// ([`Setup::check`]) gives no cases, and proptest says why.
pub fn runs<Y: System>(
    lock: &str,
    setup: Setup<Y>,
    kinds: FaultSet,
) -> impl Strategy<Value = Case<Y>> + use<Y> {
    let checked = setup.check().map_err(|error| Reason::from(error.to_string()));
    let scale = checked.clone().map(|()| Scale::of(&setup));
    let (lock, aims) = (lock.to_owned(), scale.as_ref().map(aims).unwrap_or_default());
    Drawn::new(move |runner: &mut TestRunner| {
        let seed = seed(runner)?;
        let of_seed = varied::of_seed(&setup, seed).into_owned();
        let scale = scale.as_ref().map_err(Reason::clone)?.resized(&setup.workload, &of_seed.workload);
        let plan = Plan::random(kinds, seed, &scale);
        let case = Case { lock: lock.clone(), trial: Trial { setup: of_seed, plan, seed } };
        Ok(Tree::new(case, aims.clone(), OTHER_SEEDS))
    })
}

/// Plans of these kinds of faults, as random runs have them.
pub fn plans(kinds: FaultSet, scale: &Scale) -> impl Strategy<Value = Plan> + use<> {
    let (scale, aims) = (scale.clone(), aims(scale));
    Drawn::new(move |runner: &mut TestRunner| {
        Ok(Tree::new(Plan::random(kinds, seed(runner)?, &scale), aims.clone(), 0))
    })
}

/// Workloads that every lock can do ([`Setup::check`] has nothing against them): a few clients, a few rounds, seconds at most.
pub fn workloads() -> impl Strategy<Value = Workload> {
    let lengths = || (0..=10_000_i64).prop_map(Micros::millis);
    let who = (1..=8_u8, 1..=6_u8, any::<bool>(), any::<bool>());
    let resource = (any::<bool>(), any::<bool>(), any::<bool>());
    let fields = (who, lengths(), lengths(), resource, 1..=3_u8);
    let workload = fields.prop_map(|(who, think, hold, (writes, checks, forgets), locks)| {
        let (clients, rounds, retries, tries) = who;
        Workload {
            clients,
            rounds,
            retries,
            calls: if tries { Calls::TryLock } else { Calls::Lock },
            access: AccessChoice::First,
            think,
            hold,
            releases: true,
            writes: Writes::resource_if(writes),
            resource_checks: checks,
            resource_forgets: forgets,
            locks,
            attendants: 0,
            pace: None,
            varies: false,
            work_fits: false,
        }
    });
    Drawn::new(move |runner: &mut TestRunner| {
        Ok(Tree::new(workload.new_tree(runner)?.current(), Vec::new(), 0))
    })
}

/// Decides the plan, and what the plan leaves open.
fn seed(runner: &mut TestRunner) -> Result<u64, Reason> {
    Ok((0..=u64::from(u32::MAX)).new_tree(runner)?.current())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::fault::FaultKind;
    use crate::toy::{self, Key};
    use picklock_properties::Promise;
    use proptest::test_runner::{RngAlgorithm, TestCaseError, TestError, TestRng};

    fn leased(kinds: FaultSet) -> impl Strategy<Value = Case<Key>> {
        runs("key", toy::leased_setup(), kinds)
    }

    #[test]
    fn a_failing_case_shrinks_to_one_fault_and_still_fails_with_its_token_in_the_message() {
        // Proptest gives up after 1024 candidates unless told otherwise.
        let config = ProptestConfig {
            max_shrink_iters: 20_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let failed =
            runner.run(&leased(FaultKind::Pause.into()), |case| case.keeps(Promise::MutualExclusion));
        let Err(TestError::Fail(why, case)) = failed else { panic!("a lease breaks: {failed:?}") };
        let workload = &case.trial.setup.workload;
        assert_eq!((case.trial.plan.faults.len(), workload.clients), (1, 2), "{case}");
        let Err(TestCaseError::Fail(again)) = case.keeps(Promise::MutualExclusion) else {
            panic!("what is left breaks it: {case}")
        };
        assert_eq!(why.message(), again.message());
        let token = case.token().for_promise(Promise::MutualExclusion).encode();
        for shown in ["mutual-exclusion", &token, "picklock replay", "enters while"] {
            assert!(why.message().contains(shown), "{shown:?} is missing in\n{why}");
        }
    }

    #[test]
    fn a_case_is_printed_as_its_plan_its_seed_and_its_token() {
        let case = leased(FaultSet::ALL).new_tree(&mut TestRunner::deterministic()).unwrap().current();
        let printed = format!("{case:?}");
        let token = case.token().encode();
        for shown in [&case.trial.plan.to_string(), &format!("seed {}", case.trial.seed), &token] {
            assert!(printed.contains(shown.as_str()), "{shown:?} is missing in\n{printed}");
        }
        assert!(printed.ends_with(&format!("picklock replay {token}")), "{printed}");
    }

    #[test]
    fn whatever_is_kept_a_tree_comes_to_an_end() {
        let mut runner = TestRunner::deterministic();
        for keeps in [|_: u32| true, |_| false, |nth| nth % 3 == 0] {
            let mut tree = leased(FaultSet::ALL).new_tree(&mut runner).unwrap();
            let mut candidates = 0;
            while if keeps(candidates) { tree.simplify() } else { tree.complicate() } {
                candidates += 1;
                assert!(candidates < 20_000, "{}", tree.current());
                assert!(tree.current().trial.setup.check().is_ok());
            }
        }
    }

    #[test]
    fn a_tree_ends_at_the_smallest_case_that_failed() {
        let mut tree = plans(FaultKind::Pause.into(), &Scale::of(&toy::setup()))
            .new_tree(&mut TestRunner::deterministic())
            .unwrap();
        let first = tree.current();
        while tree.complicate() {}
        assert_eq!(tree.current(), first);
        while tree.simplify() {}
        assert_eq!(tree.current().faults, []);
    }

    #[test]
    fn a_setup_that_cannot_be_run_gives_no_cases_and_says_why() {
        let none = Setup { servers: 0, ..toy::setup() };
        let refused = runs("key", none, FaultSet::ALL).new_tree(&mut TestRunner::deterministic());
        assert_eq!(refused.err().unwrap().message(), "0 servers: a store has 1 to 9");
    }

    proptest! {
        #[test]
        fn every_workload_can_be_run(workload in workloads()) {
            let setup = Setup { workload, ..toy::setup() };
            prop_assert_eq!(setup.check(), Ok(()));
        }
    }
}
