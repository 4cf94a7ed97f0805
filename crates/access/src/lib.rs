//! Heaps and B+trees.
