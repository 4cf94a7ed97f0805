//! `--notify`: a message when an experiment ends, fails or stalls, by a command, a webhook or mail.
//!
//! A message is a subject line and a JSON object. A command gets the object on standard input and the subject
//! in `FURROW_SUBJECT`. A webhook gets the object as the body of a POST, by the `curl` of the machine. Mail
//! is sent by the local `sendmail`. A message that cannot be sent is reported and never stops an experiment.

use super::super::{FAILED, Failure, print};
use furrow_io::thread;
use furrow_io::time::{Duration, Moment, sleep};
use furrow_lab::terminal::Live;
use std::fmt;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// An experiment without a step or a row for this long has stalled.
const STALL: Duration = Duration::from_secs(15 * 60);
/// Longest time for sending a message.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where messages go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    Command(String),
    Webhook(String),
    Mail(String),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Command(line) => write!(f, "command:{line}"),
            Address::Webhook(url) => f.write_str(url),
            Address::Mail(to) => write!(f, "mailto:{to}"),
        }
    }
}

impl Address {
    /// Parses an address.
    pub(super) fn parse(text: &str) -> Result<Address, String> {
        let wrong = || {
            format!(
                "'{text}' is nowhere to send a message; write command:LINE, https://HOST/PATH (or \
                 http://) or mailto:NAME@HOST"
            )
        };
        let plain = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
        match text.split_once(':') {
            Some(("command", line)) if !line.trim().is_empty() => {
                Ok(Address::Command(line.to_owned()))
            }
            Some(("http" | "https", rest)) if rest.starts_with("//") && plain(&rest[2..]) => {
                Ok(Address::Webhook(text.to_owned()))
            }
            // An address with a leading dash would be an option of sendmail.
            Some(("mailto", to)) if plain(to) && to.contains('@') && !to.starts_with('-') => {
                Ok(Address::Mail(to.to_owned()))
            }
            _ => Err(wrong()),
        }
    }

    fn send(&self, message: &Message) -> Result<(), String> {
        let json = message.json();
        match self {
            Address::Command(line) => {
                let mut command = shell(line);
                command.env("FURROW_SUBJECT", &message.subject);
                command.env("FURROW_EVENT", message.event);
                run(&mut command, &json)
            }
            Address::Webhook(url) => {
                let mut command = Command::new("curl");
                command.args(["--fail", "--silent", "--show-error", "--max-time", "20"]);
                command.args(["--header", "Content-Type: application/json"]);
                command.args(["--data-binary", "@-", "--output", NOWHERE, "--url", url]);
                run(&mut command, &json)
            }
            Address::Mail(to) => {
                let subject = message.subject.replace(char::is_control, " ");
                let text = format!(
                    "To: {to}\nSubject: {subject}\nContent-Type: text/plain; charset=utf-8\n\n{}\n\n{json}\n",
                    message.text
                );
                run(Command::new(sendmail()).arg("-i").arg("--").arg(to), &text)
            }
        }
    }
}

#[cfg(windows)]
const NOWHERE: &str = "NUL";
#[cfg(not(windows))]
const NOWHERE: &str = "/dev/null";

fn shell(line: &str) -> Command {
    let (program, option) = match cfg!(windows) {
        true => ("cmd", "/C"),
        false => ("sh", "-c"),
    };
    let mut command = Command::new(program);
    command.args([option, line]);
    command
}

/// The usual path of sendmail, which is not in an ordinary user's PATH.
fn sendmail() -> &'static str {
    let usual = "/usr/sbin/sendmail";
    match std::path::Path::new(usual).exists() {
        true => usual,
        false => "sendmail",
    }
}

/// Runs a command to its end, with `input` on its standard input.
fn run(command: &mut Command, input: &str) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|e| format!("{name} cannot be started: {e}"))?;
    if let Some(mut pipe) = child.stdin.take() {
        // A command that does not read closes the pipe: its exit code decides.
        let _ = pipe.write_all(input.as_bytes());
    }
    let end = Moment::now().after(PATIENCE);
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{name} ended with {status}")),
            Ok(None) if Moment::now() < end => sleep(Duration::from_millis(20)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "{name} did not end within {} s",
                    PATIENCE.as_secs()
                ));
            }
            Err(e) => return Err(format!("{name}: {e}")),
        }
    }
}

/// The message.
#[derive(Debug, Clone)]
struct Message {
    event: &'static str,
    experiment: String,
    subject: String,
    text: String,
    directory: String,
}

impl Message {
    fn json(&self) -> String {
        let object = serde_json::json!({
            "event": self.event,
            "experiment": self.experiment,
            "subject": self.subject,
            "text": self.text,
            "directory": self.directory,
        });
        object.to_string()
    }
}

/// Sends messages about one experiment.
pub(super) struct Notifier {
    addresses: Vec<Address>,
    experiment: String,
    directory: String,
    pulse: Arc<Pulse>,
}

/// The time of the last progress.
struct Pulse {
    start: Moment,
    last_us: AtomicU64,
    /// The share of the load that was done at that time, in millionths: it must grow to count as progress.
    share: AtomicU64,
    is_over: AtomicBool,
}

impl Pulse {
    fn beat(&self) {
        self.last_us
            .store(self.start.elapsed_us(), Ordering::Relaxed);
    }

    fn silence(&self) -> Duration {
        let now = self.start.elapsed_us();
        Duration::from_micros(now.saturating_sub(self.last_us.load(Ordering::Relaxed)))
    }
}

/// Records progress.
#[derive(Clone)]
pub(super) struct Heart(Arc<Pulse>);

impl Heart {
    /// A run began, ended or entered a step.
    pub(super) fn step(&self) {
        self.0.beat();
    }

    /// The load of a run reports its progress.
    pub(super) fn live(&self, live: &Live) {
        let share = live.share.map_or(0, |share| (share * 1e6) as u64);
        if self.0.share.swap(share, Ordering::Relaxed) != share {
            self.0.beat();
        }
    }
}

impl Notifier {
    /// Watches an experiment, if there is an address for messages.
    pub(super) fn new(addresses: &[Address], experiment: &str, directory: &str) -> Notifier {
        let notifier = Notifier {
            addresses: addresses.to_vec(),
            experiment: experiment.to_owned(),
            directory: directory.to_owned(),
            pulse: Arc::new(Pulse {
                start: Moment::now(),
                last_us: AtomicU64::new(0),
                share: AtomicU64::new(0),
                is_over: AtomicBool::new(false),
            }),
        };
        notifier.watch_for_a_stall();
        notifier
    }

    pub(super) fn heart(&self) -> Heart {
        Heart(Arc::clone(&self.pulse))
    }

    fn watch_for_a_stall(&self) {
        if self.addresses.is_empty() {
            return;
        }
        let pulse = Arc::clone(&self.pulse);
        let addresses = self.addresses.clone();
        let text = format!(
            "nothing has happened for {} minutes; nothing was stopped",
            STALL.as_secs() / 60
        );
        let message = self.message("stall", "stalls", &text);
        let body = move || {
            let mut is_reported = false;
            while !pulse.is_over.load(Ordering::Relaxed) {
                let is_silent = pulse.silence() >= STALL;
                if is_silent && !is_reported {
                    send_all(&addresses, &message);
                }
                is_reported = is_silent;
                sleep(Duration::from_millis(500));
            }
        };
        // The thread ends with the experiment, or with the process.
        if thread::spawn_named("notify", body).is_err() {
            eprintln!(
                "furrow: --notify: a stall will not be seen, because no thread could be started"
            );
        }
    }

    fn message(&self, event: &'static str, what: &str, text: &str) -> Message {
        Message {
            event,
            experiment: self.experiment.clone(),
            subject: format!("furrow lab {} {what}: {text}", self.experiment),
            text: text.to_owned(),
            directory: self.directory.clone(),
        }
    }

    /// The experiment is done.
    pub(super) fn ended(&self, sentence: &str) {
        self.pulse.is_over.store(true, Ordering::Relaxed);
        send_all(&self.addresses, &self.message("end", "has ended", sentence));
    }

    /// The experiment stopped before its end.
    pub(super) fn failed(&self, why: &str) {
        self.pulse.is_over.store(true, Ordering::Relaxed);
        send_all(
            &self.addresses,
            &self.message("failure", "has stopped", why),
        );
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.pulse.is_over.store(true, Ordering::Relaxed);
    }
}

fn send_all(addresses: &[Address], message: &Message) {
    for address in addresses {
        if let Err(why) = address.send(message) {
            eprintln!("furrow: --notify {address}: {why}");
        }
    }
}

/// `furrow lab notify --test`: sends one message to each address.
pub(super) fn test(addresses: &[Address]) -> Result<u8, Failure> {
    let notifier = Notifier::new(&[], "test", "");
    let text = "this is a test; a message comes when an experiment ends, fails or stalls";
    let message = notifier.message("test", "was asked for a message", text);
    let mut failures = Vec::new();
    for address in addresses {
        match address.send(&message) {
            Ok(()) => print(&format!("sent to {address}\n"))?,
            Err(why) => failures.push(format!("{address}: {why}")),
        }
    }
    match failures.is_empty() {
        true => Ok(0),
        false => Err(Failure::new(FAILED, failures.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_commands_webhooks_and_mail() {
        let parsed = |text: &str| Address::parse(text).map(|address| address.to_string());
        for good in [
            "command:logger furrow",
            "https://example.org/hook?a=1:2",
            "http://localhost:8080/",
            "mailto:dba@example.org",
        ] {
            assert_eq!(parsed(good).as_deref(), Ok(good));
        }
        for wrong in [
            "",
            "logger",
            "command:",
            "ftp://x",
            "https://",
            "https:x",
            "mailto:dba",
            "mailto:-oQ/tmp@x",
            "mailto:a@b c",
        ] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_command_gets_the_message_and_its_failure_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("message.json");
        let line = format!("command:cat > '{}'", file.display());
        let notifier = Notifier::new(&[Address::parse(&line).unwrap()], "ab", "/out");
        notifier.ended("no difference shown");
        let text = Command::new("cat").arg(&file).output().unwrap();
        let message: serde_json::Value = serde_json::from_slice(&text.stdout).unwrap();
        assert_eq!(message["event"], "end");
        assert_eq!(
            message["subject"],
            "furrow lab ab has ended: no difference shown"
        );
        assert_eq!(message["directory"], "/out");
        let broken = Address::Command("exit 3".to_owned());
        let why = broken.send(&notifier.message("test", "", "")).unwrap_err();
        assert!(why.contains('3'), "{why}");
        assert!(test(&[broken]).is_err());
    }

    #[test]
    fn a_live_line_without_progress_is_silence() {
        let notifier = Notifier::new(&[], "ab", "/out");
        let heart = notifier.heart();
        let live = |share| Live {
            share: Some(share),
            ..Live::default()
        };
        heart.live(&live(0.5));
        let then = notifier.pulse.last_us.load(Ordering::Relaxed);
        sleep(Duration::from_millis(2));
        heart.live(&live(0.5));
        assert_eq!(notifier.pulse.last_us.load(Ordering::Relaxed), then);
        heart.live(&live(0.6));
        assert!(notifier.pulse.last_us.load(Ordering::Relaxed) > then);
    }
}
