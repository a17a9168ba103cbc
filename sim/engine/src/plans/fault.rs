//! The kinds of faults that one can ask for: what the columns of the verdict matrix are.

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// A kind of fault. No kind at all is the fault-free run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// A node stops for a while: garbage collection, a stalled disk, a suspended machine.
    Pause,
    /// A node's clock is wrong.
    Clock,
    /// Messages take long, and overtake each other.
    Delay,
    /// Messages are lost.
    Loss,
    /// Requests arrive twice.
    Duplicate,
    /// Links are cut.
    Partition,
    /// A process ends.
    Crash,
    /// A server loses what was not on its disk.
    PowerLoss,
    /// A whole machine stands still, and its monotonic clock with it.
    Suspend,
    /// Wall clocks are coarse, so that readings tie.
    CoarseClock,
    /// The resource that the lock protects is slow, stands still, or starts again.
    Resource,
    /// Connections end, and processes live on.
    Reset,
    /// A server is replaced by an empty one.
    Replace,
}

impl FaultKind {
    /// Every kind, in the order of every table.
    pub const ALL: [FaultKind; 13] = [
        FaultKind::Pause,
        FaultKind::Clock,
        FaultKind::Delay,
        FaultKind::Loss,
        FaultKind::Duplicate,
        FaultKind::Partition,
        FaultKind::Crash,
        FaultKind::PowerLoss,
        FaultKind::Suspend,
        FaultKind::CoarseClock,
        FaultKind::Resource,
        FaultKind::Reset,
        FaultKind::Replace,
    ];

    /// The kinds that plans draw from unless they are told others, and that the matrix has a row for. What is known of locks
    /// is known under these; the others are struck where they are named.
    pub const USUAL: [FaultKind; 8] = [
        FaultKind::Pause,
        FaultKind::Clock,
        FaultKind::Delay,
        FaultKind::Loss,
        FaultKind::Duplicate,
        FaultKind::Partition,
        FaultKind::Crash,
        FaultKind::PowerLoss,
    ];

    /// The name that the command line takes and JSON carries.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Pause => "pause",
            FaultKind::Clock => "clock",
            FaultKind::Delay => "delay",
            FaultKind::Loss => "loss",
            FaultKind::Duplicate => "duplicate",
            FaultKind::Partition => "partition",
            FaultKind::Crash => "crash",
            FaultKind::PowerLoss => "power-loss",
            FaultKind::Suspend => "suspend",
            FaultKind::CoarseClock => "coarse-clock",
            FaultKind::Resource => "resource",
            FaultKind::Reset => "reset",
            FaultKind::Replace => "replace",
        }
    }

    /// The kind in one line.
    pub fn description(self) -> &'static str {
        match self {
            FaultKind::Pause => {
                "a node handles nothing for 1 ms to 3 leases; its clocks go on, its messages wait"
            }
            FaultKind::Clock => "a wall clock is off, steps, strobes or freezes, or both clocks drift",
            FaultKind::Delay => {
                "messages are slow, a few very slow, and overtake each other; links slow down"
            }
            FaultKind::Loss => "requests, replies and what servers say to each other get lost",
            FaultKind::Duplicate => "requests arrive twice, the second time later: a client sends again",
            FaultKind::Partition => {
                "links are cut, one way or both: a node, a minority, clients from servers"
            }
            FaultKind::Crash => {
                "a node ends, and no simulated connection says so; it starts again at once, late or never, with its disk"
            }
            FaultKind::PowerLoss => "servers stop, one or several at once, and lose what was not durable",
            FaultKind::Suspend => {
                "a machine stands still for 1 ms to 3 leases, and its monotonic clock does not count it"
            }
            FaultKind::CoarseClock => "wall clocks go in steps of 1 ms, 1/64 s or 1 s, so that readings tie",
            FaultKind::Resource => "the resource stands still, starts again, or is slow to reach",
            FaultKind::Reset => "connections end, with what was under way on them; processes live on",
            FaultKind::Replace => "a server is lost with its disk; an empty one comes back under its name",
        }
    }
}

impl Display for FaultKind {
    /// The [name](FaultKind::name), padded as the format asks.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for FaultKind {
    type Err = UnknownFault;

    /// Reads a [name](FaultKind::name), spelt exactly as it is printed.
    fn from_str(name: &str) -> Result<FaultKind, UnknownFault> {
        FaultKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| UnknownFault {
            name: name.to_owned(),
            nearest: FaultKind::ALL
                .into_iter()
                .min_by_key(|kind| strsim::damerau_levenshtein(name, kind.name()))
                .unwrap_or(FaultKind::Pause),
        })
    }
}

/// No kind of fault has this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no fault is called {name:?}; the nearest name is {nearest}")]
pub struct UnknownFault {
    /// The name that was asked for.
    pub name: String,
    /// The kind whose name comes nearest.
    pub nearest: FaultKind,
}

/// A set of kinds of faults; bit *n* stands for `FaultKind::ALL[n]`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct FaultSet(u16);

impl FaultSet {
    /// Nothing goes wrong.
    pub const EMPTY: FaultSet = FaultSet(0);

    /// Everything [usual](FaultKind::USUAL) may go wrong.
    pub const ALL: FaultSet = FaultSet((1 << FaultKind::USUAL.len()) - 1);

    const EVERY_BIT: u16 = (1 << FaultKind::ALL.len()) - 1;

    /// Adds a kind; adding it twice changes nothing.
    pub fn insert(&mut self, kind: FaultKind) {
        self.0 |= bit(kind);
    }

    /// Whether `kind` is a member.
    pub fn contains(self, kind: FaultKind) -> bool {
        self.0 & bit(kind) != 0
    }

    /// The set without `kind`.
    #[must_use]
    pub fn without(self, kind: FaultKind) -> FaultSet {
        FaultSet(self.0 & !bit(kind))
    }

    /// Whether all of these are among those.
    pub fn is_within(self, those: FaultSet) -> bool {
        self.0 & !those.0 == 0
    }

    /// Whether there is no member.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many members there are.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// A list of names, each of which `kind` reads, or `all`; after a minus, of a kind that is taken out again.
    pub fn read<E>(names: &str, kind: impl Fn(&str) -> Result<FaultKind, E>) -> Result<FaultSet, E> {
        let first = if names.trim_start().starts_with('-') { FaultSet::ALL } else { FaultSet::EMPTY };
        names.split(',').map(str::trim).try_fold(first, |set, name| match name.strip_prefix('-') {
            _ if name.eq_ignore_ascii_case("all") => Ok(FaultSet(set.0 | FaultSet::ALL.0)),
            Some(taken_out) => Ok(set.without(kind(taken_out)?)),
            None => Ok(FaultSet(set.0 | bit(kind(name)?))),
        })
    }

    /// The members, in the order of every table.
    pub fn iter(self) -> impl Iterator<Item = FaultKind> {
        FaultKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }
}

fn bit(kind: FaultKind) -> u16 {
    1 << kind as u16
}

impl From<FaultSet> for u16 {
    fn from(set: FaultSet) -> u16 {
        set.0
    }
}

impl TryFrom<u16> for FaultSet {
    type Error = StrayFaults;

    fn try_from(bits: u16) -> Result<FaultSet, StrayFaults> {
        match bits & !FaultSet::EVERY_BIT {
            0 => Ok(FaultSet(bits)),
            stray => Err(StrayFaults(stray)),
        }
    }
}

/// Bits that stand for no kind of fault: a damaged set, or one written by a later version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no kind of fault belongs to the bits {0:#x} of a set of faults")]
pub struct StrayFaults(u16);

impl From<FaultKind> for FaultSet {
    fn from(kind: FaultKind) -> FaultSet {
        FaultSet(bit(kind))
    }
}

impl<const N: usize> From<[FaultKind; N]> for FaultSet {
    fn from(kinds: [FaultKind; N]) -> FaultSet {
        kinds.into_iter().collect()
    }
}

impl FromIterator<FaultKind> for FaultSet {
    fn from_iter<I: IntoIterator<Item = FaultKind>>(kinds: I) -> FaultSet {
        kinds.into_iter().fold(FaultSet::EMPTY, |set, kind| FaultSet(set.0 | bit(kind)))
    }
}

impl Display for FaultSet {
    /// The names with commas between, or `none`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        if self.is_empty() {
            return f.pad("none");
        }
        let names: Vec<&str> = self.iter().map(FaultKind::name).collect();
        f.pad(&names.join(","))
    }
}

impl std::fmt::Debug for FaultSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{{{self}}}")
    }
}

impl FromStr for FaultSet {
    type Err = UnknownFault;

    /// Reads what is printed: names with commas between, `none`. `all` is short for every usual kind, and a name after a minus
    /// takes that kind out again: `all,-pause`. What begins with a minus begins with all.
    fn from_str(names: &str) -> Result<FaultSet, UnknownFault> {
        match names {
            "none" | "" => Ok(FaultSet::EMPTY),
            names => FaultSet::read(names, str::parse::<FaultKind>),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_display_parse_and_json_agree() {
        for (place, kind) in FaultKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn a_set_is_read_as_it_is_printed() {
        let some = FaultSet::from_iter([FaultKind::PowerLoss, FaultKind::Pause]);
        assert_eq!(some.to_string(), "pause,power-loss");
        for set in [FaultSet::EMPTY, FaultSet::ALL, some, FaultKind::Loss.into()] {
            assert_eq!(set.to_string().parse(), Ok(set));
        }
        assert_eq!("all".parse(), Ok(FaultSet::ALL));
        assert_eq!(FaultSet::try_from(u16::from(some)), Ok(some));
        assert_eq!(FaultSet::try_from(0x8001), Err(StrayFaults(0x8000)));
        assert_eq!((FaultSet::ALL.len(), some.without(FaultKind::Pause)), (8, FaultKind::PowerLoss.into()));
        assert_eq!(FaultSet::ALL, FaultKind::USUAL.into_iter().collect());
    }

    #[test]
    fn what_stands_after_a_minus_is_taken_out_again() {
        let all_but = |kind| FaultSet::ALL.without(kind);
        assert_eq!("all,-pause".parse(), Ok(all_but(FaultKind::Pause)));
        assert_eq!("-pause, -clock".parse(), Ok(all_but(FaultKind::Pause).without(FaultKind::Clock)));
        assert_eq!("pause,loss,-pause".parse::<FaultSet>(), Ok(FaultKind::Loss.into()));
        assert!("all,-paus".parse::<FaultSet>().is_err());
    }

    #[test]
    fn all_is_added_to_what_stands_before_it() {
        let both: FaultSet = FaultSet::ALL.iter().chain([FaultKind::Suspend]).collect();
        for names in ["suspend,all", "all,suspend"] {
            assert_eq!(names.parse(), Ok(both), "{names}");
        }
    }

    #[test]
    fn a_misspelt_name_is_refused_with_the_nearest_one() {
        let error = "pause,powerloss".parse::<FaultSet>().unwrap_err();
        assert_eq!(error.to_string(), "no fault is called \"powerloss\"; the nearest name is power-loss");
    }
}
