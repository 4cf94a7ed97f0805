//! Databases, files, backups.

use super::Printer;
use crate::ast::database::{
    AlterDatabase, Attach, Backup, BackupPart, CreateDatabase, DatabaseAction, Device, FileSpec,
    FilegroupSpec, MaxSize, Restore, RestoreKind, RestoreOption, Termination,
};

impl Printer {
    pub(super) fn create_database(&mut self, create: &CreateDatabase) {
        self.put("CREATE DATABASE ");
        self.ident(&create.name);
        self.maybe(" CONTAINMENT = ", create.containment.as_ref(), |p, w| {
            p.put(w);
        });
        self.clause(" ON ", &create.filegroups, Self::filegroup);
        self.clause(" LOG ON ", &create.log, Self::file_spec);
        self.maybe(" COLLATE ", create.collation.as_ref(), Self::ident);
        match create.attach {
            Some(Attach::Attach) => self.put(" FOR ATTACH"),
            Some(Attach::AttachReadOnly) => self.put(" FOR ATTACH READ_ONLY"),
            Some(Attach::RebuildLog) => self.put(" FOR ATTACH_REBUILD_LOG"),
            None => {}
        }
        self.maybe(" AS SNAPSHOT OF ", create.snapshot_of.as_ref(), Self::ident);
        self.clause(" WITH ", &create.options, Self::opt);
    }

    fn filegroup(&mut self, group: &FilegroupSpec) {
        match &group.name {
            None => self.put("PRIMARY "),
            Some(name) => {
                self.put("FILEGROUP ");
                self.ident(name);
                self.maybe(" CONTAINS ", group.contains.as_ref(), |p, w| p.put(w));
                self.flag(group.default, " DEFAULT");
                self.put(" ");
            }
        }
        self.list(&group.files, Self::file_spec);
    }

    fn file_spec(&mut self, spec: &FileSpec) {
        self.put("(");
        let mut first = true;
        let mut property = |p: &mut Self, word: &str| {
            p.flag(!std::mem::take(&mut first), ", ");
            p.put(word);
        };
        if let Some(name) = &spec.name {
            property(self, "NAME = ");
            self.ident(name);
        }
        if let Some(name) = &spec.new_name {
            property(self, "NEWNAME = ");
            self.ident(name);
        }
        if let Some(path) = &spec.file_name {
            property(self, "FILENAME = N");
            self.string(path);
        }
        if let Some(size) = &spec.size {
            property(self, "SIZE = ");
            self.size(size);
        }
        if let Some(size) = &spec.max_size {
            property(self, "MAXSIZE = ");
            match size {
                MaxSize::Unlimited => self.put("UNLIMITED"),
                MaxSize::Size(size) => self.size(size),
            }
        }
        if let Some(growth) = &spec.growth {
            property(self, "FILEGROWTH = ");
            self.size(growth);
        }
        if spec.offline {
            property(self, "OFFLINE");
        }
        self.put(")");
    }

    pub(super) fn alter_database(&mut self, alter: &AlterDatabase) {
        self.put("ALTER DATABASE ");
        match &alter.action {
            DatabaseAction::ScopedConfiguration(option) => {
                self.put("SCOPED CONFIGURATION SET ");
                return self.opt(option);
            }
            DatabaseAction::ClearConfiguration(word) => {
                self.put("SCOPED CONFIGURATION CLEAR ");
                return self.put(word);
            }
            _ => {}
        }
        match &alter.name {
            Some(name) => self.ident(name),
            None => self.put("CURRENT"),
        }
        self.database_action(&alter.action);
    }

    fn database_action(&mut self, action: &DatabaseAction) {
        match action {
            DatabaseAction::AddFiles(files, group) => {
                self.clause(" ADD FILE ", files, Self::file_spec);
                self.maybe(" TO FILEGROUP ", group.as_ref(), Self::ident);
            }
            DatabaseAction::AddLogFiles(files) => {
                self.clause(" ADD LOG FILE ", files, Self::file_spec);
            }
            DatabaseAction::RemoveFile(file) => {
                self.maybe(" REMOVE FILE ", Some(file), Self::ident);
            }
            DatabaseAction::ModifyFile(spec) => {
                self.put(" MODIFY FILE ");
                self.file_spec(spec);
            }
            DatabaseAction::AddFilegroup(group, contains) => {
                self.maybe(" ADD FILEGROUP ", Some(group), Self::ident);
                self.maybe(" CONTAINS ", contains.as_ref(), |p, w| p.put(w));
            }
            DatabaseAction::RemoveFilegroup(group) => {
                self.maybe(" REMOVE FILEGROUP ", Some(group), Self::ident);
            }
            DatabaseAction::ModifyFilegroup(group, word) => {
                self.maybe(" MODIFY FILEGROUP ", Some(group), Self::ident);
                self.put(" ");
                self.put(word);
            }
            DatabaseAction::RenameFilegroup(group, name) => {
                self.maybe(" MODIFY FILEGROUP ", Some(group), Self::ident);
                self.maybe(" NAME = ", Some(name), Self::ident);
            }
            DatabaseAction::Rename(name) => self.maybe(" MODIFY NAME = ", Some(name), Self::ident),
            DatabaseAction::Collate(name) => self.maybe(" COLLATE ", Some(name), Self::ident),
            DatabaseAction::Set(options, termination) => {
                self.clause(" SET ", options, Self::opt);
                match termination {
                    Some(Termination::RollbackImmediate) => self.put(" WITH ROLLBACK IMMEDIATE"),
                    Some(Termination::RollbackAfter(seconds)) => {
                        self.put(" WITH ROLLBACK AFTER ");
                        self.expr(seconds);
                    }
                    Some(Termination::NoWait) => self.put(" WITH NO_WAIT"),
                    None => {}
                }
            }
            DatabaseAction::ScopedConfiguration(_) | DatabaseAction::ClearConfiguration(_) => {}
        }
    }

    fn parts(&mut self, parts: &[BackupPart]) {
        self.clause(" ", parts, |p, part| match part {
            BackupPart::File(name) => p.maybe("FILE = ", Some(name), Self::name_or_text),
            BackupPart::Filegroup(name) => p.maybe("FILEGROUP = ", Some(name), Self::name_or_text),
            BackupPart::ReadWriteFilegroups => p.put("READ_WRITE_FILEGROUPS"),
            BackupPart::Pages(pages) => p.maybe("PAGE = ", Some(pages), Self::expr),
        });
    }

    fn device(&mut self, device: &Device) {
        match device {
            Device::Logical(name) => self.name_or_variable(name),
            Device::Physical(kind, path) => {
                self.put(kind);
                self.put(" = ");
                self.expr(path);
            }
        }
    }

    pub(super) fn backup(&mut self, backup: &Backup) {
        self.put(if backup.log {
            "BACKUP LOG "
        } else {
            "BACKUP DATABASE "
        });
        self.name_or_variable(&backup.database);
        self.parts(&backup.parts);
        self.clause(" TO ", &backup.to, Self::device);
        for mirror in &backup.mirrors {
            self.clause(" MIRROR TO ", mirror, Self::device);
        }
        self.clause(" WITH ", &backup.options, Self::opt);
    }

    pub(super) fn restore(&mut self, restore: &Restore) {
        self.put(match restore.kind {
            RestoreKind::Database => "RESTORE DATABASE ",
            RestoreKind::Log => "RESTORE LOG ",
            RestoreKind::FileListOnly => "RESTORE FILELISTONLY",
            RestoreKind::HeaderOnly => "RESTORE HEADERONLY",
            RestoreKind::LabelOnly => "RESTORE LABELONLY",
            RestoreKind::VerifyOnly => "RESTORE VERIFYONLY",
            RestoreKind::RewindOnly => "RESTORE REWINDONLY",
        });
        self.maybe("", restore.database.as_ref(), Self::name_or_variable);
        self.parts(&restore.parts);
        self.clause(" FROM ", &restore.from, Self::device);
        let snapshot = restore.snapshot.as_ref();
        self.maybe(" FROM DATABASE_SNAPSHOT = ", snapshot, Self::name_or_text);
        self.clause(" WITH ", &restore.options, |p, option| match option {
            RestoreOption::Move(from, to) => {
                p.put("MOVE ");
                p.expr(from);
                p.put(" TO ");
                p.expr(to);
            }
            RestoreOption::Mark(mark, after) => {
                p.opt(mark);
                p.maybe(" AFTER ", after.as_ref(), Self::expr);
            }
            RestoreOption::Opt(option) => p.opt(option),
        });
    }
}
