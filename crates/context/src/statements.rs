//! Statements of texts and their plans, shared by the connections of a server: hundreds of connections that
//! send the same texts parse, bind and store them once.

use crate::shared_plans::SharedPlans;
use furrow_tsql::ast::Stmt;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Weak};

/// Statements of a text.
pub type Statements = Arc<Parsed>;

/// A parsed text: its statements, and the plans that connections which use it now have for them.
#[derive(Debug, Default)]
pub struct Parsed {
    list: Vec<Stmt>,
    pub(crate) plans: Arc<SharedPlans>,
}

impl Parsed {
    /// Statements that no connection has a plan for.
    pub fn new(list: Vec<Stmt>) -> Statements {
        Arc::new(Parsed {
            list,
            plans: Arc::default(),
        })
    }
}

impl Deref for Parsed {
    type Target = [Stmt];

    fn deref(&self) -> &[Stmt] {
        &self.list
    }
}

/// Texts that are known before those that no connection uses any more are removed.
const MOST_SHARED: usize = 4096;

/// By the meaning of double quotes and the text.
type Known = HashMap<(bool, Box<str>), Weak<Parsed>>;

/// The statements of the texts that connections store.
#[derive(Debug, Default)]
pub(crate) struct SharedStatements(Mutex<Shared>);

#[derive(Debug, Default)]
struct Shared {
    known: Known,
    /// Texts offered since unused ones were last removed.
    offered: usize,
}

impl SharedStatements {
    /// The statements of a text, if any connection uses them.
    pub(crate) fn find(&self, quoted_identifier: bool, text: &str) -> Option<Statements> {
        let key = (quoted_identifier, text.into());
        self.0.lock().known.get(&key).and_then(Weak::upgrade)
    }

    /// Offers the statements of a text to other connections.
    pub(crate) fn share(&self, quoted_identifier: bool, text: &str, statements: &Statements) {
        let shared = &mut *self.0.lock();
        shared.offered += 1;
        let key = (quoted_identifier, text.into());
        if let Some(known) = shared.known.get_mut(&key) {
            if known.strong_count() == 0 {
                *known = Arc::downgrade(statements);
            }
            return;
        }
        // All entries are looked at seldom, also where every connection has texts of its own.
        if shared.known.len() >= MOST_SHARED && shared.offered >= MOST_SHARED / 2 {
            shared.remove_unused();
        }
        if shared.known.len() < MOST_SHARED {
            shared.known.insert(key, Arc::downgrade(statements));
        }
    }

    /// Removes the plans of all texts. Connections that use them have them still.
    pub(crate) fn forget_plans(&self) {
        let shared = self.0.lock();
        let used = shared.known.values().filter_map(Weak::upgrade);
        used.for_each(|statements| statements.plans.forget());
    }

    /// Removes the texts that no connection uses any more.
    pub(crate) fn remove_unused(&self) {
        self.0.lock().remove_unused();
    }
}

impl Shared {
    fn remove_unused(&mut self) {
        self.offered = 0;
        self.known
            .retain(|_, statements| statements.strong_count() > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_statements_while_one_of_them_uses_them() {
        let shared = SharedStatements::default();
        let statements = Statements::default();
        shared.share(true, "SELECT 1", &statements);
        let found = shared.find(true, "SELECT 1").unwrap();
        assert!(Arc::ptr_eq(&found, &statements));
        assert!(shared.find(false, "SELECT 1").is_none());
        drop((found, statements));
        assert!(shared.find(true, "SELECT 1").is_none());
        let kept: Vec<Statements> = (0..2 * MOST_SHARED)
            .map(|_| Statements::default())
            .collect();
        for (n, statements) in kept.iter().enumerate() {
            shared.share(true, &n.to_string(), statements);
        }
        assert_eq!(shared.0.lock().known.len(), MOST_SHARED);
    }

    #[test]
    fn a_full_map_is_searched_for_unused_texts_seldom_and_takes_a_known_one_again() {
        let shared = SharedStatements::default();
        let keep = || (0..MOST_SHARED).map(|_| Statements::default());
        let mut kept: Vec<Statements> = keep().collect();
        for (n, statements) in kept.iter().enumerate() {
            shared.share(true, &n.to_string(), statements);
        }
        let offered = || shared.0.lock().offered;
        shared.remove_unused();
        // The connection of one text comes and goes.
        let again = Statements::default();
        kept[7] = Statements::default();
        for n in 1..100 {
            shared.share(true, "another", &Statements::default());
            assert_eq!(offered(), n, "nothing was removed meanwhile");
        }
        shared.share(true, "7", &again);
        assert!(Arc::ptr_eq(&shared.find(true, "7").unwrap(), &again));
        drop(kept);
        shared.remove_unused();
        assert_eq!(shared.0.lock().known.len(), 1);
    }
}
