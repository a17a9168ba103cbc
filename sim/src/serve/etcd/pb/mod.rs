//! etcd's messages as Protocol Buffers, by hand, so that no `protoc` is needed: `api/mvccpb/kv.proto`,
//! `api/etcdserverpb/rpc.proto`, and the `v3lockpb` and `v3electionpb` of its server, release 3.5. Fields that nobody here
//! reads or answers are left out.

pub mod about;
pub mod kv;
pub mod lease;
pub mod recipes;
pub mod watch;

pub use about::*;
pub use kv::*;
pub use lease::*;
pub use recipes::*;
pub use watch::*;
