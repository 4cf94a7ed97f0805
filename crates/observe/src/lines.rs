//! The lines that trace flags print, as texts: proportional fill (1165) and checkpoints (3502, 3504).

/// A file of a filegroup as trace flag 1165 prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillFile<'a> {
    /// The logical name.
    pub name: &'a str,
    /// The file's number.
    pub file: u16,
    /// Extents that are free.
    pub free_extents: u64,
    /// Its skip target.
    pub skip_target: u64,
}

/// The line before a recalculation. `allocations_left` is the counter at this moment. For a new database SQL
/// Server prints uninitialised memory; Furrow prints the true value.
pub fn fill_starting(database: &str, allocations_left: i64) -> String {
    format!(
        "Proportional Fill Recalculation Starting for DB {database} with m_cAllocs {allocations_left}."
    )
}

/// The lines after a recalculation: one, and one for each file of the filegroup, in its order.
pub fn fill_completed(
    database: &str,
    allocations_left: i64,
    most_free_file: u16,
    files: &[FillFile<'_>],
) -> Vec<String> {
    let head = format!(
        "Proportional Fill Recalculation Completed for DB {database} new m_cAllocs {allocations_left}, \
         most free file is file {most_free_file}."
    );
    // The tab in front and the blank behind are SQL Server's.
    let rows = files.iter().map(|file| {
        format!(
            "\tFile [{}] ({}) has {} free extents and skip target of {}. ",
            file.name, file.file, file.free_extents, file.skip_target
        )
    });
    std::iter::once(head).chain(rows).collect()
}

/// What a checkpoint did, for trace flags 3502 and 3504.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckpointFigures {
    /// Pages written.
    pub pages: u64,
    /// Writes they went in.
    pub writes: u64,
    /// Files written to.
    pub files: u32,
    /// From start to end.
    pub elapsed_us: u64,
    /// Mean time of a write.
    pub mean_write_us: u64,
}

/// The line of trace flag 3502 at the start of a checkpoint.
pub fn checkpoint_started(database: &str, db: u16) -> String {
    format!("Ckpt dbid {db} started ({database})")
}

/// The line of trace flag 3502 at the end of a checkpoint.
pub fn checkpoint_completed(database: &str, db: u16) -> String {
    format!("Ckpt dbid {db} complete ({database})")
}

/// The line of trace flag 3504: what the checkpoint wrote and how fast.
pub fn checkpoint_detail(db: u16, figures: &CheckpointFigures) -> String {
    let elapsed_ms = figures.elapsed_us / 1000;
    let megabytes = figures.pages as f64 / 128.0;
    let seconds = figures.elapsed_us as f64 / 1e6;
    let rate = if seconds > 0.0 {
        megabytes / seconds
    } else {
        0.0
    };
    format!(
        "Ckpt dbid {db}: wrote {} pages in {} writes to {} files in {elapsed_ms} ms ({rate:.2} MB/sec), \
         average write {:.3} ms",
        figures.pages,
        figures.writes,
        figures.files,
        figures.mean_write_us as f64 / 1000.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proportional_fill_prints_the_published_lines() {
        assert_eq!(
            fill_starting("Company", 8192),
            "Proportional Fill Recalculation Starting for DB Company with m_cAllocs 8192."
        );
        let file = |name, file, free_extents, skip_target| FillFile {
            name,
            file,
            free_extents,
            skip_target,
        };
        let files = [
            file("Company_data", 1, 44, 90),
            file("ThirdFile", 4, 3995, 1),
            file("SecondFile", 3, 79, 50),
        ];
        assert_eq!(
            fill_completed("Company", 8192, 4, &files),
            [
                "Proportional Fill Recalculation Completed for DB Company new m_cAllocs 8192, \
                 most free file is file 4.",
                "\tFile [Company_data] (1) has 44 free extents and skip target of 90. ",
                "\tFile [ThirdFile] (4) has 3995 free extents and skip target of 1. ",
                "\tFile [SecondFile] (3) has 79 free extents and skip target of 50. ",
            ]
        );
    }

    #[test]
    fn checkpoint_lines_tell_pages_writes_and_rate() {
        assert_eq!(
            checkpoint_started("Company", 5),
            "Ckpt dbid 5 started (Company)"
        );
        assert_eq!(
            checkpoint_completed("Company", 5),
            "Ckpt dbid 5 complete (Company)"
        );
        let figures = CheckpointFigures {
            pages: 1280,
            writes: 40,
            files: 4,
            elapsed_us: 500_000,
            mean_write_us: 1250,
        };
        assert_eq!(
            checkpoint_detail(5, &figures),
            "Ckpt dbid 5: wrote 1280 pages in 40 writes to 4 files in 500 ms (20.00 MB/sec), \
             average write 1.250 ms"
        );
        assert!(checkpoint_detail(5, &CheckpointFigures::default()).contains("(0.00 MB/sec)"));
    }
}
