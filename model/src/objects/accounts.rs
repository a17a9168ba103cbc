//! Money on accounts, moved by two half-transactions: `withdraw`, `deposit` and `transfer` of the exactly-once article, *Heterogeneous
//! concurrent exactly-once processing of data in real time* ("Example"), its eighth piece of code. The accounts may be in different stores:
//! account *n* is on server *n*.
//!
//! ```text
//!     client                      account 0            account 1
//!     │── balance? ─────────────────▶│ 4                   │
//!     │── 3 if unchanged ───────────▶│ 3                   │   the sum is one short from here …
//!     │── balance? ──────────────────┼────────────────────▶│ 0
//!     │── 1 if unchanged ────────────┼────────────────────▶│ 1   … to here
//! ```
//!
//! # What it lives on
//!
//! A compare-and-set by version, an answer that says whether this request changed the balance, and a client that lives until both
//! halves are done.
//!
//! # What breaks it
//!
//! - A half that is applied, its answer lost, and repeated: withdrawn or paid in twice (row X1). A mark of the last operation
//!   ([`Marks::Last`]) repairs that while nobody else changes the account in between.
//! - The client's death between the halves (row X3): "Единственная проблема, которая нас тут поджидает". It is not the only one, see
//!   above. Writing down beforehand what is to be transferred repairs it, together with marks, if that is
//!   compared and set, too ([`Intents::CompareAndSet`]).
//! - Looking at the accounts one after the other shows more than there is, if the one that pays is looked at first: "the sum
//!   may differ to the smaller side" is true of a look at all of them at once.

use super::cells::{Ask, Cell, Heard, Version};
use super::client::{Next, Object, Turn};
use super::content::{Content, Marks};
use crate::machine::Line;
use crate::names::{Word, Words};
use picklock_properties::{ObjectAnswer, ObjectCall, ObjectId};
use serde::{Deserialize, Serialize};

/// The variant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// How a client knows its own change again.
    pub marks: Marks,
    /// In which order a client looks at both accounts.
    pub look: Look,
    /// What the first client does with its money.
    pub moves: Moves,
    /// How a transfer is written down before it begins, so that its client goes on with it when that comes back. Needs marks, to
    /// know what of it was done.
    pub intents: Intents,
}

/// How a transfer is written down before it begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Intents {
    /// Not at all, as in the document.
    None,
    /// It is set, and deleted when it is over. A request that arrives twice, the second time late, brings it back.
    Set,
    /// It is compared and set: to this transfer, then to this transfer's end. It never holds the same thing twice.
    CompareAndSet,
}

/// In which order a client looks at both accounts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Look {
    /// First the one that money comes from.
    PayerFirst,
    /// First the one that money goes to.
    PayeeFirst,
}

/// What the first client does with its money.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Moves {
    /// It takes it out.
    Withdrawals,
    /// It transfers it to the other account.
    Transfers,
}

impl Default for Settings {
    /// As written: transfers without marks.
    fn default() -> Settings {
        Settings {
            marks: Marks::None,
            look: Look::PayeeFirst,
            moves: Moves::Transfers,
            intents: Intents::None,
        }
    }
}

const fn account(number: u8) -> Cell {
    Cell { word: Word(0), number }
}

const PAYER: u8 = 0;
const PAYEE: u8 = 1;

/// What a client is about to transfer: in which of its rounds, of which the first is no transfer; and whether that is over.
const fn intent(client: u8) -> Cell {
    Cell { word: Word(1), number: client }
}

/// Beside a round: what was intended in it is over.
const OVER: u32 = 1 << 8;

/// What the first client puts in, and what it moves each time.
const FUNDS: u32 = 4;
const AMOUNT: u32 = 1;

/// Money on its way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Movement {
    /// How much.
    amount: u16,
    /// Whose account it goes to; nobody's: it is taken out.
    to: Option<u8>,
    /// In which of its client's rounds it began: its mark.
    round: u8,
    /// Whether it goes from one account to another, and not in or out.
    is_transfer: bool,
    /// What its client is to do when it is over, if it was found unfinished.
    then: Option<ObjectCall>,
}

/// An operation under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Accounts {
    /// L8:3, `version_from, amount_from = from.get_versioned()`.
    ReadsPayer(Movement),
    /// L8:6, `from.CAS_versioned(version_from, amount_from - amount)`.
    TakesOut(Movement),
    /// L8:11, `version_to, amount_to = to.get_versioned()`.
    ReadsPayee(Movement),
    /// L8:12, `to.CAS_versioned(version_to, amount_to + amount)`.
    PaysIn(Movement),
    /// Beside the listing: is a transfer of its own unfinished?
    Recovers(ObjectCall),
    /// Beside the listing: writes down what it is about to transfer.
    Intends {
        /// That.
        movement: Movement,
        /// What it shall do.
        call: ObjectCall,
    },
    /// Beside the listing: the transfer is over, and need not be known any more.
    Forgets {
        /// Which.
        movement: Movement,
        /// What its client is told of it.
        answer: ObjectAnswer,
    },
    /// Looks at one account after the other.
    Looks {
        /// What the one before has, if this is the second.
        seen: Option<u16>,
    },
}

impl Accounts {
    fn withdraw(movement: Movement) -> (Accounts, Next) {
        (Accounts::ReadsPayer(movement), Next::Ask(account(PAYER), Ask::Get))
    }

    fn deposit(movement: Movement, to: u8) -> (Accounts, Next) {
        (Accounts::ReadsPayee(movement), Next::Ask(account(to), Ask::Get))
    }

    /// After the first half.
    fn taken_out(self, movement: Movement) -> (Accounts, Next) {
        match movement.to {
            Some(to) => Accounts::deposit(movement, to),
            None => (self, Next::Return(ObjectAnswer::Done)),
        }
    }

    /// There is no more to do for it than to forget that it was intended, if it was.
    fn over(
        self,
        movement: Movement,
        answer: ObjectAnswer,
        whose: Turn,
        settings: &Settings,
    ) -> (Accounts, Next) {
        let round = u32::from(movement.round);
        let ask = match settings.intents {
            Intents::Set if movement.is_transfer => Ask::Set(None),
            Intents::CompareAndSet if movement.is_transfer => {
                Ask::SetIfContent { expected: Some(round), new: Some(round | OVER) }
            }
            Intents::None | Intents::Set | Intents::CompareAndSet => return (self, Next::Return(answer)),
        };
        (Accounts::Forgets { movement, answer }, Next::Ask(intent(whose.client), ask))
    }

    /// Begins what is asked for. `written` is what was there of an intent.
    fn call(call: ObjectCall, written: Option<u32>, whose: Turn, settings: &Settings) -> (Accounts, Next) {
        let is_transfer = matches!(call, ObjectCall::Transfer { .. });
        let movement = |amount: u32, to| Movement {
            amount: amount as u16,
            to,
            round: whose.round,
            is_transfer,
            then: None,
        };
        match call {
            ObjectCall::Add { account, amount } => {
                Accounts::deposit(movement(amount, Some(account.0)), account.0)
            }
            ObjectCall::Withdraw { amount, .. } => Accounts::withdraw(movement(amount, None)),
            ObjectCall::Transfer { to, amount, .. } => {
                let (movement, new) = (movement(amount, Some(to.0)), Some(u32::from(whose.round)));
                let ask = match settings.intents {
                    Intents::None => return Accounts::withdraw(movement),
                    Intents::Set => Ask::Set(new),
                    Intents::CompareAndSet => Ask::SetIfContent { expected: written, new },
                };
                (Accounts::Intends { movement, call }, Next::Ask(intent(whose.client), ask))
            }
            ObjectCall::Glance | ObjectCall::Audit => {
                let first = match settings.look {
                    Look::PayerFirst => PAYER,
                    Look::PayeeFirst => PAYEE,
                };
                (Accounts::Looks { seen: None }, Next::Ask(account(first), Ask::Get))
            }
            call => unreachable!("accounts are not asked for {call:?}"),
        }
    }
}

impl Object for Accounts {
    type Settings = Settings;

    const WORDS: Words = Words { names: &["account{}", "intent{}"], labels: &["value"] };

    fn stored(settings: &Settings) -> Option<&'static str> {
        settings.marks.stored()
    }

    /// The first client puts money in, moves some of it round by round, and counts it in the end. All others look.
    fn call(settings: &Settings, whose: Turn, _choice: u32) -> ObjectCall {
        match (whose.client, whose.round) {
            (0, 0) => ObjectCall::Add { account: ObjectId(PAYER), amount: FUNDS },
            (0, _) if whose.is_last_round() => ObjectCall::Audit,
            (0, _) => match settings.moves {
                Moves::Withdrawals => ObjectCall::Withdraw { account: ObjectId(PAYER), amount: AMOUNT },
                Moves::Transfers => {
                    ObjectCall::Transfer { from: ObjectId(PAYER), to: ObjectId(PAYEE), amount: AMOUNT }
                }
            },
            (_, _) => ObjectCall::Glance,
        }
    }

    fn begin(call: ObjectCall, whose: Turn, settings: &Settings) -> (Self, Next) {
        match settings.intents != Intents::None && whose.client == 0 && whose.round > 0 {
            true => (Accounts::Recovers(call), Next::Ask(intent(whose.client), Ask::Get)),
            false => Accounts::call(call, None, whose, settings),
        }
    }

    fn go_on(&mut self, heard: Heard, whose: Turn, settings: &Settings) -> Next {
        let marks = settings.marks;
        let by = |movement: Movement| Turn { round: movement.round, ..whose };
        let (accounts, next) = match (*self, heard) {
            (Accounts::ReadsPayer(movement), Heard::Found(found, version)) => {
                let content = Content::of(found);
                if content.bears(marks, by(movement)) {
                    self.taken_out(movement)
                } else if content.number() < movement.amount {
                    self.over(movement, ObjectAnswer::Refused, whose, settings)
                } else {
                    let left = content.replaced(content.number() - movement.amount, marks, by(movement));
                    let ask = Ask::SetIfVersion(version, Some(left.word()));
                    (Accounts::TakesOut(movement), Next::Ask(account(PAYER), ask))
                }
            }
            (Accounts::TakesOut(movement), Heard::Set(true)) => self.taken_out(movement),
            (Accounts::TakesOut(movement), Heard::Set(false)) => Accounts::withdraw(movement),
            (
                Accounts::ReadsPayee(movement @ Movement { to: Some(to), .. }),
                Heard::Found(found, version),
            ) => {
                let content = Content::of(found);
                if content.bears(marks, by(movement)) {
                    self.over(movement, ObjectAnswer::Done, whose, settings)
                } else {
                    let more = content.replaced(content.number() + movement.amount, marks, by(movement));
                    let ask = Ask::SetIfVersion(version, Some(more.word()));
                    (Accounts::PaysIn(movement), Next::Ask(account(to), ask))
                }
            }
            (Accounts::PaysIn(movement), Heard::Set(true)) => {
                self.over(movement, ObjectAnswer::Done, whose, settings)
            }
            (Accounts::PaysIn(movement @ Movement { to: Some(to), .. }), Heard::Set(false)) => {
                Accounts::deposit(movement, to)
            }
            (Accounts::Recovers(call), Heard::Found(Some(round), _)) if round & OVER == 0 => {
                // Its own of this round: it was written by an earlier attempt at that.
                let is_own = round == u32::from(whose.round);
                let movement = Movement {
                    amount: AMOUNT as u16,
                    to: Some(PAYEE),
                    round: round as u8,
                    is_transfer: true,
                    then: (!is_own).then_some(call),
                };
                Accounts::withdraw(movement)
            }
            (Accounts::Recovers(call), Heard::Found(found, _)) => {
                Accounts::call(call, found, whose, settings)
            }
            (Accounts::Intends { movement, .. }, Heard::Set(true)) => Accounts::withdraw(movement),
            (Accounts::Intends { call, .. }, Heard::Set(false)) => {
                (Accounts::Recovers(call), Next::Ask(intent(whose.client), Ask::Get))
            }
            (Accounts::Forgets { movement: Movement { then: Some(call), round, .. }, .. }, Heard::Set(_)) => {
                let written = Some(u32::from(round) | OVER);
                Accounts::call(call, written, whose, settings)
            }
            (Accounts::Forgets { answer, .. }, Heard::Set(_)) => (*self, Next::Return(answer)),
            (Accounts::Looks { seen: None }, Heard::Found(found, _)) => {
                let second = match settings.look {
                    Look::PayerFirst => PAYEE,
                    Look::PayeeFirst => PAYER,
                };
                let seen = Some(Content::of(found).number());
                (Accounts::Looks { seen }, Next::Ask(account(second), Ask::Get))
            }
            (Accounts::Looks { seen: Some(seen) }, Heard::Found(found, _)) => {
                let total = i32::from(seen) + i32::from(Content::of(found).number());
                (*self, Next::Return(ObjectAnswer::Total { total }))
            }
            (at, heard) => unreachable!("{at:?} has asked nothing that is answered with {heard:?}"),
        };
        *self = accounts;
        next
    }

    fn each_version(&mut self, _show: &mut dyn FnMut(&mut Version)) {
        // None outlives the request that it is in.
    }

    fn line(&self) -> Line {
        let number = match self {
            Accounts::ReadsPayer(_) => 3,
            Accounts::TakesOut(_) => 6,
            Accounts::ReadsPayee(_) => 11,
            Accounts::PaysIn(_) => 12,
            Accounts::Recovers(_)
            | Accounts::Intends { .. }
            | Accounts::Forgets { .. }
            | Accounts::Looks { .. } => {
                return Line::NONE;
            }
        };
        Line { listing: 8, number }
    }

    fn doing(&self) -> &'static str {
        match self {
            Accounts::ReadsPayer(_) | Accounts::TakesOut(_) => "withdraws",
            Accounts::ReadsPayee(_) | Accounts::PaysIn(_) => "pays in",
            Accounts::Recovers(_) => "looks for what is unfinished",
            Accounts::Intends { .. } => "writes down what it will do",
            Accounts::Forgets { .. } => "is done with it",
            Accounts::Looks { .. } => "looks",
        }
    }
}
