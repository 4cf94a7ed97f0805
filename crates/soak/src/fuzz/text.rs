//! T-SQL: statements of the golden scripts, damaged.

use super::Target;
use super::havoc::Dice;
use furrow_tsql::ast::{Batch, Stmt};
use furrow_tsql::lex::{Kind, Lexer};
use furrow_tsql::{Options, Span, SyntaxError, parse, print};

macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        &[$(include_str!(concat!("../../../tsql/tests/golden/", $name, ".sql")),)*]
    };
}

const SCRIPTS: &[&str] = scripts!(
    "admin",
    "backup",
    "database",
    "dml",
    "errors",
    "expressions",
    "flow",
    "index",
    "merge",
    "modules",
    "oltp",
    "published",
    "queries",
    "security",
    "table",
);

/// Texts between tokens, without an end, or rare.
const ODD: [&str; 12] = [
    "'", "[", "\"", "/*", "*/", "--", "\n", "\u{a0}", "\u{20ac}", "?", "0x", "1e",
];

struct Text {
    texts: Vec<Vec<&'static str>>,
    words: Vec<&'static str>,
}

fn tokens(text: &'static str) -> Vec<&'static str> {
    let tokens = Lexer::tokens(text).into_iter();
    let kept = tokens.filter(|token| token.kind != Kind::End);
    kept.map(|token| token.span.of(text)).collect()
}

/// Statements and their tokens.
pub(super) fn make() -> Result<Box<dyn Target>, String> {
    let batches = SCRIPTS.iter().flat_map(|script| script.split("\nGO\n"));
    let texts: Vec<Vec<&str>> = batches.map(tokens).filter(|t| !t.is_empty()).collect();
    let mut words: Vec<&str> = texts.iter().flatten().copied().chain(ODD).collect();
    words.sort_unstable();
    words.dedup();
    match texts.len() {
        0..50 => Err(format!("only {} batches", texts.len())),
        _ => Ok(Box::new(Text { texts, words })),
    }
}

impl Text {
    fn word(&self, dice: &mut Dice) -> &'static str {
        dice.pick(&self.words).copied().unwrap_or_default()
    }

    fn draw(&self, dice: &mut Dice) -> String {
        let whole = dice.pick(&self.texts).map_or(&[][..], Vec::as_slice);
        // A part of a batch: short texts get more tests.
        let len = (1 + dice.below(40)).min(whole.len());
        let from = match dice.one_in(2) {
            true => 0,
            false => dice.below(whole.len() - len + 1),
        };
        let part = whole.iter().skip(from).take(len).copied();
        let mut pieces: Vec<&str> = part.collect();
        for _ in 0..=dice.below(3) {
            let at = dice.below(pieces.len());
            match dice.below(6) {
                0 if pieces.len() > 1 => drop(pieces.remove(at)),
                1 => pieces.insert(at, pieces[at]),
                2 => pieces.truncate(at + 1),
                3 => pieces[at] = self.word(dice),
                4 => pieces.insert(at, self.word(dice)),
                _ => {
                    let other = dice.below(pieces.len());
                    pieces.swap(at, other);
                }
            }
        }
        let mut text = pieces.join(if dice.one_in(12) { "" } else { " " });
        if dice.one_in(6) {
            let chars = text.char_indices().map(|(at, _)| at).collect::<Vec<_>>();
            let at = dice.pick(&chars).copied().unwrap_or_default();
            let odd = char::from_u32(dice.below(0x3000) as u32).unwrap_or('x');
            text.insert(at, odd);
        }
        text
    }
}

impl Target for Text {
    fn read_one(&mut self, dice: &mut Dice) -> Result<(), String> {
        let text = self.draw(dice);
        let done = match parse(&text, Options::default()) {
            Ok(tree) => in_order(&text, &tree),
            Err(errors) => refused_in_order(&text, &errors),
        };
        done.map_err(|what| format!("{what}\n{text}"))
    }
}

/// Statements lie one behind the other, and print as a text of the same tree.
fn in_order(text: &str, tree: &Batch) -> Result<(), String> {
    let mut last = Span::default();
    let (mut counted, mut line) = (0, 1);
    for Stmt {
        span, line: said, ..
    } in &tree.statements
    {
        let place = text.get(span.start as usize..span.end as usize);
        if last.end > span.start || place.is_none_or(str::is_empty) {
            return Err(format!("a statement at {span:?}, behind {last:?}"));
        }
        line += text[counted..span.start as usize].matches('\n').count();
        counted = span.start as usize;
        if said.0 as usize != line {
            return Err(format!("a statement of line {line} says {}", said.0));
        }
        last = *span;
    }
    let printed = print(tree);
    match parse(&printed, Options::default()) {
        Ok(again) if again == *tree => Ok(()),
        // Parentheses that the tree needs may take a text near the limit beyond it.
        Err(errors) if errors.iter().any(|e| e.number == 191) => Ok(()),
        Ok(_) => Err(format!("is printed as another tree:\n{printed}")),
        Err(errors) => Err(format!("is printed as no tree, {errors:?}:\n{printed}")),
    }
}

fn refused_in_order(text: &str, errors: &[SyntaxError]) -> Result<(), String> {
    let lines = text.matches('\n').count() + 1;
    let inside = |e: &SyntaxError| {
        let place = text.get(e.span.start as usize..e.span.end as usize);
        (1..=lines).contains(&(e.line as usize)) && place.is_some()
    };
    match !errors.is_empty() && errors.iter().all(inside) {
        true => Ok(()),
        false => Err(format!("is refused without a place: {errors:?}")),
    }
}
