//! Lost, doubled and reordered messages on a connection.

use super::*;
use crate::machine::{Message, Node};

#[test]
fn a_doubled_create_creates_once() {
    let mut all = Ensemble::single(1);
    all.ask(0, enqueue());
    let twin = all.in_flight[0].clone();
    all.in_flight.push_back(twin);
    all.deliver_all();
    assert!(all.has(0, numbered(0)) && !all.has(0, numbered(1)));
}

#[test]
fn a_doubled_create_creates_once_even_between_servers() {
    let mut all = Ensemble::connected(3, 3, Settings::default());
    all.ask(1, enqueue());
    all.deliver();
    let twin = all.in_flight[0].clone();
    assert!(matches!(twin.2, Message::Peer(Peer::Forward { .. })));
    all.in_flight.push_back(twin);
    all.deliver_all();
    assert!(all.has(0, numbered(0)) && !all.has(0, numbered(1)));
}

#[test]
fn a_request_that_its_client_gave_up_is_dismissed_once_there_is_a_newer_connection() {
    let mut all = Ensemble::single(1);
    all.ask(0, enqueue());
    let late = all.in_flight.pop_front().expect("a request");
    all.pass(Micros::seconds(6), &[]);
    assert_eq!(all.told(0), [Notice::Disconnected, Notice::Connected]);
    all.in_flight.push_back(late);
    all.deliver_all();
    assert!(!all.has(0, numbered(0)));
}

#[test]
fn a_request_on_its_way_to_the_leader_is_dismissed_once_the_session_has_moved() {
    let mut all = Ensemble::connected(3, 2, electing());
    all.pass(Micros::seconds(1), &[]);
    all.ask(1, enqueue());
    all.deliver();
    let forward =
        |flight: &&(Node, Node, Message<ZooKeeper>)| matches!(flight.2, Message::Peer(Peer::Forward { .. }));
    let late = all.in_flight.iter().find(forward).cloned().expect("the follower forwards");
    all.deliver_where(|flight| !forward(&flight));
    all.cut = vec![Node::Server(1)];
    all.pass(Micros::seconds(6), &[]);
    assert!(all.told(1).contains(&Notice::Connected), "to another server");
    all.cut.clear();
    all.in_flight.push_back(late);
    all.deliver_all();
    assert!(!all.has(0, numbered(0)));
}

#[test]
fn a_lost_answer_leaves_the_outcome_open_and_costs_the_connection() {
    let mut all = Ensemble::single(1);
    all.ask(0, enqueue());
    all.deliver();
    all.in_flight.clear();
    all.pass(Micros::seconds(6), &[]);
    assert_eq!(all.told(0), [Notice::Disconnected, Notice::Connected]);
    assert!(all.has(0, numbered(0)));
}

#[test]
fn a_lost_event_comes_with_the_next_pong() {
    let mut all = Ensemble::single(2);
    all.does(0, watch(WORK));
    all.ask(1, set(WORK, 1, None));
    all.deliver();
    all.in_flight.retain(|(_, to, _)| *to != Node::Client(0));
    all.pass(Micros::seconds(3), &[]);
    assert_eq!(all.told(0), [Notice::Fired(WORK, WatchEvent::DataChanged)]);
}

#[test]
fn a_doubled_request_for_a_session_does_not_bring_it_back_when_it_is_over() {
    let mut all = Ensemble::new(1, 1, Settings::default());
    all.connect(0);
    let twin = all.in_flight[0].clone();
    all.deliver_all();
    let session = all.clients[0].id().expect("connected");
    all.does(0, Operation::CloseSession);
    all.in_flight.push_back(twin);
    all.deliver_all();
    assert!(!all.servers[0].has_session(session));
}

#[test]
fn a_server_that_started_again_closes_connections_it_does_not_know() {
    let mut all = Ensemble::single(1);
    all.restart(0, false);
    all.ask(0, enqueue());
    all.deliver_all();
    assert_eq!(all.told(0), [Notice::Disconnected]);
    all.pass(Micros::seconds(2), &[]);
    assert_eq!(all.told(0), [Notice::Connected]);
}
