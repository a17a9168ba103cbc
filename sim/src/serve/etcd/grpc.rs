//! The calls that a member answers, by their names.

use super::connection::Seat;
use super::member::Member;
use super::wording::Worded;
use super::{about, election, kv, lease, lock, pb, txn, watch};
use crate::serve::condition::Direction;
use crate::serve::watch::record::What;
use hyper::body::Incoming;
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::body::Body;
use tonic::server::{Grpc, ServerStreamingService, StreamingService, UnaryService};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

/// `--max-request-bytes`, and what the real server leaves for what comes around them.
const MESSAGE_BYTES_MAX: usize = 1_572_864 + 512 * 1024;

type Answered = http::Response<Body>;

/// Answers one call.
pub async fn dispatch(seat: Seat, request: http::Request<Incoming>) -> Answered {
    let path = request.uri().path().to_owned();
    match path.as_str() {
        "/etcdserverpb.KV/Range" => call(seat, request, kv::range).await,
        "/etcdserverpb.KV/Put" => call(seat, request, kv::put).await,
        "/etcdserverpb.KV/DeleteRange" => call(seat, request, kv::delete_range).await,
        "/etcdserverpb.KV/Txn" => call(seat, request, txn::txn).await,
        "/etcdserverpb.KV/Compact" => call(seat, request, kv::compact).await,
        "/etcdserverpb.Watch/Watch" => stream(seat, request, watch::serve).await,
        "/etcdserverpb.Lease/LeaseGrant" => call(seat, request, lease::grant).await,
        "/etcdserverpb.Lease/LeaseRevoke" => call(seat, request, lease::revoke).await,
        "/etcdserverpb.Lease/LeaseKeepAlive" => stream(seat, request, lease::keep_alive).await,
        "/etcdserverpb.Lease/LeaseTimeToLive" => call(seat, request, lease::time_to_live).await,
        "/etcdserverpb.Lease/LeaseLeases" => call(seat, request, lease::leases).await,
        "/etcdserverpb.Cluster/MemberList" => call(seat, request, about::member_list).await,
        "/etcdserverpb.Maintenance/Status" => call(seat, request, about::status).await,
        "/etcdserverpb.Maintenance/Alarm" => call(seat, request, about::alarm).await,
        "/etcdserverpb.Maintenance/Defragment" => call(seat, request, about::defragment).await,
        "/v3lockpb.Lock/Lock" => unary(seat, request, lock::lock).await,
        "/v3lockpb.Lock/Unlock" => unary(seat, request, lock::unlock).await,
        "/v3electionpb.Election/Campaign" => unary(seat, request, election::campaign).await,
        "/v3electionpb.Election/Proclaim" => unary(seat, request, election::proclaim).await,
        "/v3electionpb.Election/Leader" => unary(seat, request, election::leader).await,
        "/v3electionpb.Election/Resign" => unary(seat, request, election::resign).await,
        "/v3electionpb.Election/Observe" => observe(seat, request).await,
        _ => Status::unimplemented(format!("picklock serve etcd does not know {path}")).into_http(),
    }
}

/// A call that only a member is needed for.
async fn call<Q, A, F>(
    seat: Seat,
    request: http::Request<Incoming>,
    answer: impl Fn(Member, Q) -> F + Clone + Send + 'static,
) -> Answered
where
    Q: Message + Worded + Default + 'static,
    A: Message + Worded + Default + 'static,
    F: Future<Output = Result<A, Status>> + Send + 'static,
{
    unary(seat, request, move |seat, request| answer(seat.member, request)).await
}

/// A call with one question and one answer, each of which is on its way for its time. That it was run is in the record with its answer: of
/// a call whose connection ends while the member works on it, the record does not say whether it was.
async fn unary<Q, A, F>(
    seat: Seat,
    request: http::Request<Incoming>,
    answer: impl Fn(Seat, Q) -> F + Clone + Send + 'static,
) -> Answered
where
    Q: Message + Worded + Default + 'static,
    A: Message + Worded + Default + 'static,
    F: Future<Output = Result<A, Status>> + Send + 'static,
{
    let answer = move |request: Request<Q>| {
        let (seat, answer) = (seat.clone(), answer.clone());
        async move {
            let request = request.into_inner();
            let is_kept = seat.is_kept();
            let asked = if is_kept { request.words() } else { String::new() };
            seat.note(What::Asked, &asked, None);
            seat.travel(Direction::Request).await;
            let answered = answer(seat.clone(), request).await;
            let told = if is_kept { words(&answered) } else { String::new() };
            seat.note(What::Ran, &asked, Some(&told));
            seat.travel(Direction::Reply).await;
            seat.note(What::Told, &told, None);
            answered.map(Response::new)
        }
    };
    sized(grpc::<Q, A>().unary(Call(answer), request).await)
}

/// A message that is too large is refused with the code and the words of the real server: tonic's code means another thing to
/// etcd's clients.
fn sized(mut answered: Answered) -> Answered {
    let headers = answered.headers_mut();
    let said = headers.get(Status::GRPC_MESSAGE).and_then(|said| said.to_str().ok()).unwrap_or_default();
    let said = said.replace("%20", " ");
    let Some(found) = said.strip_prefix("Error, decoded message length too large: found ") else {
        return answered;
    };
    let found: String = found.chars().take_while(char::is_ascii_digit).collect();
    let said = format!("grpc: received message larger than max ({found} vs. {MESSAGE_BYTES_MAX})");
    let (head, _) = Status::resource_exhausted(said).into_http::<Body>().into_parts();
    *headers = head.headers;
    answered
}

/// A stream of questions and a stream of answers, served by a task of the connection.
async fn stream<Q, A, F>(
    seat: Seat,
    request: http::Request<Incoming>,
    serve: impl Fn(Seat, Streaming<Q>, mpsc::UnboundedSender<Result<A, Status>>) -> F + Send + Sync,
) -> Answered
where
    Q: Message + Default + 'static,
    A: Message + Default + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let call = request.uri().path().rsplit('/').next().unwrap_or_default();
    seat.note(What::Asked, call, None);
    let (to, answers) = mpsc::unbounded_channel();
    let mut answers = Some(UnboundedReceiverStream::new(answers));
    let serve = |request: Request<Streaming<Q>>| {
        seat.tasks.spawn(serve(seat.clone(), request.into_inner(), to.clone()));
        std::future::ready(answers.take().map(Response::new).ok_or_else(|| Status::internal("called twice")))
    };
    grpc::<Q, A>().streaming(Call(serve), request).await
}

/// An answer in one line, or what went wrong.
pub fn words<A: Worded>(answered: &Result<A, Status>) -> String {
    match answered {
        Ok(answer) => answer.words(),
        Err(status) => format!("-{}", status.message()),
    }
}

async fn observe(seat: Seat, request: http::Request<Incoming>) -> Answered {
    let answer = move |request: Request<pb::LeaderRequest>| {
        let seat = seat.clone();
        async move {
            seat.travel(Direction::Request).await;
            let (to, answers) = mpsc::unbounded_channel();
            seat.tasks.spawn(election::observe(seat.clone(), request.into_inner(), to));
            Ok(Response::new(UnboundedReceiverStream::new(answers)))
        }
    };
    grpc::<pb::LeaderRequest, pb::LeaderResponse>().server_streaming(Call(answer), request).await
}

fn grpc<Q: Message + Default + 'static, A: Message + Default + 'static>() -> Grpc<ProstCodec<A, Q>> {
    Grpc::new(ProstCodec::default()).max_decoding_message_size(MESSAGE_BYTES_MAX)
}

/// A closure as tonic wants it.
struct Call<F>(F);

impl<Q, A, F, G> UnaryService<Q> for Call<F>
where
    F: FnMut(Request<Q>) -> G,
    G: Future<Output = Result<Response<A>, Status>>,
{
    type Response = A;
    type Future = G;

    fn call(&mut self, request: Request<Q>) -> G {
        (self.0)(request)
    }
}

impl<Q, A, S, F, G> ServerStreamingService<Q> for Call<F>
where
    F: FnMut(Request<Q>) -> G,
    G: Future<Output = Result<Response<S>, Status>>,
    S: tokio_stream::Stream<Item = Result<A, Status>>,
{
    type Response = A;
    type ResponseStream = S;
    type Future = G;

    fn call(&mut self, request: Request<Q>) -> G {
        (self.0)(request)
    }
}

impl<Q, A, S, F, G> StreamingService<Q> for Call<F>
where
    F: FnMut(Request<Streaming<Q>>) -> G,
    G: Future<Output = Result<Response<S>, Status>>,
    S: tokio_stream::Stream<Item = Result<A, Status>>,
{
    type Response = A;
    type ResponseStream = S;
    type Future = G;

    fn call(&mut self, request: Request<Streaming<Q>>) -> G {
        (self.0)(request)
    }
}
