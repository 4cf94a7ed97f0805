//! Numbers where SQL Server shows addresses.

use furrow_types::Value;

/// A task's number where SQL Server shows an address.
pub(super) fn address(id: u64) -> Value {
    Value::Binary(id.to_be_bytes().to_vec())
}
