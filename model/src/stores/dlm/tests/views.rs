//! Nodes that take each other for dead, whenever they like: which of them go on, and beside whom.

use super::super::recovery::Recovery;
use super::super::*;
use crate::machine::{Context, Effects, Message, Node, Store};
use crate::time::{Micros, Monotonic, Wall};
use std::collections::{BTreeSet, VecDeque};

/// All nodes, and what is under way between them, in order on each way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Cluster {
    nodes: Vec<Dlm>,
    under_way: Vec<(u8, u8, peer::Peer)>,
}

impl Cluster {
    fn step(
        &self,
        me: u8,
        choice: u32,
        settings: &Settings,
        does: impl FnOnce(&mut Dlm, &Context<Settings>, &mut Effects<Dlm>),
    ) -> Cluster {
        let (mut after, mut effects) = (self.clone(), Effects::default());
        let cx = Context {
            me,
            servers: self.nodes.len() as u8,
            wall: Wall(0),
            monotonic: Monotonic(0),
            choice,
            settings,
        };
        does(&mut after.nodes[usize::from(me)], &cx, &mut effects);
        for (to, message) in effects.sends {
            if let (Node::Server(to), Message::Peer(peer)) = (to, message) {
                after.under_way.push((me, to, peer));
            }
        }
        after.under_way.sort_by_key(|(from, to, _)| (*from, *to));
        after
    }

    /// Whatever can happen next.
    fn next(&self, settings: &Settings) -> Vec<Cluster> {
        let mut next = Vec::new();
        for me in 0..self.nodes.len() as u8 {
            for choice in 0..self.nodes[usize::from(me)].silences() {
                next.push(self.step(me, choice, settings, |dlm, cx, effects| dlm.on_deadline(cx, effects)));
            }
        }
        for place in 0..self.under_way.len() {
            let (from, to, ref message) = self.under_way[place];
            let is_first =
                !self.under_way[..place].iter().any(|(first, second, _)| (*first, *second) == (from, to));
            if is_first {
                let mut after = self.clone();
                after.under_way.remove(place);
                next.push(after.step(to, 0, settings, |dlm, cx, effects| {
                    dlm.on_peer(from, message.clone(), cx, effects)
                }));
            }
        }
        next
    }

    /// The views in which somebody may grant: their numbers, and who is in them.
    fn open(&self) -> BTreeSet<(u8, u8)> {
        self.nodes.iter().filter_map(|node| node.open_view()).collect()
    }
}

/// Every state that so many nodes come to.
fn every(nodes: u8, quorum: bool, mut each: impl FnMut(&Cluster)) -> usize {
    let new_master = NewMaster::Asks { recovery: Recovery::LINUX, members: 0, minds_epoch: true };
    let removed_after = Some(Micros::ZERO);
    let settings = Settings { quorum, new_master, removed_after, ..Settings::LINUX };
    let start = Cluster {
        nodes: (0..nodes).map(|me| Dlm::new(me, nodes, &settings)).collect(),
        under_way: Vec::new(),
    };
    let (mut seen, mut frontier) = (BTreeSet::from([start.clone()]), VecDeque::from([start]));
    while let Some(cluster) = frontier.pop_front() {
        each(&cluster);
        for after in cluster.next(&settings) {
            if seen.insert(after.clone()) {
                frontier.push_back(after);
            }
        }
    }
    seen.len()
}

/// How many states there are; in how many two views are open of which no node is in both; in how many two are open at all; and the fewest
/// nodes that go on.
fn open_views(nodes: u8, quorum: bool) -> (usize, usize, usize, u32) {
    let (mut apart, mut beside, mut fewest) = (0, 0, u32::from(nodes));
    let states = every(nodes, quorum, |cluster| {
        let open = cluster.open();
        let mut pairs = open.iter().flat_map(|one| open.iter().map(move |other| one.1 & other.1));
        apart += usize::from(pairs.any(|in_both| in_both == 0));
        beside += usize::from(open.len() > 1);
        fewest = open.iter().map(|(_, view)| view.count_ones()).min().unwrap_or(fewest).min(fewest);
    });
    (states, apart, beside, fewest)
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn two_parts_of_a_cluster_go_on_side_by_side_unless_there_has_to_be_a_quorum() {
    assert_eq!(open_views(2, true), (4, 0, 0, 2));
    assert_eq!(open_views(2, false), (4, 1, 3, 1));
    assert_eq!(open_views(3, false), (36_971, 19_745, 23_303, 1));
    // Who is left out does not know, and goes on in the view before: that a quorum does not end.
    assert_eq!(open_views(3, true), (41_138, 0, 1_005, 2));
}
