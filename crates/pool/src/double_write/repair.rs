//! After a crash: images put back over torn pages.

use super::header::BatchHeader;
use furrow_format::{FileId, PAGE_SIZE, Page, PageBuf, PageId, PageNo, Protection, verify};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::{AlignedBuf, File, IoError, ReadRun, WriteRun};
use std::collections::BTreeMap;
use std::io::{IoSlice, IoSliceMut};

/// Pages read together: as many as a device takes at once.
const PAGES_AT_ONCE: usize = 64;

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

/// Puts back, and makes durable, the newest image in `double_write` of every page of `file` (file
/// `file_id` of its database) that is torn in place, rotten or older than the image. Then forgets the images.
/// To be called before anything else reads the file; safe to repeat and to be interrupted.
///
/// Whoever makes a data file anew under an old name (create, restore) calls [`reset`] first: an image of the
/// name's former life would pass for one of this.
pub fn repair(
    file: &dyn File,
    double_write: &dyn File,
    file_id: FileId,
) -> Result<RepairStats, IoError> {
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
    let places: Vec<(PageNo, Image)> = newest.into_iter().collect();
    let bytes = places.len().min(PAGES_AT_ONCE) * PAGE_SIZE;
    let (mut images, mut pages) = (AlignedBuf::new(bytes), AlignedBuf::new(bytes));
    for some in places.chunks(PAGES_AT_ONCE) {
        let in_place = |page: PageNo| u64::from(page.0) * PAGE_SIZE as u64;
        read_pages(double_write, some.iter().map(|s| s.1.offset), &mut images)?;
        read_pages(file, some.iter().map(|s| in_place(s.0)), &mut pages)?;
        let both = images.as_chunks().0.iter().zip(pages.as_chunks().0);
        for (&(page_no, _), (image, page)) in some.iter().zip(both) {
            let id = PageId {
                file: file_id,
                page: page_no,
            };
            if needs_no_image(page, image, id) {
                stats.intact += 1;
            } else if verify(image, id).is_ok() {
                file.write(&[WriteRun {
                    offset: in_place(page_no),
                    bufs: &[IoSlice::new(image)],
                }])?;
                stats.restored.push(id);
            }
        }
    }
    if !stats.restored.is_empty() {
        file.sync()?;
    }
    if !found.is_empty() {
        reset(double_write)?;
    }
    Ok(stats)
}

/// Forgets all images, durably: for a file whose pages are all known to be whole, or that begins a new life.
pub fn reset(double_write: &dyn File) -> Result<(), IoError> {
    let pages = double_write.len_bytes()? / PAGE_SIZE as u64;
    if pages == 0 {
        return Ok(());
    }
    let nothing = AlignedBuf::new(PAGE_SIZE);
    let bufs = &[IoSlice::new(&nothing)];
    let second = (pages / 2) * PAGE_SIZE as u64;
    double_write.write_durable(&[
        WriteRun { offset: 0, bufs },
        WriteRun {
            offset: second,
            bufs,
        },
    ])
}

/// Whether the page is the image itself, or proven whole by its checksum and newer.
///
/// That its checksum holds is not enough: the format's checksum is a sum of sectors, and sectors of two
/// versions can add up by chance. But a page that was torn in a write is not newer than that write's
/// image. One that is newer was written when there was no image of it, or put there by somebody else.
/// Without a checksum nothing is proven, the LSN least of all (a power loss may have left it as garbage), and
/// no page is newer than its newest image.
///
/// A file's header with the LSN of its image differs from it in one thing, which is not logged: the
/// checkpoint that wrote it. That is to stay what it is in place: it tells an old copy of a file, beside
/// which the images of a newer one may lie.
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
    read_page(double_write, first, &mut images)?;
    let age = (header.generation, header.batch);
    let images = images.chunks_exact(PAGE_SIZE);
    for ((at, &(page_no, crc)), image) in (0..).zip(&header.images).zip(images) {
        let offset = first + at * PAGE_SIZE as u64;
        if crc32c::crc32c(image) != crc {
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

/// The largest generation that any half bears; 0 for a new file.
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
    read_page(file, page * PAGE_SIZE as u64, &mut buf)?;
    Ok(BatchHeader::decode(as_page(&buf)))
}

fn read_page(file: &dyn File, offset: u64, buf: &mut AlignedBuf) -> Result<(), IoError> {
    file.read(&mut [ReadRun {
        offset,
        bufs: &mut [IoSliceMut::new(buf)],
    }])
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
