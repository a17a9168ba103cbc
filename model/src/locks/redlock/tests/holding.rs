//! The end of a hold: by the application, or by the clock.

use super::*;

#[test]
fn a_release_unlocks_all_nodes_and_waits_for_none() {
    let mut client = Client::holding(3, Settings::as_written(), Micros::millis(1));
    client.now = Micros::millis(10);
    client.release();
    assert_eq!(client.sent_to_all(), unlocking(1));
    assert_eq!(client.out.answer, Some(Answer::Released));
    let serial = client.sent()[0].1.serial;
    assert!(client.lock.dismisses(&Reply { serial, outcome: Outcome::Integer(1) }));
    assert_eq!(client.deadline(), None);
}

#[test]
fn the_lock_is_lost_when_its_validity_is_over_and_not_before() {
    let mut client = Client::holding(3, Settings::as_written(), Micros::millis(40));
    assert_eq!(client.deadline(), at(VALIDITY_MILLIS));
    client.now = Micros(Micros::millis(VALIDITY_MILLIS).0 - 1);
    client.wake();
    assert_eq!(client.out.answer, None);
    client.sleep();
    assert_eq!(client.out.answer, Some(Answer::Lost));
}

#[test]
fn a_loss_is_told_once_and_released_in_the_same_step() {
    let mut client = Client::holding(3, Settings::as_written(), Micros::millis(1));
    client.sleep();
    assert_eq!(client.deadline(), None);
    client.release();
    assert_eq!(client.out.answer, Some(Answer::Released));
    assert_eq!(client.sent_to_all(), unlocking(1));
}

#[test]
fn a_holder_that_does_not_mind_its_validity_goes_on() {
    let settings = Settings { minds_validity: false, ..Settings::as_written() };
    let mut client = Client::holding(3, settings, Micros::millis(1));
    assert_eq!(client.deadline(), None);
    client.now = Micros::seconds(60);
    client.wake();
    assert_eq!(client.out.answer, None);
    assert_eq!(client.lock.doing(), "holds");
}
