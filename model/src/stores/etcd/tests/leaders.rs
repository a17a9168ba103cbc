//! What becomes of writes, reads and leases when another member leads.

use super::cluster::Cluster;
use super::*;

const TTL: Micros = Micros::seconds(5);

/// Three members, awake.
fn three(settings: Settings) -> Cluster {
    let mut cluster = Cluster::new(3, settings);
    cluster.pass(Micros::millis(300));
    cluster
}

/// The member that leads, with nobody else who believes it does.
fn leader(cluster: &Cluster) -> u8 {
    let leaders = cluster.leaders();
    assert_eq!(leaders.len(), 1, "{leaders:?}");
    leaders[0]
}

/// A lease of client A, and a key that goes with it.
fn with_lease(cluster: &mut Cluster, ttl: Micros) -> LeaseId {
    let granted = cluster.ask(1, Operation::Grant { ttl: Some(ttl) }).expect("granted");
    let Outcome::Granted { lease, .. } = granted.outcome else { panic!("{granted:?}") };
    cluster.ask(1, put(1, 1, Some(lease))).expect("put");
    lease
}

/// How long it takes until this member's key is gone.
fn gone_after(cluster: &mut Cluster, me: u8, longest: Micros) -> Option<Micros> {
    let begin = cluster.now;
    while cluster.value(me, 1).is_some() {
        cluster.pass(Micros::millis(10));
        if cluster.now - begin > longest {
            return None;
        }
    }
    Some(cluster.now - begin)
}

#[test]
fn a_leader_that_is_heard_stays() {
    let mut cluster = three(Settings::default());
    cluster.pass(Micros::seconds(60));
    assert_eq!((leader(&cluster), cluster.part(0).raft.term), (0, 1));
}

#[test]
fn any_member_takes_changes_and_reads() {
    let mut cluster = three(Settings::default());
    for me in 0..3 {
        assert!(cluster.ask(me, put(u16::from(me), 7, None)).is_some());
        assert_eq!(seen(&cluster.ask(2 - me, get(one(me.into()))).expect("read").outcome).len(), 1);
    }
    assert!((0..3u8).all(|me| cluster.members[usize::from(me)].revision() == Revision(4)));
}

#[test]
fn a_leader_that_is_cut_off_steps_down_and_what_it_alone_has_is_lost() {
    let mut cluster = three(Settings::default());
    cluster.ask(0, put(1, 1, None)).expect("committed");
    cluster.cut = vec![0];
    assert_eq!(cluster.ask(0, put(1, 2, None)), None);
    cluster.pass(Micros::seconds(3));
    assert!(leader(&cluster) != 0);
    assert_eq!(cluster.value(1, 1), Some(Value::Text(1)));
    cluster.ask(1, put(2, 3, None)).expect("a quorum is there");
    cluster.cut.clear();
    cluster.pass(Micros::seconds(3));
    leader(&cluster);
    assert_eq!((cluster.value(0, 1), cluster.value(0, 2)), (Some(Value::Text(1)), Some(Value::Text(3))));
}

#[test]
fn a_member_that_was_cut_off_does_not_disturb_a_leader() {
    let mut cluster = three(Settings::default());
    cluster.cut = vec![2];
    cluster.pass(Micros::seconds(20));
    cluster.cut.clear();
    cluster.pass(Micros::seconds(5));
    assert_eq!((leader(&cluster), cluster.part(0).raft.term), (0, 1));
}

#[test]
fn a_read_of_a_member_that_is_behind_is_stale_only_if_it_may_be() {
    let mut cluster = three(Settings::default());
    cluster.cut = vec![2];
    cluster.ask(0, put(1, 1, None)).expect("committed");
    let stale = Operation::Range(Range { serializable: true, ..Range::of(one(1)) });
    assert_eq!(seen(&cluster.ask(2, stale).expect("answered").outcome), []);
    let serial = cluster.send(0, 2, get(one(1)));
    cluster.pass(Micros::seconds(1));
    assert_eq!(cluster.answer_to(serial), None);
    cluster.cut.clear();
    cluster.pass(Micros::seconds(5));
    assert_eq!(seen(&cluster.answer_to(serial).expect("answered").outcome), [(1, Value::Text(1))]);
}

#[test]
fn a_watch_on_a_member_that_is_behind_comes_late_and_whole() {
    let mut cluster = three(Settings::default());
    let watch = Operation::Watch { keys: one(1), start: Start::At(Revision(2)) };
    let serial = cluster.send(1, 2, watch);
    cluster.cut = vec![2];
    cluster.ask(0, put(1, 1, None)).expect("committed");
    cluster.ask(0, delete(1)).expect("committed");
    let events = |cluster: &Cluster| {
        let of_watch = cluster.told.iter().filter(|(_, _, reply)| reply.serial == serial);
        of_watch.filter(|(_, _, reply)| matches!(reply.outcome, Outcome::Events(_))).count()
    };
    assert_eq!(events(&cluster), 0);
    cluster.cut.clear();
    cluster.pass(Micros::seconds(3));
    assert_eq!(events(&cluster), 2);
}

#[test]
fn a_new_leader_gives_leases_their_full_time_and_an_election_more() {
    let mut cluster = three(Settings::default());
    with_lease(&mut cluster, TTL);
    cluster.pass(Micros::seconds(3));
    cluster.cut = vec![0];
    while cluster.leaders().iter().all(|me| *me == 0) {
        cluster.pass(Micros::millis(10));
    }
    let Some(length) = gone_after(&mut cluster, 1, Micros::seconds(60)) else { panic!("it does not end") };
    assert!(length >= Micros::seconds(6) - Micros::millis(20) && length <= Micros::millis(6600), "{length}");
}

#[test]
fn a_leader_that_steps_down_ends_no_lease() {
    let mut cluster = three(Settings::default());
    with_lease(&mut cluster, TTL);
    cluster.cut = vec![0, 1, 2];
    cluster.pass(Micros::seconds(30));
    assert!((0..3).all(|me| cluster.value(me, 1).is_some()));
}

/// A leader whose disk gets stuck for eight seconds, while the holder of a lease of five says to `asked` every second that it
/// lives. Whether the key is still there on another member when all is over, and how many keep-alives `asked` has answered
/// after the key had gone there.
fn stuck_leader(settings: Settings, asked: u8) -> (bool, usize) {
    let lasts = Micros::seconds(8);
    let mut cluster = three(Settings { stalls: Some(Stalls { one_in: 1, lasts }), ..settings });
    let lease = with_lease(&mut cluster, TTL);
    cluster.stalls = true;
    cluster.send(0, 0, put(9, 1, None));
    cluster.stalls = false;
    let mut answered_late = 0;
    for _ in 0..11 {
        let serial = cluster.send(0, asked, Operation::KeepAlive(lease));
        cluster.pass(Micros::seconds(1));
        let is_answered =
            matches!(cluster.answer_to(serial), Some(Reply { outcome: Outcome::KeptAlive { .. }, .. }));
        answered_late += usize::from(is_answered && cluster.value(1, 1).is_none());
    }
    (cluster.value(1, 1).is_some(), answered_late)
}

#[test]
fn a_leader_that_was_stuck_ends_leases_that_others_keep_alive_unless_it_makes_sure() {
    assert_eq!(stuck_leader(Settings::default(), 1), (true, 0));
    let (is_there, _) = stuck_leader(Settings { revoke_office: Office::Assumed, ..Settings::default() }, 1);
    assert!(!is_there);
}

#[test]
fn a_stuck_leader_answers_keep_alives_of_leases_that_have_ended_unless_it_makes_sure() {
    assert_eq!(stuck_leader(Settings::default(), 0).1, 0);
    let (_, late) = stuck_leader(Settings { keep_alive_office: Office::Assumed, ..Settings::default() }, 0);
    assert!(late > 0);
}

#[test]
fn a_lease_never_ends_if_leaders_change_more_often_unless_there_are_checkpoints() {
    let ends = |checkpoints| {
        let handovers = Some(Micros::seconds(4));
        let mut cluster = three(Settings { handovers, checkpoints, ..Settings::default() });
        with_lease(&mut cluster, Micros::seconds(10));
        gone_after(&mut cluster, 1, Micros::seconds(120)).is_some()
    };
    assert!(!ends(None));
    assert!(ends(Some(Micros::seconds(1))));
}

#[test]
fn a_cluster_that_loses_its_power_keeps_what_is_synced() {
    for log in [Log::Synced, Log::Unsynced] {
        let mut cluster = three(Settings { log, ..Settings::default() });
        cluster.ask(0, put(1, 1, None)).expect("committed");
        (0..3).for_each(|me| cluster.restart(me, true));
        cluster.pass(Micros::seconds(5));
        leader(&cluster);
        let kept = (0..3).filter(|me| cluster.value(*me, 1).is_some()).count();
        assert_eq!(kept, if log == Log::Synced { 3 } else { 0 });
    }
}

/// etcd-io/etcd#20418: a follower asks for a read twice. The first asking is answered, and a word for it is still under way when
/// the leader stops, another is elected, and a client writes there. The old leader goes on, and is asked for another read before
/// the second asking and that word arrive. What it answers, if it does.
fn read_of_an_old_leader(read_index: ReadIndex) -> Option<Reply> {
    let mut cluster = three(Settings { read_index, ..Settings::default() });
    cluster.send(0, 1, get(one(1)));
    let first = cluster.in_flight.remove(0);
    cluster.now = cluster.now + Micros::millis(500);
    cluster.wake(1);
    let second = cluster.in_flight.pop().expect("it asks again");
    cluster.in_flight.clear();
    cluster.deliver(first);
    for beat in std::mem::take(&mut cluster.in_flight) {
        cluster.deliver(beat);
    }
    let word = cluster.in_flight.pop().expect("both have heard");
    cluster.settle();
    cluster.paused = vec![0];
    cluster.pass(Micros::seconds(3));
    cluster.ask(1, put(1, 1, None)).expect("a quorum is there");
    cluster.in_flight.clear();
    let serial = cluster.send(1, 0, get(one(1)));
    cluster.in_flight.clear();
    cluster.deliver(second);
    cluster.deliver(word);
    cluster.answer_to(serial)
}

#[test]
fn an_old_word_confirms_a_new_read_if_reads_keep_their_number() {
    assert_eq!(read_of_an_old_leader(ReadIndex::NumberedAnew), None);
    let stale = read_of_an_old_leader(ReadIndex::NumberedOnce).expect("answered");
    assert_eq!(seen(&stale.outcome), []);
}
