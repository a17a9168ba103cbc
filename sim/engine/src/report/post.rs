//! Whether a trace is true to its messages: what arrives was sent before, by that sender, to that receiver, byte for byte, and in
//! the step that is said to have sent it.

use super::message_words;
use picklock_model::machine::{Message, Node, Store};
use picklock_model::system::System;
use picklock_model::trace::{Happening, Step};
use std::collections::{BTreeMap, VecDeque};

/// Knows what is under way. Every trace of a run is held against it, whichever engine it comes from.
#[derive(Clone, Debug, Default)]
pub(super) struct Post {
    /// Of each message the steps that sent it, the first one first.
    under_way: BTreeMap<(Node, Node, Vec<u8>), VecDeque<u32>>,
    steps: u32,
    /// The first message that arrived, got lost or came twice, and had not been sent.
    unsent: Option<String>,
}

impl Post {
    /// The first message that is told of and was never sent: `None`, or the trace is wrong.
    pub fn unsent(&self) -> Option<&str> {
        self.unsent.as_deref()
    }

    fn sent<Y: System>(&mut self, from: Node, to: Node, message: &Message<Y::Store>, step: u32) {
        self.under_way.entry((from, to, bytes(message))).or_default().push_back(step);
    }

    /// It is no longer under way. Says which step had sent it, of several that said the same the first one, unless one is named;
    /// 0 if none had.
    fn arrived<Y: System>(
        &mut self,
        from: Node,
        to: Node,
        message: &Message<Y::Store>,
        sent_in: Option<u32>,
    ) -> u32 {
        let key = (from, to, bytes(message));
        let sent = self.under_way.get_mut(&key).and_then(|steps| {
            let place = steps.iter().position(|step| sent_in.is_none_or(|sent_in| sent_in == *step))?;
            steps.remove(place)
        });
        if self.under_way.get(&key).is_some_and(VecDeque::is_empty) {
            self.under_way.remove(&key);
        }
        if sent.is_none() {
            self.blame::<Y>(from, to, message);
        }
        sent.unwrap_or_default()
    }

    fn blame<Y: System>(&mut self, from: Node, to: Node, message: &Message<Y::Store>) {
        let step = self.steps;
        self.unsent.get_or_insert_with(|| {
            format!(
                "in step {step}, {to} gets from {from} what {from} never sent: {}",
                message_words(message, Y::WORDS)
            )
        });
    }

    /// The next step. Which one sent the message that it is about, if it is about one that was sent.
    pub(super) fn take<Y: System>(&mut self, step: &Step<Y>) -> Option<u32> {
        self.steps += 1;
        let sent_in = match step.happening {
            Happening::Delivered { from, to, message } | Happening::Lost { from, to, message } => {
                self.arrived::<Y>(*from, *to, message, step.sent_in)
            }
            Happening::Duplicated { from, to, message } => {
                let sent_in = self.arrived::<Y>(*from, *to, message, step.sent_in);
                self.sent::<Y>(*from, *to, message, sent_in);
                self.sent::<Y>(*from, *to, message, sent_in);
                sent_in
            }
            _ => 0,
        };
        if let Some(node) = step.happening.node() {
            let (now, sends) = (self.steps, step.effects.sends.iter());
            sends.for_each(|(to, message)| self.sent::<Y>(node, *to, message, now));
        }
        (sent_in > 0).then_some(sent_in)
    }
}

fn bytes<S: Store>(message: &Message<S>) -> Vec<u8> {
    match postcard::to_stdvec(message) {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("plain data packs: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::toy::{self, Notice};
    use picklock_model::trace::Observer;

    impl<Y: System> Observer<Y> for Post {
        fn observe(&mut self, step: &Step<Y>) {
            self.take(step);
        }
    }

    #[test]
    fn everything_that_arrives_was_sent() {
        let runs: [fn(&mut Post); 3] = [toy::overlap, toy::patience, toy::misfortune];
        for run in runs {
            let mut post = Post::default();
            run(&mut post);
            assert_eq!(post.unsent(), None);
        }
    }

    /// Lets a few steps of a run pass unseen.
    struct Blink {
        post: Post,
        unseen: usize,
    }

    impl Observer<Notice> for Blink {
        fn observe(&mut self, step: &Step<Notice>) {
            match self.unseen {
                0 => self.post.observe(step),
                _ => self.unseen -= 1,
            }
        }
    }

    #[test]
    fn what_arrives_and_was_never_sent_is_named() {
        let mut blink = Blink { post: Post::default(), unseen: 1 };
        toy::overlap(&mut blink);
        let unsent = blink.post.unsent().unwrap();
        assert!(unsent.starts_with("in step 1, s1 gets from A what A never sent: "), "{unsent}");
    }
}
