//! The server's configuration: what `sp_configure` shows and sets, and RECONFIGURE installs.
//!
//! An option is a row of a table. Those whose value is how this engine is made (one thread to a query, no
//! limit on connections) are shown, and taken when they are set to what they are; anything else is refused
//! by name. What can be set holds until the server ends.

use furrow_context::configuration::{CHECK_MEMORY, CHECK_RATE, SHOW_ADVANCED};
use furrow_context::server::ServerState;

/// An option.
#[derive(Debug)]
pub(crate) struct ConfigOption {
    /// Its number, as SQL Server has it.
    pub(crate) id: i32,
    /// Its name, as `sp_configure` takes it.
    pub(crate) name: &'static str,
    /// The least value.
    pub(crate) minimum: i32,
    /// The greatest value.
    pub(crate) maximum: i32,
    /// Its description in `sys.configurations`.
    pub(crate) text: &'static str,
    /// Whether RECONFIGURE installs a value, rather than the next start.
    pub(crate) dynamic: bool,
    /// Whether it is shown only under `show advanced options`.
    pub(crate) advanced: bool,
    /// What it is now.
    value: fn(&ServerState) -> i64,
    /// Makes it what was set; `None` of one that stays as it is.
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
        id: 1539,
        name: "max degree of parallelism",
        minimum: 0,
        maximum: 32_767,
        text: "maximum degree of parallelism",
        dynamic: true,
        advanced: true,
        value: |_| 1,
        install: None,
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
    /// `run_value`: what it is.
    pub(crate) fn run_value(&self, server: &ServerState) -> i32 {
        i32::try_from((self.value)(server)).unwrap_or(i32::MAX)
    }

    /// `config_value`: what it has been set to.
    pub(crate) fn config_value(&self, server: &ServerState) -> i32 {
        let waiting = server.configuration().waiting(self.id);
        waiting.unwrap_or_else(|| self.run_value(server))
    }

    /// Whether it can be set to something else than it is.
    pub(crate) fn can_change(&self) -> bool {
        self.install.is_some()
    }

    /// Notes what RECONFIGURE is to install.
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

/// The options that `sp_configure` shows: advanced ones when it has been told to.
pub(crate) fn visible(server: &ServerState) -> Vec<&'static ConfigOption> {
    let advanced = server.configuration().show_advanced();
    all()
        .into_iter()
        .filter(|o| advanced || !o.advanced)
        .collect()
}

/// RECONFIGURE: what has been set holds from now on.
pub(crate) fn install(server: &ServerState) {
    let waiting = server.configuration().take_waiting();
    for (id, value) in waiting {
        let option = OPTIONS.iter().find(|o| o.id == id);
        if let Some(install) = option.and_then(|o| o.install) {
            install(server, value);
        }
    }
}
