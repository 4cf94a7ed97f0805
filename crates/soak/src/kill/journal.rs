//! The lines between child and parent.
//!
//! - `R`: the database is open.
//! - `B number cell=version ...`: the commit of this number is about to be requested; `-` for a cell that
//!   will be empty.
//! - `A number`: it was acknowledged.

use crate::model::{Cell, Commit, Content, Model};
use crate::threads::Entry;
use std::collections::HashMap;
use std::fmt::Write;

/// The line of an entry.
pub(super) fn line(entry: &Entry<'_>) -> String {
    match entry {
        Entry::Acknowledged(commit) => format!("A {}\n", commit.number()),
        Entry::Begun(commit, effects) => {
            let mut line = format!("B {}", commit.number());
            for (cell, content) in *effects {
                let content = content.map_or("-".to_owned(), |version| version.to_string());
                let _ = match cell {
                    Cell::File(n) => write!(line, " f{n}={content}"),
                    Cell::Table(n) => write!(line, " t{n}={content}"),
                    Cell::Row(n, key) => write!(line, " r{n},{key}={content}"),
                };
            }
            line.push('\n');
            line
        }
    }
}

fn effect(word: &str) -> Option<(Cell, Content)> {
    let (cell, content) = word.split_once('=')?;
    let content = if content == "-" {
        None
    } else {
        Some(content.parse().ok()?)
    };
    let rest = cell.get(1..)?;
    let cell = match cell.get(..1)? {
        "f" => Cell::File(rest.parse().ok()?),
        "t" => Cell::Table(rest.parse().ok()?),
        "r" => {
            let (table, key) = rest.split_once(',')?;
            Cell::Row(table.parse().ok()?, key.parse().ok()?)
        }
        _ => return None,
    };
    Some((cell, content))
}

/// Reads lines into a model.
pub(super) struct Reader<'m> {
    model: &'m mut Model,
    begun: HashMap<u64, Commit>,
    acknowledged: u64,
}

impl<'m> Reader<'m> {
    pub(super) fn new(model: &'m mut Model) -> Reader<'m> {
        Reader {
            model,
            begun: HashMap::new(),
            acknowledged: 0,
        }
    }

    /// Reads all lines; returns how many commits were acknowledged. A last line without an end was never
    /// finished: its commit was not requested.
    pub(super) fn read(mut self, said: &[u8]) -> Result<u64, String> {
        let text = std::str::from_utf8(said).map_err(|e| e.to_string())?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines() {
            self.line(line)
                .ok_or_else(|| format!("not understood: {line}"))?;
        }
        Ok(self.acknowledged)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        match words.next()? {
            "R" => {}
            "B" => {
                let number = words.next()?.parse().ok()?;
                let effects: Vec<(Cell, Content)> = words.map(effect).collect::<Option<_>>()?;
                self.begun.insert(number, self.model.begin_commit(&effects));
            }
            "A" => {
                let commit = self.begun.remove(&words.next()?.parse().ok()?)?;
                self.model.acknowledge(commit);
                self.acknowledged += 1;
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_an_unfinished_line_is_not() {
        let mut child = Model::new();
        let effects = [
            (Cell::Row(1, -7), Some(9)),
            (Cell::Table(2), Some(10)),
            (Cell::File(3), Some(3)),
            (Cell::Row(1, 8), None),
        ];
        let first = child.begin_commit(&effects);
        let mut said = b"R\n".to_vec();
        said.extend(line(&Entry::Begun(first, &effects)).bytes());
        said.extend(line(&Entry::Acknowledged(first)).bytes());
        let second = child.begin_commit(&effects[..1]);
        let unfinished = line(&Entry::Begun(second, &effects[..1]));
        said.extend(unfinished.bytes().take(unfinished.len() - 1));
        let mut model = Model::new();
        assert_eq!(Reader::new(&mut model).read(&said), Ok(1));
        child.acknowledge(first);
        assert_eq!(model.settled(), child.settled());
        assert_eq!(model.unanswered(), 0);
        said.extend(b"\nA 2\n");
        let mut model = Model::new();
        assert_eq!(Reader::new(&mut model).read(&said), Ok(2));
        assert!(Reader::new(&mut Model::new()).read(b"A 5\n").is_err());
        assert!(Reader::new(&mut Model::new()).read(b"B 1 x9=2\n").is_err());
    }
}
