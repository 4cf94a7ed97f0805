//! Repairs with loss of data that a power loss or a failed operation cuts short: afterwards there is the
//! database of before or the repaired one, and nothing beside its files.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::simulated::{new_volume, spec};
use crate::tables_common::s;
use furrow_check::{Options, Progress, Repaired};
use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, EngineError, FileSpec, IndexSpec, Instance, InstanceConfig,
    Session, TableSpec,
};
use furrow_format::{FileId, PAGE_SIZE, Page, PageBuf, PageId, PageNo, PageType};
use furrow_io::random::{Rng, SeededRng, seeded, test_seed};
use furrow_io::sim::{Crash, Effect, Fault, OpKind, Ops};
use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{Access, AlignedBuf, Open, SimVolume, SystemVolume, Volume, thread};
use furrow_types::{DataType, TypeId, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

pub(crate) const FILES: [(u16, &str); 2] = [(1, "d/p.mdf"), (3, "d/s.ndf")];
pub(crate) const ROWS: i64 = 150;

/// An instance without threads of its own: a run is the same every time.
pub(crate) fn start(volume: &SimVolume) -> Result<Arc<Instance>, EngineError> {
    let config = InstanceConfig {
        directory: Some("inst".into()),
        pool_pages: 256,
        double_write_pages: 64,
        readers: 0,
        background: false,
        ..InstanceConfig::default()
    };
    Instance::start(Arc::new(volume.clone()), config)
}

/// A machine with a database of a clustered table and a heap, each with an index, shut down cleanly.
pub(crate) fn sound(rng: &mut SeededRng) -> SimVolume {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let database = instance
        .create_database(&spec(FileSpec::new("L", "d/l.ldf").size_mb(2)))
        .unwrap();
    fill(&database, rng);
    drop(database);
    instance.shut_down().unwrap();
    drop(instance);
    volume
}

pub(crate) fn fill(database: &Arc<Database>, rng: &mut SeededRng) {
    let mut session = Session::new(database).unwrap();
    for name in ["c", "h"] {
        let columns = TableSpec::new(name)
            .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
            .column(ColumnSpec::new("note", DataType::sized(TypeId::VarChar, 1_500)).not_null());
        let table = match name {
            "c" => columns.primary_key(["id"]),
            _ => columns.primary_key_nonclustered(["id"]),
        };
        let table = table.index(IndexSpec::new("by_note", ["note"]));
        let table = session.create_table(&table).unwrap();
        session.begin().unwrap();
        for id in 0..ROWS {
            let note = "n".repeat(rng.random_range(1..800));
            session
                .insert(&table, &[Value::BigInt(id), s(&note)])
                .unwrap();
        }
        session.commit().unwrap();
    }
}

pub(crate) fn pages_of(volume: &SimVolume, path: &str) -> Vec<PageBuf> {
    let bytes = volume.contents(Path::new(path)).unwrap();
    bytes.as_chunks::<PAGE_SIZE>().0.to_vec()
}

/// The allocation units of the users' tables.
pub(crate) fn units(volume: &SimVolume) -> BTreeSet<u64> {
    let look = volume.fork();
    let instance = start(&look).unwrap();
    let database = instance.database("Db").unwrap();
    let session = Session::new(&database).unwrap();
    let mut units = BTreeSet::new();
    for name in ["c", "h"] {
        let table = session.table(name).unwrap();
        for index in table.indexes() {
            let pages = database.pages_of(index.rowset()).unwrap();
            let page = pages.first().unwrap();
            let path = FILES.iter().find(|(id, _)| *id == page.file.0).unwrap().1;
            let bytes = pages_of(volume, path)[page.page.0 as usize];
            units.insert(Page::new(&bytes).unit().0);
        }
    }
    drop((session, database));
    instance.abandon();
    units
}

/// Whether a page is of a table of a user.
fn is_users(page: &PageBuf, units: &BTreeSet<u64>) -> bool {
    let page = Page::new(page);
    let kind = matches!(
        page.page_type(),
        PageType::Data | PageType::Index | PageType::Iam
    );
    kind && units.contains(&page.unit().0)
}

/// Spoils some pages of the users' tables, durably.
fn spoil(volume: &SimVolume, units: &BTreeSet<u64>, rng: &mut SeededRng) -> Vec<PageId> {
    let mut spoiled = Vec::new();
    for (id, path) in FILES {
        let pages = pages_of(volume, path);
        let users: Vec<usize> = (0..pages.len())
            .filter(|at| is_users(&pages[*at], units))
            .collect();
        if users.is_empty() {
            continue;
        }
        let file = volume
            .open(Path::new(path), Open::Existing, Access::Data)
            .unwrap();
        for _ in 0..rng.random_range(1..4) {
            let at = users[rng.random_range(0..users.len())];
            let mut page = pages[at];
            match rng.random_range(0..3) {
                0 => page.fill(0),
                1 => page[rng.random_range(100..8_000)] ^= 4,
                _ => page[..512].fill(0x5A),
            }
            file.write_at((at * PAGE_SIZE) as u64, &page).unwrap();
            spoiled.push(PageId {
                file: FileId(id),
                page: PageNo(at as u32),
            });
        }
        file.sync().unwrap();
    }
    spoiled
}

/// Whether the device cannot read the journal of a repair: a database with such a one stays closed.
pub(crate) fn is_journal_lost(machine: &SimVolume) -> bool {
    let is_journal = |path: &&PathBuf| path.display().to_string().ends_with("_MSSQL_REPAIR");
    let files = machine.list(Path::new("d")).unwrap();
    let journal = files.iter().find(is_journal);
    let read = journal.map(|path| {
        let file = machine.open(path, Open::ReadOnly, Access::Data).unwrap();
        let mut bytes = AlignedBuf::new(file.len_bytes().unwrap() as usize);
        file.read_at(0, &mut bytes)
    });
    matches!(read, Some(Err(_)))
}

/// What a check of the open database finds.
pub(crate) fn findings(instance: &Instance) -> Vec<String> {
    let options = Options {
        workers: 1,
        ..Options::default()
    };
    let checked = instance
        .database("Db")
        .and_then(|database| database.check_consistency(options, &|_: Progress| true));
    let checked = checked.unwrap_or_else(|error| {
        let log = instance.error_log().tail(12).into_iter();
        let log: Vec<String> = log.map(|entry| entry.text).collect();
        panic!("{error}\n{}", log.join("\n"));
    });
    let lines = checked.report.findings.iter().map(ToString::to_string);
    lines.collect()
}

/// Which rows can be read by their key.
fn rows(instance: &Instance) -> BTreeMap<&'static str, Vec<bool>> {
    let database = instance.database("Db").unwrap();
    let mut session = Session::new(&database).unwrap();
    let mut found = BTreeMap::new();
    for name in ["c", "h"] {
        let table = session.table(name).unwrap();
        let key = |id: i64| [Value::BigInt(id)];
        let read = (0..ROWS).map(|id| match name {
            "c" => matches!(session.get(&table, &key(id)), Ok(Some(_))),
            _ => true,
        });
        found.insert(name, read.collect());
    }
    found
}

/// A damaged database, and what its repair makes of it.
pub(crate) struct Case {
    pub(crate) damaged: SimVolume,
    /// What a check finds before.
    found: Vec<String>,
    /// Pages of users' tables before and after.
    pages: BTreeMap<PageId, [Box<PageBuf>; 2]>,
    rows: BTreeMap<&'static str, Vec<bool>>,
}

pub(crate) fn repair(instance: &Instance) -> Result<Repaired, EngineError> {
    let options = Options {
        workers: 1,
        ..Options::default()
    };
    instance.repair_database("Db", &options, &mut |_| true)
}

impl Case {
    pub(crate) fn new(seed: u64) -> Case {
        let mut rng = seeded(seed);
        let damaged = sound(&mut rng);
        let units = units(&damaged);
        let spoiled = spoil(&damaged, &units, &mut rng);
        assert!(!spoiled.is_empty());
        let look = damaged.fork();
        let instance = start(&look).unwrap();
        let found = findings(&instance);
        assert!(!found.is_empty(), "seed {seed}");
        let repaired = repair(&instance).unwrap();
        assert!(repaired.left.is_empty(), "seed {seed}: {:?}", repaired.left);
        assert_eq!(findings(&instance), Vec::<String>::new(), "seed {seed}");
        let rows = rows(&instance);
        instance.shut_down().unwrap();
        drop(instance);
        let mut pages = BTreeMap::new();
        for (id, path) in FILES {
            let (before, after) = (pages_of(&damaged, path), pages_of(&look, path));
            for (at, after) in after
                .iter()
                .enumerate()
                .filter(|(_, page)| is_users(page, &units))
            {
                let page = PageId {
                    file: FileId(id),
                    page: PageNo(at as u32),
                };
                if repaired.pages.contains_key(&page) {
                    pages.insert(page, [Box::new(before[at]), Box::new(*after)]);
                }
            }
        }
        assert!(!pages.is_empty(), "seed {seed}");
        Case {
            damaged,
            found,
            pages,
            rows,
        }
    }

    /// Starts the machine; whether the database is the repaired one. It is that or the one of before.
    pub(crate) fn prove(&self, machine: &SimVolume, context: &str) -> bool {
        let instance = start(machine).unwrap();
        assert!(!is_file_left(machine), "{context}: a file is left");
        let mut states = BTreeMap::new();
        for (page, [before, after]) in &self.pages {
            let path = FILES.iter().find(|(id, _)| *id == page.file.0).unwrap().1;
            let now = pages_of(machine, path)[page.page.0 as usize];
            let state = (now == **before, now == **after);
            assert_ne!(state, (false, false), "{context}: {page} is neither");
            states.insert(*page, state);
        }
        let found = findings(&instance);
        let repaired = found.is_empty();
        for (page, (before, after)) in states {
            let half = if repaired { !after } else { !before };
            assert!(!half, "{context}: {page} is of the other state");
        }
        if repaired {
            assert_eq!(rows(&instance), self.rows, "{context}");
        } else {
            assert_eq!(found, self.found, "{context}");
            repair(&instance).unwrap();
            assert_eq!(findings(&instance), Vec::<String>::new(), "{context}");
        }
        instance.abandon();
        repaired
    }
}

/// Whether a journal, or a file of a snapshot, lies beside the data files.
pub(crate) fn is_file_left(machine: &SimVolume) -> bool {
    let files = machine.list(Path::new("d")).unwrap();
    let mut names = files.iter().map(|path| path.display().to_string());
    names.any(|name| name.contains("_MSSQL_"))
}

/// Torn outcomes and a named one; all named ones where `FURROW_ROUNDS` is set.
fn outcomes(volume: &SimVolume, rng: &mut SeededRng) -> Vec<Crash> {
    let mut all = volume.outcomes();
    if std::env::var("FURROW_ROUNDS").is_err() {
        all = vec![all.swap_remove(rng.random_range(0..all.len()))];
    }
    all.push(Crash::Torn { seed: rng.random() });
    all.push(Crash::Unreadable { seed: rng.random() });
    all
}

#[test]
fn a_power_loss_in_a_repair_leaves_the_database_of_before_or_the_repaired_one() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let case = Case::new(seed);
    let mut rng = seeded(seed ^ 0xC4A5);
    let (mut n, mut points, mut repaired) = (0, 0, 0);
    loop {
        n += 1;
        let volume = case.damaged.fork();
        let instance = start(&volume).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
        let ended = repair(&instance);
        let done = ended.is_ok() && volume.is_powered();
        instance.abandon();
        drop(instance);
        for outcome in outcomes(&volume, &mut rng) {
            let context = format!("seed {seed}, operation {n}, {outcome:?}");
            if is_journal_lost(&volume.crash(&outcome)) {
                continue;
            }
            let is_repaired = case.prove(&volume.crash(&outcome), &context);
            assert!(is_repaired || !done, "{context}: the repair is lost");
            points += 1;
            repaired += u32::from(is_repaired);
            // In half of the cases once more while the start works on it: what was decided stays.
            if rng.random() {
                continue;
            }
            let again = volume.crash(&outcome);
            let m = rng.random_range(1..12);
            again.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(m));
            if let Ok(instance) = start(&again) {
                instance.abandon();
            }
            let outcome = Crash::Torn { seed: rng.random() };
            let context = format!("{context}, then {m}");
            assert_eq!(
                case.prove(&again.crash(&outcome), &context),
                is_repaired,
                "{context}"
            );
            points += 1;
        }
        if done {
            break;
        }
    }
    println!("{n} operations, {points} points, {repaired} repaired");
    assert!(
        repaired > 10 && points - repaired > 10,
        "{points} {repaired}"
    );
}

#[test]
fn a_failed_operation_of_a_repair_leaves_the_database_of_before_or_the_repaired_one() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let case = Case::new(seed);
    let effects = [Effect::Fail, Effect::NoSpace, Effect::Partial];
    let kinds = [
        OpKind::Open,
        OpKind::Create,
        OpKind::Remove,
        OpKind::Write,
        OpKind::WriteDurable,
        OpKind::Sync,
        OpKind::Resize,
        OpKind::Read,
    ];
    // Each early operation, and some of the many that follow.
    let counts = [1, 2, 3, 5, 8, 13, 21, 34, 55];
    for (at, kind) in kinds.into_iter().enumerate() {
        for nth in counts {
            let volume = case.damaged.fork();
            let instance = start(&volume).unwrap();
            let effect = effects[(nth as usize + at) % effects.len()];
            volume.inject(Fault::new(Ops::Only(kind), effect).nth(nth));
            let before = volume.counts().of(kind);
            let ended = repair(&instance);
            let met = volume.counts().of(kind) - before >= nth;
            instance.abandon();
            drop(instance);
            let context = format!("seed {seed}, {kind:?} {nth}, {effect:?}: {ended:?}");
            let repaired = case.prove(&volume.crash(&Crash::KeepAll), &context);
            assert!(repaired || ended.is_err(), "{context}: the repair is lost");
            if !met {
                break;
            }
        }
    }
}

/// Says to a process of this test which directory is its own, and what it is to do.
const ROLE: &str = "FURROW_REPAIR_CHILD";

/// What a process does until it is killed: checks its database beside a writer, with almost no memory.
#[test]
#[ignore = "a process of another test"]
fn a_check_until_killed() {
    let Ok(dir) = std::env::var(ROLE) else {
        return;
    };
    let dir = PathBuf::from(dir);
    let instance = start_in(&dir);
    let database = instance.database("Db").unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = Session::new(&database).unwrap();
            let table = session.table("c").unwrap();
            for round in 0_u64.. {
                let id = (round as i64 * 7) % ROWS;
                let key = table.row_key(&[Value::BigInt(id)]).unwrap();
                let note = "w".repeat((round % 700) as usize + 1);
                session.update(&table, &key, &[(1, s(&note))]).unwrap();
                if round % 50 == 0 {
                    database.checkpoint().unwrap();
                }
            }
        });
        loop {
            let options = Options {
                workers: 1,
                memory_bytes: 64 << 10,
                bytes_per_s: 2 << 20,
                ..Options::default()
            };
            let checked = database
                .check_consistency(options, &|_: Progress| true)
                .unwrap();
            assert!(checked.report.is_clean(), "{:?}", checked.report.findings);
        }
    });
}

fn start_in(dir: &Path) -> Arc<Instance> {
    let config = InstanceConfig {
        directory: Some(dir.join("inst")),
        pool_pages: 256,
        double_write_pages: 64,
        ..InstanceConfig::default()
    };
    Instance::start(Arc::new(SystemVolume::new()), config).unwrap()
}

fn left_beside(dir: &Path) -> Option<PathBuf> {
    let files = SystemVolume::new().list(dir).unwrap();
    files
        .into_iter()
        .find(|path| path.display().to_string().contains("_MSSQL_"))
}

#[test]
fn a_check_that_is_killed_leaves_no_snapshot_file_after_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let instance = start_in(dir);
    let spec = DatabaseSpec::new("Db", FileSpec::new("P", dir.join("p.mdf")).size_mb(4))
        .file(FileSpec::new("S", dir.join("s.ndf")).size_mb(1))
        .log(FileSpec::new("L", dir.join("l.ldf")).size_mb(4));
    let database = instance.create_database(&spec).unwrap();
    fill(&database, &mut seeded(1));
    drop(database);
    instance.shut_down().unwrap();
    drop(instance);
    let mut kills_with_a_file = 0;
    for round in 0..10 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["repair_crash::a_check_until_killed", "--exact", "--ignored"])
            .env(ROLE, dir)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Moment::now();
        while left_beside(dir).is_none() {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "the process ended by itself: {ended:?}");
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "no snapshot file in two minutes"
            );
            sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // A check that ended before the kill has removed its file.
        kills_with_a_file += u32::from(left_beside(dir).is_some());
        let instance = start_in(dir);
        assert_eq!(left_beside(dir), None, "round {round}");
        assert_eq!(findings(&instance), Vec::<String>::new(), "round {round}");
        instance.shut_down().unwrap();
        if kills_with_a_file == 2 {
            return;
        }
    }
    panic!("no kill while there was a snapshot file");
}
