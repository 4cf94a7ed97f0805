//! The program `furrow`.

mod cli;

#[global_allocator]
static HEAP: furrow_io::heap::Heap = furrow_io::heap::Heap;

fn main() -> std::process::ExitCode {
    cli::run()
}
