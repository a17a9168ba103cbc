//! Leader change and restarts.

use super::ensemble::Flight;
use super::*;
use crate::machine::{Message, Node};
use picklock_properties::{ClientId, Event};

const LEADER: [Node; 1] = [Node::Server(0)];

fn started(servers: u8, clients: u8) -> Ensemble {
    let mut all = Ensemble::connected(servers, clients, electing());
    all.pass(Micros::seconds(1), &[]);
    all
}

#[test]
fn a_leader_that_is_heard_stays() {
    let mut all = started(3, 3);
    all.pass(Micros::seconds(60), &[]);
    assert_eq!(all.leader(), Some(0));
    assert!((0..3).all(|client| all.told(client).is_empty()));
}

#[test]
fn a_report_of_signs_of_life_that_is_lost_is_made_again() {
    // Pings come with every other beat, so that one of the two loses all reports that are made but once.
    let heartbeat = Micros::seconds(1);
    let odd: fn(&Flight) -> bool =
        |flight| matches!(flight.2, Message::Peer(Peer::BeatAck { beat, .. }) if beat % 2 == 1);
    let even: fn(&Flight) -> bool =
        |flight| matches!(flight.2, Message::Peer(Peer::BeatAck { beat, .. }) if beat % 2 == 0);
    for loses in [odd, even] {
        let election = Some(Election { heartbeat, timeout: Micros::seconds(5) });
        let mut all = Ensemble::connected(3, 3, Settings { election, ..Settings::default() });
        let place = created(all.does(1, enqueue()));
        all.loses = loses;
        all.pass(Micros::seconds(60), &[]);
        assert!(all.has(0, place));
        assert_eq!(all.told(1), []);
    }
}

#[test]
fn a_follower_that_its_leader_does_not_hear_lets_its_clients_go_before_their_sessions_end() {
    let mut all = started(3, 3);
    let place = created(all.does(1, enqueue()));
    all.loses = |(from, to, _)| (*from, *to) == (Node::Server(1), Node::Server(0));
    all.pass(Micros::seconds(3), &[]);
    assert_eq!(all.told(1).first(), Some(&Notice::Disconnected));
    all.pass(Micros::seconds(20), &[]);
    assert!(all.has(0, place), "its client has gone on to another server");
    all.loses = |_| false;
    all.pass(Micros::seconds(5), &[]);
    assert!(all.servers[1].serves() && all.leader() == Some(0));
}

#[test]
fn a_leader_more_patient_than_sessions_ends_them_while_a_follower_serves_their_clients() {
    // The defaults: a `tickTime` of 2 s, a `syncLimit` of 5, and sessions that may be as short as twice the former.
    let election = Some(Election { heartbeat: Micros::seconds(1), timeout: Micros::seconds(10) });
    let mut all = Ensemble::connected(3, 3, Settings { election, ..Settings::default() });
    let place = created(all.does(1, enqueue()));
    all.loses = |(from, to, _)| (*from, *to) == (Node::Server(1), Node::Server(0));
    all.pass(Micros::seconds(5), &[]);
    assert_eq!(all.told(1), [], "its server answers");
    assert!(all.has(0, place));
    all.pass(Micros::seconds(3), &[]);
    assert!(!all.has(0, place), "its leader has heard nothing");
}

#[test]
fn another_server_leads_when_the_leader_is_gone_and_has_what_was_acknowledged() {
    for servers in [3, 5] {
        let mut all = started(servers, 2);
        let place = created(all.does(1, create(PLACE, CreateMode::PersistentSequential)));
        all.cut = LEADER.to_vec();
        all.pass(Micros::seconds(10), &LEADER);
        let leader = (1..servers).find(|server| all.servers[usize::from(*server)].leads());
        assert!(leader.is_some_and(|leader| all.has(leader, place)), "{servers}");
        let next = created(all.does(1, create(PLACE, CreateMode::PersistentSequential)));
        assert_eq!(next, numbered(1));
    }
}

#[test]
fn a_write_that_a_quorum_has_survives_even_if_nobody_applied_it() {
    let mut all = started(3, 1);
    all.ask(0, create(PLACE, CreateMode::PersistentSequential));
    // The proposal reaches one follower; its acknowledgement and all else is lost with the leader.
    all.deliver_where(|(_, to, message)| match message {
        Message::Peer(Peer::Propose { .. }) => *to == Node::Server(2),
        Message::Peer(_) => false,
        _ => true,
    });
    all.cut = LEADER.to_vec();
    all.pass(Micros::seconds(10), &LEADER);
    assert!(all.has(1, numbered(0)) && all.has(2, numbered(0)));
}

#[test]
fn a_new_leader_tells_whose_the_lock_is_though_the_old_one_ordered_it() {
    let mut all = started(3, 3);
    let first = created(all.does(1, enqueue()));
    created(all.does(2, enqueue()));
    all.ask(1, delete(first));
    // A follower has the deletion; that it has, and all else, is lost with the leader.
    all.deliver_where(|(_, to, message)| match message {
        Message::Peer(Peer::Forward { .. }) => true,
        Message::Peer(Peer::Propose { .. }) => *to == Node::Server(2),
        Message::Peer(_) => false,
        _ => true,
    });
    all.cut = LEADER.to_vec();
    all.events.clear();
    all.pass(Micros::seconds(10), &LEADER);
    let told: Vec<&Event> =
        all.events.iter().filter(|event| matches!(event, Event::Acquired { .. })).collect();
    let passed_on = Event::Acquired { client: ClientId(2), lock: LockId(0) };
    assert!(!told.is_empty() && told.iter().all(|event| **event == passed_on), "{told:?}");
}

#[test]
fn a_write_that_only_the_old_leader_has_is_gone_when_it_comes_back() {
    let mut all = started(3, 1);
    all.ask(0, create(PLACE, CreateMode::PersistentSequential));
    all.deliver_where(|(_, _, message)| !matches!(message, Message::Peer(_)));
    all.cut = LEADER.to_vec();
    all.pass(Micros::seconds(10), &[]);
    assert!(!all.servers[0].leads(), "it has lost its quorum and knows");
    assert!(all.servers[1].leads() || all.servers[2].leads());
    all.cut.clear();
    all.pass(Micros::seconds(10), &[]);
    assert!((0..3).all(|server| !all.has(server, numbered(0))));
}

#[test]
fn a_new_leader_gives_all_sessions_their_full_time() {
    let mut all = started(3, 2);
    let place = created(all.does(1, enqueue()));
    // The client is cut off just before the leader goes; whoever leads next has never heard of it.
    all.cut = vec![Node::Client(1)];
    all.pass(Micros::seconds(3), &[]);
    all.cut = vec![Node::Client(1), Node::Server(0)];
    all.pass(Micros::seconds(6), &LEADER);
    assert!(all.has(1, place), "its time began anew");
    all.pass(Micros::seconds(8), &LEADER);
    assert!(!all.has(1, place), "and is over in the end");
}

#[test]
fn a_client_keeps_its_session_and_its_watch_over_a_leader_change() {
    let mut all = started(3, 3);
    let place = created(all.does(1, enqueue()));
    all.does(2, watch(place));
    all.cut = LEADER.to_vec();
    all.pass(Micros::seconds(10), &LEADER);
    assert!(all.clients[1].is_up() && all.clients[2].is_up());
    all.told(2);
    all.does(1, delete(place));
    assert_eq!(all.told(2), [Notice::Fired(place, WatchEvent::Deleted)]);
}

#[test]
fn two_leaders_never_lead_one_epoch_and_a_restarted_ensemble_finds_one() {
    let mut all = started(5, 1);
    for round in 0..8u8 {
        let server = round % 5;
        all.restart(server, round % 2 == 0);
        all.cut = vec![Node::Server((round + 2) % 5)];
        all.pass(Micros::seconds(4), &[]);
        all.cut.clear();
        all.pass(Micros::seconds(6), &[]);
        let leaders = all.servers.iter().filter(|server| server.leads()).count();
        assert_eq!(leaders, 1, "round {round}");
    }
}

#[test]
fn a_synced_log_survives_the_loss_of_power_and_an_unsynced_one_does_not() {
    for (log, survives) in [(Log::Synced, true), (Log::Unsynced, false)] {
        let mut all = Ensemble::connected(3, 1, Settings { log, ..electing() });
        all.pass(Micros::seconds(1), &[]);
        created(all.does(0, create(PLACE, CreateMode::PersistentSequential)));
        (0..3).for_each(|server| all.restart(server, true));
        all.pass(Micros::seconds(10), &[]);
        assert_eq!((0..3).all(|server| all.has(server, numbered(0))), survives, "{log:?}");
    }
}

#[test]
fn an_unsynced_log_survives_the_end_of_the_process() {
    let mut all = Ensemble::connected(1, 1, Settings { log: Log::Unsynced, ..Settings::default() });
    created(all.does(0, create(PLACE, CreateMode::PersistentSequential)));
    all.restart(0, false);
    assert!(all.has(0, numbered(0)));
}
