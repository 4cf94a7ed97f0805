//! A data file that was opened and has yet to be proven the right one.
//!
//! Pages that were torn lie whole in the double-write file beside it. They are read from there, and put back
//! only once everything was found right: a file that does not belong here (an old copy, a stranger's) is left
//! as it was, and the images stay for the one that does.
//!
//! The images may be those of another time: files and log were put back as they had been once, and the
//! double-write file was left. No page is written, be it as an image, before the log is
//! durable up to it; so an image of a page that is newer than the log's end is no part of this.

#![deny(clippy::indexing_slicing)]

use super::patched::Patches;
use super::physical::header_page;
use super::physical::read_header;
use super::physical::{Guarded, PageReads, double_write_path, open_error};
use furrow_format::{
    FileHeader, FileId, Lsn, PAGE_SIZE, Page, PageNo, PageType, Protection, admit, verify,
};
use furrow_io::{Access, AlignedBuf, File, IoError, IoErrorKind, Open, Volume};
use furrow_pool::double_write::TornPages;
use furrow_tables::EngineError;
use std::path::Path;
use std::sync::Arc;

/// A double-write file, and what of it is to be put back.
type Guard = (Arc<dyn File>, TornPages);

/// The file, what lies beside it, and what of that is to be put back.
#[derive(Debug)]
pub(crate) struct Candidate {
    id: FileId,
    file: Arc<dyn File>,
    guard: Option<Guard>,
}

impl PageReads for Candidate {
    fn page_bytes(&self, page: PageNo, bytes: &mut [u8]) -> Result<(), IoError> {
        match &self.guard {
            Some((images, torn)) => torn.read((&*self.file, &**images), page, bytes),
            None => self.file.page_bytes(page, bytes),
        }
    }

    fn length(&self) -> Result<u64, IoError> {
        self.file.len_bytes()
    }

    fn place(&self) -> &Path {
        self.file.path()
    }
}

fn open_existing(volume: &dyn Volume, path: &Path) -> Result<Arc<dyn File>, EngineError> {
    let opened = volume.open(path, Open::Existing, Access::Data);
    opened.map_err(|e| open_error(path, &e))
}

/// The double-write file of a data file, and what of it is to be put back.
fn guard_of(
    volume: &dyn Volume,
    file: &dyn File,
    id: FileId,
) -> Result<Option<Guard>, EngineError> {
    let path = double_write_path(file.path());
    // Nothing is restored in a file that is too short for a header: reading the header reports it.
    if file.len_bytes()? < PAGE_SIZE as u64 || !volume.exists(&path)? {
        return Ok(None);
    }
    let images = open_existing(volume, &path)?;
    let torn = TornPages::find(file, &*images, id)?;
    Ok(Some((images, torn)))
}

/// Puts back what was torn of a data file whose log is lost; returns the number of pages. No log says here
/// which images are too new: all of them count.
pub(crate) fn put_images_back(
    volume: &dyn Volume,
    file: &dyn File,
    id: FileId,
) -> Result<usize, EngineError> {
    let Some((images, torn)) = guard_of(volume, file, id)? else {
        return Ok(0);
    };
    Ok(torn.put_back(file, &*images)?.restored.len())
}

impl Candidate {
    /// Opens a data file, which locks it, and looks what of it was torn.
    pub(crate) fn open(
        volume: &dyn Volume,
        path: &Path,
        id: FileId,
    ) -> Result<Candidate, EngineError> {
        let file = open_existing(volume, path)?;
        let guard = guard_of(volume, &*file, id)?;
        Ok(Candidate { id, file, guard })
    }

    /// The same candidate with its file behind another one.
    pub(crate) fn guarded(
        self,
        guard: impl FnOnce(Arc<dyn File>) -> Result<Arc<dyn File>, EngineError>,
    ) -> Result<Candidate, EngineError> {
        Ok(Candidate {
            file: guard(self.file)?,
            ..self
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Leaves out the images of pages that are newer than the end of the log; whether there are any.
    pub(crate) fn believe_up_to(&mut self, end: Lsn) -> bool {
        let torn = self.guard.as_mut().map(|(_, torn)| torn);
        torn.is_some_and(|torn| torn.believe_up_to(end))
    }

    /// Reads and proves the header: the file's own page if that is whole, for an old copy may lie beside the
    /// image of a newer header. One that is torn was being written, by a checkpoint at the earliest that
    /// followed the one in the log.
    pub(crate) fn header(&self) -> Result<FileHeader, EngineError> {
        let own = match &self.guard {
            Some(_) => match header_page(&*self.file, self.id) {
                Ok((page, id)) => verify(&page, id) == Ok(Protection::Checksum),
                // It was being written, too.
                Err(e) if e.kind.is_medium() => false,
                Err(e) => return Err(e.into()),
            },
            None => true,
        };
        match own {
            true => read_header(&*self.file, self.path(), self.id),
            false => read_header(self, self.path(), self.id),
        }
    }

    /// The header of the file, whatever its length: from the file or, where that is damaged, from the image;
    /// `None` where neither can be read. 5173 where it is the header of another file.
    pub(crate) fn look_at_header(&self) -> Result<Option<FileHeader>, EngineError> {
        for read in [
            header_page(&*self.file, self.id),
            header_page(self, self.id),
        ] {
            let mut page = match read {
                Ok((page, _)) => page,
                Err(e) if e.kind.is_medium() || e.kind == IoErrorKind::PastEnd => continue,
                Err(e) => return Err(e.into()),
            };
            let view = Page::new(&page);
            let claimed = view.page_id();
            let is_header = view.page_type() == PageType::FileHeader && claimed.page.0 == 0;
            if !is_header || admit(&mut page, claimed).is_err() {
                continue;
            }
            match FileHeader::decode(&page) {
                Ok(header) if claimed.file == self.id && header.file == self.id => {
                    return Ok(Some(header));
                }
                Ok(_) => return Err(EngineError::refused(5173, &[])),
                Err(_) => {}
            }
        }
        Ok(None)
    }

    /// The pages that are torn, as they are in their images.
    pub(crate) fn torn_pages(&self) -> Result<Patches, IoError> {
        let torn = self.guard.iter().flat_map(|(_, torn)| torn.pages());
        let page = |number: PageNo| {
            let mut bytes = AlignedBuf::new(PAGE_SIZE);
            self.page_bytes(number, &mut bytes)?;
            let mut page = Box::new([0; PAGE_SIZE]);
            page.copy_from_slice(&bytes);
            Ok((number, page))
        };
        torn.map(page).collect()
    }

    /// It is the right one: puts back the pages that were torn, and returns how many.
    ///
    /// A double-write file that is missing was left behind when the data file was moved: there is nothing to
    /// put back, and a new one is made.
    pub(crate) fn accept(self, volume: &dyn Volume) -> Result<(Guarded, usize), EngineError> {
        let file = self.file;
        let (images, torn) = match self.guard {
            Some((images, torn)) => {
                let torn = torn.put_back(&*file, &*images)?.restored.len();
                (images, torn)
            }
            None => {
                let path = double_write_path(file.path());
                let made = volume.open(&path, Open::Create, Access::Data);
                (made.map_err(|e| open_error(&path, &e))?, 0)
            }
        };
        let double_write = Some(images);
        Ok((Guarded { file, double_write }, torn))
    }
}
