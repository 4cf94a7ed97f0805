//! The nine tables: columns, keys, indexes, and how many rows they begin with.

use crate::targets::{Session, TargetError};

/// How many rows the tables begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scale {
    /// Warehouses.
    pub(crate) warehouses: u32,
    /// Districts of a warehouse.
    pub(crate) districts: u32,
    /// Customers of a district, each with one order.
    pub(crate) customers: u32,
    /// Items, and rows of stock of a warehouse.
    pub(crate) items: u32,
}

impl Scale {
    /// The cardinalities of the specification.
    #[cfg(test)]
    pub(crate) fn full(warehouses: u32) -> Scale {
        Scale::part(warehouses, 1)
    }

    /// One part in so many of the customers of a district, of their orders and of the items: 1, 10 or 100.
    pub(crate) fn part(warehouses: u32, parts: u32) -> Scale {
        debug_assert!(
            (3000 / parts).is_multiple_of(10),
            "seven in ten orders are delivered"
        );
        Scale {
            warehouses,
            districts: 10,
            customers: 3000 / parts,
            items: 100_000 / parts,
        }
    }

    /// Few rows, for tests.
    #[cfg(test)]
    pub(crate) fn small(warehouses: u32) -> Scale {
        Scale {
            warehouses,
            districts: 3,
            customers: 60,
            items: 200,
        }
    }

    /// The number of warehouses in words: "1 warehouse".
    pub(crate) fn warehouses_text(&self) -> String {
        match self.warehouses {
            1 => "1 warehouse".to_owned(),
            many => format!("{many} warehouses"),
        }
    }

    /// Orders of a district that are delivered when the load begins: 2,100 of 3,000.
    pub(crate) fn delivered(&self) -> u32 {
        self.customers / 10 * 7
    }

    /// Different last names.
    pub(crate) fn names(&self) -> u32 {
        self.customers.min(1000)
    }

    /// Rows of all tables but the order lines, of which an order has ten on average.
    pub(crate) fn rows(&self) -> u64 {
        let customers = u64::from(self.districts * self.customers);
        let orders =
            customers * 11 + u64::from(self.districts * (self.customers - self.delivered()));
        let warehouse = u64::from(self.items) + 2 * customers + orders;
        u64::from(self.warehouses) * warehouse + u64::from(self.items)
    }

    /// Bytes of the tables with their indexes and page overhead, somewhat more than they have.
    pub(crate) fn bytes(&self) -> u64 {
        let customers = u64::from(self.districts * self.customers);
        let warehouse = customers * 1800 + u64::from(self.items) * 400 + (64 << 10);
        u64::from(self.warehouses) * warehouse + u64::from(self.items) * 120
    }
}

/// Whether the rows that every transaction changes share pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HotRows {
    /// Rows of warehouses and districts lie side by side.
    Packed,
    /// Each has a page of its own.
    Padded,
}

impl HotRows {
    /// As it is written.
    pub(crate) fn word(self) -> &'static str {
        match self {
            HotRows::Packed => "packed",
            HotRows::Padded => "padded",
        }
    }

    /// From the word.
    pub(crate) fn parse(text: &str) -> Result<HotRows, String> {
        let mut all = [HotRows::Packed, HotRows::Padded].into_iter();
        let found = all.find(|rows| rows.word() == text);
        found.ok_or_else(|| "write packed or padded".to_owned())
    }
}

/// A table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its columns with their types.
    pub(crate) columns: &'static [(&'static str, &'static str)],
    /// Its primary key; empty for a heap.
    key: &'static str,
    /// Whether its rows are hot.
    is_hot: bool,
}

const TAX: &str = "decimal(4, 4)";
const MONEY: &str = "decimal(12, 2)";
const AMOUNT: &str = "decimal(6, 2)";
const DIST: &str = "char(24)";

pub(crate) const WAREHOUSE: Table = Table {
    name: "warehouse",
    columns: &[
        ("w_id", "int"),
        ("w_name", "varchar(10)"),
        ("w_street_1", "varchar(20)"),
        ("w_street_2", "varchar(20)"),
        ("w_city", "varchar(20)"),
        ("w_state", "char(2)"),
        ("w_zip", "char(9)"),
        ("w_tax", TAX),
        ("w_ytd", MONEY),
    ],
    key: "w_id",
    is_hot: true,
};

pub(crate) const DISTRICT: Table = Table {
    name: "district",
    columns: &[
        ("d_id", "tinyint"),
        ("d_w_id", "int"),
        ("d_name", "varchar(10)"),
        ("d_street_1", "varchar(20)"),
        ("d_street_2", "varchar(20)"),
        ("d_city", "varchar(20)"),
        ("d_state", "char(2)"),
        ("d_zip", "char(9)"),
        ("d_tax", TAX),
        ("d_ytd", MONEY),
        ("d_next_o_id", "int"),
    ],
    key: "d_w_id, d_id",
    is_hot: true,
};

pub(crate) const CUSTOMER: Table = Table {
    name: "customer",
    columns: &[
        ("c_id", "int"),
        ("c_d_id", "tinyint"),
        ("c_w_id", "int"),
        ("c_first", "varchar(16)"),
        ("c_middle", "char(2)"),
        ("c_last", "varchar(16)"),
        ("c_street_1", "varchar(20)"),
        ("c_street_2", "varchar(20)"),
        ("c_city", "varchar(20)"),
        ("c_state", "char(2)"),
        ("c_zip", "char(9)"),
        ("c_phone", "char(16)"),
        ("c_since", "datetime"),
        ("c_credit", "char(2)"),
        ("c_credit_lim", MONEY),
        ("c_discount", TAX),
        ("c_balance", MONEY),
        ("c_ytd_payment", MONEY),
        ("c_payment_cnt", "int"),
        ("c_delivery_cnt", "int"),
        ("c_data", "varchar(500)"),
    ],
    key: "c_w_id, c_d_id, c_id",
    is_hot: false,
};

pub(crate) const HISTORY: Table = Table {
    name: "history",
    columns: &[
        ("h_c_id", "int"),
        ("h_c_d_id", "tinyint"),
        ("h_c_w_id", "int"),
        ("h_d_id", "tinyint"),
        ("h_w_id", "int"),
        ("h_date", "datetime"),
        ("h_amount", AMOUNT),
        ("h_data", "varchar(24)"),
    ],
    key: "",
    is_hot: false,
};

pub(crate) const ORDERS: Table = Table {
    name: "orders",
    columns: &[
        ("o_id", "int"),
        ("o_d_id", "tinyint"),
        ("o_w_id", "int"),
        ("o_c_id", "int"),
        ("o_entry_d", "datetime"),
        ("o_carrier_id", "tinyint NULL"),
        ("o_ol_cnt", "tinyint"),
        ("o_all_local", "tinyint"),
    ],
    key: "o_w_id, o_d_id, o_id",
    is_hot: false,
};

pub(crate) const NEW_ORDER: Table = Table {
    name: "new_order",
    columns: &[
        ("no_o_id", "int"),
        ("no_d_id", "tinyint"),
        ("no_w_id", "int"),
    ],
    key: "no_w_id, no_d_id, no_o_id",
    is_hot: false,
};

pub(crate) const ORDER_LINE: Table = Table {
    name: "order_line",
    columns: &[
        ("ol_o_id", "int"),
        ("ol_d_id", "tinyint"),
        ("ol_w_id", "int"),
        ("ol_number", "tinyint"),
        ("ol_i_id", "int"),
        ("ol_supply_w_id", "int"),
        ("ol_delivery_d", "datetime NULL"),
        ("ol_quantity", "tinyint"),
        ("ol_amount", AMOUNT),
        ("ol_dist_info", DIST),
    ],
    key: "ol_w_id, ol_d_id, ol_o_id, ol_number",
    is_hot: false,
};

pub(crate) const STOCK: Table = Table {
    name: "stock",
    columns: &[
        ("s_i_id", "int"),
        ("s_w_id", "int"),
        ("s_quantity", "smallint"),
        ("s_dist_01", DIST),
        ("s_dist_02", DIST),
        ("s_dist_03", DIST),
        ("s_dist_04", DIST),
        ("s_dist_05", DIST),
        ("s_dist_06", DIST),
        ("s_dist_07", DIST),
        ("s_dist_08", DIST),
        ("s_dist_09", DIST),
        ("s_dist_10", DIST),
        ("s_ytd", "int"),
        ("s_order_cnt", "int"),
        ("s_remote_cnt", "int"),
        ("s_data", "varchar(50)"),
    ],
    key: "s_w_id, s_i_id",
    is_hot: false,
};

pub(crate) const ITEM: Table = Table {
    name: "item",
    columns: &[
        ("i_id", "int"),
        ("i_im_id", "int"),
        ("i_name", "varchar(24)"),
        ("i_price", "decimal(5, 2)"),
        ("i_data", "varchar(50)"),
    ],
    key: "i_id",
    is_hot: false,
};

const TABLES: [Table; 9] = [
    WAREHOUSE, DISTRICT, CUSTOMER, HISTORY, ORDERS, NEW_ORDER, ORDER_LINE, STOCK, ITEM,
];

/// Made when the rows are in: customers by last name, orders by customer.
pub(super) const INDEXES: [&str; 2] = [
    "CREATE INDEX customer_name ON dbo.customer (c_w_id, c_d_id, c_last, c_first);",
    "CREATE INDEX orders_customer ON dbo.orders (o_w_id, o_d_id, o_c_id, o_id);",
];

impl Table {
    fn statement(&self, hot_rows: HotRows) -> String {
        let is_nullable = |of: &str| of.ends_with("NULL");
        let column = |(name, of): &(&str, &str)| {
            if is_nullable(of) {
                format!("{name} {of}")
            } else {
                format!("{name} {of} NOT NULL")
            }
        };
        let mut parts: Vec<String> = self.columns.iter().map(column).collect();
        if self.is_hot && hot_rows == HotRows::Padded {
            // Two rows of more than half a page do not share one.
            parts.push("pad char(5000) NOT NULL DEFAULT ''".to_owned());
        }
        if !self.key.is_empty() {
            parts.push(format!(
                "CONSTRAINT pk_{} PRIMARY KEY ({})",
                self.name, self.key
            ));
        }
        format!("CREATE TABLE dbo.{} ({});", self.name, parts.join(", "))
    }
}

/// Makes the tables.
pub(super) fn create(session: &mut dyn Session, hot_rows: HotRows) -> Result<(), TargetError> {
    for table in TABLES {
        session.batch(&table.statement(hot_rows))?;
    }
    Ok(())
}
