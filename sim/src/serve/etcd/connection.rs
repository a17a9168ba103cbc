//! One member behind its port: accepts connections, and answers on them.
//!
//! ```text
//!   socket ◀──▶ pipes, which a pause or a cut link stops ◀──▶ HTTP/2 ──▶ a task per call ──▶ member
//! ```
//!
//! What is in a message takes its way as a whole: it is late or lost by itself ([`Seat::travel`]), and a lost one takes the
//! connection with it. What HTTP/2 says besides (pings, windows) is only stopped.

use super::desk::Servers;
use super::grpc::dispatch;
use super::member::Member;
use crate::serve::Listener;
use crate::serve::condition::Direction;
use crate::serve::process::{ACCEPT_AGAIN, Process, pass_on};
use crate::serve::servers::{Connection, duration};
use crate::serve::watch::claims::Owner;
use crate::serve::watch::record::{Happened, What};
use hyper_util::rt::TokioIo;
use picklock_model::time::Micros;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How much may be on its way between a socket and HTTP/2.
const PIPE_BYTES: usize = 64 * 1024;

/// Something to be done by whoever owns its end.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Serves one of the members (the first is 0) to whoever connects, for as long as this future is polled.
///
/// The future is the member's process: if it is dropped, that is a crash, and to call this again for the same member is its
/// restart, with what [`Settings::log`](picklock_model::stores::etcd::Settings) has left. A turmoil host that is crashed and
/// bounced does just that.
///
/// # Errors
/// None so far: it ends when it is dropped.
///
/// # Panics
/// If there is no such member.
pub async fn serve<L: Listener>(servers: &Servers, member: u8, mut listener: L) -> io::Result<Infallible> {
    let _process = Process::start(servers, member);
    let member = Member { servers: servers.clone(), number: member, asker: Owner::default() };
    let (chores, mut asked) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            Some(ended) = tasks.join_next() => pass_on(ended),
            Some(chore) = asked.recv() => {
                tasks.spawn(chore);
            }
            () = servers.tick(member.number) => {}
            accepted = listener.accept() => match accepted {
                Ok(stream) => {
                    tasks.spawn(talk::<L>(member.clone(), stream, chores.clone()));
                }
                Err(_) => sleep(ACCEPT_AGAIN).await,
            },
        }
    }
}

/// A connection, as its calls see it.
#[derive(Clone, Debug)]
pub struct Seat {
    pub member: Member,
    connection: Connection,
    /// A message is lost, and the connection with it.
    lost: Arc<Notify>,
    /// What ends with the connection.
    pub tasks: Tasks,
    /// What is done by the process though the connection is gone.
    chores: mpsc::UnboundedSender<Task>,
}

impl Seat {
    /// A message is on its way: it takes its time, waits for a process that is paused or a link that is cut, or is lost.
    /// Whoever waits for a lost one waits for the end of the connection.
    pub async fn travel(&self, direction: Direction) {
        let Member { servers, number, .. } = &self.member;
        let now = servers.now();
        let (latency, is_lost) = servers.state().fate(*number, self.connection.client, direction, now);
        if latency > Micros::ZERO {
            sleep(duration(latency)).await;
        }
        let arrives = servers.passes(&self.connection, direction).await;
        if is_lost {
            self.lost.notify_one();
        }
        if is_lost || !arrives {
            std::future::pending::<()>().await;
        }
        if direction == Direction::Reply {
            servers.state().tally.commands += 1;
        }
    }

    /// Whether what happens is kept.
    pub fn is_kept(&self) -> bool {
        self.member.servers.state().watch.record.is_on()
    }

    /// It is kept that this happens.
    pub fn note(&self, what: What, text: &str, reply: Option<&str>) {
        let Member { servers, .. } = &self.member;
        let now = servers.now();
        let record = &mut servers.state().watch.record;
        if record.is_on() {
            let (link, reply) = (Some(self.connection.link), reply.map(Into::into));
            record.add(Happened { link, reply, ..Happened::new(now, what, text) });
        }
    }

    /// Something that the process does if what was to be done is not, as its caller has gone or it has failed.
    pub fn unless_done(&self, chore: impl Future<Output = ()> + Send + 'static) -> Cleanup {
        Cleanup { chore: Some(Box::pin(chore)), to: self.chores.clone() }
    }
}

/// See [`Seat::unless_done`].
pub struct Cleanup {
    chore: Option<Task>,
    to: mpsc::UnboundedSender<Task>,
}

impl Cleanup {
    /// It is done.
    pub fn done(mut self) {
        self.chore = None;
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        if let Some(chore) = self.chore.take() {
            // If the process has ended, so has what it was to do.
            let _ended = self.to.send(chore);
        }
    }
}

/// Tasks of a connection, which end with it.
#[derive(Clone, Debug)]
pub struct Tasks(mpsc::UnboundedSender<Task>);

impl Tasks {
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        // If the connection has ended, so have its tasks.
        let _ended = self.0.send(Box::pin(task));
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Tasks {
    fn execute(&self, task: F) {
        self.spawn(task);
    }
}

/// How a connection ends.
enum Gone {
    /// The client has closed it, or is not there any more.
    Closed,
    /// The member's process has ended, or a message was lost.
    Reset,
}

async fn talk<L: Listener>(member: Member, mut stream: L::Stream, chores: mpsc::UnboundedSender<Task>) {
    let connection = member.servers.connect(member.number, L::ends(&stream));
    let Some(connection) = connection else { return L::reset(stream) };
    let (to, asked) = mpsc::unbounded_channel();
    let member = Member { asker: connection.owner(), ..member };
    let seat = Seat { member, connection, lost: Arc::new(Notify::new()), tasks: Tasks(to), chores };
    match go_on(&seat, asked, &mut stream).await {
        Gone::Closed => seat.note(What::Closed, "", None),
        Gone::Reset => {
            seat.note(What::Reset, "", None);
            L::reset(stream);
        }
    }
}

async fn go_on<S: AsyncRead + AsyncWrite + Unpin>(
    seat: &Seat,
    mut asked: mpsc::UnboundedReceiver<Task>,
    stream: &mut S,
) -> Gone {
    let (near, far) = tokio::io::duplex(PIPE_BYTES);
    let service = {
        let seat = seat.clone();
        hyper::service::service_fn(move |request| {
            let seat = seat.clone();
            async move { Ok::<_, Infallible>(dispatch(seat, request).await) }
        })
    };
    let http = hyper::server::conn::http2::Builder::new(seat.tasks.clone())
        .max_concurrent_streams(None)
        .serve_connection(TokioIo::new(near), service);
    let http = async move {
        // What is wrong with it, the client has been told in HTTP/2's own words. Then the pipes end.
        let _broken = http.await;
        std::future::pending::<()>().await;
    };
    let (from_client, to_client) = tokio::io::split(stream);
    let (from_http, to_http) = tokio::io::split(far);
    let inbound = async {
        pipe(seat, Direction::Request, from_client, to_http).await;
        std::future::pending::<()>().await;
    };
    let outbound = pipe(seat, Direction::Reply, from_http, to_client);
    let calls = async {
        let mut calls = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                Some(ended) = calls.join_next() => pass_on(ended),
                Some(call) = asked.recv() => {
                    calls.spawn(call);
                }
            }
        }
    };
    tokio::select! {
        biased;
        () = seat.member.servers.ends(&seat.connection) => Gone::Reset,
        () = seat.lost.notified() => Gone::Reset,
        () = outbound => Gone::Closed,
        () = inbound => Gone::Closed,
        () = http => Gone::Closed,
        () = calls => Gone::Closed,
    }
}

/// Carries bytes one way, as long as they get through.
async fn pipe(
    seat: &Seat,
    direction: Direction,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let Member { servers, .. } = &seat.member;
        if !servers.passes(&seat.connection, direction).await || to.write_all(&bytes[..count]).await.is_err()
        {
            break;
        }
    }
    // If it cannot be said that nothing more comes, the other end is gone.
    let _gone = to.shutdown().await;
}
