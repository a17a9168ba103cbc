//! Whether a check is what its options say: what would change nothing, or would be a verdict on something else, is turned down.

use crate::cli::screen::counted;
use crate::cli::{BadCall, last, next};
use crate::registry::{AnyLock, Audit, CheckOptions, Surroundings};
use picklock_model::claims::{Assumption, NamedSpace};

/// A verdict on a machine that keeps times which it does not show would be one on another algorithm.
pub fn shows_what_it_keeps(lock: &dyn AnyLock, space: &NamedSpace) -> Result<(), BadCall> {
    let Some(Audit { what, steps, token }) = lock.audit(space)? else { return Ok(()) };
    let (name, token) = (lock.name(), token.encode());
    last::keep(Some(token.as_str()));
    Err(BadCall(format!(
        "{name} cannot be checked: after {} the search sees something else than what happens, {what} differs; its visit, or its \
         store's, leaves out a time or a number that they keep, or picklock has a defect\n{}",
        counted(steps as u64, "step"),
        next::see(&token).trim_end()
    )))
}

/// Whether a lease ends here that the lock's holder never looks at: that it leaves in time is nothing that the lock sees to.
pub fn outstays(lock: &dyn AnyLock, options: &CheckOptions, surroundings: &Surroundings) -> bool {
    let dropping = |drop: Vec<Assumption>| lock.space(&CheckOptions { drop, ..options.clone() });
    let too = [&options.drop[..], &[Assumption::StopsInTime]].concat();
    surroundings.not_in_force.contains(&Assumption::NoExpiry.name())
        && dropping(too) == dropping(options.drop.clone())
}

/// Whether the lock has a lease that the space is without.
pub fn has_a_lease_to_bring_back(lock: &dyn AnyLock, options: &CheckOptions) -> bool {
    let too = [&options.drop[..], &[Assumption::NoExpiry]].concat();
    !options.drop.contains(&Assumption::NoExpiry)
        && lock.space(&CheckOptions { drop: too, ..options.clone() }) != lock.space(options)
}

/// What is asked for and changes nothing would be a verdict on another world than that.
pub fn minds_what_it_is_asked(lock: &dyn AnyLock, options: &CheckOptions) -> Result<(), BadCall> {
    let asked = lock.space(options);
    let name = lock.name();
    let usual = lock.usual_servers();
    // A lock on one server never asks another one.
    let is_on_one = lock.is_lock() && usual == 1 && lock.swept_servers() == 1;
    let is_alike = || asked == lock.space(&CheckOptions { servers: usual, ..options.clone() });
    if options.servers != usual && (is_on_one || is_alike()) {
        return Err(BadCall(format!(
            "--servers {}: {name} is not checked with another number of servers than {usual}: leave it out",
            options.servers
        )));
    }
    if options.try_lock && asked == lock.space(&CheckOptions { try_lock: false, ..options.clone() }) {
        return Err(BadCall(format!("--try-lock: {name} has no such call: leave it out")));
    }
    Ok(())
}

/// Whoever pauses in a space is suspended with its machine, or is not.
pub fn pauses_one_way(options: &CheckOptions) -> Result<(), BadCall> {
    let both = [Assumption::NoPause, Assumption::NoSuspend];
    if both.iter().all(|assumption| options.drop.contains(assumption)) {
        let [pause, suspend] = both;
        return Err(BadCall(format!(
            "--drop {pause} and --drop {suspend}: they are two ways to pause, of which a check lets in one: check each by itself"
        )));
    }
    Ok(())
}

/// Whether it changes the space to drop this: some matter by themselves, some only beside others that are dropped.
pub fn matters(lock: &dyn AnyLock, options: &CheckOptions, assumption: Assumption) -> bool {
    let dropping = |drop: Vec<Assumption>| lock.space(&CheckOptions { drop, ..options.clone() });
    let others: Vec<Assumption> = options.drop.iter().copied().filter(|other| *other != assumption).collect();
    dropping(vec![assumption]) != dropping(Vec::new())
        || dropping([&others[..], &[assumption]].concat()) != dropping(others)
}

/// A drop that changes nothing would seem to show that the lock does not need the assumption.
pub fn leans_on_what_it_drops(lock: &dyn AnyLock, options: &CheckOptions) -> Result<(), BadCall> {
    let dropping = |drop: Vec<Assumption>| lock.space(&CheckOptions { drop, ..options.clone() });
    let matters = |assumption: &Assumption| matters(lock, options, *assumption);
    match options.drop.iter().find(|assumption| !matters(assumption)) {
        None => Ok(()),
        Some(without_meaning) => {
            let names: Vec<&str> =
                Assumption::ALL.into_iter().filter(matters).map(Assumption::name).collect();
            if *without_meaning == Assumption::FreeAtStart {
                return Err(BadCall(
                    "--drop free-at-start: it is not in force here, where clients give the lock back while others ask; \
                     --property theorem-3 makes it, and can drop it"
                        .to_owned(),
                ));
            }
            let base = lock.surroundings(&dropping(Vec::new()))?;
            if base.not_in_force.contains(&without_meaning.name()) {
                return Err(BadCall(format!(
                    "--drop {without_meaning}: it is not in force for {} to begin with: leave it out",
                    lock.name(),
                )));
            }
            Err(BadCall(format!(
                "--drop {without_meaning}: it has no meaning for {} in this space, and dropping it would change nothing; \
                 these have: {}",
                lock.name(),
                names.join(", ")
            )))
        }
    }
}
