//! Strongly connected components, without recursion: explored graphs have chains of a million states.

/// A directed graph in compressed rows: the edges of node `n` are `edges[starts[n]..starts[n + 1]]`.
pub struct Rows<'a> {
    /// Where each node's edges begin; one more entry than nodes.
    pub starts: &'a [u32],
    /// Where each edge leads.
    pub targets: &'a [u32],
    /// Which edges count; `None`: all.
    pub usable: Option<&'a [bool]>,
}

impl Rows<'_> {
    fn of(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// Whether the edge at this position among the node's edges counts.
    fn is_usable(&self, node: u32, position: usize) -> bool {
        self.usable.is_none_or(|usable| usable[self.starts[node as usize] as usize + position])
    }
}

const UNSEEN: u32 = u32::MAX;

/// Tarjan's algorithm with an explicit stack, on the nodes for which `inside` holds. Components come in reverse
/// topological order, each with its nodes in no particular order.
pub fn components(rows: &Rows, inside: &dyn Fn(u32) -> bool) -> Vec<Vec<u32>> {
    let nodes = rows.starts.len() - 1;
    let mut index = vec![UNSEEN; nodes];
    let mut low = vec![0_u32; nodes];
    let mut on_stack = vec![false; nodes];
    let mut stack: Vec<u32> = Vec::new();
    let mut calls: Vec<(u32, u32)> = Vec::new();
    let mut next_index = 0;
    let mut found = Vec::new();
    for root in 0..nodes as u32 {
        if index[root as usize] != UNSEEN || !inside(root) {
            continue;
        }
        calls.push((root, 0));
        while let Some((node, edge)) = calls.pop() {
            let at = node as usize;
            if edge == 0 {
                index[at] = next_index;
                low[at] = next_index;
                next_index += 1;
                stack.push(node);
                on_stack[at] = true;
            }
            let edges = rows.of(node);
            let mut position = edge as usize;
            // Coming back from a child: the edge before this one led to it.
            if position > 0 {
                low[at] = low[at].min(low[edges[position - 1] as usize]);
            }
            let mut descended = false;
            while position < edges.len() {
                let target = edges[position];
                position += 1;
                if !inside(target) || !rows.is_usable(node, position - 1) {
                    continue;
                }
                if index[target as usize] == UNSEEN {
                    calls.push((node, position as u32));
                    calls.push((target, 0));
                    descended = true;
                    break;
                }
                if on_stack[target as usize] {
                    low[at] = low[at].min(index[target as usize]);
                }
            }
            if descended {
                continue;
            }
            if low[at] == index[at] {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack[member as usize] = false;
                    component.push(member);
                    if member == node {
                        break;
                    }
                }
                found.push(component);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use petgraph::algo::kosaraju_scc;
    use petgraph::graph::{DiGraph, NodeIndex};
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The edges of each node, in compressed rows.
    fn rows(edges_of: &[Vec<u32>]) -> (Vec<u32>, Vec<u32>) {
        let mut starts = vec![0];
        starts.extend(edges_of.iter().scan(0, |end, edges| {
            *end += edges.len() as u32;
            Some(*end)
        }));
        (starts, edges_of.concat())
    }

    fn sorted(mut components: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
        components.iter_mut().for_each(|component| component.sort_unstable());
        components.sort_unstable();
        components
    }

    /// The same by petgraph: node weights are our numbers, nodes outside are left out.
    fn by_petgraph(edges_of: &[Vec<u32>], inside: &[bool]) -> Vec<Vec<u32>> {
        let mut graph = DiGraph::<u32, ()>::new();
        let place: Vec<Option<NodeIndex>> =
            (0..).zip(inside).map(|(node, inside)| inside.then(|| graph.add_node(node))).collect();
        for (node, edges) in edges_of.iter().enumerate() {
            for target in edges {
                if let (Some(from), Some(to)) = (place[node], place[*target as usize]) {
                    graph.add_edge(from, to, ());
                }
            }
        }
        let components = kosaraju_scc(&graph);
        components.into_iter().map(|nodes| nodes.into_iter().map(|node| graph[node]).collect()).collect()
    }

    /// Graphs of up to 24 nodes with few edges each, so that components of all sizes come up, and some nodes outside.
    fn graphs() -> impl Strategy<Value = (Vec<Vec<u32>>, Vec<bool>)> {
        let nodes = vec((vec(any::<u32>(), 0..4), prop::bool::weighted(0.85)), 1..24);
        nodes.prop_map(|nodes| {
            let count = nodes.len() as u32;
            let (mut edges_of, inside): (Vec<Vec<u32>>, Vec<bool>) = nodes.into_iter().unzip();
            edges_of.iter_mut().flatten().for_each(|target| *target %= count);
            (edges_of, inside)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn components_are_those_that_petgraph_finds((edges_of, inside) in graphs()) {
            let (starts, targets) = rows(&edges_of);
            let rows = Rows { starts: &starts, targets: &targets, usable: None };
            let found = components(&rows, &|node| inside[node as usize]);
            prop_assert_eq!(sorted(found), sorted(by_petgraph(&edges_of, &inside)));
        }

        #[test]
        fn an_edge_that_does_not_count_is_as_good_as_none((edges_of, inside) in graphs(), counts in any::<u64>()) {
            let (starts, targets) = rows(&edges_of);
            let usable: Vec<bool> = (0..targets.len()).map(|edge| counts >> (edge % 64) & 1 == 1).collect();
            let rows = Rows { starts: &starts, targets: &targets, usable: Some(&usable) };
            let found = components(&rows, &|node| inside[node as usize]);
            let kept: Vec<Vec<u32>> = (0..edges_of.len())
                .map(|node| starts[node] as usize..starts[node + 1] as usize)
                .map(|edges| edges.filter(|edge| usable[*edge]).map(|edge| targets[edge]).collect())
                .collect();
            prop_assert_eq!(sorted(found), sorted(by_petgraph(&kept, &inside)));
        }

        #[test]
        fn no_component_leads_to_a_later_one((edges_of, inside) in graphs()) {
            let (starts, targets) = rows(&edges_of);
            let rows = Rows { starts: &starts, targets: &targets, usable: None };
            let found = components(&rows, &|node| inside[node as usize]);
            let component_of = |node: u32| found.iter().position(|component| component.contains(&node));
            for (place, component) in found.iter().enumerate() {
                for target in component.iter().flat_map(|node| &edges_of[*node as usize]) {
                    prop_assert!(component_of(*target).is_none_or(|to| to <= place));
                }
            }
        }
    }

    const LONG: u32 = 1_000_000;

    #[test]
    fn a_chain_of_a_million_nodes_does_not_overflow_the_stack() {
        let starts: Vec<u32> = (0..LONG).chain([LONG - 1]).collect();
        let targets: Vec<u32> = (1..LONG).collect();
        let found = components(&Rows { starts: &starts, targets: &targets, usable: None }, &|_| true);
        assert_eq!(found.len(), LONG as usize);
    }

    #[test]
    fn a_ring_of_a_million_nodes_is_one_component() {
        let starts: Vec<u32> = (0..=LONG).collect();
        let targets: Vec<u32> = (1..LONG).chain([0]).collect();
        let found = components(&Rows { starts: &starts, targets: &targets, usable: None }, &|_| true);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [LONG as usize]);
    }
}
