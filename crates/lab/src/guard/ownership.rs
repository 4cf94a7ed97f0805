//! Which things the experiment owns, and their removal.

use super::GuardError;
use crate::journal::{Event, Kind, Log, Thing};
use furrow_io::Volume;
use std::path::Path;

/// The result of a removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// It is gone.
    Gone,
    /// It was never created: the process died between the announcement and the creation.
    NeverMade,
    /// A directory that contains files of others; it stays.
    NotEmpty,
}

/// Announces a thing that is about to be created. Refused when a file or directory of that name exists.
pub fn claim(
    log: &mut Log,
    volume: &dyn Volume,
    run: Option<u32>,
    thing: Thing,
) -> Result<(), GuardError> {
    let on_disk = thing.kind != Kind::Database;
    let taken = on_disk && volume.exists(Path::new(&thing.name))?;
    if taken || is_owned(log, &thing) {
        return Err(GuardError::Taken { thing });
    }
    Ok(log.append(Event::Created { run, thing })?)
}

/// Takes an announcement back: the thing belongs to another owner, or stays on purpose.
pub fn release(log: &mut Log, thing: Thing) -> Result<(), GuardError> {
    if !is_owned(log, &thing) {
        return Err(GuardError::NotOurs { thing });
    }
    Ok(log.append(Event::Released { thing })?)
}

/// Removes a file, an empty directory, or a directory with its whole content, of ours. Databases are removed
/// by the experiment.
pub fn remove_file_or_directory(
    log: &mut Log,
    volume: &dyn Volume,
    thing: &Thing,
) -> Result<Removal, GuardError> {
    if !is_owned(log, thing) || thing.kind == Kind::Database {
        return Err(GuardError::NotOurs {
            thing: thing.clone(),
        });
    }
    let path = Path::new(&thing.name);
    let removal = if !volume.exists(path)? {
        Removal::NeverMade
    } else if thing.kind == Kind::Directory && !volume.list(path)?.is_empty() {
        Removal::NotEmpty
    } else if thing.kind == Kind::Tree {
        volume.remove_tree(path)?;
        Removal::Gone
    } else {
        volume.remove(path)?;
        Removal::Gone
    };
    let thing = thing.clone();
    log.append(match removal {
        Removal::Gone => Event::Removed { thing },
        Removal::NeverMade | Removal::NotEmpty => Event::Released { thing },
    })?;
    Ok(removal)
}

fn is_owned(log: &Log, thing: &Thing) -> bool {
    log.history().owned.iter().any(|(_, owned)| owned == thing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Factor;
    use crate::journal::{ManualClock, write_file};
    use crate::plan::Plan;
    use furrow_io::MemoryVolume;
    use std::path::PathBuf;
    use std::sync::Arc;

    fn begin() -> (Arc<dyn Volume>, Log) {
        let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
        let dir = PathBuf::from("/out");
        volume.create_dir(&dir).unwrap();
        let plan = Plan::new("t", "t?", vec![Factor::counts("n", &[1, 2])], 1);
        let first = Event::Plan {
            hash: plan.hash(),
            plan: Box::new(plan),
            program: String::new(),
            checks: Vec::new(),
        };
        let log = Log::create(&volume, &dir, Arc::new(ManualClock::at(0)), first).unwrap();
        (volume, log)
    }

    fn thing(kind: Kind, name: &str) -> Thing {
        Thing {
            kind,
            name: name.to_string(),
        }
    }

    #[test]
    fn what_is_there_already_is_never_claimed_and_so_never_removed() {
        let (volume, mut log) = begin();
        let theirs = thing(Kind::File, "/out/theirs.mdf");
        write_file(volume.as_ref(), Path::new(&theirs.name), b"precious").unwrap();
        let refused = claim(&mut log, volume.as_ref(), Some(1), theirs.clone());
        assert!(matches!(refused, Err(GuardError::Taken { .. })));
        let refused = remove_file_or_directory(&mut log, volume.as_ref(), &theirs);
        assert!(matches!(refused, Err(GuardError::NotOurs { .. })));
        assert!(volume.exists(Path::new(&theirs.name)).unwrap());
    }

    #[test]
    fn a_thing_of_ours_goes_once() {
        let (volume, mut log) = begin();
        let ours = thing(Kind::File, "/out/a.mdf");
        claim(&mut log, volume.as_ref(), Some(1), ours.clone()).unwrap();
        write_file(volume.as_ref(), Path::new(&ours.name), b"x").unwrap();
        let removed = remove_file_or_directory(&mut log, volume.as_ref(), &ours).unwrap();
        assert_eq!(removed, Removal::Gone);
        assert!(!volume.exists(Path::new(&ours.name)).unwrap());
        // Another program creates a file of the same name: the experiment does not own it.
        write_file(volume.as_ref(), Path::new(&ours.name), b"y").unwrap();
        assert!(remove_file_or_directory(&mut log, volume.as_ref(), &ours).is_err());
    }

    #[test]
    fn a_directory_with_something_in_it_stays() {
        let (volume, mut log) = begin();
        let ours = thing(Kind::Directory, "/out/run");
        claim(&mut log, volume.as_ref(), None, ours.clone()).unwrap();
        volume.create_dir(Path::new("/out/run")).unwrap();
        write_file(volume.as_ref(), Path::new("/out/run/notes.txt"), b"mine").unwrap();
        let removed = remove_file_or_directory(&mut log, volume.as_ref(), &ours).unwrap();
        assert_eq!(removed, Removal::NotEmpty);
        assert!(volume.exists(Path::new("/out/run/notes.txt")).unwrap());
        assert!(log.history().owned.is_empty());
    }

    #[test]
    fn a_directory_claimed_with_its_content_goes_with_it_and_what_lies_beside_it_stays() {
        let (volume, mut log) = begin();
        let ours = thing(Kind::Tree, "/out/run");
        claim(&mut log, volume.as_ref(), None, ours.clone()).unwrap();
        volume.create_dir(Path::new("/out/run/deeper")).unwrap();
        for file in ["/out/run/a", "/out/run/deeper/b", "/out/runner"] {
            write_file(volume.as_ref(), Path::new(file), b"x").unwrap();
        }
        let again = claim(
            &mut log,
            volume.as_ref(),
            None,
            thing(Kind::Tree, "/out/run"),
        );
        assert!(matches!(again, Err(GuardError::Taken { .. })));
        let removed = remove_file_or_directory(&mut log, volume.as_ref(), &ours).unwrap();
        assert_eq!(removed, Removal::Gone);
        assert!(!volume.exists(Path::new("/out/run")).unwrap());
        assert!(volume.exists(Path::new("/out/runner")).unwrap());
    }

    #[test]
    fn what_was_announced_and_never_made_is_forgotten() {
        let (volume, mut log) = begin();
        let ours = thing(Kind::File, "/out/a.mdf");
        claim(&mut log, volume.as_ref(), Some(1), ours.clone()).unwrap();
        let removed = remove_file_or_directory(&mut log, volume.as_ref(), &ours).unwrap();
        assert_eq!(removed, Removal::NeverMade);
        let database = thing(Kind::Database, "lab_1");
        claim(&mut log, volume.as_ref(), Some(1), database.clone()).unwrap();
        release(&mut log, database.clone()).unwrap();
        assert!(release(&mut log, database).is_err());
    }
}
