//! A node's connections: those that it dials and dials again, and those that it accepts.
//!
//! Who dials a connection uses it for what it asks, and is answered on it: clients dial servers and the resource, servers
//! dial each other. A connection on which nothing is heard is given up, for TCP may not notice by itself. What was to be
//! said over a connection that is lost is lost with it: to say it again is the machine's affair.

use super::driver::{Inbox, Post, Slot};
use super::transport::Transport;
use super::wire::{Frame, FrameReader, FrameWriter, VERSION};
use picklock_model::machine::{Message, Node, Store};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, timeout};

/// How long is waited for what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// For a connection to be made.
    pub connect: Duration,
    /// Before the first attempt to dial again; each further one waits twice as long.
    pub redial_min: Duration,
    /// At most, before an attempt to dial again.
    pub redial_max: Duration,
    /// Between two pings of who dialled.
    pub ping: Duration,
    /// For a sign of life, before a connection is given up.
    pub silence: Duration,
}

impl Default for Patience {
    /// For a data centre: a node that is gone is given up after three seconds.
    fn default() -> Patience {
        Patience {
            connect: Duration::from_secs(1),
            redial_min: Duration::from_millis(50),
            redial_max: Duration::from_secs(1),
            ping: Duration::from_secs(1),
            silence: Duration::from_secs(3),
        }
    }
}

/// What is said next to one node.
type Outgoing<S> = UnboundedSender<Message<S>>;

/// By node: the latest connection that it dialled, with a number that tells it from earlier ones.
type Accepted<S> = Arc<Mutex<BTreeMap<Node, (u64, Outgoing<S>)>>>;

/// All connections of a node. They end when this is dropped.
pub struct Connections<S: Store> {
    dialled: BTreeMap<Node, Outgoing<S>>,
    accepted: Accepted<S>,
    tasks: JoinSet<()>,
}

impl<S: Store> Connections<S> {
    /// Dials these nodes, for as long as it takes and again whenever a connection is lost, and listens if `listens`.
    ///
    /// # Errors
    /// If it cannot listen.
    pub async fn open<T: Transport>(
        me: Node,
        dials: &[Node],
        listens: bool,
        transport: &T,
        patience: Patience,
    ) -> io::Result<(Connections<S>, Inbox<S>)> {
        let (slot, inbox) = unbounded_channel();
        let mut connections =
            Connections { dialled: BTreeMap::new(), accepted: Accepted::default(), tasks: JoinSet::new() };
        if listens {
            let listener = transport.listen(me).await?;
            let accepted = connections.accepted.clone();
            let reception = Reception { listener, transport: transport.clone(), accepted, patience };
            transport.spawn(&mut connections.tasks, reception.accept(slot.clone()));
        }
        for to in dials {
            let (outgoing, waiting) = unbounded_channel();
            connections.dialled.insert(*to, outgoing);
            let line = Line { me, to: *to, transport: transport.clone(), patience };
            transport.spawn(&mut connections.tasks, line.keep(waiting, slot.clone()));
        }
        Ok((connections, inbox))
    }
}

impl<S: Store> Post<S> for Connections<S> {
    fn post(&mut self, to: Node, message: Message<S>) {
        // A task that is gone has panicked, and that is passed on at the next turn; who is not connected hears nothing.
        if let Some(outgoing) = self.dialled.get(&to) {
            let _gone = outgoing.send(message);
        } else if let Some((_, outgoing)) = lock(&self.accepted).get(&to) {
            let _gone = outgoing.send(message);
        }
    }

    fn poll_tasks(&mut self, cx: &mut Context<'_>) -> Poll<Infallible> {
        while let Poll::Ready(Some(ended)) = self.tasks.poll_join_next(cx) {
            pass_on(ended);
        }
        Poll::Pending
    }
}

/// A connection that is dialled again whenever it is lost.
struct Line<T> {
    me: Node,
    to: Node,
    transport: T,
    patience: Patience,
}

impl<T: Transport> Line<T> {
    async fn keep<S: Store>(self, mut waiting: UnboundedReceiver<Message<S>>, slot: Slot<S>) {
        let Patience { connect, redial_min, redial_max, .. } = self.patience;
        let mut pause = redial_min;
        loop {
            if let Ok(Ok(stream)) = timeout(connect, self.transport.connect(self.to)).await {
                let hello = Frame::<S>::Hello { version: VERSION, node: self.me };
                let mut talk = Talk::new(stream, self.to, self.patience, slot.clone());
                if talk.writer.write(&hello).await.is_ok() && talk.go_on(&mut waiting, true).await {
                    pause = redial_min;
                }
            }
            // What was to be said over a connection that is lost, or was never made, is not said.
            while waiting.try_recv().is_ok() {}
            if waiting.is_closed() {
                return;
            }
            sleep(pause).await;
            pause = redial_max.min(2 * pause);
        }
    }
}

/// Accepts connections.
struct Reception<S: Store, T: Transport> {
    listener: T::Listener,
    transport: T,
    accepted: Accepted<S>,
    patience: Patience,
}

impl<S: Store, T: Transport> Reception<S, T> {
    async fn accept(mut self, slot: Slot<S>) {
        let mut talks = JoinSet::new();
        for number in 0.. {
            let stream = loop {
                tokio::select! {
                    biased;
                    Some(ended) = talks.join_next() => pass_on(ended),
                    stream = T::accept(&mut self.listener) => match stream {
                        Ok(stream) => break stream,
                        // Out of file descriptors, say: it may pass.
                        Err(_) => sleep(self.patience.redial_min).await,
                    },
                }
            };
            let talk = answer(stream, number, self.patience, self.accepted.clone(), slot.clone());
            self.transport.spawn(&mut talks, talk);
        }
    }
}

/// Goes on with a connection that somebody has dialled, once it is known who.
async fn answer<S: Store>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    number: u64,
    patience: Patience,
    accepted: Accepted<S>,
    slot: Slot<S>,
) {
    let mut talk = Talk::new(stream, Node::Resource, patience, slot);
    let Ok(Ok(Some(Frame::Hello { version: VERSION, node }))) =
        timeout(patience.silence, talk.reader.next::<S>()).await
    else {
        return;
    };
    talk.with = node;
    let (outgoing, mut waiting) = unbounded_channel();
    // A newer connection of the same node takes the place of an older one, which it has given up.
    lock(&accepted).insert(node, (number, outgoing));
    talk.go_on(&mut waiting, false).await;
    let mut accepted = lock(&accepted);
    if accepted.get(&node).is_some_and(|(latest, _)| *latest == number) {
        accepted.remove(&node);
    }
}

/// One connection, for as long as it lasts.
struct Talk<S: Store, R, W> {
    with: Node,
    reader: FrameReader<R>,
    writer: FrameWriter<W>,
    patience: Patience,
    slot: Slot<S>,
}

impl<S: Store, T: AsyncRead + AsyncWrite> Talk<S, tokio::io::ReadHalf<T>, tokio::io::WriteHalf<T>> {
    fn new(stream: T, with: Node, patience: Patience, slot: Slot<S>) -> Self {
        let (read, write) = tokio::io::split(stream);
        Talk { with, reader: FrameReader::new(read), writer: FrameWriter::new(write), patience, slot }
    }
}

impl<S: Store, R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Talk<S, R, W> {
    /// Until the connection is lost; says whether anything was heard.
    async fn go_on(&mut self, waiting: &mut UnboundedReceiver<Message<S>>, pings: bool) -> bool {
        let (pong, mut pongs) = unbounded_channel();
        let mut has_heard = false;
        // Both at once: two nodes that only wrote would wait for each other.
        tokio::select! {
            biased;
            () = listen(&mut self.reader, self.with, self.patience, &self.slot, &pong, &mut has_heard) => {}
            () = speak(&mut self.writer, waiting, &mut pongs, pings.then_some(self.patience.ping)) => {}
        }
        has_heard
    }
}

async fn listen<S: Store, R: AsyncRead + Unpin>(
    reader: &mut FrameReader<R>,
    with: Node,
    patience: Patience,
    slot: &Slot<S>,
    pong: &UnboundedSender<()>,
    has_heard: &mut bool,
) {
    while let Ok(Ok(Some(frame))) = timeout(patience.silence, reader.next::<S>()).await {
        *has_heard = true;
        let is_well = match frame {
            Frame::Message(message) => slot.send((with, message)).is_ok(),
            Frame::Ping => pong.send(()).is_ok(),
            Frame::Pong => true,
            // Nobody introduces himself twice.
            Frame::Hello { .. } => false,
        };
        if !is_well {
            return;
        }
    }
}

async fn speak<S: Store, W: AsyncWrite + Unpin>(
    writer: &mut FrameWriter<W>,
    waiting: &mut UnboundedReceiver<Message<S>>,
    pongs: &mut UnboundedReceiver<()>,
    ping: Option<Duration>,
) {
    let mut ping_at = ping.map(|period| Instant::now() + period);
    loop {
        let next_ping = async {
            match ping_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let frame = tokio::select! {
            biased;
            message = waiting.recv() => match message {
                Some(message) => Frame::Message(message),
                None => return,
            },
            Some(()) = pongs.recv() => Frame::Pong,
            () = next_ping => {
                ping_at = ping.map(|period| Instant::now() + period);
                Frame::Ping
            }
        };
        if writer.write(&frame).await.is_err() {
            return;
        }
    }
}

/// A task that panicked makes its owner panic; a cancelled one has been cancelled with its owner.
fn pass_on(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
