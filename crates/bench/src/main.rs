//! Peer-comparison workloads.
fn main() {}
