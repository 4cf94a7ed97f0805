//! Waits, latches, spinlocks.
