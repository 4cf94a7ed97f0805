//! The instance's list of its databases, on disk.
//!
//! Two files, `databases.0` and `databases.1`, hold the whole list, each with a generation and a checksum.
//! The newer one that is whole counts. A change writes the older one, durably, then the other one: a crash in
//! the middle of writing leaves the list before or after, and at rest both say the same, so that one that
//! rots takes nothing away. An older list must never count then: it may say of a database that it was being
//! created, and what was being created is removed. [`super::list_format`] describes the bytes.

use super::holds::Held;
use super::list_format::{HEADER_BYTES, decode, encode};
use super::listed::Listed;
use furrow_io::{Access, File, Fill, IoError, IoErrorKind, IoOp, Open, Volume};
use furrow_messages::Message;
use furrow_tables::EngineError;
use std::path::Path;
use std::sync::Arc;

/// Files grow by whole units, so that most changes rewrite in place.
const UNIT_BYTES: u64 = 4096;

/// The list and where it is kept; nowhere for an instance without a directory.
#[derive(Debug)]
pub(crate) struct DatabaseList {
    home: Option<[Arc<dyn File>; 2]>,
    generation: u64,
    pub(crate) databases: Vec<Listed>,
    /// Databases whose closed files a repair or a backup of the log works on: they cannot be opened, replaced
    /// or removed meanwhile.
    pub(crate) repairing: Vec<u16>,
    /// Databases that a revert makes ready or reverts: one revert at a time.
    pub(crate) reverting: Vec<u16>,
    /// Databases that are being restored: one restore at a time.
    pub(crate) restoring: Held,
}

/// 952: another statement works on the database.
pub(crate) fn in_transition(name: &str) -> EngineError {
    let text = format!("Database '{name}' is in transition. Try the statement later.");
    EngineError::of(Message::custom(952, 16, 1, &text))
}

impl DatabaseList {
    /// The database of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Listed> {
        let lower = name.to_lowercase();
        let mut all = self.databases.iter();
        all.find(|d| d.name.to_lowercase() == lower)
    }

    /// Refuses a database that is being repaired or restored.
    pub(crate) fn refuse_held(&self, listed: &Listed) -> Result<(), EngineError> {
        let restored = self.restoring.lock().contains(&listed.id);
        if !restored && !self.repairing.contains(&listed.id) {
            return Ok(());
        }
        Err(in_transition(&listed.name))
    }

    /// A list that is kept nowhere.
    pub(crate) fn unkept() -> DatabaseList {
        DatabaseList {
            home: None,
            generation: 0,
            databases: Vec::new(),
            repairing: Vec::new(),
            reverting: Vec::new(),
            restoring: Held::default(),
        }
    }

    /// The list of the instance in `dir`; an empty one where there is none yet. The files stay open, and
    /// locked. An error where neither of two that were written is whole.
    pub(crate) fn open(volume: &dyn Volume, dir: &Path) -> Result<DatabaseList, IoError> {
        volume.create_dir(dir)?;
        let file = |number: u8| -> Result<Arc<dyn File>, IoError> {
            let path = dir.join(format!("databases.{number}"));
            match volume.open(&path, Open::Existing, Access::Data) {
                Err(e) if e.kind == IoErrorKind::NotFound => {
                    volume.open(&path, Open::Create, Access::Data)
                }
                other => other,
            }
        };
        let home = [file(0)?, file(1)?];
        let copies = [copy_in(&*home[0])?, copy_in(&*home[1])?];
        // A device that reads nothing any more proves nothing.
        let still_there = || {
            home.iter()
                .any(|f| matches!(read(&**f), Ok(Copy::Whole(..))))
        };
        let unreadable = copies.iter().find_map(|copy| match copy {
            Copy::Unreadable(error) => Some(error.clone()),
            _ => None,
        });
        if let Some(error) = unreadable.filter(|_| !still_there()) {
            return Err(error);
        }
        let [first, second] = copies;
        let same = match (&first, &second) {
            (Copy::Whole(_, first), Copy::Whole(_, second)) => first == second,
            (Copy::Empty, Copy::Empty) => true,
            // The first write of all goes to one file, and leaves the other one empty until it is done.
            (Copy::Damaged, Copy::Damaged) => {
                let what = "neither it nor databases.1 holds a whole list of databases";
                let kind = IoErrorKind::Os(0, what.to_owned());
                return Err(IoError::new(IoOp::Open, &dir.join("databases.0"), 0, kind));
            }
            _ => false,
        };
        let (generation, databases) = match (first, second) {
            (Copy::Whole(one, first), Copy::Whole(two, _)) if one > two => (one, first),
            (_, Copy::Whole(generation, databases)) | (Copy::Whole(generation, databases), _) => {
                (generation, databases)
            }
            _ => Default::default(),
        };
        let mut list = DatabaseList {
            home: Some(home),
            generation,
            databases,
            repairing: Vec::new(),
            reverting: Vec::new(),
            restoring: Held::default(),
        };
        if !same {
            list.copy();
        }
        Ok(list)
    }

    /// Refuses a list that was copied with its directory: its paths are those of the original instance, whose
    /// files would be changed. It is a copy if the system's first database lies beside another list that no
    /// running instance has locked.
    pub(crate) fn refuse_copy(&self, volume: &dyn Volume, dir: &Path) -> Result<(), IoError> {
        let first = self.databases.iter().find(|d| d.id == 1);
        let home = first.and_then(|d| d.paths.first()?.parent());
        let Some(home) = home.filter(|home| *home != dir) else {
            return Ok(());
        };
        let other = home.join("databases.0");
        // Where it is the same directory by another name, we hold it.
        match volume.open(&other, Open::Existing, Access::Data) {
            Err(_) => Ok(()),
            Ok(_) => {
                let what = format!(
                    "it is a copy of '{}', and would work on the files that lie there",
                    other.display()
                );
                let kind = IoErrorKind::Os(0, what);
                let path = dir.join("databases.0");
                Err(IoError::new(IoOp::Open, &path, 0, kind))
            }
        }
    }

    /// Changes the list, durably: memory follows the disk, so that an error leaves it as it was.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Vec<Listed>)) -> Result<(), IoError> {
        let mut databases = self.databases.clone();
        change(&mut databases);
        self.write(&databases)?;
        self.generation += 1;
        self.databases = databases;
        self.copy();
        Ok(())
    }

    /// Writes the list as it is to the older file. It is durable in the other one: where this fails, the next
    /// change writes here first.
    fn copy(&mut self) {
        if self.write(&self.databases).is_ok() {
            self.generation += 1;
        }
    }

    /// Writes a list to the older file, as the next generation.
    fn write(&self, databases: &[Listed]) -> Result<(), IoError> {
        let Some(home) = &self.home else {
            return Ok(());
        };
        let generation = self.generation + 1;
        let file = &home[(generation % 2) as usize];
        let mut bytes = encode(generation, databases);
        let wanted = (bytes.len() as u64).next_multiple_of(UNIT_BYTES);
        // Whole sectors: one that a power loss made unreadable is overwritten, not read first.
        bytes.resize(wanted as usize, 0);
        if file.len_bytes()? < wanted {
            file.resize(wanted, Fill::Allocate)?;
        }
        file.write(&[furrow_io::WriteRun {
            offset: 0,
            bufs: &[std::io::IoSlice::new(&bytes)],
        }])?;
        file.sync()
    }

    /// The number that is asked for, where it is free.
    pub(crate) fn id_for(&self, asked: Option<u16>) -> u16 {
        let free = |id: &u16| self.databases.iter().all(|d| d.id != *id);
        asked.filter(free).unwrap_or_else(|| self.free_id())
    }

    /// The smallest number from 5 up that no database has: below are the system's.
    pub(crate) fn free_id(&self) -> u16 {
        (5..=u16::MAX)
            .find(|id| self.databases.iter().all(|d| d.id != *id))
            .unwrap_or(u16::MAX)
    }
}

/// What one of the files holds.
enum Copy {
    /// It was never written.
    Empty,
    /// Generation and list.
    Whole(u64, Vec<Listed>),
    /// Anything else.
    Damaged,
    /// The device does not read it.
    Unreadable(IoError),
}

/// What one of the files holds. The one that was being written when the power went may be unreadable.
fn copy_in(file: &dyn File) -> Result<Copy, IoError> {
    match read(file).or_else(|_| read(file)) {
        Err(error) if error.kind.is_medium() => Ok(Copy::Unreadable(error)),
        read => read,
    }
}

fn read(file: &dyn File) -> Result<Copy, IoError> {
    let len = file.len_bytes()? as usize;
    if len < HEADER_BYTES {
        return Ok(Copy::Empty);
    }
    let mut bytes = vec![0; len];
    file.read_at(0, &mut bytes)?;
    Ok(match decode(&bytes) {
        Some((generation, databases)) => Copy::Whole(generation, databases),
        None => Copy::Damaged,
    })
}

#[cfg(test)]
mod tests {
    use super::super::listed::{Absent, Link, Phase};
    use super::*;
    use furrow_format::{Forks, Lsn};
    use furrow_io::sim::{Effect, Fault, Ops, SimOptions};
    use furrow_io::{MemoryVolume, SimVolume};
    use furrow_types::Guid;
    use std::path::PathBuf;

    fn listed(id: u16, phase: Phase) -> Listed {
        let paths = vec![
            PathBuf::from(format!("data/{id}.mdf")),
            PathBuf::from("log/x.ldf"),
        ];
        Listed {
            id,
            phase,
            binding: [id as u8; 16],
            name: format!("Name {id}"),
            paths,
            layout: Vec::new(),
            link: Link::default(),
            absent: Absent::default(),
            offline: false,
        }
    }

    #[test]
    fn a_restore_names_the_files_that_were_backed_up() {
        let volume = MemoryVolume::new();
        let dir = Path::new("inst");
        let mut list = DatabaseList::open(&volume, dir).unwrap();
        let link = Link {
            source: [3; 16],
            ..Link::default()
        };
        let of = Listed {
            link,
            ..listed(6, Phase::Restoring)
        };
        let forked = Listed {
            link: Link {
                forks: Forks::new(Guid([4; 16])).renewed(Guid([5; 16]), Lsn(99)),
                ..of.link.clone()
            },
            ..listed(9, Phase::Restoring)
        };
        let in_standby = |id, phase| Listed {
            link: Link {
                undo: PathBuf::from("x.undo"),
                ..forked.link.clone()
            },
            ..listed(id, phase)
        };
        let all = vec![
            of,
            in_standby(10, Phase::Standby),
            in_standby(11, Phase::Restoring),
            forked,
            listed(7, Phase::Restoring),
            listed(8, Phase::Whole),
        ];
        list.change(|there| there.clone_from(&all)).unwrap();
        drop(list);
        let list = DatabaseList::open(&volume, dir).unwrap();
        assert_eq!(list.databases, all);
    }

    #[test]
    fn a_snapshot_names_its_source() {
        let volume = MemoryVolume::new();
        let dir = Path::new("inst");
        let mut list = DatabaseList::open(&volume, dir).unwrap();
        for phase in [Phase::Snapshot, Phase::StaleSnapshot, Phase::Reverting] {
            let link = Link {
                database: 9,
                lsn: Lsn(77),
                ..Link::default()
            };
            let of = Listed {
                link,
                ..listed(6, phase)
            };
            list.change(|all| *all = vec![of.clone(), listed(7, Phase::Whole)])
                .unwrap();
            drop(list);
            list = DatabaseList::open(&volume, dir).unwrap();
            assert_eq!(list.databases, [of, listed(7, Phase::Whole)]);
        }
    }

    #[test]
    fn a_list_comes_back_as_it_was_last_changed() {
        let volume = MemoryVolume::new();
        let dir = Path::new("inst");
        let mut list = DatabaseList::open(&volume, dir).unwrap();
        assert_eq!((list.databases.len(), list.free_id()), (0, 5));
        list.change(|all| all.push(listed(5, Phase::Creating)))
            .unwrap();
        list.change(|all| all[0].phase = Phase::Whole).unwrap();
        for id in 6..200 {
            list.change(|all| all.push(listed(id, Phase::Dropping)))
                .unwrap();
        }
        list.change(|all| all.retain(|d| d.id != 7)).unwrap();
        let wanted = list.databases.clone();
        drop(list);
        let list = DatabaseList::open(&volume, dir).unwrap();
        assert_eq!(list.databases, wanted);
        assert_eq!(list.free_id(), 7);
    }

    #[test]
    fn a_database_that_was_taken_offline_is_listed_so() {
        let volume = MemoryVolume::new();
        let dir = Path::new("inst");
        let phases = [Phase::Whole, Phase::ReadOnly, Phase::Standby];
        let all: Vec<Listed> = phases
            .into_iter()
            .zip(5..)
            .map(|(phase, id)| Listed {
                offline: true,
                ..listed(id, phase)
            })
            .chain([listed(9, Phase::Whole)])
            .collect();
        let mut list = DatabaseList::open(&volume, dir).unwrap();
        list.change(|there| there.clone_from(&all)).unwrap();
        drop(list);
        assert_eq!(DatabaseList::open(&volume, dir).unwrap().databases, all);
    }

    #[test]
    fn two_instances_in_one_directory_are_refused() {
        let volume = MemoryVolume::new();
        let _first = DatabaseList::open(&volume, Path::new("inst")).unwrap();
        let second = DatabaseList::open(&volume, Path::new("inst")).unwrap_err();
        assert_eq!(second.kind, IoErrorKind::InUse);
    }

    #[test]
    fn a_crash_while_writing_leaves_the_list_before_or_after() {
        let run = |volume: &SimVolume, done: &mut usize| -> Result<(), IoError> {
            let mut list = DatabaseList::open(volume, Path::new("inst"))?;
            for id in 5..12 {
                list.change(|all| all.push(listed(id, Phase::Whole)))?;
                *done += 1;
            }
            Ok(())
        };
        let dry = SimVolume::new(SimOptions::default());
        run(&dry, &mut 0).unwrap();
        let mut crashes = 0;
        for n in 1..=dry.counts().matching(Ops::Changes) {
            let volume = SimVolume::new(SimOptions::default());
            volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
            let mut done = 0;
            let ended = run(&volume, &mut done);
            assert!(ended.is_err() || done == 7);
            for outcome in volume.outcomes() {
                let after = volume.crash(&outcome);
                let list = DatabaseList::open(&after, Path::new("inst")).unwrap();
                let ids: Vec<u16> = list.databases.iter().map(|d| d.id).collect();
                let count = ids.len() as u16;
                assert!(ids.len() >= done, "operation {n}, {outcome:?}");
                assert_eq!(
                    ids,
                    (5..5 + count).collect::<Vec<_>>(),
                    "operation {n}, {outcome:?}"
                );
                crashes += 1;
            }
        }
        assert!(crashes > 50);
    }

    fn spoil(volume: &MemoryVolume, number: u8, at: u64) {
        let path = Path::new("inst").join(format!("databases.{number}"));
        let file = volume.open(&path, Open::Existing, Access::Data).unwrap();
        let mut byte = [0];
        file.read_at(at, &mut byte).unwrap();
        byte[0] = !byte[0];
        let bufs = &[std::io::IoSlice::new(&byte)];
        file.write(&[furrow_io::WriteRun { offset: at, bufs }])
            .unwrap();
    }

    #[test]
    fn either_file_of_the_list_may_rot_and_is_written_again() {
        for number in [0, 1] {
            for at in [0, 9, 20, 30, 60] {
                let volume = MemoryVolume::new();
                let open = || DatabaseList::open(&volume, Path::new("inst")).unwrap();
                let mut list = open();
                list.change(|all| all.push(listed(5, Phase::Creating)))
                    .unwrap();
                list.change(|all| all[0].phase = Phase::Whole).unwrap();
                drop(list);
                spoil(&volume, number, at);
                assert_eq!(open().databases, [listed(5, Phase::Whole)]);
                // The other one may follow: the first is whole again.
                spoil(&volume, 1 - number, at);
                assert_eq!(open().databases, [listed(5, Phase::Whole)]);
            }
        }
    }

    #[test]
    fn a_list_that_was_copied_with_its_directory_is_refused() {
        let volume = MemoryVolume::new();
        let master = |dir: &Path| Listed {
            id: 1,
            paths: vec![dir.join("master.mdf")],
            ..listed(1, Phase::Whole)
        };
        let (home, copy) = (Path::new("inst"), Path::new("copy"));
        for dir in [home, copy] {
            let mut list = DatabaseList::open(&volume, dir).unwrap();
            list.change(|all| all.push(master(home))).unwrap();
        }
        let list = DatabaseList::open(&volume, home).unwrap();
        list.refuse_copy(&volume, home).unwrap();
        // By another name.
        list.refuse_copy(&volume, &Path::new(".").join(home))
            .unwrap();
        drop(list);
        let list = DatabaseList::open(&volume, copy).unwrap();
        let refused = list.refuse_copy(&volume, copy).unwrap_err();
        assert!(refused.to_string().contains("is a copy of"), "{refused}");
    }

    #[test]
    fn a_list_of_which_nothing_is_whole_is_refused() {
        let volume = MemoryVolume::new();
        let mut list = DatabaseList::open(&volume, Path::new("inst")).unwrap();
        list.change(|all| all.push(listed(5, Phase::Whole)))
            .unwrap();
        drop(list);
        spoil(&volume, 0, 30);
        spoil(&volume, 1, 30);
        let refused = DatabaseList::open(&volume, Path::new("inst")).unwrap_err();
        assert!(refused.to_string().contains("databases.1"), "{refused}");
    }
}
