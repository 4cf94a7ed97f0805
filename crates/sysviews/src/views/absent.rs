//! Views of objects that this engine does not have yet: triggers, synonyms, sequences, extended properties.
//!
//! Scripts that describe a database join with these views. They are empty, because the statements that would
//! create such objects are refused by name.

use super::objects::OBJECTS;
use super::{SystemView, ViewColumn, columns, joined};
use crate::value::*;
use furrow_types::{DataType, TypeId};

const KIND: DataType = char(2);
const NAME: DataType = nvarchar(1035);
const VARIANT: DataType = DataType::simple(TypeId::SqlVariant);

static SYNONYMS: [ViewColumn; 13] = joined(&OBJECTS, columns! { "base_object_name" NAME null; });

static SEQUENCES: [ViewColumn; 25] = joined(
    &OBJECTS,
    columns! {
        "start_value" VARIANT; "increment" VARIANT; "minimum_value" VARIANT null;
        "maximum_value" VARIANT null; "is_cycling" BIT null; "is_cached" BIT null; "cache_size" INT null;
        "system_type_id" TINYINT; "user_type_id" INT; "precision" TINYINT; "scale" TINYINT null;
        "current_value" VARIANT; "is_exhausted" BIT;
    },
);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "triggers",
        columns: columns! {
            "name" SYSNAME; "object_id" INT; "parent_class" TINYINT; "parent_class_desc" DESC null;
            "parent_id" INT; "type" KIND; "type_desc" DESC null; "create_date" DATETIME;
            "modify_date" DATETIME; "is_ms_shipped" BIT; "is_disabled" BIT;
            "is_not_for_replication" BIT; "is_instead_of_trigger" BIT;
        },
        parameters: None,
        text: "Triggers: there are none.",
        rows: |_, _| Ok(()),
    },
    SystemView {
        schema: "sys",
        name: "synonyms",
        columns: &SYNONYMS,
        parameters: None,
        text: "Synonyms: there are none.",
        rows: |_, _| Ok(()),
    },
    SystemView {
        schema: "sys",
        name: "sequences",
        columns: &SEQUENCES,
        parameters: None,
        text: "Sequences: there are none.",
        rows: |_, _| Ok(()),
    },
    SystemView {
        schema: "sys",
        name: "extended_properties",
        columns: columns! {
            "class" TINYINT; "class_desc" DESC null; "major_id" INT; "minor_id" INT; "name" SYSNAME;
            "value" VARIANT null;
        },
        parameters: None,
        text: "Extended properties: there are none.",
        rows: |_, _| Ok(()),
    },
];
