//! What ends a script before it ends by itself: a hook that Lua's machine calls every so many instructions
//! (`src/script_lua.c` `luaMaskCountHook`).

use super::{place_of, raise};
use crate::serve::redis::busy::real_now;
use mlua::{HookTriggers, Lua, VmState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// How many instructions a script may take where time is virtual: a second or so.
pub const INSTRUCTIONS_MAX: u64 = 100_000_000;
/// After how many instructions the hook is called.
const LOOKED_EACH: u32 = 10_000;

/// Until when a script may run.
#[derive(Clone, Debug)]
pub enum Limit {
    /// For so many instructions.
    Instructions(u64),
    /// Until then.
    Until(Instant),
    /// Until it is told.
    Signals(Arc<Signals>),
}

/// What is said to a script that runs on a thread of its own, and what it says.
#[derive(Debug, Default)]
pub struct Signals {
    /// Somebody has killed it.
    pub is_killed: AtomicBool,
    /// Its server's process has ended.
    pub is_over: AtomicBool,
    /// It cannot be begun anew.
    pub has_strayed: AtomicBool,
    /// It has called a command that writes (`src/script.c` `SCRIPT_WRITE_DIRTY`).
    pub has_written: AtomicBool,
}

/// Why a script was ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// It has taken all of its instructions.
    Instructions,
    /// Its time has passed.
    Time,
    /// Somebody has killed it, in this line.
    Killed(Option<usize>),
    /// It was begun anew, and did not do what it had done before.
    Strayed,
}

#[derive(Debug)]
struct State {
    limit: Limit,
    cut: Option<Cut>,
}

/// What the hook looks at.
#[derive(Clone, Debug)]
pub struct Leash(Arc<Mutex<State>>);

impl Leash {
    pub fn new() -> Leash {
        Leash(Arc::new(Mutex::new(State { limit: Limit::Instructions(INSTRUCTIONS_MAX), cut: None })))
    }

    /// Before something is run.
    pub fn begin(&self, limit: Limit) {
        *self.state() = State { limit, cut: None };
    }

    /// Why it was ended, if it was.
    pub fn cut(&self) -> Option<Cut> {
        self.state().cut
    }

    /// From now on the hook is called.
    ///
    /// # Errors
    /// If Lua has no memory left.
    pub fn fasten(&self, lua: &Lua) -> mlua::Result<()> {
        self.fasten_each(lua, LOOKED_EACH)
    }

    /// Before a command is called, which may take longer than many instructions.
    ///
    /// # Errors
    /// If the script is to end.
    pub fn look(&self, lua: &Lua) -> mlua::Result<()> {
        self.look_after(lua, 0)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fasten_each(&self, lua: &Lua, each: u32) -> mlua::Result<()> {
        let leash = self.clone();
        lua.set_global_hook(HookTriggers::new().every_nth_instruction(each), move |lua, _| {
            leash.look_after(lua, each).map(|()| VmState::Continue)
        })
    }

    fn look_after(&self, lua: &Lua, instructions: u32) -> mlua::Result<()> {
        let Some(cut) = self.cut_after(lua, instructions) else { return Ok(()) };
        // Whoever catches this is caught at the next instruction.
        self.fasten_each(lua, 1)?;
        Err(raise(cut.verdict("", "")))
    }

    fn cut_after(&self, lua: &Lua, instructions: u32) -> Option<Cut> {
        let state = &mut *self.state();
        if state.cut.is_none() {
            state.cut = match state.limit.cut(instructions) {
                Some(Cut::Killed(_)) => Some(Cut::Killed(place_of(lua).map(|(_, line)| line))),
                other => other,
            };
        }
        state.cut
    }
}

impl Limit {
    fn cut(&mut self, instructions: u32) -> Option<Cut> {
        match self {
            Limit::Instructions(left) => {
                *left = left.saturating_sub(instructions.into());
                (*left == 0).then_some(Cut::Instructions)
            }
            Limit::Until(end) => (real_now() >= *end).then_some(Cut::Time),
            Limit::Signals(signals) => {
                let says = |signal: &AtomicBool| signal.load(Ordering::Relaxed);
                match says(&signals.has_strayed) {
                    true => Some(Cut::Strayed),
                    false => {
                        (says(&signals.is_killed) || says(&signals.is_over)).then_some(Cut::Killed(None))
                    }
                }
            }
        }
    }
}

impl Cut {
    /// What is replied where a script was ended.
    pub fn verdict(self, name: &str, text: &str) -> String {
        match self {
            Cut::Instructions => {
                format!("ERR picklock stops a script after {} instructions", INSTRUCTIONS_MAX)
            }
            Cut::Time => "ERR picklock stops a script that takes too long".to_owned(),
            Cut::Strayed => {
                "ERR picklock stops a script that takes long and does not call the same commands when it is begun anew"
                    .to_owned()
            }
            Cut::Killed(line) => {
                let place = line.map_or_else(String::new, |line| format!(" script: {name}, on {text}:{line}."));
                format!("ERR Script killed by user with SCRIPT KILL...{place}")
            }
        }
    }
}
