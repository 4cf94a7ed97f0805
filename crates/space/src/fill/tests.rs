use super::turns::RECALCULATE_AFTER;
use super::*;

fn drain(free: &[u64]) -> (Vec<u64>, Vec<usize>) {
    let mut left = free.to_vec();
    let mut turns = Turns::new(free, 1);
    let mut order = Vec::new();
    while let Some(at) = turns.next(|at| left[at] > 0) {
        left[at] -= 1;
        order.push(at);
    }
    let share = free
        .iter()
        .zip(&left)
        .map(|(had, left)| had - left)
        .collect();
    (share, order)
}

#[test]
fn skip_targets_are_the_published_ones() {
    for (free, targets) in [
        (&[79][..], &[1][..]),
        (&[44, 79], &[1, 1]),
        (&[44, 3995, 79], &[90, 1, 50]),
        (&[44, 3996, 79], &[90, 1, 50]),
        (&[100, 100, 100], &[1, 1, 1]),
        (&[50, 100], &[2, 1]),
        (&[60, 100], &[1, 1]),
        (&[33, 100], &[3, 1]),
        (&[0, 0, 74], &[74, 74, 1]),
        (&[0, 0], &[1, 1]),
    ] {
        assert_eq!(Turns::new(free, 1).targets(), targets, "{free:?}");
    }
}

#[test]
fn a_drain_gives_each_file_what_it_has_and_ends_for_all_in_the_same_round() {
    for free in [
        &[79][..],
        &[44, 79],
        &[44, 3995, 79],
        &[100, 100, 100],
        &[50, 100],
        &[33, 100],
    ] {
        assert_eq!(drain(free).0, free, "{free:?}");
    }
    // In proportion all the way: the small files are not full before the large one is nearly so.
    let (_, order) = drain(&[44, 3995, 79]);
    let last = |file| order.iter().rposition(|&at| at == file).unwrap();
    assert_eq!(last(0), 44 * 90 + 43 + (44 * 90 - 1) / 50 - 1);
    assert!(last(2) > 3900 && last(0) > 3900, "{} {}", last(0), last(2));
    // Targets 3 and 1: after 99 rounds 33 and 99, then the one that is left.
    let (_, order) = drain(&[33, 100]);
    let head = &order[..132];
    assert_eq!(head.iter().filter(|&&at| at == 0).count(), 33);
    assert_eq!(order[132..], [1]);
    assert_eq!(drain(&[0, 0, 74]).1, vec![2; 74]);
    assert_eq!(drain(&[0, 0]).1, Vec::<usize>::new());
}

#[test]
fn a_file_with_target_n_takes_every_nth_offer() {
    let (_, order) = drain(&[50, 100]);
    assert_eq!(order[..6], [1, 0, 1, 1, 0, 1]);
    let (_, order) = drain(&[60, 100]);
    assert_eq!(order[..4], [0, 1, 0, 1]);
    assert_eq!(order[120..], vec![1; 40]);
}

#[test]
fn files_of_equal_size_never_differ_by_more_than_an_extent_or_a_run() {
    for (files, run) in [(2, 1), (5, 1), (8, 1), (2, 64), (3, 64)] {
        let free = vec![10_000_u64; files];
        let mut turns = Turns::new(&free, run);
        let mut share = vec![0_u64; files];
        for _ in 0..5_000 {
            share[turns.next(|_| true).unwrap()] += 1;
            let most = share.iter().max().unwrap();
            let spread = most - share.iter().min().unwrap();
            assert!(spread <= u64::from(run), "{share:?}");
        }
    }
}

#[test]
fn under_e_a_file_takes_64_extents_before_the_turn_passes() {
    let free = [1000, 1000, 500];
    let mut turns = Turns::new(&free, 64);
    let order: Vec<usize> = (0..64 * 5).map(|_| turns.next(|_| true).unwrap()).collect();
    let runs: Vec<usize> = order.chunks(64).map(|run| run[0]).collect();
    assert!(
        order
            .chunks(64)
            .all(|run| run.iter().all(|&at| at == run[0]))
    );
    assert_eq!(runs, [0, 1, 0, 1, 2]);
}

#[test]
fn a_run_ends_early_when_its_file_is_full() {
    let mut left = [10_u64, 100];
    let mut turns = Turns::new(&[100, 100], 64);
    let mut order = Vec::new();
    for _ in 0..80 {
        let at = turns.next(|at| left[at] > 0).unwrap();
        left[at] -= 1;
        order.push(at);
    }
    assert_eq!(order[..10], [0; 10]);
    assert!(order[10..].iter().all(|&at| at == 1));
}

#[test]
fn targets_in_the_millions_do_not_cost_millions_of_rounds() {
    let mut turns = Turns::new(&[0, 60_000_000], 1);
    assert_eq!(turns.targets(), [60_000_000, 1]);
    // The full file grows, the other one is full now: at once, not after 60 million offers.
    for _ in 0..10_000 {
        assert_eq!(turns.next(|at| at == 0), Some(0));
    }
}

#[test]
fn what_is_foreseen_is_what_the_engine_will_do() {
    assert_eq!(foresee(&[44, 3995, 79], 100), [1, 98, 1]);
    assert_eq!(foresee(&[100, 100], 7), [4, 3]);
    assert_eq!(foresee(&[3, 1], 10), [3, 1]);
    // One in six of the first 8,192; then 13,173 and 2,635 are left, whose ratio is no longer 5 but 4: one in
    // five.
    assert_eq!(
        foresee(&[20_000, 4_000], 12_000),
        [12_000 - 1365 - 761, 1365 + 761]
    );
    assert_eq!(filling_order(vec![1, 3, 4]), [1, 4, 3]);
    assert_eq!(filling_order(vec![7]), [7]);
}

/// The published load: 70,000 rows of a page each into files of 44, 79 and 3,995 free extents that grow by
/// 80.
#[test]
fn after_70_000_rows_one_file_has_free_extents_and_the_full_ones_share_a_target() {
    for third in [3995, 3996] {
        let mut left = [44_u64, third, 79];
        let mut turns = Turns::new(&left, 1);
        let (mut grows_next, mut recalculated_at) = (0, None);
        for allocation in 1..=70_000 / 8 {
            if left.iter().all(|&free| free == 0) {
                left[grows_next] += 80;
                grows_next = (grows_next + 1) % 3;
            }
            let at = turns.next(|at| left[at] > 0).unwrap();
            left[at] -= 1;
            if allocation == RECALCULATE_AFTER {
                turns.recalculate(&left);
                recalculated_at = Some(allocation);
                let with_free = left.iter().filter(|&&free| free > 0).count();
                assert_eq!(with_free, 1, "{left:?}");
                let mut targets = turns.targets().to_vec();
                targets.sort_unstable();
                assert_eq!((targets[0], targets[1]), (1, targets[2]));
                assert!(targets[1] > 1);
            }
        }
        assert!((8192..=8300).contains(&recalculated_at.unwrap()));
    }
}
