//! Cycles of a graph whose edges have kinds.

/// Why one transaction comes before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Edge {
    /// The other wrote over what it wrote.
    WriteWrite,
    /// The other read what it wrote.
    WriteRead,
    /// The other wrote over what it read.
    ReadWrite,
}

/// Edges from each node.
#[derive(Debug, Default)]
pub(super) struct Graph {
    out: Vec<Vec<(usize, Edge)>>,
}

impl Graph {
    pub(super) fn new(nodes: usize) -> Graph {
        Graph {
            out: vec![Vec::new(); nodes],
        }
    }

    pub(super) fn add(&mut self, from: usize, to: usize, kind: Edge) {
        if from != to
            && let Some(out) = self.out.get_mut(from)
            && !out.contains(&(to, kind))
        {
            out.push((to, kind));
        }
    }

    /// The shortest way from a node to another over edges that `allowed` admits: the nodes, both ends among
    /// them.
    pub(super) fn way(
        &self,
        from: usize,
        to: usize,
        allowed: &dyn Fn(Edge) -> bool,
    ) -> Option<Vec<usize>> {
        let mut came = vec![usize::MAX; self.out.len()];
        let mut queue = std::collections::VecDeque::from([from]);
        let mut begun = vec![false; self.out.len()];
        *begun.get_mut(from)? = true;
        while let Some(node) = queue.pop_front() {
            for &(next, kind) in &self.out[node] {
                if !allowed(kind) || begun[next] {
                    continue;
                }
                begun[next] = true;
                came[next] = node;
                if next == to {
                    let mut way = vec![to];
                    let mut at = to;
                    while at != from {
                        at = came[at];
                        way.push(at);
                    }
                    way.reverse();
                    return Some(way);
                }
                queue.push_back(next);
            }
        }
        None
    }

    /// A cycle that has one edge of the kind `closing`, and else only those that `others` admits: exactly
    /// one, or at least one where they are among the others.
    pub(super) fn cycle(&self, closing: Edge, others: &dyn Fn(Edge) -> bool) -> Option<Vec<usize>> {
        // Only edges that lie on some cycle are searched.
        let part = self.components(&|edge| edge == closing || others(edge));
        for (from, out) in self.out.iter().enumerate() {
            for &(to, kind) in out {
                if kind == closing
                    && part[from] == part[to]
                    && let Some(way) = self.way(to, from, others)
                {
                    return Some(way);
                }
            }
        }
        None
    }

    /// The strongly connected component of each node, by Tarjan's algorithm without recursion.
    fn components(&self, allowed: &dyn Fn(Edge) -> bool) -> Vec<usize> {
        let nodes = self.out.len();
        let (mut index, mut low) = (vec![usize::MAX; nodes], vec![0; nodes]);
        let (mut part, mut on_stack) = (vec![usize::MAX; nodes], vec![false; nodes]);
        let (mut stack, mut next) = (Vec::new(), 0);
        for root in 0..nodes {
            if index[root] != usize::MAX {
                continue;
            }
            let mut path = vec![(root, 0)];
            while let Some((node, edge)) = path.pop() {
                if edge == 0 {
                    (index[node], low[node]) = (next, next);
                    next += 1;
                    stack.push(node);
                    on_stack[node] = true;
                }
                let mut rest = self.out[node].iter().enumerate().skip(edge);
                let child = rest.find(|(_, (to, kind))| {
                    if allowed(*kind) && index[*to] != usize::MAX && on_stack[*to] {
                        low[node] = low[node].min(index[*to]);
                    }
                    allowed(*kind) && index[*to] == usize::MAX
                });
                if let Some((at, &(to, _))) = child {
                    path.push((node, at + 1));
                    path.push((to, 0));
                    continue;
                }
                if low[node] == index[node] {
                    while let Some(member) = stack.pop() {
                        on_stack[member] = false;
                        part[member] = node;
                        if member == node {
                            break;
                        }
                    }
                }
                if let Some(&(above, _)) = path.last() {
                    low[above] = low[above].min(low[node]);
                }
            }
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Edge::{ReadWrite, WriteRead, WriteWrite};

    fn graph(edges: &[(usize, usize, Edge)]) -> Graph {
        let mut graph = Graph::new(8);
        for &(from, to, kind) in edges {
            graph.add(from, to, kind);
        }
        graph
    }

    #[test]
    fn a_cycle_is_found_by_the_kinds_of_its_edges() {
        let g = graph(&[
            (0, 1, WriteWrite),
            (1, 2, WriteRead),
            (2, 0, ReadWrite),
            (2, 3, WriteWrite),
        ]);
        let written = |edge| edge != ReadWrite;
        assert_eq!(g.cycle(WriteWrite, &|edge| edge == WriteWrite), None);
        assert_eq!(g.cycle(WriteRead, &written), None);
        assert_eq!(g.cycle(ReadWrite, &written), Some(vec![0, 1, 2]));
    }

    #[test]
    fn two_nodes_that_come_before_each_other_are_a_cycle_and_a_way_is_not() {
        let g = graph(&[(4, 5, ReadWrite), (5, 4, ReadWrite), (5, 6, WriteRead)]);
        assert_eq!(g.cycle(ReadWrite, &|edge| edge != ReadWrite), None);
        assert!(g.cycle(ReadWrite, &|_| true).is_some());
        assert!(
            graph(&[(0, 1, WriteWrite), (1, 2, WriteWrite)])
                .cycle(WriteWrite, &|_| true)
                .is_none()
        );
    }

    #[test]
    fn components_are_those_of_a_graph_with_two_knots() {
        let g = graph(&[
            (0, 1, WriteWrite),
            (1, 2, WriteWrite),
            (2, 0, WriteWrite),
            (2, 3, WriteWrite),
            (3, 4, WriteWrite),
            (4, 3, WriteWrite),
        ]);
        let part = g.components(&|_| true);
        assert!(part[0] == part[1] && part[1] == part[2] && part[3] == part[4]);
        assert!(part[2] != part[3] && part[5] != part[6]);
    }
}
