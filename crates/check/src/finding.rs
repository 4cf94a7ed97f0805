//! What is wrong: SQL Server's message, where, and one plain sentence.

use furrow_format::PageId;
use furrow_messages::{Arg, Message};
use std::fmt;

/// A table or index that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Object id.
    pub object_id: i32,
    /// Schema and name of the table.
    pub table: String,
    /// Index id: 0 heap, 1 clustered.
    pub index_id: i32,
    /// Name of the index, where it has one.
    pub index: Option<String>,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table)?;
        match &self.index {
            Some(index) => write!(f, ", index {index}"),
            None => Ok(()),
        }
    }
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// SQL Server's number, level, state and text.
    pub message: Message,
    /// The page at fault, or the page that shows it.
    pub page: Option<PageId>,
    /// The table, if one is known.
    pub subject: Option<Subject>,
    /// What it means, in one sentence.
    pub means: String,
    /// How many errors it stands for: none where it only goes on about the one before it.
    pub errors: u64,
}

/// What puts a finding right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repair {
    /// Nothing is lost: an index, a map or a count is made again from what is sound.
    Rebuild,
    /// Rows or pages that cannot be used are given up.
    AllowDataLoss,
}

impl Repair {
    /// SQL Server's name of the level.
    pub fn name(self) -> &'static str {
        match self {
            Repair::Rebuild => "repair_rebuild",
            Repair::AllowDataLoss => "repair_allow_data_loss",
        }
    }
}

/// What a finding is about, where that is not rows or pages of rows alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    /// Maps, extents and chains of IAM pages.
    Allocation,
    /// The same, where the owner of rows is in doubt.
    AllocationOfRows,
    /// Counts, and links of maps that only Furrow writes: an error neither of allocation nor of rows.
    Counts,
}

/// Findings that are not about rows alone, by number.
const ABOUT: &[(u32, About)] = &[
    (2508, About::Counts),
    (2575, About::Allocation),
    (2576, About::Allocation),
    (2577, About::Allocation),
    (2579, About::Allocation),
    (5125, About::Allocation),
    (8903, About::Allocation),
    (8904, About::Allocation),
    (8905, About::Allocation),
    (8906, About::Allocation),
    (8910, About::AllocationOfRows),
    (8914, About::Counts),
    (8946, About::Allocation),
    (8947, About::Allocation),
    (8948, About::Allocation),
    (8968, About::Allocation),
    (8969, About::Allocation),
    (8996, About::Allocation),
    (8997, About::AllocationOfRows),
    (8998, About::Allocation),
    (40101, About::Counts),
    (REST_OF_ALLOCATION, About::Allocation),
];
/// Errors that are counted, but not listed. (SQL Server's 8986 says that ALL_ERRORMSGS lists them.)
pub(crate) const REST: u32 = 40102;
/// The same of errors of allocation.
pub(crate) const REST_OF_ALLOCATION: u32 = 40103;
/// The second message about an error: where the row is that 8951 or 8952 is about.
const SECOND: &[u32] = &[8955, 8956];
/// Findings that are repaired without loss wherever they are.
const LOSSLESS: &[u32] = &[2508, 8914, 8951, 8952, 8955, 8956];

impl Finding {
    /// Whether it is counted among the allocation errors.
    pub fn is_allocation(&self) -> bool {
        matches!(
            self.about(),
            Some(About::Allocation | About::AllocationOfRows)
        )
    }

    /// Whether it concerns rows, or may. Otherwise it is put right by writing maps and counts.
    pub(crate) fn concerns_rows(&self) -> bool {
        !matches!(self.about(), Some(About::Allocation | About::Counts))
    }

    fn about(&self) -> Option<About> {
        let found = ABOUT.iter().find(|(number, _)| *number == self.number());
        found.map(|(_, about)| *about)
    }

    /// Whether it stands for errors that are not listed one by one.
    pub fn is_rest(&self) -> bool {
        [REST, REST_OF_ALLOCATION].contains(&self.number())
    }

    /// The least repair that puts it right.
    pub fn repair(&self) -> Repair {
        let in_index = self.subject.as_ref().is_some_and(|s| s.index_id > 1);
        if LOSSLESS.contains(&self.number()) || in_index && !self.is_allocation() {
            Repair::Rebuild
        } else {
            Repair::AllowDataLoss
        }
    }

    /// The table, if one is known.
    pub(crate) fn object_id(&self) -> Option<i32> {
        self.subject.as_ref().map(|subject| subject.object_id)
    }

    /// SQL Server's message number.
    pub fn number(&self) -> u32 {
        self.message.number
    }

    /// Whether it is about this page: names it first, or anywhere in its text.
    pub fn names(&self, page: PageId) -> bool {
        self.page == Some(page) || self.message.text.contains(&page.to_string())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        write!(f, "  {}", self.means)
    }
}

/// How many errors a message of this number stands for.
pub(crate) fn errors_of(number: u32) -> u64 {
    u64::from(!SECOND.contains(&number))
}

/// A page as an argument of a message.
pub(crate) fn page(id: PageId) -> Arg {
    Arg::page(id.file.0, id.page.0)
}
