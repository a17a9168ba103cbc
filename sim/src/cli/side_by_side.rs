//! Tasks that are done side by side and told one after the other, in their order.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

/// Does all tasks on so many threads, and tells what came of each on this one: the first first, as soon as it and all before it are done.
/// When whoever is told wants to hear no more, what has begun is ended, and nothing else is begun.
///
/// # Panics
/// When a task panics.
pub fn side_by_side<T: Sync, R: Send>(
    tasks: &[T],
    threads: usize,
    does: impl Fn(&T) -> R + Sync,
    mut tells: impl FnMut(&T, R) -> ControlFlow<()>,
) {
    let next = AtomicUsize::new(0);
    let (sender, done) = channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(tasks.len()) {
            let (sender, next, does) = (sender.clone(), &next, &does);
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(task) = tasks.get(place) else { break };
                    if sender.send((place, does(task))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut told = 0;
        let mut early = BTreeMap::new();
        for (place, result) in done {
            early.insert(place, result);
            while let Some(result) = early.remove(&told) {
                if tells(&tasks[told], result).is_break() {
                    next.store(tasks.len(), Ordering::Relaxed);
                    return;
                }
                told += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_done_early_is_told_in_its_turn() {
        let tasks: Vec<u64> = (0..20).collect();
        for threads in [1, 2, 7, 50] {
            let mut told = Vec::new();
            let slow = |task: &u64| {
                std::thread::sleep(Duration::from_millis(7 * (task % 3)));
                task * 10
            };
            side_by_side(&tasks, threads, slow, |task, ten| {
                told.push((*task, ten));
                ControlFlow::Continue(())
            });
            assert_eq!(told, tasks.iter().map(|task| (*task, task * 10)).collect::<Vec<_>>());
        }
        side_by_side(&[], 2, |task: &u64| *task, |_, _| panic!("there is nothing to tell"));
    }

    #[test]
    fn who_has_heard_enough_hears_no_more() {
        let (tasks, done) = ((0..1_000).collect::<Vec<usize>>(), AtomicUsize::new(0));
        let slow = |_: &usize| {
            std::thread::sleep(Duration::from_millis(1));
            done.fetch_add(1, Ordering::Relaxed)
        };
        let mut told = 0;
        side_by_side(&tasks, 2, slow, |task, _| {
            told += 1;
            if *task == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(told, 4);
        assert!(done.load(Ordering::Relaxed) < 1_000, "nothing else is begun");
    }
}
