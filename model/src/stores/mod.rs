//! The stores, one per file or folder.
pub mod cassandra;
pub mod chubby;
pub mod dlm;
pub mod etcd;
pub mod feedback;
pub mod memory;
pub mod redis;
pub mod zookeeper;
