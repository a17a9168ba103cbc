//! A script that has taken too long for one step, begun anew where it keeps nobody from anything.
//!
//! Lua 5.1 cannot be left in the middle of a script and gone back to. So the script is ended, and run again from its
//! beginning: to each command that it had called it is replied what was replied then, and the command is not run again.
//! It comes to where it was ended in the same state, and goes on from there.

use super::leash::{Limit, Signals};
use super::{Libraries, Machine, Script, Scripts, outcome, perform};
use crate::serve::redis::house::House;
use crate::serve::redis::reply::Reply;
use crate::serve::redis::turn::{Replied, Within};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Commands that a script has called, with their replies.
pub type Called = VecDeque<(Vec<Bytes>, Reply)>;

/// A script that is to be begun anew.
pub struct Slow {
    pub(super) machine: Machine,
    pub(super) script: Script,
    /// How errors call it, and its text.
    pub(super) name: String,
    pub(super) text: &'static str,
    pub(super) keys: Vec<Bytes>,
    pub(super) arguments: Vec<Bytes>,
    /// The state of `math.random` when it began.
    pub(super) dice: u64,
    pub(super) called: Called,
    pub(super) shelf: Shelf,
    /// The database in which it is.
    pub database: u8,
    pub within: Within,
    pub began: Instant,
}

/// All that is in the same machine of Lua: while a script runs in it, nobody else may as much as drop a reference to that.
pub enum Shelf {
    Scripts(Scripts),
    Libraries(Libraries),
}

impl Shelf {
    /// Takes it out of the house.
    pub fn take(house: &mut House, is_function: bool) -> Shelf {
        match is_function {
            true => Shelf::Libraries(std::mem::take(&mut house.libraries)),
            false => Shelf::Scripts(std::mem::take(&mut house.scripts)),
        }
    }

    fn give_back(self, house: &mut House) {
        match self {
            Shelf::Scripts(scripts) => house.scripts = scripts,
            Shelf::Libraries(libraries) => house.libraries = libraries,
        }
    }
}

impl Slow {
    /// Whether it is a function of a library.
    pub fn is_function(&self) -> bool {
        matches!(self.shelf, Shelf::Libraries(_))
    }

    /// The function's name, or the script's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The numbers of libraries and functions, which nobody sees while it runs.
    pub fn libraries(&self) -> Option<(usize, usize)> {
        match &self.shelf {
            Shelf::Libraries(libraries) => Some((libraries.known.len(), libraries.functions_count())),
            Shelf::Scripts(_) => None,
        }
    }

    /// Runs it to its end, or until a signal ends it.
    /// Whether that is an error that was counted before is the second.
    pub fn go_on(
        &mut self,
        signals: &Arc<Signals>,
        call: &mut dyn FnMut(Vec<Bytes>) -> Reply,
    ) -> (Replied, bool) {
        let Slow { machine, script, called, .. } = self;
        machine.leash.begin(Limit::Signals(signals.clone()));
        machine.dice.store(self.dice, Ordering::Relaxed);
        let mut replay = |words: Vec<Bytes>| match called.pop_front() {
            Some((before, reply)) if before == words => reply,
            Some(_) => {
                called.clear();
                match signals.has_written.load(Ordering::Relaxed) {
                    true => {
                        signals.has_strayed.store(true, Ordering::Relaxed);
                        Reply::error("ERR the script was stopped")
                    }
                    // What it had read is of no consequence.
                    false => call(words),
                }
            }
            None => call(words),
        };
        let ended = perform(
            machine,
            &script.body,
            self.text == super::LIBRARY,
            &mut replay,
            &self.keys,
            &self.arguments,
        );
        outcome(machine, ended, &self.name, self.text)
    }

    /// Gives back what it has kept from the others.
    pub fn give_back(self, house: &mut House) {
        self.shelf.give_back(house);
    }
}
