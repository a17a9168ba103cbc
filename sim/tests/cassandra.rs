//! Cassandra itself: the same operations get the same answers from its nodes and from the simulated ones, and the locks on it do
//! there what they do here.
//!
//! Needs Java and the jars that `mvn -q -f drivers/cassandra/pom.xml dependency:copy-dependencies` gets; where they are missing,
//! each test says so and passes.
//!
//! - `real`: nodes, and what happens to them
//! - `cql`: what clients and nodes say to each other; `words`: what the simulator calls it
//! - `simulated`: the same without anything real; `clock`: the one that both go by
//! - `one_node`: random operations on one node
//! - `three_nodes`: random operations on three, one of which is stopped and started
//! - `stage`: clients of a lock, what happens to them, and their judge; `locks`: the locks, and failures of the catalogue;
//!   `measured`: how fast they are
//! - `served`: `picklock serve cassandra`, over TCP; the same statements on a real node; a driver of Python's
#![cfg(unix)]

#[path = "cassandra/clock.rs"]
mod clock;
#[path = "cassandra/cql.rs"]
mod cql;
#[path = "cassandra/locks.rs"]
mod locks;
#[path = "cassandra/measured.rs"]
mod measured;
#[path = "cassandra/one_node.rs"]
mod one_node;
#[path = "cassandra/real.rs"]
mod real;
#[path = "cassandra/served.rs"]
mod served;
#[path = "cassandra/simulated.rs"]
mod simulated;
#[path = "cassandra/stage.rs"]
mod stage;
#[path = "cassandra/three_nodes.rs"]
mod three_nodes;
#[path = "cassandra/words.rs"]
mod words;
