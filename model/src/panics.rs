//! Panics of machines, caught where it is known what was run.
//!
//! A machine of one's own that panics, the commonest mistake in one, should cost its author no more than a look at the run that led
//! there. The engines catch what unwinds from a machine's step and let it go on to unwind as a [`Panicked`], which says where they were;
//! [`of`] takes that up again.

use crate::explore::Path;
use crate::time::Micros;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};

/// A machine, or what runs it, panicked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Panicked {
    /// What it said, and in which line of which file, if that is known.
    pub what: String,
    /// In which run.
    pub run: PanickedRun,
}

/// The run in which a machine panicked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PanickedRun {
    /// In the last of these steps of an exhaustive search.
    Path(Path),
    /// In the run of this seed, when so much time had passed in it.
    Seed {
        /// The seed.
        seed: u64,
        /// True time since the run began.
        at: Micros,
    },
}

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs a part of an engine's work; if that panics, what was said.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let was_catching = CATCHING.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(was_catching);
    done.map_err(|panic| SAID.take().unwrap_or_else(|| message_of(panic.as_ref())))
}

/// For a panic hook: whether somebody will catch this panic and tell of it, so that the hook need not. What it said, and where, is kept
/// for them.
pub fn will_be_told(panic: &PanicHookInfo) -> bool {
    if CATCHING.get() {
        let place = panic.location().map_or_else(String::new, |place| format!(", at {place}"));
        SAID.set(Some(message_of(panic.payload()) + &place));
    }
    CATCHING.get()
}

/// Unwinds with this.
pub fn unwind(panicked: Panicked) -> ! {
    resume_unwind(Box::new(panicked))
}

/// Runs an engine; if a machine panics in it, says where. Other panics go on.
pub fn of<T>(run: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| match panic.downcast::<Panicked>() {
        Ok(panicked) => *panicked,
        Err(other) => resume_unwind(other),
    })
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it says nothing".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_panic_says_is_kept_and_where_it_was_goes_on() {
        let said: Result<(), String> = caught(|| panic!("step {} out of turn", 7));
        assert_eq!(said, Err("step 7 out of turn".to_owned()));
        assert_eq!(caught(|| 3), Ok(3));

        let panicked = Panicked { what: "so".to_owned(), run: PanickedRun::Path(vec![0, 2]) };
        let thrown = panicked.clone();
        assert_eq!(of(move || -> u8 { unwind(thrown) }), Err(panicked));
    }

    #[test]
    #[should_panic(expected = "of the engine's own")]
    fn other_panics_are_nobodys_to_catch() {
        let _: Result<(), Panicked> = of(|| panic!("of the engine's own"));
    }
}
