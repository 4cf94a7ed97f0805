//! Views of databases that an older version of this engine wrote: it stored no columns with them.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig, ModuleDefinition, ModuleKind, ModuleSet, Session};
use furrow_sql::{Connection, Kept, Server};

fn run(connection: &mut Connection, batch: &str) -> Kept {
    let mut kept = Kept::default();
    connection.execute(batch, &mut kept);
    assert!(kept.errors().is_empty(), "{batch}: {:?}", kept.errors());
    kept
}

/// The columns that a query of the view returns, and those that `sys.columns` lists.
fn columns(connection: &mut Connection) -> (Vec<String>, Vec<String>) {
    let kept = run(connection, "SELECT * FROM v");
    let of_query = kept.sets[0].columns.iter().map(|c| c.name.clone());
    let of_query = of_query.collect();
    let kept = run(
        connection,
        "SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('v') ORDER BY column_id",
    );
    let name = |row: &Vec<furrow_types::Value>| row[0].as_str().unwrap().to_owned();
    (of_query, kept.sets[0].rows.iter().map(name).collect())
}

#[test]
fn a_view_without_stored_columns_follows_its_table_until_it_is_refreshed() {
    let instance = Instance::in_memory(InstanceConfig::default()).unwrap();
    let server = Server::start(instance).unwrap();
    let mut connection = server.connect().unwrap();
    run(&mut connection, "CREATE TABLE t (a int, b int)");
    let older = ModuleDefinition {
        kind: ModuleKind::View,
        text: "CREATE VIEW v AS SELECT * FROM t",
        set: ModuleSet::default(),
        columns: &[],
    };
    let master = server.instance().database("master").unwrap();
    let mut session = Session::new(&master).unwrap();
    session.create_module("dbo", "v", &older).unwrap();

    let both = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        (names.clone(), names)
    };
    assert_eq!(columns(&mut connection), both(&["a", "b"]));
    run(&mut connection, "ALTER TABLE t ADD c int NULL");
    assert_eq!(columns(&mut connection), both(&["a", "b", "c"]));
    run(&mut connection, "EXEC sp_refreshview 'v'");
    run(&mut connection, "ALTER TABLE t ADD d int NULL");
    assert_eq!(columns(&mut connection), both(&["a", "b", "c"]));
}
