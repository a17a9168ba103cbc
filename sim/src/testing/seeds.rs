//! Which seeds a test runs: the usual ones, or those that the environment asks for.

use std::env::{self, VarError};
use std::ops::Range;

/// `PICKLOCK_SEED=n`: that one; `PICKLOCK_SEEDS=N`: the first N; else the first `usual` ones.
///
/// # Errors
///
/// If one of these is no number, if both are set, or if no seed is left.
pub fn seeds(usual: u64) -> Result<Range<u64>, String> {
    let (one, many) = (variable("PICKLOCK_SEED")?, variable("PICKLOCK_SEEDS")?);
    chosen(one.as_deref(), many.as_deref(), usual)
}

fn variable(name: &str) -> Result<Option<String>, String> {
    match env::var(name) {
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(value)) => {
            Err(format!("{name}={value:?} is no number; {name}=4711 would do"))
        }
    }
}

fn chosen(one: Option<&str>, many: Option<&str>, usual: u64) -> Result<Range<u64>, String> {
    match (one, many) {
        (None, None) => Ok(0..usual),
        (Some(_), Some(_)) => {
            Err("PICKLOCK_SEED asks for one seed and PICKLOCK_SEEDS for many: set one of them".to_owned())
        }
        (Some(text), None) => match text.trim().parse::<u64>() {
            Ok(seed) if seed < u64::MAX => Ok(seed..seed + 1),
            Ok(_) | Err(_) => {
                Err(format!("PICKLOCK_SEED={text:?} is no seed; a seed is a whole number from 0 on, as 4711"))
            }
        },
        (None, Some(text)) => match text.trim().parse::<u64>() {
            Ok(count) if count > 0 => Ok(0..count),
            Ok(_) => Err("PICKLOCK_SEEDS=0 would test nothing; it takes at least one seed".to_owned()),
            Err(_) => {
                Err(format!("PICKLOCK_SEEDS={text:?} is no number of seeds; it takes one from 1 on, as 1000"))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_chooses_the_seeds() {
        assert_eq!(chosen(None, None, 300), Ok(0..300));
        assert_eq!(chosen(Some("4711"), None, 300), Ok(4711..4712));
        assert_eq!(chosen(None, Some(" 20 "), 300), Ok(0..20));
    }

    #[test]
    fn a_bad_choice_of_seeds_is_refused_with_what_would_be_right() {
        let complaint = |one, many| chosen(one, many, 300).unwrap_err();
        for text in ["", "x", "-1", "1.5", "1e3", "18446744073709551615", "18446744073709551616"] {
            let expected =
                format!("PICKLOCK_SEED={text:?} is no seed; a seed is a whole number from 0 on, as 4711");
            assert_eq!(complaint(Some(text), None), expected);
        }
        assert_eq!(
            complaint(None, Some("many")),
            "PICKLOCK_SEEDS=\"many\" is no number of seeds; it takes one from 1 on, as 1000"
        );
        assert_eq!(
            complaint(None, Some("0")),
            "PICKLOCK_SEEDS=0 would test nothing; it takes at least one seed"
        );
        assert!(complaint(Some("1"), Some("2")).contains("set one of them"));
    }
}
