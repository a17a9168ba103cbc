//! The promises of Raft (figure 3 of the paper), kept under everything that may happen to members and messages; and flaws that
//! break them. The runs are drawn: who ticks, what arrives, is lost or comes twice, who is cut off, who starts again.

use super::cluster::Cluster;
use super::*;
use crate::stores::etcd::peer::Entry;
use crate::stores::etcd::raft::Role;
use std::collections::BTreeMap;

/// A promise of Raft.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Promised {
    /// A term has one leader.
    ElectionSafety,
    /// Logs with the same entry at one place are the same up to it.
    LogMatching,
    /// What is committed is in the log of every later leader.
    LeaderCompleteness,
    /// Nobody applies another entry at one place.
    StateMachineSafety,
    /// A linearizable read shows every write that was answered before it began.
    FreshReads,
}

/// Numbers that look random (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }
}

/// What was seen of a run.
#[derive(Default)]
struct Seen {
    leaders: BTreeMap<u32, u8>,
    /// By index: what was committed first, and in which term.
    committed: BTreeMap<u32, (Entry, u32)>,
    /// By index: what was applied first.
    applied: BTreeMap<u32, Entry>,
    /// The highest revision of an answered write.
    written: u32,
    /// The reads under way, and what was written when they began.
    reads: BTreeMap<u32, u32>,
    writes: Vec<u32>,
    /// How many replies were looked at.
    heard: usize,
    reads_answered: usize,
}

impl Seen {
    fn look(&mut self, cluster: &Cluster) -> Result<(), Promised> {
        for me in 0..cluster.size() {
            let part = cluster.part(me);
            let raft = &part.raft;
            for entry in &raft.log[..raft.committed as usize] {
                self.committed.entry(entry.place.index).or_insert_with(|| (entry.clone(), raft.term));
            }
            for entry in cluster.applied(me) {
                let first = self.applied.entry(entry.place.index).or_insert_with(|| entry.clone());
                if first != entry {
                    return Err(Promised::StateMachineSafety);
                }
            }
            if matches!(raft.role, Role::Leader(_)) {
                if *self.leaders.entry(raft.term).or_insert(me) != me {
                    return Err(Promised::ElectionSafety);
                }
                let is_missing = |(index, (entry, term)): (&u32, &(Entry, u32))| {
                    *term < raft.term && raft.log.get(*index as usize - 1) != Some(entry)
                };
                if self.committed.iter().any(is_missing) {
                    return Err(Promised::LeaderCompleteness);
                }
            }
        }
        for one in 0..cluster.size() {
            for two in 0..one {
                let logs = (&cluster.part(one).raft.log, &cluster.part(two).raft.log);
                let same = logs.0.iter().zip(logs.1).rposition(|(one, two)| one.place == two.place);
                if same.is_some_and(|last| logs.0[..=last] != logs.1[..=last]) {
                    return Err(Promised::LogMatching);
                }
            }
        }
        self.listen(cluster)
    }

    fn listen(&mut self, cluster: &Cluster) -> Result<(), Promised> {
        for (_, _, reply) in &cluster.told[self.heard..] {
            if self.writes.contains(&reply.serial) {
                self.written = self.written.max(reply.revision.0);
            }
            if let Some(written) = self.reads.remove(&reply.serial) {
                self.reads_answered += 1;
                if reply.revision.0 < written {
                    return Err(Promised::FreshReads);
                }
            }
        }
        self.heard = cluster.told.len();
        Ok(())
    }
}

/// A run with this seed: what broke, or how many terms, entries and answered reads it came to.
fn run(seed: u64, members: u8, settings: Settings) -> Result<(usize, usize, usize), Promised> {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ (seed + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9));
    let mut cluster = Cluster::new(members, settings);
    let mut seen = Seen::default();
    for _ in 0..700 {
        let me = dice.roll(usize::from(members)) as u8;
        match dice.roll(100) {
            0..=54 if !cluster.in_flight.is_empty() => {
                let place = dice.roll(cluster.in_flight.len());
                let flight = cluster.in_flight.remove(place);
                let (Node::Server(from), Node::Server(to)) = (flight.0, flight.1) else { unreachable!() };
                if !cluster.cut.contains(&from) && !cluster.cut.contains(&to) {
                    if dice.roll(12) == 0 {
                        cluster.in_flight.push(flight.clone());
                    }
                    cluster.deliver(flight);
                } else if dice.roll(2) == 0 {
                    cluster.in_flight.push(flight);
                }
            }
            0..=81 => {
                cluster.now = cluster.now + Micros::millis(100);
                cluster.wake(me);
            }
            82..=88 => {
                let serial = cluster.send(0, me, put(1, dice.roll(1000) as u32, None));
                seen.writes.push(serial);
            }
            89..=94 => {
                let written = seen.written;
                let serial = cluster.send(1, me, get(one(1)));
                seen.reads.insert(serial, written);
                seen.listen(&cluster)?;
            }
            95..=96 => cluster.cut = vec![me],
            97..=98 => cluster.cut.clear(),
            _ => cluster.restart(me, dice.roll(2) == 0),
        }
        seen.look(&cluster)?;
    }
    Ok((seen.leaders.len(), seen.applied.len(), seen.reads_answered))
}

/// Elections after three ticks, so that a run has many of them.
fn hasty() -> Settings {
    Settings { election_timeout: Micros::millis(300), ..Settings::default() }
}

/// What breaks in the first of these runs in which something does, and in which one.
fn broken_by(settings: Settings, members: u8, seeds: u64) -> Option<(u64, Promised)> {
    (0..seeds).find_map(|seed| run(seed, members, settings).err().map(|promised| (seed, promised)))
}

fn flawed(flaw: Flaw) -> Settings {
    Settings { flaw, ..hasty() }
}

#[test]
fn three_members_keep_the_promises_of_raft() {
    let mut sums = (0, 0, 0);
    for seed in 0..300 {
        let (terms, entries, reads) =
            run(seed, 3, hasty()).unwrap_or_else(|broken| panic!("seed {seed}: {broken:?}"));
        sums = (sums.0 + terms, sums.1 + entries, sums.2 + reads);
    }
    assert!(sums.0 > 600 && sums.1 > 1800 && sums.2 > 900, "too little happens: {sums:?}");
}

#[test]
fn five_members_keep_the_promises_of_raft() {
    for seed in 0..100 {
        run(seed, 5, hasty()).unwrap_or_else(|broken| panic!("seed {seed}: {broken:?}"));
    }
}

#[test]
fn members_that_vote_twice_elect_two_leaders_of_one_term() {
    let broken = broken_by(flawed(Flaw::VotesTwice), 3, 300);
    assert!(matches!(broken, Some((_, Promised::ElectionSafety))), "{broken:?}");
}

#[test]
fn members_that_vote_for_short_logs_elect_leaders_that_lack_what_is_committed() {
    let broken = broken_by(flawed(Flaw::VotesForShortLogs), 3, 300);
    assert!(matches!(broken, Some((_, Promised::LeaderCompleteness))), "{broken:?}");
}

#[test]
fn a_leader_that_commits_alone_lets_members_apply_different_entries() {
    let broken = broken_by(flawed(Flaw::CommitsAlone), 3, 300);
    let Some((_, promised)) = broken else { panic!("not seen to break") };
    assert!(matches!(promised, Promised::LeaderCompleteness | Promised::StateMachineSafety), "{promised:?}");
}

#[test]
fn a_leader_that_asks_nobody_before_it_reads_shows_what_is_stale() {
    let broken = broken_by(Settings { read_index: ReadIndex::Unconfirmed, ..hasty() }, 3, 300);
    assert!(matches!(broken, Some((_, Promised::FreshReads))), "{broken:?}");
}

#[test]
fn members_whose_logs_are_not_synced_lose_what_is_committed_with_their_power() {
    let broken = broken_by(Settings { log: Log::Unsynced, ..hasty() }, 3, 300);
    assert!(broken.is_some());
}
