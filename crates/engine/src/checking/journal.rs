//! The journal of a repair: pages on their way to the data files.
//!
//! A journal is written beside the primary file, durably, before the first of its pages is written to a data
//! file. One that is whole is written to the files before they are opened; one that was cut short
//! is removed, one that was damaged since keeps the database closed (40517).
//!
//! # Invariants
//! 1. *A journal is applied only to the files that it was computed from*, as they were then. Each sector of
//!    page 0 of each file (binding GUID, file GUID, greatest LSN), and of the boot page, is that of before or
//!    that of after. The boot page is written last. Any use of the database since would have changed it, for
//!    opening clears its flag of a clean shutdown. Proof: `a_journal_of_another_state_is_not_applied`.
//!    A sector that the device cannot read may be any: the repair may have been writing it. If nothing can
//!    be read, the journal stays. Proof: `a_journal_stays_where_the_device_cannot_read_its_files`.
//! 2. *After a repair the backup chain is broken*: the boot page of after has no log chain and no base of
//!    differential backups. Log backups from after cannot follow on pages from before. Proof:
//!    `after_a_repair_the_log_chain_begins_anew`.
//! 3. *All of a repair is durable, or the database of before is there*, wherever it is cut short. Proof:
//!    `a_power_loss_in_a_repair_leaves_the_database_of_before_or_the_repaired_one`.
//!
//! # A new log
//! The journal of an EMERGENCY repair says that the log is lost, whatever there is of it. Its boot page of
//! after says that the database was shut down cleanly, at an LSN that no page exceeds, and the headers name
//! one checkpoint behind it: so opening makes a new log (`crate::opening`). The journal stays until the
//! boot page has lost that flag; an interrupted opening removes what there is of the new log and begins
//! again.

use super::journal_file::{Content, Journal, Known};
use super::known_pages::{
    Locked, LogAfter, boot_pages, header_pages, is_between, is_same_but_checkpoint, newest_lsn,
    not_so, raw_page,
};
use crate::files::{double_write_path, open_error, repair_path};
use crate::shared::Moved;
use crate::shared::Shared;
use furrow_check::Repaired;
use furrow_format::{BOOT_PAGE, FileId, Lsn, PAGE_SIZE, PageBuf, PageId, PageNo};
use furrow_io::{Access, AlignedBuf, File, Fill, Open, Volume};
use furrow_messages::Message;
use furrow_tables::EngineError;
use std::path::Path;
use std::sync::Arc;

impl<'p> Journal<'p> {
    /// Of what was computed from these files, which have not changed since.
    pub(crate) fn of(
        repaired: &'p Repaired,
        files: &Locked,
        log: LogAfter,
    ) -> Result<Journal<'p>, EngineError> {
        let primary = files.get(&FileId(1));
        let primary = primary.ok_or_else(|| not_so("no primary file: no repair"))?;
        let (newest, checkpoint) = match log {
            LogAfter::Stays | LogAfter::Recovered => (Lsn::ZERO, None),
            LogAfter::New(_) => {
                let newest = newest_lsn(repaired, files)?;
                let behind = Lsn::new(newest.vlf().saturating_add(1), 0, 0);
                let behind = behind.ok_or_else(|| not_so("no LSN is left: no repair"))?;
                (newest, Some(behind))
            }
        };
        let mended = repaired.pages.get(&BOOT_PAGE);
        let boot = boot_pages((&**primary, mended.map(|page| &**page)), log, newest)?;
        let mut known = Vec::new();
        for (id, file) in files {
            known.push(Known {
                id: *id,
                size: repaired.sizes.get(id).copied().unwrap_or(0),
                path: file.path().to_path_buf(),
                header: {
                    let page = PageNo(0);
                    let mended = repaired.pages.get(&PageId { file: *id, page });
                    header_pages((&**file, mended.map(|page| &**page)), *id, checkpoint)?
                },
            });
        }
        Ok(Journal {
            files: known,
            boot,
            pages: Content::Computed(&repaired.pages),
            new_log: log.is_new(),
        })
    }

    /// Writes the journal to its file, durably.
    pub(crate) fn keep(&self, file: &dyn File) -> Result<(), EngineError> {
        super::journal_file::write(self, file)
    }

    /// Makes files that are cut off as long as they should be: before the journal is there, for it may fail.
    pub(crate) fn make_room(&self, files: &Locked) -> Result<(), EngineError> {
        for known in &self.files {
            let Some(file) = files.get(&known.id) else {
                continue;
            };
            let bytes = u64::from(known.size) * PAGE_SIZE as u64;
            if file.len_bytes()? < bytes {
                file.resize(bytes, Fill::Allocate)?;
                file.sync()?;
            }
        }
        Ok(())
    }

    /// Writes the pages to the data files, durably; the boot page when all others are.
    pub(crate) fn write(&self, files: &Locked) -> Result<(), EngineError> {
        self.make_room(files)?;
        self.pages.each(&mut |ids, bytes| {
            for (id, page) in ids.iter().zip(bytes.as_chunks::<PAGE_SIZE>().0) {
                let at = u64::from(id.page.0) * PAGE_SIZE as u64;
                if let Some(file) = files.get(&id.file) {
                    file.write_at(at, &AlignedBuf::copy_of(page))?;
                }
            }
            Ok(())
        })?;
        for (id, file) in files {
            let known = self.files.iter().find(|known| known.id == *id);
            if let Some([before, after]) = known.map(|known| &known.header)
                && before != after
            {
                file.write_at(0, &AlignedBuf::copy_of(&**after))?;
            }
            file.sync()?;
        }
        let [_, after] = &self.boot;
        if let Some(primary) = files.get(&FileId(1)) {
            let at = u64::from(BOOT_PAGE.page.0) * PAGE_SIZE as u64;
            primary.write_at(at, &AlignedBuf::copy_of(&**after))?;
            primary.sync()?;
        }
        Ok(())
    }

    /// Whether the journal was computed from this primary file, and the database was not opened since. It may
    /// be written already: writing it again changes nothing. An error where the device can read nothing that
    /// would say so.
    fn is_of(&self, primary: &dyn File) -> Result<bool, EngineError> {
        let (boot, header) = (
            raw_page(primary, BOOT_PAGE.page)?,
            raw_page(primary, PageNo(0))?,
        );
        let (Some(boot), Some(header)) = (boot, header) else {
            return Ok(false);
        };
        if !self.has_header(FileId(1), &header.bytes) || !is_between(&boot.bytes, &self.boot) {
            return Ok(false);
        }
        let is_proven = boot.proves() || header.proves();
        match boot.error.or(header.error) {
            Some(error) if !is_proven => Err(error.into()),
            _ => Ok(true),
        }
    }

    /// The same of the primary file of this name.
    pub(super) fn is_of_file(
        &self,
        volume: &dyn Volume,
        primary: &Path,
    ) -> Result<bool, EngineError> {
        let file = volume.open(primary, Open::ReadOnly, Access::Data);
        self.is_of(&*file.map_err(|e| open_error(primary, &e))?)
    }

    /// Whether this is the header of a file before the repair, after it, or on the way.
    fn has_header(&self, id: FileId, header: &PageBuf) -> bool {
        let mut files = self.files.iter();
        files.find(|known| known.id == id).is_some_and(|known| {
            let [_, after] = &known.header;
            // The first checkpoint of the new log may be in the headers already.
            let in_new_log = self.new_log && is_same_but_checkpoint(header, after, id);
            is_between(header, &known.header) || in_new_log
        })
    }

    /// Whether a file beside the primary one is that of this number, as the repair found it or left it. An
    /// error where the device can read nothing of its header, unless the repair was writing that.
    fn knows(&self, id: FileId, file: &dyn File) -> Result<bool, EngineError> {
        let Some(header) = raw_page(file, PageNo(0))? else {
            return Ok(false);
        };
        if !self.has_header(id, &header.bytes) {
            return Ok(false);
        }
        let mut files = self.files.iter();
        let is_written = files.any(|known| {
            let [before, after] = &known.header;
            known.id == id && before != after
        });
        let is_proven = header.proves() || is_written;
        match header.error {
            Some(error) if !is_proven => Err(error.into()),
            _ => Ok(true),
        }
    }

    /// Writes what a crash has left to write, or nothing: `false` where the journal is not of these files.
    pub(super) fn finish(
        &self,
        shared: &Shared,
        primary: &Path,
        moved: &Moved,
    ) -> Result<bool, EngineError> {
        let open = |path: &Path| {
            let file = shared.volume.open(path, Open::Existing, Access::Data);
            file.map_err(|e| open_error(path, &e))
        };
        let primary = open(primary)?;
        if !self.is_of(&*primary)? {
            return Ok(false);
        }
        let mut files = Locked::from([(FileId(1), Arc::clone(&primary))]);
        for known in self.files.iter().filter(|known| known.id != FileId(1)) {
            // The primary file waits for its own: the journal stays until it comes.
            let file = moved
                .find(shared, (known.id.0, &known.path))
                .and_then(|path| open(&path))
                .and_then(|file| match self.knows(known.id, &*file)? {
                    true => Ok(file),
                    false => Err(EngineError::refused(5173, &[])),
                });
            let file = file.map_err(|why| waits(primary.path(), &known.path, why));
            files.insert(known.id, file?);
        }
        self.write(&files)?;
        self.forget_images(&*shared.volume, &files)?;
        Ok(true)
    }

    /// Removes the images of pages: they are older than what was written.
    pub(crate) fn forget_images(
        &self,
        volume: &dyn Volume,
        files: &Locked,
    ) -> Result<(), EngineError> {
        for file in files.values() {
            let images = double_write_path(file.path());
            if volume.exists(&images)? {
                volume.remove(&images)?;
            }
        }
        Ok(())
    }
}

/// The error of a journal that waits for a file, with what to do.
fn waits(primary: &Path, file: &Path, why: EngineError) -> EngineError {
    let text = format!(
        "The journal '{}' of a repair cannot be finished without '{}': put that file back, and open the \
         database again. If it is lost, restore the database from a backup; or remove the journal, which \
         gives the repair up half-way, and repair the database again.",
        repair_path(primary).display(),
        file.display()
    );
    why.followed_by(Message::custom(40517, 16, 4, &text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checking::journal_file::{Found, read};
    use furrow_io::MemoryVolume;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    #[test]
    fn a_journal_comes_back_whole_or_not_at_all() {
        let id = PageId {
            file: FileId(3),
            page: PageNo(77),
        };
        let pages = BTreeMap::from([(id, Box::new([7; PAGE_SIZE]))]);
        let journal = Journal {
            files: vec![Known {
                id: FileId(3),
                size: 5,
                path: PathBuf::from("d/three.ndf"),
                header: [Box::new([3; PAGE_SIZE]), Box::new([4; PAGE_SIZE])],
            }],
            new_log: true,
            boot: [Box::new([1; PAGE_SIZE]), Box::new([2; PAGE_SIZE])],
            pages: Content::Computed(&pages),
        };
        let volume = MemoryVolume::new();
        volume.create_dir(Path::new("d")).unwrap();
        let open = |name: &str| {
            let made = volume.open(Path::new(name), Open::Create, Access::Data);
            made.unwrap()
        };
        let file = open("d/journal");
        journal.keep(&*file).unwrap();
        let Found::Whole(back) = read(&file).unwrap() else {
            panic!("it is whole");
        };
        assert_eq!((&back.files, &back.boot), (&journal.files, &journal.boot));
        assert!(back.new_log);
        let mut seen = Vec::new();
        let each = &mut |ids: &[PageId], bytes: &AlignedBuf| {
            seen.push((ids.to_vec(), bytes.to_vec()));
            Ok(())
        };
        back.pages.each(each).unwrap();
        assert_eq!(seen, [(vec![id], vec![7; PAGE_SIZE])]);
        let length = file.len_bytes().unwrap() as usize;
        let mut bytes = AlignedBuf::new(length);
        file.read_at(0, &mut bytes).unwrap();
        verify_damaged(&bytes, &journal.files);
    }

    /// What becomes of a journal of these bytes where it is cut short or changed.
    fn verify_damaged(bytes: &[u8], files: &[Known]) {
        let length = bytes.len();
        let volume = MemoryVolume::new();
        volume.create_dir(Path::new("d")).unwrap();
        let open = |name: &str| {
            let made = volume.open(Path::new(name), Open::Create, Access::Data);
            made.unwrap()
        };
        // As a crash leaves it, before its first sector is written.
        let mut number = 0;
        let mut other = |bytes: &[u8]| {
            number += 1;
            let file = open(&format!("d/other{number}"));
            file.write_at(0, &AlignedBuf::copy_of(bytes)).unwrap();
            read(&file).unwrap()
        };
        for cut in [512, 5120, length - 512, length] {
            let mut part = bytes[..cut].to_vec();
            part[..512].fill(0);
            assert!(matches!(other(&part), Found::Unfinished), "cut at {cut}");
        }
        // What was whole, and has lost something since: the head says of which files it is.
        for (cut, is_known) in [(512, false), (5120, false), (length - 512, true)] {
            match other(&bytes[..cut]) {
                Found::Damaged(back) => assert_eq!(back.is_some(), is_known, "cut at {cut}"),
                _ => panic!("cut at {cut}"),
            }
        }
        for (at, is_known) in [(9, false), (16, false), (4000, false), (length - 100, true)] {
            let mut bent = bytes.to_vec();
            bent[at] ^= 1;
            match other(&bent) {
                Found::Damaged(back) => assert_eq!(back.is_some(), is_known, "byte {at}"),
                _ => panic!("byte {at}"),
            }
        }
        // The version before wrote its first sector with the rest.
        let body = &bytes[512..];
        let mut before = b"FURROWR3".to_vec();
        before.extend((body.len() as u64).to_le_bytes());
        before.extend(u64::from(crc32c::crc32c(body)).to_le_bytes());
        before.resize(512, 0);
        before.extend_from_slice(body);
        match other(&before) {
            Found::Other(Some(back)) => assert_eq!(back.files, files),
            _ => panic!("it is of the version before"),
        }
        assert!(matches!(other(&before[..5120]), Found::Unfinished));
        before[5120] ^= 1;
        assert!(matches!(other(&before), Found::Unfinished));
    }

    fn put(file: &dyn File, number: PageNo, byte: u8) {
        let at = u64::from(number.0) * PAGE_SIZE as u64;
        let page = AlignedBuf::copy_of(&[byte; PAGE_SIZE]);
        file.write_at(at, &page).unwrap();
    }

    #[test]
    fn a_journal_of_another_state_is_not_applied() {
        let volume = MemoryVolume::new();
        volume.create_dir(Path::new("d")).unwrap();
        let path = Path::new("d/one.mdf");
        let file = volume.open(path, Open::Create, Access::Data).unwrap();
        file.resize(20 * PAGE_SIZE as u64, Fill::Zero).unwrap();
        put(&*file, PageNo(0), 5);
        put(&*file, BOOT_PAGE.page, 1);
        let target = PageId {
            file: FileId(1),
            page: PageNo(12),
        };
        let pages = BTreeMap::from([(target, Box::new([7; PAGE_SIZE]))]);
        let journal = Journal {
            files: vec![Known {
                id: FileId(1),
                size: 0,
                path: path.to_path_buf(),
                header: [Box::new([5; PAGE_SIZE]), Box::new([5; PAGE_SIZE])],
            }],
            new_log: false,
            boot: [Box::new([1; PAGE_SIZE]), Box::new([2; PAGE_SIZE])],
            pages: Content::Computed(&pages),
        };
        let files = Locked::from([(FileId(1), Arc::clone(&file))]);
        assert!(journal.is_of(&*file).unwrap());
        // The boot page is torn between before and after.
        let at = u64::from(BOOT_PAGE.page.0) * PAGE_SIZE as u64;
        let half = AlignedBuf::copy_of(&[2; 512 * 3]);
        file.write_at(at, &half).unwrap();
        assert!(journal.is_of(&*file).unwrap());
        // The database was opened since.
        put(&*file, BOOT_PAGE.page, 3);
        assert!(!journal.is_of(&*file).unwrap());
        put(&*file, BOOT_PAGE.page, 1);
        // Another database has the path, or the file was written since.
        put(&*file, PageNo(0), 6);
        assert!(!journal.is_of(&*file).unwrap());
        put(&*file, PageNo(0), 5);
        journal.write(&files).unwrap();
        assert!(journal.is_of(&*file).unwrap());
        let written = raw_page(&*file, target.page).unwrap().unwrap();
        assert_eq!(*written.bytes, [7; PAGE_SIZE]);
    }
}
