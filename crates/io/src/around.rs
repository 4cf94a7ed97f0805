//! Reading around what a device cannot read.

use crate::{File, IoError};
use std::ops::Range;

/// The smallest unit that a device may fail to read.
const SECTOR: usize = 512;

/// Reads `bytes.len()` bytes from `offset` (both multiples of 512), as far as the device can. Ranges that it
/// cannot read are zeroed, and returned by their place in `bytes`, with the device's error
/// ([`IoErrorKind::is_medium`](crate::IoErrorKind::is_medium)). Other errors end the read.
///
/// A read that failed is tried again in halves: a few sectors cost few reads.
pub fn read_around(
    file: &dyn File,
    offset: u64,
    bytes: &mut [u8],
) -> Result<Vec<(Range<usize>, IoError)>, IoError> {
    let mut unreadable = Vec::new();
    read_part(file, offset, (0, bytes), &mut unreadable)?;
    Ok(unreadable)
}

fn read_part(
    file: &dyn File,
    offset: u64,
    (at, bytes): (usize, &mut [u8]),
    unreadable: &mut Vec<(Range<usize>, IoError)>,
) -> Result<(), IoError> {
    let error = match file.read_at(offset + at as u64, bytes) {
        Err(e) if e.kind.is_medium() => e,
        done => return done,
    };
    let half = bytes.len() / 2 / SECTOR * SECTOR;
    if half == 0 {
        bytes.fill(0);
        let end = at + bytes.len();
        match unreadable.last_mut() {
            Some((last, _)) if last.end == at => last.end = end,
            _ => unreadable.push((at..end, error)),
        }
        return Ok(());
    }
    let (front, back) = bytes.split_at_mut(half);
    read_part(file, offset, (at, front), unreadable)?;
    read_part(file, offset, (at + half, back), unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Effect, Fault, OpKind, Ops, SimOptions};
    use crate::{Access, Open, SimVolume, Volume};
    use std::path::Path;

    #[test]
    fn only_what_the_medium_cannot_read_is_read_around() {
        for (effect, is_medium) in [
            (Effect::Fail, true),
            (Effect::BadSector, true),
            (Effect::NoMemory, false),
        ] {
            let volume = SimVolume::new(SimOptions::default());
            let path = Path::new("a");
            crate::write_file(&volume, path, &[7; 4 * SECTOR]).unwrap();
            let file = volume.open(path, Open::ReadOnly, Access::Log).unwrap();
            // The whole, its first half, and its first quarter.
            let fault = Fault::new(Ops::Only(OpKind::Read), effect);
            volume.inject(fault.times(3));
            let mut bytes = crate::AlignedBuf::new(4 * SECTOR);
            let around = read_around(&*file, 0, &mut bytes);
            assert_eq!(around.is_ok(), is_medium, "{effect:?}: {around:?}");
            let lost = around.unwrap_or_default();
            let lost: Vec<_> = lost.into_iter().map(|(range, _)| range).collect();
            assert_eq!(
                lost.first(),
                is_medium.then_some(&(0..SECTOR)),
                "{effect:?}"
            );
        }
    }
}
