//! Modules: procedures, views and the like, objects whose text is all there is of them.
//!
//! The engine stores texts and does not parse them; the T-SQL layer runs them.

use super::children::object;
use super::{Catalog, DdlChanges, name_key};
use crate::error::{EngineError, refuse};
use crate::table::{text_of, text_rows};
use furrow_access::By;
use furrow_format::ObjectId;
use furrow_format::catalog::{Code, ObjectValue, SchemaObject, module_status, object_type};
use furrow_types::DateTime;
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

/// A module.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) id: ObjectId,
    pub(crate) schema: String,
    pub(crate) name: String,
    kind: ModuleKind,
    text: String,
    row: SchemaObject,
}

impl Module {
    pub(crate) fn from_rows(
        row: SchemaObject,
        schema: &str,
        values: &[ObjectValue],
    ) -> Option<Module> {
        Some(Module {
            id: ObjectId(row.id),
            schema: schema.to_owned(),
            name: row.name.clone(),
            kind: ModuleKind::of_code(row.kind)?,
            text: text_of(values, row.id).unwrap_or_default(),
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

    /// When it was created.
    pub fn created(&self) -> DateTime {
        self.row.created
    }

    /// When it was last changed.
    pub fn modified(&self) -> DateTime {
        self.row.modified
    }
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
        (kind, text, set): (ModuleKind, &str, ModuleSet),
    ) -> Result<Arc<Module>, EngineError> {
        crate::schema::check_name(name)?;
        let schema = self.schema(changes, schema)?;
        self.check_object_name(&schema.name, name, changes)?;
        let id = self.new_object_id(changes)?;
        let row = SchemaObject {
            status: set.status(),
            ..object(id, name, schema.id, kind.code(), 0)
        };
        self.bases.insert(by, &row)?;
        self.enter_module(by, changes, row, (&schema.name, text))
    }

    fn enter_module(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        row: SchemaObject,
        (schema, text): (&str, &str),
    ) -> Result<Arc<Module>, EngineError> {
        let values = text_rows(row.id, text);
        for value in &values {
            self.bases.insert(by, value)?;
        }
        let module = Module::from_rows(row, schema, &values);
        let module = module.ok_or_else(|| EngineError::Damaged("a module has no text".into()))?;
        let module = Arc::new(module);
        changes.note_module(
            module.id,
            name_key(schema, &module.name),
            Some(Arc::clone(&module)),
        );
        Ok(module)
    }

    fn delete_text(&self, by: &mut By<'_>, module: &Module) -> Result<(), EngineError> {
        for value in text_rows(module.id.0, &module.text) {
            self.bases.delete(by, &value)?;
        }
        Ok(())
    }

    /// Gives a module another text. The caller holds X on its name.
    pub(crate) fn alter_module(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        (schema, name): (&str, &str),
        (kind, text, set): (ModuleKind, &str, ModuleSet),
    ) -> Result<Arc<Module>, EngineError> {
        let found = self.module_seen(changes, schema, name);
        let Some(old) = found else {
            let text = format!("Invalid object name '{name}'.");
            return Err(refuse(208, 16, 6, &text));
        };
        if !old.kind.matches(kind) {
            let text = format!(
                "Cannot perform alter on '{schema}.{name}' because it is an incompatible object type."
            );
            return Err(refuse(2010, 16, 1, &text));
        }
        self.delete_text(by, &old)?;
        let mut row = old.row.clone();
        row.kind = kind.code();
        row.status = set.status();
        row.modified = super::create::created_now();
        self.bases.replace(by, &row)?;
        self.enter_module(by, changes, row, (&old.schema, text))
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
        self.delete_text(by, &old)?;
        self.bases.delete(by, &old.row)?;
        changes.note_module(old.id, name_key(&old.schema, &old.name), None);
        Ok(())
    }
}
