//! A temporary database at the start of its instance: see [`crate::database::temporary`] for its invariants.
//!
//! # Steps
//! 1. What an earlier start created is deleted: the files that the list names.
//! 2. Every path of the layout must be free now. An existing file does not belong to this database, and the
//!    start fails.
//! 3. The list names the paths of the layout, durably: what is created there from here on is ours to delete.
//! 4. The files are created.

use super::Instance;
use crate::database::Database;
use crate::files::{DatabasePlan, DatabaseSpec, FileSpec, remove_any};
use crate::opening;
use crate::shared::{DatabaseList, Listed};
use furrow_format::DatabaseId;
use furrow_io::random;
use furrow_tables::{DatabaseState, EngineError};
use furrow_types::Guid;
use std::path::PathBuf;
use std::sync::Arc;

impl Instance {
    /// Creates a temporary database. A failure cannot be repaired later: an error ends the start.
    pub(super) fn start_temporary(
        &self,
        list: &mut DatabaseList,
        listed: &Listed,
    ) -> Result<(), EngineError> {
        if self.shared.config.open_databases {
            return self.renew(list, listed).map(drop);
        }
        let primary = listed.paths.first().cloned().unwrap_or_default();
        self.enter(listed, &primary, None, DatabaseState::Offline);
        Ok(())
    }

    pub(super) fn renew(
        &self,
        list: &mut DatabaseList,
        listed: &Listed,
    ) -> Result<Arc<Database>, EngineError> {
        for path in &listed.paths {
            remove_any(&*self.shared.volume, path)?;
        }
        let plan = DatabasePlan::of_primary(listed.layout.clone());
        opening::check_paths(&*self.shared.volume, &plan)?;
        let binding = Guid(random::guid_v4());
        let listed = Listed {
            binding: binding.0,
            paths: plan.files.iter().map(|f| f.path.clone()).collect(),
            ..listed.clone()
        };
        list.change(|all| {
            for entry in all.iter_mut().filter(|entry| entry.id == listed.id) {
                entry.clone_from(&listed);
            }
        })?;
        let primary = listed.paths.first().cloned().unwrap_or_else(PathBuf::new);
        let spec = DatabaseSpec {
            id: Some(listed.id),
            autogrow_all: true,
            temporary: true,
            ..DatabaseSpec::new(&*listed.name, FileSpec::new(&*listed.name, primary))
        };
        let id = DatabaseId(listed.id);
        let database = opening::create(&self.shared, id, binding, &spec, &plan)?;
        self.enter_started(&listed, &database)?;
        database.space.recalculate();
        Ok(database)
    }
}
