//! How fast the seeded engine is: events per second of the Cassandra queue lock, three clients on three servers at
//! QUORUM, with every monitor on. The budget is three million per second and core.
//!
//! `cargo bench --bench seeded`; the element that criterion counts is one event of [`Outcome::events`]. With 2 rounds, as
//! sweeps have them, the engine and the machines share the time; with 20 rounds the queue row holds up to 60 tombstones,
//! every read carries them all, and the time is the store's.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use picklock_model::cluster::Setup;
use picklock_model::locks::CassandraQueue;
use picklock_model::locks::cassandra_queue::Settings;
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_properties::PromiseSet;
use picklock_sim::plans::fault::{FaultKind, FaultSet};
use picklock_sim::plans::plan::Plan;
use picklock_sim::plans::swarm::Scale;
use picklock_sim::report::TraceHash;
use picklock_sim::seeded::outcome::{Limits, Outcome};
use picklock_sim::seeded::run::Engine;
use std::hint::black_box;

fn setup(rounds: u8) -> Setup<CassandraQueue> {
    Setup {
        lock: Settings::repaired(),
        store: Default::default(),
        servers: 3,
        workload: Workload {
            clients: 3,
            rounds,
            calls: Calls::Lock,
            access: AccessChoice::First,
            think: Micros::millis(10),
            hold: Micros::millis(20),
            releases: true,
            retries: false,
            writes: Writes::Resource,
            resource_checks: true,
            resource_forgets: false,
            locks: 1,
            attendants: 0,
            pace: None,
            varies: false,
            work_fits: false,
        },
        promises: PromiseSet::ALL,
    }
}

/// What the runs of the seeds 0 to 31 come to, one after the other in one engine.
fn events(engine: &mut Engine<CassandraQueue>, setup: &Setup<CassandraQueue>, plans: &[Plan]) -> u64 {
    let limits = Limits::of(setup);
    let run = |(seed, plan)| -> Outcome { engine.run(setup, plan, seed, &limits, &mut ()) };
    (0..).zip(plans).map(run).map(|outcome| outcome.events).sum()
}

fn seeded(criterion: &mut Criterion) {
    let rough = [FaultKind::Loss, FaultKind::Delay, FaultKind::Duplicate].into_iter().collect();
    let cases = [
        ("2 rounds, no faults", 2, FaultSet::EMPTY),
        ("2 rounds, loss, delay, duplicate", 2, rough),
        ("2 rounds, all faults", 2, FaultSet::ALL),
        ("20 rounds, no faults", 20, FaultSet::EMPTY),
    ];
    let mut group = criterion.benchmark_group("seeded/cassandra-queue");
    for (name, rounds, kinds) in cases {
        let (setup, mut engine) = (setup(rounds), Engine::new());
        let scale = Scale::of(&setup);
        let plans: Vec<Plan> = (0..32).map(|seed| Plan::random(kinds, seed, &scale)).collect();
        group.throughput(Throughput::Elements(events(&mut engine, &setup, &plans)));
        group.bench_function(name, |bencher| {
            bencher.iter(|| events(&mut engine, &setup, black_box(&plans)));
        });
    }
    let (setup, mut engine) = (setup(2), Engine::new());
    group.throughput(Throughput::Elements(events(&mut engine, &setup, &[Plan::default()])));
    group.bench_function("2 rounds, no faults, trace hashed", |bencher| {
        let (plan, limits) = (Plan::default(), Limits::of(&setup));
        bencher.iter(|| engine.run(&setup, black_box(&plan), 0, &limits, &mut TraceHash::default()));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = seeded
}
criterion_main!(benches);
