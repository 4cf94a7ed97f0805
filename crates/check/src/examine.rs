//! The check from beginning to end: what may be checked, what was seen, what is reported.

use crate::facts::Scratch;
use crate::facts::{Facts, Gatherer};
use crate::finding::Finding;
use crate::findings::Findings;
use crate::maps::{Maps, page_at};
use crate::matching::Matcher;
use crate::options::{Depth, Options, Scope};
use crate::plan::Plan;
use crate::scan::Listener;
use crate::scan::{Shared, Wanted};
use crate::totals::{FileTotal, ObjectTotal};
use furrow_datafile::{PageSource, Pages, SourceError, SourceFile, Support, support};
use furrow_format::boot::field;
use furrow_format::{BOOT_PAGE, Boot, FileHeader, FileId, Page, PageType};
use furrow_messages::Message;
use std::collections::BTreeMap;

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
    findings.keep_scope(options.scope, |group| plan.files_of_group(group));
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
    let (facts, watch, findings) = crate::scan::scan(&shared, workers, gatherer, findings)?;
    let matcher = Matcher::new(&shared, &library, (&facts, findings), options.counts);
    let (findings, counts) = matcher.run();
    if shared.is_stopped() {
        return Err(CheckError::Cancelled);
    }
    if let Some(failure) = watch.failure() {
        return Err(CheckError::Scratch(failure));
    }
    let report = report_of(&shared, &facts, findings);
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
    let findings = Findings::default();
    let (facts, watch, _) = crate::scan::scan(&shared, workers, gatherer, findings)?;
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
fn report_of(shared: &Shared<'_>, facts: &Facts, findings: Findings) -> Report {
    let free = shared
        .files
        .iter()
        .map(|file| (file.id.0, free_extents(shared.maps, file)));
    Report {
        findings: findings.listing(),
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
