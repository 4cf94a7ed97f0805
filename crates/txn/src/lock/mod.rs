//! The lock manager: locks of owners on resources, and the queues of owners that wait.
//!
//! Locks protect what transactions see; latches protect memory. A lock is held by an owner (a
//! transaction, or a session across its transactions), on a resource (a row, a key with the gap below
//! it, a page, an object, a database, a name), in one of SQL Server's 21 modes.
//!
//! # Invariants
//! 1. All modes granted on a resource to different owners are compatible, except U and X locks of rows and
//!    keys past those of an owner whose commit record is in the log and not yet durable (see `early`).
//! 2. An owner has at most one granted request on a resource: further ones join into one mode (the
//!    supremum).
//! 3. No owner waits for a request that could be granted. Arrivals are granted in order, except that one may
//!    pass those it doesn't conflict with; owners that convert a mode they hold go before arrivals. Requests
//!    that readers have let pass often enough wait for these.
//! 4. A deadlock ends by a victim, in bounded time. There is no victim without a real cycle.
//! 5. A failed request changes nothing: what was held before is still held.
//! 6. A lock or unlock without contention allocates nothing once the tables have grown.
//!
//! # Steps of a request
//! 1. The owner's own table of held locks: if it covers the request, the request is done.
//! 2. A weak mode of an object (Sch-S, IS, IU, IX), while no owner holds or wants the object in a strong one:
//!    the owner notes the lock itself, under a latch that no other owner contends for (see `weak`). The
//!    request is done.
//! 3. The shard of the resource's hash, under its latch: find or create the head; compare the wanted mode's
//!    conflict mask with the masks of modes granted and waited for. No conflict: granted. A request for U or
//!    X of a row marks the locks in its way whose owners leave, and compares again.
//! 4. Otherwise queue, release the latch, begin a wait of type `LCK_M_mode`, and sleep. A thread that
//!    releases or weakens a lock grants the waiters that it can, records the time of the grant, and wakes
//!    them.
//! 5. An owner that begins to wait tests at once, along its own waits, whether it has closed a cycle. A
//!    sleeper searches the whole graph after 20 ms, then after twice as long and so on up to 5 s (see
//!    `deadlock`).
//!
//! # Order of latches
//! An owner's table, then shards in ascending order, then the list of owners, then one owner's outcome or
//! notes.
//! An owner's table stays latched while its owner waits: only the owner's own thread uses it. Callers
//! must not hold a page latch when they call anything that waits: readers call [`LockManager::try_instant`]
//! first.
//!
//! # What can fail
//! [`LockError`]: time out (1222), deadlock victim (1205), lock table full (1204), cancelled.

mod core;
mod deadlock;
mod early;
mod error;
mod escalation;
mod held;
mod isolation;
mod leave;
mod manager;
mod mode;
mod notes;
mod owner;
mod owners;
mod passing;
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

pub use early::Follower;
pub use error::{Granted, LockError};
pub use escalation::Escalation;
pub use isolation::Isolation;
pub use manager::{LockManager, Watch};
pub use mode::LockMode;
pub use owner::{Canceller, LockOwner};
pub use report::{DeadlockProcess, DeadlockReport, DeadlockResource};
pub use resource::Resource;
pub use table::LockConfig;
pub use timeout::Timeout;
pub use view::{LockRow, LockStats, LockStatus};
