//! `furrow inspect fill`: where the next extents will go, by the engine's own rule.

use super::super::args::FillArguments;
use super::super::{FAILED, Failure, USAGE};
use super::open_files;
use furrow_check::{damage_message, reader_error_text};
use furrow_datafile::{DataFiles, PageSource, Pages, free_extents};
use furrow_format::{FileHeader, FileId, PageId, PageNo};
use furrow_io::{SystemVolume, Volume};
use furrow_space::fill::{filling_order, foresee, skip_target};
use furrow_types::Guid;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

/// A file with this share or more takes nearly all extents, which is worth a warning.
const NEARLY_ALL: f64 = 0.9;

/// A file, and how many extents it will get.
#[derive(Debug, Clone)]
struct Filled {
    path: PathBuf,
    name: String,
    id: FileId,
    free: u64,
    target: u64,
    /// Its number of the next extents.
    gets: u64,
    share: f64,
}

/// The files of one filegroup, in the order in which they are filled.
#[derive(Debug)]
struct Group {
    filegroup: u16,
    files: Vec<Filled>,
}

pub(super) fn run(options: &FillArguments) -> Result<u8, Failure> {
    let paths = expand(&options.files)?;
    let mut groups: BTreeMap<([u8; 16], u16), Vec<Filled>> = BTreeMap::new();
    for path in paths {
        let (binding, filegroup, file) = read(&path)?;
        if filegroup == 0 {
            eprintln!("furrow: {} is a log file: left out", path.display());
            continue;
        }
        groups.entry((binding.0, filegroup)).or_default().push(file);
    }
    if groups.is_empty() {
        return Err(Failure::new(
            USAGE,
            "there is no data file among those given",
        ));
    }
    let groups: Vec<Group> = groups
        .into_iter()
        .map(|((_, filegroup), files)| look_ahead(filegroup, files, options.extents))
        .collect();
    let mut out = std::io::stdout().lock();
    if options.json {
        as_json(&groups, &mut out)
    } else {
        print(&groups, options.extents, &mut out)
    }
    .map_err(Failure::of_printing)?;
    warn(&groups, options.extents);
    Ok(0)
}

/// Replaces directories by the data files in them.
fn expand(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let volume = SystemVolume::new();
    let mut paths = Vec::new();
    for path in given {
        if !path.is_dir() {
            paths.push(path.clone());
            continue;
        }
        let about = |error: furrow_io::IoError| {
            Failure::new(
                FAILED,
                format!("{} cannot be read: {}", path.display(), error.kind),
            )
        };
        let mut inside = volume.list(path).map_err(about)?;
        inside.retain(|path| {
            let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
            matches!(extension.as_deref(), Some("mdf" | "ndf"))
        });
        inside.sort();
        paths.extend(inside);
    }
    Ok(paths)
}

/// Reads the database, the filegroup and the free extents of a file.
fn read(path: &PathBuf) -> Result<(Guid, u16, Filled), Failure> {
    let files = open_files(std::slice::from_ref(path))?;
    let pages = Pages::new(&files);
    let refuse = |why: String| Failure::new(FAILED, format!("{}: {why}", path.display()));
    let id = id_of(&files).ok_or_else(|| refuse("it is no data file".to_owned()))?;
    let page = PageId {
        file: id,
        page: PageNo(0),
    };
    let first = pages
        .page(page)
        .ok_or_else(|| refuse("it has no first page".to_owned()))?;
    if let Some(Err(fault)) = pages.protection(page) {
        let known = files.files();
        let message = damage_message(page, &fault, &known, 0);
        return Err(Failure::new(FAILED, message.to_string()));
    }
    let header = FileHeader::decode(&first).map_err(|error| refuse(error.to_string()))?;
    let (free, lost) = match header.filegroup {
        0 => (0, Vec::new()),
        _ => free_extents(&pages, id),
    };
    if let Some(error) = lost.first() {
        let known = files.files();
        return Err(Failure::new(FAILED, reader_error_text(error, &known, 0)));
    }
    let filled = Filled {
        path: path.clone(),
        name: header.name,
        id,
        free: u64::from(free),
        target: 1,
        gets: 0,
        share: 0.0,
    };
    Ok((header.binding, header.filegroup, filled))
}

fn id_of(files: &DataFiles) -> Option<FileId> {
    let files = files.files();
    files.first().map(|file| file.id)
}

fn look_ahead(filegroup: u16, mut files: Vec<Filled>, extents: u64) -> Group {
    files.sort_by_key(|file| file.id);
    let mut files = filling_order(files);
    let free: Vec<u64> = files.iter().map(|file| file.free).collect();
    let most = free.iter().copied().max().unwrap_or(0);
    let gets = foresee(&free, extents);
    let all: u64 = gets.iter().sum();
    for (file, gets) in files.iter_mut().zip(gets) {
        file.target = skip_target(most, file.free);
        file.gets = gets;
        file.share = if all == 0 {
            0.0
        } else {
            gets as f64 / all as f64
        };
    }
    Group { filegroup, files }
}

fn as_json(groups: &[Group], out: &mut impl Write) -> std::io::Result<()> {
    let files = groups.iter().flat_map(|group| &group.files);
    let files: Vec<_> = files
        .map(|file| {
            json!({
                "file": file.path.display().to_string(),
                "file_id": file.id.0,
                "free_extents": file.free,
                "skip_target": file.target,
                "share": file.share,
            })
        })
        .collect();
    writeln!(out, "{:#}", json!({ "files": files }))
}

fn print(groups: &[Group], extents: u64, out: &mut impl Write) -> std::io::Result<()> {
    for (at, group) in groups.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(
            out,
            "filegroup {}, its files in filling order; the next {extents} extents ({} MB):",
            group.filegroup,
            extents / 16
        )?;
        writeln!(
            out,
            "  {:>4}  {:>12}  {:>11}  {:>9}  {:>7}",
            "file", "free extents", "skip target", "gets", "share"
        )?;
        for file in &group.files {
            writeln!(
                out,
                "  {:>4}  {:>12}  {:>11}  {:>9}  {:>6.1}%  {}  {}",
                file.id.0,
                file.free,
                file.target,
                file.gets,
                file.share * 100.0,
                file.name,
                file.path.display()
            )?;
        }
        let all: u64 = group.files.iter().map(|file| file.gets).sum();
        if all < extents {
            writeln!(
                out,
                "  all files are full after {all} extents; then they grow, one after the other"
            )?;
        }
    }
    Ok(())
}

/// Warns if one file gets nearly all extents, which several files are meant to prevent.
fn warn(groups: &[Group], extents: u64) {
    for group in groups.iter().filter(|group| group.files.len() > 1) {
        for file in group.files.iter().filter(|file| file.share >= NEARLY_ALL) {
            eprintln!(
                "warning: file {} ({}) takes {:.1}% of the next {extents} extents of filegroup {}: \
                 allocation pages, checkpoint writes and reads of new rows meet in this one file. Files of \
                 one size with the same free space share evenly; a file added to full ones spreads nothing.",
                file.id.0,
                file.name,
                file.share * 100.0,
                group.filegroup
            );
        }
    }
}
