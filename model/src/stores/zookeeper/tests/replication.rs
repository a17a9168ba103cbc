//! One order, quorums, lag, gaps.

use super::*;
use crate::machine::{Message, Node};

fn is_peer(to: u8) -> impl Fn(&(Node, Node, Message<ZooKeeper>)) -> bool {
    move |(_, receiver, message)| *receiver == Node::Server(to) && matches!(message, Message::Peer(_))
}

#[test]
fn a_write_through_any_server_reaches_all() {
    for servers in [3, 5] {
        let mut all = Ensemble::connected(servers, servers, Settings::default());
        for client in 0..servers {
            assert_eq!(created(all.does(client, enqueue())), numbered(i32::from(client)));
        }
        let first = all.servers[0].contents();
        for server in &all.servers[1..] {
            assert_eq!(server.contents()[1..], first[1..], "all but what they do in the ensemble");
        }
    }
}

#[test]
fn a_write_needs_a_quorum_and_no_more() {
    let mut all = Ensemble::connected(3, 1, Settings::default());
    all.cut = vec![Node::Server(2)];
    created(all.does(0, enqueue()));
    all.cut = vec![Node::Server(1), Node::Server(2)];
    all.ask(0, enqueue());
    all.deliver_all();
    assert_eq!(all.outcome(0), None);
    assert!(!all.has(0, numbered(1)));
}

#[test]
fn a_flawed_leader_commits_alone() {
    let settings = Settings { flaw: Flaw::CommitsAlone, ..Settings::default() };
    let mut all = Ensemble::connected(3, 1, settings);
    all.cut = vec![Node::Server(1), Node::Server(2)];
    created(all.does(0, enqueue()));
}

#[test]
fn a_follower_may_lag_but_its_client_sees_its_own_writes() {
    let mut all = Ensemble::connected(3, 3, Settings::default());
    // Nothing but proposals reaches the last server: it logs them and does not apply them.
    all.ask(0, set(WORK, 1, None));
    all.deliver_where(|flight| {
        !(is_peer(2)(flight) && matches!(flight.2, Message::Peer(Peer::Commit { .. })))
    });
    assert_eq!((all.data(0, WORK), all.data(2, WORK)), (Some(1), Some(0)));
    assert!(matches!(all.does(2, get(WORK)), Outcome::Data { data: 0, .. }));
    assert!(matches!(all.does(2, set(WORK, 2, None)), Outcome::Applied(_)));
    assert!(matches!(all.does(2, get(WORK)), Outcome::Data { data: 2, .. }));
}

#[test]
fn sync_makes_a_lagging_follower_catch_up_first() {
    let mut all = Ensemble::connected(3, 3, electing());
    all.pass(Micros::seconds(1), &[]);
    all.ask(0, set(WORK, 1, None));
    all.deliver_where(|flight| !is_peer(2)(flight));
    assert!(matches!(all.does(2, get(WORK)), Outcome::Data { data: 0, .. }));
    all.ask(2, Operation::Sync);
    all.deliver_all();
    assert_eq!(all.outcome(2), None, "it has not what the leader had");
    all.pass(Micros::seconds(1), &[]);
    // It jumped to the leader's state, and its clients reconnect.
    all.pass(Micros::seconds(3), &[]);
    assert!(matches!(all.does(2, get(WORK)), Outcome::Data { data: 1, .. }));
    assert_eq!(all.does(2, Operation::Sync), Outcome::Synced);
    assert_eq!(all.does(0, Operation::Sync), Outcome::Synced);
}

#[test]
fn sync_is_answered_when_the_commit_has_come() {
    let mut all = Ensemble::connected(3, 3, Settings::default());
    all.ask(0, set(WORK, 1, None));
    let mut late = None;
    all.deliver_where(|flight| {
        let holds = is_peer(2)(flight) && matches!(flight.2, Message::Peer(Peer::Commit { .. }));
        if holds {
            late = Some(flight.clone());
        }
        !holds
    });
    all.ask(2, Operation::Sync);
    all.deliver_all();
    assert_eq!(all.outcome(2), None);
    all.in_flight.extend(late);
    all.deliver_all();
    assert_eq!(all.outcome(2), Some(Outcome::Synced));
}

/// A client's create is committed, its answer and server are lost, and the server that it comes to lags.
fn came_to_a_server_that_lags() -> (Ensemble, Vec<(Node, Node, Message<ZooKeeper>)>) {
    let mut all = Ensemble::connected(3, 3, Settings::default());
    all.ask(1, create(guarded(1, 99), CreateMode::EphemeralSequential));
    let mut late = Vec::new();
    all.deliver_where(|flight| {
        let holds = is_peer(2)(flight) && matches!(flight.2, Message::Peer(Peer::Commit { .. }));
        if holds {
            late.push(flight.clone());
        }
        !holds && flight.1 != Node::Client(1)
    });
    all.pass(Micros::millis(5500), &[]);
    assert!(all.told(1).ends_with(&[Notice::Connected]));
    (all, late)
}

fn finds_its_guid(outcome: Option<Outcome>) -> bool {
    let Some(Outcome::Children(children)) = outcome else { panic!("{outcome:?}") };
    children.iter().any(|child| child.guid() == guarded(1, 99).guid())
}

#[test]
fn a_search_for_the_own_create_misses_it_on_a_server_that_lags() {
    let (mut all, _) = came_to_a_server_that_lags();
    let found = all.does(1, children(LOCK));
    assert!(!finds_its_guid(Some(found)), "and the client would create another");
}

#[test]
fn a_search_after_a_sync_finds_the_own_create() {
    let (mut all, late) = came_to_a_server_that_lags();
    all.ask(1, Operation::Sync);
    all.deliver_all();
    assert_eq!(all.outcome(1), None);
    all.in_flight.extend(late);
    all.deliver_all();
    assert_eq!(all.outcome(1), Some(Outcome::Synced));
    let found = all.does(1, children(LOCK));
    assert!(finds_its_guid(Some(found)));
}

#[test]
fn a_proposal_after_a_gap_is_not_logged_and_the_gap_is_filled() {
    for (flaw, in_step) in [(Flaw::None, true), (Flaw::SkipsGaps, false)] {
        let mut all = Ensemble::connected(3, 1, Settings { flaw, ..electing() });
        all.pass(Micros::millis(200), &[]);
        all.ask(0, create(PLACE, CreateMode::PersistentSequential));
        all.deliver_where(|flight| !is_peer(2)(flight));
        all.does(0, create(PLACE, CreateMode::PersistentSequential));
        assert_eq!(all.has(2, numbered(0)) && all.has(2, numbered(1)), in_step, "{flaw:?}");
    }
}

#[test]
fn a_proposal_or_commit_that_overtakes_another_waits_for_it_where_nothing_is_lost() {
    let mut all = Ensemble::connected(3, 1, Settings::default());
    let mut late = Vec::new();
    for _ in 0..2 {
        all.ask(0, create(PLACE, CreateMode::PersistentSequential));
        all.deliver_where(|flight| {
            let holds = is_peer(2)(flight);
            if holds {
                late.push(flight.clone());
            }
            !holds
        });
    }
    assert_eq!(late.len(), 4);
    // The commits first, then the proposals, the later one first.
    late.rotate_left(1);
    late.reverse();
    all.in_flight.extend(late);
    all.deliver_all();
    assert!(all.has(2, numbered(0)) && all.has(2, numbered(1)));
}

#[test]
fn a_leader_that_assumes_its_followers_acknowledgements_leaves_nothing_but_their_lag() {
    let settings = Settings { acknowledgements: Acknowledgements::Assumed, ..Settings::default() };
    let mut all = Ensemble::connected(2, 2, settings);
    all.ask(0, set(WORK, 1, None));
    all.deliver_where(|flight| !is_peer(1)(flight));
    assert_eq!((all.data(0, WORK), all.data(1, WORK)), (Some(1), Some(0)));
}

#[test]
fn doubled_and_reordered_messages_between_servers_change_nothing() {
    let mut all = Ensemble::connected(3, 2, electing());
    all.pass(Micros::seconds(1), &[]);
    for (round, client) in [0u8, 1, 0, 1, 1, 0].into_iter().enumerate() {
        all.ask(client, create(PLACE, CreateMode::PersistentSequential));
        for step in 0..60 {
            if let Some(flight) = all.in_flight.front().cloned()
                && matches!(flight.2, Message::Peer(_))
                && step < 40
            {
                if step % 3 == 0 {
                    all.in_flight.push_back(flight);
                }
                all.in_flight.rotate_left(step % 2);
            }
            all.deliver();
        }
        all.deliver_all();
        all.pass(Micros::seconds(3), &[]);
        assert!(all.clients[usize::from(client)].is_up());
        let made = i32::try_from(round).expect("few");
        let has = |server: u8, number| all.has(server, numbered(number));
        assert!((0..3).all(|server| has(server, made) && !has(server, made + 1)), "round {round}");
    }
}

#[test]
fn a_server_turns_away_a_client_that_has_seen_more() {
    for (flaw, refused) in [(Flaw::None, true), (Flaw::TakesClientsAhead, false)] {
        let mut all = Ensemble::connected(3, 3, Settings { flaw, ..Settings::default() });
        all.ask(1, set(WORK, 1, None));
        all.deliver_where(|flight| !is_peer(2)(flight));
        // The client comes to the server that has not seen its write.
        all.cut = vec![Node::Server(1)];
        all.pass(Micros::seconds(5), &[]);
        all.deliver_all();
        all.told(1);
        all.pass(Micros::millis(500), &[]);
        let reads_the_past =
            all.clients[1].is_up() && matches!(all.does(1, get(WORK)), Outcome::Data { data: 0, .. });
        assert_eq!(!reads_the_past, refused, "{flaw:?}");
    }
}

#[test]
fn a_reused_sequence_number_is_a_flaw_that_shows() {
    let settings = Settings { flaw: Flaw::SequenceCountsChildren, ..Settings::default() };
    let mut all = Ensemble::connected(1, 1, settings);
    let place = created(all.does(0, enqueue()));
    all.does(0, delete(place));
    assert_eq!(created(all.does(0, enqueue())), place);
}
