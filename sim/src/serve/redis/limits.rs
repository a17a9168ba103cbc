//! How much may wait to be read by a client (`src/config.c` `setConfigOutputBufferLimitOption`, `src/networking.c`
//! `checkClientOutputBufferLimits`). Only subscribers are held to theirs: others are not answered faster than they read.

use super::numbers::integer;
use super::turn::lower;
use bytes::Bytes;
use picklock_model::time::Micros;

/// The parameter's name.
pub const LIMITS: &str = "client-output-buffer-limit";
/// The kinds of clients, as they are shown.
const KINDS: [&str; 3] = ["normal", "slave", "pubsub"];

/// How much may wait for one kind of clients; 0: as much as there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// Who has so much waiting is gone at once.
    hard_bytes: u64,
    /// Who has so much waiting for longer than this is gone, too.
    soft_bytes: u64,
    soft_s: i64,
}

/// Those of all kinds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits([Limit; 3]);

impl Default for Limits {
    fn default() -> Limits {
        let limit = |hard_mb: u64, soft_mb: u64, soft_s| Limit {
            hard_bytes: hard_mb << 20,
            soft_bytes: soft_mb << 20,
            soft_s,
        };
        Limits([limit(0, 0, 0), limit(256, 64, 60), limit(32, 8, 60)])
    }
}

impl Limits {
    /// As `CONFIG SET` is told them: those of the kinds that are named change.
    ///
    /// # Errors
    /// What is wrong with that.
    pub fn changed(&self, text: &Bytes) -> Result<Limits, &'static str> {
        let words: Vec<Bytes> = text
            .split(|byte| *byte == b' ')
            .filter(|word| !word.is_empty())
            .map(Bytes::copy_from_slice)
            .collect();
        let (groups, rest) = words.as_chunks::<4>();
        if !rest.is_empty() {
            return Err("Wrong number of arguments in buffer limit configuration.");
        }
        let mut limits = self.clone();
        for [kind, hard, soft, seconds] in groups {
            let kind = match lower(kind).as_str() {
                "normal" => 0,
                "slave" | "replica" => 1,
                "pubsub" => 2,
                _ => return Err("Invalid client class specified in buffer limit configuration."),
            };
            let soft_s = integer(seconds).filter(|seconds| *seconds >= 0);
            let (Some(hard_bytes), Some(soft_bytes), Some(soft_s)) = (memory(hard), memory(soft), soft_s)
            else {
                return Err("Error in hard, soft or soft_seconds setting in buffer limit configuration.");
            };
            limits.0[kind] = Limit { hard_bytes, soft_bytes, soft_s };
        }
        Ok(limits)
    }

    pub fn show(&self) -> String {
        let shown = KINDS.iter().zip(self.0).map(|(kind, Limit { hard_bytes, soft_bytes, soft_s })| {
            format!("{kind} {hard_bytes} {soft_bytes} {soft_s}")
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    pub fn of_subscribers(&self) -> Limit {
        self.0[2]
    }

    /// Whether those of others are these, too.
    pub fn differ_for_subscribers_only(&self, other: &Limits) -> bool {
        self.0[..2] == other.0[..2]
    }
}

impl Limit {
    /// Whether a client has too much waiting. `before`: what waited before the last message came. `since`: since when it is
    /// more than it may be for long.
    pub fn is_passed(self, before: usize, waits: usize, since: &mut Option<Micros>, now: Micros) -> bool {
        let reaches = |bytes: usize, limit: u64| limit > 0 && bytes as u64 >= limit;
        if !reaches(before, self.soft_bytes) {
            *since = None;
        }
        let is_long = reaches(waits, self.soft_bytes) && {
            let since = *since.get_or_insert(now);
            // As the real server counts them: in whole seconds.
            now.0.div_euclid(1_000_000) - since.0.div_euclid(1_000_000) > self.soft_s
        };
        is_long || reaches(waits, self.hard_bytes)
    }
}

/// A number of bytes, with a unit or without (`src/util.c` `memtoull`).
fn memory(word: &Bytes) -> Option<u64> {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, unit) = word.split_at(digits);
    let unit: u64 = match lower(&Bytes::copy_from_slice(unit)).as_str() {
        "" | "b" => 1,
        "k" => 1_000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    std::str::from_utf8(number).ok()?.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_changes_and_is_shown_in_bytes() {
        let shown =
            |text: &str| Limits::default().changed(&Bytes::from(text.to_owned())).map(|limits| limits.show());
        let of_others = "normal 0 0 0 slave 268435456 67108864 60";
        assert_eq!(shown(""), Ok(format!("{of_others} pubsub 33554432 8388608 60")));
        assert_eq!(shown("pubsub 1mb 2k 3"), Ok(format!("{of_others} pubsub 1048576 2000 3")));
        let all = "normal 1 2 3 slave 4 5 6 pubsub 33554432 8388608 60";
        assert_eq!(shown("Replica 4 5 6 normal 1 2 3"), Ok(all.to_owned()));
        assert!(shown("foo").is_err_and(|why| why.starts_with("Wrong number")));
        assert!(shown("foo 1 2 3").is_err_and(|why| why.starts_with("Invalid client class")));
        for wrong in ["pubsub x 2 3", "pubsub 1 2x 3", "pubsub 1 2 -3", "pubsub -1 2 3"] {
            assert!(shown(wrong).is_err_and(|why| why.starts_with("Error in hard")), "{wrong}");
        }
    }

    #[test]
    fn who_has_too_much_waiting_is_gone_at_once_and_who_has_much_after_a_while() {
        let limit = Limits::default().of_subscribers();
        let (mb, mut since) = (1 << 20, None);
        let mut is_passed = |before: usize, waits: usize, second: i64| {
            limit.is_passed(before * mb, waits * mb, &mut since, Micros::seconds(second))
        };
        assert!(is_passed(0, 32, 0));
        assert!(!is_passed(0, 31, 0));
        assert!(!is_passed(31, 8, 60));
        assert!(is_passed(8, 9, 61));
        assert!(!is_passed(7, 9, 62), "it has read meanwhile");
        assert!(!is_passed(9, 10, 122));
        assert!(is_passed(10, 11, 123));
    }
}
