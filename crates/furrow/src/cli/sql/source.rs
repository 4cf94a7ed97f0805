//! Reads scripts: UTF-8, or UTF-16 with its byte order mark.
//!
//! A file is decoded before its first batch runs, and is refused as a whole if it has another encoding. A
//! stream (standard input, a FIFO) is decoded line by line, so that a batch runs when its GO has arrived.

use std::io::{self, BufRead};

/// The encoding of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    /// The encoding of a text that begins with these bytes, and the length of its byte order mark.
    fn of(first: &[u8]) -> (Encoding, usize) {
        match first {
            [0xFF, 0xFE, ..] => (Encoding::Utf16Le, 2),
            [0xFE, 0xFF, ..] => (Encoding::Utf16Be, 2),
            [0xEF, 0xBB, 0xBF, ..] => (Encoding::Utf8, 3),
            _ => (Encoding::Utf8, 0),
        }
    }

    /// The text of complete characters; `None` if the bytes are not in this encoding.
    fn decode(self, bytes: &[u8]) -> Option<String> {
        let wide = |of: fn([u8; 2]) -> u16| {
            let pairs = bytes.chunks(2).map(|pair| pair.try_into().ok().map(of));
            let units: Option<Vec<u16>> = pairs.collect();
            String::from_utf16(&units?).ok()
        };
        match self {
            Encoding::Utf8 => String::from_utf8(bytes.to_vec()).ok(),
            Encoding::Utf16Le => wide(u16::from_le_bytes),
            Encoding::Utf16Be => wide(u16::from_be_bytes),
        }
    }
}

/// The text of a whole script; `None` if it is neither UTF-8 nor UTF-16.
pub(super) fn decoded(bytes: &[u8]) -> Option<String> {
    let (encoding, mark) = Encoding::of(bytes);
    encoding.decode(bytes.get(mark..).unwrap_or_default())
}

/// Reads lines from a stream, each as soon as it has arrived.
pub(super) struct LineSource<'a> {
    from: &'a mut dyn BufRead,
    /// The encoding, from the first line.
    encoding: Option<Encoding>,
}

impl LineSource<'_> {
    pub(super) fn new(from: &mut dyn BufRead) -> LineSource<'_> {
        LineSource {
            from,
            encoding: None,
        }
    }

    /// The next line with its line end, which the last line may lack; `None` at the end.
    /// [`io::ErrorKind::InvalidData`] if it is in another encoding.
    pub(super) fn next_line(&mut self) -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        let mut mark = 0;
        loop {
            let read = self.from.read_until(b'\n', &mut bytes)?;
            if self.encoding.is_none() {
                let (encoding, length) = Encoding::of(&bytes);
                (self.encoding, mark) = (Some(encoding), length);
            }
            if read == 0 || self.ends_line(&mut bytes)? {
                break;
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let encoding = self.encoding.unwrap_or(Encoding::Utf8);
        match encoding.decode(bytes.get(mark..).unwrap_or_default()) {
            Some(line) => Ok(Some(line)),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Whether the byte 0x0A at the end of `bytes` ends a line, and is not half of another character. In
    /// little-endian UTF-16 the second byte is read, too.
    fn ends_line(&mut self, bytes: &mut Vec<u8>) -> io::Result<bool> {
        match self.encoding {
            Some(Encoding::Utf16Le) if !bytes.len().is_multiple_of(2) => {
                let mut second = [0];
                match self.from.read_exact(&mut second) {
                    Ok(()) => bytes.extend(second),
                    Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(true),
                    Err(e) => return Err(e),
                }
                Ok(second == [0])
            }
            Some(Encoding::Utf16Le) => Ok(false),
            Some(Encoding::Utf16Be) => {
                let unit = bytes.last_chunk::<2>();
                Ok(bytes.len().is_multiple_of(2) && unit == Some(&[0, b'\n']))
            }
            Some(Encoding::Utf8) | None => Ok(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a script that arrives byte by byte.
    fn lines(bytes: &[u8]) -> io::Result<Vec<String>> {
        let mut from = io::BufReader::with_capacity(1, bytes);
        let mut source = LineSource::new(&mut from);
        let mut lines = Vec::new();
        while let Some(line) = source.next_line()? {
            lines.push(line);
        }
        Ok(lines)
    }

    fn utf16(text: &str, of: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(of).collect()
    }

    #[test]
    fn lines_are_the_same_in_every_encoding() {
        // U+010A and U+0A0A have a byte 0x0A that does not end a line.
        let text = "SELECT N'\u{10a}\u{a0a}\u{1f600}'\r\nGO\n\nlast";
        let wanted: Vec<&str> = text.split_inclusive('\n').collect();
        let marked = format!("\u{feff}{text}");
        for bytes in [
            text.as_bytes().to_vec(),
            marked.clone().into_bytes(),
            utf16(&marked, u16::to_le_bytes),
            utf16(&marked, u16::to_be_bytes),
        ] {
            assert_eq!(lines(&bytes).unwrap(), wanted);
            assert_eq!(decoded(&bytes).as_deref(), Some(text));
        }
        assert_eq!(lines(b"").unwrap(), Vec::<String>::new());
        assert_eq!(lines(b"\xff\xfe").unwrap(), [""]);
    }

    #[test]
    fn a_line_in_another_encoding_is_refused() {
        let lone: Vec<u8> = [0xFEFF_u16, 0xD800, 0x0A]
            .into_iter()
            .flat_map(u16::to_le_bytes)
            .collect();
        for bytes in [b"PRINT '\xe9'\n".as_slice(), b"\xff\xfea\0\n", &lone] {
            let error = lines(bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert_eq!(decoded(bytes), None);
        }
    }
}
