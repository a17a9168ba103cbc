use super::*;
use crate::plans::plan::{Fault, Planned, Side, Target, Trigger, When};
use crate::seeded::network::Network;
use crate::toy::{self, Key};
use picklock_model::workload::Workload;
use picklock_properties::Promise;

const DESK: Target = Target::Server(0);
const A: Target = Target::Client(0);

fn plan(faults: impl IntoIterator<Item = (When, Fault)>) -> Plan {
    let faults = faults.into_iter().map(|(when, fault)| Planned { when, fault }).collect();
    Plan { faults, heal_at: Micros::seconds(20), network: Network::default(), ..Plan::default() }
}

fn at(millis: i64) -> When {
    When::At(Micros::millis(millis))
}

fn on_grant() -> When {
    When::Trigger { client: None, event: Trigger::Granted, nth: 1, delay: Micros::ZERO }
}

fn hosted(setup: &Setup<Key>, plan: &Plan) -> Outcome {
    match run(setup, plan, 1, &Limits::of(setup), &Hosting::default()) {
        Ok(hosted) => hosted.outcome,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn without_faults_every_round_is_granted_whatever_the_tick() {
    let setup = toy::setup();
    for millis in [1, 5, 20, 100] {
        let hosting = Hosting::with_tick(Micros::millis(millis));
        let outcome = run(&setup, &Plan::default(), 1, &Limits::of(&setup), &hosting).map(|run| run.outcome);
        let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((outcome.grants, &outcome.violations[..]), (15, &[][..]), "ticks of {millis} ms");
    }
}

#[test]
fn a_desk_that_gives_to_everybody_is_caught() {
    let outcome = hosted(&toy::broken_setup(), &Plan::default());
    assert!(outcome.breaks(Promise::MutualExclusion));
}

#[test]
fn a_process_that_hangs_for_longer_than_its_lease_breaks_mutual_exclusion() {
    let broken = |millis| {
        let pause = Fault::Pause { node: Target::Struck, length: Micros::millis(millis) };
        let outcome = hosted(&toy::leased_setup(), &plan([(on_grant(), pause)]));
        assert_eq!((outcome.strikes.pauses, outcome.strikes.triggers), (1, 1));
        outcome.breaks(Promise::MutualExclusion)
    };
    assert!(broken(2_000));
    assert!(!broken(900));
}

#[test]
fn nobody_is_granted_anything_while_the_desk_hangs_or_is_cut_off_and_everybody_is_afterwards() {
    let length = Micros::seconds(3);
    let hangs = Fault::Pause { node: DESK, length };
    let alone = Fault::Isolate { node: DESK, length };
    let deaf = Fault::Cut { from: Side::Clients, to: Side::Servers, both_ways: false, length };
    let mute = Fault::Cut { from: Side::Servers, to: Side::Clients, both_ways: false, length };
    let slow = Fault::SlowLink { from: Side::Servers, to: Side::Clients, extra: length, length };
    let (everybody, desk) = (Side::Everybody, Side::Nodes([DESK].into_iter().collect()));
    let shut = Fault::Cut { from: everybody.clone(), to: desk.clone(), both_ways: false, length };
    let late = Fault::SlowLink { from: everybody.clone(), to: Side::Clients, extra: length, length };
    let nowhere = Fault::Cut { from: everybody.clone(), to: everybody, both_ways: true, length };
    for fault in [hangs, alone, deaf, mute, slow, shut, late, nowhere] {
        let outcome = hosted(&toy::setup(), &plan([(at(0), fault.clone())]));
        assert_eq!((outcome.grants, &outcome.violations[..]), (15, &[][..]), "{fault}");
        assert!(outcome.ended_at > length, "{fault}: {}", outcome.ended_at);
    }
}

#[test]
fn a_cut_of_no_link_did_not_strike_and_one_from_everybody_did() {
    let length = Micros::millis(10);
    let partitions = |from, to| {
        let cut = Fault::Cut { from, to, both_ways: true, length };
        hosted(&toy::setup(), &plan([(at(0), cut)])).strikes.partitions
    };
    let desk = || Side::Nodes([DESK].into_iter().collect());
    assert_eq!((partitions(Side::Servers, desk()), partitions(Side::Everybody, desk())), (0, 1));
}

#[test]
fn a_crashed_holder_is_gone_for_good_and_one_that_starts_again_comes_back() {
    let crash = |restart_after| plan([(on_grant(), Fault::Crash { node: Target::Struck, restart_after })]);
    assert!(hosted(&toy::setup(), &crash(None)).breaks(Promise::DeadlockFreedom));
    let outcome = hosted(&toy::leased_setup(), &crash(Some(Micros::millis(100))));
    // The round that the crash cut short is used up.
    assert_eq!((outcome.grants, outcome.strikes.restarts, outcome.violations.len()), (15, 1, 0));
}

#[test]
fn a_desk_that_loses_power_forgets_and_one_that_crashes_does_not() {
    let setup =
        Setup { workload: Workload { hold: Micros::seconds(2), ..toy::setup().workload }, ..toy::setup() };
    let restart_after = Some(Micros::millis(200));
    let crashed = hosted(&setup, &plan([(on_grant(), Fault::Crash { node: DESK, restart_after })]));
    assert_eq!((crashed.grants, &crashed.violations[..]), (15, &[][..]));
    let dark = hosted(&setup, &plan([(on_grant(), Fault::PowerLoss { node: DESK, restart_after })]));
    assert!(dark.breaks(Promise::MutualExclusion));
    assert_eq!((dark.strikes.power_losses, dark.strikes.restarts), (1, 1));
}

#[test]
fn clocks_are_those_of_the_plan() {
    let mut setup = toy::setup();
    setup.lock.patience = Some(Micros::millis(100));
    setup.workload.rounds = 1;
    setup.workload.clients = 1;
    let ended = |fault: Option<Fault>| hosted(&setup, &plan(fault.map(|fault| (at(50), fault)))).ended_at;
    let usual = ended(None);
    assert!(usual > Micros::millis(120));
    // It looks at the key until its wall clock shows a time that never comes before the clock goes on.
    let frozen = ended(Some(Fault::Freeze { node: A, length: Micros::seconds(3) }));
    assert!(frozen > Micros::seconds(3), "{frozen}");
    let back = ended(Some(Fault::ClockStep { node: A, by: Micros::seconds(-2) }));
    assert!(back > usual + Micros::seconds(1), "{back}");
    let ahead = ended(Some(Fault::ClockStep { node: A, by: Micros::seconds(2) }));
    assert!(ahead < usual, "{ahead}");
}

#[test]
fn a_suspended_machine_does_not_count_the_time_and_a_coarse_clock_shows_no_time_in_between() {
    let mut setup = toy::setup();
    setup.lock.patience = Some(Micros::millis(100));
    (setup.workload.rounds, setup.workload.clients) = (1, 1);
    let ended = |fault: Fault| hosted(&setup, &plan([(at(50), fault)]));
    let suspended = |wall_too| ended(Fault::Suspend { node: A, length: Micros::seconds(3), wall_too });
    // It looks at the key by its wall clock, which is right again when it wakes, or has some 70 ms to go; its driver takes
    // part of that to notice that it is awake.
    let (right, behind) = (suspended(false), suspended(true));
    assert!(right.ended_at > Micros::seconds(3) && right.strikes.suspensions == 1, "{right:?}");
    assert!(
        behind.ended_at > right.ended_at + Micros::millis(20),
        "{} and {}",
        behind.ended_at,
        right.ended_at
    );
    let coarse = ended(Fault::CoarseClock { node: A, granularity: Micros::seconds(1) });
    assert!(coarse.ended_at > Micros::seconds(1) && coarse.strikes.coarse_clocks == 1, "{coarse:?}");
}

#[test]
fn a_resource_that_hangs_or_starts_again_delays_its_writer() {
    let mut setup = toy::setup();
    (setup.workload.rounds, setup.workload.clients) = (1, 1);
    let resource = Target::Resource;
    let hangs = Fault::Pause { node: resource, length: Micros::seconds(3) };
    let starts_again = Fault::Crash { node: resource, restart_after: Some(Micros::seconds(3)) };
    for fault in [hangs, starts_again] {
        let outcome = hosted(&setup, &plan([(on_grant(), fault.clone())]));
        assert_eq!((outcome.grants, &outcome.violations[..]), (1, &[][..]), "{fault}");
        assert!(outcome.ended_at > Micros::seconds(3), "{fault}: {}", outcome.ended_at);
        assert_eq!(outcome.strikes.resource_faults, 1, "{fault}");
    }
}

#[test]
fn what_a_connection_does_not_do_is_refused_by_name() {
    let refused = |network: Network, faults: Vec<Planned>, tick| {
        let plan = Plan { network, faults, ..Plan::default() };
        let setup = toy::setup();
        run(&setup, &plan, 1, &Limits::of(&setup), &Hosting { tick, ..Hosting::default() }).err()
    };
    let (usual, tick) = (Network::default(), Micros::millis(5));
    let lose = Fault::LoseNext { from: Side::Clients, to: Side::Servers, count: 1 };
    assert_eq!(refused(usual, Vec::new(), tick), None);
    let loses_next = vec![Planned { when: at(0), fault: lose }];
    assert_eq!(refused(usual, loses_next, tick), Some(NotExpressible::Loss));
    let reset = Fault::Reset { between: Side::Clients, and: Side::Servers };
    let resets = vec![Planned { when: at(0), fault: reset }];
    assert_eq!(refused(usual, resets, tick), Some(NotExpressible::Reset));
    let replace = Fault::Replace { node: DESK, restart_after: None };
    let replaces = vec![Planned { when: at(0), fault: replace }];
    assert_eq!(refused(usual, replaces, tick), Some(NotExpressible::Replace));
    let lossy = Network { loss_per_mille: 1, ..usual };
    assert_eq!(refused(lossy, Vec::new(), tick), Some(NotExpressible::Loss));
    let mute = Network { reply_loss_per_mille: 1, ..usual };
    assert_eq!(refused(mute, Vec::new(), tick), Some(NotExpressible::Loss));
    let doubling = Network { duplicate_per_mille: 1, ..usual };
    assert_eq!(refused(doubling, Vec::new(), tick), Some(NotExpressible::Duplicate));
    let tailed = Network { tail_per_mille: 1, tail_max: Micros::seconds(1), ..usual };
    assert_eq!(refused(tailed, Vec::new(), tick), Some(NotExpressible::Overtaking));
    for tick in [Micros::ZERO, Micros(1_500), Micros::seconds(2)] {
        assert_eq!(refused(usual, Vec::new(), tick), Some(NotExpressible::Tick(tick)));
    }
}
