//! Layouts of volumes, a factor of experiments with files: `--layouts 'a|a,b'`.

use crate::plugin::Start;
use furrow_lab::experiment::OptionsError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Layouts of volumes by name, from `a|a,b`: each is a list of directories that data files are dealt to in
/// turn.
pub(crate) fn layouts(
    typed: &str,
    start: &Start,
) -> Result<Vec<(String, Vec<PathBuf>)>, OptionsError> {
    let mut found: Vec<(String, Vec<PathBuf>)> = Vec::new();
    for layout in typed.split('|') {
        let words: Vec<&Path> = layout
            .split(',')
            .map(|word| Path::new(word.trim()))
            .collect();
        let mut directories = Vec::new();
        for word in &words {
            let dir = start.path(word);
            if word.as_os_str().is_empty() || !dir.is_dir() {
                return Err(OptionsError(format!(
                    "--layouts: {} is not a directory; make it first",
                    dir.display()
                )));
            }
            directories.push(dir);
        }
        let name = layout_name(&words);
        if found.iter().any(|(known, _)| *known == name) {
            return Err(OptionsError(format!("--layouts names {name} twice")));
        }
        found.push((name, directories));
    }
    Ok(found)
}

/// Puts layouts among the settings that a plan records.
pub(crate) fn record_layouts(
    layouts: &[(String, Vec<PathBuf>)],
    settings: &mut BTreeMap<String, String>,
) {
    for (name, directories) in layouts {
        for (dir, n) in directories.iter().zip(1..) {
            let path = dir.display().to_string();
            settings.insert(format!("layout {name}, volume {n}"), path);
        }
    }
}

/// The name of a layout: its directories as they were typed.
fn layout_name(directories: &[&Path]) -> String {
    let names = directories.iter().map(|dir| dir.display().to_string());
    names.collect::<Vec<_>>().join(",")
}
