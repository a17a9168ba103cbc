//! Faults that a server comes out of as it went in, and that nobody minds meanwhile.

use super::Search;
use picklock_engine::report::JsonEvent;

impl Search<'_> {
    /// Whether a server that goes down in this step, or starts again, comes back with all that it had, and what it did not hear
    /// meanwhile made no difference.
    pub(super) fn is_survived(&self, position: usize) -> bool {
        if self.is_of_progress() || self.is_of_objects {
            return false;
        }
        let events = &self.story.events[..=self.end];
        let is_of_it =
            |what: &str, at: usize| events[at].what == what && events[at].node == events[position].node;
        let crashed = (0..=position).rev().find(|at| is_of_it("crashed", *at));
        let restarted = (position..events.len()).find(|at| is_of_it("restarted", *at));
        let Some((crashed, restarted)) = crashed.zip(restarted) else { return false };
        let is_unheard = |event: &JsonEvent| event.what == "lost" && event.to == events[position].node;
        let mut lost = (crashed..restarted).filter(|at| is_unheard(&events[*at]));
        self.comes_back_whole(restarted)
            && lost.all(|at| !self.is_missed(at, &events[at]) && !self.is_given_up(at))
    }

    /// Whether who sent the message that is lost in this step goes on for want of an answer.
    fn is_given_up(&self, lost: usize) -> bool {
        let events = &self.story.events[..=self.end];
        let of_sender = |at: &usize| events[*at].node == events[lost].from;
        let next = (lost..events.len()).filter(of_sender).find(|at| self.goes_on(*at));
        next.is_some_and(|at| events[at].wake == Some("machine"))
    }

    /// Whether the link of a message is cut in this step. Where somebody waits for ever, what it was that was lost is told.
    pub(super) fn is_cut_at(&self, lost: &JsonEvent, position: usize) -> bool {
        let of_link = |event: &&JsonEvent| (&event.node, &event.from) == (&lost.to, &lost.from);
        let mut before = self.story.events[..position].iter().rev().filter(of_link);
        let last = before.find(|event| matches!(event.what, "link-cut" | "link-mended"));
        !self.is_of_progress() && last.is_some_and(|event| event.what == "link-cut")
    }
}
