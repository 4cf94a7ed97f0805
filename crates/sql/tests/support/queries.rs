//! Random tables and queries in the dialect that SQLite and T-SQL share.

/// Random numbers from a seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A query in both dialects.
pub(crate) struct Query {
    pub(crate) ours: String,
    pub(crate) theirs: String,
    /// Whether its rows have an order.
    pub(crate) ordered: bool,
}

/// A statement that changes rows, in both dialects.
pub(crate) struct Change {
    pub(crate) ours: String,
    pub(crate) theirs: String,
}

impl Change {
    fn of(text: String) -> Change {
        Change {
            ours: text.clone(),
            theirs: text,
        }
    }
}

struct Table {
    name: &'static str,
    /// Name, and whether it is a number.
    columns: Vec<(String, bool)>,
    has_key: bool,
}

/// Some tables.
pub(crate) struct Schema {
    tables: Vec<Table>,
}

/// A source in FROM: alias and columns.
struct Source {
    alias: String,
    columns: Vec<(String, bool)>,
}

impl Schema {
    pub(crate) fn random(dice: &mut Dice) -> Schema {
        let names = ["t", "u", "v"];
        let tables = names.iter().take(2 + dice.below(2)).map(|name| {
            let mut columns = vec![("k".to_owned(), true)];
            for n in 0..2 + dice.below(3) {
                let number = !dice.one_in(3);
                let kind = match (number, dice.below(4)) {
                    (false, _) => "s",
                    (true, 0) => "h",
                    (true, 1) => "l",
                    (true, _) => "n",
                };
                columns.push((format!("{kind}{n}"), number));
            }
            Table {
                name,
                columns,
                has_key: !dice.one_in(3),
            }
        });
        Schema {
            tables: tables.collect(),
        }
    }

    /// Statements that make the tables and put rows in them.
    pub(crate) fn tables(&self, dice: &mut Dice) -> Vec<String> {
        let mut all = Vec::new();
        for table in &self.tables {
            let columns: Vec<String> = table
                .columns
                .iter()
                .map(|(name, number)| match (name.as_str(), number) {
                    ("k", _) if table.has_key => "k INT NOT NULL PRIMARY KEY".to_owned(),
                    (name, true) if name.starts_with('h') => format!("{name} SMALLINT"),
                    (name, true) if name.starts_with('l') => format!("{name} BIGINT"),
                    (name, true) => format!("{name} INT"),
                    (name, false) => format!("{name} VARCHAR(10)"),
                })
                .collect();
            all.push(format!(
                "CREATE TABLE {} ({})",
                table.name,
                columns.join(", ")
            ));
            all.push(format!(
                "CREATE VIEW {0}_view AS SELECT * FROM {0}",
                table.name
            ));
            for row in 0..dice.below(40) {
                all.push(table.insert(row + 1, dice));
            }
        }
        all
    }

    /// Indexes, which must not change any answer.
    pub(crate) fn indexes(&self, dice: &mut Dice) -> Vec<String> {
        let mut all = Vec::new();
        for table in &self.tables {
            for n in 0..dice.below(3) {
                let (first, second) = (table.column(dice), table.column(dice));
                let way = dice.pick(&["", " DESC"]);
                let columns = match first == second {
                    true => format!("{first}{way}"),
                    false => format!("{first}{way}, {second}"),
                };
                all.push(format!("CREATE INDEX i{n} ON {} ({columns})", table.name));
            }
        }
        all
    }

    /// An INSERT, UPDATE, DELETE or MERGE.
    pub(crate) fn change(&self, dice: &mut Dice) -> Change {
        let table = &self.tables[dice.below(self.tables.len())];
        let source = vec![table.source(table.name)];
        let cond = self.cond(&source, 1, dice);
        match dice.below(8) {
            0 | 1 => Change::of(table.insert(1000 + dice.below(1 << 20), dice)),
            2 => {
                let set = table.assignment(&source, dice);
                Change::of(format!("UPDATE {} SET {set} WHERE {cond}", table.name))
            }
            3 => Change::of(format!(
                "DELETE FROM {} WHERE {cond} AND k > 10",
                table.name
            )),
            4 => self.merged(table, dice),
            _ => self.aliased(table, dice),
        }
    }

    /// Queries of all that the tables hold.
    pub(crate) fn contents(&self) -> Vec<Query> {
        let of = |table: &Table| {
            let text = format!("SELECT * FROM {}", table.name);
            Query {
                ours: text.clone(),
                theirs: text,
                ordered: false,
            }
        };
        self.tables.iter().map(of).collect()
    }

    /// An UPDATE or DELETE whose target is a table, view, common table expression or derived table in FROM,
    /// named by its own name or by its alias. What it sets depends on the target's row alone: a row that is
    /// found twice becomes the same.
    fn aliased(&self, table: &Table, dice: &mut Dice) -> Change {
        let name = table.name;
        let other = dice
            .one_in(2)
            .then(|| &self.tables[dice.below(self.tables.len())]);
        let target = vec![table.source("a")];
        let mut sources = vec![table.source("a")];
        sources.extend(other.map(|other| other.source("b")));
        let mut cond = self.cond(&sources, 1, dice);
        let with = format!("WITH c AS (SELECT * FROM {name}) ");
        // The table's own name is ambiguous where it is in FROM twice.
        let forms = if other.is_some_and(|o| o.name == name) {
            6
        } else {
            10
        };
        let (with, named, source) = match dice.below(forms) {
            0 => ("", "a".to_owned(), format!("{name} AS a")),
            1 => ("", "a".to_owned(), format!("(SELECT * FROM {name}) AS a")),
            2 => (with.as_str(), "c".to_owned(), "c AS a".to_owned()),
            3 => (with.as_str(), "a".to_owned(), "c AS a".to_owned()),
            4 => ("", format!("{name}_view"), format!("{name}_view AS a")),
            5 => ("", "a".to_owned(), format!("{name}_view AS a")),
            6 => ("", format!("dbo.{name}"), format!("{name} AS a")),
            7 => ("", name.to_owned(), format!("dbo.{name} AS a")),
            _ => ("", name.to_owned(), format!("{name} AS a")),
        };
        let deletes = dice.one_in(3);
        if deletes {
            cond = format!("({cond}) AND a.k > 10");
        }
        let from = match (other, dice.below(3)) {
            (None, _) => format!("{source} WHERE {cond}"),
            (Some(other), 0) => format!("{source}, {} AS b WHERE {cond}", other.name),
            (Some(other), 1) => format!("{} AS b, {source} WHERE {cond}", other.name),
            (Some(other), _) => format!("{} AS b JOIN {source} ON {cond}", other.name),
        };
        if deletes {
            let theirs = match other {
                Some(other) => format!("EXISTS (SELECT 1 FROM {} AS b WHERE {cond})", other.name),
                None => cond,
            };
            return Change {
                ours: format!("{with}DELETE {named} FROM {from}"),
                theirs: format!("DELETE FROM {name} AS a WHERE {theirs}"),
            };
        }
        let set = table.assignment(&target, dice);
        let others = other.map_or(String::new(), |other| format!("FROM {} AS b ", other.name));
        Change {
            ours: format!("{with}UPDATE {named} SET {set} FROM {from}"),
            theirs: format!("UPDATE {name} AS a SET {set} {others}WHERE {cond}"),
        }
    }

    /// A MERGE that changes or deletes rows.
    fn merged(&self, table: &Table, dice: &mut Dice) -> Change {
        let target = vec![table.source("a")];
        let cond = format!("({}) AND a.k > 10", self.cond(&target, 1, dice));
        let set = table.assignment(&target, dice);
        let (then, theirs) = match dice.one_in(2) {
            true => (
                "DELETE".to_owned(),
                format!("DELETE FROM {} AS a", table.name),
            ),
            false => (
                format!("UPDATE SET {set}"),
                format!("UPDATE {} AS a SET {set}", table.name),
            ),
        };
        let name = table.name;
        let ours = format!(
            "MERGE {name} AS a USING (SELECT 1 AS one) AS b ON {cond} WHEN MATCHED THEN {then};"
        );
        Change {
            ours,
            theirs: format!("{theirs} WHERE {cond}"),
        }
    }

    /// A query.
    pub(crate) fn query(&self, dice: &mut Dice) -> Query {
        let text = match dice.below(10) {
            0..=3 => self.plain(dice),
            4 => self.set(dice),
            5 | 6 => self.grouped(dice),
            7 => self.derived(dice),
            8 => return self.limited(dice),
            _ => self.windowed(dice),
        };
        Query {
            ours: text.clone(),
            theirs: text,
            ordered: false,
        }
    }

    fn from(&self, dice: &mut Dice) -> (String, Vec<Source>) {
        let mut sources: Vec<Source> = Vec::new();
        let mut text = String::new();
        for n in 0..1 + dice.below(3) {
            let table = &self.tables[dice.below(self.tables.len())];
            let next = table.source(&format!("a{n}"));
            if n == 0 {
                text = format!("{} a{n}", table.name);
                sources.push(next);
                continue;
            }
            let kind = dice.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"]);
            sources.push(next);
            if kind == "CROSS JOIN" {
                text.push_str(&format!(" CROSS JOIN {} a{n}", table.name));
                continue;
            }
            let on = match dice.one_in(3) {
                false => {
                    let left = dice.below(n);
                    let a = number_of(&sources[left], dice);
                    let b = number_of(&sources[n], dice);
                    let more = match dice.one_in(3) {
                        true => format!(" AND {}", self.cond(&sources, 0, dice)),
                        false => String::new(),
                    };
                    format!("{a} = {b}{more}")
                }
                true => self.cond(&sources, 1, dice),
            };
            text.push_str(&format!(" {kind} {} a{n} ON {on}", table.name));
        }
        (text, sources)
    }

    fn plain(&self, dice: &mut Dice) -> String {
        let (from, sources) = self.from(dice);
        let distinct = dice.pick(&["", "", "DISTINCT "]);
        let list: Vec<String> = (0..1 + dice.below(3))
            .map(|_| {
                let number = !dice.one_in(3);
                value(&sources, number, 2, dice)
            })
            .collect();
        let cond = self.cond(&sources, 2, dice);
        format!(
            "SELECT {distinct}{} FROM {from} WHERE {cond}",
            list.join(", ")
        )
    }

    fn one_column(&self, dice: &mut Dice) -> String {
        let (from, sources) = self.from(dice);
        let cond = self.cond(&sources, 1, dice);
        let column = value(&sources, true, 1, dice);
        format!("SELECT {column} AS x FROM {from} WHERE {cond}")
    }

    fn set(&self, dice: &mut Dice) -> String {
        let op = dice.pick(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
        format!("{} {op} {}", self.one_column(dice), self.one_column(dice))
    }

    fn grouped(&self, dice: &mut Dice) -> String {
        let (from, sources) = self.from(dice);
        let cond = self.cond(&sources, 1, dice);
        let number = dice.one_in(2) || !sources.iter().any(|s| s.columns.iter().any(|c| !c.1));
        let by = column_of(&sources, number, dice);
        let number = value(&sources, true, 0, dice);
        let call = dice.pick(&["MIN", "MAX", "SUM", "COUNT"]);
        let distinct = dice.pick(&["", "", "DISTINCT "]);
        let aggregate = format!("{call}({distinct}{number})");
        match dice.below(3) {
            0 => format!("SELECT COUNT(*), {aggregate} FROM {from} WHERE {cond}"),
            1 => {
                format!("SELECT {by}, COUNT(*), {aggregate} FROM {from} WHERE {cond} GROUP BY {by}")
            }
            _ => format!(
                "SELECT {by}, {aggregate} FROM {from} WHERE {cond} GROUP BY {by} \
                 HAVING COUNT(*) > 1 AND MAX({number}) IS NOT NULL"
            ),
        }
    }

    fn derived(&self, dice: &mut Dice) -> String {
        let (a, b) = (self.one_column(dice), self.one_column(dice));
        let kind = dice.pick(&["JOIN", "LEFT JOIN", "FULL JOIN"]);
        match dice.below(2) {
            0 => format!("SELECT a.x, b.x FROM ({a}) a {kind} ({b}) b ON a.x = b.x"),
            _ => format!(
                "WITH c AS ({a}), d AS ({b}) SELECT x FROM c WHERE x NOT IN (SELECT x FROM d WHERE x > 0)"
            ),
        }
    }

    fn limited(&self, dice: &mut Dice) -> Query {
        let inner = self.one_column(dice);
        let way = dice.pick(&["", " DESC"]);
        let (skip, take) = (dice.below(4), 1 + dice.below(6));
        let text = format!("SELECT x FROM ({inner}) d ORDER BY x{way}");
        Query {
            ours: format!("{text} OFFSET {skip} ROWS FETCH NEXT {take} ROWS ONLY"),
            theirs: format!("{text} LIMIT {take} OFFSET {skip}"),
            ordered: true,
        }
    }

    fn windowed(&self, dice: &mut Dice) -> String {
        let inner = self.one_column(dice);
        let call = match dice.below(7) {
            0 => "RANK() OVER (ORDER BY x)",
            1 => "DENSE_RANK() OVER (ORDER BY x DESC)",
            2 => "SUM(x) OVER (ORDER BY x)",
            3 => "COUNT(*) OVER (PARTITION BY x)",
            4 => "MAX(x) OVER (ORDER BY x ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
            5 => "LAG(x, 2, -1) OVER (ORDER BY x)",
            _ => "NTILE(3) OVER (ORDER BY x)",
        };
        format!("SELECT x, {call} FROM ({inner}) d")
    }

    fn cond(&self, sources: &[Source], depth: usize, dice: &mut Dice) -> String {
        if depth > 0 && dice.one_in(2) {
            let (a, b) = (
                self.cond(sources, depth - 1, dice),
                self.cond(sources, depth - 1, dice),
            );
            return match dice.below(5) {
                0 | 1 => format!("({a} AND {b})"),
                2 | 3 => format!("({a} OR {b})"),
                _ => format!("NOT ({a})"),
            };
        }
        let number = !dice.one_in(3);
        let (a, b) = (
            value(sources, number, 0, dice),
            value(sources, number, 0, dice),
        );
        let not = dice.pick(&["", "NOT "]);
        match dice.below(9) {
            0..=2 => format!("{a} {} {b}", dice.pick(&["=", "<>", "<", "<=", ">", ">="])),
            3 => format!("{a} IS {not}NULL"),
            4 => format!("{a} {not}IN ({b}, {})", value(sources, number, 0, dice)),
            5 => format!(
                "{a} {not}BETWEEN {b} AND {}",
                value(sources, number, 0, dice)
            ),
            6 => {
                let text = column_of(sources, false, dice);
                format!(
                    "{text} {not}LIKE '{}'",
                    dice.pick(&["a%", "%b", "_", "%a%", "ab%c", "__%"])
                )
            }
            7 => self.within(sources, &a, number, not, dice),
            _ => {
                let (table, on) = self.correlated(sources, dice);
                format!("{not}EXISTS (SELECT 1 FROM {table} WHERE {on})")
            }
        }
    }

    fn within(
        &self,
        sources: &[Source],
        a: &str,
        number: bool,
        not: &str,
        dice: &mut Dice,
    ) -> String {
        let table = &self.tables[dice.below(self.tables.len())];
        let inner = vec![table.source("z")];
        let column = column_of(&inner, number, dice);
        let (from, on) = self.correlated(sources, dice);
        match (dice.below(4), number) {
            (0, true) => format!("{a} > (SELECT MAX(z.k) FROM {from} WHERE {on})"),
            (1, true) => format!("{a} < (SELECT COUNT(*) FROM {from} WHERE {on})"),
            _ => format!(
                "{a} {not}IN (SELECT {column} FROM {} z WHERE z.k > {})",
                table.name,
                dice.below(20)
            ),
        }
    }

    /// A table and a condition between it and the row around.
    fn correlated(&self, sources: &[Source], dice: &mut Dice) -> (String, String) {
        let table = &self.tables[dice.below(self.tables.len())];
        let inner = vec![table.source("z")];
        let (a, b) = (
            column_of(&inner, true, dice),
            column_of(sources, true, dice),
        );
        let op = dice.pick(&["=", "=", "<", ">="]);
        (format!("{} z", table.name), format!("{a} {op} {b}"))
    }
}

impl Table {
    fn source(&self, alias: &str) -> Source {
        Source {
            alias: alias.to_owned(),
            columns: self.columns.clone(),
        }
    }

    /// What SET sets: a column to a value of the row.
    fn assignment(&self, row: &[Source], dice: &mut Dice) -> String {
        let (name, number) = &self.columns[1 + dice.below(self.columns.len() - 1)];
        // What others have become might be too large for a small number.
        let value = match name.starts_with('h') {
            true => constant(true, dice),
            false => value(row, *number, 1, dice),
        };
        format!("{name} = {value}")
    }

    fn column(&self, dice: &mut Dice) -> &str {
        &self.columns[dice.below(self.columns.len())].0
    }

    fn insert(&self, key: usize, dice: &mut Dice) -> String {
        let values: Vec<String> = self
            .columns
            .iter()
            .map(|(name, number)| match name.as_str() {
                "k" => key.to_string(),
                _ if dice.one_in(5) => "NULL".to_owned(),
                _ => constant(*number, dice),
            })
            .collect();
        format!("INSERT INTO {} VALUES ({})", self.name, values.join(", "))
    }
}

fn constant(number: bool, dice: &mut Dice) -> String {
    match number {
        true => (dice.below(24) as i64 - 4).to_string(),
        false => format!(
            "'{}'",
            dice.pick(&["", "a", "b", "ab", "abc", "ba", "c", "aab"])
        ),
    }
}

fn number_of(source: &Source, dice: &mut Dice) -> String {
    let numbers: Vec<&String> = source
        .columns
        .iter()
        .filter(|c| c.1)
        .map(|c| &c.0)
        .collect();
    format!("{}.{}", source.alias, numbers[dice.below(numbers.len())])
}

fn column_of(sources: &[Source], number: bool, dice: &mut Dice) -> String {
    let mut fitting = Vec::new();
    for source in sources {
        for (name, is_number) in &source.columns {
            if *is_number == number {
                fitting.push(format!("{}.{name}", source.alias));
            }
        }
    }
    match fitting.is_empty() {
        true => constant(number, dice),
        false => fitting.swap_remove(dice.below(fitting.len())),
    }
}

fn value(sources: &[Source], number: bool, depth: usize, dice: &mut Dice) -> String {
    if depth > 0 && dice.one_in(3) {
        let (a, b) = (
            value(sources, number, depth - 1, dice),
            value(sources, number, depth - 1, dice),
        );
        return match (number, dice.below(6)) {
            (true, 0) => format!("({a} + {b})"),
            (true, 1) => format!("({a} - {b})"),
            (true, 2) => format!("({a} * 3 % 7)"),
            (true, 3) => format!("({a} / 4)"),
            (true, 4) => format!("ABS({a})"),
            (_, 5) => format!("COALESCE({a}, {b})"),
            _ => format!("CASE WHEN {a} = {b} THEN {a} ELSE {b} END"),
        };
    }
    match dice.one_in(4) {
        true => constant(number, dice),
        false => column_of(sources, number, dice),
    }
}
