//! Exactly once: what comes out is what one handler that never crashes would have put out.
//!
//! Source: the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*, section "Exactly-Once": there
//! is an execution in which every input was handled exactly once and gave its output, as if everything had been handled on one logical node
//! without crashes. Concurrent exactly-once asks the same of several handlers at once, so that none has to wait for another.
//!
//! It is a refinement: some order of the inputs, each stream keeping its own, must explain all that came out. The output and the
//! counter are two stores, and which of the two was written first is not judged. Something that came out too much is
//! reported at once, unless a run that goes on could still need it; something that is missing only when the handlers
//! say that they are done ([`Event::Settled`](crate::Event::Settled)).
//!
//! Left out: handlers that take several numbers in one step, and windows of time. Pauses, too: that nobody waits is a promise
//! of progress.

use super::call::ObjectCall;
use super::handler::Handler;
use super::under_way::UnderWay;
use crate::Promise;
use crate::history::ClientId;
use crate::monitor::{Monitor, Verdict, Violation};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Everything that came out so far is what some run of one [`Handler`] puts out, over some order of what has come in. Broken by
/// an output, a count, or the claim to be done; `other` is the client itself.
///
/// All possible runs are carried along: where each of them is in each stream, and what is in its window. After a violation what
/// came out too much counts as not come out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ExactlyOnce {
    handler: Handler,
    /// What not all runs have taken yet, of each stream.
    inputs: Vec<Vec<i32>>,
    /// In order, and never none.
    runs: Vec<Run>,
    due: UnderWay<Due>,
    stake: Stake,
}

/// What was there when a handler was asked to handle what there is.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Due {
    /// How many of `inputs`, of each stream.
    left: Vec<u32>,
    /// How many all runs have taken that came in since.
    more: u32,
}

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Run {
    /// How many of `inputs` it has taken, of each stream.
    taken: Vec<u32>,
    /// What the window will still hold when the next number comes.
    held: Vec<i32>,
    /// How often it has raised the counter that nobody has seen raised yet; less than 0 if it is yet to do so.
    uncounted: i32,
}

/// Whether one handler, of which nothing went wrong, is all that there was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Stake {
    Nobody,
    One(ClientId),
    Several,
    Struck,
}

impl Default for ExactlyOnce {
    fn default() -> ExactlyOnce {
        ExactlyOnce::of(Handler::default())
    }
}

impl ExactlyOnce {
    /// Judges this handler.
    pub fn of(handler: Handler) -> ExactlyOnce {
        ExactlyOnce {
            handler,
            inputs: Vec::new(),
            runs: vec![Run::default()],
            due: UnderWay::default(),
            stake: Stake::Nobody,
        }
    }

    /// From now on not everything has gone smoothly: what comes next may be done a second time.
    pub(crate) fn struck(&mut self) {
        self.stake = Stake::Struck;
    }

    /// Whether what comes next from the client comes from a second handler, or after something went wrong.
    pub(crate) fn is_tested_by(&self, client: ClientId) -> bool {
        match self.stake {
            Stake::Nobody => false,
            Stake::One(first) => first != client,
            Stake::Several | Stake::Struck => true,
        }
    }

    /// How many of each stream there are that not all runs have taken.
    fn present(&self) -> Due {
        Due { left: self.inputs.iter().map(|inputs| inputs.len() as u32).collect(), more: 0 }
    }

    fn note(&mut self, client: ClientId) {
        self.stake = match self.stake {
            Stake::Nobody => Stake::One(client),
            Stake::One(first) if first != client => Stake::Several,
            stake @ (Stake::One(_) | Stake::Several | Stake::Struck) => stake,
        };
    }

    /// The run, if what it is yet to count it can.
    fn can_count(&self, run: &Run) -> bool {
        let left = self.inputs.iter().zip(&run.taken).map(|(inputs, taken)| inputs.len() - *taken as usize);
        run.uncounted >= 0
            || self.handler.counts(run.held.len(), left.sum()) >= run.uncounted.unsigned_abs() as usize
    }

    /// From now on one of these; if there is none, the promise is broken, and it is as before.
    fn go_on(&mut self, client: ClientId, runs: BTreeSet<Run>) -> Verdict {
        if runs.is_empty() {
            return Err(Violation::new(Promise::ExactlyOnce, client, client));
        }
        self.runs = runs.into_iter().collect();
        for stream in 0..self.inputs.len() {
            let taken = self.runs.iter().map(|run| run.taken[stream]).min().unwrap_or(0);
            self.inputs[stream].drain(..taken as usize);
            self.runs.iter_mut().for_each(|run| run.taken[stream] -= taken);
            for Due { left, more } in self.due.iter_mut() {
                let left = left
                    .get_mut(stream)
                    .map_or(0, |left| std::mem::replace(left, left.saturating_sub(taken)));
                *more += taken.saturating_sub(left);
            }
        }
        while self.inputs.pop_if(|inputs| inputs.is_empty()).is_some() {
            self.runs.iter_mut().for_each(|run| run.taken.truncate(self.inputs.len()));
        }
        for due in self.due.iter_mut() {
            while due.left.pop_if(|left| *left == 0).is_some() {}
        }
        Ok(())
    }

    /// Each run that this one becomes by taking one number more and putting this one out.
    fn each_next(&self, run: &Run, value: i32, each: &mut dyn FnMut(Run)) {
        for (stream, inputs) in self.inputs.iter().enumerate() {
            let Some(number) = inputs.get(run.taken[stream] as usize) else { continue };
            let mut next = run.clone();
            let (output, counts) = self.handler.step(&mut next.held, *number);
            if output != value {
                continue;
            }
            // The next number would push it out.
            if next.held.len() >= usize::from(self.handler.window.max(1)) {
                next.held.remove(0);
            }
            next.taken[stream] += 1;
            next.uncounted += i32::from(counts);
            each(next);
        }
    }
}

impl Monitor for ExactlyOnce {
    fn on_input(&mut self, _client: ClientId, stream: u8, value: i32) -> Verdict {
        let streams = self.inputs.len().max(usize::from(stream) + 1);
        self.inputs.resize(streams, Vec::new());
        self.runs.iter_mut().for_each(|run| run.taken.resize(streams, 0));
        self.inputs[usize::from(stream)].push(value);
        Ok(())
    }

    fn on_output(&mut self, client: ClientId, value: i32) -> Verdict {
        self.note(client);
        let mut next = BTreeSet::new();
        for run in &self.runs {
            self.each_next(run, value, &mut |run| {
                if self.can_count(&run) {
                    next.insert(run);
                }
            });
        }
        self.go_on(client, next)
    }

    fn on_counted(&mut self, client: ClientId) -> Verdict {
        self.note(client);
        let counted = self.runs.iter().map(|run| Run { uncounted: run.uncounted - 1, ..run.clone() });
        let counted = counted.filter(|run| self.can_count(run)).collect();
        self.go_on(client, counted)
    }

    fn on_invoked(&mut self, client: ClientId, call: ObjectCall) -> Verdict {
        self.due.end(client);
        if call == ObjectCall::Handle {
            self.due.begin(client, self.present());
        }
        Ok(())
    }

    fn on_unknown(&mut self, client: ClientId) -> Verdict {
        self.due.end(client);
        Ok(())
    }

    fn on_settled(&mut self, client: ClientId) -> Verdict {
        let due = self.due.end(client).unwrap_or_else(|| self.present());
        let is_done = |run: &&Run| {
            let mut more = i64::from(due.more);
            let has_taken = run.taken.iter().enumerate().all(|(stream, taken)| {
                let left = due.left.get(stream).copied().unwrap_or(0);
                more += i64::from(*taken) - i64::from(left);
                *taken >= left
            });
            // What came in since need not be counted yet.
            has_taken && i64::from(run.uncounted) <= more
        };
        let done = self.runs.iter().filter(is_done).cloned().collect();
        self.go_on(client, done)
    }

    fn on_crashed(&mut self, client: ClientId) -> Verdict {
        self.due.end(client);
        self.struck();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Event;
    use crate::notation::*;

    /// The source, which handles nothing.
    const S: ClientId = ClientId(9);
    const SETTLED: Event = Event::Settled { client: S };

    fn input(stream: u8, value: i32) -> Event {
        Event::Input { client: S, stream, value }
    }

    fn output(client: ClientId, value: i32) -> Event {
        Event::Output { client, value }
    }

    fn counted(client: ClientId) -> Event {
        Event::Counted { client }
    }

    /// The mean of two, and a count from the second number on. In two streams 10, 20 and 60.
    fn numbers(history: &[Event]) -> ExactlyOnce {
        let inputs = [input(0, 10), input(0, 20), input(1, 60)];
        after(ExactlyOnce::default(), &[&inputs[..], history].concat())
    }

    #[test]
    fn every_order_of_the_streams_is_one_that_a_single_handler_may_have_taken() {
        for outputs in [[10, 15, 40], [10, 35, 40], [60, 35, 15]] {
            let [first, second, third] = outputs.map(|value| output(A, value));
            assert_kept(numbers(&[]), &[first, second, counted(A), third, counted(A), SETTLED]);
            assert_kept(numbers(&[]), &[first, counted(A), second, counted(A), third, SETTLED]);
        }
    }

    #[test]
    fn an_order_that_no_stream_has_is_rejected() {
        assert_broken(numbers(&[]), &[output(A, 20)], A, A);
        assert_broken(numbers(&[]), &[output(A, 60), output(A, 40)], A, A);
        assert_broken(numbers(&[output(A, 10), output(A, 35)]), &[output(A, 15)], A, A);
    }

    #[test]
    fn a_crash_before_anything_was_written_and_one_after_everything_was_are_harmless() {
        let step =
            [output(A, 10), crashed(A), output(B, 15), counted(B), crashed(B), output(A, 40), counted(A)];
        assert_kept(numbers(&step), &[SETTLED]);
    }

    #[test]
    fn a_mean_put_out_again_after_a_crash_is_rejected() {
        assert_broken(numbers(&[output(A, 10), crashed(A)]), &[output(B, 10)], B, B);
    }

    #[test]
    fn a_count_too_many_is_rejected_as_soon_as_no_run_can_need_it() {
        let all = [output(A, 10), output(A, 15), counted(A), output(A, 40), counted(A)];
        assert_broken(numbers(&all), &[counted(B)], B, B);
        // Two numbers are left, and each will be counted.
        assert_kept(numbers(&[output(A, 10)]), &[counted(A), counted(A)]);
        assert_broken(numbers(&[output(A, 10)]), &[counted(A), counted(A), counted(A)], A, A);
    }

    #[test]
    fn a_state_that_has_a_number_twice_is_rejected() {
        // The state was saved with 20 in it, the position was not: the mean of 20 and 20.
        let history = [output(A, 10), output(A, 15), counted(A), crashed(A)];
        assert_broken(numbers(&history), &[output(B, 20)], B, B);
    }

    #[test]
    fn a_number_left_out_is_rejected_at_the_latest_when_all_is_done() {
        assert_broken(numbers(&[output(A, 10), output(A, 15), counted(A)]), &[SETTLED], S, S);
        assert_broken(numbers(&[output(A, 10), output(A, 15), counted(A), output(A, 40)]), &[SETTLED], S, S);
        // Passed over, it is missed in the next mean.
        let two = after(ExactlyOnce::default(), &[input(0, 10), input(0, 20)]);
        assert_broken(two, &[output(A, 20)], A, A);
    }

    #[test]
    fn a_handler_is_done_with_what_came_in_before_it_was_asked() {
        let asked = invoked(A, ObjectCall::Handle);
        let settled = Event::Settled { client: A };
        let before = [input(0, 10), input(0, 20), asked, input(0, 60)];
        let monitor = after(ExactlyOnce::default(), &[&before[..], &[output(A, 10)]].concat());
        assert_broken(monitor.clone(), &[settled], A, A);
        let monitor = after(monitor, &[output(A, 15)]);
        assert_broken(monitor.clone(), &[settled], A, A);
        let monitor = after(monitor, &[counted(A)]);
        assert_kept(monitor.clone(), &[settled]);
        // Another one has put out, and not counted yet, what came in after it was asked.
        let meanwhile = after(monitor.clone(), &[output(B, 40)]);
        assert_kept(meanwhile, &[settled]);
        // Asked again, it has to take what came in meanwhile.
        let again = after(monitor, &[settled, asked]);
        assert_broken(again.clone(), &[settled], A, A);
        assert_kept(again, &[output(A, 40), counted(A), settled]);
    }

    #[test]
    fn nothing_comes_out_before_it_came_in() {
        assert_broken(ExactlyOnce::default(), &[output(A, 10)], A, A);
        assert_broken(after(ExactlyOnce::default(), &[input(0, 10)]), &[counted(A)], A, A);
        assert_kept(ExactlyOnce::default(), &[SETTLED, input(0, 10), output(A, 10), SETTLED]);
    }

    #[test]
    fn two_handlers_at_once_may_take_turns_but_not_double() {
        let turns = [output(A, 10), output(B, 15), counted(A), output(A, 40), counted(B), SETTLED];
        assert_kept(numbers(&[]), &turns);
        assert_broken(numbers(&turns), &[output(B, 40)], B, B);
    }

    #[test]
    fn another_handler_puts_out_something_else() {
        let sum = |window, boundary| ExactlyOnce::of(Handler { window, boundary });
        let inputs = [input(0, 10), input(0, 20), input(0, 60)];
        let monitor = after(sum(3, 0), &inputs);
        assert_kept(monitor.clone(), &[output(A, 10), counted(A), output(A, 15), counted(A), output(A, 30)]);
        assert_broken(monitor, &[output(A, 10), output(A, 15), output(A, 40)], A, A);
    }

    #[test]
    fn after_a_violation_what_came_out_too_much_does_not_count() {
        let mut monitor = numbers(&[output(A, 10)]);
        assert!(monitor.observe(output(B, 10)).is_err());
        assert_eq!(monitor.runs, numbers(&[output(A, 10)]).runs);
    }

    #[test]
    fn runs_that_will_go_on_alike_are_one() {
        // Of each stream one number was taken, and in which order the window has forgotten.
        let handler = Handler { window: 1, boundary: 9 };
        let equal = [input(0, 5), input(1, 5), input(0, 6), input(1, 6)];
        let monitor = after(ExactlyOnce::of(handler), &equal);
        let monitor = after(monitor, &[output(A, 5), output(A, 5), output(A, 6), output(A, 6)]);
        assert_eq!(monitor.inputs, Vec::<Vec<i32>>::new());
        assert_eq!(monitor.runs, [Run::default()]);
    }
}
