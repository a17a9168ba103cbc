//! What a holder knows of its lock, and when it wants to be woken.

use super::round::Round;
use super::settings::{ExtendBy, Settings};
use crate::machine::{Owner, Visitor};
use crate::time::Due;
use serde::{Deserialize, Serialize};

/// A lock that is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Hold {
    /// The number of the random value.
    pub value: u32,
    /// When step 4's validity is over; `None`: not known, or not of interest any more.
    pub valid_until: Option<Due>,
    /// How many extensions may still begin.
    pub extensions_left: u8,
    /// The extension under way.
    pub extending: Option<Extending>,
}

/// An extension under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Extending {
    /// Until when the nodes keep, at least, what this extension prolongs.
    pub valid_until: Option<Due>,
    /// The request for it.
    pub round: Round,
}

impl Hold {
    /// When the holder must notice that its validity is over, if it looks.
    pub fn validity_deadline(&self, settings: &Settings) -> Option<Due> {
        let is_looked_at = settings.minds_validity
            && match settings.extension.map(|extension| extension.how) {
                // Not while an extension may still bring the lock back.
                Some(ExtendBy::ExtendOrCreate) => self.extending.is_none() && self.extensions_left == 0,
                Some(ExtendBy::CompareAndExtend) | None => true,
            };
        self.valid_until.filter(|_| is_looked_at)
    }

    /// When the next extension begins.
    pub fn extension_deadline(&self, settings: &Settings) -> Option<Due> {
        let extension =
            settings.extension.filter(|_| self.extensions_left > 0 && self.extending.is_none())?;
        self.valid_until.map(|due| match due {
            Due::Wall(at) => Due::Wall(at + -extension.lead),
            Due::Monotonic(at) => Due::Monotonic(at + -extension.lead),
        })
    }

    /// Forgets the validity if neither a loss nor an extension will ask for it.
    pub fn without_unused(mut self, settings: &Settings) -> Hold {
        if !settings.minds_validity && self.extensions_left == 0 {
            self.valid_until = None;
        }
        self
    }

    /// Shows every time and number in the hold to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.value);
        if let Some(until) = &mut self.valid_until {
            visitor.due(until);
        }
        if let Some(extending) = &mut self.extending {
            if let Some(until) = &mut extending.valid_until {
                visitor.due(until);
            }
            extending.round.visit(visitor);
        }
    }
}
