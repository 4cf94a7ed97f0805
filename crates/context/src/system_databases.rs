//! Names of the system databases.

/// The database that connections begin in.
pub const MASTER: &str = "master";
/// Databases that the server needs, or that names are reserved for.
const SYSTEM: [&str; 4] = ["master", "model", "msdb", "tempdb"];
/// The database of temporary tables, created anew at each start.
pub const TEMPDB: &str = "tempdb";

/// Whether a database is the system's own.
pub fn is_system(name: &str) -> bool {
    SYSTEM.iter().any(|s| s.eq_ignore_ascii_case(name))
}
