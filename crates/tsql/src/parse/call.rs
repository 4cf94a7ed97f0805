//! Functions, CASE, conversions, windows, and the other values that begin with a word.

use super::cursor::Parser;
use crate::ast::expr::{
    Call, Case, CaseArms, Cast, CastFunction, Convert, Expr, ExprKind, Frame, FrameBound, Literal,
    Over,
};
use crate::ast::name::{Ident, ObjectName};
use crate::error::Parsed;
use crate::lex::{Keyword, Kind};

impl Parser<'_> {
    /// A value that begins with a reserved word.
    pub(super) fn keyword_value(&mut self, keyword: Keyword) -> Parsed<ExprKind> {
        use Keyword as K;
        let calls = self.peek(1).kind == Kind::Open;
        match keyword {
            K::NULL => {
                self.bump();
                Ok(ExprKind::Literal(Literal::Null))
            }
            K::CASE => self.nested(Self::case),
            K::CONVERT | K::TRY_CONVERT if calls => self.convert(keyword == K::TRY_CONVERT),
            K::COALESCE | K::NULLIF | K::LEFT | K::RIGHT | K::IDENTITY if calls => {
                let name = ObjectName::single(self.any_word()?);
                self.call(name)
            }
            K::CURRENT_TIMESTAMP
            | K::CURRENT_USER
            | K::SESSION_USER
            | K::SYSTEM_USER
            | K::USER
            | K::CURRENT_DATE => {
                self.bump();
                Ok(ExprKind::Niladic(keyword.text().into()))
            }
            K::IDENTITYCOL | K::ROWGUIDCOL => {
                let token = self.bump();
                self.column_of(token)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `NEXT VALUE FOR s [OVER (ORDER BY ..)]`
    pub(super) fn next_value(&mut self) -> Parsed<ExprKind> {
        self.expect_words("NEXT VALUE FOR")?;
        let name = self.object_name()?;
        let over = if self.at_keyword(Keyword::OVER) {
            Some(Box::new(self.over()?))
        } else {
            None
        };
        Ok(ExprKind::NextValue(name, over))
    }

    /// A column, or a function by its name.
    pub(super) fn named_value(&mut self) -> Parsed<ExprKind> {
        let calls = self.peek(1).kind == Kind::Open && self.kind() == Kind::Word;
        if calls && let Some(kind) = self.special_call()? {
            return Ok(kind);
        }
        let name = self.dotted_name()?;
        if self.kind() == Kind::Open {
            return self.call(name);
        }
        if self.eat(Kind::DoubleColon) {
            let method = self.ident()?;
            if self.kind() == Kind::Open {
                let args = self.arguments()?;
                return Ok(ExprKind::StaticMethod(name, method, args));
            }
            return Err(self.unexpected());
        }
        self.limit_parts(&name, 5, "column")?;
        Ok(ExprKind::Column(name))
    }

    /// Functions whose arguments are not just values.
    fn special_call(&mut self) -> Parsed<Option<ExprKind>> {
        const CASTS: [(&str, CastFunction); 4] = [
            ("CAST", CastFunction::Cast),
            ("TRY_CAST", CastFunction::TryCast),
            ("PARSE", CastFunction::Parse),
            ("TRY_PARSE", CastFunction::TryParse),
        ];
        if let Some((_, function)) = CASTS.into_iter().find(|(name, _)| self.at_word(name)) {
            return self.nested(|p| p.cast(function)).map(Some);
        }
        if !self.at_word("IIF") {
            return Ok(None);
        }
        self.bump();
        self.expect(Kind::Open)?;
        let condition = self.condition()?;
        self.expect(Kind::Comma)?;
        let then = self.expr()?;
        self.expect(Kind::Comma)?;
        let otherwise = self.expr()?;
        self.expect(Kind::Close)?;
        Ok(Some(ExprKind::Iif(
            Box::new(condition),
            Box::new(then),
            Box::new(otherwise),
        )))
    }

    fn cast(&mut self, function: CastFunction) -> Parsed<ExprKind> {
        self.bump();
        self.expect(Kind::Open)?;
        let expr = self.expr()?;
        self.expect_keyword(Keyword::AS)?;
        let data_type = self.data_type()?;
        let parses = matches!(function, CastFunction::Parse | CastFunction::TryParse);
        let culture = if parses && self.eat_word("USING") {
            Some(self.expr()?)
        } else {
            None
        };
        self.expect(Kind::Close)?;
        Ok(ExprKind::Cast(Box::new(Cast {
            function,
            expr,
            data_type,
            culture,
        })))
    }

    fn convert(&mut self, try_: bool) -> Parsed<ExprKind> {
        self.bump();
        self.expect(Kind::Open)?;
        let data_type = self.data_type()?;
        self.expect(Kind::Comma)?;
        let expr = self.expr()?;
        let style = if self.eat(Kind::Comma) {
            Some(self.expr()?)
        } else {
            None
        };
        self.expect(Kind::Close)?;
        Ok(ExprKind::Convert(Box::new(Convert {
            try_,
            data_type,
            expr,
            style,
        })))
    }

    fn case(&mut self) -> Parsed<ExprKind> {
        self.bump();
        let arms = if self.at_keyword(Keyword::WHEN) {
            let mut arms = Vec::new();
            while self.eat_keyword(Keyword::WHEN) {
                let condition = self.condition()?;
                self.expect_keyword(Keyword::THEN)?;
                arms.push((condition, self.expr()?));
            }
            CaseArms::Searched(arms)
        } else {
            let operand = self.expr()?;
            let mut arms = Vec::new();
            self.expect_keyword(Keyword::WHEN)?;
            loop {
                let value = self.expr()?;
                self.expect_keyword(Keyword::THEN)?;
                arms.push((value, self.expr()?));
                if !self.eat_keyword(Keyword::WHEN) {
                    break;
                }
            }
            CaseArms::Simple(operand, arms)
        };
        let otherwise = if self.eat_keyword(Keyword::ELSE) {
            Some(self.expr()?)
        } else {
            None
        };
        self.expect_keyword(Keyword::END)?;
        Ok(ExprKind::Case(Box::new(Case { arms, otherwise })))
    }

    /// `(a, b, ..)`, which may be empty.
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect(Kind::Open)?;
        if self.eat(Kind::Close) {
            return Ok(Vec::new());
        }
        let args = self.list(Self::argument)?;
        self.expect(Kind::Close)?;
        Ok(args)
    }

    /// A value, or DEFAULT.
    pub(super) fn argument(&mut self) -> Parsed<Expr> {
        if self.at_keyword(Keyword::DEFAULT) {
            let span = self.bump().span;
            let kind = ExprKind::Default;
            return Ok(Expr { kind, span });
        }
        self.expr()
    }

    /// A call whose name has been read.
    fn call(&mut self, name: ObjectName) -> Parsed<ExprKind> {
        let mut call = Call {
            name,
            distinct: false,
            star: false,
            args: Vec::new(),
            within_group: Vec::new(),
            ignore_nulls: None,
            over: None,
        };
        self.expect(Kind::Open)?;
        if !self.eat(Kind::Close) {
            self.call_arguments(&mut call)?;
            self.expect(Kind::Close)?;
        }
        if self.at_words(&["WITHIN", "GROUP"]) {
            self.expect_words("WITHIN GROUP")?;
            self.expect(Kind::Open)?;
            call.within_group = self.order_by()?;
            self.expect(Kind::Close)?;
        }
        if self.eat_words(&["IGNORE", "NULLS"]) {
            call.ignore_nulls = Some(true);
        } else if self.eat_words(&["RESPECT", "NULLS"]) {
            call.ignore_nulls = Some(false);
        }
        if self.at_keyword(Keyword::OVER) {
            call.over = Some(self.over()?);
        }
        Ok(ExprKind::Call(Box::new(call)))
    }

    fn call_arguments(&mut self, call: &mut Call) -> Parsed<()> {
        if self.kind() == Kind::Star && self.peek(1).kind == Kind::Close {
            self.bump();
            call.star = true;
            return Ok(());
        }
        if self.eat_keyword(Keyword::DISTINCT) {
            call.distinct = true;
        } else {
            self.eat_keyword(Keyword::ALL);
        }
        call.args = self.list(Self::argument)?;
        // TRIM(characters FROM text) is the only call of TRIM with two arguments.
        let trims = call.name.is_word("TRIM") && call.args.len() == 1;
        if trims && self.eat_keyword(Keyword::FROM) {
            call.args.push(self.expr()?);
        } else if call.name.is_word("TRIM") && call.args.len() > 1 {
            return Err(self.unexpected());
        }
        Ok(())
    }

    /// `OVER (..)`
    pub(super) fn over(&mut self) -> Parsed<Over> {
        self.expect_keyword(Keyword::OVER)?;
        self.expect(Kind::Open)?;
        let mut over = Over::default();
        if self.eat_words(&["PARTITION", "BY"]) {
            over.partition_by = self.list(Self::expr)?;
        }
        if self.at_keyword(Keyword::ORDER) {
            over.order_by = self.order_by()?;
        }
        if self.at_word("ROWS") || self.at_word("RANGE") {
            over.frame = Some(self.frame()?);
        }
        self.expect(Kind::Close)?;
        Ok(over)
    }

    fn frame(&mut self) -> Parsed<Frame> {
        let rows = self.at_word("ROWS");
        self.bump();
        if !self.eat_keyword(Keyword::BETWEEN) {
            let start = self.frame_bound()?;
            return Ok(Frame {
                rows,
                start,
                end: None,
            });
        }
        let start = self.frame_bound()?;
        self.expect_keyword(Keyword::AND)?;
        let end = Some(self.frame_bound()?);
        Ok(Frame { rows, start, end })
    }

    fn frame_bound(&mut self) -> Parsed<FrameBound> {
        if self.eat_word("UNBOUNDED") {
            if self.eat_word("PRECEDING") {
                return Ok(FrameBound::UnboundedPreceding);
            }
            self.expect_word("FOLLOWING")?;
            return Ok(FrameBound::UnboundedFollowing);
        }
        if self.eat_keyword(Keyword::CURRENT) {
            self.expect_word("ROW")?;
            return Ok(FrameBound::CurrentRow);
        }
        let count = self.constant()?;
        if self.eat_word("PRECEDING") {
            return Ok(FrameBound::Preceding(count));
        }
        self.expect_word("FOLLOWING")?;
        Ok(FrameBound::Following(count))
    }

    /// `method(..)` after a dot, of a variable.
    pub(super) fn method(&mut self) -> Parsed<(Ident, Vec<Expr>)> {
        self.expect(Kind::Dot)?;
        let method = self.ident()?;
        let args = self.arguments()?;
        Ok((method, args))
    }
}
