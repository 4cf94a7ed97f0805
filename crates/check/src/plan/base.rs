//! A plan of the base tables alone: for a catalog that cannot be read.

use super::rows::Names;
use super::types::{Plan, UnitPlan};
use furrow_datafile::StoredColumn;
use furrow_format::boot::field;
use furrow_format::catalog::{
    BaseRow, BaseTable, Bootstrap, Rowset, base_layout, bootstrap_rows, unit_kind,
};
use furrow_format::{PageBuf, PageId};
use furrow_types::DateTime;

/// The row of a base table's rowset, as it is in every database.
fn rowset_of(table: &BaseTable) -> Option<Rowset> {
    let bootstrap = Bootstrap {
        created: DateTime::EPOCH,
        places: &[],
        filegroups: &[],
        files: &[],
    };
    let all = bootstrap_rows(&bootstrap).into_iter();
    let mut rowsets = all
        .filter(|(of, _)| of.id == Rowset::TABLE.id)
        .flat_map(|(_, rows)| rows)
        .filter_map(Rowset::from_values);
    rowsets.find(|rowset| rowset.idmajor == table.id)
}

impl Plan {
    /// What the boot page says.
    pub(crate) fn take_boot(&mut self, boot: &PageBuf) {
        self.own = field::MAGIC.get(boot).starts_with(b"FURROW");
        self.native = field::CREATE_VERSION.get_u16(boot) >= 611;
        self.database_id = field::DATABASE_ID.get_u16(boot);
    }

    /// Adds a base table whose tree begins at `root`, with its first IAM page.
    pub(crate) fn add_base(&mut self, table: &'static BaseTable, root: PageId, first_iam: PageId) {
        let Some(rowset) = rowset_of(table) else {
            return;
        };
        let id = table.unit_id().0;
        self.by_id.insert(id, self.units.len() as u32);
        self.units.push(UnitPlan {
            id,
            kind: unit_kind::IN_ROW,
            rowset_id: rowset.rowsetid,
            object_id: table.id,
            index_id: rowset.idminor,
            table: format!("sys.{}", table.name),
            index: None,
            root,
            first_iam,
            filegroup: 1,
            counts: [0; 3],
            rows: None,
        });
        let layout = base_layout(table);
        let columns = layout.columns.iter().filter_map(StoredColumn::from_layout);
        let columns: Vec<StoredColumn> = columns.collect();
        let named = (1..).zip(table.columns);
        let names: Names = named
            .map(|(id, column)| (id, (column.name.to_owned(), !column.nullable)))
            .collect();
        self.plan_rowset(&rowset, &columns, Some(&names));
    }
}
