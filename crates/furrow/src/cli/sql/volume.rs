//! `--volume`: directories whose files have the speed of other drives.

use crate::cli::{Failure, REFUSED, USAGE};
use furrow_disks::{VolumeSpec, volume};
use furrow_io::Volume;
use std::sync::Arc;

/// Puts the models of `specs` in front of `inner`, and prints one line for each, because its figures are
/// modelled.
pub(super) fn with_models(
    inner: Arc<dyn Volume>,
    specs: &[VolumeSpec],
) -> Result<Arc<dyn Volume>, Failure> {
    for spec in specs {
        let dir = spec.dir.display();
        let Some(model) = &spec.model else {
            let text = format!(
                "--volume {dir} has no drives; write {dir},read=100MB/s or {dir},model=raid10:4x15k"
            );
            return Err(Failure::new(USAGE, text));
        };
        if !inner.exists(&spec.dir).unwrap_or(false) {
            let text = format!("--volume {dir} is not there; make the directory first");
            return Err(Failure::new(USAGE, text));
        }
        eprintln!(
            "furrow: files in {dir} have the speed of a {}",
            model.describe()
        );
    }
    volume::with_models(inner, specs)
        .map_err(|e| Failure::new(REFUSED, format!("--volume cannot be used: {e}")))
}
