//! What could go next: every way in which a plan, a workload, or a run with both could be smaller, and the order in which
//! the ways are tried.
//!
//! ```text
//!                      next                          it still fails: keep
//!   what is kept ──────────────▶ a candidate, smaller ────────────────────▶ what is kept
//!        ▲                            │ it does not: the next one
//!        └────────────────────────────┘           until a whole pass has taken nothing away
//! ```
//!
//! The list is one, and its drivers are two: [`shrink`](super::shrink()), which knows the promise that has to stay broken, and
//! proptest, which knows whether somebody's test still fails. Every reduction leaves less of something, and none gives
//! any of it back: whoever keeps all candidates comes to an end, too.

use super::changes::{Change, change, changes};
use super::{Candidate, Trial};
use crate::plans::plan::{Plan, Trigger};
use crate::plans::swarm::Scale;
use crate::seeded::network::Network;
use crate::seeded::schedule::Schedule;
use picklock_model::system::System;
use picklock_model::time::Micros;
use picklock_model::workload::{Pace, Workload};
use std::cmp::Reverse;
use std::ops::Bound;

/// One thing that could go. They are tried in this order: first what there is in a run, then how long and how exact it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reduction {
    /// So many faults, from this place in the plan on.
    Faults {
        /// How many.
        count: Reverse<usize>,
        /// From which place on.
        first: usize,
    },
    /// What the network does beyond a good day.
    Network(Worse),
    /// The ranks by which messages travel.
    Schedule,
    /// How often each client asks.
    Rounds(Fewer),
    /// Clients.
    Clients(Fewer),
    /// Servers; by two at a time, for quorums like odd numbers.
    Servers(Fewer),
    /// All locks but one.
    Locks,
    /// Something about the fault at this place in the plan.
    Fault {
        /// Which place.
        place: usize,
        /// What about it.
        change: Change,
    },
    /// How late the run heals.
    Heal(Length),
    /// How long clients wait before they ask.
    Think(Length),
    /// How long they hold.
    Hold(Length),
    /// How uneven that is.
    Pace(Length),
    /// The differences between latencies.
    Latencies,
}

/// A way in which a network is worse than on a good day.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Worse {
    /// In any.
    All,
    /// Messages take longer.
    Latency,
    /// A few take much longer.
    Tail,
    /// Messages are lost.
    Loss,
    /// Messages arrive twice.
    Duplicates,
    /// Replies are lost.
    ReplyLoss,
}

/// To how many a number goes down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fewer {
    /// To one.
    One,
    /// To two.
    Two,
    /// To the next smaller.
    Next,
}

/// To what a length of time goes down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Length {
    /// To none.
    Nothing,
    /// To half of it.
    Half,
}

impl Reduction {
    /// Whether it takes away nothing that one would count: it is worth something only if the run gets no longer by it.
    pub fn is_tuning(self) -> bool {
        match self {
            Reduction::Faults { .. }
            | Reduction::Network(_)
            | Reduction::Schedule
            | Reduction::Rounds(_)
            | Reduction::Clients(_)
            | Reduction::Servers(_)
            | Reduction::Locks => false,
            Reduction::Fault { .. }
            | Reduction::Heal(_)
            | Reduction::Think(_)
            | Reduction::Hold(_)
            | Reduction::Pace(_)
            | Reduction::Latencies => true,
        }
    }
}

/// What can be made smaller.
pub trait Reduce: Clone {
    /// Every way in which it might be, in any order.
    fn reductions(&self, aims: &[Trigger]) -> Vec<Reduction>;

    /// Itself without that; `None` if there is nothing of it, or nothing valid is left.
    fn without(&self, reduction: Reduction, aims: &[Trigger]) -> Option<Self>;

    /// Itself, with what the seed decides decided in the `nth` other way; `None` if there is no such way.
    fn otherwise(&self, nth: u64) -> Option<Self>;
}

/// Goes through the reductions of something, as often as any of them is kept.
#[derive(Clone, Debug)]
pub struct Reductions {
    /// At what faults can be aimed.
    aims: Vec<Trigger>,
    /// In how many other ways each candidate is tried.
    others: u64,
    /// In how many of them the last candidate was.
    tried: u64,
    /// Where the next candidate is looked for.
    from: Bound<Reduction>,
    /// Whether anything was kept in this pass.
    went: bool,
}

impl Reductions {
    /// Of faults that can be aimed at these events. Each candidate is tried under its own seed and `others` more, because a run
    /// with less in it draws its latencies for other messages.
    pub fn new(aims: Vec<Trigger>, others: u64) -> Reductions {
        Reductions { aims, others, tried: others, from: Bound::Unbounded, went: false }
    }

    /// The next candidate that is smaller than `kept`, what was kept last; `None` if a whole pass has found none worth keeping.
    pub fn next<T: Reduce>(&mut self, kept: &T) -> Option<(Reduction, T)> {
        if let Some(again) = self.again(kept) {
            return Some(again);
        }
        loop {
            let mut all = kept.reductions(&self.aims);
            all.sort_unstable();
            let from = self.from;
            for reduction in all.into_iter().filter(|reduction| is_from(from, reduction)) {
                self.from = Bound::Excluded(reduction);
                if let Some(candidate) = kept.without(reduction, &self.aims) {
                    self.tried = 0;
                    return Some((reduction, candidate));
                }
            }
            self.from = Bound::Unbounded;
            if !std::mem::take(&mut self.went) {
                return None;
            }
        }
    }

    /// The last candidate once more, decided in another way.
    fn again<T: Reduce>(&mut self, kept: &T) -> Option<(Reduction, T)> {
        let Bound::Excluded(last) = self.from else { return None };
        while self.tried < self.others {
            let nth = self.tried;
            self.tried += 1;
            let candidate = kept.without(last, &self.aims).and_then(|candidate| candidate.otherwise(nth));
            if let Some(candidate) = candidate {
                return Some((last, candidate));
            }
        }
        None
    }

    /// The last candidate was kept: the same may go once more.
    pub fn keep(&mut self) {
        self.went = true;
        self.tried = self.others;
        if let Bound::Excluded(last) = self.from {
            self.from = Bound::Included(last);
        }
    }
}

fn is_from(from: Bound<Reduction>, reduction: &Reduction) -> bool {
    match from {
        Bound::Unbounded => true,
        Bound::Included(first) => *reduction >= first,
        Bound::Excluded(last) => *reduction > last,
    }
}

/// What a fault can be aimed at, by what clients come by.
pub fn aims(scale: &Scale) -> Vec<Trigger> {
    let mut aims = vec![Trigger::Granted, Trigger::Enqueued, Trigger::Renewed, Trigger::Left];
    aims.extend(scale.lines.iter().copied().map(Trigger::Line));
    aims
}

impl Reduce for Candidate {
    fn reductions(&self, aims: &[Trigger]) -> Vec<Reduction> {
        let mut all = self.plan.reductions(aims);
        all.extend(self.scene.workload.reductions(aims));
        all.extend(fewer(self.scene.servers).map(Reduction::Servers));
        all
    }

    fn without(&self, reduction: Reduction, aims: &[Trigger]) -> Option<Self> {
        let mut smaller = self.clone();
        if let Some(plan) = self.plan.without(reduction, aims) {
            smaller.plan = plan;
        } else if let Some(workload) = self.scene.workload.without(reduction, aims) {
            smaller.scene.workload = workload;
        } else if let Reduction::Servers(how) = reduction {
            let servers = reduced(self.scene.servers, how, 2)?;
            smaller.scene.servers = Some(servers).filter(|servers| *servers >= self.scene.servers_min)?;
        } else {
            return None;
        }
        Some(smaller)
    }

    fn otherwise(&self, nth: u64) -> Option<Self> {
        (nth != self.seed).then(|| Candidate { seed: nth, ..self.clone() })
    }
}

impl<Y: System> Reduce for Trial<Y> {
    fn reductions(&self, aims: &[Trigger]) -> Vec<Reduction> {
        self.candidate().reductions(aims)
    }

    fn without(&self, reduction: Reduction, aims: &[Trigger]) -> Option<Self> {
        let Candidate { scene, plan, seed } = self.candidate().without(reduction, aims)?;
        let setup = scene.applied_to(&self.setup);
        setup.check().is_ok().then_some(Trial { setup, plan, seed })
    }

    fn otherwise(&self, nth: u64) -> Option<Self> {
        (nth != self.seed).then(|| Trial { seed: nth, ..self.clone() })
    }
}

impl Reduce for Plan {
    fn reductions(&self, aims: &[Trigger]) -> Vec<Reduction> {
        let faults = self.faults.len();
        let mut all = Vec::new();
        let mut count = faults;
        while count > 0 {
            all.extend((0..faults).map(|first| Reduction::Faults { count: Reverse(count), first }));
            count /= 2;
        }
        use Worse::*;
        all.extend([All, Latency, Tail, Loss, Duplicates, ReplyLoss].map(Reduction::Network));
        all.push(Reduction::Schedule);
        for place in 0..faults {
            all.extend(changes(aims.len()).map(|change| Reduction::Fault { place, change }));
        }
        all.extend([Length::Nothing, Length::Half].map(Reduction::Heal));
        all.push(Reduction::Latencies);
        all
    }

    fn without(&self, reduction: Reduction, aims: &[Trigger]) -> Option<Plan> {
        let mut plan = self.clone();
        let went = match reduction {
            Reduction::Faults { count: Reverse(count), first } => {
                let end = first.saturating_add(count).min(plan.faults.len());
                first < end && plan.faults.drain(first..end).count() > 0
            }
            Reduction::Network(worse) => improve(&mut plan.network, worse),
            Reduction::Schedule => std::mem::take(&mut plan.schedule) != Schedule::Uniform,
            Reduction::Fault { place, change: how } => {
                plan.faults.get_mut(place).is_some_and(|planned| change(planned, how, aims))
            }
            Reduction::Heal(how) => shorten(&mut plan.heal_at, how),
            Reduction::Latencies => even_out(&mut plan.network),
            Reduction::Rounds(_)
            | Reduction::Clients(_)
            | Reduction::Servers(_)
            | Reduction::Locks
            | Reduction::Think(_)
            | Reduction::Hold(_)
            | Reduction::Pace(_) => false,
        };
        went.then_some(plan)
    }

    /// A plan leaves nothing to a seed that is its own.
    fn otherwise(&self, _nth: u64) -> Option<Plan> {
        None
    }
}

impl Reduce for Workload {
    fn reductions(&self, _aims: &[Trigger]) -> Vec<Reduction> {
        let mut all: Vec<Reduction> = fewer(self.rounds).map(Reduction::Rounds).collect();
        all.extend(fewer(self.clients).map(Reduction::Clients));
        all.push(Reduction::Locks);
        all.extend([Length::Nothing, Length::Half].map(Reduction::Think));
        all.extend([Length::Nothing, Length::Half].map(Reduction::Hold));
        all.extend([Length::Nothing, Length::Half].map(Reduction::Pace));
        all
    }

    fn without(&self, reduction: Reduction, _aims: &[Trigger]) -> Option<Workload> {
        let mut workload = *self;
        let went = match reduction {
            Reduction::Rounds(how) => {
                workload.rounds = reduced(workload.rounds, how, 1)?;
                true
            }
            Reduction::Clients(how) => {
                workload.clients = reduced(workload.clients, how, 1)?;
                true
            }
            Reduction::Locks => std::mem::replace(&mut workload.locks, 1) > 1,
            Reduction::Think(how) => shorten(&mut workload.think, how),
            Reduction::Hold(how) => shorten(&mut workload.hold, how),
            Reduction::Pace(how) => even_out_pace(&mut workload.pace, how),
            Reduction::Faults { .. }
            | Reduction::Network(_)
            | Reduction::Schedule
            | Reduction::Servers(_)
            | Reduction::Fault { .. }
            | Reduction::Heal(_)
            | Reduction::Latencies => false,
        };
        went.then_some(workload)
    }

    fn otherwise(&self, _nth: u64) -> Option<Workload> {
        None
    }
}

/// The ways down from a number, without those that come out the same.
fn fewer(number: u8) -> impl Iterator<Item = Fewer> {
    let ways = [(Fewer::One, number > 2), (Fewer::Two, number > 3), (Fewer::Next, number > 1)];
    ways.into_iter().filter(|(_, differs)| *differs).map(|(how, _)| how)
}

fn reduced(number: u8, how: Fewer, by: u8) -> Option<u8> {
    let less = match how {
        Fewer::One => 1,
        Fewer::Two => 2,
        Fewer::Next => number.saturating_sub(by).max(1),
    };
    (less < number).then_some(less)
}

/// A length is not halved below this.
const SHORTEST: Micros = Micros::millis(1);

/// Whether the length, which may be one back in time, got any shorter.
pub(super) fn shorten(length: &mut Micros, how: Length) -> bool {
    match how {
        Length::Nothing => std::mem::replace(length, Micros::ZERO) != Micros::ZERO,
        Length::Half => {
            let is_long = length.0.abs() >= 2 * SHORTEST.0;
            if is_long {
                length.0 /= 2;
            }
            is_long
        }
    }
}

/// Whether the clients take more equally long at all times.
fn even_out_pace(pace: &mut Option<Pace>, how: Length) -> bool {
    match (how, &mut *pace) {
        (_, None) => false,
        (Length::Half, Some(Pace { spread_per_mille, .. })) if *spread_per_mille > 1 => {
            *spread_per_mille /= 2;
            true
        }
        (Length::Half, Some(_)) => false,
        (Length::Nothing, Some(_)) => {
            *pace = None;
            true
        }
    }
}

/// Whether the network got any better.
fn improve(network: &mut Network, worse: Worse) -> bool {
    let (before, good) = (*network, Network::default());
    match worse {
        Worse::All => *network = Network { ..good },
        Worse::Latency => {
            (network.latency_min, network.latency_max) = (good.latency_min, good.latency_max);
        }
        Worse::Tail => (network.tail_per_mille, network.tail_max) = (0, Micros::ZERO),
        Worse::Loss => network.loss_per_mille = 0,
        Worse::Duplicates => network.duplicate_per_mille = 0,
        Worse::ReplyLoss => network.reply_loss_per_mille = 0,
    }
    // Latencies that were evened out stay so.
    if before.latency_max <= good.latency_max {
        (network.latency_min, network.latency_max) = (before.latency_min, before.latency_max);
    }
    *network != before
}

/// Every message takes as long as any other: the middle of a good day.
fn even_out(network: &mut Network) -> bool {
    let is_uneven = network.latency_min < network.latency_max;
    if is_uneven {
        let good = Network::default();
        let usual = Micros((good.latency_min.0 + good.latency_max.0) / 2);
        let latency = usual.clamp(network.latency_min, network.latency_max);
        (network.latency_min, network.latency_max) = (latency, latency);
    }
    is_uneven
}
