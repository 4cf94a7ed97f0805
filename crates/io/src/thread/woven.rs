//! Threads that run on a schedule, if the thread that starts them does.

use super::STACK_BYTES;
use crate::schedule::run::Run;
use crate::schedule::strand::{self, Strand};
use std::any::Any;
use std::cell::RefCell;
use std::io;
use std::thread::{Builder, Thread};

pub use std::thread::Scope;

thread_local! {
    /// What this thread has started in scopes that are still open.
    static SCOPED: RefCell<Vec<Strand>> = const { RefCell::new(Vec::new()) };
}

macro_rules! handle {
    ($name:ident $(, $scope:lifetime)?) => {
        /// A thread that can be waited for.
        #[derive(Debug)]
        pub struct $name<$($scope,)? T> {
            inner: std::thread::$name<$($scope,)? Option<T>>,
            strand: Option<Strand>,
        }

        impl<$($scope,)? T> $name<$($scope,)? T> {
            /// Waits for its end; what it gave, or its panic.
            pub fn join(self) -> std::thread::Result<T> {
                if let (Some(other), Some(me)) = (&self.strand, strand::current()) {
                    me.wait_for_end(other);
                }
                let gave = self.inner.join()?;
                gave.ok_or_else(|| Box::new("it panicked on its schedule") as Box<dyn Any + Send>)
            }

            /// Whether it has ended.
            pub fn is_finished(&self) -> bool {
                strand::point();
                self.inner.is_finished()
            }

            /// The thread.
            pub fn thread(&self) -> &Thread {
                self.inner.thread()
            }
        }
    };
}

handle!(JoinHandle);
handle!(ScopedJoinHandle, 'scope);

fn strand_for(name: &str) -> Option<Strand> {
    strand::current().map(|me| Run::add(&me.run, name))
}

fn live<T>(strand: Option<Strand>, body: impl FnOnce() -> T) -> Option<T> {
    match strand {
        Some(strand) => strand.live(body),
        None => Some(body()),
    }
}

/// Starts a thread that debuggers and `top` show by `name` (the system cuts it at 15 bytes).
pub fn spawn_named<F, T>(name: impl Into<String>, body: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let name = name.into();
    let strand = strand_for(&name);
    let given = strand.clone();
    let inner = Builder::new()
        .name(name)
        .stack_size(STACK_BYTES)
        .spawn(move || live(given, body))?;
    strand::point();
    Ok(JoinHandle { inner, strand })
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
    let name = name.into();
    let strand = strand_for(&name);
    let given = strand.clone();
    let started = Builder::new().name(name).stack_size(STACK_BYTES);
    let inner = started.spawn_scoped(scope, move || live(given, body))?;
    SCOPED.with_borrow_mut(|scoped| scoped.extend(strand.clone()));
    strand::point();
    Ok(ScopedJoinHandle { inner, strand })
}

/// As the standard library's: returns when all threads started in it by [`spawn_scoped`] have ended.
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    std::thread::scope(|scope| {
        let before = SCOPED.with_borrow(Vec::len);
        let value = body(scope);
        let started = SCOPED.with_borrow_mut(|scoped| scoped.split_off(before));
        if let Some(me) = strand::current() {
            started.iter().for_each(|other| me.wait_for_end(other));
        }
        value
    })
}

/// Lets other threads run.
pub fn yield_now() {
    if !strand::stand_back() {
        std::thread::yield_now();
    }
}
