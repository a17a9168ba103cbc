//! How a run is had again: by the command, or by the test itself, where the command does not know the lock.

use crate::registry::{AnyLock, Locks};
use crate::token::Token;
use picklock_properties::Promise;
use std::env::{self, VarError};

/// Names the run that tests of its lock and promise are to show.
const REPLAY: &str = "PICKLOCK_REPLAY";

/// What to type to see this run again; `None`: the command does it.
pub fn call(lock: &dyn AnyLock, token: &Token) -> Option<String> {
    let known = Locks::builtin();
    let is_known = known.named(lock.name()).is_some_and(|known| known.summary() == lock.summary());
    // A name alone would run every test whose name has it within.
    let test = test().map_or_else(String::new, |test| format!(" {test} -- --exact"));
    (!is_known).then(|| format!("{REPLAY}={} cargo test{test}", token.encode()))
}

/// The test that runs, as cargo knows it. None is known where tests run one at a time, in the thread that all of them share.
pub fn test() -> Option<String> {
    std::thread::current().name().filter(|name| *name != "main").map(str::to_owned)
}

/// The run that the environment asks for, if it is one of this lock and for this promise.
pub fn asked_for(lock: &str, promise: Promise) -> Result<Option<Token>, String> {
    let text = match env::var(REPLAY) {
        Ok(text) => text,
        Err(VarError::NotPresent) => return Ok(None),
        Err(VarError::NotUnicode(text)) => return Err(format!("{REPLAY}={text:?} is no token")),
    };
    wanted(&text, lock, promise)
}

fn wanted(text: &str, lock: &str, promise: Promise) -> Result<Option<Token>, String> {
    let token: Token = text.parse().map_err(|error| format!("{REPLAY}={text}: {error}"))?;
    let is_it = token.lock == lock && token.promise.is_none_or(|of| of == promise);
    Ok(is_it.then_some(token))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::{Body, SetupChanges};

    #[test]
    fn a_run_is_shown_by_tests_of_its_own_lock_and_promise() {
        let body = Body::Path { bounds: None, actions: vec![0], loop_start: None };
        let promise = Some(Promise::Fifo);
        let token =
            Token { lock: "my-lock".to_owned(), promise, setup: SetupChanges::none(), body, mark: None };
        let text = token.encode();
        assert_eq!(wanted(&text, "my-lock", Promise::Fifo), Ok(Some(token)));
        assert_eq!(wanted(&text, "my-lock", Promise::MutualExclusion), Ok(None));
        assert_eq!(wanted(&text, "redlock", Promise::Fifo), Ok(None));
        let wrong = wanted("pk5_nonsense", "my-lock", Promise::Fifo).expect_err("it is no token");
        assert!(wrong.starts_with("PICKLOCK_REPLAY=pk5_nonsense: "), "{wrong}");
    }
}
