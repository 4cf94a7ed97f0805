//! A system procedure that is a script.

/// A procedure as text.
pub(crate) struct Script {
    pub name: &'static str,
    /// Its description in one sentence.
    pub(crate) about: &'static str,
    /// Its CREATE PROCEDURE statement.
    pub(super) text: &'static str,
}

impl Script {
    /// Its parameters as text.
    pub(crate) fn parameters(&self) -> &'static str {
        let head = self.text.split_once(" AS\n").map_or("", |(head, _)| head);
        let words = head.strip_prefix("CREATE PROCEDURE ").unwrap_or(head);
        words.strip_prefix(self.name).unwrap_or(words).trim()
    }
}
