//! The background thread of section 5.3: "раз в N/2 секунд будет перезаписывать ячейки в строках"; and what the lease that
//! it prolongs is worth by the client's own clock.

use super::phase::{Phase, Renewer};
use super::settings::Settings;
use super::{CassandraQueue, Cx, Out};
use crate::locks::cassandra_tables::MAIN;
use crate::machine::Answer;
use crate::stores::cassandra::{Operation, Outcome};
use crate::time::{Micros, Monotonic};
use picklock_properties::{ClientId, Event};

impl CassandraQueue {
    /// Whether the record in the main row cannot have expired yet, by the client's own clock.
    pub(super) fn lease_is_valid(&self, cx: &Cx) -> bool {
        match (cx.settings.validity_check, self.lease_end(cx.settings)) {
            (true, Some(end)) => cx.monotonic < end,
            (true, None) | (false, _) => true,
        }
    }

    fn lease_end(&self, settings: &Settings) -> Option<Monotonic> {
        let since = self.lease_since?;
        let ttl = settings.ttl()?;
        Some(since + (ttl - settings.validity_margin))
    }

    pub(super) fn start_renewer(&mut self, cx: &Cx) {
        if let Some(ttl) = cx.settings.ttl() {
            self.renewer = Renewer::Sleeps { until: cx.monotonic + Micros(ttl.0 / 2) };
        }
    }

    pub(super) fn renew(&mut self, cx: &Cx, out: &mut Out) {
        if cx.settings.conditional_renewal && self.phase == Phase::Held {
            let operation = Operation::ReadSlice { row: self.row(MAIN), from: None, count: 2 };
            self.renewer = Renewer::ReadsMain(self.request(operation, cx, out));
        } else {
            self.begin_renewal(cx, out);
        }
    }

    /// The lock is ours, as far as anybody looked.
    fn begin_renewal(&mut self, cx: &Cx, out: &mut Out) {
        if cx.settings.timestamps.are_the_services() {
            self.renewer = Renewer::ReadsTime(self.request(Self::read_of_time(), cx, out));
        } else {
            self.renew_queue(cx, out);
        }
    }

    fn renew_queue(&mut self, cx: &Cx, out: &mut Out) {
        if self.column.is_none() {
            return self.renew_main(cx, out);
        }
        let mutation = self.put_queue(cx);
        self.renewer = Renewer::WritesQueue(self.request(Operation::Write(mutation), cx, out));
    }

    fn renew_main(&mut self, cx: &Cx, out: &mut Out) {
        if self.phase != Phase::Held {
            return self.start_renewer(cx);
        }
        let token = self.fence;
        let mutation = self.put_main(cx);
        // A renewal prolongs the grant, it does not make a new one: the token stays.
        self.fence = token;
        self.main_sent = cx.settings.validity_check.then_some(cx.monotonic);
        self.renewer = Renewer::WritesMain(self.request(Operation::Write(mutation), cx, out));
    }

    pub(super) fn on_renewal_reply(&mut self, outcome: Outcome, cx: &Cx, out: &mut Out) {
        match (self.renewer, outcome) {
            (Renewer::ReadsMain(_), Outcome::Slice(columns)) => {
                let ours = columns.len() == 1 && columns[0].0.thread == self.thread(cx);
                if ours && self.lease_is_valid(cx) { self.begin_renewal(cx, out) } else { self.lose(out) }
            }
            (Renewer::ReadsTime(_), Outcome::Slice(columns)) => match Self::time_in(&columns) {
                Some(time) => {
                    self.time = Some(time);
                    self.renew_queue(cx, out);
                }
                // It was read before, so it is there: too few replicas had it, or it was lost.
                None => self.begin_renewal(cx, out),
            },
            // The two writes are not one: the lease may have run out in between.
            (Renewer::WritesQueue(_), Outcome::Applied)
                if cx.settings.conditional_renewal
                    && self.phase == Phase::Held
                    && !self.lease_is_valid(cx) =>
            {
                self.lose(out);
            }
            (Renewer::WritesQueue(_), Outcome::Applied) => self.renew_main(cx, out),
            (Renewer::WritesMain(_), Outcome::Applied) => {
                self.lease_since = self.main_sent;
                // What was prolonged may be over again by the time this is known.
                if self.phase == Phase::Held && !self.lease_is_valid(cx) {
                    return self.lose(out);
                }
                out.record(Event::Renewed { client: ClientId(cx.me) });
                self.start_renewer(cx);
            }
            (
                Renewer::ReadsMain(_)
                | Renewer::ReadsTime(_)
                | Renewer::WritesQueue(_)
                | Renewer::WritesMain(_),
                Outcome::TimedOut,
            ) => self.renew_again(cx, out),
            (Renewer::ReadsMain(_) | Renewer::ReadsTime(_), Outcome::Applied)
            | (Renewer::WritesQueue(_) | Renewer::WritesMain(_), Outcome::Slice(_)) => {
                unreachable!("a renewal's reply is of its request's kind")
            }
            (Renewer::Off | Renewer::Sleeps { .. }, _) => {
                unreachable!("a renewer that sleeps awaits no reply")
            }
        }
        if self.phase == Phase::JoinRenewer && !self.renewer.is_writing() {
            self.begin_release(cx, out);
        }
    }

    /// Outcome unknown: the same again, at the next server.
    fn renew_again(&mut self, cx: &Cx, out: &mut Out) {
        self.contact = (self.contact + 1) % cx.servers;
        match self.renewer {
            // A release is waiting: whether this write arrives or not, its deletion comes after it.
            _ if self.phase == Phase::JoinRenewer => self.renewer = Renewer::Off,
            _ if self.phase == Phase::Held && !self.lease_is_valid(cx) => self.lose(out),
            Renewer::ReadsMain(_) => self.renew(cx, out),
            Renewer::ReadsTime(_) => self.begin_renewal(cx, out),
            Renewer::WritesQueue(_) => self.renew_queue(cx, out),
            Renewer::WritesMain(_) => self.renew_main(cx, out),
            Renewer::Off | Renewer::Sleeps { .. } => unreachable!("a renewer that sleeps awaits no reply"),
        }
    }

    pub(super) fn lose(&mut self, out: &mut Out) {
        self.renewer = Renewer::Off;
        self.lease_since = None;
        if self.phase == Phase::Held {
            out.answer(Answer::Lost);
        }
    }

    /// When the thread that holds must notice that its lease is over.
    pub(super) fn validity_deadline(&self, settings: &Settings) -> Option<Monotonic> {
        if settings.validity_check && self.phase == Phase::Held { self.lease_end(settings) } else { None }
    }
}
