//! Finding the files.

use std::io::Write;
use std::path::{Path, PathBuf};

use furrow_datafile::MdfImage;
use furrow_io::{Access, IoError, Open, SystemVolume, Volume};

/// The data files of the truth table.
pub(crate) const FILES: [&str; 4] = [
    "mvcmusicstore-706.mdf",
    "northwnd-611-torn.mdf",
    "northwnd-655.mdf",
    "pubs-655.mdf",
];

fn directory() -> PathBuf {
    match std::env::var_os("FURROW_SAMPLES") {
        Some(directory) => PathBuf::from(directory),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples"),
    }
}

/// The file's bytes; `None` with a visible message if the file is missing.
pub(crate) fn bytes(name: &str) -> Option<Vec<u8>> {
    let path = directory().join(name);
    match read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            let named = std::env::var_os("FURROW_SAMPLES").is_some();
            assert!(
                !named,
                "FURROW_SAMPLES is set, but {}: {error}",
                path.display()
            );
            // Past the capture of printed text: a skipped test must be seen.
            let _unseen = writeln!(
                std::io::stderr(),
                "skipped: samples absent ({})",
                path.display()
            );
            None
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, IoError> {
    let file = SystemVolume::new().open(path, Open::ReadOnly, Access::Data)?;
    let mut bytes = vec![0; file.len_bytes()? as usize];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

pub(crate) fn image(name: &str) -> Option<MdfImage> {
    Some(MdfImage::open(&bytes(name)?).unwrap())
}
