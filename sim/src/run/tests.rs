use super::*;
use crate::network::Network;
use crate::plan::{Fault, Planned, Side, Target};
use crate::toy::{self, Key, KeySettings};
use picklock_model::workload::Workload;
use picklock_properties::{ClientId, FencingToken, Promise};
use smallvec::smallvec;

const A: Target = Target::Client(0);
const DESK: Target = Target::Server(0);

/// Everything that happened, with what the nodes reported.
#[derive(Default, PartialEq, Debug)]
struct Log(Vec<(Micros, Happening<toy::Desk>, Vec<Event>)>);

impl Observer<Key> for Log {
    fn observe(&mut self, step: &Step<Key>) {
        self.0.push((step.at, step.happening.clone(), step.effects.events.clone()));
    }
}

impl Log {
    /// When something happened first.
    fn first(&self, is_it: impl Fn(&Happening<toy::Desk>) -> bool) -> Option<Micros> {
        self.0.iter().find(|(_, happening, _)| is_it(happening)).map(|(at, _, _)| *at)
    }

    fn event(&self, event: Event) -> Option<Micros> {
        self.0.iter().find(|(_, _, events)| events.contains(&event)).map(|(at, _, _)| *at)
    }

    fn grants(&self) -> Vec<(Micros, ClientId)> {
        let events = self.0.iter().flat_map(|(at, _, events)| events.iter().map(move |event| (*at, *event)));
        let grants = events.filter(|(_, event)| matches!(event, Event::Granted { .. }));
        grants.map(|(at, event)| (at, event.client())).collect()
    }

    fn steps_of(&self, node: Node) -> impl Iterator<Item = Micros> {
        self.0.iter().filter_map(move |(at, happening, _)| match happening {
            Happening::Delivered { to, .. } if *to == node => Some(*at),
            Happening::Woke { node: woken, .. } if *woken == node => Some(*at),
            _ => None,
        })
    }
}

fn granted(client: u8, nth: i64) -> Event {
    Event::Granted { client: ClientId(client), fence: Some(FencingToken(nth)) }
}

fn alone(patience: Option<Micros>) -> Setup<Key> {
    let setup = toy::setup();
    let workload = Workload { clients: 1, rounds: 1, ..setup.workload };
    Setup { lock: KeySettings { patience, ..setup.lock }, workload, ..setup }
}

fn at(at: Micros, fault: Fault) -> Planned {
    Planned { when: When::At(at), fault }
}

fn plan(faults: Vec<Planned>) -> Plan {
    Plan { faults, heal_at: Micros::seconds(100), network: Network::default() }
}

fn rough() -> Network {
    Network {
        tail_per_mille: 20,
        tail_max: Micros::millis(300),
        loss_per_mille: 20,
        duplicate_per_mille: 20,
        reply_loss_per_mille: 20,
        ..Network::default()
    }
}

fn logged(setup: &Setup<Key>, plan: &Plan, seed: u64) -> (Outcome, Log) {
    let mut log = Log::default();
    let outcome = run(setup, plan, seed, &Limits::of(setup), &mut log);
    (outcome, log)
}

#[test]
fn a_run_without_faults_grants_every_round_and_ends_when_all_are_done() {
    let setup = toy::setup();
    let (outcome, log) = logged(&setup, &Plan::default(), 1);
    assert_eq!((outcome.grants, outcome.refusals, &outcome.violations[..]), (15, 0, &[][..]));
    assert_eq!((outcome.truncated, outcome.strikes), (false, Default::default()));
    assert_eq!(outcome.healed_at, Some(Micros::ZERO));
    assert!(outcome.ended_at > Micros::millis(300) && outcome.ended_at < Micros::seconds(2));
    assert_eq!(log.0.last().map(|(at, _, _)| *at), Some(outcome.ended_at));
}

#[test]
fn one_seed_is_one_run_whoever_watches_and_whatever_ran_before() {
    let (setup, plan) = (toy::leased_setup(), Plan { network: rough(), ..plan(vec![]) });
    let limits = Limits::of(&setup);
    let mut engine = Engine::new();
    for seed in 0..20 {
        let (outcome, log) = logged(&setup, &plan, seed);
        let mut again = Log::default();
        assert_eq!(engine.run(&setup, &plan, seed, &limits, &mut again), outcome);
        assert_eq!(engine.run(&setup, &plan, seed, &limits, &mut ()), outcome);
        assert_eq!(log, again);
        assert!(log != logged(&setup, &plan, seed + 1).1);
    }
}

#[test]
fn no_two_steps_of_a_node_share_a_microsecond_and_none_goes_back() {
    let quick = Network { latency_min: Micros::ZERO, latency_max: Micros(1), ..rough() };
    let slow_clock = at(Micros::ZERO, Fault::Drift { node: A, ppm: -400_000 });
    let plan = Plan { network: quick, ..plan(vec![slow_clock]) };
    let setup = toy::setup();
    let (_, log) = logged(&setup, &plan, 3);
    for node in [Node::Client(0), Node::Client(1), Node::Server(0), Node::Resource] {
        let steps: Vec<Micros> = log.steps_of(node).collect();
        assert!(steps.len() > 5 && steps.windows(2).all(|pair| pair[0] < pair[1]), "{node}: {steps:?}");
    }
}

#[test]
fn a_slow_clock_still_shows_every_step_another_time() {
    /// Reads the clock of A at each of its steps.
    #[derive(Default)]
    struct Readings(Vec<i64>);
    impl Observer<Key> for Readings {
        fn observe(&mut self, step: &Step<Key>) {
            let a = Node::Client(0);
            if matches!(*step.happening, Happening::Delivered { to, .. } if to == a)
                || matches!(*step.happening, Happening::Woke { node, .. } if node == a)
            {
                self.0.push(step.cluster.condition(a).clock.monotonic(step.at).0);
            }
        }
    }
    let quick = Network { latency_min: Micros::ZERO, latency_max: Micros(1), ..Network::default() };
    let slow_clock = at(Micros::ZERO, Fault::Drift { node: A, ppm: -500_000 });
    let mut readings = Readings::default();
    let setup = alone(None);
    let plan = Plan { network: quick, ..plan(vec![slow_clock]) };
    run(&setup, &plan, 3, &Limits::of(&setup), &mut readings);
    assert!(readings.0.len() > 4 && readings.0.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", readings.0);
}

#[test]
fn a_desk_that_gives_to_everybody_is_caught() {
    let outcome = run(&toy::broken_setup(), &Plan::default(), 0, &Limits::of(&toy::setup()), &mut ());
    assert!(outcome.breaks(Promise::MutualExclusion));
    assert_eq!(outcome.violations.len(), 1, "each promise is reported once");
}

#[test]
fn a_paused_node_handles_nothing_until_it_is_resumed_and_then_everything() {
    let setup = toy::setup();
    let length = Micros::seconds(2);
    let faults = vec![at(Micros::millis(15), Fault::Pause { node: DESK, length })];
    for seed in 0..10 {
        let (outcome, log) = logged(&setup, &plan(faults.clone()), seed);
        let (paused, resumed) = (Micros::millis(15), Micros::millis(2015));
        assert_eq!(log.first(|happening| matches!(happening, Happening::Paused { .. })), Some(paused));
        assert_eq!(log.first(|happening| matches!(happening, Happening::Resumed { .. })), Some(resumed));
        assert!(log.steps_of(Node::Server(0)).all(|at| at <= paused || at >= resumed));
        let backlog = log.steps_of(Node::Server(0)).filter(|at| *at < resumed + Micros(100)).count();
        assert!(
            backlog > 10,
            "three clients ask twice a second for two seconds, but {backlog} messages waited"
        );
        assert_eq!((outcome.grants, outcome.strikes.pauses, outcome.strikes.lost), (15, 1, 0));
    }
}

#[test]
fn a_paused_client_is_woken_late_and_its_clock_has_gone_on() {
    let faults = vec![at(Micros::millis(1), Fault::Pause { node: A, length: Micros::seconds(5) })];
    let (_, log) = logged(&alone(None), &plan(faults), 1);
    let woken = log.steps_of(Node::Client(0)).next();
    assert_eq!(woken, Some(Micros::millis(5001)), "it wanted to be woken after 10 ms");
}

#[test]
fn after_a_pause_either_the_message_or_the_deadline_comes_first() {
    let setup = alone(None);
    let ask = Trigger::Line(Line { listing: 1, number: 1 });
    let when = When::Trigger { client: Some(0), event: ask, nth: 1, delay: Micros::ZERO };
    let pause = Fault::Pause { node: Target::Struck, length: Micros::seconds(2) };
    let orders: std::collections::BTreeSet<bool> = (0..20)
        .map(|seed| {
            let (_, log) = logged(&setup, &plan(vec![Planned { when, fault: pause.clone() }]), seed);
            let resumed = log.first(|happening| matches!(happening, Happening::Resumed { .. }));
            log.first(|happening| matches!(happening, Happening::Delivered { to: Node::Client(0), .. }))
                == resumed
        })
        .collect();
    assert_eq!(orders.len(), 2);
}

#[test]
fn a_wall_deadline_moves_with_a_clock_step() {
    let setup = alone(Some(Micros::seconds(10)));
    let given = |faults| logged(&setup, &plan(faults), 1).1.event(granted(0, 1)).unwrap().0 / 100_000;
    let step = |by| vec![at(Micros::seconds(1), Fault::ClockStep { node: A, by })];
    assert_eq!(given(vec![]), 100);
    assert_eq!(given(step(Micros::seconds(4))), 60);
    assert_eq!(given(step(Micros::seconds(-4))), 140);
    assert_eq!(given(step(Micros::seconds(60))), 10);
    let offset = vec![at(Micros::ZERO, Fault::ClockStep { node: A, by: Micros::seconds(3600) })];
    assert_eq!(given(offset), 100, "an offset that stays does not matter");
}

#[test]
fn a_frozen_wall_clock_wakes_nobody_until_it_goes_on() {
    let setup = alone(Some(Micros::seconds(10)));
    let freeze = |length| vec![at(Micros::seconds(1), Fault::Freeze { node: A, length })];
    let given = |faults| logged(&setup, &plan(faults), 1).1.event(granted(0, 1)).unwrap().0 / 100_000;
    assert_eq!(given(freeze(Micros::seconds(3))), 100, "thawed before it matters");
    assert_eq!(given(freeze(Micros::seconds(30))), 310);
    assert_eq!(given(freeze(Micros::seconds(500))), 1000, "healing thaws");
}

#[test]
fn a_drifting_clock_wakes_early_or_late() {
    let setup = alone(Some(Micros::seconds(10)));
    let drift = |ppm| vec![at(Micros::ZERO, Fault::Drift { node: A, ppm })];
    let given = |faults| logged(&setup, &plan(faults), 1).1.event(granted(0, 1)).unwrap().0 / 100_000;
    assert_eq!(given(drift(250_000)), 80);
    assert_eq!(given(drift(-200_000)), 125);
}

#[test]
fn a_strobing_clock_ends_where_it_began_after_an_even_number_of_steps() {
    let setup = alone(Some(Micros::seconds(10)));
    let strobe = Fault::Strobe { node: A, by: Micros::seconds(-3), period: Micros::millis(100), times: 8 };
    let (outcome, log) = logged(&setup, &plan(vec![at(Micros::seconds(1), strobe)]), 1);
    assert_eq!(outcome.strikes.clock_steps, 8);
    assert_eq!(log.event(granted(0, 1)).unwrap().0 / 100_000, 100);
}

#[test]
fn a_trigger_fires_at_its_step_and_strikes_who_pulled_it() {
    let setup = toy::setup();
    let when = |client, nth, delay| When::Trigger { client, event: Trigger::Granted, nth, delay };
    let pause = |node| Fault::Pause { node, length: Micros::seconds(1) };
    let (delay, struck) = (Micros::millis(3), Target::Struck);
    for seed in 0..10 {
        let third = plan(vec![Planned { when: when(None, 3, delay), fault: pause(struck) }]);
        let (outcome, log) = logged(&setup, &third, seed);
        let grants = log.grants();
        let paused = Happening::Paused { node: Node::Client(grants[2].1.0) };
        assert_eq!(log.first(|happening| *happening == paused), Some(grants[2].0 + delay));
        assert_eq!((outcome.strikes.triggers, outcome.strikes.pauses), (1, 1));

        let second_of_b = plan(vec![Planned { when: when(Some(1), 2, Micros::ZERO), fault: pause(DESK) }]);
        let (_, log) = logged(&setup, &second_of_b, seed);
        let mut grants_of_b = log.grants().into_iter().filter(|(_, client)| *client == ClientId(1));
        let second = grants_of_b.nth(1).map(|(at, _)| at);
        assert_eq!(log.first(|happening| *happening == Happening::Paused { node: Node::Server(0) }), second);
    }
}

#[test]
fn a_trigger_at_a_line_fires_when_the_line_is_reached() {
    let setup = alone(None);
    let line = Trigger::Line(Line { listing: 1, number: 5 });
    let when = When::Trigger { client: None, event: line, nth: 1, delay: Micros::ZERO };
    let fault = Fault::ClockStep { node: Target::Struck, by: Micros(1) };
    let (_, log) = logged(&setup, &plan(vec![Planned { when, fault }]), 1);
    let stepped = log.first(|happening| matches!(happening, Happening::ClockStepped { .. }));
    assert_eq!(stepped, log.event(Event::Left { client: ClientId(0) }));
}

#[test]
fn a_pause_aimed_at_the_grant_outlasts_the_lease_and_breaks_mutual_exclusion() {
    let granted = When::Trigger { client: None, event: Trigger::Granted, nth: 1, delay: Micros::ZERO };
    let pause = |seconds| Fault::Pause { node: Target::Struck, length: Micros::seconds(seconds) };
    let broken = |fault| {
        let plan = plan(vec![Planned { when: granted, fault }]);
        logged(&toy::leased_setup(), &plan, 1).0.breaks(Promise::MutualExclusion)
    };
    assert!(broken(pause(2)));
    assert!(!broken(Fault::Pause { node: Target::Struck, length: Micros::millis(900) }));
}

#[test]
fn messages_to_a_crashed_server_are_lost_and_it_comes_back_with_its_disk_or_without() {
    let setup = alone(None);
    let holds = When::Trigger { client: None, event: Trigger::Granted, nth: 1, delay: Micros::ZERO };
    let left = When::Trigger { client: None, event: Trigger::Left, nth: 1, delay: Micros::ZERO };
    let restart_after = Some(Micros::seconds(3));
    let crash = Planned { when: left, fault: Fault::Crash { node: DESK, restart_after } };
    let (outcome, log) = logged(&setup, &plan(vec![crash]), 1);
    assert_eq!((outcome.strikes.crashes, outcome.strikes.restarts), (1, 1));
    assert!(outcome.strikes.reset >= 6, "release and its repetitions: {:?}", outcome.strikes);
    assert!(
        log.0.iter().all(|(_, _, events)| events
            .iter()
            .all(|event| *event != Event::Crashed { client: ClientId(0) }))
    );
    assert!(outcome.ended_at > Micros::seconds(3) && outcome.ended_at < Micros::seconds(4));

    let power_loss =
        Planned { when: holds, fault: Fault::PowerLoss { node: DESK, restart_after: Some(Micros(1)) } };
    let outcome = logged(&toy::setup(), &plan(vec![power_loss]), 1).0;
    assert_eq!((outcome.strikes.power_losses, outcome.breaks(Promise::MutualExclusion)), (1, true));
}

#[test]
fn a_process_that_restarts_does_not_get_the_messages_of_its_former_life() {
    let setup = alone(None);
    let ask = Trigger::Line(Line { listing: 1, number: 1 });
    let when = When::Trigger { client: None, event: ask, nth: 1, delay: Micros::ZERO };
    let fault = Fault::Crash { node: DESK, restart_after: Some(Micros(10)) };
    let (outcome, _) = logged(&setup, &plan(vec![Planned { when, fault }]), 1);
    assert_eq!((outcome.strikes.reset, outcome.grants), (1, 1));
}

#[test]
fn a_crashed_client_is_not_judged_for_progress_but_those_it_blocks_are() {
    let setup = toy::setup();
    let nobody_else = Setup { workload: Workload { clients: 1, ..setup.workload }, ..setup.clone() };
    let granted = When::Trigger { client: None, event: Trigger::Granted, nth: 1, delay: Micros::ZERO };
    let asking = When::Trigger { client: Some(0), event: ask_line(), nth: 1, delay: Micros::ZERO };
    let crash = Fault::Crash { node: Target::Struck, restart_after: None };
    let plan =
        |when| Plan { heal_at: Micros::seconds(5), ..plan(vec![Planned { when, fault: crash.clone() }]) };

    let outcome = logged(&nobody_else, &plan(asking), 1).0;
    assert_eq!((outcome.violations.len(), outcome.strikes.crashes), (0, 1));
    assert!(outcome.ended_at < Micros::seconds(1), "nobody is left to wait for");

    let (outcome, log) = logged(&setup, &plan(granted), 1);
    assert!(outcome.breaks(Promise::DeadlockFreedom), "the key is gone with its holder");
    let bound = Limits::of(&setup).progress_bound;
    assert_eq!((outcome.ended_at, outcome.healed_at), (Micros::seconds(5) + bound, Some(Micros::seconds(5))));
    assert_eq!(log.0.last().unwrap().1, Happening::Ticked);
    assert!(!logged(&toy::leased_setup(), &plan(granted), 1).0.breaks(Promise::DeadlockFreedom));
}

fn ask_line() -> Trigger {
    Trigger::Line(Line { listing: 1, number: 1 })
}

#[test]
fn a_crashed_client_that_restarts_asks_again() {
    let setup = toy::setup();
    let granted = When::Trigger { client: None, event: Trigger::Granted, nth: 1, delay: Micros::ZERO };
    let fault = Fault::Crash { node: Target::Struck, restart_after: Some(Micros::seconds(1)) };
    let (outcome, _) = logged(&setup, &plan(vec![Planned { when: granted, fault }]), 1);
    assert_eq!((outcome.grants, outcome.strikes.restarts, outcome.violations.len()), (15, 1, 0));
}

#[test]
fn a_lock_that_nobody_can_get_is_judged_even_when_nothing_happens_any_more() {
    // The only request is lost, and nobody is woken: as with a lock without time-outs.
    let lost = |from, to| Fault::LoseNext { from, to, count: u16::MAX };
    let setup = Setup { promises: picklock_properties::PromiseSet::liveness(), ..alone(None) };
    let healed = Plan { heal_at: Micros::ZERO, ..Plan::default() };
    let stuck = Limits { progress_bound: Micros(1), starvation_bound: Micros(5), ..Limits::of(&setup) };
    let outcome = run(&setup, &healed, 1, &stuck, &mut ());
    assert!(outcome.breaks(Promise::DeadlockFreedom) && outcome.breaks(Promise::StarvationFreedom));
    assert_eq!(outcome.ended_at, Micros::millis(10) + Micros(5));

    let everything_lost = plan(vec![at(Micros::ZERO, lost(Side::Clients, Side::Everybody))]);
    let outcome = logged(&setup, &everything_lost, 1).0;
    assert_eq!(outcome.violations.len(), 0, "healing mends the link");
    assert!(outcome.strikes.lost > 100);
}

#[test]
fn a_run_that_is_cut_short_says_so() {
    let setup = toy::setup();
    let limits = Limits { events_max: 20, ..Limits::of(&setup) };
    let outcome = run(&setup, &Plan::default(), 1, &limits, &mut ());
    assert_eq!((outcome.truncated, outcome.events), (true, 20));
}

#[test]
fn a_cut_link_loses_both_what_is_under_way_and_what_is_sent_until_it_is_mended() {
    let setup = alone(None);
    let cut = |from, to, both_ways| Fault::Cut { from, to, both_ways, length: Micros::seconds(3) };
    let when = When::Trigger { client: None, event: ask_line(), nth: 1, delay: Micros::ZERO };
    let side = |target: Target| Side::Nodes(smallvec![target]);
    let one_way = cut(side(A), Side::Servers, false);
    let (outcome, log) = logged(&setup, &plan(vec![Planned { when, fault: one_way }]), 1);
    assert_eq!((outcome.strikes.cut_off, outcome.strikes.partitions, outcome.grants), (6, 1, 1));
    let mended = log.first(|happening| matches!(happening, Happening::LinkMended { .. })).unwrap();
    assert!(mended > Micros::seconds(3) && log.event(granted(0, 1)).unwrap() > mended);
    assert_eq!(
        log.0.iter().filter(|(_, happening, _)| matches!(happening, Happening::LinkCut { .. })).count(),
        1
    );

    // Replies do not get through either way, but the requests of the first kind of cut do.
    let replies = cut(side(DESK), Side::Everybody, false);
    let (_, log) = logged(&setup, &plan(vec![Planned { when, fault: replies }]), 1);
    assert!(log.steps_of(Node::Server(0)).filter(|at| *at < Micros::seconds(3)).count() > 4);
    let isolated = Fault::Isolate { node: Target::Struck, length: Micros::seconds(3) };
    let (_, log) = logged(&setup, &plan(vec![Planned { when, fault: isolated }]), 1);
    assert_eq!(log.steps_of(Node::Server(0)).filter(|at| *at < Micros::seconds(3)).count(), 0);
}

#[test]
fn a_slow_link_is_slow_one_way_for_its_time() {
    let setup = alone(None);
    let slow = Fault::SlowLink {
        from: Side::Clients,
        to: Side::Servers,
        extra: Micros::millis(100),
        length: Micros::seconds(1),
    };
    let (outcome, log) = logged(&setup, &plan(vec![at(Micros::ZERO, slow)]), 1);
    let called = log.steps_of(Node::Client(0)).next().unwrap();
    let asked = log.steps_of(Node::Server(0)).next().unwrap();
    assert!(
        asked - called > Micros::millis(100) && log.event(granted(0, 1)).unwrap() - asked < Micros::millis(3)
    );
    assert!(outcome.strikes.delayed >= 2);
}

#[test]
fn overlapping_faults_end_with_the_last_of_them() {
    let setup = alone(None);
    let pause = |at_millis, millis| {
        at(Micros::millis(at_millis), Fault::Pause { node: A, length: Micros::millis(millis) })
    };
    let (outcome, log) = logged(&setup, &plan(vec![pause(1, 1000), pause(500, 100), pause(900, 500)]), 1);
    assert_eq!(
        log.first(|happening| matches!(happening, Happening::Resumed { .. })),
        Some(Micros::millis(1400))
    );
    assert_eq!(outcome.strikes.pauses, 1);

    let isolate = |at_millis, millis| {
        at(Micros::millis(at_millis), Fault::Isolate { node: A, length: Micros::millis(millis) })
    };
    let (_, log) = logged(&setup, &plan(vec![isolate(1, 1000), isolate(500, 3000)]), 1);
    let mended = |happening: &Happening<_>| matches!(happening, Happening::LinkMended { .. });
    assert_eq!(log.first(mended), Some(Micros::millis(3500)));
}

#[test]
fn a_crash_ends_a_pause_and_what_waited_is_lost() {
    let setup = alone(None);
    let when = |delay| When::Trigger { client: None, event: ask_line(), nth: 1, delay };
    let pause = Fault::Pause { node: DESK, length: Micros::seconds(5) };
    let crash = Fault::Crash { node: DESK, restart_after: Some(Micros::millis(1)) };
    let faults = vec![
        Planned { when: when(Micros::ZERO), fault: pause },
        Planned { when: when(Micros::millis(1800)), fault: crash },
    ];
    let (outcome, log) = logged(&setup, &plan(faults), 1);
    assert_eq!(outcome.strikes.reset, 4, "four requests waited");
    assert_eq!(log.first(|happening| matches!(happening, Happening::Resumed { .. })), None);
    assert!(log.event(granted(0, 1)).unwrap() < Micros::seconds(3));
}

#[test]
fn healing_ends_everything_but_wrong_clocks_and_dead_clients() {
    let setup = toy::setup();
    let long = Micros::seconds(3600);
    let faults = vec![
        at(Micros::ZERO, Fault::ClockStep { node: Target::Client(1), by: long }),
        at(Micros::ZERO, Fault::Drift { node: Target::Client(1), ppm: 1000 }),
        at(Micros::ZERO, Fault::Freeze { node: DESK, length: long }),
        at(Micros::millis(1), Fault::Crash { node: Target::Client(2), restart_after: None }),
        at(Micros::millis(1), Fault::Crash { node: DESK, restart_after: None }),
        at(Micros::millis(1), Fault::Pause { node: A, length: long }),
        at(Micros::millis(1), Fault::Isolate { node: Target::Client(1), length: long }),
    ];
    /// The conditions of all nodes when the run ends.
    #[derive(Default)]
    struct Last(Vec<picklock_model::cluster::Condition>);
    impl Observer<Key> for Last {
        fn observe(&mut self, step: &Step<Key>) {
            self.0 = step.cluster.conditions().to_vec();
        }
    }
    let mut last = Last::default();
    let outcome = run(&setup, &plan(faults), 1, &Limits::of(&setup), &mut last);
    assert_eq!((outcome.grants, outcome.violations.len()), (10, 0));
    assert!(outcome.ended_at > Micros::seconds(100) && outcome.ended_at < Micros::seconds(102));
    let [a, b, c, desk] = last.0[..] else { panic!("three clients and a desk have conditions") };
    assert_eq!((a.status, b.status, desk.status), (Status::Up, Status::Up, Status::Up));
    assert_eq!(c.status, Status::Down { power_lost: false });
    assert_eq!((b.clock.drift_ppm, desk.clock.frozen), (0, None));
    assert_eq!(b.clock.wall_offset, long + Micros(100_000));
}

#[test]
fn nodes_are_numbered_modulo_how_many_there_are() {
    let pause = |node| vec![at(Micros::millis(1), Fault::Pause { node, length: Micros::seconds(1) })];
    let log = |node| logged(&toy::setup(), &plan(pause(node)), 1).1;
    assert_eq!(log(Target::Client(1)), log(Target::Client(4)));
    assert_eq!(log(DESK), log(Target::Server(9)));
}
