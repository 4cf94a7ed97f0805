//! Giving extents back.
