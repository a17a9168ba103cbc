//! The seeded engine against turmoil: the same machines, the same plan, one run.
//!
//! Turmoil runs every host in every tick, idle or not, and what it runs are real tasks with framed streams; the seeded
//! engine goes from one event to the next. So the ratio grows with the time in which nothing happens, and shrinks with
//! the tick. It is printed at the end; the aim is 200 with ticks of 1 ms, which are turmoil's own default.

use criterion::{Criterion, criterion_group, criterion_main};
use picklock_model::cluster::Setup;
use picklock_model::locks::Redlock;
use picklock_model::locks::redlock::Settings;
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_properties::PromiseSet;
use picklock_sim::hosted::turmoil::{self, Hosting};
use picklock_sim::plans::plan::{Fault, Plan, Planned, Target, Trigger, When};
use picklock_sim::seeded::outcome::{Limits, Outcome};
use picklock_sim::seeded::run::Engine;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Three clients on five nodes; a tenth of the time somebody works.
fn setup() -> Setup<Redlock> {
    Setup {
        lock: Settings::multiplexed(),
        store: Default::default(),
        servers: 5,
        workload: Workload {
            clients: 3,
            rounds: 2,
            retries: false,
            calls: Calls::Lock,
            access: AccessChoice::First,
            think: Micros::seconds(1),
            hold: Micros::millis(300),
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
        promises: PromiseSet::safety(),
    }
}

/// The first holder hangs for three seconds.
fn plan() -> Plan {
    let when = When::Trigger { client: None, event: Trigger::Granted, nth: 1, delay: Micros::ZERO };
    let fault = Fault::Pause { node: Target::Struck, length: Micros::seconds(3) };
    Plan { faults: vec![Planned { when, fault }], heal_at: Micros::seconds(20), ..Plan::default() }
}

fn seeded(engine: &mut Engine<Redlock>, setup: &Setup<Redlock>, plan: &Plan, seed: u64) -> Outcome {
    engine.run(setup, black_box(plan), seed, &Limits::of(setup), &mut ())
}

fn hosted(setup: &Setup<Redlock>, plan: &Plan, seed: u64, tick: Micros) -> Outcome {
    match turmoil::run(setup, black_box(plan), seed, &Limits::of(setup), &Hosting::with_tick(tick)) {
        Ok(hosted) => hosted.outcome,
        Err(error) => panic!("{error}"),
    }
}

const TICKS: [Micros; 2] = [Micros::millis(1), Micros::millis(10)];

fn engines(criterion: &mut Criterion) {
    let (setup, plan, mut engine) = (setup(), plan(), Engine::new());
    let mut group = criterion.benchmark_group("one run/redlock");
    group.bench_function("seeded", |bencher| bencher.iter(|| seeded(&mut engine, &setup, &plan, 1)));
    for tick in TICKS {
        let name = format!("turmoil, ticks of {tick}");
        group.bench_function(name, |bencher| bencher.iter(|| hosted(&setup, &plan, 1, tick)));
    }
    group.finish();
    let one_run = time(500, |seed| seeded(&mut engine, &setup, &plan, seed));
    for tick in TICKS {
        let one_hosted = time(5, |seed| hosted(&setup, &plan, seed, tick));
        let ratio = one_hosted.as_secs_f64() / one_run.as_secs_f64();
        println!("seeded {one_run:?}, turmoil with ticks of {tick} {one_hosted:?}: ratio {ratio:.0}");
    }
}

/// How long one run takes, of so many; each must grant the lock as often as the workload asks for it.
#[expect(clippy::disallowed_methods, reason = "a benchmark looks at the real clock")]
fn time(runs: u32, mut run: impl FnMut(u64) -> Outcome) -> Duration {
    let started = Instant::now();
    for seed in 0..runs {
        assert_eq!(run(u64::from(seed)).grants, 6);
    }
    started.elapsed() / runs
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = engines
}
criterion_main!(benches);
