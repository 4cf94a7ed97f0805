//! The rows with which the tables begin.
//!
//! A part of the work (the items; the stock, the customers or the orders of one warehouse) is generated
//! from a random stream of its own: the rows do not depend on which thread loads which part.

use super::random::{Constants, Random, decimal, last_name};
use super::schema::Scale;
use crate::targets::Value;

/// Everything that the rows follow from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Population {
    /// How many.
    pub(crate) scale: Scale,
    /// Of the random numbers.
    pub(crate) seed: u64,
    /// Of the non-uniform numbers.
    pub(crate) constants: Constants,
}

/// A part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All items.
    Items,
    /// Warehouse, districts and stock of this warehouse.
    Stock(u32),
    /// Customers of this warehouse, with their history.
    Customers(u32),
    /// Orders of this warehouse, with their lines.
    Orders(u32),
}

/// An order with what belongs to it.
pub(super) struct OrderRows {
    pub(super) order: Vec<Value>,
    pub(super) lines: Vec<Vec<Value>>,
    /// Where it is not delivered yet.
    pub(super) new_order: Option<Vec<Value>>,
}

/// When the rows were entered.
const ENTERED: &str = "2026-01-01T00:00:00.000";

fn int(value: u32) -> Value {
    Value::Int(i64::from(value))
}

fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

impl Population {
    /// The population of a seed.
    pub(crate) fn new(scale: Scale, seed: u64) -> Population {
        Population {
            scale,
            seed,
            constants: Constants::of_seed(seed),
        }
    }

    /// All parts, the longest first.
    pub(super) fn parts(&self) -> Vec<Part> {
        let warehouses = || 1..=self.scale.warehouses;
        let orders = warehouses().map(Part::Orders);
        let customers = warehouses().map(Part::Customers);
        let stock = warehouses().map(Part::Stock);
        orders
            .chain(customers)
            .chain(stock)
            .chain([Part::Items])
            .collect()
    }

    /// The random stream of a part.
    pub(super) fn random(&self, part: Part) -> Random {
        let number = match part {
            Part::Items => 0,
            Part::Stock(w) => 4 * u64::from(w) + 1,
            Part::Customers(w) => 4 * u64::from(w) + 2,
            Part::Orders(w) => 4 * u64::from(w) + 3,
        };
        Random::stream(self.seed, number)
    }

    pub(super) fn item(random: &mut Random, id: u32) -> Vec<Value> {
        vec![
            int(id),
            int(random.uniform(1, 10_000)),
            text(random.text(14, 24)),
            text(random.decimal((100, 10_000), 2)),
            text(random.data(26, 50)),
        ]
    }

    fn address(random: &mut Random) -> Vec<Value> {
        let mut parts: Vec<Value> = (0..3).map(|_| text(random.text(10, 20))).collect();
        parts.push(text(random.text(2, 2)));
        parts.push(text(random.zip()));
        parts
    }

    pub(super) fn warehouse(&self, random: &mut Random, w: u32) -> Vec<Value> {
        let payments = i64::from(self.scale.districts) * i64::from(self.scale.customers);
        let mut row = vec![int(w), text(random.text(6, 10))];
        row.extend(Population::address(random));
        row.push(text(random.decimal((0, 2000), 4)));
        // What the payments of the history come to: 10.00 each.
        row.push(text(decimal(1000 * payments, 2)));
        row
    }

    pub(super) fn district(&self, random: &mut Random, (w, d): (u32, u32)) -> Vec<Value> {
        let payments = i64::from(self.scale.customers);
        let mut row = vec![int(d), int(w), text(random.text(6, 10))];
        row.extend(Population::address(random));
        row.push(text(random.decimal((0, 2000), 4)));
        row.push(text(decimal(1000 * payments, 2)));
        row.push(int(self.scale.customers + 1));
        row
    }

    pub(super) fn stock(random: &mut Random, (w, item): (u32, u32)) -> Vec<Value> {
        let mut row = vec![int(item), int(w), int(random.uniform(10, 100))];
        row.extend((0..10).map(|_| text(random.text(24, 24))));
        row.extend([int(0), int(0), int(0), text(random.data(26, 50))]);
        row
    }

    pub(super) fn customer(&self, random: &mut Random, (w, d, c): (u32, u32, u32)) -> Vec<Value> {
        let names = self.scale.names();
        let name = if c <= names {
            c - 1
        } else {
            random.nurand(255, self.constants.last_load, (0, names - 1))
        };
        let mut row = vec![int(c), int(d), int(w), text(random.text(8, 16)), text("OE")];
        row.push(text(last_name(name)));
        row.extend(Population::address(random));
        let credit = if random.percent(10) { "BC" } else { "GC" };
        row.extend([text(random.digits(16)), text(ENTERED), text(credit)]);
        row.extend([text("50000.00"), text(random.decimal((0, 5000), 4))]);
        row.extend([text("-10.00"), text("10.00"), int(1), int(0)]);
        row.push(text(random.text(300, 500)));
        row
    }

    pub(super) fn history(random: &mut Random, (w, d, c): (u32, u32, u32)) -> Vec<Value> {
        let mut row = vec![
            int(c),
            int(d),
            int(w),
            int(d),
            int(w),
            text(ENTERED),
            text("10.00"),
        ];
        row.push(text(random.text(12, 24)));
        row
    }

    /// The customers of a district in the order in which their orders were entered.
    pub(super) fn ordering(&self, random: &mut Random) -> Vec<u32> {
        let mut customers: Vec<u32> = (1..=self.scale.customers).collect();
        random.shuffle(&mut customers);
        customers
    }

    pub(super) fn order(
        &self,
        random: &mut Random,
        (w, d): (u32, u32),
        (o, customer): (u32, u32),
    ) -> OrderRows {
        let is_delivered = o <= self.scale.delivered();
        let lines = random.uniform(5, 15);
        let carrier = if is_delivered {
            int(random.uniform(1, 10))
        } else {
            Value::Null
        };
        let mut order = vec![
            int(o),
            int(d),
            int(w),
            int(customer),
            text(ENTERED),
            carrier,
        ];
        order.extend([int(lines), int(1)]);
        let line = |number: u32| {
            let (date, amount) = if is_delivered {
                (text(ENTERED), text("0.00"))
            } else {
                (Value::Null, text(random.decimal((1, 999_999), 2)))
            };
            let item = random.uniform(1, self.scale.items);
            let mut row = vec![int(o), int(d), int(w), int(number), int(item), int(w), date];
            row.extend([int(5), amount, text(random.text(24, 24))]);
            row
        };
        OrderRows {
            order,
            lines: (1..=lines).map(line).collect(),
            new_order: (!is_delivered).then(|| vec![int(o), int(d), int(w)]),
        }
    }
}
