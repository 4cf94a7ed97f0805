//! Prints what a script gives, in the form of the golden files: the script on standard input, the outcome on
//! standard output. `tests/golden/update.sh` writes all outcomes again.

#[path = "../tests/support/compact.rs"]
mod compact;

use std::io::Read;

fn main() {
    let mut script = String::new();
    match std::io::stdin().read_to_string(&mut script) {
        Ok(_) => print!("{}", compact::outcome(&script)),
        Err(error) => eprintln!("golden: {error}"),
    }
}
