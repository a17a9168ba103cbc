//! What a process does with its locks, as data: the uses of the lock-manager article, *Distributed lock manager* ("Режимы блокировки",
//! "Получение блокировки").

use crate::stores::dlm::{Flags, Mode, Name};
use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// One step of a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Step {
    /// `$ENQ`, and waits until it is granted. The locks of a process are numbered as it takes them.
    Take(Name, Mode, Flags),
    /// Another mode for the lock of this number, and waits until it is granted.
    Convert(u8, Mode, Flags),
    /// Works on what it has.
    Work,
}

/// The steps of a process, one after the other; they take two locks at most. When it is through, all its locks are given back, the last one first. If one of its
/// requests is refused, it does so at once, and begins again.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Program(pub Vec<Step>);

/// The resource that most programs are about.
pub const R1: Name = Name::of(1);
/// Another one.
pub const R2: Name = Name::of(2);

impl Program {
    /// Takes one lock in this mode, and works: a readers-writer lock in PR and EX, a mutex in EX.
    pub fn holds(mode: Mode) -> Program {
        Program(vec![Step::Take(R1, mode, Flags::NONE), Step::Work])
    }

    /// Reads, then wants to write what it has read: PR, then EX.
    pub fn upgrades(flags: Flags) -> Program {
        Program(vec![Step::Take(R1, Mode::Pr, Flags::NONE), Step::Convert(0, Mode::Ex, flags), Step::Work])
    }

    /// Two locks in this order.
    pub fn both(first: Name, second: Name) -> Program {
        Program(vec![
            Step::Take(first, Mode::Ex, Flags::NONE),
            Step::Take(second, Mode::Ex, Flags::NONE),
            Step::Work,
        ])
    }

    /// One of those of whom one serves and the others stand by: NL, then EX as soon as nobody else has it (the lock-manager article,
    /// "активность только одной инстанции").
    pub fn stands_by() -> Program {
        Program(vec![
            Step::Take(R1, Mode::Nl, Flags::EXPEDITE),
            Step::Convert(0, Mode::Ex, Flags::QUECVT),
            Step::Work,
        ])
    }

    /// A page of a file: the intention on the file, then the page below it (the lock-manager article, "Ресурсы").
    pub fn page(page: u8) -> Program {
        Program(vec![
            Step::Take(R1, Mode::Cw, Flags::NONE),
            Step::Take(R1.below(page), Mode::Ex, Flags::NONE),
            Step::Work,
        ])
    }

    /// In which mode its first lock is when it works.
    pub fn working_mode(&self) -> Mode {
        let until = self.0.iter().take_while(|step| **step != Step::Work);
        let modes = until.enumerate().filter_map(|(place, step)| match step {
            Step::Take(_, mode, _) if place == 0 => Some(*mode),
            Step::Convert(0, mode, _) => Some(*mode),
            Step::Take(..) | Step::Convert(..) | Step::Work => None,
        });
        modes.last().unwrap_or(Mode::Nl)
    }
}

/// The variant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// What processes do; at least one.
    pub programs: Vec<Program>,
    /// Who does which.
    pub chosen: Chosen,
    /// What a process goes by while it converts with CONVDEADLK.
    pub believes: Believes,
    /// How often a process says that it is alive, and what it was not answered, if it does.
    pub alive_every: Option<Micros>,
}

/// Who does which program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Chosen {
    /// Process number *n* the *n*th, over and over.
    ByProcess,
    /// Each a drawn one, each time.
    Drawn,
}

/// What a process goes by while a conversion is under way that may be demoted (CONVDEADLK).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Believes {
    /// Nothing: its granted mode may have fallen to NL, and it is told with the completion.
    Nothing,
    /// The mode that it had, as every other conversion lets it.
    WhatItHad,
}

impl Default for Settings {
    /// A mutex.
    fn default() -> Settings {
        Settings {
            programs: vec![Program::holds(Mode::Ex)],
            chosen: Chosen::ByProcess,
            believes: Believes::Nothing,
            alive_every: None,
        }
    }
}
