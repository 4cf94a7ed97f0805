//! Sizes, rates and durations as texts.

/// A number with a suffix of letters: `31.5K` is (31.5, "K").
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text.get(..end)?.parse().ok()?;
    Some((number, text.get(end..)?.trim()))
}

fn whole(value: f64) -> Option<u64> {
    let rounded = value.round();
    let exact = (value - rounded).abs() < 1e-6 && (0.0..9e15).contains(&rounded);
    exact.then_some(rounded as u64)
}

/// Bytes: `4096`, `64K`, `64KB`, `31.5K`, `1M`, `2G`, `1T`, and `63s` for sectors of 512 bytes.
pub fn size(text: &str) -> Option<u64> {
    let (number, suffix) = split(text)?;
    let unit: u64 = match suffix.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "s" => 512,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return None,
    };
    whole(number * unit as f64)
}

/// Bytes per second: `100MB/s`, `1.5GB/s`, `500KB/s`; powers of 1000.
pub fn rate(text: &str) -> Option<u64> {
    let (number, suffix) = split(text.trim().strip_suffix("/s")?)?;
    let unit = match suffix.to_ascii_lowercase().as_str() {
        "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        _ => return None,
    };
    whole(number * unit).filter(|rate| *rate > 0)
}

/// Nanoseconds: `2ms`, `500us`, `100ns`, `1s`.
pub fn duration_ns(text: &str) -> Option<u64> {
    let (number, suffix) = split(text)?;
    let unit = match suffix {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    whole(number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_rates_and_durations_are_read_with_their_units() {
        assert_eq!(size("31.5K"), Some(32_256));
        assert_eq!(size("63s"), Some(32_256));
        assert_eq!(size("64KB"), Some(65_536));
        assert_eq!(rate("112MB/s"), Some(112_000_000));
        assert_eq!(rate("1.5GB/s"), Some(1_500_000_000));
        assert_eq!(duration_ns("1.5ms"), Some(1_500_000));
        for wrong in ["", "K", "-1K", "1.2.3K", "12 parsecs", "0.3"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
        assert_eq!(rate("100MB"), None);
        assert_eq!(rate("0MB/s"), None);
        assert_eq!(duration_ns("2"), None);
    }
}
