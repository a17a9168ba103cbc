//! What proptest shrinks with: the reductions of `picklock shrink`, driven by whether somebody's test still fails.

use crate::plans::plan::Trigger;
use crate::plans::shrink::reductions::{Reduce, Reductions};
use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::{Reason, TestRunner};
use std::fmt::{Debug, Formatter};

/// A value, and what could go from it next.
pub(super) struct Tree<T> {
    /// The smallest value that failed.
    kept: T,
    current: T,
    reductions: Reductions,
    /// Whether `current` is a candidate, and not `kept` itself.
    is_candidate: bool,
}

impl<T: Reduce> Tree<T> {
    /// Faults can be aimed at `aims`; each candidate is tried in `others` other ways, too.
    pub fn new(drawn: T, aims: Vec<Trigger>, others: u64) -> Tree<T> {
        let reductions = Reductions::new(aims, others);
        Tree { kept: drawn.clone(), current: drawn, reductions, is_candidate: false }
    }

    /// Goes on to the next candidate; back to what failed last if there is none.
    fn go_on(&mut self) -> bool {
        let next = self.reductions.next(&self.kept);
        self.is_candidate = next.is_some();
        self.current = next.map_or_else(|| self.kept.clone(), |(_, candidate)| candidate);
        self.is_candidate
    }
}

impl<T: Reduce + Debug> ValueTree for Tree<T> {
    type Value = T;

    fn current(&self) -> T {
        self.current.clone()
    }

    /// The current value fails: something smaller.
    fn simplify(&mut self) -> bool {
        if self.is_candidate {
            self.kept = self.current.clone();
            self.reductions.keep();
        }
        self.go_on()
    }

    /// The current value does not fail: something else.
    fn complicate(&mut self) -> bool {
        self.go_on()
    }
}

/// A strategy that draws its trees itself.
pub(super) struct Drawn<D> {
    draw: D,
}

impl<T, D: Fn(&mut TestRunner) -> Result<Tree<T>, Reason>> Drawn<D> {
    /// By this function.
    pub fn new(draw: D) -> Drawn<D> {
        Drawn { draw }
    }
}

impl<T: Reduce + Debug, D: Fn(&mut TestRunner) -> Result<Tree<T>, Reason>> Strategy for Drawn<D> {
    type Tree = Tree<T>;
    type Value = T;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        (self.draw)(runner)
    }
}

impl<D> Debug for Drawn<D> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("Drawn")
    }
}
