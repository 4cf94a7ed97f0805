//! The physical catalog: allocation units, rowsets, layouts, read from the boot page alone.

use std::collections::HashMap;

use crate::column::StoredColumn;
use crate::fixed::sound_page;
use crate::rows::Rows;
use crate::v611::join;
use crate::{MdfError, Pages};
use furrow_format::boot::{BOOT_PAGE, field};
use furrow_format::catalog::{
    AllocUnit, BaseRow, BaseTable, HobtColumn, Rowset, RowsetColumn, RowsetColumn611,
    SYSALLOCUNITS, SYSHOBTCOLUMNS, SYSROWSETCOLUMNS, SYSROWSETS, SYSRSCOLS, base_layout, unit_kind,
};
use furrow_format::{PageId, PageType};
use furrow_types::Value;

/// What to do with damage in the catalog.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    /// The damage passed over so far; `None` = the first is the end.
    pub(crate) passed: Option<Vec<MdfError>>,
}

impl Damage {
    /// Continues after damage, and records it.
    pub(crate) fn tolerated() -> Damage {
        Damage {
            passed: Some(Vec::new()),
        }
    }

    /// The rows that can be read.
    pub(crate) fn sift<R>(
        &mut self,
        rows: impl Iterator<Item = Result<R, MdfError>>,
    ) -> Result<Vec<R>, MdfError> {
        let mut sound = Vec::new();
        for row in rows {
            match (row, &mut self.passed) {
                (Ok(row), _) => sound.push(row),
                (Err(error), Some(passed)) => passed.push(error),
                (Err(error), None) => return Err(error),
            }
        }
        Ok(sound)
    }
}

/// The last version whose layouts are in two tables.
const LAST_OF_2005: u16 = 612;

/// What the physical catalog holds.
#[derive(Debug, Default)]
pub(crate) struct Physical {
    pub(crate) version: u16,
    pub(crate) create_version: u16,
    pub(crate) units: Vec<AllocUnit>,
    pub(crate) rowsets: Vec<Rowset>,
    /// Units by rowset and kind.
    by_owner: HashMap<(i64, u8), usize>,
    /// Units by id.
    by_id: HashMap<i64, usize>,
    /// Columns of each rowset in physical order; `None` where a column is of an unknown type.
    pub(crate) layouts: HashMap<i64, Option<Vec<StoredColumn>>>,
}

impl Physical {
    /// Follows the bootstrap path.
    pub(crate) fn read(source: &Pages<'_>, damage: &mut Damage) -> Result<Physical, MdfError> {
        let boot = sound_page(source, BOOT_PAGE, || "the bootstrap".to_owned())?;
        let first = field::CATALOG_PAGE.get_page(&boot);
        let mut physical = Physical {
            version: field::VERSION.get_u16(&boot),
            create_version: field::CREATE_VERSION.get_u16(&boot),
            ..Physical::default()
        };
        // The unit of sysallocunits is not known yet; its pages are reached by their links.
        let unit = entry_unit(first);
        physical.units = fixed_layout_rows(source, &SYSALLOCUNITS, unit, damage)?;
        for (at, unit) in physical.units.iter().enumerate() {
            physical.by_id.insert(unit.auid, at);
            physical.by_owner.insert((unit.ownerid, unit.kind), at);
        }
        let unit = physical.fixed_unit(&SYSROWSETS)?.clone();
        physical.rowsets = fixed_layout_rows(source, &SYSROWSETS, unit, damage)?;
        let layouts = if physical.version <= LAST_OF_2005 {
            let columns: Vec<RowsetColumn611> =
                physical.read_fixed(source, &SYSROWSETCOLUMNS, damage)?;
            let hobts: Vec<HobtColumn> = physical.read_fixed(source, &SYSHOBTCOLUMNS, damage)?;
            join(&columns, &hobts)
        } else {
            let columns: Vec<RowsetColumn> = physical.read_fixed(source, &SYSRSCOLS, damage)?;
            columns
                .iter()
                .map(|row| (row.rsid, StoredColumn::from_layout(row)))
                .collect()
        };
        physical.take_layouts(layouts);
        physical.check()?;
        Ok(physical)
    }

    fn take_layouts(&mut self, layouts: Vec<(i64, Option<StoredColumn>)>) {
        for (rowset, column) in layouts {
            let columns = self
                .layouts
                .entry(rowset)
                .or_insert_with(|| Some(Vec::new()));
            match (columns.as_mut(), column) {
                (Some(columns), Some(column)) => columns.push(column),
                _ => *columns = None,
            }
        }
        for columns in self.layouts.values_mut().flatten() {
            columns.sort_by_key(|column| column.order);
        }
    }

    /// Refuses contradictions here, once, with a clear message.
    fn check(&self) -> Result<(), MdfError> {
        let catalog = |what: String| Err(MdfError::Catalog { what });
        if self.layouts.is_empty() {
            return catalog("it describes no column".to_owned());
        }
        for (rowset, columns) in &self.layouts {
            let too_far = columns
                .iter()
                .flatten()
                .any(|column| column.leaf.offset > 8060);
            if too_far {
                return catalog(format!("rowset {rowset:#x} has columns beyond the page"));
            }
        }
        Ok(())
    }

    /// The allocation unit of a rowset.
    pub(crate) fn unit(&self, rowset: i64, kind: u8) -> Option<&AllocUnit> {
        self.units.get(*self.by_owner.get(&(rowset, kind))?)
    }

    /// An allocation unit by its id.
    pub(crate) fn unit_by_id(&self, id: i64) -> Option<&AllocUnit> {
        self.units.get(*self.by_id.get(&id)?)
    }

    /// The rowset of a table's rows, first partition.
    pub(crate) fn data_rowset(&self, object: i32) -> Option<&Rowset> {
        self.rowsets
            .iter()
            .find(|rowset| rowset.idmajor == object && rowset.idminor <= 1)
    }

    fn fixed_unit(&self, table: &BaseTable) -> Result<&AllocUnit, MdfError> {
        self.unit(i64::from(table.id) << 16, unit_kind::IN_ROW)
            .ok_or_else(|| MdfError::Catalog {
                what: format!("no allocation unit of {}", table.name),
            })
    }

    /// Rows of a table whose unit is hard-wired, by the layout that all versions share.
    fn read_fixed<R: BaseRow>(
        &self,
        source: &Pages<'_>,
        table: &'static BaseTable,
        damage: &mut Damage,
    ) -> Result<Vec<R>, MdfError> {
        let rowset = self
            .data_rowset(table.id)
            .map_or(i64::from(table.id) << 16, |r| r.rowsetid);
        let unit = self.unit(rowset, unit_kind::IN_ROW);
        let unit = unit.ok_or_else(|| MdfError::Catalog {
            what: format!("no allocation unit of {}", table.name),
        })?;
        fixed_layout_rows(source, table, unit.clone(), damage)
    }
}

/// A stand-in for the unit of `sysallocunits`.
fn entry_unit(first: PageId) -> AllocUnit {
    AllocUnit {
        auid: i64::from(SYSALLOCUNITS.id) << 16,
        kind: unit_kind::IN_ROW,
        ownerid: i64::from(SYSALLOCUNITS.id) << 16,
        status: 0,
        fgid: 1,
        pgfirst: first,
        pgroot: first,
        pgfirstiam: PageId::NONE,
        pcused: 0,
        pcdata: 0,
        pcreserved: 0,
    }
}

fn fixed_layout_rows<R: BaseRow>(
    source: &Pages<'_>,
    table: &'static BaseTable,
    unit: AllocUnit,
    damage: &mut Damage,
) -> Result<Vec<R>, MdfError> {
    let layout = base_layout(table);
    let columns = layout
        .columns
        .iter()
        .filter_map(StoredColumn::from_layout)
        .collect::<Vec<_>>();
    let rows = Rows::of_tree(source, unit, PageType::Data, columns);
    damage.sift(rows.map(|row| R::from_values(row?.values).ok_or_else(|| damaged_row(table.name))))
}

pub(crate) fn damaged_row(table: &str) -> MdfError {
    MdfError::Catalog {
        what: format!("a row of {table} has values of other types than its columns"),
    }
}

/// Values of a row picked for a base table's columns: by place, NULL where the version has none of that type.
pub(crate) fn pick(
    table: &BaseTable,
    stored: &[StoredColumn],
    place_of: impl Fn(usize, &str) -> Option<usize>,
    values: &mut [Value],
) -> Vec<Value> {
    let mut take = |at: usize| {
        values
            .get_mut(at)
            .map(|value| std::mem::replace(value, Value::Null))
    };
    (0..)
        .zip(table.columns)
        .map(|(index, column)| {
            let at = place_of(index, column.name).filter(|&at| {
                stored
                    .get(at)
                    .is_some_and(|stored| stored.data_type.id == column.data_type.id)
            });
            at.and_then(&mut take).unwrap_or(Value::Null)
        })
        .collect()
}
