//! Which lock manager it is: what VMS and Linux do differently, as settings.

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
