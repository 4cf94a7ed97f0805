//! Threads: named ones, scoped ones, and how many the machine runs at once.

//!
//! With the feature `weave` a thread started by one on a schedule is on that schedule too ([`crate::weave`]).

#[cfg(not(feature = "weave"))]
mod plain;
#[cfg(feature = "weave")]
mod woven;

#[cfg(not(feature = "weave"))]
pub use plain::{JoinHandle, Scope, ScopedJoinHandle, scope, spawn_named, spawn_scoped, yield_now};
#[cfg(feature = "weave")]
pub use woven::{JoinHandle, Scope, ScopedJoinHandle, scope, spawn_named, spawn_scoped, yield_now};

/// Processors this process may use; at least 1.
pub fn available_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spawned_thread_has_its_name_and_gives_its_value() {
        let handle = spawn_named("sower", || std::thread::current().name().map(str::to_owned));
        assert_eq!(handle.unwrap().join().unwrap().as_deref(), Some("sower"));
        let mut left = [1, 2, 3];
        scope(|s| {
            for cell in &mut left {
                spawn_scoped(s, "reaper", || *cell += 1).unwrap();
            }
        });
        assert_eq!(left, [2, 3, 4]);
        assert!(available_cpus() >= 1);
    }
}
