//! What a wait is for; the text is formatted only when the waiting tasks are listed.

use crate::latches::LatchClass;
use std::fmt;
use std::sync::Arc;

/// The thing that a task waits for. Its text is formatted when the waiting tasks are listed, not before.
#[derive(Clone, Default)]
pub enum Resource {
    /// Nothing that has a name.
    #[default]
    None,
    /// A page, by database, file and page number.
    Page {
        /// The database.
        db: u16,
        /// The file of the database.
        file: u16,
        /// The page of the file.
        page: u32,
    },
    /// A file of a database.
    File {
        /// The database.
        db: u16,
        /// The file of the database.
        file: u16,
    },
    /// A lock: whatever the lock manager calls it.
    Lock(Arc<dyn fmt::Display + Send + Sync>),
    /// A latch that is not of a page.
    Latch(LatchClass),
    /// Anything else.
    Named(&'static str),
}

impl Resource {
    /// A lock resource; its text is formatted only when the wait is listed.
    pub fn lock(name: impl fmt::Display + Send + Sync + 'static) -> Resource {
        Resource::Lock(Arc::new(name))
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::None => Ok(()),
            Resource::Page { db, file, page } => write!(f, "{db}:{file}:{page}"),
            Resource::File { db, file } => write!(f, "{db}:{file}"),
            Resource::Lock(name) => name.fmt(f),
            Resource::Latch(class) => f.write_str(class.name()),
            Resource::Named(name) => f.write_str(name),
        }
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Resource({self})")
    }
}
