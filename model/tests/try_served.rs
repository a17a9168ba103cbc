//! t
use picklock_model::claims::cassandra_served::*;
use picklock_model::explore::*;
use picklock_model::locks::cassandra_queue::*;
use picklock_model::locks::cassandra_served::{Settings as S, *};
use picklock_model::locks::*;
use picklock_model::machine::*;
use picklock_model::time::*;
use picklock_model::trace::*;
use picklock_model::world::*;
use picklock_properties::*;
struct P;
impl Observer<CassandraServed> for P {
    fn observe(&mut self, s: &Step<CassandraServed>) {
        let what = match s.happening {
            Happening::Delivered { from, to, message: Message::Request(r) } => format!("{from}->{to} {r}"),
            Happening::Delivered { from, to, message: Message::Reply(r) } => format!("{from}->{to} {r}"),
            o => format!("{o:?}"),
        };
        println!(
            "   {:?} {}  => {:?} {:?}",
            s.at.0 / 1_000_000,
            what,
            s.effects.events,
            s.cluster.servers.iter().map(|s| s.contents()).collect::<Vec<_>>()
        );
    }
}
fn run(name: &str, sp: &Space<CassandraServed>) {
    let t = std::time::Instant::now();
    let e = search(sp, &Limits::states(600_000));
    let v = match &e.verdict {
        Verdict::Violated { violation, path } => format!("{violation:?} in {}", path.len()),
        o => format!("{o:?}"),
    };
    println!("{name}: {v} states {} granted {} {:?}", e.states, e.coverage.granted, t.elapsed());
    if let (Verdict::Violated { path, .. }, true) = (&e.verdict, std::env::var_os("TR").is_some()) {
        let mut w = sp.walker();
        for a in path {
            w.step(*a, &mut P).unwrap();
        }
    }
}
fn live(name: &str, sp: &Space<CassandraServed>, goal: Goal) {
    let t = std::time::Instant::now();
    let (e, l) = check_liveness(sp, &[goal], Draws::Adversary, &Limits::states(600_000));
    println!(
        "{name}: {:?} lasso {:?} states {} granted {} {:?}",
        matches!(e.verdict, Verdict::Verified),
        l[0].as_ref().map(|l| (l.stem.len(), l.cycle.len())),
        e.states,
        e.coverage.granted,
        t.elapsed()
    );
}

fn show(sp: &Space<CassandraServed>, goal: Goal) {
    let (_, l) = check_liveness(sp, &[goal], Draws::Adversary, &Limits::states(600_000));
    if let Some(l) = &l[0] {
        let mut w = sp.walker();
        for a in &l.stem {
            w.step(*a, &mut P).unwrap();
        }
        println!("   loop:");
        for a in &l.cycle {
            w.step(*a, &mut P).unwrap();
        }
    }
}
#[test]
fn a() {
    let mut s = timed(2, 2, &[]);
    for_ever(&mut s);
    one_replica_ahead(&mut s);
    s.bounds.colocated = true;
    s.setup.lock.queue.poll_interval = TICK;
    s.setup.lock.time.period = TICK;
    s.bounds.crashes = 1;
    s.bounds.aim = Aim::At(REPLICA_SLEEPS);
    show(&s, Goal::StarvationFreedom(ClientId(1)));
}
#[test]
fn b() {
    for ts in
        [Timestamps::ClientWall, Timestamps::ServiceAdds, Timestamps::Service, Timestamps::ServiceMonotonic]
    {
        for own in [false, true] {
            for (n, f) in [("written", (|s| s) as fn(S) -> S), ("repaired", published_past_the_last)] {
                let mut s = timed(2, 1, &[Promise::MutualExclusion]);
                s.setup.lock = f(s.setup.lock);
                s.setup.lock.queue.timestamps = ts;
                s.setup.lock.queue.own_id_check = own;
                run(&format!("(b) {ts:?} own {own} {n}"), &s);
            }
        }
    }
}
#[test]
fn k() {
    for (n, unh, wr, n_ttl) in
        [("unhurried", true, false, 2), ("waiters", false, true, 2), ("waiters", false, true, 4)]
    {
        println!("== {n} {n_ttl}");
        let ks = |f: fn(S) -> S| {
            let mut s = kept(2, 1, &[Promise::MutualExclusion]);
            s.setup.lock = f(s.setup.lock);
            s.bounds.unhurried = unh;
            s.setup.lock.queue.waiters_renew = wr;
            s.setup.lock.queue.ttl_seconds = Some(n_ttl);
            s.setup.workload.hold = Micros::seconds(i64::from(n_ttl) + 1);
            s
        };
        run("keeper healthy", &ks(|s| s));
        let mut s = ks(|s| s);
        s.bounds.pauses = 1;
        s.bounds.pause_ticks = n_ttl as u8 + 1;
        s.bounds.aim = Aim::At(KEEPER_READS);
        run("keeper pauses", &s);
        s.setup.lock.leases.judges = Judges::AsItAsks;
        run("keeper pauses, asks", &s);
        s.setup.lock.leases.tombstones = Tombstones::Seen;
        run("keeper pauses, asks+seen", &s);
        s.setup.lock.leases.judges = Judges::AsItHandles;
        run("keeper pauses, seen", &s);
        let mut s = ks(|s| s);
        s.bounds.pauses = 1;
        s.bounds.pause_ticks = n_ttl as u8 + 1;
        s.bounds.aim = Aim::Holding;
        run("holder pauses", &s);
    }
}
#[test]
fn frozen() {
    for (n, f) in [("written", (|s| s) as fn(S) -> S), ("repaired", published_past_the_last)] {
        for ahead in [0, 12] {
            for ts in [Timestamps::ServiceAdds, Timestamps::ClientMonotonic] {
                let mut s = kept(2, 3, &[Promise::MutualExclusion]);
                s.setup.lock.lease_keepers = 1;
                s.setup.lock.queue.timestamps = ts;
                s.setup.lock.queue.queue_order = QueueOrder::Service;
                s.setup.lock = f(s.setup.lock);
                s.bounds.colocated = true;
                s.bounds.last_client_ahead_ticks = ahead;
                s.bounds.crashes = 1;
                s.bounds.aim = Aim::At(REPLICA_SLEEPS);
                run(&format!("frozen {n} ahead {ahead} {ts:?}"), &s);
            }
        }
    }
}
#[test]
fn dies() {
    for keepers in [1, 2] {
        for crashes in [1, 2] {
            let mut s = kept(2, keepers, &[]);
            s.bounds.colocated = true;
            s.bounds.crashes = crashes;
            s.setup.lock.queue.waiters_renew = true;
            live(&format!("keepers {keepers} crashes {crashes}"), &s, Goal::DeadlockFreedom);
        }
    }
}
#[test]
fn future() {
    for tomb in [Tombstones::Clock, Tombstones::Seen] {
        let mut s = kept(2, 1, &[]);
        s.bounds.colocated = true;
        s.bounds.pauses = 1;
        s.bounds.pause_ticks = 5;
        s.bounds.aim = Aim::Holding;
        s.setup.lock.queue.waiters_renew = true;
        s.bounds.last_client_ahead_ticks = 20;
        s.setup.workload.rounds = 2;
        s.setup.lock.leases.tombstones = tomb;
        live(&format!("future {tomb:?}"), &s, Goal::DeadlockFreedom);
        s.setup.promises = [Promise::MutualExclusion].into_iter().collect();
        s.bounds.pauses = 1;
        run(&format!("future ME {tomb:?}"), &s);
    }
}
