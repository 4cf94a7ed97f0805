//! The ways in which a filegroup can stand when a load begins.

/// Smallest data file: the catalog has to fit into the first.
pub(super) const LEAST_FILE_BYTES: u64 = 8 << 20;
const EXTENT_BYTES: u64 = 64 << 10;

/// How the files of a run are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// All files of one size.
    Equal,
    /// Each file twice the size of the one before.
    Unequal,
    /// All files of one size, 64 extents of a file in a turn (`-E`).
    EqualE,
    /// All files full but one, which was added empty.
    Added,
}

impl Scenario {
    /// All, the baseline first.
    pub const ALL: [Scenario; 4] = [
        Scenario::Equal,
        Scenario::Unequal,
        Scenario::EqualE,
        Scenario::Added,
    ];

    /// Its name as a level.
    pub fn word(self) -> &'static str {
        match self {
            Scenario::Equal => "equal",
            Scenario::Unequal => "unequal",
            Scenario::EqualE => "equal -E",
            Scenario::Added => "one added",
        }
    }

    /// From the name.
    pub fn parse(text: &str) -> Option<Scenario> {
        Scenario::ALL
            .into_iter()
            .find(|scenario| scenario.word() == text)
    }

    /// Bytes of each of `files` files that are to have room for `room_bytes` together. With
    /// [`Scenario::Added`] the last is the one that is added, and it alone has the room.
    pub fn sizes(self, files: u64, room_bytes: u64) -> Vec<u64> {
        let files = files.max(1);
        let extents =
            |bytes: u64| bytes.max(LEAST_FILE_BYTES).div_ceil(EXTENT_BYTES) * EXTENT_BYTES;
        match self {
            Scenario::Equal | Scenario::EqualE => {
                (0..files).map(|_| extents(room_bytes / files)).collect()
            }
            Scenario::Unequal => {
                let parts = (1_u64 << files.min(16)) - 1;
                (0..files.min(16))
                    .map(|n| extents(room_bytes / parts * (1 << n)))
                    .collect()
            }
            Scenario::Added => (1..files)
                .map(|_| LEAST_FILE_BYTES)
                .chain([extents(room_bytes)])
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_has_its_room_in_whole_extents() {
        for scenario in Scenario::ALL {
            assert_eq!(Scenario::parse(scenario.word()), Some(scenario));
            for files in [2, 4, 7] {
                let sizes = scenario.sizes(files, 1 << 30);
                assert_eq!(sizes.len() as u64, files);
                assert!(sizes.iter().all(|size| size.is_multiple_of(EXTENT_BYTES)));
                let all: u64 = sizes.iter().sum();
                assert!(all + (8 << 20) >= 1 << 30, "{scenario:?} {files}: {all}");
            }
        }
        let sizes = Scenario::Unequal.sizes(4, 1 << 30);
        assert!(sizes.windows(2).all(|pair| pair[1] > pair[0] * 19 / 10));
    }
}
