//! What becomes of a resource whose master died: a new master, and the copies of its locks that their owners have.
//!
//! ```text
//!   A: has PR, wants EX ──▶┐                     granted     B PR
//!   B: has PR ────────────▶│ new master ──▶      converting  A PR → EX
//!   C: wants PW ──────────▶┘  (any order)        waiting     C PW        value: of a lock above CR, or in doubt
//! ```
//!
//! Source: Linux, `fs/dlm/recover.c`: `dlm_recover_locks`, `recover_lvb`, `recover_conversion`; `fs/dlm/lock.c`: `dlm_recover_waiters_pre`,
//! `recover_convert_waiter`, `receive_rcom_lock_args`, `dlm_recover_grant`. What is here is one resource between the gate's closing and
//! its opening: who is dead is known, and nothing that was said before is under way any more.
//!
//! # What it lives on
//!
//! An owner's copy lags behind its master's by what was under way when that died. So an owner goes by less at once when it asks for less,
//! and by more when it is told.
//!
//! # What breaks it
//!
//! - Owners that do not send the value block along (row V3, ocfs2 e5054c9aefd2): it is empty, and nothing says so.
//! - Guessing what those have who convert between PR and CW: two of them may be given modes that keep each other waiting for ever. Linux
//!   did so until 2024, and did not quite stop until 2026 ([`Middle`]).
//! - Granting conversions in the order in which they happen to arrive (row V7): whoever comes to stand first may wait for the granted mode
//!   of one behind it, which waits for its turn. Linux grants them out of order once, when the gate opens: if a third lock is in the way of
//!   both by then, they wait for ever when that one has gone ([`Order`]).
//!
//! # What is left out
//!
//! Who asks whom, and when ([`super::NewMaster::Asks`], [`super::member`]); journals ([`super::Journals`]).

use super::lock::{Flags, Lock, Value};
use super::mode::Mode;
use super::resource::{Notices, Resource};
use super::settings::Settings;
use serde::{Deserialize, Serialize};

/// How a resource is put together anew.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Recovery {
    /// Whether owners send their copies of the value block along.
    pub sends_values: bool,
    /// In which order conversions are granted.
    pub order: Order,
    /// What is done about conversions between PR and CW.
    pub middle: Middle,
}

/// In which order the conversions that came to stand in a queue anew are granted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Order {
    /// As they came to stand, which is nobody's order.
    AsTheyStand,
    /// Out of order when the gate opens, and as they stand from then on: Linux (`RSB_RECOVER_GRANT`, which `dlm_recover_grant` takes back at
    /// once).
    FreeOnce,
    /// Out of order until none of them is left.
    FreeUntilNoneWaits,
}

/// What is done about conversions between PR and CW, of which neither bears the other: whoever asks for one may have been granted it, and
/// not know, and the other's holders may have come in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Middle {
    /// They wait on the new master as well. The granted mode is guessed: that of the granted ones, or else what was asked for. Linux until
    /// 2024.
    Guessed,
    /// They wait there, with the mode that their owners know; it falls to NL if a granted lock has the other one. Linux until 2026.
    FallToNull,
    /// They are granted there in the mode that their owners know, and asked for again when the gate opens. Linux since 2026 (1416bd508c78).
    AskedAgain,
}

impl Recovery {
    /// Linux, as its kernel has it.
    pub const LINUX: Recovery =
        Recovery { sends_values: true, order: Order::FreeOnce, middle: Middle::AskedAgain };

    /// As Linux, and conversions are granted out of order for as long as any waits.
    pub const FREE: Recovery = Recovery { order: Order::FreeUntilNoneWaits, ..Recovery::LINUX };
}

/// What an owner does about its lock when the master is dead, by its own copy of it and by what it waits for an answer to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Survives {
    /// It is sent to the new master, as it is.
    Sent(Lock),
    /// So is what was granted before; what was asked for since is asked for again when the gate opens.
    AskedAgain(Option<Lock>),
    /// It was to go off, and is off.
    Gone,
}

/// What was asked for and is not answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unanswered {
    /// A new lock, or a conversion.
    Wish,
    /// To take it off.
    Release,
}

impl Lock {
    /// `dlm_recover_waiters_pre`, `receive_rcom_lock_args`.
    pub fn survives(self, unanswered: Option<Unanswered>, recovery: Recovery) -> Survives {
        let as_granted = Lock { requested: None, ..self };
        let is_middle = matches!((self.granted, self.requested), (Some(granted), Some(requested)) if is_middle(granted, requested));
        match (unanswered, self.granted) {
            (Some(Unanswered::Release), _) => Survives::Gone,
            (Some(Unanswered::Wish), None) => Survives::AskedAgain(None),
            (None | Some(Unanswered::Wish), Some(_)) if is_middle => match recovery.middle {
                Middle::AskedAgain => Survives::AskedAgain(Some(as_granted)),
                Middle::Guessed | Middle::FallToNull => Survives::Sent(self),
            },
            (Some(Unanswered::Wish), Some(_)) => Survives::AskedAgain(Some(as_granted)),
            (None, _) => Survives::Sent(self),
        }
    }
}

/// Between PR and CW, of which neither bears the other (`middle_conversion`).
pub fn is_middle(granted: Mode, requested: Mode) -> bool {
    matches!((granted, requested), (Mode::Pr, Mode::Cw) | (Mode::Cw, Mode::Pr))
}

impl Resource {
    /// The resource of a new master, from what the owners of its locks have sent, in the order in which it came. Nobody is granted anything
    /// yet: [`Resource::reopen`] does that.
    pub fn rebuilt(copies: &[Lock], recovery: Recovery) -> Resource {
        let mut resource = Resource::default();
        let mut unknown = Vec::new();
        for copy in copies {
            let lock = Lock { told: None, ..*copy };
            match (lock.granted, lock.requested) {
                (Some(granted), Some(requested)) => {
                    if is_middle(granted, requested) {
                        unknown.push(lock.handle);
                    }
                    resource.converting.push(lock);
                }
                (Some(_), None) => resource.granted.push(lock),
                (None, _) => resource.waiting.push(lock),
            }
        }
        // `recover_conversion`.
        let middle = |lock: &Lock| lock.granted.filter(|mode| matches!(mode, Mode::Pr | Mode::Cw));
        let has = resource.granted.iter().find_map(middle);
        for lock in resource.converting.iter_mut().filter(|lock| unknown.contains(&lock.handle)) {
            lock.granted = match recovery.middle {
                Middle::Guessed => has.or(lock.requested),
                Middle::FallToNull if has.is_some() && has != lock.granted => Some(Mode::Nl),
                Middle::FallToNull | Middle::AskedAgain => lock.granted,
            };
        }
        resource.recover_value(recovery);
        resource
    }

    /// `recover_lvb`: of a lock above CR, which nobody has written beside; else the last one known, and in doubt.
    fn recover_value(&mut self, recovery: Recovery) {
        if !recovery.sends_values {
            return;
        }
        let known = self.granted.iter().chain(&self.converting).filter(|lock| lock.flags.has(Flags::VALBLK));
        let above = known.clone().find(|lock| lock.granted > Some(Mode::Cr));
        let value: Option<Value> =
            above.or(known.max_by_key(|lock| lock.value.sequence)).map(|lock| lock.value);
        self.value = value.unwrap_or_default();
        self.is_doubtful = value.is_some() && above.is_none();
    }

    /// The gate opens: whoever can be granted is (`dlm_recover_grant`), and those in the way of the rest are told.
    pub fn reopen(&mut self, recovery: Recovery, settings: &Settings, notices: &mut Notices) {
        self.is_out_of_order = recovery.order != Order::AsTheyStand;
        self.grant_pending(settings, notices);
        self.is_out_of_order &= recovery.order == Order::FreeUntilNoneWaits;
    }
}
