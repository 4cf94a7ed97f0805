//! Threads: named ones, scoped ones, and how many the machine runs at once.

use std::io;

pub use std::thread::{JoinHandle, Scope, ScopedJoinHandle, scope, yield_now};

/// Starts a thread that debuggers and `top` show by `name` (the system cuts it at 15 bytes).
pub fn spawn_named<F, T>(name: impl Into<String>, body: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    std::thread::Builder::new().name(name.into()).spawn(body)
}

/// Starts a named thread inside a [`scope`].
pub fn spawn_scoped<'scope, 'env, F, T>(
    scope: &'scope Scope<'scope, 'env>,
    name: impl Into<String>,
    body: F,
) -> io::Result<ScopedJoinHandle<'scope, T>>
where
    F: FnOnce() -> T + Send + 'scope,
    T: Send + 'scope,
{
    std::thread::Builder::new()
        .name(name.into())
        .spawn_scoped(scope, body)
}

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
