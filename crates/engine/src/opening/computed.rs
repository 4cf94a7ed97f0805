//! EMERGENCY of a database whose boot page or file headers are damaged: they are computed from the other
//! pages (`furrow_check::compute_foundation`), and are read from memory. Nothing is written. A repair that
//! recovers such a database with its log begins with the same pages.

use super::closed_files::OwnFile;
use super::rebuild::prove_reaches;
use crate::files::{Candidate, Patched, Patches, RestingFile, RestingFiles, open_error, read_boot};
use crate::shared::Shared;
use furrow_check::{CheckError, Foundation, Identity, compute_foundation};
use furrow_datafile::{DataFiles, PageSource, SourceError, SourceFile};
use furrow_format::{FileId, Lsn, PAGE_SIZE, PageBuf, PageNo};
use furrow_io::{Access, AlignedBuf, File, Open};
use furrow_tables::EngineError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files whose numbers are known: their first pages may be damaged.
#[derive(Default)]
struct RawFiles(BTreeMap<FileId, (SourceFile, Arc<dyn File>)>);

impl RawFiles {
    fn add(&mut self, id: FileId, file: &Arc<dyn File>) -> Result<(), EngineError> {
        let pages = file.len_bytes()? / PAGE_SIZE as u64;
        let known = SourceFile {
            id,
            name: file.path().display().to_string(),
            pages: u32::try_from(pages).unwrap_or(u32::MAX),
        };
        self.0.insert(id, (known, Arc::clone(file)));
        Ok(())
    }
}

impl PageSource for RawFiles {
    fn files(&self) -> Vec<SourceFile> {
        self.0.values().map(|(known, _)| known.clone()).collect()
    }

    fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), SourceError> {
        let past_end = SourceError::PastEnd { file, page: first };
        let (_, file) = self.0.get(&file).ok_or(past_end)?;
        let offset = u64::from(first.0) * PAGE_SIZE as u64;
        Ok(file.read_at(offset, into.as_flattened_mut())?)
    }
}

fn computed(files: &RawFiles, identity: &Identity) -> Result<Foundation, EngineError> {
    let goes_on = |_| !furrow_observe::task::is_cancelled();
    let computed =
        compute_foundation(files, identity, Some(&goes_on)).map_err(|error| match error {
            CheckError::Cancelled => EngineError::cancelled(),
            other => EngineError::Damaged(other.to_string()),
        })?;
    match computed.refused {
        true => Err(EngineError::Damaged(computed.notes.join(" "))),
        false => Ok(computed),
    }
}

/// A file with what was computed of it.
fn patched(
    file: Arc<dyn File>,
    (id, path): (FileId, &Path),
    computed: &Foundation,
) -> Result<RestingFile, EngineError> {
    let own = computed.pages.iter().filter(|(page, _)| page.file == id);
    let pages: Patches = own
        .map(|(page, bytes)| (page.page, bytes.clone()))
        .collect();
    RestingFile::proven(Patched::wrap(file, pages), path, id)
}

/// Opens the primary file, and says what of it was computed.
pub(super) fn open_primary(
    shared: &Shared,
    primary: &Path,
    identity: &Identity,
) -> Result<(RestingFiles, Vec<String>), EngineError> {
    // What was being written when the database went down lies whole beside the file. Looking for it takes
    // files that can be locked; the database can be read without.
    let torn = match Candidate::open(&*shared.volume, primary, FileId(1)) {
        Ok(candidate) => candidate.torn_pages().unwrap_or_default(),
        Err(error) if error.is_cancelled() => return Err(error),
        Err(_) => Patches::new(),
    };
    let file = shared.volume.open(primary, Open::ReadOnly, Access::Data);
    let file = file.map_err(|e| open_error(primary, &e))?;
    let file = Patched::wrap(file, torn);
    let mut files = RawFiles::default();
    files.add(FileId(1), &file)?;
    let computed = computed(&files, identity)?;
    let file = patched(file, (FileId(1), primary), &computed)?;
    Ok((RestingFiles::of(file), computed.notes))
}

/// Adds a secondary file whose header is damaged, if it lies where the catalog says and its PFS page has its
/// number. Says what of it was computed; `None` where it is not that file.
pub(super) fn add_file(
    shared: &Shared,
    files: &mut RestingFiles,
    (id, path): (FileId, &Path),
    identity: &Identity,
) -> Result<Option<Vec<String>>, EngineError> {
    let Ok(file) = shared.volume.open(path, Open::ReadOnly, Access::Data) else {
        return Ok(None);
    };
    // One whose header can be read was refused for what it says: it is of another database, or an old copy.
    let has_header = Candidate::open(&*shared.volume, path, id).is_ok_and(|f| f.header().is_ok());
    if has_header || !matches!(DataFiles::new().add(Arc::clone(&file)), Ok(number) if number == id)
    {
        return Ok(None);
    }
    let mut all = RawFiles::default();
    for (known, resting) in &files.files {
        all.add(FileId(*known), &resting.file)?;
    }
    all.add(id, &file)?;
    let computed = computed(&all, identity)?;
    let file = patched(file, (id, path), &computed)?;
    if file.header.binding != files.binding() {
        return Ok(None);
    }
    files.files.insert(id.0, file);
    Ok(Some(computed.notes))
}

/// Writes the boot page and the headers that cannot be used into the files of a closed database, so that it
/// can be recovered with its log, which reaches to `end`; says what of it was computed. Images of pages come
/// first. 5108 and 5173 where a page is newer than the log: without the header or the boot page that is lost,
/// nothing else shows that.
pub(crate) fn mend_foundation(
    shared: &Shared,
    own: &[OwnFile],
    (identity, log, end): (&Identity, &Path, Lsn),
) -> Result<Foundation, EngineError> {
    let volume = &*shared.volume;
    let mut files = RawFiles::default();
    for own in own {
        let mut file = Candidate::open(volume, &own.path, own.id)?;
        file.believe_up_to(end);
        let (guarded, _) = file.accept(volume)?;
        files.add(own.id, &guarded.file)?;
    }
    let computed = computed(&files, identity)?;
    prove_reaches(log, end, computed.newest)?;
    for (id, page) in &computed.pages {
        if let Some((_, file)) = files.0.get(&id.file) {
            let at = u64::from(id.page.0) * PAGE_SIZE as u64;
            file.write_at(at, &AlignedBuf::copy_of(&**page))?;
        }
    }
    Ok(computed)
}

/// The first file of a closed database whose header or boot page cannot be used, not even with what its
/// double-write file has.
pub(crate) fn first_damaged<'p>(
    shared: &Shared,
    paths: &'p BTreeMap<FileId, PathBuf>,
) -> Option<&'p Path> {
    let is_damaged = |id: FileId, path: &Path| {
        let Ok(file) = Candidate::open(&*shared.volume, path, id) else {
            return false;
        };
        file.header().is_err() || id == FileId(1) && read_boot(&file, path).is_err()
    };
    let mut all = paths.iter();
    all.find(|(id, path)| is_damaged(**id, path))
        .map(|(_, path)| path.as_path())
}
