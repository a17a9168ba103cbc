//! What the store promises, request by request.

use super::*;
use crate::machine::{Message, Node};

const A: u8 = 0;
const B: u8 = 1;
const C: u8 = 2;
const LOCK: LockId = LockId(0);
const LEASE: Micros = Micros::seconds(10);

/// One server, and a clock that the test moves.
struct Server {
    store: FeedbackStore,
    settings: Settings,
    now: Monotonic,
    out: Out,
}

impl Server {
    fn new(settings: Settings) -> Server {
        Server { store: FeedbackStore::default(), settings, now: Monotonic(0), out: Effects::default() }
    }

    fn does(&mut self, step: impl FnOnce(&mut FeedbackStore, &Cx, &mut Out)) -> Vec<(u8, Reply)> {
        let cx = Context {
            me: 0,
            servers: 1,
            wall: crate::time::Wall(0),
            monotonic: self.now,
            choice: 0,
            settings: &self.settings,
        };
        self.out.clear();
        step(&mut self.store, &cx, &mut self.out);
        let said = |(to, message): &(Node, Message<FeedbackStore>)| match (to, message) {
            (Node::Client(client), Message::Reply(reply)) => (*client, *reply),
            other => panic!("a server only replies: {other:?}"),
        };
        self.out.sends.iter().map(said).collect()
    }

    fn hears(&mut self, from: u8, request: Request) -> Vec<(u8, Reply)> {
        self.does(|store, cx, out| store.on_request(from, request, cx, out))
    }

    fn enqueue(&mut self, from: u8, ticket: u32, serial: u32) -> Vec<(u8, Reply)> {
        self.hears(
            from,
            Request::Enqueue { lock: LOCK, ticket, serial, mode: Mode::Lock, lease: Some(LEASE) },
        )
    }

    fn tries(&mut self, from: u8, ticket: u32) -> Vec<(u8, Reply)> {
        let mode = Mode::TryLock;
        self.hears(from, Request::Enqueue { lock: LOCK, ticket, serial: ticket, mode, lease: Some(LEASE) })
    }

    fn release(&mut self, from: u8, ticket: u32) -> Vec<(u8, Reply)> {
        self.hears(from, Request::Release { ticket })
    }

    fn keep(&mut self, from: u8, ticket: u32, fence: i64) -> Vec<(u8, Reply)> {
        self.hears(from, Request::Keep { ticket, serial: 99, fence: FencingToken(fence) })
    }

    fn after(&mut self, length: Micros) -> Vec<(u8, Reply)> {
        self.now = self.now + length;
        self.does(|store, cx, out| store.on_deadline(cx, out))
    }
}

fn granted(ticket: u32, heard: u32, fence: i64) -> Reply {
    Reply::Granted { ticket, heard: Some(heard), fence: FencingToken(fence) }
}

fn queued(ticket: u32, serial: u32) -> Reply {
    Reply::Queued { ticket, serial }
}

#[test]
fn who_comes_first_is_granted_and_the_others_in_the_order_of_their_coming() {
    let mut server = Server::new(Settings::default());
    assert_eq!(server.enqueue(B, 1, 1), [(B, granted(1, 1, 1))]);
    assert_eq!(server.enqueue(C, 1, 1), [(C, queued(1, 1))]);
    assert_eq!(server.enqueue(A, 1, 1), [(A, queued(1, 1))]);
    assert_eq!(server.release(B, 1), [(C, granted(1, 1, 2)), (B, Reply::Released { ticket: 1 })]);
    assert_eq!(server.release(C, 1), [(A, granted(1, 1, 3)), (C, Reply::Released { ticket: 1 })]);
    assert_eq!(server.store.owner(LOCK), Some(ClientId(A)));
    assert_eq!(server.store.owner(LockId(1)), None);
}

#[test]
fn a_request_that_is_repeated_takes_no_second_place() {
    let mut server = Server::new(Settings::default());
    server.enqueue(A, 1, 1);
    server.enqueue(B, 1, 1);
    assert_eq!(server.enqueue(B, 1, 2), [(B, queued(1, 2))]);
    assert_eq!(server.enqueue(A, 1, 2), [(A, granted(1, 2, 1))]);
    assert_eq!(server.store.places.len(), 2);
    assert_eq!(server.release(A, 1)[0], (B, granted(1, 2, 2)));
}

#[test]
fn a_request_that_comes_late_brings_no_call_back() {
    let mut server = Server::new(Settings::default());
    server.enqueue(A, 1, 1);
    server.release(A, 1);
    assert_eq!(server.enqueue(A, 1, 1), [(A, Reply::Over { ticket: 1 })]);
    assert_eq!(server.tries(A, 1), [(A, Reply::Over { ticket: 1 })]);
    assert_eq!(server.keep(A, 1, 1), [(A, Reply::Over { ticket: 1 })]);
    assert_eq!(server.store.owner(LOCK), None);
}

#[test]
fn a_newer_call_of_a_client_ends_the_one_before() {
    let mut server = Server::new(Settings::default());
    server.enqueue(A, 1, 1);
    server.enqueue(B, 1, 1);
    // A's process died, and started again.
    assert_eq!(server.enqueue(A, 2, 2), [(B, granted(1, 1, 2)), (A, queued(2, 2))]);
    assert_eq!(server.release(A, 1), [(A, Reply::Released { ticket: 1 })]);
    assert_eq!(server.store.places.len(), 2);
}

#[test]
fn who_tries_is_answered_at_once_and_has_no_place_if_refused() {
    let mut server = Server::new(Settings::default());
    assert_eq!(server.tries(A, 1), [(A, granted(1, 1, 1))]);
    assert_eq!(server.tries(B, 1), [(B, Reply::Refused { ticket: 1 })]);
    assert_eq!(server.release(A, 1), [(A, Reply::Released { ticket: 1 })]);
    assert_eq!(server.tries(B, 2), [(B, granted(2, 2, 2))]);
}

#[test]
fn a_grant_is_pushed_until_it_is_kept() {
    let settings = Settings::default();
    let interval = settings.push_interval.unwrap();
    let mut server = Server::new(settings);
    server.enqueue(A, 1, 1);
    assert_eq!(server.after(interval), [(A, granted(1, 1, 1))]);
    assert_eq!(server.after(interval), [(A, granted(1, 1, 1))]);
    assert_eq!(server.keep(A, 1, 1), [(A, Reply::Kept { ticket: 1, serial: 99 })]);
    assert_eq!(server.after(interval), []);
}

#[test]
fn a_lease_runs_anew_from_each_sign_of_life_and_when_it_is_over_the_next_one_has_the_lock() {
    let mut server = Server::new(Settings { push_interval: None, ..Settings::default() });
    server.enqueue(A, 1, 1);
    server.enqueue(B, 1, 1);
    server.after(Micros::seconds(6));
    server.keep(A, 1, 1);
    server.enqueue(B, 1, 2);
    assert_eq!(server.after(Micros::seconds(6)), []);
    server.enqueue(B, 1, 3);
    assert_eq!(server.after(Micros::seconds(4)), [(B, granted(1, 3, 2))]);
    assert!(server.out.events.contains(&Event::RecordGone { client: ClientId(A), lock: LOCK, server: 0 }));
    assert_eq!(server.keep(A, 1, 1), [(A, Reply::Over { ticket: 1 })]);
}

#[test]
fn the_dead_who_wait_are_passed_over() {
    let mut server = Server::new(Settings { push_interval: None, ..Settings::default() });
    server.enqueue(A, 1, 1);
    server.enqueue(B, 1, 1);
    server.after(Micros::seconds(5));
    server.enqueue(C, 1, 1);
    // A and B say no more.
    assert_eq!(server.after(Micros::seconds(5)), [(C, granted(1, 1, 2))]);
}

#[test]
fn only_the_grant_that_is_named_is_kept() {
    let mut server = Server::new(Settings::default());
    server.enqueue(A, 1, 1);
    assert_eq!(server.keep(A, 1, 7), [(A, Reply::Over { ticket: 1 })]);
    assert_eq!(server.keep(B, 1, 1), [(B, Reply::Over { ticket: 1 })]);
}

#[test]
fn a_restart_costs_no_place_and_starts_every_lease_anew() {
    for power_lost in [false, true] {
        let mut server = Server::new(Settings { push_interval: None, ..Settings::default() });
        server.enqueue(A, 1, 1);
        server.enqueue(B, 1, 1);
        server.now = Monotonic(0) + Micros::seconds(9);
        server.does(|store, cx, out| store.on_restart(power_lost, cx, out));
        assert_eq!(server.after(Micros::seconds(9)), []);
        assert_eq!(server.store.owner(LOCK), Some(ClientId(A)));
        // What it had heard of the call it does not know any more, so that no client counts on it.
        assert_eq!(
            server.release(A, 1)[0],
            (B, Reply::Granted { ticket: 1, heard: None, fence: FencingToken(2) })
        );
    }
}

#[test]
fn a_server_that_has_written_nothing_forgets_everything_and_begins_its_tokens_anew() {
    let mut server = Server::new(Settings { log: Log::Unsynced, ..Settings::default() });
    server.enqueue(A, 1, 1);
    server.does(|store, cx, out| store.on_restart(false, cx, out));
    assert_eq!(server.store.owner(LOCK), Some(ClientId(A)));
    server.does(|store, cx, out| store.on_restart(true, cx, out));
    assert_eq!(server.out.events, [Event::RecordGone { client: ClientId(A), lock: LOCK, server: 0 }]);
    assert_eq!(server.enqueue(B, 1, 1), [(B, granted(1, 1, 1))]);
}

#[test]
fn locks_of_different_ids_have_queues_of_their_own() {
    let mut server = Server::new(Settings::default());
    server.enqueue(A, 1, 1);
    let other = Request::Enqueue { lock: LockId(1), ticket: 1, serial: 1, mode: Mode::Lock, lease: None };
    assert_eq!(server.hears(B, other), [(B, granted(1, 1, 2))]);
    assert_eq!(server.enqueue(C, 1, 1), [(C, queued(1, 1))]);
}
