//! Modules, schemas, checks and defaults: kept with their texts, undone, and there after a crash.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    CheckSpec, ColumnSpec, ModuleDefinition, ModuleKind, ModuleSet, Session, TableSpec, Timeout,
};
use furrow_types::Value;
use tables_common::{House, house, int, s, varchar};

fn definition(kind: ModuleKind, text: &str) -> ModuleDefinition<'_> {
    ModuleDefinition {
        kind,
        text,
        set: ModuleSet::default(),
        columns: &[],
    }
}

fn names(session: &Session) -> Vec<String> {
    let all = session.modules();
    all.iter()
        .map(|m| format!("{}.{}", m.schema(), m.name()))
        .collect()
}

#[test]
fn a_procedure_is_made_changed_and_dropped() {
    let house = house();
    let mut session = house.session();
    let kind = ModuleKind::Procedure;
    let made = session
        .create_module(
            "dbo",
            "Insert1000",
            &definition(kind, "CREATE PROC Insert1000 AS SELECT 1"),
        )
        .unwrap();
    assert_eq!(made.name(), "Insert1000");
    let again = session.create_module("dbo", "INSERT1000", &definition(kind, "x"));
    assert_eq!(again.unwrap_err().number(), 2714);
    let table = TableSpec::new("insert1000").column(ColumnSpec::new("a", int()));
    assert_eq!(session.create_table(&table).unwrap_err().number(), 2714);
    let long = "-- \u{20ac}\n".repeat(5000);
    session
        .alter_module("dbo", "insert1000", &definition(kind, &long))
        .unwrap();
    let seen = house.session().module("DBO", "Insert1000").unwrap();
    assert_eq!((seen.id(), seen.text()), (made.id(), long.as_str()));
    let view = session.alter_module("dbo", "Insert1000", &definition(ModuleKind::View, "x"));
    assert_eq!(view.unwrap_err().number(), 2010);
    let missing = session.alter_module("dbo", "other", &definition(kind, "x"));
    assert_eq!(missing.unwrap_err().number(), 208);
    let view = session.drop_module(ModuleKind::View, "dbo", "Insert1000");
    assert_eq!(view.unwrap_err().number(), 3701);
    session.drop_module(kind, "dbo", "Insert1000").unwrap();
    assert!(session.module("dbo", "Insert1000").is_none());
    session.create_table(&table).unwrap();
    let taken = session.create_module("dbo", "Insert1000", &definition(kind, "x"));
    assert_eq!(taken.unwrap_err().number(), 2714);
}

#[test]
fn modules_of_a_transaction_are_its_own_until_it_commits() {
    let house = house();
    let (mut one, mut other) = (house.session(), house.session());
    let kind = ModuleKind::View;
    one.create_module("dbo", "kept", &definition(kind, "first"))
        .unwrap();
    one.begin().unwrap();
    one.create_module("dbo", "mine", &definition(kind, "text"))
        .unwrap();
    one.alter_module("dbo", "kept", &definition(kind, "second"))
        .unwrap();
    let place = one.savepoint().unwrap();
    one.drop_module(kind, "dbo", "kept").unwrap();
    assert_eq!(names(&one), ["dbo.mine"]);
    one.rollback_to(place).unwrap();
    assert_eq!(names(&one), ["dbo.kept", "dbo.mine"]);
    assert_eq!(names(&other), ["dbo.kept"]);
    other.set_lock_timeout(Timeout::NoWait);
    let same = other.create_module("dbo", "mine", &definition(kind, "x"));
    assert_eq!(same.unwrap_err().number(), 1222);
    one.rollback().unwrap();
    assert_eq!(other.module("dbo", "kept").unwrap().text(), "first");
    assert!(other.module("dbo", "mine").is_none());
    other
        .create_module("dbo", "mine", &definition(kind, "x"))
        .unwrap();
}

fn view<'a>(text: &'a str, columns: &'a [ColumnSpec]) -> ModuleDefinition<'a> {
    ModuleDefinition {
        columns,
        ..definition(ModuleKind::View, text)
    }
}

#[test]
fn the_columns_of_a_view_change_only_when_it_is_altered_or_refreshed_and_survive_a_crash() {
    let house = house();
    let mut session = house.session();
    let first = [
        ColumnSpec::new("id", int()).not_null(),
        ColumnSpec::new("name", varchar(30)),
    ];
    session
        .create_module("dbo", "v", &view("text", &first))
        .unwrap();
    let columns = |session: &Session| session.module("dbo", "v").unwrap().columns().to_vec();
    assert_eq!(columns(&session), first);

    session.begin().unwrap();
    let place = session.savepoint().unwrap();
    session
        .alter_module("dbo", "v", &view("other", &first[1..]))
        .unwrap();
    assert_eq!(columns(&session), first[1..]);
    session.rollback_to(place).unwrap();
    assert_eq!(columns(&session), first);
    session.rollback().unwrap();

    let old = session.module("dbo", "v").unwrap();
    assert!(session.refresh_view(&old, &first[..1]).unwrap());
    let now = session.module("dbo", "v").unwrap();
    assert_eq!(
        (now.id(), now.text(), now.set()),
        (old.id(), "text", old.set())
    );
    assert_eq!(now.columns(), &first[..1]);
    // A definition that has been replaced since it was read is not refreshed.
    assert!(!session.refresh_view(&old, &first).unwrap());
    assert_eq!(columns(&session), first[..1]);

    let house = house.restart(true, vec![session]);
    let mut session = house.session();
    assert_eq!(columns(&session), first[..1]);
    session.drop_module(ModuleKind::View, "dbo", "v").unwrap();
    session
        .create_module("dbo", "v", &definition(ModuleKind::View, "text"))
        .unwrap();
    let house = house.restart(true, vec![session]);
    assert!(columns(&house.session()).is_empty());
}

#[test]
fn schemas_hold_objects_and_go_when_they_are_empty() {
    let house = house();
    let mut session = house.session();
    let spec = |schema: &str| TableSpec {
        schema: schema.into(),
        ..TableSpec::new("t").column(ColumnSpec::new("a", int()))
    };
    assert_eq!(session.create_table(&spec("s")).unwrap_err().number(), 2760);
    session.begin().unwrap();
    let id = session.create_schema("s").unwrap();
    session.create_table(&spec("s")).unwrap();
    session.create_table(&spec("dbo")).unwrap();
    assert_eq!(session.create_schema("S").unwrap_err().number(), 2714);
    assert!(!house.session().schemas().contains_key(&id));
    session.commit().unwrap();
    assert_eq!(house.session().schemas()[&id], "s");
    assert_eq!(session.drop_schema("s").unwrap_err().number(), 3729);
    assert_eq!(session.drop_schema("dbo").unwrap_err().number(), 15150);
    session.begin().unwrap();
    session.drop_table_in("s", "t").unwrap();
    session.drop_schema("s").unwrap();
    assert_eq!(session.create_table(&spec("s")).unwrap_err().number(), 2760);
    session.rollback().unwrap();
    let table = session.table_in("s", "t").unwrap();
    session.insert(&table, &[Value::Int(1)]).unwrap();
    session.truncate_table_in("s", "t").unwrap();
    session.drop_table_in("s", "t").unwrap();
    session.drop_schema("s").unwrap();
    assert_eq!(session.drop_schema("s").unwrap_err().number(), 3701);
    assert!(session.table("t").is_ok());
}

fn checked() -> TableSpec {
    let name = ColumnSpec::new("who", varchar(30)).default_expression("(suser_sname())");
    let state = ColumnSpec {
        default_name: Some("DF_state".into()),
        ..ColumnSpec::new("state", varchar(8)).default_value("new")
    };
    TableSpec::new("orders")
        .column(ColumnSpec::new("id", int()).identity(1, 1))
        .column(name)
        .column(state)
        .check(CheckSpec::new("([id]>(0))"))
        .check(CheckSpec::new("(len([who])>(2))").named("CK_who"))
        .primary_key(["id"])
}

fn look_at_checks(house: &House) {
    let table = house.session().table("orders").unwrap();
    let texts: Vec<(&str, bool)> = table
        .checks()
        .iter()
        .map(|c| (c.text.as_str(), c.system_named))
        .collect();
    assert_eq!(texts, [("([id]>(0))", true), ("(len([who])>(2))", false)]);
    let names: Vec<String> = table.children().into_iter().map(|c| c.name).collect();
    let of = |start: &str| names.iter().filter(|n| n.starts_with(start)).count();
    for start in [
        "DF__orders__who__",
        "DF_state",
        "CK__orders__",
        "CK_who",
        "PK__orders__",
    ] {
        assert_eq!(of(start), 1, "{start} in {names:?}");
    }
    let text = |at: usize| table.columns()[at].default_text.as_deref();
    assert_eq!(text(0), None);
    assert_eq!(text(1), Some("(suser_sname())"));
    assert_eq!(text(2), Some("(N'new')"));
    assert!(table.columns()[2].default.is_some());
}

#[test]
fn checks_and_defaults_come_with_the_table_also_after_a_crash() {
    let house = house();
    let mut session = house.session();
    session.create_table(&checked()).unwrap();
    let twice = TableSpec {
        name: "other".into(),
        ..checked()
    };
    assert_eq!(session.create_table(&twice).unwrap_err().number(), 2714);
    look_at_checks(&house);
    session
        .create_module(
            "dbo",
            "p",
            &definition(ModuleKind::Procedure, &"x".repeat(20_000)),
        )
        .unwrap();
    let mut open = house.session();
    open.begin().unwrap();
    open.create_schema("lost").unwrap();
    open.alter_module("dbo", "p", &definition(ModuleKind::Procedure, "lost"))
        .unwrap();
    // Makes the uncommitted records durable.
    {
        let table = session.table("orders").unwrap();
        let value = [s("somebody")];
        session.insert_columns(&table, &[1], &value).unwrap();
    }
    let house = house.restart(true, vec![open, session]);
    look_at_checks(&house);
    let session = house.session();
    assert_eq!(session.module("dbo", "p").unwrap().text().len(), 20_000);
    assert!(!session.schemas().values().any(|s| s == "lost"));
}

#[test]
fn an_expression_that_only_t_sql_evaluates_is_not_taken_for_null() {
    let house = house();
    let mut session = house.session();
    let table = session.create_table(&checked()).unwrap();
    let refused = session.insert_columns(&table, &[2], &[s("x")]);
    assert_eq!(refused.unwrap_err().number(), 40514);
    let mut inserter = session.inserter(&table, &[1]).unwrap();
    assert_eq!(inserter.default().unwrap_err().number(), 40514);
}
