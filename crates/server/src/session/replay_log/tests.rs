//! Streams that are left and taken up again, within their bounds.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;

use crate::quota::{Account, QuotaTable};
use crate::session::replay_log::{ReplayLog, ReplayReader, parse_event_id};
use crate::settings::Settings;

const RETRY: Duration = Duration::from_millis(500);

fn log(settings: &Settings) -> Arc<ReplayLog> {
    ReplayLog::new(7, settings, &account(settings, "ada"))
}

fn account(settings: &Settings, principal: &str) -> Arc<Account> {
    QuotaTable::new(settings).account(&Arc::from(principal))
}

/// Whether a word was taken; none if it would have to wait.
fn push(log: &ReplayLog, word: &str) -> Option<bool> {
    log.push(Bytes::from(word.to_owned())).now_or_never()
}

fn say(log: &ReplayLog, words: &str) {
    words.split(' ').for_each(|word| assert_eq!(push(log, word), Some(true)));
}

/// What a reader has to read now, and whether the stream has ended for it.
fn read(reader: &mut ReplayReader) -> (String, bool) {
    let mut events = Vec::new();
    loop {
        match reader.next().now_or_never() {
            Some(Some(event)) => events.push(short(&event)),
            Some(None) => return (events.join(" "), true),
            None => return (events.join(" "), false),
        }
    }
}

/// `number:data`, with `~` for the time to wait.
fn short(event: &Bytes) -> String {
    let text = std::str::from_utf8(event).unwrap();
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let number = field("id: 7-").unwrap_or("?");
    let retry = field("retry: ").map_or(String::new(), |retry| format!("~{retry}"));
    format!("{number}:{}{retry}", field("data: ").unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn a_reader_reads_all_from_its_place_on() {
    let log = log(&Settings::default());
    let mut first = log.read_from(0, Some(RETRY));
    assert_eq!(read(&mut first), ("0:~500".to_owned(), false), "a place to come back to");
    say(&log, "a b c");
    assert_eq!(read(&mut first), ("1:a 2:b 3:c".to_owned(), false));
    let mut second = log.read_from(2, Some(RETRY));
    assert_eq!(read(&mut second), ("2:~500 3:c".to_owned(), false));
    say(&log, "d");
    log.finish();
    assert_eq!(read(&mut first), ("4:d".to_owned(), true));
    assert_eq!(read(&mut second), ("4:d".to_owned(), true));
    assert_eq!(read(&mut log.read_from(0, None)), ("1:a 2:b 3:c 4:d".to_owned(), true));
    assert_eq!(read(&mut log.read_from(u64::MAX, None)), (String::new(), true));
    assert_eq!(push(&log, "late"), Some(false), "a stream that has ended takes nothing");
}

#[tokio::test(start_paused = true)]
async fn waiting_readers_are_woken() {
    let log = log(&Settings::default());
    let mut reader = log.read_from(0, None);
    let waiting = tokio::spawn(async move { (reader.next().await, reader.next().await) });
    tokio::task::yield_now().await;
    say(&log, "a");
    tokio::task::yield_now().await;
    log.finish();
    let (first, end) = waiting.await.unwrap();
    assert_eq!((first.as_ref().map(short).as_deref(), end), (Some("1:a"), None));
}

#[test]
fn what_is_kept_is_bounded() {
    let events = Settings { replay_events: 3, ..Settings::default() };
    let bytes = Settings { replay_bytes: 5, ..Settings::default() };
    let total = Settings { replay_total: 4, ..Settings::default() };
    let cases = [
        (&events, "a b c d e", "3:c 4:d 5:e"),
        (&bytes, "aa bb cc dd", "3:cc 4:dd"),
        (&bytes, "a loooooong", "2:loooooong"),
        (&bytes, "loooooong a", "2:a"),
        (&total, "aa bb cc dd", "3:cc 4:dd"),
        (&Settings { replay_events: 0, ..Settings::default() }, "a b", "2:b"),
    ];
    for (settings, said, kept) in cases {
        let log = log(settings);
        say(&log, said);
        log.finish();
        let (read, ended) = read(&mut log.read_from(0, None));
        assert_eq!((read.as_str(), ended), (kept, true), "{said}");
    }
}

#[test]
fn all_streams_share_one_budget() {
    let settings = Settings { replay_total: 100, ..Settings::default() };
    let account = account(&settings, "ada");
    let logs: Vec<_> = (0..50).map(|number| ReplayLog::new(number, &settings, &account)).collect();
    for _ in 0..20 {
        logs.iter().for_each(|log| say(log, "0123456789"));
    }
    let kept: usize = logs.iter().map(|log| log.state().bytes).sum();
    assert!(kept <= 100, "{kept} bytes are kept, with nobody there to read them");
    drop(logs);
    let log = ReplayLog::new(7, &settings, &account);
    say(&log, "01234 01234 01234");
    log.finish();
    let kept = read(&mut log.read_from(0, None)).0;
    assert_eq!(kept, "1:01234 2:01234 3:01234", "what is gone is given back");
}

#[test]
fn those_sent_away_are_told_when_to_come_back() {
    let log = log(&Settings::default());
    let mut reader = log.read_from(0, None);
    say(&log, "a");
    log.disconnect(Duration::from_secs(2));
    assert_eq!(read(&mut reader), ("1:a 1:~2000".to_owned(), true));
    drop(reader);
    say(&log, "b");
    let mut back = log.read_from(1, None);
    assert_eq!(read(&mut back), ("2:b".to_owned(), false), "it missed nothing and stays");
}

#[test]
fn a_second_reader_of_the_general_stream_takes_the_place_of_the_first() {
    let log = log(&Settings::default());
    let mut first = log.replace_readers(None);
    say(&log, "a");
    let mut second = log.replace_readers(None);
    say(&log, "b");
    assert!(read(&mut first).1, "the first is sent away");
    assert_eq!(read(&mut second), ("2:b".to_owned(), false), "the second hears what is new");
}

#[tokio::test(start_paused = true)]
async fn streams_grow_stale() {
    let kept = Duration::from_secs(60);
    let log = log(&Settings::default());
    let reader = log.read_from(0, None);
    tokio::time::advance(kept * 2).await;
    assert!(!log.is_stale(kept) && !log.is_abandoned(kept), "someone reads it");
    drop(reader);
    tokio::time::advance(kept / 2).await;
    assert!(!log.is_abandoned(kept));
    tokio::time::advance(kept).await;
    assert!(log.is_abandoned(kept) && !log.is_stale(kept));
    log.finish();
    assert!(!log.is_stale(kept));
    tokio::time::advance(kept * 2).await;
    assert!(log.is_stale(kept));
}

#[test]
fn places_are_read_or_not() {
    let cases = [
        ("7-3", Some((7, 3))),
        ("0-0", Some((0, 0))),
        ("", None),
        ("7", None),
        ("-", None),
        ("7-", None),
        ("-3", None),
        ("7-3-1", None),
        ("a-b", None),
        ("18446744073709551616-0", None),
    ];
    for (place, expected) in cases {
        assert_eq!(parse_event_id(place), expected, "{place}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_goes_that_somebody_who_is_there_has_not_read() {
    let few = Settings { replay_events: 2, ..Settings::default() };
    let small = Settings { replay_bytes: 2, ..Settings::default() };
    let spent = Settings { replay_total: 2, ..Settings::default() };
    for settings in [few, small, spent] {
        let log = log(&settings);
        let mut reader = log.read_from(0, None);
        say(&log, "a b");
        assert_eq!(push(&log, "c"), None, "it has to wait");
        let waiting = tokio::spawn({
            let log = log.clone();
            async move { log.push(Bytes::from_static(b"c")).await }
        });
        tokio::task::yield_now().await;
        assert_eq!(read(&mut reader).0, "1:a 2:b");
        assert!(waiting.await.unwrap());
        assert_eq!(read(&mut reader).0, "3:c");
        say(&log, "d e");
        let waiting = tokio::spawn({
            let log = log.clone();
            async move { log.push(Bytes::from_static(b"f")).await }
        });
        tokio::task::yield_now().await;
        drop(reader);
        assert!(waiting.await.unwrap(), "nobody is there any more");
        say(&log, "g h");
    }
}
