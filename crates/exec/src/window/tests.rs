//! Frames put together from parts against frames summed up row by row, and how many rows are looked at.

use super::rows::{InMemory, Rows, Writing};
use super::{
    FrameEnd, KeyedRow, WindowCall, WindowFrame, WindowFunction, WindowPlan, fill, fill_in,
};
use crate::expr::Expr;
use crate::operator::Plan;
use crate::sort::SortKey;
use crate::spill::{SpillFile, Stream};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::Grant;
use furrow_context::server::ServerState;
use furrow_context::sessions::Sessions;
use furrow_context::system::NoSystemObjects;
use furrow_context::system_databases::MASTER;
use furrow_engine::{Instance, InstanceConfig};
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_scalar::Operand;
use furrow_scalar::aggregate::{Aggregate, BoundAggregate, all, resolve};
use furrow_types::{DataType, Decimal, TypeId, Value};
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

fn with_context(body: impl FnOnce(&mut Context)) {
    let instance = Instance::in_memory(InstanceConfig::default()).unwrap();
    let server = ServerState::start(instance).unwrap();
    let sessions = Sessions::new(&server, MASTER).unwrap();
    body(&mut Context::new(&server, sessions, &NoSystemObjects));
}

/// Where a frame begins or ends, in rows from the current one.
type Offset = Option<i64>;

fn frame_end(offset: Offset) -> FrameEnd {
    let count = |n: i64| Expr::Const(Value::BigInt(n));
    match offset {
        None => FrameEnd::Unbounded,
        Some(0) => FrameEnd::Current,
        Some(n) if n < 0 => FrameEnd::Preceding(count(-n)),
        Some(n) => FrameEnd::Following(count(n)),
    }
}

fn bound(aggregate: Aggregate, of: DataType) -> Option<BoundAggregate> {
    resolve(aggregate, Some(&Operand::column(of))).ok()
}

fn call(function: WindowFunction, (start, end): (Offset, Offset)) -> WindowCall {
    WindowCall {
        function,
        partition: Vec::new(),
        order: Vec::new(),
        frame: WindowFrame {
            rows: true,
            start: frame_end(start),
            end: frame_end(end),
        },
    }
}

fn kept(values: &[Value]) -> Vec<KeyedRow> {
    let kept = |value: &Value| KeyedRow {
        row: vec![value.clone()],
        keys: vec![value.clone()],
    };
    values.iter().map(kept).collect()
}

fn given<R: Rows>(
    rows: &R,
    part: &Range<usize>,
    call: &WindowCall,
    cx: &mut Context,
) -> Result<Vec<Value>> {
    let mut given = Vec::new();
    fill::values(rows, part, call, cx, &mut |_, value| {
        given.push(value);
        Ok(())
    })?;
    Ok(given)
}

/// The same, each frame by itself and row by row.
fn slowly(
    values: &[Value],
    part: &Range<usize>,
    (start, end): (Offset, Offset),
    bound: &BoundAggregate,
    cx: &Context,
) -> Vec<Value> {
    let of_row = |at: usize| {
        let place = |offset: i64| (at as i64 + offset).clamp(0, values.len() as i64) as usize;
        let start = start.map_or(part.start, place).max(part.start);
        let end = end
            .map_or(part.end, |offset| place(offset + 1))
            .min(part.end);
        let mut state = bound.start();
        for value in values.get(start..end).unwrap_or(&[]) {
            match &bound.conversion {
                Some(to) if !value.is_null() => {
                    let value = to.apply(value, &cx.settings()).unwrap();
                    state.add(bound, &value).unwrap();
                }
                _ => state.add(bound, value).unwrap(),
            }
        }
        state.finish(bound).unwrap()
    };
    part.clone().map(of_row).collect()
}

fn drawn(id: TypeId, random: &mut impl Rng) -> Value {
    let n: i32 = random.random_range(-1000..1000);
    match id {
        _ if random.random_range(0..8) == 0 => Value::Null,
        TypeId::Int => Value::Int(n),
        TypeId::Money => Value::Money(n.into()),
        // Sums of eighths are exact, in whatever order.
        TypeId::Float => Value::Float(f64::from(n) / 8.0),
        TypeId::VarChar => Value::VarChar(format!("{n:x}")),
        _ => Value::Decimal(Decimal {
            unscaled: n.into(),
            scale: 2,
        }),
    }
}

fn drawn_frame(random: &mut impl Rng) -> (Offset, Offset) {
    let mut offset = |from: i64| match random.random_range(0..4) {
        0 => None,
        1 if from <= 0 => Some(0),
        _ => Some(random.random_range(from..from.max(0) + 400)),
    };
    let start = offset(-400);
    (start, offset(start.unwrap_or(-400)))
}

fn agree(a: &Value, b: &Value, of: Aggregate) -> bool {
    let spread = matches!(
        of,
        Aggregate::StDev | Aggregate::StDevP | Aggregate::Var | Aggregate::VarP
    );
    match (a, b) {
        (Value::Float(a), Value::Float(b)) if spread => (a - b).abs() <= 1e-9 * a.abs().max(1.0),
        _ => a == b,
    }
}

#[test]
fn drawn_frames_have_the_aggregates_of_their_rows_in_memory_and_in_files() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut random = seeded(seed);
    let types = [
        DataType::simple(TypeId::Int),
        DataType::simple(TypeId::Money),
        DataType::simple(TypeId::Float),
        DataType::sized(TypeId::VarChar, 10),
        DataType::decimal(TypeId::Decimal, 9, 2).unwrap(),
    ];
    with_context(|cx| {
        for round in 0..60 {
            let of = types[random.random_range(0..types.len())];
            let which = all()[random.random_range(0..all().len())].aggregate;
            let Some(bound) = bound(which, of).filter(|_| which != Aggregate::StringAgg) else {
                continue;
            };
            let rows = random.random_range(1..[80, 400, 2300][round % 3]);
            let values: Vec<Value> = (0..rows).map(|_| drawn(of.id, &mut random)).collect();
            let part = random.random_range(0..rows.min(50))..rows;
            let frame = drawn_frame(&mut random);
            let function = WindowFunction::Aggregate(bound.clone(), Some(Expr::Column(0)));
            let call = call(function, frame);
            let all = kept(&values);
            let mut writing = Writing::new(cx).unwrap();
            all.iter().for_each(|kept| writing.push(kept).unwrap());
            let (on_file, _) = writing.finish().unwrap();
            let expected = slowly(&values, &part, frame, &bound, cx);
            for found in [
                given(&InMemory(&all), &part, &call, cx).unwrap(),
                given(&on_file, &part, &call, cx).unwrap(),
            ] {
                assert_eq!(found.len(), expected.len());
                for (at, (a, b)) in expected.iter().zip(&found).enumerate() {
                    let said = format!("{which:?} of {of} in {frame:?} of {part:?}, row {at}");
                    assert!(agree(a, b, which), "{said}: {a} but {b}, seed {seed}");
                }
            }
        }
    });
}

/// Rows that are counted as they are looked at.
#[derive(Clone)]
struct Counted<'r> {
    rows: InMemory<'r>,
    reads: Rc<Cell<usize>>,
}

impl Rows for Counted<'_> {
    fn row(&mut self, at: usize) -> Result<&[Value]> {
        self.reads.set(self.reads.get() + 1);
        self.rows.row(at)
    }

    fn keys(&mut self, at: usize) -> Result<&[Value]> {
        self.rows.keys(at)
    }

    fn again(&self) -> Self {
        self.clone()
    }
}

#[test]
fn frames_that_do_not_begin_with_their_partition_look_at_each_row_a_few_times() {
    let int = DataType::simple(TypeId::Int);
    let values: Vec<Value> = (0..8000).map(Value::Int).collect();
    let all = kept(&values);
    with_context(|cx| {
        for frame in [
            (Some(0), None),
            (Some(-3000), None),
            (Some(-2000), Some(2000)),
            (Some(2000), Some(3000)),
        ] {
            let rows = Counted {
                rows: InMemory(&all),
                reads: Rc::default(),
            };
            let sum = bound(Aggregate::Sum, int).unwrap();
            let call = call(WindowFunction::Aggregate(sum, Some(Expr::Column(0))), frame);
            let found = given(&rows, &(0..all.len()), &call, cx).unwrap();
            assert_eq!(found.len(), all.len());
            let each = rows.reads.get() / all.len();
            assert!(each < 100, "{frame:?}: each row {each} times");
        }
    });
}

#[test]
fn a_part_whose_sum_overflows_does_not_stop_a_frame_whose_sum_does_not() {
    let decimal = DataType::decimal(TypeId::Decimal, 38, 0).unwrap();
    let nines = 9 * 10_i128.pow(37);
    let value = |at: usize| {
        let unscaled = match at {
            4 => nines,
            32 | 33 => -nines,
            _ => 0,
        };
        Value::Decimal(Decimal { unscaled, scale: 0 })
    };
    let values: Vec<Value> = (0..100).map(value).collect();
    let sum = bound(Aggregate::Sum, decimal).unwrap();
    let frame = (Some(-95), None);
    let call = call(WindowFunction::Aggregate(sum, Some(Expr::Column(0))), frame);
    with_context(|cx| {
        let found = given(&InMemory(&kept(&values)), &(0..100), &call, cx).unwrap();
        assert!(found.iter().all(|sum| *sum == value(32)), "{found:?}");
    });
}

#[test]
fn a_cancelled_statement_does_not_go_through_a_partition() {
    let int = DataType::simple(TypeId::Int);
    let all = kept(&vec![Value::Int(1); 4000]);
    with_context(|cx| {
        let mut written = Stream::new(&SpillFile::create(cx).unwrap());
        all.iter().for_each(|kept| written.push(&kept.row).unwrap());
        let written = written.finish().unwrap();
        cx.sessions.activity().cancel();
        let sum =
            WindowFunction::Aggregate(bound(Aggregate::Sum, int).unwrap(), Some(Expr::Column(0)));
        for (function, most) in [
            (sum, 0),
            (WindowFunction::Rank, 0),
            (WindowFunction::RowNumber, 2000),
        ] {
            let mut values = 0;
            let mut call = call(function, (None, None));
            call.order.push(SortKey {
                expr: Expr::Column(0),
                data_type: int,
                descending: false,
            });
            let ended = fill::values(&InMemory(&all), &(0..4000), &call, cx, &mut |_, _| {
                values += 1;
                Ok(())
            });
            assert!(ended.is_err());
            assert!(values <= most, "{values}");
        }
        let plan = WindowPlan {
            input: Plan::One,
            width: 1,
            calls: vec![call(WindowFunction::RowNumber, (None, None))],
            streams: false,
        };
        assert!(plan.through_files(written, cx).is_err());
    });
}

#[test]
fn values_for_which_there_is_no_room_are_not_added() {
    let long = DataType::sized(TypeId::VarChar, 8000);
    let mut rows = kept(&vec![Value::VarChar("x".repeat(8000)); 100]);
    let max = bound(Aggregate::Max, long).unwrap();
    let call = call(
        WindowFunction::Aggregate(max, Some(Expr::Column(0))),
        (None, None),
    );
    with_context(|cx| {
        let mut fill = |limit: usize| {
            cx.memory.limit(limit);
            let mut grant = Grant::new(&cx.memory);
            fill_in(&mut rows, 0..100, &call, &mut grant, cx).unwrap()
        };
        assert!(!fill(100_000));
        assert!(fill(1_000_000));
        assert!(rows.iter().all(|kept| kept.row.len() == 2));
    });
}
