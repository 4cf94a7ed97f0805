//! Orders within blocks: Williams squares, and random orders that are watched.

use furrow_stats::Stream;

/// The order of `arms` arms in each of `blocks` blocks.
pub fn block_orders(arms: usize, blocks: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut stream = Stream::named(seed, "order");
    let mut orders = Vec::with_capacity(blocks);
    let full = if arms >= 2 { blocks / arms * arms } else { 0 };
    while orders.len() < full {
        let room = (full - orders.len()) / arms;
        orders.extend(williams_rows(arms, room >= 2, &mut stream));
    }
    let rest = blocks - orders.len();
    orders.extend(watched_rows(arms, rest, &mut stream));
    orders
}

/// A Williams square with shuffled labels and rows. An odd number of arms balances which arm follows which
/// only over a square and its mirror image; both are returned when there are blocks for both.
fn williams_rows(arms: usize, pair: bool, stream: &mut Stream) -> Vec<Vec<usize>> {
    let mut labels: Vec<usize> = (0..arms).collect();
    stream.shuffle(&mut labels);
    // 0, 1, n-1, 2, n-2, ..: the steps between neighbours are all different.
    let zigzag: Vec<usize> = (0..arms)
        .map(|i| {
            if i % 2 == 1 {
                i.div_ceil(2)
            } else {
                (arms - i / 2) % arms
            }
        })
        .collect();
    let row = |shift: usize| -> Vec<usize> {
        zigzag
            .iter()
            .map(|&step| labels[(step + shift) % arms])
            .collect()
    };
    let mut rows: Vec<Vec<usize>> = (0..arms).map(row).collect();
    stream.shuffle(&mut rows);
    if arms % 2 == 1 && pair {
        let mut mirrored: Vec<Vec<usize>> = rows
            .iter()
            .map(|row| row.iter().rev().copied().collect())
            .collect();
        stream.shuffle(&mut mirrored);
        rows.extend(mirrored);
    }
    rows
}

/// Random orders in which no arm holds a place in more than half of the blocks.
fn watched_rows(arms: usize, blocks: usize, stream: &mut Stream) -> Vec<Vec<usize>> {
    let allowed = blocks.div_ceil(arms.max(1)).max(blocks / 2);
    let mut best: Option<(usize, Vec<Vec<usize>>)> = None;
    for _ in 0..1_000 {
        let rows: Vec<Vec<usize>> = (0..blocks)
            .map(|_| {
                let mut row: Vec<usize> = (0..arms).collect();
                stream.shuffle(&mut row);
                row
            })
            .collect();
        let most = most_at_one_place(&rows);
        let good = most <= allowed;
        if best.as_ref().is_none_or(|(least, _)| most < *least) {
            best = Some((most, rows));
        }
        if good {
            break;
        }
    }
    best.map(|(_, rows)| rows).unwrap_or_default()
}

/// How often the same arm is at the same place, at most.
pub fn most_at_one_place(rows: &[Vec<usize>]) -> usize {
    let arms = rows.first().map_or(0, Vec::len);
    (0..arms)
        .flat_map(|place| {
            (0..arms).map(move |arm| rows.iter().filter(|row| row[place] == arm).count())
        })
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn followers(rows: &[Vec<usize>]) -> BTreeMap<(usize, usize), usize> {
        let mut counts = BTreeMap::new();
        for row in rows {
            for pair in row.windows(2) {
                *counts.entry((pair[0], pair[1])).or_insert(0) += 1;
            }
        }
        counts
    }

    #[test]
    fn every_block_holds_every_arm_once() {
        for arms in 1..=9 {
            for blocks in 1..=20 {
                let rows = block_orders(arms, blocks, 5);
                assert_eq!(rows.len(), blocks);
                for mut row in rows {
                    row.sort_unstable();
                    assert_eq!(
                        row,
                        (0..arms).collect::<Vec<_>>(),
                        "{arms} arms, {blocks} blocks"
                    );
                }
            }
        }
    }

    #[test]
    fn six_arms_in_six_blocks_are_a_williams_square() {
        for seed in 0..20 {
            let rows = block_orders(6, 6, seed);
            assert_eq!(most_at_one_place(&rows), 1);
            let counts = followers(&rows);
            assert_eq!(counts.len(), 30);
            assert!(counts.values().all(|&count| count == 1));
        }
    }

    #[test]
    fn an_odd_number_of_arms_is_balanced_over_two_squares() {
        let rows = block_orders(5, 10, 3);
        assert_eq!(most_at_one_place(&rows), 2);
        let counts = followers(&rows);
        assert_eq!(counts.len(), 20);
        assert!(counts.values().all(|&count| count == 2), "{counts:?}");
        // One square alone balances places only.
        assert_eq!(most_at_one_place(&block_orders(5, 5, 3)), 1);
    }

    #[test]
    fn few_blocks_are_watched() {
        for seed in 0..200 {
            let rows = block_orders(6, 3, seed);
            assert!(most_at_one_place(&rows) <= 1, "seed {seed}: {rows:?}");
            assert!(
                most_at_one_place(&block_orders(6, 5, seed)) <= 2,
                "seed {seed}"
            );
            // Blocks beyond the last full square.
            assert!(
                most_at_one_place(&block_orders(6, 9, seed)[6..]) <= 1,
                "seed {seed}"
            );
        }
    }

    #[test]
    fn the_seed_decides_and_nothing_else() {
        assert_eq!(block_orders(6, 9, 8), block_orders(6, 9, 8));
        assert_ne!(block_orders(6, 9, 8), block_orders(6, 9, 9));
        let firsts: std::collections::BTreeSet<usize> =
            (0..60).map(|seed| block_orders(6, 6, seed)[0][0]).collect();
        assert_eq!(firsts.len(), 6, "some arm never comes first");
    }
}
