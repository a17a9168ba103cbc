//! The lock algorithms, one per file.

pub mod cassandra_queue;
pub mod feedback_lock;
pub mod redis_single;
pub mod redlock;
pub mod row_probe;
pub mod zookeeper_lock;

pub use cassandra_queue::CassandraQueue;
pub use feedback_lock::FeedbackLock;
pub use redis_single::RedisSingle;
pub use redlock::Redlock;
pub use row_probe::RowProbe;
pub use zookeeper_lock::ZookeeperLock;
