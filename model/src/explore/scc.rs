//! Strongly connected components, without recursion: explored graphs have chains of a million states.

/// A directed graph in compressed rows: the edges of node `n` are `edges[starts[n]..starts[n + 1]]`.
pub struct Rows<'a> {
    /// Where each node's edges begin; one more entry than nodes.
    pub starts: &'a [u32],
    /// Where each edge leads.
    pub targets: &'a [u32],
}

impl Rows<'_> {
    fn of(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
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
                if !inside(target) {
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
