//! The administrator's statements, and modules.

use super::Printer;
use crate::ast::Statement;
use crate::ast::admin::{
    Dbcc, DbccArg, Permission, PermissionAction, Principal, PrincipalAction, Securable,
};
use crate::ast::module::{
    ExecuteAs, Function, FunctionBody, ModuleAction, ModuleOption, Parameter, Procedure, Trigger,
    TriggerOn, View,
};

impl Printer {
    /// Prints a statement of this group; false if it is none.
    pub(super) fn admin_statement(&mut self, statement: &Statement) -> bool {
        match statement {
            Statement::CreateDatabase(create) => self.create_database(create),
            Statement::AlterDatabase(alter) => self.alter_database(alter),
            Statement::Backup(backup) => self.backup(backup),
            Statement::Restore(restore) => self.restore(restore),
            Statement::Dbcc(dbcc) => self.dbcc(dbcc),
            Statement::Checkpoint(seconds) => {
                self.put("CHECKPOINT");
                self.maybe(" ", seconds.as_ref(), Self::expr);
            }
            Statement::Kill(kill) => {
                self.maybe("KILL ", Some(&kill.session), Self::expr);
                self.flag(kill.status_only, " WITH STATUSONLY");
            }
            Statement::Use(database) => self.maybe("USE ", Some(database), Self::ident),
            Statement::Shutdown(now) => {
                self.put("SHUTDOWN");
                self.flag(*now, " WITH NOWAIT");
            }
            Statement::Reconfigure(forced) => {
                self.put("RECONFIGURE");
                self.flag(*forced, " WITH OVERRIDE");
            }
            Statement::Permission(permission) => self.permission(permission),
            Statement::Principal(principal) => self.principal(principal),
            Statement::CreateSchema(create) => {
                self.put("CREATE SCHEMA");
                self.maybe(" ", create.name.as_ref(), Self::ident);
                self.maybe(" AUTHORIZATION ", create.owner.as_ref(), Self::ident);
                for element in &create.elements {
                    self.put(" ");
                    self.statement(&element.kind);
                }
            }
            Statement::AlterSchema(schema, what) => {
                self.maybe("ALTER SCHEMA ", Some(schema), Self::ident);
                self.put(" TRANSFER ");
                self.securable(what);
            }
            Statement::Procedure(procedure) => self.procedure(procedure),
            Statement::Function(function) => self.function(function),
            Statement::View(view) => self.view(view),
            Statement::Trigger(trigger) => self.trigger(trigger),
            Statement::EnableTrigger(enable, names, on) => {
                self.put(if *enable { "ENABLE" } else { "DISABLE" });
                self.put(" TRIGGER ");
                self.flag(names.is_empty(), "ALL");
                self.list(names, Self::name);
                self.trigger_on(on);
            }
            _ => return false,
        }
        true
    }

    fn dbcc(&mut self, dbcc: &Dbcc) {
        self.put("DBCC ");
        self.ident(&dbcc.command);
        if dbcc.parens {
            self.put(" ");
            self.parens(&dbcc.args, |p, arg| match arg {
                DbccArg::Name(name) => p.name(name),
                DbccArg::Expr(expr) => p.expr(expr),
            });
        }
        self.clause(" WITH ", &dbcc.options, Self::opt);
    }

    fn securable(&mut self, securable: &Securable) {
        if let Some(class) = &securable.class {
            self.put(class);
            self.put("::");
        }
        self.name(&securable.name);
        self.columns(&securable.columns);
    }

    fn permission(&mut self, permission: &Permission) {
        let (word, link) = match permission.action {
            PermissionAction::Grant => ("GRANT ", " TO "),
            PermissionAction::Deny => ("DENY ", " TO "),
            PermissionAction::Revoke => ("REVOKE ", " FROM "),
        };
        self.put(word);
        self.flag(permission.grant_option_for, "GRANT OPTION FOR ");
        self.list(&permission.permissions, |p, (words, columns)| {
            p.put(words);
            p.columns(columns);
        });
        self.maybe(" ON ", permission.on.as_ref(), Self::securable);
        self.clause(link, &permission.principals, Self::ident);
        self.flag(permission.with_grant, " WITH GRANT OPTION");
        self.flag(permission.cascade, " CASCADE");
        self.maybe(" AS ", permission.grantor.as_ref(), Self::ident);
    }

    fn principal(&mut self, principal: &Principal) {
        self.put(if principal.alter { "ALTER " } else { "CREATE " });
        self.put(&principal.kind);
        self.put(" ");
        self.ident(&principal.name);
        let (word, name) = match &principal.action {
            PrincipalAction::None => ("", None),
            PrincipalAction::WithoutLogin => (" WITHOUT LOGIN", None),
            PrincipalAction::Enable(true) => (" ENABLE", None),
            PrincipalAction::Enable(false) => (" DISABLE", None),
            PrincipalAction::ForLogin(login) => (" FOR LOGIN ", Some(login)),
            PrincipalAction::Authorization(owner) => (" AUTHORIZATION ", Some(owner)),
            PrincipalAction::AddMember(member) => (" ADD MEMBER ", Some(member)),
            PrincipalAction::DropMember(member) => (" DROP MEMBER ", Some(member)),
            PrincipalAction::From(words) => {
                self.put(" FROM ");
                self.put(words);
                ("", None)
            }
        };
        self.put(word);
        self.maybe("", name, Self::ident);
        self.clause(" WITH ", &principal.options, Self::opt);
    }

    fn action(&mut self, action: ModuleAction, kind: &str) {
        self.put(match action {
            ModuleAction::Create => "CREATE ",
            ModuleAction::Alter => "ALTER ",
            ModuleAction::CreateOrAlter => "CREATE OR ALTER ",
        });
        self.put(kind);
    }

    fn options(&mut self, options: &[ModuleOption]) {
        self.clause(" WITH ", options, |p, option| match option {
            ModuleOption::Words(words) => p.put(words),
            ModuleOption::ExecuteAs(ExecuteAs::Word(word)) => {
                p.put("EXECUTE AS ");
                p.put(word);
            }
            ModuleOption::ExecuteAs(ExecuteAs::User(user)) => {
                p.maybe("EXECUTE AS ", Some(user), Self::expr);
            }
        });
    }

    fn parameter(&mut self, parameter: &Parameter) {
        self.ident(&parameter.name);
        self.put(" ");
        self.data_type(&parameter.data_type);
        self.flag(parameter.varying, " VARYING");
        self.nullable(parameter.nullable);
        self.maybe(" = ", parameter.default.as_ref(), Self::expr);
        self.flag(parameter.output, " OUTPUT");
        self.flag(parameter.read_only, " READONLY");
    }

    fn procedure(&mut self, procedure: &Procedure) {
        self.action(procedure.action, "PROCEDURE ");
        self.name(&procedure.name);
        self.maybe(";", procedure.number.as_ref(), |p, number| p.put(number));
        self.clause(" ", &procedure.parameters, Self::parameter);
        self.options(&procedure.options);
        self.flag(procedure.for_replication, " FOR REPLICATION");
        self.put(" AS ");
        self.statements(&procedure.body);
    }

    fn function(&mut self, function: &Function) {
        self.action(function.action, "FUNCTION ");
        self.name(&function.name);
        self.put(" ");
        self.parens(&function.parameters, Self::parameter);
        self.put(" RETURNS ");
        match &function.body {
            FunctionBody::Scalar(data_type, body) => {
                self.data_type(data_type);
                self.options(&function.options);
                self.put(" AS BEGIN ");
                self.statements(body);
                self.put("END");
            }
            FunctionBody::Inline(query) => {
                self.put("TABLE");
                self.options(&function.options);
                self.put(" AS RETURN ");
                self.subquery(query);
            }
            FunctionBody::Table(variable, elements, body) => {
                self.ident(variable);
                self.put(" TABLE ");
                self.parens(elements, Self::element);
                self.options(&function.options);
                self.put(" AS BEGIN ");
                self.statements(body);
                self.put("END");
            }
        }
    }

    fn view(&mut self, view: &View) {
        self.action(view.action, "VIEW ");
        self.name(&view.name);
        self.columns(&view.columns);
        self.options(&view.options);
        self.put(" AS ");
        self.query(&view.query);
        self.flag(view.check_option, " WITH CHECK OPTION");
    }

    fn trigger_on(&mut self, on: &TriggerOn) {
        self.put(" ON ");
        match on {
            TriggerOn::Table(name) => self.name(name),
            TriggerOn::Database => self.put("DATABASE"),
            TriggerOn::Server => self.put("ALL SERVER"),
        }
    }

    fn trigger(&mut self, trigger: &Trigger) {
        self.action(trigger.action, "TRIGGER ");
        self.name(&trigger.name);
        self.trigger_on(&trigger.on);
        self.options(&trigger.options);
        self.put(if trigger.instead_of {
            " INSTEAD OF "
        } else {
            " AFTER "
        });
        self.list(&trigger.events, |p, event| p.put(event));
        self.flag(trigger.not_for_replication, " NOT FOR REPLICATION");
        self.put(" AS ");
        self.statements(&trigger.body);
    }
}
