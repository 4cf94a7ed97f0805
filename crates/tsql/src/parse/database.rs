//! CREATE DATABASE and ALTER DATABASE.

use super::cursor::Parser;
use super::options;
use crate::ast::Statement;
use crate::ast::database::{
    AlterDatabase, Attach, CreateDatabase, DatabaseAction, FileSpec, FilegroupSpec, MaxSize,
    Termination,
};
use crate::ast::name::Ident;
use crate::ast::option::{Opt, OptValue};
use crate::error::{LOG_ALONE, Parsed};
use crate::lex::{Keyword, Kind};

const SIZE_UNITS: &[&str] = &["KB", "MB", "GB", "TB", ""];
const GROWTH_UNITS: &[&str] = &["KB", "MB", "GB", "TB", "%", ""];

impl Parser<'_> {
    pub(super) fn create_database(&mut self) -> Parsed<Statement> {
        let name = self.ident()?;
        let containment = if self.eat_word("CONTAINMENT") {
            self.expect(Kind::Eq)?;
            Some(self.one_of(&["NONE", "PARTIAL"])?)
        } else {
            None
        };
        let mut filegroups = Vec::new();
        if self.at_keyword(Keyword::ON) {
            self.bump();
            filegroups = self.filegroups()?;
        }
        let mut log = Vec::new();
        if self.at_words(&["LOG", "ON"]) {
            if filegroups.is_empty() {
                return Err(self.error(LOG_ALONE, &[]));
            }
            self.expect_words("LOG ON")?;
            log = self.list(Self::file_spec)?;
        }
        let collation = if self.eat_keyword(Keyword::COLLATE) {
            Some(self.collation()?)
        } else {
            None
        };
        let mut snapshot_of = None;
        let mut attach = None;
        if self.eat_keyword(Keyword::FOR) {
            let word = self.one_of(&["ATTACH_REBUILD_LOG", "ATTACH READ_ONLY", "ATTACH"])?;
            attach = Some(match &*word {
                "ATTACH" => Attach::Attach,
                "ATTACH READ_ONLY" => Attach::AttachReadOnly,
                _ => Attach::RebuildLog,
            });
        } else if self.eat_words(&["AS", "SNAPSHOT", "OF"]) {
            snapshot_of = Some(self.ident()?);
        }
        let options = self.with_list(options::CREATE_DATABASE)?;
        Ok(Statement::CreateDatabase(Box::new(CreateDatabase {
            name,
            containment,
            filegroups,
            log,
            collation,
            attach,
            options,
            snapshot_of,
        })))
    }

    /// `[PRIMARY] file, .. [, FILEGROUP g file, ..]`
    fn filegroups(&mut self) -> Parsed<Vec<FilegroupSpec>> {
        self.eat_keyword(Keyword::PRIMARY);
        let mut groups = Vec::new();
        let mut group = FilegroupSpec {
            name: None,
            contains: None,
            default: false,
            files: vec![self.file_spec()?],
        };
        while self.eat(Kind::Comma) {
            if self.eat_word("FILEGROUP") {
                let name = Some(self.ident_or_string()?);
                let contains = self.contains()?;
                let default = self.eat_keyword(Keyword::DEFAULT);
                let next = FilegroupSpec {
                    name,
                    contains,
                    default,
                    files: vec![self.file_spec()?],
                };
                groups.push(std::mem::replace(&mut group, next));
            } else {
                group.files.push(self.file_spec()?);
            }
        }
        groups.push(group);
        Ok(groups)
    }

    fn contains(&mut self) -> Parsed<Option<Box<str>>> {
        if self.eat_keyword(Keyword::CONTAINS) {
            let what = self.one_of(&["FILESTREAM", "MEMORY_OPTIMIZED_DATA"])?;
            return Ok(Some(what));
        }
        Ok(None)
    }

    /// `(NAME = .., FILENAME = .., ..)`
    pub(super) fn file_spec(&mut self) -> Parsed<FileSpec> {
        let mut spec = FileSpec::default();
        self.parens(|p| p.file_property(&mut spec))?;
        Ok(spec)
    }

    fn file_property(&mut self, spec: &mut FileSpec) -> Parsed<()> {
        let word = self.one_of(&[
            "NAME",
            "NEWNAME",
            "FILENAME",
            "SIZE",
            "MAXSIZE",
            "FILEGROWTH",
            "OFFLINE",
        ])?;
        if &*word == "OFFLINE" {
            spec.offline = true;
            return Ok(());
        }
        self.expect(Kind::Eq)?;
        match &*word {
            "NAME" => spec.name = Some(self.ident_or_string()?),
            "NEWNAME" => spec.new_name = Some(self.ident_or_string()?),
            "FILENAME" => spec.file_name = Some(self.string()?),
            "SIZE" => spec.size = Some(self.file_size(SIZE_UNITS)?),
            "FILEGROWTH" => spec.growth = Some(self.file_size(GROWTH_UNITS)?),
            _ => {
                spec.max_size = Some(if self.eat_word("UNLIMITED") {
                    MaxSize::Unlimited
                } else {
                    MaxSize::Size(self.file_size(SIZE_UNITS)?)
                });
            }
        }
        Ok(())
    }

    /// Sizes of files are whole numbers.
    fn file_size(&mut self, units: &[&'static str]) -> Parsed<crate::ast::option::Size> {
        match self.kind() {
            Kind::Integer => self.size(units),
            _ => Err(self.unexpected()),
        }
    }

    pub(super) fn alter_database(&mut self) -> Parsed<Statement> {
        if self.at_words(&["SCOPED", "CONFIGURATION"]) {
            let action = self.scoped_configuration()?;
            return Ok(Statement::AlterDatabase(Box::new(AlterDatabase {
                name: None,
                action,
            })));
        }
        let name = if self.eat_keyword(Keyword::CURRENT) {
            None
        } else {
            Some(self.ident()?)
        };
        let action = self.database_action()?;
        Ok(Statement::AlterDatabase(Box::new(AlterDatabase {
            name,
            action,
        })))
    }

    fn database_action(&mut self) -> Parsed<DatabaseAction> {
        if self.eat_keyword(Keyword::ADD) {
            return self.database_add();
        }
        if self.eat_keyword(Keyword::SET) {
            return self.database_set();
        }
        if self.eat_keyword(Keyword::COLLATE) {
            return Ok(DatabaseAction::Collate(self.collation()?));
        }
        if self.eat_word("REMOVE") {
            if self.eat_word("FILEGROUP") {
                return Ok(DatabaseAction::RemoveFilegroup(self.ident_or_string()?));
            }
            self.expect_keyword(Keyword::FILE)?;
            return Ok(DatabaseAction::RemoveFile(self.ident_or_string()?));
        }
        self.expect_word("MODIFY")?;
        if self.eat_keyword(Keyword::FILE) {
            return Ok(DatabaseAction::ModifyFile(Box::new(self.file_spec()?)));
        }
        if self.eat_word("NAME") {
            self.expect(Kind::Eq)?;
            return Ok(DatabaseAction::Rename(self.ident()?));
        }
        self.expect_word("FILEGROUP")?;
        self.modify_filegroup()
    }

    fn modify_filegroup(&mut self) -> Parsed<DatabaseAction> {
        let group: Ident = self.ident_or_string()?;
        if self.eat_word("NAME") {
            self.expect(Kind::Eq)?;
            return Ok(DatabaseAction::RenameFilegroup(
                group,
                self.ident_or_string()?,
            ));
        }
        let word = self.one_of(&[
            "READ_ONLY",
            "READONLY",
            "READ_WRITE",
            "READWRITE",
            "DEFAULT",
            "AUTOGROW_SINGLE_FILE",
            "AUTOGROW_ALL_FILES",
        ])?;
        Ok(DatabaseAction::ModifyFilegroup(group, word))
    }

    fn database_add(&mut self) -> Parsed<DatabaseAction> {
        if self.eat_word("FILEGROUP") {
            let group = self.ident_or_string()?;
            return Ok(DatabaseAction::AddFilegroup(group, self.contains()?));
        }
        if self.eat_words(&["LOG", "FILE"]) {
            return Ok(DatabaseAction::AddLogFiles(self.list(Self::file_spec)?));
        }
        self.expect_keyword(Keyword::FILE)?;
        let files = self.list(Self::file_spec)?;
        let group = if self.eat_words(&["TO", "FILEGROUP"]) {
            Some(self.ident_or_string()?)
        } else {
            None
        };
        Ok(DatabaseAction::AddFiles(files, group))
    }

    fn database_set(&mut self) -> Parsed<DatabaseAction> {
        let options = self.list(|p| p.option(options::ALTER_DATABASE))?;
        let mut termination = None;
        if self.eat_keyword(Keyword::WITH) {
            termination = Some(if self.eat_word("NO_WAIT") {
                Termination::NoWait
            } else {
                self.expect_keyword(Keyword::ROLLBACK)?;
                if self.eat_word("IMMEDIATE") {
                    Termination::RollbackImmediate
                } else {
                    self.expect_word("AFTER")?;
                    let seconds = self.constant()?;
                    self.eat_word("SECONDS");
                    Termination::RollbackAfter(seconds)
                }
            });
        }
        Ok(DatabaseAction::Set(options, termination))
    }

    fn scoped_configuration(&mut self) -> Parsed<DatabaseAction> {
        self.expect_words("SCOPED CONFIGURATION")?;
        if self.eat_word("CLEAR") {
            let what = self.one_of(&["PROCEDURE_CACHE"])?;
            return Ok(DatabaseAction::ClearConfiguration(what));
        }
        self.expect_keyword(Keyword::SET)?;
        let start = self.token().span;
        let name = self.upper_word()?;
        self.expect(Kind::Eq)?;
        let value = match self.kind() {
            Kind::Word | Kind::Keyword(_) => OptValue::Word(self.upper_word()?),
            _ => OptValue::Expr(self.constant()?),
        };
        Ok(DatabaseAction::ScopedConfiguration(Opt {
            name,
            equals: true,
            value: Some(value),
            span: self.span_from(start),
        }))
    }
}
