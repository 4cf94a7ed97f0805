//! The text of an expression as the catalog stores it: names in brackets, constants in parentheses.
//!
//! As in SQL Server, the original text is not stored: `price > 0` becomes `([price]>(0))`, `DEFAULT 5`
//! becomes `((5))`. Expressions that are rare in checks and defaults are printed as the parser prints them.

use furrow_scalar::functions;
use furrow_tsql::ast::expr::{
    BinaryOp, Call, CompareOp, Condition, ConditionKind, Expr, ExprKind, Literal, UnaryOp,
};
use furrow_tsql::ast::name::ObjectName;

/// The text of a default: `((5))`, `(getdate())`.
pub(super) fn default_text(expr: &Expr) -> String {
    format!("({})", value(expr))
}

/// The text of a check: `([price]>(0))`.
pub(super) fn check_text(written: &Condition) -> String {
    format!("({})", condition(written, 0))
}

/// The column of a check that uses one column only: the check belongs to that column, wherever it is written.
pub(super) fn only_column(text: &str) -> Option<String> {
    match names_of(text).as_slice() {
        [first, rest @ ..] if rest.iter().all(|name| same(name, first)) => {
            rest.last().or(Some(first))
        }
        _ => None,
    }
    .cloned()
}

/// Whether two names are one.
pub(super) fn same(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

/// The names of columns in the text of a check. A date part is written like one.
pub(super) fn names_of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut chars = text.chars().peekable();
    let mut before = String::new();
    while let Some(c) = chars.next() {
        if c == '\'' {
            chars.by_ref().find(|c| *c == '\'');
            continue;
        }
        if c != '[' {
            before.push(c);
            continue;
        }
        let function = before.strip_suffix('(').unwrap_or_default();
        let function = function.rsplit(|c: char| !is_of_name(c)).next();
        let known = function.and_then(functions::find);
        let is_part = known.is_some_and(|function| function.takes_date_part);
        before.clear();
        let mut name = String::new();
        while let Some(c) = chars.next() {
            if c == ']' && chars.next_if_eq(&']').is_none() {
                break;
            }
            name.push(c);
        }
        if !is_part {
            found.push(name);
        }
    }
    found
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn name(of: &ObjectName) -> String {
    let quoted =
        |part: &furrow_tsql::ast::name::Ident| format!("[{}]", part.value.replace(']', "]]"));
    let parts: Vec<String> = of.parts.iter().map(quoted).collect();
    parts.join(".")
}

fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
    }
}

fn rank(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod => 2,
        _ => 1,
    }
}

fn literal(of: &Literal) -> String {
    match of {
        Literal::Null => "NULL".to_owned(),
        Literal::Integer(text)
        | Literal::Decimal(text)
        | Literal::Float(text)
        | Literal::Money(text) => format!("({text})"),
        Literal::Binary(text) => text.to_string(),
        Literal::String(text) => format!("'{}'", text.replace('\'', "''")),
        Literal::National(text) => format!("N'{}'", text.replace('\'', "''")),
    }
}

/// An operand of an operator with this precedence.
fn side(expr: &Expr, outer: u8, right: bool) -> String {
    let text = value(expr);
    match &expr.kind {
        ExprKind::Binary(_, op, _) if rank(*op) < outer || (right && rank(*op) == outer) => {
            format!("({text})")
        }
        _ => text,
    }
}

fn value(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Literal(of) => literal(of),
        ExprKind::Column(of) => name(of),
        ExprKind::Unary(UnaryOp::Minus, inner) => match &inner.kind {
            ExprKind::Literal(
                Literal::Integer(text)
                | Literal::Decimal(text)
                | Literal::Float(text)
                | Literal::Money(text),
            ) => format!("(-{text})"),
            _ => format!("-{}", side(inner, 3, false)),
        },
        ExprKind::Unary(UnaryOp::Plus, inner) => value(inner),
        ExprKind::Unary(UnaryOp::BitNot, inner) => format!("~{}", side(inner, 3, false)),
        ExprKind::Binary(left, op, right) => {
            let at = rank(*op);
            let (left, right) = (side(left, at, false), side(right, at, true));
            format!("{left}{}{right}", operator(*op))
        }
        ExprKind::Call(call) if is_plain(call) => {
            let arguments: Vec<String> = call.args.iter().map(value).collect();
            let function = match call.name.parts.as_slice() {
                [one] => one.value.to_lowercase(),
                _ => name(&call.name),
            };
            format!("{function}({})", arguments.join(","))
        }
        ExprKind::Niladic(word) => match word.to_ascii_uppercase().as_str() {
            "CURRENT_TIMESTAMP" => "getdate()".to_owned(),
            "USER" | "CURRENT_USER" => "user_name()".to_owned(),
            "SYSTEM_USER" => "suser_sname()".to_owned(),
            other => other.to_lowercase(),
        },
        _ => furrow_tsql::expression_text(expr),
    }
}

fn is_plain(call: &Call) -> bool {
    !call.distinct
        && !call.star
        && call.within_group.is_empty()
        && call.ignore_nulls.is_none()
        && call.over.is_none()
}

fn compare(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "=",
        CompareOp::Ne => "<>",
        CompareOp::Lt => "<",
        CompareOp::Le => "<=",
        CompareOp::Gt => ">",
        CompareOp::Ge => ">=",
    }
}

const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;

fn joined(parts: &[Condition], word: &str, (own, outer): (u8, u8)) -> String {
    let parts: Vec<String> = parts.iter().map(|p| condition(p, own)).collect();
    enclosed(parts.join(word), own < outer)
}

fn enclosed(text: String, needed: bool) -> String {
    match needed {
        true => format!("({text})"),
        false => text,
    }
}

/// IN: one comparison for each value, which SQL Server stores in reverse order.
fn any_of(expr: &Expr, (not, list): (bool, &[Expr]), outer: u8) -> String {
    let (op, word, own) = match not {
        false => ("=", " OR ", OR),
        true => ("<>", " AND ", AND),
    };
    let of = value(expr);
    let parts: Vec<String> = list
        .iter()
        .rev()
        .map(|e| format!("{of}{op}{}", value(e)))
        .collect();
    enclosed(parts.join(word), own < outer && list.len() > 1)
}

/// A condition inside a condition with this precedence.
fn condition(written: &Condition, outer: u8) -> String {
    match &written.kind {
        ConditionKind::And(parts) => joined(parts, " AND ", (AND, outer)),
        ConditionKind::Or(parts) => joined(parts, " OR ", (OR, outer)),
        ConditionKind::Not(inner) => format!("NOT {}", condition(inner, NOT)),
        ConditionKind::Compare(a, op, b) => format!("{}{}{}", value(a), compare(*op), value(b)),
        ConditionKind::Between {
            expr,
            not: false,
            low,
            high,
        } => {
            let of = value(expr);
            let text = format!("{of}>={} AND {of}<={}", value(low), value(high));
            enclosed(text, AND < outer)
        }
        ConditionKind::Between {
            expr,
            not: true,
            low,
            high,
        } => {
            let of = value(expr);
            let text = format!("{of}<{} OR {of}>{}", value(low), value(high));
            enclosed(text, OR < outer)
        }
        ConditionKind::InList { expr, not, list } => any_of(expr, (*not, list), outer),
        ConditionKind::Like {
            expr,
            not,
            pattern,
            escape,
        } => {
            let word = if *not { " not like " } else { " like " };
            let escape = escape.as_ref().map(|e| format!(" escape {}", value(e)));
            let escape = escape.unwrap_or_default();
            format!("{}{word}{}{escape}", value(expr), value(pattern))
        }
        ConditionKind::IsNull { expr, not } => {
            let word = if *not { " IS NOT NULL" } else { " IS NULL" };
            format!("{}{word}", value(expr))
        }
        _ => enclosed(furrow_tsql::condition_text(written), outer > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_tsql::ast::Statement;
    use furrow_tsql::ast::table::{ConstraintKind, TableElement};
    use furrow_tsql::{Options, parse};

    fn check(text: &str) -> String {
        let sql = format!("CREATE TABLE t (a int, CHECK ({text}))");
        let batch = parse(&sql, Options::default()).unwrap();
        let Statement::CreateTable(table) = &batch.statements[0].kind else {
            panic!("no table");
        };
        match &table.elements[1] {
            TableElement::Constraint(c) => match &c.kind {
                ConstraintKind::Check { condition, .. } => check_text(condition),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn texts_are_kept_as_sql_server_keeps_them() {
        for (written, kept) in [
            ("price > 0", "([price]>(0))"),
            ("a between 1 and 5", "([a]>=(1) AND [a]<=(5))"),
            (
                "a = 1 or b = 2 and c <> -3",
                "([a]=(1) OR [b]=(2) AND [c]<>(-3))",
            ),
            (
                "(a = 1 or b = 2) and c = 'x'",
                "(([a]=(1) OR [b]=(2)) AND [c]='x')",
            ),
            ("s in ('a','b')", "([s]='b' OR [s]='a')"),
            ("not (a = 1 or a is null)", "(NOT ([a]=(1) OR [a] IS NULL))"),
            (
                "len(name) > 2 and name like N'%''s'",
                "(len([name])>(2) AND [name] like N'%''s')",
            ),
            ("(a + 1) * 2 > b - (c - d)", "(([a]+(1))*(2)>[b]-([c]-[d]))"),
        ] {
            assert_eq!(check(written), kept, "{written}");
        }
    }

    #[test]
    fn a_text_that_is_kept_reads_as_what_was_written() {
        for written in [
            "price > 0",
            "a = 1 or b = 2 and c <> -3",
            "(a = 1 or b = 2) and c = 'x'",
            "len(name) > 2 and name like N'%''s'",
            "case when a = 1 then 2 else 3 end = b",
            "a not between 1 and 2 and (b not in (1,2) or c is not null)",
        ] {
            let kept = check(written);
            assert_eq!(check(&kept), kept, "{written}");
        }
    }

    #[test]
    fn a_check_of_one_column_is_known_as_such() {
        let one = only_column;
        assert_eq!(one("([price]>(0))").as_deref(), Some("price"));
        assert_eq!(one("([a]>(0) AND [A]<(9))").as_deref(), Some("A"));
        assert_eq!(one("([a]]b]='[c] it''s')").as_deref(), Some("a]b"));
        assert_eq!(one("([a]<[b])"), None);
        assert_eq!(one("((1)=(1))"), None);
    }
}
