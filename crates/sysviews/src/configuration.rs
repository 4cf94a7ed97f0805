//! The server's configuration: the options of `sp_configure` and RECONFIGURE.
//!
//! An option is a row of a table. Some options describe a fixed property of this engine, such as no limit on
//! connections: they are shown, and can be set to their present value only. Any
//! other option is refused by name. A setting is valid until the server ends.

use furrow_context::configuration::{
    CHECK_MEMORY, CHECK_RATE, COST_THRESHOLD, MAX_DOP, SHOW_ADVANCED,
};
use furrow_context::server::ServerState;

/// An option.
#[derive(Debug)]
pub(crate) struct ConfigOption {
    /// SQL Server's number of it.
    pub(crate) id: i32,
    /// Its name for `sp_configure`.
    pub(crate) name: &'static str,
    /// The smallest value.
    pub(crate) minimum: i32,
    /// The largest value.
    pub(crate) maximum: i32,
    /// Its description in `sys.configurations`.
    pub(crate) text: &'static str,
    /// Whether RECONFIGURE installs a value; otherwise the next start does.
    pub(crate) dynamic: bool,
    /// Whether it is shown only under `show advanced options`.
    pub(crate) advanced: bool,
    /// Returns the value in use.
    value: fn(&ServerState) -> i64,
    /// Puts a value into use; `None` if the option has a fixed value.
    install: Option<fn(&ServerState, i32)>,
}

static OPTIONS: &[ConfigOption] = &[
    ConfigOption {
        id: 101,
        name: "recovery interval (min)",
        minimum: 0,
        maximum: 32_767,
        text: "Maximum recovery interval in minutes",
        dynamic: true,
        advanced: true,
        value: |server| i64::from(server.instance().recovery_interval_min()),
        install: Some(|server, minutes| {
            let minutes = u32::try_from(minutes).unwrap_or(0);
            server.instance().set_recovery_interval_min(minutes);
        }),
    },
    ConfigOption {
        id: 103,
        name: "user connections",
        minimum: 0,
        maximum: 32_767,
        text: "Number of user connections allowed",
        dynamic: false,
        advanced: true,
        value: |_| 0,
        install: None,
    },
    ConfigOption {
        id: 106,
        name: "locks",
        minimum: 5000,
        maximum: i32::MAX,
        text: "Number of locks for all users",
        dynamic: false,
        advanced: true,
        value: |server| server.instance().config().locks.max_locks as i64,
        install: None,
    },
    ConfigOption {
        id: 109,
        name: "fill factor (%)",
        minimum: 0,
        maximum: 100,
        text: "Default fill factor percentage",
        dynamic: false,
        advanced: true,
        value: |_| 0,
        install: None,
    },
    ConfigOption {
        id: 124,
        name: "default language",
        minimum: 0,
        maximum: 9999,
        text: "default language",
        dynamic: true,
        advanced: false,
        value: |_| 0,
        install: None,
    },
    ConfigOption {
        id: SHOW_ADVANCED,
        name: "show advanced options",
        minimum: 0,
        maximum: 1,
        text: "show advanced options",
        dynamic: true,
        advanced: false,
        value: |server| i64::from(server.configuration().show_advanced()),
        install: Some(|server, on| server.configuration().set_running(SHOW_ADVANCED, on)),
    },
    ConfigOption {
        id: 1127,
        name: "two digit year cutoff",
        minimum: 1753,
        maximum: 9999,
        text: "two digit year cutoff",
        dynamic: true,
        advanced: true,
        value: |_| 2049,
        install: None,
    },
    ConfigOption {
        id: COST_THRESHOLD,
        name: "cost threshold for parallelism",
        minimum: 0,
        maximum: 32_767,
        text: "cost threshold for parallelism",
        dynamic: true,
        advanced: true,
        value: |server| server.configuration().cost_threshold().into(),
        install: Some(|server, cost| server.configuration().set_running(COST_THRESHOLD, cost)),
    },
    ConfigOption {
        id: MAX_DOP,
        name: "max degree of parallelism",
        minimum: 0,
        maximum: 32_767,
        text: "maximum degree of parallelism",
        dynamic: true,
        advanced: true,
        value: |server| server.configuration().max_dop().into(),
        install: Some(|server, most| server.configuration().set_running(MAX_DOP, most)),
    },
    ConfigOption {
        id: 1544,
        name: "max server memory (MB)",
        minimum: 4,
        maximum: i32::MAX,
        text: "Maximum size of server memory (MB)",
        dynamic: false,
        advanced: true,
        value: |server| server.instance().config().pool_pages as i64 / 128,
        install: None,
    },
    ConfigOption {
        id: CHECK_MEMORY,
        name: "check memory (MB)",
        minimum: 1,
        maximum: 1 << 20,
        text: "Memory of a consistency check before it uses a temporary file (MB)",
        dynamic: true,
        advanced: true,
        value: |server| server.configuration().check_memory_mb().into(),
        install: Some(|server, mb| server.configuration().set_running(CHECK_MEMORY, mb)),
    },
    ConfigOption {
        id: CHECK_RATE,
        name: "check rate (MB/s)",
        minimum: 0,
        maximum: 1 << 20,
        text: "Most that a consistency check reads in a second (MB), 0 for no limit",
        dynamic: true,
        advanced: true,
        value: |server| server.configuration().check_rate_mb().into(),
        install: Some(|server, mb| server.configuration().set_running(CHECK_RATE, mb)),
    },
];

impl ConfigOption {
    /// `run_value`: the value in use.
    pub(crate) fn run_value(&self, server: &ServerState) -> i32 {
        i32::try_from((self.value)(server)).unwrap_or(i32::MAX)
    }

    /// `config_value`: the value that was set last.
    pub(crate) fn config_value(&self, server: &ServerState) -> i32 {
        let waiting = server.configuration().waiting(self.id);
        waiting.unwrap_or_else(|| self.run_value(server))
    }

    /// Whether it can be set to another value.
    pub(crate) fn can_change(&self) -> bool {
        self.install.is_some()
    }

    /// Stores a value for the next RECONFIGURE.
    pub(crate) fn set(&self, server: &ServerState, value: i32) {
        server.configuration().set_waiting(self.id, value);
    }
}

/// All options, by name.
pub(crate) fn all() -> Vec<&'static ConfigOption> {
    let mut all: Vec<&ConfigOption> = OPTIONS.iter().collect();
    all.sort_by_key(|o| o.name);
    all
}

/// The options that `sp_configure` shows: advanced ones only under `show advanced options`.
pub(crate) fn visible(server: &ServerState) -> Vec<&'static ConfigOption> {
    let advanced = server.configuration().show_advanced();
    all()
        .into_iter()
        .filter(|o| advanced || !o.advanced)
        .collect()
}

/// RECONFIGURE: puts the values that were set into use.
pub(crate) fn install(server: &ServerState) {
    let waiting = server.configuration().take_waiting();
    for (id, value) in waiting {
        let option = OPTIONS.iter().find(|o| o.id == id);
        if let Some(install) = option.and_then(|o| o.install) {
            install(server, value);
        }
    }
}
