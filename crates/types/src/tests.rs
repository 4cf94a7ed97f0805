//! Types as a whole: bytes on disk, conversions with their messages, order.

use std::cmp::Ordering;

use super::*;

fn of(id: TypeId) -> DataType {
    DataType::simple(id)
}

fn string(id: TypeId, units: u32) -> DataType {
    DataType::string(id, Some(units)).unwrap()
}

/// Text to value to bytes and back; the bytes in hex.
fn hex(data_type: DataType, text: &str) -> String {
    let value = parse_value(&data_type, text).unwrap();
    let bytes = encode(&data_type, &value).unwrap();
    let back = decode(&data_type, &bytes).unwrap();
    assert_eq!(
        encode(&data_type, &back).unwrap(),
        bytes,
        "{data_type} {text}"
    );
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn values_lie_on_disk_as_sql_server_lays_them() {
    let decimal = |p, s| DataType::decimal(TypeId::Decimal, p, s).unwrap();
    let scaled = |id, s| DataType::scaled(id, s).unwrap();
    for (data_type, text, expected) in [
        (of(TypeId::Bit), "1", "01"),
        (of(TypeId::TinyInt), "255", "ff"),
        (of(TypeId::SmallInt), "-2", "feff"),
        (of(TypeId::Int), "11077", "452b0000"),
        (of(TypeId::BigInt), "-1", "ffffffffffffffff"),
        (decimal(4, 2), "10.50", "011a040000"),
        (decimal(4, 2), "-10.5", "001a040000"),
        (decimal(10, 0), "1", "010100000000000000"),
        (of(TypeId::Money), "-0.0001", "ffffffffffffffff"),
        (of(TypeId::SmallMoney), "$1,234.5", "a85ebc00"),
        (of(TypeId::Real), "0.15", "9a99193e"),
        (of(TypeId::Float), "1", "000000000000f03f"),
        (
            of(TypeId::DateTime),
            "1900-01-02 00:00:01",
            "2c01000001000000",
        ),
        (of(TypeId::DateTime), "1899-12-31", "00000000ffffffff"),
        (of(TypeId::SmallDateTime), "1900-01-03 01:01", "3d000200"),
        (of(TypeId::Date), "0001-01-02", "010000"),
        (of(TypeId::Date), "9999-12-31", "dab937"),
        (scaled(TypeId::Time, 0), "00:00:02.5", "030000"),
        (scaled(TypeId::Time, 7), "00:00:00.0000001", "0100000000"),
        (
            scaled(TypeId::DateTime2, 3),
            "0001-01-03 00:00:00.256",
            "00010000020000",
        ),
        (
            scaled(TypeId::DateTimeOffset, 0),
            "0001-01-03 01:00:05 +01:00",
            "0500000200003c00",
        ),
        (string(TypeId::Char, 3), "a", "612020"),
        (string(TypeId::NChar, 2), "a", "61002000"),
        (string(TypeId::VarChar, 3), "\u{20AC}", "80"),
        (string(TypeId::NVarChar, 3), "\u{20AC}", "ac20"),
        (string(TypeId::Binary, 3), "0x01", "010000"),
        (string(TypeId::VarBinary, 3), "0x01", "01"),
        (
            of(TypeId::UniqueIdentifier),
            "6F9619FF-8B86-D011-B42D-00C04FC964FF",
            "ff19966f868b11d0b42d00c04fc964ff",
        ),
    ] {
        assert_eq!(hex(data_type, text), expected, "{data_type} {text}");
    }
}

#[test]
fn null_takes_zeros_in_fixed_columns_and_nothing_in_variable_ones() {
    assert_eq!(encode(&of(TypeId::Int), &Value::Null).unwrap(), [0; 4]);
    assert_eq!(
        encode(&string(TypeId::Char, 5), &Value::Null).unwrap(),
        [0; 5]
    );
    assert!(
        encode(&string(TypeId::NVarChar, 5), &Value::Null)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_value_outside_its_type_gets_sql_servers_message() {
    let fail = |data_type: DataType, value: Value| {
        let error = encode(&data_type, &value).unwrap_err();
        (error.number(), error.to_string())
    };
    let decimal = DataType::decimal(TypeId::Decimal, 4, 2).unwrap();
    for (data_type, value, number, text) in [
        (
            of(TypeId::TinyInt),
            Value::Int(300),
            220,
            "Arithmetic overflow error for data type tinyint, value = 300.",
        ),
        (
            of(TypeId::Int),
            Value::BigInt(1 << 31),
            8115,
            "Arithmetic overflow error converting expression to data type int.",
        ),
        (
            decimal,
            Value::Decimal(Decimal {
                unscaled: 1000,
                scale: 1,
            }),
            8115,
            "Arithmetic overflow error converting numeric to data type numeric.",
        ),
        (
            of(TypeId::DateTime),
            Value::VarChar("1752-12-31".into()),
            242,
            "The conversion of a varchar data type to a datetime data type resulted in an \
             out-of-range value.",
        ),
        (
            of(TypeId::Int),
            Value::VarChar("x".into()),
            245,
            "Conversion failed when converting the varchar value 'x' to data type int.",
        ),
        (of(TypeId::Date), Value::NVarChar("x".into()), 241, ""),
        (
            decimal,
            Value::NVarChar("x".into()),
            8114,
            "Error converting data type nvarchar to numeric.",
        ),
        (
            of(TypeId::UniqueIdentifier),
            Value::NVarChar("x".into()),
            8169,
            "",
        ),
        (
            of(TypeId::Date),
            Value::Int(1),
            206,
            "Operand type clash: int is incompatible with date",
        ),
    ] {
        let (got, message) = fail(data_type, value);
        assert_eq!(got, number);
        assert!(text.is_empty() || message == text, "{message}");
    }
    assert!(encode(&of(TypeId::Float), &Value::Float(f64::NAN)).is_err());
}

#[test]
fn text_and_floats_have_messages_of_their_own_when_they_do_not_fit() {
    for (data_type, value, number, text) in [
        (
            of(TypeId::Int),
            Value::VarChar("3000000000".into()),
            248,
            "The conversion of the varchar value '3000000000' overflowed an int column.",
        ),
        (
            of(TypeId::TinyInt),
            Value::NVarChar("300".into()),
            244,
            "The conversion of the nvarchar value '300' overflowed an INT1 column. Use a larger integer \
             column.",
        ),
        (
            of(TypeId::BigInt),
            Value::VarChar("x".into()),
            8114,
            "Error converting data type varchar to bigint.",
        ),
        (
            of(TypeId::Int),
            Value::Float(3e9),
            232,
            "Arithmetic overflow error for type int, value = 3000000000.000000.",
        ),
        (of(TypeId::DateTime), "2023-02-29".into(), 242, ""),
        (of(TypeId::SmallDateTime), "x".into(), 295, ""),
        (of(TypeId::SmallMoney), "x".into(), 293, ""),
    ] {
        let error = encode(&data_type, &value).unwrap_err();
        assert_eq!(error.number(), number);
        assert!(text.is_empty() || error.to_string() == text, "{error}");
    }
}

#[test]
fn text_too_long_is_refused_with_what_would_fit_unless_only_blanks_are_lost() {
    for id in [
        TypeId::Char,
        TypeId::VarChar,
        TypeId::NChar,
        TypeId::NVarChar,
    ] {
        let data_type = string(id, 3);
        let error = encode(&data_type, &"abcd".into()).unwrap_err();
        assert_eq!(error, TypeError::Truncated { kept: "abc".into() });
        assert_eq!(error.number(), 8152);
        assert!(encode(&data_type, &"abc  ".into()).is_ok());
    }
    let error = encode(&string(TypeId::VarBinary, 1), &Value::Binary(vec![1, 0])).unwrap_err();
    assert_eq!(
        error,
        TypeError::Truncated {
            kept: "0x01".into()
        }
    );
}

#[test]
fn assignment_rounds_decimals_and_money_and_cuts_decimals_to_integers() {
    let decimal = |unscaled, scale| Value::Decimal(Decimal { unscaled, scale });
    let two = DataType::decimal(TypeId::Numeric, 9, 2).unwrap();
    for (value, to, shown) in [
        (decimal(1005, 3), two, "1.01"),
        (decimal(-1005, 3), two, "-1.01"),
        (decimal(1004, 3), two, "1.00"),
        (decimal(19, 1), of(TypeId::Int), "1"),
        (Value::Money(19_000), of(TypeId::Int), "2"),
        (Value::Float(1.9), of(TypeId::Int), "1"),
        (Value::Float(1.235), two, "1.24"),
        (Value::Float(0.125), two, ".13"),
        (Value::Float(-0.125), two, "-.13"),
        (decimal(1, 1), of(TypeId::Bit), "1"),
        (Value::Int(5), of(TypeId::Money), "5.0000"),
        (Value::VarChar("-1.005".into()), two, "-1.01"),
        (Value::Int(7), string(TypeId::VarChar, 9), "7"),
    ] {
        assert_eq!(
            cast(&value, &to).unwrap().to_string(),
            shown,
            "{value} to {to}"
        );
    }
}

fn order(data_type: DataType, low: &str, high: &str) -> Ordering {
    let bytes = |text| encode(&data_type, &parse_value(&data_type, text).unwrap()).unwrap();
    let (low, high) = (bytes(low), bytes(high));
    let order = compare(&data_type, &low, &high);
    assert_eq!(order.reverse(), compare(&data_type, &high, &low));
    assert_eq!(compare(&data_type, &low, &low), Ordering::Equal);
    order
}

#[test]
fn values_compare_as_values_and_not_as_bytes() {
    let decimal = DataType::decimal(TypeId::Decimal, 20, 2).unwrap();
    for (data_type, low, high) in [
        (of(TypeId::SmallInt), "-1", "256"),
        (of(TypeId::Int), "-2147483648", "1"),
        (of(TypeId::BigInt), "255", "256"),
        (of(TypeId::Money), "-5", "0.0001"),
        (of(TypeId::Real), "-1.5", "0"),
        (of(TypeId::Float), "-2", "-1"),
        (decimal, "-300", "-2"),
        (decimal, "-1", "0"),
        (decimal, "2.55", "2.56"),
        (of(TypeId::DateTime), "1899-12-31 23:00", "1900-01-01"),
        (
            of(TypeId::SmallDateTime),
            "1999-01-01 23:00",
            "1999-01-02 01:00",
        ),
        (of(TypeId::Date), "1999-12-31", "2000-01-01"),
        (
            of(TypeId::DateTime2),
            "1999-12-31 23:59",
            "2000-01-01 00:00",
        ),
        (
            of(TypeId::DateTimeOffset),
            "2000-01-01 01:00 +02:00",
            "2000-01-01 00:00 +00:00",
        ),
        (string(TypeId::VarBinary, 8), "0x01FF", "0x02"),
        (string(TypeId::VarChar, 8), "apple", "Banana"),
    ] {
        assert_eq!(
            order(data_type, low, high),
            Ordering::Less,
            "{data_type}: {low} {high}"
        );
    }
    assert_eq!(
        order(string(TypeId::VarBinary, 4), "0x01", "0x0100"),
        Ordering::Equal
    );
    assert_eq!(
        order(string(TypeId::VarBinary, 4), "0x", "0x0001"),
        Ordering::Less
    );
    let offset = of(TypeId::DateTimeOffset);
    assert_eq!(
        order(offset, "2000-01-01 02:00 +02:00", "2000-01-01 00:00Z"),
        Ordering::Equal
    );
    let zero = |sign| compare(&decimal, &[sign, 0, 0, 0, 0], &[1, 0, 0, 0, 0]);
    assert_eq!((zero(0), zero(1)), (Ordering::Equal, Ordering::Equal));
    let minus_zero = (-0.0f64).to_le_bytes();
    assert_eq!(
        compare(&of(TypeId::Float), &minus_zero, &[0; 8]),
        Ordering::Equal
    );
}

/// Each of the sixteen bytes set alone, from the one that counts least to the one that counts most.
#[test]
fn guids_compare_by_their_last_group_first() {
    let ascending = [
        "01000000-0000-0000-0000-000000000000",
        "00010000-0000-0000-0000-000000000000",
        "00000100-0000-0000-0000-000000000000",
        "00000001-0000-0000-0000-000000000000",
        "00000000-0100-0000-0000-000000000000",
        "00000000-0001-0000-0000-000000000000",
        "00000000-0000-0100-0000-000000000000",
        "00000000-0000-0001-0000-000000000000",
        "00000000-0000-0000-0001-000000000000",
        "00000000-0000-0000-0100-000000000000",
        "00000000-0000-0000-0000-000000000001",
        "00000000-0000-0000-0000-000000000100",
        "00000000-0000-0000-0000-000000010000",
        "00000000-0000-0000-0000-000001000000",
        "00000000-0000-0000-0000-000100000000",
        "00000000-0000-0000-0000-010000000000",
    ];
    for pair in ascending.windows(2) {
        let order = order(of(TypeId::UniqueIdentifier), pair[0], pair[1]);
        assert_eq!(order, Ordering::Less, "{} {}", pair[0], pair[1]);
    }
}

#[test]
fn a_variant_of_fixed_length_that_is_cut_off_is_damaged() {
    let variant = of(TypeId::SqlVariant);
    let char3 = DataType::string(TypeId::Char, Some(3)).unwrap();
    let value = Value::Variant(Box::new((char3, "abc".into())));
    let whole = encode(&variant, &value).unwrap();
    assert_eq!(decode(&variant, &whole).unwrap().to_string(), "abc");
    let cut = whole.get(..whole.len() - 1).unwrap();
    assert!(decode(&variant, cut).is_err());
}

#[test]
fn variants_keep_their_type_and_sort_by_family() {
    let variant = of(TypeId::SqlVariant);
    let text = encode(&variant, &"abc".into()).unwrap();
    assert_eq!(text[..8], [0xE7, 1, 6, 0, 0x08, 0xD0, 0x00, 0x34]);
    let number = encode(&variant, &Value::Int(1)).unwrap();
    assert_eq!(number, [0x38, 1, 1, 0, 0, 0]);
    assert_eq!(decode(&variant, &text).unwrap().to_string(), "abc");
    assert_eq!(compare(&variant, &text, &number), Ordering::Less);
    let larger = encode(&variant, &Value::Int(256)).unwrap();
    assert_eq!(compare(&variant, &number, &larger), Ordering::Less);
}

/// Text of any kind is a value or an error for every type, and what is a value can be stored or gets a
/// message.
#[test]
fn hostile_text_never_panics_on_its_way_to_a_value() {
    let pieces = [
        "1",
        "0",
        "99999999999999999999",
        "-",
        "+",
        ".",
        "e",
        ":",
        "/",
        "T",
        "Z",
        " ",
        "AM",
        "0x",
        "$",
        ",",
        "9999-12-31",
        "23:59:59.9999999",
        "+14:00",
        "-14:01",
        "{",
        "\u{20AC}",
        "\u{1F600}",
        "NULL",
    ];
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    for round in 0..20_000 {
        let mut text = String::new();
        for _ in 0..round % 6 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            text.push_str(pieces[(state >> 20) as usize % pieces.len()]);
        }
        let data_type = of(TypeId::ALL[round % TypeId::ALL.len()]);
        if let Ok(value) = parse_value(&data_type, &text)
            && let Ok(bytes) = encode(&data_type, &value)
        {
            let back = decode(&data_type, &bytes);
            assert!(
                back.is_ok() || value.is_null(),
                "{data_type} {text:?} {bytes:x?}"
            );
        }
    }
}

/// Decoding, comparing and printing survive any bytes, and the order stays an order.
#[test]
fn hostile_bytes_never_panic_and_still_have_an_order() {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for &id in TypeId::ALL {
        let data_type = of(id);
        for _ in 0..2000 {
            let mut bytes = || {
                let length = (next() % 20) as usize;
                (0..length)
                    .map(|_| (next() >> (next() % 56)) as u8)
                    .collect::<Vec<_>>()
            };
            let (a, b, c) = (bytes(), bytes(), bytes());
            if let Ok(value) = decode(&data_type, &a) {
                let _ = value.to_string();
            }
            let (ab, bc) = (compare(&data_type, &a, &b), compare(&data_type, &b, &c));
            assert_eq!(
                ab.reverse(),
                compare(&data_type, &b, &a),
                "{id} {a:?} {b:?}"
            );
            if ab == bc
                && id
                    .implied_len()
                    .is_none_or(|n| [&a, &b, &c].iter().all(|x| x.len() >= n.into()))
            {
                assert_eq!(ab, compare(&data_type, &a, &c), "{id} {a:?} {b:?} {c:?}");
            }
        }
    }
}
