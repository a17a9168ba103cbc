//! Takes, extends and gives back a lock with each Rust library, on the servers at three ports.
//!
//! ```text
//! cargo run --release --manifest-path sim/tests/serve/libraries/rust/Cargo.toml -- PORT PORT PORT
//! ```
//!
//! One line for each thing tried. On a real server and on the simulated one the lines are the same.

use redis::Connection;
use redlock::RedLock;
use rslock::{LockError, LockManager};
use std::time::Duration;
use tokio::time::sleep;

/// What the servers have at the lock's key, looked at without either library.
struct Servers(Vec<Connection>);

impl Servers {
    fn ask<T: redis::FromRedisValue>(&mut self, command: &str) -> Vec<T> {
        let asked =
            |server: &mut Connection| redis::cmd(command).arg("orders").query(server).expect("an answer");
        self.0.iter_mut().map(asked).collect()
    }

    /// On how many of them there is a key.
    fn keys(&mut self) -> i64 {
        self.ask::<i64>("EXISTS").iter().sum()
    }

    /// On how many of them it lives for more than `above` milliseconds, but no more than `most`.
    fn live(&mut self, above: i64, most: i64) -> usize {
        self.ask::<i64>("PTTL").iter().filter(|left| **left > above && **left <= most).count()
    }

    fn flush(&mut self) {
        for server in &mut self.0 {
            redis::cmd("FLUSHALL").exec(server).expect("an answer");
        }
    }
}

/// By its name: the errors of this library cannot be compared.
fn refusal<T>(result: Result<T, LockError>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "none".to_owned())
}

async fn rslock(addresses: &[String], servers: &mut Servers) {
    let managers: Vec<LockManager> = (0..2)
        .map(|_| {
            let mut manager = LockManager::new(addresses.iter().map(String::as_str).collect());
            manager.set_retry(1, Duration::from_millis(1));
            manager
        })
        .collect();
    let (one, other) = (&managers[0], &managers[1]);
    let (short, long) = (Duration::from_secs(5), Duration::from_secs(20));
    let lock = one.lock("orders", short).await.expect("nobody has it");
    let in_time = lock.validity_time > 4_000 && lock.validity_time <= 4_948;
    println!("rslock acquire: valid {in_time}, keys {}, live {}", servers.keys(), servers.live(4_000, 5_000));
    println!(
        "rslock query: ours {}",
        one.query_redis_for_key_value(b"orders").await.is_ok_and(|v| v.as_ref() == Some(&lock.val))
    );
    println!("rslock refuse: {}, keys {}", refusal(other.lock("orders", short).await), servers.keys());
    let longer = one.extend(&lock, long).await.expect("it is ours");
    println!("rslock extend: same value {}, live {}", longer.val == lock.val, servers.live(15_000, 20_000));
    let shorter = one.extend(&longer, short).await;
    println!("rslock extend to less: {}, live {}", shorter.is_ok(), servers.live(4_000, 5_000));
    one.unlock(&longer).await;
    println!("rslock unlock: keys {}", servers.keys());
    println!("rslock extend what is gone: {}", refusal(one.extend(&lock, long).await));
    let theirs = other.lock("orders", short).await.expect("nobody has it");
    println!("rslock extend what is another's: {}", refusal(one.extend(&lock, long).await));
    one.unlock(&lock).await;
    println!("rslock unlock what is another's: keys {}", servers.keys());
    theirs.release().await;
    println!("rslock release: keys {}", servers.keys());
    let guard = one.acquire("orders", short).await.expect("nobody has it");
    println!("rslock guard: keys {}", servers.keys());
    guard.release().await;
    println!("rslock guard's release: keys {}", servers.keys());
    drop(one.acquire("orders", Duration::from_millis(700)).await.expect("nobody has it"));
    println!(
        "rslock guard's drop: keys {}, refused: {}",
        servers.keys(),
        refusal(other.lock("orders", short).await)
    );
    sleep(Duration::from_millis(800)).await;
    println!(
        "rslock after its life: keys {}, taken {}",
        servers.keys(),
        other.lock("orders", short).await.is_ok()
    );
}

fn redlock(addresses: &[String], servers: &mut Servers) {
    let managers: Vec<RedLock> = (0..2)
        .map(|_| {
            let mut manager = RedLock::new(addresses.iter().map(String::as_str).collect());
            manager.set_retry(1, 1);
            manager
        })
        .collect();
    let (one, other) = (&managers[0], &managers[1]);
    let lock = one.lock(b"orders", 5_000).expect("an answer").expect("nobody has it");
    let in_time = lock.validity_time > 4_000 && lock.validity_time <= 4_948;
    println!(
        "redlock acquire: valid {in_time}, keys {}, live {}",
        servers.keys(),
        servers.live(4_000, 5_000)
    );
    println!(
        "redlock refuse: {}, keys {}",
        other.lock(b"orders", 5_000).expect("an answer").is_none(),
        servers.keys()
    );
    one.unlock(&lock);
    println!("redlock unlock: keys {}", servers.keys());
    let theirs = other.lock(b"orders", 5_000).expect("an answer").expect("nobody has it");
    one.unlock(&lock);
    println!("redlock unlock what is another's: keys {}", servers.keys());
    other.unlock(&theirs);
    let guard = one.acquire(b"orders", 5_000).expect("an answer");
    println!(
        "redlock guard: keys {}, refused {}",
        servers.keys(),
        other.lock(b"orders", 5_000).expect("an answer").is_none()
    );
    drop(guard);
    println!("redlock guard's drop: keys {}", servers.keys());
    let short = one.lock(b"orders", 300).expect("an answer").is_some();
    std::thread::sleep(Duration::from_millis(400));
    let after = other.lock(b"orders", 5_000).expect("an answer").is_some();
    println!("redlock after its life: taken {short}, then by another {after}");
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let addresses: Vec<String> =
        std::env::args().skip(1).map(|port| format!("redis://127.0.0.1:{port}")).collect();
    let connect = |address: &String| {
        redis::Client::open(address.as_str())
            .and_then(|client| client.get_connection())
            .expect("a server there")
    };
    let mut servers = Servers(addresses.iter().map(connect).collect());
    servers.flush();
    rslock(&addresses, &mut servers).await;
    servers.flush();
    redlock(&addresses, &mut servers);
    servers.flush();
}
