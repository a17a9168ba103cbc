//! What no drawn plan has led to, and these plans do: the matrix knows of it, and its cells rest on these runs.
//!
//! Each was met by one of the first 20,000 seeds. Where a lock, a store or an engine has changed, another seed may be the one: `picklock sweep
//! LOCK --plan FILE --property fenced-resource` looks for it.

use crate::evidence::lock;
use crate::known_runs::watched;
use picklock_model::claims::Known;
use picklock_model::machine::Line;
use picklock_model::time::Micros;
use picklock_properties::Promise;
use picklock_sim::plans::plan::{DRIFT_PPM_MAX, Fault, Plan, Planned, Side, Target, Trigger, When};
use picklock_sim::registry::known_of;
use picklock_sim::seeded::network::Network;
use rayon::prelude::*;

const MUTEX: Promise = Promise::MutualExclusion;
const LATE: Promise = Promise::FencedResource;
const FIFO: Promise = Promise::Fifo;

fn plan(heal_s: i64, faults: impl IntoIterator<Item = Planned>) -> Plan {
    Plan { faults: faults.into_iter().collect(), heal_at: Micros::seconds(heal_s), ..Plan::default() }
}

/// When a client is granted the lock, whoever it is.
fn granted(nth: u16, delay: Micros) -> When {
    When::Trigger { client: None, event: Trigger::Granted, nth, delay }
}

/// Both servers of a pair crash in turn, and come back.
fn pair_crashes() -> Plan {
    plan(
        150,
        [(0, 2), (0, 5), (1, 4), (1, 7)].map(|(server, nth)| Planned {
            when: granted(nth, Micros::ZERO),
            fault: Fault::Crash { node: Target::Server(server), restart_after: Some(Micros::seconds(12)) },
        }),
    )
}

/// One of three servers stops a moment after a grant, for so long that a lease or a session ends, and then another one.
fn members_stop(fault: impl Fn(Target, Option<Micros>) -> Fault, last: u16) -> Plan {
    plan(
        120,
        (1..=last).step_by(2).map(|nth| Planned {
            when: granted(nth, Micros::millis(100)),
            fault: fault(Target::Server((nth % 3) as u8), Some(Micros::seconds(9))),
        }),
    )
}

fn crash(node: Target, restart_after: Option<Micros>) -> Fault {
    Fault::Crash { node, restart_after }
}

fn power_loss(node: Target, restart_after: Option<Micros>) -> Fault {
    Fault::PowerLoss { node, restart_after }
}

/// One of three servers is off for half a minute, two seconds after a grant, and then another one.
fn members_are_off() -> Plan {
    plan(
        300,
        (1..=11).step_by(2).map(|nth| Planned {
            when: granted(nth, Micros::seconds(2)),
            fault: power_loss(Target::Server((nth % 3) as u8), Some(Micros::seconds(30))),
        }),
    )
}

/// The clocks of three of five servers are set past the life of all keys, again and again.
fn clocks_step() -> Plan {
    let step = |nth, server| Planned {
        when: granted(nth, Micros::millis(100)),
        fault: Fault::ClockStep { node: Target::Server(server), by: Micros::seconds(20) },
    };
    plan(150, (2..=7).flat_map(|nth| (0..3).map(move |server| step(nth, server))))
}

fn from_the_start(fault: Fault) -> Planned {
    Planned { when: When::At(Micros::ZERO), fault }
}

fn drifts(node: Target, ppm: i32) -> Planned {
    from_the_start(Fault::Drift { node, ppm })
}

/// A client's clock loses half of the time, and those of so many servers gain as much.
fn clocks_drift(servers: u8) -> Plan {
    let servers = (0..servers).map(|server| drifts(Target::Server(server), DRIFT_PPM_MAX));
    plan(120, [drifts(Target::Client(0), -DRIFT_PPM_MAX)].into_iter().chain(servers))
}

/// The same of the two keepers of leases, who are the third and the fourth client.
fn keepers_are_fast() -> Plan {
    let keepers = [2, 3].map(|keeper| drifts(Target::Client(keeper), DRIFT_PPM_MAX));
    plan(150, [drifts(Target::Client(0), -DRIFT_PPM_MAX)].into_iter().chain(keepers))
}

/// And of keepers and servers, where the client's clock is half a minute ahead to begin with.
fn keepers_are_fast_and_a_holder_ahead() -> Plan {
    let step = Fault::ClockStep { node: Target::Client(0), by: Micros::seconds(30) };
    let fast = [0, 1, 2].map(Target::Server).into_iter().chain([2, 3].map(Target::Client));
    let slow = [from_the_start(step), drifts(Target::Client(0), -DRIFT_PPM_MAX)];
    plan(150, slow.into_iter().chain(fast.map(|node| drifts(node, DRIFT_PPM_MAX))))
}

/// Both replicas of the time service, which are the third and the fourth client, end before they have published any.
fn nobody_publishes_a_time() -> Plan {
    plan(60, [2, 3].map(|replica| from_the_start(crash(Target::Client(replica), None))))
}

/// The follower of the client that waits stops, it goes to another one, and when it is granted the lock that one stops, too.
fn followers_stop(fault: impl Fn(Target, Micros) -> Fault, holder: Option<Fault>) -> Plan {
    let waits = |delay| When::Trigger {
        client: Some(1),
        event: Trigger::Line(Line { listing: 0, number: 5 }),
        nth: 1,
        delay,
    };
    let holds = When::Trigger { client: Some(1), event: Trigger::Granted, nth: 1, delay: Micros::ZERO };
    let first =
        Planned { when: waits(Micros::millis(300)), fault: fault(Target::Server(1), Micros::seconds(5)) };
    let holder = holder.map(|fault| Planned { when: waits(Micros::millis(1_500)), fault });
    let last = Planned { when: holds, fault: fault(Target::Server(2), Micros::seconds(12)) };
    plan(60, [first].into_iter().chain(holder).chain([last]))
}

/// Every other client that is granted the lock is cut off from the servers, and not from the resource, for longer than its lease lasts.
fn holders_are_cut_off() -> Plan {
    plan(
        120,
        (1..=11).step_by(2).map(|nth| Planned {
            when: granted(nth, Micros::millis(300)),
            fault: Fault::Cut {
                from: struck(),
                to: Side::Servers,
                both_ways: true,
                length: Micros::seconds(9),
            },
        }),
    )
}

/// The server starts anew, in less time than a message takes, at every eleventh step of a client: it takes its answers along.
fn the_server_stumbles() -> Plan {
    plan(
        90,
        (5..=291).step_by(11).map(|nth| Planned {
            when: When::Trigger { client: None, event: Trigger::Step, nth, delay: Micros::ZERO },
            fault: crash(Target::Server(0), Some(Micros(300))),
        }),
    )
}

/// A member goes off 3.85 s after the first place in the queue was given. Whoever is given the fourth place stops for a moment, 2 ms later, and
/// so does the second client as it is given its own fourth.
fn a_member_and_two_in_the_queue_stop(fault: impl Fn(Target, Option<Micros>) -> Fault) -> Plan {
    let enqueued = |client, nth, delay| When::Trigger { client, event: Trigger::Enqueued, nth, delay };
    let stop = |when, node, restart_after| Planned { when, fault: fault(node, restart_after) };
    plan(
        120,
        [
            stop(enqueued(None, 1, Micros::millis(3_850)), Target::Server(2), None),
            stop(enqueued(None, 4, Micros::millis(2)), Target::Struck, Some(Micros::millis(20))),
            stop(enqueued(Some(1), 4, Micros::ZERO), Target::Struck, Some(Micros::millis(150))),
        ],
    )
}

/// Whoever was granted the lock.
fn struck() -> Side {
    Side::Nodes([Target::Struck].into_iter().collect())
}

fn lose(from: Side, to: Side, count: u16) -> Fault {
    Fault::LoseNext { from, to, count }
}

/// The next messages of whoever is granted the lock are lost: all keep-alives for longer than the lease lasts.
fn keep_alives_are_lost() -> Plan {
    let faults = (1..=8)
        .map(|nth| Planned { when: granted(nth, Micros::ZERO), fault: lose(struck(), Side::Servers, 10) });
    plan(120, faults)
}

/// The next messages of every other client that is granted the lock are lost, so that its work takes longer than its lease.
fn work_is_lost() -> Plan {
    let faults = (1..=7)
        .step_by(2)
        .map(|nth| Planned { when: granted(nth, Micros::ZERO), fault: lose(struck(), Side::Everybody, 20) });
    plan(150, faults)
}

/// No keep-alive of the first holder arrives until it is taken for dead, and it is not told of that, either.
fn the_end_is_not_told() -> Plan {
    let unkept = Planned { when: granted(1, Micros::ZERO), fault: lose(struck(), Side::Servers, 60) };
    let untold = Planned { when: granted(1, Micros::seconds(25)), fault: lose(Side::Servers, struck(), 3) };
    plan(150, [unkept, untold])
}

/// What the first, the third, ... holder and the servers say to each other takes 25 s longer: keep-alives, and that they came too late.
fn the_end_is_told_late() -> Plan {
    let slow =
        |from, to| Fault::SlowLink { from, to, extra: Micros::seconds(25), length: Micros::seconds(80) };
    let faults = (1..=7).step_by(2).flat_map(|nth| {
        [slow(struck(), Side::Servers), slow(Side::Servers, struck())]
            .map(|fault| Planned { when: granted(nth, Micros::ZERO), fault })
    });
    plan(150, faults)
}

/// The next messages of all clients to the servers are lost, those of who waits among them.
fn places_lapse() -> Plan {
    let faults = (1..=7).step_by(2).map(|nth| Planned {
        when: granted(nth, Micros::ZERO),
        fault: lose(Side::Clients, Side::Servers, 30),
    });
    plan(150, faults)
}

/// Nearly every second message is lost: those of the holder to the resource, too.
fn half_is_lost() -> Plan {
    Plan { network: Network { loss_per_mille: 450, ..Network::default() }, ..plan(120, []) }
}

#[test]
fn what_plans_alone_lead_to() {
    let (pair, steps, drift, drift_of_two) =
        (pair_crashes(), clocks_step(), clocks_drift(3), clocks_drift(1));
    let (fast, fast_and_ahead) = (keepers_are_fast(), keepers_are_fast_and_a_holder_ahead());
    let (timeless, cut_off, stumbles) =
        (nobody_publishes_a_time(), holders_are_cut_off(), the_server_stumbles());
    let restarts = crash(Target::Client(0), Some(Micros::millis(10)));
    let followers_crash = followers_stop(|node, length| crash(node, Some(length)), Some(restarts));
    let followers_lose_power = followers_stop(|node, length| power_loss(node, Some(length)), None);
    let followers_are_alone = followers_stop(|node, length| Fault::Isolate { node, length }, None);
    let (unkept, half) = (keep_alives_are_lost(), half_is_lost());
    let (crashes, losses_of_power) = (members_stop(crash, 7), members_stop(power_loss, 7));
    let (long, long_of_power) = (members_stop(crash, 11), members_stop(power_loss, 11));
    let without_one = members_are_off();
    let queue_crashes = a_member_and_two_in_the_queue_stop(crash);
    let queue_loses_power = a_member_and_two_in_the_queue_stop(power_loss);
    let (work, untold, late, lapsed) =
        (work_is_lost(), the_end_is_not_told(), the_end_is_told_late(), places_lapse());
    let runs: [(&str, &str, &Plan, u64, Promise); 56] = [
        ("redis-failover", "crash", &pair, 68, LATE),
        ("redis-failover-fenced", "crash", &pair, 16, LATE),
        ("redlock-fenced", "clock", &steps, 95, LATE),
        ("redis-single", "loss", &half, 24, LATE),
        ("zookeeper-lock", "crash", &long, 4_832, LATE),
        ("zookeeper-lock", "power-loss", &long_of_power, 4_832, LATE),
        ("etcd-mutex-3", "loss", &unkept, 8, MUTEX),
        ("etcd-mutex-3", "loss", &unkept, 3_634, LATE),
        ("etcd-mutex-3", "power-loss", &without_one, 2_430, MUTEX),
        ("etcd-mutex-3", "clock", &drift, 12, MUTEX),
        ("etcd-mutex-3", "clock", &drift, 14, LATE),
        ("etcd-mutex-3-repaired", "clock", &drift, 12, MUTEX),
        ("etcd-election-3", "loss", &unkept, 8, MUTEX),
        ("etcd-election-3", "loss", &unkept, 3_634, LATE),
        ("etcd-election-3", "crash", &crashes, 327, MUTEX),
        ("etcd-election-3", "crash", &queue_crashes, 98, LATE),
        ("etcd-election-3", "power-loss", &losses_of_power, 327, MUTEX),
        ("etcd-election-3", "power-loss", &queue_loses_power, 98, LATE),
        ("etcd-election-3", "clock", &drift, 8, MUTEX),
        ("etcd-election-3", "clock", &drift, 14, LATE),
        ("etcd-lease-key-3", "clock", &drift, 12, MUTEX),
        ("etcd-lease-key-3", "clock", &drift, 14, LATE),
        ("cassandra-lwt", "loss", &work, 0, MUTEX),
        ("cassandra-lwt", "loss", &work, 2, LATE),
        ("cassandra-lwt-shipped", "loss", &work, 0, MUTEX),
        ("cassandra-lwt-shipped", "loss", &work, 2, LATE),
        ("consul-lock", "loss", &untold, 12, MUTEX),
        ("consul-lock", "loss", &untold, 143, LATE),
        ("consul-lock", "delay", &late, 12, MUTEX),
        ("dlm-modes", "loss", &untold, 26, MUTEX),
        ("dlm-readers-writer", "loss", &untold, 12, MUTEX),
        ("dlm-upgrade", "loss", &untold, 12, MUTEX),
        ("dlm-two", "loss", &untold, 0, MUTEX),
        ("dlm-standby", "loss", &untold, 12, MUTEX),
        ("dlm-pages", "loss", &untold, 0, MUTEX),
        ("feedback-lock", "loss", &lapsed, 3, FIFO),
        ("zookeeper-lock", "clock", &drift, 8, FIFO),
        ("zookeeper-lock-repaired", "clock", &drift, 8, FIFO),
        ("etcd-mutex", "clock", &drift_of_two, 8, FIFO),
        ("etcd-mutex-repaired", "clock", &drift_of_two, 8, FIFO),
        ("etcd-election", "clock", &drift_of_two, 8, FIFO),
        ("etcd-election-repaired", "clock", &drift_of_two, 8, FIFO),
        ("etcd-mutex-3", "clock", &drift, 8, FIFO),
        ("etcd-mutex-3-repaired", "clock", &drift, 8, FIFO),
        ("etcd-election-3", "clock", &drift, 8, FIFO),
        ("feedback-lock", "clock", &drift_of_two, 8, FIFO),
        ("zookeeper-lock-repaired", "crash", &followers_crash, 61, MUTEX),
        ("zookeeper-lock-repaired", "power-loss", &followers_lose_power, 867, MUTEX),
        ("zookeeper-lock-repaired", "partition", &followers_are_alone, 867, MUTEX),
        ("etcd-mutex-3", "partition", &cut_off, 330, LATE),
        ("cassandra-kept-repaired", "clock", &fast, 8, MUTEX),
        ("cassandra-kept-repaired", "clock", &fast_and_ahead, 123, LATE),
        ("cassandra-timed-repaired", "crash", &timeless, 0, Promise::DeadlockFreedom),
        ("cassandra-timed-repaired", "crash", &timeless, 0, Promise::StarvationFreedom),
        ("lock-free-queue", "crash", &stumbles, 341, Promise::NoDuplicate),
        ("naive-queue-waiting", "crash", &stumbles, 17, Promise::Linearizable),
    ];
    let breaks = |name: &str, plan: &Plan, seed: u64, promise: Promise| {
        let lock = lock(name);
        let setup = lock.setup(Some(watched(lock.as_ref())));
        let outcomes = lock.run_planned(&setup, plan, seed..seed + 1).expect("the setup is this lock's");
        outcomes.iter().any(|outcome| outcome.breaks(promise))
    };
    let wrong: Vec<_> = runs
        .par_iter()
        .filter(|(name, _, plan, seed, promise)| !breaks(name, plan, *seed, *promise))
        .map(|(name, fault, _, seed, promise)| format!("{name} {fault} {seed} {promise}"))
        .collect();
    assert!(wrong.is_empty(), "these break nothing: {}", wrong.join(", "));
    for (name, fault, _, _, promise) in runs {
        let is_known = known_of(name, fault, promise).is_some_and(|cell| cell.known == Known::Broken);
        assert!(is_known, "the matrix does not know that {name} breaks {promise} under {fault}");
    }
}

/// Two members of three lose their logs, one after the other, and elect a leader that has less than the third one has. As in etcd, it sends
/// that one nothing that it could take.
#[test]
fn a_leader_that_has_less_than_a_follower_leads_on() {
    let replaced =
        |member, after| Fault::Replace { node: Target::Server(member), restart_after: Some(Micros(after)) };
    let left = When::Trigger { client: None, event: Trigger::Left, nth: 5, delay: Micros(99_270) };
    let faults = [
        Planned { when: left, fault: replaced(1, 5_259) },
        Planned { when: When::At(Micros::seconds(1)), fault: replaced(0, 1_066_000) },
    ];
    for name in ["etcd-mutex-3", "etcd-election-3"] {
        let lock = lock(name);
        let setup = lock.setup(Some(watched(lock.as_ref())));
        let outcomes = lock.run_planned(&setup, &plan(60, faults.clone()), 100..110);
        assert_eq!(outcomes.expect("the setup is this lock's").len(), 10, "{name}");
    }
}

/// A member stops for good. A client that has no record any more takes the lock for its own, and leaves it; it is given to another one by
/// then, who learns of that much later, and writes as the rightful holder that it is.
#[test]
fn who_was_given_the_lock_is_not_late_because_somebody_else_believed_to_have_it() {
    let when = When::Trigger { client: Some(0), event: Trigger::Enqueued, nth: 2, delay: Micros::ZERO };
    let network = Network { latency_max: Micros::millis(20), ..Network::default() };
    let stops = Planned { when, fault: crash(Target::Server(2), None) };
    let plan = Plan { network, ..plan(120, [stops]) };
    let lock = lock("etcd-election-3");
    let setup = lock.setup(Some(watched(lock.as_ref())));
    let outcomes = lock.run_planned(&setup, &plan, 23..24).expect("the setup is this lock's");
    let [outcome] = outcomes.as_slice() else { panic!("one seed, and {} runs", outcomes.len()) };
    assert!(!outcome.breaks(LATE) && outcome.tested.contains(LATE));
    assert!(!outcome.breaks(MUTEX) && outcome.strikes.crashes > 0, "nobody held beside another one");
}

/// The store ends several leases at once, and D's key is the first one for a moment, between the deletions of two others. D learns nothing
/// of that. B, whose key was never the first, takes the lock for its own, then D does, and they write in that order: neither was given it
/// before the other. Most runs break the promise nevertheless, by who wrote late whatever one thinks of these two.
#[test]
fn who_was_given_the_lock_for_a_moment_is_not_late_because_somebody_else_believed_to_have_it() {
    let pause = |event, nth, delay, tenths: i64| Planned {
        when: When::Trigger { client: None, event, nth, delay: Micros::millis(delay) },
        fault: Fault::Pause { node: Target::Struck, length: Micros::millis(100 * tenths) },
    };
    let waiting = [(2, 78), (3, 82), (4, 86), (6, 94), (7, 98)];
    let waiting = waiting.map(|(nth, tenths)| pause(Trigger::Enqueued, nth, 3, tenths));
    let holding = (1..=6).map(|nth| pause(Trigger::Granted, nth, 1, 70));
    let network = Network {
        latency_max: Micros::millis(200),
        duplicate_per_mille: 20,
        reply_loss_per_mille: 20,
        ..Network::default()
    };
    let plan = Plan { network, ..plan(300, waiting.into_iter().chain(holding)) };
    let lock = lock("etcd-election");
    let setup = lock.setup(Some(watched(lock.as_ref())));
    let outcomes = lock.run_planned(&setup, &plan, 0..200).expect("the setup is this lock's");
    assert_eq!(outcomes.iter().filter(|outcome| outcome.breaks(LATE)).count(), 116);
    for seed in [96, 152] {
        assert!(!outcomes[seed].breaks(LATE) && outcomes[seed].tested.contains(LATE), "seed {seed}");
    }
}
