//! A session, and the transaction that it has under way.

use crate::model::{Cell, Content};

/// A transaction under way.
#[derive(Debug, Clone)]
pub(super) struct Txn {
    /// What its statements did, in order.
    pub(super) effects: Vec<(Cell, Content)>,
    /// How many effects there were at each savepoint.
    pub(super) saves: Vec<usize>,
    /// Statements still to come.
    pub(super) left: u32,
}

impl Txn {
    pub(super) fn new(left: u32) -> Txn {
        Txn {
            effects: Vec::new(),
            saves: Vec::new(),
            left,
        }
    }

    /// What it left in a cell last; `None` when it has not touched it.
    pub(super) fn seen(&self, cell: Cell) -> Option<Content> {
        self.effects
            .iter()
            .rev()
            .find(|(changed, _)| *changed == cell)
            .map(|(_, content)| *content)
    }

    /// Whether it has changed something of this table.
    pub(super) fn touches_table(&self, table: u16) -> bool {
        self.effects.iter().any(|(cell, _)| match cell {
            Cell::Row(of, _) | Cell::Table(of) => *of == table,
            Cell::File(_) => false,
        })
    }
}

/// A session of the driver.
pub(super) struct Actor<S> {
    pub(super) session: S,
    pub(super) txn: Option<Txn>,
}

impl<S> Actor<S> {
    pub(super) fn new(session: S) -> Actor<S> {
        Actor { session, txn: None }
    }
}
