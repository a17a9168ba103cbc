//! Coverage marks: the rare situations that a run got into, whether or not anything broke in them.
//!
//! A fault that struck proves little: what a lock has to survive is the situation, the holder paused and not just anybody,
//! the reply lost and not just any message. Each [`Mark`] is one such situation, counted where it arises ([`crate::seeded::run`]);
//! a sweep that never met it says nothing about it. [`Features`] are the same, finer and without names: where in their
//! listings clients stood when something struck. A guided search keeps the plans that met new ones.

use picklock_model::machine::Line;
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::ops::AddAssign;

/// A rare situation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Somebody was in its critical section for longer than its lease lasts, in true time since grant or renewal.
    LeaseOutlived,
    /// Somebody was granted while another one was in its critical section.
    GrantedWhileHeld,
    /// Who crashed before it had given the lock back was granted it again.
    GrantedAgain,
    /// Somebody paused in its critical section.
    HolderPaused,
    /// Somebody crashed in its critical section.
    HolderCrashed,
    /// A renewal was under way when its holder left.
    LeftRenewing,
    /// A reply was lost: its request was applied, and its client does not know.
    ReplyLost,
    /// A client whose reply was lost waited in vain, and asked the same server again.
    AskedAgain,
    /// A watch fired, and its message never arrived.
    WatchUnheard,
    /// A message arrived for a process that had ended.
    DeadReceiver,
    /// A server lost power while somebody was in its critical section.
    PowerLostWhileHeld,
    /// Another server took the lead while somebody was in its critical section.
    LeaderChanged,
}

impl Mark {
    /// Every mark, in the order of every table.
    pub const ALL: [Mark; 12] = [
        Mark::LeaseOutlived,
        Mark::GrantedWhileHeld,
        Mark::GrantedAgain,
        Mark::HolderPaused,
        Mark::HolderCrashed,
        Mark::LeftRenewing,
        Mark::ReplyLost,
        Mark::AskedAgain,
        Mark::WatchUnheard,
        Mark::DeadReceiver,
        Mark::PowerLostWhileHeld,
        Mark::LeaderChanged,
    ];

    /// The name that JSON carries.
    pub fn name(self) -> &'static str {
        match self {
            Mark::LeaseOutlived => "lease-outlived",
            Mark::GrantedWhileHeld => "granted-while-held",
            Mark::GrantedAgain => "granted-again",
            Mark::HolderPaused => "holder-paused",
            Mark::HolderCrashed => "holder-crashed",
            Mark::LeftRenewing => "left-renewing",
            Mark::ReplyLost => "reply-lost",
            Mark::AskedAgain => "asked-again",
            Mark::WatchUnheard => "watch-unheard",
            Mark::DeadReceiver => "dead-receiver",
            Mark::PowerLostWhileHeld => "power-lost-while-held",
            Mark::LeaderChanged => "leader-changed",
        }
    }

    /// The situation in one line.
    pub fn description(self) -> &'static str {
        match self {
            Mark::LeaseOutlived => "held for longer than the lease lasts",
            Mark::GrantedWhileHeld => "granted while another client held",
            Mark::GrantedAgain => "crashed before the release was done, and granted again",
            Mark::HolderPaused => "paused while holding",
            Mark::HolderCrashed => "crashed while holding",
            Mark::LeftRenewing => "left while a renewal was under way",
            Mark::ReplyLost => "a reply lost after its request was applied",
            Mark::AskedAgain => "the same server asked again after its reply was lost",
            Mark::WatchUnheard => "a watch fired, and nobody heard of it",
            Mark::DeadReceiver => "a message arrived for a process that had ended",
            Mark::PowerLostWhileHeld => "a server lost power while somebody held",
            Mark::LeaderChanged => "another server took the lead while somebody held",
        }
    }
}

impl Display for Mark {
    /// The [name](Mark::name), padded as the format asks.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// How often each situation arose.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Marks([u64; Mark::ALL.len()]);

impl Marks {
    /// Once more.
    pub(crate) fn count(&mut self, mark: Mark) {
        self.0[mark as usize] += 1;
    }

    /// How often.
    pub fn times(&self, mark: Mark) -> u64 {
        self.0[mark as usize]
    }

    /// Every mark, with how often.
    pub fn iter(&self) -> impl Iterator<Item = (Mark, u64)> {
        Mark::ALL.into_iter().zip(self.0)
    }
}

impl AddAssign for Marks {
    fn add_assign(&mut self, other: Marks) {
        self.0.iter_mut().zip(other.0).for_each(|(times, more)| *times += more);
    }
}

/// Every mark with its count, those that never arose with 0.
impl Serialize for Marks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (mark, times) in self.iter() {
            map.serialize_entry(&mark, &times)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Marks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Marks, D::Error> {
        let times = BTreeMap::<Mark, u64>::deserialize(deserializer)?;
        let one = |mark: Mark| {
            times.get(&mark).copied().ok_or_else(|| D::Error::custom(format!("the mark {mark} is missing")))
        };
        let mut marks = Marks::default();
        for mark in Mark::ALL {
            marks.0[mark as usize] = one(mark)?;
        }
        Ok(marks)
    }
}

/// What strikes a run, as far as features tell strikes apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blow {
    Pause,
    Crash,
    PowerLoss,
    Clock,
    ClockAhead,
    ClockBack,
    Cut,
    Slow,
    LostRequest,
    LostReply,
    /// One of the situations above.
    Mark(Mark),
}

impl Blow {
    /// How many there are.
    pub const COUNT: usize = 10 + Mark::ALL.len();

    /// Its number, below [`Self::COUNT`].
    pub fn number(self) -> u8 {
        match self {
            Blow::Pause => 0,
            Blow::Crash => 1,
            Blow::PowerLoss => 2,
            Blow::Clock => 3,
            Blow::ClockAhead => 4,
            Blow::ClockBack => 5,
            Blow::Cut => 6,
            Blow::Slow => 7,
            Blow::LostRequest => 8,
            Blow::LostReply => 9,
            Blow::Mark(mark) => 10 + mark as u8,
        }
    }
}

/// In what a blow found the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// The client that was struck, at this line.
    Struck(Line),
    /// A client at this line, when a server or a link was struck.
    Bystander(Line),
    /// The run, after a blow of this number.
    After(u8),
    /// The run, after so many of the same kind since the last grant.
    Again(u8),
}

/// Which pairs of a blow and what it found a run has had: in no order, and hashed into so few bits that now and then two of
/// them count as one, which costs a search a hint and no run its verdict.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Features([u64; WORDS]);

const WORDS: usize = 32;

impl Features {
    /// Once, or once more: all the same.
    pub(crate) fn insert(&mut self, blow: Blow, found: Found) {
        let line = |line: Line| u64::from(line.listing) << 8 | u64::from(line.number);
        let (kind, detail) = match found {
            Found::Struck(at) => (0, line(at)),
            Found::Bystander(at) => (1, line(at)),
            Found::After(blow) => (2, u64::from(blow)),
            Found::Again(times) => (3, u64::from(times)),
        };
        let key = u64::from(blow.number()) << 18 | kind << 16 | detail;
        // Fibonacci hashing: the upper bits of the product are well mixed.
        let bit = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53) as usize;
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    /// How many of them `known` does not have.
    pub fn new_to(&self, known: &Features) -> u32 {
        self.0.iter().zip(known.0).map(|(mine, known)| (mine & !known).count_ones()).sum()
    }

    /// Takes in those of another run.
    pub fn add(&mut self, other: &Features) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, other)| *mine |= other);
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_display_and_json_agree_and_every_mark_is_described() {
        for (place, mark) in Mark::ALL.into_iter().enumerate() {
            assert_eq!((mark as usize, mark.to_string().as_str()), (place, mark.name()));
            assert_eq!(serde_json::to_value(mark).unwrap(), mark.name());
            assert!(!mark.description().is_empty());
        }
    }

    #[test]
    fn marks_add_up_and_come_back_from_json_and_from_bytes() {
        let mut marks = Marks::default();
        marks.count(Mark::ReplyLost);
        marks += marks;
        assert_eq!((marks.times(Mark::ReplyLost), marks.times(Mark::LeaderChanged)), (2, 0));
        let json = serde_json::to_value(marks).unwrap();
        assert_eq!((&json["reply-lost"], &json["leader-changed"]), (&2.into(), &0.into()));
        assert_eq!(serde_json::from_value::<Marks>(json).unwrap(), marks);
        let bytes = postcard::to_stdvec(&marks).unwrap();
        assert_eq!(postcard::from_bytes(&bytes), Ok(marks));
        assert!(serde_json::from_str::<Marks>("{}").is_err());
    }

    #[test]
    fn the_same_blow_at_another_line_is_another_feature_and_at_the_same_line_it_is_not() {
        let at = |number| Found::Struck(Line { listing: 6, number });
        let (mut one, mut two) = (Features::default(), Features::default());
        one.insert(Blow::Pause, at(3));
        one.insert(Blow::Pause, at(3));
        assert_eq!((one.len(), two.is_empty()), (1, true));
        two.insert(Blow::Pause, at(4));
        two.insert(Blow::Crash, at(3));
        two.insert(Blow::Pause, at(3));
        assert_eq!((two.new_to(&one), one.new_to(&two)), (2, 0));
        one.add(&two);
        assert_eq!((one, one.len()), (two, 3));
    }

    #[test]
    fn every_blow_has_a_number_of_its_own() {
        let plain = [
            Blow::Pause,
            Blow::Crash,
            Blow::PowerLoss,
            Blow::Clock,
            Blow::ClockAhead,
            Blow::ClockBack,
            Blow::Cut,
            Blow::Slow,
            Blow::LostRequest,
            Blow::LostReply,
        ];
        let all = plain.into_iter().chain(Mark::ALL.map(Blow::Mark));
        assert!(all.map(|blow| usize::from(blow.number())).eq(0..Blow::COUNT));
    }
}
