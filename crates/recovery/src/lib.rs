//! Checkpoint and restart.
