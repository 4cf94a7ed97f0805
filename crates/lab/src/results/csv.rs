//! `runs.csv`: one line a run, for spreadsheets.

use super::{Control, Results, Run};

/// Columns that every experiment has; waits follow, one column a type.
const COLUMNS: [&str; 22] = [
    "run",
    "block",
    "position",
    "level",
    "control",
    "status",
    "reason",
    "started",
    "started_s",
    "response",
    "seconds",
    "overhead_s",
    "workers",
    "rows",
    "rows_per_s",
    "commits_per_s",
    "p50_us",
    "p99_us",
    "max_us",
    "cpu_s",
    "data_bytes_written",
    "log_bytes_written",
];

impl Results {
    /// The text of `runs.csv` (RFC 4180: comma, CRLF, quotes doubled). The waits of the working sessions
    /// follow as `wait_us:TYPE` columns. What was not measured is empty.
    #[must_use]
    pub fn runs_csv(&self) -> String {
        let mut types: Vec<&str> = self
            .runs
            .iter()
            .flat_map(|run| run.waits.iter().map(|wait| wait.wait_type.as_str()))
            .collect();
        types.sort_unstable();
        types.dedup();
        let mut text = String::new();
        let waits = types.iter().map(|name| format!("wait_us:{name}"));
        push_line(
            &mut text,
            COLUMNS.iter().map(|name| (*name).to_owned()).chain(waits),
        );
        for run in &self.runs {
            let waits = types.iter().map(|name| {
                let wait = run.waits.iter().find(|wait| wait.wait_type == *name);
                wait.map_or_else(String::new, |wait| wait.total_us.to_string())
            });
            push_line(&mut text, fields(run).into_iter().chain(waits));
        }
        text
    }
}

fn fields(run: &Run) -> [String; 22] {
    use super::FileRole;
    let control = match run.control {
        Control::None => "",
        Control::A => "A",
        Control::APrime => "A'",
    };
    let latency = run.latency.first();
    let written = |role: FileRole| -> String {
        let files = run.files.iter().filter(|file| file.role == role);
        if run.files.is_empty() {
            return String::new();
        }
        files
            .map(|file| file.bytes_written)
            .sum::<u64>()
            .to_string()
    };
    [
        run.id.to_string(),
        run.block.to_string(),
        run.position.to_string(),
        run.level.clone(),
        control.to_owned(),
        run.status.word().to_owned(),
        run.status.reason().unwrap_or_default().to_owned(),
        run.started.clone(),
        run.started_s.to_string(),
        number(run.response),
        number(run.seconds),
        number(run.overhead_s),
        run.workers.to_string(),
        number(run.rows),
        number(run.rows_per_s),
        number(run.commits_per_s),
        number(latency.map(|latency| latency.p50_us)),
        number(latency.map(|latency| latency.p99_us)),
        number(latency.map(|latency| latency.max_us)),
        number(run.cpu_s),
        written(FileRole::Data),
        written(FileRole::Log),
    ]
}

fn number<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn push_line(text: &mut String, fields: impl Iterator<Item = String>) {
    for (index, field) in fields.enumerate() {
        if index > 0 {
            text.push(',');
        }
        // A spreadsheet must not take a name or a reason for a formula.
        let formula = field.starts_with(['=', '+', '@', '\t', '\r'])
            || (field.starts_with('-') && field.parse::<f64>().is_err());
        if formula || field.contains([',', '"', '\n', '\r']) {
            text.push('"');
            if formula {
                text.push('\'');
            }
            text.push_str(&field.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(&field);
        }
    }
    text.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{RunStatus, WaitTotal};

    #[test]
    fn lines_have_as_many_fields_as_the_head_and_formulas_are_text() {
        let wait = WaitTotal {
            wait_type: "WRITELOG".into(),
            total_us: 7,
            ..WaitTotal::default()
        };
        let run = Run {
            id: 1,
            level: "=1+1".into(),
            status: RunStatus::Failed("disk \"full\",\nsorry".into()),
            waits: vec![wait],
            ..Run::default()
        };
        let plain = Run {
            id: 2,
            level: "-4".into(),
            ..Run::default()
        };
        let text = Results {
            runs: vec![run, plain],
            ..Results::default()
        }
        .runs_csv();
        let head = text.lines().next().unwrap();
        assert!(head.ends_with("log_bytes_written,wait_us:WRITELOG"));
        assert!(text.contains("1,0,0,\"'=1+1\",,failed,\"disk \"\"full\"\",\nsorry\",,0,,"));
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("2,0,0,-4,"));
        assert_eq!(last.matches(',').count(), head.matches(',').count());
    }
}
