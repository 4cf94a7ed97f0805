//! Options of statements, read by tables of rules: the names, and the form of the value behind each.

use super::cursor::Parser;
use crate::ast::option::{Opt, OptValue, Size};
use crate::error::{Message, NEAR, Parsed, UNKNOWN_OPTION, UNKNOWN_OPTION_OF};
use crate::lex::{Keyword, Kind};

/// The form of the value behind an option's name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// Nothing.
    Bare,
    /// `= constant or variable`
    Constant,
    /// Nothing, or `= constant or variable`.
    MaybeConstant,
    /// `= word`, one of these.
    Word(&'static [&'static str]),
    /// `word` without `=`, one of these.
    BareWord(&'static [&'static str]),
    /// Nothing, or `word` without `=`.
    MaybeBareWord(&'static [&'static str]),
    /// `= number unit`; a unit is required unless the list holds an empty one.
    Size(&'static [&'static str]),
    /// `= name`, constant or variable.
    Name,
    /// `= ON [(options)]` or `= OFF`.
    Switch,
    /// `(options)`
    List,
    /// Nothing, or `(options)`.
    MaybeList,
    /// `(1, 2 TO 4)`
    Ranges,
    /// `(a ASC, b DESC)`
    Columns,
    /// Any of `= constant`, `= word`, `= name`, `(options)`, or nothing.
    Any,
}

/// The options of a statement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Name and form of each.
    pub(super) known: &'static [(&'static str, Form)],
    /// What messages call them: `BACKUP`; empty for a plain error of syntax, `DBCC` has its own.
    pub(super) what: &'static str,
}

const ON_OFF: &[&str] = &["ON", "OFF"];

/// Options of BACKUP.
pub(super) const BACKUP: Rules = Rules {
    known: &[
        ("BLOCKSIZE", Form::Constant),
        ("BUFFERCOUNT", Form::Constant),
        ("CHECKSUM", Form::Bare),
        ("COMPRESSION", Form::MaybeList),
        ("CONTINUE_AFTER_ERROR", Form::Bare),
        ("COPY_ONLY", Form::Bare),
        ("CREDENTIAL", Form::Constant),
        ("DESCRIPTION", Form::Constant),
        ("DIFFERENTIAL", Form::Bare),
        ("ENCRYPTION", Form::List),
        ("EXPIREDATE", Form::Constant),
        ("FILE_SNAPSHOT", Form::Bare),
        ("FORMAT", Form::Bare),
        ("INIT", Form::Bare),
        ("MAXTRANSFERSIZE", Form::Constant),
        ("MEDIADESCRIPTION", Form::Constant),
        ("MEDIANAME", Form::Constant),
        ("MEDIAPASSWORD", Form::Constant),
        ("METADATA_ONLY", Form::Bare),
        ("NAME", Form::Name),
        ("NOFORMAT", Form::Bare),
        ("NOINIT", Form::Bare),
        ("NORECOVERY", Form::Bare),
        ("NOREWIND", Form::Bare),
        ("NOSKIP", Form::Bare),
        ("NOUNLOAD", Form::Bare),
        ("NO_CHECKSUM", Form::Bare),
        ("NO_COMPRESSION", Form::Bare),
        ("NO_TRUNCATE", Form::Bare),
        ("PASSWORD", Form::Constant),
        ("RESTART", Form::Bare),
        ("RETAINDAYS", Form::Constant),
        ("REWIND", Form::Bare),
        ("SKIP", Form::Bare),
        ("SNAPSHOT", Form::Bare),
        ("STANDBY", Form::Constant),
        ("STATS", Form::MaybeConstant),
        ("STOP_ON_ERROR", Form::Bare),
        ("THROTTLE", Form::Constant),
        ("UNLOAD", Form::Bare),
    ],
    what: "BACKUP",
};

/// Options of RESTORE, MOVE and marks aside.
pub(super) const RESTORE: Rules = Rules {
    known: &[
        ("BLOCKSIZE", Form::Constant),
        ("BUFFERCOUNT", Form::Constant),
        ("CHECKSUM", Form::Bare),
        ("CONTINUE_AFTER_ERROR", Form::Bare),
        ("CREDENTIAL", Form::Constant),
        ("DBNAME", Form::Name),
        ("ENABLE_BROKER", Form::Bare),
        ("ERROR_BROKER_CONVERSATIONS", Form::Bare),
        ("FILE", Form::Constant),
        ("KEEP_CDC", Form::Bare),
        ("KEEP_REPLICATION", Form::Bare),
        ("LOADHISTORY", Form::Bare),
        ("MAXTRANSFERSIZE", Form::Constant),
        ("MEDIANAME", Form::Constant),
        ("MEDIAPASSWORD", Form::Constant),
        ("METADATA_ONLY", Form::Bare),
        ("NEW_BROKER", Form::Bare),
        ("NORECOVERY", Form::Bare),
        ("NOREWIND", Form::Bare),
        ("NOUNLOAD", Form::Bare),
        ("NO_CHECKSUM", Form::Bare),
        ("PARTIAL", Form::Bare),
        ("PASSWORD", Form::Constant),
        ("RECOVERY", Form::Bare),
        ("REPLACE", Form::Bare),
        ("RESTART", Form::Bare),
        ("RESTRICTED_USER", Form::Bare),
        ("REWIND", Form::Bare),
        ("SNAPSHOT", Form::Bare),
        ("STANDBY", Form::Constant),
        ("STATS", Form::MaybeConstant),
        ("STOPAT", Form::Constant),
        ("STOP_ON_ERROR", Form::Bare),
        ("UNLOAD", Form::Bare),
    ],
    what: "RESTORE",
};

/// Options of marks in RESTORE.
pub(super) const MARKS: Rules = Rules {
    known: &[
        ("STOPATMARK", Form::Constant),
        ("STOPBEFOREMARK", Form::Constant),
    ],
    what: "",
};

/// Options of indexes, keys, tables and partitions.
pub(super) const INDEX: Rules = Rules {
    known: &[
        ("ALLOW_PAGE_LOCKS", Form::Word(ON_OFF)),
        ("ALLOW_ROW_LOCKS", Form::Word(ON_OFF)),
        ("BUCKET_COUNT", Form::Constant),
        ("COMPRESS_ALL_ROW_GROUPS", Form::Word(ON_OFF)),
        ("COMPRESSION_DELAY", Form::Size(&["MINUTES", "MINUTE", ""])),
        (
            "DATA_COMPRESSION",
            Form::Word(&["NONE", "ROW", "PAGE", "COLUMNSTORE", "COLUMNSTORE_ARCHIVE"]),
        ),
        ("DROP_EXISTING", Form::Word(ON_OFF)),
        ("FILLFACTOR", Form::Constant),
        ("IGNORE_DUP_KEY", Form::Word(ON_OFF)),
        ("LOB_COMPACTION", Form::Word(ON_OFF)),
        ("MAXDOP", Form::Constant),
        ("MAX_DURATION", Form::Size(&["MINUTES", "MINUTE", ""])),
        ("MOVE TO", Form::MaybeBareWord(&["PRIMARY"])),
        ("ONLINE", Form::Switch),
        ("OPTIMIZE_FOR_SEQUENTIAL_KEY", Form::Word(ON_OFF)),
        ("PAD_INDEX", Form::Word(ON_OFF)),
        ("RESUMABLE", Form::Word(ON_OFF)),
        ("SORT_IN_TEMPDB", Form::Word(ON_OFF)),
        ("STATISTICS_INCREMENTAL", Form::Word(ON_OFF)),
        ("STATISTICS_NORECOMPUTE", Form::Word(ON_OFF)),
        ("XML_COMPRESSION", Form::Word(ON_OFF)),
    ],
    what: "CREATE INDEX",
};

/// Options of tables.
pub(super) const TABLE: Rules = Rules {
    known: &[
        (
            "DATA_COMPRESSION",
            Form::Word(&["NONE", "ROW", "PAGE", "COLUMNSTORE", "COLUMNSTORE_ARCHIVE"]),
        ),
        (
            "DURABILITY",
            Form::Word(&["SCHEMA_ONLY", "SCHEMA_AND_DATA"]),
        ),
        ("LEDGER", Form::Switch),
        ("LOCK_ESCALATION", Form::Word(&["AUTO", "TABLE", "DISABLE"])),
        ("MEMORY_OPTIMIZED", Form::Word(ON_OFF)),
        ("SYSTEM_VERSIONING", Form::Switch),
        ("XML_COMPRESSION", Form::Word(ON_OFF)),
    ],
    what: "CREATE TABLE",
};

/// Options of TRUNCATE TABLE.
pub(super) const TRUNCATE: Rules = Rules {
    known: &[("PARTITIONS", Form::Ranges)],
    what: "",
};

/// Options of statistics.
pub(super) const STATISTICS: Rules = Rules {
    known: &[
        ("ALL", Form::Bare),
        ("AUTO_DROP", Form::Word(ON_OFF)),
        ("COLUMNS", Form::Bare),
        ("FULLSCAN", Form::Bare),
        ("INCREMENTAL", Form::Word(ON_OFF)),
        ("INDEX", Form::Bare),
        ("MAXDOP", Form::Constant),
        ("NORECOMPUTE", Form::Bare),
        ("PAGECOUNT", Form::Constant),
        ("PERSIST_SAMPLE_PERCENT", Form::Word(ON_OFF)),
        ("RESAMPLE", Form::Bare),
        ("ROWCOUNT", Form::Constant),
        ("STATS_STREAM", Form::Constant),
    ],
    what: "",
};

/// Options of DBCC's WITH.
pub(super) const DBCC: Rules = Rules {
    known: &[
        ("ALL_CONSTRAINTS", Form::Bare),
        ("ALL_ERRORMSGS", Form::Bare),
        ("ALL_INDEXES", Form::Bare),
        ("ALL_LEVELS", Form::Bare),
        ("COUNT_ROWS", Form::Bare),
        ("DATA_PURITY", Form::Bare),
        ("DENSITY_VECTOR", Form::Bare),
        ("ESTIMATEONLY", Form::Bare),
        ("EXTENDED_LOGICAL_CHECKS", Form::Bare),
        ("FAST", Form::Bare),
        ("HISTOGRAM", Form::Bare),
        ("MARK_IN_USE_FOR_REMOVAL", Form::Bare),
        ("MAXDOP", Form::Constant),
        ("NO_INFOMSGS", Form::Bare),
        ("PHYSICAL_ONLY", Form::Bare),
        ("STATS_STREAM", Form::Bare),
        ("STAT_HEADER", Form::Bare),
        ("TABLERESULTS", Form::Bare),
        ("TABLOCK", Form::Bare),
        ("WAIT_AT_LOW_PRIORITY", Form::MaybeList),
    ],
    what: "DBCC",
};

/// Options of BULK INSERT and OPENROWSET(BULK ..).
pub(super) const BULK: Rules = Rules {
    known: &[
        ("BATCHSIZE", Form::Constant),
        ("CHECK_CONSTRAINTS", Form::Bare),
        ("CODEPAGE", Form::Constant),
        ("DATAFILETYPE", Form::Constant),
        ("DATA_SOURCE", Form::Constant),
        ("ERRORFILE", Form::Constant),
        ("ERRORFILE_DATA_SOURCE", Form::Constant),
        ("FIELDQUOTE", Form::Constant),
        ("FIELDTERMINATOR", Form::Constant),
        ("FIRE_TRIGGERS", Form::Bare),
        ("FIRSTROW", Form::Constant),
        ("FORMAT", Form::Constant),
        ("FORMATFILE", Form::Constant),
        ("FORMATFILE_DATA_SOURCE", Form::Constant),
        ("KEEPIDENTITY", Form::Bare),
        ("KEEPNULLS", Form::Bare),
        ("KEEP_NULLS", Form::Bare),
        ("KILOBYTES_PER_BATCH", Form::Constant),
        ("LASTROW", Form::Constant),
        ("MAXERRORS", Form::Constant),
        ("ROWS_PER_BATCH", Form::Constant),
        ("ROWTERMINATOR", Form::Constant),
        ("SINGLE_BLOB", Form::Bare),
        ("SINGLE_CLOB", Form::Bare),
        ("SINGLE_NCLOB", Form::Bare),
        ("TABLOCK", Form::Bare),
    ],
    what: "",
};

/// The order of the rows in a bulk load.
pub(super) const BULK_ORDER: Rules = Rules {
    known: &[("ORDER", Form::Columns)],
    what: "",
};

/// Options of COMMIT.
pub(super) const COMMIT: Rules = Rules {
    known: &[("DELAYED_DURABILITY", Form::Word(ON_OFF))],
    what: "",
};

/// Options of CREATE DATABASE.
pub(super) const CREATE_DATABASE: Rules = Rules {
    known: &[
        (
            "CATALOG_COLLATION",
            Form::Word(&["DATABASE_DEFAULT", "SQL_LATIN1_GENERAL_CP1_CI_AS"]),
        ),
        ("DB_CHAINING", Form::BareWord(ON_OFF)),
        ("DEFAULT_FULLTEXT_LANGUAGE", Form::Name),
        ("DEFAULT_LANGUAGE", Form::Name),
        ("FILESTREAM", Form::List),
        ("LEDGER", Form::Word(ON_OFF)),
        ("NESTED_TRIGGERS", Form::Word(ON_OFF)),
        ("PERSISTENT_LOG_BUFFER", Form::Word(ON_OFF)),
        ("TRANSFORM_NOISE_WORDS", Form::Word(ON_OFF)),
        ("TRUSTWORTHY", Form::BareWord(ON_OFF)),
        ("TWO_DIGIT_YEAR_CUTOFF", Form::Constant),
    ],
    what: "CREATE DATABASE",
};

/// Options of ALTER DATABASE SET.
pub(super) const ALTER_DATABASE: Rules = Rules {
    known: &[
        ("ACCELERATED_DATABASE_RECOVERY", Form::Switch),
        ("ALLOW_SNAPSHOT_ISOLATION", Form::BareWord(ON_OFF)),
        ("ANSI_NULLS", Form::BareWord(ON_OFF)),
        ("ANSI_NULL_DEFAULT", Form::BareWord(ON_OFF)),
        ("ANSI_PADDING", Form::BareWord(ON_OFF)),
        ("ANSI_WARNINGS", Form::BareWord(ON_OFF)),
        ("ARITHABORT", Form::BareWord(ON_OFF)),
        ("AUTO_CLOSE", Form::BareWord(ON_OFF)),
        ("AUTO_CREATE_STATISTICS", Form::BareWord(ON_OFF)),
        ("AUTO_SHRINK", Form::BareWord(ON_OFF)),
        ("AUTO_UPDATE_STATISTICS", Form::BareWord(ON_OFF)),
        ("AUTO_UPDATE_STATISTICS_ASYNC", Form::BareWord(ON_OFF)),
        ("AUTOMATIC_TUNING", Form::Any),
        ("CHANGE_TRACKING", Form::Switch),
        ("COMPATIBILITY_LEVEL", Form::Constant),
        ("CONCAT_NULL_YIELDS_NULL", Form::BareWord(ON_OFF)),
        ("CONTAINMENT", Form::Word(&["NONE", "PARTIAL"])),
        ("CURSOR_CLOSE_ON_COMMIT", Form::BareWord(ON_OFF)),
        ("CURSOR_DEFAULT", Form::BareWord(&["LOCAL", "GLOBAL"])),
        ("DATE_CORRELATION_OPTIMIZATION", Form::BareWord(ON_OFF)),
        ("DB_CHAINING", Form::BareWord(ON_OFF)),
        ("DEFAULT_LANGUAGE", Form::Name),
        (
            "DELAYED_DURABILITY",
            Form::Word(&["DISABLED", "ALLOWED", "FORCED"]),
        ),
        ("DISABLE_BROKER", Form::Bare),
        ("EMERGENCY", Form::Bare),
        ("ENABLE_BROKER", Form::Bare),
        (
            "ENCRYPTION",
            Form::BareWord(&["ON", "OFF", "SUSPEND", "RESUME"]),
        ),
        ("ERROR_BROKER_CONVERSATIONS", Form::Bare),
        ("FILESTREAM", Form::List),
        ("HONOR_BROKER_PRIORITY", Form::BareWord(ON_OFF)),
        ("MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT", Form::Word(ON_OFF)),
        ("MIXED_PAGE_ALLOCATION", Form::BareWord(ON_OFF)),
        ("MULTI_USER", Form::Bare),
        ("NESTED_TRIGGERS", Form::Word(ON_OFF)),
        ("NEW_BROKER", Form::Bare),
        ("NUMERIC_ROUNDABORT", Form::BareWord(ON_OFF)),
        ("OFFLINE", Form::Bare),
        ("ONLINE", Form::Bare),
        (
            "PAGE_VERIFY",
            Form::BareWord(&["CHECKSUM", "TORN_PAGE_DETECTION", "NONE"]),
        ),
        ("PARAMETERIZATION", Form::BareWord(&["SIMPLE", "FORCED"])),
        ("QUERY_STORE", Form::Any),
        ("QUOTED_IDENTIFIER", Form::BareWord(ON_OFF)),
        ("READ_COMMITTED_SNAPSHOT", Form::BareWord(ON_OFF)),
        ("READ_ONLY", Form::Bare),
        ("READ_WRITE", Form::Bare),
        (
            "RECOVERY",
            Form::BareWord(&["FULL", "BULK_LOGGED", "SIMPLE"]),
        ),
        ("RECURSIVE_TRIGGERS", Form::BareWord(ON_OFF)),
        ("RESTRICTED_USER", Form::Bare),
        ("SINGLE_USER", Form::Bare),
        ("SUPPLEMENTAL_LOGGING", Form::BareWord(ON_OFF)),
        ("SUSPEND_FOR_SNAPSHOT_BACKUP", Form::Switch),
        ("TARGET_RECOVERY_TIME", Form::Size(&["SECONDS", "MINUTES"])),
        ("TEMPORAL_HISTORY_RETENTION", Form::BareWord(ON_OFF)),
        ("TORN_PAGE_DETECTION", Form::BareWord(ON_OFF)),
        ("TRANSFORM_NOISE_WORDS", Form::Word(ON_OFF)),
        ("TRUSTWORTHY", Form::BareWord(ON_OFF)),
        ("TWO_DIGIT_YEAR_CUTOFF", Form::Constant),
    ],
    what: "",
};

/// Options of logins, users and roles.
pub(super) const PRINCIPAL: Rules = Rules {
    known: &[
        ("ALLOW_ENCRYPTED_VALUE_MODIFICATIONS", Form::Word(ON_OFF)),
        ("CHECK_EXPIRATION", Form::Word(ON_OFF)),
        ("CHECK_POLICY", Form::Word(ON_OFF)),
        ("CREDENTIAL", Form::Name),
        ("DEFAULT_DATABASE", Form::Name),
        ("DEFAULT_LANGUAGE", Form::Name),
        ("DEFAULT_SCHEMA", Form::Name),
        ("LOGIN", Form::Name),
        ("NAME", Form::Name),
        ("NO CREDENTIAL", Form::Bare),
        ("OLD_PASSWORD", Form::Constant),
        ("PASSWORD", Form::Constant),
        ("SID", Form::Constant),
    ],
    what: "",
};

/// Options within parentheses that the grammar does not define.
const FREE: Rules = Rules {
    known: &[],
    what: "*",
};

impl Parser<'_> {
    /// An option by the rules.
    pub(super) fn option(&mut self, rules: Rules) -> Parsed<Opt> {
        let start = self.token().span;
        if rules.what == "*" {
            let mut name = self.upper_word()?;
            while matches!(self.kind(), Kind::Word | Kind::Keyword(_)) {
                name = format!("{name} {}", self.upper_word()?).into();
            }
            return self.option_value(name, Form::Any, start, rules);
        }
        let known = rules.known.iter().find(|(name, _)| {
            let mut pieces = name.split(' ').enumerate();
            pieces.all(|(n, piece)| self.is_word(n, piece))
        });
        let Some((name, form)) = known else {
            return Err(self.unknown_option(rules));
        };
        for _ in name.split(' ') {
            self.bump();
        }
        self.option_value((*name).into(), *form, start, rules)
    }

    fn unknown_option(&self, rules: Rules) -> Box<crate::error::SyntaxError> {
        let message: Message = match rules.what {
            "" => NEAR,
            "DBCC" => UNKNOWN_OPTION,
            _ => UNKNOWN_OPTION_OF,
        };
        if message == NEAR || self.kind() != Kind::Word {
            return self.unexpected();
        }
        self.error(message, &[self.slice(self.token()), rules.what])
    }

    fn option_value(
        &mut self,
        name: Box<str>,
        form: Form,
        start: crate::span::Span,
        rules: Rules,
    ) -> Parsed<Opt> {
        let equals = match form {
            Form::Bare | Form::BareWord(_) | Form::MaybeBareWord(_) | Form::List => false,
            Form::MaybeList | Form::Ranges | Form::Columns => false,
            Form::MaybeConstant | Form::Any => self.eat(Kind::Eq),
            _ if rules.what == "DBCC" && self.kind() != Kind::Eq => {
                return Err(self.error(UNKNOWN_OPTION, &[&name]));
            }
            _ => {
                self.expect(Kind::Eq)?;
                true
            }
        };
        let value = self.form(form, equals)?;
        let span = self.span_from(start);
        Ok(Opt {
            name,
            equals,
            value,
            span,
        })
    }

    fn form(&mut self, form: Form, equals: bool) -> Parsed<Option<OptValue>> {
        Ok(match form {
            Form::Bare => None,
            Form::MaybeConstant if !equals => None,
            Form::Constant | Form::MaybeConstant => Some(OptValue::Expr(self.constant()?)),
            Form::Word(words) | Form::BareWord(words) => Some(OptValue::Word(self.one_of(words)?)),
            Form::MaybeBareWord(words) => self
                .eat_one_of(words)
                .map(|word| OptValue::Word(word.into())),
            Form::Size(units) => Some(OptValue::Size(self.size(units)?)),
            Form::Name => Some(self.name_value()?),
            Form::Switch => {
                let word = self.one_of(ON_OFF)?;
                if &*word == "ON" && self.kind() == Kind::Open {
                    return Ok(Some(OptValue::OnList(self.option_list()?)));
                }
                Some(OptValue::Word(word))
            }
            Form::List => Some(OptValue::List(self.option_list()?)),
            Form::MaybeList if self.kind() == Kind::Open => {
                Some(OptValue::List(self.option_list()?))
            }
            Form::MaybeList => None,
            Form::Ranges => Some(OptValue::Ranges(self.parens(|p| {
                let from = p.constant()?;
                let to = if p.eat_keyword(Keyword::TO) {
                    Some(p.constant()?)
                } else {
                    None
                };
                Ok((from, to))
            })?)),
            Form::Columns => Some(OptValue::Columns(self.parens(Self::index_column)?)),
            Form::Any => self.any_value(equals)?,
        })
    }

    fn any_value(&mut self, equals: bool) -> Parsed<Option<OptValue>> {
        if self.kind() == Kind::Open {
            return Ok(Some(OptValue::List(self.option_list()?)));
        }
        if !equals {
            return Ok(None);
        }
        match self.kind() {
            Kind::Word if self.peek(1).kind == Kind::Dot => self.name_value().map(Some),
            Kind::Word | Kind::Keyword(_) => {
                let word = self.upper_word()?;
                if &*word == "ON" && self.kind() == Kind::Open {
                    return Ok(Some(OptValue::OnList(self.option_list()?)));
                }
                Ok(Some(OptValue::Word(word)))
            }
            Kind::Integer => {
                let number = self.constant()?;
                let unit = match self.kind() {
                    Kind::Word => Some(self.upper_word()?),
                    _ => return Ok(Some(OptValue::Expr(number))),
                };
                Ok(Some(OptValue::Size(Size { number, unit })))
            }
            _ => self.name_value().map(Some),
        }
    }

    fn name_value(&mut self) -> Parsed<OptValue> {
        if self.at_ident() {
            return Ok(OptValue::Name(self.object_name()?));
        }
        Ok(OptValue::Expr(self.constant()?))
    }

    fn option_list(&mut self) -> Parsed<Vec<Opt>> {
        self.nested(|p| p.parens(|p| p.option(FREE)))
    }

    /// A number with one of these units; an empty unit in the list means that it may be left out.
    pub(super) fn size(&mut self, units: &[&'static str]) -> Parsed<Size> {
        let number = match self.kind() {
            Kind::Integer | Kind::Variable => self.constant()?,
            _ => return Err(self.unexpected()),
        };
        if self.kind() == Kind::Percent && units.contains(&"%") {
            self.bump();
            let unit = Some("%".into());
            return Ok(Size { number, unit });
        }
        let named: Vec<&'static str> = units.iter().copied().filter(|u| !u.is_empty()).collect();
        match self.eat_one_of(&named) {
            Some(unit) => Ok(Size {
                number,
                unit: Some(unit.into()),
            }),
            None if units.contains(&"") => Ok(Size { number, unit: None }),
            None => Err(self.unexpected()),
        }
    }

    /// `WITH (option, ..)`, if it comes next.
    pub(super) fn with_parens(&mut self, rules: Rules) -> Parsed<Vec<Opt>> {
        if self.at_keyword(Keyword::WITH) && self.peek(1).kind == Kind::Open {
            self.bump();
            return self.parens(|p| p.option(rules));
        }
        Ok(Vec::new())
    }

    /// `WITH option, ..`, if it comes next.
    pub(super) fn with_list(&mut self, rules: Rules) -> Parsed<Vec<Opt>> {
        if self.eat_keyword(Keyword::WITH) {
            return self.list(|p| p.option(rules));
        }
        Ok(Vec::new())
    }
}
