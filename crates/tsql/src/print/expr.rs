//! Values and conditions, with parentheses where the tree needs them.

use super::Printer;
use crate::ast::expr::{
    AssignOp, BinaryOp, Call, Case, CaseArms, CastFunction, CompareOp, Condition, ConditionKind,
    CursorName, Expr, ExprKind, Frame, FrameBound, Literal, Over, UnaryOp,
};
use crate::ast::query::OrderItem;

/// Ranks of values, as the reader has them: what binds tighter ranks higher.
const SUM: u8 = 1;
const PRODUCT: u8 = 2;
const UNARY: u8 = 3;
const POSTFIX: u8 = 4;
const PRIMARY: u8 = 5;

/// Ranks of conditions.
const OR: u8 = 0;
const AND: u8 = 1;
const NOT: u8 = 2;

fn binary_text(op: BinaryOp) -> (&'static str, u8) {
    match op {
        BinaryOp::Add => ("+", SUM),
        BinaryOp::Sub => ("-", SUM),
        BinaryOp::BitAnd => ("&", SUM),
        BinaryOp::BitOr => ("|", SUM),
        BinaryOp::BitXor => ("^", SUM),
        BinaryOp::Mul => ("*", PRODUCT),
        BinaryOp::Div => ("/", PRODUCT),
        BinaryOp::Mod => ("%", PRODUCT),
    }
}

fn compare_text(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => " = ",
        CompareOp::Ne => " <> ",
        CompareOp::Lt => " < ",
        CompareOp::Le => " <= ",
        CompareOp::Gt => " > ",
        CompareOp::Ge => " >= ",
    }
}

fn rank_of(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Unary(UnaryOp::BitNot, _) => UNARY,
        ExprKind::Unary(..) => SUM,
        ExprKind::Binary(_, op, _) => binary_text(*op).1,
        ExprKind::Collate(..) | ExprKind::AtTimeZone(..) | ExprKind::Method(..) => POSTFIX,
        _ => PRIMARY,
    }
}

impl Printer {
    pub(super) fn expr(&mut self, expr: &Expr) {
        self.ranked(expr, 0);
    }

    /// A value where only one of at least this rank needs no parentheses.
    fn ranked(&mut self, expr: &Expr, rank: u8) {
        if rank_of(expr) < rank {
            self.put("(");
            self.kind(&expr.kind);
            self.put(")");
        } else {
            self.kind(&expr.kind);
        }
    }

    fn kind(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Column(name) => self.name(name),
            ExprKind::Variable(name) | ExprKind::Global(name) => self.put(&name.value),
            ExprKind::Default => self.put("DEFAULT"),
            ExprKind::Niladic(word) => self.put(word),
            ExprKind::Unary(op, operand) => self.unary(*op, operand),
            ExprKind::Binary(left, op, right) => {
                let (text, rank) = binary_text(*op);
                self.ranked(left, rank);
                self.put(" ");
                self.put(text);
                self.put(" ");
                self.ranked(right, rank + 1);
            }
            ExprKind::Collate(operand, collation) => {
                self.ranked(operand, POSTFIX);
                self.put(" COLLATE ");
                self.ident(collation);
            }
            ExprKind::AtTimeZone(operand, zone) => {
                self.ranked(operand, POSTFIX);
                self.put(" AT TIME ZONE ");
                self.ranked(zone, PRIMARY);
            }
            ExprKind::Method(operand, method, args) => {
                let bare = matches!(operand.kind, ExprKind::Variable(_) | ExprKind::Subquery(_));
                self.ranked(operand, if bare { 0 } else { PRIMARY + 1 });
                self.put(".");
                self.ident(method);
                self.parens(args, Self::expr);
            }
            ExprKind::StaticMethod(class, method, args) => {
                self.name(class);
                self.put("::");
                self.ident(method);
                self.parens(args, Self::expr);
            }
            ExprKind::Subquery(query) => self.subquery(query),
            _ => self.special(kind),
        }
    }

    fn special(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Case(case) => self.case(case),
            ExprKind::Iif(condition, then, otherwise) => {
                self.put("IIF(");
                self.condition(condition);
                self.put(", ");
                self.expr(then);
                self.put(", ");
                self.expr(otherwise);
                self.put(")");
            }
            ExprKind::Cast(cast) => {
                self.put(match cast.function {
                    CastFunction::Cast => "CAST(",
                    CastFunction::TryCast => "TRY_CAST(",
                    CastFunction::Parse => "PARSE(",
                    CastFunction::TryParse => "TRY_PARSE(",
                });
                self.expr(&cast.expr);
                self.put(" AS ");
                self.data_type(&cast.data_type);
                self.maybe(" USING ", cast.culture.as_ref(), Self::expr);
                self.put(")");
            }
            ExprKind::Convert(convert) => {
                self.put(if convert.try_ {
                    "TRY_CONVERT("
                } else {
                    "CONVERT("
                });
                self.data_type(&convert.data_type);
                self.put(", ");
                self.expr(&convert.expr);
                self.maybe(", ", convert.style.as_ref(), Self::expr);
                self.put(")");
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::NextValue(name, over) => {
                self.put("NEXT VALUE FOR ");
                self.name(name);
                self.maybe(" ", over.as_ref(), |p, over| p.over(over));
            }
            _ => {}
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) {
        let (text, rank) = match op {
            UnaryOp::Minus => ("-", PRODUCT),
            UnaryOp::Plus => ("+", PRODUCT),
            UnaryOp::BitNot => ("~", UNARY),
        };
        self.put(text);
        let signed = matches!(
            operand.kind,
            ExprKind::Unary(UnaryOp::Minus | UnaryOp::Plus, _)
        );
        if signed && op != UnaryOp::BitNot {
            // Two signs are separated by a blank: two hyphens together begin a comment.
            self.put(" ");
            self.kind(&operand.kind);
        } else {
            self.ranked(operand, rank);
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.put("NULL"),
            Literal::Integer(text)
            | Literal::Decimal(text)
            | Literal::Float(text)
            | Literal::Money(text)
            | Literal::Binary(text) => self.put(text),
            Literal::String(text) => self.string(text),
            Literal::National(text) => {
                self.put("N");
                self.string(text);
            }
        }
    }

    fn case(&mut self, case: &Case) {
        self.put("CASE");
        match &case.arms {
            CaseArms::Simple(operand, arms) => {
                self.put(" ");
                self.expr(operand);
                for (value, result) in arms {
                    self.put(" WHEN ");
                    self.expr(value);
                    self.put(" THEN ");
                    self.expr(result);
                }
            }
            CaseArms::Searched(arms) => {
                for (condition, result) in arms {
                    self.put(" WHEN ");
                    self.condition(condition);
                    self.put(" THEN ");
                    self.expr(result);
                }
            }
        }
        self.maybe(" ELSE ", case.otherwise.as_ref(), Self::expr);
        self.put(" END");
    }

    fn call(&mut self, call: &Call) {
        self.name(&call.name);
        self.put("(");
        self.flag(call.distinct, "DISTINCT ");
        self.flag(call.star, "*");
        match call.args.as_slice() {
            [characters, text] if call.name.is_word("TRIM") => {
                self.expr(characters);
                self.put(" FROM ");
                self.expr(text);
            }
            args => self.list(args, Self::expr),
        }
        self.put(")");
        if !call.within_group.is_empty() {
            self.put(" WITHIN GROUP (ORDER BY ");
            self.list(&call.within_group, Self::order_item);
            self.put(")");
        }
        match call.ignore_nulls {
            Some(true) => self.put(" IGNORE NULLS"),
            Some(false) => self.put(" RESPECT NULLS"),
            None => {}
        }
        self.maybe(" ", call.over.as_ref(), Self::over);
    }

    pub(super) fn order_item(&mut self, item: &OrderItem) {
        self.expr(&item.expr);
        self.flag(item.descending, " DESC");
    }

    pub(super) fn over(&mut self, over: &Over) {
        self.put("OVER (");
        self.clause("PARTITION BY ", &over.partition_by, Self::expr);
        self.flag(!over.partition_by.is_empty(), " ");
        self.clause("ORDER BY ", &over.order_by, Self::order_item);
        self.maybe(" ", over.frame.as_ref(), Self::frame);
        self.put(")");
    }

    fn frame(&mut self, frame: &Frame) {
        self.put(if frame.rows { "ROWS " } else { "RANGE " });
        self.flag(frame.end.is_some(), "BETWEEN ");
        self.frame_bound(&frame.start);
        self.maybe(" AND ", frame.end.as_ref(), Self::frame_bound);
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::UnboundedPreceding => self.put("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => self.put("UNBOUNDED FOLLOWING"),
            FrameBound::CurrentRow => self.put("CURRENT ROW"),
            FrameBound::Preceding(count) => {
                self.expr(count);
                self.put(" PRECEDING");
            }
            FrameBound::Following(count) => {
                self.expr(count);
                self.put(" FOLLOWING");
            }
        }
    }

    pub(super) fn assign(&mut self, op: AssignOp) {
        match op {
            AssignOp::Set => self.put(" = "),
            AssignOp::With(op) => {
                self.put(" ");
                self.put(binary_text(op).0);
                self.put("= ");
            }
        }
    }

    pub(super) fn condition(&mut self, condition: &Condition) {
        self.condition_ranked(condition, OR);
    }

    fn condition_ranked(&mut self, condition: &Condition, rank: u8) {
        let own = match &condition.kind {
            ConditionKind::Or(_) => OR,
            ConditionKind::And(_) => AND,
            _ => NOT,
        };
        if own < rank {
            self.put("(");
            self.condition_kind(&condition.kind);
            self.put(")");
        } else {
            self.condition_kind(&condition.kind);
        }
    }

    fn chain(&mut self, operands: &[Condition], word: &str, rank: u8) {
        for (n, operand) in operands.iter().enumerate() {
            self.flag(n > 0, word);
            self.condition_ranked(operand, rank);
        }
    }

    fn condition_kind(&mut self, kind: &ConditionKind) {
        match kind {
            ConditionKind::And(operands) => self.chain(operands, " AND ", NOT),
            ConditionKind::Or(operands) => self.chain(operands, " OR ", AND),
            ConditionKind::Not(operand) => {
                self.put("NOT ");
                self.condition_ranked(operand, NOT);
            }
            ConditionKind::Compare(left, op, right) => {
                self.expr(left);
                self.put(compare_text(*op));
                self.expr(right);
            }
            ConditionKind::Exists(query) => {
                self.put("EXISTS ");
                self.subquery(query);
            }
            ConditionKind::Updated(column) => {
                self.put("UPDATE(");
                self.ident(column);
                self.put(")");
            }
            ConditionKind::FullText(word, args) => self.full_text(word, args),
            ConditionKind::CurrentOf(cursor) => {
                self.put("CURRENT OF ");
                self.cursor_name(cursor);
            }
            _ => self.predicate(kind),
        }
    }

    fn predicate(&mut self, kind: &ConditionKind) {
        match kind {
            ConditionKind::Quantified {
                expr,
                op,
                all,
                query,
            } => {
                self.expr(expr);
                self.put(compare_text(*op));
                self.put(if *all { "ALL " } else { "ANY " });
                self.subquery(query);
            }
            ConditionKind::Between {
                expr,
                not,
                low,
                high,
            } => {
                self.tested(expr, *not, " BETWEEN ");
                self.expr(low);
                self.put(" AND ");
                self.expr(high);
            }
            ConditionKind::Like {
                expr,
                not,
                pattern,
                escape,
            } => {
                self.tested(expr, *not, " LIKE ");
                self.expr(pattern);
                self.maybe(" ESCAPE ", escape.as_ref(), Self::expr);
            }
            ConditionKind::IsNull { expr, not } => {
                self.expr(expr);
                self.put(if *not { " IS NOT NULL" } else { " IS NULL" });
            }
            ConditionKind::IsDistinct { expr, not, other } => {
                self.expr(expr);
                self.put(if *not { " IS NOT" } else { " IS" });
                self.put(" DISTINCT FROM ");
                self.expr(other);
            }
            ConditionKind::InList { expr, not, list } => {
                self.tested(expr, *not, " IN ");
                self.parens(list, Self::expr);
            }
            ConditionKind::InQuery { expr, not, query } => {
                self.tested(expr, *not, " IN ");
                self.subquery(query);
            }
            _ => {}
        }
    }

    fn tested(&mut self, expr: &Expr, not: bool, word: &str) {
        self.expr(expr);
        self.flag(not, " NOT");
        self.put(word);
    }

    fn full_text(&mut self, word: &str, args: &[Expr]) {
        self.put(word);
        self.put("(");
        if let Some((text, columns)) = args.split_last() {
            match columns {
                [] => self.put("*"),
                [column] => self.expr(column),
                _ => self.parens(columns, Self::expr),
            }
            self.put(", ");
            self.expr(text);
        }
        self.put(")");
    }

    pub(super) fn cursor_name(&mut self, cursor: &CursorName) {
        self.flag(cursor.global, "GLOBAL ");
        self.ident(&cursor.name);
    }
}
