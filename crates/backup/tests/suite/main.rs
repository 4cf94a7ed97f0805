//! Backups and restores of databases in memory.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
#![expect(unreachable_pub, reason = "each test uses its part")]

mod chain;
mod damaged;
mod differential;
mod encrypted;
mod files;
mod forks;
mod interrupted;
mod left_behind;
mod lost_log;
mod own_places;
mod pages;
mod piecemeal;
mod pieces_left;
mod places;
mod scattered;
mod standby;
mod stop;
mod tail;
mod under_load;
mod world;
