//! Things that are asked for by name: a name that nothing has is answered with the nearest one.

use super::sweep::names_of;
use super::{BadCall, shell};
use crate::plans::fault::{FaultKind, FaultSet};
use crate::plans::strategy::Strategy;
use crate::registry::{AnyLock, Locks};
use crate::token::Token;
use picklock_model::claims::Assumption;
use picklock_properties::{Promise, PromiseSet};
use std::path::PathBuf;

/// What this command is called: `picklock`, or as whoever built it over locks of their own calls it.
pub fn name() -> String {
    called().file_stem().map_or_else(|| "picklock".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// What to type to call it again: `picklock`, which is installed, and otherwise what was typed, unless the name alone is enough.
pub fn program() -> String {
    let (name, called) = (name(), called());
    let is_path = called.components().count() > 1;
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = || std::env::split_paths(&folders).any(|folder| folder.join(&name).is_file());
    if name == "picklock" || !is_path || is_installed() {
        return name;
    }
    shell::path(&called)
}

fn called() -> PathBuf {
    std::env::args_os().next().map(PathBuf::from).unwrap_or_default()
}

/// The one of `things` that has this name, however it is capitalised. `what` is the kind of thing, in one word.
pub fn find<T>(what: &str, name: &str, things: Vec<T>, name_of: impl Fn(&T) -> String) -> Result<T, BadCall> {
    let names: Vec<String> = things.iter().map(&name_of).collect();
    things.into_iter().find(|thing| name_of(thing).eq_ignore_ascii_case(name)).ok_or_else(|| {
        let kin: Vec<&str> =
            names.iter().map(String::as_str).filter(|known| is_of_the_family(known, name)).collect();
        let instead = match (nearest(name, &names), lister(what)) {
            _ if kin.len() > 1 => format!("these begin so: {}", kin.join(", ")),
            (Some(nearest), _) if nearest == "none" => format!("the nearest name is {nearest:?}"),
            (Some(nearest), _) => format!("the nearest name is {nearest}"),
            (None, Some(commands)) => {
                let commands: Vec<String> =
                    commands.iter().map(|command| format!("{} {command}", program())).collect();
                match commands.as_slice() {
                    [one] => format!("{one} lists them"),
                    several => format!("{} list them", several.join(" and ")),
                }
            }
            (None, None) => {
                let mut once: Vec<&str> = Vec::new();
                names.iter().for_each(|name| {
                    if !once.contains(&name.as_str()) {
                        once.push(name);
                    }
                });
                format!("there are {}", once.join(", "))
            }
        };
        BadCall(format!("no {what} is called {name:?}; {instead}"))
    })
}

/// `dlm-two` of `dlm`.
fn is_of_the_family(known: &str, name: &str) -> bool {
    known.strip_prefix(&name.to_ascii_lowercase()).is_some_and(|rest| rest.starts_with('-'))
}

/// The commands that list things of this kind.
fn lister(what: &str) -> Option<&'static [&'static str]> {
    match what {
        "lock" => Some(&["locks"]),
        "fault" => Some(&["faults"]),
        "promise" => Some(&["properties"]),
        "assumption" => Some(&["assumptions"]),
        "scenario" => Some(&["scenarios --list"]),
        "theorem" => Some(&["theorems --help"]),
        "theorem, row or lock" => Some(&["locks", "scenarios --list", "theorems --help"]),
        _ => None,
    }
}

/// What was probably meant: a name that takes few edits to reach, that has the same letters in another order, or that begins so. Another number is another thing, and no
/// slip; so is another letter before a number, where the letter is all that there is beside it.
pub fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a String> {
    let name = name.to_lowercase();
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    let edits = |known: &str| strsim::damerau_levenshtein(&name, &known.to_lowercase());
    let edits_max = (name.chars().count() / 4).max(1);
    let letters = |name: &str| {
        let mut letters: Vec<char> = name.to_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_id = |name: &str| digits(name).len() + 1 == name.len();
    let is_near = |known: &&String| {
        let begins_so = name.chars().count() >= 3 && known.to_lowercase().starts_with(&name);
        let is_near = edits(known) <= edits_max || letters(known) == letters(&name);
        begins_so || is_near && digits(&name) == digits(known) && !is_id(known)
    };
    known.iter().filter(is_near).min_by_key(|known| edits(known))
}

/// A registered lock.
pub fn lock<'a>(locks: &'a Locks, name: &str) -> Result<&'a dyn AnyLock, BadCall> {
    let found = find("lock", name, locks.iter().collect(), |lock| lock.name().to_owned());
    let fault = FaultKind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name));
    match (found, fault) {
        (Err(_), Some(fault)) => {
            Err(BadCall(format!("{fault} is a fault, and no lock; {} locks lists the locks", program())))
        }
        (found, _) => found,
    }
}

/// A registered lock that is one: what is there to probe a store does not count.
pub fn real_lock<'a>(locks: &'a Locks, name: &str) -> Result<&'a dyn AnyLock, BadCall> {
    let lock = lock(locks, name)?;
    if lock.is_lock() {
        return Ok(lock);
    }
    Err(BadCall(format!("{name} is {}; {} locks lists the locks", lock.summary(), program())))
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

/// Whether what is no lock is there for these promises, and what is a lock for none of shared objects.
pub fn can_break(lock: &dyn AnyLock, promises: PromiseSet) -> Result<(), BadCall> {
    let (name, asks) = (lock.name(), lock.watched());
    for promise in promises.iter() {
        if lock.is_lock() && promise.is_of_objects() {
            return Err(BadCall(format!("{promise} is a promise of shared objects, not of locks")));
        }
        if !lock.is_lock() && !asks.contains(promise) {
            let asks = names_of(asks).join(", ");
            return Err(BadCall(format!("{name} cannot break {promise}: it is there for {asks}")));
        }
    }
    Ok(())
}

/// Promises.
pub fn promises(names: &[String]) -> Result<PromiseSet, BadCall> {
    names.iter().map(|name| find("promise", name, Promise::ALL.to_vec(), Promise::to_string)).collect()
}

/// Assumptions.
pub fn assumptions(names: &[String]) -> Result<Vec<Assumption>, BadCall> {
    let find = |name: &String| {
        let is_partition = name.to_ascii_lowercase().contains("partition");
        let found = find("assumption", name, Assumption::ALL.to_vec(), Assumption::to_string);
        found.map_err(|unknown| match is_partition {
            // A check has no partitions: what is cut off loses messages, one by one.
            true => BadCall(format!(
                "no assumption is called {name:?}: in a check a partition is messages that are lost, {}, and seeded runs \
                 have partitions: {} sweep LOCK --faults partition",
                Assumption::NoLoss,
                program()
            )),
            false => unknown,
        })
    };
    let found: Vec<Assumption> = names.iter().map(find).collect::<Result<_, _>>()?;
    let twice = found.iter().enumerate().find(|(nth, name)| found[..*nth].contains(name));
    match twice {
        None => Ok(found),
        Some((_, name)) => Err(BadCall(format!("{name} is dropped twice"))),
    }
}

/// Kinds of faults as [`FaultSet`] reads them, `all` and what is taken out of it included, or `none`.
pub fn faults(names: &str) -> Result<FaultSet, BadCall> {
    let is_none = |name: &str| name.trim().eq_ignore_ascii_case("none");
    let is_all_taken_out = |name: &str| name.trim().eq_ignore_ascii_case("-all");
    let kind = |name: &str| find("fault", name, FaultKind::ALL.to_vec(), FaultKind::to_string);
    match names.split(',').any(is_none) {
        true if is_none(names) => Ok(FaultSet::EMPTY),
        true => Err(BadCall(format!("--faults {names}: none stands alone"))),
        false if names.split(',').any(is_all_taken_out) => Err(BadCall(format!(
            "--faults {names}: without all of them there is none, which is --faults none"
        ))),
        false => FaultSet::read(names, kind),
    }
}

/// Kinds of faults that served servers and their clients can feel.
pub fn faults_of_servers(names: &str) -> Result<FaultSet, BadCall> {
    let kinds = faults(names)?;
    match FaultSet::from(FaultKind::Resource).is_within(kinds) {
        false => Ok(kinds),
        true => Err(BadCall(format!(
            "--faults {names}: what a lock protects is nobody here, so that no fault of the resource can strike it"
        ))),
    }
}

/// A strategy.
pub fn strategy(name: &str) -> Result<Strategy, BadCall> {
    find("strategy", name, Strategy::ALL.to_vec(), Strategy::to_string)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn among(name: &str, known: &[&str]) -> Option<String> {
        let known: Vec<String> = known.iter().map(|known| (*known).to_owned()).collect();
        nearest(name, &known).cloned()
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let locks = ["redis-single", "redlock", "cassandra-queue"];
        assert_eq!(among("cassandra-quue", &locks).as_deref(), Some("cassandra-queue"));
        assert_eq!(among("REDLOK", &locks).as_deref(), Some("redlock"));
        assert_eq!(among("cassandra", &locks).as_deref(), Some("cassandra-queue"));
        for far in ["foo", "mongo", ""] {
            assert_eq!(among(far, &locks), None, "{far}");
        }
        assert_eq!(among("foo", &["fifo"]), None);
        assert_eq!(among("pusae", &["clock", "pause"]).as_deref(), Some("pause"));
        assert_eq!(among("C99", &["C9", "C1"]), None, "another row is no slip of the pen");
        assert_eq!(among("E10", &["C10", "E1"]), None, "nor is a row of another system");
        assert_eq!(among("theorem1", &["theorem-1"]).as_deref(), Some("theorem-1"));
    }

    #[test]
    fn names_are_found_however_they_are_capitalised() {
        assert_eq!(promises(&["FIFO".to_owned()]).unwrap().iter().next(), Some(Promise::Fifo));
        assert_eq!(faults("Pause,CLOCK").unwrap().iter().count(), 2);
        assert_eq!(strategy("Swarm").unwrap(), Strategy::Swarm);
        assert!(assumptions(&["No-Pause".to_owned()]).is_ok());
    }

    #[test]
    fn none_stands_alone() {
        for names in ["none,all", "pause,none", "-pause,None"] {
            let error = faults(names).unwrap_err().to_string();
            assert!(error.ends_with("none stands alone"), "{error}");
        }
        assert_eq!((faults("none").unwrap(), faults("ALL").unwrap()), (FaultSet::EMPTY, FaultSet::ALL));
    }

    #[test]
    fn of_all_some_are_taken_out_and_to_all_some_are_added() {
        let all_but_pauses = FaultSet::ALL.without(FaultKind::Pause);
        for names in ["all,-pause", "-pause", "All, -Pause"] {
            assert_eq!(faults(names).unwrap(), all_but_pauses, "{names}");
        }
        assert_eq!(faults("suspend,all").unwrap().len(), FaultSet::ALL.len() + 1);
        assert!(faults("all,-puase").unwrap_err().to_string().contains("pause"));
        assert!(faults("").is_err());
        let error = faults("all,-all").unwrap_err().to_string();
        assert!(error.ends_with("which is --faults none"), "{error}");
    }
}
