//! Columns of text as wide as they need, as many as fit the width.

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A table in the making.
#[derive(Debug)]
pub(super) struct Table {
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

/// Columns a text takes: its characters without escape sequences.
fn width(text: &str) -> usize {
    let mut count = 0;
    let mut escape = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => escape = true,
            'm' if escape => escape = false,
            _ if escape => {}
            _ => count += 1,
        }
    }
    count
}

impl Table {
    pub(super) fn new(heads: &[(&str, Align)]) -> Table {
        Table {
            aligns: heads.iter().map(|(_, align)| *align).collect(),
            rows: vec![heads.iter().map(|(head, _)| (*head).to_owned()).collect()],
        }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines; columns beyond `most` are left out, from the right, and so are columns without a figure.
    pub(super) fn render(&self, most: usize) -> Vec<String> {
        let mut used = 0;
        let mut columns: Vec<(usize, usize, Align)> = Vec::new();
        for (at, align) in self.aligns.iter().enumerate() {
            let cells = || self.rows.iter().filter_map(|row| row.get(at));
            let empty = cells().skip(1).all(|cell| cell.is_empty() || cell == "-");
            if empty && self.rows.len() > 1 {
                continue;
            }
            let wide = cells().map(|cell| width(cell)).max().unwrap_or(0);
            let gap = if columns.is_empty() { 0 } else { 2 };
            if used + gap + wide > most && !columns.is_empty() {
                break;
            }
            used += gap + wide;
            columns.push((at, wide.min(most), *align));
        }
        self.rows.iter().map(|row| line(row, &columns)).collect()
    }
}

fn line(row: &[String], columns: &[(usize, usize, Align)]) -> String {
    let mut text = String::new();
    for (place, (at, wide, align)) in columns.iter().enumerate() {
        if place > 0 {
            text.push_str("  ");
        }
        let cell = row.get(*at).map(String::as_str).unwrap_or_default();
        // Only a first column can be wider than the line; names there have no escape sequences.
        let cell = if width(cell) > *wide {
            cell.get(..*wide).unwrap_or(cell)
        } else {
            cell
        };
        let pad = " ".repeat(wide.saturating_sub(width(cell)));
        match align {
            Align::Left => text.extend([cell, &pad]),
            Align::Right => text.extend([pad.as_str(), cell]),
        }
    }
    text
}
