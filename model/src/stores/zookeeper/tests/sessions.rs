//! How sessions are held, lost and ended.

use super::*;
use crate::machine::Node;
use picklock_properties::{ClientId, Event};

const A_LONG_TIME: Micros = Micros::seconds(60);

#[test]
fn pings_keep_a_session() {
    let mut all = Ensemble::single(1);
    let place = created(all.does(0, enqueue()));
    all.pass(A_LONG_TIME, &[]);
    assert!(all.has(0, place));
    assert_eq!(all.told(0), []);
}

#[test]
fn a_session_of_a_silent_client_ends_with_its_ephemerals_and_nothing_else() {
    let mut all = Ensemble::single(2);
    let place = created(all.does(0, enqueue()));
    let kept = created(all.does(0, create(PLACE, CreateMode::PersistentSequential)));
    let other = created(all.does(1, enqueue()));
    let session = all.clients[0].id().expect("connected");
    all.pass(Micros::seconds(7), &[Node::Client(0)]);
    assert!(!all.has(0, place) && all.has(0, kept) && all.has(0, other));
    assert!(!all.servers[0].has_session(session));
    assert!(all.events.contains(&Event::RecordGone { client: ClientId(0), lock: LockId(0), server: 0 }));
}

#[test]
fn expiry_is_learned_on_reconnect_and_not_before() {
    let mut all = Ensemble::single(1);
    created(all.does(0, enqueue()));
    all.cut = vec![Node::Client(0)];
    all.pass(A_LONG_TIME, &[]);
    assert_eq!(all.told(0), [Notice::Disconnected]);
    all.cut.clear();
    all.pass(Micros::seconds(5), &[]);
    assert_eq!(all.told(0), [Notice::Expired]);
    all.connect(0);
    all.deliver_all();
    assert_eq!(all.told(0), [Notice::Connected]);
}

/// A client whose library judges for itself, connected since now.
fn judging() -> Ensemble {
    let mut all = Ensemble::new(1, 1, Settings::default());
    all.session.judges_itself = true;
    all.connect(0);
    all.deliver_all();
    assert_eq!(all.told(0), [Notice::Connected]);
    all
}

#[test]
fn a_library_that_judges_itself_takes_the_session_for_over_after_four_thirds_of_its_timeout() {
    let mut all = judging();
    all.cut = vec![Node::Client(0)];
    all.pass(Micros::millis(7_900), &[]);
    assert_eq!(all.told(0), [Notice::Disconnected]);
    all.pass(Micros::millis(200), &[]);
    assert_eq!(all.told(0), [Notice::Expired]);
    assert!(all.clients[0].is_over() && all.clients[0].id().is_none());
    all.pass(A_LONG_TIME, &[]);
    assert_eq!(all.told(0), [], "it judges once");
    all.cut.clear();
    all.connect(0);
    all.deliver_all();
    assert_eq!(all.told(0), [Notice::Connected]);
}

#[test]
fn a_library_that_judges_itself_counts_every_sign_of_life() {
    let mut all = judging();
    let place = created(all.does(0, enqueue()));
    all.pass(A_LONG_TIME, &[]);
    assert_eq!(all.told(0), []);
    assert!(all.has(0, place));

    // A cut that is shorter than the session: the server is found again in time, and the count begins anew.
    let mut all = judging();
    all.cut = vec![Node::Client(0)];
    all.pass(Micros::seconds(4), &[]);
    all.cut.clear();
    all.pass(Micros::seconds(3), &[]);
    assert_eq!(all.told(0), [Notice::Disconnected, Notice::Connected]);
    all.pass(A_LONG_TIME, &[]);
    assert_eq!(all.told(0), []);
}

#[test]
fn a_short_cut_costs_the_connection_and_not_the_session() {
    let mut all = Ensemble::single(1);
    let place = created(all.does(0, enqueue()));
    let session = all.clients[0].id();
    all.cut = vec![Node::Client(0)];
    all.pass(Micros::seconds(4), &[]);
    all.cut.clear();
    all.pass(Micros::seconds(3), &[]);
    assert_eq!(all.told(0), [Notice::Disconnected, Notice::Connected]);
    assert_eq!(all.clients[0].id(), session);
    assert!(all.has(0, place));
}

#[test]
fn a_closed_session_leaves_nothing_and_is_no_loss() {
    let mut all = Ensemble::single(2);
    let place = created(all.does(0, enqueue()));
    all.does(1, watch(place));
    assert_eq!(all.does(0, Operation::CloseSession), Outcome::SessionClosed);
    assert!(!all.has(0, place));
    assert_eq!(all.told(1), [Notice::Fired(place, WatchEvent::Deleted)]);
    assert!(!all.events.iter().any(|event| matches!(event, Event::RecordGone { .. })));
    assert!(all.clients[0].is_over());
}

#[test]
fn time_stands_still_while_the_only_server_is_down() {
    let mut all = Ensemble::single(1);
    let place = created(all.does(0, enqueue()));
    all.cut = vec![Node::Server(0)];
    all.pass(A_LONG_TIME, &[Node::Server(0)]);
    all.restart(0, true);
    all.cut.clear();
    all.pass(Micros::seconds(5), &[]);
    assert_eq!(all.told(0), [Notice::Disconnected, Notice::Connected]);
    assert!(all.has(0, place));
}

#[test]
fn a_whole_ensemble_that_restarts_expires_nobody() {
    let mut all = Ensemble::connected(3, 2, electing());
    let place = created(all.does(0, enqueue()));
    let servers = [Node::Server(0), Node::Server(1), Node::Server(2)];
    all.cut = servers.to_vec();
    all.pass(A_LONG_TIME, &servers);
    all.cut.clear();
    (0..3).for_each(|server| all.restart(server, true));
    all.pass(Micros::seconds(20), &[]);
    assert!((0..3).all(|server| all.has(server, place)));
    assert!(!all.told(0).contains(&Notice::Expired));
}

#[test]
fn a_jump_of_the_wall_clock_ends_all_sessions_if_that_is_what_counts_them() {
    for (session_clock, survives) in [(SessionClock::Monotonic, true), (SessionClock::Wall, false)] {
        let mut all = Ensemble::connected(1, 1, Settings { session_clock, ..Settings::default() });
        let place = created(all.does(0, enqueue()));
        all.wall_offset = Micros::seconds(3600);
        all.pass(Micros::millis(200), &[]);
        assert_eq!(all.has(0, place), survives, "{session_clock:?}");
    }
}

#[test]
fn a_flawed_server_leaves_ephemerals_behind() {
    let settings = Settings { ephemerals: Ephemerals::StayBehind, ..Settings::default() };
    let mut all = Ensemble::connected(1, 1, settings);
    let place = created(all.does(0, enqueue()));
    all.does(0, Operation::CloseSession);
    assert!(all.has(0, place));
}

#[test]
fn a_session_without_a_timeout_needs_no_pings_and_never_ends() {
    let mut all = Ensemble::new(1, 1, Settings::default());
    all.session.timeout = None;
    all.connect(0);
    all.deliver_all();
    let place = created(all.does(0, enqueue()));
    all.pass(A_LONG_TIME, &[]);
    assert!(all.has(0, place));
    assert_eq!(all.servers[0].deadline(&all.settings), None);
    assert_eq!(all.clients[0].deadline(), None);
}

#[test]
fn a_client_that_restarts_has_another_session_and_the_old_one_lives_until_its_time_is_over() {
    let mut all = Ensemble::single(1);
    let place = created(all.does(0, enqueue()));
    all.clients[0].restart();
    all.connect(0);
    all.deliver_all();
    assert!(all.has(0, place));
    all.pass(Micros::seconds(7), &[]);
    assert!(!all.has(0, place));
    assert!(all.clients[0].is_up());
}
