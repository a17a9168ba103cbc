//! One connection to one member, as tonic wants it.

use hyper::body::Incoming;
use hyper::client::conn::http2;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::body::Body;
use tonic::client::{Grpc, GrpcService};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

/// Where requests go in.
#[derive(Clone)]
pub(super) struct Channel(http2::SendRequest<Body>);

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

/// Calls over one connection.
#[derive(Clone)]
pub(super) struct Calls(Grpc<Channel>);

impl Calls {
    pub fn new(requests: http2::SendRequest<Body>) -> Calls {
        // The members do not look at the authority.
        Calls(Grpc::with_origin(Channel(requests), http::Uri::from_static("http://etcd")))
    }

    /// One question, one answer.
    pub async fn call<Q, A>(mut self, path: &'static str, question: Q) -> Result<A, Status>
    where
        Q: prost::Message + Default + 'static,
        A: prost::Message + Default + 'static,
    {
        self.0.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let path = http::uri::PathAndQuery::from_static(path);
        let codec = ProstCodec::<Q, A>::default();
        Ok(self.0.unary(Request::new(question), path, codec).await?.into_inner())
    }

    /// A stream of answers to a question. It lasts for as long as what comes with it is kept.
    pub async fn stream<Q, A>(
        mut self,
        path: &'static str,
        question: Q,
    ) -> Result<(UnboundedSender<Q>, Streaming<A>), Status>
    where
        Q: prost::Message + Default + 'static,
        A: prost::Message + Default + 'static,
    {
        self.0.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let (questions, asked) = unbounded_channel();
        // Somebody listens: the other end is here.
        let _kept = questions.send(question);
        let path = http::uri::PathAndQuery::from_static(path);
        let asked = Request::new(UnboundedReceiverStream::new(asked));
        let answers = self.0.streaming(asked, path, ProstCodec::<Q, A>::default()).await?;
        Ok((questions, answers.into_inner()))
    }
}
