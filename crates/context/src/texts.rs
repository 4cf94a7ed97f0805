//! Cached texts: a batch that is sent again is neither parsed nor planned again.

use crate::plans::Plans;
use furrow_tsql::ast::Stmt;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// Most texts that are stored.
const MOST: usize = 256;
/// Longer texts are not stored: they are usually scripts that run once.
const LONGEST: usize = 16 << 10;

/// Statements of a text.
pub type Statements = Arc<Vec<Stmt>>;

/// Texts of which the server knows the statements, before those that no connection uses any more are removed.
const MOST_SHARED: usize = 4096;

/// The statements of the texts that connections store, by the meaning of double quotes and the text: hundreds of
/// connections that send the same texts parse them once, and store them once. Plans are each connection's own.
#[derive(Debug, Default)]
pub(crate) struct SharedStatements(Mutex<HashMap<(bool, Box<str>), Weak<Vec<Stmt>>>>);

impl SharedStatements {
    /// The statements of a text, if any connection uses them.
    pub(crate) fn find(&self, quoted_identifier: bool, text: &str) -> Option<Statements> {
        let key = (quoted_identifier, text.into());
        self.0.lock().get(&key).and_then(Weak::upgrade)
    }

    /// Offers the statements of a text to other connections.
    pub(crate) fn share(&self, quoted_identifier: bool, text: &str, statements: &Statements) {
        let mut known = self.0.lock();
        if known.len() >= MOST_SHARED {
            known.retain(|_, statements| statements.strong_count() > 0);
        }
        if known.len() < MOST_SHARED {
            known.insert((quoted_identifier, text.into()), Arc::downgrade(statements));
        }
    }
}

/// A parsed text: its statements and their plans.
#[derive(Debug)]
pub struct Text {
    /// The text.
    pub text: Box<str>,
    /// Its statements, in order; shared with other connections.
    pub statements: Statements,
    /// The plans of the statements.
    pub plans: Plans,
}

impl Text {
    /// A parsed text without plans.
    pub fn new(text: &str, statements: Statements) -> Arc<Text> {
        Arc::new(Text {
            text: text.into(),
            statements,
            plans: Plans::default(),
        })
    }
}

/// A stored text.
#[derive(Debug)]
struct CachedText {
    text: Arc<Text>,
    /// Whether it was used again since the last clearing.
    again: bool,
}

/// Texts by their content and by the meaning of double quotes.
#[derive(Debug, Default)]
pub struct Texts {
    plain: HashMap<Box<str>, CachedText>,
    quoted: HashMap<Box<str>, CachedText>,
    /// Texts that a client has prepared and stores itself.
    prepared: Vec<Weak<Text>>,
    /// The server's count of requests to discard texts, when this connection last followed it.
    forgotten: u64,
}

impl Texts {
    /// Discards texts and plans if the server has requested it since.
    pub(crate) fn forget_at(&mut self, forgotten: u64) {
        if self.forgotten != forgotten {
            self.forgotten = forgotten;
            self.forget_plans();
            self.plain.clear();
            self.quoted.clear();
        }
    }

    fn read(&mut self, quoted_identifier: bool) -> &mut HashMap<Box<str>, CachedText> {
        match quoted_identifier {
            true => &mut self.quoted,
            false => &mut self.plain,
        }
    }

    /// The text, if it was parsed earlier.
    pub fn find(&mut self, quoted_identifier: bool, text: &str) -> Option<Arc<Text>> {
        let kept = self.read(quoted_identifier).get_mut(text)?;
        kept.again = true;
        Some(Arc::clone(&kept.text))
    }

    /// Stores a text. When there are too many, texts that were not used a second time since the last clearing
    /// are removed, so that generated texts, which run once, do not displace those that are sent repeatedly.
    /// `false` if the text is too long.
    pub fn keep(&mut self, quoted_identifier: bool, text: &Arc<Text>) -> bool {
        if !Texts::is_short(&text.text) {
            return false;
        }
        let read = self.read(quoted_identifier);
        if read.len() >= MOST {
            read.retain(|_, kept| std::mem::take(&mut kept.again));
        }
        if read.len() >= MOST {
            read.clear();
        }
        let kept = CachedText {
            text: Arc::clone(text),
            again: false,
        };
        read.insert(text.text.clone(), kept);
        true
    }

    /// Whether a text is short enough to be stored.
    pub fn is_short(text: &str) -> bool {
        text.len() <= LONGEST
    }

    /// Registers a text that the client stores.
    pub fn prepare(&mut self, text: &Arc<Text>) {
        self.prepared.retain(|known| known.strong_count() > 0);
        self.prepared.push(Arc::downgrade(text));
    }

    /// Discards all plans: the connection changes to another database, and must not hold tables of the one
    /// that it leaves.
    pub(crate) fn forget_plans(&mut self) {
        let kept = self.plain.values().chain(self.quoted.values());
        kept.for_each(|kept| kept.text.plans.forget());
        let prepared = self.prepared.iter().filter_map(Weak::upgrade);
        prepared.for_each(|text| text.plans.forget());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_sent_once_do_not_push_out_those_that_are_sent_again() {
        let mut texts = Texts::default();
        texts.keep(true, &Text::new("SELECT 1", Statements::default()));
        for n in 0..3 * MOST {
            assert!(texts.find(true, "SELECT 1").is_some(), "gone after {n}");
            texts.keep(
                true,
                &Text::new(&format!("SELECT {n}, 2"), Statements::default()),
            );
        }
        assert!(texts.find(false, "SELECT 1").is_none());
        assert!(texts.quoted.len() <= MOST);
    }

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
        assert_eq!(shared.0.lock().len(), MOST_SHARED);
    }

    #[test]
    fn a_text_is_kept_until_the_server_says_to_forget() {
        let mut texts = Texts::default();
        texts.keep(true, &Text::new("SELECT 1", Statements::default()));
        texts.forget_at(0);
        assert!(texts.find(true, "SELECT 1").is_some());
        texts.forget_at(1);
        assert!(texts.find(true, "SELECT 1").is_none());
    }
}
