//! What the tests share: the golden scripts.

pub(crate) mod compact;

/// A golden script and what it gave when it was committed.
pub(crate) type Golden = (&'static str, &'static str, &'static str);

macro_rules! goldens {
    ($($name:literal),* $(,)?) => {
        &[$((
            $name,
            include_str!(concat!("../golden/", $name, ".sql")),
            include_str!(concat!("../golden/", $name, ".out")),
        )),*]
    };
}

/// All golden scripts.
pub(crate) const GOLDENS: &[Golden] = goldens![
    "admin",
    "backup",
    "database",
    "dml",
    "errors",
    "expressions",
    "flow",
    "index",
    "merge",
    "modules",
    "oltp",
    "published",
    "queries",
    "security",
    "session",
    "survey",
    "table",
];
