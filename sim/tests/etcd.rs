//! `picklock serve etcd` as its users have it: a gRPC client over real TCP, in the words of etcd's API, `etcdctl`, and the real
//! server beside it, whose answers it has to give.
//!
//! - `client`: a client of the API, with the server's own messages; and members in this process, on free ports
//! - `kv`, `txns`, `leases`, `watches`, `recipes`: what etcd's services do
//! - `faults`: pauses, crashes, partitions, and what is no gRPC
//! - `names`: keys in any order, however many
//! - `command`: the built command, and `etcdctl` before it; `attempt`: `picklock try etcd`
//! - `real`: a real `etcd`
//! - `differential`: random operations on a real `etcd` and on the simulated one; `known`: where the two differ

#[cfg(unix)]
#[path = "etcd/attempt.rs"]
mod attempt;
#[path = "etcd/client.rs"]
mod client;
#[path = "etcd/command.rs"]
mod command;
#[path = "etcd/differential.rs"]
mod differential;
#[path = "etcd/faults.rs"]
mod faults;
#[path = "etcd/known.rs"]
mod known;
#[path = "etcd/kv.rs"]
mod kv;
#[path = "etcd/leases.rs"]
mod leases;
#[path = "etcd/names.rs"]
mod names;
#[path = "../src/serve/etcd/pb/mod.rs"]
#[allow(dead_code, reason = "the server's own messages, all of them")]
mod pb;
#[path = "etcd/real.rs"]
mod real;
#[path = "etcd/recipes.rs"]
mod recipes;
#[cfg(unix)]
#[path = "attempt/tried.rs"]
#[allow(dead_code, reason = "shared with the tests of clients of Redis, which use the rest")]
mod tried;
#[path = "etcd/txns.rs"]
mod txns;
#[path = "etcd/watches.rs"]
mod watches;
