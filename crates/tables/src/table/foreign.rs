//! Foreign keys of a table, from its catalog rows.
//!
//! In the catalog a foreign key is an object of the referencing table, and references of three classes: to
//! the referenced table and the index of its key, and for each place to the column on either side.

use super::TableRows;
use crate::schema::ReferentialAction;
use furrow_format::ObjectId;
use furrow_format::catalog::{
    SchemaObject, foreign_key_status, object_status, object_type, reference_class,
};

/// A foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    /// Its object id.
    pub id: ObjectId,
    /// Its name.
    pub name: String,
    /// The referenced table.
    pub referenced: ObjectId,
    /// The index of the referenced key.
    pub key_index: i32,
    /// Column ids: of the referencing column, and of the referenced one.
    pub columns: Vec<(i32, i32)>,
    /// What happens to rows when the referenced one is deleted.
    pub on_delete: ReferentialAction,
    /// What happens to rows when the referenced key changes.
    pub on_update: ReferentialAction,
    /// Whether the system named it.
    pub system_named: bool,
    /// Whether it is disabled: then it is not checked.
    pub disabled: bool,
    /// Whether all rows were held against it.
    pub trusted: bool,
}

/// The foreign keys in the catalog rows; one whose references are missing is left out.
pub(super) fn foreign_keys_of(rows: &TableRows) -> Vec<ForeignKey> {
    let keys = rows.children.iter();
    let keys = keys.filter(|c| c.kind == object_type::FOREIGN_KEY);
    keys.filter_map(|key| foreign_key(rows, key)).collect()
}

fn foreign_key(rows: &TableRows, key: &SchemaObject) -> Option<ForeignKey> {
    let of = |class: u8| {
        let own = move |r: &&furrow_format::catalog::SingleReference| {
            r.depid == key.id && r.class == class
        };
        rows.references.iter().filter(own)
    };
    let to = of(reference_class::KEY_TO_TABLE).next()?;
    let mut columns: Vec<(i32, i32, i32)> = Vec::new();
    for own in of(reference_class::KEY_COLUMN) {
        let mut others = of(reference_class::KEY_TO_COLUMN);
        let other = others.find(|o| o.depsubid == own.depsubid)?;
        columns.push((own.depsubid, own.indepsubid, other.indepsubid));
    }
    columns.sort_unstable();
    Some(ForeignKey {
        id: ObjectId(key.id),
        name: key.name.clone(),
        referenced: ObjectId(to.indepid),
        key_index: to.indepsubid,
        columns: columns.into_iter().map(|(_, a, b)| (a, b)).collect(),
        on_delete: ReferentialAction::from_number(key.status >> foreign_key_status::DELETE_SHIFT),
        on_update: ReferentialAction::from_number(key.status >> foreign_key_status::UPDATE_SHIFT),
        system_named: key.status & object_status::SYSTEM_NAMED != 0,
        disabled: key.status & object_status::DISABLED != 0,
        trusted: key.status & object_status::NOT_TRUSTED == 0,
    })
}
