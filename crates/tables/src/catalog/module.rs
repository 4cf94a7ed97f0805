//! Modules: procedures, views and the like, objects that are stored as their text.
//!
//! The engine stores texts and does not parse them; the T-SQL layer runs them. With a view it stores the
//! columns that the T-SQL layer found in its text.

use super::children::object;
use super::{Catalog, DdlChanges, name_key};
use crate::error::{EngineError, refuse};
use crate::schema::{ColumnSpec, check_name};
use crate::table::{text_of, text_rows};
use furrow_access::By;
use furrow_datafile::{UNKNOWN_TYPE, declared_type};
use furrow_format::ObjectId;
use furrow_format::catalog::{
    Code, Column, ObjectValue, SchemaObject, column_row, column_status, module_status, object_type,
};
use furrow_types::{DateTime, Value};
use std::sync::Arc;

/// Kinds of modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModuleKind {
    /// A procedure.
    Procedure,
    /// A view.
    View,
    /// A function that gives a value.
    ScalarFunction,
    /// A function that is a query.
    InlineFunction,
    /// A function that fills a table.
    TableFunction,
    /// A trigger.
    Trigger,
}

impl ModuleKind {
    const ALL: [ModuleKind; 6] = [
        ModuleKind::Procedure,
        ModuleKind::View,
        ModuleKind::ScalarFunction,
        ModuleKind::InlineFunction,
        ModuleKind::TableFunction,
        ModuleKind::Trigger,
    ];

    /// The code of `sys.objects.type`.
    pub(crate) fn code(self) -> Code<2> {
        match self {
            ModuleKind::Procedure => object_type::PROCEDURE,
            ModuleKind::View => object_type::VIEW,
            ModuleKind::ScalarFunction => object_type::SCALAR_FUNCTION,
            ModuleKind::InlineFunction => object_type::INLINE_FUNCTION,
            ModuleKind::TableFunction => object_type::TABLE_FUNCTION,
            ModuleKind::Trigger => object_type::TRIGGER,
        }
    }

    pub(crate) fn of_code(code: Code<2>) -> Option<ModuleKind> {
        ModuleKind::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// What messages call it: `procedure`.
    pub fn noun(self) -> &'static str {
        match self {
            ModuleKind::Procedure => "procedure",
            ModuleKind::View => "view",
            ModuleKind::Trigger => "trigger",
            _ => "function",
        }
    }

    /// `sys.objects.type`, without blanks.
    pub fn type_code(self) -> &'static str {
        match self {
            ModuleKind::Procedure => "P",
            ModuleKind::View => "V",
            ModuleKind::ScalarFunction => "FN",
            ModuleKind::InlineFunction => "IF",
            ModuleKind::TableFunction => "TF",
            ModuleKind::Trigger => "TR",
        }
    }

    /// Whether ALTER may make the one of the other.
    fn matches(self, other: ModuleKind) -> bool {
        self.noun() == other.noun()
    }
}

/// The SET options in effect when a module was created; they apply when it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModuleSet {
    /// ANSI_NULLS.
    pub ansi_nulls: bool,
    /// QUOTED_IDENTIFIER.
    pub quoted_identifier: bool,
}

impl Default for ModuleSet {
    fn default() -> ModuleSet {
        ModuleSet {
            ansi_nulls: true,
            quoted_identifier: true,
        }
    }
}

impl ModuleSet {
    fn status(self) -> i32 {
        let mut status = module_status::KEPT;
        if self.ansi_nulls {
            status |= module_status::ANSI_NULLS;
        }
        if self.quoted_identifier {
            status |= module_status::QUOTED_IDENTIFIER;
        }
        status
    }

    /// A module without stored options was created when both were always ON.
    fn of_status(status: i32) -> ModuleSet {
        let is = |bit: i32| status & bit != 0;
        let all =
            module_status::KEPT | module_status::ANSI_NULLS | module_status::QUOTED_IDENTIFIER;
        ModuleSet {
            ansi_nulls: is(module_status::ANSI_NULLS) || !is(all),
            quoted_identifier: is(module_status::QUOTED_IDENTIFIER) || !is(all),
        }
    }
}

/// What CREATE and ALTER store of a module.
#[derive(Debug, Clone, Copy)]
pub struct ModuleDefinition<'a> {
    /// What it is.
    pub kind: ModuleKind,
    /// Its text, from CREATE on.
    pub text: &'a str,
    /// The SET options in effect.
    pub set: ModuleSet,
    /// The columns of a view.
    pub columns: &'a [ColumnSpec],
}

/// A module.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) id: ObjectId,
    pub(crate) schema: String,
    pub(crate) name: String,
    kind: ModuleKind,
    text: String,
    columns: Vec<ColumnSpec>,
    row: SchemaObject,
}

impl Module {
    pub(crate) fn from_rows(
        row: SchemaObject,
        schema: &str,
        values: &[ObjectValue],
        columns: Vec<Column>,
    ) -> Option<Module> {
        Some(Module {
            id: ObjectId(row.id),
            schema: schema.to_owned(),
            name: row.name.clone(),
            kind: ModuleKind::of_code(row.kind)?,
            text: text_of(values, row.id).unwrap_or_default(),
            columns: columns_of(columns),
            row,
        })
    }

    /// Its object id.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// Its schema's name.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is.
    pub fn kind(&self) -> ModuleKind {
        self.kind
    }

    /// The SET options in effect when it was created.
    pub fn set(&self) -> ModuleSet {
        ModuleSet::of_status(self.row.status)
    }

    /// Its text, from CREATE on; empty when it is not to be read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The columns that a view had when it was created, altered or refreshed. None if an older version of
    /// this engine created the view: it did not store them.
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.columns
    }

    /// When it was created.
    pub fn created(&self) -> DateTime {
        self.row.created
    }

    /// When it was last changed.
    pub fn modified(&self) -> DateTime {
        self.row.modified
    }
}

/// The columns of a module, from its rows in `syscolpars`. Rows of parameters have another `number`.
fn columns_of(mut rows: Vec<Column>) -> Vec<ColumnSpec> {
    rows.retain(|row| row.number == 0);
    rows.sort_by_key(|row| row.colid);
    // If a repair has lost a row, the positions of the others mean nothing: the view is bound from its text.
    if (1..).zip(&rows).any(|(colid, row)| row.colid != colid) {
        return Vec::new();
    }
    let column = |row: &Column| ColumnSpec {
        nullable: row.status & column_status::NOT_NULL == 0,
        ..ColumnSpec::new(
            row.name.as_deref().unwrap_or_default(),
            declared_type(row).unwrap_or(UNKNOWN_TYPE),
        )
    };
    rows.iter().map(column).collect()
}

/// 3701 for a module.
fn missing(verb: &str, kind: ModuleKind, name: &str) -> EngineError {
    EngineError::refused(3701, &[verb.into(), kind.noun().into(), name.into()])
}

impl Catalog {
    /// The committed module of this name.
    pub fn module(&self, schema: &str, name: &str) -> Option<Arc<Module>> {
        let named = self.named.read();
        let id = named.id_of(&name_key(schema, name))?;
        named.module(id).cloned()
    }

    /// The committed modules, by name.
    pub fn modules(&self) -> Vec<Arc<Module>> {
        let mut modules: Vec<_> = self.named.read().modules().cloned().collect();
        modules.sort_by_key(|m| name_key(&m.schema, &m.name));
        modules
    }

    /// The module of this name as a session sees it.
    pub(crate) fn module_seen(
        &self,
        changes: &DdlChanges,
        schema: &str,
        name: &str,
    ) -> Option<Arc<Module>> {
        match changes.object_named(&name_key(schema, name)) {
            Some(change) => change.module.clone(),
            None => self.module(schema, name),
        }
    }

    /// Makes a module. The caller holds X on its name.
    pub(crate) fn create_module(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        (schema, name): (&str, &str),
        definition: &ModuleDefinition<'_>,
    ) -> Result<Arc<Module>, EngineError> {
        check_name(name)?;
        let schema = self.schema(changes, schema)?;
        self.check_object_name(&schema.name, name, changes)?;
        let id = self.new_object_id(changes)?;
        let row = SchemaObject {
            status: definition.set.status(),
            ..object(id, name, schema.id, definition.kind.code(), 0)
        };
        self.bases.insert(by, &row)?;
        self.enter_module(by, changes, row, (&schema.name, definition))
    }

    fn enter_module(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        row: SchemaObject,
        (schema, definition): (&str, &ModuleDefinition<'_>),
    ) -> Result<Arc<Module>, EngineError> {
        let values = text_rows(row.id, definition.text);
        for value in &values {
            self.bases.insert(by, value)?;
        }
        let mut columns = Vec::with_capacity(definition.columns.len());
        for (colid, column) in (1..).zip(definition.columns) {
            check_name(&column.name)?;
            let of = &column.data_type;
            let column = column_row(row.id, colid, &column.name, of, column.nullable);
            self.bases.insert(by, &column)?;
            columns.push(column);
        }
        let module = Module::from_rows(row, schema, &values, columns);
        let module = module.ok_or_else(|| EngineError::Damaged("a module has no text".into()))?;
        let module = Arc::new(module);
        changes.note_module(
            module.id,
            name_key(schema, &module.name),
            Some(Arc::clone(&module)),
        );
        Ok(module)
    }

    /// Deletes the text and the columns of a module.
    fn delete_definition(&self, by: &mut By<'_>, module: &Module) -> Result<(), EngineError> {
        for value in text_rows(module.id.0, &module.text) {
            self.bases.delete(by, &value)?;
        }
        for column in self.bases.rows::<Column>(&[Value::Int(module.id.0)])? {
            self.bases.delete(by, &column)?;
        }
        Ok(())
    }

    /// Gives a module another definition. The caller holds X on its name.
    pub(crate) fn alter_module(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        (schema, name): (&str, &str),
        definition: &ModuleDefinition<'_>,
    ) -> Result<Arc<Module>, EngineError> {
        let found = self.module_seen(changes, schema, name);
        let Some(old) = found else {
            let text = format!("Invalid object name '{name}'.");
            return Err(refuse(208, 16, 6, &text));
        };
        if !old.kind.matches(definition.kind) {
            let text = format!(
                "Cannot perform alter on '{schema}.{name}' because it is an incompatible object type."
            );
            return Err(refuse(2010, 16, 1, &text));
        }
        self.delete_definition(by, &old)?;
        let mut row = old.row.clone();
        row.kind = definition.kind.code();
        row.status = definition.set.status();
        row.modified = super::create::created_now();
        self.bases.replace(by, &row)?;
        self.enter_module(by, changes, row, (&old.schema, definition))
    }

    /// Gives a view other columns, and leaves the rest of its definition as it is. Returns whether `view` was
    /// still its definition; nothing is changed if it was not. The caller holds X on its name.
    pub(crate) fn refresh_view(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        view: &Arc<Module>,
        columns: &[ColumnSpec],
    ) -> Result<bool, EngineError> {
        let place = (view.schema.as_str(), view.name.as_str());
        let now = self.module_seen(changes, place.0, place.1);
        if !now.is_some_and(|now| Arc::ptr_eq(&now, view)) {
            return Ok(false);
        }
        let definition = ModuleDefinition {
            kind: view.kind,
            text: &view.text,
            set: view.set(),
            columns,
        };
        self.alter_module(by, changes, place, &definition)?;
        Ok(true)
    }

    /// Takes a module out. The caller holds X on its name.
    pub(crate) fn drop_module(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        (schema, name): (&str, &str),
        kind: ModuleKind,
    ) -> Result<(), EngineError> {
        let found = self.module_seen(changes, schema, name);
        let old = found.filter(|m| m.kind.matches(kind));
        let old = old.ok_or_else(|| missing("drop", kind, name))?;
        self.delete_definition(by, &old)?;
        self.bases.delete(by, &old.row)?;
        changes.note_module(old.id, name_key(&old.schema, &old.name), None);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_types::{DataType, TypeId};

    #[test]
    fn columns_are_read_by_position_and_not_at_all_when_one_is_missing() {
        let int = DataType::simple(TypeId::Int);
        let row = |colid: i32, name: &str| column_row(7, colid, name, &int, colid > 1);
        let parameter = Column {
            number: 1,
            ..row(1, "@p")
        };
        let read = columns_of(vec![row(2, "b"), parameter, row(1, "a")]);
        let expected = [
            ColumnSpec::new("a", int).not_null(),
            ColumnSpec::new("b", int),
        ];
        assert_eq!(read, expected);
        assert!(columns_of(vec![row(1, "a"), row(3, "c")]).is_empty());
    }
}
