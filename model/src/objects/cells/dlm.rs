//! A variable on a shared disk, in caches that a lock manager keeps fresh: how GFS2 uses blocking ASTs, and how the lock-manager article,
//! *Distributed lock manager*, uses the value block ("хранение номера версии ресурса").
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
//! - A new master that is not sent the numbers takes 0 for valid, and who has read at 0 takes its cache for fresh (row V3; ocfs2,
//!   e5054c9aefd2).
//! - A node that writes into its journal ([`Writes::Journal`]) and dies has told of a change that is on no block yet. If its lock is given on
//!   before its journal is replayed, the next one reads what was before (row V4; ocfs2, 814ce69432bf).
//! - A holder of EX that dies has written the disk, and not the number. Who does not look whether the value block is valid takes its
//!   cache for fresh (row V9).
//!
//! # What is left out
//!
//! One variable, one disk ([`crate::stores::dlm`] says what it leaves out). A node asks for one thing at a time: it replays another one's
//! journal when it has its answer.

use super::{Ask, Cells, Heard, Here, Question, Version, Word};
use crate::machine::{Effects, Owner, Visitor};
use crate::stores::dlm::{
    Ask as Call, Dlm, Flags, Held, Mode, Name, Notice, Reply, Request, Status, Tell, Value, Wish,
};
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
    /// When a change is on the disk.
    pub writes: Writes,
}

/// When a change is on the disk.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Writes {
    /// Before it is done.
    #[default]
    Through,
    /// It is done when it is in the node's journal, and on its block before the lock is given up.
    Journal,
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
    /// Of which master it knows.
    epoch: u8,
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
    /// Whether it is in the journal, and not on its block.
    is_dirty: bool,
    /// Whose journals it is to replay, a bit for each.
    replays: u8,
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
    /// Writes it down in its journal.
    Log(Content),
    /// Writes in its place what the journal has.
    WriteBack,
    /// Replays somebody's journal.
    Replay(u8),
}

const R1: Name = Name::of(1);

impl CachingNode {
    fn call(&mut self, ask: Call, under_way: UnderWay, out: &mut Effects<Dlm>) {
        self.serial += 1;
        self.under_way = Some(under_way);
        self.send(ask, out);
    }

    fn send(&self, ask: Call, out: &mut Effects<Dlm>) {
        out.request(0, Request { serial: self.serial, life: self.life, epoch: self.epoch, ask });
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

    /// There is a new master: it is told of the lock, with the number, and asked again for what is under way. Who was to have less has less.
    fn on_recover(&mut self, settings: &CacheSettings, out: &mut Effects<Dlm>) {
        if self.has_to_join {
            if self.under_way == Some(UnderWay::Join) {
                self.call(Call::Join, UnderWay::Join, out);
            }
            return;
        }
        let goes_down = self.under_way == Some(UnderWay::Lock(Mode::Nl));
        let again = match self.under_way {
            Some(UnderWay::Lock(mode)) if !goes_down => {
                Some((0, R1, Wish { mode, flags: Flags::VALBLK, value: self.version }))
            }
            _ => None,
        };
        let held = self.lock.map(|mode| {
            // The number only grows: it counts itself.
            let value = Value { content: self.version, sequence: self.version };
            let mode = if goes_down { Mode::Nl } else { mode };
            Held { number: 0, name: R1, mode: Some(mode), queued: None, value: Some(value) }
        });
        self.serial += 1;
        self.send(Call::Copies { held: [held, None], again }, out);
        match self.under_way {
            Some(UnderWay::Lock(Mode::Nl)) => {
                self.under_way = None;
                self.on_granted(Mode::Nl, None, settings);
            }
            Some(UnderWay::Read) => self.call(Call::Read { block: 0 }, UnderWay::Read, out),
            Some(UnderWay::Write(content)) => {
                self.call(Call::Write { block: 0, content }, UnderWay::Write(content), out);
            }
            Some(UnderWay::Log(content)) => {
                self.call(Call::Log { block: 0, content }, UnderWay::Log(content), out);
            }
            Some(UnderWay::WriteBack) => self.write_back(out),
            Some(UnderWay::Replay(of)) => self.call(Call::Replay { of }, UnderWay::Replay(of), out),
            Some(UnderWay::Lock(_) | UnderWay::Join) | None => {}
        }
    }

    fn write_back(&mut self, out: &mut Effects<Dlm>) {
        let Some(content) = self.cache else { unreachable!("what is in the journal is in the cache") };
        self.call(Call::Write { block: 0, content }, UnderWay::WriteBack, out);
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
        // Who joins may be what its own joining waits for.
        let is_busy = !matches!(self.under_way, None | Some(UnderWay::Join));
        if is_busy || self.under_way.is_some() && self.replays == 0 {
            return;
        }
        if self.replays != 0 {
            let of = self.replays.trailing_zeros() as u8;
            self.replays &= self.replays - 1;
            return self.call(Call::Replay { of }, UnderWay::Replay(of), out);
        }
        if self.has_to_join {
            return self.call(Call::Join, UnderWay::Join, out);
        }
        let has = self.lock.unwrap_or(Mode::Nl);
        if has > Mode::Nl && (self.must_give_up || self.is_rung && self.question.is_none()) {
            return if self.is_dirty { self.write_back(out) } else { self.want(Mode::Nl, out) };
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
        match settings.writes {
            Writes::Through => self.call(Call::Write { block, content: new }, UnderWay::Write(new), out),
            Writes::Journal => self.call(Call::Log { block, content: new }, UnderWay::Log(new), out),
        }
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
            (Some(UnderWay::WriteBack), Tell::Written) => self.is_dirty = false,
            (Some(UnderWay::Replay(_)), Tell::Written) => {}
            (Some(under_way @ (UnderWay::Write(content) | UnderWay::Log(content))), Tell::Written) => {
                self.is_dirty = under_way == UnderWay::Log(content);
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
            Tell::Recover if reply.epoch > link.epoch => {
                link.epoch = reply.epoch;
                link.on_recover(here.settings, out);
            }
            Tell::Replay { of } => link.replays |= 1 << of,
            Tell::Recover
            | Tell::Heard
            | Tell::Removed
            | Tell::PowerOff
            | Tell::Ast { notice: Notice::Queued, .. } => {
                return None;
            }
            _ if reply.serial != link.serial || link.under_way.is_none() => return None,
            tell => {
                if tell == Tell::Joined {
                    link.epoch = reply.epoch;
                }
                link.on_tell(tell, here.settings);
            }
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
        let (serial, life, epoch) = (link.serial, link.life.saturating_add(1), link.epoch);
        *link = CachingNode { serial, life, epoch, has_to_join: true, ..CachingNode::default() };
    }

    fn dismisses(link: &CachingNode, reply: &Reply, _serial: u32, _is_asking: bool) -> bool {
        match reply.tell {
            Tell::Ast { notice: Notice::Blocks(_), .. } | Tell::Replay { .. } => false,
            Tell::Recover => reply.epoch <= link.epoch,
            Tell::Heard | Tell::Removed | Tell::PowerOff | Tell::Ast { notice: Notice::Queued, .. } => true,
            _ => reply.serial != link.serial || link.under_way.is_none(),
        }
    }

    fn visit_link<V: Visitor>(link: &mut CachingNode, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut link.serial);
    }
}
