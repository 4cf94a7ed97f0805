//! Finding the facts out.

use super::{Environment, VolumeFacts};
use furrow_io::alignment::alignment_of;
use furrow_io::host::{self, CpuTicks};
use furrow_io::{SystemVolume, Volume};
use std::path::{Path, PathBuf};

/// A capture that began before the first run and ends after the last one: what others took from the machine
/// meanwhile can only be known then.
#[derive(Debug)]
pub struct Capture {
    environment: Environment,
    ticks: Option<CpuTicks>,
}

impl Capture {
    /// Looks at the machine and at the volumes `dirs`, which need not exist yet.
    #[must_use]
    pub fn start(dirs: &[PathBuf]) -> Capture {
        let found = host::host();
        let hypervisor = match (found.virtual_machine, found.machine.as_deref()) {
            (Some(true), Some(machine)) => Some(format!("yes ({machine})")),
            (Some(true), None) => Some("yes".to_owned()),
            (Some(false), _) => Some("none seen".to_owned()),
            (None, machine) => machine.map(|machine| format!("not known ({machine})")),
        };
        let engine = if found.io_uring {
            "io_uring"
        } else {
            "plain calls, io_uring is refused"
        };
        let environment = Environment {
            host: None,
            cpu_model: found.cpu_model,
            cpu_count: u32::try_from(found.cpus).ok().filter(|count| *count > 0),
            memory_bytes: found.memory_bytes,
            memory_free_bytes: found.memory_free_bytes,
            os: found.kernel.map(|kernel| system_name(&kernel)),
            hypervisor,
            governor: found.governor,
            steal_percent: None,
            io_engine: Some(engine.to_owned()),
            volumes: dirs.iter().map(|dir| volume_facts(dir)).collect(),
            engine_version: Some(format!("furrow {}", env!("CARGO_PKG_VERSION"))),
            engine_commit: None,
            compiler: None,
            build_profile: Some(build_profile().to_owned()),
            settings: Vec::new(),
        };
        Capture {
            environment,
            ticks: host::cpu_ticks(),
        }
    }

    /// The source and the compiler of this program; empty texts are unknown.
    #[must_use]
    pub fn of_build(mut self, commit: &str, compiler: &str) -> Capture {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.environment.engine_commit = known(commit);
        self.environment.compiler = known(compiler);
        self
    }

    /// Another engine than ours is measured: its version, and no commit or I/O of ours.
    #[must_use]
    pub fn of_server(mut self, version: Option<String>) -> Capture {
        self.environment.engine_version = version;
        self.environment.engine_commit = None;
        self.environment.io_engine = None;
        self
    }

    /// Processor time the hypervisor has given to others since the start, percent: the cause of many a
    /// strange run.
    #[must_use]
    pub fn steal_percent(&self) -> Option<f64> {
        host::cpu_ticks()?.steal_percent_since(self.ticks?)
    }

    /// The environment, with the facts that are known only at the end.
    #[must_use]
    pub fn finish(mut self) -> Environment {
        self.environment.steal_percent = self.steal_percent();
        self.environment
    }
}

/// The kernel's own text, with the system's name before a bare version.
fn system_name(kernel: &str) -> String {
    let bare = kernel.starts_with(|c: char| c.is_ascii_digit());
    if bare {
        format!("{} {kernel}", std::env::consts::OS)
    } else {
        kernel.to_owned()
    }
}

fn build_profile() -> &'static str {
    if cfg!(debug_assertions) {
        "debug (slow: assertions are on)"
    } else {
        "release"
    }
}

fn volume_facts(dir: &Path) -> VolumeFacts {
    let mount = host::mount_of(dir);
    let alignment = alignment_of(dir);
    let device = host::device_of(dir);
    // A directory that is still to be created has the space of the nearest one above it.
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    let volume = SystemVolume::new();
    let space = absolute
        .ancestors()
        .find_map(|step| volume.space(step).ok());
    let name = device.as_ref().map(|device| match &device.model {
        Some(model) => format!("{} ({model})", device.name),
        None => device.name.clone(),
    });
    VolumeFacts {
        path: dir.display().to_string(),
        file_system: mount.as_ref().map(|mount| mount.filesystem.clone()),
        device: name.or_else(|| mount.as_ref().map(|mount| mount.source.clone())),
        mount_options: mount.map(|mount| mount.options),
        rotational: device.as_ref().and_then(|device| device.rotational),
        scheduler: device.as_ref().and_then(|device| device.scheduler.clone()),
        write_cache: device.and_then(|device| device.write_cache),
        total_bytes: space.map(|space| space.total_bytes),
        free_bytes: space.map(|space| space.free_bytes),
        io_mode: None,
        alignment: alignment.as_ref().map(ToString::to_string),
        alignment_warnings: alignment.map(|found| found.warnings()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_captured_and_what_is_not_known_stays_unknown() {
        let here = PathBuf::from(".");
        let nowhere = here.join("no-such-directory").join("deeper");
        let environment = Capture::start(&[here, nowhere]).finish();
        assert!(environment.cpu_count.is_some());
        assert_eq!(environment.volumes.len(), 2);
        let (near, far) = (&environment.volumes[0], &environment.volumes[1]);
        assert_eq!(near.alignment.is_some(), cfg!(target_os = "linux"));
        assert!(near.total_bytes.unwrap() >= near.free_bytes.unwrap());
        assert_eq!(
            near.total_bytes, far.total_bytes,
            "a directory to be made lies where its parent lies"
        );
        assert!(
            environment
                .steal_percent
                .is_none_or(|percent| (0.0..=100.0).contains(&percent))
        );
    }

    #[test]
    fn a_server_has_its_own_version_and_no_commit_of_ours() {
        let environment = Capture::start(&[])
            .of_server(Some("SQL Server 16.0".into()))
            .finish();
        assert_eq!(
            environment.engine_version.as_deref(),
            Some("SQL Server 16.0")
        );
        assert_eq!(environment.engine_commit, None);
    }
}
