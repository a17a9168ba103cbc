//! A lock, as the node that masters its resource keeps it (`struct dlm_lkb`), and what its owner is told.

use super::mode::Mode;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// Whose lock it is, and which of its locks: chosen by its owner (a lock id).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Handle {
    /// The process: a client's number.
    pub owner: u8,
    /// Which of its locks.
    pub number: u8,
}

/// How an operation is to be done.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Flags(pub u16);

impl Flags {
    /// As it comes.
    pub const NONE: Flags = Flags(0);
    /// At once or not at all.
    pub const NOQUEUE: Flags = Flags(1);
    /// A conversion that waits behind those that wait already.
    pub const QUECVT: Flags = Flags(1 << 1);
    /// A new NL lock, whatever waits (VAXcluster Principles, 6-11).
    pub const EXPEDITE: Flags = Flags(1 << 2);
    /// The value block moves with it.
    pub const VALBLK: Flags = Flags(1 << 3);
    /// Whoever goes down or off from PW or EX leaves a value block that is not valid. Linux only.
    pub const IVVALBLK: Flags = Flags(1 << 4);
    /// In a conversion deadlock the granted mode falls to NL, instead of the conversion being cancelled. Linux only.
    pub const CONVDEADLK: Flags = Flags(1 << 5);
    /// This wait is no part of a deadlock: it may be ended from elsewhere.
    pub const NODLCKWT: Flags = Flags(1 << 6);
    /// This lock is no part of a deadlock: its owner gives it up when a blocking AST asks for it. VMS only.
    pub const NODLCKBLK: Flags = Flags(1 << 7);
    /// Without regard to who waits. Linux only.
    pub const NOORDER: Flags = Flags(1 << 8);
    /// To the head of the queue. Linux only.
    pub const HEADQUE: Flags = Flags(1 << 9);

    /// What only Linux has.
    pub(super) const LINUX: Flags =
        Flags(Flags::IVVALBLK.0 | Flags::CONVDEADLK.0 | Flags::NOORDER.0 | Flags::HEADQUE.0);
    /// What only VMS has.
    pub(super) const VMS: Flags = Flags::NODLCKBLK;

    const NAMES: [(Flags, &'static str); 10] = [
        (Flags::NOQUEUE, "NOQUEUE"),
        (Flags::QUECVT, "QUECVT"),
        (Flags::EXPEDITE, "EXPEDITE"),
        (Flags::VALBLK, "VALBLK"),
        (Flags::IVVALBLK, "IVVALBLK"),
        (Flags::CONVDEADLK, "CONVDEADLK"),
        (Flags::NODLCKWT, "NODLCKWT"),
        (Flags::NODLCKBLK, "NODLCKBLK"),
        (Flags::NOORDER, "NOORDER"),
        (Flags::HEADQUE, "HEADQUE"),
    ];

    /// Whether it has any of these.
    pub const fn has(self, any: Flags) -> bool {
        self.0 & any.0 != 0
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, more: Flags) -> Flags {
        Flags(self.0 | more.0)
    }
}

impl Display for Flags {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for (flag, name) in Flags::NAMES {
            if self.has(flag) {
                write!(f, " {name}")?;
            }
        }
        Ok(())
    }
}

/// One lock of one process on one resource.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Lock {
    /// Whose.
    pub handle: Handle,
    /// In which mode it is granted; `None` of a new request that waits.
    pub granted: Option<Mode>,
    /// Which mode it waits for, if it waits.
    pub requested: Option<Mode>,
    /// Of its last operation.
    pub flags: Flags,
    /// The highest mode that its owner was told to be in the way of since its last grant (`lkb_highbast`).
    pub told: Option<Mode>,
    /// Its copy of the value block: what it was given, or wants to leave.
    pub value: Value,
    /// Whether its granted mode fell to NL while its last conversion was asked for (`DLM_SBF_DEMOTED`).
    pub is_demoted: bool,
}

/// The contents of a value block: as many bytes as the manager gives, told here as one number.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Value {
    /// What is in it.
    pub content: u32,
    /// How often it was written until then (`lkb_lvbseq`).
    pub sequence: u32,
}

/// How an operation ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Status {
    /// Granted (`SS$_NORMAL`, 0).
    Granted,
    /// Not at once, and NOQUEUE (`SS$_NOTQUEUED`, `-EAGAIN`).
    NotQueued,
    /// It would wait for ever (`SS$_DEADLOCK`, `-EDEADLK`). What is granted stays so.
    Deadlock,
    /// Its owner does not want it any more (`SS$_CANCEL`, `-DLM_ECANCEL`). What is granted stays so.
    Cancelled,
    /// It is off (`SS$_NORMAL` of `$DEQ`, `-DLM_EUNLOCK`).
    Released,
    /// It cannot be asked for (`SS$_BADPARAM`, `-EINVAL`, `-EBUSY`): nothing is changed.
    Refused(Refusal),
}

/// Why it cannot be asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Refusal {
    /// Flags that do not go together, or with these modes, or that this manager does not have.
    Flags,
    /// There is such a lock already, or there is none, or it is not granted, or nothing waits that could be cancelled.
    State,
    /// The parent is not a granted lock of the same process (`SS$_PARNOTGRANT`).
    Parent,
    /// It has sublocks (`SS$_SUBLOCKS`).
    Sublocks,
}

/// What the owner of a lock is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Notice {
    /// The completion AST: its operation ended.
    Completed {
        /// How.
        status: Status,
        /// In which mode the lock is granted now; `None`: it is off.
        granted: Option<Mode>,
        /// The value block, if it moved to the caller, and whether it is valid.
        value: Option<(Value, bool)>,
        /// Whether its granted mode fell to NL on the way (`DLM_SBF_DEMOTED`).
        is_demoted: bool,
    },
    /// Its operation was heard, and waits in a queue (`-EINPROGRESS`).
    Queued,
    /// The blocking AST: it is in the way of somebody who wants this mode.
    Blocks(Mode),
}

impl Display for Handle {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}'s lock {}", picklock_properties::ClientId(self.owner), self.number + 1)
    }
}

impl Display for Status {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Status::Granted => "granted",
            Status::NotQueued => "not queued",
            Status::Deadlock => "deadlock",
            Status::Cancelled => "cancelled",
            Status::Released => "released",
            Status::Refused(Refusal::Flags) => "refused: flags",
            Status::Refused(Refusal::State) => "refused: its state",
            Status::Refused(Refusal::Parent) => "refused: the parent is not granted",
            Status::Refused(Refusal::Sublocks) => "refused: it has sublocks",
        })
    }
}

impl Display for Notice {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Notice::Completed { status, granted, value, is_demoted } => {
                write!(f, "{status}")?;
                if let Some(mode) = granted {
                    write!(f, ", has {mode}")?;
                }
                if let Some((value, is_valid)) = value {
                    let validity = if *is_valid { "" } else { " (not valid)" };
                    write!(f, ", value {}{validity}", value.content)?;
                }
                if *is_demoted { f.write_str(", demoted on the way") } else { Ok(()) }
            }
            Notice::Queued => f.write_str("waits"),
            Notice::Blocks(mode) => write!(f, "in the way of {mode}"),
        }
    }
}
