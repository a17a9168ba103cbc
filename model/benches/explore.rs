//! Transitions per second of the exhaustive engine on Theorem 1 with three threads, beside stateright's own checkers on
//! the same model, and with one and two cores. Read the ratios; absolute numbers are the machine's.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use picklock_model::claims::cassandra::queue_lock;
use picklock_model::explore::{Limits, Space, search};
use picklock_model::locks::CassandraQueue;
use picklock_model::workload::Calls;
use picklock_properties::Promise;
use stateright::{Checker, Model};
use std::time::Duration;

fn theorem_1(clients: u8) -> Space<CassandraQueue> {
    queue_lock(clients, 1, Calls::Lock, &[Promise::Theorem1])
}

fn explore(criterion: &mut Criterion) {
    let space = theorem_1(3);
    let found = search(&space, &Limits::states(10_000_000));
    println!(
        "Theorem 1, 3 threads: {} states, {} transitions, {} bytes per state",
        found.states,
        found.transitions,
        found.bytes / found.states
    );
    let mut group = criterion.benchmark_group("theorem 1, 3 threads (transitions)");
    group
        .throughput(Throughput::Elements(found.transitions))
        .sample_size(10)
        .measurement_time(Duration::from_secs(8));
    for threads in [1, 2] {
        let pool = match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
            Ok(pool) => pool,
            Err(error) => panic!("{threads} threads cannot be started: {error}"),
        };
        group.bench_function(format!("picklock, {threads} core(s)"), |bencher| {
            bencher.iter(|| pool.install(|| search(&space, &Limits::states(10_000_000)).states));
        });
    }
    group.bench_function("stateright breadth-first, 1 core", |bencher| {
        bencher.iter(|| space.clone().checker().threads(1).spawn_bfs().join().unique_state_count());
    });
    group.bench_function("stateright depth-first, 1 core", |bencher| {
        bencher.iter(|| space.clone().checker().threads(1).spawn_dfs().join().unique_state_count());
    });
    group.finish();
}

criterion_group!(benches, explore);
criterion_main!(benches);
