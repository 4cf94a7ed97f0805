//! Columns of text, as wide as their widest cell; all but the first are right-aligned.

/// The lines of a table.
pub(super) fn lines(heads: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(String::len).max().unwrap_or(0);
        widest.max(heads.get(column).map_or(0, |head| head.len()))
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&heads).chain(rows) {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if column == 0 {
                text.push_str(&format!("{cell:<width$}"));
            } else {
                text.push_str(&format!("  {cell:>width$}"));
            }
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// An exact size: `64K`, `1M`, or bytes if it is no whole number of them.
pub(super) fn size(bytes: u64) -> String {
    for (unit, letter) in [(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")] {
        if bytes > 0 && bytes.is_multiple_of(unit) {
            return format!("{}{letter}", bytes / unit);
        }
    }
    format!("{bytes} B")
}

/// Milliseconds with three decimals.
pub(super) fn ms(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        let text = lines(
            &["a", "count"],
            &[row(&["long name", "7"]), row(&["x", ""])],
        );
        assert_eq!(text, "a          count\nlong name      7\nx\n");
        assert_eq!(
            (size(65_536), size(32_256)),
            ("64K".to_owned(), "32256 B".to_owned())
        );
        assert_eq!(ms(1_234_567), "1.235");
    }
}
