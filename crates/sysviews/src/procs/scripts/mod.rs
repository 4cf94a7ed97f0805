//! System procedures that are T-SQL scripts over the system views.

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

/// All procedures, by table.
pub(crate) fn all() -> impl Iterator<Item = &'static Script> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The text of the procedure with this name; case does not matter.
pub fn script(name: &str) -> Option<&'static str> {
    let found = all().find(|s| s.name.eq_ignore_ascii_case(name));
    found.map(|s| s.text)
}
