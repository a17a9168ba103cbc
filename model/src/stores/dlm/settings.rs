//! Which lock manager it is: what VMS and Linux do differently, as settings.

use super::recovery::Recovery;
use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// The variant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Whose flags and names it has.
    pub kind: Kind,
    /// What is done about deadlocks.
    pub deadlocks: Deadlocks,
    /// Who is given the value block.
    pub value_readers: ValueReaders,
    /// After how long a silence a process is taken for dead, and its locks are given on: `RECNXINTERVAL`, 20 seconds in VMS. `None`: never,
    /// and only its next life tells of its death. Where several nodes master resources it is a node that is taken for dead by another one, with
    /// the processes that live there ([`super::member`]).
    pub removed_after: Option<Micros>,
    /// What becomes of the locks when the node that masters them dies and another one comes in its place.
    pub new_master: NewMaster,
    /// Whether who waits is told so (`-EINPROGRESS`), as Linux does. Then it sends a new master what it waits for, and comes to stand in a queue
    /// there; where it is not told, it asks again.
    pub tells_who_waits: bool,
    /// When the locks of a dead process are given on.
    pub journals: Journals,
    /// Whether who is taken for dead is switched off first, and its locks are given on when that is done (Linux: `dlm_controld` waits for the fence
    /// daemon). The order to do so takes the way that all messages take, so that who is cut off or pauses is off when it hears of it, and
    /// everybody waits until then; a real fence has a way of its own, and is faster, not safer. Who is off stays off: nobody switches it on.
    pub fences: bool,
    /// Whether nodes go on only where they are more than half of all (VMS: `EXPECTED_VOTES`, one vote each; Linux: `enable_quorum_lockspace`).
    /// It matters where one that is silent is taken for dead.
    pub quorum: bool,
}

/// When the locks of a dead process are given on that has left something in its journal. Who knows nothing of journals has none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Journals {
    /// When a survivor has replayed it: gfs2 (`DFL_BLOCK_LOCKS` until all journals are recovered), ocfs2 (`ocfs2_wait_for_recovery`).
    ReplayedFirst,
    /// At once, and it is replayed meanwhile (row V4; ocfs2, 814ce69432bf).
    ReplayedMeanwhile,
}

/// What becomes of the locks when the node that masters them dies and another one comes in its place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum NewMaster {
    /// Nothing: it does not die, or has them all the same.
    HasAll,
    /// It has none, and begins anew.
    HasNone,
    /// It asks their owners, and hears nothing else meanwhile.
    Asks {
        /// How it puts them together.
        recovery: Recovery,
        /// Who is asked, and heard before the gate opens: so many processes, and those that it has heard of. Where no process says again what is
        /// not answered, all must be asked, for a first request may have died with the master; where they do, 0 will do.
        members: u8,
        /// Whether it counts an answer only if it is one to this recovery's question, and not to that of a recovery that was given up (row V6).
        minds_epoch: bool,
    },
}

/// Whose flags and names it has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// Sublocks have parents, and names are scoped by them. No CONVDEADLK, NOORDER, HEADQUE, IVVALBLK.
    Vms,
    /// The parent is an argument that is not looked at. No NODLCKBLK.
    Linux,
}

/// What is done about deadlocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Deadlocks {
    /// Nothing, unless a conversion says CONVDEADLK: Linux until 2007 (c85d65e91430, "cancel in conversion deadlock").
    Left,
    /// A conversion whose granted mode blocks one that waits already is refused at once: Linux. Other circles are not looked for.
    InPlace,
    /// Some time after a request began to wait, circles of waits are looked for, and of each one request is refused: VMS.
    Searched {
        /// `DEADLOCK_WAIT`.
        after: Micros,
    },
}

/// Who is given the value block with a grant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ValueReaders {
    /// Whoever asks for it (`dlm_lvb_operations`: a new NL lock as well).
    Everybody,
    /// "Any kind of lock but NULL" (the lock-manager article, *Distributed lock manager*, "Блок значения блокировки").
    AllButNull,
}

impl Settings {
    /// VMS, as its manuals describe it; `DEADLOCK_WAIT` is 10 seconds there.
    pub const VMS: Settings = Settings {
        kind: Kind::Vms,
        deadlocks: Deadlocks::Searched { after: Micros::seconds(10) },
        value_readers: ValueReaders::Everybody,
        removed_after: None,
        new_master: NewMaster::HasAll,
        tells_who_waits: false,
        journals: Journals::ReplayedFirst,
        fences: false,
        quorum: true,
    };

    /// Linux, as its kernel has it.
    pub const LINUX: Settings =
        Settings { kind: Kind::Linux, deadlocks: Deadlocks::InPlace, ..Settings::VMS };
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::LINUX
    }
}
