//! Which versions of databases are read, in one place.

/// The oldest version whose files are read as tables: SQL Server 2005.
pub const OLDEST_VERSION: u16 = 611;
/// The newest version whose format is known: SQL Server 2022.
pub const NEWEST_VERSION: u16 = 957;

/// Versions that are tried besides: the page format is that of SQL Server 7.0 and later.
const TRIED: std::ops::RangeInclusive<u16> = 515..=1100;

/// How well files of a version are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// They are attached, read and checked.
    Full,
    /// Tools that only read try: what cannot be read is an error of its own. They are not attached.
    Tried,
    /// The number is none of a database that this reader can make sense of.
    None,
}

/// How well files of a database of this version are read.
pub fn support(version: u16) -> Support {
    match version {
        OLDEST_VERSION..=NEWEST_VERSION => Support::Full,
        tried if TRIED.contains(&tried) => Support::Tried,
        _ => Support::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_is_attached_tried_or_refused() {
        for (version, expected) in [
            (0, Support::None),
            (514, Support::None),
            (515, Support::Tried),
            (610, Support::Tried),
            (611, Support::Full),
            (957, Support::Full),
            (958, Support::Tried),
            (1100, Support::Tried),
            (1101, Support::None),
        ] {
            assert_eq!(support(version), expected, "{version}");
        }
    }
}
