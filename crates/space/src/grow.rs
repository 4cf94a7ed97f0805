//! Files that grow.

use crate::filegroup::Filegroup;
use crate::{Space, SpaceError};
use furrow_format::AllocUnitId;

impl Space {
    /// Returns when it is worth looking for a free extent again.
    pub(crate) fn make_room(&self, group: &Filegroup, unit: AllocUnitId) -> Result<(), SpaceError> {
        self.force_room(group, unit)
    }

    /// Makes a file of the filegroup larger.
    pub(crate) fn force_room(
        &self,
        group: &Filegroup,
        unit: AllocUnitId,
    ) -> Result<(), SpaceError> {
        Err(SpaceError::FilegroupFull {
            filegroup: group.name.clone(),
            object: unit,
            cause: None,
        })
    }
}
