//! A database by its files, and where those lie.

use super::quoted;
use std::path::{Path, PathBuf};

/// A file of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// Its logical name.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Its size.
    pub size_bytes: u64,
    /// Whether it may grow.
    pub can_grow: bool,
}

impl DataFile {
    fn clause(&self) -> String {
        let growth = if self.can_grow {
            ""
        } else {
            ", FILEGROWTH = 0"
        };
        format!(
            "(NAME = {}, FILENAME = N'{}', SIZE = {}KB{growth})",
            quoted(&self.name),
            self.path.display().to_string().replace('\'', "''"),
            self.size_bytes.div_ceil(1024)
        )
    }
}

/// A database by its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseLayout {
    /// Its name.
    pub name: String,
    /// Its data files, the primary one first.
    pub data: Vec<DataFile>,
    /// Its log.
    pub log: DataFile,
}

impl DatabaseLayout {
    /// A database of data files of one size.
    pub fn even(
        name: &str,
        data: &[PathBuf],
        file_bytes: u64,
        (log, log_bytes): (&Path, u64),
    ) -> DatabaseLayout {
        let file = |name: String, path: &Path, size_bytes: u64| DataFile {
            name,
            path: path.to_path_buf(),
            size_bytes,
            can_grow: true,
        };
        let data = data.iter().zip(1..);
        DatabaseLayout {
            name: name.to_owned(),
            data: data
                .map(|(path, n)| file(format!("data{n}"), path, file_bytes))
                .collect(),
            log: file("log".to_owned(), log, log_bytes),
        }
    }

    /// CREATE DATABASE with every file.
    pub(crate) fn create_statement(&self) -> String {
        let data: Vec<String> = self.data.iter().map(DataFile::clause).collect();
        format!(
            "CREATE DATABASE {} ON PRIMARY\n  {}\nLOG ON\n  {};",
            quoted(&self.name),
            data.join(",\n  "),
            self.log.clause()
        )
    }

    /// ALTER DATABASE ADD FILE.
    pub(crate) fn add_statement(&self, file: &DataFile) -> String {
        format!(
            "ALTER DATABASE {} ADD FILE {};",
            quoted(&self.name),
            file.clause()
        )
    }
}

/// Where the files of a run lie: data files dealt to the directories in turn, the log in one of its own or in
/// the first. Each with its directory.
pub fn place_files(
    directories: &[PathBuf],
    log: Option<&Path>,
    files: u64,
) -> (Vec<(PathBuf, PathBuf)>, (PathBuf, PathBuf)) {
    let here = PathBuf::from(".");
    let directory = |place: usize| {
        directories
            .get(place % directories.len().max(1))
            .unwrap_or(&here)
    };
    let data = (0..files as usize).map(|n| {
        let name = if n == 0 {
            "data1.mdf".to_string()
        } else {
            format!("data{}.ndf", n + 1)
        };
        (directory(n).clone(), directory(n).join(name))
    });
    let log = log.unwrap_or_else(|| directory(0));
    (data.collect(), (log.to_path_buf(), log.join("log.ldf")))
}

/// The volume that a path lies on, as the user gave it.
pub fn volume_of(path: &Path, volumes: &[PathBuf]) -> String {
    let longest = volumes
        .iter()
        .filter(|v| path.starts_with(v))
        .max_by_key(|v| v.as_os_str().len());
    longest.map_or_else(String::new, |v| v.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_dealt_to_the_volumes_in_turn_and_the_log_has_a_place_of_its_own() {
        let volumes = [PathBuf::from("/a"), PathBuf::from("/b")];
        let (data, log) = place_files(&volumes, None, 3);
        let paths: Vec<String> = data
            .iter()
            .map(|(_, path)| path.display().to_string())
            .collect();
        assert_eq!(paths, ["/a/data1.mdf", "/b/data2.ndf", "/a/data3.ndf"]);
        assert_eq!(log.1, PathBuf::from("/a/log.ldf"));
        let (_, log) = place_files(&volumes, Some(Path::new("/l")), 1);
        assert_eq!(log.1, PathBuf::from("/l/log.ldf"));
        assert_eq!(volume_of(&data[1].1, &volumes), "/b");
        assert_eq!(volume_of(Path::new("/c/x"), &volumes), "");
    }

    #[test]
    fn a_layout_becomes_a_statement_whatever_its_paths_hold() {
        let data = [PathBuf::from("/o'hara/data1.mdf")];
        let layout = DatabaseLayout::even("a]b", &data, 8 << 20, (Path::new("/l/log.ldf"), 2048));
        assert_eq!(
            layout.create_statement(),
            "CREATE DATABASE [a]]b] ON PRIMARY\n  (NAME = [data1], FILENAME = N'/o''hara/data1.mdf', \
             SIZE = 8192KB)\nLOG ON\n  (NAME = [log], FILENAME = N'/l/log.ldf', SIZE = 2KB);"
        );
    }
}
