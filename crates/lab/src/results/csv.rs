//! `runs.csv`: one line a run, for spreadsheets.

use super::{Control, Latency, Results, Run};

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
    /// The text of `runs.csv` (RFC 4180: comma, CRLF, quotes doubled). The experiment's own figures follow
    /// as `figure:NAME (UNIT)` columns, the waits of the working sessions as `wait_us:TYPE` columns. What was
    /// not measured is empty.
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "a vector takes every write, every line has the head's columns, and all are text"
    )]
    pub fn runs_csv(&self) -> String {
        let bytes = self.runs_csv_bytes().expect("lines of one length");
        String::from_utf8(bytes).expect("fields are text")
    }

    fn runs_csv_bytes(&self) -> csv::Result<Vec<u8>> {
        let mut types: Vec<&str> = self
            .runs
            .iter()
            .flat_map(|run| run.waits.iter().map(|wait| wait.wait_type.as_str()))
            .collect();
        types.sort_unstable();
        types.dedup();
        let mut text = csv::WriterBuilder::new()
            .terminator(csv::Terminator::CRLF)
            .from_writer(Vec::new());
        let waits = types.iter().map(|name| format!("wait_us:{name}"));
        let figures = self.figure_columns();
        let heads = figures.iter().map(|(name, unit)| match unit.is_empty() {
            true => format!("figure:{name}"),
            false => format!("figure:{name} ({unit})"),
        });
        push_line(
            &mut text,
            COLUMNS
                .iter()
                .map(|name| (*name).to_owned())
                .chain(heads)
                .chain(waits),
        )?;
        for run in &self.runs {
            let waits = types.iter().map(|name| {
                let wait = run.waits.iter().find(|wait| wait.wait_type == *name);
                wait.map_or_else(String::new, |wait| wait.total_us.to_string())
            });
            let own = figures.iter().map(|(name, _)| {
                let found = run.figures.iter().find(|figure| figure.name == *name);
                number(found.map(|figure| figure.value))
            });
            push_line(&mut text, fields(run).into_iter().chain(own).chain(waits))?;
        }
        text.into_inner().map_err(|error| error.into_error().into())
    }

    /// Names and units of the experiment's own figures, each once, in the order in which they come.
    fn figure_columns(&self) -> Vec<(&str, &str)> {
        let mut columns: Vec<(&str, &str)> = Vec::new();
        for figure in self.runs.iter().flat_map(|run| &run.figures) {
            if !columns.iter().any(|(name, _)| *name == figure.name) {
                columns.push((&figure.name, &figure.unit));
            }
        }
        columns
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
        number(latency.and_then(Latency::p99)),
        number(latency.map(|latency| latency.max_us)),
        number(run.cpu_s),
        written(FileRole::Data),
        written(FileRole::Log),
    ]
}

fn number<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Appends a line. A field that a spreadsheet would take for a formula begins with an apostrophe.
fn push_line(
    text: &mut csv::Writer<Vec<u8>>,
    fields: impl Iterator<Item = String>,
) -> csv::Result<()> {
    for field in fields {
        let formula = field.starts_with(['=', '+', '@', '\t', '\r'])
            || (field.starts_with('-') && field.parse::<f64>().is_err());
        if formula {
            text.write_field(format!("'{field}"))?;
        } else {
            text.write_field(field)?;
        }
    }
    text.write_record(None::<&[u8]>)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Figure, RunStatus, WaitTotal};

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
            figures: vec![Figure::lower("pages read", "pages", 12.5)],
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
        assert!(head.ends_with("log_bytes_written,figure:pages read (pages),wait_us:WRITELOG"));
        assert!(text.contains("1,0,0,'=1+1,,failed,\"disk \"\"full\"\",\nsorry\",,0,,"));
        let last = text.lines().last().unwrap();
        assert!(text.contains(",12.5,7\r\n"), "{text}");
        assert!(last.starts_with("2,0,0,-4,"));
        assert_eq!(last.matches(',').count(), head.matches(',').count());
    }
}
