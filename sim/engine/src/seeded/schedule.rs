//! Who gets its message first, beyond what faults do to it: every message by its own luck, or the nodes by rank.
//!
//! Latencies that are all drawn alike keep all nodes about equally fast, and a failure that needs one of them late
//! through a dozen messages hardly ever shows. Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi,
//! Nagarakatte: "A randomized scheduler with probabilistic guarantees of finding bugs", 2010) ranks the threads, lets the
//! first one that can run do so, and at a few random steps puts the one that takes that step last: a failure that needs
//! *d* events in one order is met with a chance that falls with the number of steps to the power of *d - 1*, not with the
//! number of all orders. Here time is virtual and everybody can run: who comes first is who gets its messages first, and a
//! rank is a share of the network's own latencies. No latency leaves them, so that no lock's assumption is broken.

use crate::seeded::dice::{Dice, Stream};
use picklock_model::time::Micros;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// How latencies are drawn between the network's shortest and its longest, until the run heals.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Each message draws its own.
    #[default]
    Uniform,
    /// The first in rank have the shortest latencies, the last ones the longest. The ranks come from the run's seed.
    Priorities {
        /// Who has a rank.
        of: Ranked,
        /// How often whoever sends at that moment falls to the last rank, for good.
        changes: u8,
        /// The moments are drawn among so many of the run's first messages.
        messages: u32,
    },
}

/// Who has a rank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranked {
    /// Each node: a message takes as long as the lower one of its sender and its receiver.
    Nodes,
    /// Each link, in each direction.
    Links,
}

impl Schedule {
    /// Ranks for nodes or for links, with few changes; `messages` is how many a run is expected to send.
    pub(crate) fn random(dice: &mut Dice, messages: u32) -> Schedule {
        let of = if dice.coin() { Ranked::Nodes } else { Ranked::Links };
        Schedule::Priorities { of, changes: dice.below(CHANGES) as u8, messages }
    }
}

/// A plan changes fewer ranks than this: most failures need few events in one order.
const CHANGES: u64 = 5;

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (of, changes, messages) = match self {
            Schedule::Uniform => return f.write_str("every message by its own luck"),
            Schedule::Priorities { of, changes, messages } => (of, changes, messages),
        };
        let who = match of {
            Ranked::Nodes => "nodes",
            Ranked::Links => "links",
        };
        write!(f, "{who} by rank")?;
        match changes {
            0 => Ok(()),
            1 => write!(f, ", one of which falls to the last among the first {messages} messages"),
            _ => {
                write!(
                    f,
                    ", some of which fall to the last, {changes} times among the first {messages} messages"
                )
            }
        }
    }
}

/// The ranks of a run under way.
#[derive(Debug)]
pub(crate) struct Ranks {
    of: Ranked,
    nodes: usize,
    /// By node, or by link, row by row, sender by sender; 0 is the first.
    ranks: Vec<u32>,
    /// The rank that the next one that falls gets.
    next_rank: u32,
    /// How many ranks there will ever be.
    count: u32,
    /// How many messages were sent.
    sent: u32,
    /// At which messages somebody falls, the next one at the end.
    falls: Vec<u32>,
}

impl Ranks {
    /// As drawn for a run from its seed; `None` if no message has a rank.
    pub fn of(schedule: Schedule, seed: u64, nodes: usize) -> Option<Ranks> {
        let Schedule::Priorities { of, changes, messages } = schedule else { return None };
        let mut dice = Dice::new(seed, Stream::Ranks);
        let ranked = match of {
            Ranked::Nodes => nodes,
            Ranked::Links => nodes * nodes,
        };
        let mut ranks: Vec<u32> = (0..ranked as u32).collect();
        for place in (1..ranked).rev() {
            ranks.swap(place, dice.below(place as u64 + 1) as usize);
        }
        let mut falls: Vec<u32> = (0..changes).map(|_| dice.below(u64::from(messages)) as u32).collect();
        falls.sort_unstable_by(|one, other| other.cmp(one));
        let (next_rank, count) = (ranked as u32, ranked as u32 + u32::from(changes));
        Some(Ranks { of, nodes, ranks, next_rank, count, sent: 0, falls })
    }

    /// Between which latencies the next message is to draw its own: a part of `min..=max`.
    pub fn band(&mut self, from: usize, to: usize, min: Micros, max: Micros) -> (Micros, Micros) {
        let sender = match self.of {
            Ranked::Nodes => from,
            Ranked::Links => from * self.nodes + to,
        };
        while self.falls.last().is_some_and(|fall| *fall <= self.sent) {
            self.falls.pop();
            self.ranks[sender] = self.next_rank;
            self.next_rank += 1;
        }
        self.sent = self.sent.saturating_add(1);
        let rank = match self.of {
            Ranked::Nodes => self.ranks[from].max(self.ranks[to]),
            Ranked::Links => self.ranks[sender],
        };
        // By the cube: most are fast, and a few are so slow that the others get through whole conversations meanwhile. In equal
        // steps the sum of two fast messages is as long as a slow one, and next to nothing is overtaken.
        let cube = |number: u32| i128::from(number).pow(3);
        let share = |rank: u32| {
            let part = i128::from(max.0 - min.0) * cube(rank) / cube(self.count.max(1));
            Micros(min.0 + part as i64)
        };
        (share(rank), share(rank + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: Micros = Micros(200);
    const MAX: Micros = Micros(2_000);

    fn ranks(of: Ranked, changes: u8, seed: u64) -> Ranks {
        Ranks::of(Schedule::Priorities { of, changes, messages: 100 }, seed, 5).unwrap()
    }

    /// The bands of messages from everybody to everybody, over and over.
    fn bands(ranks: &mut Ranks, times: usize) -> Vec<(usize, usize, Micros, Micros)> {
        let links = (0..5).flat_map(|from| (0..5).map(move |to| (from, to))).filter(|(from, to)| from != to);
        let links: Vec<(usize, usize)> = links.collect();
        let all = links.iter().cycle().take(times * links.len());
        all.map(|&(from, to)| {
            let (low, high) = ranks.band(from, to, MIN, MAX);
            (from, to, low, high)
        })
        .collect()
    }

    #[test]
    fn no_rank_leaves_the_networks_own_latencies() {
        for of in [Ranked::Nodes, Ranked::Links] {
            for seed in 0..50 {
                let all = bands(&mut ranks(of, (seed % 7) as u8, seed), 10);
                assert!(all.iter().all(|(_, _, low, high)| MIN <= *low && low <= high && *high <= MAX));
            }
        }
        let mut ranks = ranks(Ranked::Links, 3, 1);
        assert_eq!(ranks.band(0, 1, MAX, MAX), (MAX, MAX), "a network of one latency keeps it");
    }

    #[test]
    fn who_ranks_higher_is_faster_than_who_ranks_lower() {
        for seed in 0..50 {
            let mut ranks = ranks(Ranked::Nodes, 0, seed);
            let order = ranks.ranks.clone();
            let node = |rank: u32| order.iter().position(|known| *known == rank).unwrap();
            let (_, fast) = ranks.band(node(0), node(1), MIN, MAX);
            let (slow, _) = ranks.band(node(0), node(4), MIN, MAX);
            assert!(fast < slow, "{fast} is the longest of the first two, {slow} the shortest of the last");
            let back = ranks.band(node(4), node(0), MIN, MAX);
            assert_eq!(back, ranks.band(node(0), node(4), MIN, MAX), "the slower one decides, both ways");
        }
    }

    #[test]
    fn who_sends_at_a_change_is_the_last_from_then_on() {
        for of in [Ranked::Nodes, Ranked::Links] {
            let mut falling = ranks(of, 1, 4711);
            let fall = falling.falls[0] as usize;
            let all = bands(&mut falling, 20);
            let (from, to, ..) = all[fall];
            let is_its = |other: &(usize, usize, Micros, Micros)| match of {
                Ranked::Nodes => other.0 == from || other.1 == from,
                Ranked::Links => (other.0, other.1) == (from, to),
            };
            assert!(all[fall..].iter().filter(|band| is_its(band)).all(|(_, _, _, high)| *high == MAX));
            assert!(all[fall..].iter().filter(|band| !is_its(band)).all(|(_, _, _, high)| *high < MAX));
            assert!(all[..fall].iter().all(|(_, _, _, high)| *high < MAX), "nobody is the last before");
        }
    }

    #[test]
    fn the_ranks_of_a_seed_are_always_the_same_and_those_of_seeds_differ() {
        let of = |seed| bands(&mut ranks(Ranked::Nodes, 2, seed), 3);
        assert_eq!(of(1), of(1));
        assert!((2..10).any(|seed| of(seed) != of(1)));
    }

    #[test]
    fn a_schedule_of_unbelievable_numbers_does_no_harm() {
        let schedule = Schedule::Priorities { of: Ranked::Links, changes: u8::MAX, messages: 0 };
        let mut ranks = Ranks::of(schedule, 1, 3).unwrap();
        for _ in 0..10 {
            let (low, high) = ranks.band(0, 1, Micros::ZERO, Micros(i64::MAX));
            assert!(Micros::ZERO <= low && low <= high);
        }
    }
}
