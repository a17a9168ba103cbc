//! Deadlocks over resources of several masters: whoever looks for one asks all others who waits for whom there, twice.
//!
//! ```text
//!     s1: A waits for B               s2: B waits for A
//!     │── who waits for whom? ────────────▶│
//!     │◀─ B waits for A ───────────────────│
//!     │── who waits for whom? ────────────▶│   once more
//!     │◀─ B waits for A ───────────────────│
//!     │── a deadlock: refuse B ───────────▶│── refused ──▶ B
//! ```
//!
//! Source: the lock-manager article, *Distributed lock manager*, "Определение ситуаций взаимной блокировки"; VAXcluster Principles, chapter
//! 6: a search goes on at the node that masters what the next process waits for. Here it does not go from node to node, but is gathered; how often
//! VMS looks again before it refuses anybody its manuals do not say, so that it is ours.
//!
//! **Why twice.** What one node answers is past when the next one answers: A may have been granted what it waited for, and B may have begun to
//! wait for it since. Put together that is a circle, and nobody waits for ever. Of a circle that is seen twice, with the same requests, each
//! waited from its first answer to its second one, so that all of them waited at the moment between.
//!
//! # What is left out
//!
//! A question that is lost: nobody asks again before the next view, as between nodes of both systems a connection brings it. A search goes to all
//! nodes of the view, not only to those in the circle.
//!
//! That nobody is refused for nothing is argued above, not gone through. It leans on queues: whoever was in somebody's way, left it, and is in it
//! again stands behind. A conversion from a lock that it kept may go ahead, between the two answers of the one that waits; such a circle would be
//! taken for a deadlock.

use super::lock::Handle;
use super::peer::{Peer, visit_waits};
use super::resource::Notices;
use super::search::{Wait, circle_of, lasting, waits};
use super::server::Dlm;
use super::settings::Settings;
use crate::machine::{Context, Effects, Visitor};
use serde::{Deserialize, Serialize};

/// A search that is under way.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Gathered {
    /// Who has not answered yet: a bit for each.
    asked: u8,
    /// What is known so far of this round.
    waits: Vec<Wait>,
    /// What was known at the end of the first, if it is over.
    before: Option<Vec<Wait>>,
}

impl Gathered {
    /// The numbers of requests in it.
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visit_waits(&mut self.waits, visitor);
        self.before.iter_mut().for_each(|waits| visit_waits(waits, visitor));
    }
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Dlm>;

impl Dlm {
    /// Asks all others of its view; `false`: there are none, or they have no locks now.
    pub(super) fn asks_who_waits(&mut self, before: Option<Vec<Wait>>, cx: &Cx, effects: &mut Out) -> bool {
        let (waits, epoch) = (self.own_waits(), self.epoch);
        let Some(member) = self.member.as_mut().filter(|member| member.may_open()) else { return false };
        let others = member.others(cx.me);
        if others == 0 {
            return false;
        }
        super::peer::nodes(others).for_each(|node| effects.peer(node, Peer::WhoWaits { epoch }));
        member.search = Some(Gathered { asked: others, waits, before });
        true
    }

    /// Whether a search is under way.
    pub(super) fn is_asking(&self) -> bool {
        self.member.as_ref().is_some_and(|member| member.search.is_some())
    }

    /// Who waits for whom here, with the numbers of their requests.
    fn own_waits(&self) -> Vec<Wait> {
        let serial = |handle: Handle| self.heard.get(usize::from(handle.owner))?.serial;
        let numbered = |wait: Wait| Wait { serial: serial(wait.handle).unwrap_or(0), ..wait };
        waits(&self.manager).into_iter().map(numbered).collect()
    }

    /// Somebody looks for a deadlock. Who is not in that view yet has no locks in it.
    pub(super) fn on_who_waits(&mut self, from: u8, epoch: u8, effects: &mut Out) {
        let waits = if epoch == self.epoch { self.own_waits() } else { Vec::new() };
        if epoch >= self.epoch {
            effects.peer(from, Peer::Waits { epoch, waits });
        }
    }

    /// When all have answered twice, the circles that are there at both times are ended.
    pub(super) fn on_waits(
        &mut self,
        from: u8,
        waits: Vec<Wait>,
        cx: &Cx,
        notices: &mut Notices,
        effects: &mut Out,
    ) {
        let Some(member) = &mut self.member else { unreachable!("it is one of several") };
        let Some(search) = &mut member.search else { return };
        search.asked &= !(1 << from);
        search.waits.extend(waits);
        search.waits.sort_unstable();
        if search.asked != 0 {
            return;
        }
        let Some(Gathered { waits, before, .. }) = member.search.take() else { return };
        let Some(before) = before else {
            self.asks_who_waits(Some(waits), cx, effects);
            return;
        };
        let mut waits = lasting(&before, &waits);
        while let Some(victim) = circle_of(&waits).and_then(|circle| circle.into_iter().max()) {
            effects.remark = Some("has found a deadlock");
            let Some(place) = waits.iter().position(|wait| wait.handle == victim) else { return };
            let Wait { handle, serial, .. } = waits.remove(place);
            self.refuses(handle, serial, cx.settings, notices);
            let others = self.member.as_ref().map_or(0, |member| member.others(cx.me));
            let refuse = Peer::Refuse { epoch: self.epoch, handle, serial };
            super::peer::nodes(others).for_each(|node| effects.peer(node, refuse.clone()));
        }
        self.looks_again(cx);
    }

    /// If it is here, and still the same request.
    pub(super) fn refuses(
        &mut self,
        handle: Handle,
        serial: u32,
        settings: &Settings,
        notices: &mut Notices,
    ) {
        if self.own_waits().iter().any(|wait| (wait.handle, wait.serial) == (handle, serial)) {
            self.manager.refuses(handle, settings, notices);
        }
    }
}
