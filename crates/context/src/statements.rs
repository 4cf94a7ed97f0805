//! Statements of texts, shared by the connections of a server: hundreds of connections that send
//! the same texts parse and store them once. Plans are each connection's own.

use furrow_tsql::ast::Stmt;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// Statements of a text.
pub type Statements = Arc<Vec<Stmt>>;

/// Texts that are known before those that no connection uses any more are removed.
const MOST_SHARED: usize = 4096;

/// By the meaning of double quotes and the text.
type Known = HashMap<(bool, Box<str>), Weak<Vec<Stmt>>>;

/// The statements of the texts that connections store.
#[derive(Debug, Default)]
pub(crate) struct SharedStatements(Mutex<Shared>);

#[derive(Debug, Default)]
struct Shared {
    known: Known,
    /// Texts that found no place since unused ones were last removed.
    refused: usize,
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
        let known = &mut shared.known;
        // All entries are looked at seldom, also where every connection has texts of its own.
        if known.len() >= MOST_SHARED && shared.refused.is_multiple_of(MOST_SHARED / 2) {
            known.retain(|_, statements| statements.strong_count() > 0);
        }
        if known.len() >= MOST_SHARED {
            shared.refused += 1;
            return;
        }
        shared.refused = 0;
        let key = (quoted_identifier, text.into());
        if known.get(&key).and_then(Weak::upgrade).is_none() {
            known.insert(key, Arc::downgrade(statements));
        }
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
}
