//! A run as a piece of text that fits into an issue: everything the run depends on, and nothing else.
//!
//! ```text
//!   pk5_   3mJr7AoUXx2Wqd…        base58: no character is mistaken for another, a double click selects it all
//!   ─┬─    ──────┬────────
//!  format   named parts, packed; then their CRC-32 (with the format's number before them), 4 bytes
//! ```
//!
//! The number of the format stands in front, unpacked, so that a later picklock can say what it cannot read. What is packed
//! is named, and left out where it is as by default: a setup, a plan or bounds that get a new part with a default break no
//! token. A token holds the plan itself, never how to draw it. A change of an algorithm may still make another run of it: for
//! that a token holds three bytes of its run's hash ([`Mark`]), and whoever runs it can say so.
//!
//! ```
//! use picklock_engine::plans::plan::Plan;
//! use picklock_engine::token::{Body, SetupChanges, Token, TokenError};
//!
//! let body = Body::Planned { plan: Plan::default(), pins: vec![], seed: 4711 };
//! let setup = SetupChanges::none();
//! let token = Token { lock: "redlock".to_owned(), promise: None, setup, body, mark: None };
//! let text = token.encode();
//! assert!(text.starts_with("pk5_"));
//! assert_eq!(text.parse(), Ok(token));
//! assert_eq!(text[..text.len() - 1].parse::<Token>(), Err(TokenError::Damaged));
//! ```

mod contents;
pub mod differences;
mod packing;
mod words;

use crate::plans::pins::Pin;
use crate::plans::plan::Plan;
use picklock_properties::Promise;
use serde_json::Value;
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// The format that is written and read here. Raised only if tokens are packed in another way: what a setup, a plan or an
/// algorithm gets or loses is told by names and marks.
pub const FORMAT_VERSION: u8 = 5;

/// A run that can be had again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// The lock's name in the registry, which knows how to read the setup.
    pub lock: String,
    /// What the token was printed for: a run may break several promises.
    pub promise: Option<Promise>,
    /// The lock's variant, the store's, the workload, what is watched.
    pub setup: SetupChanges,
    /// Which run of that lock.
    pub body: Body,
    /// How the run came out when the token was made.
    pub mark: Option<Mark>,
}

/// Which run of a lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// The seeded engine.
    Planned {
        /// Which fault happens when.
        plan: Plan,
        /// For each of the plan's faults that wait for a line, in order, the step in which it did not have to wait any
        /// more: whatever that line is called by now. `None`: it waited for ever. Empty: by the lines.
        pins: Vec<Option<Pin>>,
        /// Decides what the plan leaves open: latencies, back-off.
        seed: u64,
    },
    /// The exhaustive engine: which of the enabled actions was taken, step by step.
    Path {
        /// What may happen, and how often: how it differs from `Bounds::default()`, by name.
        bounds: Option<Value>,
        /// Positions in the list of enabled actions.
        actions: Vec<u16>,
        /// The path is a lasso: from this action on it goes round and round. `None`: it just ends.
        loop_start: Option<u16>,
    },
}

/// How a setup differs from one that its lock has by default, by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetupChanges {
    /// From which.
    pub base: SetupBase,
    /// How; `None`: in nothing.
    pub changes: Option<Value>,
}

/// What a token's setup is told from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetupBase {
    /// The setup that the lock is registered with.
    Registered,
    /// `Setup::default()` of the lock's type: for tokens made where no registry is at hand.
    OfType,
}

impl SetupChanges {
    /// The registered setup as it is.
    pub fn none() -> SetupChanges {
        SetupChanges { base: SetupBase::Registered, changes: None }
    }
}

/// Three bytes of a run's trace hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(u32);

impl Mark {
    /// Of this hash.
    pub fn of(hash: u64) -> Mark {
        Mark((hash >> 40) as u32)
    }
}

impl Token {
    /// The same run, printed for another promise.
    #[must_use]
    pub fn for_promise(self, promise: Promise) -> Token {
        Token { promise: Some(promise), ..self }
    }

    /// The token as text: one text for one token, always.
    pub fn encode(&self) -> String {
        let mut bytes = packing::pack(&self.contents());
        bytes.extend(checksum(&bytes));
        format!("{PREFIX}{FORMAT_VERSION}_{}", bs58::encode(bytes).into_string())
    }
}

impl Display for Token {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.encode())
    }
}

impl FromStr for Token {
    type Err = TokenError;

    /// Reads what [`Token::encode`] wrote; white space does not matter, wherever a mailer or a terminal has put it.
    fn from_str(text: &str) -> Result<Token, TokenError> {
        let text: String = text.split_whitespace().collect();
        let text = text.as_str();
        let (format, packed) = split_prefix(text).ok_or(TokenError::NotAToken)?;
        if format != FORMAT_VERSION.to_string() {
            return Err(TokenError::OtherFormat { made_by: format.to_owned() });
        }
        if packed.len() > LENGTH_MAX {
            return Err(TokenError::TooLong);
        }
        refuse_illegal(text, text.len() - packed.len())?;
        let bytes = bs58::decode(packed).into_vec().map_err(|_| TokenError::Damaged)?;
        let (payload, sum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(TokenError::Damaged)?;
        if *sum != checksum(payload) {
            return Err(TokenError::Damaged);
        }
        let contents = packing::unpack(payload).ok_or(TokenError::Unreadable)?;
        Token::from_contents(contents)
    }
}

/// More letters than any token has. To read base58 takes time that grows with the square of its length.
const LENGTH_MAX: usize = 32_768;

/// Why a text is refused as a token.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenError {
    /// It has no prefix.
    #[error(
        "this is not a token: a token begins with pk{FORMAT_VERSION}_ and goes on with letters and digits"
    )]
    NotAToken,
    /// It has a prefix, but not ours.
    #[error("this token was made by format {made_by}; this picklock reads format {FORMAT_VERSION}")]
    OtherFormat {
        /// The number in its prefix.
        made_by: String,
    },
    /// Something stands in it that base58 does not use.
    #[error(
        "this token has {character:?} as character {position}, but tokens have only letters and digits, without 0, O, I and l"
    )]
    IllegalCharacter {
        /// The first such character.
        character: char,
        /// Where in the token it stands, counted in characters from 1, prefix included.
        position: usize,
    },
    /// To read it would take long, and nobody has made it.
    #[error("this is too long for a token: the longest ones have some thousands of letters")]
    TooLong,
    /// Its checksum is wrong.
    #[error("this token was cut or altered on its way here: its checksum does not fit")]
    Damaged,
    /// It is what somebody meant to write, but not a token's contents.
    #[error("this token arrived whole, but what is in it is not a run: it was not written by picklock")]
    Unreadable,
    /// A later picklock has written it.
    #[error("this token speaks of {0:?}, of which this picklock knows nothing: a later one has written it")]
    Unheard(String),
}

const PREFIX: &str = "pk";
const CHECKSUM_BYTES: usize = 4;

/// The number in the prefix, and what comes after it.
fn split_prefix(text: &str) -> Option<(&str, &str)> {
    let (format, packed) = text.strip_prefix(PREFIX)?.split_once('_')?;
    let is_number = (1..=5).contains(&format.len()) && format.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !format.starts_with('0')).then_some((format, packed))
}

/// Looked for here, and not left to the decoder, because people count characters and the decoder bytes.
fn refuse_illegal(text: &str, packed_from: usize) -> Result<(), TokenError> {
    let illegal =
        |character: char| !character.is_ascii_alphanumeric() || matches!(character, '0' | 'O' | 'I' | 'l');
    // The prefix is all ASCII, so that its bytes are its characters.
    match text.chars().enumerate().skip(packed_from).find(|(_, character)| illegal(*character)) {
        Some((index, character)) => Err(TokenError::IllegalCharacter { character, position: index + 1 }),
        None => Ok(()),
    }
}

fn checksum(payload: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[FORMAT_VERSION]);
    hasher.update(payload);
    hasher.finalize().to_be_bytes()
}

#[cfg(test)]
mod tests;
