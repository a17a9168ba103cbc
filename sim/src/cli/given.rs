//! A token as it is given on the command line: itself, or a short name for one.

use super::names::program;
use super::progress::Progress;
use super::scenarios::{self, is_it};
use super::{BadCall, interrupt, last, names};
use crate::plans::strategy::Strategy;
use crate::registry::Locks;
use crate::sweep::PlannedRun;
use crate::token::{Token, TokenError};
use picklock_model::claims::{self, Scenario, Search};
use picklock_properties::{Promise, PromiseSet};
use std::io::Read;
use std::num::{IntErrorKind, ParseIntError};

/// What may stand where a token is asked for, in a help text.
pub const WHAT: &str = "\
A token is pk5_…, as the commands print it; white space in it does not matter. Short names will do, too:
  C1                     a row of the catalogue
  redlock:pause:3        seed 3 of sweep redlock --faults pause
  redlock:pause:3:fifo   the same, and that promise is watched, too
  @last, @last:2         of what was printed last
  -                      what stands on standard input";

/// No token has so many, and what has no end is none.
const BYTES_MAX: u64 = 64 << 20;

/// The token that is given as `text`. `None`: it has to be searched for, and a limit or ^C came first, as was said on stderr.
pub fn token(locks: &Locks, text: &str) -> Result<Option<Token>, BadCall> {
    if text.trim() != "-" {
        return named(locks, text);
    }
    let mut read = String::new();
    let stdin = std::io::stdin().lock().take(BYTES_MAX + 1).read_to_string(&mut read);
    stdin.map_err(|error| BadCall(format!("standard input cannot be read: {error}")))?;
    if read.len() as u64 > BYTES_MAX {
        return Err(BadCall(format!("standard input is no token: it has more than {BYTES_MAX} bytes")));
    }
    match read.trim() {
        "" => Err(BadCall("there is no token on standard input".to_owned())),
        read => named(locks, read),
    }
}

fn named(locks: &Locks, text: &str) -> Result<Option<Token>, BadCall> {
    let name: String = text.split_whitespace().collect();
    if let Some(nth) = name.strip_prefix("@last") {
        return parsed(&last::token(nth)?).map(Some);
    }
    if let Some(row) = claims::scenarios().into_iter().find(|row| row.id.eq_ignore_ascii_case(&name)) {
        return of_row(locks, &row);
    }
    if let [lock, faults, seed, promise @ ..] = name.split(':').collect::<Vec<_>>().as_slice()
        && promise.len() <= 1
    {
        return of_seed(locks, (lock, faults, seed), promise.first().copied()).map(Some);
    }
    match name.parse::<Token>() {
        Err(TokenError::NotAToken) => Err(BadCall(no_name(locks, &name))),
        token => token.map(Some).map_err(|error| BadCall(error.to_string())),
    }
}

fn parsed(text: &str) -> Result<Token, BadCall> {
    text.parse().map_err(|error: TokenError| BadCall(error.to_string()))
}

/// Letters and a number, as rows of the catalogue are called.
fn is_like_a_row(name: &str) -> bool {
    let (letter, rest) = name.split_at_checked(1).unwrap_or_default();
    let number = rest.trim_end_matches(|c: char| c.is_ascii_lowercase());
    letter.chars().all(|c| c.is_ascii_alphabetic())
        && rest.len() - number.len() <= 1
        && (1..=3).contains(&number.len())
        && number.chars().all(|c| c.is_ascii_digit())
}

/// A lock, its faults, a seed and a promise.
const PARTS_MAX: usize = 4;

/// Neither a token nor a name of one.
fn no_name(locks: &Locks, name: &str) -> String {
    let (lock, faults) = name.split_once(':').unwrap_or((name, "pause"));
    if locks.iter().any(|known| known.name().eq_ignore_ascii_case(lock)) {
        let parts: Vec<&str> = name.split(':').collect();
        if let [known @ .., _] = parts.as_slice()
            && known.len() >= PARTS_MAX
        {
            let meant = parts[..PARTS_MAX].join(":");
            return format!(
                "{name} has too many parts: a run is LOCK:FAULTS:SEED or LOCK:FAULTS:SEED:PROMISE, such as {meant}"
            );
        }
        return format!(
            "{name} is no run, but has many: {lock}:{faults}:3 is that of seed 3, and {} sweep {lock} --faults {faults} finds one that breaks",
            program()
        );
    }
    let forms: Vec<&str> =
        claims::scenarios().iter().map(|row| row.id).filter(|id| is_it(name, id)).collect();
    if !forms.is_empty() {
        return format!("row {} has several forms: say which, {}", name.to_uppercase(), forms.join(" or "));
    }
    if is_like_a_row(name) {
        return format!(
            "the catalogue has no row {}; {} scenarios --list has them all",
            name.to_uppercase(),
            program()
        );
    }
    let not_a_token = TokenError::NotAToken;
    format!(
        "{not_a_token}; nor is it a row of the catalogue (C1), LOCK:FAULTS:SEED (redlock:pause:3), @last, or -"
    )
}

/// What the row of the catalogue finds.
fn of_row(locks: &Locks, row: &Scenario) -> Result<Option<Token>, BadCall> {
    let progress = match &row.search {
        Search::Space { .. } => Progress::states(),
        Search::Seeds { .. } => Progress::seeds(),
    };
    progress.begin(row.id.to_owned());
    let found = scenarios::run(locks, row, &row.search, Some(row.breaks), 1, &progress)?;
    drop(progress);
    let id = row.id;
    match (found.token, found.complete) {
        (Some(token), _) => parsed(&token).map(Some),
        (None, true) => {
            Err(BadCall(format!("{id} is not found any more: picklock scenarios {id} says more")))
        }
        (None, false) => {
            let why = if interrupt::happened() { "interrupted" } else { "ended by a limit" };
            eprintln!("incomplete: the search for {id} was {why} before it found anything");
            Ok(None)
        }
    }
}

/// The run of a seed, in the setup that its lock is registered with.
fn of_seed(
    locks: &Locks,
    (lock, faults, seed): (&str, &str, &str),
    promise: Option<&str>,
) -> Result<Token, BadCall> {
    let lock = names::lock(locks, lock)?;
    let faults = names::faults(faults)?;
    let seed: u64 = seed.parse().map_err(|error: ParseIntError| {
        BadCall(match error.kind() {
            IntErrorKind::PosOverflow => {
                format!("the seed {seed} is too large: the last one is {}", u64::MAX)
            }
            _ => format!("{seed:?} is not the number of a seed; redlock:pause:3 has one"),
        })
    })?;
    let promise = match promise {
        None => None,
        Some(name) => {
            let promises = names::promises(&[name.to_owned()])?;
            names::can_break(lock, promises)?;
            promises.iter().next()
        }
    };
    let setup = setup(lock.watched(), promise)
        .map_or_else(|| lock.setup(None), |promises| lock.setup(Some(promises)));
    let plan = lock.plans(&setup, faults, Strategy::default(), &[seed])?.pop();
    let Some(plan) = plan else { unreachable!("a plan was drawn for the seed that was asked for") };
    Ok(lock.token(&setup, &PlannedRun { plan, seed }, promise)?)
}

/// Which promises are watched, if not the usual ones: those and one more.
fn setup(usual: PromiseSet, promise: Option<Promise>) -> Option<PromiseSet> {
    let more = promise.filter(|promise| !usual.contains(*promise))?;
    Some(usual.iter().chain([more]).collect())
}
