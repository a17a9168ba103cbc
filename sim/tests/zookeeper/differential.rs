//! Random requests to a real server and to the simulated one: the same answers, but for what only one can know: dates, the numbers
//! of sessions, and of transactions, which are counted from the first.

use crate::client::*;
use crate::real::Real;
use bytes::{Buf, Bytes};
use picklock_sim::serve::zookeeper::settings;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

/// A small generator, the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % bound
    }

    fn of<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len() as u64) as usize]
    }
}

const PATHS: [&str; 12] = [
    "/d/a",
    "/d/b",
    "/d/a/x",
    "/d/a/x/y",
    "/d/a/s-",
    "/d/",
    "/d/b/",
    "/d/a/s-0000000001",
    "/d/0000000000",
    "/d/b/..",
    "/d",
    "/d/a/0000000002/z",
];

/// A request of any kind.
fn request(dice: &mut Dice) -> (i32, Body) {
    let path = dice.of(&PATHS);
    let version = dice.of(&[-1, -1, 0, 1, 2, -2]);
    let flags = dice.of(&[0, 0, 0, 1, 2, 2, 3, 5, 7]);
    let data: &[u8] = dice.of(&[&b""[..], b"v", b"\0\xff"]);
    // What is no path is turned down at once here, and there after its parent was looked for.
    let to_create = if matches!(path, "/d/b/" | "/d/b/..") { "/d/b" } else { path };
    let watch = dice.below(3) == 0;
    match dice.below(14) {
        0..4 => (dice.of(&[op::CREATE, op::CREATE_2, op::CREATE]), create(to_create, data, flags)),
        4 => (op::DELETE, at_version(path, version)),
        5 => (op::SET_DATA, set(path, data, version)),
        6 => (op::EXISTS, look(path, watch)),
        7 => (op::GET_DATA, look(path, watch)),
        8 => (op::GET_CHILDREN, look(path, watch)),
        9 => (op::GET_CHILDREN_2, look(path, watch)),
        10 => (op::GET_ACL, Body::new().string(path)),
        11 => (op::GET_EPHEMERALS, Body::new().string("/d")),
        12 => (op::CHECK_WATCHES, at_version(path, dice.of(&[1, 2, 3]))),
        _ => {
            let mut all = Body::new();
            for _ in 0..dice.below(4) {
                all = all.more(match dice.below(4) {
                    0 => part(op::CREATE, create(to_create, data, flags)),
                    1 => part(op::DELETE, at_version(path, version)),
                    2 => part(op::SET_DATA, set(path, data, version)),
                    _ => part(op::CHECK, at_version(path, version)),
                });
            }
            (op::MULTI, all.more(done()))
        }
    }
}

/// What does not depend on who answers: transactions are counted from the one that made the first znode.
struct Seen {
    first: i64,
    session: i64,
}

impl Seen {
    fn stat(&self, bytes: &mut Bytes) -> String {
        let stat = stat(bytes);
        let zxid = |zxid: i64| zxid - self.first;
        let own = if stat.owner == self.session { 1 } else { stat.owner };
        format!(
            "c{} m{} p{} v{} cv{} av{} own{own} {} bytes {} children modified:{}",
            zxid(stat.czxid),
            zxid(stat.mzxid),
            zxid(stat.pzxid),
            stat.version,
            stat.cversion,
            stat.aversion,
            stat.data_bytes,
            stat.children,
            stat.mtime > stat.ctime && stat.mzxid == stat.czxid,
        )
    }

    fn body(&self, kind: i32, body: &mut Bytes) -> String {
        match kind {
            op::CREATE => text(body),
            op::CREATE_2 => format!("{} {}", text(body), self.stat(body)),
            op::EXISTS | op::SET_DATA => self.stat(body),
            op::GET_DATA => {
                let length = body.get_i32() as usize;
                let data = body.split_to(length);
                format!("{data:?} {}", self.stat(body))
            }
            op::GET_CHILDREN | op::GET_EPHEMERALS => {
                let names: BTreeSet<String> = texts(body).into_iter().collect();
                format!("{names:?}")
            }
            op::GET_CHILDREN_2 => {
                let names: BTreeSet<String> = texts(body).into_iter().collect();
                format!("{names:?} {}", self.stat(body))
            }
            op::GET_ACL => {
                let all: Vec<_> =
                    (0..body.get_i32()).map(|_| (body.get_i32(), text(body), text(body))).collect();
                format!("{all:?} {}", self.stat(body))
            }
            op::MULTI => {
                let mut all = String::new();
                loop {
                    let (kind, is_done, error) = (body.get_i32(), body.get_u8(), body.get_i32());
                    if is_done == 1 {
                        return all;
                    }
                    let inside = match kind {
                        -1 => body.get_i32().to_string(),
                        kind => self.body(kind, body),
                    };
                    all += &format!("[{kind} {error} {inside}]");
                }
            }
            _ => String::new(),
        }
    }

    fn reply(&self, kind: i32, reply: Reply) -> String {
        let Reply { xid, zxid, error, mut body } = reply;
        let inside = if error == 0 { self.body(kind, &mut body) } else { String::new() };
        // Dates have no meaning here; that all is read has.
        format!("{xid} at {} error {error}: {inside} and {} bytes", zxid - self.first, body.len())
    }
}

/// A client, once the server takes any: the real one listens before it does, and may leave who comes too early unanswered.
async fn takes_clients(address: SocketAddr) -> Client {
    for _ in 0..400 {
        let connects = tokio::time::timeout(Duration::from_secs(1), Client::connect_for(address, 40_000));
        if let Ok(Some(client)) = connects.await {
            return client;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it takes no clients");
}

async fn began(address: SocketAddr) -> (Client, Seen) {
    let mut client = takes_clients(address).await;
    client.create("/d", b"", PERSISTENT).await;
    let seen = Seen { first: client.zxid, session: client.session };
    (client, seen)
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn random_requests_are_answered_as_by_the_real_server() {
    let Some(real) = Real::start() else { return };
    let requests: u32 =
        std::env::var("PICKLOCK_ZOOKEEPER_REQUESTS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000);
    let seed: u64 = std::env::var("PICKLOCK_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    with_servers(1, settings(), async |ensemble| {
        let (mut theirs, seen_there) = began(real.address).await;
        let (mut ours, seen_here) = began(ensemble.addresses[0]).await;
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ seed);
        let mut answered_well = 0;
        for number in 0..requests {
            let (kind, body) = request(&mut dice);
            let there = theirs.ask(kind, body.clone()).await;
            let here = ours.ask(kind, body.clone()).await;
            answered_well += u32::from(here.error == 0);
            let told = |seen: &Seen, reply| seen.reply(kind, reply);
            assert_eq!(
                told(&seen_here, here),
                told(&seen_there, there),
                "request {number}, {kind}: {body:?}"
            );
            theirs.events.sort();
            ours.events.sort();
            assert_eq!(ours.events, theirs.events, "events by request {number}, {kind}: {body:?}");
            theirs.events.clear();
            ours.events.clear();
        }
        assert!(answered_well > requests / 5, "only {answered_well} of {requests} went well");
    });
}
