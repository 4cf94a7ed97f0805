//! Random trees: whatever shape the grammar allows, built without the parser.

use furrow_tsql::Span;
use furrow_tsql::ast::dml::{
    Delete, Insert, InsertSource, Output, SetClause, Target, TargetTable, Update,
};
use furrow_tsql::ast::expr::{
    AssignOp, BinaryOp, Call, Case, CaseArms, Cast, CastFunction, CompareOp, Condition,
    ConditionKind, Convert, Expr, ExprKind, Frame, FrameBound, Literal, Over, UnaryOp,
};
use furrow_tsql::ast::flow::{Declare, DeclareKind, If, Set, TryCatch, While};
use furrow_tsql::ast::name::{DataType, Ident, ObjectName, TypeArg};
use furrow_tsql::ast::query::{
    Cte, Join, JoinKind, OrderItem, Query, QueryBody, QueryHint, Select, SelectItem, SetOp,
    TableAlias, TableHint, TableRef, TableSource, Top,
};
use furrow_tsql::ast::{Batch, Line, Statement, Stmt};

/// Where choices come from.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((x ^ (x >> 31)) % n as u64).unwrap_or(0)
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn many<T>(&mut self, least: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = least + self.below(3);
        (0..count).map(|_| one(self)).collect()
    }

    fn maybe<T>(&mut self, one: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.one_in(3).then(|| one(self))
    }

    fn ident(&mut self) -> Ident {
        const PLAIN: &[&str] = &[
            "a", "b", "Orders", "_x", "c$d", "#temp", "name", "offset", "go",
        ];
        const QUOTED: &[&str] = &[
            "select", "x y", "a]b", "it's", "1", "\"q\"", "\u{e4}\n", "@v",
        ];
        let quoted = self.one_in(4);
        let value = self.pick(if quoted { QUOTED } else { PLAIN }).into();
        let span = Span::default();
        Ident {
            value,
            quoted,
            span,
        }
    }

    fn name(&mut self) -> ObjectName {
        let mut parts = vec![self.ident()];
        if self.one_in(3) {
            parts.insert(0, self.ident());
        } else if self.one_in(8) {
            parts.insert(0, Ident::new(""));
            parts.insert(0, self.ident());
        }
        ObjectName { parts }
    }

    fn variable(&mut self) -> Ident {
        Ident::new(self.pick(&["@a", "@b", "@long_name", "@_", "@x1"]))
    }

    fn literal(&mut self) -> Literal {
        let text = |t: &str| t.into();
        match self.below(9) {
            0 => Literal::Null,
            1 | 2 => Literal::Integer(text(self.pick(&["0", "1", "42", "00"]))),
            3 => Literal::Decimal(text(self.pick(&["1.5", ".5", "1."]))),
            4 => Literal::Float(text(self.pick(&["1e3", "1.5E-3", "1e"]))),
            5 => Literal::Money(text(self.pick(&["$1.50", "$", "\u{20ac}5"]))),
            6 => Literal::Binary(text(self.pick(&["0x", "0xAB"]))),
            7 => Literal::String(text(
                self.pick(&["", "x", "it's", "-- no", "/*", "\n", "]"]),
            )),
            _ => Literal::National(text(self.pick(&["", "\u{fc}", "'"]))),
        }
    }

    fn data_type(&mut self) -> DataType {
        let name = ObjectName::single(Ident::new(self.pick(&["int", "varchar", "decimal"])));
        let args = match self.below(3) {
            0 => vec![TypeArg::Number("10".into())],
            1 => vec![TypeArg::Max],
            _ => Vec::new(),
        };
        DataType { name, args }
    }

    pub(crate) fn expr(&mut self, depth: usize) -> Expr {
        let kind = if depth == 0 {
            self.leaf()
        } else {
            self.inner(depth - 1)
        };
        let span = Span::default();
        Expr { kind, span }
    }

    fn leaf(&mut self) -> ExprKind {
        match self.below(6) {
            0 | 1 => ExprKind::Literal(self.literal()),
            2 => ExprKind::Variable(self.variable()),
            3 => ExprKind::Global(Ident::new("@@ROWCOUNT")),
            4 => ExprKind::Niladic("CURRENT_TIMESTAMP".into()),
            _ => ExprKind::Column(self.name()),
        }
    }

    fn binary_op(&mut self) -> BinaryOp {
        self.pick(&[
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Div,
            BinaryOp::Mod,
            BinaryOp::BitAnd,
            BinaryOp::BitOr,
            BinaryOp::BitXor,
        ])
    }

    fn boxed(&mut self, depth: usize) -> Box<Expr> {
        Box::new(self.expr(depth))
    }

    fn inner(&mut self, d: usize) -> ExprKind {
        match self.below(16) {
            0..=3 => ExprKind::Binary(self.boxed(d), self.binary_op(), self.boxed(d)),
            4 | 5 => {
                let op = self.pick(&[UnaryOp::Minus, UnaryOp::Plus, UnaryOp::BitNot]);
                ExprKind::Unary(op, self.boxed(d))
            }
            6 => ExprKind::Collate(self.boxed(d), Ident::new("Latin1_General_BIN")),
            7 => ExprKind::AtTimeZone(self.boxed(d), self.boxed(d)),
            8 => ExprKind::Case(Box::new(self.case(d))),
            9 => ExprKind::Iif(Box::new(self.condition(d)), self.boxed(d), self.boxed(d)),
            10 => ExprKind::Cast(Box::new(Cast {
                function: self.pick(&[CastFunction::Cast, CastFunction::TryCast]),
                expr: self.expr(d),
                data_type: self.data_type(),
                culture: None,
            })),
            11 => ExprKind::Convert(Box::new(Convert {
                try_: self.one_in(2),
                data_type: self.data_type(),
                expr: self.expr(d),
                style: self.maybe(|p| p.expr(d)),
            })),
            12 => ExprKind::Call(Box::new(self.call(d))),
            13 => ExprKind::Subquery(Box::new(self.query(d, false))),
            14 => ExprKind::Method(self.boxed(d), self.ident(), self.many(0, |p| p.expr(d))),
            _ => self.leaf(),
        }
    }

    fn case(&mut self, d: usize) -> Case {
        let arms = if self.one_in(2) {
            let operand = self.expr(d);
            CaseArms::Simple(operand, self.many(1, |p| (p.expr(d), p.expr(d))))
        } else {
            CaseArms::Searched(self.many(1, |p| (p.condition(d), p.expr(d))))
        };
        let otherwise = self.maybe(|p| p.expr(d));
        Case { arms, otherwise }
    }

    fn call(&mut self, d: usize) -> Call {
        let star = self.one_in(5);
        Call {
            name: self.name(),
            distinct: !star && self.one_in(5),
            star,
            args: if star {
                Vec::new()
            } else {
                self.many(1, |p| p.expr(d))
            },
            within_group: Vec::new(),
            ignore_nulls: self.maybe(|p| p.one_in(2)),
            over: self.maybe(|p| p.over(d)),
        }
    }

    fn over(&mut self, d: usize) -> Over {
        Over {
            partition_by: self.many(0, |p| p.expr(d)),
            order_by: self.many(1, |p| p.order(d)),
            frame: self.maybe(|p| Frame {
                rows: p.one_in(2),
                start: FrameBound::UnboundedPreceding,
                end: p.maybe(|_| FrameBound::CurrentRow),
            }),
        }
    }

    fn order(&mut self, d: usize) -> OrderItem {
        OrderItem {
            expr: self.expr(d),
            descending: self.one_in(2),
        }
    }

    pub(crate) fn condition(&mut self, depth: usize) -> Condition {
        let d = depth.saturating_sub(1);
        let kind = match self.below(if depth == 0 { 3 } else { 12 }) {
            0 => ConditionKind::IsNull {
                expr: self.expr(d),
                not: self.one_in(2),
            },
            1 | 2 => {
                let ops = [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Ge];
                ConditionKind::Compare(self.expr(d), self.pick(&ops), self.expr(d))
            }
            3 | 4 => ConditionKind::And(self.many(2, |p| p.condition(d))),
            5 | 6 => ConditionKind::Or(self.many(2, |p| p.condition(d))),
            7 => ConditionKind::Not(Box::new(self.condition(d))),
            8 => ConditionKind::Between {
                expr: self.expr(d),
                not: self.one_in(2),
                low: self.expr(d),
                high: self.expr(d),
            },
            9 => ConditionKind::InList {
                expr: self.expr(d),
                not: self.one_in(2),
                list: self.many(1, |p| p.expr(d)),
            },
            10 => ConditionKind::Exists(Box::new(self.query(d, false))),
            _ => ConditionKind::Like {
                expr: self.expr(d),
                not: self.one_in(2),
                pattern: self.expr(d),
                escape: self.maybe(|p| p.expr(d)),
            },
        };
        let span = Span::default();
        Condition { kind, span }
    }

    /// A query; the outermost may have what the others may not.
    pub(crate) fn query(&mut self, depth: usize, outer: bool) -> Query {
        let d = depth.saturating_sub(1);
        let order_by = self
            .maybe(|p| p.many(1, |p| p.order(d)))
            .unwrap_or_default();
        let ordered = !order_by.is_empty();
        let offset = self.maybe(|p| p.expr(d)).filter(|_| ordered);
        let fetch = self.maybe(|p| p.expr(d)).filter(|_| offset.is_some());
        let ctes = self.maybe(|p| p.many(1, |p| p.cte(d))).filter(|_| outer);
        let options = self.maybe(|_| vec![QueryHint::Words("RECOMPILE".into())]);
        Query {
            ctes: ctes.unwrap_or_default(),
            body: self.body(depth, outer),
            order_by,
            offset,
            fetch,
            for_clause: None,
            options: options.filter(|_| outer).unwrap_or_default(),
            span: Span::default(),
        }
    }

    fn cte(&mut self, d: usize) -> Cte {
        Cte {
            name: self.ident(),
            columns: self.many(0, Self::ident),
            query: self.query(d, false),
        }
    }

    fn body(&mut self, depth: usize, outer: bool) -> QueryBody {
        if depth == 0 || !self.one_in(4) {
            return QueryBody::Select(Box::new(self.select(depth, outer)));
        }
        let op = self.pick(&[SetOp::Union, SetOp::Except, SetOp::Intersect]);
        QueryBody::Set {
            op,
            all: op == SetOp::Union && self.one_in(2),
            left: Box::new(self.body(depth - 1, outer)),
            right: Box::new(self.body(depth - 1, outer)),
        }
    }

    fn select(&mut self, depth: usize, outer: bool) -> Select {
        let d = depth.saturating_sub(1);
        Select {
            distinct: self.one_in(4),
            top: self.maybe(|p| Top {
                count: p.expr(d),
                percent: p.one_in(2),
                with_ties: p.one_in(2),
            }),
            items: self.many(1, |p| p.item(d, outer)),
            into: self.maybe(Self::name).filter(|_| outer),
            into_filegroup: None,
            from: self
                .maybe(|p| p.many(1, |p| p.table(d)))
                .unwrap_or_default(),
            filter: self.maybe(|p| p.condition(d)),
            group_by: None,
            having: self.maybe(|p| p.condition(d)),
            span: Span::default(),
        }
    }

    fn assign_op(&mut self) -> AssignOp {
        if self.one_in(2) {
            AssignOp::Set
        } else {
            AssignOp::With(self.binary_op())
        }
    }

    fn item(&mut self, d: usize, outer: bool) -> SelectItem {
        match self.below(6) {
            0 => SelectItem::Star(Span::default()),
            1 => SelectItem::QualifiedStar(self.name()),
            2 if outer => SelectItem::Assign {
                variable: self.variable(),
                op: self.assign_op(),
                expr: self.expr(d),
            },
            _ => SelectItem::Expr {
                expr: self.expr(d),
                alias: self.maybe(Self::ident),
            },
        }
    }

    fn table(&mut self, depth: usize) -> TableRef {
        let d = depth.saturating_sub(1);
        match self.below(if depth == 0 { 3 } else { 6 }) {
            0..=2 => TableRef::Table(Box::new(TableSource {
                name: self.name(),
                system_time: None,
                alias: self.maybe(Self::ident),
                sample: None,
                hints: self
                    .maybe(|_| TableHint::Word("NOLOCK".into()))
                    .into_iter()
                    .collect(),
            })),
            3 => TableRef::Derived {
                query: Box::new(self.query(d, false)),
                alias: TableAlias {
                    name: self.ident(),
                    columns: self.many(0, Self::ident),
                },
            },
            _ => {
                let kinds = [
                    JoinKind::Inner,
                    JoinKind::Left,
                    JoinKind::Full,
                    JoinKind::Cross,
                ];
                let kind = self.pick(&kinds);
                TableRef::Join(Box::new(Join {
                    left: self.table(d),
                    kind,
                    hint: None,
                    right: self.table(d),
                    on: (kind != JoinKind::Cross).then(|| self.condition(d)),
                }))
            }
        }
    }

    fn target(&mut self) -> Target {
        let table = if self.one_in(3) {
            TargetTable::Variable(self.variable())
        } else {
            TargetTable::Name(self.name())
        };
        let hints = self.maybe(|_| vec![TableHint::Word("TABLOCK".into())]);
        Target {
            table,
            hints: hints.unwrap_or_default(),
        }
    }

    fn outputs(&mut self, d: usize) -> Vec<Output> {
        let output = self.maybe(|p| Output {
            items: p.many(1, |p| p.item(d, false)),
            into: p.maybe(|p| (TargetTable::Name(p.name()), p.many(0, Self::ident))),
        });
        output.into_iter().collect()
    }

    fn insert(&mut self, d: usize) -> Insert {
        let mut insert = Insert {
            ctes: Vec::new(),
            top: None,
            target: self.target(),
            columns: self.many(0, Self::name),
            output: self.outputs(d),
            source: match self.below(3) {
                0 => InsertSource::DefaultValues,
                1 => InsertSource::Query(Box::new(self.query(d, false))),
                _ => InsertSource::Values(self.many(1, |p| p.many(1, |p| p.expr(d)))),
            },
            options: Vec::new(),
        };
        // `OUTPUT a (SELECT 1)` is a call of a function, and `OUTPUT 1 INTO t (SELECT 1)` a list of columns.
        if let InsertSource::Query(query) = &insert.source
            && is_in_parentheses(&query.body)
        {
            insert.output.clear();
        }
        insert
    }

    fn row_statement(&mut self, d: usize) -> Statement {
        match self.below(4) {
            0 => Statement::Select(Box::new(self.query(d, true))),
            1 => Statement::Insert(Box::new(self.insert(d))),
            2 => Statement::Update(Box::new(Update {
                ctes: Vec::new(),
                top: None,
                target: self.target(),
                sets: self.many(1, |p| SetClause::Column(p.name(), p.assign_op(), p.expr(d))),
                output: self.outputs(d),
                from: self.many(0, |p| p.table(d)),
                filter: self.maybe(|p| p.condition(d)),
                options: Vec::new(),
            })),
            _ => Statement::Delete(Box::new(Delete {
                ctes: self.many(0, |p| p.cte(d)),
                top: None,
                target: self.target(),
                output: self.outputs(d),
                from: self.many(0, |p| p.table(d)),
                filter: self.maybe(|p| p.condition(d)),
                options: Vec::new(),
            })),
        }
    }

    fn stmt(&mut self, d: usize) -> Stmt {
        let kind = if d == 0 {
            self.row_statement(0)
        } else {
            self.flow(d - 1)
        };
        Stmt {
            kind,
            span: Span::default(),
            line: Line(1),
        }
    }

    /// A first branch stands in a block, as nothing else says whose an ELSE is.
    fn flow(&mut self, d: usize) -> Statement {
        match self.below(9) {
            0 => Statement::Block(self.many(1, |p| p.stmt(d))),
            1 => Statement::While(Box::new(While {
                condition: self.condition(d),
                body: self.stmt(d),
            })),
            2 => {
                let mut then = self.stmt(d);
                then.kind = Statement::Block(vec![then.clone()]);
                Statement::If(Box::new(If {
                    condition: self.condition(d),
                    then,
                    otherwise: self.maybe(|p| p.stmt(d)),
                }))
            }
            3 => Statement::TryCatch(Box::new(TryCatch {
                body: self.many(0, |p| p.stmt(d)),
                catch: self.many(0, |p| p.stmt(d)),
            })),
            4 => Statement::Print(self.expr(d)),
            5 => Statement::Set(Set::Variable(
                self.variable(),
                self.assign_op(),
                self.expr(d),
            )),
            _ => self.row_statement(d),
        }
    }

    /// A batch, with one declaration at most: a name may be declared once.
    pub(crate) fn batch(&mut self, depth: usize) -> Batch {
        let mut statements = self.many(1, |p| p.stmt(depth));
        if self.one_in(3) {
            let kind = DeclareKind::Scalar(self.data_type(), self.maybe(|p| p.expr(depth)));
            let variable = self.variable();
            let declare = Statement::Declare(vec![Declare { variable, kind }]);
            statements.push(Stmt {
                kind: declare,
                span: Span::default(),
                line: Line(1),
            });
        }
        Batch { statements }
    }
}

/// Whether the text of a body begins with a parenthesis: INTERSECT binds tighter than what is on its left.
fn is_in_parentheses(body: &QueryBody) -> bool {
    match body {
        QueryBody::Set { op, left, .. } => {
            let is_looser = matches!(&**left, QueryBody::Set { op, .. } if *op != SetOp::Intersect);
            (*op == SetOp::Intersect && is_looser) || is_in_parentheses(left)
        }
        QueryBody::Select(_) | QueryBody::Values(_) => false,
    }
}
