//! Texts that have been read: a batch that is sent again is not parsed again.

use furrow_tsql::ast::Stmt;
use std::collections::HashMap;
use std::sync::Arc;

/// Texts that are kept; when there are more, all are forgotten.
const MOST: usize = 256;
/// Longer texts are not kept: they are scripts, and run once.
const LONGEST: usize = 16 << 10;

/// Statements by their text and the setting that changes how it is read.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    read: HashMap<(bool, Box<str>), Arc<[Stmt]>>,
}

impl Texts {
    /// The statements of a text that was read before.
    pub(crate) fn find(&self, quoted_identifier: bool, text: &str) -> Option<Arc<[Stmt]>> {
        // A tuple with a borrowed text would need a key type of its own; the copy is small.
        if text.len() > LONGEST {
            return None;
        }
        self.read.get(&(quoted_identifier, text.into())).cloned()
    }

    /// Keeps a text.
    pub(crate) fn keep(&mut self, quoted_identifier: bool, text: &str, statements: &Arc<[Stmt]>) {
        if text.len() > LONGEST {
            return;
        }
        if self.read.len() >= MOST {
            self.read.clear();
        }
        let key = (quoted_identifier, text.into());
        self.read.insert(key, Arc::clone(statements));
    }
}
