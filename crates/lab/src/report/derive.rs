//! What the page shows and `results.json` doesn't spell out: sums of waits by category, balance of files.

use super::words::to_f64;
use crate::results::{
    FileIo, FileRole, LevelResult, OVERLAP, Results, Run, THINKING, WaitTotal, has_think_times,
};
use std::collections::BTreeMap;

/// Categories shown by name; the rest is "Other waits".
const NAMED_CATEGORIES: usize = 8;

/// Where the sessions' time went, by level.
#[derive(Debug, Clone, Default)]
pub struct TimeSpent {
    /// Categories, heaviest first; the last may be "Other waits".
    pub categories: Vec<String>,
    /// Levels with at least one good run that counted waits, in the order of the results.
    pub levels: Vec<LevelTime>,
    /// Every wait type that isn't idle, heaviest first.
    pub types: Vec<TypeTime>,
}

/// One level's time, averaged over its good runs.
#[derive(Debug, Clone, Default)]
pub struct LevelTime {
    /// Key of the level.
    pub level: String,
    /// Seconds of the measured part.
    pub elapsed_s: f64,
    /// Seconds waited per worker in each category.
    pub waited_s: Vec<f64>,
    /// Seconds per worker in which it did not wait: running, or not accounted for.
    pub running_s: f64,
    /// How sessions also slept, where runs did not record how long: then that is in `running_s`.
    pub hidden_sleep: Option<&'static str>,
}

impl LevelTime {
    /// Seconds of all threads that work for a worker: more than those that pass where their waits overlap.
    pub(crate) fn of_threads_s(&self) -> f64 {
        self.waited_s.iter().sum::<f64>() + self.running_s
    }

    /// Whether waits of threads that work for the same worker overlap.
    pub(crate) fn overlaps(&self) -> bool {
        self.of_threads_s() > OVERLAP * self.elapsed_s
    }
}

/// One wait type's time, by level.
#[derive(Debug, Clone, Default)]
pub struct TypeTime {
    /// Name.
    pub wait_type: String,
    /// Category.
    pub category: String,
    /// Seconds per worker at each level of [`TimeSpent::levels`].
    pub waited_s: Vec<f64>,
    /// Share of all waiting at each level.
    pub share: Vec<f64>,
    /// Mean length of a wait over all levels.
    pub mean_us: f64,
    /// Part of the time spent runnable after the signal, over all levels.
    pub signal_share: f64,
}

/// Seconds per worker by key, averaged over the runs of a level.
fn per_worker<'a>(
    runs: &[&'a Run],
    key: impl Fn(&'a WaitTotal) -> &'a str,
) -> BTreeMap<&'a str, f64> {
    let mut sums = BTreeMap::new();
    for run in runs {
        let worker_share = 1e-6 / f64::from(run.workers.max(1)) / to_f64(runs.len() as u64);
        for wait in run.waits.iter().filter(|wait| !wait.benign) {
            *sums.entry(key(wait)).or_insert(0.0) += to_f64(wait.total_us) * worker_share;
        }
    }
    sums
}

/// Seconds per worker by category, with the time in which sessions slept because the load asks for it.
fn per_category<'a>(runs: &[&'a Run]) -> BTreeMap<&'a str, f64> {
    let mut sums = per_worker(runs, WaitTotal::bucket);
    for run in runs {
        if let Some((name, us)) = run.paused() {
            let workers = f64::from(run.workers.max(1));
            *sums.entry(name).or_insert(0.0) +=
                to_f64(us) * 1e-6 / workers / to_f64(runs.len() as u64);
        }
    }
    sums
}

/// Heaviest first, names as tie-breaker.
fn by_weight(weights: BTreeMap<&str, f64>) -> Vec<String> {
    let mut list: Vec<(&str, f64)> = weights.into_iter().filter(|(_, w)| *w > 0.0).collect();
    list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    list.into_iter().map(|(name, _)| name.to_owned()).collect()
}

impl TimeSpent {
    /// Sums the waits of the working sessions.
    pub fn of(results: &Results) -> TimeSpent {
        let levels: Vec<(&LevelResult, Vec<&Run>)> = results
            .levels
            .iter()
            .map(|level| {
                let runs = results.good_runs(&level.level);
                (
                    level,
                    runs.filter(|run| run.has_read_waits()).collect::<Vec<_>>(),
                )
            })
            .filter(|(_, runs)| !runs.is_empty())
            .collect();
        let every: Vec<&Run> = levels
            .iter()
            .flat_map(|(_, runs)| runs.iter().copied())
            .collect();
        let mut categories = by_weight(per_category(&every));
        // A ninth category is shown by its own name: "other" of one thing would only hide it.
        let named = if categories.len() > NAMED_CATEGORIES + 1 {
            categories.truncate(NAMED_CATEGORIES);
            categories.push("Other waits".to_owned());
            NAMED_CATEGORIES
        } else {
            categories.len()
        };
        let settings = results.plan.settings.iter();
        let thinks = has_think_times(settings.map(|(name, value)| (name, value)));
        let level_times = levels
            .iter()
            .map(|(level, runs)| level_time((*level, runs.as_slice()), &categories, named, thinks))
            .collect();
        let types = by_weight(per_worker(&every, |wait| &wait.wait_type))
            .into_iter()
            .map(|name| type_time(&name, &every, &levels))
            .collect();
        TimeSpent {
            categories,
            levels: level_times,
            types,
        }
    }

    /// The time at a level.
    pub fn at(&self, level: &str) -> Option<&LevelTime> {
        self.levels.iter().find(|time| time.level == level)
    }
}

fn level_time(
    (level, runs): (&LevelResult, &[&Run]),
    names: &[String],
    named: usize,
    thinks: bool,
) -> LevelTime {
    let sums = per_category(runs);
    let mut waited_s: Vec<f64> = names
        .iter()
        .take(named)
        .map(|name| sums.get(name.as_str()).copied().unwrap_or(0.0))
        .collect();
    let all: f64 = sums.values().sum();
    if named < names.len() {
        waited_s.push((all - waited_s.iter().sum::<f64>()).max(0.0));
    }
    let elapsed: Vec<f64> = runs.iter().filter_map(|run| run.seconds).collect();
    let elapsed_s = mean(&elapsed).unwrap_or(all);
    LevelTime {
        level: level.level.clone(),
        elapsed_s,
        waited_s,
        running_s: (elapsed_s - all).max(0.0),
        hidden_sleep: runs
            .iter()
            .filter(|run| run.paused_us.is_none())
            .find_map(|run| match (run.is_open(), thinks) {
                (true, _) => Some("with no work due"),
                (false, true) => Some(THINKING),
                (false, false) => None,
            }),
    }
}

fn type_time(name: &str, every: &[&Run], levels: &[(&LevelResult, Vec<&Run>)]) -> TypeTime {
    let mut time = TypeTime {
        wait_type: name.to_owned(),
        ..TypeTime::default()
    };
    let (mut count, mut total, mut signal) = (0, 0, 0);
    for wait in every
        .iter()
        .flat_map(|run| &run.waits)
        .filter(|wait| wait.wait_type == name)
    {
        wait.bucket().clone_into(&mut time.category);
        count += wait.count;
        total += wait.total_us;
        signal += wait.signal_us;
    }
    time.mean_us = to_f64(total) / to_f64(count.max(1));
    time.signal_share = to_f64(signal) / to_f64(total.max(1));
    for (_, runs) in levels {
        let sums = per_worker(runs, |wait| &wait.wait_type);
        let all: f64 = sums.values().sum();
        let own = sums.get(name).copied().unwrap_or(0.0);
        time.waited_s.push(own);
        time.share.push(if all > 0.0 { own / all } else { 0.0 });
    }
    time
}

/// How a level's data files shared its writes.
#[derive(Debug, Clone, Default)]
pub struct Balance {
    /// Key of the level.
    pub level: String,
    /// The data files by file id, summed over the good runs.
    pub files: Vec<FileShare>,
    /// The logs, summed likewise.
    pub log: Option<FileShare>,
    /// How the files differ.
    pub spread: Spread,
}

/// How much the data files of a level differ in what was written to them, the worst last.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub enum Spread {
    /// Fewer than two data files.
    #[default]
    OneFile,
    /// Several files, and nothing was written to any of them.
    NothingWritten,
    /// Bytes of the most written file over those of the least written one.
    Ratio(f64),
    /// So many of the files got nothing while others were written to.
    Idle(usize),
}

impl Spread {
    fn of(files: &[FileShare]) -> Spread {
        let written = || files.iter().map(|file| file.bytes_written);
        let most = written().fold(0.0, f64::max);
        let least = written().fold(f64::INFINITY, f64::min);
        match files.len() {
            0 | 1 => Spread::OneFile,
            _ if most <= 0.0 => Spread::NothingWritten,
            _ if least <= 0.0 => Spread::Idle(written().filter(|bytes| *bytes <= 0.0).count()),
            _ => Spread::Ratio(most / least),
        }
    }
}

/// One file's part.
#[derive(Debug, Clone, Default)]
pub struct FileShare {
    /// File id.
    pub file_id: u32,
    /// Name without its directories, of the first run.
    pub name: String,
    /// Volume.
    pub volume: String,
    /// Bytes written in an average run.
    pub bytes_written: f64,
    /// Bytes of these written by checkpoints.
    pub checkpoint_bytes: f64,
    /// Written megabytes a second of the measured part.
    pub mb_per_s: f64,
    /// Mean time of a write; `None` where the writes took less than can be counted.
    pub write_us: Option<f64>,
    /// Mean time of a read, likewise.
    pub read_us: Option<f64>,
    /// Written over an even share of all data files: 1 is even.
    pub of_even: f64,
}

impl Balance {
    /// The balance of each level that has file statistics.
    pub fn of(results: &Results) -> Vec<Balance> {
        let one = |level: &LevelResult| {
            let runs: Vec<&Run> = results
                .good_runs(&level.level)
                .filter(|run| !run.files.is_empty())
                .collect();
            (!runs.is_empty()).then(|| Balance::of_level(&level.level, &runs))
        };
        results.levels.iter().filter_map(one).collect()
    }

    /// Whether files shared what was written, so that a file has a share.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.spread, Spread::Idle(_) | Spread::Ratio(_))
    }

    /// The level whose files differ most; `None` where no level has file statistics.
    pub fn worst(balances: &[Balance]) -> Option<&Balance> {
        let order = |a: &&Balance, b: &&Balance| {
            let order = a.spread.partial_cmp(&b.spread);
            order.unwrap_or(std::cmp::Ordering::Equal)
        };
        balances.iter().max_by(order)
    }

    fn of_level(level: &str, runs: &[&Run]) -> Balance {
        let mut files: BTreeMap<u32, Vec<(&Run, &FileIo)>> = BTreeMap::new();
        let mut log = Vec::new();
        for run in runs {
            for file in &run.files {
                match file.role {
                    FileRole::Data => files.entry(file.file_id).or_default().push((run, file)),
                    FileRole::Log => log.push((*run, file)),
                    FileRole::Other => {}
                }
            }
        }
        let mut files: Vec<FileShare> = files
            .values()
            .map(|list| file_share(list, runs.len()))
            .collect();
        let even = files.iter().map(|file| file.bytes_written).sum::<f64>()
            / to_f64(files.len().max(1) as u64);
        for file in &mut files {
            file.of_even = if even > 0.0 {
                file.bytes_written / even
            } else {
                1.0
            };
        }
        let spread = Spread::of(&files);
        let log = (!log.is_empty()).then(|| file_share(&log, runs.len()));
        Balance {
            level: level.to_owned(),
            files,
            log,
            spread,
        }
    }
}

fn file_share(list: &[(&Run, &FileIo)], runs: usize) -> FileShare {
    let sum = |part: fn(&FileIo) -> u64| to_f64(list.iter().map(|(_, file)| part(file)).sum());
    let per_run = 1.0 / to_f64(runs.max(1) as u64);
    let seconds: f64 = list.iter().filter_map(|(run, _)| run.seconds).sum();
    // Times are counted in whole milliseconds of a run: the mean of a few short calls is not in them.
    let least_us = 1e3 * to_f64(runs as u64);
    let latency = |stall: f64, calls: f64| (stall >= least_us).then(|| stall / calls.max(1.0));
    let written = sum(|file| file.bytes_written);
    let mut share = FileShare {
        bytes_written: written * per_run,
        checkpoint_bytes: sum(|file| file.checkpoint_bytes) * per_run,
        mb_per_s: if seconds > 0.0 {
            written / seconds / 1_048_576.0
        } else {
            0.0
        },
        write_us: latency(sum(|file| file.write_stall_us), sum(|file| file.writes)),
        read_us: latency(sum(|file| file.read_stall_us), sum(|file| file.reads)),
        of_even: 1.0,
        ..FileShare::default()
    };
    if let Some((_, file)) = list.first() {
        share.file_id = file.file_id;
        share.volume.clone_from(&file.volume);
        let name = file.path.rsplit(['/', '\\']).next().unwrap_or(&file.path);
        name.clone_into(&mut share.name);
    }
    share
}

/// The mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / to_f64(values.len() as u64))
}

/// The point below which a standard normal value falls with probability `p`.
pub fn normal_quantile(p: f64) -> f64 {
    // The distribution function by its power series, inverted by halving: exact enough for a chart.
    let below = |x: f64| {
        let (mut term, mut sum, mut n) = (x, x, 1.0);
        while term.abs() > 1e-12 && n < 400.0 {
            n += 2.0;
            term *= x * x / n;
            sum += term;
        }
        0.5 + sum * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
    };
    let (mut low, mut high) = (-6.0, 6.0);
    for _ in 0..60 {
        let middle: f64 = f64::midpoint(low, high);
        if below(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::RunStatus;

    fn wait(name: &str, category: &str, total_us: u64) -> WaitTotal {
        WaitTotal {
            wait_type: name.into(),
            category: category.into(),
            benign: category == "idle",
            count: 10,
            total_us,
            max_us: total_us / 2,
            signal_us: total_us / 10,
        }
    }

    fn results(waits: Vec<WaitTotal>) -> Results {
        let run = Run {
            level: "1".into(),
            workers: 4,
            seconds: Some(10.0),
            response: Some(10.0),
            waits,
            status: RunStatus::Done,
            ..Run::default()
        };
        let bad = Run {
            status: RunStatus::Failed("x".into()),
            ..run.clone()
        };
        Results {
            levels: vec![LevelResult {
                level: "1".into(),
                ..LevelResult::default()
            }],
            runs: vec![run, bad],
            ..Results::default()
        }
    }

    #[test]
    fn waits_are_seconds_per_worker_without_idle_ones_and_failed_runs() {
        let time = TimeSpent::of(&results(vec![
            wait("PAGELATCH_EX", "Buffer Latch", 16_000_000),
            wait("PAGELATCH_SH", "Buffer Latch", 4_000_000),
            wait("WRITELOG", "Tran Log IO", 8_000_000),
            wait("WAITFOR", "idle", 400_000_000),
        ]));
        assert_eq!(time.categories, ["Buffer Latch", "Tran Log IO"]);
        let level = time.at("1").unwrap();
        assert!((level.waited_s[0] - 5.0).abs() < 1e-9);
        assert!((level.running_s - 3.0).abs() < 1e-9);
        assert!((level.of_threads_s() - level.elapsed_s).abs() < 1e-9);
        assert!(!level.overlaps());
        assert_eq!(time.types[0].wait_type, "PAGELATCH_EX");
        assert!((time.types[0].share[0] - 16.0 / 28.0).abs() < 1e-9);
        assert!((time.types[0].signal_share - 0.1).abs() < 1e-9);
    }

    #[test]
    fn time_that_the_load_lets_sessions_sleep_is_not_running() {
        let mut results = results(vec![wait("WRITELOG", "Tran Log IO", 8_000_000)]);
        results.runs[0].paused_us = Some(28_000_000);
        let time = TimeSpent::of(&results);
        assert_eq!(time.categories, [THINKING, "Tran Log IO"]);
        let level = time.at("1").unwrap();
        assert!((level.waited_s[0] - 7.0).abs() < 1e-9);
        assert!((level.running_s - 1.0).abs() < 1e-9);
        assert_eq!(level.hidden_sleep, None);
        // With a rate it is something else; where it was not recorded, running is not claimed.
        results.runs[0].latency = vec![crate::results::Latency {
            count: 1,
            ..Default::default()
        }];
        let time = TimeSpent::of(&results);
        assert_eq!(time.categories[0], crate::results::NOT_DUE);
        results.runs[0].paused_us = None;
        let hidden = |results: &Results| TimeSpent::of(results).levels[0].hidden_sleep;
        assert_eq!(hidden(&results), Some("with no work due"));
        results.runs[0].latency.clear();
        assert_eq!(hidden(&results), None);
        let pace = ("pace".to_owned(), "spec".to_owned());
        results.plan.settings.push(pace);
        assert_eq!(hidden(&results), Some(THINKING));
        results.runs[0].paused_us = Some(0);
        assert_eq!(hidden(&results), None);
    }

    #[test]
    fn many_categories_end_in_other_and_nothing_is_lost() {
        let names: Vec<String> = (0..12).map(|i| format!("C{i:02}")).collect();
        let waits = names
            .iter()
            .map(|name| wait(name, name, 4_000_000))
            .collect();
        let time = TimeSpent::of(&results(waits));
        assert_eq!(time.categories.len(), 9);
        assert_eq!(time.categories[8], "Other waits");
        assert!((time.levels[0].waited_s.iter().sum::<f64>() - 12.0).abs() < 1e-9);
    }

    #[test]
    fn quantiles_are_those_of_the_normal_distribution() {
        for (p, x) in [
            (0.5, 0.0),
            (0.975, 1.959_964),
            (0.025, -1.959_964),
            (0.999, 3.090_232),
        ] {
            assert!((normal_quantile(p) - x).abs() < 1e-5, "{p}");
        }
    }
}
