//! What of a fault plan turmoil's network can do, and what it cannot.

use crate::plans::plan::{Fault, Plan};
use crate::seeded::network::Network;
use crate::seeded::schedule::Schedule;
use picklock_model::time::Micros;

/// What a plan asks for that a connection of TCP does not do: the run is refused, for without it the run would prove
/// nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum NotExpressible {
    /// [`Network::loss_per_mille`], [`Network::reply_loss_per_mille`], [`Fault::LoseNext`].
    #[error("TCP loses no single message: it sends again what is lost, or the connection ends")]
    Loss,
    /// [`Network::duplicate_per_mille`].
    #[error("TCP delivers nothing twice")]
    Duplicate,
    /// [`Network::tail_per_mille`].
    #[error("over TCP no message overtakes another: a slow one holds up all that come after it")]
    Overtaking,
    /// [`Schedule::Priorities`].
    #[error("turmoil draws latencies of its own: nobody can be given the shorter ones")]
    Schedule,
    /// [`Fault::Reset`].
    #[error("turmoil resets no connection between two processes that live on")]
    Reset,
    /// [`Fault::Replace`].
    #[error("a hosted server keeps its disk: it cannot be replaced by an empty one")]
    Replace,
    /// No tick, or one so long that nothing can be told from anything else.
    #[error("a tick of {0}: it must be 1 ms to 1 s, in whole milliseconds")]
    Tick(Micros),
}

/// Whether the plan can be run.
pub(super) fn check(plan: &Plan, tick: Micros) -> Result<(), NotExpressible> {
    let Network {
        latency_min: _,
        latency_max: _,
        tail_per_mille,
        tail_max: _,
        loss_per_mille,
        duplicate_per_mille,
        reply_loss_per_mille,
    } = plan.network;
    if !(1_000..=1_000_000).contains(&tick.0) || tick.0 % 1_000 != 0 {
        return Err(NotExpressible::Tick(tick));
    }
    if duplicate_per_mille > 0 {
        return Err(NotExpressible::Duplicate);
    }
    if tail_per_mille > 0 {
        return Err(NotExpressible::Overtaking);
    }
    if plan.schedule != Schedule::Uniform {
        return Err(NotExpressible::Schedule);
    }
    if loss_per_mille > 0 || reply_loss_per_mille > 0 {
        return Err(NotExpressible::Loss);
    }
    plan.faults.iter().try_for_each(|planned| match planned.fault {
        Fault::LoseNext { .. } => Err(NotExpressible::Loss),
        Fault::Reset { .. } => Err(NotExpressible::Reset),
        Fault::Replace { .. } => Err(NotExpressible::Replace),
        Fault::Pause { .. }
        | Fault::Suspend { .. }
        | Fault::Crash { .. }
        | Fault::PowerLoss { .. }
        | Fault::ClockStep { .. }
        | Fault::Drift { .. }
        | Fault::Freeze { .. }
        | Fault::Strobe { .. }
        | Fault::CoarseClock { .. }
        | Fault::Cut { .. }
        | Fault::Isolate { .. }
        | Fault::SlowLink { .. } => Ok(()),
    })
}
