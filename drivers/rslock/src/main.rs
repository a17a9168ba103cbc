//! The crate rslock under `picklock try`: takes a lock again and again, and says to the witness when it is in.
//!
//! ```text
//! cargo build --release --manifest-path drivers/rslock/Cargo.toml
//! picklock try -- drivers/rslock/target/release/rslock-driver
//! ```

use rslock::LockManager;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;
use tokio::time::sleep;

fn environment(name: &str) -> String {
    std::env::var(name).expect("picklock try has set it")
}

/// From 0 to 1.
fn random() -> f64 {
    RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let lease_ms: u64 = environment("PICKLOCK_LEASE_MS").parse().expect("milliseconds");
    let servers = environment("PICKLOCK_REDIS");
    // It opens its connections itself, and waits for answers as long as the crate redis does by itself: half a second.
    let mut locks =
        LockManager::new(servers.split(',').map(|address| format!("redis://{address}")).collect());
    locks.set_retry(1, Duration::from_millis(1));
    let witness = TcpStream::connect(environment("PICKLOCK_WITNESS")).expect("it listens");
    let mut witness = BufReader::new(witness);
    // Says it in one piece, for the second would wait for the first one's ACK, and waits until it was heard.
    let mut say = |line: &str| {
        let mut answer = String::new();
        let said = witness.get_mut().write_all(format!("{line}\n").as_bytes());
        let _ended = said.and_then(|()| witness.read_line(&mut answer));
        answer.trim() == "ok"
    };
    while say("want orders") {
        let Ok(lock) = locks.lock("orders", Duration::from_millis(lease_ms)).await else {
            sleep(Duration::from_millis((random() * 20.0) as u64)).await;
            continue;
        };
        say("enter orders");
        sleep(Duration::from_millis((lease_ms as f64 * (0.1 + 0.3 * random())) as u64)).await;
        say("write orders"); // this library has no token that the write could carry
        say("leave orders");
        lock.release().await;
    }
}
