//! When leases end, and what goes with them.

use super::*;

const TTL: Micros = Micros::seconds(5);

/// A key with a lease of five seconds, and when the key was seen to go, to the millisecond.
fn ends_after(settings: Settings, change: impl FnOnce(&mut Member, LeaseId)) -> Micros {
    let mut member = Member::new(settings);
    member.pass(Micros::millis(130));
    let lease = member.grant(1, TTL);
    let granted = member.monotonic;
    member.ask(put(1, 1, Some(lease)));
    change(&mut member, lease);
    while member.etcd.get(key(1)).is_some() {
        member.wait(Micros::millis(1));
        assert!(member.monotonic - granted < Micros::seconds(60), "the lease does not end");
    }
    member.monotonic - granted
}

#[test]
fn a_lease_ends_late_and_never_early() {
    let length = ends_after(Settings::default(), |_, _| {});
    assert!(length >= TTL && length <= TTL + Micros::millis(500), "{length}");
}

#[test]
fn a_keep_alive_gives_a_lease_its_full_time_again() {
    let length = ends_after(Settings::default(), |member, lease| {
        member.wait(Micros::seconds(4));
        let kept = member.outcome(Operation::KeepAlive(lease));
        assert_eq!(kept, Outcome::KeptAlive { lease, ttl: Some(TTL) });
    });
    assert!(length >= Micros::seconds(9) && length <= Micros::millis(9_500), "{length}");
}

#[test]
fn a_lease_is_granted_for_no_less_than_an_election_and_a_half() {
    let mut member = Member::new(Settings::default());
    let granted = member.outcome(Operation::Grant { ttl: Some(Micros::seconds(1)) });
    assert!(matches!(granted, Outcome::Granted { ttl: Some(ttl), .. } if ttl == Micros::seconds(2)));
}

#[test]
fn the_keys_of_a_lease_go_at_one_revision_and_so_are_told() {
    let mut member = Member::new(Settings::default());
    let lease = member.grant(1, TTL);
    member.ask(put(1, 1, Some(lease)));
    member.ask(put(2, 1, Some(lease)));
    member.ask(put(3, 1, None));
    let before = member.etcd.revision();
    member.events.clear();
    member.wait(Micros::seconds(6));
    assert_eq!(member.etcd.revision(), Revision(before.0 + 1));
    assert!(member.etcd.get(key(3)).is_some() && member.etcd.get(key(1)).is_none());
    let gone = |event: &&Event| matches!(event, Event::RecordGone { client: ClientId(0), .. });
    assert_eq!(member.events.iter().filter(gone).count(), 2);
}

#[test]
fn a_revoked_lease_is_no_lapse() {
    let mut member = Member::new(Settings::default());
    let lease = member.grant(1, TTL);
    member.ask(put(1, 1, Some(lease)));
    member.events.clear();
    assert_eq!(member.outcome(Operation::Revoke(lease)), Outcome::Revoked);
    assert_eq!(member.outcome(Operation::Revoke(lease)), Outcome::Failed(Error::LeaseNotFound));
    assert_eq!(member.outcome(Operation::KeepAlive(lease)), Outcome::LeaseOver(lease));
    assert!(member.events.is_empty(), "{:?}", member.events);
    member.wait(Micros::seconds(20));
    assert!(member.told.is_empty());
}

/// A lease that is over and not revoked yet: who keeps it alive waits for its end (row E10).
#[test]
fn a_keep_alive_of_a_lease_that_is_over_waits_for_its_end() {
    let mut member = Member::new(Settings::default());
    member.pass(Micros::millis(130));
    let lease = member.grant(1, TTL);
    member.wait(Micros::millis(5_100));
    assert!(member.etcd.has_lease(lease), "it is looked at every 500 ms");
    assert_eq!(member.ask_as(0, 77, Operation::KeepAlive(lease)), None);
    member.wait(Micros::millis(500));
    assert!(!member.etcd.has_lease(lease));
    assert_eq!(member.told.len(), 1);
    assert_eq!((member.told[0].1.serial, &member.told[0].1.outcome), (77, &Outcome::LeaseOver(lease)));
}

#[test]
fn a_keep_alive_that_does_not_wait_promises_what_is_not_kept() {
    let settings = Settings { keep_alives: KeepAlives::AnswerAtOnce, ..Settings::default() };
    let mut member = Member::new(settings);
    let lease = member.grant(1, TTL);
    member.wait(Micros::millis(4_999));
    member.pass(Micros::millis(1));
    // The leader has looked, and the end is on its way into the log.
    member.step(|etcd, cx, out| etcd.on_deadline(cx, out));
    assert!(matches!(member.outcome(Operation::KeepAlive(lease)), Outcome::KeptAlive { .. }));
    member.wait(Micros::ZERO);
    assert!(!member.etcd.has_lease(lease));
}

#[test]
fn a_restart_gives_a_lease_its_full_time_and_an_elections_more() {
    let length = ends_after(Settings::default(), |member, _| {
        member.wait(Micros::seconds(4));
        member.restart(true);
    });
    assert!(length >= Micros::seconds(10) && length <= Micros::millis(10_500), "{length}");
}

#[test]
fn a_power_loss_takes_what_was_not_synced() {
    let mut member = Member::new(Settings { log: Log::Unsynced, ..Settings::default() });
    member.put(1, 1);
    member.restart(false);
    assert_eq!(member.etcd.revision(), Revision(2));
    member.restart(true);
    assert_eq!(member.etcd.revision(), Revision(1));
    assert!(member.etcd.get(key(1)).is_none());
}

/// Row E7.
#[test]
fn a_step_of_the_wall_clock_ends_leases_that_are_counted_by_it() {
    for (lease_clock, ends) in [(LeaseClock::Monotonic, false), (LeaseClock::Wall, true)] {
        let mut member = Member::new(Settings { lease_clock, ..Settings::default() });
        let lease = member.grant(1, TTL);
        member.wall = member.wall + Micros::seconds(30);
        let is_due = [member.etcd.deadline(&member.settings), member.etcd.other_deadline(&member.settings)]
            .into_iter()
            .flatten()
            .any(|due| match due {
                Due::Monotonic(at) => at <= member.monotonic,
                Due::Wall(at) => at <= member.wall,
            });
        assert_eq!(is_due, ends);
        member.step(|etcd, cx, out| etcd.on_deadline(cx, out));
        member.step(|etcd, cx, out| etcd.on_deadline(cx, out));
        assert_eq!(member.etcd.has_lease(lease), !ends);
    }
}

/// What fair play looks like: who is first is told when it changes, and only then.
#[test]
fn monitors_are_told_of_places_and_of_whose_turn_it_is() {
    let mut member = Member::new(Settings::default());
    let lease = |client, serial| LeaseId { client, serial };
    for client in 0..2 {
        member.ask_as(client, 1, Operation::Grant { ttl: Some(TTL) });
        let key = Key { prefix: 3, name: Name::Lease(lease(client, 1)) };
        let put = Put { key, value: Value::Empty, lease: Some(lease(client, 1)) };
        member.ask_as(client, 2, Operation::Put(put));
    }
    member.ask_as(0, 3, Operation::Revoke(lease(0, 1)));
    let lock = LockId(3);
    let [a, b] = [ClientId(0), ClientId(1)];
    let expected = [
        Event::Enqueued { client: a, lock },
        Event::Acquired { client: a, lock },
        Event::Enqueued { client: b, lock },
        Event::Acquired { client: b, lock },
    ];
    assert_eq!(member.events, expected);
}
