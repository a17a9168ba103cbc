//! Names in ZooKeeper: znodes' paths, sessions, guids and transaction numbers.

use crate::machine::{Node, Owner, Visitor};
use crate::names::Word;
use picklock_properties::{ClientId, FencingToken};
use serde::de::{self, SeqAccess};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt::{Display, Formatter};
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;

/// The number of a transaction: the leader's epoch, then a counter within it (`ZxidUtils.java`: the high and the low
/// half of a 64-bit number).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Zxid {
    /// Which leader numbered it; 0 for what was there before the run.
    pub epoch: u32,
    /// Counts this leader's transactions.
    pub counter: u32,
}

/// Whose counter all zxids are shown as: the leader of the beginning, whoever leads later.
const ZXIDS: Owner = Owner::Node(Node::Server(0));

impl Zxid {
    /// Before everything.
    pub const NONE: Zxid = Zxid { epoch: 0, counter: 0 };

    /// The one that a leader of `epoch` gives next. The counter goes on where the last epoch's stopped; the real one
    /// starts again from 0, which no comparison can tell.
    pub(super) fn next(self, epoch: u32) -> Zxid {
        Zxid { epoch, counter: self.counter + 1 }
    }

    /// As the 64-bit number that a client sees, and may use for a fencing token (recipe of row Z3: the czxid).
    pub fn token(self) -> FencingToken {
        FencingToken(i64::from(self.epoch) << 32 | i64::from(self.counter))
    }

    /// Shows the zxid to `visitor`. Counters are compared, and never subtracted.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(ZXIDS, &mut self.counter);
    }
}

/// Shows a fencing token to `visitor`: a zxid, or, below the first epoch, a sequence number, which stays as it is.
pub(super) fn visit_token<V: Visitor>(token: &mut FencingToken, visitor: &mut V) {
    let epoch = token.0 >> 32;
    if epoch > 0 {
        let mut counter = token.0 as u32;
        visitor.serial(ZXIDS, &mut counter);
        token.0 = epoch << 32 | i64::from(counter);
    }
}

impl Display for Zxid {
    /// `1:5`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.epoch, self.counter)
    }
}

/// A session: the client that asked for it, and the serial number of the request that did. The real server draws a
/// random-looking 64-bit number; only its identity matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SessionId {
    /// Whose session it is.
    pub client: u8,
    /// From this client's counter.
    pub serial: u32,
}

impl SessionId {
    /// Shows the number to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial_of(&mut self.client, &mut self.serial);
    }
}

impl Display for SessionId {
    /// `A@3`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", ClientId(self.client), self.serial)
    }
}

/// A guid in a znode's name: a client's draws never repeat, nor equal another's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Guid {
    /// Who drew it.
    pub client: u8,
    /// From this client's counter.
    pub serial: u32,
}

impl Display for Guid {
    /// `A#3`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}", ClientId(self.client), self.serial)
    }
}

/// What a sequential create appends to the name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Suffix {
    /// The parent's counter of creates, printed as `%010d` (`PrepRequestProcessor.pRequest2TxnCreate`).
    Number(i32),
    /// For the exhaustive engine, far from overflow and where the parent stays: the counter of the zxid that created
    /// the znode. It grows alike, without being one more number.
    Order(u32),
}

impl Suffix {
    /// The order of the suffixes as text, which is how the recipe's implementations sort names. `-` sorts before every
    /// digit, and negative numbers sort by their digits.
    pub fn cmp_text(self, other: Suffix) -> Ordering {
        match (self, other) {
            (Suffix::Number(one), Suffix::Number(two)) if one < 0 && two < 0 => {
                format!("{one:010}").cmp(&format!("{two:010}"))
            }
            (one, two) => one.cmp(&two),
        }
    }
}

impl Display for Suffix {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Suffix::Number(number) => write!(f, "{number:010}"),
            Suffix::Order(number) => write!(f, "{number:010}"),
        }
    }
}

/// What a znode right below the root is called, and others below it are found by: a word of its users', and a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Name {
    /// The word.
    pub word: Word,
    /// Which one of those that are called so.
    pub number: u8,
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.word.name(self.number.into()))
    }
}

/// One of the paths that whoever serves clients with names of their own has numbered: a stem, and the ten digits behind it,
/// if there are any.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The number of all before the digits.
    pub stem: u32,
    /// The digits' number and one.
    digits: Option<NonZeroU32>,
}

impl Place {
    /// No digits behind the stem.
    pub const fn new(stem: u32) -> Place {
        Place { stem, digits: None }
    }

    /// With the ten digits of this number behind the stem; a negative one has other characters than digits.
    #[must_use]
    pub fn with_digits(self, number: i32) -> Option<Place> {
        let number = u32::try_from(number).ok()?;
        Some(Place { digits: NonZeroU32::new(number + 1), ..self })
    }

    /// The number that the ten digits are.
    pub fn digits(self) -> Option<u32> {
        self.digits.map(|digits| digits.get() - 1)
    }

    fn packed(self) -> (u32, u32) {
        (self.stem, self.digits.map_or(0, NonZeroU32::get))
    }

    fn unpacked(stem: u32, digits: u32) -> Place {
        Place { stem, digits: NonZeroU32::new(digits) }
    }
}

/// A znode at any depth, by its path's place. Where it hangs is part of what its path says: two of the same place are the
/// same.
#[derive(Clone, Copy, Debug)]
pub struct Numbered {
    /// Its own place.
    pub own: Place,
    /// That of the znode above; `None`: the root.
    pub above: Option<Place>,
}

impl PartialEq for Numbered {
    fn eq(&self, other: &Numbered) -> bool {
        self.own == other.own
    }
}

impl Eq for Numbered {}

impl Hash for Numbered {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.own.hash(state);
    }
}

/// A znode's path. Its users choose the names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Path {
    /// `/`.
    Root,
    /// `/name`.
    Top(Name),
    /// `/name/A#3-label0000000007`.
    Child {
        /// Of which znode.
        parent: Name,
        /// What its own name says, beside guid and suffix.
        label: Word,
        /// The guid before the label, if the recipe has one.
        guid: Option<Guid>,
        /// What the server appended; `None` in a request for a sequential create, and in the name of a znode that is
        /// not sequential.
        suffix: Option<Suffix>,
    },
    /// Any path, at any depth: for those who serve real clients. This crate's own users name theirs as above. What is above its
    /// parent it does not say ([`Path::parent`]).
    Numbered(Numbered),
}

impl Path {
    /// `/name`.
    pub const fn top(word: Word, number: u8) -> Path {
        Path::Top(Name { word, number })
    }

    /// The znode above.
    pub fn parent(self) -> Option<Path> {
        match self {
            Path::Root => None,
            Path::Top(_) => Some(Path::Root),
            Path::Child { parent, .. } => Some(Path::Top(parent)),
            // Compared is the place alone; nobody asks for the parent's parent.
            Path::Numbered(Numbered { above, .. }) => Some(match above {
                None => Path::Root,
                Some(above) => Path::Numbered(Numbered { own: above, above: None }),
            }),
        }
    }

    /// The guid in the name.
    pub fn guid(self) -> Option<Guid> {
        match self {
            Path::Child { guid, .. } => guid,
            Path::Root | Path::Top(_) | Path::Numbered(_) => None,
        }
    }

    /// The suffix in the name.
    pub fn suffix(self) -> Option<Suffix> {
        match self {
            Path::Child { suffix, .. } => suffix,
            Path::Root | Path::Top(_) | Path::Numbered(_) => None,
        }
    }

    /// The same with another suffix in its name, or none. Only a child's name has one.
    #[must_use]
    pub fn with_suffix(self, suffix: Option<Suffix>) -> Path {
        match self {
            Path::Child { parent, label, guid, .. } => Path::Child { parent, label, guid, suffix },
            Path::Root | Path::Top(_) | Path::Numbered(_) => self,
        }
    }

    /// Shows the numbers in the name to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Path::Root | Path::Top(_) | Path::Numbered(_) => {}
            Path::Child { guid, suffix, .. } => {
                if let Some(guid) = guid {
                    visitor.serial_of(&mut guid.client, &mut guid.serial);
                }
                if let Some(Suffix::Order(number)) = suffix {
                    visitor.serial(ZXIDS, number);
                }
            }
        }
    }

    /// A path in parts, which order paths, and of which each is packed that is there: 0 for the root; twice the word and one
    /// for a znode below it, twice the word and two for a child of that one.
    fn parts(self) -> (u8, u8, Word, Option<Guid>, Option<Suffix>) {
        match self {
            Path::Root => (0, 0, Word(0), None, None),
            Path::Top(Name { word, number }) => (2 * word.0 + 1, number, Word(0), None, None),
            Path::Child { parent, label, guid, suffix } => {
                (2 * parent.word.0 + 2, parent.number, label, guid, suffix)
            }
            Path::Numbered(_) => (NUMBERED, 0, Word(0), None, None),
        }
    }
}

impl Ord for Path {
    /// What is below a znode comes behind it and before the next one.
    fn cmp(&self, other: &Path) -> Ordering {
        match (self, other) {
            (Path::Numbered(one), Path::Numbered(other)) => one.own.cmp(&other.own),
            _ => self.parts().cmp(&other.parts()),
        }
    }
}

impl PartialOrd for Path {
    fn partial_cmp(&self, other: &Path) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// How many elements a packed path has at most.
const PARTS_MAX: usize = 6;
/// The first part of a numbered path: behind those of all words that tables have.
const NUMBERED: u8 = u8::MAX;

// A state is full of paths: kind and word share a byte, and so do the label and whether there is a guid.
impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, number, label, guid, suffix) = self.parts();
        let mut parts = serializer.serialize_tuple(PARTS_MAX)?;
        parts.serialize_element(&kind)?;
        if let Path::Numbered(Numbered { own, above }) = self {
            parts.serialize_element(&own.packed())?;
            parts.serialize_element(&above.map(Place::packed))?;
        } else if *self != Path::Root {
            parts.serialize_element(&number)?;
        }
        if let Path::Child { .. } = self {
            parts.serialize_element(&(2 * label.0 + u8::from(guid.is_some())))?;
            if let Some(Guid { client, serial }) = guid {
                parts.serialize_element(&client)?;
                parts.serialize_element(&serial)?;
            }
            parts.serialize_element(&suffix)?;
        }
        parts.end()
    }
}

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(PARTS_MAX, Parts)
    }
}

/// Reads a packed path.
struct Parts;

impl<'de> de::Visitor<'de> for Parts {
    type Value = Path;

    fn expecting(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str("a path in parts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Path, A::Error> {
        fn part<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(parts: &mut A) -> Result<T, A::Error> {
            parts.next_element()?.ok_or_else(|| de::Error::custom("a path that ends too early"))
        }
        let kind = part::<u8, A>(&mut parts)?;
        if kind == NUMBERED {
            let (stem, digits) = part(&mut parts)?;
            let above: Option<(u32, u32)> = part(&mut parts)?;
            let above = above.map(|(stem, digits)| Place::unpacked(stem, digits));
            return Ok(Path::Numbered(Numbered { own: Place::unpacked(stem, digits), above }));
        }
        let Some(kind) = kind.checked_sub(1) else { return Ok(Path::Root) };
        let name = Name { word: Word(kind / 2), number: part(&mut parts)? };
        if kind % 2 == 0 {
            return Ok(Path::Top(name));
        }
        let mark: u8 = part(&mut parts)?;
        let guid = match mark % 2 {
            0 => None,
            _ => Some(Guid { client: part(&mut parts)?, serial: part(&mut parts)? }),
        };
        Ok(Path::Child { parent: name, label: Word(mark / 2), guid, suffix: part(&mut parts)? })
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Path::Root => f.write_str("/"),
            Path::Numbered(Numbered { own, .. }) => {
                write!(f, "/path {}", own.stem)?;
                own.digits().map_or(Ok(()), |number| write!(f, "-{number:010}"))
            }
            Path::Top(name) => write!(f, "/{name}"),
            Path::Child { parent, label, guid, suffix } => {
                write!(f, "/{parent}/")?;
                if let Some(guid) = guid {
                    write!(f, "{guid}-")?;
                }
                write!(f, "{}", label.label())?;
                suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
            }
        }
    }
}
