//! Databases, their files and filegroups, and backups of them.

use super::expr::Expr;
use super::name::{Ident, ObjectName, Variable};
use super::option::{Opt, Size};

/// `CREATE DATABASE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateDatabase {
    /// Its name.
    pub name: Ident,
    /// `CONTAINMENT = ..`
    pub containment: Option<Box<str>>,
    /// The primary filegroup's files and those of the other filegroups, in order.
    pub filegroups: Vec<FilegroupSpec>,
    /// `LOG ON ..`
    pub log: Vec<FileSpec>,
    /// `COLLATE c`
    pub collation: Option<Ident>,
    /// `FOR ATTACH` and the like.
    pub attach: Option<Attach>,
    /// `WITH ..`
    pub options: Vec<Opt>,
    /// `AS SNAPSHOT OF db`
    pub snapshot_of: Option<Ident>,
}

/// How existing files are taken over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attach {
    /// `FOR ATTACH`
    Attach,
    /// `FOR ATTACH READ_ONLY`: opened without a change, an addition to the language.
    AttachReadOnly,
    /// `FOR ATTACH_REBUILD_LOG`
    RebuildLog,
}

/// A filegroup with its files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilegroupSpec {
    /// Its name; `None` for the primary filegroup.
    pub name: Option<Ident>,
    /// `CONTAINS ..`: FILESTREAM or MEMORY_OPTIMIZED_DATA.
    pub contains: Option<Box<str>>,
    /// `DEFAULT`
    pub default: bool,
    /// The files.
    pub files: Vec<FileSpec>,
}

/// `(NAME = .., FILENAME = .., ..)`
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileSpec {
    /// `NAME`: the logical name.
    pub name: Option<Ident>,
    /// `NEWNAME`
    pub new_name: Option<Ident>,
    /// `FILENAME`: the path.
    pub file_name: Option<Box<str>>,
    /// `SIZE`
    pub size: Option<Size>,
    /// `MAXSIZE`
    pub max_size: Option<MaxSize>,
    /// `FILEGROWTH`
    pub growth: Option<Size>,
    /// `OFFLINE`
    pub offline: bool,
}

/// How large a file may get.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MaxSize {
    /// `UNLIMITED`
    Unlimited,
    /// A size.
    Size(Size),
}

/// `ALTER DATABASE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AlterDatabase {
    /// Its name; `None` for `CURRENT`.
    pub name: Option<Ident>,
    /// What is done.
    pub action: DatabaseAction,
}

/// What ALTER DATABASE does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DatabaseAction {
    /// `ADD FILE .. [TO FILEGROUP g]`
    AddFiles(Vec<FileSpec>, Option<Ident>),
    /// `ADD LOG FILE ..`
    AddLogFiles(Vec<FileSpec>),
    /// `REMOVE FILE f`
    RemoveFile(Ident),
    /// `MODIFY FILE (..)`
    ModifyFile(Box<FileSpec>),
    /// `ADD FILEGROUP g [CONTAINS ..]`
    AddFilegroup(Ident, Option<Box<str>>),
    /// `REMOVE FILEGROUP g`
    RemoveFilegroup(Ident),
    /// `MODIFY FILEGROUP g word`: the word in upper case, such as `DEFAULT` or `READ_ONLY`.
    ModifyFilegroup(Ident, Box<str>),
    /// `MODIFY FILEGROUP g NAME = h`
    RenameFilegroup(Ident, Ident),
    /// `MODIFY NAME = n`
    Rename(Ident),
    /// `COLLATE c`
    Collate(Ident),
    /// `SET ..`
    Set(Vec<Opt>, Option<Termination>),
    /// `SCOPED CONFIGURATION SET name = value`
    ScopedConfiguration(Opt),
    /// `SCOPED CONFIGURATION CLEAR word`
    ClearConfiguration(Box<str>),
}

/// `WITH ..` after ALTER DATABASE SET: how other sessions' transactions are ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Termination {
    /// `ROLLBACK IMMEDIATE`
    RollbackImmediate,
    /// `ROLLBACK AFTER n [SECONDS]`
    RollbackAfter(Expr),
    /// `NO_WAIT`
    NoWait,
}

/// A database or device given by name or by variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameOrVariable {
    /// By name.
    Name(Ident),
    /// By variable.
    Variable(Variable),
}

/// `BACKUP`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Backup {
    /// `BACKUP LOG` rather than `BACKUP DATABASE`.
    pub log: bool,
    /// The database.
    pub database: NameOrVariable,
    /// Files and filegroups; empty for all.
    pub parts: Vec<BackupPart>,
    /// `TO ..`: one device a stripe.
    pub to: Vec<Device>,
    /// `MIRROR TO ..`
    pub mirrors: Vec<Vec<Device>>,
    /// `WITH ..`
    pub options: Vec<Opt>,
}

/// A part of a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BackupPart {
    /// `FILE = f`
    File(NameOrText),
    /// `FILEGROUP = g`
    Filegroup(NameOrText),
    /// `READ_WRITE_FILEGROUPS`
    ReadWriteFilegroups,
    /// `PAGE = '1:57, ..'`
    Pages(Expr),
}

/// A name, or a constant or variable that holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameOrText {
    /// By name.
    Name(Ident),
    /// By constant or variable.
    Text(Expr),
}

/// Where a backup goes to or comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Device {
    /// A backup device by its logical name or a variable that holds it.
    Logical(NameOrVariable),
    /// `DISK = 'path'` and the like: the kind in upper case, and the path.
    Physical(Box<str>, Expr),
}

/// `RESTORE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restore {
    /// What is wanted.
    pub kind: RestoreKind,
    /// The database, where the kind takes one.
    pub database: Option<NameOrVariable>,
    /// Files, filegroups and pages; empty for all.
    pub parts: Vec<BackupPart>,
    /// `FROM ..`
    pub from: Vec<Device>,
    /// `FROM DATABASE_SNAPSHOT = s`
    pub snapshot: Option<NameOrText>,
    /// `WITH ..`
    pub options: Vec<RestoreOption>,
}

/// What RESTORE is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestoreKind {
    /// `DATABASE`
    Database,
    /// `LOG`
    Log,
    /// `FILELISTONLY`
    FileListOnly,
    /// `HEADERONLY`
    HeaderOnly,
    /// `LABELONLY`
    LabelOnly,
    /// `VERIFYONLY`
    VerifyOnly,
    /// `REWINDONLY`
    RewindOnly,
}

/// An option of RESTORE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RestoreOption {
    /// `MOVE 'logical' TO 'path'`
    Move(Expr, Expr),
    /// `STOPATMARK = 'm' [AFTER 'dt']`, `STOPBEFOREMARK`: the option and its AFTER.
    Mark(Opt, Option<Expr>),
    /// Any other.
    Opt(Opt),
}

/// `DROP ..` of things that need only their names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drop {
    /// What: `TABLE`, `VIEW`, `DATABASE` and so on, in upper case with single blanks.
    pub kind: Box<str>,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// Which.
    pub names: Vec<ObjectName>,
    /// `ON DATABASE` or `ON ALL SERVER`, of triggers.
    pub scope: Option<Box<str>>,
}
