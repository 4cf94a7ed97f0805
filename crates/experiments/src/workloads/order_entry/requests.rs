//! What a session asks for: the inputs of each transaction, drawn as the specification has them.

use super::procedures::MOST_LINES;
use super::random::{Constants, Deck, Kind, Random, last_name};
use super::schema::Scale;

/// How a customer is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// By number.
    Number(u32),
    /// By last name: the one in the middle of those that have it.
    Name(String),
}

/// A line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) item: u32,
    pub(crate) supply: u32,
    pub(crate) quantity: u32,
}

/// A transaction with its inputs. The warehouse is the session's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    NewOrder {
        district: u32,
        customer: u32,
        lines: Vec<Line>,
        /// Whether the last item does not exist: the transaction has to be rolled back.
        is_invalid: bool,
    },
    Payment {
        district: u32,
        /// Warehouse and district of the customer.
        home: (u32, u32),
        customer: Finding,
        cents: u32,
    },
    OrderStatus {
        district: u32,
        customer: Finding,
    },
    Delivery {
        carrier: u32,
    },
    StockLevel {
        district: u32,
        threshold: u32,
    },
}

impl Request {
    /// Which of the five it is.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Request::NewOrder { .. } => Kind::NewOrder,
            Request::Payment { .. } => Kind::Payment,
            Request::OrderStatus { .. } => Kind::OrderStatus,
            Request::Delivery { .. } => Kind::Delivery,
            Request::StockLevel { .. } => Kind::StockLevel,
        }
    }
}

/// Draws the requests of one session.
#[derive(Debug)]
pub(crate) struct Requests {
    random: Random,
    deck: Deck,
    scale: Scale,
    constants: Constants,
    /// The session's warehouse.
    pub(crate) warehouse: u32,
    /// The district whose stock the session looks at.
    stock_district: u32,
}

impl Requests {
    /// Those of the session at this place, counted from 0. Sessions are dealt to the warehouses in turn.
    pub(crate) fn new(scale: Scale, constants: Constants, (seed, place): (u64, u32)) -> Requests {
        Requests {
            // Streams of the population have numbers below 2^32.
            random: Random::stream(seed, (1 << 32) + u64::from(place)),
            deck: Deck::default(),
            scale,
            constants,
            warehouse: place % scale.warehouses + 1,
            stock_district: place / scale.warehouses % scale.districts + 1,
        }
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Request {
        match self.deck.deal(&mut self.random) {
            Kind::NewOrder => self.new_order(),
            Kind::Payment => self.payment(),
            Kind::OrderStatus => Request::OrderStatus {
                district: self.district(),
                customer: self.finding(),
            },
            Kind::Delivery => Request::Delivery {
                carrier: self.random.uniform(1, 10),
            },
            Kind::StockLevel => Request::StockLevel {
                district: self.stock_district,
                threshold: self.random.uniform(10, 20),
            },
        }
    }

    /// Seconds between the end of a transaction and the next one: thinking about it, keying in that one.
    pub(crate) fn pause_s(&mut self, last: Option<Kind>, next: Kind) -> f64 {
        let thought = last.map_or(0.0, |kind| self.random.think_s(kind.pace_s().1));
        thought + next.pace_s().0
    }

    fn district(&mut self) -> u32 {
        self.random.uniform(1, self.scale.districts)
    }

    fn customer(&mut self) -> u32 {
        let c = self.constants.customer;
        self.random.nurand(1023, c, (1, self.scale.customers))
    }

    /// By last name in 60 of a hundred cases.
    fn finding(&mut self) -> Finding {
        if !self.random.percent(60) {
            return Finding::Number(self.customer());
        }
        let names = (0, self.scale.names() - 1);
        Finding::Name(last_name(self.random.nurand(
            255,
            self.constants.last_run,
            names,
        )))
    }

    /// Another warehouse than the session's own.
    fn remote(&mut self) -> u32 {
        let other = self.random.uniform(1, self.scale.warehouses - 1);
        other + u32::from(other >= self.warehouse)
    }

    fn new_order(&mut self) -> Request {
        let (district, customer) = (self.district(), self.customer());
        let count = self.random.uniform(5, MOST_LINES);
        let is_invalid = self.random.percent(1);
        let mut lines: Vec<Line> = (0..count).map(|_| self.line()).collect();
        if is_invalid && let Some(last) = lines.last_mut() {
            last.item = self.scale.items + 1;
        }
        Request::NewOrder {
            district,
            customer,
            lines,
            is_invalid,
        }
    }

    fn line(&mut self) -> Line {
        let item = self
            .random
            .nurand(8191, self.constants.item, (1, self.scale.items));
        let is_remote = self.random.percent(1) && self.scale.warehouses > 1;
        Line {
            item,
            supply: if is_remote {
                self.remote()
            } else {
                self.warehouse
            },
            quantity: self.random.uniform(1, 10),
        }
    }

    fn payment(&mut self) -> Request {
        let district = self.district();
        let is_remote = self.random.percent(15) && self.scale.warehouses > 1;
        let home = if is_remote {
            (self.remote(), self.district())
        } else {
            (self.warehouse, district)
        };
        Request::Payment {
            district,
            home,
            customer: self.finding(),
            cents: self.random.uniform(100, 500_000),
        }
    }
}
