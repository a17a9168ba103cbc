//! Things that are asked for by name: a name that nothing has is answered with the nearest one.

use super::BadCall;
use crate::fault::FaultSet;
use crate::registry::{AnyLock, Locks};
use crate::strategy::{Strategy, UnknownStrategy};
use crate::token::Token;
use picklock_model::claims::Assumption;
use picklock_properties::{Promise, PromiseSet};
use std::path::PathBuf;

/// What this command is called: `picklock`, or as whoever built it over locks of their own calls it.
pub fn program() -> String {
    let path = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    path.file_stem().map_or_else(|| "picklock".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The one of `things` that has this name. `what` is the kind of thing, in one word.
pub fn find<T>(what: &str, name: &str, things: Vec<T>, name_of: impl Fn(&T) -> String) -> Result<T, BadCall> {
    let names: Vec<String> = things.iter().map(&name_of).collect();
    let nearest = names.iter().min_by_key(|known| strsim::damerau_levenshtein(name, known)).cloned();
    things.into_iter().find(|thing| name_of(thing) == name).ok_or_else(|| {
        BadCall(match nearest {
            Some(nearest) => format!("no {what} is called {name:?}; the nearest name is {nearest}"),
            None => format!("no {what} is called {name:?}; there is none"),
        })
    })
}

/// A registered lock.
pub fn lock<'a>(locks: &'a Locks, name: &str) -> Result<&'a dyn AnyLock, BadCall> {
    find("lock", name, locks.iter().collect(), |lock| lock.name().to_owned())
}

/// A registered lock that is one: what is there to probe a store does not count.
pub fn real_lock<'a>(locks: &'a Locks, name: &str) -> Result<&'a dyn AnyLock, BadCall> {
    let lock = lock(locks, name)?;
    if lock.is_lock() {
        return Ok(lock);
    }
    Err(BadCall(format!("{name} is {}; picklock locks lists the locks", lock.summary())))
}

/// The lock that a token is a run of.
pub fn lock_of<'a>(locks: &'a Locks, token: &Token) -> Result<&'a dyn AnyLock, BadCall> {
    locks.named(&token.lock).ok_or_else(|| {
        BadCall(format!(
            "this token is a run of a lock called {:?}, which this picklock does not have",
            token.lock
        ))
    })
}

/// Promises.
pub fn promises(names: &[String]) -> Result<PromiseSet, BadCall> {
    names.iter().map(|name| name.parse::<Promise>().map_err(|error| BadCall(error.to_string()))).collect()
}

/// Assumptions.
pub fn assumptions(names: &[String]) -> Result<Vec<Assumption>, BadCall> {
    let find = |name: &String| find("assumption", name, Assumption::ALL.to_vec(), Assumption::to_string);
    names.iter().map(find).collect()
}

/// Kinds of faults, with commas between, `none`, or `all`.
pub fn faults(names: &str) -> Result<FaultSet, BadCall> {
    names.parse().map_err(|error: crate::fault::UnknownFault| BadCall(error.to_string()))
}

/// A strategy.
pub fn strategy(name: &str) -> Result<Strategy, BadCall> {
    name.parse().map_err(|error: UnknownStrategy| BadCall(error.to_string()))
}

/// Strategies, each once.
pub fn strategies(names: &[String]) -> Result<Vec<Strategy>, BadCall> {
    let mut all = Vec::new();
    for name in names {
        let one = strategy(name)?;
        if all.contains(&one) {
            return Err(BadCall(format!("--strategy {one}: it is named twice; once is enough")));
        }
        all.push(one);
    }
    Ok(all)
}
