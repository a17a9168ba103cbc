//! One server behind its port: accepts connections, and answers on them.

use super::commands::{Said, Session, execute};
use super::visit::{Servers, acknowledged, admit, dismiss, visit};
use super::wire::Resp;
use crate::serve::Listener;
use crate::serve::condition::Direction;
use crate::serve::servers::duration;
use bytes::Bytes;
use picklock_model::time::Micros;
use redis_protocol::resp2::types::BytesFrame;
use std::convert::Infallible;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// How often `WAIT` looks whether the replicas have come far enough.
const LOOK_PERIOD: Duration = Duration::from_millis(1);
/// After an accept that failed (out of file descriptors, say): it may pass.
const ACCEPT_AGAIN: Duration = Duration::from_millis(10);

/// Serves one of the servers (the first is 0) to whoever connects, for as long as this future is polled.
///
/// The future is the server's process: if it is dropped, that is a crash, and to call this again for the same server is
/// its restart, with what [`Settings::persistence`](picklock_model::stores::redis::Settings) has left. A turmoil host that
/// is crashed and bounced does just that.
///
/// # Errors
/// None so far: it ends when it is dropped.
///
/// # Panics
/// If there is no such server.
pub async fn serve<L: Listener>(servers: &Servers, server: u8, mut listener: L) -> io::Result<Infallible> {
    assert!(server < servers.count(), "there are {} servers, and no number {server}", servers.count());
    servers.restart(server);
    let _process = Process { servers: servers.clone(), server };
    let mut talks = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            Some(ended) = talks.join_next() => pass_on(ended),
            () = servers.tick(server) => {}
            accepted = listener.accept() => match accepted {
                Ok(stream) => {
                    talks.spawn(talk::<L>(servers.clone(), server, stream));
                }
                Err(_) => sleep(ACCEPT_AGAIN).await,
            },
        }
    }
}

/// Ends with the future that serves.
struct Process {
    servers: Servers,
    server: u8,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.servers.crash(self.server, false);
    }
}

/// A task that panicked makes its owner panic; a cancelled one has been cancelled with its owner.
fn pass_on(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}

/// A connection's place among those of its server.
struct Seat {
    servers: Servers,
    server: u8,
    client: u8,
}

impl Drop for Seat {
    fn drop(&mut self) {
        dismiss(&self.servers, self.server, self.client);
    }
}

/// How a connection ends.
enum Gone {
    /// The client has closed it, or is not there any more.
    Closed,
    /// The server's process has ended, or a message was lost.
    Reset,
}

async fn talk<L: Listener>(servers: Servers, server: u8, stream: L::Stream) {
    let mut resp = Resp::new(stream);
    let Some(client) = admit(&servers, server) else {
        // If it cannot be said, the client has gone.
        let _gone = resp.send(BytesFrame::Error("ERR max number of clients reached".into())).await;
        return;
    };
    let seat = Seat { servers: servers.clone(), server, client };
    let (life, is_down) = {
        let condition = &servers.state().nodes[usize::from(server)].condition;
        (condition.life, condition.is_down())
    };
    let session =
        Session { id: i64::try_from(servers.tally().connections).unwrap_or(i64::MAX), name: Bytes::new() };
    let mut talk = Talk { seat, life, session, resp };
    let gone = if is_down { Gone::Reset } else { talk.go_on().await };
    match gone {
        Gone::Closed => {}
        Gone::Reset => L::reset(talk.resp.into_inner()),
    }
}

struct Talk<S> {
    seat: Seat,
    /// The life of the process that this connection belongs to.
    life: u64,
    session: Session,
    resp: Resp<S>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Talk<S> {
    async fn go_on(&mut self) -> Gone {
        let servers = self.seat.servers.clone();
        tokio::select! {
            biased;
            () = servers.ends(self.seat.server, self.life) => Gone::Reset,
            gone = self.answer_all() => gone,
        }
    }

    async fn answer_all(&mut self) -> Gone {
        loop {
            let frame = match self.resp.next().await {
                Ok(Some(frame)) => frame,
                Ok(None) => return Gone::Closed,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    // As the real server does, which then closes the connection; the client may have gone already.
                    let _gone = self.resp.send(BytesFrame::Error("ERR Protocol error".into())).await;
                    return Gone::Closed;
                }
                Err(_) => return Gone::Closed,
            };
            if let Err(gone) = self.answer(frame).await {
                return gone;
            }
        }
    }

    async fn answer(&mut self, frame: BytesFrame) -> Result<(), Gone> {
        let Some(words) = words_of(frame) else {
            let _gone =
                self.resp.send(BytesFrame::Error("ERR Protocol error: expected strings".into())).await;
            return Err(Gone::Closed);
        };
        if words.is_empty() {
            // As the real server does (`src/networking.c` `processMultibulkBuffer`).
            return Ok(());
        }
        self.travel(Direction::Request).await?;
        let Talk { seat, session, .. } = self;
        let said = visit(&seat.servers, seat.server, seat.client, |visit| execute(&words, session, visit));
        let (reply, is_last) = match said {
            Said::Reply(reply) => (reply, false),
            Said::Bye(reply) => (reply, true),
            Said::Nothing => return self.wait_in_vain().await,
            Said::Wait { offset, replicas, timeout_ms } => {
                (BytesFrame::Integer(self.replicated(offset, replicas, timeout_ms).await?), false)
            }
        };
        self.travel(Direction::Reply).await?;
        self.seat.servers.state().tally.commands += 1;
        self.resp.send(reply).await.map_err(|_| Gone::Closed)?;
        if is_last { Err(Gone::Closed) } else { Ok(()) }
    }

    /// A message is on its way: it takes its time, waits for a process that is paused or a link that is cut, or is lost.
    async fn travel(&mut self, direction: Direction) -> Result<(), Gone> {
        let Seat { servers, server, .. } = &self.seat;
        let now = servers.now();
        let (latency, is_lost) = servers.state().fate(*server, direction, now);
        let arrival = async {
            if latency > Micros::ZERO {
                sleep(duration(latency)).await;
            }
            servers.passes(*server, self.life, direction).await
        };
        let arrives = while_connected(&mut self.resp, arrival).await?;
        match arrives && !is_lost {
            true => Ok(()),
            false => Err(Gone::Reset),
        }
    }

    /// The server answers nobody: its clients give up, sooner or later.
    async fn wait_in_vain(&mut self) -> Result<(), Gone> {
        while_connected(&mut self.resp, std::future::pending()).await
    }

    /// How many replicas have come so far, when enough have or the time is over.
    async fn replicated(
        &mut self,
        offset: Option<(u32, u32)>,
        replicas: i64,
        timeout_ms: i64,
    ) -> Result<i64, Gone> {
        let Seat { servers, server, .. } = &self.seat;
        let Some(offset) = offset else { return Ok(0) };
        let timeout = Duration::from_millis(timeout_ms.unsigned_abs());
        let began = Instant::now();
        let enough = async {
            loop {
                let count = i64::try_from(acknowledged(servers, *server, offset)).unwrap_or(i64::MAX);
                if count >= replicas || (timeout_ms > 0 && began.elapsed() >= timeout) {
                    return count;
                }
                sleep(LOOK_PERIOD).await;
            }
        };
        while_connected(&mut self.resp, enough).await
    }
}

/// Waits for something; but who has closed the connection waits for nothing more.
async fn while_connected<S: AsyncRead + Unpin, T>(
    resp: &mut Resp<S>,
    something: impl Future<Output = T>,
) -> Result<T, Gone> {
    tokio::pin!(something);
    loop {
        tokio::select! {
            biased;
            done = &mut something => return Ok(done),
            filled = resp.fill() => match filled {
                Ok(true) => {}
                Ok(false) | Err(_) => return Err(Gone::Closed),
            },
        }
    }
}

/// A command is an array of strings.
fn words_of(frame: BytesFrame) -> Option<Vec<Bytes>> {
    let BytesFrame::Array(words) = frame else { return None };
    let word = |frame| match frame {
        BytesFrame::BulkString(bytes) => Some(bytes),
        BytesFrame::SimpleString(_)
        | BytesFrame::Error(_)
        | BytesFrame::Integer(_)
        | BytesFrame::Array(_)
        | BytesFrame::Null => None,
    };
    words.into_iter().map(word).collect()
}
