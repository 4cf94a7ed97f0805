//! Files, filegroups, schemas and constraints without a row: put in again, from headers and from what names
//! them.

use super::reconcile::Work;
use furrow_format::catalog::{
    ClassObject, Code, DatabaseFile, IndexStat, PhysicalFilegroup, SchemaObject, class, index_kind,
    index_status, object_type,
};
use furrow_format::{FileGrowth, FileHeader, FileId, PageNo};
use std::collections::BTreeSet;
use std::path::Path;

/// `sysprufiles.status`: growth in percent.
const PERCENT: i32 = 0x20;
/// The number of the log.
const LOG: i32 = 2;

fn pages(pages: u32) -> i32 {
    i32::try_from(pages).unwrap_or(i32::MAX)
}

impl Work<'_> {
    /// Files that are there, filegroups that files name, schemas that objects name, objects of keys.
    pub(super) fn lost_names(&mut self) {
        self.lost_files();
        let groups: BTreeSet<i32> = self
            .store
            .all::<DatabaseFile>()
            .iter()
            .map(|file| file.grpid)
            .filter(|group| *group > 0)
            .collect();
        for id in groups {
            let classes: Vec<ClassObject> = self.store.all();
            let known: Vec<PhysicalFilegroup> = self.store.all();
            let listed = classes
                .iter()
                .find(|c| (c.class, c.id) == (class::FILEGROUP, id));
            let kept = known.iter().find(|group| group.phfgid == id);
            let name = listed.map(|listed| listed.name.clone());
            let name = name.or_else(|| kept.map(|kept| kept.name.clone()));
            let lost = format!("lost_filegroup_{id}");
            let name = name.unwrap_or(if id == 1 { "PRIMARY".to_owned() } else { lost });
            if listed.is_none() {
                self.class((class::FILEGROUP, id), &name, Code(*b"FG"));
            }
            if kept.is_none() {
                self.notes
                    .push(format!("The row of filegroup {name} is put in again."));
                self.store.put(&PhysicalFilegroup {
                    dbfragid: 1,
                    phfgid: id,
                    fgid: id,
                    kind: Code(*b"FG"),
                    fgguid: None,
                    lgfgid: None,
                    status: 0,
                    name,
                });
            }
        }
        self.lost_schemas();
        self.lost_keys();
    }

    fn lost_schemas(&mut self) {
        let objects: Vec<SchemaObject> = self.store.all();
        let schemas: BTreeSet<i32> = objects.iter().map(|object| object.nsid).collect();
        for id in schemas {
            let classes: Vec<ClassObject> = self.store.all();
            if !classes
                .iter()
                .any(|c| (c.class, c.id) == (class::SCHEMA, id))
            {
                let name = format!("lost_schema_{id}");
                self.class((class::SCHEMA, id), &name, Code([0; 2]));
                self.notes.push(format!(
                    "The name of schema {id} is lost: it is called {name}."
                ));
            }
        }
    }

    /// Constraints that indexes belong to.
    fn lost_keys(&mut self) {
        for stat in self.store.all::<IndexStat>() {
            let kind = if stat.status & index_status::PRIMARY_KEY != 0 {
                object_type::PRIMARY_KEY
            } else if stat.status & index_status::UNIQUE_CONSTRAINT != 0 {
                object_type::UNIQUE_CONSTRAINT
            } else {
                continue;
            };
            debug_assert!(stat.kind != index_kind::HEAP, "a key has an index");
            self.lost_key(&stat, kind);
        }
    }

    fn class(&mut self, (class, id): (u8, i32), name: &str, kind: Code<2>) {
        let created = self.created();
        self.store.put(&ClassObject {
            class,
            id,
            name: name.to_owned(),
            status: i32::from(class == class::FILEGROUP && id == 1),
            kind,
            intprop: 0,
            created,
            modified: created,
        });
    }

    /// The object of a primary key or a unique constraint.
    fn lost_key(&mut self, stat: &IndexStat, kind: Code<2>) {
        let objects: Vec<SchemaObject> = self.store.all();
        let Some(table) = objects.iter().find(|object| object.id == stat.id) else {
            return;
        };
        let name = stat.name.clone().unwrap_or_default();
        if objects
            .iter()
            .any(|o| o.pid == stat.id && o.kind == kind && o.name == name)
        {
            return;
        }
        let is_free = |id: &i32| objects.iter().all(|object| object.id != *id);
        let Some(id) = (stat.id.saturating_add(1)..i32::MAX).find(is_free) else {
            return;
        };
        let created = self.created();
        self.notes
            .push(format!("The row of constraint {name} is put in again."));
        self.store.put(&SchemaObject {
            id,
            name,
            nsid: table.nsid,
            nsclass: 0,
            status: 0,
            kind,
            pid: stat.id,
            pclass: 1,
            intprop: 0,
            created,
            modified: created,
            status2: 0,
        });
    }

    /// Data files that are there, by their headers; the log, by the older list of files. A row that has lost
    /// its names is as good as none.
    fn lost_files(&mut self) {
        let mut known: Vec<DatabaseFile> = self.store.all();
        known.retain(|row| !row.lname.is_empty() && !row.pname.is_empty());
        let is_known = |id: i32| known.iter().any(|row| row.fileid == id);
        for (file, header) in self.files.iter().zip(self.headers) {
            let Some(header) = header.as_ref().filter(|_| !is_known(file.id.0.into())) else {
                continue;
            };
            let (growth, percent) = match header.growth {
                FileGrowth::None => (0, 0),
                FileGrowth::Pages(step) => (pages(step), 0),
                FileGrowth::Percent(step) => (pages(step), PERCENT),
            };
            let plain = DatabaseFile::plain(
                i32::from(file.id.0),
                i32::from(header.filegroup),
                header.file_guid,
            );
            self.notes
                .push(format!("The row of file {} is put in again.", header.name));
            self.store.put(&DatabaseFile {
                status: plain.status | percent,
                size: pages(file.pages),
                maxsize: header.max_size_pages.map_or(-1, pages),
                growth,
                lname: header.name.clone(),
                pname: file.name.clone(),
                ..plain
            });
        }
        if is_known(LOG) {
            return;
        }
        if let Some(log) = &self.survey.log {
            self.notes.push(format!(
                "The row of the log {} is put in again.",
                log.name.trim_end()
            ));
            self.store.put(&DatabaseFile {
                lname: log.name.trim_end().to_owned(),
                pname: log.filename.trim_end().to_owned(),
                ..DatabaseFile::plain(LOG, 0, Default::default())
            });
        } else {
            self.default_log();
        }
    }

    /// The row of a log that no row names: the default path, beside the primary file and with its name.
    fn default_log(&mut self) {
        let mut files = self.files.iter();
        let primary = files.find(|file| file.id == FileId(1));
        let primary = Path::new(primary.map_or("", |file| file.name.as_str()));
        let name = primary.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{name}_log");
        let path = primary.with_file_name(format!("{name}.ldf"));
        let path = path.display().to_string();
        self.notes.push(format!(
            "No row names the log any more: a row says that it is {path}."
        ));
        self.store.put(&DatabaseFile {
            lname: name,
            pname: path,
            ..DatabaseFile::plain(LOG, 0, Default::default())
        });
    }
}

/// The header of each file; `None` of one that cannot be used.
pub(super) fn headers(
    library: &furrow_datafile::Pages<'_>,
    files: &[furrow_datafile::SourceFile],
) -> Vec<Option<FileHeader>> {
    let header = |file: &furrow_datafile::SourceFile| {
        let id = furrow_format::PageId {
            file: file.id,
            page: PageNo(0),
        };
        match library.get(id)? {
            (page, Ok(_)) => FileHeader::decode(&page).ok(),
            _ => None,
        }
    };
    files.iter().map(header).collect()
}
