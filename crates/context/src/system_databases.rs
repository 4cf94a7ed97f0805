//! Names of the system databases.

/// The database that connections begin in.
pub const MASTER: &str = "master";
/// Names of databases that the server needs or reserves.
const SYSTEM: [&str; 4] = ["master", "model", "msdb", "tempdb"];
/// The database of temporary tables, created at each start.
pub const TEMPDB: &str = "tempdb";

/// Whether a database is a system database.
pub fn is_system(name: &str) -> bool {
    SYSTEM.iter().any(|s| s.eq_ignore_ascii_case(name))
}
