//! The stores beside the real servers that they are models of, and real servers by themselves: their tests say that they skip where
//! a server is missing.

mod etcd_server;
mod real_objects;
mod redis_server;
mod zookeeper_server;
