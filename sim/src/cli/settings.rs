//! `--set NAME=VALUE`: a lock, its store or its use set otherwise than it is registered.

use super::{BadCall, names};
use crate::registry::{AnyLock, NotSet, RunError, Surroundings};
use clap::Args;
use picklock_model::claims::NamedSpace;
use picklock_model::machine::Idle;

/// What is set otherwise.
#[derive(Debug, Args)]
pub struct Set {
    /// Sets a part of the lock, of its store (store.NAME), or of its use (clients, rounds, hold, think, servers), as `check` and `sweep` tell it:
    /// ttl=5s, store.persistence=None; may be repeated. Each seed of a sweep draws its own clients and rounds around what is set, and holds and thinking of any length up to half as long again as a grant, or up to what is set if that is longer, unless varies=false is
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
}

/// What `check` has options for.
const OPTIONS: [&str; 4] = ["clients", "servers", "rounds", "hold"];

/// Of which each seed of a sweep draws its own, around those that are set.
const DRAWN: [&str; 4] = ["clients", "rounds", "hold", "think"];

/// The name in `NAME=VALUE`, as a use calls it.
fn name_of(given: &str) -> &str {
    let name = given.split('=').next().unwrap_or_default().trim();
    name.strip_prefix("workload.").unwrap_or(name)
}

impl Set {
    /// Who uses the lock then, if that was set and each seed draws it anew around what was asked for.
    pub fn drawn_around(&self, lock: &dyn AnyLock, setup: &[u8]) -> Result<Option<String>, BadCall> {
        if !self.set.iter().any(|given| DRAWN.contains(&name_of(given))) || !lock.varies(setup)? {
            return Ok(None);
        }
        let used = lock.use_in_words(setup)?;
        Ok(Some(format!("{used}; there are two clients or more, and with --set varies=false exactly these")))
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// All of it, as it was asked for.
    pub fn given(self) -> Vec<String> {
        self.set
    }

    /// The packed setup, with all of it set, one after the other.
    pub fn in_setup(&self, lock: &dyn AnyLock, mut setup: Vec<u8>) -> Result<Vec<u8>, BadCall> {
        for (nth, given) in self.set.iter().enumerate() {
            let is_before = |before: &&String| name_of(before) == name_of(given);
            if let Some(before) = self.set[..nth].iter().find(is_before) {
                return Err(BadCall(format!("--set {given}: it is set already, --set {before}")));
            }
            let Some((name, value)) = given.split_once('=') else {
                return Err(BadCall(format!("--set {given}: it takes NAME=VALUE, such as ttl=5s")));
            };
            setup = lock.changed(&setup, name.trim(), value.trim()).map_err(|error| match error {
                RunError::NotSet(NotSet::NoSuchName { name, lock, known }) => {
                    let instead = names::nearest(&name, &known).map_or_else(
                        || format!("it has {}", known.join(", ")),
                        |near| format!("the nearest is {near}"),
                    );
                    BadCall(format!("--set {given}: {lock} has no setting {name}; {instead}"))
                }
                RunError::NotSet(why) => BadCall(format!("--set {why}")),
                other => BadCall(format!("--set {given}: {other}")),
            })?;
        }
        Ok(setup)
    }

    /// The space, with all of it set, but for what `check` has options for: what these say is what it says.
    pub fn in_space(&self, lock: &dyn AnyLock, space: NamedSpace) -> Result<NamedSpace, BadCall> {
        let has_option = |given: &&String| OPTIONS.contains(&name_of(given));
        if let Some(given) = self.set.iter().find(has_option) {
            let options: Vec<String> = OPTIONS.iter().map(|name| format!("--{name}")).collect();
            return Err(BadCall(format!("--set {given}: check has options for it, {}", options.join(", "))));
        }
        if let Some(given) = self.set.iter().find(|given| name_of(given) == "varies") {
            return Err(BadCall(format!(
                "--set {given}: a check draws nothing: it searches every schedule of exactly what is set"
            )));
        }
        let space = NamedSpace { setup: self.in_setup(lock, space.setup)?, ..space };
        let Surroundings { unseen, idle, .. } = lock.surroundings(&space)?;
        let is_set = |idle: &Idle| {
            self.set.iter().find(|given| name_of(given).trim_start_matches("lock.") == idle.setting)
        };
        if let Some((idle, given)) = idle.and_then(|idle| Some((idle, is_set(&idle)?))) {
            return Err(BadCall(format!("--set {given}: it does nothing here: {}", idle.why)));
        }
        if let Some(unseen) = unseen.first() {
            let name = format!("store.{unseen}");
            let given = self.set.iter().find(|given| name_of(given) == name);
            let (what, set) = match given {
                Some(given) => (format!("--set {given}"), format!(" --set {given}")),
                None => (format!("{} sets {name}", lock.name()), String::new()),
            };
            return Err(BadCall(format!(
                "{what}: a check would pass whatever that does, for no search sees it; random runs do: {} sweep {}{set}",
                names::program(),
                lock.name()
            )));
        }
        Ok(space)
    }
}
