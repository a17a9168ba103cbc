//! Sessions and locks under one master.

use super::*;

const REFUSED: Outcome = Outcome::Refused;
const RELEASED: Reply = Reply { serial: 90, outcome: Outcome::Released };

#[test]
fn a_keep_alive_is_held_until_little_is_left_of_the_lease() {
    let mut cell = Cell::new(Settings::CHUBBY);
    let a = cell.creates(A);
    assert_eq!(cell.keeps_alive(a, 2), []);
    assert_eq!(cell.after(Micros::millis(9_999)), []);
    // Nine whole seconds and a bit more.
    assert_eq!(cell.after(Micros::millis(1)), [(A, kept_alive(2, Micros::seconds(10)))]);
    assert_eq!(cell.keeps_alive(a, 3), []);
    assert_eq!(cell.after(Micros::millis(9_500)), []);
    assert_eq!(cell.after(Micros::millis(500)), [(A, kept_alive(3, Micros::seconds(10)))]);
}

#[test]
fn a_keep_alive_that_comes_late_is_answered_at_once() {
    let mut cell = Cell::new(Settings::CHUBBY);
    let a = cell.creates(A);
    cell.after(Micros::seconds(11));
    assert_eq!(cell.keeps_alive(a, 2), [(A, kept_alive(2, Micros::ZERO))]);
}

#[test]
fn consuls_renewals_are_answered_at_once_and_its_sessions_last_for_twice_their_ttl() {
    let mut cell = Cell::new(Settings::CONSUL);
    let a = cell.creates(A);
    assert_eq!(cell.keeps_alive(a, 2), [(A, kept_alive(2, Micros::ZERO))]);
    assert_eq!(cell.after(Micros::millis(23_999)), []);
    let over = Reply { serial: 1, outcome: Outcome::SessionOver(a) };
    assert_eq!(cell.after(Micros::millis(1)), [(A, over)]);
}

#[test]
fn a_session_of_which_nothing_is_heard_is_lost_and_its_lock_rests() {
    let mut cell = Cell::new(Settings::CHUBBY);
    let (a, b) = (cell.creates(A), cell.creates(B));
    assert_eq!(cell.acquires(a, 2, EXCLUSIVE), [(A, acquired(2, 1))]);
    assert_eq!(cell.acquires(b, 2, EXCLUSIVE), []);
    assert_eq!(cell.keeps_alive(b, 3), []);
    cell.after(Micros::seconds(10));
    assert_eq!(cell.keeps_alive(b, 4), []);
    assert_eq!(cell.after(Micros::seconds(2)), []);
    assert_eq!(cell.changes, [Change::Lost { client: A, lock: LOCK }]);
    let over = Reply { serial: 3, outcome: Outcome::SessionOver(a) };
    assert_eq!(cell.keeps_alive(a, 3), [(A, over)]);
    assert_eq!(cell.after(Micros::seconds(19)), [(B, kept_alive(4, Micros::seconds(21)))]);
    assert_eq!(cell.after(Micros::seconds(1)), [(B, acquired(2, 2))]);
}

#[test]
fn a_lock_that_is_given_back_is_free_at_once() {
    let mut cell = Cell::new(Settings::CHUBBY);
    let (a, b, c) = (cell.creates(A), cell.creates(B), cell.creates(C));
    cell.acquires(a, 2, EXCLUSIVE);
    cell.acquires(b, 2, EXCLUSIVE);
    cell.acquires(c, 2, EXCLUSIVE);
    assert_eq!(cell.releases(a, 2), [(B, acquired(2, 2)), (A, RELEASED)]);
    assert_eq!(cell.releases(a, 2), [(A, RELEASED)]);
    assert_eq!(cell.releases(b, 2), [(C, acquired(2, 3)), (B, RELEASED)]);
}

#[test]
fn who_shares_a_lock_shares_its_generation() {
    let mut cell = Cell::new(Settings::CHUBBY);
    let (a, b, c) = (cell.creates(A), cell.creates(B), cell.creates(C));
    assert_eq!(cell.acquires(a, 2, SHARED), [(A, acquired(2, 1))]);
    assert_eq!(cell.acquires(b, 2, SHARED), [(B, acquired(2, 1))]);
    assert_eq!(cell.acquires(c, 2, EXCLUSIVE), []);
    assert_eq!(cell.releases(a, 2), [(A, RELEASED)]);
    // One who comes later does not overtake.
    assert_eq!(cell.acquires(a, 3, SHARED), []);
    assert_eq!(cell.releases(b, 2), [(C, acquired(2, 2)), (B, RELEASED)]);
    assert_eq!(cell.releases(c, 2), [(A, acquired(3, 3)), (C, RELEASED)]);
}

#[test]
fn who_tries_is_refused_while_the_lock_is_held_and_while_it_rests() {
    let mut cell = Cell::new(Settings::CHUBBY);
    let (a, b) = (cell.creates(A), cell.creates(B));
    assert_eq!(cell.tries(a, 2), [(A, acquired(2, 1))]);
    assert_eq!(cell.tries(b, 2), [(B, Reply { serial: 2, outcome: REFUSED })]);
    cell.keeps_alive(b, 3);
    cell.after(Micros::seconds(10));
    cell.keeps_alive(b, 4);
    // A's session is lost now, and its lock rests until 32 s.
    cell.after(Micros::seconds(2));
    cell.after(Micros::seconds(8));
    cell.keeps_alive(b, 5);
    assert_eq!(cell.tries(b, 6), [(B, Reply { serial: 6, outcome: REFUSED })]);
    cell.after(Micros::seconds(12));
    assert_eq!(cell.tries(b, 7), [(B, acquired(7, 2))]);
}

#[test]
fn a_request_that_comes_twice_or_late_acquires_nothing_more() {
    let mut cell = Cell::new(Settings::CHUBBY);
    let a = cell.creates(A);
    assert_eq!(cell.acquires(a, 2, EXCLUSIVE), [(A, acquired(2, 1))]);
    assert_eq!(cell.acquires(a, 2, EXCLUSIVE), [(A, acquired(2, 1))]);
    cell.releases(a, 2);
    assert_eq!(cell.acquires(a, 2, EXCLUSIVE), [(A, Reply { serial: 2, outcome: REFUSED })]);
    assert_eq!(cell.changes, []);
    // The session is over, and its creation comes again.
    cell.after(LEASE);
    cell.hears(A, 7, Operation::CreateSession { lease: None });
    assert_eq!(cell.hears(A, 1, Operation::CreateSession { lease: None }), []);
    assert_eq!(cell.chubby.sessions.len(), 1);
}

#[test]
fn a_sequencer_is_valid_as_long_as_its_handle_has_the_lock() {
    let mut cell = Cell::new(Settings::CHUBBY);
    let (a, b) = (cell.creates(A), cell.creates(B));
    let written = |accepted| Reply { serial: 91, outcome: Outcome::Written { accepted } };
    cell.acquires(a, 2, EXCLUSIVE);
    assert_eq!(cell.writes(a, 2, Some(1)), [(A, written(true))]);
    assert_eq!(cell.writes(b, 2, Some(1)), [(B, written(false))]);
    cell.releases(a, 2);
    assert_eq!(cell.writes(a, 2, Some(1)), [(A, written(false))]);
    cell.acquires(b, 2, EXCLUSIVE);
    assert_eq!(cell.writes(a, 2, Some(1)), [(A, written(false))]);
    assert_eq!(cell.changes, [Change::Wrote { client: A, lock: LOCK, accepted: false }]);
    // A session is all that is asked for without one.
    assert_eq!(cell.writes(a, 2, None), [(A, written(true))]);
}

#[test]
fn a_lock_delay_is_a_minute_at_most() {
    let mut cell = Cell::new(Settings::CHUBBY);
    let a = cell.creates(A);
    let handle = Handle { session: a, number: 2 };
    let (access, mode, lock_delay) = (EXCLUSIVE, Mode::Lock, Micros::seconds(600));
    cell.hears(A, 2, Operation::Acquire { handle, lock: LOCK, access, mode, lock_delay });
    cell.after(LEASE);
    cell.now = cell.now + LOCK_DELAY_MAX;
    let b = cell.creates(B);
    assert_eq!(cell.tries(b, 2), [(B, acquired(2, 2))]);
}

#[test]
fn a_session_that_is_ended_loses_what_it_holds() {
    let mut cell = Cell::new(Settings::CONSUL);
    let (a, b) = (cell.creates(A), cell.creates(B));
    cell.acquires(a, 2, EXCLUSIVE);
    let over = Reply { serial: 1, outcome: Outcome::SessionOver(a) };
    assert_eq!(cell.hears(A, 5, Operation::EndSession(a)), [(A, over)]);
    assert_eq!(cell.tries(b, 3), [(B, Reply { serial: 3, outcome: REFUSED })]);
}
