use crate::plans::plan::{Fault, Plan, Planned, Side, Target, Trigger, When};
use crate::seeded::cast::Cast;
use crate::seeded::network::Network;
use crate::seeded::outcome::{Limits, Strikes};
use crate::seeded::run::run;
use crate::seeded::run::tests::{A, DESK, alone, ask_line, at, granted, logged, plan};
use crate::toy::{self, Key};
use picklock_model::cluster::{Setup, Status};
use picklock_model::machine::{Line, Node};
use picklock_model::time::Micros;
use picklock_model::trace::{Happening, Observer, Step};
use picklock_model::workload::{Workload, Writes};
use picklock_properties::{ClientId, Event, Promise};
use smallvec::smallvec;
use std::collections::BTreeSet;

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
    // Half of the time it runs at 1.25, and then as it should.
    let ends = Planned { when: When::At(Micros::seconds(4)), ..drift(0)[0].clone() };
    assert_eq!(given(vec![drift(250_000)[0].clone(), ends]), 90);
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
fn a_crashed_client_that_restarts_asks_again() {
    let setup = toy::setup();
    let granted = When::Trigger { client: None, event: Trigger::Granted, nth: 1, delay: Micros::ZERO };
    let fault = Fault::Crash { node: Target::Struck, restart_after: Some(Micros::seconds(1)) };
    let (outcome, _) = logged(&setup, &plan(vec![Planned { when: granted, fault }]), 1);
    assert_eq!((outcome.grants, outcome.strikes.restarts, outcome.violations.len()), (15, 1, 0));
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

#[test]
fn a_suspended_machine_counts_none_of_the_time_by_its_monotonic_clock() {
    let suspend = |at_millis, length, wall_too| {
        at(Micros::millis(at_millis), Fault::Suspend { node: A, length, wall_too })
    };
    let (outcome, log) = logged(&alone(None), &plan(vec![suspend(1, Micros::seconds(5), false)]), 1);
    let woken = log.steps_of(Node::Client(0)).next();
    assert_eq!(woken, Some(Micros(5_009_999)), "9 of 10 ms were left, and waking takes a microsecond");
    assert_eq!((outcome.strikes.suspensions, outcome.strikes.pauses), (1, 0));
    assert_eq!(
        log.first(|happening| matches!(happening, Happening::Suspended { .. })),
        Some(Micros::millis(1))
    );

    // It looks at the key for ten seconds by its wall clock.
    let patient = alone(Some(Micros::seconds(10)));
    let given = |wall_too| {
        let faults = vec![suspend(1000, Micros::seconds(3), wall_too)];
        logged(&patient, &plan(faults), 1).1.event(granted(0, 1)).unwrap().0 / 100_000
    };
    assert_eq!((given(false), given(true)), (100, 130));
}

#[test]
fn a_machine_suspended_during_a_pause_of_its_process_loses_only_what_it_was_suspended_for() {
    let millis = Micros::millis;
    let asked = |mut faults: Vec<Planned>| {
        // The last one to strike has its clock go on at the same time, and nothing else to wait for.
        faults.push(at(millis(8000), Fault::Pause { node: DESK, length: Micros(1) }));
        logged(&alone(None), &plan(faults), 1).1.steps_of(Node::Client(0)).next().unwrap()
    };
    let pause = |from, length| at(millis(from), Fault::Pause { node: A, length: millis(length) });
    let suspend =
        |from, length| at(millis(from), Fault::Suspend { node: A, length: millis(length), wall_too: false });
    // Its process may go on at 5 s; by its clock 4 s of that have passed, more than the 10 ms that it thinks.
    assert_eq!(asked(vec![pause(1, 5000), suspend(2000, 1000)]), millis(5001));
    // Suspended from 2 ms to 5 s: 8 ms are left then, though its process was paused first.
    assert_eq!(asked(vec![pause(1, 2000), suspend(2, 4998)]), Micros(5_007_999));
    // Twice at once: until the later end.
    assert_eq!(asked(vec![suspend(1, 1000), suspend(500, 4500)]), Micros(5_008_999));
}

#[test]
fn a_crash_or_the_end_of_all_faults_wakes_a_suspended_machine() {
    let suspend = Fault::Suspend { node: A, length: Micros::seconds(3600), wall_too: true };
    let (outcome, log) = logged(&alone(None), &plan(vec![at(Micros::millis(1), suspend.clone())]), 1);
    assert_eq!((outcome.grants, outcome.violations.len()), (1, 0));
    let healed = Micros::seconds(100);
    assert_eq!(log.first(|happening| matches!(happening, Happening::Resumed { .. })), Some(healed));
    let is_late = |happening: &Happening<_>| matches!(happening, Happening::ClockStepped { by, .. } if *by < Micros::seconds(-99));
    assert_eq!(log.first(is_late), Some(healed));

    let crash = Fault::Crash { node: A, restart_after: Some(Micros::millis(1)) };
    let faults = vec![at(Micros::millis(1), suspend), at(Micros::seconds(2), crash)];
    let (outcome, log) = logged(&toy::setup(), &plan(faults), 1);
    // The crashed client was thinking: no round is used up.
    assert_eq!((outcome.grants, outcome.strikes.restarts), (15, 1));
    assert!(log.steps_of(Node::Client(0)).next().is_some_and(|at| at < Micros::seconds(3)));
}

#[test]
fn a_coarse_wall_clock_wakes_nobody_between_two_of_its_steps() {
    let given = |granularity, patience| {
        let coarse = at(Micros::ZERO, Fault::CoarseClock { node: A, granularity });
        let (outcome, log) = logged(&alone(Some(patience)), &plan(vec![coarse]), 1);
        // Steps of one microsecond are none.
        assert_eq!(outcome.strikes.coarse_clocks, u64::from(granularity > Micros(1)));
        log.event(granted(0, 1)).unwrap()
    };
    // The key is there within 20 ms. A clock of whole seconds shows 0 then, and 2 s, not 1.7 s, when it is looked at next.
    assert_eq!(given(Micros::seconds(1), Micros::millis(1700)), Micros::seconds(2));
    let fine = given(Micros(1), Micros::millis(1700));
    assert!(fine > Micros::millis(1710) && fine < Micros::millis(1720), "{fine}");
    assert_eq!(given(Micros(15_625), Micros(1)).0 % 15_625, 0);
}

#[test]
fn the_resource_pauses_and_starts_again_like_any_process_and_has_no_clock_that_could_go_wrong() {
    let setup = alone(None);
    let resource = Target::Resource;
    let holds = |fault| Planned {
        when: When::Trigger { client: None, event: Trigger::Granted, nth: 1, delay: Micros::ZERO },
        fault,
    };
    let seconds = Micros::seconds;
    let left = |fault| {
        let (outcome, log) = logged(&setup, &plan(vec![holds(fault)]), 1);
        assert_eq!((outcome.grants, outcome.violations.len()), (1, 0));
        (log.event(Event::Left { client: ClientId(0) }).unwrap(), outcome.strikes)
    };
    let (at, strikes) = left(Fault::Pause { node: resource, length: seconds(5) });
    assert!(at > seconds(5) && at < seconds(6));
    assert_eq!((strikes.resource_faults, strikes.pauses), (1, 1));
    let (at, strikes) = left(Fault::Crash { node: resource, restart_after: Some(seconds(5)) });
    assert!(at > seconds(5) && at < seconds(7));
    assert_eq!((strikes.resource_faults, strikes.crashes, strikes.restarts), (1, 1, 1));
    assert!(strikes.reset > 3, "what is written to a process that has ended is lost: {strikes:?}");
    let (at, strikes) = left(Fault::Crash { node: resource, restart_after: None });
    assert!(at > seconds(100), "it starts again when the run heals: {at}");
    assert_eq!(strikes.restarts, 1);
    let (at, strikes) = left(Fault::ClockStep { node: resource, by: seconds(5) });
    assert!(at < seconds(1));
    assert_eq!((strikes.clock_steps, strikes.resource_faults), (0, 0));
    let slow = |extra| Fault::SlowLink { from: Side::Clients, to: Side::Resource, extra, length: seconds(5) };
    // Who is not answered within a second writes again.
    let (at, strikes) = left(slow(seconds(3)));
    assert!(at > seconds(3) && strikes.resource_faults == 1, "{at}");
}

#[test]
fn a_resource_that_starts_again_has_forgotten_its_largest_token_if_it_does_not_keep_it_on_disk() {
    /// What the resource knows at the end.
    #[derive(Default)]
    struct Known(Vec<String>);
    impl Observer<Key> for Known {
        fn observe(&mut self, step: &Step<Key>) {
            self.0 = step.cluster.resource.contents();
        }
    }
    let known = |resource_forgets| {
        let setup = toy::setup();
        let workload = Workload {
            clients: 1,
            rounds: 1,
            resource_checks: true,
            resource_forgets,
            writes: Writes::Resource,
            ..setup.workload
        };
        let setup = Setup { workload, ..setup };
        let left = When::Trigger { client: None, event: Trigger::Left, nth: 1, delay: Micros::ZERO };
        let fault = Fault::Crash { node: Target::Resource, restart_after: Some(Micros(1)) };
        let mut known = Known::default();
        run(&setup, &plan(vec![Planned { when: left, fault }]), 1, &Limits::of(&setup), &mut known);
        known.0
    };
    assert_eq!(known(false), ["largest token 1"]);
    assert_eq!(known(true), [""; 0]);
}

#[test]
fn a_reset_loses_what_is_under_way_between_the_two_and_nothing_afterwards() {
    let setup = alone(None);
    let side = |node| Side::Nodes(smallvec![node]);
    let asks = |delay| When::Trigger { client: None, event: ask_line(), nth: 1, delay };
    let reset = |delay| Planned {
        when: asks(delay),
        fault: Fault::Reset { between: side(Target::Struck), and: Side::Servers },
    };
    for (delay, handled) in [(Micros::ZERO, 0), (Micros::millis(2), 1)] {
        // The request is lost, or it has been handled, and some of the replies to it are lost.
        let mut lost = 0;
        for seed in 0..20 {
            let (outcome, log) = logged(&setup, &plan(vec![reset(delay)]), seed);
            assert_eq!((outcome.grants, outcome.strikes.connection_resets), (1, 1));
            let before = log.steps_of(Node::Server(0)).filter(|at| *at < Micros::millis(400)).count();
            assert!(before >= handled, "seed {seed}: {before}");
            lost += outcome.strikes.reset;
            let is_late = log.event(granted(0, 1)).unwrap() > Micros::millis(500);
            assert_eq!(is_late, outcome.strikes.reset > 0, "it asks again when it has waited in vain");
        }
        assert!(if handled == 0 { lost == 20 } else { lost > 0 && lost < 20 }, "{lost}");
    }
    let apart = Fault::Reset { between: Side::Resource, and: Side::Clients };
    let (outcome, _) = logged(&setup, &plan(vec![Planned { when: asks(Micros::ZERO), fault: apart }]), 1);
    assert_eq!((outcome.strikes.connection_resets, outcome.strikes.reset), (1, 0));
}

#[test]
fn a_replaced_server_has_forgotten_even_what_survives_a_loss_of_power() {
    #[derive(Default)]
    struct Given(i64);
    impl Observer<Key> for Given {
        fn observe(&mut self, step: &Step<Key>) {
            for event in &step.effects.events {
                if let Event::Granted { fence: Some(fence), .. } = event {
                    self.0 = fence.0;
                }
            }
        }
    }
    let setup = toy::setup();
    let last = |fault| {
        let left = When::Trigger { client: None, event: Trigger::Left, nth: 5, delay: Micros::ZERO };
        let mut given = Given::default();
        let faults = vec![Planned { when: left, fault }];
        let outcome = run(&setup, &plan(faults), 1, &Limits::of(&setup), &mut given);
        (given.0, outcome.strikes.power_losses, outcome.strikes.replacements)
    };
    let restart_after = Some(Micros::millis(1));
    // The desk numbers its keys on paper.
    assert_eq!(last(Fault::PowerLoss { node: DESK, restart_after }), (15, 1, 0));
    let (given, power_losses, replacements) = last(Fault::Replace { node: DESK, restart_after });
    assert!(given < 12, "it began to count anew: {given}");
    assert_eq!((power_losses, replacements), (1, 1));
}

fn nodes(targets: &[Target]) -> Side {
    Side::Nodes(targets.iter().copied().collect())
}

#[test]
fn a_cut_cuts_the_links_that_it_names_whoever_sends_and_mends_them() {
    let setup = toy::setup();
    let cast = Cast::of(&setup, 0);
    let sides = [
        Side::Everybody,
        Side::Clients,
        Side::Servers,
        Side::Resource,
        nodes(&[A]),
        nodes(&[DESK, Target::Client(2)]),
        nodes(&[]),
    ];
    for (from, to) in sides.iter().flat_map(|from| sides.iter().map(move |to| (from, to))) {
        for both_ways in [false, true] {
            let length = Micros::millis(10);
            let cut = Fault::Cut { from: from.clone(), to: to.clone(), both_ways, length };
            let (outcome, log) = logged(&setup, &plan(vec![at(Micros::millis(1), cut.clone())]), 1);
            let links: BTreeSet<(Node, Node)> = cast.links(from, to).collect();
            let back = links.iter().map(|(from, to)| (*to, *from)).filter(|_| both_ways);
            let named: BTreeSet<(Node, Node)> = links.iter().copied().chain(back).collect();
            let (mut cuts, mut mended) = (Vec::new(), BTreeSet::new());
            for (_, happening, _) in &log.0 {
                match happening {
                    Happening::LinkCut { from, to } => cuts.push((*from, *to)),
                    Happening::LinkMended { from, to } => assert!(mended.insert((*from, *to)), "{cut}"),
                    _ => {}
                }
            }
            assert_eq!(cuts.iter().copied().collect::<BTreeSet<_>>(), named, "{cut}");
            assert_eq!((cuts.len(), &mended), (named.len(), &named), "{cut}");
            assert_eq!(outcome.strikes.partitions, u64::from(!named.is_empty()), "{cut}");
            assert_eq!((outcome.grants, outcome.violations.len()), (15, 0), "{cut}");
        }
    }
}

#[test]
fn everybody_loses_is_slow_and_is_reset_as_a_sender_as_well() {
    let setup = alone(None);
    let struck = |when, fault| {
        let (outcome, log) = logged(&setup, &plan(vec![Planned { when, fault }]), 1);
        assert_eq!((outcome.grants, outcome.violations.len()), (1, 0));
        (outcome.strikes, log)
    };
    let asks = When::Trigger { client: None, event: ask_line(), nth: 1, delay: Micros::ZERO };
    let begins = When::At(Micros::ZERO);
    let lose = |to| Fault::LoseNext { from: Side::Everybody, to, count: 1 };
    let (strikes, _) = struck(begins, lose(Side::Servers));
    assert_eq!((strikes.lost, strikes.replies_lost), (1, 0));
    // The desk's reply, and what the resource answers.
    let (strikes, _) = struck(begins, lose(Side::Clients));
    assert_eq!((strikes.lost, strikes.replies_lost), (1, 1));
    let (strikes, _) = struck(begins, lose(Side::Everybody));
    // What the client writes to the resource as well, and its first request.
    assert_eq!((strikes.lost, strikes.replies_lost), (3, 1));

    let second = Micros::seconds(1);
    let slow = Fault::SlowLink { from: Side::Everybody, to: Side::Servers, extra: second, length: second };
    let (strikes, log) = struck(begins, slow);
    assert!(strikes.delayed > 0 && log.steps_of(Node::Server(0)).next().is_some_and(|at| at > second));

    let reset = Fault::Reset { between: Side::Everybody, and: Side::Everybody };
    let (strikes, log) = struck(asks, reset);
    assert_eq!((strikes.connection_resets, strikes.reset), (1, 1));
    let told =
        log.0.iter().filter(|(_, happening, _)| matches!(happening, Happening::ConnectionReset { .. }));
    assert_eq!(told.count(), 3, "of client, desk and resource each two have one connection");
}

#[test]
fn a_fault_of_links_that_touches_none_did_not_strike() {
    let setup = toy::setup();
    let length = Micros::seconds(1);
    let (from, to) = (Side::Servers, nodes(&[DESK]));
    let idle = [
        Fault::Cut { from: from.clone(), to: to.clone(), both_ways: true, length },
        Fault::SlowLink { from: Side::Resource, to: Side::Resource, extra: length, length },
        Fault::LoseNext { from: from.clone(), to: to.clone(), count: 3 },
        Fault::LoseNext { from: Side::Clients, to: to.clone(), count: 0 },
        Fault::Reset { between: from, and: to },
        Fault::Reset { between: nodes(&[A]), and: nodes(&[Target::Client(1)]) },
        Fault::ClockStep { node: Target::Resource, by: length },
    ];
    let untouched = logged(&setup, &plan(vec![]), 1).1;
    for fault in idle {
        let (outcome, log) = logged(&setup, &plan(vec![at(Micros::millis(20), fault.clone())]), 1);
        assert_eq!(outcome.strikes, Strikes::default(), "{fault}");
        assert!(log == untouched, "{fault}");
    }
}

/// What became of each message of a node that was under way when it ended: whether it was lost.
struct LastWords {
    of: Node,
    steps: u32,
    ended_in: Option<u32>,
    lost: Vec<bool>,
}

impl Observer<Key> for LastWords {
    fn observe(&mut self, step: &Step<Key>) {
        self.steps += 1;
        let is_before = |ended: u32| step.sent_in.is_some_and(|sent_in| sent_in < ended);
        match *step.happening {
            Happening::Crashed { node, .. } if node == self.of => {
                assert_eq!(self.ended_in.replace(self.steps), None, "it ends once");
            }
            Happening::Delivered { from, .. } if from == self.of && self.ended_in.is_some_and(is_before) => {
                self.lost.push(false);
            }
            Happening::Lost { from, .. } if from == self.of && self.ended_in.is_some_and(is_before) => {
                self.lost.push(true);
            }
            _ => {}
        }
    }
}

/// What became of them, in one run of each of these seeds.
fn last_words(clients: u8, of: Node, plan: &Plan) -> Vec<Vec<bool>> {
    let setup = toy::setup();
    let setup = Setup { workload: Workload { clients, ..setup.workload }, ..setup };
    let one = |seed| {
        let mut words = LastWords { of, steps: 0, ended_in: None, lost: Vec::new() };
        run(&setup, plan, seed, &Limits::of(&setup), &mut words);
        assert!(words.ended_in.is_some(), "seed {seed}");
        words.lost
    };
    (0..60).map(one).collect()
}

/// Whether a coin may have decided it.
fn is_even(times: usize, of: usize) -> bool {
    (of / 5..=of * 4 / 5).contains(&times)
}

#[test]
fn a_process_that_crashes_takes_all_that_it_had_just_said_along_or_none_of_it() {
    let slow =
        Network { latency_min: Micros::millis(2), latency_max: Micros::millis(60), ..Network::default() };
    let with = |fault| Plan { network: slow, ..plan(vec![at(Micros::millis(80), fault)]) };
    let restart_after = Some(Micros::millis(1));
    let several = |fault| -> Vec<Vec<bool>> {
        let words = last_words(6, Node::Server(0), &with(fault));
        words.into_iter().filter(|lost| lost.len() > 1).collect()
    };

    let crashed = several(Fault::Crash { node: DESK, restart_after });
    assert!(crashed.len() > 20, "{} desks had something to say to two", crashed.len());
    assert!(crashed.iter().all(|lost| lost.iter().all(|one| *one == lost[0])), "{crashed:?}");
    let lost = crashed.iter().filter(|lost| lost[0]).count();
    assert!(is_even(lost, crashed.len()), "{lost} of {}", crashed.len());

    // A coin for each message, where the power goes.
    let dark = several(Fault::PowerLoss { node: DESK, restart_after });
    assert!(dark.iter().any(|lost| lost.contains(&true) && lost.contains(&false)), "{dark:?}");
}

#[test]
fn a_request_of_a_client_that_crashes_is_lost_with_it_or_arrives() {
    let when = When::Trigger { client: Some(0), event: ask_line(), nth: 1, delay: Micros::ZERO };
    let fault = Fault::Crash { node: A, restart_after: Some(Micros::millis(1)) };
    let words = last_words(3, Node::Client(0), &plan(vec![Planned { when, fault }]));
    assert!(words.iter().all(|lost| lost.len() == 1), "{words:?}");
    let lost = words.iter().filter(|lost| lost[0]).count();
    assert!(is_even(lost, words.len()), "{lost} of {}", words.len());
}
