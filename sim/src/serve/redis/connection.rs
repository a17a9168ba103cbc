//! One server behind its port: accepts connections, and answers on them.
//!
//! ```text
//!   socket ──▶ hear ──▶ on the way ──▶ work: one command after the other ──▶ on the way ──▶ tell ──▶ socket
//! ```
//!
//! A message that is on the way is there when its latency is over, however many are before it. Who sends and hangs up has
//! sent: what was on the way, or waits for a server that is paused, is run when its time comes, for nobody.

use super::busy::start;
use super::house::Outgoing;
use super::queue::Queue;
use super::request::{Read, Requests};
use super::visit::{Said, Servers, acknowledged, admit, ask, dismiss, is_simulated, last_word, late};
use super::watched::{Asked, Tells};
use crate::serve::Listener;
use crate::serve::condition::Direction;
use crate::serve::process::Process;
use crate::serve::servers::{Connection, duration};
use bytes::{Bytes, BytesMut};
use picklock_model::time::Micros;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// How often `WAIT` looks whether the replicas have come far enough, and a command whether a script is still in its way.
const LOOK_PERIOD: Duration = Duration::from_millis(1);
/// How much is read at once at least, if so much is there: each connection has room for it.
const READ_BYTES: usize = 4 * 1024;
/// How much of one client's commands may be on the way or wait: more is not read.
const QUEUED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How much one client may be told that it has not read: its next command waits until it has read some of that. The real server
/// goes on, and keeps all that it says in memory.
const UNREAD_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How much is written at once, if it is several replies.
const WRITTEN_BYTES_MAX: usize = 256 * 1024;

/// Serves one of the servers (the first is 0) to whoever connects, for as long as this future is polled.
///
/// The future is the server's process: if it is dropped, that is a crash, and to call this again for the same server is
/// its restart, with what [`Settings::persistence`](super::Settings::persistence) has left. A turmoil host that is
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

/// A client, as its connection knows it.
struct Seat {
    servers: Servers,
    server: u8,
    client: i64,
    connection: Connection,
    is_reset: AtomicBool,
    /// The client has hung up: what it is told from now on, it does not hear.
    hung_up: AtomicBool,
    /// The client has hung up.
    is_closed: Notify,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let is_reset = self.is_reset.load(Ordering::Relaxed);
        dismiss(&self.servers, self.server, self.client, self.connection.link, is_reset);
    }
}

/// How a connection ends.
enum Gone {
    /// The client has closed it, or is not there any more.
    Closed,
    /// The server's process has ended, or a message was lost.
    Reset,
}

/// A command on its way to the server.
struct Incoming {
    due: Micros,
    /// It does not arrive, and takes the connection with it.
    is_lost: bool,
    /// Or what is wrong with it.
    words: Result<Vec<Bytes>, String>,
    asked: Asked,
}

async fn talk<L: Listener>(servers: Servers, server: u8, stream: L::Stream) {
    let Some(connection) = servers.connect(server, L::ends(&stream)) else { return L::reset(stream) };
    let outbox = Arc::new(Queue::default());
    let client = admit(&servers, &connection, outbox.clone());
    let (is_reset, hung_up) = (AtomicBool::new(true), AtomicBool::new(false));
    let seat = Seat { servers, server, client, connection, is_reset, hung_up, is_closed: Notify::new() };
    let (mut from, mut to) = tokio::io::split(stream);
    let gone = {
        let queue = Queue::default();
        let all = async {
            // In this order: see `Queue`.
            tokio::try_join!(
                biased;
                seat.hear(&mut from, &queue),
                seat.work(&queue, &outbox),
                seat.tell(&mut to, &outbox),
            )
        };
        tokio::select! {
            biased;
            () = seat.servers.ends(&connection) => Gone::Reset,
            () = outbox.ends() => Gone::Closed,
            ended = all => match ended {
                Ok(_) => Gone::Closed,
                Err(gone) => gone,
            },
        }
    };
    seat.is_reset.store(matches!(gone, Gone::Reset), Ordering::Relaxed);
    match gone {
        Gone::Closed => {}
        Gone::Reset => L::reset(from.unsplit(to)),
    }
}

/// Reads all that has come, if it is no more than a client usually sends at once.
async fn read<S: AsyncRead>(from: &mut ReadHalf<S>, to: &mut BytesMut) -> io::Result<usize> {
    to.reserve(READ_BYTES);
    from.read_buf(to).await
}

impl Seat {
    /// Reads what the client sends, when it sends it. What is in the socket is taken out of it though nobody can be told.
    async fn hear<S: AsyncRead>(&self, from: &mut ReadHalf<S>, queue: &Queue<Incoming>) -> Result<(), Gone> {
        let mut requests = Requests::default();
        // What has come at once has come at one time.
        let mut now = self.servers.now();
        loop {
            let words = match requests.next() {
                Read::Command(words) => Ok(words),
                Read::Broken(what) => Err(what),
                Read::Nothing => match read(from, &mut requests.bytes).await {
                    Ok(1..) => {
                        now = self.servers.now();
                        continue;
                    }
                    // Whether it has said so, or is just not there any more.
                    Ok(0) | Err(_) => {
                        self.hung_up.store(true, Ordering::Relaxed);
                        self.is_closed.notify_one();
                        queue.close();
                        return Ok(());
                    }
                },
            };
            let size = words.iter().flatten().map(Bytes::len).sum::<usize>().clamp(64, QUEUED_BYTES_MAX);
            if queue.shrinks_to(QUEUED_BYTES_MAX - size).await {
                now = self.servers.now();
            }
            let is_last = words.is_err();
            let (latency, is_lost, asked) = {
                let state = &mut *self.servers.state();
                let (latency, is_lost) =
                    state.fate(self.server, self.connection.client, Direction::Request, now);
                let words = words.as_deref().unwrap_or_default();
                (latency, is_lost, Asked::new(&self.servers, state, &self.connection, words, now))
            };
            queue.add(size, Incoming { due: now + latency, is_lost, words, asked });
            if is_last {
                queue.close();
                return Ok(());
            }
        }
    }

    /// Has one command run after the other, when it has arrived.
    async fn work(&self, incoming: &Queue<Incoming>, outbox: &Queue<Outgoing>) -> Result<(), Gone> {
        let Seat { servers, server, client, connection, .. } = self;
        while let Some(Incoming { due, is_lost, words, mut asked }) = incoming.next().await {
            if due > asked.at {
                self.until(due).await;
            }
            outbox.shrinks_to(UNREAD_BYTES_MAX).await;
            if is_lost {
                self.arrives(Direction::Request).await?;
                return Err(Gone::Reset);
            }
            let said = match words {
                Ok(mut words) => loop {
                    match ask(servers, connection, *client, words, &mut asked) {
                        Said::OnTheWay(held) => words = held,
                        Said::Held(held) => {
                            sleep(LOOK_PERIOD).await;
                            words = held;
                        }
                        said => break said,
                    }
                    self.arrives(Direction::Request).await?;
                },
                Err(broken) => {
                    self.arrives(Direction::Request).await?;
                    Said::Reply(last_word(servers, connection, format!("ERR Protocol error: {broken}")))
                }
            };
            let outgoing = match said {
                Said::Reply(outgoing) => Some(outgoing),
                Said::Ended => return Err(Gone::Reset),
                Said::Stranger | Said::Held(_) | Said::OnTheWay(_) => return Err(Gone::Closed),
                Said::Runs(job) => {
                    let told = start(servers, *server, *job).await;
                    self.arrives(Direction::Request).await?;
                    Some(told.map_err(|_| Gone::Reset)?)
                }
                Said::Waits { ticket, answer, timeout_ms, in_vain } => {
                    let reply = self.unless_closed(timeout_ms, answer).await?;
                    let reply = reply.and_then(Result::ok).unwrap_or(in_vain);
                    self.arrives(Direction::Request).await?;
                    late(servers, *server, *client, &reply, Some(ticket))
                }
                Said::Replicas { offset, replicas, timeout_ms } => {
                    let enough = async {
                        while acknowledged(servers, *server, offset) < replicas {
                            sleep(LOOK_PERIOD).await;
                        }
                    };
                    self.unless_closed(timeout_ms, enough).await?;
                    self.arrives(Direction::Request).await?;
                    let count = super::reply::Reply::Integer(acknowledged(servers, *server, offset));
                    late(servers, *server, *client, &count, None)
                }
            };
            let Some(outgoing) = outgoing else { return Err(Gone::Closed) };
            let is_last = outgoing.is_last;
            outbox.add(outgoing.bytes.len(), outgoing);
            if is_last {
                return Ok(());
            }
        }
        let now = servers.now();
        let last =
            Outgoing { due: now, is_lost: false, bytes: Vec::new(), is_last: true, tells: Tells::default() };
        outbox.add(0, last);
        Ok(())
    }

    /// Writes what the client is told, when it has arrived.
    async fn tell<S: AsyncWrite>(
        &self,
        to: &mut WriteHalf<S>,
        outgoing: &Queue<Outgoing>,
    ) -> Result<(), Gone> {
        let mut is_there = true;
        while let Some(Outgoing { due, is_lost, bytes, mut is_last, tells }) = outgoing.next().await {
            // All that can be read now is run first, and then all replies are written, as in the real server
            // (`src/networking.c` `handleClientsWithPendingWrites`): a client that sleeps is woken once.
            // In virtual time there is nothing to gain, and turmoil would be asked for one more tick.
            if !is_simulated() {
                tokio::task::yield_now().await;
            }
            self.until(due).await;
            self.arrives(Direction::Reply).await?;
            if is_lost {
                return Err(Gone::Reset);
            }
            // What else has arrived goes with it.
            let (mut together, mut tells) = (bytes, vec![tells]);
            let now = self.servers.now();
            while !is_last {
                let fits = |more: &Outgoing| together.len() + more.bytes.len() <= WRITTEN_BYTES_MAX;
                let is_next = |more: &Outgoing| more.due <= now && !more.is_lost && fits(more);
                let Some(more) = outgoing.next_if(is_next) else { break };
                together.extend_from_slice(&more.bytes);
                is_last = more.is_last;
                tells.push(more.tells);
            }
            // Who does not listen any more has sent what it has sent: the rest of that is run.
            is_there = is_there && to.write_all(&together).await.is_ok() && to.flush().await.is_ok();
            if is_there && !self.hung_up.load(Ordering::Relaxed) {
                let (now, link) = (self.servers.now(), self.connection.link);
                let watch = &mut self.servers.state().watch;
                tells.into_iter().for_each(|tells| tells.told(watch, self.server, link, now));
            }
            if is_last {
                return Err(Gone::Closed);
            }
        }
        Ok(())
    }

    async fn until(&self, due: Micros) {
        let now = self.servers.now();
        if due > now {
            sleep(duration(due - now)).await;
        }
    }

    /// A request gets through to a process that runs, and a reply to the client; and the process has not ended.
    async fn arrives(&self, direction: Direction) -> Result<(), Gone> {
        let lives = match direction {
            Direction::Request => self.servers.passes(&self.connection, direction).await,
            Direction::Reply => self.servers.carries(&self.connection, direction).await,
        };
        if lives { Ok(()) } else { Err(Gone::Reset) }
    }

    /// Waits for something, for so long (0: for ever); who has hung up waits for nothing more.
    async fn unless_closed<T>(
        &self,
        timeout_ms: u64,
        something: impl Future<Output = T>,
    ) -> Result<Option<T>, Gone> {
        let began = Instant::now();
        let too_late = async {
            match timeout_ms {
                0 => std::future::pending().await,
                ms => tokio::time::sleep_until(began + Duration::from_millis(ms)).await,
            }
        };
        tokio::select! {
            biased;
            done = something => Ok(Some(done)),
            () = too_late => Ok(None),
            () = self.is_closed.notified() => Err(Gone::Closed),
        }
    }
}
