//! The hosted engine: the same machines on tokio, connected by turmoil's TCP, against the seeded engine.
//!
//! Whatever breaks a lock breaks it on both, and whatever repairs it does on both: one table, a row per row of the
//! catalogue, with the setup and the plan that both are given. What cannot be had over TCP is listed with the reason.

mod cases;
mod plans;

use crate::scenarios::row;
use cases::{Row, UNEXPRESSED, Why, rows};
use picklock_model::claims::{Search, scenarios, unpack_setup};
use picklock_model::locks::ZookeeperLock;
use picklock_model::machine::Lock;
use picklock_model::stores::redis;
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_model::{cluster::Setup, locks};
use picklock_properties::{Promise, PromiseSet};
use picklock_sim::hosted::turmoil::{self, Hosted, Hosting, NotExpressible};
use picklock_sim::plans::fault::{FaultKind, FaultSet};
use picklock_sim::plans::plan::{Plan, When};
use picklock_sim::plans::swarm::Scale;
use picklock_sim::seeded::outcome::{Limits, Outcome};
use picklock_sim::seeded::run;
use rayon::prelude::*;
use std::process::Command;

/// A setup whose lock's type nobody needs to know, on both engines.
trait Case: Send + Sync {
    fn seeded(&self, plan: &Plan, seed: u64) -> Outcome;
    fn hosted(&self, plan: &Plan, seed: u64, hosting: &Hosting) -> Result<Hosted, NotExpressible>;
    fn random_plan(&self, faults: FaultSet, seed: u64) -> Plan;
}

impl<L: Lock> Case for Setup<L> {
    fn seeded(&self, plan: &Plan, seed: u64) -> Outcome {
        run::run(self, plan, seed, &limits(self), &mut ())
    }

    fn hosted(&self, plan: &Plan, seed: u64, hosting: &Hosting) -> Result<Hosted, NotExpressible> {
        turmoil::run(self, plan, seed, &limits(self), hosting)
    }

    fn random_plan(&self, faults: FaultSet, seed: u64) -> Plan {
        Plan::random(faults, seed, &Scale::of(self))
    }
}

/// As usual, but what goes on for ever once healed, and is owed to nobody, is not watched for an hour: a minute of it takes
/// as long here as any other minute.
fn limits<L: Lock>(setup: &Setup<L>) -> Limits {
    let usual = Limits::of(setup);
    Limits { after_heal_max: usual.after_heal_max.min(Micros::seconds(60)), ..usual }
}

/// Seeds, and the ticks of the hosted runs: what happens must not depend on either.
const RUNS: [(u64, Micros); 2] = [(1, Micros::millis(20)), (2, Micros::millis(10))];

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_breaks_a_lock_breaks_it_on_both_engines_and_what_repairs_it_does_too() {
    let differences: Vec<String> = rows().par_iter().flat_map_iter(differences).collect();
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

/// Where a row is not as it should be.
fn differences(row: &Row) -> Vec<String> {
    let mut differences = Vec::new();
    let mut judge = |engine: String, broken: &Outcome, repaired: &Outcome| {
        let mut expect = |is_so: bool, what: &str, outcome: &Outcome| {
            if !is_so {
                differences.push(format!("{} {engine}: {what}\n{}{outcome:?}", row.id, row.plan));
            }
        };
        expect(broken.breaks(row.breaks), "nothing breaks", broken);
        expect(pulled(&row.plan, broken), "a trigger was not pulled", broken);
        expect(repaired.violations.is_empty(), "the repair does not hold", repaired);
        expect(
            repaired.grants > 0 || !row.grants,
            "the repair proves nothing: nobody ever held the lock",
            repaired,
        );
        expect(!broken.truncated && !repaired.truncated, "the run was cut short", repaired);
    };
    for (seed, tick) in RUNS {
        judge(
            format!("seeded, seed {seed}"),
            &row.broken.seeded(&row.plan, seed),
            &row.repaired.seeded(&row.plan, seed),
        );
        let mut hosting = Hosting::with_tick(tick);
        hosting.patience.silence = row.silence.unwrap_or(hosting.patience.silence);
        let outcome = |case: &dyn Case| match case.hosted(&row.plan, seed, &hosting) {
            Ok(hosted) => hosted.outcome,
            Err(error) => panic!("{}: {error}\n{}", row.id, row.plan),
        };
        judge(format!("hosted, seed {seed}, tick {tick}"), &outcome(&*row.broken), &outcome(&*row.repaired));
    }
    differences
}

/// Whether every fault that waits for something has struck, or the run was over before.
fn pulled(plan: &Plan, outcome: &Outcome) -> bool {
    let triggers = plan.faults.iter().filter(|planned| matches!(planned.when, When::Trigger { .. })).count();
    outcome.strikes.triggers == triggers as u64
}

#[test]
fn every_row_of_the_catalogue_is_run_here_or_it_is_said_why_not() {
    let run: Vec<&str> = rows().iter().map(|row| row.id).collect();
    for (id, why) in UNEXPRESSED {
        match why {
            Why::Refused { error, .. } => println!("{id} is refused: {error}"),
            Why::NoPlan(reason) => println!("{id} has no plan: {reason}"),
        }
    }
    for scenario in scenarios() {
        let why = UNEXPRESSED.iter().filter(|(id, _)| *id == scenario.id).count();
        let times = run.iter().filter(|id| **id == scenario.id).count();
        assert_eq!((times.min(1), why), (1 - why, 1 - times.min(1)), "{}", scenario.id);
    }
}

/// Those for which a message must be lost, doubled or overtaken are refused, by name, when they are tried all the same.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_tcp_does_not_do_is_refused_by_name() {
    let mut refused = 0;
    for (id, why) in UNEXPRESSED {
        let Why::Refused { faults, error } = *why else { continue };
        let setup: Box<dyn Case> = match row(id).search {
            Search::Seeds { lock: "redis-single", setup, .. } => {
                Box::new(unpacked::<locks::RedisSingle>(&setup))
            }
            Search::Seeds { lock: "zookeeper-lock", setup, .. } => {
                Box::new(unpacked::<ZookeeperLock>(&setup))
            }
            search => panic!("{id} is not searched by seeds: {search:?}"),
        };
        let plans = (0..20).map(|seed| setup.random_plan(faults.iter().copied().collect(), seed));
        for plan in plans {
            let hosted = setup.hosted(&plan, 0, &Hosting::default());
            refused += usize::from(hosted.is_err());
            assert!(hosted.is_ok() || hosted == Err(error), "{id}: {hosted:?}\n{plan}");
        }
    }
    assert!(refused > 20, "only {refused} plans were refused");
}

fn unpacked<L: Lock>(setup: &[u8]) -> Setup<L> {
    unpack_setup(setup).unwrap_or_else(|error| panic!("the catalogue's own setup: {error}"))
}

/// Three clients that come in each other's way on three nodes.
fn redlock() -> Setup<locks::Redlock> {
    Setup {
        lock: locks::redlock::Settings::multiplexed(),
        store: redis::Settings::default(),
        servers: 3,
        workload: Workload {
            clients: 3,
            rounds: 4,
            retries: false,
            calls: Calls::Lock,
            access: AccessChoice::First,
            think: Micros::millis(50),
            hold: Micros::millis(700),
            releases: true,
            writes: Writes::Resource,
            resource_checks: false,
            resource_forgets: false,
            locks: 1,
            attendants: 0,
            pace: None,
            varies: false,
            work_fits: false,
        },
        promises: PromiseSet::from_iter([Promise::MutualExclusion, Promise::DeadlockFreedom]),
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_plan_and_a_seed_are_one_run_and_another_seed_is_another() {
    use FaultKind::{Clock, Crash, Partition, Pause, PowerLoss};
    let setup = redlock();
    let faults = FaultSet::from_iter([Pause, Clock, Crash, PowerLoss, Partition]);
    let hash = |seed: u64| {
        let plan = setup.random_plan(faults, seed);
        match setup.hosted(&plan, seed, &Hosting::default()) {
            Ok(hosted) => (hosted.trace_hash, hosted.outcome),
            Err(error) => panic!("{error}\n{plan}"),
        }
    };
    let first: Vec<_> = (0..12).map(hash).collect();
    // In other threads, and in another order.
    let again: Vec<_> = (0..12).into_par_iter().map(hash).collect();
    assert_eq!(first, again);
    for (seed, (trace_hash, _)) in first.iter().enumerate() {
        assert!(
            first[..seed].iter().all(|(other, _)| other != trace_hash),
            "seed {seed} is another run again"
        );
    }
}

#[test]
fn another_process_runs_the_same_run() {
    const ASKED: &str = "PICKLOCK_TEST_PRINTS_HASH";
    let hosted = redlock().hosted(&plans::paused_holder(), 7, &Hosting::default());
    let hosted = hosted.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((hosted.outcome.grants, hosted.outcome.strikes.pauses), (12, 1));
    let line = format!("{ASKED} {} {:?}", hosted.trace_hash, hosted.outcome);
    if std::env::var_os(ASKED).is_some() {
        return println!("{line}");
    }
    let this_test = ["hosted::another_process_runs_the_same_run", "--exact", "--nocapture"];
    let binary = std::env::current_exe().expect("a test is run by a binary");
    let output = Command::new(binary).args(this_test).env(ASKED, "1").output().expect("it runs again");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains(&line), "not {line}, but\n{printed}");
}
