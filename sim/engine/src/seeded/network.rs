//! How messages fare: latency, loss, duplication, and links that are slow, cut, or about to lose something.

use crate::seeded::dice::Dice;
use crate::seeded::outcome::Strikes;
use crate::seeded::schedule::Ranks;
use picklock_model::time::Micros;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// How messages fare on every link of a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Network {
    /// The shortest latency. Each message draws its own, so that messages overtake each other, but for those that go over
    /// connections which keep order ([`Store`](picklock_model::machine::Store)).
    pub latency_min: Micros,
    /// The longest latency, but for the tail.
    pub latency_max: Micros,
    /// How many messages of a thousand take up to `tail_max` instead.
    pub tail_per_mille: u16,
    /// The longest latency of all.
    pub tail_max: Micros,
    /// How many messages of a thousand are lost.
    pub loss_per_mille: u16,
    /// How many requests of a thousand arrive twice: a client library sends again what was not answered, over another connection.
    /// Nothing else is ever doubled: TCP does not.
    pub duplicate_per_mille: u16,
    /// How many replies of a thousand are lost though the request was applied, beside those of `loss_per_mille`.
    pub reply_loss_per_mille: u16,
}

impl Default for Network {
    /// A data centre on a good day: 0.2 to 2 ms, nothing lost.
    fn default() -> Network {
        Network {
            latency_min: Micros(200),
            latency_max: Micros::millis(2),
            tail_per_mille: 0,
            tail_max: Micros::ZERO,
            loss_per_mille: 0,
            duplicate_per_mille: 0,
            reply_loss_per_mille: 0,
        }
    }
}

impl Network {
    /// Nothing is lost, doubled, or slower than on a good day: a message that takes longer than a client waits for it is a fault, too,
    /// however many of them are as slow.
    #[must_use]
    pub fn healed(self) -> Network {
        let good = Network::default();
        Network {
            latency_min: self.latency_min.min(good.latency_max),
            latency_max: self.latency_max.min(good.latency_max),
            ..good
        }
    }

    /// Whether nothing is lost, doubled, or slower than on a good day.
    pub fn is_of_a_good_day(&self) -> bool {
        self.is_whole() && self.latency_max <= Network::default().latency_max
    }

    fn is_whole(&self) -> bool {
        self.tail_per_mille | self.loss_per_mille | self.duplicate_per_mille | self.reply_loss_per_mille == 0
    }
}

impl Display for Network {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.latency_min, self.latency_max)?;
        let parts = [
            (self.loss_per_mille, "are lost"),
            (self.reply_loss_per_mille, "replies are lost after the request was applied"),
            (self.duplicate_per_mille, "requests arrive twice"),
        ];
        if self.tail_per_mille > 0 {
            write!(f, ", {} of 1000 take up to {}", self.tail_per_mille, self.tail_max)?;
        }
        let parts = parts.into_iter().filter(|(per_mille, _)| *per_mille > 0);
        parts.into_iter().try_for_each(|(per_mille, what)| write!(f, ", {per_mille} of 1000 {what}"))
    }
}

/// What a message is to the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// From a client, which may send it again.
    Request,
    /// From a server to a client.
    Reply,
    /// Between servers, or from the resource.
    Other,
}

/// When a message arrives, counted from now: `None` is never.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fate {
    /// The message.
    pub first: Option<Micros>,
    /// Its duplicate.
    pub again: Option<Micros>,
}

/// The links between the nodes of a run, by their positions.
#[derive(Debug)]
pub(crate) struct Wires {
    network: Network,
    /// Whether `network` does anything but delay.
    whole: bool,
    nodes: usize,
    /// Row by row, sender by sender; empty as long as no link was ever touched.
    links: Vec<Link>,
    /// Who gets its messages first; `None`: nobody.
    ranks: Option<Ranks>,
    /// When the last message of each link that keeps order arrives, sender by sender; empty as long as there was none.
    latest: Vec<Micros>,
}

/// What is wrong with one link in one direction.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Link {
    /// How many cuts it is under.
    pub cuts: u16,
    /// How many messages it will lose next.
    pub lose_next: u16,
    /// How much longer messages take.
    pub extra: Micros,
}

impl Wires {
    /// Whole links.
    pub fn new() -> Wires {
        Wires {
            network: Network::default(),
            whole: true,
            nodes: 0,
            links: Vec::new(),
            ranks: None,
            latest: Vec::new(),
        }
    }

    /// Whole links again, between this many nodes.
    pub fn reset(&mut self, network: Network, nodes: usize) {
        debug_assert!(network.latency_min <= network.latency_max, "{network}");
        self.network = network;
        self.whole = network.is_whole();
        self.nodes = nodes;
        self.links.clear();
        self.latest.clear();
        self.ranks = None;
    }

    /// There is a new connection between the two: what is sent over it waits for nothing that was under way on the old one.
    pub fn reconnect(&mut self, one: usize, other: usize) {
        if !self.latest.is_empty() {
            self.latest[one * self.nodes + other] = Micros::ZERO;
            self.latest[other * self.nodes + one] = Micros::ZERO;
        }
    }

    /// When a message arrives that overtakes none sent before it, and would arrive then if it could.
    pub fn in_order(&mut self, from: usize, to: usize, at: Micros) -> Micros {
        if self.latest.is_empty() {
            self.latest.resize(self.nodes * self.nodes, Micros::ZERO);
        }
        let latest = &mut self.latest[from * self.nodes + to];
        *latest = at.max(*latest + Micros(1));
        *latest
    }

    /// From now on messages travel by rank, if there are ranks.
    pub fn rank(&mut self, ranks: Option<Ranks>) {
        self.ranks = ranks;
    }

    /// Nothing goes wrong any more; the longest latency from now on.
    pub fn heal(&mut self) -> Micros {
        let latest = std::mem::take(&mut self.latest);
        self.reset(self.network.healed(), self.nodes);
        self.latest = latest;
        self.network.latency_max
    }

    /// The link, to change.
    pub fn link_mut(&mut self, from: usize, to: usize) -> &mut Link {
        if self.links.is_empty() {
            self.links.resize(self.nodes * self.nodes, Link::default());
        }
        &mut self.links[from * self.nodes + to]
    }

    /// Whether messages do not get from one to the other.
    #[inline]
    pub fn is_cut(&self, from: usize, to: usize) -> bool {
        !self.links.is_empty() && self.links[from * self.nodes + to].cuts > 0
    }

    /// What becomes of the next message from one node to another.
    #[inline]
    pub fn fate(
        &mut self,
        from: usize,
        to: usize,
        kind: Kind,
        dice: &mut Dice,
        strikes: &mut Strikes,
    ) -> Fate {
        let (min, max) = (self.network.latency_min, self.network.latency_max);
        let (min, max) = match &mut self.ranks {
            None => (min, max),
            Some(ranks) => ranks.band(from, to, min, max),
        };
        let latency = Micros(dice.between(min.0, max.0));
        if self.whole && self.links.is_empty() {
            return Fate { first: Some(latency), again: None };
        }
        self.rough_fate(from, to, kind, latency, dice, strikes)
    }

    fn rough_fate(
        &mut self,
        from: usize,
        to: usize,
        kind: Kind,
        mut latency: Micros,
        dice: &mut Dice,
        strikes: &mut Strikes,
    ) -> Fate {
        const NEVER: Fate = Fate { first: None, again: None };
        // All are drawn whatever becomes of the message: a fault on one link does not change the luck of the others.
        let rolls = dice.bits();
        let roll = |nth: u32, per_mille: u16| {
            let sixteen_bits = (rolls >> (16 * nth)) & 0xffff;
            (sixteen_bits * 1000) >> 16 < u64::from(per_mille)
        };
        let longest = self.network.tail_max.0.max(self.network.latency_max.0);
        let tail = roll(0, self.network.tail_per_mille)
            .then(|| dice.log_uniform(self.network.latency_max.0.max(1), longest));
        let again = (roll(1, self.network.duplicate_per_mille) && kind == Kind::Request)
            .then(|| dice.log_uniform(1, longest.max(10 * self.network.latency_max.0).max(1)));

        if !self.links.is_empty() {
            let link = &mut self.links[from * self.nodes + to];
            if link.cuts > 0 {
                strikes.cut_off += 1;
                return NEVER;
            }
            if link.lose_next > 0 {
                link.lose_next -= 1;
                strikes.count_loss(kind == Kind::Reply);
                return NEVER;
            }
            if link.extra > Micros::ZERO {
                strikes.delayed += 1;
                latency = latency + link.extra;
            }
        }
        if roll(2, self.network.loss_per_mille) {
            strikes.count_loss(kind == Kind::Reply);
            return NEVER;
        }
        if kind == Kind::Reply && roll(3, self.network.reply_loss_per_mille) {
            strikes.replies_lost += 1;
            return NEVER;
        }
        if let Some(tail) = tail {
            strikes.delayed += 1;
            latency = latency.max(Micros(tail));
        }
        strikes.duplicated += u64::from(again.is_some());
        Fate { first: Some(latency), again: again.map(|later| latency + Micros(later)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::dice::Stream;
    use crate::seeded::schedule::{Ranked, Schedule};

    fn fates(network: Network, kind: Kind, touch: impl FnOnce(&mut Wires)) -> (Vec<Fate>, Strikes) {
        let mut wires = Wires::new();
        wires.reset(network, 3);
        touch(&mut wires);
        let (mut dice, mut strikes) = (Dice::new(7, Stream::Network), Strikes::default());
        let fates = (0..1000).map(|_| wires.fate(0, 1, kind, &mut dice, &mut strikes)).collect();
        (fates, strikes)
    }

    #[test]
    fn a_whole_network_delivers_each_message_once_within_its_latencies() {
        let (fates, strikes) = fates(Network::default(), Kind::Request, |_| {});
        assert!(fates.iter().all(|fate| fate.again.is_none()));
        let latencies: Vec<i64> = fates.iter().map(|fate| fate.first.unwrap().0).collect();
        assert!(latencies.iter().all(|latency| (200..=2000).contains(latency)));
        assert!(latencies.windows(2).any(|pair| pair[0] > pair[1] + 100), "messages overtake each other");
        assert_eq!(strikes, Strikes::default());
    }

    #[test]
    fn once_it_has_healed_no_message_takes_longer_than_on_a_good_day() {
        let (good, ms) = (Network::default(), Micros::millis);
        let slow = Network { latency_max: ms(99), tail_per_mille: 100, tail_max: ms(500), ..good };
        let slower = Network { latency_min: ms(20), ..slow };
        let quick = Network { latency_min: Micros(1), latency_max: Micros(1), loss_per_mille: 9, ..good };
        for network in [slow, slower, quick] {
            let (fates, _) = fates(network, Kind::Reply, |wires| {
                assert_eq!(wires.heal(), network.latency_max.min(good.latency_max));
            });
            assert!(fates.iter().all(|fate| fate.first.is_some_and(|latency| latency <= good.latency_max)));
        }
        assert_eq!((quick.healed().latency_min, quick.healed().latency_max), (Micros(1), Micros(1)));
    }

    #[test]
    fn ranked_messages_stay_within_the_networks_latencies_until_it_heals_and_are_no_longer_ranked_then() {
        let schedule = Schedule::Priorities { of: Ranked::Nodes, changes: 2, messages: 500 };
        let latencies = |wires: &mut Wires, from: usize| -> Vec<i64> {
            let (mut dice, mut strikes) = (Dice::new(7, Stream::Network), Strikes::default());
            let mut one =
                || wires.fate(from, 3 - from, Kind::Reply, &mut dice, &mut strikes).first.unwrap().0;
            (0..200).map(|_| one()).collect()
        };
        for seed in 0..20 {
            let mut wires = Wires::new();
            wires.reset(Network::default(), 4);
            wires.rank(Ranks::of(schedule, seed, 4));
            let ranked: Vec<i64> = (0..4).flat_map(|from| latencies(&mut wires, from)).collect();
            assert!(ranked.iter().all(|latency| (200..=2000).contains(latency)), "seed {seed}");
            wires.heal();
            let healed = latencies(&mut wires, 1);
            let (least, most) = (healed.iter().min().unwrap(), healed.iter().max().unwrap());
            assert!(*least < 300 && *most > 1900, "seed {seed}: {least} to {most}");
        }
    }

    #[test]
    fn messages_that_keep_their_order_overtake_none_on_their_link_before_and_after_it_heals() {
        let mut wires = Wires::new();
        wires.reset(Network::default(), 3);
        let arrive = |wires: &mut Wires, from, to, at| wires.in_order(from, to, Micros(at)).0;
        assert_eq!(arrive(&mut wires, 0, 1, 900), 900);
        assert_eq!(arrive(&mut wires, 0, 1, 500), 901);
        assert_eq!((arrive(&mut wires, 1, 0, 500), arrive(&mut wires, 0, 2, 500)), (500, 500));
        wires.heal();
        assert_eq!(arrive(&mut wires, 0, 1, 600), 902);
        assert_eq!(arrive(&mut wires, 0, 1, 1000), 1000);
        wires.reconnect(1, 0);
        assert_eq!(arrive(&mut wires, 0, 1, 700), 700, "over another connection");
        wires.reset(Network::default(), 3);
        assert_eq!(arrive(&mut wires, 0, 1, 600), 600, "another run");
    }

    #[test]
    fn what_strikes_is_counted() {
        let network = Network {
            tail_per_mille: 100,
            tail_max: Micros::seconds(1),
            loss_per_mille: 100,
            duplicate_per_mille: 100,
            reply_loss_per_mille: 100,
            ..Network::default()
        };
        let counted = |kind| {
            let (fates, strikes) = fates(network, kind, |_| {});
            let lost = fates.iter().filter(|fate| fate.first.is_none()).count() as u64;
            let doubled = fates.iter().filter(|fate| fate.again.is_some()).count() as u64;
            assert_eq!((lost, doubled), (strikes.lost + strikes.replies_lost, strikes.duplicated));
            assert!(strikes.delayed > 50, "{strikes:?}");
            assert!(fates.iter().flat_map(|fate| fate.first).any(|latency| latency > Micros::millis(100)));
            (lost, doubled)
        };
        let [request, reply, other] = [Kind::Request, Kind::Reply, Kind::Other].map(counted);
        assert!(request.0 > 50 && request.1 > 50, "{request:?}");
        assert!(
            reply.0 > 120 && reply.1 == 0,
            "replies are lost for two reasons, and never doubled: {reply:?}"
        );
        assert!(other.0 > 50 && other.1 == 0, "{other:?}");
    }

    #[test]
    fn a_link_loses_as_many_as_it_is_told_and_a_cut_one_loses_all() {
        let (lost_two, strikes) =
            fates(Network::default(), Kind::Reply, |wires| wires.link_mut(0, 1).lose_next = 2);
        assert_eq!(lost_two.iter().filter(|fate| fate.first.is_none()).count(), 2);
        assert_eq!(strikes.replies_lost, 2);
        let (cut, strikes) = fates(Network::default(), Kind::Request, |wires| wires.link_mut(0, 1).cuts = 1);
        assert!(cut.iter().all(|fate| fate.first.is_none()) && strikes.cut_off == 1000);
        let (other, _) = fates(Network::default(), Kind::Request, |wires| wires.link_mut(1, 0).cuts = 1);
        assert!(other.iter().all(|fate| fate.first.is_some()), "a cut has a direction");
    }

    #[test]
    fn a_slow_link_adds_to_every_latency() {
        let (slow, strikes) =
            fates(Network::default(), Kind::Request, |wires| wires.link_mut(0, 1).extra = Micros::seconds(1));
        assert!(slow.iter().all(|fate| fate.first.unwrap() > Micros::seconds(1)) && strikes.delayed == 1000);
    }
}
