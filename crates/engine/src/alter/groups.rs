//! Filegroups: in `sysphfg` and `sysclsobjs`, in the space, in the book.

use crate::database::Database;
use crate::files::{FileEntry, GroupEntry, check_filegroup};
use furrow_access::By;
use furrow_format::catalog::{ClassObject, Code, PhysicalFilegroup, class};
use furrow_io::random;
use furrow_messages::{Arg, Message};
use furrow_tables::EngineError;
use furrow_types::{Guid, Value};

/// Bits of `sysclsobjs.status` of a filegroup. PRIMARY is the default where no filegroup bears the bit.
const DEFAULT: i32 = 0x10;
/// Nothing in it may change.
const READ_ONLY: i32 = 0x8;
/// Our own bit: all files grow when one has to.
const AUTOGROW_ALL: i32 = 0x20;

impl GroupEntry {
    /// The filegroup as the space takes it.
    pub(crate) fn spec(&self, id: u16) -> furrow_space::FilegroupSpec {
        furrow_space::FilegroupSpec {
            id,
            name: self.name.clone(),
            autogrow_all: self.autogrow_all,
            is_default: self.is_default,
        }
    }
}

fn missing(name: &str, database: &str) -> EngineError {
    EngineError::refused(5014, &["filegroup".into(), name.into(), database.into()])
}

impl Database {
    fn group_rows(&self) -> Result<Vec<ClassObject>, EngineError> {
        self.catalog
            .bases()
            .rows(&[Value::TinyInt(class::FILEGROUP)])
    }

    /// After the catalog is open: names and properties of filegroups.
    pub(crate) fn load_groups(&self) -> Result<(), EngineError> {
        let rows = self.group_rows()?;
        let named_default = rows.iter().any(|r| r.status & DEFAULT != 0);
        for row in rows {
            let bad = |_| EngineError::Damaged(format!("filegroup {} has no place", row.id));
            let id = u16::try_from(row.id).map_err(bad)?;
            let entry = GroupEntry {
                name: row.name.clone(),
                is_default: row.status & DEFAULT != 0 || (id == 1 && !named_default),
                autogrow_all: row.status & AUTOGROW_ALL != 0,
                read_only: row.status & READ_ONLY != 0,
            };
            self.space.set_read_only(id, entry.read_only);
            self.space.add_filegroup(entry.spec(id));
            self.files.change_groups(|groups| groups.insert(id, entry));
        }
        Ok(())
    }

    /// Writes default and growth of all filegroups as the book has them.
    pub(crate) fn write_group_flags(&self) -> Result<(), EngineError> {
        let groups = self.files.groups();
        for mut row in self.group_rows()? {
            let Some(group) = u16::try_from(row.id).ok().and_then(|id| groups.get(&id)) else {
                continue;
            };
            let mut status = row.status & !(DEFAULT | AUTOGROW_ALL | READ_ONLY);
            status |= if group.read_only { READ_ONLY } else { 0 };
            status |= if group.is_default { DEFAULT } else { 0 };
            status |= if group.autogrow_all { AUTOGROW_ALL } else { 0 };
            if status != row.status {
                row.status = status;
                self.catalog.bases().replace(&mut By::System, &row)?;
            }
        }
        Ok(self.store.log().flush_all()?)
    }

    /// ALTER DATABASE ADD FILEGROUP.
    pub fn add_filegroup(&self, name: &str) -> Result<u16, EngineError> {
        let _entered = self.shared.enter();
        self.must_be_writable()?;
        if self.is_temporary() {
            let text = format!(
                "User-defined filegroups are not allowed on \"{}\".",
                self.name
            );
            return Err(EngineError::of(Message::custom(1826, 16, 1, &text)));
        }
        let _turn = self.files.turn.lock();
        let groups = self.files.groups();
        check_filegroup(name, groups.values().map(|g| g.name.as_str()))?;
        let physical: Vec<PhysicalFilegroup> = self.catalog.bases().all()?;
        let id = (2..=32_767)
            .find(|id| !groups.contains_key(id))
            .unwrap_or(32_767);
        // Left over from an attempt that a crash cut short between the two rows.
        for row in physical.iter().filter(|row| row.phfgid == i32::from(id)) {
            self.catalog.bases().delete(&mut By::System, row)?;
        }
        let bases = self.catalog.bases();
        bases.insert(&mut By::System, &physical_row(id, name))?;
        bases.insert(&mut By::System, &self.group_row(id, name))?;
        self.store.log().flush_all()?;
        let entry = GroupEntry {
            name: name.to_owned(),
            is_default: false,
            autogrow_all: false,
            read_only: false,
        };
        self.space.add_filegroup(entry.spec(id));
        self.files.change_groups(|groups| groups.insert(id, entry));
        Ok(id)
    }

    fn group_row(&self, id: u16, name: &str) -> ClassObject {
        let now = crate::shared::now();
        ClassObject {
            class: class::FILEGROUP,
            id: i32::from(id),
            name: name.to_owned(),
            status: 0,
            kind: Code(*b"FG"),
            intprop: 0,
            created: now,
            modified: now,
        }
    }

    /// ALTER DATABASE REMOVE FILEGROUP: it must hold no files (5042).
    pub fn remove_filegroup(&self, name: &str) -> Result<(), EngineError> {
        let (_held, id, group) = self.group_to_change(name)?;
        let has_files = self.files.files().iter().any(|f| f.filegroup == id);
        if id == 1 || has_files || group.is_default {
            let args = [Arg::from("filegroup"), name.into()];
            return Err(EngineError::of(Message::new(5042, &args).with_state(7)));
        }
        for row in self
            .group_rows()?
            .iter()
            .filter(|row| row.id == i32::from(id))
        {
            self.catalog.bases().delete(&mut By::System, row)?;
        }
        let physical: Vec<PhysicalFilegroup> = self.catalog.bases().all()?;
        for row in physical.iter().filter(|row| row.phfgid == i32::from(id)) {
            self.catalog.bases().delete(&mut By::System, row)?;
        }
        self.store.log().flush_all()?;
        // The space may go on knowing it: without files nothing is allocated there.
        self.files.change_groups(|groups| groups.remove(&id));
        Ok(())
    }

    /// ALTER DATABASE MODIFY FILEGROUP ... DEFAULT.
    pub fn set_default_filegroup(&self, name: &str) -> Result<(), EngineError> {
        self.change_group(name, "DEFAULT", |groups, id| {
            let already = groups.get(&id).is_some_and(|g| g.is_default);
            groups
                .iter_mut()
                .for_each(|(other, group)| group.is_default = *other == id);
            !already
        })
    }

    /// ALTER DATABASE MODIFY FILEGROUP ... AUTOGROW_ALL_FILES or AUTOGROW_SINGLE_FILE.
    pub fn set_autogrow_all(&self, name: &str, all: bool) -> Result<(), EngineError> {
        let property = if all {
            "AUTOGROW_ALL_FILES"
        } else {
            "AUTOGROW_SINGLE_FILE"
        };
        self.change_group(name, property, |groups, id| match groups.get_mut(&id) {
            Some(group) if group.autogrow_all != all => {
                group.autogrow_all = all;
                true
            }
            _ => false,
        })
    }

    /// ALTER DATABASE MODIFY FILEGROUP ... READ_ONLY or READ_WRITE, with so many users in the database
    /// (5070). What is in the filegroup is on the disk then, and is not written again.
    pub(crate) fn set_group_read_only(
        &self,
        users: u32,
        name: &str,
        read_only: bool,
    ) -> Result<(), EngineError> {
        let (_held, id, group) = self.group_to_change(name)?;
        if id == 1 {
            return Err(EngineError::refused(5047, &[]));
        }
        if !self.files.files().iter().any(|f| f.filegroup == id) {
            return Err(EngineError::refused(5050, &[name.into()]));
        }
        if group.read_only == read_only {
            let property = if read_only { "READ_ONLY" } else { "READ_WRITE" };
            let args = [Arg::from("filegroup"), property.into()];
            return Err(EngineError::refused(5045, &args));
        }
        self.refuse_entry(users)
            .map_err(|_| EngineError::refused(5070, &[self.name.as_str().into()]))?;
        let done = self.set_group_alone(id, read_only);
        self.allow_entry();
        done
    }

    fn set_group_alone(&self, id: u16, read_only: bool) -> Result<(), EngineError> {
        // Nothing is left for the cleaner to do there.
        while read_only && self.purge_ghosts()? > 0 {}
        self.files.change_groups(|groups| {
            if let Some(group) = groups.get_mut(&id) {
                group.read_only = read_only;
            }
        });
        self.write_group_flags()?;
        self.space.set_read_only(id, read_only);
        self.checkpoint().map(drop)
    }

    /// 5048: a read-only filegroup takes no files.
    pub(crate) fn group_takes_files(&self, id: u16) -> Result<(), EngineError> {
        self.files.refuse_absent(id)?;
        match self.files.groups().get(&id) {
            Some(group) if group.read_only => {
                Err(EngineError::refused(5048, &[group.name.as_str().into()]))
            }
            _ => Ok(()),
        }
    }

    /// 5055: a file of a read-only filegroup stays as it is.
    pub(crate) fn file_may_change(&self, file: &FileEntry) -> Result<(), EngineError> {
        match self.space.is_read_only(file.filegroup) {
            true => Err(EngineError::refused(5055, &[file.name.as_str().into()])),
            false => Ok(()),
        }
    }

    /// ALTER DATABASE MODIFY FILEGROUP ... NAME (5012 for the primary one).
    pub fn rename_filegroup(&self, name: &str, new: &str) -> Result<(), EngineError> {
        let (_held, id, _) = self.group_to_change(name)?;
        if id == 1 {
            let text = "The name of the primary filegroup cannot be changed.";
            return Err(EngineError::of(Message::custom(5012, 16, 1, text)));
        }
        let groups = self.files.groups();
        let others = groups.iter().filter(|(other, _)| **other != id);
        check_filegroup(new, others.map(|(_, g)| g.name.as_str()))?;
        for mut row in self
            .group_rows()?
            .into_iter()
            .filter(|r| r.id == i32::from(id))
        {
            new.clone_into(&mut row.name);
            self.catalog.bases().replace(&mut By::System, &row)?;
        }
        let physical: Vec<PhysicalFilegroup> = self.catalog.bases().all()?;
        for mut row in physical.into_iter().filter(|r| r.phfgid == i32::from(id)) {
            new.clone_into(&mut row.name);
            self.catalog.bases().replace(&mut By::System, &row)?;
        }
        self.store.log().flush_all()?;
        let entry = self.files.change_groups(|groups| {
            let group = groups.get_mut(&id)?;
            new.clone_into(&mut group.name);
            Some(group.clone())
        });
        if let Some(entry) = entry {
            self.space.add_filegroup(entry.spec(id));
        }
        Ok(())
    }

    /// A filegroup to change. No other thread changes files while the first part of the result exists.
    fn group_to_change(
        &self,
        name: &str,
    ) -> Result<(impl Sized + '_, u16, GroupEntry), EngineError> {
        let entered = self.shared.enter();
        self.must_be_writable()?;
        let turn = self.files.turn.lock();
        let found = self.files.group_named(name);
        let (id, group) = found.ok_or_else(|| missing(name, &self.name))?;
        self.files.refuse_absent(id)?;
        Ok(((turn, entered), id, group))
    }

    fn change_group(
        &self,
        name: &str,
        property: &str,
        change: impl FnOnce(&mut std::collections::BTreeMap<u16, GroupEntry>, u16) -> bool,
    ) -> Result<(), EngineError> {
        let (_held, id, _) = self.group_to_change(name)?;
        if !self.files.files().iter().any(|f| f.filegroup == id) {
            return Err(EngineError::refused(5050, &[name.into()]));
        }
        if !self.files.change_groups(|groups| change(groups, id)) {
            return Err(EngineError::refused(
                5045,
                &["filegroup".into(), property.into()],
            ));
        }
        self.write_group_flags()?;
        for (id, group) in self.files.groups() {
            self.space.set_autogrow_all(id, group.autogrow_all)?;
            if group.is_default {
                self.space.set_default(id)?;
            }
        }
        Ok(())
    }
}

fn physical_row(id: u16, name: &str) -> PhysicalFilegroup {
    PhysicalFilegroup {
        dbfragid: 1,
        phfgid: i32::from(id),
        fgid: i32::from(id),
        kind: Code(*b"FG"),
        fgguid: Some(Guid(random::guid_v4())),
        lgfgid: None,
        status: 0,
        name: name.to_owned(),
    }
}
