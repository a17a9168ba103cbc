//! How a process hangs: turmoil has no verb for it, so its futures are not polled for a while. Sockets go on without it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// What every task of a node's process has to pass to do anything.
#[derive(Default, Debug)]
pub(super) struct Gate(Mutex<State>);

#[derive(Default, Debug)]
struct State {
    is_closed: bool,
    /// Who wanted to go on meanwhile, in that order.
    waiting: Vec<Waker>,
}

impl Gate {
    /// The process hangs.
    pub fn close(&self) {
        self.state().is_closed = true;
    }

    /// The process goes on.
    pub fn open(&self) {
        let waiting = {
            let mut state = self.state();
            state.is_closed = false;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lets_pass(&self, cx: &Context<'_>) -> bool {
        let mut state = self.state();
        if state.is_closed && !state.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.waiting.push(cx.waker().clone());
        }
        !state.is_closed
    }
}

/// A task of a process that may hang.
pub(super) struct Gated<F> {
    gate: Arc<Gate>,
    task: Pin<Box<F>>,
}

impl<F> Gated<F> {
    pub fn new(gate: Arc<Gate>, task: F) -> Self {
        Gated { gate, task: Box::pin(task) }
    }
}

impl<F: Future> Future for Gated<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if self.gate.lets_pass(cx) { self.task.as_mut().poll(cx) } else { Poll::Pending }
    }
}
