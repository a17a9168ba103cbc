//! A client of etcd's API, as thin as can be; and members to speak to.

use crate::pb;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use picklock_model::stores::etcd::Settings;
use picklock_sim::serve::etcd::{Servers, serve};
use prost::Message;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::body::Body;
use tonic::client::{Grpc, GrpcService};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

/// One connection.
#[derive(Clone)]
struct Channel(http2::SendRequest<Body>);

impl GrpcService<Body> for Channel {
    type ResponseBody = Incoming;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<http::Response<Incoming>, hyper::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

/// A client with one connection to one member.
#[derive(Clone)]
pub struct Client(Grpc<Channel>);

impl Client {
    pub async fn connect(address: SocketAddr) -> Client {
        Client::try_connect(address).await.expect("it listens")
    }

    pub async fn try_connect(address: SocketAddr) -> Option<Client> {
        let stream = TcpStream::connect(address).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let (channel, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.ok()?;
        tokio::spawn(async move {
            // Its end is seen by whoever waits for an answer.
            let _ended = connection.await;
        });
        let origin = format!("http://{address}").parse().expect("an address");
        Some(Client(Grpc::with_origin(Channel(channel), origin)))
    }

    pub async fn call<Q, A>(&self, path: &'static str, request: Q) -> Result<A, Status>
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        let mut grpc = self.0.clone();
        grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let path = http::uri::PathAndQuery::from_static(path);
        let answered = grpc.unary(Request::new(request), path, ProstCodec::<Q, A>::default()).await?;
        Ok(answered.into_inner())
    }

    /// A stream of questions, and one of answers. The first question comes with it: the real server says nothing before.
    pub async fn stream<Q, A>(&self, path: &'static str, first: Q) -> (mpsc::UnboundedSender<Q>, Streaming<A>)
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        let mut grpc = self.0.clone();
        grpc.ready().await.expect("it is connected");
        let (to, questions) = mpsc::unbounded_channel();
        to.send(first).expect("the other end is here");
        let questions = Request::new(UnboundedReceiverStream::new(questions));
        let path = http::uri::PathAndQuery::from_static(path);
        let answers = grpc.streaming(questions, path, ProstCodec::<Q, A>::default()).await;
        (to, answers.expect("it answers").into_inner())
    }

    /// What an election comes to.
    pub async fn observe(&self, name: &str) -> Streaming<pb::LeaderResponse> {
        let mut grpc = self.0.clone();
        grpc.ready().await.expect("it is connected");
        let request = Request::new(pb::LeaderRequest { name: bytes(name) });
        let path = http::uri::PathAndQuery::from_static("/v3electionpb.Election/Observe");
        let answers = grpc.server_streaming(request, path, ProstCodec::default()).await;
        answers.expect("it answers").into_inner()
    }

    pub async fn range(&self, request: pb::RangeRequest) -> Result<pb::RangeResponse, Status> {
        self.call("/etcdserverpb.KV/Range", request).await
    }

    pub async fn put(&self, request: pb::PutRequest) -> Result<pb::PutResponse, Status> {
        self.call("/etcdserverpb.KV/Put", request).await
    }

    pub async fn delete(&self, request: pb::DeleteRangeRequest) -> Result<pb::DeleteRangeResponse, Status> {
        self.call("/etcdserverpb.KV/DeleteRange", request).await
    }

    pub async fn txn(&self, request: pb::TxnRequest) -> Result<pb::TxnResponse, Status> {
        self.call("/etcdserverpb.KV/Txn", request).await
    }

    pub async fn compact(&self, revision: i64) -> Result<pb::CompactionResponse, Status> {
        self.call("/etcdserverpb.KV/Compact", pb::CompactionRequest { revision, physical: false }).await
    }

    pub async fn grant(&self, id: i64, ttl: i64) -> Result<pb::LeaseGrantResponse, Status> {
        self.call("/etcdserverpb.Lease/LeaseGrant", pb::LeaseGrantRequest { ttl, id }).await
    }

    pub async fn revoke(&self, id: i64) -> Result<pb::LeaseRevokeResponse, Status> {
        self.call("/etcdserverpb.Lease/LeaseRevoke", pb::LeaseRevokeRequest { id }).await
    }

    pub async fn time_to_live(&self, id: i64) -> Result<pb::LeaseTimeToLiveResponse, Status> {
        let request = pb::LeaseTimeToLiveRequest { id, keys: true };
        self.call("/etcdserverpb.Lease/LeaseTimeToLive", request).await
    }

    pub async fn leases(&self) -> Result<pb::LeaseLeasesResponse, Status> {
        self.call("/etcdserverpb.Lease/LeaseLeases", pb::LeaseLeasesRequest {}).await
    }

    /// One keep-alive, on a stream of its own; the time to live.
    pub async fn keep_alive(&self, id: i64) -> i64 {
        let request = pb::LeaseKeepAliveRequest { id };
        let (_to, mut answers) = self.stream("/etcdserverpb.Lease/LeaseKeepAlive", request).await;
        let answer: Option<pb::LeaseKeepAliveResponse> = answers.message().await.expect("it answers");
        answer.expect("an answer").ttl
    }

    pub async fn lock(&self, name: &str, lease: i64) -> Result<pb::LockResponse, Status> {
        self.call("/v3lockpb.Lock/Lock", pb::LockRequest { name: bytes(name), lease }).await
    }

    pub async fn status(&self) -> Result<pb::StatusResponse, Status> {
        self.call("/etcdserverpb.Maintenance/Status", pb::StatusRequest {}).await
    }

    /// The value of a key.
    pub async fn get(&self, key: &str) -> Option<String> {
        let found = self.range(one(key)).await.expect("it answers");
        found.kvs.first().map(|kv| text(&kv.value))
    }

    /// Puts a value; the revision then.
    pub async fn set(&self, key: &str, value: &str) -> i64 {
        let put = pb::PutRequest { key: bytes(key), value: bytes(value), ..Default::default() };
        self.put(put).await.expect("it is put").header.expect("a header").revision
    }
}

/// A stream of watches, from the first question on.
pub struct Watcher {
    client: Client,
    stream: Option<(mpsc::UnboundedSender<pb::WatchRequest>, Streaming<pb::WatchResponse>)>,
}

impl Watcher {
    pub fn new(client: &Client) -> Watcher {
        Watcher { client: client.clone(), stream: None }
    }

    pub async fn ask(&mut self, wanted: pb::Wanted) {
        let request = pb::WatchRequest { request: Some(wanted) };
        match &self.stream {
            Some((to, _)) => to.send(request).expect("it listens"),
            None => self.stream = Some(self.client.stream("/etcdserverpb.Watch/Watch", request).await),
        }
    }

    /// Begins a watch, and hears that it has begun.
    pub async fn watch(&mut self, request: pb::WatchCreateRequest) -> pb::WatchResponse {
        self.ask(pb::Wanted::Create(request)).await;
        self.next().await
    }

    pub async fn next(&mut self) -> pb::WatchResponse {
        let (_, answers) = self.stream.as_mut().expect("something is asked");
        let next = tokio::time::timeout(Duration::from_secs(30), answers.message());
        next.await.expect("in time").expect("the stream goes on").expect("the stream does not end")
    }

    /// What happens next: what of which key.
    pub async fn events(&mut self) -> Vec<(bool, String)> {
        let event = |event: &pb::Event| {
            let kv = event.kv.as_ref().expect("an event is about a key");
            (event.r#type() == pb::EventType::Put, text(&kv.key))
        };
        self.next().await.events.iter().map(event).collect()
    }
}

pub fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

pub fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn one(key: &str) -> pb::RangeRequest {
    pb::RangeRequest { key: bytes(key), ..Default::default() }
}

/// From one key up to another.
pub fn between(key: &str, range_end: &str) -> pb::RangeRequest {
    pb::RangeRequest { range_end: bytes(range_end), ..one(key) }
}

/// The names of the keys found.
pub fn names(found: &pb::RangeResponse) -> Vec<String> {
    found.kvs.iter().map(|kv| text(&kv.key)).collect()
}

/// What a refusal says.
pub fn refused<A: std::fmt::Debug>(answer: Result<A, Status>) -> (tonic::Code, String) {
    let status = answer.expect_err("it is refused");
    (status.code(), status.message().to_owned())
}

/// Members in this process.
pub struct Cluster {
    pub servers: Servers,
    pub addresses: Vec<SocketAddr>,
}

impl Cluster {
    pub async fn client(&self, member: usize) -> Client {
        Client::connect(self.addresses[member]).await
    }
}

/// Serves so many members while the test goes on.
pub fn with_members<F: Future<Output = ()>>(count: u8, settings: Settings, test: impl FnOnce(Cluster) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let servers = Servers::new(count, settings);
        let (mut addresses, mut processes) = (Vec::new(), tokio::task::JoinSet::new());
        for member in 0..count {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            addresses.push(listener.local_addr().expect("an address"));
            let servers = servers.clone();
            processes.spawn(async move { serve(&servers, member, listener).await });
        }
        let cluster = Cluster { servers, addresses };
        tokio::select! {
            biased;
            Some(ended) = processes.join_next() => panic!("a member has stopped: {ended:?}"),
            () = test(cluster) => {}
        }
    });
}

/// With one member, and a client of it.
pub fn with_one<F: Future<Output = ()>>(test: impl FnOnce(Client) -> F) {
    with_members(1, Settings::default(), async |cluster| test(cluster.client(0).await).await);
}
