//! Tables: columns, constraints, ALTER TABLE.

use super::cursor::Parser;
use super::options;
use crate::ast::Statement;
use crate::ast::name::Ident;
use crate::ast::table::{
    AlterTable, ColumnAttribute, ColumnDef, ColumnKind, Constraint, ConstraintKind, CreateTable,
    DataSpace, ForeignKey, InlineIndex, KeyAction, KeyConstraint, OnePartition, TableAction,
    TableDrop, TableElement,
};
use crate::error::Parsed;
use crate::lex::{Keyword, Kind};

impl Parser<'_> {
    pub(super) fn create_table(&mut self) -> Parsed<Statement> {
        let name = self.object_name()?;
        let elements = self.table_elements()?;
        let on = self.data_space()?;
        let text_on = if self.eat_word("TEXTIMAGE_ON") {
            Some(self.ident_or_string()?)
        } else {
            None
        };
        let options = self.with_parens(options::TABLE)?;
        Ok(Statement::CreateTable(Box::new(CreateTable {
            name,
            elements,
            on,
            text_on,
            options,
        })))
    }

    /// `ON filegroup` or `ON scheme (column)`, if it comes next.
    pub(super) fn data_space(&mut self) -> Parsed<Option<DataSpace>> {
        if !self.eat_keyword(Keyword::ON) {
            return Ok(None);
        }
        let name = if self.at_keyword(Keyword::DEFAULT) {
            return Err(self.unexpected());
        } else {
            self.ident_or_string()?
        };
        let mut column = None;
        if self.eat(Kind::Open) {
            column = Some(self.ident()?);
            self.expect(Kind::Close)?;
        }
        Ok(Some(DataSpace { name, column }))
    }

    /// `(column, constraint, ..)`; a comma after the last is allowed.
    pub(super) fn table_elements(&mut self) -> Parsed<Vec<TableElement>> {
        self.expect(Kind::Open)?;
        let mut elements = vec![self.table_element()?];
        loop {
            // A constraint may follow without a comma.
            let comma = self.eat(Kind::Comma);
            if self.eat(Kind::Close) {
                return Ok(elements);
            }
            if !comma && !self.at_constraint() {
                return Err(self.unexpected());
            }
            elements.push(self.table_element()?);
        }
    }

    fn at_constraint(&self) -> bool {
        use Keyword as K;
        matches!(
            self.kind(),
            Kind::Keyword(
                K::CONSTRAINT | K::PRIMARY | K::UNIQUE | K::FOREIGN | K::CHECK | K::DEFAULT
            )
        )
    }

    fn table_element(&mut self) -> Parsed<TableElement> {
        if self.at_constraint() {
            let constraint = self.constraint(false)?;
            return Ok(TableElement::Constraint(Box::new(constraint)));
        }
        if self.at_keyword(Keyword::INDEX) {
            return Ok(TableElement::Index(Box::new(self.inline_index()?)));
        }
        Ok(TableElement::Column(Box::new(self.column_def()?)))
    }

    fn inline_index(&mut self) -> Parsed<InlineIndex> {
        self.expect_keyword(Keyword::INDEX)?;
        let name = self.ident()?;
        let index = self.index_body(true)?;
        Ok(InlineIndex { name, index })
    }

    pub(super) fn column_def(&mut self) -> Parsed<ColumnDef> {
        let name = self.ident()?;
        let kind = if self.eat_keyword(Keyword::AS) {
            let expr = self.expr()?;
            let persisted = self.eat_word("PERSISTED");
            ColumnKind::Computed { expr, persisted }
        } else if name.is_word("timestamp") && !self.at_ident() {
            ColumnKind::Timestamp
        } else {
            ColumnKind::Stored(self.data_type()?)
        };
        let mut attributes = Vec::new();
        while let Some(attribute) = self.column_attribute()? {
            attributes.push(attribute);
        }
        Ok(ColumnDef {
            name,
            kind,
            attributes,
        })
    }

    fn column_attribute(&mut self) -> Parsed<Option<ColumnAttribute>> {
        use Keyword as K;
        let attribute = match self.kind() {
            Kind::Keyword(K::NULL) => {
                self.bump();
                ColumnAttribute::Null(true)
            }
            Kind::Keyword(K::NOT) => {
                self.bump();
                self.expect_keyword(K::NULL)?;
                ColumnAttribute::Null(false)
            }
            Kind::Keyword(K::IDENTITY) => self.identity()?,
            Kind::Keyword(K::COLLATE) => {
                self.bump();
                ColumnAttribute::Collate(self.collation()?)
            }
            Kind::Keyword(K::ROWGUIDCOL) => {
                self.bump();
                ColumnAttribute::RowGuidCol
            }
            Kind::Word if self.eat_word("SPARSE") => ColumnAttribute::Sparse,
            Kind::Keyword(K::INDEX) => ColumnAttribute::Index(Box::new(self.inline_index()?)),
            Kind::Keyword(
                K::CONSTRAINT
                | K::PRIMARY
                | K::UNIQUE
                | K::FOREIGN
                | K::REFERENCES
                | K::CHECK
                | K::DEFAULT,
            ) => ColumnAttribute::Constraint(Box::new(self.constraint(true)?)),
            _ => return Ok(None),
        };
        Ok(Some(attribute))
    }

    /// An expression of a constraint, in which a subquery is error 1046.
    fn of_scalars<T>(&mut self, read: fn(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.scope.scalars_only = true;
        let read = read(self);
        self.scope.scalars_only = false;
        read
    }

    fn identity(&mut self) -> Parsed<ColumnAttribute> {
        self.bump();
        let mut range = None;
        if self.eat(Kind::Open) {
            let seed = self.constant()?;
            self.expect(Kind::Comma)?;
            range = Some((seed, self.constant()?));
            self.expect(Kind::Close)?;
        }
        let not_for_replication = self.eat_words(&["NOT", "FOR", "REPLICATION"]);
        Ok(ColumnAttribute::Identity {
            range,
            not_for_replication,
        })
    }

    /// A constraint, of a column or of the table.
    fn constraint(&mut self, of_column: bool) -> Parsed<Constraint> {
        use Keyword as K;
        let name = if self.eat_keyword(K::CONSTRAINT) {
            Some(self.ident()?)
        } else {
            None
        };
        let kind = match self.kind() {
            Kind::Keyword(K::PRIMARY | K::UNIQUE) => {
                ConstraintKind::Key(self.key_constraint(of_column)?)
            }
            Kind::Keyword(K::FOREIGN | K::REFERENCES) => {
                ConstraintKind::References(self.foreign_key(of_column)?)
            }
            Kind::Keyword(K::CHECK) => {
                self.bump();
                let not_for_replication = self.eat_words(&["NOT", "FOR", "REPLICATION"]);
                self.expect(Kind::Open)?;
                let condition = self.of_scalars(Self::condition)?;
                self.expect(Kind::Close)?;
                ConstraintKind::Check {
                    condition,
                    not_for_replication,
                }
            }
            Kind::Keyword(K::DEFAULT) => {
                self.bump();
                let value = self.of_scalars(Self::expr)?;
                let column = if !of_column && self.eat_keyword(K::FOR) {
                    Some(self.ident()?)
                } else {
                    None
                };
                let with_values = self.eat_words(&["WITH", "VALUES"]);
                ConstraintKind::Default {
                    value,
                    column,
                    with_values,
                }
            }
            _ => return Err(self.unexpected()),
        };
        Ok(Constraint { name, kind })
    }

    fn key_constraint(&mut self, of_column: bool) -> Parsed<KeyConstraint> {
        let primary = self.eat_words(&["PRIMARY", "KEY"]);
        if !primary {
            self.expect_keyword(Keyword::UNIQUE)?;
        }
        let clustered = self.clustered();
        let columns = if !of_column || self.kind() == Kind::Open {
            self.parens(Self::index_column)?
        } else {
            Vec::new()
        };
        let options = self.key_options()?;
        let on = self.data_space()?;
        Ok(KeyConstraint {
            primary,
            clustered,
            columns,
            options,
            on,
        })
    }

    /// `WITH (..)`, or the old `WITH FILLFACTOR = n`.
    fn key_options(&mut self) -> Parsed<Vec<crate::ast::option::Opt>> {
        if self.at_words(&["WITH", "FILLFACTOR"]) {
            self.bump();
            return Ok(vec![self.option(options::INDEX)?]);
        }
        self.with_parens(options::INDEX)
    }

    fn foreign_key(&mut self, of_column: bool) -> Parsed<ForeignKey> {
        let mut columns = Vec::new();
        if self.eat_words(&["FOREIGN", "KEY"]) && (!of_column || self.kind() == Kind::Open) {
            columns = self.column_list()?;
        }
        self.expect_keyword(Keyword::REFERENCES)?;
        let table = self.object_name()?;
        let referenced = self.optional_columns()?;
        let mut key = ForeignKey {
            columns,
            table,
            referenced,
            on_delete: None,
            on_update: None,
            not_for_replication: false,
        };
        loop {
            if self.eat_words(&["ON", "DELETE"]) {
                key.on_delete = Some(self.key_action()?);
            } else if self.eat_words(&["ON", "UPDATE"]) {
                key.on_update = Some(self.key_action()?);
            } else if self.eat_words(&["NOT", "FOR", "REPLICATION"]) {
                key.not_for_replication = true;
            } else {
                return Ok(key);
            }
        }
    }

    fn key_action(&mut self) -> Parsed<KeyAction> {
        let action = self.one_of(&["NO ACTION", "CASCADE", "SET NULL", "SET DEFAULT"])?;
        Ok(match &*action {
            "NO ACTION" => KeyAction::NoAction,
            "CASCADE" => KeyAction::Cascade,
            "SET NULL" => KeyAction::SetNull,
            _ => KeyAction::SetDefault,
        })
    }

    pub(super) fn alter_table(&mut self) -> Parsed<Statement> {
        let table = self.object_name()?;
        let action = self.table_action()?;
        Ok(Statement::AlterTable(Box::new(AlterTable {
            table,
            action,
        })))
    }

    fn table_action(&mut self) -> Parsed<TableAction> {
        let mut check = None;
        if self.eat_words(&["WITH", "CHECK"]) {
            check = Some(true);
        } else if self.eat_words(&["WITH", "NOCHECK"]) {
            check = Some(false);
        }
        if self.eat_keyword(Keyword::ADD) {
            let elements = self.list(Self::table_element)?;
            return Ok(TableAction::Add { check, elements });
        }
        if self.at_keyword(Keyword::CHECK) || self.at_keyword(Keyword::NOCHECK) {
            let enable = self.bump().kind == Kind::Keyword(Keyword::CHECK);
            self.expect_keyword(Keyword::CONSTRAINT)?;
            return Ok(TableAction::CheckConstraint {
                with_check: check,
                enable,
                names: self.names_or_all()?,
            });
        }
        if check.is_some() {
            return Err(self.unexpected());
        }
        match self.kind() {
            Kind::Keyword(Keyword::ALTER) => self.alter_column(),
            Kind::Keyword(Keyword::DROP) => {
                self.bump();
                Ok(TableAction::Drop(self.table_drops()?))
            }
            Kind::Keyword(Keyword::SET) => {
                self.bump();
                Ok(TableAction::Set(self.parens(|p| p.option(options::TABLE))?))
            }
            _ if self.at_word("ENABLE") || self.at_word("DISABLE") => {
                let enable = self.at_word("ENABLE");
                self.bump();
                self.expect_keyword(Keyword::TRIGGER)?;
                Ok(TableAction::Trigger(enable, self.names_or_all()?))
            }
            _ if self.eat_word("REBUILD") => {
                let partition = self.one_partition()?;
                let options = self.with_parens(options::INDEX)?;
                Ok(TableAction::Rebuild(partition, options))
            }
            _ if self.eat_word("SWITCH") => {
                let from = self.partition_number()?;
                self.expect_keyword(Keyword::TO)?;
                let to = self.object_name()?;
                Ok(TableAction::Switch(from, to, self.partition_number()?))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `ALL` or names; ALL gives none.
    fn names_or_all(&mut self) -> Parsed<Vec<Ident>> {
        if self.eat_keyword(Keyword::ALL) {
            return Ok(Vec::new());
        }
        self.list(Self::ident)
    }

    fn partition_number(&mut self) -> Parsed<Option<crate::ast::expr::Expr>> {
        if self.eat_word("PARTITION") {
            return self.expr().map(Some);
        }
        Ok(None)
    }

    /// `PARTITION = ALL | n`, if it comes next.
    pub(super) fn one_partition(&mut self) -> Parsed<Option<OnePartition>> {
        if !self.eat_word("PARTITION") {
            return Ok(None);
        }
        self.expect(Kind::Eq)?;
        if self.eat_keyword(Keyword::ALL) {
            return Ok(Some(OnePartition::All));
        }
        Ok(Some(OnePartition::Number(self.expr()?)))
    }

    fn alter_column(&mut self) -> Parsed<TableAction> {
        self.bump();
        self.expect_keyword(Keyword::COLUMN)?;
        let added = self.is_word(1, "ADD");
        if added || self.is_word(1, "DROP") {
            let column = self.ident()?;
            self.bump();
            let word = self.one_of(&[
                "ROWGUIDCOL",
                "PERSISTED",
                "NOT FOR REPLICATION",
                "SPARSE",
                "HIDDEN",
            ])?;
            return Ok(TableAction::ColumnProperty(column, added, word));
        }
        let column = self.column_def()?;
        let options = self.with_parens(options::INDEX)?;
        Ok(TableAction::AlterColumn(Box::new(column), options))
    }

    /// Each entry may name its kind; if it does not, it has the kind of the one before it.
    fn table_drops(&mut self) -> Parsed<Vec<TableDrop>> {
        let mut column = false;
        self.list(|p| {
            if p.eat_keyword(Keyword::COLUMN) {
                column = true;
            } else if p.eat_keyword(Keyword::CONSTRAINT) {
                column = false;
            }
            let if_exists = p.eat_words(&["IF", "EXISTS"]);
            let name = p.ident()?;
            let options = p.with_parens(options::INDEX)?;
            Ok(TableDrop {
                column,
                if_exists,
                name,
                options,
            })
        })
    }
}
