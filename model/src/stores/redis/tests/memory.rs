//! Eviction, and the other tenant.

use super::cluster::Cluster;
use super::*;

fn full(eviction: Eviction) -> Cluster {
    let mut cluster = Cluster::single(|settings| {
        settings.eviction = eviction;
        settings.keys_max = Some(2);
    });
    cluster.run(take(0, 10_000));
    cluster.run(Command::Incr(COUNTER));
    cluster
}

fn tenant(does: TenantDoes, change: impl FnOnce(&mut Settings)) -> Cluster {
    Cluster::single(|settings| {
        settings.tenant = Some(Tenant { period: Micros::seconds(1), does });
        change(settings);
    })
}

#[test]
fn a_full_memory_without_eviction_turns_down_what_may_grow_even_if_it_would_not() {
    let mut cluster = full(Eviction::No);
    let before = cluster.servers[0].clone();
    let value = token(0, 1);
    let oom = Outcome::Error(ServerError::OutOfMemory);
    assert_eq!(cluster.run(take(1, 10_000)), oom);
    assert_eq!(cluster.run(set(LOCK, value)), oom);
    assert_eq!(cluster.run(Command::Incr(COUNTER)), oom);
    assert_eq!(cluster.run(Command::ExtendOrCreate { key: LOCK, value, ttl: Millis(5) }), oom);
    assert_eq!(cluster.run(Command::SetAndIncr { key: LOCK, value, ttl: None, counter: COUNTER }), oom);
    assert_eq!(cluster.servers[0], before);
    // These never come to a command that needs memory.
    let other = Command::ExtendOrCreate { key: LOCK, value: token(1, 1), ttl: Millis(5) };
    assert_eq!(cluster.run(other), Outcome::Nil);
    let extend = Command::CompareAndExtend { key: LOCK, value, ttl: Millis(10_000) };
    assert_eq!(cluster.run(extend), Outcome::Integer(1));
    assert_eq!(cluster.run(release(0)), Outcome::Integer(1));
    assert_eq!(cluster.run(take(1, 10_000)), Outcome::Ok);
}

#[test]
fn an_expired_key_makes_room() {
    let mut cluster = full(Eviction::No);
    cluster.pass(Micros::seconds(11));
    assert_eq!(cluster.run(take(1, 10_000)), Outcome::Ok);
}

#[test]
fn a_script_that_has_begun_may_exceed_the_limit() {
    let mut cluster = Cluster::single(|settings| settings.keys_max = Some(1));
    let both = Command::SetAndIncr { key: LOCK, value: token(0, 1), ttl: None, counter: COUNTER };
    assert_eq!(cluster.run(both), Outcome::Integer(1));
    assert_eq!(cluster.contents(0).len(), 2);
}

#[test]
fn the_key_that_was_not_used_for_longest_is_evicted() {
    for (used, left) in [(LOCK, "lock = A#1, dies at 10.001s"), (COUNTER, "counter = 1")] {
        let mut cluster = full(Eviction::AllKeysLru);
        cluster.run(Command::Get(used));
        let key = Key { word: Key::TENANTS, number: 7 };
        assert_eq!(cluster.run(set(key, Value::Integer(0))), Outcome::Ok);
        assert_eq!(cluster.contents(0), [left, "other:7 = 0"]);
    }
}

#[test]
fn without_a_limit_the_order_of_use_leaves_no_trace() {
    let mut used = Cluster::single(|settings| settings.eviction = Eviction::AllKeysLru);
    used.run(set(LOCK, token(0, 1)));
    used.run(Command::Incr(COUNTER));
    let before = used.servers[0].clone();
    used.run(Command::Get(LOCK));
    assert_eq!(used.servers[0], before);
}

#[test]
fn a_tenant_that_writes_evicts_the_lock_in_the_end() {
    let mut cluster = tenant(TenantDoes::Writes, |settings| {
        settings.eviction = Eviction::AllKeysLru;
        settings.keys_max = Some(3);
    });
    cluster.run(take(0, 100_000));
    cluster.live(2);
    assert_eq!(cluster.lock(0), Some(token(0, 1)));
    cluster.live(3);
    assert_eq!(cluster.lock(0), None);
    assert_eq!(cluster.events, [gone(0, 0)]);
    cluster.live(20);
    assert_eq!(cluster.contents(0).len(), 3);
}

#[test]
fn a_tenant_that_writes_fills_a_memory_without_eviction() {
    let mut cluster = tenant(TenantDoes::Writes, |settings| settings.keys_max = Some(3));
    cluster.live(10);
    assert_eq!(cluster.contents(0), ["other:0 = 0", "other:1 = 0", "other:2 = 0"]);
    assert_eq!(cluster.run(take(0, 10)), Outcome::Error(ServerError::OutOfMemory));
}

#[test]
fn a_tenant_without_a_limit_keeps_the_state_finite() {
    let mut cluster = tenant(TenantDoes::Writes, |_| {});
    cluster.live(10);
    assert_eq!(cluster.contents(0), ["other:0 = 0"]);
}

#[test]
fn a_tenant_that_flushes_does_so_once_a_period_from_the_first_one_on() {
    let mut cluster = tenant(TenantDoes::FlushesAll, |_| {});
    cluster.run(take(0, 100_000));
    cluster.pass(Micros::millis(900));
    cluster.run_deadlines();
    assert_eq!(cluster.lock(0), Some(token(0, 1)));
    cluster.pass(Micros::millis(100));
    cluster.run_deadlines();
    assert_eq!(cluster.lock(0), None);
    cluster.run(take(0, 100_000));
    cluster.pass(Micros::millis(999));
    cluster.run_deadlines();
    assert_eq!(cluster.lock(0), Some(token(0, 1)));
}
