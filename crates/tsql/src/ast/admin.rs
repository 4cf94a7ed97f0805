//! Statements of the administrator: DBCC, KILL, SHUTDOWN, permissions, logins, users, schemas.

use super::Stmt;
use super::expr::Expr;
use super::name::{Ident, ObjectName};
use super::option::Opt;

/// `DBCC name (args) WITH options`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dbcc {
    /// The command, as written.
    pub command: Ident,
    /// Whether parentheses were written, be they empty.
    pub parens: bool,
    /// Its arguments.
    pub args: Vec<DbccArg>,
    /// `WITH ..`
    pub options: Vec<Opt>,
}

/// An argument of DBCC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DbccArg {
    /// A name or a bare word such as `NOINDEX` or `EMPTYFILE`.
    Name(ObjectName),
    /// A constant or variable.
    Expr(Expr),
}

/// `GRANT`, `DENY` or `REVOKE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permission {
    /// Which of the three.
    pub action: PermissionAction,
    /// `GRANT OPTION FOR`, of REVOKE.
    pub grant_option_for: bool,
    /// What may be done; its words in upper case with single blanks, and the columns it is limited to.
    pub permissions: Vec<(Box<str>, Vec<Ident>)>,
    /// `ON [class ::] object`
    pub on: Option<Securable>,
    /// The principals that get or lose the permissions.
    pub principals: Vec<Ident>,
    /// `WITH GRANT OPTION`
    pub with_grant: bool,
    /// `CASCADE`
    pub cascade: bool,
    /// `AS grantor`
    pub grantor: Option<Ident>,
}

/// The three statements on permissions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PermissionAction {
    /// `GRANT`
    Grant,
    /// `DENY`
    Deny,
    /// `REVOKE`
    Revoke,
}

/// What a permission is on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Securable {
    /// The class before `::`, in upper case.
    pub class: Option<Box<str>>,
    /// Which.
    pub name: ObjectName,
    /// The columns it is limited to.
    pub columns: Vec<Ident>,
}

/// `CREATE` or `ALTER` of a login, user or role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Principal {
    /// `ALTER` rather than `CREATE`.
    pub alter: bool,
    /// `LOGIN`, `USER`, `ROLE`, `SERVER ROLE` or `APPLICATION ROLE`.
    pub kind: Box<str>,
    /// Its name.
    pub name: Ident,
    /// What the statement changes.
    pub action: PrincipalAction,
    /// `WITH ..`
    pub options: Vec<Opt>,
}

/// What a statement changes of a login, user or role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PrincipalAction {
    /// Only `WITH ..`, or nothing.
    None,
    /// `FOR LOGIN l`
    ForLogin(Ident),
    /// `WITHOUT LOGIN`
    WithoutLogin,
    /// `FROM WINDOWS` or `FROM EXTERNAL PROVIDER`: the words.
    From(Box<str>),
    /// `AUTHORIZATION o`
    Authorization(Ident),
    /// `ADD MEMBER m`
    AddMember(Ident),
    /// `DROP MEMBER m`
    DropMember(Ident),
    /// `ENABLE` (true) or `DISABLE` (false).
    Enable(bool),
}

/// `CREATE SCHEMA`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateSchema {
    /// Its name.
    pub name: Option<Ident>,
    /// `AUTHORIZATION o`
    pub owner: Option<Ident>,
    /// Tables, views and permissions created with it.
    pub elements: Vec<Stmt>,
}

/// `KILL`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kill {
    /// The session, or a unit of work in quotes.
    pub session: Expr,
    /// `WITH STATUSONLY`
    pub status_only: bool,
}
