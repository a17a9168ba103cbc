//! What a check with dropped assumptions is held against: the same check with none of them dropped, or with one of them in force again. A violation that comes
//! without a drop is none of its doing, and a drop may bring in more than its name says, such as time and a lease.

use super::{Check, Within};
use crate::cli::screen::counted;
use crate::registry::{AnyLock, CheckOptions, CheckVerdict, RunError, Surroundings};
use picklock_model::claims::{Assumption, Judgement, NamedSpace};
use picklock_model::explore::Limits;
use serde::Serialize;

/// Nobody waits for longer than the first search took: this many times its states, and some.
const STATES_FACTOR: u64 = 1;
const STATES_MORE: u64 = 200_000;

/// A check with which one is compared.
#[derive(Serialize)]
pub struct Control {
    /// Which of the dropped assumptions is in force in it; `None`: all of them.
    in_force: Option<&'static str>,
    verdict: CheckVerdict,
    states: u64,
    steps: Option<usize>,
}

impl Control {
    /// In words.
    pub fn in_words(&self) -> String {
        let with = match self.in_force {
            None => "with nothing dropped".to_owned(),
            Some(name) => format!("with {name} in force"),
        };
        let states = counted(self.states, "state");
        match (self.verdict, self.steps) {
            (CheckVerdict::Violated, steps) => {
                let needless = match self.in_force {
                    None => "no drop is needed for that".to_owned(),
                    Some(name) => format!("with the others dropped, {name} need not be"),
                };
                format!(
                    "{with} it is violated, too, in {}: {needless}",
                    counted(steps.unwrap_or(0) as u64, "step")
                )
            }
            (CheckVerdict::Holds, _) => format!("{with} it holds, in {states}"),
            (CheckVerdict::Vacuous, _) => {
                format!("{with} it is vacuous, in {states}: nothing could have broken it")
            }
            (CheckVerdict::Incomplete, _) => {
                format!("{with} it was not violated in {states}, where this second search was cut short")
            }
        }
    }
}

/// A space with which one is compared.
pub struct Other {
    /// Which of the dropped assumptions is in force in it; `None`: all of them.
    in_force: Option<Assumption>,
    space: NamedSpace,
}

/// The space with nothing dropped, and if several assumptions are, those with one of them in force again; of these, those that
/// there are, and in which it is: what is not dropped by its name may be given up with another one.
pub fn spaces(check: &Check, lock: &dyn AnyLock, options: &CheckOptions) -> Vec<Other> {
    let with = |in_force: Option<Assumption>| {
        let is_dropped = |dropped: &Assumption| in_force.is_some_and(|kept| kept != *dropped);
        let drop = options.drop.iter().copied().filter(is_dropped).collect();
        let options = CheckOptions { drop, ..options.clone() };
        // Without the drop there may be no time, and then no length of holds or messages, and nothing that strikes a number of times.
        let alike = Within { times: None, ..check.within() };
        let bounded =
            [check.within(), alike, Within::default()].map(|within| check.bounded(lock, &options, within));
        let space = bounded.into_iter().find_map(Result::ok)?;
        let space = check.set.in_space(lock, space).ok()?;
        // The others may give it up as well.
        let not_in_force = lock.surroundings(&space).ok()?.not_in_force;
        let is_kept = in_force.is_none_or(|kept| !not_in_force.contains(&kept.name()));
        is_kept.then_some(Other { in_force, space })
    };
    let each: &[Assumption] = if options.drop.len() > 1 { &options.drop } else { &[] };
    let all = if options.drop.is_empty() { None } else { with(None) };
    all.into_iter().chain(each.iter().copied().map(Some).filter_map(with)).collect()
}

/// The one with nothing dropped.
pub fn undropped(others: &[Other]) -> Option<&NamedSpace> {
    others.iter().find(|other| other.in_force.is_none()).map(|other| &other.space)
}

/// Searches them, no longer than is in proportion to a search of `states` states.
pub fn run(
    lock: &dyn AnyLock,
    others: &[Other],
    judgement: &Judgement,
    states: u64,
    limits: &Limits,
) -> Result<Vec<Control>, RunError> {
    let states_max = states.saturating_mul(STATES_FACTOR).saturating_add(STATES_MORE).min(limits.states_max);
    let limits = Limits { states_max, ..*limits };
    let one = |Other { in_force, space }: &Other| {
        let checked = lock.check(space, judgement, &limits)?;
        Ok(Control {
            in_force: in_force.map(Assumption::name),
            verdict: checked.verdict,
            states: checked.exploration.states,
            steps: checked.counterexample.map(|counterexample| counterexample.steps),
        })
    };
    others.iter().map(one).collect()
}

/// What is otherwise than it was, apart from what may go wrong: a phrase for each.
pub fn changed(was: &Surroundings, is: &Surroundings) -> Vec<String> {
    let phrases =
        |used: &str| -> Vec<String> { used.split([',', ';']).map(|part| part.trim().to_owned()).collect() };
    let mut changed = Vec::new();
    let (used, used_before) = (phrases(&is.used), phrases(&was.used));
    if used.len() == used_before.len() {
        let pairs = used.iter().zip(&used_before).filter(|(is, was)| is != was);
        changed.extend(pairs.map(|(is, was)| format!("{is} (else {was})")));
    } else {
        changed.push(format!("{} (else {})", is.used, was.used));
    }
    let value_of = |all: &Surroundings, name: &str| {
        let set = all.settings_told.iter().filter_map(|set| set.split_once('='));
        set.filter(|(own, _)| *own == name).map(|(_, value)| value.to_owned()).next()
    };
    let names = |all: &Surroundings| -> Vec<String> {
        all.settings_told.iter().filter_map(|set| Some(set.split_once('=')?.0.to_owned())).collect()
    };
    let mut all = names(is);
    all.extend(names(was).into_iter().filter(|name| value_of(is, name).is_none()));
    for name in all {
        let (now, before) = (value_of(is, &name), value_of(was, &name));
        if now != before {
            let now = now.map_or_else(|| format!("{name} as in seeded runs"), |now| format!("{name}={now}"));
            let before = before.unwrap_or_else(|| "as in seeded runs".to_owned());
            changed.push(format!("{now} (else {before})"));
        }
    }
    if is.time != was.time {
        changed.push(format!("time {} (else {})", is.time, was.time));
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(used: &str, set: &[&str], time: &str) -> Surroundings {
        let settings_told: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
        Surroundings {
            used: used.to_owned(),
            time: time.to_owned(),
            settings: settings_told.clone(),
            settings_told,
            allowed: Vec::new(),
            work_fits: false,
            unseen: Vec::new(),
            idle: None,
            not_in_force: Vec::new(),
        }
    }

    #[test]
    fn what_a_drop_changes_is_told_with_what_it_was() {
        let was =
            surroundings("2 clients, hold for as long as they like; 1 server", &["ttl=none"], "any order");
        let is = surroundings("2 clients, hold 1s; 1 server", &["ttl=2s", "store.log=Unsynced"], "in ticks");
        assert_eq!(
            changed(&was, &is),
            [
                "hold 1s (else hold for as long as they like)",
                "ttl=2s (else none)",
                "store.log=Unsynced (else as in seeded runs)",
                "time in ticks (else any order)",
            ]
        );
        assert!(changed(&is, &is).is_empty());
    }
}
