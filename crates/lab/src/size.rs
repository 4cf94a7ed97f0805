//! Sizes as people write them, and back.

use crate::experiment::OptionsError;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// A size as people write it: `1GB`, `64MB`, `512KB`, `4096`; units are powers of 1024, as SQL Server's are.
pub fn parse_size(text: &str) -> Result<u64, OptionsError> {
    let wrong = || {
        OptionsError(format!(
            "'{text}' is not a size; write a number and KB, MB, GB or TB, such as 64MB"
        ))
    };
    let trimmed = text.trim();
    let digits = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let factor = match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => KIB,
        "M" | "MB" | "MIB" => MIB,
        "G" | "GB" | "GIB" => 1024 * MIB,
        "T" | "TB" | "TIB" => 1024 * 1024 * MIB,
        _ => return Err(wrong()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(wrong);
    }
    let value: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = value * factor as f64;
    if bytes.is_finite() && bytes < 1e18 {
        Ok(bytes.round() as u64)
    } else {
        Err(wrong())
    }
}

/// A size in the largest unit that shows it in at most two decimals; [`parse_size`] reads it back exactly.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1024 * 1024 * MIB, "TB"),
        (1024 * MIB, "GB"),
        (MIB, "MB"),
        (KIB, "KB"),
    ];
    let exact = |(unit, name): (u64, &str)| {
        let number = format!("{:.2}", bytes as f64 / unit as f64);
        let text = format!(
            "{}{name}",
            number.trim_end_matches('0').trim_end_matches('.')
        );
        (bytes >= unit && parse_size(&text) == Ok(bytes)).then_some(text)
    };
    UNITS
        .into_iter()
        .find_map(exact)
        .unwrap_or_else(|| bytes.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them_and_written_so_that_they_read_back() {
        for (text, bytes) in [
            ("1GB", 1 << 30),
            ("64mb", 64 << 20),
            ("512 KB", 512 << 10),
            ("4096", 4096),
            ("1.5G", 3 << 29),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "GB", "12 parsecs", "-1MB", "1..2MB", "99999999999TB"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
        for bytes in [
            0,
            1,
            1023,
            1024,
            3 << 20,
            (5 << 30) + 4096,
            1 << 40,
            u64::MAX >> 14,
        ] {
            assert_eq!(parse_size(&size_text(bytes)), Ok(bytes));
        }
        assert_eq!(
            [size_text(20_992 << 10), size_text(96 << 20)],
            ["20.5MB", "96MB"]
        );
    }
}
