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
    /// and only its next life tells of its death.
    pub removed_after: Option<Micros>,
    /// What becomes of the locks when the node that masters them dies and another one comes in its place.
    pub new_master: NewMaster,
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
    /// "Any kind of lock but NULL" (document 004, "Блок значения блокировки").
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
