use super::file::SystemFile;
use super::lanes::{Lane, Lanes};
use super::*;
use crate::{AlignedBuf, Fill, WriteRun};
use std::io::IoSlice;

/// A file on the device that is always full and can't be synced.
#[cfg(target_os = "linux")]
fn full_device(access: Access) -> SystemFile {
    let path = Path::new("/dev/full");
    let fd = rustix::fs::open(path, OFlags::RDWR, Mode::empty()).unwrap();
    let lanes = Lanes::open(fd, path, true, false).unwrap();
    SystemFile::new(path, lanes, Engine::Plain, access, true)
}

#[test]
#[cfg(target_os = "linux")]
fn a_real_failed_sync_poisons_the_file_for_good() {
    let file = full_device(Access::Data);
    let first = file.sync().unwrap_err();
    assert!(matches!(first.kind, IoErrorKind::Os(..)), "{first}");
    for outcome in [
        file.sync(),
        file.write_at(0, &[1; 8]),
        file.resize(0, Fill::Allocate),
    ] {
        assert_eq!(outcome.unwrap_err().kind, IoErrorKind::Poisoned);
    }
    file.read_at(0, &mut [1; 8]).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_no_space_and_poisons_only_durable_writes() {
    for access in [Access::Data, Access::Log] {
        let file = full_device(access);
        assert_eq!(
            file.write_at(0, &[1; 8]).unwrap_err().kind,
            IoErrorKind::NoSpace
        );
        assert_eq!(
            file.write_at(0, &[1; 8]).unwrap_err().kind,
            IoErrorKind::NoSpace
        );
        assert_eq!(
            file.write_durable_at(0, &[1; 8]).unwrap_err().kind,
            IoErrorKind::NoSpace
        );
        assert_eq!(
            file.write_at(0, &[1; 8]).unwrap_err().kind,
            IoErrorKind::Poisoned
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn transfers_take_the_lane_that_their_alignment_allows() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let path = dir.path().join("f");
    let flags = OFlags::RDWR | OFlags::CREATE;
    let fd = rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600)).unwrap();
    let lanes = Lanes::open(fd, &path, true, true).unwrap();
    if !lanes.is_direct() {
        println!("skipped: no direct I/O here");
        return;
    }
    let buf = AlignedBuf::new(16_384);
    let lane = |offset, bufs: &[&[u8]]| lanes.choose(offset, bufs.iter().copied());
    assert_eq!(lane(8192, &[&buf[..8192], &buf[8192..]]), Lane::Direct);
    assert_eq!(lane(8192, &[&buf[8..8200]]), Lane::Bounce);
    assert_eq!(lane(8192, &[&buf[..100], &buf[100..8192]]), Lane::Bounce);
    assert_eq!(lane(8192, &[&buf[..100]]), Lane::Cached);
    assert_eq!(lane(8200, &[&buf[..8192]]), Lane::Cached);
}

#[test]
fn a_batch_that_fails_in_the_middle_says_which_run() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let volume = SystemVolume::new();
    let file = volume
        .open(&dir.path().join("f"), Open::Create, Access::Data)
        .unwrap();
    file.resize(16_384, Fill::Zero).unwrap();
    let mut bufs = [
        AlignedBuf::new(8192),
        AlignedBuf::new(8192),
        AlignedBuf::new(8192),
    ];
    let mut slices = bufs.each_mut().map(|buf| [std::io::IoSliceMut::new(buf)]);
    let mut runs: Vec<_> = slices
        .iter_mut()
        .zip([8192, 12_288, 0])
        .map(|(bufs, offset)| crate::ReadRun { offset, bufs })
        .collect();
    let error = file.read(&mut runs).unwrap_err();
    assert_eq!(
        (error.op, error.offset, error.kind),
        (IoOp::Read, 12_288, IoErrorKind::PastEnd)
    );
}

#[test]
fn a_directory_is_not_a_file_and_a_missing_one_is_named() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let volume = SystemVolume::new();
    assert!(
        volume
            .open(dir.path(), Open::ReadOnly, Access::Data)
            .is_err()
    );
    let missing = dir.path().join("none/f");
    let error = volume
        .open(&missing, Open::Create, Access::Data)
        .unwrap_err();
    assert_eq!((error.kind, error.path), (IoErrorKind::NotFound, missing));
}

#[test]
#[cfg(target_os = "linux")]
fn zeros_are_really_written_and_allocation_is_not() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir_in(".").unwrap();
    let volume = SystemVolume::new();
    for fill in [Fill::Zero, Fill::Allocate] {
        let path = dir.path().join(format!("{fill:?}"));
        let file = volume.open(&path, Open::Create, Access::Log).unwrap();
        let before = crate::process::device_bytes().unwrap().write_bytes;
        file.resize(9 << 20, fill).unwrap();
        let written = crate::process::device_bytes().unwrap().write_bytes - before;
        let blocks = std::fs::metadata(&path).unwrap().blocks() * 512;
        assert!(blocks >= 9 << 20, "space is taken at once: {blocks}");
        if fill == Fill::Zero {
            assert!(written >= 9 << 20, "{fill:?}: {written}");
        }
    }
}

#[test]
fn an_environment_that_forces_the_plain_engine_still_batches() {
    let options = SystemOptions {
        engine: Engine::Plain,
        direct: true,
    };
    let dir = tempfile::tempdir_in(".").unwrap();
    let volume = SystemVolume::with_options(options);
    let file = volume
        .open(&dir.path().join("f"), Open::Create, Access::Data)
        .unwrap();
    let buf = AlignedBuf::copy_of(&[7; 8192]);
    let bufs = [IoSlice::new(&buf)];
    let runs = [0, 3, 1].map(|page| WriteRun {
        offset: page * 8192,
        bufs: &bufs,
    });
    file.write(&runs).unwrap();
    assert_eq!(file.len_bytes().unwrap(), 4 * 8192);
}

/// Needs a small file system: `FURROW_SMALL_DISK` names a directory on one with less than 1 GiB free.
#[test]
fn a_file_system_that_is_full_says_so_and_the_length_stays() {
    let Some(dir) = std::env::var_os("FURROW_SMALL_DISK") else {
        println!("skipped: FURROW_SMALL_DISK is not set");
        return;
    };
    let dir = tempfile::tempdir_in(dir).unwrap();
    let volume = SystemVolume::new();
    let free = volume.space(dir.path()).unwrap().free_bytes;
    assert!(free < 1 << 30, "{free} bytes are not small");
    for fill in [Fill::Allocate, Fill::Zero] {
        let path = dir.path().join(format!("{fill:?}"));
        let file = volume.open(&path, Open::Create, Access::Data).unwrap();
        file.resize(16_384, fill).unwrap();
        assert_eq!(
            file.resize(free + (64 << 20), fill).unwrap_err().kind,
            IoErrorKind::NoSpace
        );
        assert_eq!(file.len_bytes().unwrap(), 16_384);
        let regained = volume.space(dir.path()).unwrap().free_bytes;
        assert!(
            regained + (1 << 20) > free,
            "{regained} of {free} bytes came back"
        );
        file.write_at(0, &AlignedBuf::copy_of(&[1; 8192])).unwrap();
        file.sync().unwrap();
        drop(file);
        volume.remove(&path).unwrap();
    }
    let file = volume
        .open(&dir.path().join("w"), Open::Create, Access::Data)
        .unwrap();
    let chunk = AlignedBuf::new(4 << 20);
    let bufs = [IoSlice::new(&chunk)];
    let mut at = 0;
    let full = loop {
        let runs = [0, 1].map(|next| WriteRun {
            offset: at + next * chunk.len() as u64,
            bufs: &bufs,
        });
        match file.write(&runs) {
            Ok(()) => at += 2 * chunk.len() as u64,
            Err(error) => break error,
        }
    };
    assert_eq!((full.op, full.kind), (IoOp::Write, IoErrorKind::NoSpace));
}

/// Opens the path in every way that reads an existing file; each must end at once.
#[cfg(unix)]
fn refusals(path: &Path) -> Vec<IoErrorKind> {
    let volume = SystemVolume::new();
    let ways = [Open::Existing, Open::ReadOnly];
    let each = ways.iter().flat_map(|&how| {
        [Access::Data, Access::Log].map(|access| volume.open(path, how, access).unwrap_err().kind)
    });
    each.collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_named_pipe_a_device_a_socket_and_a_directory_are_refused_at_once() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let pipe = dir.path().join("pipe.mdf");
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, mode, 0).unwrap();
    let socket = dir.path().join("s.mdf");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let link = dir.path().join("link.mdf");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    let zero = Path::new("/dev/zero");
    for (path, what) in [
        (&*pipe, "a named pipe"),
        (&*socket, "a socket"),
        (zero, "a character device"),
        (&*link, "a character device"),
    ] {
        let found = refusals(path);
        let all = |kind: &IoErrorKind| *kind == IoErrorKind::NotRegular(what);
        assert!(found.iter().all(all), "{}: {found:?}", path.display());
    }
    let found = refusals(dir.path());
    assert!(
        found
            .iter()
            .all(|kind| kind.os_number() == Errno::ISDIR.raw_os_error())
    );
    let created = SystemVolume::new().open(&pipe, Open::Create, Access::Data);
    assert_eq!(created.unwrap_err().kind, IoErrorKind::AlreadyExists);
}

#[test]
fn a_descriptor_waits_for_its_transfers_although_its_opening_did_not() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let volume = SystemVolume::new();
    let path = dir.path().join("f");
    drop(volume.open(&path, Open::Create, Access::Data).unwrap());
    for how in [Open::Existing, Open::ReadOnly] {
        let _file = volume.open(&path, how, Access::Data).unwrap();
        let open = std::fs::read_dir("/proc/self/fd").map(|found| found.flatten().collect());
        let open: Vec<std::fs::DirEntry> = open.unwrap_or_default();
        let ours = open.iter().filter(|fd| {
            std::fs::read_link(fd.path())
                .is_ok_and(|to| to.ends_with(path.strip_prefix(".").unwrap_or(&path)))
        });
        for fd in ours {
            let info = Path::new("/proc/self/fdinfo").join(fd.file_name());
            let info = std::fs::read_to_string(info).unwrap_or_default();
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
            let flags = u32::from_str_radix(flags.unwrap().trim(), 8).unwrap();
            assert_eq!(flags & OFlags::NONBLOCK.bits(), 0, "{flags:o}");
        }
    }
}

#[test]
fn a_name_that_is_too_long_is_an_error_of_its_own_on_every_volume() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let memory = crate::MemoryVolume::new();
    let system = SystemVolume::new();
    let name = "n".repeat(256);
    let volumes: [(&dyn Volume, &Path); 2] = [(&memory, Path::new("")), (&system, dir.path())];
    for (volume, home) in volumes {
        let path = home.join(&name);
        let failed = volume.open(&path, Open::Create, Access::Data);
        assert_eq!(failed.unwrap_err().kind, IoErrorKind::NameTooLong);
        assert!(!volume.exists(&path).unwrap());
        let fits = home.join(&name[..255]);
        drop(volume.open(&fits, Open::Create, Access::Data).unwrap());
    }
}
