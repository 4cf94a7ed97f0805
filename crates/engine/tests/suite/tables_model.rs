//! Tables with several indexes against a model: random statements, transactions, savepoints, restarts.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    ColumnSpec, EngineError, IndexSpec, KeyColumnSpec, ScanSpec, Session, Table, TableSpec,
};
use furrow_io::random::{SeededRng, seeded, test_seed};
use furrow_types::Value;
use rand::Rng;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use tables_common::{House, bigint, house_of, int, n, s, varchar};

/// id, code, name, filler.
type ModelRow = (Option<i32>, String, String);
type Model = BTreeMap<i64, ModelRow>;

/// With a primary key that is the table, or one that is beside a heap.
fn spec(rng: &mut SeededRng, heap: bool) -> TableSpec {
    let unique = IndexSpec::new("u_name", ["name"]).unique();
    let by_code = IndexSpec::new("by_code", [KeyColumnSpec::descending("code")]).include(&["name"]);
    let table = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("code", int()))
        .column(ColumnSpec::new("name", varchar(40)).not_null())
        .column(ColumnSpec::new("filler", varchar(3000)).not_null())
        .index(unique)
        .index(by_code);
    let table = match heap {
        true => table.primary_key_nonclustered(["id"]),
        false => table.primary_key(["id"]),
    };
    if rng.random_bool(0.5) {
        table.on("OTHER")
    } else {
        table
    }
}

fn values(id: i64, row: &ModelRow) -> Vec<Value> {
    vec![
        n(id),
        row.0.map_or(Value::Null, Value::Int),
        s(&row.1),
        s(&row.2),
    ]
}

fn draw_row(rng: &mut SeededRng) -> ModelRow {
    let code = rng.random_bool(0.8).then(|| rng.random_range(0..20));
    let name = format!("Name{}", rng.random_range(0..400));
    let filler = "x".repeat(match rng.random_range(0..10) {
        0 => rng.random_range(0..3000),
        _ => rng.random_range(0..100),
    });
    (code, name, filler)
}

fn scan(session: &mut Session, table: &Arc<Table>, spec: &ScanSpec) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    session
        .scan(table, spec)
        .unwrap()
        .for_each(|row| {
            out.push(row.values()?);
            Ok(())
        })
        .unwrap();
    out
}

fn check(session: &mut Session, table: &Arc<Table>, model: &Model) {
    let expected: Vec<_> = model.iter().map(|(id, row)| values(*id, row)).collect();
    let mut found = scan(session, table, &ScanSpec::default());
    assert_eq!(found.len(), expected.len());
    if table.is_heap() {
        found.sort_by_key(|row| row[0].as_i64());
    }
    assert_eq!(found, expected);
    let backward = ScanSpec {
        index: table.lookup_index().unwrap(),
        backward: true,
        ..ScanSpec::default()
    };
    let mut found = scan(session, table, &backward);
    found.reverse();
    assert_eq!(found, expected);
    for index in 1..table.indexes().len() {
        let mut found = scan(
            session,
            table,
            &ScanSpec {
                index,
                ..ScanSpec::default()
            },
        );
        let key = |row: &Vec<Value>| match table.indexes()[index].name() {
            "u_name" => (row[2].as_str().unwrap().to_lowercase(), 0),
            name if name != "by_code" => (String::new(), row[0].as_i64().unwrap()),
            // NULL comes first in ascending order, so last in this one.
            _ => (String::new(), -row[1].as_i64().unwrap_or(i64::MIN / 2)),
        };
        assert!(
            found.windows(2).all(|w| key(&w[0]) <= key(&w[1])),
            "order of index {index}"
        );
        found.sort_by_key(|row| row[0].as_i64());
        assert_eq!(found, expected, "index {index}");
    }
    assert_eq!(table.row_count(), expected.len() as i64);
    for index in table.indexes() {
        let audit = index.rowset().audit().unwrap();
        assert_eq!(audit.rows, expected.len() as u64);
        assert_eq!(index.rowset().row_count(), expected.len() as i64);
    }
}

fn delete(session: &mut Session, table: &Arc<Table>, id: i64) -> bool {
    let key = session.find_row(table, &[n(id)]).unwrap();
    key.is_some_and(|key| session.delete(table, &key).unwrap())
}

fn update(
    session: &mut Session,
    table: &Arc<Table>,
    id: i64,
    set: &[(usize, Value)],
) -> Result<bool, EngineError> {
    match session.find_row(table, &[n(id)])? {
        Some(key) => session.update(table, &key, set),
        None => Ok(false),
    }
}

/// One random statement; the model is what it was when the statement is refused.
fn step(rng: &mut SeededRng, session: &mut Session, table: &Arc<Table>, model: &mut Model) {
    let id = rng.random_range(0..300);
    let taken = |model: &Model, name: &str, but: Option<i64>| {
        model
            .iter()
            .any(|(id, row)| Some(*id) != but && row.1.eq_ignore_ascii_case(name))
    };
    let refused = |result: Result<bool, EngineError>, number: u32| {
        assert_eq!(result.unwrap_err().number(), number);
    };
    match rng.random_range(0..10) {
        0..5 => {
            let row = draw_row(rng);
            let done = session.insert(table, &values(id, &row)).map(|_| true);
            if model.contains_key(&id) {
                refused(done, 2627);
            } else if taken(model, &row.1, None) {
                refused(done, 2601);
            } else {
                done.unwrap();
                model.insert(id, row);
            }
        }
        5..7 => {
            let done = delete(session, table, id);
            assert_eq!(done, model.remove(&id).is_some());
        }
        7..9 => {
            let row = draw_row(rng);
            let set: Vec<_> = (0..4).zip(values(id, &row)).skip(1).collect();
            let done = update(session, table, id, &set);
            if !model.contains_key(&id) {
                assert!(!done.unwrap());
            } else if taken(model, &row.1, Some(id)) {
                refused(done, 2601);
            } else {
                assert!(done.unwrap());
                model.insert(id, row);
            }
        }
        _ => {
            let to = rng.random_range(0..300);
            let done = update(session, table, id, &[(0, n(to))]);
            if !model.contains_key(&id) {
                assert!(!done.unwrap());
            } else if to != id && model.contains_key(&to) {
                refused(done, 2627);
            } else {
                assert!(done.unwrap());
                let row = model.remove(&id).unwrap();
                model.insert(to, row);
            }
        }
    }
}

fn transaction(rng: &mut SeededRng, session: &mut Session, table: &Arc<Table>, model: &mut Model) {
    let before = model.clone();
    session.begin().unwrap();
    let mut saved = Vec::new();
    for _ in 0..rng.random_range(1..60) {
        match rng.random_range(0..12) {
            0 => saved.push((session.savepoint().unwrap(), model.clone())),
            1 if !saved.is_empty() => {
                let at = rng.random_range(0..saved.len());
                saved.truncate(at + 1);
                session.rollback_to(saved[at].0).unwrap();
                *model = saved[at].1.clone();
            }
            _ => step(rng, session, table, model),
        }
    }
    if rng.random_bool(0.5) {
        session.commit().unwrap();
    } else {
        session.rollback().unwrap();
        *model = before;
    }
}

/// Ends the database and starts it again: abruptly in the middle of work of a session that nobody commits.
fn end(
    rng: &mut SeededRng,
    house: House,
    spec: &TableSpec,
    model: &Model,
    abruptly: bool,
) -> House {
    if !abruptly {
        return house.restart(false, vec![]);
    }
    let mut other = house.session();
    let mut ignored = model.clone();
    {
        let table = other.table("t").unwrap();
        other.begin().unwrap();
        for _ in 0..rng.random_range(1..40) {
            step(rng, &mut other, &table, &mut ignored);
        }
    }
    if rng.random_bool(0.7) {
        let lost = TableSpec {
            name: "lost".into(),
            ..spec.clone()
        };
        other.create_table(&lost).unwrap();
        other.drop_index("t", "by_code").unwrap();
        let too_long = ignored.values().any(|row| row.2.len() > 900);
        let made = other.create_index("t", &IndexSpec::new("wide", ["filler"]));
        assert_eq!(made.is_err(), too_long);
        other
            .create_index("t", &IndexSpec::new("new", ["code"]))
            .unwrap();
    }
    // The log's end becomes durable with what is uncommitted.
    house.db.checkpoint().unwrap();
    house.restart(true, vec![other])
}

fn run(seed: u64, rounds: usize, heap: bool) {
    println!("FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let mut house: House = house_of(4);
    let mut model = Model::new();
    let spec = spec(&mut rng, heap);
    house.session().create_table(&spec).unwrap();
    for round in 0..rounds {
        let mut session = house.session();
        let table = session.table("t").unwrap();
        for _ in 0..rng.random_range(1..30) {
            if rng.random_bool(0.3) {
                transaction(&mut rng, &mut session, &table, &mut model);
            } else {
                step(&mut rng, &mut session, &table, &mut model);
            }
        }
        check(&mut session, &table, &model);
        if rng.random_bool(0.3) {
            house.db.checkpoint().unwrap();
        }
        if round % 4 == 3 {
            let abruptly = rng.random_bool(0.7);
            drop(table);
            drop(session);
            house = end(&mut rng, house, &spec, &model, abruptly);
            let mut session = house.session();
            let table = session.table("t").unwrap();
            assert_eq!(table.indexes().len(), 3 + usize::from(heap));
            check(&mut session, &table, &model);
            assert!(house.db.catalog().units_to_drop().unwrap().is_empty());
        }
        let range = ScanSpec {
            index: usize::from(heap),
            low: Bound::Included(vec![n(50)]),
            high: Bound::Excluded(vec![n(120)]),
            ..ScanSpec::default()
        };
        let mut session = house.session();
        let table = session.table("t").unwrap();
        let found = scan(&mut session, &table, &range);
        let expected: Vec<_> = model
            .range(50..120)
            .map(|(id, row)| values(*id, row))
            .collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn random_statements_transactions_and_restarts_leave_what_the_model_says() {
    let seed = test_seed();
    for at in 0..4 {
        run(seed.wrapping_add(at), 24, false);
    }
}

#[test]
fn the_same_goes_for_a_heap_with_three_indexes() {
    let seed = test_seed();
    for at in 0..4 {
        run(seed.wrapping_add(at), 24, true);
    }
}
