//! What is noted about suspect pages goes to `msdb.dbo.suspect_pages` after the next statement.
//!
//! A statement never waits for it, and never fails by it: a lock that another session holds, a damaged `msdb`
//! or none leaves the notes where they are, for a later statement.

use super::{MSDB, foreign, is_ours};
use furrow_context::context::Context;
use furrow_sysviews::suspect_pages::write;

/// The message of a lock that was not waited for.
const LOCKED: u32 = 1222;

/// Writes what is noted, if anything is.
pub(crate) fn write_suspects(cx: &Context) {
    let instance = cx.server.instance();
    let suspects = &instance.instruments().suspects;
    if !suspects.is_due() {
        return;
    }
    let written = instance
        .database(MSDB)
        .and_then(|msdb| match is_ours(&msdb) {
            true => write(&msdb, suspects),
            false => Err(foreign()),
        });
    if let Err(error) = written
        && error.number() != LOCKED
        && !error.is_cancelled()
    {
        suspects.pause();
    }
}
