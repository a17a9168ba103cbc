//! The same token is the same run: whenever it is run, in whichever thread, with however many of them, and from whatever
//! form it was kept in.

use crate::evidence::{lock, replay, seeded_token};
use picklock_model::claims::{Claim, Judgement, claims};
use picklock_model::explore::Limits;
use picklock_sim::plans::fault::FaultSet;
use picklock_sim::plans::plan::Plan;
use picklock_sim::plans::swarm::Scale;
use picklock_sim::registry::{Checked, SweepHow};
use picklock_sim::report::TextOptions;
use picklock_sim::sweep::SweepReport;
use picklock_sim::token::Token;
use proptest::prelude::*;
use std::sync::atomic::AtomicBool;
use std::thread;

const LOCKS: [&str; 2] = ["cassandra-queue", "cassandra-queue-repaired"];

fn all_faults(lock_name: &str, seed: u64) -> Token {
    seeded_token(lock_name, &lock(lock_name).setup(None), FaultSet::ALL, seed)
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_seed_runs_alike_in_any_thread() {
    let hash = |token: &Token| {
        let replay = replay(token, &TextOptions::default());
        (replay.trace_hash, replay.text)
    };
    let mut hashes = Vec::new();
    for lock_name in LOCKS {
        for seed in 0..20 {
            let token = all_faults(lock_name, seed);
            let here = hash(&token);
            let read: Token = token.encode().parse().unwrap();
            let there = thread::scope(|scope| scope.spawn(|| hash(&read)).join().unwrap());
            assert_eq!(here, there, "{token}");
            hashes.push(here.0);
        }
    }
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 40, "different seeds are different runs");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_sweep_reports_the_same_with_any_number_of_threads() {
    let report = |lock_name: &str, jobs, keep_going| -> SweepReport {
        let stop = AtomicBool::new(false);
        let how = SweepHow { jobs, keep_going, ..SweepHow::new(&|_| {}, &stop) };
        let lock = lock(lock_name);
        lock.sweep(&lock.setup(None), FaultSet::ALL, 7..300, &how).unwrap()
    };
    for lock_name in LOCKS {
        for keep_going in [true, false] {
            let alone = report(lock_name, 1, keep_going);
            assert!(alone.runs > 0 && !alone.is_clean(), "{alone:?}");
            assert_eq!(alone, report(lock_name, 2, keep_going), "{lock_name}, keep_going {keep_going}");
        }
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn an_exhaustive_search_finds_the_same_with_any_number_of_threads() {
    let with = |threads: usize, claim: &Claim| -> Checked {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let check =
            || lock(claim.space.lock).check(&claim.space, &claim.judgement, &Limits::states(30_000)).unwrap();
        pool.install(check)
    };
    let (mut held, mut broken, mut lassos) = (0, 0, 0);
    // Some of every kind: broken promises and lassos have to be the same ones, too.
    let chosen = ["lemma-1", "theorem-3"];
    for claim in claims().iter().filter(|claim| !claim.long && chosen.contains(&claim.theorem)) {
        let (alone, together) = (with(1, claim), with(2, claim));
        let title = format!("{} {:?} {}", claim.theorem, claim.dropped_names(), claim.variant);
        assert_eq!(alone.verdict, together.verdict, "{title}");
        assert_eq!(alone.exploration, together.exploration, "{title}");
        assert_eq!(alone.counterexample, together.counterexample, "{title}");
        match (alone.counterexample, &claim.judgement) {
            (None, _) => held += 1,
            (Some(_), Judgement::Safety) => broken += 1,
            (Some(_), Judgement::Progress { .. }) => lassos += 1,
        }
    }
    assert!(held > 5 && broken > 5 && lassos > 0, "{held} held, {broken} broken, {lassos} lassos");
}

fn scale() -> Scale {
    let setup = lock("cassandra-queue").setup(None);
    let setup =
        picklock_model::claims::unpack_setup::<picklock_model::locks::CassandraQueue>(&setup).unwrap();
    Scale::of(&setup)
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_plan_comes_back_from_bytes_and_from_json_and_runs_alike() {
    let scale = scale();
    let lock = lock("cassandra-queue");
    let setup = lock.setup(None);
    for seed in 0..50 {
        let plan = Plan::random(FaultSet::ALL, seed, &scale);
        let bytes = postcard::to_stdvec(&plan).unwrap();
        let from_bytes: Plan = postcard::from_bytes(&bytes).unwrap();
        let from_json: Plan = serde_json::from_str(&serde_json::to_string_pretty(&plan).unwrap()).unwrap();
        assert_eq!((&from_bytes, &from_json), (&plan, &plan), "seed {seed}");
        assert_eq!(postcard::to_stdvec(&from_json).unwrap(), bytes, "seed {seed}");
        assert_eq!(from_json.to_string(), plan.to_string());
        let outcomes = |plan: &Plan| lock.run_planned(&setup, plan, seed..seed + 2).unwrap();
        assert_eq!(outcomes(&from_json), outcomes(&plan), "seed {seed}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_drawn_plan_comes_back(seed in any::<u64>(), faults in any::<u8>()) {
        let scale = Scale {
            clients: 3,
            servers: 3,
            lease: Some(picklock_model::time::Micros::seconds(10)),
            horizon: picklock_model::time::Micros::seconds(60),
            messages: 500,
            lines: vec![picklock_model::machine::Line { listing: 6, number: 4 }],
        };
        let faults = FaultSet::try_from(u16::from(faults)).unwrap();
        let plan = Plan::random(faults, seed, &scale);
        prop_assert_eq!(&Plan::random(faults, seed, &scale), &plan);
        let bytes = postcard::to_stdvec(&plan).unwrap();
        prop_assert_eq!(&postcard::from_bytes::<Plan>(&bytes).unwrap(), &plan);
        let json = serde_json::to_string(&plan).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Plan>(&json).unwrap(), &plan);
    }
}
