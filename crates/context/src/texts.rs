//! Cached texts: a batch that is sent again is neither parsed nor planned again.

use crate::error::Result;
use crate::plans::Plans;
use crate::scope::Parameters;
use crate::statements::Statements;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use twox_hash::XxHash3_64;

/// Most texts that are stored.
const MOST: usize = 256;
/// Longer texts are not stored: they are usually scripts that run once.
const LONGEST: usize = 16 << 10;

/// A parsed text: its statements and their plans.
#[derive(Debug)]
pub struct Text {
    /// The text.
    pub text: Box<str>,
    /// Its statements, in order; shared with other connections.
    pub statements: Statements,
    /// The plans of the statements.
    pub plans: Plans,
    parameters: OnceLock<Parameters>,
}

impl Text {
    /// A parsed text without plans.
    pub fn new(text: &str, statements: Statements) -> Arc<Text> {
        let plans = Plans::of(&statements.plans);
        Arc::new(Text {
            text: text.into(),
            statements,
            plans,
            parameters: OnceLock::new(),
        })
    }

    /// The parameters of the procedure that the text defines, which are declared at their first use.
    pub fn parameters(&self, declare: impl FnOnce() -> Result<Parameters>) -> Result<&Parameters> {
        if let Some(known) = self.parameters.get() {
            return Ok(known);
        }
        let declared = declare()?;
        Ok(self.parameters.get_or_init(|| declared))
    }
}

fn hash(text: &str) -> u64 {
    XxHash3_64::oneshot(text.as_bytes())
}

/// A stored text.
#[derive(Debug)]
struct CachedText {
    text: Arc<Text>,
    /// Whether it was used again since the last clearing.
    again: bool,
}

/// Texts by the hash of their content, and by the meaning of double quotes. Of texts with the same hash the
/// last one is stored.
#[derive(Debug, Default)]
pub struct Texts {
    plain: HashMap<u64, CachedText>,
    quoted: HashMap<u64, CachedText>,
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

    fn read(&mut self, quoted_identifier: bool) -> &mut HashMap<u64, CachedText> {
        match quoted_identifier {
            true => &mut self.quoted,
            false => &mut self.plain,
        }
    }

    /// The text, if it was parsed earlier.
    pub fn find(&mut self, quoted_identifier: bool, text: &str) -> Option<Arc<Text>> {
        let kept = self.read(quoted_identifier).get_mut(&hash(text));
        let kept = kept.filter(|kept| &*kept.text.text == text)?;
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
        read.insert(hash(&text.text), kept);
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
    fn a_text_is_kept_until_the_server_says_to_forget() {
        let mut texts = Texts::default();
        texts.keep(true, &Text::new("SELECT 1", Statements::default()));
        texts.forget_at(0);
        assert!(texts.find(true, "SELECT 1").is_some());
        texts.forget_at(1);
        assert!(texts.find(true, "SELECT 1").is_none());
    }
}
