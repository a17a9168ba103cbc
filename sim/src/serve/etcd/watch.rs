//! `service Watch`: one stream of any number of watches (`server/etcdserver/api/v3rpc/watch.go`).

use super::connection::Seat;
use super::desk::{Answer, Said};
use super::member::{Member, Ticket, revision};
use super::pb;
use crate::serve::condition::Direction;
use bytes::Bytes;
use picklock_model::stores::etcd::{Operation, Start};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::mpsc;
use tonic::{Status, Streaming};

/// How often a watch that wants it is told how far it is (`GetProgressReportInterval`).
const PROGRESS_INTERVAL: Duration = Duration::from_secs(600);

/// Of no watch, or of all.
const NO_ID: i64 = -1;

type To = mpsc::UnboundedSender<Result<pb::WatchResponse, Status>>;

/// Begins a watch.
pub fn begin(
    member: &Member,
    id: i64,
    request: &pb::WatchCreateRequest,
    to: mpsc::UnboundedSender<(i64, Answer)>,
) -> Result<Ticket, Status> {
    let start = match request.start_revision {
        ..=0 => Start::Now,
        from => Start::At(revision(from)),
    };
    // The smallest key.
    let key = if request.key.is_empty() { Bytes::from_static(b"\0") } else { request.key.clone() };
    member.watch(id, request.prev_kv, to, |names| {
        Ok(Operation::Watch { keys: names.keys(&key, &request.range_end), start })
    })
}

/// A watch of the stream.
struct Watch {
    filters: Vec<i32>,
    wants_progress: bool,
    /// It has been told something since it was last told how far it is.
    was_told: bool,
    is_announced: bool,
    /// What came before it was announced.
    held: Vec<Answer>,
    /// The watch goes on as long as this is there.
    _ticket: Ticket,
}

/// All watches of a stream.
struct Watches {
    seat: Seat,
    to: To,
    watches: BTreeMap<i64, Watch>,
    next_id: i64,
    answers: mpsc::UnboundedSender<(i64, Answer)>,
}

/// Serves a stream until its client has gone.
pub async fn serve(seat: Seat, mut requests: Streaming<pb::WatchRequest>, to: To) {
    let (answers, mut answered) = mpsc::unbounded_channel();
    let mut all = Watches { seat, to, watches: BTreeMap::new(), next_id: 0, answers };
    let mut progress = tokio::time::interval(PROGRESS_INTERVAL);
    progress.tick().await;
    let mut goes_on = true;
    loop {
        let gone = all.to.clone();
        tokio::select! {
            biased;
            () = gone.closed() => return,
            Some((id, answer)) = answered.recv() => all.answered(id, answer).await,
            request = requests.message(), if goes_on => match request {
                Ok(Some(request)) => {
                    all.seat.travel(Direction::Request).await;
                    match request.request {
                        Some(pb::Wanted::Create(create)) => all.create(create).await,
                        Some(pb::Wanted::Cancel(cancel)) => all.cancel(cancel.watch_id).await,
                        Some(pb::Wanted::Progress(_)) => {
                            // What has happened until then is on its way before it is said.
                            let header = all.seat.member.header();
                            while let Ok((id, answer)) = answered.try_recv() {
                                all.answered(id, answer).await;
                            }
                            all.tell(pb::WatchResponse { header: Some(header), watch_id: NO_ID, ..Default::default() }).await;
                        }
                        None => {}
                    }
                }
                // Nothing more is asked for; the watches go on.
                Ok(None) => goes_on = false,
                Err(_) => return,
            },
            _ = progress.tick() => all.tell_progress().await,
        }
    }
}

impl Watches {
    async fn tell(&self, response: pb::WatchResponse) {
        self.seat.travel(Direction::Reply).await;
        // If nobody is there any more, it ends with the next turn.
        let _gone = self.to.send(Ok(response));
    }

    async fn create(&mut self, request: pb::WatchCreateRequest) {
        let range = (&request.key, &request.range_end);
        let reason = if !range.1.is_empty() && range.1.as_ref() != b"\0" && range.0 >= range.1 {
            Some("mvcc: watcher range is empty")
        } else if self.watches.contains_key(&request.watch_id) && request.watch_id != 0 {
            Some("mvcc: duplicate watch ID provided on the WatchStream")
        } else {
            None
        };
        if let Some(reason) = reason {
            let (header, cancel_reason) = (Some(self.seat.member.header()), reason.to_owned());
            let (created, canceled) = (true, true);
            let refused = pb::WatchResponse {
                header,
                watch_id: NO_ID,
                created,
                canceled,
                cancel_reason,
                ..Default::default()
            };
            return self.tell(refused).await;
        }
        let id = match request.watch_id {
            0 => loop {
                self.next_id += 1;
                if !self.watches.contains_key(&(self.next_id - 1)) {
                    break self.next_id - 1;
                }
            },
            id => id,
        };
        // Its process has ended, and the connection with it: nobody is there to be told.
        let Ok(ticket) = begin(&self.seat.member, id, &request, self.answers.clone()) else { return };
        let (filters, wants_progress) = (request.filters, request.progress_notify);
        let watch = Watch {
            filters,
            wants_progress,
            was_told: true,
            is_announced: false,
            held: Vec::new(),
            _ticket: ticket,
        };
        self.watches.insert(id, watch);
    }

    async fn cancel(&mut self, id: i64) {
        if self.watches.remove(&id).is_some() {
            let header = Some(self.seat.member.header());
            self.tell(pb::WatchResponse { header, watch_id: id, canceled: true, ..Default::default() }).await;
        }
    }

    async fn answered(&mut self, id: i64, answer: Answer) {
        // It may have been cancelled since.
        let Some(watch) = self.watches.get_mut(&id) else { return };
        let Answer { header, outcome } = answer;
        let response = pb::WatchResponse { header: Some(header.clone()), watch_id: id, ..Default::default() };
        match outcome {
            Said::Watching => {
                watch.is_announced = true;
                let held = std::mem::take(&mut watch.held);
                self.tell(pb::WatchResponse { created: true, ..response }).await;
                for answer in held {
                    Box::pin(self.answered(id, answer)).await;
                }
            }
            Said::Events(_) if !watch.is_announced => watch.held.push(Answer { header, outcome }),
            Said::Events(mut events) => {
                let is_left_out = |event: &pb::Event| match event.r#type() {
                    pb::EventType::Put => pb::FilterType::NoPut,
                    pb::EventType::Delete => pb::FilterType::NoDelete,
                };
                events.retain(|event| !watch.filters.contains(&is_left_out(event).into()));
                if !events.is_empty() {
                    watch.was_told = true;
                    self.tell(pb::WatchResponse { events, ..response }).await;
                }
            }
            Said::WatchCanceled { compact_revision } => {
                self.watches.remove(&id);
                self.tell(pb::WatchResponse { created: true, ..response.clone() }).await;
                self.tell(pb::WatchResponse { canceled: true, compact_revision, ..response }).await;
            }
            outcome => unreachable!("a watch is answered with {outcome:?}"),
        }
    }

    async fn tell_progress(&mut self) {
        let header = self.seat.member.header();
        let mut quiet = Vec::new();
        for (id, watch) in &mut self.watches {
            if watch.wants_progress && !std::mem::take(&mut watch.was_told) {
                quiet.push(*id);
            }
        }
        for watch_id in quiet {
            self.tell(pb::WatchResponse { header: Some(header.clone()), watch_id, ..Default::default() })
                .await;
        }
    }
}
