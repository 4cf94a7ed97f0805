//! The batch that is being collected, line by line.

use furrow_tsql::script::{LineKind, LineScanner};

/// The text since the last GO, and whether it ends within a string or comment.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    text: String,
    scanner: LineScanner,
}

impl Gathered {
    /// The meaning of the next line.
    pub(super) fn kind(&self, line: &str) -> LineKind {
        self.scanner.kind(line)
    }

    /// Whether the text ends within a string or comment: the next line is then text, whatever its content.
    pub(super) fn is_open(&self) -> bool {
        self.scanner.is_open()
    }

    /// Appends a line; adds a line end if it has none.
    pub(super) fn push_line(&mut self, line: &str) {
        self.scanner.pass(line);
        self.text.push_str(line);
        if !line.ends_with('\n') {
            self.scanner.pass("\n");
            self.text.push('\n');
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the text and removes it here.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(self).text
    }

    pub(super) fn clear(&mut self) {
        *self = Gathered::default();
    }
}
