//! What a script or a function says of itself (`src/script.c` `scripts_flags_def`, `scriptPrepareForRun`).

use crate::serve::redis::commands::{NO_MEMORY, is_out_of_memory, may_write};
use crate::serve::redis::reply::Reply;
use crate::serve::redis::turn::{Replied, Turn, refuse};

/// The words, in the order in which `FUNCTION LIST` shows them.
const WORDS: [&str; 5] = ["no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"];

/// What a script or a function says of itself. `no-writes` and `allow-oom` change something here.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// It says something of itself: it is a function, or has a first line `#!lua`.
    pub is_declared: bool,
    pub no_writes: bool,
    /// The words that it said.
    pub words: Vec<&'static str>,
}

impl Flags {
    /// Those of a function.
    ///
    /// # Errors
    /// If one of the words is none of them.
    pub fn declared<'a>(said: impl IntoIterator<Item = &'a str>) -> Result<Flags, String> {
        let mut words = Vec::new();
        for word in said {
            match WORDS.into_iter().find(|known| *known == word) {
                Some(known) => words.push(known),
                None => return Err(word.to_owned()),
            }
        }
        words.sort_by_key(|word| WORDS.iter().position(|known| known == word));
        words.dedup();
        Ok(Flags { is_declared: true, no_writes: words.contains(&"no-writes"), words })
    }

    /// Those in a script's first line, and the script from the end of that line on, so that lines are counted as before
    /// (`src/eval.c` `evalExtractShebangFlags`).
    ///
    /// # Errors
    /// What the server replies.
    pub fn of(text: &[u8]) -> Result<(Flags, &[u8]), String> {
        if !text.starts_with(b"#!") {
            return Ok((Flags::default(), text));
        }
        let Some(end) = text.iter().position(|byte| *byte == b'\n') else {
            return Err("ERR Invalid script shebang".to_owned());
        };
        let first = String::from_utf8_lossy(&text[..end]).into_owned();
        let mut parts = first.split_ascii_whitespace();
        match parts.next() {
            Some("#!lua") => {}
            other => {
                let engine = other.unwrap_or_default();
                return Err(format!("ERR Unexpected engine in script shebang: {engine}"));
            }
        }
        let mut said = Vec::new();
        for part in parts {
            match part.strip_prefix("flags=") {
                Some(flags) => {
                    said.extend(flags.split(',').filter(|flag| !flag.is_empty() || flags.contains(',')))
                }
                None => return Err(format!("ERR Unknown lua shebang option: {part}")),
            }
        }
        let flags =
            Flags::declared(said).map_err(|word| format!("ERR Unexpected flag in script shebang: {word}"))?;
        Ok((flags, &text[end..]))
    }

    pub fn allows_oom(&self) -> bool {
        self.words.contains(&"allow-oom")
    }

    /// Whether it may be run here, by a command that does not write or by another one.
    pub fn admit(&self, turn: &Turn, read_only: bool) -> Replied {
        if self.is_declared && !self.no_writes {
            // As for any other command that may write, or need memory (`src/script.c` `scriptFlagsToCmdFlags`).
            if !self.allows_oom() && is_out_of_memory(turn) {
                return refuse(NO_MEMORY);
            }
            may_write(turn)?;
            if read_only {
                return refuse("ERR Can not execute a script with write flag using *_ro command.");
            }
        }
        Ok(Reply::ok())
    }
}
