//! One server behind its port: accepts connections, and answers on them.
//!
//! ```text
//!   socket ──▶ hear ──▶ a task per request: on the way ──▶ session ──▶ on the way ──▶ tell ──▶ socket
//!                                                                        events ──────▲
//! ```
//!
//! Requests of a connection do not wait for each other: each has its stream, by which its answer is known.

use super::coordinator::Coordinator;
use super::desk::Servers;
use super::frame::{self, Frame, NEWEST, Read, Writer, opcode};
use super::refusal::Refusal;
use super::session::Session;
use crate::serve::Listener;
use crate::serve::condition::Direction;
use crate::serve::process::{Process, pass_on};
use crate::serve::servers::{Connection, duration};
use crate::serve::watch::record::{Happened, What};
use bytes::{Buf, Bytes, BytesMut};
use picklock_model::time::Micros;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How many requests of a connection may be under way: more are not read (streams are numbered up to 32768).
const REQUESTS_MAX: usize = 32_768;

/// How many bytes of answers may be under way to a client that it has not read: further requests are not run before it has.
const UNREAD_BYTES_MAX: u32 = 32 << 20;
/// How large an answer is at first thought to be: of no more requests than the real server has threads for (128) is that
/// asked at once. From then on it is as large as the one before it.
const LIKELY_BYTES: u32 = UNREAD_BYTES_MAX / 128;
/// It is not thought to be smaller than this.
const LIKELY_BYTES_MIN: u32 = UNREAD_BYTES_MAX / REQUESTS_MAX as u32;

/// What a client is told: when that is written, there is room for more.
#[derive(Debug)]
pub struct Told {
    bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

impl From<Bytes> for Told {
    fn from(bytes: Bytes) -> Told {
        Told { bytes, _room: None }
    }
}

/// Serves one of the servers (the first is 0) to whoever connects, for as long as this future is polled.
///
/// The future is the server's process: if it is dropped, that is a crash, and to call this again for the same server is its
/// restart, with what [`Settings::commit_log`](picklock_model::stores::cassandra::Settings) has left. A turmoil host that is
/// crashed and bounced does just that.
///
/// # Errors
/// None so far: it ends when it is dropped.
///
/// # Panics
/// If there is no such server.
pub async fn serve<L: Listener>(servers: &Servers, server: u8, listener: L) -> io::Result<Infallible> {
    let process = Process::start(servers, server);
    Ok(process.accept(listener, |stream| talk::<L>(servers.clone(), server, stream)).await)
}

/// How a connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gone {
    /// The client has closed it, or is not there any more.
    Closed,
    /// The server's process has ended, or a message was lost.
    Reset,
}

/// A connection, as its requests know it.
#[derive(Debug)]
struct Seat {
    servers: Servers,
    connection: Connection,
    session: Session,
    /// A message is lost, and the connection with it.
    lost: Notify,
    to_client: UnboundedSender<Told>,
    /// How many bytes of answers there is room for.
    room: Arc<Semaphore>,
    likely_bytes: AtomicU32,
}

async fn talk<L: Listener>(servers: Servers, server: u8, stream: L::Stream) {
    let Some(connection) = servers.connect(server, L::ends(&stream)) else { return L::reset(stream) };
    let (to_client, told) = unbounded_channel();
    let coordinator = Coordinator { servers: servers.clone(), number: server };
    let session = Session::new(coordinator, connection.client, to_client.clone());
    let seat = Arc::new(Seat {
        servers,
        connection,
        session,
        lost: Notify::new(),
        to_client,
        room: Arc::new(Semaphore::new(UNREAD_BYTES_MAX as usize)),
        likely_bytes: AtomicU32::new(LIKELY_BYTES),
    });
    let (mut from, mut to) = tokio::io::split(stream);
    let gone = tokio::select! {
        biased;
        () = seat.servers.ends(&connection) => Gone::Reset,
        () = seat.lost.notified() => Gone::Reset,
        () = tell(&mut to, told) => Gone::Closed,
        () = hear(&seat, &mut from) => Gone::Closed,
    };
    match gone {
        Gone::Closed => seat.note(What::Closed, "", None),
        Gone::Reset => {
            seat.note(What::Reset, "", None);
            L::reset(from.unsplit(to));
        }
    }
}

/// Reads what the client sends, and has it answered; ends when the client has said its last.
async fn hear<S: AsyncRead>(seat: &Arc<Seat>, from: &mut ReadHalf<S>) {
    let mut bytes = BytesMut::new();
    let mut requests = JoinSet::new();
    loop {
        match frame::next(&mut bytes) {
            Read::Frame(frame) => {
                let seat = seat.clone();
                requests.spawn(async move { seat.request(frame).await });
            }
            Read::Version { version, stream } => {
                seat.refuse_version(version, stream);
                // Whatever comes behind it cannot be read. The client goes when it has read that.
                while matches!(from.read_buf(&mut bytes).await, Ok(1..)) {
                    bytes.clear();
                }
                return;
            }
            Read::TooLong { version, stream, length } => {
                let mut left = length;
                loop {
                    let discarded = left.min(bytes.len() as u64);
                    bytes.advance(usize::try_from(discarded).unwrap_or_default());
                    left -= discarded;
                    if left == 0 {
                        break;
                    }
                    if !matches!(from.read_buf(&mut bytes).await, Ok(1..)) {
                        return;
                    }
                }
                seat.refuse_length(version, stream, length);
            }
            Read::Broken => return,
            Read::Nothing => tokio::select! {
                biased;
                Some(ended) = requests.join_next() => pass_on(ended),
                read = from.read_buf(&mut bytes), if requests.len() < REQUESTS_MAX => {
                    if !matches!(read, Ok(1..)) {
                        return;
                    }
                }
            },
        }
    }
}

/// Writes what the client is told.
async fn tell<S: AsyncWrite>(to: &mut WriteHalf<S>, mut told: UnboundedReceiver<Told>) {
    while let Some(told) = told.recv().await {
        if to.write_all(&told.bytes).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

impl Seat {
    /// A request, from its way to the server to the way of its answer.
    async fn request(&self, frame: Frame) {
        let text = self.session.told(&frame);
        if let Some(text) = &text {
            self.note(What::Asked, text, None);
        }
        self.travel(Direction::Request).await;
        let room = self.room().await;
        let reply = self.session.answer(&frame).await;
        if let Some(text) = &text {
            self.note(What::Ran, text, Some(&reply.text));
        }
        self.travel(Direction::Reply).await;
        self.servers.state().tally.commands += 1;
        let bytes = reply.body.frame(frame.version, frame.stream, reply.opcode, &reply.warnings);
        let likely = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.likely_bytes.store(likely.clamp(LIKELY_BYTES_MIN, UNREAD_BYTES_MAX), Ordering::Relaxed);
        // If nobody writes any more, the connection has ended.
        let _ended = self.to_client.send(Told { bytes, _room: room });
        if text.is_some() {
            self.note(What::Told, &reply.text, None);
        }
    }

    /// Waits until there is room for an answer.
    async fn room(&self) -> Option<OwnedSemaphorePermit> {
        let bytes = self.likely_bytes.load(Ordering::Relaxed);
        self.room.clone().acquire_many_owned(bytes).await.ok()
    }

    /// A message is on its way: it takes its time, waits for a process that is paused or a link that is cut, or is lost.
    /// Whoever waits for a lost one waits for the end of the connection.
    async fn travel(&self, direction: Direction) {
        let Seat { servers, connection, .. } = self;
        let now = servers.now();
        let (latency, is_lost) = servers.state().fate(connection.server, connection.client, direction, now);
        if latency > Micros::ZERO {
            sleep(duration(latency)).await;
        }
        let arrives = servers.passes(connection, direction).await;
        if is_lost {
            self.lost.notify_one();
        }
        if is_lost || !arrives {
            std::future::pending::<()>().await;
        }
    }

    /// Whoever speaks another version is told which ones are spoken, in the newest of them (`ProtocolException`).
    fn refuse_version(&self, version: u8, stream: i16) {
        let why = format!(
            "Invalid or unsupported protocol version ({version}); supported versions are (3/v3, 4/v4)"
        );
        let body: Writer = Refusal::Protocol(why).body();
        let _ended = self.to_client.send(body.frame(NEWEST, stream, opcode::ERROR, &[]).into());
    }

    /// Whoever sends too large a frame is told so when it has come; what comes after it is read (`Envelope.Decoder`).
    fn refuse_length(&self, version: u8, stream: i16, length: u64) {
        let why = format!(
            "Request is too big: length {length} exceeds maximum allowed length {}.",
            frame::BYTES_MAX
        );
        let body: Writer = Refusal::Invalid(why).body();
        let _ended = self.to_client.send(body.frame(version, stream, opcode::ERROR, &[]).into());
    }

    fn note(&self, what: What, text: &str, reply: Option<&str>) {
        let now = self.servers.now();
        let record = &mut self.servers.state().watch.record;
        if record.is_on() {
            let (link, reply) = (Some(self.connection.link), reply.map(Into::into));
            record.add(Happened { link, reply, ..Happened::new(now, what, text) });
        }
    }
}
