//! Statements on rows.

use super::Printer;
use crate::ast::Statement;
use crate::ast::dml::{
    Delete, Insert, InsertSource, Merge, MergeAction, MergeClause, MergeWhen, Output, SetClause,
    Target, TargetTable, Update,
};
use crate::ast::expr::Condition;
use crate::ast::query::Top;

impl Printer {
    /// Prints a statement of this group; false if it is none.
    pub(super) fn row_statement(&mut self, statement: &Statement) -> bool {
        match statement {
            Statement::Select(query) => self.query(query),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Merge(merge) => self.merge(merge),
            Statement::Truncate(truncate) => {
                self.put("TRUNCATE TABLE ");
                self.name(&truncate.table);
                self.with_parens(&truncate.options);
            }
            Statement::BulkInsert(bulk) => {
                self.put("BULK INSERT ");
                self.name(&bulk.table);
                self.put(" FROM ");
                self.expr(&bulk.file);
                self.with_parens(&bulk.options);
            }
            Statement::InsertBulk(bulk) => {
                self.put("INSERT BULK ");
                self.name(&bulk.table);
                self.put(" ");
                self.parens(&bulk.columns, Self::column_def);
                self.with_parens(&bulk.options);
            }
            _ => return false,
        }
        true
    }

    fn target_table(&mut self, table: &TargetTable) {
        match table {
            TargetTable::Name(name) => self.name(name),
            TargetTable::Variable(variable) => self.ident(variable),
            TargetTable::Rowset(word, args) => {
                self.put(word);
                self.parens(args, Self::expr);
            }
        }
    }

    fn target(&mut self, word: &str, top: Option<&Top>, target: &Target) {
        self.put(word);
        if let Some(top) = top {
            self.top(top);
            self.put(" ");
        }
        self.flag(word == "INSERT ", "INTO ");
        self.flag(word == "DELETE ", "FROM ");
        self.target_table(&target.table);
        self.table_hints(&target.hints);
    }

    fn outputs(&mut self, outputs: &[Output]) {
        for output in outputs {
            self.put(" OUTPUT ");
            self.list(&output.items, Self::select_item);
            if let Some((table, columns)) = &output.into {
                self.put(" INTO ");
                self.target_table(table);
                self.columns(columns);
            }
        }
    }

    fn filter(&mut self, filter: Option<&Condition>) {
        self.maybe(" WHERE ", filter, Self::condition);
    }

    fn insert(&mut self, insert: &Insert) {
        self.ctes(&insert.ctes);
        self.target("INSERT ", insert.top.as_ref(), &insert.target);
        if !insert.columns.is_empty() {
            self.put(" ");
            self.parens(&insert.columns, Self::name);
        }
        self.outputs(&insert.output);
        self.put(" ");
        match &insert.source {
            InsertSource::Values(rows) => self.clause("VALUES ", rows, |p, row| p.row(row)),
            InsertSource::DefaultValues => self.put("DEFAULT VALUES"),
            InsertSource::Query(query) => self.query(query),
            InsertSource::Execute(execute) => self.execute(execute),
        }
        self.query_options(&insert.options);
    }

    fn update(&mut self, update: &Update) {
        self.ctes(&update.ctes);
        self.target("UPDATE ", update.top.as_ref(), &update.target);
        self.put(" SET ");
        self.list(&update.sets, Self::set_clause);
        self.outputs(&update.output);
        self.clause(" FROM ", &update.from, Self::table_ref);
        self.filter(update.filter.as_ref());
        self.query_options(&update.options);
    }

    fn set_clause(&mut self, set: &SetClause) {
        match set {
            SetClause::Column(column, op, value) => {
                self.name(column);
                self.assign(*op);
                self.expr(value);
            }
            SetClause::Variable(variable, op, value) => {
                self.ident(variable);
                self.assign(*op);
                self.expr(value);
            }
            SetClause::Both(variable, column, op, value) => {
                self.ident(variable);
                self.put(" = ");
                self.name(column);
                self.assign(*op);
                self.expr(value);
            }
            SetClause::Method(column, method, args) => {
                self.name(column);
                self.put(".");
                self.ident(method);
                self.parens(args, Self::expr);
            }
        }
    }

    fn delete(&mut self, delete: &Delete) {
        self.ctes(&delete.ctes);
        self.target("DELETE ", delete.top.as_ref(), &delete.target);
        self.outputs(&delete.output);
        self.clause(" FROM ", &delete.from, Self::table_ref);
        self.filter(delete.filter.as_ref());
        self.query_options(&delete.options);
    }

    fn merge(&mut self, merge: &Merge) {
        self.ctes(&merge.ctes);
        self.target("MERGE ", merge.top.as_ref(), &merge.target);
        self.maybe(" AS ", merge.alias.as_ref(), Self::ident);
        self.put(" USING ");
        self.table_ref(&merge.source);
        self.put(" ON ");
        self.condition(&merge.on);
        for clause in &merge.clauses {
            self.merge_clause(clause);
        }
        self.outputs(&merge.output);
        self.query_options(&merge.options);
    }

    fn merge_clause(&mut self, clause: &MergeClause) {
        self.put(match clause.when {
            MergeWhen::Matched => " WHEN MATCHED",
            MergeWhen::NotMatchedByTarget => " WHEN NOT MATCHED BY TARGET",
            MergeWhen::NotMatchedBySource => " WHEN NOT MATCHED BY SOURCE",
        });
        self.maybe(" AND ", clause.condition.as_ref(), Self::condition);
        self.put(" THEN ");
        match &clause.action {
            MergeAction::Update(sets) => self.clause("UPDATE SET ", sets, Self::set_clause),
            MergeAction::Delete => self.put("DELETE"),
            MergeAction::InsertDefaults => self.put("INSERT DEFAULT VALUES"),
            MergeAction::Insert(columns, row) => {
                self.put("INSERT");
                self.columns(columns);
                self.put(" VALUES ");
                self.row(row);
            }
        }
    }
}
