//! What the tests of space share: a database on files in memory, and an auditor of its maps.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests are tests"
)]
#![expect(dead_code, unreachable_pub, reason = "each test uses its part")]

use furrow_format::{
    AllocUnitId, Bitmap, Change, DatabaseId, EXTENT_PAGES, FileGrowth, FileHeader, FileId, Iam,
    Lsn, Page, PageBuf, PageId, PageInit, PageNo, PageType, Pfs, PfsByte, fixed_page_type,
    gam_page_of, pfs_index_of, pfs_page_of, sgam_page_of,
};
use furrow_io::sync::Mutex;
use furrow_io::{Access, Fill, MemoryVolume, Open, Volume};
use furrow_log::{Log, LogConfig};
use furrow_observe::Instruments;
use furrow_observe::files::FileStats;
use furrow_pool::{LatchRank, Pool, PoolConfig, PoolFile};
use furrow_space::{
    DataFile, FileState, FilegroupSpec, FillTrace, Space, SpaceConfig, SpaceError, SpaceOptions,
    Unit, new_file_pages,
};
use furrow_txn::{Author, Mini, Store};
use furrow_types::Guid;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const DB: DatabaseId = DatabaseId(5);

/// A file to be created.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    pub id: u16,
    pub pages: u32,
    pub growth: FileGrowth,
    pub max: Option<u32>,
}

/// A file that does not grow.
pub fn fixed(id: u16, pages: u32) -> Spec {
    Spec {
        id,
        pages,
        growth: FileGrowth::None,
        max: None,
    }
}

/// A file that grows by so many pages.
pub fn growing(id: u16, pages: u32, by: u32) -> Spec {
    Spec {
        growth: FileGrowth::Pages(by),
        ..fixed(id, pages)
    }
}

/// Keeps the lines of trace flag 1165.
#[derive(Debug, Default)]
pub struct Lines(pub Mutex<Vec<String>>);

impl FillTrace for Lines {
    fn recalculated(&self, lines: &[String]) {
        self.0.lock().extend_from_slice(lines);
    }
}

/// An open database.
pub struct Base {
    pub volume: MemoryVolume,
    pub instruments: Arc<Instruments>,
    pub store: Arc<Store>,
    pub space: Arc<Space>,
    pub pool: Arc<Pool>,
    pub lines: Arc<Lines>,
}

/// How a database is created.
pub struct Make {
    pub volume: MemoryVolume,
    pub options: SpaceOptions,
    pub autogrow_all: bool,
    pub frames: usize,
}

impl Default for Make {
    fn default() -> Make {
        Make {
            volume: MemoryVolume::new(),
            options: SpaceOptions::default(),
            autogrow_all: false,
            frames: 1024,
        }
    }
}

fn path(id: u16) -> PathBuf {
    PathBuf::from(format!("/data/f{id}.ndf"))
}

pub fn data_file(volume: &MemoryVolume, spec: Spec) -> DataFile {
    let exists = volume.exists(&path(spec.id)).unwrap();
    let how = if exists { Open::Existing } else { Open::Create };
    let file = volume.open(&path(spec.id), how, Access::Data).unwrap();
    if !exists {
        let header = FileHeader {
            name: format!("f{}", spec.id),
            growth: spec.growth,
            max_size_pages: spec.max,
            ..FileHeader::new(Guid([7; 16]), FileId(spec.id), 1, spec.pages)
        };
        let boot = [(PageNo(8), PfsByte(0x60)), (PageNo(9), PfsByte::BOOT)];
        let system = if spec.id == 1 { &boot[..] } else { &[] };
        new_file_pages(file.as_ref(), &header, system, Fill::Allocate).unwrap();
    }
    DataFile {
        file_id: FileId(spec.id),
        filegroup: 1,
        name: format!("f{}", spec.id),
        file,
        size_pages: spec.pages,
        max_pages: spec.max,
        growth: spec.growth,
        state: FileState::Online,
    }
}

pub fn add_to_pool(pool: &Pool, file: &DataFile) {
    let stats = Arc::new(FileStats::new(DB.0, file.file_id.0, &file.name));
    let pool_file = PoolFile {
        file: Arc::clone(&file.file),
        stats,
        double_write: None,
    };
    pool.add_file(DB, file.file_id, pool_file).unwrap();
}

pub fn base(specs: &[Spec]) -> Base {
    make(Make::default(), specs)
}

pub fn make(make: Make, specs: &[Spec]) -> Base {
    let Make {
        volume,
        options,
        autogrow_all,
        frames,
    } = make;
    volume.create_dir(Path::new("/data")).unwrap();
    let log_path = Path::new("/data/log.ldf");
    // A log that takes the place of another begins behind it: the pages have LSNs of the one before.
    let mut first_vlf = 32;
    if volume.exists(log_path).unwrap() {
        volume.remove(log_path).unwrap();
        first_vlf = 1000;
    }
    let log = volume.open(log_path, Open::Create, Access::Log).unwrap();
    let config = LogConfig::default();
    let log = Log::create_from(log, 64 << 20, [7; 16], config, first_vlf).unwrap();
    let instruments = Instruments::new();
    let pool = Pool::new(PoolConfig {
        pages: frames,
        instruments: Arc::clone(&instruments),
        ..PoolConfig::default()
    })
    .unwrap();
    let store = Store::new(DB, Arc::clone(&pool), log, Lsn::ZERO, 1).unwrap();
    let files: Vec<DataFile> = specs.iter().map(|&spec| data_file(&volume, spec)).collect();
    for file in &files {
        add_to_pool(&pool, file);
    }
    let lines = Arc::new(Lines::default());
    let config = SpaceConfig {
        database: "Company".to_owned(),
        filegroups: vec![FilegroupSpec {
            id: 1,
            name: "PRIMARY".to_owned(),
            autogrow_all,
            is_default: true,
        }],
        files,
        options,
        catalog: None,
        trace: Some(Arc::clone(&lines) as Arc<dyn FillTrace>),
    };
    let space = Space::open(Arc::clone(&store), config).unwrap();
    Base {
        volume,
        instruments,
        store,
        space,
        pool,
        lines,
    }
}

pub fn unit_id(number: u32) -> AllocUnitId {
    AllocUnitId::from_parts(1, number)
}

impl Base {
    pub fn unit(&self, number: u32) -> Arc<Unit> {
        self.space.create_unit(unit_id(number), 1).unwrap()
    }

    /// Forgets what is known of a unit, as a restart does.
    pub fn reopened(&self, unit: &Unit) -> Arc<Unit> {
        self.space
            .open_unit(unit.id(), 1, unit.first_iam())
            .unwrap()
    }

    /// Allocates and formats pages in one mini-transaction.
    pub fn allocate(
        &self,
        unit: &Arc<Unit>,
        pages: u32,
        near: Option<PageId>,
    ) -> Result<Vec<PageId>, SpaceError> {
        let mut reservation = self.space.reserve(unit, pages, near)?;
        let mut mini = Mini::new(&self.store);
        let mut made = Vec::new();
        for _ in 0..pages {
            let page = reservation.take()?;
            let at = mini.adopt(self.store.create(page, LatchRank::Data)?);
            let init = PageInit::new(page, PageType::Data, unit.id(), 4);
            mini.push(at, &Change::Format(init));
            made.push(page);
        }
        reservation.allocate_taken(&mut mini, PfsByte::FREE)?;
        mini.commit(&Author::System)?;
        reservation.done();
        Ok(made)
    }

    pub fn allocate_one(&self, unit: &Arc<Unit>, near: Option<PageId>) -> PageId {
        self.allocate(unit, 1, near).unwrap()[0]
    }
}

/// What an audit found.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub struct Audit {
    /// Per file: size in pages, free extents, mixed extents.
    pub files: BTreeMap<u16, (u32, u64, u64)>,
    /// Per unit: its extents.
    pub owned: BTreeMap<u64, BTreeSet<PageId>>,
    /// Per unit: its pages in use, IAM pages left out.
    pub used: BTreeMap<u64, BTreeSet<PageId>>,
    /// Per unit: its pages of mixed extents, in use or set aside, in the order of their slots.
    pub singles: BTreeMap<u64, Vec<PageId>>,
}

/// Proves that the maps agree: each extent is free, mixed or in exactly one IAM; PFS agrees; the counts in
/// memory are those of the maps. `units` are all there are.
pub fn audit(base: &Base, units: &[Arc<Unit>]) -> Audit {
    let store = &base.store;
    let mut result = Audit::default();
    let mut owner: BTreeMap<PageId, u64> = BTreeMap::new();
    let mut owner_of_single: BTreeMap<PageId, u64> = BTreeMap::new();
    let mut iam_pages = BTreeSet::new();
    for unit in units {
        let mut next = unit.first_iam();
        let mut prev = PageId::NONE;
        let mut intervals = BTreeSet::new();
        while !next.is_none() {
            let page = store.read(next, LatchRank::Iam).unwrap();
            let iam = Iam::new(&page).expect("an IAM page");
            assert_eq!(Page::new(&page).unit(), unit.id());
            assert_eq!(Page::new(&page).prev(), prev);
            assert_eq!(iam.sequence() as usize, intervals.len());
            assert!(
                intervals.insert(iam.interval_start()),
                "two IAM pages for one interval"
            );
            assert!(iam_pages.insert(next), "an IAM page in two chains");
            let start = iam.interval_start();
            for bit in iam.extents().iter_set(Bitmap::BITS) {
                let first = PageId::new(start.file.0, start.page.0 + bit * EXTENT_PAGES);
                let before = owner.insert(first, unit.id().0);
                assert_eq!(before, None, "extent {first} has two owners");
                result.owned.entry(unit.id().0).or_default().insert(first);
            }
            for single in iam.single_pages().filter(|page| !page.is_none()) {
                assert_eq!(iam.sequence(), 0, "pages named by a later IAM page");
                assert_eq!(
                    owner_of_single.insert(single, unit.id().0),
                    None,
                    "{single}"
                );
                let mine = result.singles.entry(unit.id().0).or_default();
                mine.push(single);
            }
            prev = next;
            next = Page::new(&page).next();
        }
    }
    for usage in base.space.usage().unwrap() {
        let named = (&mut iam_pages, &mut owner_of_single);
        audit_file(store, &usage, &owner, named, &mut result);
    }
    assert!(
        owner_of_single.is_empty(),
        "pages named by IAM pages that lie in no mixed extent: {owner_of_single:?}"
    );
    assert!(
        iam_pages.is_empty(),
        "IAM pages that PFS does not mark: {iam_pages:?}"
    );
    result
}

fn audit_file(
    store: &Store,
    usage: &furrow_space::FileUsage,
    owner: &BTreeMap<PageId, u64>,
    (iam_pages, singles): (&mut BTreeSet<PageId>, &mut BTreeMap<PageId, u64>),
    result: &mut Audit,
) {
    let id = usage.file.0;
    let page = |no: PageNo| PageId {
        file: usage.file,
        page: no,
    };
    let (mut free, mut mixed) = (0, 0);
    for first in (0..usage.size_pages).step_by(EXTENT_PAGES as usize) {
        let first = PageNo(first);
        let bit = first.0 % furrow_format::GAM_INTERVAL / EXTENT_PAGES;
        let pfs = store
            .read(page(pfs_page_of(first)), LatchRank::Pfs)
            .unwrap();
        let gam = store
            .read(page(gam_page_of(first)), LatchRank::Gam)
            .unwrap();
        let sgam = store
            .read(page(sgam_page_of(first)), LatchRank::Sgam)
            .unwrap();
        let (gam, sgam) = (
            Bitmap::new(&gam).unwrap().get(bit),
            Bitmap::new(&sgam).unwrap().get(bit),
        );
        let owned_by = owner.get(&page(first)).copied();
        let bytes: Vec<(PageId, PfsByte)> = (0..EXTENT_PAGES)
            .map(|place| PageNo(first.0 + place))
            .filter(|&no| fixed_page_type(no).is_none())
            .map(|no| (page(no), Pfs::new(&pfs).unwrap().get(pfs_index_of(no))))
            .collect();
        let spare = bytes.iter().any(|(_, byte)| !byte.is_taken());
        check_fixed(&pfs, first);
        match (gam, sgam, owned_by) {
            (true, false, None) => {
                free += 1;
                assert!(
                    bytes.iter().all(|(_, byte)| byte.0 == 0),
                    "PFS of a free extent {first}"
                );
            }
            (false, false, Some(unit)) => {
                for &(page, byte) in &bytes {
                    assert!(
                        !byte.has(PfsByte::MIXED) && !byte.has(PfsByte::IAM),
                        "{page}: {byte}"
                    );
                    if byte.is_allocated() {
                        result.used.entry(unit).or_default().insert(page);
                    }
                }
            }
            (false, _, None) if bit == 0 => assert!(!sgam, "the extent of the maps has no owner"),
            (false, sgam, None) => {
                mixed += 1;
                assert_eq!(sgam, spare, "SGAM of mixed extent {first}");
                check_mixed(&bytes, iam_pages, (&mut *singles, &mut *result));
            }
            other => panic!("extent {first} of file {id}: GAM, SGAM, owner {other:?}"),
        }
    }
    assert_eq!(usage.free_extents, free, "free extents of file {id}");
    assert_eq!(usage.mixed_extents, mixed, "mixed extents of file {id}");
    result.files.insert(id, (usage.size_pages, free, mixed));
}

fn check_fixed(pfs: &PageBuf, first: PageNo) {
    for place in 0..EXTENT_PAGES {
        let no = PageNo(first.0 + place);
        if fixed_page_type(no).is_some() {
            assert_eq!(Pfs::new(pfs).unwrap().get(pfs_index_of(no)), PfsByte::FIXED);
        }
    }
}

fn check_mixed(
    bytes: &[(PageId, PfsByte)],
    iam_pages: &mut BTreeSet<PageId>,
    (singles, result): (&mut BTreeMap<PageId, u64>, &mut Audit),
) {
    for &(page, byte) in bytes {
        if byte.is_allocated() {
            assert!(byte.has(PfsByte::MIXED), "{page}: {byte}");
        } else {
            let single = singles.contains_key(&page);
            let expected = if single {
                PfsByte::SET_ASIDE
            } else {
                PfsByte::FREE
            };
            assert_eq!(byte, expected, "{page}");
        }
        if byte.has(PfsByte::IAM) {
            assert!(iam_pages.remove(&page), "IAM page {page} is in no chain");
        }
        if let Some(unit) = singles.remove(&page)
            && byte.is_allocated()
        {
            result.used.entry(unit).or_default().insert(page);
        }
    }
}
