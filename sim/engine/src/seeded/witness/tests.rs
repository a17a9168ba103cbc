use crate::plans::plan::{Fault, Plan, Planned, Side, Target, Trigger, When};
use crate::seeded::marks::Mark;
use crate::seeded::outcome::Outcome;
use crate::seeded::run::tests::{A, DESK, at, logged, plan};
use crate::toy;
use picklock_model::time::Micros;
use smallvec::smallvec;

/// Strikes when A has the key for the first time.
fn once_granted(fault: Fault) -> Plan {
    let when = When::Trigger { client: Some(0), event: Trigger::Granted, nth: 1, delay: Micros(1) };
    plan(vec![Planned { when, fault }])
}

/// Of a key that is lent for a second.
fn leased(plan: &Plan) -> Outcome {
    logged(&toy::leased_setup(), plan, 1).0
}

/// The marks that were counted, in the order of every table.
fn arose(outcome: &Outcome) -> Vec<Mark> {
    outcome.marks.iter().filter(|(_, times)| *times > 0).map(|(mark, _)| mark).collect()
}

#[test]
fn a_run_without_faults_has_no_marks_and_no_features() {
    let outcome = leased(&Plan::default());
    assert!(arose(&outcome).is_empty() && outcome.features.is_empty(), "{outcome:?}");
}

#[test]
fn a_holder_that_pauses_past_its_lease_outlives_it_and_another_is_granted_meanwhile() {
    let outcome = leased(&once_granted(Fault::Pause { node: Target::Struck, length: Micros::seconds(3) }));
    assert_eq!(arose(&outcome), [Mark::LeaseOutlived, Mark::GrantedWhileHeld, Mark::HolderPaused]);
    assert_eq!(outcome.marks.times(Mark::HolderPaused), 1);
    assert!(!outcome.features.is_empty());
}

#[test]
fn a_pause_of_somebody_who_does_not_hold_is_no_paused_holder() {
    let faults = vec![at(Micros::millis(1), Fault::Pause { node: A, length: Micros::millis(3) })];
    let outcome = leased(&plan(faults));
    assert_eq!((outcome.strikes.pauses, arose(&outcome)), (1, vec![]));
}

#[test]
fn who_crashes_with_the_key_and_comes_back_is_granted_again() {
    let restart_after = Some(Micros::millis(10));
    let outcome = leased(&once_granted(Fault::Crash { node: Target::Struck, restart_after }));
    for mark in [Mark::HolderCrashed, Mark::GrantedAgain] {
        assert_eq!(outcome.marks.times(mark), 1, "{mark}");
    }
}

#[test]
fn who_misses_a_reply_asks_again() {
    let to = Side::Nodes(smallvec![A]);
    let fault = Fault::LoseNext { from: Side::Servers, to, count: 1 };
    let outcome = leased(&plan(vec![at(Micros::ZERO, fault)]));
    assert_eq!(arose(&outcome), [Mark::ReplyLost, Mark::AskedAgain]);
    let to = Side::Nodes(smallvec![DESK]);
    let fault = Fault::LoseNext { from: Side::Nodes(smallvec![A]), to, count: 1 };
    let outcome = leased(&plan(vec![at(Micros::ZERO, fault)]));
    assert_eq!((outcome.strikes.lost, arose(&outcome)), (1, vec![]), "a lost request was not applied");
}

#[test]
fn a_server_that_loses_power_is_a_mark_only_while_somebody_holds() {
    let restart_after = Some(Micros::millis(10));
    let power_loss = Fault::PowerLoss { node: DESK, restart_after };
    let held = leased(&once_granted(power_loss.clone()));
    assert_eq!(held.marks.times(Mark::PowerLostWhileHeld), 1);
    let free = leased(&plan(vec![at(Micros::millis(1), power_loss)]));
    assert_eq!((free.strikes.power_losses, free.marks.times(Mark::PowerLostWhileHeld)), (1, 0));
}

#[test]
fn what_arrives_for_a_process_that_has_ended_is_a_mark() {
    let restart_after = Some(Micros::seconds(1));
    let crash = Fault::Crash { node: DESK, restart_after };
    let outcome = leased(&plan(vec![at(Micros::millis(5), crash)]));
    assert!(outcome.marks.times(Mark::DeadReceiver) > 0, "three clients ask a desk that is not there");
}
