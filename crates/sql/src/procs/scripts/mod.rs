//! System procedures that are T-SQL themselves, over the system views: what a view cannot tell they cannot
//! either.

mod catalog;
mod each;
mod files;
mod objects;
mod sessions;

/// A procedure as text.
pub(crate) struct Script {
    pub(crate) name: &'static str,
    /// What it does, in one sentence.
    pub(crate) about: &'static str,
    /// The statement that would make it.
    text: &'static str,
}

impl Script {
    /// Its parameters, as they are written.
    pub(crate) fn parameters(&self) -> &'static str {
        let head = self.text.split_once(" AS\n").map_or("", |(head, _)| head);
        let words = head.strip_prefix("CREATE PROCEDURE ").unwrap_or(head);
        words.strip_prefix(self.name).unwrap_or(words).trim()
    }
}

/// The tables of all procedures.
static TABLES: &[&[Script]] = &[
    files::SCRIPTS,
    objects::SCRIPTS,
    catalog::SCRIPTS,
    each::SCRIPTS,
    sessions::SCRIPTS,
];

/// All of them, by table.
pub(crate) fn all() -> impl Iterator<Item = &'static Script> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The text of a procedure, by its name in any case of letters.
pub(crate) fn script(name: &str) -> Option<&'static str> {
    let found = all().find(|s| s.name.eq_ignore_ascii_case(name));
    found.map(|s| s.text)
}
