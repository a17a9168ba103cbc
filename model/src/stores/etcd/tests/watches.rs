//! Which events come, and in what order.

use super::*;

fn watch(start: Start) -> Operation {
    Operation::Watch { keys: ALL, start }
}

/// The revisions of the events that client B was told.
fn told(member: &mut Member) -> Vec<Vec<u32>> {
    let events = member.told.drain(..).filter_map(|(to, reply)| match (to, reply.outcome) {
        (1, Outcome::Events(events)) => Some(events.iter().map(|event| event.revision().0).collect()),
        _ => None,
    });
    events.collect()
}

#[test]
fn a_watch_from_now_on_sees_what_comes_and_nothing_else() {
    let mut member = Member::new(Settings::default());
    member.put(1, 1);
    member.ask_as(1, 7, watch(Start::Now));
    assert_eq!(told(&mut member), [[0; 0]; 0]);
    member.put(1, 2);
    member.ask(Operation::Put(Put {
        key: Key { prefix: 1, name: Name::Word(1) },
        value: Value::Empty,
        lease: None,
    }));
    member.outcome(delete(1));
    assert_eq!(told(&mut member), [[3], [5]]);
}

#[test]
fn a_watch_from_an_old_revision_sees_it_and_all_that_came_after_once_and_in_order() {
    let mut member = Member::new(Settings::default());
    (1..=3).for_each(|value| {
        member.put(1, value);
    });
    member.ask_as(1, 7, watch(Start::At(Revision(3))));
    member.put(1, 4);
    assert_eq!(told(&mut member), vec![vec![3, 4], vec![5]]);
}

#[test]
fn a_watch_from_a_revision_to_come_waits_for_it() {
    let mut member = Member::new(Settings::default());
    member.ask_as(1, 7, watch(Start::At(Revision(4))));
    (1..=4).for_each(|value| {
        member.put(1, value);
    });
    assert_eq!(told(&mut member), vec![vec![4], vec![5]]);
}

#[test]
fn the_changes_of_one_revision_come_together() {
    let mut member = Member::new(Settings::default());
    let lease = member.grant(1, Micros::seconds(5));
    member.ask(put(1, 1, Some(lease)));
    member.ask(put(2, 1, Some(lease)));
    member.ask_as(1, 7, watch(Start::Now));
    member.ask(Operation::Revoke(lease));
    assert_eq!(told(&mut member), [[4, 4]]);
}

#[test]
fn a_watch_of_what_is_compacted_is_cancelled() {
    let mut member = Member::new(Settings::default());
    (1..=3).for_each(|value| {
        member.put(1, value);
    });
    member.outcome(Operation::Compact(Revision(3)));
    let canceled = Outcome::WatchCanceled { compact_revision: Revision(3) };
    assert_eq!(member.ask_as(1, 7, watch(Start::At(Revision(2)))).map(|reply| reply.outcome), Some(canceled));
    member.ask_as(1, 8, watch(Start::At(Revision(3))));
    assert_eq!(told(&mut member), [[3, 4]]);
}

#[test]
fn a_cancelled_watch_says_nothing_more_and_nothing_outlives_a_restart() {
    let mut member = Member::new(Settings::default());
    member.ask_as(1, 7, watch(Start::Now));
    let request = Request { cancels: Some(7), ..Request::new(8, get(ALL)) };
    member.step(|etcd, cx, out| etcd.on_request(1, request, cx, out));
    member.put(1, 1);
    assert_eq!(told(&mut member), [[0; 0]; 0]);
    member.ask_as(1, 9, watch(Start::Now));
    member.restart(false);
    member.put(1, 2);
    assert_eq!(told(&mut member), [[0; 0]; 0]);
}

#[test]
fn a_watch_that_begins_again_where_it_was_misses_nothing() {
    let mut member = Member::new(Settings::default());
    member.put(1, 1);
    member.ask_as(1, 7, watch(Start::At(Revision(2))));
    member.restart(false);
    member.put(1, 2);
    assert_eq!(told(&mut member), [[2]]);
    member.ask_as(1, 7, watch(Start::At(Revision(2))));
    assert_eq!(told(&mut member), [[2, 3]]);
}
