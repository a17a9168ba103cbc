//! The disk that all nodes share, which knows nothing of locks: blocks, and a journal of each process. And who replays whose journal.
//!
//! ```text
//!   A: EX, log x = 1, dies                    B: waits for EX
//!      │  manager: A is dead ─── replay A's ──▶│
//!      │◀──────────────────────── x := 1 ──────│
//!      └─ A's lock is given on ── granted ────▶│ reads x = 1
//! ```
//!
//! Source: gfs2, `fs/gfs2/lock_dlm.c` (`control_recover_slot`, `DFL_BLOCK_LOCKS`) and `recovery.c` (`gfs2_recover_func`): a survivor replays
//! the journal of the dead node, and no lock is granted before. Who comes back and finds nobody replays its own (`init_journal`).
//!
//! # What is left out
//!
//! The disk is the manager's node, and never fails; every read, write and replay is whole, and one step. A journal has one entry, and what is
//! written in its place is off the journal in the same step. Hidden: torn writes, a replay that dies half-way, and the replay of what was
//! written in place long ago (gfs2's revokes).

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// What a block holds, if it was ever written.
type Content = Option<u32>;

/// Blocks and journals.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Disk {
    /// By block; those beyond the end were never written.
    blocks: SmallVec<[Content; 2]>,
    /// Whose, on which block, what: those that are not written in place.
    journals: SmallVec<[(u8, u8, Content); 1]>,
    /// What is to be replayed, in the order of whose it is.
    replays: SmallVec<[Replay; 1]>,
}

/// A journal that is to be replayed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Replay {
    of: u8,
    by: u8,
    /// The request with which its owner wants to join, if it is back.
    joins: Option<u32>,
}

impl Disk {
    /// What the block holds.
    pub fn read(&self, block: u8) -> Content {
        self.blocks.get(usize::from(block)).copied().flatten()
    }

    /// A process writes a block: its journal is done with it.
    pub fn write(&mut self, from: u8, block: u8, content: Content) {
        self.journals.retain(|(whose, on, _)| (*whose, *on) != (from, block));
        let place = usize::from(block);
        if self.blocks.len() <= place {
            self.blocks.resize(place + 1, None);
        }
        self.blocks[place] = content;
    }

    /// A process writes down what a block is to hold.
    pub fn log(&mut self, from: u8, block: u8, content: Content) {
        self.journals.retain(|(whose, on, _)| (*whose, *on) != (from, block));
        let place = self.journals.partition_point(|(whose, on, _)| (*whose, *on) < (from, block));
        self.journals.insert(place, (from, block, content));
    }

    /// What the journal of this process has is written in its place. Returns the request with which it wants to join.
    pub fn replay(&mut self, of: u8) -> Option<u32> {
        while let Some((_, block, content)) = self.journals.iter().copied().find(|(whose, ..)| *whose == of) {
            self.write(of, block, content);
        }
        let joins = self.replays.iter().find(|replay| replay.of == of).and_then(|replay| replay.joins);
        self.replays.retain(|replay| replay.of != of);
        joins
    }

    /// Whether this process has left something in its journal.
    pub fn has_journal(&self, of: u8) -> bool {
        self.journals.iter().any(|(whose, ..)| *whose == of)
    }

    /// Whether this process' journal is to be replayed.
    pub fn awaits_replay(&self, of: u8) -> bool {
        self.replays.iter().any(|replay| replay.of == of)
    }

    /// Whether anybody's is.
    pub fn awaits_any_replay(&self) -> bool {
        !self.replays.is_empty()
    }

    /// Somebody is to replay it.
    pub fn replayed_by(&mut self, of: u8, by: u8) {
        match self.replays.iter_mut().find(|replay| replay.of == of) {
            Some(replay) => replay.by = by,
            None => {
                let place = self.replays.partition_point(|replay| replay.of < of);
                self.replays.insert(place, Replay { of, by, joins: None });
            }
        }
    }

    /// Its owner is back, and joins when it is replayed.
    pub fn joins_when_replayed(&mut self, of: u8, serial: u32) {
        self.replays
            .iter_mut()
            .filter(|replay| replay.of == of)
            .for_each(|replay| replay.joins = Some(serial));
    }

    /// Who wants to join, with which request.
    pub fn joins(&mut self) -> impl Iterator<Item = (u8, &mut u32)> {
        self.replays.iter_mut().filter_map(|replay| Some((replay.of, replay.joins.as_mut()?)))
    }

    /// What this process was to replay.
    pub fn entrusted_to(&self, by: u8) -> SmallVec<[u8; 1]> {
        self.replays.iter().filter(|replay| replay.by == by).map(|replay| replay.of).collect()
    }

    /// One short line for each block and journal that has something.
    pub fn contents(&self) -> impl Iterator<Item = String> {
        let blocks = self.blocks.iter().enumerate();
        let blocks = blocks.filter_map(|(block, content)| Some(format!("block {block} = {}", (*content)?)));
        let journals = self.journals.iter().map(|(whose, block, content)| {
            let content = content.map_or_else(|| "nothing".to_owned(), |content| content.to_string());
            format!("journal of {}: block {block} = {content}", picklock_properties::ClientId(*whose))
        });
        blocks.chain(journals)
    }
}
