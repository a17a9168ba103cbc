//! Locks and elections: `service Lock` and `service Election`.

use super::kv::{KeyValue, ResponseHeader};
use bytes::Bytes;

#[derive(Clone, PartialEq, prost::Message)]
pub struct LockRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub name: Bytes,
    #[prost(int64, tag = "2")]
    pub lease: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LockResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(bytes = "bytes", tag = "2")]
    pub key: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct UnlockRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct UnlockResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LeaderKey {
    #[prost(bytes = "bytes", tag = "1")]
    pub name: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub key: Bytes,
    #[prost(int64, tag = "3")]
    pub rev: i64,
    #[prost(int64, tag = "4")]
    pub lease: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CampaignRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub name: Bytes,
    #[prost(int64, tag = "2")]
    pub lease: i64,
    #[prost(bytes = "bytes", tag = "3")]
    pub value: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CampaignResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    pub leader: Option<LeaderKey>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProclaimRequest {
    #[prost(message, optional, tag = "1")]
    pub leader: Option<LeaderKey>,
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProclaimResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LeaderRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub name: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LeaderResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    pub kv: Option<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ResignRequest {
    #[prost(message, optional, tag = "1")]
    pub leader: Option<LeaderKey>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ResignResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
}
