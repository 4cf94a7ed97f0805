//! Procedural statements.

use super::Printer;
use crate::ast::expr::Expr;
use crate::ast::flow::{
    CursorAccess, Declare, DeclareCursor, DeclareKind, Execute, ExecuteArg, ExecuteWhat, Fetch,
    FetchDirection, If, IsolationLevel, ProcedureName, Set, Transaction, Waitfor,
};
use crate::ast::{Statement, Stmt};

/// Whether a statement ends with a MERGE, which its semicolon must follow.
fn ends_with_merge(statement: &Stmt) -> bool {
    match &statement.kind {
        Statement::Merge(_) => true,
        Statement::If(one) => ends_with_merge(one.otherwise.as_ref().unwrap_or(&one.then)),
        Statement::While(one) => ends_with_merge(&one.body),
        _ => false,
    }
}

impl Printer {
    /// Prints a statement of this group; false if it is none.
    pub(super) fn flow_statement(&mut self, statement: &Statement) -> bool {
        match statement {
            Statement::Declare(declared) => self.clause("DECLARE ", declared, Self::declare),
            Statement::DeclareCursor(cursor) => {
                self.maybe("DECLARE ", Some(&cursor.name), Self::ident);
                self.put(" ");
                self.cursor(cursor);
            }
            Statement::Set(set) => self.set(set),
            Statement::If(one) => self.if_else(one),
            Statement::While(one) => {
                self.maybe("WHILE ", Some(&one.condition), Self::condition);
                self.put(" ");
                self.statement(&one.body.kind);
            }
            Statement::Block(body) => {
                self.put("BEGIN ");
                self.statements(body);
                self.put("END");
            }
            Statement::TryCatch(one) => {
                self.put("BEGIN TRY ");
                self.statements(&one.body);
                self.put("END TRY BEGIN CATCH ");
                self.statements(&one.catch);
                self.put("END CATCH");
            }
            Statement::Throw(args) => {
                self.put("THROW");
                self.maybe(" ", args.as_ref(), |p, args| p.list(&args[..], Self::expr));
            }
            Statement::Raiserror(one) => {
                self.put("RAISERROR ");
                self.parens(&one.args, Self::expr);
                self.clause(" WITH ", &one.options, |p, word| p.put(word));
            }
            Statement::Execute(execute) => self.execute(execute),
            Statement::ExecuteAs(word, name) => {
                self.put("EXECUTE AS ");
                self.put(word);
                self.maybe(" = ", name.as_ref(), Self::expr);
            }
            Statement::Transaction(transaction) => self.transaction(transaction),
            _ => return self.small_flow_statement(statement),
        }
        true
    }

    fn small_flow_statement(&mut self, statement: &Statement) -> bool {
        match statement {
            Statement::Open(cursor) => self.maybe("OPEN ", Some(cursor), Self::cursor_name),
            Statement::Close(cursor) => self.maybe("CLOSE ", Some(cursor), Self::cursor_name),
            Statement::Deallocate(cursor) => {
                self.maybe("DEALLOCATE ", Some(cursor), Self::cursor_name);
            }
            Statement::Fetch(fetch) => self.fetch(fetch),
            Statement::Break => self.put("BREAK"),
            Statement::Continue => self.put("CONTINUE"),
            Statement::Revert => self.put("REVERT"),
            Statement::Return(value) => {
                self.put("RETURN");
                self.maybe(" ", value.as_ref(), Self::expr);
            }
            Statement::Print(value) => self.maybe("PRINT ", Some(value), Self::expr),
            Statement::Waitfor(Waitfor::Delay(time)) => {
                self.maybe("WAITFOR DELAY ", Some(time), Self::expr);
            }
            Statement::Waitfor(Waitfor::Time(time)) => {
                self.maybe("WAITFOR TIME ", Some(time), Self::expr);
            }
            Statement::Goto(label) => self.maybe("GOTO ", Some(label), Self::ident),
            Statement::Label(label) => {
                self.ident(label);
                self.put(":");
            }
            _ => return false,
        }
        true
    }

    fn declare(&mut self, declare: &Declare) {
        self.ident(&declare.variable);
        self.put(" ");
        match &declare.kind {
            DeclareKind::Scalar(data_type, value) => {
                self.data_type(data_type);
                self.maybe(" = ", value.as_ref(), Self::expr);
            }
            DeclareKind::Table(elements) => {
                self.put("TABLE ");
                self.parens(elements, Self::element);
            }
            DeclareKind::Cursor => self.put("CURSOR"),
        }
    }

    /// INSENSITIVE, of the old form, is written before CURSOR, and so is what was read before it; the other
    /// options come after it.
    fn cursor(&mut self, cursor: &DeclareCursor) {
        let mut options = cursor.options.iter();
        let old = options
            .rposition(|o| &**o == "INSENSITIVE")
            .map_or(0, |at| at + 1);
        for option in cursor.options.iter().take(old) {
            self.put(option);
            self.put(" ");
        }
        self.put("CURSOR");
        for option in cursor.options.iter().skip(old) {
            self.put(" ");
            self.put(option);
        }
        self.put(" FOR ");
        self.query(&cursor.query);
        match &cursor.access {
            Some(CursorAccess::ReadOnly) => self.put(" FOR READ ONLY"),
            Some(CursorAccess::Update(columns)) => {
                self.put(" FOR UPDATE");
                self.clause(" OF ", columns, Self::ident);
            }
            None => {}
        }
    }

    fn fetch(&mut self, fetch: &Fetch) {
        self.put("FETCH ");
        match &fetch.direction {
            FetchDirection::Next => self.put("NEXT"),
            FetchDirection::Prior => self.put("PRIOR"),
            FetchDirection::First => self.put("FIRST"),
            FetchDirection::Last => self.put("LAST"),
            FetchDirection::Absolute(n) => self.maybe("ABSOLUTE ", Some(n), Self::expr),
            FetchDirection::Relative(n) => self.maybe("RELATIVE ", Some(n), Self::expr),
        }
        self.put(" FROM ");
        self.cursor_name(&fetch.cursor);
        self.clause(" INTO ", &fetch.into, Self::ident);
    }

    fn on_off(&mut self, on: bool) {
        self.put(if on { " ON" } else { " OFF" });
    }

    fn set(&mut self, set: &Set) {
        self.put("SET ");
        match set {
            Set::Variable(variable, op, value) => {
                self.ident(variable);
                self.assign(*op);
                self.expr(value);
            }
            Set::Cursor(cursor) => {
                self.ident(&cursor.name);
                self.put(" = ");
                self.cursor(cursor);
            }
            Set::Method(variable, method, args) => {
                self.ident(variable);
                self.put(".");
                self.ident(method);
                self.parens(args, Self::expr);
            }
            Set::Options(options, on) => {
                self.list(options, |p, option| p.put(option));
                self.on_off(*on);
            }
            Set::Statistics(kinds, on) => {
                self.clause("STATISTICS ", kinds, |p, kind| p.put(kind));
                self.on_off(*on);
            }
            Set::IdentityInsert(table, on) => {
                self.maybe("IDENTITY_INSERT ", Some(table), Self::name);
                self.on_off(*on);
            }
            Set::Isolation(level) => {
                self.put("TRANSACTION ISOLATION LEVEL ");
                self.put(match level {
                    IsolationLevel::ReadUncommitted => "READ UNCOMMITTED",
                    IsolationLevel::ReadCommitted => "READ COMMITTED",
                    IsolationLevel::RepeatableRead => "REPEATABLE READ",
                    IsolationLevel::Snapshot => "SNAPSHOT",
                    IsolationLevel::Serializable => "SERIALIZABLE",
                });
            }
            Set::Value(name, value) => {
                self.put(name);
                self.maybe(" ", Some(value), Self::expr);
            }
        }
    }

    fn if_else(&mut self, one: &If) {
        self.maybe("IF ", Some(&one.condition), Self::condition);
        self.put(" ");
        self.statement(&one.then.kind);
        if let Some(otherwise) = &one.otherwise {
            self.flag(ends_with_merge(&one.then), ";");
            self.put(" ELSE ");
            self.statement(&otherwise.kind);
        }
    }

    pub(super) fn execute(&mut self, execute: &Execute) {
        self.put("EXECUTE ");
        if let Some(result) = &execute.result {
            self.ident(result);
            self.put(" = ");
        }
        match &execute.what {
            ExecuteWhat::Procedure { name, args } => {
                match name {
                    ProcedureName::Variable(variable) => self.ident(variable),
                    ProcedureName::Name(name, number) => {
                        self.name(name);
                        self.maybe(";", number.as_ref(), |p, number| p.put(number));
                    }
                }
                self.clause(" ", args, Self::execute_arg);
            }
            ExecuteWhat::Text {
                parts,
                args,
                run_as,
                at,
            } => {
                self.put("(");
                for (n, part) in parts.iter().enumerate() {
                    self.flag(n > 0, " + ");
                    self.expr(part);
                }
                self.clause(", ", args, Self::execute_arg);
                self.put(")");
                self.maybe(
                    " AS ",
                    run_as.as_ref(),
                    |p, (word, name): &(Box<str>, Expr)| {
                        p.put(word);
                        p.maybe(" = ", Some(name), Self::expr);
                    },
                );
                self.maybe(" AT ", at.as_ref(), Self::ident);
            }
        }
        self.clause(" WITH ", &execute.options, |p, option| p.put(option));
    }

    fn execute_arg(&mut self, arg: &ExecuteArg) {
        if let Some(name) = &arg.name {
            self.ident(name);
            self.put(" = ");
        }
        self.expr(&arg.value);
        self.flag(arg.output, " OUTPUT");
    }

    fn transaction(&mut self, transaction: &Transaction) {
        match transaction {
            Transaction::Begin {
                distributed,
                name,
                mark,
            } => {
                self.put("BEGIN ");
                self.flag(*distributed, "DISTRIBUTED ");
                self.put("TRANSACTION");
                self.maybe(" ", name.as_ref(), Self::name_or_variable);
                if let Some(text) = mark {
                    self.put(" WITH MARK");
                    self.maybe(" ", text.as_ref(), Self::expr);
                }
            }
            Transaction::Commit { name, options } => {
                self.put("COMMIT TRANSACTION");
                self.maybe(" ", name.as_ref(), Self::name_or_variable);
                self.with_parens(options);
            }
            Transaction::Rollback(name) => {
                self.put("ROLLBACK TRANSACTION");
                self.maybe(" ", name.as_ref(), Self::name_or_variable);
            }
            Transaction::Save(name) => {
                self.maybe("SAVE TRANSACTION ", Some(name), Self::name_or_variable);
            }
        }
    }
}
