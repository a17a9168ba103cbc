//! The lock algorithms, one per file.

pub mod cassandra_queue;
pub mod row_probe;
pub mod zookeeper_lock;

pub use cassandra_queue::CassandraQueue;
pub use row_probe::RowProbe;
pub use zookeeper_lock::ZookeeperLock;
