//! Tables, indexes, statistics, partitions, types, sequences, DROP.

use super::Printer;
use crate::ast::Statement;
use crate::ast::table::{
    AlterTable, ColumnAttribute, ColumnDef, ColumnKind, Constraint, ConstraintKind, DataSpace,
    ForeignKey, IndexAction, IndexBody, InlineIndex, KeyAction, KeyConstraint, OnePartition,
    Sequence, TableAction, TableDrop, TableElement, TypeKind,
};

impl Printer {
    /// Prints a statement of this group; false if it is none.
    pub(super) fn object_statement(&mut self, statement: &Statement) -> bool {
        match statement {
            Statement::CreateTable(table) => {
                self.put("CREATE TABLE ");
                self.name(&table.name);
                self.put(" ");
                self.parens(&table.elements, Self::element);
                self.data_space(table.on.as_ref());
                self.maybe(" TEXTIMAGE_ON ", table.text_on.as_ref(), Self::ident);
                self.with_parens(&table.options);
            }
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::CreateIndex(create) => {
                self.put("CREATE ");
                self.index_kinds(&create.index);
                self.put("INDEX ");
                self.ident(&create.name);
                self.put(" ON ");
                self.name(&create.table);
                self.index_rest(&create.index);
            }
            Statement::AlterIndex(alter) => {
                self.put("ALTER INDEX ");
                match &alter.name {
                    Some(name) => self.ident(name),
                    None => self.put("ALL"),
                }
                self.put(" ON ");
                self.name(&alter.table);
                self.index_action(&alter.action);
            }
            Statement::DropIndex(drop) => {
                self.put("DROP INDEX ");
                self.flag(drop.if_exists, "IF EXISTS ");
                self.list(&drop.indexes, |p, (name, table)| {
                    p.name(name);
                    p.maybe(" ON ", table.as_ref(), Self::name);
                });
                self.with_parens(&drop.options);
            }
            Statement::Drop(drop) => {
                self.put("DROP ");
                self.put(&drop.kind);
                self.put(" ");
                self.flag(drop.if_exists, "IF EXISTS ");
                self.list(&drop.names, Self::name);
                self.maybe(" ON ", drop.scope.as_ref(), |p, scope| p.put(scope));
            }
            _ => return self.small_object_statement(statement),
        }
        true
    }

    fn small_object_statement(&mut self, statement: &Statement) -> bool {
        match statement {
            Statement::CreateStatistics(create) => {
                self.put("CREATE STATISTICS ");
                self.ident(&create.name);
                self.put(" ON ");
                self.name(&create.table);
                self.columns(&create.columns);
                self.maybe(" WHERE ", create.filter.as_ref(), Self::condition);
                self.clause(" WITH ", &create.options, Self::opt);
            }
            Statement::UpdateStatistics(update) => {
                self.put("UPDATE STATISTICS ");
                self.name(&update.table);
                self.columns(&update.names);
                self.clause(" WITH ", &update.options, Self::opt);
            }
            Statement::CreatePartitionFunction(create) => {
                self.put("CREATE PARTITION FUNCTION ");
                self.ident(&create.name);
                self.put(" (");
                self.data_type(&create.data_type);
                self.put(") AS RANGE ");
                self.put(if create.right { "RIGHT" } else { "LEFT" });
                self.put(" FOR VALUES ");
                self.parens(&create.values, Self::expr);
            }
            Statement::CreatePartitionScheme(create) => {
                self.put("CREATE PARTITION SCHEME ");
                self.ident(&create.name);
                self.put(" AS PARTITION ");
                self.ident(&create.function);
                self.flag(create.all, " ALL");
                self.put(" TO ");
                self.parens(&create.filegroups, Self::ident);
            }
            Statement::CreateType(create) => {
                self.put("CREATE TYPE ");
                self.name(&create.name);
                match &create.kind {
                    TypeKind::Alias(base, nullable) => {
                        self.put(" FROM ");
                        self.data_type(base);
                        self.nullable(*nullable);
                    }
                    TypeKind::Table(elements, options) => {
                        self.put(" AS TABLE ");
                        self.parens(elements, Self::element);
                        self.with_parens(options);
                    }
                }
            }
            Statement::Sequence(sequence) => self.sequence(sequence),
            Statement::CreateSynonym(name, target) => {
                self.put("CREATE SYNONYM ");
                self.name(name);
                self.put(" FOR ");
                self.name(target);
            }
            _ => return false,
        }
        true
    }

    fn sequence(&mut self, sequence: &Sequence) {
        self.put(if sequence.alter { "ALTER" } else { "CREATE" });
        self.put(" SEQUENCE ");
        self.name(&sequence.name);
        self.maybe(" AS ", sequence.data_type.as_ref(), Self::data_type);
        for option in &sequence.options {
            self.put(" ");
            self.opt(option);
        }
    }

    pub(super) fn nullable(&mut self, nullable: Option<bool>) {
        match nullable {
            Some(true) => self.put(" NULL"),
            Some(false) => self.put(" NOT NULL"),
            None => {}
        }
    }

    pub(super) fn element(&mut self, element: &TableElement) {
        match element {
            TableElement::Column(column) => self.column_def(column),
            TableElement::Constraint(constraint) => self.constraint(constraint),
            TableElement::Index(index) => self.inline_index(index),
        }
    }

    fn inline_index(&mut self, index: &InlineIndex) {
        self.put("INDEX ");
        self.ident(&index.name);
        self.put(" ");
        self.index_kinds(&index.index);
        self.index_rest(&index.index);
    }

    pub(super) fn column_def(&mut self, column: &ColumnDef) {
        self.ident(&column.name);
        match &column.kind {
            ColumnKind::Stored(data_type) => {
                self.put(" ");
                self.data_type(data_type);
            }
            ColumnKind::Timestamp => {}
            ColumnKind::Computed { expr, persisted } => {
                self.put(" AS (");
                self.expr(expr);
                self.put(")");
                self.flag(*persisted, " PERSISTED");
            }
        }
        for attribute in &column.attributes {
            self.attribute(attribute);
        }
    }

    fn attribute(&mut self, attribute: &ColumnAttribute) {
        match attribute {
            ColumnAttribute::Null(nullable) => self.nullable(Some(*nullable)),
            ColumnAttribute::Identity {
                range,
                not_for_replication,
            } => {
                self.put(" IDENTITY");
                if let Some((seed, increment)) = range {
                    self.put("(");
                    self.expr(seed);
                    self.put(", ");
                    self.expr(increment);
                    self.put(")");
                }
                self.flag(*not_for_replication, " NOT FOR REPLICATION");
            }
            ColumnAttribute::Collate(collation) => {
                self.put(" COLLATE ");
                self.ident(collation);
            }
            ColumnAttribute::RowGuidCol => self.put(" ROWGUIDCOL"),
            ColumnAttribute::Sparse => self.put(" SPARSE"),
            ColumnAttribute::Index(index) => {
                self.put(" ");
                self.inline_index(index);
            }
            ColumnAttribute::Constraint(constraint) => {
                self.put(" ");
                self.constraint(constraint);
            }
        }
    }

    fn constraint(&mut self, constraint: &Constraint) {
        if let Some(name) = &constraint.name {
            self.put("CONSTRAINT ");
            self.ident(name);
            self.put(" ");
        }
        match &constraint.kind {
            ConstraintKind::Key(key) => self.key(key),
            ConstraintKind::References(key) => self.foreign_key(key),
            ConstraintKind::Check {
                condition,
                not_for_replication,
            } => {
                self.put("CHECK ");
                self.flag(*not_for_replication, "NOT FOR REPLICATION ");
                self.put("(");
                self.condition(condition);
                self.put(")");
            }
            ConstraintKind::Default {
                value,
                column,
                with_values,
            } => {
                self.put("DEFAULT (");
                self.expr(value);
                self.put(")");
                self.maybe(" FOR ", column.as_ref(), Self::ident);
                self.flag(*with_values, " WITH VALUES");
            }
        }
    }

    fn clustered(&mut self, clustered: Option<bool>) {
        match clustered {
            Some(true) => self.put("CLUSTERED "),
            Some(false) => self.put("NONCLUSTERED "),
            None => {}
        }
    }

    fn key(&mut self, key: &KeyConstraint) {
        self.put(if key.primary {
            "PRIMARY KEY "
        } else {
            "UNIQUE "
        });
        self.clustered(key.clustered);
        if !key.columns.is_empty() {
            self.parens(&key.columns, Self::index_column);
        }
        self.with_parens(&key.options);
        self.data_space(key.on.as_ref());
    }

    fn foreign_key(&mut self, key: &ForeignKey) {
        if !key.columns.is_empty() {
            self.put("FOREIGN KEY ");
            self.parens(&key.columns, Self::ident);
            self.put(" ");
        }
        self.put("REFERENCES ");
        self.name(&key.table);
        self.columns(&key.referenced);
        let action = |p: &mut Self, action: &KeyAction| {
            p.put(match action {
                KeyAction::NoAction => "NO ACTION",
                KeyAction::Cascade => "CASCADE",
                KeyAction::SetNull => "SET NULL",
                KeyAction::SetDefault => "SET DEFAULT",
            });
        };
        self.maybe(" ON DELETE ", key.on_delete.as_ref(), action);
        self.maybe(" ON UPDATE ", key.on_update.as_ref(), action);
        self.flag(key.not_for_replication, " NOT FOR REPLICATION");
    }

    fn data_space(&mut self, space: Option<&DataSpace>) {
        self.maybe(" ON ", space, |p, space| {
            p.ident(&space.name);
            if let Some(column) = &space.column {
                p.put("(");
                p.ident(column);
                p.put(")");
            }
        });
    }

    fn index_kinds(&mut self, index: &IndexBody) {
        self.flag(index.unique, "UNIQUE ");
        self.clustered(index.clustered);
        self.flag(index.columnstore, "COLUMNSTORE ");
    }

    fn index_rest(&mut self, index: &IndexBody) {
        if !index.columns.is_empty() {
            self.put(" ");
            self.parens(&index.columns, Self::index_column);
        }
        if !index.include.is_empty() {
            self.put(" INCLUDE ");
            self.parens(&index.include, Self::ident);
        }
        self.maybe(" WHERE ", index.filter.as_ref(), Self::condition);
        self.with_parens(&index.options);
        self.data_space(index.on.as_ref());
    }

    fn partition(&mut self, partition: Option<&OnePartition>) {
        self.maybe(" PARTITION = ", partition, |p, partition| match partition {
            OnePartition::All => p.put("ALL"),
            OnePartition::Number(number) => p.expr(number),
        });
    }

    fn index_action(&mut self, action: &IndexAction) {
        match action {
            IndexAction::Rebuild(partition, options) => {
                self.put(" REBUILD");
                self.partition(partition.as_ref());
                self.with_parens(options);
            }
            IndexAction::Reorganize(partition, options) => {
                self.put(" REORGANIZE");
                self.partition(partition.as_ref());
                self.with_parens(options);
            }
            IndexAction::Disable => self.put(" DISABLE"),
            IndexAction::Set(options) => {
                self.put(" SET ");
                self.parens(options, Self::opt);
            }
            IndexAction::Resumable(word) => {
                self.put(" ");
                self.put(word);
            }
        }
    }

    fn check(&mut self, check: Option<bool>) {
        match check {
            Some(true) => self.put(" WITH CHECK"),
            Some(false) => self.put(" WITH NOCHECK"),
            None => {}
        }
    }

    fn alter_table(&mut self, alter: &AlterTable) {
        self.put("ALTER TABLE ");
        self.name(&alter.table);
        match &alter.action {
            TableAction::Add { check, elements } => {
                self.check(*check);
                self.clause(" ADD ", elements, Self::element);
            }
            TableAction::AlterColumn(column, options) => {
                self.put(" ALTER COLUMN ");
                self.column_def(column);
                self.with_parens(options);
            }
            TableAction::ColumnProperty(column, add, word) => {
                self.put(" ALTER COLUMN ");
                self.ident(column);
                self.put(if *add { " ADD " } else { " DROP " });
                self.put(word);
            }
            TableAction::Drop(drops) => self.clause(" DROP ", drops, Self::table_drop),
            TableAction::CheckConstraint {
                with_check,
                enable,
                names,
            } => {
                self.check(*with_check);
                self.put(if *enable { " CHECK" } else { " NOCHECK" });
                self.put(" CONSTRAINT ");
                self.flag(names.is_empty(), "ALL");
                self.list(names, Self::ident);
            }
            TableAction::Trigger(enable, names) => {
                self.put(if *enable { " ENABLE" } else { " DISABLE" });
                self.put(" TRIGGER ");
                self.flag(names.is_empty(), "ALL");
                self.list(names, Self::ident);
            }
            TableAction::Rebuild(partition, options) => {
                self.put(" REBUILD");
                self.partition(partition.as_ref());
                self.with_parens(options);
            }
            TableAction::Switch(from, to, number) => {
                self.put(" SWITCH");
                self.maybe(" PARTITION ", from.as_ref(), Self::expr);
                self.put(" TO ");
                self.name(to);
                self.maybe(" PARTITION ", number.as_ref(), Self::expr);
            }
            TableAction::Set(options) => {
                self.put(" SET ");
                self.parens(options, Self::opt);
            }
        }
    }

    fn table_drop(&mut self, drop: &TableDrop) {
        self.put(if drop.column {
            "COLUMN "
        } else {
            "CONSTRAINT "
        });
        self.flag(drop.if_exists, "IF EXISTS ");
        self.ident(&drop.name);
        self.with_parens(&drop.options);
    }
}
