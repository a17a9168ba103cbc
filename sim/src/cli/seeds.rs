//! `--seeds A..B` and `--shard I/N`.

use super::BadCall;
use std::num::IntErrorKind;
use std::ops::Range;

/// Reads `A..B`: from A on, up to but without B.
pub fn range(text: &str) -> Result<Range<u64>, BadCall> {
    let numbers = text.split_once("..").map(|(first, end)| (first.parse::<u64>(), end.parse::<u64>()));
    match numbers {
        Some((Ok(first), Ok(end))) if first < end => Ok(first..end),
        Some((Ok(first), Ok(end))) if first > end => {
            Err(BadCall(format!("--seeds {text} runs backwards; {end}..{first} would do")))
        }
        Some((Ok(first), Ok(_))) => Err(BadCall(format!(
            "--seeds {text} is empty, for the second number does not count; {first}..{} is one seed",
            first.saturating_add(1)
        ))),
        Some((Err(error), _) | (_, Err(error))) if *error.kind() == IntErrorKind::PosOverflow => {
            Err(BadCall(format!("--seeds {text} is too large: seeds are numbers up to {}", u64::MAX)))
        }
        Some((Err(_), _) | (_, Err(_))) | None => Err(BadCall(match text.parse::<u64>() {
            Ok(count @ 1..) => {
                format!("--seeds {text} is a number, and here it takes a range of seeds: --seeds 0..{count}")
            }
            Ok(0) | Err(_) => format!("--seeds {text:?} is no range of seeds; 0..1000 is one"),
        })),
    }
}

/// Reads `I/N` and takes the I-th of N parts, in order, of `seeds`. Together the parts are the whole.
pub fn shard(seeds: Range<u64>, text: &str) -> Result<Range<u64>, BadCall> {
    let numbers = text.split_once('/').map(|(part, parts)| (part.parse::<u64>(), parts.parse::<u64>()));
    let Some((Ok(part), Ok(parts))) = numbers else {
        return Err(BadCall(format!("--shard {text:?} is no part of a whole; 1/4 is the first of four")));
    };
    if part == 0 || part > parts {
        return Err(BadCall(match parts {
            0 => format!("--shard {text}: there is no part of no parts; 1/4 is the first of four"),
            1 => format!("--shard {text}: there is no part {part} of one; it is 1/1"),
            _ => format!(
                "--shard {text}: there is no part {part} of {parts}; they are 1/{parts} to {parts}/{parts}"
            ),
        }));
    }
    let length = u128::from(seeds.end - seeds.start);
    let until = |part: u64| seeds.start + (length * u128::from(part) / u128::from(parts)) as u64;
    let shard = until(part - 1)..until(part);
    if shard.is_empty() {
        return Err(BadCall(format!(
            "--shard {text} of {length} seeds is empty; at most {length} parts are not"
        )));
    }
    Ok(shard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_contiguous_and_together_the_whole() {
        for (seeds, parts) in [(0..1000, 3), (5..12, 7), (u64::MAX - 10..u64::MAX, 4), (0..u64::MAX, 5)] {
            let mut next = seeds.start;
            for part in 1..=parts {
                let shard = shard(seeds.clone(), &format!("{part}/{parts}")).unwrap();
                assert_eq!(shard.start, next);
                next = shard.end;
            }
            assert_eq!(next, seeds.end);
        }
    }

    #[test]
    fn what_is_no_range_and_no_shard_is_refused_with_what_would_be_right() {
        for text in ["", "..", "5", "a..b", "5..5", "9..3", "-1..3", "0..99999999999999999999"] {
            let error = range(text).unwrap_err().to_string();
            assert!(error.contains(text) && error.matches("..").count() > 0, "{error}");
        }
        let too_large = range("0..99999999999999999999").unwrap_err().to_string();
        assert!(too_large.ends_with("is too large: seeds are numbers up to 18446744073709551615"));
        assert_eq!(range("9..3").unwrap_err().to_string(), "--seeds 9..3 runs backwards; 3..9 would do");
        assert!(range("100").unwrap_err().to_string().ends_with(": --seeds 0..100"));
        for text in ["", "0/4", "5/4", "1/0", "0/0", "x/4", "4", "1/11"] {
            assert!(shard(0..10, text).unwrap_err().to_string().contains(text), "{text}");
        }
        let error = shard(0..10, "5/4").unwrap_err().to_string();
        assert_eq!(error, "--shard 5/4: there is no part 5 of 4; they are 1/4 to 4/4");
    }
}
