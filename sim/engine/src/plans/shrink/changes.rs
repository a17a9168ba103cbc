//! How one fault of a plan can be made milder, earlier, or easier to read.

use super::reductions::{Length, shorten};
use crate::plans::plan::{Fault, LENGTH_MAX, Planned, Target, Trigger, When};
use picklock_model::time::Micros;

/// Something about a fault that could go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Change {
    /// Not at some time, but where a client does this for the first time: a trigger says why a fault matters.
    Aim(usize),
    /// At the first time that it is done.
    First,
    /// One time earlier.
    EarlierByOne,
    /// Whoever does it.
    AnyClient,
    /// By the first client.
    FirstClient,
    /// Whoever pulled the trigger, or the first server.
    FirstNode,
    /// Not so much later than the trigger, or not so late.
    Sooner(Length),
    /// Half as long, as strong or as often.
    Half,
    /// A lesser fault of its kind: one way, if both ways are cut; a disk that survives; a wall clock that is right.
    Lesser,
    /// A length in round numbers.
    Round,
}

/// All of them, where there are so many aims.
pub(super) fn changes(aims: usize) -> impl Iterator<Item = Change> {
    use Change::*;
    let others = [
        First,
        EarlierByOne,
        AnyClient,
        FirstClient,
        FirstNode,
        Sooner(Length::Nothing),
        Sooner(Length::Half),
        Half,
        Lesser,
        Round,
    ];
    (0..aims).map(Aim).chain(others)
}

/// Changes a fault; whether there was anything to change.
pub(super) fn change(planned: &mut Planned, how: Change, aims: &[Trigger]) -> bool {
    let Planned { when, fault } = planned;
    match how {
        Change::Aim(nth) => aims.get(nth).is_some_and(|event| aim(planned, *event)),
        Change::First => set_nth(when, |_| 1),
        Change::EarlierByOne => set_nth(when, |nth| nth.saturating_sub(1).max(1)),
        Change::AnyClient => set_client(when, None),
        Change::FirstClient => set_client(when, Some(0)),
        Change::FirstNode => name_first(*when, fault),
        Change::Sooner(how) => match when {
            When::At(at) => shorten(at, how),
            When::Trigger { delay, .. } => shorten(delay, how),
        },
        Change::Half => halve(fault),
        Change::Lesser => match fault {
            Fault::Cut { both_ways, .. } => std::mem::replace(both_ways, false),
            Fault::Suspend { wall_too, .. } => std::mem::replace(wall_too, false),
            Fault::Replace { node, restart_after } => {
                *fault = Fault::PowerLoss { node: *node, restart_after: *restart_after };
                true
            }
            Fault::Pause { .. }
            | Fault::CoarseClock { .. }
            | Fault::Reset { .. }
            | Fault::Crash { .. }
            | Fault::PowerLoss { .. }
            | Fault::ClockStep { .. }
            | Fault::Drift { .. }
            | Fault::Freeze { .. }
            | Fault::Strobe { .. }
            | Fault::Isolate { .. }
            | Fault::SlowLink { .. }
            | Fault::LoseNext { .. } => false,
        },
        Change::Round => length_of(fault).is_some_and(round),
    }
}

/// The same fault where a client does this for the first time, so many times as long; `None` if it has no length to be
/// multiplied. No reduction, for it may be longer: worth something only if the run gets shorter.
pub(super) fn elsewhere(planned: &Planned, event: Trigger, times: i64) -> Option<Planned> {
    let when = When::Trigger { client: None, event, nth: 1, delay: Micros::ZERO };
    let mut moved = Planned { when, fault: planned.fault.clone() };
    if let Some(node @ Target::Client(_)) = moved.fault.node_mut() {
        *node = Target::Struck;
    }
    match length_of(&mut moved.fault) {
        Some(length) => {
            *length = Micros(length.0.saturating_mul(times).clamp(-LENGTH_MAX.0, LENGTH_MAX.0));
        }
        None if times > 1 => return None,
        None => {}
    }
    Some(moved)
}

/// What strikes at time 0 is how the run begins, and stays so.
fn aim(planned: &mut Planned, event: Trigger) -> bool {
    match planned.when {
        When::At(at) if at > Micros::ZERO => {
            planned.when = When::Trigger { client: None, event, nth: 1, delay: Micros::ZERO };
            if let Some(node @ Target::Client(_)) = planned.fault.node_mut() {
                *node = Target::Struck;
            }
            true
        }
        When::At(_) | When::Trigger { .. } => false,
    }
}

fn set_nth(when: &mut When, fewer: impl Fn(u16) -> u16) -> bool {
    match when {
        When::Trigger { nth, .. } => std::mem::replace(nth, fewer(*nth)) != *nth,
        When::At(_) => false,
    }
}

/// Nobody in particular is less than the first one, who is less than any other.
fn set_client(when: &mut When, to: Option<u8>) -> bool {
    match when {
        When::Trigger { client, .. } if *client > to => {
            *client = to;
            true
        }
        When::Trigger { .. } | When::At(_) => false,
    }
}

fn name_first(when: When, fault: &mut Fault) -> bool {
    let Some(node) = fault.node_mut() else { return false };
    let first = match (*node, when) {
        (Target::Client(_), When::Trigger { .. }) => Target::Struck,
        (Target::Client(_), When::At(_)) => Target::Client(0),
        (Target::Server(_), _) => Target::Server(0),
        (Target::Struck, _) => Target::Struck,
        (Target::Resource, _) => Target::Resource,
    };
    std::mem::replace(node, first) != first
}

/// How long it lasts, or how far a clock steps.
fn length_of(fault: &mut Fault) -> Option<&mut Micros> {
    match fault {
        Fault::Pause { length, .. }
        | Fault::Freeze { length, .. }
        | Fault::Cut { length, .. }
        | Fault::Isolate { length, .. }
        | Fault::Suspend { length, .. }
        | Fault::SlowLink { length, .. } => Some(length),
        Fault::Crash { restart_after, .. }
        | Fault::PowerLoss { restart_after, .. }
        | Fault::Replace { restart_after, .. } => restart_after.as_mut(),
        Fault::ClockStep { by, .. } | Fault::Strobe { by, .. } => Some(by),
        Fault::Drift { .. } | Fault::LoseNext { .. } | Fault::CoarseClock { .. } | Fault::Reset { .. } => {
            None
        }
    }
}

/// Down to whole seconds, or to whole milliseconds where it is shorter than one.
fn round(length: &mut Micros) -> bool {
    let unit = if length.0.abs() >= Micros::seconds(1).0 { Micros::seconds(1) } else { Micros::millis(1) };
    let round = Micros(length.0 / unit.0 * unit.0);
    std::mem::replace(length, round) != round
}

/// Halves the fault's length or strength; whether there was anything to halve.
fn halve(fault: &mut Fault) -> bool {
    match fault {
        Fault::Pause { length, .. }
        | Fault::Freeze { length, .. }
        | Fault::Cut { length, .. }
        | Fault::Isolate { length, .. }
        | Fault::Suspend { length, .. } => shorten(length, Length::Half),
        Fault::Crash { restart_after: Some(length), .. }
        | Fault::PowerLoss { restart_after: Some(length), .. }
        | Fault::Replace { restart_after: Some(length), .. } => shorten(length, Length::Half),
        Fault::CoarseClock { granularity, .. } => shorten(granularity, Length::Half),
        Fault::ClockStep { by, .. } => shorten(by, Length::Half),
        Fault::Strobe { times, .. } if *times > 1 => {
            *times /= 2;
            true
        }
        Fault::SlowLink { extra, length, .. } => shorten(length, Length::Half) | shorten(extra, Length::Half),
        Fault::LoseNext { count, .. } if *count > 1 => {
            *count /= 2;
            true
        }
        Fault::Drift { .. }
        | Fault::Crash { restart_after: None, .. }
        | Fault::PowerLoss { restart_after: None, .. }
        | Fault::Replace { restart_after: None, .. }
        | Fault::Reset { .. }
        | Fault::Strobe { .. }
        | Fault::LoseNext { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_that_lasts_can_be_shortened_until_it_hardly_lasts() {
        let node = Target::Client(0);
        for mut fault in [
            Fault::Pause { node, length: Micros::seconds(40) },
            Fault::ClockStep { node, by: Micros::seconds(-40) },
            Fault::Strobe { node, by: Micros::seconds(1), period: Micros::seconds(1), times: 9 },
        ] {
            let mut times = 0;
            while halve(&mut fault) {
                times += 1;
                assert!(times < 64, "{fault:?} never ends");
            }
            assert!(times > 0);
        }
        assert!(!halve(&mut Fault::Drift { node, ppm: 5 }));
    }

    #[test]
    fn a_fault_at_some_time_becomes_one_of_whoever_does_something_first_and_stays_that() {
        let length = Micros::seconds(40);
        let mut planned = Planned {
            when: When::At(Micros::seconds(3)),
            fault: Fault::Pause { node: Target::Client(2), length },
        };
        let aims = [Trigger::Granted, Trigger::Left];
        assert!(change(&mut planned, Change::Aim(0), &aims));
        assert_eq!(planned.to_string(), "when a client is granted: that client pauses for 40s");
        assert!(!change(&mut planned, Change::Aim(1), &aims));
        let mut offset = Planned { when: When::At(Micros::ZERO), ..planned };
        assert!(!change(&mut offset, Change::Aim(0), &aims));
    }

    #[test]
    fn a_trigger_goes_back_to_the_first_time_that_anybody_does_it() {
        let when = When::Trigger { client: Some(2), event: Trigger::Left, nth: 5, delay: Micros(7) };
        let fault = Fault::Pause { node: Target::Client(2), length: Micros(1_234_567) };
        let mut planned = Planned { when, fault };
        let wanted = [
            Change::First,
            Change::AnyClient,
            Change::FirstNode,
            Change::Sooner(Length::Nothing),
            Change::Round,
        ];
        for how in wanted {
            assert!(change(&mut planned, how, &[]), "{how:?}: {planned}");
            assert!(!change(&mut planned, how, &[]), "{how:?} twice: {planned}");
        }
        assert_eq!(planned.to_string(), "when a client leaves: that client pauses for 1s");
    }
}
