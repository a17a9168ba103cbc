//! The rules once more, as one would explain them, without queues: locks with the moments at which they began to wait. It shares
//! nothing with the manager but the names of modes and flags; who goes beside whom it reads from the table of the lock-manager article,
//! *Distributed lock manager*.

use super::super::{Flags, Mode};

/// "Следующая таблица истинности": the lock-manager article, "Режимы блокировки".
const DOCUMENT: &str = "\
NL | Да | Да | Да | Да | Да | Да |
CR | Да | Да | Да | Да | Да | Нет |
CW | Да | Да | Да | Нет | Нет | Нет |
PR | Да | Да | Нет | Да | Нет | Нет |
PW | Да | Да | Нет | Нет | Нет | Нет |
EX | Да | Нет | Нет | Нет | Нет | Нет |";

pub fn document_says(one: Mode, other: Mode) -> bool {
    let row = DOCUMENT.lines().nth(one as usize).unwrap();
    let cell = row.split(" | ").nth(1 + other as usize).unwrap();
    cell.trim_end_matches(" |") == "Да"
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Naive {
    pub owner: u8,
    pub has: Option<Mode>,
    pub wants: Option<Mode>,
    since: i32,
    skips_order: bool,
}

/// What an operation comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Granted,
    Queued,
    NotQueued,
    Deadlock,
    Off,
    Cancelled,
}

#[derive(Clone, Default, Debug)]
pub struct Rules {
    pub locks: Vec<Naive>,
}

impl Rules {
    /// As if whoever waits had come in this order.
    pub fn add(&mut self, owner: u8, has: Option<Mode>, wants: Option<Mode>, flags: Flags) {
        let since = self.locks.len() as i32;
        self.locks.push(Naive { owner, has, wants, since, skips_order: flags.has(Flags::NOORDER) });
    }

    fn fits(&self, lock: &Naive) -> bool {
        let others = self.locks.iter().filter(|other| other.owner != lock.owner);
        others.filter_map(|other| other.has).all(|has| document_says(has, lock.wants.unwrap()))
    }

    fn converts(&self) -> impl Iterator<Item = &Naive> {
        self.locks.iter().filter(|lock| lock.has.is_some() && lock.wants.is_some())
    }

    fn come(&self) -> impl Iterator<Item = &Naive> {
        self.locks.iter().filter(|lock| lock.has.is_none())
    }

    /// Conversions first, in the order in which they came; then, if none waits any more, requests in theirs. Until nothing changes.
    pub fn settle(&mut self) {
        loop {
            let first = |lock: &&Naive, all: Vec<&Naive>| all.iter().all(|other| other.since >= lock.since);
            let may = |lock: &&Naive| {
                let in_turn = match lock.has {
                    Some(_) => first(lock, self.converts().collect()),
                    None => self.converts().next().is_none() && first(lock, self.come().collect()),
                };
                lock.wants.is_some() && self.fits(lock) && (in_turn || lock.skips_order)
            };
            let mut next: Vec<Naive> = self.locks.iter().filter(may).copied().collect();
            next.sort_by_key(|lock| (lock.has.is_none(), lock.since));
            let Some(next) = next.first() else { return };
            let lock = self.locks.iter_mut().find(|lock| lock.owner == next.owner).unwrap();
            (lock.has, lock.wants) = (lock.wants, None);
        }
    }

    fn queue(&mut self, mut lock: Naive, flags: Flags) -> Outcome {
        lock.since = match flags.has(Flags::HEADQUE) {
            true => self.locks.iter().map(|lock| lock.since).min().unwrap_or(0) - 1,
            false => self.locks.iter().map(|lock| lock.since).max().unwrap_or(0) + 1,
        };
        self.locks.retain(|other| other.owner != lock.owner);
        self.locks.push(lock);
        Outcome::Queued
    }

    pub fn request(&mut self, owner: u8, mode: Mode, flags: Flags) -> Outcome {
        let skips_order = flags.has(Flags::NOORDER);
        let lock = Naive { owner, has: None, wants: Some(mode), since: 0, skips_order };
        let nobody_waits = self.locks.iter().all(|lock| lock.wants.is_none());
        if flags.has(Flags::EXPEDITE) || self.fits(&lock) && (nobody_waits || skips_order) {
            self.locks.push(Naive { has: Some(mode), wants: None, ..lock });
            return Outcome::Granted;
        }
        if flags.has(Flags::NOQUEUE) {
            return Outcome::NotQueued;
        }
        self.queue(lock, flags)
    }

    pub fn convert(&mut self, owner: u8, mode: Mode, flags: Flags, refuses: bool) -> Outcome {
        let at = self.locks.iter().position(|lock| lock.owner == owner).unwrap();
        let mut lock = Naive { wants: Some(mode), skips_order: flags.has(Flags::NOORDER), ..self.locks[at] };
        let waits_behind = flags.has(Flags::QUECVT) && self.converts().next().is_some();
        if self.fits(&lock) && !waits_behind {
            self.locks[at].has = Some(mode);
            self.settle();
            return Outcome::Granted;
        }
        if flags.has(Flags::NOQUEUE) {
            return Outcome::NotQueued;
        }
        let is_in_the_way =
            self.converts().any(|other| !document_says(lock.has.unwrap(), other.wants.unwrap()));
        if is_in_the_way && flags.has(Flags::CONVDEADLK) {
            self.locks[at].has = Some(Mode::Nl);
            lock.has = Some(Mode::Nl);
            // Only conversions: requests would have to wait for this one.
            let come: Vec<Naive> = self.come().copied().collect();
            self.locks.retain(|lock| lock.has.is_some());
            self.settle();
            self.locks.extend(come);
            let waits_behind = flags.has(Flags::QUECVT) && self.converts().next().is_some();
            if self.fits(&lock) && !waits_behind {
                self.locks.iter_mut().find(|lock| lock.owner == owner).unwrap().has = Some(mode);
                self.settle();
                return Outcome::Granted;
            }
        } else if is_in_the_way && refuses && !flags.has(Flags::NODLCKWT) {
            return Outcome::Deadlock;
        }
        self.queue(lock, flags)
    }

    pub fn release(&mut self, owner: u8) -> Outcome {
        self.locks.retain(|lock| lock.owner != owner);
        self.settle();
        Outcome::Off
    }

    pub fn cancel(&mut self, owner: u8) -> Outcome {
        let at = self.locks.iter().position(|lock| lock.owner == owner).unwrap();
        match self.locks[at].has {
            Some(_) => self.locks[at].wants = None,
            None => drop(self.locks.remove(at)),
        }
        self.settle();
        Outcome::Cancelled
    }
}
