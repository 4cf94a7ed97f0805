//! Outcomes of scripts, trees in a compact form.

use furrow_tsql::script::{Piece, split};
use furrow_tsql::{Options, parse, print};
use std::fmt::Write;

/// The batches of a script.
pub(crate) fn batches(script: &str) -> Vec<&str> {
    let pieces = split(script).into_iter();
    pieces
        .filter_map(|piece| match piece {
            Piece::Batch(batch) => Some(batch.text),
            Piece::Command { .. } | Piece::BadGo { .. } => None,
        })
        .collect()
}

/// What a script gives: for each batch its text, then its trees and their text, or the errors.
pub(crate) fn outcome(script: &str) -> String {
    let mut out = String::new();
    for batch in batches(script) {
        let _ = writeln!(out, "{}", batch.trim_end());
        match parse(batch, Options::default()) {
            Ok(tree) => {
                for statement in &tree.statements {
                    let _ = writeln!(out, "  => {}", compact(&format!("{statement:?}")));
                }
                for line in print(&tree).lines() {
                    let _ = writeln!(out, "  :: {line}");
                }
            }
            Err(errors) => {
                for error in errors {
                    let shown = error.to_string().replace('\n', "\n  !! ");
                    let _ = writeln!(out, "  !! {shown}");
                }
            }
        }
        let _ = writeln!(out);
    }
    out
}

/// The debugging form of a tree without what is absent: fields that are None, empty or false.
pub(crate) fn compact(debug: &str) -> String {
    let chars: Vec<char> = debug.chars().collect();
    let mut at = 0;
    group(&chars, &mut at, None)
}

/// Entries up to `close`, those of a struct without the absent ones.
fn group(chars: &[char], at: &mut usize, close: Option<char>) -> String {
    let mut entries: Vec<String> = Vec::new();
    let mut entry = String::new();
    while let Some(c) = chars.get(*at).copied() {
        *at += 1;
        match c {
            _ if Some(c) == close => break,
            '"' => string(chars, at, &mut entry),
            '{' => {
                let inner = group(chars, at, Some('}'));
                let _ = write!(entry, "{{{inner}}}");
            }
            '(' => {
                let inner = group(chars, at, Some(')'));
                if entry.ends_with("Some") {
                    entry.truncate(entry.len() - 4);
                    entry.push_str(&inner);
                } else {
                    let _ = write!(entry, "({inner})");
                }
            }
            ',' if close == Some('}') => entries.push(std::mem::take(&mut entry)),
            _ => entry.push(c),
        }
    }
    if close != Some('}') {
        return entry;
    }
    entries.push(entry);
    let absent = [": None", ": []", ": false"];
    let kept = entries.iter().map(|e| e.trim());
    let kept: Vec<&str> = kept
        .filter(|e| !e.is_empty() && !absent.iter().any(|end| e.ends_with(end)))
        .collect();
    kept.join(", ")
}

fn string(chars: &[char], at: &mut usize, out: &mut String) {
    out.push('"');
    while let Some(c) = chars.get(*at).copied() {
        *at += 1;
        out.push(c);
        if c == '\\' {
            out.extend(chars.get(*at));
            *at += 1;
        } else if c == '"' {
            return;
        }
    }
}
