//! One row of a trace, and what becomes of several that are not worth one each.

use super::cell::{Line, Style};
use picklock_model::cluster::{Cluster, Status};
use picklock_model::machine::Node;
use picklock_model::system::{InMode, Process, System};
use picklock_model::time::Micros;
use picklock_properties::{ClientId, ClientSet, LockId, ModeName, Violation};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;

/// One row of the trace.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) what: What,
    pub(super) step: usize,
    pub(super) at: Micros,
    /// How many times a client asked something in it: 0 or 1 in a step.
    pub(super) polls: usize,
    pub(super) cell: Option<(Node, Vec<Line>)>,
    /// How the nodes are after the step.
    pub(super) lanes: SmallVec<[Lane; 8]>,
    /// What clients have in modes after the step.
    pub(super) modes: SmallVec<[Mark; 2]>,
    pub(super) violations: SmallVec<[Violation; 1]>,
    pub(super) granted: Option<ClientId>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum What {
    Step(Weight),
    /// Several steps that are nothing new.
    Fold(Fold),
    /// Steps left out.
    Gap(Gap),
    /// A line of its own, across all columns.
    Banner(String),
}

/// What a step is to the reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Weight {
    /// Something was done to a node, a clock or a link.
    Fault,
    /// A message was lost or doubled.
    Loss,
    /// Something went on.
    News,
    /// The same as a moment ago, and nothing came of it.
    Repeat,
    /// Time passed.
    Tick,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Fold {
    pub(super) steps: usize,
    /// How often each client asked.
    pub(super) polls: BTreeMap<Node, usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Gap {
    pub(super) steps: usize,
    pub(super) losses: usize,
}

/// How a node is, for the marks that run down its column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Lane {
    pub(super) holds: bool,
    /// It holds beside somebody beside whom it may not.
    pub(super) overlaps: bool,
    /// It waits for an answer of a shared object, or is given it.
    pub(super) asks: bool,
    pub(super) paused: bool,
    pub(super) down: bool,
}

impl Row {
    pub(super) fn empty(step: usize) -> Row {
        Row {
            what: What::Step(Weight::News),
            step,
            at: Micros::ZERO,
            polls: 0,
            cell: None,
            lanes: smallvec![],
            modes: smallvec![],
            violations: smallvec![],
            granted: None,
        }
    }

    /// Whether it says at which numbered step of its algorithm a client stands: such numbers are not those of the rows.
    pub(super) fn is_at_step(&self) -> bool {
        let is_it = |line: &Line| {
            line.text.starts_with("step ") || line.text.contains(" step ") && line.style == Style::Holds
        };
        self.cell.iter().flat_map(|(_, lines)| lines).any(is_it)
    }

    /// Takes another row into a fold or a gap.
    pub(super) fn absorb(&mut self, row: Row) {
        let (steps, losses) = match &row.what {
            What::Step(weight) => (1, usize::from(*weight == Weight::Loss)),
            What::Fold(fold) => (fold.steps, 0),
            What::Gap(gap) => (gap.steps, gap.losses),
            What::Banner(_) => (0, 0),
        };
        match &mut self.what {
            What::Fold(fold) => {
                fold.steps += steps;
                if let Some((node, _)) = row.cell
                    && row.polls > 0
                {
                    *fold.polls.entry(node).or_default() += row.polls;
                }
            }
            What::Gap(gap) => {
                gap.steps += steps;
                gap.losses += losses;
            }
            What::Step(_) | What::Banner(_) => unreachable!("only folds and gaps absorb rows"),
        }
        (self.step, self.at, self.lanes, self.modes) = (row.step, row.at, row.lanes, row.modes);
    }
}

/// In which mode a client has something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    pub(super) client: u8,
    pub(super) resource: LockId,
    has: Option<ModeName>,
    wants: Option<ModeName>,
}

impl Mark {
    /// `PR`, `PR→EX`, `→EX`.
    pub(super) fn words(&self) -> String {
        let has = self.has.map_or_else(String::new, |mode| mode.to_string());
        self.wants.map_or_else(|| has.clone(), |wants| format!("{has}→{wants}"))
    }
}

/// What everybody has in modes.
pub(super) fn marks<Y: System>(cluster: &Cluster<Y>) -> SmallVec<[Mark; 2]> {
    let modes = *cluster.usage().accesses.modes();
    let of_client = |(client, process): (u8, &Y::Process)| {
        let mark = move |InMode { resource, has, wants }| {
            let name = |access| modes.name(access);
            Mark { client, resource, has: has.map(name), wants: wants.map(name) }
        };
        process.in_modes().into_iter().map(mark).collect::<SmallVec<[Mark; 2]>>()
    };
    (0..).zip(&cluster.clients).flat_map(of_client).collect()
}

/// How the nodes are; `asking` wait for an answer of a shared object, or have just been given it.
pub(super) fn lanes<Y: System>(cluster: &Cluster<Y>, asking: ClientSet) -> SmallVec<[Lane; 8]> {
    let usage = cluster.usage();
    cluster
        .nodes()
        .map(|node| {
            let status = cluster.condition(node).status;
            let client = match node {
                Node::Client(client) => Some(ClientId(client)),
                Node::Server(_) | Node::Resource => None,
            };
            let holder = client.filter(|client| usage.holding.contains(*client));
            Lane {
                holds: holder.is_some(),
                overlaps: holder.is_some_and(|holder| !usage.in_the_way_of(holder).is_empty()),
                asks: client.is_some_and(|client| asking.contains(client)),
                paused: matches!(status, Status::Paused { .. }),
                down: matches!(status, Status::Down { .. }),
            }
        })
        .collect()
}
