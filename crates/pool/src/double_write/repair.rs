//! After a crash: images put back over torn pages.
//!
//! Places that were being written when the power went may be unreadable afterwards. A page that the device
//! cannot read counts as torn. An image, or the header of a batch, that it cannot read was not whole, and no
//! page of its batch was in place yet. The repair fails only if the device reads nothing at all any more.

#![deny(clippy::indexing_slicing)]

use super::header::BatchHeader;
use furrow_format::{FileId, Lsn, PAGE_SIZE, Page, PageBuf, PageId, PageNo, Protection, verify};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::{AlignedBuf, File, IoError, ReadRun, WriteRun, read_around};
use std::collections::BTreeMap;
use std::io::{IoSlice, IoSliceMut};

/// Pages read together: as many as a device takes at once.
const PAGES_AT_ONCE: usize = 64;
/// Pages that are read to find out whether the device reads anything.
const LOOKED_AT: u64 = 64;

/// What a repair found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairStats {
    /// Batches of images found whole.
    pub batches: u64,
    /// Pages with a usable image.
    pub images: u64,
    /// Images that are damaged themselves: their batch was torn, so that no page of it was in place yet.
    pub damaged_images: u64,
    /// Pages that were whole in place, and at least as new as their image.
    pub intact: u64,
    /// Pages that were torn, or older than their image, and are whole and as new as it again.
    pub restored: Vec<PageId>,
}

/// The newest image of a page: where it lies.
#[derive(Debug, Clone, Copy)]
struct Image {
    offset: u64,
    age: (u64, u32),
}

/// What is to be put back into a data file. Found by reading alone: the open has not yet verified that the
/// file belongs to the database, and must not change one that does not.
#[derive(Debug)]
pub struct TornPages {
    file: FileId,
    /// Where in the double-write file the image of each page lies that is to be put back, and its LSN.
    images: BTreeMap<PageNo, (u64, Lsn)>,
    /// Whether there is any batch, including batches whose images are not needed.
    to_forget: bool,
    stats: RepairStats,
}

impl TornPages {
    /// Every page of `file` (file `file_id` of its database) that is torn in place, rotten or older than its
    /// newest image in `double_write`, if that is usable.
    pub fn find(
        file: &dyn File,
        double_write: &dyn File,
        file_id: FileId,
    ) -> Result<TornPages, IoError> {
        let mut stats = RepairStats::default();
        let mut newest: BTreeMap<PageNo, Image> = BTreeMap::new();
        let found = batches(double_write)?;
        for (start, header) in &found {
            if header.owner == file_id {
                stats.batches += 1;
                collect(double_write, *start, header, &mut newest, &mut stats)?;
            }
        }
        stats.images = newest.len() as u64;
        let file_pages = file.len_bytes()? / PAGE_SIZE as u64;
        if mutated(Mutation::SkipTornRepair) {
            newest.clear();
        }
        newest.retain(|page, _| u64::from(page.0) < file_pages);
        let mut torn = TornPages {
            file: file_id,
            images: BTreeMap::new(),
            to_forget: !found.is_empty(),
            stats,
        };
        let places: Vec<(PageNo, u64)> = newest.into_iter().map(|(p, i)| (p, i.offset)).collect();
        let mut unreadable = None;
        for_each_image(double_write, &places, |some, images| {
            unreadable = torn.compare(file, some, images)?.or(unreadable.take());
            Ok(())
        })?;
        unreadable.map_or(Ok(()), |error| answers(file, error))?;
        Ok(torn)
    }

    /// Records those of the pages that need their images; returns the device's error for one that it cannot
    /// read.
    fn compare(
        &mut self,
        file: &dyn File,
        places: &[(PageNo, u64)],
        images: &[PageBuf],
    ) -> Result<Option<IoError>, IoError> {
        let mut pages = AlignedBuf::new(images.len() * PAGE_SIZE);
        let offsets = places.iter().map(|place| in_place(place.0));
        let mut errors = match read_pages(file, offsets.clone(), &mut pages) {
            Err(error) if is_of_device(&error) => each_by_itself(file, offsets, &mut pages)?,
            read => read.map(|()| Vec::new())?,
        };
        errors.resize(places.len(), None);
        let both = images.iter().zip(pages.as_chunks().0);
        for ((&(page_no, offset), error), (image, page)) in places.iter().zip(&errors).zip(both) {
            let id = self.id_of(page_no);
            if error.is_none() && needs_no_image(page, image, id) {
                self.stats.intact += 1;
            } else if verify(image, id).is_ok() {
                let lsn = Page::new(image).lsn();
                self.images.insert(page_no, (offset, lsn));
            }
        }
        Ok(errors.into_iter().flatten().next())
    }

    /// Leaves out images of pages with an LSN beyond `end`, the last record of the log: they were not written
    /// with it. Whether there are any.
    pub fn believe_up_to(&mut self, end: Lsn) -> bool {
        let before = self.images.len();
        self.images.retain(|_, image| image.1 <= end);
        debug_assert!(self.images.len() <= before, "images are only left out");
        self.images.len() < before
    }

    /// The pages whose images are to be put back.
    pub fn pages(&self) -> impl Iterator<Item = PageNo> {
        self.images.keys().copied()
    }

    fn id_of(&self, page: PageNo) -> PageId {
        PageId {
            file: self.file,
            page,
        }
    }

    /// Reads a page as it will be: from its image if that is to be put back.
    pub fn read(
        &self,
        (file, double_write): (&dyn File, &dyn File),
        page: PageNo,
        bytes: &mut [u8],
    ) -> Result<(), IoError> {
        match self.images.get(&page) {
            Some(&(offset, _)) => double_write.read_at(offset, bytes),
            None => file.read_at(in_place(page), bytes),
        }
    }

    /// Puts the images back, durably, and then ends them all.
    pub fn put_back(
        mut self,
        file: &dyn File,
        double_write: &dyn File,
    ) -> Result<RepairStats, IoError> {
        let places: Vec<(PageNo, u64)> = self.images.iter().map(|(p, i)| (*p, i.0)).collect();
        for_each_image(double_write, &places, |some, images| {
            let both = some.iter().zip(images);
            both.into_iter().try_for_each(|(&(page, _), image)| {
                file.write(&[WriteRun {
                    offset: in_place(page),
                    bufs: &[IoSlice::new(image)],
                }])
            })
        })?;
        if !places.is_empty() {
            file.sync()?;
        }
        if self.to_forget {
            reset(double_write)?;
        }
        let restored = places.iter().map(|place| self.id_of(place.0)).collect();
        debug_assert!(
            places.is_sorted_by(|a, b| a.0 < b.0),
            "a page is put back once"
        );
        self.stats.restored = restored;
        Ok(self.stats)
    }
}

/// Puts back, and makes durable, the newest image in `double_write` of every page of `file` (file `file_id`
/// of its database) that is torn in place, rotten or older than the image. Then ends the images. To be called
/// before anything else reads the file; safe to repeat and to be interrupted.
///
/// A caller that creates a data file under an old name (create, restore) calls [`reset`] first: otherwise an
/// image of the old file would be taken for one of the new.
pub fn repair(
    file: &dyn File,
    double_write: &dyn File,
    file_id: FileId,
) -> Result<RepairStats, IoError> {
    TornPages::find(file, double_write, file_id)?.put_back(file, double_write)
}

fn in_place(page: PageNo) -> u64 {
    u64::from(page.0) * PAGE_SIZE as u64
}

/// Reads the images at these places, some at a time.
fn for_each_image(
    double_write: &dyn File,
    places: &[(PageNo, u64)],
    mut work: impl FnMut(&[(PageNo, u64)], &[PageBuf]) -> Result<(), IoError>,
) -> Result<(), IoError> {
    for some in places.chunks(PAGES_AT_ONCE) {
        let mut images = AlignedBuf::new(some.len() * PAGE_SIZE);
        debug_assert!(some.len() <= PAGES_AT_ONCE, "memory is bounded");
        read_pages(double_write, some.iter().map(|place| place.1), &mut images)?;
        work(some, images.as_chunks().0)?;
    }
    Ok(())
}

/// Ends all images, durably: for a file whose pages are all known to be whole, or that is created again. The
/// older half is ended before the newer one, so that a power loss between the two leaves the newest image of
/// each page.
pub fn reset(double_write: &dyn File) -> Result<(), IoError> {
    let pages = double_write.len_bytes()? / PAGE_SIZE as u64;
    if pages == 0 {
        return Ok(());
    }
    let found = batches(double_write)?;
    // A header that does not fit into the file is left over from before the file had this length.
    let generation = |half: u64| {
        let first = found.iter().find(|(at, _)| *at == half * PAGE_SIZE as u64);
        first.map_or(0, |(_, header)| header.generation)
    };
    let mut halves = [0, pages / 2];
    if generation(halves[0]) > generation(halves[1]) {
        halves.reverse();
    }
    let nothing = AlignedBuf::new(PAGE_SIZE);
    for start in halves {
        let offset = start * PAGE_SIZE as u64;
        let bufs = &[IoSlice::new(&nothing)];
        double_write.write_durable(&[WriteRun { offset, bufs }])?;
    }
    Ok(())
}

/// Whether the page is the image itself, or is proven by its checksum to be whole and is newer.
///
/// A valid checksum is not enough: the format's checksum is a sum of sectors, and sectors of two versions can
/// add up by chance. But a page that was torn in a write is not newer than that write's image. A page that is
/// newer was written when there was no image of it, or by something other than the pool. Without a checksum
/// nothing is proven: a power loss may have left even the LSN as garbage, and no page is newer than its
/// newest image.
///
/// A file header whose LSN equals that of its image differs from it only in the checkpoint that wrote it,
/// which is not logged. The version in place is retained: it identifies an old copy of a file, beside which
/// the images of a newer one may lie.
fn needs_no_image(page: &PageBuf, image: &PageBuf, id: PageId) -> bool {
    let (here, there) = (Page::new(page).lsn(), Page::new(image).lsn());
    let stays = here > there || (here == there && id.page == PageNo(0));
    page == image || (stays && verify(page, id) == Ok(Protection::Checksum))
}

/// Enters the images of one batch that are undamaged.
fn collect(
    double_write: &dyn File,
    start: u64,
    header: &BatchHeader,
    newest: &mut BTreeMap<PageNo, Image>,
    stats: &mut RepairStats,
) -> Result<(), IoError> {
    let first = start + PAGE_SIZE as u64;
    let mut images = AlignedBuf::new(header.images.len() * PAGE_SIZE);
    let unreadable = read_around(double_write, first, &mut images)?;
    if let Some((_, error)) = unreadable.first() {
        answers(double_write, error.clone())?;
    }
    let lost = |at: usize| {
        let (start, end) = (at * PAGE_SIZE, (at + 1) * PAGE_SIZE);
        unreadable
            .iter()
            .any(|(part, _)| part.start < end && part.end > start)
    };
    let age = (header.generation, header.batch);
    let images = images.chunks_exact(PAGE_SIZE);
    for ((at, &(page_no, crc)), image) in (0..).zip(&header.images).zip(images) {
        let offset = first + (at * PAGE_SIZE) as u64;
        if lost(at) || crc32c::crc32c(image) != crc {
            stats.damaged_images += 1;
            continue;
        }
        let known = newest.entry(page_no).or_insert(Image { offset, age });
        if known.age < age {
            *known = Image { offset, age };
        }
    }
    Ok(())
}

/// The batches of both halves, with the byte offset of each header.
fn batches(double_write: &dyn File) -> Result<Vec<(u64, BatchHeader)>, IoError> {
    let pages = double_write.len_bytes()? / PAGE_SIZE as u64;
    let mut found = Vec::new();
    for start in [0, pages / 2] {
        let (mut at, mut batch, mut generation) = (start, 0, None);
        while at < start + pages / 2 {
            let Some(header) = read_header(double_write, at)? else {
                break;
            };
            let same = generation.is_none_or(|generation| generation == header.generation);
            let end = at + 1 + header.images.len() as u64;
            let fits = u64::from(header.half_pages) * 2 == pages && end <= start + pages / 2;
            if !same || header.batch != batch || !fits {
                break;
            }
            generation = Some(header.generation);
            batch += 1;
            found.push((at * PAGE_SIZE as u64, header));
            at = end;
        }
    }
    Ok(found)
}

/// The largest generation of any half; 0 for a new file.
pub(super) fn newest_generation(double_write: &dyn File) -> Result<u64, IoError> {
    let found = batches(double_write)?;
    Ok(found
        .iter()
        .map(|(_, header)| header.generation)
        .max()
        .unwrap_or(0))
}

fn read_header(file: &dyn File, page: u64) -> Result<Option<BatchHeader>, IoError> {
    let mut buf = AlignedBuf::new(PAGE_SIZE);
    let unreadable = read_around(file, page * PAGE_SIZE as u64, &mut buf)?;
    if let Some((_, error)) = unreadable.into_iter().next() {
        return answers(file, error).map(|()| None);
    }
    Ok(BatchHeader::decode(as_page(&buf)))
}

fn is_of_device(error: &IoError) -> bool {
    error.kind.is_medium()
}

/// The error, unless some page of the file can be read: then the device works except for what it lost.
fn answers(file: &dyn File, error: IoError) -> Result<(), IoError> {
    let mut page = AlignedBuf::new(PAGE_SIZE);
    let pages = file.len_bytes()? / PAGE_SIZE as u64;
    let read = |at: u64| file.read_at(at * PAGE_SIZE as u64, &mut page).is_ok();
    // The first few: a device that works reads one of them.
    match (0..pages.min(LOOKED_AT)).any(read) {
        true => Ok(()),
        false => Err(error),
    }
}

/// Reads each page by itself; the error of those that cannot be read.
fn each_by_itself(
    file: &dyn File,
    offsets: impl Iterator<Item = u64>,
    buf: &mut AlignedBuf,
) -> Result<Vec<Option<IoError>>, IoError> {
    let pages = buf.chunks_exact_mut(PAGE_SIZE).zip(offsets);
    let read = |(page, offset)| match file.read_at(offset, page) {
        Err(error) if is_of_device(&error) => Ok(Some(error)),
        read => read.map(|()| None),
    };
    pages.map(read).collect()
}

/// Reads pages from here and there, all at once.
fn read_pages(
    file: &dyn File,
    offsets: impl Iterator<Item = u64>,
    buf: &mut AlignedBuf,
) -> Result<(), IoError> {
    let mut slices: Vec<[IoSliceMut<'_>; 1]> = buf
        .chunks_exact_mut(PAGE_SIZE)
        .map(|page| [IoSliceMut::new(page)])
        .collect();
    let mut runs: Vec<ReadRun<'_, '_>> = offsets
        .zip(&mut slices)
        .map(|(offset, bufs)| ReadRun { offset, bufs })
        .collect();
    file.read(&mut runs)
}

fn as_page(buf: &AlignedBuf) -> &PageBuf {
    const NOTHING: &PageBuf = &[0; PAGE_SIZE];
    buf.first_chunk().unwrap_or(NOTHING)
}
