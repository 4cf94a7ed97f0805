//! Threads as the system runs them.

use super::STACK_BYTES;
use std::io;

pub use std::thread::{JoinHandle, Scope, ScopedJoinHandle, scope, yield_now};

/// Starts a thread that debuggers and `top` show by `name` (the system cuts it at 15 bytes).
pub fn spawn_named<F, T>(name: impl Into<String>, body: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    builder(name).spawn(body)
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
    builder(name).spawn_scoped(scope, body)
}

fn builder(name: impl Into<String>) -> std::thread::Builder {
    let named = std::thread::Builder::new().name(name.into());
    named.stack_size(STACK_BYTES)
}
