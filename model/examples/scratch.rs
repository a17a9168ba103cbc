use picklock_model::claims::{Assumption, cassandra_shadow as spaces};
use picklock_model::explore::*;
use picklock_model::locks::CassandraShadow;
use picklock_model::locks::cassandra_queue::*;
use picklock_model::locks::cassandra_shadow::*;
use picklock_model::workload::*;
use picklock_model::world::*;
use picklock_properties::*;
fn show(name: &str, space: &Space<CassandraShadow>) {
    let e = search(space, &Limits::states(4_000_000));
    let v = match &e.verdict {
        Verdict::Verified => "holds".to_owned(),
        Verdict::Violated { path, .. } => format!("VIOLATED {}", path.len()),
        Verdict::Incomplete { .. } => "incomplete".into(),
    };
    println!("{name}: {v} {} states, granted {} faults {}", e.states, e.coverage.granted, e.coverage.faults);
}
fn main() {
    if true {
        return c30();
    }
    use picklock_model::locks::cassandra_shadow::Settings;
    type F = fn(Settings) -> Settings;
    let variants: [(&str, F); 8] = [
        ("as written", |l| l),
        ("own-id", |l| Settings { own_id_check: true, ..l }),
        ("reread main", |l| Settings { reread: Reread::Main, ..l }),
        ("reread shadow", |l| Settings { reread: Reread::Shadow, ..l }),
        ("validity", |l| Settings { validity_check: true, validity_margin: TICK, ..l }),
        ("reread main+validity", |l| Settings {
            reread: Reread::Main,
            validity_check: true,
            validity_margin: TICK,
            ..l
        }),
        ("reread shadow+validity", |l| Settings {
            reread: Reread::Shadow,
            validity_check: true,
            validity_margin: TICK,
            ..l
        }),
        ("all", |l| Settings {
            reread: Reread::Main,
            own_id_check: true,
            validity_check: true,
            validity_margin: TICK,
            ..l
        }),
    ];
    for latency in [0, 1] {
        for ttl in [None, Some(4)] {
            for (name, f) in variants {
                let mut space = spaces::shadow_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
                spaces::drop_from_shadow_lock(&mut space, Assumption::NoExpiry);
                space.setup.lock.ttl_seconds = ttl;
                space.bounds.latency_ticks = Some(latency);
                space.bounds.pauses = 1;
                space.bounds.pause_ticks = 5;
                space.bounds.aim = Aim::Asking;
                space.setup.lock = f(space.setup.lock);
                show(&format!("C18 latency {latency} main ttl {ttl:?} {name}"), &space);
            }
        }
    }
    let variants: [(&str, F); 6] = [
        ("as written", |l| l),
        ("own-id", |l| Settings { own_id_check: true, ..l }),
        ("own-id+reread main", |l| Settings { own_id_check: true, reread: Reread::Main, ..l }),
        ("monotonic", |l| Settings { timestamps: Timestamps::ClientMonotonic, ..l }),
        ("reread main", |l| Settings { reread: Reread::Main, ..l }),
        ("reread shadow", |l| Settings { reread: Reread::Shadow, ..l }),
    ];
    for rounds in [1, 2] {
        for (name, f) in variants {
            let mut space = spaces::shadow_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
            space.setup.workload.rounds = rounds;
            space.bounds.clock_steps = 1;
            space.bounds.clock_step_ticks = -1;
            space.setup.lock = f(space.setup.lock);
            show(&format!("C19 rounds {rounds} {name}"), &space);
        }
    }
}
fn c30() {
    use picklock_model::locks::cassandra_shadow::Settings;
    use picklock_model::time::Micros;
    type F = fn(Settings) -> Settings;
    let variants: [(&str, F); 4] = [
        ("as written", |l| l),
        ("conditional", |l| Settings { conditional_renewal: true, ..l }),
        ("validity", |l| Settings { validity_check: true, validity_margin: TICK, ..l }),
        ("both", |l| Settings {
            conditional_renewal: true,
            validity_check: true,
            validity_margin: TICK,
            ..l
        }),
    ];
    for latency in [0, 1] {
        for aim in [Aim::Holding, Aim::Always] {
            for (name, f) in variants {
                let mut space = spaces::shadow_lock(2, 1, Calls::Lock, &[Promise::LeaseLoss]);
                spaces::drop_from_shadow_lock(&mut space, Assumption::NoExpiry);
                space.bounds.latency_ticks = Some(latency);
                space.setup.workload.hold = Micros(4 * TICK.0);
                space.bounds.pauses = 1;
                space.bounds.pause_ticks = 5;
                space.bounds.aim = aim;
                space.setup.lock = f(space.setup.lock);
                show(&format!("C30 latency {latency} {aim:?} {name}"), &space);
            }
        }
    }
}
