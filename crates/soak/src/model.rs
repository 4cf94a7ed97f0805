//! What a store may hold after a crash, recorded outside of it.
//!
//! A database is treated as a map of [`Cell`]s to versions: a row of a table, a table, a file. A transaction
//! is the list of cells that it changed. It is reported to the model twice: *before* the request for its
//! commit ([`Model::begin_commit`]) and *after* the commit was acknowledged ([`Model::acknowledge`]). A
//! commit that was not begun must not be seen; one that was acknowledged must be seen; one that was only
//! begun is there as a whole or not at all.
//!
//! # Invariants
//! 1. A store that locks rows until commit changes a cell in the order in which commits are begun: so the
//!    commits begun on a cell make a chain, and after a crash a cell holds what some prefix of its chain
//!    has left.
//! 2. A transaction in the chain before an acknowledged one has happened too: its locks were free.
//! 3. A version is used once, so that the version in a cell identifies its writer. Only absence does not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A place that holds a version or is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cell {
    /// A data file that was added.
    File(u16),
    /// A table, by its slot; the version distinguishes one incarnation from the next.
    Table(u16),
    /// A row: the table's slot, the key.
    Row(u16, i64),
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::File(file) => write!(f, "file {file}"),
            Cell::Table(table) => write!(f, "table {table}"),
            Cell::Row(table, key) => write!(f, "row {key} of table {table}"),
        }
    }
}

/// What a cell holds.
pub type Content = Option<u64>;

/// All cells that hold something.
pub type State = BTreeMap<Cell, u64>;

/// A commit that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit(u64);

impl Commit {
    /// Its number in its model, from 1.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A difference between the store and what it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which of the commits that were never answered happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// They are there.
    pub happened: u64,
    /// They are not.
    pub vanished: u64,
}

#[derive(Debug, Clone)]
struct Pending {
    cells: Vec<Cell>,
    /// An acknowledged commit follows it in a chain.
    happened: bool,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Model {
    settled: State,
    /// What the commits begun on a cell leave in it, in their order.
    chains: BTreeMap<Cell, Vec<(Commit, Content)>>,
    pending: BTreeMap<Commit, Pending>,
    last: u64,
}

impl Model {
    /// Of an empty store.
    pub fn new() -> Model {
        Model::default()
    }

    /// The cells that are in the store for certain.
    pub fn settled(&self) -> &State {
        &self.settled
    }

    /// Commits that were begun and never answered.
    pub fn unanswered(&self) -> usize {
        self.pending.len()
    }

    /// Whether a commit that was never answered has changed this cell.
    pub fn is_open(&self, cell: Cell) -> bool {
        self.chains.contains_key(&cell)
    }

    /// A transaction that has left these contents is about to be committed; while its locks are held. Of
    /// several changes of one cell the last counts.
    pub fn begin_commit(&mut self, effects: &[(Cell, Content)]) -> Commit {
        self.last += 1;
        let commit = Commit(self.last);
        let last: BTreeMap<Cell, Content> = effects.iter().copied().collect();
        for (&cell, &content) in &last {
            self.chains.entry(cell).or_default().push((commit, content));
        }
        let cells = last.into_keys().collect();
        let pending = Pending {
            cells,
            happened: false,
        };
        self.pending.insert(commit, pending);
        commit
    }

    /// The store has acknowledged it.
    pub fn acknowledge(&mut self, commit: Commit) {
        self.end(commit, true);
    }

    /// The store has reported for certain that it did not happen.
    pub fn withdraw(&mut self, commit: Commit) {
        self.end(commit, false);
    }

    fn end(&mut self, commit: Commit, happened: bool) {
        let Some(ended) = self.pending.remove(&commit) else {
            return;
        };
        for cell in ended.cells {
            let Some(chain) = self.chains.get_mut(&cell) else {
                continue;
            };
            let Some(at) = chain.iter().position(|link| link.0 == commit) else {
                continue;
            };
            let (_, content) = chain[at];
            if happened {
                for (earlier, _) in chain.drain(..=at) {
                    if let Some(pending) = self.pending.get_mut(&earlier) {
                        pending.happened = true;
                    }
                }
                settle(&mut self.settled, cell, content);
            } else {
                chain.remove(at);
            }
            if chain.is_empty() {
                self.chains.remove(&cell);
            }
        }
    }

    /// Whether a store may hold this after a crash now.
    pub fn check(&self, found: &State) -> Result<Outcome, Violation> {
        let cells: BTreeSet<Cell> = self
            .settled
            .keys()
            .chain(self.chains.keys())
            .chain(found.keys())
            .copied()
            .collect();
        let mut known: BTreeMap<Commit, bool> = self
            .pending
            .iter()
            .filter(|(_, p)| p.happened)
            .map(|(c, _)| (*c, true))
            .collect();
        let mut doubtful = Vec::new();
        for cell in cells {
            let content = found.get(&cell).copied();
            let prefixes = self.prefixes(cell, content)?;
            if prefixes.len() > 1 {
                doubtful.push((cell, prefixes));
            } else if let (Some(chain), Some(&kept)) = (self.chains.get(&cell), prefixes.first()) {
                for (place, (commit, _)) in chain.iter().enumerate() {
                    let is_in = place < kept;
                    if *known.entry(*commit).or_insert(is_in) != is_in {
                        return Err(self.torn(*commit, found));
                    }
                }
            }
        }
        self.solve(&doubtful, &mut known, found)?;
        let happened = known.values().filter(|is_in| **is_in).count() as u64;
        Ok(Outcome {
            happened,
            vanished: self.pending.len() as u64 - happened,
        })
    }

    /// How many of the commits begun on a cell may have happened, by what it holds.
    fn prefixes(&self, cell: Cell, content: Content) -> Result<Vec<usize>, Violation> {
        let none = Vec::new();
        let chain = self.chains.get(&cell).unwrap_or(&none);
        let settled = self.settled.get(&cell).copied();
        let left = std::iter::once(settled).chain(chain.iter().map(|link| link.1));
        let fitting: Vec<usize> = left
            .enumerate()
            .filter(|(_, c)| *c == content)
            .map(|(n, _)| n)
            .collect();
        if fitting.is_empty() {
            let begun: Vec<String> = chain.iter().map(|(_, c)| shown(*c)).collect();
            let begun = if begun.is_empty() {
                "no commit of it was under way".to_owned()
            } else {
                format!("under way were {}", begun.join(", then "))
            };
            return Err(Violation(format!(
                "{cell} holds {}, acknowledged is {}, {begun}",
                shown(content),
                shown(settled)
            )));
        }
        Ok(fitting)
    }

    /// Cells that several prefixes explain are tried one after the other against the known outcomes of their
    /// commits.
    fn solve(
        &self,
        doubtful: &[(Cell, Vec<usize>)],
        known: &mut BTreeMap<Commit, bool>,
        found: &State,
    ) -> Result<(), Violation> {
        let Some(((cell, prefixes), others)) = doubtful.split_first() else {
            return Ok(());
        };
        let none = Vec::new();
        let chain = self.chains.get(cell).unwrap_or(&none);
        let mut reason = None;
        for &kept in prefixes {
            let mut tried = known.clone();
            let clash = chain.iter().enumerate().find(|(place, (commit, _))| {
                *tried.entry(*commit).or_insert(*place < kept) != (*place < kept)
            });
            if let Some((_, (commit, _))) = clash {
                reason.get_or_insert(*commit);
            } else if self.solve(others, &mut tried, found).is_ok() {
                *known = tried;
                return Ok(());
            }
        }
        let commit = reason
            .or_else(|| chain.first().map(|link| link.0))
            .unwrap_or(Commit(0));
        Err(self.torn(commit, found))
    }

    fn torn(&self, commit: Commit, found: &State) -> Violation {
        let mut text = format!("transaction {} is there in part:", commit.0);
        let none = Vec::new();
        let pending = self.pending.get(&commit);
        for cell in pending.map_or(&none, |p| &p.cells) {
            let chain = self.chains.get(cell).map_or(&[][..], Vec::as_slice);
            let wrote = chain
                .iter()
                .find(|link| link.0 == commit)
                .and_then(|link| link.1);
            let before = self.settled.get(cell).copied();
            text += &format!(
                "\n  {cell}: was {}, it wrote {}, found {}",
                shown(before),
                shown(wrote),
                shown(found.get(cell).copied())
            );
        }
        if pending.is_some_and(|p| p.happened) {
            text += "\n  a later commit on the same cells was acknowledged";
        }
        Violation(text)
    }

    /// The store was found in this state, which [`Model::check`] allows: from here on this state is certain.
    pub fn adopt(&mut self, found: State) {
        self.settled = found;
        self.chains.clear();
        self.pending.clear();
    }
}

fn settle(state: &mut State, cell: Cell, content: Content) {
    match content {
        Some(version) => state.insert(cell, version),
        None => state.remove(&cell),
    };
}

fn shown(content: Content) -> String {
    content.map_or("nothing".to_owned(), |version| format!("version {version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Cell = Cell::Row(1, 1);
    const B: Cell = Cell::Row(1, 2);

    fn state(cells: &[(Cell, u64)]) -> State {
        cells.iter().copied().collect()
    }

    fn with(effects: &[(Cell, Content)]) -> Model {
        let mut model = Model::new();
        let commit = model.begin_commit(effects);
        model.acknowledge(commit);
        model
    }

    #[test]
    fn what_was_acknowledged_must_be_there_and_nothing_else() {
        let model = with(&[(A, Some(1)), (B, Some(2)), (B, Some(3))]);
        assert!(model.check(&state(&[(A, 1), (B, 3)])).is_ok());
        for wrong in [
            &[(A, 1)][..],
            &[(A, 1), (B, 2)],
            &[(A, 1), (B, 3), (Cell::Table(1), 4)],
        ] {
            assert!(model.check(&state(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_was_begun_is_there_whole_or_not_at_all() {
        let mut model = with(&[(A, Some(1))]);
        model.begin_commit(&[(A, None), (B, Some(2))]);
        assert_eq!(model.unanswered(), 1);
        let judged = |found| model.check(&state(found)).map(|o| (o.happened, o.vanished));
        assert_eq!(judged(&[(A, 1)]), Ok((0, 1)));
        assert_eq!(judged(&[(B, 2)]), Ok((1, 0)));
        assert!(model.check(&state(&[])).unwrap_err().0.contains("in part"));
        assert!(model.check(&state(&[(A, 1), (B, 2)])).is_err());
    }

    #[test]
    fn what_an_acknowledged_commit_stood_on_has_happened_as_a_whole() {
        let mut model = Model::new();
        model.begin_commit(&[(A, Some(1)), (B, Some(2))]);
        let second = model.begin_commit(&[(A, Some(3))]);
        for right in [&[][..], &[(A, 1), (B, 2)], &[(A, 3), (B, 2)]] {
            assert!(model.check(&state(right)).is_ok(), "{right:?}");
        }
        assert!(model.check(&state(&[(A, 3)])).is_err());
        model.acknowledge(second);
        assert!(model.check(&state(&[(A, 3), (B, 2)])).is_ok());
        assert!(model.check(&state(&[(A, 3)])).is_err());
        assert!(model.check(&state(&[(A, 1), (B, 2)])).is_err());
    }

    #[test]
    fn absence_before_and_after_does_not_hide_half_a_transaction() {
        // A is absent before, put in by the first, removed by the second: only B shows the difference.
        let mut model = Model::new();
        model.begin_commit(&[(A, Some(1)), (B, Some(2))]);
        model.begin_commit(&[(A, None), (B, Some(3))]);
        assert!(model.check(&state(&[])).is_ok());
        assert!(model.check(&state(&[(A, 1), (B, 2)])).is_ok());
        assert!(model.check(&state(&[(B, 3)])).is_ok());
        assert!(model.check(&state(&[(B, 2)])).is_err());
        assert!(model.check(&state(&[(A, 1), (B, 3)])).is_err());
    }

    #[test]
    fn two_doubtful_cells_are_judged_together() {
        // Both cells are absent in every allowed end, but not for reasons that go together with a third.
        let (c, d) = (Cell::Row(2, 1), Cell::Row(2, 2));
        let mut model = Model::new();
        model.begin_commit(&[(A, Some(1)), (B, Some(2))]);
        model.begin_commit(&[(A, None), (c, Some(3))]);
        model.begin_commit(&[(B, None), (d, Some(4))]);
        assert!(model.check(&state(&[])).is_ok());
        assert!(model.check(&state(&[(B, 2), (c, 3)])).is_ok());
        assert!(model.check(&state(&[(c, 3), (d, 4)])).is_ok());
        assert!(
            model.check(&state(&[(c, 3)])).is_err(),
            "B must hold 2, or d 4"
        );
    }

    #[test]
    fn a_withdrawn_commit_leaves_nothing() {
        let mut model = with(&[(A, Some(1))]);
        let gone = model.begin_commit(&[(A, Some(2)), (B, Some(3))]);
        model.withdraw(gone);
        assert!(model.check(&state(&[(A, 1)])).is_ok());
        assert!(model.check(&state(&[(A, 2), (B, 3)])).is_err());
    }

    #[test]
    fn what_was_found_is_what_is_certain_from_then_on() {
        let mut model = with(&[(A, Some(1))]);
        model.begin_commit(&[(A, Some(2))]);
        model.adopt(state(&[(A, 2)]));
        assert_eq!((model.unanswered(), model.is_open(A)), (0, false));
        assert!(model.check(&state(&[(A, 1)])).is_err());
        assert!(model.check(&state(&[(A, 2)])).is_ok());
    }
}
