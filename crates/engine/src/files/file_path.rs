//! The path of a data or log file, in the form in which it is opened and stored.
//!
//! # Invariants
//! 1. [`file_path`] is applied once, where a path enters the engine (CREATE DATABASE, ADD FILE, MODIFY FILE,
//!    FOR ATTACH, MOVE of RESTORE). The file is opened by its result; the catalog and the instance's list
//!    store its result.
//! 2. The result survives the catalog: `sysfiles1` pads names with blanks to 260 characters and
//!    `sysprufiles` stores at most 260, so that a path has no blanks at its end and is no longer than that.
//! 3. The result is text: the catalog and the instance's list store no other bytes.

use furrow_tables::EngineError;
use std::path::{Path, PathBuf, is_separator};

/// Longest path in `sysfiles1` and `sysprufiles`, in UTF-16 units.
const MAX_PATH_UNITS: usize = 260;
/// Longest name of a file or directory that file systems take.
const MAX_COMPONENT_BYTES: usize = 255;

/// The path of a file as it is opened and stored: without blanks at its end, as SQL Server takes file names.
/// 1036 for an empty path, 5105 for one that is too long, names no file, or is no text.
pub fn file_path(written: &Path) -> Result<PathBuf, EngineError> {
    let refused = || EngineError::refused(5105, &[written.display().to_string().into()]);
    let text = written.to_str().ok_or_else(refused)?.trim_end_matches(' ');
    if text.is_empty() {
        return Err(EngineError::refused(1036, &["FILENAME".into()]));
    }
    let mut parts = text.rsplit(is_separator);
    let names_a_file = !matches!(parts.next(), None | Some("" | "." | ".."));
    let mut parts = text.split(is_separator);
    let fits = text.encode_utf16().count() <= MAX_PATH_UNITS
        && parts.all(|part| part.len() <= MAX_COMPONENT_BYTES);
    if !names_a_file || !fits || text.contains('\0') {
        return Err(refused());
    }
    debug_assert!(!text.ends_with(' '), "sysfiles1 would lose the blank");
    Ok(PathBuf::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(path: impl AsRef<Path>) -> u32 {
        file_path(path.as_ref()).map_or_else(|e| e.number(), |_| 0)
    }

    #[test]
    fn blanks_at_the_end_of_a_path_are_no_part_of_it() {
        for written in ["/d/x.ldf", "/d/x.ldf ", "/d/x.ldf    "] {
            assert_eq!(
                file_path(Path::new(written)).unwrap(),
                Path::new("/d/x.ldf")
            );
        }
        // Everything else is part of the name, odd as it may be.
        for written in [
            " d/x", "/d /x", "/d/ x", "/d/x\n", "/d/x\t", "/d/'x'", "/d/..x", "/d/x.",
        ] {
            assert_eq!(
                file_path(Path::new(written)).unwrap().to_str(),
                Some(written)
            );
        }
    }

    #[test]
    fn a_path_that_names_no_file_or_cannot_be_stored_is_5105() {
        for written in ["/", "/d/", "/d/ ", "/d/.", "/d/..", "..", "/d/x\0y"] {
            assert_eq!(number(written), 5105, "{written:?}");
        }
        assert_eq!((number(""), number("   ")), (1036, 1036));
        let of_units = |units: usize| format!("/{}/{}", "d".repeat(130), "x".repeat(units - 132));
        assert_eq!((number(of_units(260)), number(of_units(261))), (0, 5105));
        // 130 characters of three bytes each: few enough for the catalog, too many for a file system.
        assert_eq!(
            (number("\u{20ac}".repeat(85)), number("\u{20ac}".repeat(86))),
            (0, 5105)
        );
        // Two UTF-16 units each.
        let wide = "\u{1f600}".repeat(60);
        assert_eq!(number(format!("/{wide}/{wide}/x")), 0);
        assert_eq!(number(format!("/{wide}/{wide}/{wide}")), 5105);
    }

    #[test]
    #[cfg(unix)]
    fn a_path_that_is_no_text_is_5105() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        assert_eq!(number(OsStr::from_bytes(b"/d/\xff.mdf")), 5105);
    }
}
