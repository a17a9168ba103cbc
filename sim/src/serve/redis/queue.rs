//! What the futures of one connection hand to each other.
//!
//! They are polled in the order in which things go from one to the next, as one task. So who puts something in need not wake
//! who takes it out: that one's turn is about to come. A channel would wake the task once more for every command.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// A queue with one reader.
#[derive(Debug)]
pub struct Queue<T>(Mutex<Waiting<T>>);

#[derive(Debug)]
struct Waiting<T> {
    items: VecDeque<(usize, T)>,
    /// The sizes of all items.
    size: usize,
    is_closed: bool,
    /// Whoever should read is gone, or is to go.
    is_given_up: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// Who is to hear that it is given up.
    watcher: Option<Waker>,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        let items = VecDeque::new();
        Queue(Mutex::new(Waiting {
            items,
            size: 0,
            is_closed: false,
            is_given_up: false,
            reader: None,
            writer: None,
            watcher: None,
        }))
    }
}

impl<T> Queue<T> {
    /// Adds an item of this size, for a reader that is polled after this future and in the same task.
    pub fn add(&self, size: usize, item: T) {
        let mut waiting = self.lock();
        if waiting.is_given_up {
            return;
        }
        waiting.size += size;
        waiting.items.push_back((size, item));
    }

    /// Adds an item of this size, and wakes the reader, wherever it is.
    pub fn send(&self, size: usize, item: T) {
        self.add(size, item);
        let reader = self.lock().reader.take();
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Nothing will be added any more, says a future that is polled before the reader and in the same task.
    pub fn close(&self) {
        self.lock().is_closed = true;
    }

    /// The sizes of all items that were not taken out.
    pub fn size(&self) -> usize {
        self.lock().size
    }

    /// What is in it is thrown away, and nothing gets into it any more.
    pub fn give_up(&self) {
        let mut waiting = self.lock();
        (waiting.is_given_up, waiting.size) = (true, 0);
        let (items, watcher) = (std::mem::take(&mut waiting.items), waiting.watcher.take());
        drop(waiting);
        drop(items);
        if let Some(watcher) = watcher {
            watcher.wake();
        }
    }

    /// Waits until it is given up.
    pub async fn ends(&self) {
        poll_fn(|cx| {
            let mut waiting = self.lock();
            if waiting.is_given_up {
                return Poll::Ready(());
            }
            if waiting.watcher.as_ref().is_none_or(|watcher| !watcher.will_wake(cx.waker())) {
                waiting.watcher = Some(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// Waits until the items' sizes come to so much at most; whether it had to wait.
    pub async fn shrinks_to(&self, size: usize) -> bool {
        let mut has_waited = false;
        poll_fn(|cx| {
            let mut waiting = self.lock();
            if waiting.size <= size {
                return Poll::Ready(has_waited);
            }
            has_waited = true;
            waiting.writer = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// The next item, when there is one; `None`: there will be none.
    pub async fn next(&self) -> Option<T> {
        poll_fn(|cx| {
            let mut waiting = self.lock();
            if let Some(item) = waiting.pop() {
                return Poll::Ready(Some(item));
            }
            if waiting.is_closed {
                return Poll::Ready(None);
            }
            if waiting.reader.as_ref().is_none_or(|reader| !reader.will_wake(cx.waker())) {
                waiting.reader = Some(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// The next item, if it is there and this holds of it.
    pub fn next_if(&self, holds: impl FnOnce(&T) -> bool) -> Option<T> {
        let mut waiting = self.lock();
        let is_next = waiting.items.front().is_some_and(|(_, item)| holds(item));
        if is_next { waiting.pop() } else { None }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Waiting<T> {
    fn pop(&mut self) -> Option<T> {
        let (size, item) = self.items.pop_front()?;
        self.size -= size;
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake};

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Count>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_reader_elsewhere_is_woken_and_one_of_the_same_task_is_not() {
        let (queue, count) = (Queue::default(), Arc::new(Count::default()));
        let waker = Waker::from(count.clone());
        let mut cx = Context::from_waker(&waker);
        {
            let mut next = pin!(queue.next());
            assert_eq!(next.as_mut().poll(&mut cx), Poll::Pending);
            queue.add(1, 'a');
            assert_eq!(count.0.load(Ordering::Relaxed), 0);
            assert_eq!(next.poll(&mut cx), Poll::Ready(Some('a')));
        }
        let mut next = pin!(queue.next());
        assert_eq!(next.as_mut().poll(&mut cx), Poll::Pending);
        queue.send(1, 'b');
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(next.poll(&mut cx), Poll::Ready(Some('b')));
        queue.close();
        assert_eq!(pin!(queue.next()).poll(&mut cx), Poll::Ready(None));
    }

    #[test]
    fn what_is_given_up_is_empty_and_stays_so() {
        let (queue, count) = (Queue::default(), Arc::new(Count::default()));
        let waker = Waker::from(count.clone());
        let mut cx = Context::from_waker(&waker);
        queue.send(5, 'a');
        let mut ends = pin!(queue.ends());
        assert_eq!(ends.as_mut().poll(&mut cx), Poll::Pending);
        queue.give_up();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(ends.poll(&mut cx), Poll::Ready(()));
        queue.send(5, 'b');
        assert_eq!((queue.size(), queue.next_if(|_| true)), (0, None));
    }

    #[test]
    fn who_waits_for_room_is_woken_when_something_was_taken_out() {
        let (queue, count) = (Queue::default(), Arc::new(Count::default()));
        let waker = Waker::from(count.clone());
        let mut cx = Context::from_waker(&waker);
        queue.add(5, 'a');
        queue.add(5, 'b');
        let mut shrinks = pin!(queue.shrinks_to(5));
        assert_eq!(shrinks.as_mut().poll(&mut cx), Poll::Pending);
        assert_eq!(queue.next_if(|item| *item == 'b'), None);
        assert_eq!(queue.next_if(|item| *item == 'a'), Some('a'));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(shrinks.poll(&mut cx), Poll::Ready(true));
        assert_eq!(pin!(queue.shrinks_to(5)).poll(&mut cx), Poll::Ready(false));
    }
}
