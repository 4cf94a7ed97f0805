//! What tests on simulated machines share: a machine with nothing on it, an instance on it, a database.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
#![expect(unreachable_pub, reason = "a module of several tests")]

use furrow_engine::{DatabaseSpec, EngineError, FileSpec, Instance, InstanceConfig};
use furrow_io::sim::SimOptions;
use furrow_io::{SimVolume, Volume};
use std::path::Path;
use std::sync::Arc;

/// An instance on the machine.
pub fn start(volume: &SimVolume) -> Result<Arc<Instance>, EngineError> {
    let config = InstanceConfig {
        directory: Some("inst".into()),
        pool_pages: 256,
        double_write_pages: 64,
        readers: 0,
        ..InstanceConfig::default()
    };
    Instance::start(Arc::new(volume.clone()), config)
}

/// A machine with an empty directory.
pub fn new_volume() -> SimVolume {
    let volume = SimVolume::new(SimOptions::default());
    volume.create_dir(Path::new("d")).unwrap();
    volume
}

/// A database of two data files and this log.
pub fn spec(log: FileSpec) -> DatabaseSpec {
    DatabaseSpec::new("Db", FileSpec::new("P", "d/p.mdf").size_mb(2))
        .file(FileSpec::new("S", "d/s.ndf").size_kb(512))
        .log(log)
}
