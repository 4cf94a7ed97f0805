//! Pages on their way into an open database: `crate::backup` brings them.

use furrow_format::{Lsn, PageBuf, PageId};
use furrow_types::Guid;
use std::collections::BTreeMap;

/// A page on its way into the database.
#[derive(Debug, Clone)]
pub(crate) struct StagedPage {
    pub(crate) bytes: Box<PageBuf>,
    /// The end of the log that was applied.
    pub(crate) applied: Lsn,
    /// The full backup that it is of.
    pub(crate) base: Guid,
}

/// Pages on their way into an open database.
#[derive(Debug, Default)]
pub(crate) struct PageStage(pub(crate) BTreeMap<PageId, StagedPage>);
