//! From what was seen and printed while a load ran to its fill history.

use super::record::{FillHistory, FilledFile, Recalculation, SkipTarget};
use furrow_space::fill::{filling_order, skip_target};

/// Looks that are kept of a run.
const MOST_LOOKS: usize = 120;

/// Free extents by file id at one moment.
pub(super) type Free = Vec<(u32, u64)>;

/// The skip targets that the engine printed under trace flag 1165, one list for each recalculation.
pub(super) fn printed<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Vec<SkipTarget>> {
    let mut printed: Vec<Vec<SkipTarget>> = Vec::new();
    for line in lines {
        if line.contains("Recalculation Completed") {
            printed.push(Vec::new());
        } else if let (Some(targets), Some(target)) = (printed.last_mut(), target_of(line)) {
            targets.push(target);
        }
    }
    printed
}

/// `File [name] (id) has N free extents and skip target of M.`; the name may hold anything.
fn target_of(line: &str) -> Option<SkipTarget> {
    let (head, skip_target) = line
        .trim()
        .rsplit_once(" free extents and skip target of ")?;
    let (head, free_extents) = head.rsplit_once(" has ")?;
    let (_, file_id) = head.strip_suffix(')')?.rsplit_once('(')?;
    Some(SkipTarget {
        file_id: file_id.parse().ok()?,
        free_extents: free_extents.parse().ok()?,
        skip_target: skip_target.trim_end_matches('.').parse().ok()?,
    })
}

/// The history of a run: what was free at each look, and what was printed meanwhile.
pub(super) fn history(looks: &[&Free], printed: &[Vec<SkipTarget>]) -> FillHistory {
    let Some(first) = looks.first() else {
        return FillHistory::default();
    };
    let order = filling_order((*first).clone());
    let step = looks.len().div_ceil(MOST_LOOKS).max(1);
    let last = looks.len() - 1;
    let kept: Vec<&Free> = looks
        .iter()
        .enumerate()
        .filter(|(at, _)| at % step == 0 || *at == last)
        .map(|(_, look)| *look)
        .collect();
    let free_in = |look: &Free, id: u32| look.iter().find(|file| file.0 == id).map_or(0, |f| f.1);
    let all = |look: &Free| -> u64 { order.iter().map(|file| free_in(look, file.0)).sum() };
    let start = all(first);
    let files = order.iter().map(|&(file_id, free_extents)| FilledFile {
        file_id,
        free_extents,
        taken: kept
            .iter()
            .map(|look| free_extents.saturating_sub(free_in(look, file_id)))
            .collect(),
    });
    let most = order.iter().map(|file| file.1).max().unwrap_or(0);
    let at_start = order.iter().map(|&(file_id, free_extents)| SkipTarget {
        file_id,
        free_extents,
        skip_target: skip_target(most, free_extents),
    });
    let mut recalculations = vec![Recalculation {
        at_extents: 0,
        files: at_start.collect(),
    }];
    recalculations.extend(printed.iter().map(|targets| {
        let left: u64 = targets.iter().map(|target| target.free_extents).sum();
        Recalculation {
            at_extents: start.saturating_sub(left),
            files: targets.clone(),
        }
    }));
    FillHistory {
        at_extents: kept
            .iter()
            .map(|look| start.saturating_sub(all(look)))
            .collect(),
        files: files.collect(),
        recalculations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_lines_become_targets_whatever_the_files_are_called() {
        let lines = [
            "Proportional Fill Recalculation Starting for DB x with m_cAllocs 8192.",
            "Proportional Fill Recalculation Completed for DB x new m_cAllocs 8192, most free is 4.",
            "\tFile [a (1) has 7 free] (1) has 44 free extents and skip target of 90. ",
            "\tFile [third] (4) has 3995 free extents and skip target of 1. ",
        ];
        let printed = printed(lines.into_iter());
        let figures: Vec<_> = printed[0]
            .iter()
            .map(|t| (t.file_id, t.free_extents, t.skip_target))
            .collect();
        assert_eq!(figures, [(1, 44, 90), (4, 3995, 1)]);
    }

    #[test]
    fn a_history_begins_with_nothing_taken_and_ends_with_all() {
        let looks: Vec<Free> = (0..1000)
            .map(|n| vec![(1, 500 - n / 2), (3, 2000 - n), (4, 1000)])
            .collect();
        let history = history(&looks.iter().collect::<Vec<_>>(), &[]);
        let ids: Vec<u32> = history.files.iter().map(|file| file.file_id).collect();
        assert_eq!(ids, [1, 4, 3]);
        assert!(history.at_extents.len() <= MOST_LOOKS + 1);
        assert_eq!(history.at_extents.first(), Some(&0));
        assert_eq!(history.at_extents.last(), Some(&(999 + 499)));
        assert_eq!(history.files[2].taken.last(), Some(&999));
        let targets: Vec<u64> = history.recalculations[0]
            .files
            .iter()
            .map(|file| file.skip_target)
            .collect();
        assert_eq!(targets, [4, 2, 1]);
    }
}
