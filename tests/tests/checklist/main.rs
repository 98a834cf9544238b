//! What the newest revision asks of a server, and of one that serves older revisions beside it:
//! a numbered table, one check a line. Authorization is not part of it.

#![expect(clippy::unwrap_used, reason = "a test may say plainly what it takes for granted")]
#![expect(clippy::needless_pass_by_value, reason = "cases write their values in place")]

mod base;
mod eras;
mod features;
mod http;
mod listen;
mod questions;
mod stdio;
mod tasks;

use gantry_tests::checks::Check;

/// The numbers that the table must have.
fn scope() -> Vec<u32> {
    let ranges = [
        (1, 17),
        (23, 25),
        (30, 51),
        (62, 65),
        (70, 76),
        (81, 86),
        (89, 90),
        (93, 94),
        (96, 102),
        (119, 123),
        (126, 129),
    ];
    ranges.into_iter().flat_map(|(first, last)| first..=last).collect()
}

fn table() -> Vec<Check> {
    let parts = [
        base::checks(),
        http::checks(),
        stdio::checks(),
        questions::checks(),
        listen::checks(),
        features::checks(),
        eras::checks(),
        tasks::checks(),
    ];
    parts.into_iter().flatten().collect()
}

#[test]
fn the_table_has_every_number_once() {
    let mut numbers: Vec<_> = table().iter().map(|check| check.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, scope());
}

#[tokio::test]
async fn every_check_holds() {
    let mut failed = Vec::new();
    for check in table() {
        let (number, title) = (check.number, check.title);
        // A check that fails says why on standard error; the others are still to be seen.
        if tokio::spawn(check.hold()).await.is_err() {
            failed.push(format!("check {number}: {title}"));
        }
    }
    assert!(failed.is_empty(), "{} checks failed:\n{}", failed.len(), failed.join("\n"));
}

#[tokio::test]
async fn a_session_goes_on_after_a_restart() {
    eras::restart().await;
}
