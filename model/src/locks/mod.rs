//! The lock algorithms, one per file, and beside them what they call things in their stores.

mod awaited;
pub mod cassandra_lwt;
pub mod cassandra_queue;
pub mod cassandra_served;
pub mod cassandra_shadow;
pub mod cassandra_tables;
pub mod etcd_election;
pub mod etcd_keys;
pub mod etcd_lease_key;
pub mod etcd_mutex;
pub mod feedback_lock;
pub mod redis_keys;
pub mod redis_readers_writer;
pub mod redis_semaphore;
pub mod redis_single;
pub mod redlock;
pub mod row_probe;
pub mod znode_probe;
pub mod zookeeper_lock;
pub mod zookeeper_paths;

pub use cassandra_lwt::CassandraLwt;
pub use cassandra_queue::CassandraQueue;
pub use cassandra_served::CassandraServed;
pub use cassandra_shadow::CassandraShadow;
pub use etcd_election::EtcdElection;
pub use etcd_lease_key::EtcdLeaseKey;
pub use etcd_mutex::EtcdMutex;
pub use feedback_lock::FeedbackLock;
pub use redis_readers_writer::RedisReadersWriter;
pub use redis_semaphore::RedisSemaphore;
pub use redis_single::RedisSingle;
pub use redlock::Redlock;
pub use row_probe::RowProbe;
pub use znode_probe::ZnodeProbe;
pub use zookeeper_lock::ZookeeperLock;
