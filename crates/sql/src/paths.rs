//! Paths of files in statements.

use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_messages::Message;
use std::path::PathBuf;

/// The path that a statement means. A relative path is relative to the instance's directory.
/// A Windows path (`D:\data\x.mdf`) on another system is placed under the instance's directory, with the
/// drive as the first directory, so that published scripts run unchanged; its directories are created.
pub(crate) fn path(cx: &Context, written: &str) -> Result<PathBuf> {
    let drive = match written.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => Some(*letter),
        _ => None,
    };
    let foreign = cfg!(not(windows)) && (drive.is_some() || written.contains('\\'));
    if !foreign {
        let path = PathBuf::from(written);
        return Ok(match path.is_absolute() {
            true => path,
            false => cx.server.path(written),
        });
    }
    let rest = match drive {
        Some(_) => written.get(2..).unwrap_or(""),
        None => written,
    };
    let mut parts: Vec<String> = drive
        .map(|letter| char::from(letter).to_ascii_uppercase().to_string())
        .into_iter()
        .collect();
    let of_rest = rest
        .split(['\\', '/'])
        .filter(|p| !p.is_empty() && *p != ".");
    parts.extend(of_rest.map(str::to_owned));
    if parts.iter().any(|p| p == "..") {
        return Err(Message::new(5105, &[written.into()]).into());
    }
    let path = cx.server.path(&parts.join("/"));
    if let Some(directory) = path.parent() {
        let made = cx.server.instance().volume().create_dir(directory);
        made.map_err(|error| furrow_engine::directory_error(&path, &error.kind))?;
    }
    Ok(path)
}
