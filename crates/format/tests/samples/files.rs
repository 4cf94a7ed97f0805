//! Finding the files.

use std::path::PathBuf;

use furrow_format::mdf::MdfImage;

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

/// The file's bytes; without the file, a visible word and nothing.
#[expect(
    clippy::disallowed_methods,
    reason = "test input is read from disk, no engine is involved"
)]
pub(crate) fn bytes(name: &str) -> Option<Vec<u8>> {
    let path = directory().join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            assert!(
                std::env::var_os("FURROW_SAMPLES").is_none(),
                "FURROW_SAMPLES is set, but {}: {error}",
                path.display()
            );
            println!("skipped: samples absent ({})", path.display());
            None
        }
    }
}

pub(crate) fn image(name: &str) -> Option<MdfImage> {
    Some(MdfImage::open(&bytes(name)?).unwrap())
}
