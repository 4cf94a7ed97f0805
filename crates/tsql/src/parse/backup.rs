//! BACKUP and RESTORE.

use super::cursor::Parser;
use super::options;
use crate::ast::Statement;
use crate::ast::database::{
    Backup, BackupPart, Device, NameOrText, NameOrVariable, Restore, RestoreKind, RestoreOption,
};
use crate::error::Parsed;
use crate::lex::{Keyword, Kind};

const DEVICES: &[&str] = &["DISK", "TAPE", "URL", "VIRTUAL_DEVICE"];

impl Parser<'_> {
    pub(super) fn backup(&mut self) -> Parsed<Statement> {
        self.bump();
        let log = self.backup_object()?;
        let database = self.name_or_variable()?;
        let parts = if log {
            Vec::new()
        } else {
            self.backup_parts()?
        };
        self.expect_keyword(Keyword::TO)?;
        let to = self.list(Self::device)?;
        let mut mirrors = Vec::new();
        while self.eat_words(&["MIRROR", "TO"]) {
            mirrors.push(self.list(Self::device)?);
        }
        let options = self.with_list(options::BACKUP)?;
        Ok(Statement::Backup(Box::new(Backup {
            log,
            database,
            parts,
            to,
            mirrors,
            options,
        })))
    }

    /// DATABASE or LOG: whether LOG. TRAN is LOG's old name.
    fn backup_object(&mut self) -> Parsed<bool> {
        let word = self.one_of(&["DATABASE", "LOG", "TRANSACTION", "TRAN"])?;
        Ok(&*word != "DATABASE")
    }

    pub(super) fn name_or_variable(&mut self) -> Parsed<NameOrVariable> {
        if self.kind() == Kind::Variable {
            return Ok(NameOrVariable::Variable(self.variable()?));
        }
        Ok(NameOrVariable::Name(self.ident()?))
    }

    fn name_or_text(&mut self) -> Parsed<NameOrText> {
        if self.at_ident() {
            return Ok(NameOrText::Name(self.ident()?));
        }
        Ok(NameOrText::Text(self.text_or_variable()?))
    }

    /// `FILE = f, FILEGROUP = g, ..`, if any come next.
    fn backup_parts(&mut self) -> Parsed<Vec<BackupPart>> {
        const PARTS: &[&str] = &["FILE", "FILEGROUP", "READ_WRITE_FILEGROUPS", "PAGE"];
        if !PARTS.iter().any(|word| self.at_word(word)) {
            return Ok(Vec::new());
        }
        self.list(|p| {
            let word = p.one_of(PARTS)?;
            if &*word == "READ_WRITE_FILEGROUPS" {
                return Ok(BackupPart::ReadWriteFilegroups);
            }
            p.expect(Kind::Eq)?;
            Ok(match &*word {
                "FILE" => BackupPart::File(p.name_or_text()?),
                "FILEGROUP" => BackupPart::Filegroup(p.name_or_text()?),
                _ => BackupPart::Pages(p.text_or_variable()?),
            })
        })
    }

    fn device(&mut self) -> Parsed<Device> {
        if self.peek(1).kind == Kind::Eq {
            let kind = self.one_of(DEVICES)?;
            self.bump();
            return Ok(Device::Physical(kind, self.text_or_variable()?));
        }
        Ok(Device::Logical(self.name_or_variable()?))
    }

    pub(super) fn restore(&mut self) -> Parsed<Statement> {
        self.bump();
        let word = self.one_of(&[
            "DATABASE",
            "LOG",
            "TRANSACTION",
            "TRAN",
            "FILELISTONLY",
            "HEADERONLY",
            "LABELONLY",
            "VERIFYONLY",
            "REWINDONLY",
        ])?;
        let kind = match &*word {
            "DATABASE" => RestoreKind::Database,
            "FILELISTONLY" => RestoreKind::FileListOnly,
            "HEADERONLY" => RestoreKind::HeaderOnly,
            "LABELONLY" => RestoreKind::LabelOnly,
            "VERIFYONLY" => RestoreKind::VerifyOnly,
            "REWINDONLY" => RestoreKind::RewindOnly,
            _ => RestoreKind::Log,
        };
        let mut restore = Restore {
            kind,
            database: None,
            parts: Vec::new(),
            from: Vec::new(),
            snapshot: None,
            options: Vec::new(),
        };
        let named = matches!(kind, RestoreKind::Database | RestoreKind::Log);
        if named {
            restore.database = Some(self.name_or_variable()?);
            restore.parts = self.backup_parts()?;
        }
        if !named || self.at_keyword(Keyword::FROM) {
            self.expect_keyword(Keyword::FROM)?;
            if named && self.eat_word("DATABASE_SNAPSHOT") {
                self.expect(Kind::Eq)?;
                restore.snapshot = Some(self.name_or_text()?);
            } else {
                restore.from = self.list(Self::device)?;
            }
        }
        if self.eat_keyword(Keyword::WITH) {
            restore.options = self.list(Self::restore_option)?;
        }
        Ok(Statement::Restore(Box::new(restore)))
    }

    fn restore_option(&mut self) -> Parsed<RestoreOption> {
        if self.eat_word("MOVE") {
            let logical = self.text_or_variable()?;
            self.expect_keyword(Keyword::TO)?;
            return Ok(RestoreOption::Move(logical, self.text_or_variable()?));
        }
        if self.at_word("STOPATMARK") || self.at_word("STOPBEFOREMARK") {
            let mark = self.option(options::MARKS)?;
            let after = if self.eat_word("AFTER") {
                Some(self.text_or_variable()?)
            } else {
                None
            };
            return Ok(RestoreOption::Mark(mark, after));
        }
        Ok(RestoreOption::Opt(self.option(options::RESTORE)?))
    }
}
