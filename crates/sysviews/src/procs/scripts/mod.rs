//! System procedures that are T-SQL themselves, over the system views: what a view cannot tell they cannot
//! either.

mod catalog;
mod each;
mod files;
mod history;
mod objects;
mod script;
mod sessions;

pub(crate) use script::Script;

/// The tables of all procedures.
static TABLES: &[&[Script]] = &[
    files::SCRIPTS,
    objects::SCRIPTS,
    catalog::SCRIPTS,
    each::SCRIPTS,
    sessions::SCRIPTS,
    history::SCRIPTS,
];

/// All of them, by table.
pub(crate) fn all() -> impl Iterator<Item = &'static Script> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The text of a procedure, by its name in any case of letters.
pub fn script(name: &str) -> Option<&'static str> {
    let found = all().find(|s| s.name.eq_ignore_ascii_case(name));
    found.map(|s| s.text)
}
