//! The random functions of the load: non-uniform numbers, names, texts, and the deck that deals transactions.
//!
//! # Invariants
//! 1. `nurand(a, x, y)` lies from `x` to `y`. Its constant is one number for each field, the same in every
//!    session of a run.
//! 2. The constants of the last name at load and at run differ by 65 to 119, and by neither 96 nor 112.
//! 3. Each 23 transactions of a session are the 23 cards of a deck in random order.
//!
//! Proofs: the tests below.

use furrow_io::random::{Rng, SeededRng, SliceRandom, seeded};

/// Syllables of a last name, by decimal digit.
const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// The end of every postal code.
const ZIP_END: &str = "11111";
/// What one text in ten contains.
pub(crate) const ORIGINAL: &str = "ORIGINAL";

/// The constants C of the non-uniform numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Constants {
    /// Of the last name while the database is loaded.
    pub(crate) last_load: u32,
    /// Of the last name while the load runs.
    pub(crate) last_run: u32,
    /// Of a customer's number.
    pub(crate) customer: u32,
    /// Of an item's number.
    pub(crate) item: u32,
}

impl Constants {
    /// Draws them; the same seed gives the same ones.
    pub(crate) fn of_seed(seed: u64) -> Constants {
        let mut rng = seeded(seed ^ 0xC0_C0_C0);
        let last_load = rng.random_range(0..=255);
        let distance = loop {
            let distance = rng.random_range(65..=119);
            if may_differ_by(distance) {
                break distance;
            }
        };
        let above: u32 = last_load + distance;
        Constants {
            last_load,
            last_run: if above <= 255 {
                above
            } else {
                last_load - distance
            },
            customer: rng.random_range(0..=1023),
            item: rng.random_range(0..=8191),
        }
    }
}

fn may_differ_by(distance: u32) -> bool {
    (65..=119).contains(&distance) && distance != 96 && distance != 112
}

/// A source of random values.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    rng: SeededRng,
}

impl Random {
    /// The stream of one part of the work: streams of one seed are independent of each other.
    pub(crate) fn stream(seed: u64, part: u64) -> Random {
        let mixed = seed.rotate_left(17) ^ part.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Random { rng: seeded(mixed) }
    }

    /// A whole number from `low` to `high`.
    pub(crate) fn uniform(&mut self, low: u32, high: u32) -> u32 {
        debug_assert!(low <= high, "an empty range");
        self.rng.random_range(low..=high)
    }

    /// True in `percent` of a hundred calls.
    pub(crate) fn percent(&mut self, percent: u32) -> bool {
        self.uniform(1, 100) <= percent
    }

    /// A non-uniform number from `x` to `y` with constant `c`.
    pub(crate) fn nurand(&mut self, a: u32, c: u32, (x, y): (u32, u32)) -> u32 {
        let mixed = u64::from(self.uniform(0, a) | self.uniform(x, y)) + u64::from(c);
        let drawn = mixed % u64::from(y - x + 1) + u64::from(x);
        debug_assert!((u64::from(x)..=u64::from(y)).contains(&drawn));
        drawn as u32
    }

    /// Letters and digits, from `low` to `high` of them.
    pub(crate) fn text(&mut self, low: u32, high: u32) -> String {
        let length = self.uniform(low, high);
        let letter = |rng: &mut SeededRng| LETTERS[rng.random_range(0..LETTERS.len())];
        (0..length)
            .map(|_| char::from(letter(&mut self.rng)))
            .collect()
    }

    /// Digits, so many of them.
    pub(crate) fn digits(&mut self, length: u32) -> String {
        (0..length)
            .map(|_| char::from(b'0' + self.rng.random_range(0..10_u8)))
            .collect()
    }

    /// A text that contains [`ORIGINAL`] at a random place in one of ten cases.
    pub(crate) fn data(&mut self, low: u32, high: u32) -> String {
        let mut text = self.text(low, high);
        if self.percent(10) {
            let length = ORIGINAL.len();
            let at = self.uniform(0, (text.len() - length) as u32) as usize;
            text.replace_range(at..at + length, ORIGINAL);
        }
        text
    }

    /// A postal code.
    pub(crate) fn zip(&mut self) -> String {
        self.digits(4) + ZIP_END
    }

    /// A number of hundredths or ten-thousandths as a decimal text: `1.05`.
    pub(crate) fn decimal(&mut self, (low, high): (u32, u32), scale: u32) -> String {
        decimal(i64::from(self.uniform(low, high)), scale)
    }

    /// A random order.
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        values.shuffle(&mut self.rng);
    }

    /// Seconds of thinking about a mean: exponential, cut at ten times the mean.
    pub(crate) fn think_s(&mut self, mean_s: f64) -> f64 {
        let drawn: f64 = self.rng.random();
        (-(1.0 - drawn).ln() * mean_s).min(10.0 * mean_s)
    }
}

/// A number of units of 10^-scale as text.
pub(crate) fn decimal(units: i64, scale: u32) -> String {
    let one = 10_u64.pow(scale);
    let sign = if units < 0 { "-" } else { "" };
    let (whole, part) = (units.unsigned_abs() / one, units.unsigned_abs() % one);
    format!("{sign}{whole}.{part:0width$}", width = scale as usize)
}

/// The last name of a number from 0 to 999.
pub(crate) fn last_name(number: u32) -> String {
    let syllable = |digit: u32| SYLLABLES[(digit % 10) as usize];
    [number / 100, number / 10, number].map(syllable).concat()
}

/// One of the five transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    pub(crate) const ALL: [Kind; 5] = [
        Kind::NewOrder,
        Kind::Payment,
        Kind::OrderStatus,
        Kind::Delivery,
        Kind::StockLevel,
    ];

    /// Cards of a deck.
    pub(crate) fn cards(self) -> usize {
        match self {
            Kind::NewOrder | Kind::Payment => 10,
            _ => 1,
        }
    }

    /// As it is printed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::NewOrder => "new order",
            Kind::Payment => "payment",
            Kind::OrderStatus => "order status",
            Kind::Delivery => "delivery",
            Kind::StockLevel => "stock level",
        }
    }

    /// Seconds of keying, and the mean of the thinking after it.
    pub(crate) fn pace_s(self) -> (f64, f64) {
        match self {
            Kind::NewOrder => (18.0, 12.0),
            Kind::Payment => (3.0, 12.0),
            Kind::OrderStatus => (2.0, 10.0),
            Kind::Delivery | Kind::StockLevel => (2.0, 5.0),
        }
    }
}

/// Seconds from one new order to the next of a user who keys in and thinks, on average: each card between
/// two of them takes its own time.
pub(crate) fn seconds_a_new_order() -> f64 {
    let seconds = Kind::ALL.map(|kind| {
        let (keying, thinking) = kind.pace_s();
        kind.cards() as f64 * (keying + thinking)
    });
    seconds.iter().sum::<f64>() / Kind::NewOrder.cards() as f64
}

/// Cards of a deck.
pub(crate) const DECK: usize = 23;

/// Deals transactions.
#[derive(Debug, Default)]
pub(crate) struct Deck {
    left: Vec<Kind>,
}

impl Deck {
    /// The next card; a new deck is shuffled when the last one is dealt.
    pub(crate) fn deal(&mut self, random: &mut Random) -> Kind {
        if self.left.is_empty() {
            let cards = Kind::ALL.map(|kind| vec![kind; kind.cards()]);
            self.left = cards.concat();
            debug_assert_eq!(self.left.len(), DECK);
            random.shuffle(&mut self.left);
        }
        self.left.pop().unwrap_or(Kind::NewOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::random::test_seed;

    #[test]
    fn constants_of_load_and_run_keep_their_distance() {
        let mut distances = std::collections::BTreeSet::new();
        for seed in 0..2000 {
            let drawn = Constants::of_seed(seed);
            let distance = drawn.last_load.abs_diff(drawn.last_run);
            assert!(may_differ_by(distance), "{drawn:?}");
            assert!(drawn.last_load <= 255 && drawn.last_run <= 255);
            distances.insert(distance);
        }
        assert_eq!(distances.len(), 119 - 65 + 1 - 2, "every distance occurs");
    }

    #[test]
    fn non_uniform_numbers_stay_in_range_and_prefer_the_same_ones_as_the_definition() {
        let seed = test_seed();
        println!("FURROW_SEED={seed}");
        let mut random = Random::stream(seed, 1);
        let (a, c, range) = (255, 173, (0, 999));
        let draws = 400_000;
        let mut counted = vec![0_f64; 1000];
        for _ in 0..draws {
            counted[random.nurand(a, c, range) as usize] += 1.0;
        }
        // The exact distribution, by the definition over all pairs of equally likely numbers.
        let mut exact = vec![0_f64; 1000];
        for left in 0..=a {
            for right in range.0..=range.1 {
                exact[((left | right) + c) as usize % 1000] += 1.0 / (256.0 * 1000.0);
            }
        }
        for (value, share) in exact.iter().enumerate() {
            let expected = share * f64::from(draws);
            let reach = 6.0 * expected.sqrt() + 3.0;
            let found = counted[value];
            assert!(
                (found - expected).abs() < reach,
                "{value}: {found} against {expected}"
            );
        }
        let most = exact.iter().copied().fold(0.0, f64::max);
        assert!(most > 8.0 / 1000.0, "it is far from uniform: {most}");
    }

    #[test]
    fn names_texts_and_numbers_have_their_forms() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(
            (last_name(0), last_name(999)),
            ("BARBARBAR".to_owned(), "EINGEINGEING".to_owned())
        );
        assert_eq!(
            [decimal(-1000, 2), decimal(5, 4), decimal(123_456, 2)],
            ["-10.00", "0.0005", "1234.56"]
        );
        let mut random = Random::stream(test_seed(), 2);
        let mut originals = 0;
        for _ in 0..10_000 {
            let data = random.data(26, 50);
            assert!((26..=50).contains(&data.len()));
            originals += u32::from(data.contains(ORIGINAL));
        }
        assert!((800..1200).contains(&originals), "{originals} of 10000");
        let zip = random.zip();
        assert!(zip.len() == 9 && zip.ends_with(ZIP_END));
    }

    #[test]
    fn a_deck_has_its_cards_whatever_their_order() {
        let mut random = Random::stream(test_seed(), 3);
        let mut deck = Deck::default();
        let mut orders = std::collections::HashSet::new();
        for _ in 0..50 {
            let dealt: Vec<Kind> = (0..DECK).map(|_| deck.deal(&mut random)).collect();
            for kind in Kind::ALL {
                let cards = dealt.iter().filter(|&&card| card == kind).count();
                assert_eq!(cards, kind.cards());
            }
            orders.insert(dealt);
        }
        assert!(orders.len() > 40, "decks are shuffled");
    }

    #[test]
    fn thinking_has_its_mean_and_its_limit() {
        let mut random = Random::stream(test_seed(), 4);
        let drawn: Vec<f64> = (0..100_000).map(|_| random.think_s(12.0)).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        assert!((mean - 12.0).abs() < 0.3, "{mean}");
        assert!(drawn.iter().all(|s| (0.0..=120.0).contains(s)));
    }
}
