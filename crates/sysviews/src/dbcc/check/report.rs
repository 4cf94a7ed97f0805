//! The findings as SQL Server's messages: by object, then the totals, then the line of the error log.

use super::Request;
use super::repair::Order;
use super::{page_restore, plain};
use crate::value::{BIGINT, INT, SMALLINT, big, int, nvarchar, small, text};
use furrow_check::{Depth, Finding, ObjectTotal};
use furrow_context::error::SqlError;
use furrow_context::run::Run;
use furrow_context::system::{ViewColumn, nullable};
use furrow_engine::Checked;
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use furrow_types::Value;
use std::collections::BTreeMap;

static TABLE: &[ViewColumn] = &[
    nullable("Error", INT),
    nullable("Level", INT),
    nullable("State", INT),
    nullable("MessageText", nvarchar(2048)),
    nullable("RepairLevel", nvarchar(22)),
    nullable("Status", INT),
    nullable("DbId", SMALLINT),
    nullable("DbFragId", SMALLINT),
    nullable("ObjectId", INT),
    nullable("IndexId", INT),
    nullable("PartitionId", BIGINT),
    nullable("AllocUnitId", BIGINT),
    nullable("RidDbId", SMALLINT),
    nullable("RidPruId", SMALLINT),
    nullable("File", SMALLINT),
    nullable("Page", INT),
    nullable("Slot", INT),
    nullable("RefDbId", SMALLINT),
    nullable("RefPruId", SMALLINT),
    nullable("RefFile", SMALLINT),
    nullable("RefPage", INT),
    nullable("RefSlot", INT),
    nullable("Allocation", SMALLINT),
];

/// Errors of allocation and of consistency.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    allocation: u64,
    consistency: u64,
}

impl Sum {
    fn add(&mut self, finding: &Finding) {
        match finding.is_allocation() {
            true => self.allocation += finding.errors,
            false => self.consistency += finding.errors,
        }
    }

    fn all(self) -> u64 {
        self.allocation + self.consistency
    }
}

/// Sends the findings.
pub(super) struct Reporter<'r, 'a> {
    run: &'r mut Run<'a>,
    request: &'r Request<'r>,
    checked: &'r Checked,
    sum: Sum,
    /// The rows of WITH TABLERESULTS.
    rows: Vec<Vec<Value>>,
}

/// The name of a table in messages: without the schema if that is `dbo`.
fn shown(name: &str) -> &str {
    name.strip_prefix("dbo.").unwrap_or(name)
}

impl<'r, 'a> Reporter<'r, 'a> {
    pub(super) fn new(
        run: &'r mut Run<'a>,
        request: &'r Request<'r>,
        checked: &'r Checked,
    ) -> Reporter<'r, 'a> {
        let mut sum = Sum::default();
        checked.report.findings.iter().for_each(|f| sum.add(f));
        Reporter {
            run,
            request,
            checked,
            sum,
            rows: Vec::new(),
        }
    }

    /// A message that NO_INFOMSGS suppresses.
    pub(super) fn inform(&mut self, message: Message) {
        if !self.request.call.no_infomsgs {
            self.send(message, None);
        }
    }

    /// Sends a message with its finding.
    fn send(&mut self, message: Message, finding: Option<&Finding>) {
        if self.request.call.tableresults {
            let row = self.row(&message, finding);
            self.rows.push(row);
        } else if message.is_error() {
            let error: Box<SqlError> = message.at_line(self.run.cx.line).into();
            self.run.send_error(&error);
        } else {
            self.run.inform(message);
        }
    }

    fn row(&self, message: &Message, finding: Option<&Finding>) -> Vec<Value> {
        let null = || Value::Null;
        let subject = finding.and_then(|f| f.subject.as_ref());
        let page = finding.and_then(|f| f.page);
        let repair = finding.map(|f| text(f.repair().name()));
        let mut row = vec![
            int(message.number),
            int(message.level),
            int(message.state),
            text(message.text.clone()),
            repair.unwrap_or(Value::Null),
            int(0),
            small(self.request.db.id().0),
            small(1),
            int(subject.map_or(0, |s| s.object_id)),
            int(subject.map_or(0, |s| s.index_id)),
            big(0),
            big(0),
            null(),
            null(),
            page.map_or_else(null, |page| small(page.file.0)),
            page.map_or_else(null, |page| int(page.page.0)),
        ];
        row.resize_with(TABLE.len() - 1, null);
        row.push(small(i16::from(
            finding.is_some_and(Finding::is_allocation),
        )));
        row
    }

    /// `DBCC results for` the database.
    pub(super) fn heading(&mut self) {
        let name = self.request.db.name().to_owned();
        self.inform(Message::new(2536, &[name.into()]));
    }

    /// The findings of each object; with `counted` also the lines with rows and pages.
    pub(super) fn objects(&mut self, counted: bool) {
        let checked = self.checked;
        let mut by_object: BTreeMap<i32, Vec<&Finding>> = BTreeMap::new();
        for finding in &checked.report.findings {
            let object = finding.subject.as_ref().map_or(0, |s| s.object_id);
            by_object.entry(object).or_default().push(finding);
        }
        if let Some(alone) = by_object.remove(&0) {
            let sum = self.findings(&alone);
            let args = [
                self.request.command.into(),
                sum.allocation.into(),
                sum.consistency.into(),
            ];
            self.send(Message::new(8954, &args), None);
        }
        if counted {
            for object in &checked.report.objects {
                self.object(object);
                if let Some(findings) = by_object.remove(&object.object_id) {
                    self.of_object(&findings);
                }
            }
        }
        for findings in by_object.into_values() {
            self.of_object(&findings);
        }
    }

    fn object(&mut self, object: &ObjectTotal) {
        let name = shown(&object.name);
        self.inform(Message::new(2536, &[name.into()]));
        let args = [object.rows.into(), object.pages.into(), name.into()];
        self.inform(Message::new(2593, &args));
    }

    fn findings(&mut self, findings: &[&Finding]) -> Sum {
        let mut sum = Sum::default();
        for finding in findings {
            sum.add(finding);
            self.send(finding.message.clone(), Some(finding));
        }
        sum
    }

    fn of_object(&mut self, findings: &[&Finding]) {
        let sum = self.findings(findings);
        let Some(subject) = findings.first().and_then(|f| f.subject.as_ref()) else {
            return;
        };
        let args = [
            self.request.command.into(),
            sum.allocation.into(),
            sum.consistency.into(),
            shown(&subject.table).into(),
            subject.object_id.into(),
        ];
        self.send(Message::new(8990, &args), None);
    }

    /// The allocation of each file.
    pub(super) fn files(&mut self) {
        let checked = self.checked;
        let mut all = [0_u64; 4];
        for file in &checked.report.files {
            let figures = [
                file.extents,
                file.used_pages,
                file.mixed_extents,
                file.mixed_pages,
            ];
            for (sum, figure) in all.iter_mut().zip(figures) {
                *sum += figure;
            }
            let reserved = file.extents * 8;
            let args = [
                file.file.into(),
                file.extents.into(),
                file.used_pages.into(),
                reserved.into(),
            ];
            self.inform(Message::new(2538, &args));
            let args = [
                file.file.into(),
                file.mixed_extents.into(),
                file.mixed_pages.into(),
            ];
            self.inform(Message::new(8915, &args));
        }
        let [extents, used, mixed, mixed_pages] = all;
        let args = [extents.into(), used.into(), (extents * 8).into()];
        self.inform(Message::new(2539, &args));
        self.inform(Message::new(8918, &[mixed.into(), mixed_pages.into()]));
    }

    /// The totals of the database.
    pub(super) fn closing(&mut self) {
        let args = [
            self.request.command.into(),
            self.sum.allocation.into(),
            self.sum.consistency.into(),
            self.request.db.name().into(),
        ];
        let message = Message::new(8989, &args);
        match self.sum.all() {
            0 => self.inform(message),
            _ => self.send(message, None),
        }
    }

    /// The necessary repair and the explanation: the last messages.
    pub(super) fn means(mut self) {
        let checked = self.checked;
        let findings = &checked.report.findings;
        let name = self.request.db.name().to_owned();
        if let Some(repair) = findings.iter().map(Finding::repair).max() {
            let args = [
                repair.name().into(),
                self.request.command.into(),
                name.as_str().into(),
                "".into(),
                "".into(),
            ];
            self.send(Message::new(8958, &args), None);
        }
        if checked.snapshot.is_some_and(|s| !s.recovered) {
            let text = "The snapshot of this check could not be recovered because of damage. Changes of \
                transactions that were active may be among the errors.";
            self.send(Message::custom(0, 0, 1, text), None);
        }
        if !findings.is_empty() {
            let restore = page_restore::statements(self.run, &self.request.db, &checked.report);
            for line in plain::lines(&name, &checked.report, &restore) {
                self.send(Message::custom(0, 0, 1, &line), None);
            }
        }
        if self.request.call.tableresults {
            self.run.show(TABLE, self.rows);
        }
    }

    /// The line in the error log.
    pub(super) fn log(run: &Run<'_>, request: &Request<'_>, checked: &Checked, repaired: u64) {
        let seconds = checked.elapsed.as_secs();
        let depth = request.options.depth;
        let with = match depth {
            Depth::Physical if request.command == "CHECKDB" => " WITH physical_only",
            _ => "",
        };
        let second = match (depth, request.repair) {
            (Depth::NoIndexes, _) => ", noindex",
            (_, Some(Order::Rebuild)) => ", repair_rebuild",
            (_, Some(Order::DataLoss)) => ", repair_allow_data_loss",
            _ => "",
        };
        let about = checked.snapshot.map_or_else(String::new, |snapshot| {
            format!(
                "Internal database snapshot has split point LSN = {:x} and first LSN = {:x}.",
                snapshot.split, snapshot.first
            )
        });
        let args = [
            "".into(),
            request.command.into(),
            request.db.name().into(),
            second.into(),
            "".into(),
            with.into(),
            "sa".into(),
            checked.report.errors().into(),
            repaired.into(),
            (seconds / 3600).into(),
            (seconds / 60 % 60).into(),
            (seconds % 60).into(),
            about.into(),
        ];
        let source = Source::Spid(run.cx.sessions.id());
        let log = run.cx.server.instance().error_log();
        log.write_message(source, &Message::new(8957, &args));
    }
}
