use picklock_model::claims::{Assumption, redis::*};
use picklock_model::explore::*;
use picklock_model::locks::redlock::*;
use picklock_model::workload::Calls;
use picklock_properties::Promise;
fn main() {
    let t = std::time::Instant::now();
    let go = |name: &str, space: &Space<Redlock>| {
        let t = std::time::Instant::now();
        let e = search(space, &Limits::states(6_000_000));
        let v = match &e.verdict { Verdict::Violated { path, violation } => format!("VIOLATED {:?} {} steps", violation.promise, path.len()), v => format!("{v:?}") };
        println!("{name}: {v} states {} depth {} bytes/state {} {:?} granted {} lost {} gone {}", e.states, e.depth, e.bytes / e.states, t.elapsed(), e.coverage.granted, e.coverage.lost_leases, e.coverage.records_gone);
    };
    let base = |calls| redlock(2, 3, calls, &[Promise::MutualExclusion]);
    let mut nofault = base(Calls::TryLock); nofault.bounds.power_losses = 0; nofault.bounds.drifts = 0;
    go("try nofault", &nofault);
    let mut nf = nofault.clone(); nf.setup.lock.contact = Contact::AtOnce;
    go("try nofault atonce", &nf);
    go("try base", &base(Calls::TryLock));
    let mut nofault = base(Calls::Lock); nofault.bounds.power_losses = 0; nofault.bounds.drifts = 0;
    go("lock nofault", &nofault);
    for a in Assumption::ALL {
        let mut s = base(Calls::TryLock);
        drop_from_redlock(&mut s, a);
        go(&format!("try drop {}", a.name()), &s);
    }
    println!("{:?}", t.elapsed());
}
