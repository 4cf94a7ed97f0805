//! Foreign keys of the catalog: whether the references of each are whole and lead to a table.
//!
//! A key whose references are incomplete is left out when the catalog is loaded, and one whose table is
//! missing is skipped by statements: neither is enforced.

use furrow_format::catalog::{SchemaObject, SingleReference, object_type, reference_class};
use std::collections::{BTreeMap, BTreeSet};

/// The foreign keys that lead to no table, or whose columns are not all there, by their places in `objects`.
pub(crate) fn broken_keys(objects: &[SchemaObject], references: &[SingleReference]) -> Vec<usize> {
    let tables = objects.iter().filter(|o| o.kind == object_type::USER_TABLE);
    let tables: BTreeSet<i32> = tables.map(|table| table.id).collect();
    let mut of_key: BTreeMap<i32, Vec<&SingleReference>> = BTreeMap::new();
    for reference in references {
        of_key.entry(reference.depid).or_default().push(reference);
    }
    let is_whole = |key: &SchemaObject| {
        let mine = of_key.get(&key.id).map_or(&[][..], Vec::as_slice);
        let of = |class: u8| mine.iter().filter(move |r| r.class == class);
        let mut to = of(reference_class::KEY_TO_TABLE);
        let places = |class: u8| of(class).map(|r| r.depsubid).collect::<BTreeSet<i32>>();
        let own = places(reference_class::KEY_COLUMN);
        let in_order = (1..).zip(&own).all(|(number, place)| number == *place);
        to.any(|to| tables.contains(&to.indepid))
            && !own.is_empty()
            && in_order
            && own == places(reference_class::KEY_TO_COLUMN)
    };
    let keys = objects.iter().enumerate();
    let keys = keys.filter(|(_, o)| o.kind == object_type::FOREIGN_KEY && !is_whole(o));
    keys.map(|(at, _)| at).collect()
}
