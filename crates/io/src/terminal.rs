//! The modes of the terminal that a program was started at.

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// The modes of standard input's terminal: a program that ends while an editor has changed them puts them
/// back.
#[derive(Debug, Clone)]
pub struct TerminalModes(Termios);

impl TerminalModes {
    /// The modes as they are; `None` where standard input is no terminal.
    pub fn now() -> Option<TerminalModes> {
        tcgetattr(std::io::stdin()).ok().map(TerminalModes)
    }

    /// Puts them back. A terminal that is gone needs nothing.
    pub fn put_back(&self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
