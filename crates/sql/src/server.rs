//! The server: an instance with its system databases, and its connections.

use crate::connection::Connection;
use crate::msdb;
use furrow_context::activity::ActivityView;
use furrow_context::error::Result;
use furrow_context::server::ServerState;
use furrow_engine::Instance;
use furrow_exec::spill::remove_leftovers;
use furrow_io::time::WallTime;
use std::sync::Arc;

/// An instance that runs T-SQL.
#[derive(Debug)]
pub struct Server {
    state: Arc<ServerState>,
}

impl Server {
    /// Takes a started instance; creates `master` and `msdb` if they do not exist, and `tempdb`.
    pub fn start(instance: Arc<Instance>) -> Result<Arc<Server>> {
        let state = ServerState::start(instance)?;
        remove_leftovers(&state)?;
        msdb::ensure(&state);
        Ok(Arc::new(Server { state }))
    }

    /// The instance.
    pub fn instance(&self) -> &Arc<Instance> {
        self.state.instance()
    }

    /// When the server was started.
    pub fn started(&self) -> WallTime {
        self.state.started()
    }

    /// The open connections, by number: `sys.dm_exec_sessions`.
    pub fn connections(&self) -> Vec<ActivityView> {
        self.state.connections()
    }

    /// A new connection, in `master`.
    pub fn connect(self: &Arc<Server>) -> Result<Connection> {
        Connection::new(&self.state)
    }
}
