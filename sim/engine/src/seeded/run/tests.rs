use super::*;
use crate::plans::fault::FaultSet;
use crate::plans::plan::{Fault, Planned, Side, Target, Trigger};
use crate::plans::swarm::Scale;
use crate::report::{JsonEvents, TraceHash};
use crate::seeded::network::Network;
use crate::toy::{self, Key, KeySettings};
use picklock_model::workload::Workload;
use picklock_properties::{ClientId, Event, FencingToken, HoldId, Promise};

pub(crate) const A: Target = Target::Client(0);
pub(crate) const DESK: Target = Target::Server(0);

/// Everything that happened, with what the nodes reported.
#[derive(Default, PartialEq, Debug)]
pub(crate) struct Log(pub Vec<(Micros, Happening<toy::Desk>, Vec<Event>)>);

impl Observer<Key> for Log {
    fn observe(&mut self, step: &Step<Key>) {
        self.0.push((step.at, step.happening.clone(), step.effects.events.clone()));
    }
}

impl Log {
    /// When something happened first.
    pub fn first(&self, is_it: impl Fn(&Happening<toy::Desk>) -> bool) -> Option<Micros> {
        self.0.iter().find(|(_, happening, _)| is_it(happening)).map(|(at, _, _)| *at)
    }

    pub fn event(&self, event: Event) -> Option<Micros> {
        self.0.iter().find(|(_, _, events)| events.contains(&event)).map(|(at, _, _)| *at)
    }

    pub fn grants(&self) -> Vec<(Micros, ClientId)> {
        let events = self.0.iter().flat_map(|(at, _, events)| events.iter().map(move |event| (*at, *event)));
        let grants = events.filter(|(_, event)| matches!(event, Event::Granted { .. }));
        grants.map(|(at, event)| (at, event.client())).collect()
    }

    pub fn steps_of(&self, node: Node) -> impl Iterator<Item = Micros> {
        self.0.iter().filter_map(move |(at, happening, _)| match happening {
            Happening::Delivered { to, .. } if *to == node => Some(*at),
            Happening::Woke { node: woken, .. } if *woken == node => Some(*at),
            _ => None,
        })
    }
}

pub(crate) fn granted(client: u8, nth: i64) -> Event {
    Event::Granted { client: ClientId(client), fence: Some(FencingToken(nth)), hold: HoldId(nth as u32) }
}

pub(crate) fn alone(patience: Option<Micros>) -> Setup<Key> {
    let setup = toy::setup();
    let workload = Workload { clients: 1, rounds: 1, ..setup.workload };
    Setup { lock: KeySettings { patience, ..setup.lock }, workload, ..setup }
}

pub(crate) fn at(at: Micros, fault: Fault) -> Planned {
    Planned { when: When::At(at), fault }
}

pub(crate) fn plan(faults: Vec<Planned>) -> Plan {
    Plan { faults, heal_at: Micros::seconds(100), network: Network::default(), ..Plan::default() }
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

pub(crate) fn logged(setup: &Setup<Key>, plan: &Plan, seed: u64) -> (Outcome, Log) {
    let mut log = Log::default();
    let outcome = run(setup, plan, seed, &Limits::of(setup), &mut log);
    (outcome, log)
}

/// The client has asked for the key.
pub(crate) fn ask_line() -> Trigger {
    Trigger::Line(Line { listing: 1, number: 1 })
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
    let setup = toy::leased_setup();
    let (limits, scale) = (Limits::of(&setup), Scale::of(&setup));
    let mut engine = Engine::new();
    for seed in 0..100 {
        let plan = Plan::random(FaultSet::ALL, seed, &scale);
        let (outcome, log) = logged(&setup, &plan, seed);
        let mut again = Log::default();
        assert_eq!(engine.run(&setup, &plan, seed, &limits, &mut again), outcome);
        assert_eq!(engine.run(&setup, &plan, seed, &limits, &mut ()), outcome);
        assert_eq!(log, again);
        assert!(log != logged(&setup, &plan, seed + 1).1);
    }
}

#[test]
fn the_trace_of_a_seed_is_pinned() {
    let setup = toy::leased_setup();
    let mut hash = TraceHash::default();
    for seed in 0..20 {
        let plan = Plan::random(FaultSet::ALL, seed, &Scale::of(&setup));
        run(&setup, &plan, seed, &Limits::of(&setup), &mut hash);
    }
    // Another number means that tokens given away show another run, and their marks will say so.
    assert_eq!(hash.to_string(), "5440ac82d92a4d85");
}

/// Which step is said to have sent each message, and the number of the one that tells of it; `events` holds them to what was sent.
#[derive(Default)]
struct Senders {
    events: JsonEvents,
    said: Vec<(u32, u32)>,
    steps: u32,
}

impl Observer<Key> for Senders {
    fn observe(&mut self, step: &Step<Key>) {
        self.steps += 1;
        let is_of_message = matches!(
            step.happening,
            Happening::Delivered { .. } | Happening::Lost { .. } | Happening::Duplicated { .. }
        );
        assert_eq!(step.sent_in.is_some(), is_of_message, "{:?}", step.happening);
        self.said.extend(step.sent_in.map(|sent_in| (sent_in, self.steps)));
        self.events.observe(step);
    }
}

#[test]
fn a_message_arrives_is_lost_or_is_doubled_with_the_step_that_sent_it() {
    let crash = Fault::PowerLoss { node: DESK, restart_after: Some(Micros::millis(50)) };
    let setup = toy::setup();
    let (mut messages, mut overtaken) = (0, 0);
    for seed in 0..40 {
        let plan = Plan { network: rough(), ..plan(vec![at(Micros::millis(20), crash.clone())]) };
        let mut senders = Senders::default();
        run(&setup, &plan, seed, &Limits::of(&setup), &mut senders);
        assert_eq!(senders.events.unsent(), None, "seed {seed}");
        assert!(senders.said.iter().all(|(sent, told)| sent < told), "seed {seed}");
        messages += senders.said.len();
        overtaken += senders.said.windows(2).filter(|pair| pair[0].0 > pair[1].0).count();
    }
    assert!(messages > 1_000 && overtaken > 100, "{messages}, {overtaken}");
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

#[test]
fn a_lock_that_nobody_can_get_is_judged_even_when_nothing_happens_any_more() {
    // The only request is lost, and nobody is woken: as with a lock without time-outs.
    let lost = |from, to| Fault::LoseNext { from, to, count: u16::MAX };
    let promises = [Promise::DeadlockFreedom, Promise::StarvationFreedom].into_iter().collect();
    let setup = Setup { promises, ..alone(None) };
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
