//! The drivers of `drivers/`: each runs, holds, and is told from nobody. Where its language or its library is missing, a line says so.

use super::said;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn drivers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../drivers")
}

/// Whether this can be run without a complaint.
fn runs(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).current_dir(drivers()).output();
    output.is_ok_and(|output| output.status.success())
}

fn has_module(module: &str) -> bool {
    runs("node", &["--input-type=module", "-e", &format!("await import('{module}')")])
}

/// The Python that has the libraries.
fn python() -> String {
    std::env::var("PICKLOCK_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// A round without faults on Redis: it holds, others want what it has, and nothing breaks.
fn works(servers: &str, command: &[&str]) {
    let round = works_on("redis", servers, command);
    assert!(round["handed_out"].as_u64() > Some(2), "{round}");
}

/// The same on any store; the round.
fn works_on(store: &str, servers: &str, command: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_picklock"))
        .args(["try", store, "--json", "--servers", servers, "--rounds", "1", "--round", "8"])
        .args(["--faults", "none"])
        .args(["--lease", "2000", "--"])
        .args(command)
        .current_dir(drivers())
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let round = &document["rows"][0];
    assert_eq!(round["judged_by"], "clients");
    assert!(round["entered"].as_u64() > Some(2), "{round}");
    round.clone()
}

#[test]
fn the_book_shows_a_driver_as_it_is() {
    let book = include_str!("../../../docs/src/serve.md");
    let driver =
        std::fs::read_to_string(drivers().join("redlock_py.py")).expect("it is part of the repository");
    assert!(book.contains(&driver), "docs/src/serve.md shows another drivers/redlock_py.py");
}

#[test]
fn redis_py_takes_its_lock() {
    match runs(&python(), &["-c", "import redis"]) {
        true => works("1", &[&python(), "redis_py.py"]),
        false => println!("skipped: no python3 with redis here; to install it: pip install redis"),
    }
}

#[test]
fn redlock_py_takes_its_lock() {
    match runs(&python(), &["-c", "import redlock"]) {
        true => works("5", &[&python(), "redlock_py.py"]),
        false => println!("skipped: no python3 with redlock here; to install it: pip install redlock-py"),
    }
}

#[test]
fn node_redlock_takes_its_lock() {
    match has_module("redlock") && has_module("ioredis") {
        true => works("5", &["node", "node_redlock.mjs"]),
        false => println!(
            "skipped: no node with redlock here; in drivers/: npm install ioredis@5 redlock@5.0.0-beta.2"
        ),
    }
}

#[test]
fn redis_semaphore_takes_its_lock() {
    match has_module("redis-semaphore") && has_module("ioredis") {
        true => works("5", &["node", "redis_semaphore.mjs"]),
        false => println!(
            "skipped: no node with redis-semaphore here; in drivers/: npm install ioredis@5 redis-semaphore@5"
        ),
    }
}

#[test]
fn redsync_takes_its_lock() {
    let driver = drivers().join("redsync/redsync");
    match driver.exists() {
        true => works("5", &[&driver.to_string_lossy()]),
        false => println!("skipped: no driver for redsync is built; in drivers/redsync: go build"),
    }
}

#[test]
fn redisson_takes_its_lock() {
    let has_jars = drivers().join("redisson/jars").exists();
    match has_jars && runs("java", &["-version"]) {
        true => works("1", &["java", "-cp", "redisson/jars/*", "redisson/Worker.java"]),
        false => println!(
            "skipped: no java with Redisson here; in drivers/redisson: mvn dependency:copy-dependencies -DoutputDirectory=jars"
        ),
    }
}

#[test]
fn pottery_takes_its_lock() {
    match runs(&python(), &["-c", "import pottery"]) {
        true => works("3", &[&python(), "pottery_redlock.py"]),
        false => println!("skipped: no python3 with pottery here; to install it: pip install pottery"),
    }
}

#[test]
fn python_redis_lock_takes_its_lock() {
    match runs(&python(), &["-c", "import redis_lock"]) {
        true => works("1", &[&python(), "python_redis_lock.py"]),
        false => {
            println!("skipped: no python3 with redis_lock here; to install it: pip install python-redis-lock")
        }
    }
}

#[test]
fn kazoo_takes_its_lock() {
    match runs(&python(), &["-c", "import kazoo"]) {
        true => drop(works_on("zookeeper", "3", &[&python(), "kazoo_lock.py"])),
        false => println!("skipped: no python3 with kazoo here; to install it: pip install kazoo"),
    }
}

#[test]
fn curator_takes_its_lock() {
    let has_jars = drivers().join("curator/jars").exists();
    match has_jars && runs("java", &["-version"]) {
        true => drop(works_on("zookeeper", "3", &["java", "-cp", "curator/jars/*", "curator/Worker.java"])),
        false => println!(
            "skipped: no java with Curator here; in drivers/curator: mvn dependency:copy-dependencies -DoutputDirectory=jars"
        ),
    }
}

#[test]
fn datastax_driver_takes_a_lock_by_lightweight_transactions() {
    match runs(&python(), &["-c", "import cassandra.cluster"]) {
        true => drop(works_on("cassandra", "3", &[&python(), "cassandra_lwt.py"])),
        false => println!(
            "skipped: no python3 with cassandra-driver here; to install it: pip install cassandra-driver"
        ),
    }
}

#[test]
fn etcd_s_own_client_takes_its_lock() {
    let driver = drivers().join("etcd/etcd");
    match driver.exists() {
        true => drop(works_on("etcd", "3", &[&driver.to_string_lossy()])),
        false => println!("skipped: no driver for etcd's own client is built; in drivers/etcd: go build"),
    }
}

#[test]
fn npm_s_etcd3_takes_its_lock() {
    match has_module("etcd3") {
        true => drop(works_on("etcd", "3", &["node", "etcd3_node.mjs"])),
        false => println!("skipped: no node with etcd3 here; in drivers/: npm install etcd3"),
    }
}

#[test]
fn python_s_etcd3_takes_its_lock() {
    match runs(&python(), &["-c", "import etcd3"]) {
        true => drop(works_on("etcd", "3", &[&python(), "etcd3_py.py"])),
        false => println!(
            "skipped: no python3 with etcd3 here; to install it: pip install etcd3 'protobuf<4' 'tenacity<7'"
        ),
    }
}

#[test]
fn the_plans_of_the_book_are_plans() {
    let plans = std::fs::read_dir(drivers().join("plans")).expect("they are part of the repository");
    let mut count = 0;
    for entry in plans {
        let path = entry.expect("an entry of the folder").path();
        let text = std::fs::read_to_string(&path).expect("it is text");
        let plan: picklock_sim::plans::plan::Plan =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(plan.implausible(), None, "{}", path.display());
        count += 1;
    }
    assert!(count > 5, "{count} plans");
}
