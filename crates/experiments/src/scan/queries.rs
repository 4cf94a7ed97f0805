//! What is asked: a count of all rows, and reports over the tables of the order-entry load.

/// A query of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Query {
    /// Counts the rows of the large table.
    Count,
    /// The value of the stock of the items that each district has ordered.
    StockValue,
    /// The ten items of which most pieces were ordered.
    BestSellers,
    /// Orders of each district that wait for their delivery: how many, since when, for how much.
    DelayedOrders,
}

impl Query {
    const ALL: [Query; 4] = [
        Query::Count,
        Query::StockValue,
        Query::BestSellers,
        Query::DelayedOrders,
    ];

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Query::Count => "count",
            Query::StockValue => "stock-value",
            Query::BestSellers => "best-sellers",
            Query::DelayedOrders => "delayed-orders",
        }
    }

    /// From the word.
    pub fn parse(text: &str) -> Result<Query, String> {
        let found = Query::ALL.into_iter().find(|query| query.word() == text);
        found.ok_or_else(|| "write count, stock-value, best-sellers or delayed-orders".to_owned())
    }

    /// Whether it reads the tables of the order-entry load.
    pub(super) fn is_report(self) -> bool {
        self != Query::Count
    }

    /// Its text, for a scan that is divided among so many threads.
    pub(super) fn text_at(self, dop: u32) -> String {
        let text = self.text().trim_end_matches(';');
        format!("{text} OPTION (MAXDOP {dop});")
    }

    /// Its text.
    pub(super) fn text(self) -> &'static str {
        match self {
            Query::Count => "SELECT COUNT_BIG(*) FROM dbo.Scanned WITH (INDEX (1));",
            Query::StockValue => {
                "SELECT asked.w_id, asked.d_id, COUNT_BIG(*) AS items, SUM(s_quantity * i_price) AS \
                 stock_value FROM (SELECT DISTINCT ol_w_id AS w_id, ol_d_id AS d_id, ol_i_id AS i_id \
                 FROM dbo.order_line) AS asked \
                 JOIN dbo.stock ON s_w_id = asked.w_id AND s_i_id = asked.i_id \
                 JOIN dbo.item ON item.i_id = asked.i_id \
                 GROUP BY asked.w_id, asked.d_id ORDER BY asked.w_id, asked.d_id;"
            }
            Query::BestSellers => {
                "SELECT TOP (10) i_id, i_name, SUM(CAST(ol_quantity AS bigint)) AS pieces, SUM(ol_amount) AS \
                 amount FROM dbo.order_line JOIN dbo.item ON i_id = ol_i_id \
                 GROUP BY i_id, i_name ORDER BY pieces DESC, i_id;"
            }
            Query::DelayedOrders => {
                "SELECT no_w_id, no_d_id, COUNT_BIG(*) AS orders, MIN(o_entry_d) AS since, SUM(amount) AS \
                 amount FROM dbo.new_order \
                 JOIN dbo.orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id \
                 JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, SUM(ol_amount) AS amount FROM dbo.order_line \
                 GROUP BY ol_w_id, ol_d_id, ol_o_id) AS lines \
                 ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
                 GROUP BY no_w_id, no_d_id ORDER BY no_w_id, no_d_id;"
            }
        }
    }
}
