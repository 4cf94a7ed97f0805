//! MERGE.

use super::cursor::Parser;
use crate::ast::dml::{Merge, MergeAction, MergeClause, MergeWhen};
use crate::ast::query::Cte;
use crate::error::{MERGE_ACTION_TWICE, MERGE_UNREACHED, Parsed};
use crate::lex::{Keyword, Kind, Token};

impl Parser<'_> {
    pub(super) fn merge(&mut self, ctes: Vec<Cte>) -> Parsed<Merge> {
        self.bump();
        let top = self.top()?;
        self.eat_keyword(Keyword::INTO);
        let target = self.target()?;
        let alias = self.source_alias()?;
        self.expect_word("USING")?;
        let source = self.table_ref()?;
        self.expect_keyword(Keyword::ON)?;
        let on = self.condition()?;
        let mut clauses = vec![self.merge_clause()?];
        while self.at_keyword(Keyword::WHEN) {
            let when = self.token();
            let clause = self.merge_clause()?;
            self.check_merge_clause(&clauses, &clause, when)?;
            clauses.push(clause);
        }
        Ok(Merge {
            ctes,
            top,
            target,
            alias,
            source,
            on,
            clauses,
            output: self.outputs()?,
            options: self.option_clause()?,
        })
    }

    fn merge_clause(&mut self) -> Parsed<MergeClause> {
        self.expect_keyword(Keyword::WHEN)?;
        let not = self.eat_keyword(Keyword::NOT);
        self.expect_word("MATCHED")?;
        let mut when = MergeWhen::Matched;
        if not {
            when = MergeWhen::NotMatchedByTarget;
            if self.eat_keyword(Keyword::BY) && !self.eat_word("TARGET") {
                self.expect_word("SOURCE")?;
                when = MergeWhen::NotMatchedBySource;
            }
        }
        let condition = if self.eat_keyword(Keyword::AND) {
            Some(self.condition()?)
        } else {
            None
        };
        self.expect_keyword(Keyword::THEN)?;
        let action = self.merge_action(when)?;
        Ok(MergeClause {
            when,
            condition,
            action,
        })
    }

    /// Each kind of rows has each action once (10714), and a clause without a condition is the last one of
    /// its kind (5324).
    fn check_merge_clause(
        &self,
        before: &[MergeClause],
        clause: &MergeClause,
        token: Token,
    ) -> Parsed<()> {
        let kind = match clause.when {
            MergeWhen::Matched => "WHEN MATCHED",
            MergeWhen::NotMatchedByTarget => "WHEN NOT MATCHED",
            MergeWhen::NotMatchedBySource => "WHEN NOT MATCHED BY SOURCE",
        };
        let action = verb(&clause.action);
        let alike = || before.iter().filter(|c| c.when == clause.when);
        if alike().any(|c| verb(&c.action) == action) {
            return Err(self.error_at(token, MERGE_ACTION_TWICE, &[action, kind]));
        }
        if alike().next().is_some_and(|c| c.condition.is_none()) {
            return Err(self.error_at(token, MERGE_UNREACHED, &[kind, kind]));
        }
        Ok(())
    }

    /// Rows that the target has are updated or deleted, rows that it lacks are inserted.
    fn merge_action(&mut self, when: MergeWhen) -> Parsed<MergeAction> {
        if when != MergeWhen::NotMatchedByTarget {
            if self.eat_keyword(Keyword::DELETE) {
                return Ok(MergeAction::Delete);
            }
            self.expect_keyword(Keyword::UPDATE)?;
            self.expect_keyword(Keyword::SET)?;
            return Ok(MergeAction::Update(self.list(Self::set_clause)?));
        }
        self.expect_keyword(Keyword::INSERT)?;
        let columns = if self.kind() == Kind::Open {
            self.column_list()?
        } else {
            Vec::new()
        };
        if columns.is_empty() && self.eat_keyword(Keyword::DEFAULT) {
            self.expect_keyword(Keyword::VALUES)?;
            return Ok(MergeAction::InsertDefaults);
        }
        self.expect_keyword(Keyword::VALUES)?;
        Ok(MergeAction::Insert(columns, self.row()?))
    }
}

/// The word of an action.
fn verb(action: &MergeAction) -> &'static str {
    match action {
        MergeAction::Update(_) => "UPDATE",
        MergeAction::Delete => "DELETE",
        MergeAction::Insert(..) | MergeAction::InsertDefaults => "INSERT",
    }
}
