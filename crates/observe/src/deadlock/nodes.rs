//! The report of trace flag 1204.

use super::{DeadlockReport, Holder, Process};

pub(super) fn lines(report: &DeadlockReport) -> Vec<String> {
    let mut out = vec![
        "Deadlock encountered .... Printing deadlock information".to_owned(),
        "Wait-for graph".to_owned(),
    ];
    for (at, resource) in report.resources.iter().enumerate() {
        out.push(String::new());
        out.push(format!("Node:{}", at + 1));
        out.push(String::new());
        let text = &resource.text;
        let count = resource.owners.len() + resource.waiters.len();
        out.push(format!(
            "{text:<30} CleanCnt:{count} Mode:{} Flags: 0x0",
            resource.mode
        ));
        out.push(" Grant List 0:".to_owned());
        for owner in &resource.owners {
            if let Some(process) = report.process(owner.process) {
                push_owner(&mut out, owner, process);
            }
        }
        out.push(" Requested By:".to_owned());
        for waiter in &resource.waiters {
            if let Some(process) = report.process(waiter.process) {
                out.push(format!("   {}", request(&waiter.mode, process)));
            }
        }
    }
    for victim in report.victims.iter().filter_map(|id| report.process(*id)) {
        out.push(String::new());
        out.push("Victim Resource Owner:".to_owned());
        out.push(format!(" {}", request(&victim.lock_mode, victim)));
    }
    out
}

fn push_owner(out: &mut Vec<String>, owner: &Holder, p: &Process) {
    out.push(format!(
        "   Owner:0x{:x} Mode: {:<8} Flg:0x0 Ref:0 Life:02000000 SPID:{} ECID:{} XactLockInfo: 0x{:x}",
        p.id, owner.mode, p.spid, p.ecid, p.transaction_id
    ));
    let line = p.stack.first().map_or(1, |frame| frame.line);
    out.push(format!(
        "   SPID: {} ECID: {} Statement Type: {} Line #: {line}",
        p.spid, p.ecid, p.statement_type
    ));
    let mut batch = p.input_buffer.lines();
    out.push(format!(
        "   Input Buf: Language Event: {}",
        batch.next().unwrap_or_default()
    ));
    out.extend(batch.map(str::to_owned));
}

fn request(mode: &str, p: &Process) -> String {
    format!(
        "ResType:LockOwner Stype:'OR'Xdes:0x{:x} Mode: {mode} SPID:{} BatchID:0 ECID:{} \
         TaskProxy:(0x{:x}) Value:0x{:x} Cost:(0/{})",
        p.transaction_id, p.spid, p.ecid, p.id, p.id, p.log_used_bytes
    )
}
