//! The hosted engine under turmoil: every node a host, every connection a simulated TCP stream, faults from the same
//! plans as on the seeded engine.
//!
//! Turmoil runs one host after the other, each for a tick, and hands messages over between ticks. So the tick is the
//! measure of everything: a message takes at least until the next one, a fault strikes at the beginning of one, and what
//! the hosts report within one is put into the order of true time before it is judged. Choose it well below what the lock
//! waits for, and not smaller: idle time costs as much as any other.
//!
//! | fault of a plan | here |
//! |---|---|
//! | pause | no future of the process is polled; its sockets go on, its peers may give up its connections |
//! | crash | the process ends, its peers read the end of the stream |
//! | power loss | the links are cut, then the process ends: nobody hears of it, and nothing that was under way arrives |
//! | cut, isolate | the links are cut, each way by itself; a stream that lost a segment is dead, and found out by its silence |
//! | slow link | what is written is held back; nothing overtakes, so all that follows is held back too |
//! | clocks | those of the model, which follow from the simulation's time |
//! | loss, duplication, overtaking | refused: [`NotExpressible`] |
//!
//! Turmoil itself has no retransmission: over a link that was cut, a connection does not come to life again, as it would
//! on a real network, but is made anew.

mod gate;
mod host;
mod judge;
mod net;
mod run;
mod strikes;
mod translate;

pub use translate::NotExpressible;

use super::connections::Patience;
use crate::plans::plan::Plan;
use crate::report::TraceHash;
use crate::seeded::outcome::{Limits, Outcome};
use picklock_model::cluster::Setup;
use picklock_model::machine::Lock;
use picklock_model::time::Micros;
use std::time::Duration;

/// How a simulation is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hosting {
    /// How much time passes at once, in whole milliseconds.
    pub tick: Micros,
    /// How long connections wait for what.
    pub patience: Patience,
}

impl Default for Hosting {
    /// Ticks of 5 ms, and nodes that miss each other within a second.
    fn default() -> Hosting {
        Hosting::with_tick(Micros::millis(5))
    }
}

impl Hosting {
    /// This tick, and connections that are given up after a second at the earliest.
    pub fn with_tick(tick: Micros) -> Hosting {
        let ticks = |count: i64, least_millis: i64| {
            Duration::from_micros((count * tick.0).max(least_millis * 1_000).unsigned_abs())
        };
        let patience = Patience {
            connect: ticks(10, 500),
            redial_min: ticks(2, 50),
            redial_max: ticks(8, 200),
            ping: ticks(6, 300),
            silence: ticks(20, 1_000),
        };
        Hosting { tick, patience }
    }
}

/// What a hosted run came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hosted {
    /// As of a seeded run. Of what a network loses nothing is counted: turmoil does not say.
    pub outcome: Outcome,
    /// Equal for equal runs.
    pub trace_hash: TraceHash,
}

/// One run: the same arguments give the same outcome, on every machine.
///
/// # Errors
/// If the plan asks for something that cannot be done here.
///
/// # Panics
/// If a machine does.
pub fn run<L: Lock>(
    setup: &Setup<L>,
    plan: &Plan,
    seed: u64,
    limits: &Limits,
    hosting: &Hosting,
) -> Result<Hosted, NotExpressible> {
    translate::check(plan, hosting.tick)?;
    let mut run = run::Run::new(setup, plan, seed, limits, hosting);
    run.go_on();
    let (outcome, trace_hash) = run.end();
    Ok(Hosted { outcome, trace_hash })
}

#[cfg(test)]
mod tests;
