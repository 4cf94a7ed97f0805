//! Small files, read and written as a whole.

use crate::{
    Access, AlignedBuf, File, Fill, IoError, IoErrorKind, IoOp, Open, ReadRun, Volume, WriteRun,
};
use std::io::{IoSlice, IoSliceMut};
use std::path::Path;

/// What a write is a multiple of.
const BLOCK: usize = 4096;

/// The whole content of a file.
pub fn read_file(volume: &dyn Volume, path: &Path) -> Result<Vec<u8>, IoError> {
    read_all(volume.open(path, Open::ReadOnly, Access::Log)?.as_ref())
}

/// All bytes of a file that is open.
pub fn read_all(file: &dyn File) -> Result<Vec<u8>, IoError> {
    let length = usize::try_from(file.len_bytes()?).map_err(|_| {
        IoError::new(
            IoOp::Read,
            file.path(),
            0,
            IoErrorKind::Os(0, "too long".to_string()),
        )
    })?;
    let mut bytes = vec![0; length];
    if !bytes.is_empty() {
        let mut slices = [IoSliceMut::new(&mut bytes)];
        file.read(&mut [ReadRun {
            offset: 0,
            bufs: &mut slices,
        }])?;
    }
    Ok(bytes)
}

/// Writes a file that was not there, durably. `AlreadyExists` when it was.
pub fn write_file(volume: &dyn Volume, path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let file = volume.open(path, Open::Create, Access::Log)?;
    let mut block = AlignedBuf::new(bytes.len().max(1).div_ceil(BLOCK) * BLOCK);
    block[..bytes.len()].copy_from_slice(bytes);
    file.resize(block.len() as u64, Fill::Allocate)?;
    let slices = [IoSlice::new(&block)];
    file.write_durable(&[WriteRun {
        offset: 0,
        bufs: &slices,
    }])?;
    file.resize(bytes.len() as u64, Fill::Allocate)
}
