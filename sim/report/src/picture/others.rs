//! The other runs that a page carries: what else could have happened in each of its steps.
//!
//! Each is the same as the page's own run up to a step, and often again after it. So all of them are put together from one pool of
//! rows and messages, of which each is carried once. The last steps come first: what breaks is decided there. When the page has grown by
//! [`BYTES_MAX`], earlier steps go without.

use super::data::Run;
use super::layout::{Layout, Row, Window};
use crate::others::{OtherRun, happens};
use picklock_engine::report::Story;
use picklock_engine::report::program;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// So much a page may be larger for its other runs.
const BYTES_MAX: usize = 2_000_000;
/// The lists of a run that are put together from the pool.
const POOLED: [&str; 4] = ["steps", "flights", "spans", "operations"];

/// Finds out what else could have happened in a step, and runs it: nothing, where the step was settled by an earlier one.
pub type Others<'a> = dyn Fn(usize) -> Vec<OtherRun> + 'a;

#[derive(Serialize)]
pub(super) struct OtherRuns<'a> {
    /// What replays a token.
    program: &'static str,
    /// Of the page's own run.
    token: &'a str,
    /// Steps before this one go without.
    from: usize,
    steps: BTreeMap<usize, OfStep>,
    /// What the page's own run does not have.
    pool: Vec<Value>,
}

#[derive(Serialize)]
struct OfStep {
    /// What happens in the page's own run.
    instead: String,
    others: Vec<Drawn>,
}

#[derive(Serialize)]
struct Drawn {
    words: String,
    outcome: String,
    left_out: Option<String>,
    token: String,
    /// What it breaks, and in which of its steps, if that is drawn.
    broken: Vec<(String, Option<u64>)>,
    causes: Vec<Because>,
    /// As [`Run`], but each list of [`POOLED`] is pairs of a place in the pool and a number of things there.
    run: Value,
}

#[derive(Serialize)]
struct Because {
    step: u64,
    kind: &'static str,
    when: String,
    words: String,
}

impl<'a> OtherRuns<'a> {
    pub(super) fn new(layout: &Layout<'a>, window: Window, others: &Others) -> OtherRuns<'a> {
        let story = &layout.story;
        let mut pool = Pool::default();
        pool.put_together(&mut value_of(&Run::new(layout)));
        let own = pool.things.len();
        let (mut steps, mut bytes, mut from) = (BTreeMap::new(), 0, 1);
        let rows = layout.rows.iter().rev();
        for step in rows.flat_map(|Row { first, last }| (*first..=*last).rev()).map(|position| position + 1) {
            let before = pool.things.len();
            let drawn: Vec<Drawn> =
                others(step).into_iter().map(|run| draw(story, window, run, &mut pool)).collect();
            if drawn.is_empty() {
                continue;
            }
            let of_step = OfStep { instead: happens(&story.events[step - 1]), others: drawn };
            bytes += size(&of_step) + pool.things[before..].iter().map(size).sum::<usize>();
            if bytes > BYTES_MAX {
                pool.things.truncate(before);
                from = step + 1;
                break;
            }
            steps.insert(step, of_step);
        }
        let pool = pool.things.split_off(own);
        OtherRuns { program: program(), token: story.token, from, steps, pool }
    }
}

fn draw(story: &Story, window: Window, other: OtherRun, pool: &mut Pool) -> Drawn {
    let (outcome, left_out) = (other.outcome(), other.left_out_in_words());
    let OtherRun { step, words, token, broken, shown_for, events, .. } = other;
    let told =
        Story { token: &token, broken: &broken, shown_for, events: &events, loop_start: None, ..*story };
    let layout = Layout::beside(told, window, Some(step - 1));
    let causes = layout.causes.iter().map(|cause| Because {
        step: events[cause.position].step,
        kind: cause.kind.name(),
        when: cause.when.clone(),
        words: cause.words.clone(),
    });
    let causes = causes.collect();
    let mut run = value_of(&Run::new(&layout));
    pool.put_together(&mut run);
    let broken = broken.iter().map(|words| (words.clone(), super::page::step_of(&layout, words))).collect();
    Drawn { words, outcome, left_out, token, broken, causes, run }
}

/// Rows, messages and the like, each once.
#[derive(Default)]
struct Pool {
    things: Vec<Value>,
    places: BTreeMap<String, usize>,
}

impl Pool {
    /// Takes a run's lists into the pool, and puts into their places where they are there.
    fn put_together(&mut self, run: &mut Value) {
        for name in POOLED {
            let Value::Array(things) = run[name].take() else { unreachable!("a run has a list of {name}") };
            let mut ranges: Vec<(usize, usize)> = Vec::new();
            for thing in things {
                let place = self.place(thing);
                match ranges.last_mut() {
                    Some((first, count)) if *first + *count == place => *count += 1,
                    _ => ranges.push((place, 1)),
                }
            }
            run[name] = value_of(&ranges);
        }
    }

    fn place(&mut self, thing: Value) -> usize {
        let next = self.things.len();
        let place = *self.places.entry(thing.to_string()).or_insert(next);
        if place == next {
            self.things.push(thing);
        }
        place
    }
}

fn value_of<T: Serialize>(plain: &T) -> Value {
    serde_json::to_value(plain).unwrap_or_else(|error| unreachable!("plain data serialises: {error}"))
}

fn size<T: Serialize>(plain: &T) -> usize {
    serde_json::to_string(plain).map_or(0, |text| text.len())
}
