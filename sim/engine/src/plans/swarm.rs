//! Fault plans drawn from a seed, swarm style: every seed has its own few kinds of faults, and its own strength of them.
//!
//! A plan with a little of everything rarely gets far: the tenth crash hides what the first pause would have shown.
//! (Groce et al., "Swarm testing", 2012.) And a fault at a random time rarely hits the millisecond that matters: about half
//! of the pauses, crashes and clock steps are aimed, with triggers, at what clients do.

use crate::plans::fault::{FaultKind, FaultSet};
use crate::plans::plan::{Fault, Plan, Planned, Side, Target, Trigger, When};
use crate::plans::varied;
use crate::seeded::dice::{Dice, Stream};
use crate::seeded::network::Network;
use crate::seeded::outcome::Limits;
use crate::seeded::run::Engine;
use picklock_model::cluster::Setup;
use picklock_model::machine::Line;
use picklock_model::system::{Process, System};
use picklock_model::time::Micros;
use picklock_model::trace::{Observer, Step};
use picklock_model::workload::Workload;
use picklock_properties::Event;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// What random plans are measured by.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Scale {
    /// How many clients there are, attendants among them.
    pub clients: u8,
    /// How many servers there are.
    pub servers: u8,
    /// What durations are measured by (`System::patience`): pauses and wrong clocks go up to three times as far. `None`: up to 10 s.
    pub lease: Option<Micros>,
    /// Faults begin before this true time; the run heals later, when even a long pause is over.
    pub horizon: Micros,
    /// How many messages are sent in that time.
    pub messages: u32,
    /// The lines of the listing at which faults may be aimed.
    pub lines: Vec<Line>,
}

impl Scale {
    /// Measures a setup by running it a few times: how long it is busy when nothing goes wrong, and which lines its
    /// clients come by, some of them only when things go somewhat wrong.
    pub fn of<Y: System>(setup: &Setup<Y>) -> Scale {
        let limits = Limits { events_max: 100_000, ..Limits::of(setup) };
        let (mut engine, mut survey) = (Engine::new(), Survey::default());
        let (mut busy, mut messages) = (Micros::ZERO, 0);
        let network = Network { loss_per_mille: 20, duplicate_per_mille: 20, ..Network::default() };
        let slow = Network { latency_max: Micros::millis(50), ..network };
        let slow = Plan { network: slow, ..Plan::default() };
        for seed in 0..4 {
            survey.messages = 0;
            engine.run(setup, &Plan::default(), seed, &limits, &mut survey);
            busy = busy.max(survey.busy_until);
            messages = messages.max(survey.messages);
            // Some lines are come by only where holds are long enough, or there are enough clients.
            engine.run(&varied::of_seed(setup, seed), &slow, seed, &limits, &mut survey);
        }
        survey.lines.remove(&Line::NONE);
        Scale {
            clients: setup.workload.processes(),
            servers: setup.servers,
            lease: Y::patience(setup),
            // Runs in which something goes wrong take longer.
            horizon: Micros((busy.0 + busy.0 / 2).clamp(HORIZON_MIN_MICROS, HORIZON_MAX_MICROS)),
            messages: messages.saturating_add(messages / 2),
            lines: survey.lines.into_iter().collect(),
        }
    }

    /// What the plan of this seed's run is measured by, if `self` was measured by `around`, which may vary.
    pub(crate) fn of_seed(&self, around: &Workload, seed: u64) -> Cow<'_, Scale> {
        match varied::workload_of_seed(around, self.lease, seed) {
            Some(workload) => Cow::Owned(self.resized(around, &workload)),
            None => Cow::Borrowed(self),
        }
    }

    /// What the plans of a run with this workload are measured by, if `self` was measured by `around`.
    pub fn resized(&self, around: &Workload, workload: &Workload) -> Scale {
        if workload == around {
            return self.clone();
        }
        let (to, from) = (varied::busy(workload).0, varied::busy(around).0.max(1));
        let resized = |number: i64| (i128::from(number) * i128::from(to) / i128::from(from)) as i64;
        Scale {
            clients: workload.processes(),
            horizon: Micros(resized(self.horizon.0).clamp(HORIZON_MIN_MICROS, HORIZON_MAX_MICROS)),
            messages: resized(i64::from(self.messages)).clamp(0, i64::from(u32::MAX)) as u32,
            ..self.clone()
        }
    }

    /// The longest pause, and the largest error of a clock.
    pub(crate) fn longest(&self) -> Micros {
        self.lease.map_or(Micros::seconds(10), |lease| Micros(3 * lease.0)).max(Micros::millis(2))
    }
}

const HORIZON_MIN_MICROS: i64 = 100_000;
const HORIZON_MAX_MICROS: i64 = 3_600_000_000;

/// Looks at a run.
#[derive(Default)]
struct Survey {
    /// The lines that clients have come by, in all runs.
    lines: BTreeSet<Line>,
    /// When the lock changed hands for the last time, in the last run.
    busy_until: Micros,
    /// How many messages were sent, in the last run.
    messages: u32,
}

impl<Y: System> Observer<Y> for Survey {
    fn observe(&mut self, step: &Step<Y>) {
        self.messages = self.messages.saturating_add(step.effects.sends.len() as u32);
        self.lines.extend(step.cluster.clients.iter().map(|client| client.line()));
        if step.effects.events.iter().any(Event::changes_hands) {
            self.busy_until = step.at;
        }
    }
}

impl Plan {
    /// The plan of a seed: some of these kinds of faults, at least one if there is any; the same for the same arguments,
    /// on every machine. Without kinds nothing goes wrong, and progress is owed from the beginning.
    pub fn random(kinds: FaultSet, seed: u64, scale: &Scale) -> Plan {
        if kinds.is_empty() {
            return Plan::default();
        }
        let mut draw = Draw::new(Dice::new(seed, Stream::Plan), scale, true);
        let some = draw.some_of(kinds);
        draw.all_of(some)
    }

    /// The same with every kind in every plan, and no moment aimed: the baseline of [`crate::plans::strategy`].
    pub(crate) fn plain(kinds: FaultSet, seed: u64, scale: &Scale) -> Plan {
        if kinds.is_empty() {
            return Plan::default();
        }
        Draw::new(Dice::new(seed, Stream::Plan), scale, false).all_of(kinds)
    }

    /// The plan and some more of this kind of fault.
    pub(crate) fn with_more(self, kind: FaultKind, dice: &mut Dice, scale: &Scale) -> Plan {
        let mut draw = Draw { dice: dice.clone(), scale, aims: true, plan: self };
        draw.one_of(kind);
        *dice = draw.dice;
        draw.plan
    }

    /// The plan, and one of its moments is another one.
    pub(crate) fn with_another_moment(mut self, place: usize, dice: &mut Dice, scale: &Scale) -> Plan {
        let mut draw = Draw { dice: dice.clone(), scale, aims: true, plan: Plan::default() };
        if let Some(planned) = self.faults.get_mut(place) {
            planned.when = draw.moment();
        }
        *dice = draw.dice;
        self
    }
}

/// A plan being drawn.
struct Draw<'a> {
    dice: Dice,
    scale: &'a Scale,
    /// Whether moments are aimed at what clients do.
    aims: bool,
    plan: Plan,
}

impl<'a> Draw<'a> {
    fn new(dice: Dice, scale: &'a Scale, aims: bool) -> Self {
        Draw { dice, scale, aims, plan: Plan::default() }
    }

    fn all_of(mut self, kinds: FaultSet) -> Plan {
        kinds.iter().for_each(|kind| self.one_of(kind));
        let longest = self.scale.longest();
        self.plan.heal_at = self.scale.horizon + longest + Micros(longest.0 / 3);
        self.plan
    }

    fn one_of(&mut self, kind: FaultKind) {
        match kind {
            FaultKind::Pause => self.times(4, Draw::pause),
            FaultKind::Clock => self.times(4, Draw::clock),
            FaultKind::Delay => self.delay(),
            FaultKind::Loss => self.loss(),
            FaultKind::Duplicate => {
                self.plan.network.duplicate_per_mille = self.dice.log_uniform(5, 300) as u16;
            }
            FaultKind::Partition => self.times(4, Draw::partition),
            FaultKind::Crash => self.times(3, Draw::crash),
            FaultKind::PowerLoss => self.times(3, Draw::power_loss),
            FaultKind::Suspend => self.times(4, Draw::suspend),
            FaultKind::CoarseClock => self.coarse_clocks(),
            FaultKind::Resource => self.times(4, Draw::resource),
            FaultKind::Reset => self.times(8, Draw::reset),
            FaultKind::Replace => self.times(2, Draw::replace),
        }
    }

    fn some_of(&mut self, kinds: FaultSet) -> FaultSet {
        let mut some: FaultSet = kinds.iter().filter(|_| self.dice.coin()).collect();
        let all: SmallVec<[FaultKind; 16]> = kinds.iter().collect();
        if let (true, Some(kind)) = (some.is_empty(), self.dice.pick(&all)) {
            some.insert(*kind);
        }
        some
    }

    /// One to `most` times, less often many times.
    fn times(&mut self, most: i64, mut draw: impl FnMut(&mut Self)) {
        (0..self.dice.log_uniform(1, most)).for_each(|_| draw(self));
    }

    fn add(&mut self, when: When, fault: Fault) {
        self.plan.faults.push(Planned { when, fault });
    }

    // Moments and lengths.

    fn at_random(&mut self) -> When {
        When::At(Micros(self.dice.between(0, self.scale.horizon.0)))
    }

    /// Half of the moments are aimed at what a client does, if any are.
    fn moment(&mut self) -> When {
        if !self.aims || self.dice.coin() { self.at_random() } else { self.aimed() }
    }

    fn aimed(&mut self) -> When {
        let line = self.dice.pick(&self.scale.lines).copied();
        let event = match (self.dice.below(8), line) {
            (0..=3, Some(line)) => Trigger::Line(line),
            (4, _) => Trigger::Enqueued,
            (5, _) => Trigger::Renewed,
            (6, _) => Trigger::Left,
            (_, _) => Trigger::Granted,
        };
        let client = self.dice.coin().then(|| self.client());
        let nth = self.dice.log_uniform(1, 8) as u16;
        let delay = if self.dice.coin() { 0 } else { self.length().0 / 3 };
        When::Trigger { client, event, nth, delay: Micros(delay) }
    }

    /// From 1 ms to three leases.
    fn length(&mut self) -> Micros {
        Micros(self.dice.log_uniform(1000, self.scale.longest().0))
    }

    fn restart_after(&mut self) -> Option<Micros> {
        match self.dice.below(3) {
            0 => Some(Micros(self.dice.between(0, 10_000))),
            1 => Some(self.length()),
            _ => None,
        }
    }

    // Nodes.

    fn client(&mut self) -> u8 {
        self.dice.below(u64::from(self.scale.clients)) as u8
    }

    fn server(&mut self) -> Target {
        Target::Server(self.dice.below(u64::from(self.scale.servers)) as u8)
    }

    fn any_node(&mut self) -> Target {
        if self.dice.coin() { Target::Client(self.client()) } else { self.server() }
    }

    /// Who a fault at this moment strikes: mostly whoever pulled the trigger.
    fn whom(&mut self, when: When) -> Target {
        match when {
            When::Trigger { .. } if self.dice.below(4) > 0 => Target::Struck,
            When::Trigger { .. } | When::At(_) => self.any_node(),
        }
    }

    /// Some of the servers, but not all; half of the time fewer than half.
    fn some_servers(&mut self) -> Side {
        let servers = u64::from(self.scale.servers);
        let most = if self.dice.coin() { servers.saturating_sub(1) / 2 } else { servers.saturating_sub(1) };
        let count = 1 + self.dice.below(most.max(1));
        let first = self.dice.below(servers);
        Side::Nodes((0..count).map(|nth| Target::Server(((first + nth) % servers) as u8)).collect())
    }

    // Faults.

    fn pause(&mut self) {
        let (when, length) = (self.moment(), self.length());
        let node = self.whom(when);
        self.add(when, Fault::Pause { node, length });
    }

    fn crash(&mut self) {
        let (when, restart_after) = (self.moment(), self.restart_after());
        let node = self.whom(when);
        self.add(when, Fault::Crash { node, restart_after });
    }

    /// One server, or neighbours in the rack at the same moment.
    fn power_loss(&mut self) {
        let (when, restart_after) = (self.moment(), self.restart_after());
        let count = self.dice.log_uniform(1, i64::from(self.scale.servers)) as u8;
        let first = self.dice.below(u64::from(self.scale.servers)) as u8;
        for nth in 0..count {
            let node = Target::Server((first + nth) % self.scale.servers);
            self.add(when, Fault::PowerLoss { node, restart_after });
        }
    }

    fn clock(&mut self) {
        let length = self.length();
        let by = Micros(self.dice.sign(length.0));
        match self.dice.below(6) {
            0 | 1 => {
                let node = self.any_node();
                self.add(When::At(Micros::ZERO), Fault::ClockStep { node, by });
            }
            2 => {
                let when = self.moment();
                let node = self.whom(when);
                self.add(when, Fault::ClockStep { node, by });
            }
            3 => {
                let (when, node) = (self.at_random(), self.any_node());
                // From a good quartz to a broken virtual machine.
                let ppm = self.dice.log_uniform(10, 200_000);
                let ppm = self.dice.sign(ppm) as i32;
                self.add(when, Fault::Drift { node, ppm });
            }
            4 => {
                let when = self.moment();
                let node = self.whom(when);
                self.add(when, Fault::Freeze { node, length });
            }
            _ => {
                let (when, node) = (self.at_random(), self.any_node());
                let period = Micros(self.dice.log_uniform(1000, 1_000_000));
                let times = self.dice.log_uniform(2, 64) as u16;
                self.add(when, Fault::Strobe { node, by, period, times });
            }
        }
    }

    fn suspend(&mut self) {
        let (when, length) = (self.moment(), self.length());
        let (node, wall_too) = (self.whom(when), self.dice.coin());
        self.add(when, Fault::Suspend { node, length, wall_too });
    }

    /// All nodes alike, as where they run the same system, or each by its own luck.
    fn coarse_clocks(&mut self) {
        // Milliseconds of a library, 1/64 s of Windows' timer, seconds of `time(2)`.
        const GRANULARITIES: [Micros; 3] = [Micros::millis(1), Micros(15_625), Micros::seconds(1)];
        let clients = (0..self.scale.clients).map(Target::Client);
        let nodes: Vec<Target> = clients.chain((0..self.scale.servers).map(Target::Server)).collect();
        let same = GRANULARITIES[self.dice.below(3) as usize];
        let (all_alike, first) = (self.dice.coin(), self.dice.below(nodes.len() as u64) as usize);
        for (place, node) in nodes.into_iter().enumerate() {
            let own = GRANULARITIES[self.dice.below(3) as usize];
            let granularity = if all_alike { same } else { own };
            if self.dice.coin() || all_alike || place == first {
                self.add(When::At(Micros::ZERO), Fault::CoarseClock { node, granularity });
            }
        }
    }

    fn resource(&mut self) {
        let (when, length) = (self.moment(), self.length());
        let node = Target::Resource;
        let fault = match self.dice.below(4) {
            0 => Fault::Pause { node, length },
            1 => Fault::Crash { node, restart_after: Some(Micros(self.dice.between(0, 10_000))) },
            2 => Fault::Crash { node, restart_after: Some(length) },
            _ => {
                let extra = self.length();
                // One client's writes come late, or everybody's.
                let one = Side::Nodes(SmallVec::from_iter([self.client_at(when)]));
                let from = if self.dice.coin() { one } else { Side::Clients };
                Fault::SlowLink { from, to: Side::Resource, extra, length }
            }
        };
        self.add(when, fault);
    }

    fn client_at(&mut self, when: When) -> Target {
        match when {
            When::Trigger { .. } => Target::Struck,
            When::At(_) => Target::Client(self.client()),
        }
    }

    /// Of one client or of one server, with everybody, or among the two.
    fn reset(&mut self) {
        let when = self.moment();
        let one = |node| Side::Nodes(SmallVec::from_iter([node]));
        let (client, server) = (one(self.client_at(when)), one(self.server()));
        let (between, and) = match self.dice.below(4) {
            0 => (client, server),
            1 => (client, Side::Servers),
            2 => (client, Side::Everybody),
            _ => (server, Side::Everybody),
        };
        self.add(when, Fault::Reset { between, and });
    }

    fn replace(&mut self) {
        let (when, node) = (self.moment(), self.server());
        let restart_after =
            Some(if self.dice.coin() { Micros(self.dice.between(0, 10_000)) } else { self.length() });
        self.add(when, Fault::Replace { node, restart_after });
    }

    fn delay(&mut self) {
        let longest = self.scale.longest().0;
        let network = &mut self.plan.network;
        network.latency_max = Micros(self.dice.log_uniform(2_000, 100_000.min(longest)));
        if self.dice.coin() {
            network.tail_per_mille = self.dice.log_uniform(1, 100) as u16;
            network.tail_max = Micros(self.dice.log_uniform(2_000, longest));
        }
        if self.dice.coin() {
            let (when, length) = (self.moment(), self.length());
            let extra = Micros(self.dice.log_uniform(1000, (longest / 3).max(1000)));
            let one = SmallVec::from_iter([self.whom(when)]);
            let (from, to) = (Side::Nodes(one), Side::Everybody);
            self.add(when, Fault::SlowLink { from, to, extra, length });
        }
    }

    fn loss(&mut self) {
        let kind = self.dice.below(3);
        if kind != 0 {
            self.plan.network.loss_per_mille = self.dice.log_uniform(1, 200) as u16;
        }
        if kind != 1 {
            self.plan.network.reply_loss_per_mille = self.dice.log_uniform(1, 200) as u16;
        }
        if self.dice.coin() {
            let when = if self.aims { self.aimed() } else { self.at_random() };
            let count = self.dice.log_uniform(1, 4) as u16;
            let whom = if self.aims { Target::Struck } else { Target::Client(self.client()) };
            let struck = Side::Nodes(SmallVec::from_iter([whom]));
            // What it is about to be told, or about to say.
            let (from, to) = if self.dice.coin() { (Side::Servers, struck) } else { (struck, Side::Servers) };
            self.add(when, Fault::LoseNext { from, to, count });
        }
    }

    fn partition(&mut self) {
        let (when, length, both_ways) = (self.moment(), self.length(), self.dice.coin());
        let node = self.whom(when);
        let fault = match self.dice.below(6) {
            0 | 1 => Fault::Isolate { node, length },
            2 => Fault::Cut { from: self.some_servers(), to: Side::Everybody, both_ways, length },
            3 => {
                // One server has nobody among its own kind to be cut off from.
                let to = if self.scale.servers == 1 { Side::Everybody } else { Side::Servers };
                Fault::Cut { from: self.some_servers(), to, both_ways, length }
            }
            4 => {
                let alone = Side::Nodes(SmallVec::from_iter([node]));
                let (from, to) = match (self.dice.coin(), node) {
                    (true, _) => (alone, Side::Everybody),
                    // Who is a server is on the side of the servers, and no link leads from there to it.
                    (false, Target::Server(_)) => (Side::Everybody, alone),
                    (false, _) => (Side::Servers, alone),
                };
                Fault::Cut { from, to, both_ways, length }
            }
            _ => Fault::Cut { from: Side::Clients, to: self.some_servers(), both_ways, length },
        };
        self.add(when, fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::shrink::kinds::kind as kind_of;
    use crate::seeded::cast::Cast;

    fn scale() -> Scale {
        Scale {
            clients: 3,
            servers: 5,
            lease: Some(Micros::seconds(30)),
            horizon: Micros::seconds(2),
            messages: 500,
            lines: vec![Line { listing: 6, number: 3 }, Line { listing: 6, number: 4 }],
        }
    }

    fn plans(kinds: FaultSet) -> impl Iterator<Item = Plan> {
        (0..500).map(move |seed| Plan::random(kinds, seed, &scale()))
    }

    #[test]
    fn a_plan_of_a_seed_is_always_the_same_and_comes_back_from_its_bytes() {
        for (seed, plan) in plans(FaultSet::ALL).enumerate() {
            assert_eq!(plan, Plan::random(FaultSet::ALL, seed as u64, &scale()));
            let bytes = postcard::to_stdvec(&plan).unwrap();
            assert_eq!(postcard::from_bytes::<Plan>(&bytes).as_ref(), Ok(&plan));
            let json = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
            assert_eq!(plan.to_string().lines().count(), plan.faults.len() + 2);
        }
    }

    #[test]
    fn without_kinds_nothing_goes_wrong() {
        assert!(plans(FaultSet::EMPTY).all(|plan| plan == Plan::default()));
    }

    #[test]
    fn one_kind_is_in_every_plan_and_no_other_kind_is() {
        for kind in FaultKind::ALL {
            for plan in plans(kind.into()) {
                assert!(!plan.faults.is_empty() || plan.network != Network::default(), "{kind}: {plan}");
                assert!(plan.faults.iter().all(|planned| is_of(kind, &planned.fault)), "{kind}: {plan}");
                let touches_network =
                    matches!(kind, FaultKind::Delay | FaultKind::Loss | FaultKind::Duplicate);
                assert!(touches_network || plan.network == Network::default(), "{kind}: {plan}");
            }
        }
    }

    fn is_of(kind: FaultKind, fault: &Fault) -> bool {
        kind_of(fault) == kind
    }

    #[test]
    fn whatever_is_drawn_has_something_to_strike() {
        for (clients, servers) in [(1, 1), (3, 1), (2, 2), (3, 3), (4, 5)] {
            let scale = Scale { clients, servers, ..scale() };
            for plan in (0..1000).map(|seed| Plan::random(FaultSet::ALL, seed, &scale)) {
                for planned in &plan.faults {
                    let all = (0..clients)
                        .all(|struck| Cast { clients, servers, struck }.can_be_struck(&planned.fault));
                    assert!(all, "{clients} clients, {servers} servers: {planned}");
                }
            }
        }
    }

    #[test]
    fn of_many_kinds_each_seed_has_its_own_choice() {
        let has = |kind| {
            plans(FaultSet::ALL).filter(|plan| plan.faults.iter().any(|f| is_of(kind, &f.fault))).count()
        };
        for kind in [FaultKind::Pause, FaultKind::Clock, FaultKind::Partition, FaultKind::Crash] {
            assert!((180..320).contains(&has(kind)), "{kind} is in {} of 500 plans", has(kind));
        }
    }

    #[test]
    fn about_half_of_the_pauses_are_aimed_and_some_outlast_the_lease() {
        let (mut aimed, mut all, mut long) = (0, 0, 0);
        for planned in plans(FaultKind::Pause.into()).flat_map(|plan| plan.faults) {
            let Fault::Pause { length, .. } = planned.fault else {
                unreachable!("only pauses were asked for")
            };
            assert!(length >= Micros::millis(1) && length <= Micros::seconds(90));
            all += 1;
            aimed += u32::from(matches!(planned.when, When::Trigger { .. }));
            long += u32::from(length > Micros::seconds(30));
        }
        assert!((all * 2 / 5..all * 3 / 5).contains(&aimed), "{aimed} of {all} are aimed");
        assert!(long * 20 > all, "{long} of {all} outlast the lease");
    }

    #[test]
    fn a_run_heals_after_the_longest_pause_that_began_within_the_horizon() {
        assert!(plans(FaultSet::ALL).all(|plan| plan.heal_at >= Micros::seconds(92)));
    }
}
