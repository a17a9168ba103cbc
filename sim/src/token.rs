//! A run as a piece of text that fits into an issue: everything the run depends on, and nothing else.
//!
//! ```text
//!   pk4_   3mJr7AoUXx2Wqd…        base58: no character is mistaken for another, a double click selects it all
//!   ─┬─    ──────┬────────
//!  format   postcard bytes of a Token, then their CRC-32 (with the format's number before them), 4 bytes
//! ```
//!
//! The number of the format stands in front, unpacked, so that a later picklock can say what it cannot read.
//!
//! ```
//! use picklock_sim::strategy::Strategy;
//! use picklock_sim::token::{Body, Token, TokenError};
//!
//! let body = Body::Seeded { setup: vec![], faults: 0b101, seed: 4711, strategy: Strategy::Swarm };
//! let token = Token { lock: "redlock".to_owned(), body };
//! let text = token.encode();
//! assert!(text.starts_with("pk4_"));
//! assert_eq!(text.parse(), Ok(token));
//! assert_eq!(text[..text.len() - 1].parse::<Token>(), Err(TokenError::Damaged));
//! ```

use crate::plan::Plan;
use crate::strategy::Strategy;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// The format that is written and read here. Raised whenever an old token would mean another run: by a change of this
/// file, of a setup's or a plan's fields, of an engine's order, or of a lock's behaviour under it.
pub const FORMAT_VERSION: u8 = 4;

/// A run that can be had again.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Token {
    /// The lock's name in the registry, which knows how to read the opaque bytes of the body.
    pub lock: String,
    /// Which run of that lock.
    pub body: Body,
}

/// Which run of a lock. `setup`, `plan` and `bounds` are postcard bytes of types that belong to the lock.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Body {
    /// The seeded engine, with a plan that the seed draws too.
    Seeded {
        /// The lock's variant, the store's, the workload.
        setup: Vec<u8>,
        /// Which faults the plan may draw, a bit each.
        faults: u16,
        /// Decides everything that is left to chance.
        seed: u64,
        /// How the plan is drawn.
        strategy: Strategy,
    },
    /// The seeded engine, with a plan that is given: shrunk, or written by hand.
    Planned {
        /// The lock's variant, the store's, the workload.
        setup: Vec<u8>,
        /// Which fault happens when.
        plan: Vec<u8>,
        /// Decides what the plan leaves open: latencies, back-off.
        seed: u64,
    },
    /// The exhaustive engine: which of the enabled actions was taken, step by step.
    Path {
        /// The lock's variant, the store's, the workload.
        setup: Vec<u8>,
        /// What may happen, and how often.
        bounds: Vec<u8>,
        /// Positions in the list of enabled actions.
        actions: Vec<u16>,
        /// The path is a lasso: from this action on it goes round and round. `None`: it just ends.
        loop_start: Option<u16>,
    },
}

impl Token {
    /// The run of a plan that is given.
    pub fn planned(lock: &str, setup: Vec<u8>, plan: &Plan, seed: u64) -> Token {
        let plan =
            postcard::to_stdvec(plan).unwrap_or_else(|error| unreachable!("a plan is plain data: {error}"));
        Token { lock: lock.to_owned(), body: Body::Planned { setup, plan, seed } }
    }

    /// The token as text: one text for one token, always.
    pub fn encode(&self) -> String {
        let mut bytes = postcard::to_stdvec(self)
            .unwrap_or_else(|error| unreachable!("strings, bytes and numbers always serialise: {error}"));
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

    /// Reads what [`Token::encode`] wrote; white space around it does not matter.
    fn from_str(text: &str) -> Result<Token, TokenError> {
        let text = text.trim();
        let (format, packed) = split_prefix(text).ok_or(TokenError::NotAToken)?;
        if format != FORMAT_VERSION.to_string() {
            return Err(TokenError::OtherFormat { made_by: format.to_owned() });
        }
        refuse_illegal(text, text.len() - packed.len())?;
        let bytes = bs58::decode(packed).into_vec().map_err(|_| TokenError::Damaged)?;
        let (payload, sum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(TokenError::Damaged)?;
        if *sum != checksum(payload) {
            return Err(TokenError::Damaged);
        }
        match postcard::take_from_bytes(payload) {
            Ok((token, [])) => Ok(token),
            Ok((_, [_, ..])) | Err(_) => Err(TokenError::Unreadable),
        }
    }
}

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
    /// Its checksum is wrong.
    #[error("this token was cut or altered on its way here: its checksum does not fit")]
    Damaged,
    /// It is what somebody meant to write, but not a token's contents.
    #[error("this token arrived whole, but what is in it is not a run: it was not written by picklock")]
    Unreadable,
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
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::{
        Strategy as _, any, prop, prop_assert, prop_assert_eq, prop_assume, prop_oneof, proptest,
    };
    use proptest::sample::select;

    fn bodies() -> impl proptest::strategy::Strategy<Value = Body> {
        let bytes = || vec(any::<u8>(), 0..40);
        prop_oneof![
            (bytes(), any::<u16>(), any::<u64>(), select(Strategy::ALL.to_vec()))
                .prop_map(|(setup, faults, seed, strategy)| Body::Seeded { setup, faults, seed, strategy }),
            (bytes(), bytes(), any::<u64>()).prop_map(|(setup, plan, seed)| Body::Planned {
                setup,
                plan,
                seed
            }),
            (bytes(), bytes(), vec(any::<u16>(), 0..60), any::<Option<u16>>()).prop_map(
                |(setup, bounds, actions, loop_start)| Body::Path { setup, bounds, actions, loop_start }
            ),
        ]
    }

    fn tokens() -> impl proptest::strategy::Strategy<Value = Token> {
        ("[a-z0-9-]{0,20}", bodies()).prop_map(|(lock, body)| Token { lock, body })
    }

    fn example() -> Token {
        let body =
            Body::Seeded { setup: vec![1, 2, 3], faults: 0b101, seed: 4711, strategy: Strategy::Swarm };
        Token { lock: "cassandra-queue".to_owned(), body }
    }

    fn read(text: &str) -> Result<Token, TokenError> {
        text.parse()
    }

    fn sealed(payload: &[u8]) -> String {
        format!("pk4_{}", bs58::encode([payload, &checksum(payload)].concat()).into_string())
    }

    proptest! {
        #[test]
        fn a_token_comes_back_from_its_text(token in tokens()) {
            prop_assert_eq!(read(&token.encode()), Ok(token));
        }

        #[test]
        fn an_altered_character_is_noticed(token in tokens(), at in any::<prop::sample::Index>(), to in any::<char>()) {
            let mut text: Vec<char> = token.encode().chars().collect();
            let at = at.index(text.len());
            prop_assume!(text[at] != to);
            text[at] = to;
            let altered: String = text.into_iter().collect();
            prop_assert!(read(&altered).is_err(), "{altered}");
        }

        #[test]
        fn a_character_altered_into_another_legal_one_is_noticed(
            token in tokens(), at in any::<prop::sample::Index>(), to in "[1-9A-HJ-NP-Za-km-z]",
        ) {
            let text = token.encode();
            let at = 4 + at.index(text.len() - 4);
            prop_assume!(text[at..=at] != to);
            let altered = format!("{}{to}{}", &text[..at], &text[at + 1..]);
            prop_assert_eq!(read(&altered), Err(TokenError::Damaged));
        }

        #[test]
        fn an_inserted_or_missing_character_is_noticed(
            token in tokens(), at in any::<prop::sample::Index>(), new in "[!-~]",
        ) {
            let text = token.encode();
            let at = at.index(text.len());
            let longer = format!("{}{new}{}", &text[..at], &text[at..]);
            prop_assert!(read(&longer).is_err(), "{longer}");
            let shorter = format!("{}{}", &text[..at], &text[at + 1..]);
            prop_assert!(read(&shorter).is_err(), "{shorter}");
        }

        #[test]
        fn a_token_cut_anywhere_is_refused(token in tokens(), keep in any::<prop::sample::Index>()) {
            let text = token.encode();
            let keep = keep.index(text.len());
            let expected = if keep < 4 { TokenError::NotAToken } else { TokenError::Damaged };
            prop_assert_eq!(read(&text[..keep]), Err(expected));
        }

        #[test]
        fn no_text_whatever_makes_the_reader_panic(text in any::<String>()) {
            prop_assert!(read(&text).is_err());
            let text = format!("pk4_{text}");
            prop_assert!(read(&text).is_err());
        }

        #[test]
        fn no_payload_whatever_makes_the_reader_panic(payload in vec(any::<u8>(), 0..80)) {
            if let Ok(token) = read(&sealed(&payload)) {
                prop_assert_eq!(read(&token.encode()), Ok(token));
            }
        }
    }

    #[test]
    fn white_space_around_a_token_does_not_matter() {
        assert_eq!(read(&format!("  {}\r\n", example())), Ok(example()));
    }

    #[test]
    fn a_seeded_run_of_the_longest_name_fits_into_one_line_of_a_terminal() {
        assert!(example().encode().len() < 60, "{}", example());
    }

    #[test]
    fn an_action_takes_one_byte_and_loop_start_one_if_there_is_none() {
        let bytes = |count| {
            let path =
                Body::Path { setup: vec![], bounds: vec![], actions: vec![127; count], loop_start: None };
            postcard::to_stdvec(&path).unwrap().len()
        };
        assert_eq!((bytes(0), bytes(100)), (5, 105));
    }

    #[test]
    fn a_text_without_prefix_is_not_a_token_and_the_error_says_what_one_looks_like() {
        for text in
            ["", "4711", "pk", "pk_", "pk1", "pkx_abc", "pk01_abc", "PK1_abc", "pk123456_a", "pk-1_abc"]
        {
            assert_eq!(read(text), Err(TokenError::NotAToken), "{text}");
        }
        let expected = "this is not a token: a token begins with pk4_ and goes on with letters and digits";
        assert_eq!(TokenError::NotAToken.to_string(), expected);
    }

    #[test]
    fn a_token_of_another_format_is_refused_with_both_numbers() {
        let other = example().encode().replacen("pk4_", "pk1_", 1);
        let expected = "this token was made by format 1; this picklock reads format 4";
        assert_eq!(read(&other).unwrap_err().to_string(), expected);
    }

    #[test]
    fn an_illegal_character_is_named_with_its_place() {
        let mut text = example().encode();
        text.replace_range(9..10, "0");
        let expected = "this token has '0' as character 10, but tokens have only letters and digits, without 0, O, I and l";
        assert_eq!(read(&text).unwrap_err().to_string(), expected);
        text.replace_range(9..10, "…");
        assert_eq!(read(&text), Err(TokenError::IllegalCharacter { character: '…', position: 10 }));
    }

    #[test]
    fn bytes_left_over_are_refused() {
        let payload = [postcard::to_stdvec(&example()).unwrap(), vec![0]].concat();
        assert_eq!(read(&sealed(&payload)), Err(TokenError::Unreadable));
    }

    #[test]
    fn tokens_of_this_format_stay_readable() {
        assert_eq!(example().encode(), GOLDEN);
        assert_eq!(read(GOLDEN), Ok(example()));
    }

    /// Changes only together with [`FORMAT_VERSION`].
    const GOLDEN: &str = "pk4_hX24gdKMgkVWaC1VvErtYhjvycXfaoXiHyTECW9";
}
