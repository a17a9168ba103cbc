//! Random plans for a trial: the servers are simulated, the clients are processes.

use super::strike::for_servers;
use crate::plans::plan::{Fault, Plan, Planned, Side, Target, Trigger, When};
use crate::seeded::dice::{Dice, Stream};
use picklock_model::time::Micros;

/// A random plan, turned to what can strike here, and healed at this time. Processes of clients can be paused and killed, their
/// links can be cut, slowed down and reset, and faults can be aimed at a client that enters or leaves; whatever else is about
/// clients strikes servers, and what waits for anything else strikes at a time drawn from the seed, before the horizon.
///
/// A pause of a process is drawn anew, from one lease to three: real seconds pass here, and a pause that no lease notices
/// teaches nothing. Nor do seconds in which most servers are down for good: whatever ends starts again, after three leases at most.
pub fn for_trial(
    plan: Plan,
    seed: u64,
    servers: u8,
    lease: Micros,
    horizon: Micros,
    heal_at: Micros,
) -> Plan {
    let mut dice = Dice::new(seed, Stream::Workload);
    let turned = for_servers(plan.clone(), seed, servers, horizon);
    let faults = plan.faults.into_iter().zip(turned.faults).map(|(drawn, turned)| {
        let is_aimed = is_aimed(drawn.when);
        let when = if is_aimed { soon(drawn.when) } else { turned.when };
        let of_client = of_process(&drawn.fault, is_aimed).or_else(|| of_links(&drawn.fault, is_aimed));
        let mut fault = of_client.unwrap_or(turned.fault);
        if let Fault::Pause { node: Target::Client(_) | Target::Struck, length } = &mut fault {
            *length = Micros(dice.between(lease.0, 3 * lease.0));
        }
        if let Fault::Crash { restart_after, .. }
        | Fault::PowerLoss { restart_after, .. }
        | Fault::Replace { restart_after, .. } = &mut fault
        {
            let longest = 3 * lease.0;
            *restart_after = Some(match *restart_after {
                Some(drawn) => Micros(drawn.0.min(longest)),
                None => Micros(dice.between(0, longest)),
            });
        }
        Planned { when, fault }
    });
    Plan { faults: faults.collect(), heal_at, ..turned }
}

/// No trigger is pulled so often in a round of some seconds that the tenth time can be waited for, least of all on a machine that is busy.
const NTH_MAX: u16 = 3;

/// The same trigger, at one of the first times.
fn soon(when: When) -> When {
    match when {
        When::Trigger { client, event, nth, delay } => {
            When::Trigger { client, event, nth: nth.saturating_sub(1) % NTH_MAX + 1, delay }
        }
        at => at,
    }
}

/// Whether it can be told here when this is.
pub fn is_aimed(when: When) -> bool {
    matches!(when, When::Trigger { event: Trigger::Granted | Trigger::Left, .. })
}

/// What strikes a process, as it does; `None`: it strikes none.
fn of_process(fault: &Fault, is_aimed: bool) -> Option<Fault> {
    let process = |node: &Target| match node {
        Target::Client(_) => Some(*node),
        Target::Struck if is_aimed => Some(*node),
        Target::Struck | Target::Server(_) | Target::Resource => None,
    };
    match fault {
        Fault::Pause { node, length } | Fault::Suspend { node, length, .. } => {
            process(node).map(|node| Fault::Pause { node, length: *length })
        }
        Fault::Crash { node, restart_after }
        | Fault::PowerLoss { node, restart_after }
        | Fault::Replace { node, restart_after } => {
            process(node).map(|node| Fault::Crash { node, restart_after: *restart_after })
        }
        _ => None,
    }
}

/// What strikes links between nodes that are here, as it does; `None`: it names others, or no links.
fn of_links(fault: &Fault, is_aimed: bool) -> Option<Fault> {
    let is_here = |node: &Target| match node {
        Target::Client(_) | Target::Server(_) => true,
        Target::Struck => is_aimed,
        Target::Resource => false,
    };
    let all_here = |side: &Side| match side {
        Side::Everybody | Side::Clients | Side::Servers => true,
        Side::Resource => false,
        Side::Nodes(nodes) => nodes.iter().all(is_here),
    };
    let is_kept = match fault {
        Fault::Isolate { node, .. } => is_here(node),
        Fault::Cut { from, to, .. }
        | Fault::Reset { between: from, and: to }
        | Fault::SlowLink { from, to, .. }
        | Fault::LoseNext { from, to, .. } => all_here(from) && all_here(to),
        _ => false,
    };
    is_kept.then(|| fault.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::fault::FaultSet;
    use crate::plans::swarm::Scale;

    #[test]
    fn everything_in_a_plan_for_a_trial_can_strike() {
        let scale = Scale {
            clients: 3,
            servers: 5,
            lease: Some(Micros::seconds(1)),
            horizon: Micros::seconds(7),
            messages: 0,
            lines: Vec::new(),
        };
        let (mut aimed, mut processes, mut cut_off) = (0, 0, 0);
        for seed in 0..300 {
            let drawn = Plan::random(FaultSet::ALL, seed, &scale);
            let count = drawn.faults.len();
            let plan = for_trial(drawn, seed, 5, Micros::seconds(1), scale.horizon, Micros::seconds(10));
            assert_eq!((plan.faults.len(), plan.heal_at), (count, Micros::seconds(10)));
            for Planned { when, fault } in &plan.faults {
                assert!(is_aimed(*when) || matches!(when, When::At(at) if *at <= scale.horizon), "{when}");
                aimed += usize::from(is_aimed(*when));
                assert!(!matches!(when, When::Trigger { nth, .. } if *nth == 0 || *nth > NTH_MAX), "{when}");
                if let Fault::Pause { node, .. } | Fault::Crash { node, .. } = fault {
                    processes += usize::from(matches!(node, Target::Client(_) | Target::Struck));
                    assert!(is_aimed(*when) || *node != Target::Struck);
                }
                if let Fault::Isolate { node, .. } = fault {
                    cut_off += usize::from(matches!(node, Target::Client(_) | Target::Struck));
                    assert!(is_aimed(*when) || *node != Target::Struck);
                }
                if let Fault::Crash { restart_after, .. } | Fault::PowerLoss { restart_after, .. } = fault {
                    assert!(restart_after.is_some_and(|after| after <= Micros::seconds(3)), "{fault}");
                }
                if let Fault::ClockStep { node, .. } = fault {
                    assert!(matches!(node, Target::Server(_)), "{fault}");
                }
            }
        }
        assert!(aimed > 50 && processes > 50, "{aimed} aimed, {processes} of processes");
        assert!(cut_off > 10, "{cut_off} clients are cut off");
    }
}
