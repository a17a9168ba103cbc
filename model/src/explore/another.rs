//! What else could have happened in a step of a path, and the path that comes of it.
//!
//! A path is one order in which things happen, and in each of its steps others were possible. [`Retold::others`] takes each of those
//! instead, and then follows the path as far as it goes:
//!
//! - What was to happen in that step comes next, unless it is a fault: steps and deliveries are owed, a fault need not come.
//! - What comes earlier than in the path does not come a second time.
//! - The rest comes in its order. What is not possible when its turn comes is left out.
//!
//! Steps are found again by what they do, not by their positions: a deadline by its node, a message by who sent it to whom and what it
//! says; if nothing says exactly that any more, by what it says but for times and numbers; and if nothing does, what is under way
//! between the two nodes will do, for an answer may say something else now.

use super::label::Blank;
use super::{NoSuchPath, Path, Space, Walker};
use crate::machine::{Message, Node, Store, Visit};
use crate::system::System;
use crate::world::Action;
use std::mem::discriminant;

/// A path that is another one from a step on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Another {
    /// All of it, from the beginning.
    pub path: Path,
    /// How many of the original's later steps were not possible any more.
    pub left_out: usize,
}

/// A path, and what each of its steps does.
pub struct Retold<'a, Y: System> {
    space: &'a Space<Y>,
    path: &'a [u16],
    did: Vec<Did<Y>>,
}

/// What a step does, in words that mean the same in another path.
struct Did<Y: System> {
    action: Action,
    /// The message that it is about, if it is about one.
    sent: Option<Sent<Y>>,
}

struct Sent<Y: System> {
    from: Node,
    to: Node,
    message: Message<Y::Store>,
}

/// How much one message is like another one on the same link, the most first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    Same,
    /// But for times and numbers.
    Alike,
    /// A request, or a reply, as that one is.
    OfItsKind,
}

impl<'a, Y: System> Retold<'a, Y> {
    /// Walks the path once.
    ///
    /// # Errors
    /// If it leads nowhere.
    pub fn new(space: &'a Space<Y>, path: &'a [u16]) -> Result<Self, NoSuchPath> {
        let mut walker = space.walker();
        let mut did = Vec::with_capacity(path.len());
        for &chosen in path {
            let at = usize::from(chosen);
            let possible = walker.possible();
            if let Some(&action) = possible.get(at) {
                did.push(Did::of(&walker, action));
            }
            walker.step(chosen, &mut ())?;
        }
        Ok(Retold { space, path, did })
    }

    /// What else could have happened in the `at`th step, from 0, in the order of [`World::actions`](crate::world::World::actions).
    /// Empty if the path has no such step.
    pub fn others(&self, at: usize) -> Vec<Another> {
        let Some((before, &taken)) = self
            .path
            .split_at_checked(at)
            .and_then(|(before, rest)| rest.first().map(|taken| (before, taken)))
        else {
            return Vec::new();
        };
        let mut walker = self.space.walker();
        before.iter().for_each(|chosen| step(&mut walker, *chosen));
        let possible = walker.possible().to_vec();
        let others = (0_u16..).zip(possible).filter(|(number, _)| *number != taken);
        others.map(|(number, action)| self.follow(&walker, at, number, action)).collect()
    }

    /// Takes this action, the `number`th of those that are possible, and then what is left of the path.
    fn follow(&self, walker: &Walker<Y>, at: usize, number: u16, action: Action) -> Another {
        let taken = Did::of(walker, action);
        let mut walker = walker.fork();
        let mut path = self.path[..at].to_vec();
        path.push(number);
        step(&mut walker, number);

        let is_owed = self.did[at].action.is_fair();
        let mut rest: Vec<&Did<Y>> = self.did[if is_owed { at } else { at + 1 }..].iter().collect();
        let mut left_out = 0;
        if let Some(place) = rest.iter().position(|later| taken.takes_away(later)) {
            let is_of_rest = place > 0 || !is_owed;
            left_out += usize::from(is_of_rest && !taken.is_the_same_as(rest[place]));
            rest.remove(place);
        }
        for (nth, wanted) in rest.iter().enumerate() {
            if walker.world().broken.is_some() {
                break;
            }
            match position(&mut walker, wanted, &rest[nth + 1..]) {
                Some(number) => {
                    path.push(number);
                    step(&mut walker, number);
                }
                None => left_out += usize::from(nth > 0 || !std::ptr::eq(*wanted, &raw const self.did[at])),
            }
        }
        Another { path, left_out }
    }
}

fn step<Y: System>(walker: &mut Walker<Y>, number: u16) {
    if let Err(error) = walker.step(number, &mut ()) {
        unreachable!("it was listed as possible: {error}");
    }
}

/// Which of the actions that are possible now does what is `wanted`; what is meant by one of the `later` ones is not taken for it.
fn position<Y: System>(walker: &mut Walker<Y>, wanted: &Did<Y>, later: &[&Did<Y>]) -> Option<u16> {
    let possible = walker.possible().to_vec();
    let Some(sent) = &wanted.sent else {
        return possible.iter().position(|action| *action == wanted.action).map(|place| place as u16);
    };
    let mut best: Option<(Likeness, u16)> = None;
    for (number, action) in (0_u16..).zip(possible) {
        if !is_as(action, wanted.action) {
            continue;
        }
        let Some(found) = Did::of(walker, action).sent else { continue };
        let Some(likeness) = sent.likeness(&found) else { continue };
        let is_meant_later = || {
            later.iter().filter_map(|did| did.sent.as_ref()?.likeness(&found)).any(|other| other < likeness)
        };
        if best.is_none_or(|(known, _)| likeness < known) && !is_meant_later() {
            best = Some((likeness, number));
        }
    }
    best.map(|(_, number)| number)
}

/// Whether both do the same to a message, in the same of the possible ways.
fn is_as(action: Action, other: Action) -> bool {
    match (action, other) {
        (Action::Deliver { choice, .. }, Action::Deliver { choice: other, .. }) => choice == other,
        (Action::Lose { .. }, Action::Lose { .. }) | (Action::Duplicate { .. }, Action::Duplicate { .. }) => {
            true
        }
        (_, _) => false,
    }
}

impl<Y: System> Did<Y> {
    fn of(walker: &Walker<Y>, action: Action) -> Did<Y> {
        let sent = match action {
            Action::Deliver { position, .. } | Action::Lose { position } | Action::Duplicate { position } => {
                let envelope = walker.envelope(usize::from(position));
                Some(Sent { from: envelope.from, to: envelope.to, message: envelope.message.clone() })
            }
            _ => None,
        };
        Did { action, sent }
    }

    /// Whether the other one, which comes later in the path, cannot come any more or has come already once this has happened.
    fn takes_away(&self, other: &Did<Y>) -> bool {
        match (&self.sent, &other.sent) {
            (Some(sent), Some(later)) => {
                let is_doubled = matches!(self.action, Action::Duplicate { .. });
                sent.likeness(later) == Some(Likeness::Same)
                    && is_doubled == matches!(other.action, Action::Duplicate { .. })
            }
            (None, None) => self.is_the_same_as(other),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Whether both are the same thing, in whichever of the possible ways.
    fn is_the_same_as(&self, other: &Did<Y>) -> bool {
        match (self.action, other.action) {
            (Action::Wake { node, wake, .. }, Action::Wake { node: other, wake: whose, .. }) => {
                (node, wake) == (other, whose)
            }
            (Action::Deliver { .. }, Action::Deliver { .. })
            | (Action::Lose { .. }, Action::Lose { .. })
            | (Action::Duplicate { .. }, Action::Duplicate { .. }) => true,
            (one, other) => one == other,
        }
    }
}

impl<Y: System> Sent<Y> {
    /// How much the other one is like it; `None` if it is on another link, or of another kind.
    fn likeness(&self, other: &Sent<Y>) -> Option<Likeness> {
        if (self.from, self.to) != (other.from, other.to)
            || discriminant(&self.message) != discriminant(&other.message)
        {
            return None;
        }
        if self.message == other.message {
            return Some(Likeness::Same);
        }
        let is_alike = blank::<Y::Store>(&self.message) == blank::<Y::Store>(&other.message);
        Some(if is_alike { Likeness::Alike } else { Likeness::OfItsKind })
    }
}

fn blank<S: Store>(message: &Message<S>) -> Message<S> {
    let mut blank = message.clone();
    blank.visit(&mut Blank);
    blank
}
