//! `picklock serve zookeeper` as its users have it: the client protocol over real TCP, spoken by hand, by Python's kazoo and
//! Java's own client, and the real server beside it, whose answers it has to give.
//!
//! - `client`: the protocol by hand, and servers in this process, on free ports
//! - `tree`: what znodes do; `watches`: what is told of them; `sessions`: who has which, and until when
//! - `faults`: pauses, crashes, partitions, and what is no request
//! - `command`: the built command; `attempt`: `picklock try zookeeper`
//! - `kazoo`: locks of kazoo on the built command
//! - `real`: a real server; `differential`: random requests to it and to the simulated one

#[cfg(unix)]
#[path = "zookeeper/attempt.rs"]
mod attempt;
#[path = "zookeeper/client.rs"]
mod client;
#[path = "zookeeper/command.rs"]
mod command;
#[path = "zookeeper/differential.rs"]
mod differential;
#[path = "zookeeper/faults.rs"]
mod faults;
#[path = "zookeeper/kazoo.rs"]
mod kazoo;
#[path = "zookeeper/real.rs"]
mod real;
#[path = "zookeeper/sessions.rs"]
mod sessions;
#[path = "zookeeper/tree.rs"]
mod tree;
#[cfg(unix)]
#[path = "attempt/tried.rs"]
#[allow(dead_code, reason = "shared with the tests of clients of Redis, which use the rest")]
mod tried;
#[path = "zookeeper/watches.rs"]
mod watches;
