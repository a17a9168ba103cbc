//! The six modes and their tables, as data: who goes beside whom, which conversions may be told to queue, and which way the
//! value block moves.
//!
//! Source: the lock-manager article, *Distributed lock manager*, "Режимы блокировки" (compatibility); Linux, `fs/dlm/lock.c`:
//! `__dlm_compat_matrix`,
//! `__quecvt_compat_matrix`, `dlm_lvb_operations`. The document has the first table only, and it is the kernel's.

use picklock_properties::{Access, AccessModes};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// How much a lock lets others do beside it. The order is the kernel's: later bears less, but CW and PR, of which neither
/// bears the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Mode {
    /// Null: interest, and no more.
    Nl,
    /// Concurrent read: reads, and others may write.
    Cr,
    /// Concurrent write: writes, and others may write.
    Cw,
    /// Protected read: reads, and nobody writes.
    Pr,
    /// Protected write: writes, and others read at their own risk.
    Pw,
    /// Exclusive: nobody else but NL.
    Ex,
}

use Mode::{Cr, Cw, Ex, Nl, Pr, Pw};

/// Row and column in the order of [`Mode::ALL`]; `#` is yes.
type Table = [[u8; 6]; 6];

/// `__dlm_compat_matrix`.
const COMPATIBLE: Table = [*b"######", *b"#####.", *b"###...", *b"##.#..", *b"##....", *b"#....."];

/// `__quecvt_compat_matrix`: the granted mode is the row, the requested one the column.
const QUEUES: Table = [*b".#####", *b"..####", *b"...###", *b"..#.##", *b".....#", *b"......"];

/// `dlm_lvb_operations`, the granted mode is the row: `<` to the caller, `>` to the resource, `.` nowhere.
const VALUES: Table = [*b"<<<<<<", *b".<<<<<", *b"..<<<<", *b"...<<<", *b">>>>><", *b">>>>>>"];

/// Which way the value block moves with a grant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueMoves {
    /// From the resource to whoever is granted.
    ToCaller,
    /// From whoever is granted to the resource.
    ToResource,
    /// Nowhere.
    Nowhere,
}

impl Mode {
    /// All six, the one that bears most first.
    pub const ALL: [Mode; 6] = [Nl, Cr, Cw, Pr, Pw, Ex];

    /// Whether a lock may be granted in the one mode while another is granted in the other.
    pub fn goes_beside(self, other: Mode) -> bool {
        COMPATIBLE[self as usize][other as usize] == b'#'
    }

    /// Whether a conversion from this granted mode to that one may be told to queue behind others (QUECVT). Others are refused.
    pub fn may_queue_for(self, requested: Mode) -> bool {
        QUEUES[self as usize][requested as usize] == b'#'
    }

    /// Which way the value block moves when a lock of this granted mode, if it has one yet, is granted another.
    pub fn value_moves(granted: Option<Mode>, requested: Mode) -> ValueMoves {
        let Some(granted) = granted else { return ValueMoves::ToCaller };
        match VALUES[granted as usize][requested as usize] {
            b'<' => ValueMoves::ToCaller,
            b'>' => ValueMoves::ToResource,
            _ => ValueMoves::Nowhere,
        }
    }

    /// Whether its holder may change what the resource stands for, and with it the value block.
    pub fn writes_value(self) -> bool {
        self >= Pw
    }

    /// Its place in [`AccessModes::DLM`], which begins with the mode that bears least.
    pub fn access(self) -> Access {
        Access(Ex as u8 - self as u8)
    }

    /// The mode of this place in [`AccessModes::DLM`]; those beyond its end are NL.
    pub fn of(access: Access) -> Mode {
        Mode::ALL[usize::from((Ex as u8).saturating_sub(access.0))]
    }
}

impl Display for Mode {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", AccessModes::DLM.name(self.access()))
    }
}
