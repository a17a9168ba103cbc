//! What the client's library does with several members, and what they do for it when there is no leader.

use super::cluster::Cluster;
use super::*;
use crate::stores::etcd::session::{Here, Notice, PINGS, Session, SessionSettings};

/// The library of client A of three members.
struct Client {
    session: Session,
    settings: SessionSettings,
    now: Monotonic,
}

impl Client {
    fn new(settings: SessionSettings) -> Client {
        let settings = SessionSettings { ttl: Some(Micros::seconds(6)), ..settings };
        Client { session: Session::default(), settings, now: Monotonic(0) }
    }

    /// What it asks, and whom.
    fn does(&mut self, step: impl FnOnce(&mut Session, &Here, &mut Out)) -> Vec<(u8, Request)> {
        let mut out = Out::default();
        let here = Here { me: 0, servers: 3, now: self.now, settings: &self.settings };
        step(&mut self.session, &here, &mut out);
        let requests = out.sends.drain(..).map(|(to, message)| match (to, message) {
            (Node::Server(server), Message::Request(request)) => (server, request),
            (to, message) => panic!("a client says {message:?} to {to}"),
        });
        requests.collect()
    }

    fn hears(&mut self, serial: u32, outcome: Outcome) -> Vec<Notice> {
        let here = Here { me: 0, servers: 3, now: self.now, settings: &self.settings };
        let reply = Reply { serial, revision: Revision(2), outcome };
        self.session.on_reply(reply, &here).into_iter().collect()
    }

    /// Lets time pass, waking it whenever it wants to be.
    fn waits(&mut self, length: Micros) -> Vec<(u8, Request)> {
        let (end, mut requests) = (self.now + length, Vec::new());
        while let Some(at) = self.session.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            requests.extend(self.does(|session, here, out| {
                session.on_deadline(here, out);
            }));
        }
        self.now = end;
        requests
    }

    /// A watch of a key, and whom it is begun at.
    fn watches(&mut self) -> (u8, Request) {
        let watch = |session: &mut Session, here: &Here, out: &mut Out| {
            session.watch(one(1), Start::At(Revision(2)), here, out);
        };
        self.does(watch).pop().expect("it asks")
    }

    /// A lease that was granted, and its first keep-alive.
    fn opens(&mut self) -> (LeaseId, (u8, Request)) {
        let (_, grant) = self.does(|session, here, out| session.open(here, out)).pop().expect("it asks");
        let lease = LeaseId { client: 0, serial: grant.serial };
        let granted = Outcome::Granted { lease, ttl: self.settings.ttl };
        assert_eq!(self.hears(grant.serial, granted), [Notice::Open]);
        (lease, self.waits(Micros::ZERO).pop().expect("it keeps it alive"))
    }
}

/// The members that were asked.
fn asked(requests: &[(u8, Request)]) -> Vec<u8> {
    requests.iter().map(|(server, _)| *server).collect()
}

#[test]
fn calls_and_streams_go_to_one_member_after_the_other() {
    let mut client = Client::new(SessionSettings::DEFAULT);
    let mut servers = Vec::new();
    for _ in 0..3 {
        let (server, request) = client
            .does(|session, here, out| session.change(put(1, 1, None), here, out))
            .pop()
            .expect("it asks");
        assert_eq!(request.patience, client.settings.request_timeout, "the member is told");
        client.hears(request.serial, Outcome::Put);
        servers.push(server);
    }
    assert_eq!(servers, [0, 1, 2]);
    assert_eq!(client.opens().1.0, 1, "the grant has had a turn of its own");
    assert_eq!(client.watches().0, 2);
}

#[test]
fn a_watch_stays_with_a_silent_member_unless_its_client_pings() {
    let mut client = Client::new(SessionSettings::DEFAULT);
    let (server, watch) = client.watches();
    client.hears(watch.serial, Outcome::Watching { boot: 0 });
    let again = client.waits(Micros::seconds(600));
    assert!(again.iter().all(|(to, request)| *to == server && request.serial == watch.serial));

    let mut client =
        Client::new(SessionSettings { dial_keep_alive: Some(PINGS), ..SessionSettings::DEFAULT });
    let (server, watch) = client.watches();
    client.hears(watch.serial, Outcome::Watching { boot: 0 });
    let again = client.waits(PINGS);
    let (moved, stayed) = again.split_last().expect("it says it again");
    assert_eq!(asked(stayed), [server; 5]);
    assert!(moved.0 != server && moved.1.serial != watch.serial, "{moved:?}");
    // The one that answers is kept.
    for _ in 0..20 {
        client.hears(moved.1.serial, Outcome::Watching { boot: 0 });
        assert!(client.waits(Micros::seconds(2)).iter().all(|(to, _)| *to == moved.0));
    }
}

#[test]
fn a_watch_that_was_given_up_tells_nothing_more() {
    let mut client =
        Client::new(SessionSettings { dial_keep_alive: Some(PINGS), ..SessionSettings::DEFAULT });
    let (_, watch) = client.watches();
    let moved = client.waits(PINGS).pop().expect("it begins anew");
    let gone = || {
        let event = WatchEvent::Delete { key: key(1), mod_revision: Revision(3) };
        Outcome::Events([event].into_iter().collect())
    };
    assert_eq!(client.hears(watch.serial, gone()), []);
    assert_eq!(client.hears(moved.1.serial, gone()), [Notice::Watched(gone())]);
}

#[test]
fn what_keeps_up_an_idle_connection_says_since_when_it_is_there() {
    let mut client = Client::new(SessionSettings::DEFAULT);
    let (_, watch) = client.watches();
    let unanswered = client.waits(Micros::seconds(2)).pop().expect("it says it again");
    assert_eq!(unanswered.1.way, Way::Alone);
    client.hears(watch.serial, Outcome::Watching { boot: 3 });
    let answered = client.waits(Micros::seconds(2)).pop().expect("it says it again");
    assert_eq!(answered.1.way, Way::Connection { boot: 3 });
}

#[test]
fn keep_alives_begin_anew_at_the_next_member_when_one_has_no_leader() {
    let mut client = Client::new(SessionSettings::DEFAULT);
    let (lease, (server, first)) = client.opens();
    assert_eq!((server, first.way), (1, Way::NewStream));
    client.hears(first.serial, Outcome::KeptAlive { lease, ttl: client.settings.ttl });
    let (server, second) = client.waits(Micros::seconds(2)).pop().expect("it keeps it alive");
    assert_eq!((server, second.way), (1, Way::OpenStream));
    client.hears(second.serial, Outcome::NoLeader);
    assert_eq!(asked(&client.waits(Micros::millis(499))), [0; 0]);
    let (server, third) = client.waits(Micros::millis(1)).pop().expect("it keeps it alive");
    assert_eq!((server, third.way), (2, Way::NewStream));
    // Of the stream before.
    client.hears(second.serial, Outcome::NoLeader);
    assert_eq!(asked(&client.waits(Micros::millis(500))), [2]);
}

#[test]
fn keep_alives_stay_with_a_silent_member_unless_their_client_pings() {
    for (dial_keep_alive, moves) in [(None, false), (Some(Micros::seconds(2)), true)] {
        let mut client = Client::new(SessionSettings { dial_keep_alive, ..SessionSettings::DEFAULT });
        let (server, _) = client.opens().1;
        let again = client.waits(Micros::seconds(3));
        assert_eq!(again.iter().any(|(to, _)| *to != server), moves, "{again:?}");
    }
}

// The members.

/// Three members, of which the last is cut off, and has missed the leader for less than three elections.
fn one_without_leader() -> Cluster {
    let mut cluster = Cluster::new(3, Settings::default());
    cluster.pass(Micros::millis(300));
    cluster.cut = vec![2];
    while cluster.part(2).leader.is_some() {
        cluster.pass(Micros::millis(10));
    }
    cluster
}

#[test]
fn a_member_proposes_nothing_that_its_client_has_given_up() {
    for (patience, is_put) in [(None, true), (Some(Micros::seconds(2)), false)] {
        let mut cluster = one_without_leader();
        cluster.send_as(0, 2, |serial| Request { patience, ..Request::new(serial, put(1, 1, None)) });
        cluster.pass(Micros::seconds(3));
        cluster.cut.clear();
        cluster.pass(Micros::seconds(3));
        assert_eq!(cluster.value(0, 1).is_some(), is_put);
    }
}

#[test]
fn without_a_leader_no_stream_of_keep_alives_begins_and_one_that_is_there_ends_after_three_elections() {
    let mut cluster = one_without_leader();
    let keep_alive = Operation::KeepAlive(LeaseId { client: 0, serial: 1 });
    let told = |cluster: &mut Cluster, way| {
        let serial =
            cluster.send_as(0, 2, |serial| Request { way, ..Request::new(serial, keep_alive.clone()) });
        cluster.answer_to(serial).map(|reply| reply.outcome)
    };
    assert_eq!(told(&mut cluster, Way::NewStream), Some(Outcome::NoLeader));
    assert_eq!(told(&mut cluster, Way::OpenStream), None);
    cluster.pass(Micros::seconds(3));
    assert_eq!(told(&mut cluster, Way::OpenStream), Some(Outcome::NoLeader));
    assert_eq!(told(&mut cluster, Way::Alone), None, "who does not ask for a leader is not told");
}

#[test]
fn a_host_that_has_lost_its_power_knows_of_no_connection_and_one_whose_process_has_ended_does() {
    let watch = Operation::Watch { keys: one(1), start: Start::At(Revision(2)) };
    for (power_lost, boot) in [(false, Some(0)), (true, None)] {
        let mut cluster = Cluster::new(3, Settings::default());
        cluster.pass(Micros::millis(300));
        let serial = cluster.send(0, 2, watch.clone());
        assert_eq!(cluster.answer_to(serial).map(|reply| reply.outcome), Some(Outcome::Watching { boot: 0 }));
        cluster.restart(2, power_lost);
        let way = Way::Connection { boot: 0 };
        let again = cluster.send_as(0, 2, |serial| Request { way, ..Request::new(serial, watch.clone()) });
        let watching = boot.map(|boot| Outcome::Watching { boot });
        assert_eq!(cluster.answer_to(again).map(|reply| reply.outcome), watching);
        let anew = cluster.send(0, 2, watch.clone());
        let boot = u8::from(power_lost);
        assert_eq!(cluster.answer_to(anew).map(|reply| reply.outcome), Some(Outcome::Watching { boot }));
    }
}
