//! When an event comes, how often, and before what.

use super::*;

fn fired(path: Path, event: WatchEvent) -> Notice {
    Notice::Fired(path, event)
}

#[test]
fn a_watch_fires_once() {
    let mut all = Ensemble::single(2);
    all.does(0, watch(WORK));
    all.does(1, set(WORK, 1, None));
    all.does(1, set(WORK, 2, None));
    assert_eq!(all.told(0), [fired(WORK, WatchEvent::DataChanged)]);
}

#[test]
fn exists_watches_what_is_not_there_for_its_creation_and_what_is_there_for_its_end() {
    let mut all = Ensemble::single(2);
    let place = numbered(0);
    all.does(0, watch(place));
    created(all.does(1, enqueue()));
    assert_eq!(all.told(0), [fired(place, WatchEvent::Created)]);
    all.does(0, watch(place));
    all.does(1, delete(place));
    assert_eq!(all.told(0), [fired(place, WatchEvent::Deleted)]);
}

#[test]
fn reading_what_is_not_there_sets_no_watch() {
    let mut all = Ensemble::single(2);
    let place = numbered(0);
    for operation in
        [Operation::GetData { path: place, watch: true }, Operation::GetChildren { path: place, watch: true }]
    {
        assert_eq!(all.does(0, operation), failed(Error::NoNode));
    }
    created(all.does(1, enqueue()));
    all.does(1, delete(place));
    assert_eq!(all.told(0), []);
}

#[test]
fn children_are_watched_for_coming_and_going_and_not_for_their_data() {
    let mut all = Ensemble::single(2);
    let watch_children = Operation::GetChildren { path: LOCK, watch: true };
    all.does(0, watch_children.clone());
    let place = created(all.does(1, enqueue()));
    assert_eq!(all.told(0), [fired(LOCK, WatchEvent::ChildrenChanged)]);
    all.does(0, watch_children.clone());
    all.does(1, set(place, 3, None));
    assert_eq!(all.told(0), []);
    all.does(1, delete(place));
    assert_eq!(all.told(0), [fired(LOCK, WatchEvent::ChildrenChanged)]);
}

#[test]
fn everybody_who_watches_the_parent_is_woken_by_one_release() {
    let mut all = Ensemble::single(5);
    let place = created(all.does(0, enqueue()));
    for client in 1..5 {
        all.does(client, Operation::GetChildren { path: LOCK, watch: true });
    }
    all.ask(0, delete(place));
    all.deliver();
    let events = all.in_flight.iter().filter(
        |(_, _, message)| matches!(message, crate::machine::Message::Reply(reply) if !reply.fired.is_empty()),
    );
    assert_eq!(events.count(), 4);
}

#[test]
fn the_own_change_fires_the_own_watch_before_its_answer() {
    let mut all = Ensemble::single(1);
    all.does(0, watch(WORK));
    all.ask(0, set(WORK, 1, None));
    all.deliver_all();
    let told = all.told(0);
    assert_eq!(told.len(), 2);
    assert_eq!(told[0], fired(WORK, WatchEvent::DataChanged));
    assert!(matches!(told[1], Notice::Answered(_)));
}

#[test]
fn no_answer_shows_a_change_before_its_event_even_if_the_event_is_late() {
    let mut all = Ensemble::single(2);
    all.does(0, watch(WORK));
    all.ask(1, set(WORK, 9, None));
    all.deliver();
    // The event is under way; the next read overtakes it.
    let late = all.in_flight.iter().position(|(_, to, _)| *to == crate::machine::Node::Client(0));
    let late = all.in_flight.remove(late.expect("an event is under way")).expect("it was found");
    all.does(0, get(WORK));
    let told = all.told(0);
    assert_eq!(told, [fired(WORK, WatchEvent::DataChanged)], "beside the answer that was looked at");
    all.in_flight.push_back(late);
    all.deliver_all();
    assert_eq!(all.told(0), [], "it is not told twice");
}

#[test]
fn a_flawed_server_shows_the_change_before_its_event() {
    let mut all =
        Ensemble::connected(1, 2, Settings { flaw: Flaw::EventsAfterReplies, ..Settings::default() });
    all.does(0, watch(WORK));
    all.ask(1, set(WORK, 9, None));
    all.deliver();
    let late = all.in_flight.iter().position(|(_, to, _)| *to == crate::machine::Node::Client(0));
    all.in_flight.remove(late.expect("an event is under way"));
    assert!(matches!(all.does(0, get(WORK)), Outcome::Data { data: 9, .. }));
    assert_eq!(all.told(0), []);
}

#[test]
fn an_event_that_comes_before_the_answer_that_sets_its_watch_waits_for_it() {
    let mut all = Ensemble::single(2);
    all.ask(0, watch(WORK));
    all.deliver();
    let answer = all.in_flight.pop_front().expect("an answer");
    all.does(1, set(WORK, 4, None));
    assert_eq!(all.told(0), []);
    all.in_flight.push_back(answer);
    all.deliver_all();
    let told = all.told(0);
    assert!(matches!(told[0], Notice::Answered(_)));
    assert_eq!(told[1], fired(WORK, WatchEvent::DataChanged));
}

#[test]
fn a_ping_that_follows_a_request_does_not_lose_the_event_of_its_watch() {
    let mut all = Ensemble::single(2);
    all.ask(0, watch(WORK));
    all.deliver();
    let answer = all.in_flight.pop_front().expect("an answer");
    all.ask(1, set(WORK, 4, None));
    all.deliver();
    // The event is lost; the ping comes before the answer, and after it there is nothing to tell.
    all.in_flight.retain(|(_, to, _)| *to != crate::machine::Node::Client(0));
    all.pass(Micros::millis(2100), &[]);
    all.in_flight.push_back(answer);
    all.deliver_all();
    let told = all.told(0);
    assert!(matches!(told[0], Notice::Answered(_)), "{told:?}");
    assert_eq!(told[1..], [fired(WORK, WatchEvent::DataChanged)]);
}

#[test]
fn watches_are_set_again_on_reconnect_and_fire_for_what_was_missed() {
    let mut all = Ensemble::connected(1, 2, Settings::default());
    let place = created(all.does(1, enqueue()));
    all.does(0, watch(place));
    all.does(0, Operation::GetData { path: WORK, watch: true });
    all.told(0);
    // The client is cut off while one of the two changes.
    all.cut = vec![crate::machine::Node::Client(0)];
    all.does(1, set(WORK, 1, None));
    all.pass(Micros::millis(4200), &[]);
    assert_eq!(all.told(0), [Notice::Disconnected]);
    all.cut.clear();
    all.pass(Micros::seconds(2), &[]);
    assert_eq!(all.told(0), [Notice::Connected, fired(WORK, WatchEvent::DataChanged)]);
    all.does(1, delete(place));
    assert_eq!(all.told(0), [fired(place, WatchEvent::Deleted)]);
}
