//! `--set NAME=VALUE`: a lock, its store or its use set otherwise than it is registered.

use super::BadCall;
use crate::registry::{AnyLock, NotSet, RunError};
use clap::Args;
use picklock_model::claims::NamedSpace;

/// What is set otherwise.
#[derive(Debug, Args)]
pub struct Set {
    /// Sets a part of the lock, of its store (store.NAME), or of its use (clients, rounds, hold, think, servers), as `check` and `sweep` tell it:
    /// ttl=5s, store.persistence=None; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
}

/// What `check` has options for.
const OPTIONS: [&str; 4] = ["clients", "servers", "rounds", "hold"];

impl Set {
    /// All of it, as it was asked for.
    pub fn given(self) -> Vec<String> {
        self.set
    }

    /// The packed setup, with all of it set, one after the other.
    pub fn in_setup(&self, lock: &dyn AnyLock, mut setup: Vec<u8>) -> Result<Vec<u8>, BadCall> {
        for given in &self.set {
            let Some((name, value)) = given.split_once('=') else {
                return Err(BadCall(format!("--set {given}: it takes NAME=VALUE, such as ttl=5s")));
            };
            setup = lock.changed(&setup, name.trim(), value.trim()).map_err(|error| match error {
                RunError::NotSet(NotSet::NoSuchName { name, lock, known }) => BadCall(format!(
                    "--set {given}: {lock} has no setting {name}; it has {}",
                    known.join(", ")
                )),
                RunError::NotSet(why) => BadCall(format!("--set {why}")),
                other => BadCall(format!("--set {given}: {other}")),
            })?;
        }
        Ok(setup)
    }

    /// The space, with all of it set, but for what `check` has options for: what these say is what it says.
    pub fn in_space(&self, lock: &dyn AnyLock, space: NamedSpace) -> Result<NamedSpace, BadCall> {
        let has_option = |given: &&String| {
            let name = given.split('=').next().unwrap_or_default().trim();
            OPTIONS.contains(&name.strip_prefix("workload.").unwrap_or(name))
        };
        if let Some(given) = self.set.iter().find(has_option) {
            let options: Vec<String> = OPTIONS.iter().map(|name| format!("--{name}")).collect();
            return Err(BadCall(format!("--set {given}: check has options for it, {}", options.join(", "))));
        }
        Ok(NamedSpace { setup: self.in_setup(lock, space.setup)?, ..space })
    }
}
