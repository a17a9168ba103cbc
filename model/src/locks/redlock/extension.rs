//! What a holder does when one of its moments has come: the Redlock article, *Distributed Locks with Redis*, "Продлеваем блокировку", and
//! the end of the validity.

use super::hold::{Extending, Hold};
use super::round::Round;
use super::settings::{ExtendBy, ValidityFrom};
use super::validity::{from_now, has_come, is_over, validity_from_now};
use super::{Cx, Out, Phase, Redlock, send, token};
use crate::machine::Answer;
use crate::stores::redis::Command;
use picklock_properties::{ClientId, Event};

impl Redlock {
    /// The validity is over, an extension has to begin, or the one under way to end.
    pub(super) fn on_hold_deadline(&mut self, hold: Hold, cx: &Cx, out: &mut Out) {
        if hold.validity_deadline(cx.settings).is_some_and(|due| has_come(due, cx)) {
            // Forgotten, so that the application is told once. It releases next.
            self.phase = Phase::Held(Hold { valid_until: None, extensions_left: 0, extending: None, ..hold });
            return out.answer(Answer::Lost);
        }
        match (hold.extending, hold.extension_deadline(cx.settings)) {
            (Some(mut extending), _) if extending.round.until.is_some_and(|due| has_come(due, cx)) => {
                extending.round.give_up_all();
                self.end_extension(hold, extending, cx, out);
            }
            (None, Some(due)) if has_come(due, cx) => self.extend(hold, cx, out),
            // Woken early: nothing is due.
            (Some(_) | None, _) => {}
        }
    }

    /// "Продлеваем блокировку".
    fn extend(&mut self, mut hold: Hold, cx: &Cx, out: &mut Out) {
        let (Some(extension), Some(ttl)) = (cx.settings.extension, cx.settings.px()) else {
            unreachable!("without them there is no deadline to extend by")
        };
        if extension.how == ExtendBy::CompareAndExtend && is_over(hold.valid_until, cx) {
            // A holder that does not mind its validity comes too late for it to be prolonged.
            self.phase = Phase::Held(Hold { extensions_left: 0, ..hold }.without_unused(cx.settings));
            return;
        }
        let (key, value) = (self.key(), token(hold.value, cx));
        let command = match extension.how {
            ExtendBy::CompareAndExtend => Command::CompareAndExtend { key, value, ttl },
            ExtendBy::ExtendOrCreate => Command::ExtendOrCreate { key, value, ttl },
        };
        let mut round = Round::new(self.draw(), cx.servers);
        round.until = cx.settings.node_timeout.map(|length| from_now(length, cx));
        send(0..cx.servers, round.serial, &command, out);
        hold.extensions_left -= 1;
        hold.extending = Some(Extending { valid_until: validity_from_now(cx), round });
        self.phase = Phase::Held(hold);
    }

    /// Every node has been heard or given up.
    pub(super) fn end_extension(&mut self, mut hold: Hold, extending: Extending, cx: &Cx, out: &mut Out) {
        let Some(extension) = cx.settings.extension else {
            unreachable!("what is not extended has no extension to end")
        };
        let valid_until = match extension.validity_from {
            ValidityFrom::Start => extending.valid_until,
            ValidityFrom::Replies => validity_from_now(cx),
        };
        // "Only if a majority could be locked within the validity", which is the old one; the other script's users compare
        // the elapsed time with the new one.
        let in_time = match extension.how {
            ExtendBy::CompareAndExtend => !is_over(hold.valid_until, cx),
            ExtendBy::ExtendOrCreate => !is_over(valid_until, cx),
        };
        hold.extending = None;
        if extending.round.has_quorum() && in_time {
            let client = ClientId(cx.me);
            out.record(Event::Secured { client, servers: extending.round.yes });
            // By the time this is known, what was prolonged may be over and another's: whether that came before or after,
            // nobody can tell from here.
            if !is_over(extending.valid_until, cx) {
                out.record(Event::Renewed { client });
            }
            hold.valid_until = valid_until;
        } else {
            hold.extensions_left = 0;
        }
        self.phase = Phase::Held(hold.without_unused(cx.settings));
    }
}
