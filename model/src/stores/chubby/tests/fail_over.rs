//! What a new master does (section 2.9).

use super::*;

fn told(serial: u32) -> Reply {
    let outcome = Outcome::KeptAlive { held: Micros::ZERO, lease: LEASE, failed_over: true };
    Reply { serial, outcome }
}

#[test]
fn calls_that_were_meant_for_an_earlier_master_are_refused() {
    let mut cell = Cell::new(Settings::CHUBBY);
    let a = cell.creates(A);
    cell.fails_over();
    let new = Reply { serial: 5, outcome: Outcome::NewMaster { epoch: 1 } };
    assert_eq!(cell.hears_in(0, A, 5, Operation::KeepAlive(a)), [(A, new)]);
    assert_eq!(cell.hears_in(0, A, 5, Operation::CreateSession { lease: None }), [(A, new)]);
}

#[test]
fn nothing_but_keep_alives_is_answered_until_every_session_has_acknowledged() {
    let mut cell = Cell::new(Settings::CHUBBY);
    let (a, b) = (cell.creates(A), cell.creates(B));
    cell.fails_over();
    assert_eq!(cell.keeps_alive(a, 2), [(A, told(2))]);
    assert_eq!(cell.keeps_alive(a, 3), []);
    assert_eq!(cell.tries(a, 4), []);
    assert_eq!(cell.keeps_alive(b, 2), [(B, told(2))]);
    assert_eq!(cell.tries(a, 4), []);
    assert_eq!(cell.keeps_alive(b, 3), []);
    assert_eq!(cell.tries(a, 4), [(A, acquired(4, 1))]);
}

#[test]
fn or_is_over() {
    let mut cell = Cell::new(Settings::CHUBBY);
    let (a, _) = (cell.creates(A), cell.creates(B));
    cell.fails_over();
    cell.keeps_alive(a, 2);
    cell.keeps_alive(a, 3);
    cell.after(Micros::seconds(10));
    cell.keeps_alive(a, 4);
    assert_eq!(cell.tries(a, 5), []);
    cell.after(Micros::seconds(2));
    assert_eq!(cell.tries(a, 5), [(A, acquired(5, 1))]);
}

#[test]
fn who_holds_and_how_often_a_lock_was_held_survive_and_who_waits_does_not() {
    let mut cell = Cell::new(Settings::CHUBBY);
    let (a, b) = (cell.creates(A), cell.creates(B));
    cell.acquires(a, 2, EXCLUSIVE);
    cell.acquires(b, 2, EXCLUSIVE);
    cell.fails_over();
    for (session, serial) in [(a, 3), (a, 4), (b, 3), (b, 4)] {
        cell.keeps_alive(session, serial);
    }
    assert_eq!(cell.acquires(a, 2, EXCLUSIVE), [(A, acquired(2, 1))]);
    let released = Reply { serial: 90, outcome: Outcome::Released };
    assert_eq!(cell.releases(a, 2), [(A, released)]);
    assert_eq!(cell.acquires(b, 2, EXCLUSIVE), [(B, acquired(2, 2))]);
}

#[test]
fn without_epochs_a_doubled_request_brings_back_a_handle_that_was_closed() {
    let brings_back = |epochs| {
        let mut cell = Cell::new(Settings { epochs, ..Settings::CHUBBY });
        let a = cell.creates(A);
        cell.acquires(a, 2, EXCLUSIVE);
        cell.releases(a, 2);
        cell.fails_over();
        cell.keeps_alive(a, 3);
        cell.keeps_alive(a, 4);
        let handle = Handle { session: a, number: 2 };
        let (access, mode) = (EXCLUSIVE, Mode::Lock);
        let acquire = Operation::Acquire { handle, lock: LOCK, access, mode, lock_delay: DELAY };
        cell.hears_in(0, A, 2, acquire);
        cell.changes == [Change::Acquired { client: A, lock: LOCK }]
    };
    assert!(!brings_back(Epochs::Checked));
    assert!(brings_back(Epochs::Unknown));
}

#[test]
fn a_master_that_forgets_lock_delays_gives_away_what_should_rest() {
    let is_given = |delays| {
        let mut cell = Cell::new(Settings { delays, ..Settings::CHUBBY });
        let a = cell.creates(A);
        cell.acquires(a, 2, EXCLUSIVE);
        cell.after(LEASE);
        cell.fails_over();
        let b = cell.creates(B);
        cell.tries(b, 2) == [(B, acquired(2, 2))]
    };
    assert!(!is_given(Delays::Kept));
    assert!(is_given(Delays::Forgotten));
}
