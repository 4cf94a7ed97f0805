//! Transaction log: blocks, group commit, virtual log files.
