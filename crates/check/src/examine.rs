//! The check from beginning to end: what may be checked, what was seen, what is reported.

use crate::facts::Scratch;
use crate::facts::{Facts, Gatherer};
use crate::finding::{Finding, Findings, REST};
use crate::maps::{Maps, page_at};
use crate::matching::Matcher;
use crate::options::{Depth, Options, Scope};
use crate::plan::Plan;
use crate::scan::Listener;
use crate::scan::{Shared, Wanted};
use crate::totals::{FileTotal, ObjectTotal};
use furrow_datafile::{PageSource, Pages, SourceError, SourceFile, Support, support};
use furrow_format::boot::field;
use furrow_format::{BOOT_PAGE, Boot, FileHeader, FileId, Page, PageId, PageType};
use furrow_messages::Message;
use std::collections::{BTreeMap, HashMap};

/// Most findings that are listed for one table: SQL Server lists all, with and without ALL_ERRORMSGS.
const LISTED_PER_TABLE: usize = 100_000;

/// Why a check could not be done.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// No file is the primary one.
    #[error("the primary data file (file 1) is not among the files given")]
    NoPrimary,
    /// The primary file is not one of a database.
    #[error("{name} is not a primary data file: {reason}")]
    NotADatabase {
        /// The file.
        name: String,
        /// What gives it away.
        reason: String,
    },
    /// The catalog lists data files that were not given: which ones, and what to do.
    #[error("{0}")]
    FilesMissing(String),
    /// A file of another database is among the files: what its pages say proves nothing about this one.
    #[error("{}\n{name} is a file of another database than {primary}: give the files of one.",
        Message::new(FOREIGN, &[]))]
    ForeignFile {
        /// The file.
        name: String,
        /// The primary file.
        primary: String,
    },
    /// Committed work may be in the log only.
    #[error("the database was not shut down cleanly: open it once, so that it is recovered")]
    NotRecovered,
    /// The listener ended it.
    #[error("the check was cancelled")]
    Cancelled,
    /// Facts cannot be written to the scratch file, or read from it.
    #[error("the check needs a temporary file for its facts: {0}")]
    Scratch(#[from] furrow_io::IoError),
    /// Pages cannot be had.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// The message of files that are not of one database, or not of one time.
const FOREIGN: u32 = 5173;

/// What a check found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// What is wrong, by table; empty = sound.
    pub findings: Vec<Finding>,
    /// Pages in use that were judged.
    pub pages_checked: u64,
    /// Tables of users.
    pub tables: usize,
    /// Rows counted, those of indexes among them.
    pub rows: u64,
    /// Extents without an owner, by file.
    pub free_extents: BTreeMap<u16, u64>,
    /// Rows and pages of each table, base tables of the catalog included.
    pub objects: Vec<ObjectTotal>,
    /// What is allocated in each file.
    pub files: Vec<FileTotal>,
    /// Bytes of facts that exceeded the memory and went to the scratch file.
    pub spilled_bytes: u64,
}

impl Report {
    /// How many errors there are, also those that are not listed one by one.
    pub fn errors(&self) -> u64 {
        self.findings.iter().map(|finding| finding.errors).sum()
    }

    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Checks a database. `listener` receives progress from several threads, and can end the check. All facts
/// stay in memory.
pub fn check(
    source: &dyn PageSource,
    options: &Options,
    listener: Option<Listener<'_>>,
) -> Result<Report, CheckError> {
    check_within(source, options, (None, listener))
}

/// As [`check`]; facts that exceed [`Options::memory_bytes`] go to a scratch file.
pub fn check_within(
    source: &dyn PageSource,
    options: &Options,
    with: (Option<&Scratch>, Option<Listener<'_>>),
) -> Result<Report, CheckError> {
    let mut report = None;
    examine(source, options, with, &mut |seen| {
        report = Some(std::mem::take(&mut seen.report));
    })?;
    report.ok_or(CheckError::Cancelled)
}

/// Bytes of facts of a page, about: with keys, and without.
const FACTS_OF_A_PAGE: u64 = 120;
const FACTS_WITHOUT_KEYS: u64 = 56;

/// Bytes that a check of so many pages puts in its scratch file, about: sorted runs, and the runs merged.
pub fn scratch_bytes(pages: u64, depth: Depth, memory_bytes: u64) -> u64 {
    let each = match depth {
        Depth::Physical => FACTS_WITHOUT_KEYS,
        Depth::Full | Depth::NoIndexes => FACTS_OF_A_PAGE,
    };
    let all = pages.saturating_mul(each);
    if all <= memory_bytes / 2 { 0 } else { all * 2 }
}

/// All that a check saw, while it is there.
pub(crate) struct Seen<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) library: &'a Pages<'a>,
    pub(crate) facts: &'a Facts,
    /// Counts of the catalog that are wrong: unit, which, and what was counted.
    pub(crate) counts: Vec<(u32, usize, i64)>,
    pub(crate) report: Report,
}

/// Checks, and calls `look` with what was seen.
pub(crate) fn examine(
    source: &dyn PageSource,
    options: &Options,
    (scratch, listener): (Option<&Scratch>, Option<Listener<'_>>),
    look: &mut dyn FnMut(&mut Seen<'_>),
) -> Result<(), CheckError> {
    let files = source.files();
    let library = Pages::new(source);
    admit(&library, &files, options)?;
    let mut findings = Findings::default();
    let maps = Maps::read(&library, &files);
    let plan = Plan::read(&library, &mut findings);
    if !options.partial {
        all_files(&plan)?;
    }
    let wanted = Wanted::of(options.scope, &plan, (&library, &maps), &files);
    let shared = Shared::new(
        (source, listener),
        &files,
        (&plan, options),
        (&maps, &wanted),
    );
    let workers = match options.workers {
        0 => furrow_io::thread::available_cpus(),
        given => given,
    };
    let gatherer = Gatherer::new(scratch, options.memory_bytes, workers);
    let (facts, watch, mut seen) = crate::scan::scan(&shared, workers, gatherer)?;
    findings.list.append(&mut seen.list);
    let matcher = Matcher::new(&shared, &library, &facts, options.counts);
    let (mut matched, counts) = matcher.run();
    findings.list.append(&mut matched.list);
    if shared.is_stopped() {
        return Err(CheckError::Cancelled);
    }
    if let Some(failure) = watch.failure() {
        return Err(CheckError::Scratch(failure));
    }
    let report = report_of(&shared, &facts, options, findings);
    look(&mut Seen {
        shared: &shared,
        library: &library,
        facts: &facts,
        counts,
        report,
    });
    Ok(())
}

/// Reads all pages by a plan of the base tables alone, and calls `look` with what was seen.
pub(crate) fn examine_base(
    source: &dyn PageSource,
    options: &Options,
    (scratch, listener): (Option<&Scratch>, Option<Listener<'_>>),
    plan: &Plan,
    look: &mut dyn FnMut(&Shared<'_>, &Pages<'_>, &Facts),
) -> Result<(), CheckError> {
    let files = source.files();
    let library = Pages::new(source);
    let maps = Maps::read(&library, &files);
    let wanted = Wanted::of(Scope::Database, plan, (&library, &maps), &files);
    let shared = Shared::new(
        (source, listener),
        &files,
        (plan, options),
        (&maps, &wanted),
    );
    let workers = match options.workers {
        0 => furrow_io::thread::available_cpus(),
        given => given,
    };
    let gatherer = Gatherer::new(scratch, options.memory_bytes, workers);
    let (facts, watch, _seen) = crate::scan::scan(&shared, workers, gatherer)?;
    if shared.is_stopped() {
        return Err(CheckError::Cancelled);
    }
    look(&shared, &library, &facts);
    match watch.failure() {
        Some(failure) => Err(CheckError::Scratch(failure)),
        None => Ok(()),
    }
}

/// Builds the report for the caller from the findings of a check.
fn report_of(
    shared: &Shared<'_>,
    facts: &Facts,
    options: &Options,
    mut findings: Findings,
) -> Report {
    findings.list.retain(|finding| match options.scope {
        Scope::Database => true,
        Scope::Object(id) => finding.subject.as_ref().is_some_and(|s| s.object_id == id),
        Scope::Filegroup(group) => {
            let of_group = |page: PageId| shared.plan.group_of(page.file) == Some(group);
            finding.page.is_some_and(of_group)
        }
        Scope::Catalog => finding.number() == CATALOG,
    });
    let free = shared
        .files
        .iter()
        .map(|file| (file.id.0, free_extents(shared.maps, file)));
    Report {
        findings: settle(findings.list, LISTED_PER_TABLE),
        pages_checked: facts.pages_checked,
        tables: shared.plan.user_tables(),
        rows: shared
            .rows
            .iter()
            .map(|n| n.load(std::sync::atomic::Ordering::Relaxed))
            .sum(),
        free_extents: free.collect(),
        objects: crate::totals::objects(shared, facts),
        files: crate::totals::files(shared.maps, shared.files),
        spilled_bytes: facts.spilled_bytes,
    }
}

/// Whether this is a database that can be checked now.
fn admit(library: &Pages<'_>, files: &[SourceFile], options: &Options) -> Result<(), CheckError> {
    let primary = files.iter().find(|file| file.id == FileId(1));
    let primary = primary.ok_or(CheckError::NoPrimary)?;
    let refuse = |reason: &str| CheckError::NotADatabase {
        name: primary.name.clone(),
        reason: reason.to_owned(),
    };
    let (boot, whole) = library
        .get(BOOT_PAGE)
        .ok_or_else(|| refuse("it has no boot page"))?;
    one_database(library, (primary, files))?;
    // A boot page that is damaged is a finding; one that never was one is another file.
    if whole.is_err() || Page::new(&boot).page_type() != PageType::Boot {
        return Ok(());
    }
    let version = field::VERSION.get_u16(&boot);
    if support(version) == Support::None {
        return Err(refuse(&format!("database version {version} is not known")));
    }
    let own = field::MAGIC.get(&boot).starts_with(b"FURROW");
    let clean = Boot::decode(&boot).is_ok_and(|boot| boot.own.clean_shutdown);
    if own && !clean && !options.at_rest {
        return Err(CheckError::NotRecovered);
    }
    Ok(())
}

/// All files whose headers are whole are of the database that the primary file is of.
fn one_database(
    library: &Pages<'_>,
    (primary, files): (&SourceFile, &[SourceFile]),
) -> Result<(), CheckError> {
    let binding = |file: &SourceFile| {
        let (header, whole) = library.get(page_at(file.id, 0))?;
        let header = whole.ok().and_then(|_| FileHeader::decode(&header).ok());
        header.map(|header| header.binding)
    };
    let Some(own) = binding(primary) else {
        return Ok(());
    };
    match files
        .iter()
        .find(|file| binding(file).is_some_and(|other| other != own))
    {
        None => Ok(()),
        Some(foreign) => Err(CheckError::ForeignFile {
            name: foreign.name.clone(),
            primary: primary.name.clone(),
        }),
    }
}

/// Without all files, what is in the others looks lost.
fn all_files(plan: &Plan) -> Result<(), CheckError> {
    if plan.missing_files.is_empty() {
        return Ok(());
    }
    let missing = plan.missing_files.iter();
    let texts: Vec<String> = missing
        .map(|(file, path)| crate::reader::missing_file_text(*file, path.as_deref()))
        .collect();
    Err(CheckError::FilesMissing(texts.join("; ")))
}

fn free_extents(maps: &Maps, file: &SourceFile) -> u64 {
    let extents = (0..file.pages / furrow_format::EXTENT_PAGES).filter(|extent| {
        let first = page_at(file.id, extent * furrow_format::EXTENT_PAGES);
        maps.gam(first) == Some(true)
    });
    extents.count() as u64
}

/// The message of rows of the catalog that contradict each other.
const CATALOG: u32 = 8992;

/// The message of a file that is shorter than its header says.
const CUT_OFF: u32 = 5125;

/// In order of tables and pages, each finding once, at most so many of a table. Files that are cut off come
/// first: they are why everything else is missing.
fn settle(mut list: Vec<Finding>, most: usize) -> Vec<Finding> {
    let object = |finding: &Finding| finding.subject.as_ref().map(|s| (s.object_id, s.index_id));
    list.sort_by_key(|finding| {
        let number = finding.number();
        (number != CUT_OFF, object(finding), finding.page, number)
    });
    list.dedup();
    let mut listed: HashMap<Option<i32>, usize> = HashMap::new();
    let mut rest: BTreeMap<Option<i32>, Finding> = BTreeMap::new();
    let mut kept = Vec::with_capacity(list.len().min(10_000));
    for finding in list {
        let object = finding.subject.as_ref().map(|s| s.object_id);
        let count = listed.entry(object).or_default();
        *count += 1;
        if *count <= most {
            kept.push(finding);
        } else if let Some(left_out) = rest.get_mut(&object) {
            left_out.errors += finding.errors;
        } else {
            rest.insert(object, finding);
        }
    }
    for mut left_out in rest.into_values() {
        left_out.means = format!(
            "{} more errors are counted, but not listed: each table lists {most} findings.",
            left_out.errors
        );
        left_out.message = Message::custom(REST, 16, 1, &left_out.means);
        kept.push(left_out);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_table_does_not_list_is_counted() {
        let of_page = |page| Finding {
            message: Message::custom(50_000, 16, 1, "wrong"),
            page: Some(PageId {
                file: FileId(1),
                page: furrow_format::PageNo(page),
            }),
            subject: None,
            means: String::new(),
            errors: 1,
        };
        let all: Vec<Finding> = (0..10).map(of_page).collect();
        let whole = settle(all.clone(), 10);
        assert!(whole.iter().all(|f| !f.is_rest()));
        let cut = settle(all, 4);
        let report = Report {
            findings: cut,
            ..Report::default()
        };
        assert_eq!(report.findings.len(), 5);
        assert_eq!(report.errors(), 10);
        let last = report.findings.last().unwrap();
        assert!(last.is_rest(), "{last}");
        assert_eq!(last.errors, 6);
    }
}
