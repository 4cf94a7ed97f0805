//! Table hints, query hints, FOR XML and FOR JSON: words from fixed lists.

use super::cursor::Parser;
use crate::ast::query::{ForClause, ForOption, IndexRef, QueryHint, TableHint};
use crate::error::{INDEX_HINT, NEAR_CTE, Parsed, UNKNOWN_HINT};
use crate::lex::{Keyword, Kind};

/// Table hints that are one word.
pub(crate) const TABLE_HINTS: &[&str] = &[
    "FORCESCAN",
    "FORCESEEK",
    "HOLDLOCK",
    "IGNORE_CONSTRAINTS",
    "IGNORE_TRIGGERS",
    "KEEPDEFAULTS",
    "KEEPIDENTITY",
    "NOEXPAND",
    "NOLOCK",
    "NOWAIT",
    "PAGLOCK",
    "READCOMMITTED",
    "READCOMMITTEDLOCK",
    "READPAST",
    "READUNCOMMITTED",
    "REPEATABLEREAD",
    "ROWLOCK",
    "SERIALIZABLE",
    "SNAPSHOT",
    "TABLOCK",
    "TABLOCKX",
    "UPDLOCK",
    "XLOCK",
];

/// Query hints that are words alone.
const WORD_HINTS: &[&str] = &[
    "CONCAT UNION",
    "DISABLE EXTERNALPUSHDOWN",
    "DISABLE_OPTIMIZED_PLAN_FORCING",
    "EXPAND VIEWS",
    "FORCE EXTERNALPUSHDOWN",
    "FORCE ORDER",
    "HASH GROUP",
    "HASH JOIN",
    "HASH UNION",
    "IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX",
    "KEEP PLAN",
    "KEEPFIXED PLAN",
    "LOOP JOIN",
    "MERGE JOIN",
    "MERGE UNION",
    "NO_PERFORMANCE_SPOOL",
    "OPTIMIZE FOR UNKNOWN",
    "ORDER GROUP",
    "PARAMETERIZATION FORCED",
    "PARAMETERIZATION SIMPLE",
    "RECOMPILE",
    "ROBUST PLAN",
];

/// Query hints with a number.
const NUMBER_HINTS: &[&str] = &["FAST", "MAXDOP", "MAXRECURSION", "QUERYTRACEON"];

/// Query hints with `= number`.
const ASSIGNED_HINTS: &[&str] = &["MAX_GRANT_PERCENT", "MIN_GRANT_PERCENT"];

impl Parser<'_> {
    /// `WITH (hint, ..)`; commas between hints may be left out.
    pub(super) fn table_hints(&mut self) -> Parsed<Vec<TableHint>> {
        self.expect_keyword(Keyword::WITH)?;
        if self.kind() != Kind::Open {
            return if self.at_ident() {
                let near = self.shown(self.token());
                Err(self.error(NEAR_CTE, &[&near]))
            } else {
                Err(self.unexpected())
            };
        }
        self.hint_list()
    }

    /// Hints, if WITH comes next.
    pub(super) fn optional_hints(&mut self) -> Parsed<Vec<TableHint>> {
        if self.at_keyword(Keyword::WITH) {
            self.table_hints()
        } else {
            Ok(Vec::new())
        }
    }

    fn hint_list(&mut self) -> Parsed<Vec<TableHint>> {
        self.expect(Kind::Open)?;
        let mut hints = vec![self.table_hint()?];
        while !self.eat(Kind::Close) {
            self.eat(Kind::Comma);
            hints.push(self.table_hint()?);
        }
        Ok(hints)
    }

    fn table_hint(&mut self) -> Parsed<TableHint> {
        if self.eat_keyword(Keyword::INDEX) {
            let assigned = self.eat(Kind::Eq);
            if !assigned || self.kind() == Kind::Open {
                return Ok(TableHint::Index(self.parens(Self::index_ref)?));
            }
            return Ok(TableHint::Index(vec![self.index_ref()?]));
        }
        if self.at_word("FORCESEEK") && self.peek(1).kind == Kind::Open {
            self.bump();
            self.expect(Kind::Open)?;
            let index = self.index_ref()?;
            let columns = self.column_list()?;
            self.expect(Kind::Close)?;
            return Ok(TableHint::ForceSeek(index, columns));
        }
        match self.eat_one_of(TABLE_HINTS) {
            Some(word) => Ok(TableHint::Word(word.into())),
            None if self.at_ident() => {
                let near = self.shown(self.token());
                Err(self.error(UNKNOWN_HINT, &[&near]))
            }
            None => Err(self.unexpected()),
        }
    }

    fn index_ref(&mut self) -> Parsed<IndexRef> {
        if self.kind() == Kind::Integer {
            let token = self.bump();
            return Ok(IndexRef::Id(self.slice(token).into()));
        }
        Ok(IndexRef::Name(self.ident()?))
    }

    /// `(NOLOCK)` without WITH: one hint, which is no argument.
    pub(super) fn old_hint(&mut self) -> Parsed<Option<TableHint>> {
        if self.peek(1).kind == Kind::Keyword(Keyword::INDEX) {
            let token = self.peek(1);
            return Err(self.error_at(token, INDEX_HINT, &[self.slice(token)]));
        }
        let alone = self.peek(2).kind == Kind::Close;
        if !alone || !TABLE_HINTS.iter().any(|word| self.is_word(1, word)) {
            return Ok(None);
        }
        self.bump();
        let word = self.upper_word()?;
        self.expect(Kind::Close)?;
        Ok(Some(TableHint::Word(word)))
    }

    /// `OPTION (hint, ..)`, if it comes next.
    pub(super) fn option_clause(&mut self) -> Parsed<Vec<QueryHint>> {
        if self.eat_keyword(Keyword::OPTION) {
            self.parens(Self::query_hint)
        } else {
            Ok(Vec::new())
        }
    }

    fn query_hint(&mut self) -> Parsed<QueryHint> {
        if let Some(words) = self.eat_one_of(WORD_HINTS) {
            return Ok(QueryHint::Words(words.into()));
        }
        if let Some(word) = self.eat_one_of(NUMBER_HINTS) {
            return Ok(QueryHint::Value(word.into(), self.constant()?));
        }
        if let Some(word) = self.eat_one_of(ASSIGNED_HINTS) {
            self.expect(Kind::Eq)?;
            return Ok(QueryHint::Value(word.into(), self.constant()?));
        }
        if self.eat_words(&["OPTIMIZE", "FOR"]) {
            return Ok(QueryHint::OptimizeFor(self.parens(|p| {
                let variable = p.variable()?;
                if p.eat_word("UNKNOWN") {
                    return Ok((variable, None));
                }
                p.expect(Kind::Eq)?;
                Ok((variable, Some(p.constant()?)))
            })?));
        }
        if self.eat_words(&["USE", "HINT"]) {
            return Ok(QueryHint::UseHint(self.parens(Self::text_or_variable)?));
        }
        if self.eat_words(&["USE", "PLAN"]) {
            return Ok(QueryHint::UsePlan(self.text_or_variable()?));
        }
        if self.eat_word("LABEL") {
            self.expect(Kind::Eq)?;
            return Ok(QueryHint::Label(self.text_or_variable()?));
        }
        if self.eat_words(&["TABLE", "HINT"]) {
            self.expect(Kind::Open)?;
            let table = self.object_name()?;
            let mut hints = Vec::new();
            while self.eat(Kind::Comma) {
                hints.push(self.table_hint()?);
            }
            self.expect(Kind::Close)?;
            return Ok(QueryHint::TableHint(table, hints));
        }
        Err(self.unexpected())
    }

    /// `FOR XML`, `FOR JSON` or `FOR BROWSE`; what else begins with FOR belongs to others.
    pub(super) fn for_clause(&mut self) -> Parsed<Option<ForClause>> {
        const XML: &[&str] = &[
            "RAW",
            "AUTO",
            "EXPLICIT",
            "PATH",
            "XMLDATA",
            "XMLSCHEMA",
            "ELEMENTS XSINIL",
            "ELEMENTS ABSENT",
            "ELEMENTS",
            "BINARY BASE64",
            "TYPE",
            "ROOT",
        ];
        const JSON: &[&str] = &[
            "AUTO",
            "PATH",
            "ROOT",
            "INCLUDE_NULL_VALUES",
            "WITHOUT_ARRAY_WRAPPER",
        ];
        if self.eat_words(&["FOR", "BROWSE"]) {
            return Ok(Some(ForClause::Browse));
        }
        if self.eat_words(&["FOR", "XML"]) {
            return Ok(Some(ForClause::Xml(self.list(|p| p.for_option(XML))?)));
        }
        if self.eat_words(&["FOR", "JSON"]) {
            return Ok(Some(ForClause::Json(self.list(|p| p.for_option(JSON))?)));
        }
        Ok(None)
    }

    fn for_option(&mut self, known: &[&'static str]) -> Parsed<ForOption> {
        let name = self.one_of(known)?;
        let mut arg = None;
        if self.eat(Kind::Open) {
            arg = Some(self.constant()?);
            self.expect(Kind::Close)?;
        }
        Ok(ForOption { name, arg })
    }
}
