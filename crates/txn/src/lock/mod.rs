//! The lock manager: who may use what, in which mode, and who waits.
//!
//! Locks protect what transactions see; latches protect memory. A lock is held by an owner (a
//! transaction, or a session across its transactions), on a resource (a row, a key with the gap below
//! it, a page, an object, a database, a name), in one of SQL Server's 21 modes.
//!
//! # Invariants
//! 1. All modes granted on a resource to different owners are compatible.
//! 2. An owner has at most one granted request on a resource: further ones join into one mode (the
//!    supremum).
//! 3. Nobody waits who could be granted. Arrivals are granted in order, except that one may pass those
//!    it doesn't conflict with; owners that convert a mode they hold go before arrivals.
//! 4. A deadlock ends by a victim, in bounded time, and never without a real cycle.
//! 5. A failed request changes nothing: what was held before is still held.
//! 6. A lock or unlock that meets nobody allocates nothing once the tables have grown.
//!
//! # Steps of a request
//! 1. The owner's own table of held locks: covered already? Then that is all.
//! 2. A weak mode of an object (Sch-S, IS, IU, IX) that nobody holds or wants in a strong one: noted by the
//!    owner itself, where nobody else comes by (see `weak`). Then that is all.
//! 3. The shard of the resource's hash, under its latch: find or make the head; compare the wanted
//!    mode's conflict mask with the masks of modes granted and waited for. No conflict: granted.
//! 4. Otherwise queue, release the latch, begin a wait of type `LCK_M_mode`, and sleep. Whoever
//!    releases or weakens a lock grants whom it can, tells them the moment, and wakes them.
//! 5. Who begins to wait looks at once whether it has closed a cycle, along its own waits; a sleeper
//!    searches everything after 20 ms, then after twice as long and so on up to 5 s (see `deadlock`).
//!
//! # Order of latches
//! An owner's table, then shards in ascending order, then the list of owners, then one owner's outcome or
//! notes.
//! An owner's table stays latched while its owner waits: only the owner's own thread uses it. Callers
//! must not hold a page latch when they call anything that waits: readers ask
//! [`LockManager::try_instant`] first.
//!
//! # What can fail
//! [`LockError`]: time out (1222), deadlock victim (1205), lock table full (1204), cancelled.

mod core;
mod deadlock;
mod error;
mod escalation;
mod held;
mod isolation;
mod manager;
mod mode;
mod notes;
mod owner;
mod owners;
mod printed;
mod report;
mod resource;
mod shard;
mod table;
#[cfg(test)]
mod tests;
mod timeout;
mod view;
mod wait;
mod weak;

pub use error::{Granted, LockError};
pub use escalation::Escalation;
pub use isolation::Isolation;
pub use manager::LockManager;
pub use mode::LockMode;
pub use owner::{Canceller, LockOwner};
pub use report::{DeadlockProcess, DeadlockReport, DeadlockResource};
pub use resource::Resource;
pub use table::LockConfig;
pub use timeout::Timeout;
pub use view::{LockRow, LockStats, LockStatus};
