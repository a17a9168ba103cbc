//! One server behind its port: accepts connections, and answers on them.
//!
//! ```text
//!   socket ──▶ hear ──▶ on the way ──▶ arrive ──▶ work: one request after the other ──▶ on the way ──▶ tell ──▶ socket
//!                                         └ a sign of life, though a request waits       ▲ events of watches
//! ```
//!
//! Requests of a session are answered in the order in which they came (the order of a session's requests, which ZooKeeper
//! guarantees): one that the server has to ask others about keeps those behind it waiting, pings too. Who sends and hangs up
//! has sent: what was on the way, or waits for a server that is paused, is run when its time comes, for nobody.

use super::conversation::{Conversation, Gone, Line, Outgoing, touched};
use super::desk::{SeatId, Servers, What};
use super::jute::{Frames, Read};
use super::request::{Asked, Hello, Request};
use super::words;
use crate::serve::Listener;
use crate::serve::condition::Direction;
use crate::serve::process::Process;
use crate::serve::servers::duration;
use crate::serve::watch::record::{Happened, What as Deed};
use bytes::Bytes;
use picklock_model::time::Micros;
use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

/// How much of one client's requests may be on the way or wait: more is not read.
const QUEUED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How often a server that a client begins with looks whether it takes clients still: when it does not, it closes all
/// connections (`ZooKeeperServer.shutdown`).
const SERVES_PERIOD: Duration = Duration::from_millis(20);
/// How long the last request of a client who has gone may wait for others.
const ORPHAN_TIMEOUT: Duration = Duration::from_secs(60);

/// Serves one of the servers (the first is 0) to whoever connects, for as long as this future is polled.
///
/// The future is the server's process: if it is dropped, that is a crash, and to call this again for the same server is its
/// restart, with what [`Settings::log`](picklock_model::stores::zookeeper::Settings) has left. A turmoil host that is crashed
/// and bounced does just that.
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

/// A client, as its connection knows it.
struct Seat {
    line: Line,
    is_reset: AtomicBool,
    /// The client has hung up: what it is told from now on, it does not hear.
    hung_up: AtomicBool,
    /// A request waits for its answer.
    is_busy: AtomicBool,
    /// Where the server's words come to, once there is a session.
    seat: OnceLock<SeatId>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let what = if self.is_reset.load(Ordering::Relaxed) { Deed::Reset } else { Deed::Closed };
        let now = self.line.servers.now();
        let happened = Happened { link: Some(self.line.connection.link), ..Happened::new(now, what, "") };
        let state = &mut *self.line.servers.state();
        state.desk.connected -= 1;
        state.watch.record.add(happened);
    }
}

/// What a client says.
#[derive(Debug)]
enum Said {
    Word([u8; 4]),
    Hello(Hello),
    Request(Request),
    /// Nothing that the real server would answer: it closes the connection.
    Broken,
}

/// A request on its way to the server.
#[derive(Debug)]
struct Incoming {
    due: Micros,
    /// It does not arrive, and takes the connection with it.
    is_lost: bool,
    said: Said,
    room: OwnedSemaphorePermit,
}

/// One that is there, and its room among all that have come.
type Arrived = (Said, OwnedSemaphorePermit);

async fn talk<L: Listener>(servers: Servers, server: u8, stream: L::Stream) {
    let ends = L::ends(&stream);
    let Some(connection) = servers.connect(server, ends) else { return L::reset(stream) };
    servers.state().desk.connected += 1;
    let address = ends.map(|(_, there)| there);
    let seat = Seat {
        line: Line { servers, server, connection, address },
        is_reset: AtomicBool::new(true),
        hung_up: AtomicBool::new(false),
        is_busy: AtomicBool::new(false),
        seat: OnceLock::new(),
    };
    let (mut from, mut to) = tokio::io::split(stream);
    let gone = {
        let (queue, incoming) = unbounded_channel();
        let (there, arrived) = unbounded_channel();
        let (outbox, outgoing) = unbounded_channel();
        let all = async {
            tokio::try_join!(
                seat.hear(&mut from, queue),
                seat.arrive(incoming, there),
                seat.work(arrived, outbox),
                seat.tell(&mut to, outgoing)
            )
        };
        tokio::select! {
            biased;
            () = seat.line.servers.ends(&connection) => Gone::Reset,
            ended = all => match ended {
                Ok(_) => Gone::Closed,
                Err(gone) => gone,
            },
        }
    };
    seat.is_reset.store(gone == Gone::Reset, Ordering::Relaxed);
    match gone {
        Gone::Closed => {}
        Gone::Reset => L::reset(from.unsplit(to)),
    }
}

impl Seat {
    /// Reads what the client sends, when it sends it. What is in the socket is taken out of it though nobody can be told.
    async fn hear<S: AsyncRead>(
        &self,
        from: &mut ReadHalf<S>,
        queue: UnboundedSender<Incoming>,
    ) -> Result<(), Gone> {
        let room = Arc::new(Semaphore::new(QUEUED_BYTES_MAX));
        let mut frames = Frames::default();
        let mut has_begun = false;
        loop {
            let (said, size) = match frames.next() {
                Read::Frame(frame) => {
                    let size = frame.len();
                    (said(frame, std::mem::replace(&mut has_begun, true)), size)
                }
                Read::Word(word) => (Said::Word(word), 0),
                Read::Broken => (Said::Broken, 0),
                Read::Nothing => match from.read_buf(&mut frames.bytes).await {
                    Ok(1..) => continue,
                    // Whether it has said so, or is just not there any more.
                    Ok(0) | Err(_) => {
                        self.hung_up.store(true, Ordering::Relaxed);
                        return Ok(());
                    }
                },
            };
            let size = u32::try_from(size.clamp(64, QUEUED_BYTES_MAX)).unwrap_or(u32::MAX);
            let Ok(room) = room.clone().acquire_many_owned(size).await else { return Ok(()) };
            let Line { servers, server, connection, .. } = &self.line;
            let now = servers.now();
            let (latency, is_lost) =
                servers.state().fate(*server, connection.client, Direction::Request, now);
            let is_kept = servers.state().watch.record.is_on();
            let is_last = matches!(said, Said::Broken | Said::Word(_));
            if let Said::Request(Request { asked, .. }) = &said
                && *asked != Asked::Ping
                && is_kept
            {
                self.line.note(Deed::Asked, &asked.to_string());
            }
            if queue.send(Incoming { due: now + latency, is_lost, said, room }).is_err() || is_last {
                return Ok(());
            }
        }
    }

    /// Passes on what has arrived.
    async fn arrive(
        &self,
        mut incoming: UnboundedReceiver<Incoming>,
        there: UnboundedSender<Arrived>,
    ) -> Result<(), Gone> {
        while let Some(Incoming { due, is_lost, said, room }) = incoming.recv().await {
            self.until(due).await;
            self.arrives(Direction::Request).await?;
            if is_lost {
                return Err(Gone::Reset);
            }
            if let (true, Some(seat)) = (self.is_busy.load(Ordering::Relaxed), self.seat.get()) {
                touched(&self.line, *seat);
            }
            if there.send((said, room)).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Has one request answered after the other, and tells what the server says besides.
    async fn work(
        &self,
        mut arrived: UnboundedReceiver<Arrived>,
        outbox: UnboundedSender<Outgoing>,
    ) -> Result<(), Gone> {
        let hello = match arrived.recv().await {
            None => return self.end(&outbox, String::new()),
            Some((Said::Word(word), _)) => {
                return self.end(&outbox, words::answer(&self.line.servers, self.line.server, word));
            }
            Some((Said::Hello(hello), _)) => hello,
            Some((Said::Broken | Said::Request(_), _)) => return Err(Gone::Closed),
        };
        let (mut conversation, mut says) = match self.line.begin(&hello, &outbox) {
            Ok(begun) => begun,
            Err(Some(gone)) => return Err(gone),
            Err(None) => return Ok(()),
        };
        loop {
            let say = tokio::select! {
                biased;
                say = says.recv() => say.ok_or(Gone::Reset)?,
                () = sleep(SERVES_PERIOD) => match self.line.serves() {
                    true => continue,
                    false => return Err(Gone::Closed),
                },
            };
            match say.what {
                What::Connected(_) => break conversation.begun(false),
                What::Expired => {
                    conversation.begun(true);
                    return Ok(());
                }
                What::Closed => return Err(Gone::Closed),
                What::Fired | What::Heard(..) => {}
            }
        }
        // It is set once.
        let _set = self.seat.set(conversation.seat());
        self.go_on(&mut conversation, &mut says, &mut arrived, &outbox).await
    }

    async fn go_on(
        &self,
        conversation: &mut Conversation,
        says: &mut UnboundedReceiver<super::desk::Say>,
        arrived: &mut UnboundedReceiver<Arrived>,
        outbox: &UnboundedSender<Outgoing>,
    ) -> Result<(), Gone> {
        let mut is_heard = true;
        loop {
            let is_busy = conversation.is_busy();
            self.is_busy.store(is_busy, Ordering::Relaxed);
            if !is_heard && !is_busy {
                return self.end(outbox, String::new());
            }
            let is_over = tokio::select! {
                biased;
                say = says.recv() => conversation.said(say.ok_or(Gone::Reset)?)?,
                next = arrived.recv(), if is_heard && !is_busy => match next {
                    Some((Said::Request(request), _room)) => {
                        self.arrives(Direction::Request).await?;
                        conversation.ask(request)?
                    }
                    Some((Said::Hello(_) | Said::Word(_) | Said::Broken, _)) => return Err(Gone::Closed),
                    None => {
                        is_heard = false;
                        false
                    }
                },
                () = sleep(ORPHAN_TIMEOUT) => match self.hung_up.load(Ordering::Relaxed) {
                    true => return Err(Gone::Closed),
                    false => false,
                },
            };
            if is_over {
                return Ok(());
            }
        }
    }

    /// The last that is said.
    fn end(&self, outbox: &UnboundedSender<Outgoing>, text: String) -> Result<(), Gone> {
        let due = self.line.servers.now();
        let last =
            Outgoing { due, is_lost: false, bytes: Bytes::from(text), is_last: true, text: String::new() };
        let _sent = outbox.send(last);
        Ok(())
    }

    /// Writes what the client is told, when it has arrived.
    async fn tell<S: AsyncWrite>(
        &self,
        to: &mut WriteHalf<S>,
        mut outgoing: UnboundedReceiver<Outgoing>,
    ) -> Result<(), Gone> {
        let mut is_there = true;
        while let Some(Outgoing { due, is_lost, bytes, is_last, text }) = outgoing.recv().await {
            self.until(due).await;
            self.arrives(Direction::Reply).await?;
            if is_lost {
                return Err(Gone::Reset);
            }
            // Who does not listen any more has sent what it has sent: the rest of that is run.
            is_there = is_there && to.write_all(&bytes).await.is_ok() && to.flush().await.is_ok();
            if is_there && !self.hung_up.load(Ordering::Relaxed) {
                self.line.note(Deed::Told, &text);
            }
            if is_last {
                return Err(Gone::Closed);
            }
        }
        Ok(())
    }

    async fn until(&self, due: Micros) {
        let now = self.line.servers.now();
        if due > now {
            sleep(duration(due - now)).await;
        }
    }

    /// A request gets through to a process that runs, and a reply to the client; and the process has not ended.
    async fn arrives(&self, direction: Direction) -> Result<(), Gone> {
        let Line { servers, connection, .. } = &self.line;
        let lives = match direction {
            Direction::Request => servers.passes(connection, direction).await,
            Direction::Reply => servers.carries(connection, direction).await,
        };
        if lives { Ok(()) } else { Err(Gone::Reset) }
    }
}

/// What a frame says; the first one begins.
fn said(frame: Bytes, has_begun: bool) -> Said {
    let said = match has_begun {
        false => Hello::read(frame).map(Said::Hello),
        true => Request::read(frame).map(Said::Request),
    };
    said.unwrap_or(Said::Broken)
}
