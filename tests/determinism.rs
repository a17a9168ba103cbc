//! The same token is the same run: whenever it is run, in whichever thread, with however many of them, and from whatever
//! form it was kept in.

use crate::evidence::{lock, replay, seeded_token};
use expect_test::expect;
use picklock_model::claims::{Claim, Judgement, claims};
use picklock_model::explore::Limits;
use picklock_sim::fault::FaultSet;
use picklock_sim::plan::Plan;
use picklock_sim::registry::{Checked, SweepHow};
use picklock_sim::report::TextOptions;
use picklock_sim::swarm::Scale;
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
fn an_exhaustive_search_finds_the_same_with_any_number_of_threads() {
    let with = |threads: usize, claim: &Claim| -> Checked {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let check = || {
            lock(claim.space.lock).check(&claim.space, &claim.judgement, &Limits::states(1_000_000)).unwrap()
        };
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

#[test]
fn a_planned_token_runs_as_the_seeded_one_that_drew_its_plan() {
    use picklock_sim::token::Body;
    let scale = scale();
    for seed in 0..20 {
        let seeded = all_faults("cassandra-queue", seed);
        let Body::Seeded { setup, .. } = seeded.body.clone() else { unreachable!("it is seeded") };
        let plan = postcard::to_stdvec(&Plan::random(FaultSet::ALL, seed, &scale)).unwrap();
        let planned = Token { body: Body::Planned { setup, plan, seed }, ..seeded.clone() };
        let hash = |token: &Token| replay(token, &TextOptions::default()).trace_hash;
        assert_eq!(hash(&planned), hash(&seeded), "seed {seed}");
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

/// Of the seeded engine: no fault, a pause and a clock under the lock as written, all faults under both locks. Of the
/// exhaustive engine: row C2.
const KNOWN: [&str; 6] = [
    "pk4_FRHviZ9jDjxwKRLfxTNAVSc7J7suGzZzfwi8R6yYzdsNENsAGgtBn5pa4SExkCwwJzX8M1MqSevgLvbHbybi2LPgewZwVeextCVSiE7c4ZG9461P3",
    "pk4_FRHviZ9jDjxwKRLfxTNAVSc7J7suGzZzfwi8R6yYzdsNENsAGgtBn5pa4SExkCwwJzX8M1MqSevgLvbHbybi2LPgewZwVeextCVSiE7c7YZAzzYuW",
    "pk4_FRHviZ9jDjxwKRLfxTNAVSc7J7suGzZzfwi8R6yYzdsNENsAGgtBn5pa4SExkCwwJzX8M1MqSevgLvbHbybi2LPgewZwVeextCVSiE7c8xikwowya",
    "pk4_5quH6NtWpxKBqQ7vaciqWSTuFE5pDxyVrKkCWe5kNRhKjAA4k9zwVSboToeXG6vnVKnPz2GcuMU8BpTjJ7HHHrAhc1TWzRQe38dLMxRi1u7Tn9VRgFzL",
    "pk4_e5gtWk2xMcajR1GWXipvLaqm7gAMVEeyHSahC55LUy7i2ABGBate1KYDxnsAmA9nDLxyYjDoZbgsnhNQVBpdJA7qnGG1kkKH6x5N3gjWkapSqfFjYFwdL4CcehVWT93KG3Sd",
    "pk4_38iFMx1ps3JZeHnPaHD3JbCFv2yWn6Pbr6vedmtTit4H6WWZSpG1TbTmPi6g2d45aimy2keXvinNVbgj9nDyMrNYSvfRdWbMoFsUddZmy2a6xYRNaTmnUyEFDoQQozvyZUn65m8ZAQyUqGuWvhMFhXmEQQgqJgsq6KZc",
];

/// Whoever has a token in an issue relies on this: it changes only with `FORMAT_VERSION`.
#[test]
fn known_tokens_are_known_runs() {
    let mut table = String::new();
    for text in KNOWN {
        let token: Token = text.parse().unwrap();
        assert_eq!(token.encode(), text);
        let replay = replay(&token, &TextOptions::default());
        let broken: Vec<&str> = replay.violations.iter().map(|violation| violation.promise.name()).collect();
        table += &format!("{} {} events, broken: {broken:?}\n", replay.trace_hash, replay.events.len());
    }
    expect![[r#"
        4b1197de8dafb4f7 10310 events, broken: ["deadlock-freedom", "starvation-freedom"]
        ffb4a0cbf3508406 12128 events, broken: ["mutual-exclusion", "lease-loss", "deadlock-freedom", "starvation-freedom"]
        66781d5341b7049a 12588 events, broken: ["mutual-exclusion", "lease-loss", "deadlock-freedom", "starvation-freedom"]
        ce0be58d70262ff8 11109 events, broken: ["deadlock-freedom", "starvation-freedom"]
        875cd10d8684d984 1782 events, broken: []
        c5337e01ec58c67f 24 events, broken: ["mutual-exclusion"]
    "#]].assert_eq(&table);
}
