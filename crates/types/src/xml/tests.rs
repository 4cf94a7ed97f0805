//! Token streams written by hand from [MS-BINXML]: the sections on the header (signature, version, encoding),
//! on
//! names (NAMEDEF, QNAMEDEF), on elements and attributes, and the table of atomic values.

use super::super::{DataType, TypeId, Value, decode, encode, encode_utf16};
use super::*;

const HEADER: &[u8] = &[0xDF, 0xFF, 0x01, 0xB0, 0x04];

/// A text with its length before it.
fn text(text: &str) -> Vec<u8> {
    let units = text.encode_utf16().count();
    let mut out = match units {
        0..0x80 => vec![units as u8],
        _ => vec![(units & 0x7F) as u8 | 0x80, (units >> 7) as u8],
    };
    encode_utf16(text, &mut out);
    out
}

/// NAMEDEF.
fn name(of: &str) -> Vec<u8> {
    [vec![0xF0], text(of)].concat()
}

/// A value of type nvarchar.
fn said(what: &str) -> Vec<u8> {
    [vec![0x11], text(what)].concat()
}

fn read(parts: &[&[u8]]) -> Option<String> {
    decode_xml(&[HEADER, &parts.concat()].concat())
}

/// `<a>` around this, with no prefix and no namespace: names 1, qualified name 1.
fn within(content: &[u8]) -> Option<String> {
    let a = [name("a"), vec![0xEF, 0, 0, 1, 0xF8, 1]].concat();
    let whole = read(&[&a, content, &[0xF7]])?;
    let whole = whole.strip_prefix("<a>")?;
    whole.strip_suffix("</a>").map(str::to_owned)
}

#[test]
fn elements_attributes_and_text_are_written_as_they_come() {
    // <row id="7"><name>O'Neil &amp; "co"</name><none/><empty></empty></row>
    let stream = [
        name("row"),
        vec![0xEF, 0, 0, 1, 0xF8, 1],
        name("id"),
        vec![0xEF, 0, 0, 2, 0xF6, 2],
        said("7\n\"<\""),
        vec![0xF5],
        name("name"),
        vec![0xEF, 0, 0, 3, 0xF8, 3],
        said("O'Neil & \"co\"\r\n"),
        vec![0xF7, 0xF8, 1, 0xF7, 0xF8, 3],
        said(""),
        vec![0xF7, 0xF7],
    ];
    assert_eq!(
        read(&[&stream.concat()]).as_deref(),
        Some(concat!(
            "<row id=\"7&#x0A;&quot;&lt;&quot;\"><name>O'Neil &amp; \"co\"&#x0D;\n</name>",
            "<row/><name></name></row>"
        ))
    );
    assert_eq!(read(&[]).as_deref(), Some(""));
}

#[test]
fn fragments_comments_instructions_and_sections_are_written_and_a_declaration_is_not() {
    let stream = [
        // version="1.0" encoding="utf-16", no standalone.
        vec![0xFE],
        text("1.0"),
        vec![0xFD],
        text("utf-16"),
        vec![0],
        // A document type.
        vec![0xFC],
        text("a"),
        vec![0xFB],
        text("a.dtd"),
        said("one"),
        vec![0xF3],
        text(" two "),
        name("three"),
        vec![0xF4, 1],
        text("four=5"),
        vec![0xF2],
        text("<6>"),
        vec![0xF1],
        // An extension of three bytes.
        vec![0xEA, 3, 0xF7, 0xF7, 0xF7],
        vec![0xED],
        text("<seven/>"),
    ];
    assert_eq!(
        read(&[&stream.concat()]).as_deref(),
        Some("one<!-- two --><?three four=5?>&lt;6&gt;<seven/>")
    );
}

#[test]
fn namespaces_stand_where_they_were_declared_or_where_they_are_needed() {
    // 1 urn:x, 2 p, 3 a, 4 xmlns:p; qualified 1 p:a, 2 xmlns:p.
    let names = [
        name("urn:x"),
        name("p"),
        name("a"),
        name("xmlns:p"),
        vec![0xEF, 1, 2, 3, 0xEF, 0, 4, 0],
    ]
    .concat();
    let declared = [
        vec![0xF8, 1, 0xF6, 2],
        said("urn:x"),
        vec![0xF5, 0xF8, 1, 0xF7, 0xF7],
    ];
    assert_eq!(
        read(&[&names, &declared.concat()]).as_deref(),
        Some("<p:a xmlns:p=\"urn:x\"><p:a/></p:a>")
    );
    let needed = [0xF8, 1, 0xF8, 1, 0xF7, 0xF7, 0xF8, 1, 0xF7];
    assert_eq!(
        read(&[&names, &needed]).as_deref(),
        Some("<p:a xmlns:p=\"urn:x\"><p:a/></p:a><p:a xmlns:p=\"urn:x\"/>")
    );
    // The default namespace, left again by an element that has none.
    let default = [name("urn:d"), name("b"), vec![0xEF, 1, 0, 2, 0xEF, 0, 0, 2]].concat();
    assert_eq!(
        read(&[&default, &[0xF8, 1, 0xF8, 2, 0xF7, 0xF7]]).as_deref(),
        Some("<b xmlns=\"urn:d\"><b xmlns=\"\"/></b>")
    );
}

#[test]
fn a_document_within_a_document_has_names_of_its_own() {
    let inner = [HEADER, &name("b"), &[0xEF, 0, 0, 1, 0xF8, 1, 0xF7]].concat();
    let nested = [&[0xEC], &inner[..], &[0xEB, 0xF8, 1, 0xF7]].concat();
    assert_eq!(within(&nested).as_deref(), Some("<b/><a/>"));
    // Names that were discarded.
    assert_eq!(within(&[0xE9, 0xF8, 1, 0xF7]), None);
}

#[test]
fn typed_values_are_written_as_xml_schema_has_them() {
    let cases: &[(&[u8], &str)] = &[
        (&[0x01, 0xFE, 0xFF], "-2"),
        (&[0x02, 0x39, 0x30, 0, 0], "12345"),
        (&[0x06, 1], "1"),
        (
            &[0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            "-1",
        ),
        (&[0x88, 0x80], "-128"),
        (&[0x89, 0xFF, 0xFF], "65535"),
        (&[0x8A, 0xFF, 0xFF, 0xFF, 0xFF], "4294967295"),
        (&[0x86, 1], "true"),
        (&[0x04, 0, 0, 0, 0, 0, 0, 0xF8, 0x3F], "1.5E0"),
        (&[0x03, 0, 0, 0x80, 0xFF], "-INF"),
        (&[0x05, 0x40, 0xE2, 1, 0, 0, 0, 0, 0], "12.3456"),
        (&[0x14, 0x10, 0x27, 0, 0], "1.00"),
        // Precision 5, scale 2, not negative, 12345; then -0.50 in both forms.
        (&[0x0A, 7, 5, 2, 1, 0x39, 0x30, 0, 0], "123.45"),
        (&[0x0B, 7, 5, 2, 0, 50, 0, 0, 0], "-0.50"),
        (&[0x87, 7, 5, 2, 0, 50, 0, 0, 0], "-0.5"),
        (&[0x0F, 3, 1, 2, 0xFF], "AQL/"),
        (&[0x84, 3, 1, 2, 0xFF], "0102FF"),
        (&[0x10, 7, 0xE4, 4, 0, 0, b'a', 0x80, b'c'], "a\u{20AC}c"),
        // 1900-01-02 00:00:01 and 00:01.
        (&[0x12, 1, 0, 0, 0, 0x2C, 1, 0, 0], "1900-01-02T00:00:01"),
        (&[0x13, 1, 0, 1, 0], "1900-01-02T00:01:00"),
        (&[0x7F, 0, 0, 0], "0001-01-01"),
        (&[0x7E, 3, 0xDC, 5, 0, 0, 1, 0, 0], "0001-01-02T00:00:01.5"),
        (&[0x7D, 0, 1, 0, 0, 0, 0, 0], "00:00:01"),
        (
            &[0x7B, 0, 1, 0, 0, 1, 0, 0, 60, 0],
            "0001-01-02T01:00:01+01:00",
        ),
        (&[0x7C, 0, 0, 0, 0, 1, 0, 0, 0, 0], "0001-01-02Z"),
        (&[0x7A, 0, 1, 0, 0, 1, 0, 0, 0, 0], "00:00:01Z"),
    ];
    for (bytes, shown) in cases {
        assert_eq!(within(bytes).as_deref(), Some(*shown), "{bytes:02X?}");
    }
    // The moments of SQL Server 2005: mixed radix, two bits below. 2024-02-29 13:14:15.
    let date = ((2024_u64 + 9999) * 12 + 1) * 31 + 28;
    let clock = ((13 * 60 + 14) * 60 + 15) * 1000;
    let eight =
        |token: u8, number: u64| [vec![token], (number * 4 + 1).to_le_bytes().to_vec()].concat();
    assert_eq!(within(&eight(0x81, clock)).as_deref(), Some("13:14:15Z"));
    let moment = date * 24 * 3600 * 1000 + clock;
    assert_eq!(
        within(&eight(0x82, moment)).as_deref(),
        Some("2024-02-29T13:14:15Z")
    );
    let utc = date * 29 * 60 + 14 * 60;
    assert_eq!(within(&eight(0x83, utc)).as_deref(), Some("2024-02-29Z"));
    assert_eq!(
        within(&eight(0x83, utc - 90)).as_deref(),
        Some("2024-02-29+01:30")
    );
}

#[test]
fn what_is_written_is_binary_xml_and_is_read_again() {
    let xml = DataType::simple(TypeId::Xml);
    for text in ["", "<a/>", &format!("<a>{}</a>", "\u{1F600}x".repeat(9000))] {
        let value = Value::NVarChar(text.to_owned());
        let bytes = encode(&xml, &value).unwrap();
        assert!(is_binary_xml(&bytes));
        assert_eq!(decode(&xml, &bytes), Ok(value));
    }
}

#[test]
fn damaged_bytes_are_no_value_and_never_a_panic() {
    let stream = [
        HEADER.to_vec(),
        name("row"),
        vec![0xEF, 0, 0, 1, 0xF8, 1, 0xF6, 1],
        said("7"),
        vec![
            0xF5, 0x0A, 7, 5, 2, 1, 0x39, 0x30, 0, 0, 0x7E, 3, 0xDC, 5, 0, 0, 1, 0, 0,
        ],
        vec![0xEC],
        HEADER.to_vec(),
        said("x"),
        vec![0xEB, 0xF7],
    ]
    .concat();
    assert_eq!(
        decode_xml(&stream).as_deref(),
        Some("<row row=\"7\">123.450001-01-02T00:00:01.5x</row>")
    );
    // Cut off anywhere but after the header it is none.
    for length in 0..stream.len() {
        let cut = decode_xml(&stream[..length]);
        let is_whole = (5..=19).contains(&length) && cut.as_deref() == Some("");
        assert!(cut.is_none() || is_whole, "{length}: {cut:?}");
    }
    // Whatever one byte becomes, there is an answer.
    for at in 0..stream.len() {
        for byte in 0..=255 {
            let mut damaged = stream.clone();
            damaged[at] = byte;
            let _ = decode_xml(&damaged);
        }
    }
    let xml = DataType::simple(TypeId::Xml);
    assert!(decode(&xml, b"<a/>").is_err());
    // An element that nothing opened, one that a declaration would be, a number too long.
    assert_eq!(read(&[&[0xF7]]), None);
    assert_eq!(
        read(&[&name("xmlns"), &[0xEF, 0, 1, 0, 0xF8, 1, 0xF7]]),
        None
    );
    assert_eq!(read(&[&[0x11, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]]), None);
}

#[test]
fn a_small_value_that_stands_for_a_huge_text_is_refused() {
    let begin = [name(&"n".repeat(4000)), vec![0xEF, 0, 0, 1]].concat();
    let elements = |count: usize| [0xF8, 1, 0xF7].repeat(count);
    let large = read(&[&begin, &elements(10_000)]).map(|text| text.len());
    assert_eq!(large, Some(10_000 * 4003));
    assert_eq!(read(&[&begin, &elements(100_000)]), None);
    // Attributes keep what their prefixes mean until the tag ends.
    let prefixed = [
        begin,
        name("p"),
        vec![0xEF, 1, 2, 1, 0xF8, 1],
        [0xF6, 2].repeat(100_000),
    ];
    assert_eq!(read(&[&prefixed.concat(), &[0xF5, 0xF7]]), None);
}
