use super::*;
use crate::Instruments;
use furrow_io::time::{Duration, Moment, WallTime, sleep};
use furrow_io::{Access, MemoryVolume, Open, Volume};
use furrow_messages::{Arg, Message};
use std::path::Path;
use std::sync::Arc;

const AT: WallTime = WallTime::from_unix_us(1_475_581_113_830_000);

fn volume() -> Arc<dyn Volume> {
    Arc::new(MemoryVolume::new())
}

fn open(volume: &Arc<dyn Volume>, options: Options) -> ErrorLog {
    ErrorLog::open(Arc::clone(volume), Path::new("/log"), options).unwrap()
}

fn bytes(volume: &Arc<dyn Volume>, name: &str) -> Vec<u8> {
    let file = volume
        .open(&Path::new("/log").join(name), Open::ReadOnly, Access::Log)
        .unwrap();
    let mut bytes = vec![0; usize::try_from(file.len_bytes().unwrap()).unwrap()];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn texts(log: &ErrorLog, number: usize) -> Vec<String> {
    let entries = log.read(number, &Search::default()).unwrap().unwrap();
    entries.into_iter().map(|entry| entry.text).collect()
}

#[test]
fn lines_have_time_source_and_text_in_their_columns() {
    let volume = volume();
    let log = open(&volume, Options::default());
    log.write_at(
        AT,
        Source::Spid(56),
        "Proportional Fill Recalculation Starting",
    );
    log.write_at(AT, Source::SystemSpid(19), "deadlock-list");
    log.write_at(AT, Source::Server, "a\r\nb");
    log.flush().unwrap();
    let text = String::from_utf8(bytes(&volume, "ERRORLOG")).unwrap();
    assert_eq!(
        text,
        "2016-10-04 11:38:33.83 spid56      Proportional Fill Recalculation Starting\n\
         2016-10-04 11:38:33.83 spid19s     deadlock-list\n\
         2016-10-04 11:38:33.83 Server      a\n\
         2016-10-04 11:38:33.83 Server      b\n"
    );
}

#[test]
fn a_line_is_in_the_file_after_the_flush_and_in_the_tail_at_once() {
    let volume = volume();
    let log = open(
        &volume,
        Options {
            tail_lines: 2,
            ..Options::default()
        },
    );
    for text in ["one", "two", "three"] {
        log.write(Source::Server, text);
    }
    assert!(bytes(&volume, "ERRORLOG").is_empty());
    let tail: Vec<String> = log.tail(9).into_iter().map(|entry| entry.text).collect();
    assert_eq!(tail, ["two", "three"]);
    log.flush().unwrap();
    log.flush().unwrap();
    assert_eq!(texts(&log, 0), ["one", "two", "three"]);
}

#[test]
fn both_encodings_are_read_back_and_utf_16_has_its_mark() {
    for encoding in [Encoding::Utf8, Encoding::Utf16] {
        let volume = volume();
        let log = open(
            &volume,
            Options {
                encoding,
                ..Options::default()
            },
        );
        log.write_at(AT, Source::Backup, "table '\u{fc}\u{1f33e}' x");
        log.flush().unwrap();
        log.write_at(AT, Source::Logon, "second");
        let entries = log.read(0, &Search::default()).unwrap().unwrap();
        assert_eq!((entries[0].at, entries[0].source.as_str()), (AT, "Backup"));
        assert_eq!(entries[0].text, "table '\u{fc}\u{1f33e}' x");
        assert_eq!(entries[1].text, "second");
        let marked = bytes(&volume, "ERRORLOG").starts_with(&[0xff, 0xfe, b'2', 0]);
        assert_eq!(marked, encoding == Encoding::Utf16);
    }
}

#[test]
fn cycling_moves_files_up_and_drops_the_oldest() {
    let volume = volume();
    let options = Options {
        archives: 3,
        banner: vec!["Furrow".to_owned()],
        ..Options::default()
    };
    let log = open(&volume, options);
    for turn in 0..5 {
        log.write(Source::Server, &format!("turn {turn}"));
        log.cycle().unwrap();
    }
    let first = "The error log has been reinitialized. See the previous log for older entries.";
    assert_eq!(texts(&log, 0), [first, "Furrow"]);
    assert_eq!(texts(&log, 1), [first, "Furrow", "turn 4"]);
    assert_eq!(texts(&log, 3), [first, "Furrow", "turn 2"]);
    assert!(log.read(4, &Search::default()).unwrap().is_none());
    assert_eq!(log.tail(9)[0].text, first, "the tail begins again as well");
}

#[test]
fn a_file_larger_than_a_copying_step_is_cycled_whole() {
    let volume = volume();
    let log = open(&volume, Options::default());
    for line in 0..3000 {
        log.write(Source::Server, &format!("line {line} {}", "x".repeat(40)));
    }
    log.flush().unwrap();
    let before = bytes(&volume, "ERRORLOG");
    assert!(before.len() > 200_000);
    log.cycle().unwrap();
    assert!(bytes(&volume, "ERRORLOG.1") == before);
}

#[test]
fn an_instance_that_starts_begins_a_new_file() {
    let volume = volume();
    let log = open(&volume, Options::default());
    log.write(Source::Server, "first life");
    log.flush().unwrap();
    drop(log);
    let log = open(&volume, Options::default());
    log.write(Source::Server, "second life");
    assert_eq!(texts(&log, 0), ["second life"]);
    assert_eq!(texts(&log, 1), ["first life"]);
}

#[test]
fn a_search_looks_for_both_texts_in_the_time_span() {
    let log = ErrorLog::in_memory(Options::default());
    let later = WallTime::from_unix_us(AT.unix_us() + 1_000_000);
    log.write_at(AT, Source::Server, "Recovery of database 'a'");
    log.write_at(later, Source::Server, "recovery of database 'b'");
    log.write_at(later, Source::Server, "Starting up database 'b'");
    let find = |search: Search| -> Vec<String> {
        let found = log.read(0, &search).unwrap().unwrap();
        found.into_iter().map(|entry| entry.text).collect()
    };
    let first = Some("RECOVERY".to_owned());
    let both = Search {
        first: first.clone(),
        second: Some("'b'".to_owned()),
        ..Search::default()
    };
    assert_eq!(find(both), ["recovery of database 'b'"]);
    let down = Search {
        first,
        descending: true,
        ..Search::default()
    };
    assert_eq!(
        find(down),
        ["recovery of database 'b'", "Recovery of database 'a'"]
    );
    let early = Search {
        to: Some(AT),
        ..Search::default()
    };
    assert_eq!(find(early), ["Recovery of database 'a'"]);
    let late = Search {
        from: Some(later),
        ..Search::default()
    };
    assert_eq!(find(late).len(), 2);
    assert!(log.read(1, &Search::default()).unwrap().is_none());
}

#[test]
fn errors_are_written_with_their_numbers() {
    let log = ErrorLog::in_memory(Options::default());
    log.write_message(
        Source::Spid(51),
        &Message::new(9002, &["x", "LOG_BACKUP"].map(Arg::from)),
    );
    log.write_message(Source::Server, &Message::new(3408, &[]));
    let tail: Vec<String> = log.tail(9).into_iter().map(|entry| entry.text).collect();
    assert_eq!(tail[0], "Error: 9002, Severity: 17, State: 4.");
    assert_eq!(
        tail[1],
        "The transaction log for database 'x' is full due to 'LOG_BACKUP'."
    );
    assert!(tail[2].starts_with("Recovery is complete.") && tail.len() == 3);
}

#[test]
fn the_writer_brings_lines_to_the_file_and_the_rest_when_it_ends() {
    let volume = volume();
    let log = Arc::new(open(&volume, Options::default()));
    let instruments = Instruments::new();
    let writer = Writer::start(&log, &instruments, 9).unwrap();
    log.write(Source::Server, "by the writer");
    let start = Moment::now();
    while bytes(&volume, "ERRORLOG").is_empty() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "the writer is asleep"
        );
        sleep(Duration::from_millis(1));
    }
    log.write(Source::Server, "last words");
    drop(writer);
    let text = String::from_utf8(bytes(&volume, "ERRORLOG")).unwrap();
    assert!(text.contains("by the writer") && text.ends_with("last words\n"));
}

fn fill_up(volume: &Arc<dyn Volume>) {
    let filler = volume
        .open(Path::new("/filler"), Open::Create, Access::Data)
        .unwrap();
    loop {
        let room = volume.space(Path::new("/")).unwrap().free_bytes;
        if room == 0 {
            return;
        }
        let zeros = vec![0; usize::try_from(room).unwrap()];
        filler
            .write_at(filler.len_bytes().unwrap(), &zeros)
            .unwrap();
    }
}

#[test]
fn an_instance_starts_on_a_full_disk_and_goes_on_with_the_old_file() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::with_capacity(100_000));
    let log = open(&volume, Options::default());
    log.write(Source::Server, &format!("old {}", "x".repeat(20_000)));
    log.flush().unwrap();
    drop(log);
    fill_up(&volume);
    let log = open(
        &volume,
        Options {
            banner: vec!["hello".to_owned()],
            ..Options::default()
        },
    );
    volume.remove(Path::new("/filler")).unwrap();
    let texts = texts(&log, 0);
    assert!(texts[0].starts_with("old "));
    assert!(
        texts[1].starts_with("The error log could not be cycled. "),
        "{}",
        texts[1]
    );
    assert_eq!((texts[2].as_str(), texts.len()), ("hello", 3));
}

#[test]
fn a_full_disk_keeps_the_lines_until_there_is_room() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::with_capacity(100_000));
    let log = open(&volume, Options::default());
    log.write(Source::Server, "before");
    log.flush().unwrap();
    let filler = volume
        .open(Path::new("/filler"), Open::Create, Access::Data)
        .unwrap();
    let mut room = volume.space(Path::new("/")).unwrap().free_bytes;
    while room > 0 {
        let at = filler.len_bytes().unwrap();
        filler
            .write_at(at, &vec![0; usize::try_from(room).unwrap()])
            .unwrap();
        room = volume.space(Path::new("/")).unwrap().free_bytes;
    }
    log.write(Source::Server, &format!("during {}", "x".repeat(20_000)));
    assert!(log.flush().is_err());
    log.write(Source::Server, "after");
    assert!(log.flush().is_err());
    volume.remove(Path::new("/filler")).unwrap();
    log.flush().unwrap();
    let texts = texts(&log, 0);
    assert_eq!(
        (texts[0].as_str(), texts[2].as_str(), texts.len()),
        ("before", "after", 3)
    );
    assert!(texts[1].starts_with("during "));
}

#[test]
fn too_many_lines_on_a_full_disk_drop_the_oldest_and_tell_how_many() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::with_capacity(8 << 20));
    let log = open(&volume, Options::default());
    for line in 0..10_003 {
        log.write(Source::Server, &line.to_string());
    }
    let texts = texts(&log, 0);
    assert_eq!(texts[0], "3 lines could not be written and are lost.");
    assert_eq!((texts[1].as_str(), texts.len()), ("3", 10_001));
}

#[test]
fn a_torn_last_line_does_not_swallow_the_next() {
    for (encoding, torn) in [(Encoding::Utf8, "torn \0\0"), (Encoding::Utf16, "t")] {
        let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::with_capacity(60_000));
        let log = open(
            &volume,
            Options {
                encoding,
                ..Options::default()
            },
        );
        log.write_at(AT, Source::Backup, "whole");
        log.flush().unwrap();
        drop(log);
        let path = Path::new("/log/ERRORLOG");
        let file = volume.open(path, Open::Existing, Access::Log).unwrap();
        file.write_at(file.len_bytes().unwrap(), torn.as_bytes())
            .unwrap();
        drop(file);
        // Without space for a copy the old file is continued.
        fill_up(&volume);
        let log = open(
            &volume,
            Options {
                encoding,
                ..Options::default()
            },
        );
        volume.remove(Path::new("/filler")).unwrap();
        log.write_at(AT, Source::Server, "next");
        let entries = log.read(0, &Search::default()).unwrap().unwrap();
        assert_eq!(
            (entries[0].text.as_str(), entries[0].source.as_str()),
            ("whole", "Backup")
        );
        if encoding == Encoding::Utf8 {
            assert_eq!(
                (entries[1].text.as_str(), entries[1].source.as_str()),
                ("torn ", "Backup")
            );
        }
        assert_eq!(entries.last().unwrap().text, "next");
    }
}

#[test]
fn a_writer_that_rests_after_a_failure_ends_at_once_when_it_is_asked_to() {
    use furrow_io::sim::{Effect, Fault, Ops, SimOptions, SimVolume};
    let sim = SimVolume::new(SimOptions::default());
    let volume: Arc<dyn Volume> = Arc::new(sim.clone());
    let log = Arc::new(open(&volume, Options::default()));
    sim.inject(Fault::new(Ops::Writes, Effect::Fail).times(u64::MAX));
    let instruments = Instruments::new();
    let writer = Writer::start(&log, &instruments, 9).unwrap();
    log.write(Source::Server, "never in the file");
    // Long enough for the failure, short against the rest after it.
    sleep(Duration::from_millis(200));
    let begun = Moment::now();
    drop(writer);
    let ms = begun.elapsed_us() / 1000;
    assert!(ms < 500, "it took {ms} ms");
}
