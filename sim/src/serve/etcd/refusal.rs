//! Errors, by the codes and in the words of the real server, which client libraries know them by
//! (`api/v3rpc/rpctypes/error.go`).

use picklock_model::stores::etcd::Error;
use tonic::{Code, Status};

/// An error that the real server has, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal(Code, &'static str);

pub const EMPTY_KEY: Refusal = Refusal(Code::InvalidArgument, "etcdserver: key is not provided");
pub const KEY_NOT_FOUND: Refusal = Refusal(Code::InvalidArgument, "etcdserver: key not found");
pub const VALUE_PROVIDED: Refusal = Refusal(Code::InvalidArgument, "etcdserver: value is provided");
pub const LEASE_PROVIDED: Refusal = Refusal(Code::InvalidArgument, "etcdserver: lease is provided");
pub const TOO_MANY_OPERATIONS: Refusal =
    Refusal(Code::InvalidArgument, "etcdserver: too many operations in txn request");
pub const DUPLICATE_KEY: Refusal =
    Refusal(Code::InvalidArgument, "etcdserver: duplicate key given in txn request");
pub const COMPACTED: Refusal =
    Refusal(Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted");
pub const FUTURE_REVISION: Refusal =
    Refusal(Code::OutOfRange, "etcdserver: mvcc: required revision is a future revision");
pub const LEASE_NOT_FOUND: Refusal = Refusal(Code::NotFound, "etcdserver: requested lease not found");
pub const LEASE_EXISTS: Refusal = Refusal(Code::FailedPrecondition, "etcdserver: lease already exists");
pub const TTL_TOO_LARGE: Refusal = Refusal(Code::OutOfRange, "etcdserver: too large lease TTL");
pub const REQUEST_TOO_LARGE: Refusal = Refusal(Code::InvalidArgument, "etcdserver: request is too large");
pub const TOO_MANY_REQUESTS: Refusal = Refusal(Code::ResourceExhausted, "etcdserver: too many requests");
pub const TIMED_OUT: Refusal = Refusal(Code::Unavailable, "etcdserver: request timed out");
pub const WITHOUT_LEADER: Refusal = Refusal(Code::Unavailable, "etcdserver: no leader");
pub const STOPPED: Refusal = Refusal(Code::Unavailable, "etcdserver: server stopped");

/// Of the recipes, which the server's own client runs: their errors lose their codes on the way.
pub const SESSION_EXPIRED: Refusal = Refusal(Code::Unknown, "mutex: session is expired");
pub const NOT_LEADER: Refusal = Refusal(Code::Unknown, "election: not leader");
pub const NO_LEADER: Refusal = Refusal(Code::Unknown, "election: no leader");
pub const MISSING_LEADER_KEY: Refusal = Refusal(Code::Unknown, r#""leader" field must be provided"#);

impl From<Refusal> for Status {
    fn from(Refusal(code, text): Refusal) -> Status {
        Status::new(code, text)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        match error {
            Error::LeaseNotFound => LEASE_NOT_FOUND,
            Error::LeaseExists => LEASE_EXISTS,
            Error::Compacted => COMPACTED,
            Error::FutureRevision => FUTURE_REVISION,
            Error::DuplicateKey => DUPLICATE_KEY,
        }
    }
}
