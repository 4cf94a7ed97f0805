//! What the catalog says must be there: units, rowsets, layouts, names, and which index row each row has.

mod base;
mod matches;
mod rows;
mod types;

pub(crate) use types::{
    ColumnPlan, IndexMatch, KeyPlan, LevelPlan, NO_UNIT, Origin, Plan, RowsetPlan, UnitPlan,
};

use crate::finding::Subject;
use crate::findings::Findings;
use furrow_datafile::Pages;
use furrow_datafile::{Database, MdfError};
use furrow_format::catalog::{
    BaseRow, BaseTable, ClassObject, DatabaseFile, IndexStat, SYSCLSOBJS, SYSCOLPARS, SYSIDXSTATS,
    SYSISCOLS, SYSSINGLEOBJREFS, SchemaObject, SingleReference, class, index_status, object_type,
    unit_kind,
};
use furrow_format::{BOOT_PAGE, FileId};
use furrow_messages::Arg;
use std::collections::{BTreeSet, HashMap};
use types::CatalogRows;

impl Plan {
    /// Reads the catalog. What of it cannot be read is a finding, and the plan goes without it.
    pub(crate) fn read(library: &Pages<'_>, findings: &mut Findings) -> Plan {
        let mut plan = Plan::default();
        if let Some((boot, Ok(_))) = library.get(BOOT_PAGE) {
            plan.take_boot(&boot);
        }
        match Database::open(library) {
            Ok(database) => {
                let missing = database.missing_files().into_iter();
                let named =
                    |row: &DatabaseFile| (FileId(row.fileid as u16), Some(row.pname.clone()));
                plan.missing_files = missing.map(named).collect();
                let missing = |id: i32| plan.missing_files.iter().any(|f| i32::from(f.0.0) == id);
                let absent = database.files().iter().filter(|f| missing(f.fileid));
                plan.absent = absent.map(|file| file.grpid as u16).collect();
                plan.take(&database, findings);
                let data = database.files().iter().filter(|file| file.filetype == 0);
                plan.groups = data
                    .map(|file| (FileId(file.fileid as u16), file.grpid as u16))
                    .collect();
                plan.readable = true;
            }
            // A part of the catalog itself lies there, unless a damaged pointer leads to no file.
            Err(MdfError::MissingFile { file, .. }) if is_named(library, file) => {
                plan.missing_files.push((file, None));
            }
            Err(error) => plan.unreadable("the catalog", &error, findings),
        }
        plan
    }

    fn unreadable(&self, what: &str, error: &MdfError, findings: &mut Findings) {
        let at = match error {
            MdfError::MissingPage { page, .. }
            | MdfError::DamagedPage { page, .. }
            | MdfError::WrongPage { page, .. }
            | MdfError::Circle { page, .. } => Some(*page),
            MdfError::DamagedRecord { at, .. }
            | MdfError::DamagedLob { at, .. }
            | MdfError::BadValue { at, .. } => Some(at.page),
            _ => None,
        };
        let means = format!(
            "What {what} says is not known ({error}): tables are checked as far as that goes."
        );
        findings.plain(8930, at, &[self.database_id.into()], means);
    }

    fn rows<R: BaseRow>(
        &self,
        database: &Database<'_>,
        table: &'static BaseTable,
        findings: &mut Findings,
    ) -> Vec<R> {
        database
            .read_table(table, table.id)
            .unwrap_or_else(|error| {
                self.unreadable(table.name, &error, findings);
                Vec::new()
            })
    }

    fn references(&self, database: &Database<'_>, findings: &mut Findings) -> Vec<SingleReference> {
        match self.own {
            true => self.rows(database, &SYSSINGLEOBJREFS, findings),
            false => Vec::new(),
        }
    }

    fn take(&mut self, database: &Database<'_>, findings: &mut Findings) {
        let layouts = database.rowsets().iter().map(|rowset| rowset.rowsetid);
        self.catalog = CatalogRows {
            objects: database.objects().to_vec(),
            columns: self.rows(database, &SYSCOLPARS, findings),
            indexes: self.rows(database, &SYSIDXSTATS, findings),
            index_columns: self.rows(database, &SYSISCOLS, findings),
            rowsets: database.rowsets().to_vec(),
            references: self.references(database, findings),
            laid_out: layouts
                .filter(|id| database.layout(*id).is_some())
                .collect(),
            placed: placed_columns(database),
        };
        let schemas: Vec<ClassObject> = self.rows(database, &SYSCLSOBJS, findings);
        let schemas: HashMap<i32, &str> = schemas
            .iter()
            .filter(|object| object.class == class::SCHEMA)
            .map(|schema| (schema.id, schema.name.as_str()))
            .collect();
        let objects: HashMap<i32, String> = self
            .catalog
            .objects
            .iter()
            .map(|object| {
                let schema = schemas.get(&object.nsid).copied().unwrap_or("sys");
                (object.id, format!("{schema}.{}", object.name))
            })
            .collect();
        let indexes: HashMap<(i32, i32), &IndexStat> = self
            .catalog
            .indexes
            .iter()
            .filter(|stat| stat.status & index_status::INDEX != 0)
            .map(|stat| ((stat.id, stat.indid), stat))
            .collect();
        for unit in database.alloc_units() {
            let rowset = self
                .catalog
                .rowsets
                .iter()
                .find(|rowset| rowset.rowsetid == unit.ownerid);
            let object_id = rowset.map_or(0, |rowset| rowset.idmajor);
            let index_id = rowset.map_or(0, |rowset| rowset.idminor);
            let name = objects.get(&object_id);
            let stat = indexes.get(&(object_id, index_id));
            self.by_id.insert(unit.auid as u64, self.units.len() as u32);
            self.units.push(UnitPlan {
                id: unit.auid as u64,
                kind: unit.kind,
                rowset_id: unit.ownerid,
                object_id,
                index_id,
                table: name
                    .cloned()
                    .unwrap_or_else(|| format!("object {object_id}")),
                index: stat
                    .and_then(|stat| stat.name.clone())
                    .filter(|n| !n.is_empty()),
                root: unit.pgroot,
                first_iam: unit.pgfirstiam,
                filegroup: unit.fgid as u16,
                counts: [unit.pcused, unit.pcdata, unit.pcreserved],
                rows: None,
            });
        }
        self.plan_rows(database);
        self.plan_matches(database);
    }

    /// The place of a unit among the units.
    pub(crate) fn unit_of(&self, id: u64) -> u32 {
        self.by_id.get(&id).copied().unwrap_or(NO_UNIT)
    }

    /// A unit by its place.
    pub(crate) fn unit(&self, unit: u32) -> Option<&UnitPlan> {
        self.units.get(unit as usize)
    }

    /// Whether files of a filegroup are missing.
    pub(crate) fn is_absent(&self, filegroup: u16) -> bool {
        self.absent.contains(&filegroup)
    }

    /// The filegroup of a data file.
    pub(crate) fn group_of(&self, file: FileId) -> Option<u16> {
        self.groups.get(&file).copied()
    }

    /// The data files of a filegroup.
    pub(crate) fn files_of_group(&self, group: u16) -> BTreeSet<u16> {
        let files = self.groups.iter().filter(|(_, of)| **of == group);
        files.map(|(file, _)| file.0).collect()
    }

    /// The rows of a unit.
    pub(crate) fn rows_of(&self, unit: u32) -> Option<&RowsetPlan> {
        self.rowsets.get(self.unit(unit)?.rows?)
    }

    /// The unit of a rowset's rows.
    pub(crate) fn row_unit(&self, rowset_id: i64) -> Option<u32> {
        let is_it = |unit: &UnitPlan| unit.rowset_id == rowset_id && unit.kind == unit_kind::IN_ROW;
        self.units.iter().position(is_it).map(|at| at as u32)
    }

    /// Object, index, partition, unit and its kind: how most messages begin.
    pub(crate) fn unit_args(&self, unit: u32) -> [Arg; 5] {
        match self.unit(unit) {
            Some(unit) => [
                unit.object_id.into(),
                unit.index_id.into(),
                unit.rowset_id.into(),
                unit.id.into(),
                kind_word(unit.kind).into(),
            ],
            None => [
                0.into(),
                (-1).into(),
                0_i64.into(),
                0_i64.into(),
                "Unknown".into(),
            ],
        }
    }

    /// As [`Plan::unit_args`], of an id that may be in no plan.
    pub(crate) fn id_args(&self, id: u64) -> [Arg; 5] {
        let mut args = self.unit_args(self.unit_of(id));
        args[3] = id.into();
        args
    }

    /// Table and index of a unit.
    pub(crate) fn subject(&self, unit: u32) -> Option<Subject> {
        let unit = self.unit(unit).filter(|unit| unit.object_id != 0)?;
        Some(Subject {
            object_id: unit.object_id,
            table: unit.table.clone(),
            index_id: unit.index_id,
            index: unit.index.clone(),
        })
    }

    /// `of table T (index I) `, or nothing.
    pub(crate) fn of(&self, unit: u32) -> String {
        match self.subject(unit) {
            Some(Subject {
                table,
                index: Some(index),
                ..
            }) => format!("of table {table} (index {index}) "),
            Some(subject) => format!("of table {} ", subject.table),
            None => String::new(),
        }
    }

    /// The table's name, for sentences.
    pub(crate) fn table(&self, unit: u32) -> &str {
        self.unit(unit)
            .map_or("an unknown table", |unit| &unit.table)
    }

    /// Whether a unit is of an object of users.
    pub(crate) fn is_users(&self, unit: u32) -> bool {
        let object = self.unit(unit).map_or(0, |unit| unit.object_id);
        let found = self.catalog.objects.iter().find(|o| o.id == object);
        found.is_some_and(|o| o.kind != object_type::SYSTEM_TABLE)
    }

    /// How many tables users have.
    pub(crate) fn user_tables(&self) -> usize {
        let is_table = |o: &&SchemaObject| {
            let stored = |r: &furrow_format::catalog::Rowset| r.idmajor == o.id && r.idminor <= 1;
            o.kind == object_type::USER_TABLE && self.catalog.rowsets.iter().any(stored)
        };
        self.catalog.objects.iter().filter(is_table).count()
    }

    /// A finding about the catalog itself.
    pub(crate) fn catalog_finding(&self, findings: &mut Findings, (number, text): (i64, String)) {
        let means = format!("The catalog contradicts itself: {text}");
        let args = [number.into(), 1.into(), text.into()];
        findings.plain(8992, None, &args, means);
    }
}

/// Whether the catalog has a data file of this number, as far as it can be read.
fn is_named(library: &Pages<'_>, file: FileId) -> bool {
    match Database::open_damaged(library) {
        Ok((database, _)) if !database.files().is_empty() => {
            let mut rows = database.files().iter();
            rows.any(|row| row.filetype == 0 && row.fileid == i32::from(file.0))
        }
        _ => (1..=MOST_FILES).contains(&file.0),
    }
}

/// The greatest number of a file.
const MOST_FILES: u16 = 32_767;

/// What layouts say of the columns of tables: object and column id. The uniquifier is none of them.
fn placed_columns(database: &Database<'_>) -> BTreeSet<(i32, i32)> {
    let of_rows = database.rowsets().iter().filter(|r| r.idminor <= 1);
    let placed = of_rows.flat_map(|rowset| {
        let layout = database.layout(rowset.rowsetid).unwrap_or_default();
        let kept = layout.iter().filter(|c| !c.is_dropped() && c.column_id > 0);
        kept.map(|column| (rowset.idmajor, column.column_id))
    });
    placed.collect()
}

/// The kind of a unit as messages name it.
fn kind_word(kind: u8) -> &'static str {
    match kind {
        unit_kind::IN_ROW => "In-row data",
        unit_kind::LOB => "LOB data",
        unit_kind::ROW_OVERFLOW => "Row-overflow data",
        _ => "Unknown",
    }
}
