//! Buffer pool: frames, latches, replacement, write-back.
