//! One round of requests to all nodes, and what the answers add up to.

use super::settings::{Settings, Settles};
use crate::machine::{Owner, Visitor};
use crate::stores::redis::{Outcome, Reply};
use crate::time::Due;
use picklock_properties::ServerSet;
use serde::{Deserialize, Serialize};

/// Who has said what. Every node is in one of the three sets.
///
/// Nodes asked at once get one number and are told apart by the sender of the reply; nodes asked in turn get a number each,
/// so that the late answer of a node that was given up is told apart for good.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Round {
    /// The number of the request that is under way.
    pub serial: u32,
    /// When whoever is waited for counts as unlocked; `None`: never, or nobody is waited for.
    pub until: Option<Due>,
    /// Not asked yet, or asked and not heard of.
    pub unheard: ServerSet,
    /// The key is set, or prolonged.
    pub yes: ServerSet,
    /// It is not, or nobody knows.
    pub no: ServerSet,
}

/// What one node's answer means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vote {
    /// The key is set, or prolonged; with the number that its counter gave, if it was asked for one.
    Yes(Option<i64>),
    /// The key is somebody else's, or (an extension) gone.
    No,
    /// An error, or nothing in time: the outcome is unknown, and counts as no.
    Failed,
}

impl Vote {
    /// The answer to `SET NX` or to the script that draws a token as well.
    pub fn on_lock(outcome: Outcome) -> Vote {
        match outcome {
            Outcome::Ok => Vote::Yes(None),
            Outcome::Integer(number) => Vote::Yes(Some(number)),
            Outcome::Nil => Vote::No,
            Outcome::Error(_) => Vote::Failed,
            Outcome::Bulk(_) => unreachable!("SET NX does not return a value"),
        }
    }

    /// The answer to one of the scripts that prolong.
    pub fn on_extension(outcome: Outcome) -> Vote {
        match outcome {
            Outcome::Ok | Outcome::Integer(1) => Vote::Yes(None),
            Outcome::Nil | Outcome::Integer(0) => Vote::No,
            Outcome::Error(_) => Vote::Failed,
            Outcome::Integer(_) | Outcome::Bulk(_) => {
                unreachable!("an extension returns OK, nil, or whether a key was prolonged")
            }
        }
    }
}

impl Round {
    /// Before anybody is asked.
    pub fn new(serial: u32, servers: u8) -> Round {
        Round {
            serial,
            until: None,
            unheard: (0..servers).collect(),
            yes: ServerSet::EMPTY,
            no: ServerSet::EMPTY,
        }
    }

    /// The node that has its turn.
    pub fn next(&self) -> Option<u8> {
        (0..self.servers()).find(|server| self.unheard.contains(*server))
    }

    /// Whether this is an answer to a request under way. Which node it comes from is looked at in [`Round::takes`].
    pub fn awaits(&self, reply: &Reply) -> bool {
        reply.serial == self.serial && !self.unheard.is_empty()
    }

    /// Whether this node is still to be heard.
    pub fn takes(&self, from: u8) -> bool {
        self.unheard.contains(from)
    }

    /// A node has been heard, or given up.
    pub fn count(&mut self, server: u8, vote: Vote) {
        self.unheard.remove(server);
        match vote {
            Vote::Yes(_) => self.yes.insert(server),
            Vote::No | Vote::Failed => self.no.insert(server),
        }
    }

    /// All that have not been heard are given up.
    pub fn give_up_all(&mut self) {
        while let Some(server) = self.next() {
            self.count(server, Vote::Failed);
        }
    }

    /// Whether `N/2 + 1` nodes said yes.
    pub fn has_quorum(&self) -> bool {
        self.yes.len() >= self.quorum()
    }

    /// What the attempt comes to after a `last` vote has been counted; `None`: more has to be heard.
    pub fn verdict(&self, last: Vote, settings: &Settings) -> Option<bool> {
        if last == Vote::Failed && settings.minority_error_fails {
            return Some(false);
        }
        match settings.settles {
            Settles::All if self.unheard.is_empty() => Some(self.has_quorum()),
            Settles::Majority if self.has_quorum() => Some(true),
            Settles::Majority if self.no.len() >= self.quorum() => Some(false),
            // `Majority` may be here with nobody left to hear: a tie (R19).
            Settles::All | Settles::Majority => None,
        }
    }

    /// Shows every time and number in the round to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        if let Some(until) = &mut self.until {
            visitor.due(until);
        }
    }

    fn servers(&self) -> u8 {
        (self.unheard.len() + self.yes.len() + self.no.len()) as u8
    }

    fn quorum(&self) -> u32 {
        u32::from(self.servers() / 2 + 1)
    }
}
