//! The segment of the published test's second load: a transaction creates, fills and drops a table of its
//! own.

/// Whether transactions make tables of their own, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Churn {
    /// No tables.
    Off,
    /// A permanent table named by NEWID() in the user database, as published.
    Database,
    /// A local temporary table in tempdb.
    Tempdb,
}

impl Churn {
    pub(crate) const ALL: [Churn; 3] = [Churn::Off, Churn::Database, Churn::Tempdb];

    /// As it is written.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Churn::Off => "off",
            Churn::Database => "on",
            Churn::Tempdb => "tempdb",
        }
    }

    /// From the word.
    pub(crate) fn parse(text: &str) -> Result<Churn, String> {
        let found = Churn::ALL.into_iter().find(|churn| churn.word() == text);
        found.ok_or_else(|| "write off, on (tables in the database) or tempdb".to_owned())
    }
}

/// The table in the user database: its name is new each time, so that each statement is compiled again.
const IN_DATABASE: &str =
    "DECLARE @tb varchar(36), @create_sql varchar(100), @drop_sql varchar(100), \
@insert_sql varchar(100);
SELECT @tb = CAST(NEWID() AS varchar(36));
SET @create_sql = 'CREATE TABLE [' + @tb + '] (c char(1000) not null)';
SET @insert_sql = 'INSERT [' + @tb + '] values(''aaaaaaaaaaaaa'')';
SET @drop_sql = 'DROP TABLE [' + @tb + ']';
EXEC (@create_sql);
EXEC (@insert_sql);
EXEC (@drop_sql);
";

/// The same with a temporary table.
pub(crate) const IN_TEMPDB: &str = "CREATE TABLE #t (c char(1000) NOT NULL);
INSERT #t VALUES ('aaaaaaaaaaaaa');
DROP TABLE #t;
";

/// The statements of the segment; empty without churn.
pub(super) fn segment(churn: Churn) -> String {
    match churn {
        Churn::Off => String::new(),
        Churn::Database => IN_DATABASE.to_owned(),
        Churn::Tempdb => IN_TEMPDB.to_owned(),
    }
}
