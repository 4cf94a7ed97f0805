//! The program `furrow`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
