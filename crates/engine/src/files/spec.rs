//! What CREATE DATABASE asks for, and whether it can be had.

use crate::files::file_path;
use furrow_format::{EXTENT_PAGES, MAX_FILE_PAGES};
use furrow_messages::Message;
use furrow_tables::{DatabaseOptions, EngineError};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub use furrow_format::FileGrowth;

const PAGE_KB: u64 = 8;
const EXTENT_KB: u64 = PAGE_KB * EXTENT_PAGES as u64;
/// Smallest file.
const MIN_FILE_KB: u64 = 512;
/// Smallest primary file: the catalog of a new database takes 22 extents, and it has to grow a little.
const MIN_PRIMARY_MB: u64 = 2;
const DEFAULT_PRIMARY_KB: u64 = 8 * 1024;
const DEFAULT_SECONDARY_KB: u64 = 1024;
/// Growth of a file of which nothing was said: 64 MB.
const DEFAULT_GROWTH: FileGrowth = FileGrowth::Pages(8192);
/// Largest log: 2 TB.
const MAX_LOG_PAGES: u64 = 1 << 28;
/// Longest logical name, in UTF-16 units.
const MAX_NAME_UNITS: usize = 128;

/// A file as it is asked for. What is not said has SQL Server's default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpec {
    /// Logical name.
    pub name: String,
    /// Where it is to lie.
    pub path: PathBuf,
    /// Size in KB, rounded up to 64.
    pub size_kb: Option<u64>,
    /// Largest size in KB; none is without limit.
    pub max_size_kb: Option<u64>,
    /// How it grows.
    pub growth: Option<FileGrowth>,
}

impl FileSpec {
    /// A file of default size.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> FileSpec {
        let (name, path) = (name.into(), path.into());
        FileSpec {
            name,
            path,
            size_kb: None,
            max_size_kb: None,
            growth: None,
        }
    }

    /// With a size in MB.
    #[must_use]
    pub fn size_mb(self, mb: u64) -> FileSpec {
        self.size_kb(mb.saturating_mul(1024))
    }

    /// With a size in KB.
    #[must_use]
    pub fn size_kb(mut self, kb: u64) -> FileSpec {
        self.size_kb = Some(kb);
        self
    }

    /// With a limit in MB.
    #[must_use]
    pub fn max_mb(mut self, mb: u64) -> FileSpec {
        self.max_size_kb = Some(mb.saturating_mul(1024));
        self
    }

    /// Growing by steps of so many MB.
    #[must_use]
    pub fn growth_mb(self, mb: u64) -> FileSpec {
        let pages = u32::try_from(mb.saturating_mul(1024 / PAGE_KB)).unwrap_or(u32::MAX);
        self.growth(if pages == 0 {
            FileGrowth::None
        } else {
            FileGrowth::Pages(pages)
        })
    }

    /// Growing by steps of so many percent of its size.
    #[must_use]
    pub fn growth_percent(self, percent: u32) -> FileSpec {
        self.growth(if percent == 0 {
            FileGrowth::None
        } else {
            FileGrowth::Percent(percent)
        })
    }

    /// Not growing.
    #[must_use]
    pub fn no_growth(self) -> FileSpec {
        self.growth(FileGrowth::None)
    }

    /// Growing so.
    #[must_use]
    pub fn growth(mut self, growth: FileGrowth) -> FileSpec {
        self.growth = Some(growth);
        self
    }
}

/// A filegroup besides PRIMARY, with its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilegroupSpec {
    /// Name.
    pub name: String,
    /// Its files.
    pub files: Vec<FileSpec>,
    /// Whether tables go there by default.
    pub is_default: bool,
    /// Whether all its files grow when one has to.
    pub autogrow_all: bool,
}

impl FilegroupSpec {
    /// A filegroup of these files.
    pub fn new(name: impl Into<String>, files: Vec<FileSpec>) -> FilegroupSpec {
        FilegroupSpec {
            name: name.into(),
            files,
            is_default: false,
            autogrow_all: false,
        }
    }
}

/// A database as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseSpec {
    /// Name.
    pub name: String,
    /// The files of PRIMARY; the first is the primary file.
    pub primary: Vec<FileSpec>,
    /// Whether all files of PRIMARY grow when one has to.
    pub autogrow_all: bool,
    /// Other filegroups.
    pub filegroups: Vec<FilegroupSpec>,
    /// The log; by default beside the primary file, a quarter of the data files' sizes, at least 512 KB.
    pub log: Option<FileSpec>,
    /// Its number; by default the smallest from 5 up that is free.
    pub id: Option<u16>,
    /// Options.
    pub options: DatabaseOptions,
    /// Extents of the primary file that a new database takes, its maps included, where the file has 80 or
    /// more: 36 is what the published transcripts show. What the catalog does not fill is set aside for it to
    /// grow into.
    pub system_extents: u32,
    /// Whether the database is temporary (`tempdb`): it is not durable, and each start creates it with the
    /// files that it had.
    pub temporary: bool,
}

impl DatabaseSpec {
    /// A database with this primary file.
    pub fn new(name: impl Into<String>, primary: FileSpec) -> DatabaseSpec {
        DatabaseSpec {
            name: name.into(),
            primary: vec![primary],
            autogrow_all: false,
            filegroups: Vec::new(),
            log: None,
            id: None,
            options: DatabaseOptions::default(),
            system_extents: 36,
            temporary: false,
        }
    }

    /// With one more file in PRIMARY.
    #[must_use]
    pub fn file(mut self, file: FileSpec) -> DatabaseSpec {
        self.primary.push(file);
        self
    }

    /// With a filegroup.
    #[must_use]
    pub fn filegroup(mut self, filegroup: FilegroupSpec) -> DatabaseSpec {
        self.filegroups.push(filegroup);
        self
    }

    /// With this log file.
    #[must_use]
    pub fn log(mut self, log: FileSpec) -> DatabaseSpec {
        self.log = Some(log);
        self
    }
}

/// A file with everything decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePlan {
    pub(crate) id: u16,
    /// 0 for the log.
    pub(crate) filegroup: u16,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) size_pages: u32,
    pub(crate) max_pages: Option<u32>,
    pub(crate) growth: FileGrowth,
}

/// A database with everything decided: files by number, 1 the primary, 2 the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatabasePlan {
    pub(crate) files: Vec<FilePlan>,
    /// Number, name, default, autogrow all; PRIMARY first.
    pub(crate) filegroups: Vec<(u16, String, bool, bool)>,
}

impl DatabasePlan {
    /// Of these files, all data files in PRIMARY, which grow together.
    pub(crate) fn of_primary(files: Vec<FilePlan>) -> DatabasePlan {
        DatabasePlan {
            files,
            filegroups: vec![(1, "PRIMARY".to_owned(), true, true)],
        }
    }
}

/// Which statement a file is asked for by: messages differ in their states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Create,
    Add,
}

/// Decides sizes and checks one file by itself.
pub(crate) fn plan_file(
    spec: &FileSpec,
    (id, filegroup): (u16, u16),
    default_kb: u64,
    asked: Asked,
) -> Result<FilePlan, EngineError> {
    let name = || spec.name.as_str().into();
    check_name(&spec.name)?;
    let path = file_path(&spec.path)?;
    let size_kb = spec.size_kb.unwrap_or(default_kb);
    if size_kb < MIN_FILE_KB {
        return Err(EngineError::refused(5174, &[]));
    }
    if id == 1 && size_kb < MIN_PRIMARY_MB * 1024 {
        return Err(EngineError::refused(1803, &[MIN_PRIMARY_MB.into()]));
    }
    let most = if filegroup == 0 {
        MAX_LOG_PAGES
    } else {
        u64::from(MAX_FILE_PAGES)
    };
    let pages = |kb: u64| {
        let pages = kb
            .div_ceil(EXTENT_KB)
            .saturating_mul(u64::from(EXTENT_PAGES));
        let fits = u32::try_from(pages).ok().filter(|_| pages <= most);
        fits.ok_or_else(|| EngineError::refused(1842, &[]))
    };
    let size_pages = pages(size_kb)?;
    let max_pages = spec.max_size_kb.map(pages).transpose()?;
    if max_pages.is_some_and(|max| max < size_pages) {
        return Err(EngineError::refused(5103, &[name()]));
    }
    let growth = round_growth(spec.growth.unwrap_or(DEFAULT_GROWTH));
    if let (FileGrowth::Pages(step), Some(max), true) = (growth, max_pages, spec.growth.is_some())
        && step > max
    {
        let state = if asked == Asked::Create { 2 } else { 1 };
        return Err(EngineError::of(
            Message::new(5169, &[name()]).with_state(state),
        ));
    }
    Ok(FilePlan {
        id,
        filegroup,
        name: spec.name.clone(),
        path,
        size_pages,
        max_pages,
        growth,
    })
}

/// Steps of growth are whole extents.
pub(crate) fn round_growth(growth: FileGrowth) -> FileGrowth {
    match growth {
        FileGrowth::Pages(0) | FileGrowth::Percent(0) | FileGrowth::None => FileGrowth::None,
        FileGrowth::Pages(p) => FileGrowth::Pages(p.next_multiple_of(EXTENT_PAGES)),
        percent @ FileGrowth::Percent(_) => percent,
    }
}

fn check_name(name: &str) -> Result<(), EngineError> {
    let units = name.encode_utf16().count();
    if units == 0 {
        return Err(EngineError::refused(1036, &["NAME".into()]));
    }
    if units > MAX_NAME_UNITS || name.contains('\0') {
        let start: String = name.chars().take(MAX_NAME_UNITS).collect();
        let text = format!(
            "The identifier that starts with '{start}' is too long. Maximum length is 128."
        );
        return Err(EngineError::of(Message::custom(103, 15, 4, &text)));
    }
    Ok(())
}

impl DatabaseSpec {
    /// Decides everything that was left open, and checks the whole.
    pub(crate) fn plan(&self) -> Result<DatabasePlan, EngineError> {
        check_name(&self.name)?;
        let Some(first) = self.primary.first() else {
            return Err(EngineError::refused(1036, &["FILENAME".into()]));
        };
        let mut filegroups = vec![(1, "PRIMARY".to_owned(), true, self.autogrow_all)];
        for group in &self.filegroups {
            check_filegroup(&group.name, filegroups.iter().map(|g| g.1.as_str()))?;
            let id = filegroups.len() as u16 + 1;
            if group.is_default {
                filegroups.iter_mut().for_each(|g| g.2 = false);
            }
            filegroups.push((id, group.name.clone(), group.is_default, group.autogrow_all));
        }
        let mut files = vec![plan_file(first, (1, 1), DEFAULT_PRIMARY_KB, Asked::Create)?];
        let others = self.primary.iter().skip(1).map(|f| (1, f));
        let grouped = (2..)
            .zip(&self.filegroups)
            .flat_map(|(g, s)| s.files.iter().map(move |f| (g, f)));
        for (id, (group, file)) in (3..).zip(others.chain(grouped)) {
            files.push(plan_file(
                file,
                (id, group),
                DEFAULT_SECONDARY_KB,
                Asked::Create,
            )?);
        }
        let data_kb: u64 = files
            .iter()
            .map(|f| u64::from(f.size_pages) * PAGE_KB)
            .sum();
        let default_log = || FileSpec::new(log_name(&self.name), default_log_path(&first.path));
        let log = self.log.clone().unwrap_or_else(default_log);
        files.insert(
            1,
            plan_file(&log, (2, 0), (data_kb / 4).max(MIN_FILE_KB), Asked::Create)?,
        );
        check_unique(&files)?;
        Ok(DatabasePlan { files, filegroups })
    }
}

/// Whether a filegroup may have this name.
pub(crate) fn check_filegroup<'a>(
    name: &str,
    mut taken: impl Iterator<Item = &'a str>,
) -> Result<(), EngineError> {
    check_name(name)?;
    if name.eq_ignore_ascii_case("DEFAULT") {
        return Err(EngineError::refused(5051, &[]));
    }
    if taken.any(|other| other.to_lowercase() == name.to_lowercase()) {
        return Err(EngineError::refused(5035, &[name.into()]));
    }
    Ok(())
}

/// The logical name that the log of a database has of which nothing was said: `_log` behind the database's,
/// of which as much stays as a name has room for.
pub fn log_name(database: &str) -> String {
    const END: &str = "_log";
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units + END.len() <= MAX_NAME_UNITS
    };
    let mut name: String = database.chars().take_while(fits).collect();
    name.push_str(END);
    name
}

/// The log of a database of which nothing was said: the primary file's name with `.ldf`, `_log` before it.
pub(crate) fn default_log_path(primary: &Path) -> PathBuf {
    let stem = primary.file_stem().unwrap_or_default().to_string_lossy();
    primary.with_file_name(format!("{stem}_log.ldf"))
}

fn check_unique(files: &[FilePlan]) -> Result<(), EngineError> {
    let (mut names, mut paths) = (HashSet::new(), HashSet::new());
    for file in files {
        if !names.insert(file.name.to_lowercase()) {
            return Err(EngineError::refused(1828, &[file.name.as_str().into()]));
        }
        let mut made = vec![file.path.clone()];
        if file.filegroup != 0 {
            made.push(super::physical::double_write_path(&file.path));
        }
        for path in made {
            if !paths.insert(path.clone()) {
                return Err(EngineError::refused(
                    12106,
                    &[path.display().to_string().into()],
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(spec: &DatabaseSpec) -> u32 {
        spec.plan().unwrap_err().number()
    }

    #[test]
    fn defaults_are_the_products_and_numbers_go_data_log_data() {
        let spec = DatabaseSpec::new("Co", FileSpec::new("Co_data", "d/co.mdf"))
            .file(FileSpec::new("Co_2", "d/co2.ndf"))
            .filegroup(FilegroupSpec::new(
                "FG",
                vec![FileSpec::new("Co_3", "d/co3.ndf")],
            ));
        let plan = spec.plan().unwrap();
        let ids: Vec<(u16, u16, u32)> = plan
            .files
            .iter()
            .map(|f| (f.id, f.filegroup, f.size_pages))
            .collect();
        assert_eq!(ids, [(1, 1, 1024), (2, 0, 320), (3, 1, 128), (4, 2, 128)]);
        assert_eq!(plan.files[1].name, "Co_log");
        assert_eq!(plan.files[1].path, Path::new("d/co_log.ldf"));
        assert_eq!(plan.files[0].growth, FileGrowth::Pages(8192));
        assert_eq!(plan.files[0].max_pages, None);
    }

    #[test]
    fn sizes_are_rounded_up_to_extents() {
        let spec = FileSpec::new("a", "a").size_kb(21_001);
        assert_eq!(
            plan_file(&spec, (3, 1), 0, Asked::Add).unwrap().size_pages,
            2632
        );
    }

    #[test]
    fn every_rule_has_its_message() {
        let file = || FileSpec::new("a", "d/a.mdf").size_mb(5);
        let with = |f: FileSpec| number(&DatabaseSpec::new("x", f));
        assert_eq!(with(file().size_kb(511)), 5174);
        assert_eq!(with(file().size_mb(1)), 1803);
        assert_eq!(with(file().max_mb(4)), 5103);
        assert_eq!(with(file().max_mb(6).growth_mb(7)), 5169);
        assert_eq!(with(file().size_mb(1 << 40)), 1842);
        assert_eq!(with(FileSpec::new("", "d/a.mdf")), 1036);
        assert_eq!(with(FileSpec::new("a", "")), 1036);
        assert_eq!(
            with(FileSpec::new("a", format!("d/{}", "y".repeat(300)))),
            5105
        );
        assert_eq!(with(FileSpec::new("n".repeat(129), "d/a.mdf")), 103);
        let two = DatabaseSpec::new("x", file());
        assert_eq!(
            number(&two.clone().file(FileSpec::new("A", "d/b.ndf"))),
            1828
        );
        assert_eq!(
            number(&two.clone().file(FileSpec::new("b", "d/a.mdf"))),
            12106
        );
        assert_eq!(
            number(&two.clone().file(FileSpec::new("b", "d/a.mdf.dw"))),
            12106
        );
        let group = |name: &str| FilegroupSpec::new(name, vec![]);
        assert_eq!(number(&two.clone().filegroup(group("primary"))), 5035);
        assert_eq!(
            number(&two.clone().filegroup(group("g")).filegroup(group("G"))),
            5035
        );
        assert_eq!(number(&two.clone().filegroup(group("default"))), 5051);
        assert!(two.plan().is_ok());
    }
}
