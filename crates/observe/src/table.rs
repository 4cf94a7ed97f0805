//! One table, many uses: an enum, its names, its look-up, its order and its reference page.
//!
//! Wait types, latch classes, spinlock classes and counters are all lists of named things. Each list is
//! written once, as rows of `Variant "NAME" (extra columns) "what it means";`, and [`class_table!`]
//! makes the rest of it, so that code, views and documentation cannot drift apart.

/// Makes an enum with names, extra columns and descriptions from rows.
macro_rules! class_table {
    (
        $(#[$meta:meta])*
        pub enum $Enum:ident: $Extra:ty {
            $( $Variant:ident $name:literal $extra:expr, $text:literal; )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[repr(u16)]
        pub enum $Enum {
            $( #[doc = $text] #[serde(rename = $name)] $Variant, )+
        }

        impl $Enum {
            /// Every row, in the order of the table.
            pub const ALL: &'static [$Enum] = &[ $( $Enum::$Variant, )+ ];
            /// How many rows there are.
            pub const COUNT: usize = $Enum::ALL.len();
            const NAMES: [&'static str; $Enum::COUNT] = [ $( $name, )+ ];
            const TEXTS: [&'static str; $Enum::COUNT] = [ $( $text, )+ ];
            const EXTRA: [$Extra; $Enum::COUNT] = [ $( $extra, )+ ];

            /// The published name.
            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }

            /// What it means, in one sentence.
            pub fn text(self) -> &'static str {
                Self::TEXTS[self as usize]
            }

            /// The row of that name, whatever the case of its letters.
            pub fn from_name(name: &str) -> Option<$Enum> {
                Self::ALL.iter().copied().find(|row| row.name().eq_ignore_ascii_case(name))
            }

            fn extra(self) -> $Extra {
                Self::EXTRA[self as usize]
            }
        }

        impl std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(crate) use class_table;

/// A Markdown table: a heading, one line for each row; bars inside cells are escaped.
pub(crate) fn markdown(
    title: &str,
    head: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let mut out = format!("# {title}\n\n| {} |\n|", head.join(" | "));
    out.push_str(&"---|".repeat(head.len()));
    out.push('\n');
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        out.push_str("| ");
        out.push_str(&cells.join(" | "));
        out.push_str(" |\n");
    }
    out
}
