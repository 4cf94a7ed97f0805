//! Damaged files: found where they are damaged, and never a panic or a hang.

use furrow_format::mdf::{Database, MdfError, MdfImage, PageSource, summarize};
use furrow_format::{FileId, PAGE_SIZE, PageBuf, PageFault, PageId, Protection};

use crate::files::{FILES, bytes};

/// A generator with a printed seed: `FURROW_SEED` replays it.
struct Random(u64);

impl Random {
    fn new() -> Random {
        let seed = std::env::var("FURROW_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or(0x5EED_F00D);
        println!("FURROW_SEED={seed}");
        Random(seed | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }
}

/// A file whose pages all pass verification, so that damage gets as far as the decoders.
struct Trusting(MdfImage);

impl PageSource for Trusting {
    fn page(&self, page: PageId) -> Option<&PageBuf> {
        self.0.page(page)
    }

    fn files(&self) -> Vec<FileId> {
        self.0.files()
    }

    fn size_pages(&self, file: FileId) -> u32 {
        self.0.size_pages(file)
    }

    fn protection(&self, _page: PageId) -> Option<Result<Protection, PageFault>> {
        Some(Ok(Protection::None))
    }
}

#[test]
fn one_flipped_bit_is_found_on_its_page_and_nowhere_else() {
    let mut random = Random::new();
    for name in FILES {
        let Some(sound) = bytes(name) else { return };
        let image = MdfImage::open(&sound).unwrap();
        let protected = |page: &usize| {
            let id = PageId::new(1, *page as u32);
            matches!(image.protection(id), Some(Ok(Protection::Checksum)))
        };
        let pages = (0..sound.len() / PAGE_SIZE)
            .filter(protected)
            .collect::<Vec<_>>();
        for _ in 0..20.min(pages.len()) {
            let page = pages[random.below(pages.len())];
            let mut damaged = sound.clone();
            // Bytes 0 and 1 of pages 0 and 9 are what the sniff test looks at; the flags say what to verify.
            let at = 64 + random.below(PAGE_SIZE - 64);
            damaged[page * PAGE_SIZE + at] ^= 1 << random.below(8);
            let Ok(image) = MdfImage::open(&damaged) else {
                continue;
            };
            let id = PageId::new(1, page as u32);
            assert!(matches!(
                image.protection(id),
                Some(Err(PageFault::Checksum { .. }))
            ));
            if let Ok(summary) = summarize(&image, FileId(1)) {
                assert!(
                    summary.bad_pages.iter().all(|(bad, _)| *bad == id),
                    "{name} {id}"
                );
            }
        }
    }
}

#[test]
fn a_truncated_file_is_refused_or_names_the_missing_page() {
    let Some(sound) = bytes("pubs-655.mdf") else {
        return;
    };
    assert!(MdfImage::open(&sound[..sound.len() - 1]).is_err());
    let image = MdfImage::open(&sound[..100 * PAGE_SIZE]).unwrap();
    let missing = Database::open(&image).unwrap_err();
    assert!(
        matches!(missing, MdfError::MissingPage { page, .. } if page.page.0 >= 100),
        "{missing}"
    );
}

/// Everything that can be read is read; errors are fine, panics and endless loops are not.
#[test]
fn hostile_bytes_never_stop_the_reader() {
    let mut random = Random::new();
    let (mut opened, mut errors) = (0, 0);
    for name in FILES {
        let Some(sound) = bytes(name) else { return };
        for round in 0..60 {
            let mut damaged = sound.clone();
            for _ in 0..1 << (round % 10) {
                let at = if round % 2 == 0 {
                    random.below(damaged.len())
                } else {
                    // Headers and the ends of pages: links, counts, slots.
                    let page = random.below(damaged.len() / PAGE_SIZE) * PAGE_SIZE;
                    page + [random.below(96), PAGE_SIZE - 1 - random.below(96)][random.below(2)]
                };
                damaged[at] = random.below(256) as u8;
            }
            let Ok(image) = MdfImage::open(&damaged) else {
                continue;
            };
            let source = Trusting(image);
            errors += usize::from(summarize(&source, FileId(1)).is_err());
            match Database::open(&source) {
                Ok(database) => {
                    opened += 1;
                    errors += read_everything(&database);
                }
                Err(_) => errors += 1,
            }
        }
    }
    println!("{opened} opened, {errors} errors");
    assert!(
        opened > 20 && errors > 20,
        "damage must neither always nor never be seen"
    );
}

fn read_everything(database: &Database<'_>) -> usize {
    let mut errors = 0;
    for table in database.tables() {
        match database.rows(&table) {
            Ok(rows) => errors += rows.filter(Result::is_err).count(),
            Err(_) => errors += 1,
        }
        let _indexes = database.indexes(table.id);
    }
    for rowset in database.rowsets() {
        match database.rowset_rows_by_allocation(rowset) {
            Ok(rows) => errors += rows.filter(Result::is_err).count(),
            Err(_) => errors += 1,
        }
    }
    errors
}
