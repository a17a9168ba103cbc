//! What is to come in a run, in the order of true time: an event heap, and an alarm clock per wish to be woken.

use picklock_model::machine::{Message, Node, Store};
use picklock_model::time::{Due, Micros};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that will happen at a time known beforehand.
#[derive(Debug)]
pub(crate) enum Pending<S: Store> {
    /// A message arrives.
    Message {
        from: Node,
        to: Node,
        /// Which life of the receiver it was sent to: a process that started again has other connections.
        life: u8,
        message: Message<S>,
    },
    /// A planned fault strikes.
    Fault { index: u32, struck: u8 },
    /// A planned fault that lasts ends: links are mended.
    Mend { index: u32, struck: u8 },
    /// A strobing clock steps again.
    Strobe { index: u32, struck: u8, left: u16 },
    /// A pause may be over.
    Resume { node: Node },
    /// A clock may go on.
    Thaw { node: Node },
    /// A process starts again, if it has not begun another life meanwhile.
    Restart { node: Node, life: u8 },
    /// Nothing goes wrong any more.
    Heal,
}

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// What lies in this slot.
    Slot(u32),
    /// This alarm.
    Alarm(usize),
}

/// Everything that is to come.
///
/// Order is (true time, sequence number); a key packs both, and the slot, into one number, so that the heap moves 16
/// bytes and messages stay where they lie. Alarms are few and move all the time (a request's time-out moves with every
/// request): a flat array with a known minimum beats pushing them into the heap and skipping the stale ones.
#[derive(Debug)]
pub(crate) struct Agenda<S: Store> {
    heap: BinaryHeap<Reverse<u128>>,
    slots: Vec<Option<Pending<S>>>,
    free: Vec<u32>,
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
const SLOT_BITS: u32 = 24;
const SEQUENCE_BITS: u32 = 40;

impl<S: Store> Agenda<S> {
    /// Nothing is to come.
    pub fn new() -> Self {
        Agenda {
            heap: BinaryHeap::with_capacity(64),
            slots: Vec::with_capacity(64),
            free: Vec::with_capacity(64),
            sequence: 0,
            alarms: Vec::new(),
            first: 0,
        }
    }

    /// Nothing is to come, and this many alarms can be set.
    pub fn reset(&mut self, alarms: usize) {
        self.heap.clear();
        self.slots.clear();
        self.free.clear();
        self.sequence = 0;
        self.alarms.clear();
        self.alarms.resize(alarms.max(1), SILENT);
        self.first = 0;
    }

    fn key(&mut self, at: Micros, slot: u32) -> u128 {
        debug_assert!(at >= Micros::ZERO && self.sequence < 1 << SEQUENCE_BITS);
        self.sequence += 1;
        (at.0 as u128) << 64 | u128::from(self.sequence << SLOT_BITS) | u128::from(slot)
    }

    /// Something will happen at `at`, after everything else that is to come at that time.
    pub fn push(&mut self, at: Micros, pending: Pending<S>) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(pending);
                slot
            }
            None => {
                self.slots.push(Some(pending));
                self.slots.len() as u32 - 1
            }
        };
        assert!(slot < 1 << SLOT_BITS, "16 million messages are under way at once");
        self.push_again(at, slot);
    }

    /// What lies in `slot` and was popped will happen at `at` instead.
    pub fn push_again(&mut self, at: Micros, slot: u32) {
        let key = self.key(at, slot);
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
    pub fn due(&self, alarm: usize) -> Option<Due> {
        self.alarms[alarm].due
    }

    /// When the next thing happens, and what.
    pub fn peek(&self) -> Option<(Micros, Next)> {
        let alarm = self.alarms[self.first].key;
        let (key, next) = match self.heap.peek() {
            Some(Reverse(key)) if *key < alarm => (*key, Next::Slot((*key as u32) & ((1 << SLOT_BITS) - 1))),
            Some(_) | None => (alarm, Next::Alarm(self.first)),
        };
        (key != u128::MAX).then_some((Micros((key >> 64) as i64), next))
    }

    /// Takes what [`Self::peek`] showed off the agenda; a slot's content stays until it is taken, too.
    pub fn pop(&mut self, next: Next) {
        match next {
            Next::Slot(_) => {
                self.heap.pop();
            }
            Next::Alarm(alarm) => self.set_alarm(alarm, None, None),
        }
    }

    /// What lies in a slot.
    pub fn pending(&self, slot: u32) -> &Pending<S> {
        self.slots[slot as usize].as_ref().expect("a slot is read only between its push and its take")
    }

    /// Takes what lies in a slot that was popped.
    pub fn take(&mut self, slot: u32) -> Pending<S> {
        self.free.push(slot);
        self.slots[slot as usize].take().expect("a slot is taken once for each push")
    }

    /// No message takes longer than until `latest`; order stays.
    pub fn hasten_messages(&mut self, latest: Micros) {
        let mut keys = std::mem::take(&mut self.heap).into_vec();
        for Reverse(key) in &mut keys {
            let slot = (*key as u32) & ((1 << SLOT_BITS) - 1);
            if matches!(self.pending(slot), Pending::Message { .. }) && *key >> 64 > latest.0 as u128 {
                *key = (latest.0 as u128) << 64 | (*key & u128::from(u64::MAX));
            }
        }
        self.heap = keys.into();
    }
}
