//! Which kinds of faults there are in a plan.

use crate::plans::fault::{FaultKind, FaultSet};
use crate::plans::plan::{Fault, Plan, Side, Target};
use crate::seeded::network::Network;

/// The kinds of the plan's faults, and of what its network does beyond a good day.
pub(crate) fn kinds(plan: &Plan) -> FaultSet {
    let (network, good) = (&plan.network, Network::default());
    let of_network = [
        (FaultKind::Delay, network.latency_max > good.latency_max || network.tail_per_mille > 0),
        (FaultKind::Loss, network.loss_per_mille > 0 || network.reply_loss_per_mille > 0),
        (FaultKind::Duplicate, network.duplicate_per_mille > 0),
    ];
    let of_network = of_network.into_iter().filter_map(|(kind, is_there)| is_there.then_some(kind));
    plan.faults.iter().map(|planned| kind(&planned.fault)).chain(of_network).collect()
}

/// The kind that it is drawn as.
pub(crate) fn kind(fault: &Fault) -> FaultKind {
    match fault {
        Fault::Pause { node: Target::Resource, .. }
        | Fault::Crash { node: Target::Resource, .. }
        | Fault::SlowLink { from: Side::Resource, .. }
        | Fault::SlowLink { to: Side::Resource, .. } => FaultKind::Resource,
        Fault::Pause { .. } => FaultKind::Pause,
        Fault::Crash { .. } => FaultKind::Crash,
        Fault::PowerLoss { .. } => FaultKind::PowerLoss,
        Fault::ClockStep { .. } | Fault::Drift { .. } | Fault::Freeze { .. } | Fault::Strobe { .. } => {
            FaultKind::Clock
        }
        Fault::Cut { .. } | Fault::Isolate { .. } => FaultKind::Partition,
        Fault::SlowLink { .. } => FaultKind::Delay,
        Fault::LoseNext { .. } => FaultKind::Loss,
        Fault::Suspend { .. } => FaultKind::Suspend,
        Fault::CoarseClock { .. } => FaultKind::CoarseClock,
        Fault::Reset { .. } => FaultKind::Reset,
        Fault::Replace { .. } => FaultKind::Replace,
    }
}
