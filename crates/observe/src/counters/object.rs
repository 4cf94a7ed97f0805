//! The groups of counters, and how values are to be read.

/// The group a counter is listed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Object {
    BufferManager,
    Databases,
    AccessMethods,
    Latches,
    Locks,
    SqlStatistics,
    GeneralStatistics,
}

impl Object {
    /// All groups, in the order they are listed in.
    pub const ALL: [Object; 7] = [
        Object::BufferManager,
        Object::Databases,
        Object::AccessMethods,
        Object::Latches,
        Object::Locks,
        Object::SqlStatistics,
        Object::GeneralStatistics,
    ];

    /// The published name.
    pub fn name(self) -> &'static str {
        match self {
            Object::BufferManager => "SQLServer:Buffer Manager",
            Object::Databases => "SQLServer:Databases",
            Object::AccessMethods => "SQLServer:Access Methods",
            Object::Latches => "SQLServer:Latches",
            Object::Locks => "SQLServer:Locks",
            Object::SqlStatistics => "SQLServer:SQL Statistics",
            Object::GeneralStatistics => "SQLServer:General Statistics",
        }
    }

    /// Whether it has instances (databases, lock types) and a total over them.
    pub(crate) fn has_instances(self) -> bool {
        matches!(self, Object::Databases | Object::Locks)
    }
}

/// How a counter's value is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterKind {
    /// The value as it is; the total is the sum of the instances.
    Gauge,
    /// The value as it is; a total has no meaning.
    Share,
    /// Ever growing: the difference of two values by the seconds between them.
    PerSecond,
    /// To be divided by the counter after it.
    Ratio,
    /// Differences to be divided by those of the counter after it.
    Average,
    /// The divisor of the counter before it.
    Base,
}

impl CounterKind {
    /// The published type number.
    pub fn cntr_type(self) -> i32 {
        match self {
            CounterKind::Gauge | CounterKind::Share => 65_792,
            CounterKind::PerSecond => 272_696_576,
            CounterKind::Ratio => 537_003_264,
            CounterKind::Average => 1_073_874_176,
            CounterKind::Base => 1_073_939_712,
        }
    }
}
