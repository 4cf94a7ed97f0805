//! The modes of the terminal that a program was started at.

use rustix::process::getpgrp;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// The modes of standard input's terminal: a program that ends while an editor has changed them puts them
/// back.
#[derive(Debug, Clone)]
pub struct TerminalModes(Termios);

impl TerminalModes {
    /// The modes as they are; `None` where standard input is no terminal.
    pub fn now() -> Option<TerminalModes> {
        tcgetattr(std::io::stdin()).ok().map(TerminalModes)
    }

    /// Puts them back. A terminal that is gone needs nothing, and one that another program has now is not
    /// touched: the system would stop this one.
    pub fn put_back(&self) {
        let stdin = std::io::stdin();
        if tcgetpgrp(&stdin).is_ok_and(|group| group == getpgrp()) {
            let _ = tcsetattr(&stdin, OptionalActions::Now, &self.0);
        }
    }
}
