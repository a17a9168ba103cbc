//! How the plans of the table are written: every fault a word.

use picklock_model::machine::Line;
use picklock_model::time::Micros;
use picklock_sim::plans::plan::{Fault, Plan, Planned, Side, Target, Trigger, When};
use picklock_sim::seeded::network::Network;

pub(super) const A: Target = Target::Client(0);
pub(super) const B: Target = Target::Client(1);
pub(super) const STRUCK: Target = Target::Struck;
pub(super) const S1: Target = Target::Server(0);
pub(super) const S2: Target = Target::Server(1);
pub(super) const S3: Target = Target::Server(2);

/// Nothing goes wrong from `heal_at` seconds on.
pub(super) fn plan(heal_at: i64, faults: impl IntoIterator<Item = Planned>) -> Plan {
    Plan {
        network: Network::default(),
        faults: faults.into_iter().collect(),
        heal_at: Micros::seconds(heal_at),
        ..Plan::default()
    }
}

/// The holder of the first grant hangs for longer than most leases.
pub(super) fn paused_holder() -> Plan {
    plan(60, [on(Trigger::Granted, pause(STRUCK, 20_000))])
}

/// At the beginning.
pub(super) fn at_first(fault: Fault) -> Planned {
    Planned { when: When::At(Micros::ZERO), fault }
}

/// When any client does this for the first time.
pub(super) fn on(event: Trigger, fault: Fault) -> Planned {
    later(event, 0, fault)
}

/// So many milliseconds after it.
pub(super) fn later(event: Trigger, delay_ms: i64, fault: Fault) -> Planned {
    let delay = Micros::millis(delay_ms);
    Planned { when: When::Trigger { client: None, event, nth: 1, delay }, fault }
}

/// When A does this for the `nth` time, and so many milliseconds later.
pub(super) fn on_a(event: Trigger, nth: u16, delay_ms: i64, fault: Fault) -> Planned {
    let delay = Micros::millis(delay_ms);
    Planned { when: When::Trigger { client: Some(0), event, nth, delay }, fault }
}

/// The same for B.
pub(super) fn on_b(event: Trigger, fault: Fault) -> Planned {
    later_on_b(event, 0, fault)
}

/// So many milliseconds after it.
pub(super) fn later_on_b(event: Trigger, delay_ms: i64, fault: Fault) -> Planned {
    let delay = Micros::millis(delay_ms);
    Planned { when: When::Trigger { client: Some(1), event, nth: 1, delay }, fault }
}

pub(super) fn line(listing: u8, number: u8) -> Trigger {
    Trigger::Line(Line { listing, number })
}

/// B comes so many milliseconds late.
pub(super) fn late(delay_ms: i64) -> Planned {
    at_first(pause(B, delay_ms))
}

pub(super) fn pause(node: Target, length_ms: i64) -> Fault {
    Fault::Pause { node, length: Micros::millis(length_ms) }
}

/// For good.
pub(super) fn crash(node: Target) -> Fault {
    Fault::Crash { node, restart_after: None }
}

pub(super) fn restart(node: Target, after_ms: i64) -> Fault {
    Fault::Crash { node, restart_after: Some(Micros::millis(after_ms)) }
}

pub(super) fn power_loss(node: Target, restart_after_ms: i64) -> Fault {
    Fault::PowerLoss { node, restart_after: Some(Micros::millis(restart_after_ms)) }
}

pub(super) fn step(node: Target, seconds: i64) -> Fault {
    Fault::ClockStep { node, by: Micros::seconds(seconds) }
}

pub(super) fn drift(node: Target, ppm: i32) -> Fault {
    Fault::Drift { node, ppm }
}

pub(super) fn nodes(targets: impl IntoIterator<Item = Target>) -> Side {
    Side::Nodes(targets.into_iter().collect())
}

pub(super) fn cut(from: Side, to: Side, length_ms: i64) -> Fault {
    Fault::Cut { from, to, both_ways: true, length: Micros::millis(length_ms) }
}

pub(super) fn cut_one_way(from: Side, to: Side, length_ms: i64) -> Fault {
    Fault::Cut { from, to, both_ways: false, length: Micros::millis(length_ms) }
}

pub(super) fn isolate(node: Target, length_ms: i64) -> Fault {
    Fault::Isolate { node, length: Micros::millis(length_ms) }
}

pub(super) fn slow(from: Side, to: Side, extra_ms: i64, length_ms: i64) -> Fault {
    Fault::SlowLink { from, to, extra: Micros::millis(extra_ms), length: Micros::millis(length_ms) }
}
