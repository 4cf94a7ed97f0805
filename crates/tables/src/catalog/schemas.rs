//! Schemas, and whether a name or a number of theirs is free.

use super::create::created_now;
use super::{Catalog, DdlChanges, name_key};
use crate::error::{EngineError, refuse};
use crate::schema::same_name;
use furrow_access::By;
use furrow_format::ObjectId;
use furrow_format::catalog::{ClassObject, Code, class, schema_id};

/// Users' schemas are numbered from here, roles' up from 16384.
const FIRST_SCHEMA: i32 = 5;
const ROLE_SCHEMAS: i32 = 16_384;

impl Catalog {
    /// The schemas as a session sees them.
    pub(crate) fn schemas_seen(&self, changes: &DdlChanges) -> Vec<ClassObject> {
        let mut all: Vec<ClassObject> = self.schemas.read().clone();
        all.retain(|s| s.class == class::SCHEMA);
        changes.apply_schemas(&mut all);
        all
    }

    pub(super) fn schema(
        &self,
        changes: &DdlChanges,
        name: &str,
    ) -> Result<ClassObject, EngineError> {
        let all = self.schemas_seen(changes);
        let found = all.into_iter().find(|s| same_name(&s.name, name));
        let missing = || {
            let text = format!(
                "The specified schema name \"{name}\" either does not exist or you do not have \
                permission to use it."
            );
            refuse(2760, 16, 1, &text)
        };
        found.ok_or_else(missing)
    }

    /// CREATE SCHEMA. The caller holds X on the name.
    pub(crate) fn create_schema(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        name: &str,
    ) -> Result<i32, EngineError> {
        crate::schema::check_name(name)?;
        let all = self.schemas_seen(changes);
        if all.iter().any(|s| same_name(&s.name, name)) {
            return Err(EngineError::refused(2714, &[name.into()]));
        }
        // Rows of schemas that others drop are theirs until they commit.
        let committed = self.schemas.read().clone();
        let free = |id: &i32| {
            all.iter()
                .chain(&committed)
                .all(|s| s.id != *id || s.class != class::SCHEMA)
        };
        let id = (FIRST_SCHEMA..ROLE_SCHEMAS).find(free);
        let id =
            id.ok_or_else(|| EngineError::Damaged("all numbers of schemas are in use".into()))?;
        let now = created_now();
        let row = ClassObject {
            class: class::SCHEMA,
            id,
            name: name.to_owned(),
            status: 0,
            kind: Code([0; 2]),
            intprop: schema_id::DBO,
            created: now,
            modified: now,
        };
        self.bases.insert(by, &row)?;
        changes.note_schema(row, true);
        Ok(id)
    }

    /// DROP SCHEMA. The caller holds X on the name.
    pub(crate) fn drop_schema(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        name: &str,
    ) -> Result<(), EngineError> {
        let all = self.schemas_seen(changes);
        let found = all.into_iter().find(|s| same_name(&s.name, name));
        let row = found.ok_or_else(|| {
            EngineError::refused(3701, &["drop".into(), "schema".into(), name.into()])
        })?;
        if row.id < FIRST_SCHEMA || row.id >= ROLE_SCHEMAS {
            let text = format!("Cannot drop the schema '{name}'.");
            return Err(refuse(15150, 16, 1, &text));
        }
        if let Some(object) = self.object_within(changes, &row.name) {
            let text = format!(
                "Cannot drop schema '{name}' because it is being referenced by object '{object}'."
            );
            return Err(refuse(3729, 16, 1, &text));
        }
        self.bases.delete(by, &row)?;
        changes.note_schema(row, false);
        Ok(())
    }

    /// The name of some object of a schema.
    fn object_within(&self, changes: &DdlChanges, schema: &str) -> Option<String> {
        let named = self.named.read();
        let untouched = |id: ObjectId| changes.object(id).is_none();
        let tables = named.tables().filter(|t| untouched(t.id));
        let mut committed = tables.map(|t| (&t.schema, &t.name)).chain(
            named
                .modules()
                .filter(|m| untouched(m.id))
                .map(|m| (&m.schema, &m.name)),
        );
        let committed = committed.find(|o| same_name(o.0, schema));
        if let Some((_, name)) = committed {
            return Some(name.clone());
        }
        changes.objects().find_map(|change| {
            let table = change.table.as_ref().map(|t| (&t.schema, &t.name));
            let module = change.module.as_ref().map(|m| (&m.schema, &m.name));
            let found = table.or(module).filter(|o| same_name(o.0, schema));
            found.map(|o| o.1.clone())
        })
    }

    /// An object number that nothing committed has, nor this session's changes.
    pub(super) fn new_object_id(&self, changes: &DdlChanges) -> Result<ObjectId, EngineError> {
        let ids = self.ids.read();
        let ids = ids
            .as_ref()
            .ok_or_else(|| EngineError::Damaged("no ids yet".to_owned()))?;
        let named = self.named.read();
        Ok(ids.object(|id| named.has_number(id) || changes.object(id).is_some()))
    }

    /// 2714 when a table, a module, a key, a check or a default has this name in the schema.
    pub(super) fn check_object_name(
        &self,
        schema: &str,
        name: &str,
        changes: &DdlChanges,
    ) -> Result<(), EngineError> {
        let key = name_key(schema, name);
        let named = self.named.read();
        let object = match changes.object_named(&key) {
            Some(change) => change.is_there(),
            None => named.id_of(&key).is_some(),
        };
        let parent = named.parent_of(&key);
        let child = parent.is_some_and(|id| changes.object(id).is_none());
        let own = |t: &crate::table::Table| {
            same_name(&t.schema, schema) && t.rows.children.iter().any(|c| same_name(&c.name, name))
        };
        let mine = || {
            changes
                .objects()
                .filter_map(|c| c.table.as_deref())
                .any(own)
        };
        if object || child || mine() {
            return Err(EngineError::refused(2714, &[name.into()]));
        }
        Ok(())
    }
}
