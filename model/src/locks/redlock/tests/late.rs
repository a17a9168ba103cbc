//! What an unlocking does that comes when the next attempt has the lock: two clients at three nodes of the store, all asked at once,
//! and messages delivered as the test says. R34, step by step.

use super::*;
use crate::stores::redis as store;

/// Three nodes on one clock, which the test moves with that of the clients.
struct Nodes {
    nodes: Vec<Redis>,
    settings: store::Settings,
    now: Micros,
}

impl Nodes {
    fn new() -> Nodes {
        let settings = store::Settings::default();
        Nodes { nodes: (0..3).map(|me| Redis::new(me, 3, &settings)).collect(), settings, now: Micros::ZERO }
    }

    /// A request of this client arrives.
    fn take(&mut self, from: u8, (to, request): &(u8, Request)) -> Reply {
        let mut out = Effects::default();
        let cx = Context {
            me: *to,
            servers: 3,
            wall: Wall(self.now.0),
            monotonic: Monotonic(self.now.0),
            choice: 0,
            settings: &self.settings,
        };
        self.nodes[usize::from(*to)].on_request(from, request.clone(), &cx, &mut out);
        match &out.sends[..] {
            [(Node::Client(client), Message::Reply(reply))] if *client == from => *reply,
            other => panic!("a node answers who asked, and says nothing else: {other:?}"),
        }
    }

    /// Requests of this client arrive, and it hears the answers.
    fn serve(&mut self, client: &mut Client, requests: &[(u8, Request)]) -> Vec<Outcome> {
        self.now = client.now;
        let mut outcomes = Vec::new();
        for asked in requests {
            let reply = self.take(client.me, asked);
            outcomes.push(reply.outcome);
            client.enter(|lock, cx, out| lock.on_reply(asked.0, reply, cx, out));
        }
        outcomes
    }
}

/// A holds by its second attempt, and all that the unlocking after its first one asked is still under way.
fn holds_by_the_second_attempt(value: DrawnFor) -> (Nodes, Client, Client, Vec<(u8, Request)>) {
    let settings = Settings { value, ..Settings::multiplexed() };
    let (mut nodes, mut a) = (Nodes::new(), Client::new(3, settings));
    let mut b = Client { me: 1, ..Client::new(3, settings) };

    // B has the lock on all nodes.
    b.acquire(Mode::Lock);
    let asked = b.sent();
    assert_eq!(nodes.serve(&mut b, &asked), [Outcome::Ok; 3]);
    assert!(b.is_granted());

    // A's first attempt finds it taken, and A unlocks all nodes: three DELs that take their time.
    a.acquire(Mode::Lock);
    let asked = a.sent();
    assert_eq!(nodes.serve(&mut a, &asked), [Outcome::Nil; 3]);
    assert_eq!(a.sent_to_all(), unlocking(1));
    let late = a.sent();

    // B gives the lock back.
    b.release();
    let asked = b.sent();
    assert_eq!(nodes.serve(&mut b, &asked), [Outcome::Integer(1); 3]);

    // A's second attempt has the lock on all nodes.
    a.sleep();
    let asked = a.sent();
    assert_eq!(nodes.serve(&mut a, &asked), [Outcome::Ok; 3]);
    assert!(a.is_granted());
    b.now = a.now;
    (nodes, a, b, late)
}

#[test]
fn one_value_for_a_call_lets_a_late_unlocking_delete_the_keys_of_the_next_attempt() {
    let (mut nodes, mut a, mut b, late) = holds_by_the_second_attempt(DrawnFor::PerCall);

    // Two of the three DELs arrive, and find A's own value.
    assert_eq!(nodes.serve(&mut a, &late[..2]), [Outcome::Integer(1); 2]);
    assert_eq!(a.lock.doing(), "holds", "A was told of nothing that concerns it");

    // B has a majority.
    b.acquire(Mode::Lock);
    let asked = b.sent();
    assert_eq!(nodes.serve(&mut b, &asked), [Outcome::Ok, Outcome::Ok, Outcome::Nil]);
    assert!(b.is_granted());
    assert_eq!((a.lock.doing(), b.lock.doing()), ("holds", "holds"));
}

#[test]
fn a_value_for_each_attempt_makes_a_late_unlocking_harmless() {
    let (mut nodes, mut a, mut b, late) = holds_by_the_second_attempt(DrawnFor::PerAttempt);
    assert_eq!(nodes.serve(&mut a, &late), [Outcome::Integer(0); 3]);
    b.acquire(Mode::TryLock);
    let asked = b.sent();
    assert_eq!(nodes.serve(&mut b, &asked), [Outcome::Nil; 3]);
    assert_eq!(b.out.answer, Some(Answer::Refused));
    assert_eq!(a.lock.doing(), "holds");
}

#[test]
fn only_the_attempts_of_one_call_share_a_value() {
    let value_of = |client: &Client| match client.sent()[0].1.command {
        Command::Set { value, .. } => value,
        ref other => panic!("an attempt begins with SET, not {other:?}"),
    };
    for (drawn, is_shared) in [(DrawnFor::PerCall, true), (DrawnFor::PerAttempt, false)] {
        let mut client = Client::new(1, Settings { value: drawn, ..Settings::as_written() });
        client.acquire(Mode::Lock);
        let first = value_of(&client);
        client.reply(0, Outcome::Nil);
        client.sleep();
        assert_eq!(value_of(&client) == first, is_shared, "{drawn:?}: the next attempt");
        client.reply(0, Outcome::Ok);
        client.release();
        client.acquire(Mode::Lock);
        assert_ne!(value_of(&client), first, "{drawn:?}: the next call");
    }
}
