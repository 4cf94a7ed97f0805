//! Statements that run while others change the definitions of their tables: each is bound again, and none
//! is refused (2801).

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_io::thread::scope;
use furrow_sql::{Connection, Kept, Server};
use furrow_types::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const WORKERS: i64 = 3;
const ROUNDS: i64 = 40;

fn server() -> Arc<Server> {
    let config = InstanceConfig {
        pool_pages: 2048,
        ..InstanceConfig::default()
    };
    Server::start(Instance::in_memory(config).unwrap()).unwrap()
}

/// Runs a batch that must not fail.
fn run(connection: &mut Connection, batch: &str) -> Kept {
    let mut kept = Kept::default();
    connection.execute(batch, &mut kept);
    assert!(kept.errors().is_empty(), "{batch}: {:?}", kept.errors());
    kept
}

fn number(connection: &mut Connection, batch: &str) -> i64 {
    let kept = run(connection, batch);
    kept.sets.last().unwrap().rows[0][0].as_i64().unwrap()
}

const PROCEDURE: &str = "CREATE PROCEDURE move_one @id int AS
    SET NOCOUNT ON
    DECLARE @n int = 0
    WHILE @n < 2 BEGIN
        UPDATE t SET n = n + 1 WHERE id = @id
        SET @n = @n + 1
    END
    BEGIN TRANSACTION
    INSERT log_of (id, what) SELECT id, 'moved' FROM t WHERE id = @id
    COMMIT";

const SETUP: &str = "USE d;
    CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL, v varchar(20) NULL);
    CREATE TABLE log_of (row_no int IDENTITY PRIMARY KEY, id int REFERENCES t, what varchar(20));
    INSERT t VALUES (1, 0, 'a'), (2, 0, 'b'), (3, 0, 'c'), (4, 0, 'd');
    CREATE TABLE wide (id int IDENTITY PRIMARY KEY, filler char(4000) NOT NULL DEFAULT 'x');
    INSERT wide DEFAULT VALUES; INSERT wide DEFAULT VALUES; INSERT wide DEFAULT VALUES;";

/// What a worker does over and over: each round adds 6 to its row and writes 3 rows to the log.
fn work(connection: &mut Connection, id: i64) {
    run(connection, "USE d");
    let prepared = connection
        .prepare(
            "UPDATE t SET n = n + 1 OUTPUT inserted.n WHERE id = @id",
            "@id int",
        )
        .unwrap();
    for round in 0..ROUNDS {
        run(connection, &format!("EXEC move_one {id}"));
        let mut kept = Kept::default();
        connection.execute_prepared(&prepared, &[Value::Int(id as i32)], &mut kept);
        assert!(kept.errors().is_empty(), "{:?}", kept.errors());
        assert_eq!(kept.sets[0].rows.len(), 1);
        run(
            connection,
            &format!(
                "BEGIN TRANSACTION
                 UPDATE t SET n += 1 WHERE id = {id}
                 INSERT log_of (id, what) VALUES ({id}, 'by hand')
                 INSERT log_of (id, what) EXEC ('SELECT {id}, ''by text''')
                 COMMIT
                 MERGE t USING (SELECT {id} AS id) AS s ON t.id = s.id
                     WHEN MATCHED THEN UPDATE SET n = t.n + 1;
                 IF EXISTS (SELECT * FROM t WHERE id = {id} AND n > 0) UPDATE t SET n = n + 1 WHERE id = {id}
                 SELECT id INTO #x FROM t WHERE id = {id}
                 DROP TABLE #x"
            ),
        );
        let seen = format!("SELECT n FROM t WHERE id = {id}");
        assert_eq!(number(connection, &seen), (round + 1) * 6);
    }
}

/// Changes definitions until the workers are done.
fn define(connection: &mut Connection, done: &AtomicBool) -> u32 {
    run(connection, "USE d");
    let mut changes = 0;
    while !done.load(Ordering::Acquire) {
        for batch in [
            "CREATE INDEX by_n ON t (n)",
            "ALTER TABLE t ADD extra int NULL",
            "ALTER TABLE t ALTER COLUMN v varchar(40) NULL",
            "DROP INDEX by_n ON t",
            "ALTER TABLE t DROP COLUMN extra",
            "CREATE INDEX by_id ON log_of (id)",
            "ALTER INDEX ALL ON t REBUILD",
            "INSERT wide DEFAULT VALUES; DBCC SHRINKFILE (d, 1)",
            "DROP INDEX by_id ON log_of",
        ] {
            run(connection, batch);
            changes += 1;
        }
    }
    changes
}

#[test]
fn statements_are_bound_again_while_others_change_the_definitions_of_their_tables() {
    let server = server();
    let mut main = server.connect().unwrap();
    run(&mut main, "CREATE DATABASE d");
    run(&mut main, SETUP);
    run(&mut main, PROCEDURE);
    let done = AtomicBool::new(false);
    let changes = scope(|threads| {
        let (server, done) = (&server, &done);
        let workers: Vec<_> = (1..=WORKERS)
            .map(|id| threads.spawn(move || work(&mut server.connect().unwrap(), id)))
            .collect();
        let definer = threads.spawn(move || define(&mut server.connect().unwrap(), done));
        let mut ended = Vec::new();
        for worker in workers {
            ended.push(worker.join());
        }
        done.store(true, Ordering::Release);
        let changes = definer.join().unwrap();
        ended.into_iter().for_each(|end| end.unwrap());
        changes
    });
    assert!(changes > 0);
    let total = number(&mut main, "SELECT SUM(n) FROM t");
    assert_eq!(total, WORKERS * ROUNDS * 6);
    let logged = number(&mut main, "SELECT COUNT(*) FROM log_of");
    assert_eq!(logged, WORKERS * ROUNDS * 3);
}
