//! What the readers of a volume share: its pages, in the order in which they are read.

use crate::BackupError;
use crate::media::{MAX_RUNS, SetFile};
use furrow_engine::BackupSource;
use furrow_format::{FileId, PageId};
use furrow_io::sync::atomic::AtomicU64;

/// A file that is read.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) file: SetFile,
    pub(super) pages: AtomicU64,
}

impl Source {
    pub(super) fn new(file: &SetFile) -> Source {
        Source {
            file: file.clone(),
            pages: AtomicU64::new(0),
        }
    }
}

/// Pages of a file, one behind the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) of: &'a Source,
    pub(super) first: PageId,
    pub(super) pages: u32,
}

/// Parts of any length, each once.
pub(super) trait Extents<'a>: Iterator<Item = Result<Part<'a>, BackupError>> {}

impl<'a, I: Iterator<Item = Result<Part<'a>, BackupError>>> Extents<'a> for I {}

/// The allocated extents of files, in the order of the files. A map is read when it is come to.
pub(super) fn extents<'a>(source: &'a BackupSource, files: &'a [Source]) -> impl Extents<'a> {
    let of_file = move |of: &'a Source| {
        let file = FileId(of.file.id);
        let interval = move |interval| {
            let runs = source.allocated(file, of.file.size_pages, interval);
            runs.transpose()
        };
        (0..).map_while(interval).flat_map(move |runs| {
            let (runs, error) = match runs {
                Ok(runs) => (runs, None),
                Err(error) => (Vec::new(), Some(Err(error.into()))),
            };
            let part = move |(page, pages)| {
                let first = PageId { file, page };
                Ok(Part { of, first, pages })
            };
            runs.into_iter().map(part).chain(error)
        })
    };
    files.iter().flat_map(of_file)
}

/// Extents that are handed out in parts that fit into a chunk.
#[derive(Debug)]
pub(super) struct Parts<'a, I> {
    extents: I,
    /// What is left of the extent that was handed out last.
    rest: Option<Part<'a>>,
}

impl<'a, I: Extents<'a>> Parts<'a, I> {
    pub(super) fn new(extents: I) -> Parts<'a, I> {
        Parts {
            extents,
            rest: None,
        }
    }

    /// The next parts, of so many pages in all; none at the end.
    pub(super) fn take(&mut self, pages: u32) -> Result<Vec<Part<'a>>, BackupError> {
        debug_assert!(pages > 0, "a chunk takes a page");
        let (mut taken, mut room) = (Vec::new(), pages);
        while room > 0 && taken.len() < MAX_RUNS {
            let next = match self.rest.take() {
                Some(rest) => Some(rest),
                None => self.extents.next().transpose()?,
            };
            let Some(part) = next else { break };
            let (now, later) = split(part, room);
            self.rest = later;
            room -= now.pages;
            taken.push(now);
        }
        Ok(taken)
    }
}

/// The first pages of a part, at most so many, and the others.
fn split(part: Part<'_>, most: u32) -> (Part<'_>, Option<Part<'_>>) {
    let pages = part.pages.min(most);
    let mut rest = part;
    rest.first.page.0 += pages;
    rest.pages -= pages;
    let now = Part { pages, ..part };
    (now, (rest.pages > 0).then_some(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_format::PageNo;

    #[test]
    fn parts_fill_chunks_and_lose_no_page() {
        let file = SetFile {
            id: 1,
            filegroup: 1,
            filegroup_name: "PRIMARY".to_owned(),
            name: "data".to_owned(),
            path: "data.mdf".to_owned(),
            size_pages: 512,
            max_pages: None,
            guid: Default::default(),
            read_only: false,
            pages: 0,
            created_lsn: 0,
            first_pages: 512,
            present: true,
        };
        let source = Source::new(&file);
        let extent = |first, pages| Part {
            of: &source,
            first: PageId {
                file: FileId(1),
                page: PageNo(first),
            },
            pages,
        };
        let all = [extent(0, 8), extent(16, 300), extent(400, 1)];
        let mut parts = Parts::new(all.into_iter().map(Ok));
        let mut next = || -> Vec<(u32, u32)> {
            let taken = parts.take(128).unwrap();
            taken.iter().map(|p| (p.first.page.0, p.pages)).collect()
        };
        assert_eq!(next(), [(0, 8), (16, 120)]);
        assert_eq!(next(), [(136, 128)]);
        assert_eq!(next(), [(264, 52), (400, 1)]);
        assert_eq!(next(), []);
    }
}
