//! A resource with its three queues: what each operation does to them, and who is told.
//!
//! ```text
//!   request ──▶ WAITING ─────────┐
//!                                ▼
//!             CONVERTING ────▶ GRANTED ──▶ release
//!                 ▲              │
//!                 └── convert ───┘
//! ```
//!
//! Source: Linux, `fs/dlm/lock.c`, whose functions each of these names; it cites R. Davis, *VAXcluster Principles*, chapter 6.
//! When a lock may be granted is [`super::grant`]'s.

use super::grant::When;
use super::lock::{Flags, Handle, Lock, Notice, Refusal, Status, Value};
use super::mode::{Mode, ValueMoves};
use super::settings::{Deadlocks, Kind, Settings, ValueReaders};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Something that processes want to use, each in some mode.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Resource {
    /// Granted, and not converting.
    pub granted: Queue,
    /// Granted in one mode, and waiting for another.
    pub converting: Queue,
    /// Not granted yet.
    pub waiting: Queue,
    /// The value block.
    pub value: Value,
    /// Whether it is not known to be what was written last (`RSB_VALNOTVALID`).
    pub is_doubtful: bool,
    /// Whether conversions came to stand in an order that is nobody's, and are granted without regard to it (`RSB_RECOVER_GRANT`).
    pub is_out_of_order: bool,
}

/// Locks, the first one first.
pub type Queue = SmallVec<[Lock; 2]>;

/// What is told to whom, in the order in which it is.
pub type Notices = Vec<(Handle, Notice)>;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Wish {
    /// In which mode.
    pub mode: Mode,
    /// How.
    pub flags: Flags,
    /// What the value block is to hold, if it moves to the resource.
    pub value: u32,
}

impl Resource {
    /// Whether nobody has a lock on it any more: it is forgotten, with its value block.
    pub fn is_unused(&self) -> bool {
        self.locks().next().is_none()
    }

    /// Every lock: granted, converting, waiting.
    pub fn locks(&self) -> impl Iterator<Item = &Lock> {
        self.granted.iter().chain(&self.converting).chain(&self.waiting)
    }

    /// The lock of this handle.
    pub fn lock(&self, handle: Handle) -> Option<&Lock> {
        self.locks().find(|lock| lock.handle == handle)
    }

    pub(super) fn lock_mut(&mut self, handle: Handle) -> Option<&mut Lock> {
        let queues = [&mut self.granted, &mut self.converting, &mut self.waiting];
        queues.into_iter().flatten().find(|lock| lock.handle == handle)
    }

    /// A new lock (`do_request`).
    pub fn request(&mut self, handle: Handle, wish: Wish, settings: &Settings, notices: &mut Notices) {
        let is_there = self.lock(handle).is_some();
        if let Err(refusal) = wish.check(None, settings).and(refuse_if(is_there, Refusal::State)) {
            return refuse(handle, None, refusal, notices);
        }
        let lock = Lock {
            handle,
            granted: None,
            requested: Some(wish.mode),
            flags: wish.flags,
            told: None,
            value: Value { content: wish.value, sequence: 0 },
            is_demoted: false,
        };
        if self.may_be_granted(&lock, When::Now) {
            self.granted.push(lock);
            return self.grant(handle, settings, notices);
        }
        if wish.flags.has(Flags::NOQUEUE) {
            return notices.push((handle, completed(Status::NotQueued, None)));
        }
        enqueue(&mut self.waiting, lock);
        self.tell_those_in_the_way(handle, wish.mode, notices);
    }

    /// Another mode for a granted lock (`do_convert`).
    pub fn convert(&mut self, handle: Handle, wish: Wish, settings: &Settings, notices: &mut Notices) {
        let has = self.granted.iter_mut().find(|lock| lock.handle == handle);
        let Some(lock) = has else {
            let granted = self.lock(handle).and_then(|lock| lock.granted);
            return refuse(handle, granted, Refusal::State, notices);
        };
        if let Err(refusal) = wish.check(lock.granted, settings) {
            return refuse(handle, lock.granted, refusal, notices);
        }
        (lock.requested, lock.flags, lock.is_demoted) = (Some(wish.mode), wish.flags, false);
        if lock.granted.is_some_and(Mode::writes_value) {
            lock.value.content = wish.value;
        }
        let mut lock = *lock;
        if self.may_be_granted(&lock, When::Now) {
            self.grant(handle, settings, notices);
            return self.grant_pending(settings, notices);
        }
        if !wish.flags.has(Flags::NOQUEUE) && self.is_in_the_way_of_a_conversion(&lock) {
            if wish.flags.has(Flags::CONVDEADLK) {
                (lock.granted, lock.is_demoted) = (Some(Mode::Nl), true);
            } else if settings.deadlocks == Deadlocks::InPlace && !wish.flags.has(Flags::NODLCKWT) {
                let Some(lock) = self.lock_mut(handle) else { unreachable!("it is granted") };
                lock.requested = None;
                return notices.push((handle, completed(Status::Deadlock, lock.granted)));
            }
        }
        if lock.is_demoted {
            if let Some(there) = self.lock_mut(handle) {
                *there = lock;
            }
            self.grant_converting(settings, notices);
            if self.may_be_granted(&lock, When::Now) {
                self.grant(handle, settings, notices);
                return self.grant_pending(settings, notices);
            }
        }
        if wish.flags.has(Flags::NOQUEUE) {
            if let Some(lock) = self.lock_mut(handle) {
                lock.requested = None;
            }
            return notices.push((handle, completed(Status::NotQueued, lock.granted)));
        }
        self.granted.retain(|lock| lock.handle != handle);
        enqueue(&mut self.converting, lock);
        self.tell_those_in_the_way(handle, wish.mode, notices);
    }

    /// A granted lock goes off (`do_unlock`).
    pub fn release(
        &mut self,
        handle: Handle,
        flags: Flags,
        value: u32,
        settings: &Settings,
        notices: &mut Notices,
    ) {
        let Some(lock) = self.granted.iter().find(|lock| lock.handle == handle).copied() else {
            let granted = self.lock(handle).and_then(|lock| lock.granted);
            return refuse(handle, granted, Refusal::State, notices);
        };
        if lock.granted.is_some_and(Mode::writes_value) {
            self.leave_value(flags, value);
        }
        self.granted.retain(|lock| lock.handle != handle);
        notices.push((handle, completed(Status::Released, None)));
        self.grant_pending(settings, notices);
    }

    /// What waits does not wait any more (`do_cancel`), by its owner's wish or to end a deadlock.
    pub fn cancel(&mut self, handle: Handle, status: Status, settings: &Settings, notices: &mut Notices) {
        let Some(lock) = self.lock(handle).copied().filter(|lock| lock.requested.is_some()) else {
            let granted = self.lock(handle).and_then(|lock| lock.granted);
            return refuse(handle, granted, Refusal::State, notices);
        };
        self.waiting.retain(|lock| lock.handle != handle);
        self.converting.retain(|lock| lock.handle != handle);
        if lock.granted.is_some() {
            self.granted.push(Lock { requested: None, ..lock });
        }
        let notice =
            Notice::Completed { status, granted: lock.granted, value: None, is_demoted: lock.is_demoted };
        notices.push((handle, notice));
        self.grant_pending(settings, notices);
    }

    /// Its owner is dead (`dlm_recover_purge`, `dlm_purge_lkb`): nobody is told. What it might have written is in doubt.
    pub fn purge(&mut self, owner: u8, settings: &Settings, notices: &mut Notices) {
        let is_its = |lock: &Lock| lock.handle.owner == owner;
        let wrote = |lock: &Lock| is_its(lock) && lock.granted.is_some_and(Mode::writes_value);
        if !self.locks().any(is_its) {
            return;
        }
        self.is_doubtful |= self.granted.iter().chain(&self.converting).any(wrote);
        for queue in [&mut self.granted, &mut self.converting, &mut self.waiting] {
            queue.retain(|lock| !is_its(lock));
        }
        self.grant_pending(settings, notices);
    }

    /// The lock, in whatever queue it is, is granted what it asked for (`grant_lock`), and its owner is told.
    pub(super) fn grant(&mut self, handle: Handle, settings: &Settings, notices: &mut Notices) {
        let Some(mut lock) = self.lock(handle).copied() else { unreachable!("it is there") };
        let Some(mode) = lock.requested else { unreachable!("it asks for something") };
        let value = self.move_value(&mut lock, mode, settings);
        (lock.granted, lock.requested, lock.told) = (Some(mode), None, None);
        for queue in [&mut self.converting, &mut self.waiting] {
            queue.retain(|queued| queued.handle != handle);
        }
        match self.granted.iter_mut().find(|granted| granted.handle == handle) {
            Some(granted) => *granted = lock,
            None => self.granted.push(lock),
        }
        let (status, granted, is_demoted) = (Status::Granted, Some(mode), lock.is_demoted);
        notices.push((handle, Notice::Completed { status, granted, value, is_demoted }));
    }

    /// `set_lvb_lock`.
    fn move_value(&mut self, lock: &mut Lock, mode: Mode, settings: &Settings) -> Option<(Value, bool)> {
        match Mode::value_moves(lock.granted, mode) {
            ValueMoves::ToCaller => {
                let is_given = mode != Mode::Nl || settings.value_readers == ValueReaders::Everybody;
                if !lock.flags.has(Flags::VALBLK) || !is_given {
                    return None;
                }
                lock.value = self.value;
                Some((self.value, !self.is_doubtful))
            }
            ValueMoves::ToResource => {
                self.leave_value(lock.flags, lock.value.content);
                lock.value.sequence = self.value.sequence;
                None
            }
            ValueMoves::Nowhere => None,
        }
    }

    /// `set_lvb_unlock`, and the half of `set_lvb_lock` that is like it.
    fn leave_value(&mut self, flags: Flags, content: u32) {
        if flags.has(Flags::IVVALBLK) {
            self.is_doubtful = true;
        } else if flags.has(Flags::VALBLK) {
            self.value = Value { content, sequence: self.value.sequence + 1 };
            self.is_doubtful = false;
        }
    }

    /// Who holds and bears less than the mode that now waits is told so, once for each higher mode (`send_blocking_asts`). CW and PR
    /// stand one above the other, and neither bears the other.
    fn tell_those_in_the_way(&mut self, waits: Handle, mode: Mode, notices: &mut Notices) {
        for lock in self.granted.iter_mut().filter(|lock| lock.handle != waits) {
            let Some(granted) = lock.granted else { continue };
            let is_to_be_told = match (granted, mode) {
                (Mode::Pr, Mode::Cw) | (Mode::Cw, Mode::Pr) => lock.told < Some(Mode::Ex),
                _ => lock.told < Some(mode) && !granted.goes_beside(mode),
            };
            if is_to_be_told {
                lock.told = Some(mode);
                notices.push((lock.handle, Notice::Blocks(mode)));
            }
        }
    }

    /// The same after something changed, for the highest mode that still waits (`grant_pending_locks`, `lock_requires_bast`).
    pub(super) fn tell_those_still_in_the_way(&mut self, notices: &mut Notices) {
        let wanted = || self.converting.iter().chain(&self.waiting).filter_map(|lock| lock.requested);
        let (highest, wants_cw) = (wanted().max(), wanted().any(|mode| mode == Mode::Cw));
        let Some(highest) = highest else { return };
        for lock in &mut self.granted {
            let Some(granted) = lock.granted else { continue };
            let is_to_be_told = match granted {
                Mode::Pr if wants_cw => lock.told < Some(Mode::Ex),
                _ => lock.told < Some(highest) && !granted.goes_beside(highest),
            };
            if is_to_be_told {
                let is_cw = wants_cw && highest == Mode::Pr && granted == Mode::Pr;
                notices.push((lock.handle, Notice::Blocks(if is_cw { Mode::Cw } else { highest })));
                lock.told = Some(highest);
            }
        }
    }
}

fn enqueue(queue: &mut Queue, lock: Lock) {
    let place = if lock.flags.has(Flags::HEADQUE) { 0 } else { queue.len() };
    queue.insert(place, lock);
}

impl Wish {
    /// `set_lock_args` and `validate_lock_args`: which flags go with what.
    fn check(self, granted: Option<Mode>, settings: &Settings) -> Result<(), Refusal> {
        let Wish { mode, flags, .. } = self;
        let foreign = match settings.kind {
            Kind::Vms => Flags::LINUX,
            Kind::Linux => Flags::VMS,
        };
        let is_bad = match granted {
            None => flags.has(Flags::QUECVT.and(Flags::CONVDEADLK)),
            Some(granted) => {
                flags.has(Flags::EXPEDITE)
                    || flags.has(Flags::QUECVT) && !granted.may_queue_for(mode)
                    || flags.has(Flags::CONVDEADLK) && flags.has(Flags::NOQUEUE)
            }
        };
        let is_bad = is_bad
            || flags.has(Flags::EXPEDITE) && (flags.has(Flags::NOQUEUE) || mode != Mode::Nl)
            || flags.has(foreign);
        refuse_if(is_bad, Refusal::Flags)
    }
}

fn refuse_if(is_bad: bool, refusal: Refusal) -> Result<(), Refusal> {
    if is_bad { Err(refusal) } else { Ok(()) }
}

fn completed(status: Status, granted: Option<Mode>) -> Notice {
    Notice::Completed { status, granted, value: None, is_demoted: false }
}

fn refuse(handle: Handle, granted: Option<Mode>, refusal: Refusal, notices: &mut Notices) {
    notices.push((handle, completed(Status::Refused(refusal), granted)));
}
