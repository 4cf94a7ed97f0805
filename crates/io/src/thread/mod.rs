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

/// Bytes of the stack of a thread started here. The system gives memory to the pages of it that are touched.
pub const STACK_BYTES: usize = 2 << 20;

/// Bytes that are left of this thread's stack; `None` where the system does not report it.
#[inline]
pub fn stack_left() -> Option<usize> {
    stacker::remaining_stack()
}

/// Runs `body` with at least so many bytes of stack: on this thread's own, or on one allocated for it where
/// less is left.
pub fn with_stack<T>(bytes: usize, body: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(bytes, bytes.next_multiple_of(1 << 20), body)
}

/// Processors this process may use; at least 1.
pub fn available_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Lets this thread have less of the processors than others that want them, until it ends: a third of what
/// they get. Where the system knows no priorities of threads, nothing changes.
pub fn lower_priority() {
    // POSIX has `nice` for the process; on Linux it is the calling thread's. It can only fail for want of a
    // right to be raised.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(5);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_lower_priority_is_that_of_one_thread() {
        let own = || rustix::process::nice(0).unwrap();
        let before = own();
        let other = std::thread::spawn(move || {
            lower_priority();
            own()
        });
        assert_eq!(other.join().unwrap(), (before + 5).min(19));
        assert_eq!(own(), before);
    }

    #[test]
    fn a_thread_s_stack_gets_less_with_each_call() {
        #[inline(never)]
        fn below(levels: u32) -> usize {
            let block = std::hint::black_box([0_u8; 1024]);
            match levels {
                0 => stack_left().unwrap(),
                _ => below(levels - 1) + usize::from(std::hint::black_box(block)[0]),
            }
        }
        let left = spawn_named("deep", || (below(0), below(100)));
        let (first, later) = left.unwrap().join().unwrap();
        assert!(
            later + 100 * 1024 <= first && first < 4 << 20,
            "{first} {later}"
        );
        assert!(with_stack(8 << 20, || below(1000)) > 1 << 20);
    }

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
