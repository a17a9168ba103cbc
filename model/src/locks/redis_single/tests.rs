//! The machine driven by hand: what it sends, when it wants to be woken, what it says to its application.
//!
//! Taking the lock, giving it back, tokens, validity, extensions, crashes; then what the exhaustive engine relies on.

use super::*;
use crate::machine::{Message, Node};
use crate::stores::redis::Millis;
use crate::system::{Process, ProcessContext};
use crate::time::Wall;
use crate::workload::{AccessChoice, Calls, Client, Workload, Writes};
use picklock_properties::Access;

mod bench;
mod extending;
mod seam;
mod taking;

use bench::{Bench, WRITTEN, millis, seconds, secured, token};
