//! What is to come in a run, in the order of true time: an event heap, and an alarm clock per wish to be woken.

use picklock_model::machine::{Message, Node, Store};
use picklock_model::time::{Due, Micros};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that will happen at a time known beforehand, other than the arrival of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pending {
    /// A planned fault strikes.
    Fault {
        /// Its place in the plan.
        index: u32,
        /// The client that pulled its trigger.
        struck: u8,
    },
    /// A planned fault that lasts ends: links are mended.
    Mend {
        /// Its place in the plan.
        index: u32,
        /// The client that pulled its trigger.
        struck: u8,
    },
    /// A strobing clock steps again.
    Strobe {
        /// Its place in the plan.
        index: u32,
        /// The client that pulled its trigger.
        struck: u8,
        /// How many more steps it takes.
        left: u16,
    },
    /// A pause may be over.
    Resume {
        /// Whose.
        node: Node,
    },
    /// A clock may go on.
    Thaw {
        /// Whose.
        node: Node,
    },
    /// A process starts again, if it has not begun another life meanwhile.
    Restart {
        /// Whose.
        node: Node,
        /// Which life it had when it ended.
        life: u8,
    },
    /// Nothing goes wrong any more.
    Heal,
}

/// A message on its way.
#[derive(Debug)]
pub struct Parcel<S: Store> {
    /// Sender.
    pub from: Node,
    /// Receiver.
    pub to: Node,
    /// Which life of the receiver it was sent to: a process that started again has other connections.
    pub life: u8,
    /// Nobody will see it: it went with its sender, which crashed or lost power, or its connection was reset.
    pub unsent: bool,
    /// The step that sent it, as [`Step::sent_in`](picklock_model::trace::Step) counts them.
    pub sent_in: u32,
    message: Message<S>,
}

/// Where a message goes, and where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// Sender.
    pub from: Node,
    /// Receiver.
    pub to: Node,
    /// Which life of the receiver.
    pub life: u8,
    /// The step that sent it.
    pub sent_in: u32,
}

/// What lies where a message was taken from: costs nothing to write, and nothing to drop.
const fn taken<S: Store>() -> Message<S> {
    Message::Written { serial: 0, accepted: false }
}

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// The parcel in this slot arrives.
    Parcel(u32),
    /// This happens.
    Pending(Pending),
    /// This alarm rings.
    Alarm(usize),
}

/// Everything that is to come.
///
/// Order is (true time, sequence number); a key packs both, and the slot, into one number, so that the heap moves 16
/// bytes and messages stay where they lie. Alarms are few and move all the time (a request's time-out moves with every
/// request): a flat array with a known minimum beats pushing them into the heap and skipping the stale ones.
#[derive(Debug)]
pub struct Agenda<S: Store> {
    heap: BinaryHeap<Reverse<u128>>,
    parcels: Vec<Parcel<S>>,
    /// Slots of parcels that were taken.
    free: Vec<u32>,
    /// What else will happen. Never many in a run: slots are not used twice.
    pendings: Vec<Pending>,
    sequence: u64,
    alarms: Vec<Alarm>,
    /// The position of the alarm that rings first.
    first: usize,
}

#[derive(Clone, Copy, Debug)]
struct Alarm {
    key: u128,
    /// The wish it was set for.
    due: Option<Due>,
}

const SILENT: Alarm = Alarm { key: u128::MAX, due: None };
const SLOT_BITS: u32 = 23;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Set in the key of what is not a parcel.
const IS_PENDING: u32 = 1 << SLOT_BITS;
const SEQUENCE_SHIFT: u32 = SLOT_BITS + 1;
const SEQUENCE_BITS: u32 = 64 - SEQUENCE_SHIFT;

impl<S: Store> Agenda<S> {
    /// Nothing is to come.
    pub(crate) fn new() -> Self {
        Agenda {
            heap: BinaryHeap::with_capacity(64),
            parcels: Vec::with_capacity(64),
            free: Vec::with_capacity(64),
            pendings: Vec::new(),
            sequence: 0,
            alarms: Vec::new(),
            first: 0,
        }
    }

    /// Nothing is to come, and this many alarms can be set.
    pub fn reset(&mut self, alarms: usize) {
        self.heap.clear();
        self.parcels.clear();
        self.free.clear();
        self.pendings.clear();
        self.sequence = 0;
        self.alarms.clear();
        self.alarms.resize(alarms.max(1), SILENT);
        self.first = 0;
    }

    #[inline]
    fn key(&mut self, at: Micros, slot: u32) -> u128 {
        debug_assert!(at >= Micros::ZERO && self.sequence < 1 << SEQUENCE_BITS);
        self.sequence += 1;
        (at.0 as u128) << 64 | u128::from(self.sequence << SEQUENCE_SHIFT) | u128::from(slot)
    }

    /// A message arrives at `at`, after everything else that is to come at that time. It is taken from where it lies: it
    /// is large, and each move of it costs as much as the heap.
    #[inline]
    pub fn send(&mut self, at: Micros, route: Route, message: &mut Message<S>) {
        let Route { from, to, life, sent_in } = route;
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.parcels.push(Parcel { from, to, life, unsent: false, sent_in, message: taken() });
                self.parcels.len() as u32 - 1
            }
        };
        assert!(slot <= SLOT_MASK, "8 million messages are under way at once");
        let parcel = &mut self.parcels[slot as usize];
        (parcel.from, parcel.to, parcel.life, parcel.unsent) = (from, to, life, false);
        parcel.sent_in = sent_in;
        std::mem::swap(&mut parcel.message, message);
        self.send_again(at, slot);
    }

    /// A parcel that has come arrives at `at` instead.
    #[inline]
    pub fn send_again(&mut self, at: Micros, slot: u32) {
        let key = self.key(at, slot);
        self.heap.push(Reverse(key));
    }

    /// Something will happen at `at`, after everything else that is to come at that time.
    pub fn push(&mut self, at: Micros, pending: Pending) {
        let slot = self.pendings.len() as u32;
        assert!(slot <= SLOT_MASK, "a plan strikes 8 million times");
        self.pendings.push(pending);
        let key = self.key(at, slot | IS_PENDING);
        self.heap.push(Reverse(key));
    }

    /// Sets the alarm for `due`, which comes at `at` if ever.
    pub fn set_alarm(&mut self, alarm: usize, due: Option<Due>, at: Option<Micros>) {
        let key = at.map_or(u128::MAX, |at| self.key(at, 0));
        let old = std::mem::replace(&mut self.alarms[alarm], Alarm { key, due }).key;
        if key < self.alarms[self.first].key {
            self.first = alarm;
        } else if alarm == self.first && key > old {
            self.first = self.earliest();
        }
    }

    fn earliest(&self) -> usize {
        let mut first = 0;
        for (position, alarm) in self.alarms.iter().enumerate() {
            if alarm.key < self.alarms[first].key {
                first = position;
            }
        }
        first
    }

    /// The wish that the alarm is set for.
    #[inline]
    pub fn due(&self, alarm: usize) -> Option<Due> {
        self.alarms[alarm].due
    }

    /// When the next thing happens.
    #[inline]
    pub fn next_at(&self) -> Option<Micros> {
        let first = self.heap.peek().map_or(u128::MAX, |Reverse(key)| *key).min(self.alarms[self.first].key);
        (first != u128::MAX).then_some(Micros((first >> 64) as i64))
    }

    /// Takes the next thing off the agenda; a parcel stays in its slot until it is opened.
    #[inline]
    pub fn pop(&mut self) -> Option<Next> {
        let alarm = self.alarms[self.first].key;
        if self.heap.peek().is_some_and(|Reverse(key)| *key < alarm) {
            let Reverse(key) = self.heap.pop()?;
            let slot = key as u32 & SLOT_MASK;
            let is_pending = key as u32 & IS_PENDING != 0;
            return Some(if is_pending {
                Next::Pending(self.pendings[slot as usize])
            } else {
                Next::Parcel(slot)
            });
        }
        if alarm == u128::MAX {
            return None;
        }
        let first = self.first;
        self.set_alarm(first, None, None);
        Some(Next::Alarm(first))
    }

    /// The parcel in a slot.
    #[inline]
    pub fn parcel(&self, slot: u32) -> &Parcel<S> {
        &self.parcels[slot as usize]
    }

    /// Takes the message out of a parcel that was popped.
    #[inline]
    pub fn open(&mut self, slot: u32) -> Message<S> {
        self.free.push(slot);
        std::mem::replace(&mut self.parcels[slot as usize].message, taken())
    }

    /// Of the messages on their way from `node`, those that `is_lost` says go with it.
    pub fn lose_from(&mut self, node: Node, mut is_lost: impl FnMut() -> bool) {
        for slot in 0..self.parcels.len() {
            if self.parcels[slot].from == node && !self.free.contains(&(slot as u32)) && is_lost() {
                self.parcels[slot].unsent = true;
            }
        }
    }

    /// The connection between the two is reset: what they have said to each other and not taken yet is lost.
    pub fn lose_between(&mut self, one: Node, other: Node) {
        for slot in 0..self.parcels.len() {
            let Parcel { from, to, .. } = self.parcels[slot];
            let is_between = (from, to) == (one, other) || (from, to) == (other, one);
            if is_between && !self.free.contains(&(slot as u32)) {
                self.parcels[slot].unsent = true;
            }
        }
    }

    /// No message takes longer than until `latest`; order stays.
    pub fn hasten(&mut self, latest: Micros) {
        let mut keys = std::mem::take(&mut self.heap).into_vec();
        for Reverse(key) in &mut keys {
            if *key as u32 & IS_PENDING == 0 && *key >> 64 > latest.0 as u128 {
                *key = (latest.0 as u128) << 64 | (*key & u128::from(u64::MAX));
            }
        }
        self.heap = keys.into();
    }
}
