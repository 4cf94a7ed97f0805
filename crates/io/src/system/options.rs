//! What the volume may use, and what the kernel gives it.

/// How batches of several runs are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// io_uring where the kernel allows it, else threads.
    Auto,
    /// `preadv`/`pwritev` by helper threads, several runs at once.
    Threads,
    /// `preadv`/`pwritev` by the caller, one run after the other.
    Plain,
}

/// What a [`SystemVolume`] may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemOptions {
    /// How batches are done.
    pub engine: Engine,
    /// Whether to try direct I/O.
    pub direct: bool,
}

impl SystemOptions {
    /// From the environment: `FURROW_IO=pread` forces the plain engine, `FURROW_IO=threads` the threads,
    /// `FURROW_DIRECT=0` the page cache.
    pub(crate) fn from_env() -> SystemOptions {
        let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
        SystemOptions {
            engine: if is("FURROW_IO", "pread") {
                Engine::Plain
            } else if is("FURROW_IO", "threads") {
                Engine::Threads
            } else {
                Engine::Auto
            },
            direct: !is("FURROW_DIRECT", "0"),
        }
    }
}

impl Default for SystemOptions {
    fn default() -> SystemOptions {
        SystemOptions::from_env()
    }
}

/// Whether the kernel lets this process use io_uring.
pub fn io_uring_available() -> bool {
    #[cfg(target_os = "linux")]
    let available = super::ring::available();
    #[cfg(not(target_os = "linux"))]
    let available = false;
    available
}
