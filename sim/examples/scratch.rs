//! x
use picklock_model::claims::*;
use picklock_model::locks::CassandraShadow;
use picklock_model::locks::cassandra_queue::{RetryDeletes, Timestamps};
use picklock_model::locks::cassandra_shadow::*;
use picklock_model::time::Micros;
use picklock_sim::fault::*;
use picklock_sim::registry::*;
use std::sync::atomic::AtomicBool;
fn main() {
    type F = fn(&mut Settings);
    let variants: Vec<(&str, F)> = vec![
        ("written", |_| {}),
        ("shadow ttl", |l| l.shadow_ttl_seconds = Some(20)),
        ("validity", |l| {
            l.validity_check = true;
            l.validity_margin = Micros::seconds(2);
        }),
        ("conditional", |l| l.conditional_renewal = true),
        ("cond+valid", |l| {
            l.conditional_renewal = true;
            l.validity_check = true;
            l.validity_margin = Micros::seconds(2);
        }),
        ("retry", |l| l.retry_deletes = RetryDeletes::UntilAcknowledged),
        ("own-id", |l| l.own_id_check = true),
        ("monotonic", |l| l.timestamps = Timestamps::ClientMonotonic),
        ("reread", |l| l.reread = Reread::Main),
        ("valid+retry", |l| {
            l.retry_deletes = RetryDeletes::UntilAcknowledged;
            l.validity_check = true;
            l.validity_margin = Micros::seconds(2);
        }),
        ("shadow ttl+retry", |l| {
            l.shadow_ttl_seconds = Some(20);
            l.retry_deletes = RetryDeletes::UntilAcknowledged;
        }),
    ];
    let lock = locks().into_iter().find(|l| l.name() == "cassandra-shadow").unwrap();
    for (name, f) in variants {
        let mut setup = unpack_setup::<CassandraShadow>(&lock.setup(None)).unwrap();
        f(&mut setup.lock);
        let setup = pack_setup(&setup);
        for fault in FaultKind::ALL {
            let stop = AtomicBool::new(false);
            let how = SweepHow { jobs: 2, keep_going: true, on_progress: &|_| {}, stop: &stop };
            let r = lock.sweep(&setup, FaultSet::from(fault), 0..1000, &how).unwrap();
            println!("{name:18} {fault}: {:?}", r.broken);
        }
    }
}
