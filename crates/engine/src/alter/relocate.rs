//! ALTER DATABASE MODIFY FILE (FILENAME = ...): the path at which a file is opened when the database is next
//! opened. Nothing is moved: the user moves the file while the database is closed.
//!
//! The instance's list stores the path of the primary file. `sysfiles1` stores the path of the log, because
//! it is read before redo. `sysprufiles` stores the paths of the others. The views read all names in
//! `sysprufiles`.

use super::online::HEADER_LOG_BYTES;
use crate::database::Database;
use crate::files::FILES1_PAGE;
use furrow_format::catalog::{BaseRow, File1, SYSFILES1};
use furrow_format::{Change, FileId, Page};
use furrow_pool::LatchRank;
use furrow_tables::EngineError;
use furrow_txn::{Author, Mini};
use std::path::Path;

impl Database {
    /// Notes the path, one that [`file_path`](super::file_path::file_path) returned, for the next time; says
    /// which file it is.
    pub(crate) fn relocate(&self, name: &str, path: &Path) -> Result<FileId, EngineError> {
        self.must_be_writable()?;
        let _turn = self.files.turn.lock();
        let shown = path.to_string_lossy().into_owned();
        let log = self.keeper.log_entry();
        let log = (log.name.to_lowercase() == name.to_lowercase()).then_some(log);
        self.files.refuse_absent_file(name)?;
        let file = self.files.named(name);
        let missing = || EngineError::refused(5041, &[name.into()]);
        let id = match (&log, &file) {
            (Some(_), _) => FileId(2),
            (None, Some(file)) => file.id,
            (None, None) => return Err(missing()),
        };
        let others = self.file_list()?;
        let taken = others.iter().any(|f| f.id != id && f.path == path);
        if taken {
            return Err(EngineError::refused(12106, &[shown.into()]));
        }
        let directory = path.parent().unwrap_or(Path::new(""));
        if !self.shared.volume.exists(directory).unwrap_or(false) {
            return Err(EngineError::refused(5121, &[shown.into()]));
        }
        if let Some(mut log) = log {
            log.next_path = Some(path.to_path_buf());
            self.keeper.set_log_entry(log);
        }
        if let Some(mut file) = file {
            file.next_path = Some(path.to_path_buf());
            self.files.put(file);
        }
        self.note_path(id, path)?;
        // `sysfiles1` is read before redo.
        self.checkpoint()?;
        Ok(id)
    }

    /// Writes the paths of all files to the catalog: files that are attached need not be where it says.
    /// Without that, the next start would look for them in the old places. A read-only database is not
    /// written.
    pub(crate) fn note_places(&self) -> Result<(), EngineError> {
        if self.must_be_writable().is_err() {
            return Ok(());
        }
        let _turn = self.files.turn.lock();
        for file in self.file_list()? {
            self.note_path(file.id, &file.path)?;
        }
        // `sysfiles1` is read before redo.
        self.checkpoint()?;
        Ok(())
    }

    /// Writes the path of a file to the catalog, and that of the log to `sysfiles1`.
    pub(crate) fn note_path(&self, id: FileId, path: &Path) -> Result<(), EngineError> {
        let shown = path.to_string_lossy().into_owned();
        if id == FileId(2) {
            self.write_log_path(&shown)?;
        }
        self.update_row(id, |row| row.pname = shown)
    }

    /// Where the log is, in `sysfiles1`: its rows are all of one length.
    fn write_log_path(&self, path: &str) -> Result<(), EngineError> {
        let bad = |what: &str| EngineError::Damaged(format!("sysfiles1: {what}"));
        let layout = SYSFILES1.row_layout().map_err(|e| bad(&e.to_string()))?;
        self.store.promise(HEADER_LOG_BYTES)?;
        self.store.log().give_back(HEADER_LOG_BYTES);
        let page = self.store.write(FILES1_PAGE, LatchRank::Data)?;
        let view = Page::new(&page);
        let rows = view.records().filter_map(|(slot, bytes)| {
            let record = layout.record(bytes, view.pminlen())?;
            let row = File1::from_values(SYSFILES1.decode_row(&layout, record)?)?;
            (row.fileid == 2).then_some((slot, row))
        });
        let found = rows.into_iter().next();
        let (slot, mut row) = found.ok_or_else(|| bad("it names no log"))?;
        path.clone_into(&mut row.filename);
        row.name = row.name.trim_end_matches(' ').to_owned();
        let mut bytes = Vec::new();
        SYSFILES1
            .encode_row(&layout, &row.to_values(), &mut bytes)
            .map_err(|e| bad(&e.to_string()))?;
        let mut mini = Mini::new(&self.store);
        let page = mini.adopt(page);
        mini.push(
            page,
            &Change::ReplaceRow {
                slot,
                bytes: &bytes,
            },
        );
        mini.commit(&Author::System)?;
        Ok(())
    }
}
