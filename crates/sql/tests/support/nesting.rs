//! Batches that nest to a depth, in each way that T-SQL can nest.

/// Up to this depth each shape works.
pub(crate) const WORKS: usize = 30;

/// What a shape that is too deep may say: its text or plan is too deep or too large (191, 8631, 8623), too
/// many procedures or views (217), levels of XML (6335) or JSON (13_606, 13_609).
pub(crate) const REFUSALS: &[u32] = &[191, 8631, 8623, 217, 6335, 13_606, 13_609];

fn around(depth: usize, before: &str, inner: &str, after: &str) -> String {
    format!("{}{inner}{}", before.repeat(depth), after.repeat(depth))
}

/// `WITH c0 AS (..), c1 AS (..)..` with each level made of the name before.
fn chain(depth: usize, first: &str, level: impl Fn(usize, &str) -> String) -> String {
    let levels: String = (1..=depth)
        .map(|at| format!(", c{at} AS ({})", level(at, &format!("c{}", at - 1))))
        .collect();
    format!("WITH c0 AS ({first}){levels}")
}

/// Shapes by name, with the batches that are run in turn.
type Shapes = Vec<(&'static str, Vec<String>)>;

fn expressions(depth: usize) -> Shapes {
    let select = |text: String| vec![format!("SELECT {text}")];
    let flat = |part: &str, by: &str| vec![part; depth.max(2)].join(by);
    let condition = |text: String| vec![format!("SELECT 1 WHERE {text}")];
    vec![
        ("parentheses", select(around(depth, "(", "1", ")"))),
        ("signs", select(around(depth, "- ", "1", ""))),
        (
            "CASE",
            select(around(depth, "CASE WHEN 1 = 1 THEN ", "1", " END")),
        ),
        (
            "CASE in WHEN",
            condition(around(depth, "1 = CASE WHEN ", "1 = 1", " THEN 1 END")),
        ),
        ("IIF", select(around(depth, "IIF(1 = 1, ", "1", ", 2)"))),
        ("functions", select(around(depth, "ABS(", "1", ")"))),
        (
            "COALESCE",
            select(around(depth, "COALESCE(NULL, ", "1", ")")),
        ),
        ("CAST", select(around(depth, "CAST(", "1", " AS INT)"))),
        (
            "scalar subqueries",
            select(around(depth, "(SELECT ", "1", ")")),
        ),
        (
            "EXISTS",
            condition(around(depth, "EXISTS (SELECT 1 WHERE ", "1 = 1", ")")),
        ),
        (
            "IN",
            condition(around(depth, "1 IN (SELECT 1 WHERE ", "1 = 1", ")")),
        ),
        ("NOT", condition(around(depth, "NOT ", "1 = 1", ""))),
        ("conditions", condition(around(depth, "(", "1 = 1", ")"))),
        ("a sum", select(flat("1", " + "))),
        ("texts", select(flat("'a'", " + "))),
        ("AND", condition(flat("1 = 1", " AND "))),
        ("OR", condition(flat("1 = 2", " OR ") + " OR 1 = 1")),
        (
            "IN with a list",
            condition(format!("1 IN ({})", flat("1", ", "))),
        ),
        (
            "a column's sum",
            vec![format!(
                "SELECT {} FROM (SELECT 1 AS a) AS t",
                flat("a", " + ")
            )],
        ),
    ]
}

fn queries(depth: usize) -> Shapes {
    let one = "SELECT 1 AS a";
    let of = |select: &'static str| {
        let with = chain(depth, one, |_, before| select.replace("$", before));
        vec![format!("{with} SELECT COUNT(*) FROM c{depth}")]
    };
    let joined = |by: &str| {
        let all: Vec<String> = (0..depth.clamp(1, 200))
            .map(|n| format!("o AS o{n}"))
            .collect();
        vec![format!(
            "WITH o AS (SELECT 1 AS a) SELECT 1 FROM {}",
            all.join(by)
        )]
    };
    vec![
        (
            "derived tables",
            vec![around(depth, "SELECT a FROM (", one, ") AS t")],
        ),
        ("a chain of definitions", of("SELECT * FROM $")),
        ("a chain with filters", of("SELECT a FROM $ WHERE a = 1")),
        ("a chain with sums", of("SELECT a + 1 AS a FROM $")),
        (
            "a chain with groups",
            of("SELECT a, COUNT(*) AS n FROM $ GROUP BY a"),
        ),
        ("a chain with DISTINCT", of("SELECT DISTINCT a FROM $")),
        (
            "a chain with sorts",
            of("SELECT TOP 5 a FROM $ ORDER BY a + 0"),
        ),
        (
            "a chain with windows",
            of("SELECT a, SUM(a) OVER (ORDER BY a) AS s FROM $"),
        ),
        ("a chain with UNION", of("SELECT a FROM $ UNION SELECT 1")),
        ("a chain with EXCEPT", of("SELECT a FROM $ EXCEPT SELECT 2")),
        (
            "a chain with joins",
            of("SELECT x.a FROM $ AS x JOIN (SELECT 1 AS b) AS y ON x.a = y.b"),
        ),
        (
            "a chain with APPLY",
            of("SELECT x.a FROM $ AS x CROSS APPLY (SELECT x.a AS b) AS y"),
        ),
        (
            "a chain with subqueries",
            of("SELECT 1 AS a WHERE EXISTS (SELECT 1 FROM $ WHERE a = 1)"),
        ),
        (
            "a chain with JSON",
            of("SELECT LEN((SELECT a FROM $ FOR JSON PATH)) AS a"),
        ),
        (
            "UNION ALL",
            vec![vec![one; depth.max(2)].join(" UNION ALL ")],
        ),
        ("UNION", vec![vec![one; depth.max(2)].join(" UNION ")]),
        (
            "UNION to the right",
            vec![around(depth, "SELECT 1 UNION (", one, ")")],
        ),
        ("a list of tables", joined(", ")),
        ("CROSS JOIN", joined(" CROSS JOIN ")),
    ]
}

fn deep_values(depth: usize) -> Shapes {
    let heavy = format!("SELECT a + {} AS a FROM $", around(60, "(", "0", ")"));
    let heavy = chain(depth, "SELECT 1 AS a", |_, before| {
        heavy.replace('$', before)
    });
    vec![(
        "a chain of deep values",
        vec![format!("{heavy} SELECT COUNT(*) FROM c{depth}")],
    )]
}

fn modules(depth: usize) -> Shapes {
    // Views over views and procedures that call each other, each with a text as deep as it may be.
    let few = depth.min(33);
    let inner = if depth > WORKS { depth.min(60) } else { 3 };
    let view = |at: usize| match at {
        0 => "CREATE OR ALTER VIEW v0 AS SELECT 1 AS a".to_owned(),
        _ => format!(
            "CREATE OR ALTER VIEW v{at} AS {}",
            around(
                inner,
                "SELECT a FROM (",
                &format!("SELECT a FROM v{}", at - 1),
                ") AS t"
            )
        ),
    };
    let mut views: Vec<String> = (0..few).map(view).collect();
    views.push(format!("SELECT a FROM v{}", few - 1));
    let procedure = |at: usize| {
        let call = match at {
            0 => "DECLARE @x INT = 1".to_owned(),
            _ => format!("EXEC p{}", at - 1),
        };
        let nested = around(inner, "IF 1 = 1 BEGIN ", &call, " END");
        format!("CREATE OR ALTER PROCEDURE p{at} AS {nested}")
    };
    let mut procedures: Vec<String> = (0..few).map(procedure).collect();
    procedures.push(format!("EXEC p{}", few - 1));
    vec![("views", views), ("procedures", procedures)]
}

fn statements(depth: usize) -> Shapes {
    let body = "DECLARE @x INT = 1";
    let with = chain(depth, "SELECT 1 AS a", |_, before| {
        format!("SELECT a FROM {before}")
    });
    let json = around(depth, "[", "1", "]");
    let xml = around(depth, "<a>", "1", "</a>");
    vec![
        ("BEGIN", vec![around(depth, "BEGIN ", body, " END")]),
        ("IF", vec![around(depth, "IF 1 = 1 ", body, "")]),
        (
            "ELSE",
            vec![around(depth, "IF 1 = 2 PRINT 'x' ELSE ", body, "")],
        ),
        (
            "WHILE",
            vec![around(depth, "WHILE 1 = 1 BEGIN ", body, " BREAK END")],
        ),
        (
            "TRY",
            vec![around(
                depth,
                "BEGIN TRY ",
                body,
                " END TRY BEGIN CATCH THROW END CATCH",
            )],
        ),
        (
            "INSERT of a chain",
            vec![format!(
                "DECLARE @t TABLE (a INT); {with} INSERT INTO @t SELECT a FROM c{depth}"
            )],
        ),
        (
            "JSON",
            vec![format!("SELECT COUNT(*) FROM OPENJSON('{json}')")],
        ),
        (
            "XML",
            vec![format!(
                "DECLARE @x XML = '{xml}'; SELECT LEN(CAST(@x AS NVARCHAR(MAX)))"
            )],
        ),
    ]
}

/// All shapes: a name, and the batches that are run in turn.
pub(crate) fn shapes(depth: usize) -> Shapes {
    let mut all = expressions(depth);
    all.extend(queries(depth));
    all.extend(deep_values(depth));
    all.extend(modules(depth));
    all.extend(statements(depth));
    all
}
