//! A variable on a shared disk, in caches that a lock manager keeps fresh: how GFS2 uses blocking ASTs, and how document 004 uses
//! the value block ("хранение номера версии ресурса").
//!
//! ```text
//!     A                       lock manager, disk                 B
//!     │── $ENQ R1 PR ────────────▶│ granted, version 4              │
//!     │── read ──────────────────▶│ x = 1: A caches x at version 4  │
//!     │                           │◀──────────────── $ENQ R1 EX ────│
//!     │◀─ in the way of EX ───────│  (blocking AST)                 │
//!     │── convert NL ────────────▶│ granted ───────────────────────▶│
//!     │                           │◀──────────────── write x = 2 ───│
//!     │── convert PR ────────────▶│◀──── convert NL, version 5 ─────│
//!     │◀─ granted, version 5 ─────│ not 4: A reads the disk again
//! ```
//!
//! A node keeps its lock, and what it has read, until it is asked for it. It goes down to NL then, and remembers what it had read with
//! the number in the value block. If that number is the same when it comes back, nobody has written in between.
//!
//! # What it lives on
//!
//! The cache is used under a lock of PR or more only, and a value block that is not valid is taken for another number.
//!
//! # What breaks it
//!
//! - Whoever gives the lock up first and empties its cache then reads what another one is changing (row V5; gfs2, 58e9fee13e57).
//! - A holder of EX that dies has written the disk, and not the number. Who does not look whether the value block is valid takes its
//!   cache for fresh (row V9).
//!
//! # What is left out
//!
//! One variable, one disk, which is the manager's node and never fails. No journal: a write is whole or not there, so that row V4
//! (a dead node's lock given on before its journal is replayed) cannot be seen.

use super::{Ask, Cells, Heard, Here, Question, Version, Word};
use crate::machine::{Effects, Owner, Visitor};
use crate::stores::dlm::{Ask as Call, Dlm, Flags, Mode, Name, Notice, Reply, Request, Status, Tell, Wish};
use crate::time::Monotonic;
use serde::{Deserialize, Serialize};

/// On a disk, cached under a lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum InCache {}

/// The variant.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CacheSettings {
    /// In which order a node gives up what another wants.
    pub gives_up: GivesUp,
    /// Whether it looks at the value block's validity.
    pub validity: Validity,
}

/// In which order a node gives up what another wants.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum GivesUp {
    /// The cache, then the lock.
    #[default]
    CacheFirst,
    /// The lock, and the cache when the manager has said that it is gone.
    LockFirst,
}

/// Whether it looks at the value block's validity.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Validity {
    /// A number that is not valid is no number.
    #[default]
    Minded,
    /// A number is a number.
    Ignored,
}

/// What a node has between its requests.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CachingNode {
    serial: u32,
    life: u8,
    /// Whether it has to say that it has started again.
    has_to_join: bool,
    /// What it may go by.
    lock: Option<Mode>,
    /// Whether it was asked to give its lock up.
    is_rung: bool,
    /// Whether it has to give it up in any case: its conversion was refused.
    must_give_up: bool,
    under_way: Option<UnderWay>,
    question: Option<Question>,
    /// What is known, to be told at once.
    answer: Option<Heard>,
    /// What it has read or written.
    cache: Option<Content>,
    /// The value block's number, at which that was.
    version: u32,
}

/// What a block holds, if anything.
type Content = Option<u32>;

/// What was asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum UnderWay {
    Join,
    Lock(Mode),
    Read,
    Write(Content),
}

const R1: Name = Name::of(1);

impl CachingNode {
    fn call(&mut self, ask: Call, under_way: UnderWay, out: &mut Effects<Dlm>) {
        self.serial += 1;
        self.under_way = Some(under_way);
        out.request(0, Request { serial: self.serial, life: self.life, epoch: 0, ask });
    }

    /// Asks for this mode of its one lock.
    fn want(&mut self, mode: Mode, out: &mut Effects<Dlm>) {
        let wish = Wish { mode, flags: Flags::VALBLK, value: self.version };
        let ask = match self.lock {
            None => Call::Enqueue { number: 0, name: R1, wish },
            Some(_) => Call::Convert { number: 0, wish },
        };
        self.call(ask, UnderWay::Lock(mode), out);
    }

    /// Whether what it has read may be told now.
    fn may_use_cache(&self, settings: &CacheSettings) -> bool {
        let goes_down = self.under_way == Some(UnderWay::Lock(Mode::Nl));
        match settings.gives_up {
            GivesUp::CacheFirst => !goes_down && self.lock >= Some(Mode::Pr),
            GivesUp::LockFirst => self.lock >= Some(Mode::Pr),
        }
    }

    /// Does what is next, if nothing is under way.
    fn go_on(&mut self, settings: &CacheSettings, out: &mut Effects<Dlm>) {
        if let (Some(Question { ask: Ask::Get, .. }), Some(content)) = (self.question, self.cache)
            && self.may_use_cache(settings)
        {
            self.answer = Some(found(content));
            self.question = None;
        }
        if self.under_way.is_some() {
            return;
        }
        if self.has_to_join {
            return self.call(Call::Join, UnderWay::Join, out);
        }
        let has = self.lock.unwrap_or(Mode::Nl);
        if has > Mode::Nl && (self.must_give_up || self.is_rung && self.question.is_none()) {
            return self.want(Mode::Nl, out);
        }
        let Some(Question { cell, ask }) = self.question else { return };
        let block = cell.number;
        debug_assert_eq!(block, 0, "there is one variable");
        let needs = if ask == Ask::Get { Mode::Pr } else { Mode::Ex };
        if has < needs {
            return self.want(needs, out);
        }
        let (expected, new) = match (ask, self.cache) {
            (Ask::Set(new), _) => (None, new),
            (_, None) | (Ask::Get, _) => return self.call(Call::Read { block }, UnderWay::Read, out),
            (Ask::SetIfVersion(version, new), Some(content)) => (Some((version.content(), content)), new),
            (Ask::SetIfContent { expected, new }, Some(content)) => (Some((expected, content)), new),
        };
        if expected.is_some_and(|(expected, content)| expected != content) {
            (self.answer, self.question) = (Some(Heard::Set(false)), None);
            return;
        }
        self.call(Call::Write { block, content: new }, UnderWay::Write(new), out);
    }

    /// The lock is granted in this mode, with the value block if it moved here.
    fn on_granted(&mut self, mode: Mode, value: Option<(u32, bool)>, settings: &CacheSettings) {
        if mode == Mode::Nl {
            (self.is_rung, self.must_give_up) = (false, false);
        }
        self.lock = Some(mode);
        let Some((version, is_valid)) = value else { return };
        let counts = is_valid || settings.validity == Validity::Ignored;
        if !counts || version != self.version {
            self.cache = None;
        }
        // Who may write leaves a number that nobody has met beside another content.
        self.version = version + u32::from(!counts && mode == Mode::Ex);
    }

    fn on_tell(&mut self, tell: Tell, settings: &CacheSettings) {
        match (self.under_way.take(), tell) {
            (Some(UnderWay::Join), Tell::Joined) => self.has_to_join = false,
            (
                Some(UnderWay::Lock(_)),
                Tell::Ast { notice: Notice::Completed { status, granted, value, .. }, .. },
            ) => {
                match (status, granted) {
                    (Status::Granted, Some(mode)) => {
                        let value = value.map(|(value, is_valid)| (value.content, is_valid));
                        self.on_granted(mode, value, settings);
                    }
                    // Both read, and both want to write: this one begins again from NL.
                    _ => self.must_give_up = true,
                }
            }
            (Some(UnderWay::Read), Tell::Read { content }) => self.cache = Some(content),
            (Some(UnderWay::Write(content)), Tell::Written) => {
                self.cache = Some(content);
                self.version += 1;
                (self.answer, self.question) = (Some(Heard::Set(true)), None);
            }
            (under_way, tell) => unreachable!("{tell:?} does not answer {under_way:?}"),
        }
    }

    /// What it was to find out, if it has.
    fn take_answer(&mut self) -> Option<Word> {
        self.answer.take().map(Word::Heard)
    }
}

fn found(content: Content) -> Heard {
    Heard::Found(content, content.map_or(Version::ABSENT, Version::of_content))
}

impl Cells for InCache {
    type Store = Dlm;
    type Settings = CacheSettings;
    type Link = CachingNode;

    const TIMES_OUT: bool = false;

    fn link(_me: u8) -> CachingNode {
        CachingNode::default()
    }

    fn ask(
        link: &mut CachingNode,
        question: Question,
        _serial: u32,
        here: &Here<CacheSettings>,
        out: &mut Effects<Dlm>,
    ) {
        link.question = Some(question);
        link.go_on(here.settings, out);
    }

    fn on_reply(
        link: &mut CachingNode,
        reply: &Reply,
        _serial: u32,
        here: &Here<CacheSettings>,
        out: &mut Effects<Dlm>,
    ) -> Option<Word> {
        match reply.tell {
            Tell::Ast { notice: Notice::Blocks(_), .. } => link.is_rung = true,
            _ if reply.serial != link.serial || link.under_way.is_none() => return None,
            tell => link.on_tell(tell, here.settings),
        }
        link.go_on(here.settings, out);
        link.take_answer()
    }

    /// What it knew already is told, and who has started again says so.
    fn on_deadline(
        link: &mut CachingNode,
        here: &Here<CacheSettings>,
        out: &mut Effects<Dlm>,
    ) -> Option<Word> {
        let answer = link.take_answer();
        link.go_on(here.settings, out);
        answer
    }

    fn deadline(link: &CachingNode) -> Option<Monotonic> {
        let starts = link.has_to_join && link.under_way.is_none();
        (link.answer.is_some() || starts).then(Monotonic::default)
    }

    fn on_restart(link: &mut CachingNode, _me: u8) {
        let (serial, life) = (link.serial, link.life.saturating_add(1));
        *link = CachingNode { serial, life, has_to_join: true, ..CachingNode::default() };
    }

    fn dismisses(link: &CachingNode, reply: &Reply, _serial: u32, _is_asking: bool) -> bool {
        !matches!(reply.tell, Tell::Ast { notice: Notice::Blocks(_), .. })
            && (reply.serial != link.serial || link.under_way.is_none())
    }

    fn visit_link<V: Visitor>(link: &mut CachingNode, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut link.serial);
    }
}
