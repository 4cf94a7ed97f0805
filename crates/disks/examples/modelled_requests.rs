//! How many modelled requests a second of wall clock one core does:
//! `cargo run --release -p furrow-disks --example modelled_requests`

use furrow_disks::load::{Arrival, Load, run_model};
use furrow_disks::spec::ModelSpec;
use furrow_io::time::Moment;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (text, read_percent, depth) in [
        ("model=raid10:6x15k", 100, 64),
        ("model=raid10:6x15k", 0, 64),
        ("model=raid10:6x15k,offset=63s", 100, 64),
        ("model=raid5:6x15k", 0, 64),
        ("model=15k", 100, 1),
        ("model=nvme", 100, 64),
        ("model=cloud", 100, 32),
    ] {
        let load = Load {
            read_percent,
            arrival: Arrival::Depth(depth),
            ..Load::default()
        };
        let begun = Moment::now();
        let cpu = furrow_io::process::thread_cpu_ns();
        let found = run_model(&ModelSpec::parse(text)?, &load, 2_000_000)?;
        let seconds = begun.elapsed_us() as f64 / 1e6;
        let cpu = (furrow_io::process::thread_cpu_ns() - cpu) as f64 / 1e9;
        println!(
            "{text}, {read_percent}% reads, depth {depth}: {:.2} million requests in a second of wall clock, \
             {:.2} in a second of processor time, {:.0} times real time",
            2.2 / seconds,
            2.2 / cpu,
            found.elapsed_ns as f64 / 1e9 / seconds
        );
    }
    Ok(())
}
