//! Indexes, statistics, partitions, types, sequences.

use super::cursor::Parser;
use super::options::{self, Form, Rules};
use crate::ast::Statement;
use crate::ast::table::{
    AlterIndex, CreateIndex, CreatePartitionFunction, CreatePartitionScheme, CreateStatistics,
    CreateType, DropIndex, IndexAction, IndexBody, IndexColumn, Sequence, TypeKind,
    UpdateStatistics,
};
use crate::error::{INDEX_ALONE, Parsed};
use crate::lex::{Keyword, Kind};

/// Options of sequences.
const SEQUENCE: Rules = Rules {
    known: &[
        ("CYCLE", Form::Bare),
        ("NO CACHE", Form::Bare),
        ("NO CYCLE", Form::Bare),
        ("NO MAXVALUE", Form::Bare),
        ("NO MINVALUE", Form::Bare),
    ],
    what: "",
};

/// Options of sequences that take a number without `=`.
const SEQUENCE_NUMBERS: &[&str] = &[
    "START WITH",
    "RESTART WITH",
    "INCREMENT BY",
    "MINVALUE",
    "MAXVALUE",
    "CACHE",
];

impl Parser<'_> {
    /// `CLUSTERED` (true) or `NONCLUSTERED` (false), if it comes next.
    pub(super) fn clustered(&mut self) -> Option<bool> {
        if self.eat_keyword(Keyword::CLUSTERED) {
            return Some(true);
        }
        self.eat_keyword(Keyword::NONCLUSTERED).then_some(false)
    }

    pub(super) fn index_column(&mut self) -> Parsed<IndexColumn> {
        let name = self.ident()?;
        let descending = self.direction();
        Ok(IndexColumn { name, descending })
    }

    /// After the name: kinds (of an index within CREATE TABLE), columns and the rest.
    pub(super) fn index_body(&mut self, inline: bool) -> Parsed<IndexBody> {
        let mut index = IndexBody::default();
        if inline {
            self.index_kinds(&mut index);
        }
        self.index_rest(&mut index, inline)?;
        Ok(index)
    }

    fn index_kinds(&mut self, index: &mut IndexBody) {
        index.unique = self.eat_keyword(Keyword::UNIQUE);
        index.clustered = self.clustered();
        index.columnstore = self.eat_word("COLUMNSTORE");
    }

    fn index_rest(&mut self, index: &mut IndexBody, inline: bool) -> Parsed<()> {
        let bare = index.columnstore || inline;
        if self.kind() == Kind::Open || !bare {
            index.columns = self.parens(Self::index_column)?;
        }
        if self.eat_word("INCLUDE") {
            index.include = self.column_list()?;
        }
        if self.eat_keyword(Keyword::WHERE) {
            index.filter = Some(self.condition()?);
        }
        index.options = self.index_options()?;
        index.on = self.data_space()?;
        Ok(())
    }

    /// `WITH (..)`, or the old form without parentheses.
    fn index_options(&mut self) -> Parsed<Vec<crate::ast::option::Opt>> {
        const OLD: &[&str] = &[
            "PAD_INDEX",
            "IGNORE_DUP_KEY",
            "DROP_EXISTING",
            "STATISTICS_NORECOMPUTE",
            "SORT_IN_TEMPDB",
        ];
        let fill = self.at_words(&["WITH", "FILLFACTOR"]);
        let old = fill || OLD.iter().any(|word| self.is_word(1, word));
        if self.at_keyword(Keyword::WITH) && old {
            self.bump();
            return self.list(|p| match p.eat_one_of(OLD) {
                Some(word) => Ok(crate::ast::option::Opt {
                    name: word.into(),
                    equals: true,
                    value: Some(crate::ast::option::OptValue::Word("ON".into())),
                    span: p.span_from(p.blamed().span),
                }),
                None => p.option(options::INDEX),
            });
        }
        self.with_parens(options::INDEX)
    }

    /// `[UNIQUE] [CLUSTERED] INDEX ..` after CREATE.
    pub(super) fn create_index(&mut self) -> Parsed<Statement> {
        let mut index = IndexBody::default();
        self.index_kinds(&mut index);
        self.expect_keyword(Keyword::INDEX)?;
        let name = self.ident()?;
        self.expect_keyword(Keyword::ON)?;
        let table = self.object_name()?;
        self.index_rest(&mut index, false)?;
        Ok(Statement::CreateIndex(Box::new(CreateIndex {
            name,
            table,
            index,
        })))
    }

    pub(super) fn alter_index(&mut self) -> Parsed<Statement> {
        let name = if self.eat_keyword(Keyword::ALL) {
            None
        } else {
            Some(self.ident()?)
        };
        self.expect_keyword(Keyword::ON)?;
        let table = self.object_name()?;
        let action = if self.eat_word("REBUILD") {
            let partition = self.one_partition()?;
            IndexAction::Rebuild(partition, self.with_parens(options::INDEX)?)
        } else if self.eat_word("REORGANIZE") {
            let partition = self.one_partition()?;
            IndexAction::Reorganize(partition, self.with_parens(options::INDEX)?)
        } else if self.eat_word("DISABLE") {
            IndexAction::Disable
        } else if self.eat_keyword(Keyword::SET) {
            IndexAction::Set(self.parens(|p| p.option(options::INDEX))?)
        } else {
            IndexAction::Resumable(self.one_of(&["RESUME", "PAUSE", "ABORT"])?)
        };
        Ok(Statement::AlterIndex(Box::new(AlterIndex {
            name,
            table,
            action,
        })))
    }

    pub(super) fn drop_index(&mut self) -> Parsed<Statement> {
        let if_exists = self.eat_words(&["IF", "EXISTS"]);
        let indexes = self.list(|p| {
            let name = p.object_name()?;
            let on = if p.eat_keyword(Keyword::ON) {
                Some(p.object_name()?)
            } else if name.parts.len() < 2 {
                return Err(p.error_at(p.blamed(), INDEX_ALONE, &[]));
            } else {
                None
            };
            Ok((name, on))
        })?;
        let options = self.with_parens(options::INDEX)?;
        Ok(Statement::DropIndex(DropIndex {
            if_exists,
            indexes,
            options,
        }))
    }

    pub(super) fn create_statistics(&mut self) -> Parsed<Statement> {
        let name = self.ident()?;
        self.expect_keyword(Keyword::ON)?;
        let table = self.object_name()?;
        let columns = self.column_list()?;
        let filter = if self.eat_keyword(Keyword::WHERE) {
            Some(self.condition()?)
        } else {
            None
        };
        let options = self.statistics_options()?;
        Ok(Statement::CreateStatistics(Box::new(CreateStatistics {
            name,
            table,
            columns,
            filter,
            options,
        })))
    }

    pub(super) fn update_statistics(&mut self) -> Parsed<Statement> {
        self.expect_words("UPDATE STATISTICS")?;
        let table = self.object_name()?;
        let names = if self.kind() == Kind::Open {
            self.column_list()?
        } else if self.at_ident() {
            vec![self.ident()?]
        } else {
            Vec::new()
        };
        let options = self.statistics_options()?;
        Ok(Statement::UpdateStatistics(Box::new(UpdateStatistics {
            table,
            names,
            options,
        })))
    }

    /// `WITH FULLSCAN | SAMPLE n PERCENT | ..`
    fn statistics_options(&mut self) -> Parsed<Vec<crate::ast::option::Opt>> {
        use crate::ast::option::{Opt, OptValue};
        if !self.eat_keyword(Keyword::WITH) {
            return Ok(Vec::new());
        }
        self.list(|p| {
            let start = p.token().span;
            if p.eat_word("SAMPLE") {
                let size = p.size(&["PERCENT", "ROWS"])?;
                return Ok(Opt {
                    name: "SAMPLE".into(),
                    equals: false,
                    value: Some(OptValue::Size(size)),
                    span: p.span_from(start),
                });
            }
            p.option(options::STATISTICS)
        })
    }

    /// `PARTITION FUNCTION` or `PARTITION SCHEME` after CREATE.
    pub(super) fn create_partition(&mut self) -> Parsed<Statement> {
        if self.eat_keyword(Keyword::FUNCTION) {
            let name = self.ident()?;
            self.expect(Kind::Open)?;
            let data_type = self.data_type()?;
            self.expect(Kind::Close)?;
            self.expect_words("AS RANGE")?;
            let right = self.eat_keyword(Keyword::RIGHT);
            if !right {
                self.eat_keyword(Keyword::LEFT);
            }
            self.expect_words("FOR VALUES")?;
            let values = self.arguments()?;
            return Ok(Statement::CreatePartitionFunction(Box::new(
                CreatePartitionFunction {
                    name,
                    data_type,
                    right,
                    values,
                },
            )));
        }
        self.expect_word("SCHEME")?;
        let name = self.ident()?;
        self.expect_words("AS PARTITION")?;
        let function = self.ident()?;
        let all = self.eat_keyword(Keyword::ALL);
        self.expect_keyword(Keyword::TO)?;
        let filegroups = self.parens(Self::ident_or_string)?;
        Ok(Statement::CreatePartitionScheme(Box::new(
            CreatePartitionScheme {
                name,
                function,
                all,
                filegroups,
            },
        )))
    }

    pub(super) fn create_type(&mut self) -> Parsed<Statement> {
        let name = self.object_name()?;
        let kind = if self.eat_keyword(Keyword::FROM) {
            let base = self.data_type()?;
            let nullable = self.nullable()?;
            TypeKind::Alias(base, nullable)
        } else {
            self.expect_words("AS TABLE")?;
            let elements = self.table_elements()?;
            TypeKind::Table(elements, self.with_parens(options::TABLE)?)
        };
        Ok(Statement::CreateType(Box::new(CreateType { name, kind })))
    }

    /// `NULL` or `NOT NULL`, if it comes next.
    pub(super) fn nullable(&mut self) -> Parsed<Option<bool>> {
        if self.eat_keyword(Keyword::NULL) {
            return Ok(Some(true));
        }
        Ok(self.eat_words(&["NOT", "NULL"]).then_some(false))
    }

    pub(super) fn sequence(&mut self, alter: bool) -> Parsed<Statement> {
        use crate::ast::option::{Opt, OptValue};
        let name = self.object_name()?;
        let data_type = if !alter && self.eat_keyword(Keyword::AS) {
            Some(self.data_type()?)
        } else {
            None
        };
        let mut options = Vec::new();
        loop {
            let start = self.token().span;
            if let Some(word) = self.eat_one_of(SEQUENCE_NUMBERS) {
                let value = match self.kind() {
                    Kind::Integer | Kind::Decimal | Kind::Minus | Kind::Plus => {
                        Some(OptValue::Expr(self.constant()?))
                    }
                    _ if word == "CACHE" => None,
                    _ => return Err(self.unexpected()),
                };
                options.push(Opt {
                    name: word.into(),
                    equals: false,
                    value,
                    span: self.span_from(start),
                });
            } else if self.at_word("CYCLE") || self.at_word("NO") {
                options.push(self.option(SEQUENCE)?);
            } else if alter && self.eat_word("RESTART") {
                options.push(Opt {
                    name: "RESTART".into(),
                    equals: false,
                    value: None,
                    span: self.span_from(start),
                });
            } else {
                break;
            }
        }
        Ok(Statement::Sequence(Box::new(Sequence {
            name,
            alter,
            data_type,
            options,
        })))
    }
}
