//! Days, clocks that jump, and what outlives the program.

use std::sync::Arc;

use super::{restore, store, *};
use crate::document_store::{DocumentStore, MemoryDocumentStore};
use crate::limits::{LimitSettings, Limits};

const MOST: usize = 1000;

fn at(day: u64, hour: u64) -> Duration {
    Duration::from_secs(day * 86400 + hour * 3600)
}

fn tool(name: &str, limit: u64) -> QuotaCharge<'_> {
    QuotaCharge { scope: Scope::Tool, name, limit }
}

#[tokio::test(start_paused = true)]
async fn days_and_clocks_that_jump() {
    let budget = Budget::new();
    // What the clock says, hours that pass before, and whether a call of two a day may be made.
    let cases = [
        ("the first", at(100, 0), 0, true),
        ("the second", at(100, 23), 0, true),
        ("used up", at(100, 23), 0, false),
        ("set back a day", at(99, 0), 0, false),
        ("set back a year", at(1, 0), 12, false),
        ("and forth again", at(100, 23), 0, false),
        ("the next day", at(101, 0), 0, true),
        ("back to the day before", at(100, 0), 0, true),
        ("which is the same day to us", at(100, 0), 0, false),
        ("until a day has passed", at(101, 0), 24, false),
        ("on a clock that stays back", at(100, 0), 0, true),
    ];
    for (case, time, hours, expected) in cases {
        tokio::time::advance(Duration::from_secs(hours * 3600)).await;
        assert_eq!(budget.charge(&[tool("a", 2)], time, MOST).is_ok(), expected, "{case}");
    }
}

#[test]
fn of_several_budgets_all_are_drawn_on_or_none() {
    let budget = Budget::new();
    let me = |limit| QuotaCharge { scope: Scope::Principal, name: "a", limit };
    let cases = [
        ([me(2), tool("a", 1)], Ok(())),
        ([me(2), tool("a", 1)], Err(1)),
        ([me(2), tool("b", 1)], Ok(())),
        ([me(2), tool("c", 1)], Err(0)),
        ([me(3), tool("c", 1)], Ok(())),
    ];
    for (draws, expected) in cases {
        assert_eq!(budget.charge(&draws, at(5, 0), MOST), expected, "{draws:?}");
    }
}

#[test]
fn no_more_names_are_known_than_may_be() {
    let budget = Budget::new();
    for _ in 0..3 {
        assert_eq!(budget.charge(&[tool("busy", 3)], at(5, 0), 10), Ok(()));
    }
    for number in 0..100 {
        assert_eq!(budget.charge(&[tool(&number.to_string(), 1)], at(5, 0), 10), Ok(()));
    }
    assert!(budget.used().counts.len() <= 10);
    assert_eq!(budget.charge(&[tool("busy", 3)], at(5, 0), 10), Err(0), "who used most is known");
}

#[test]
fn the_next_day() {
    assert_eq!(until_tomorrow(at(7, 23)), Duration::from_secs(3600));
    assert_eq!(until_tomorrow(at(7, 0)), DAY);
}

#[tokio::test]
async fn a_restart_refills_nothing_and_gateways_add_up() {
    let document_store = MemoryDocumentStore::default();
    let gateway = || Limits::new(LimitSettings::default());
    let charge =
        |limits: &Arc<Limits>| limits.budget.charge(&[tool("a", 4)], at(9, 1), MOST).is_ok();
    let (one, two) = (gateway(), gateway());
    assert!(charge(&one) && charge(&two) && charge(&two));
    for limits in [&one, &two, &two] {
        store(limits, &document_store).await.expect("it can be written");
    }
    let again = gateway();
    restore(&again, &document_store).await.expect("it can be read");
    assert!(charge(&again), "three of four were used");
    assert!(!charge(&again));
    // The first one learns of the others when it next writes.
    assert!(charge(&one));
    store(&one, &document_store).await.expect("it can be written");
    assert!(!charge(&one));
}

#[tokio::test]
async fn what_cannot_be_read_is_counted_anew() {
    let document_store = MemoryDocumentStore::default();
    document_store.put("budget", "today", "{".to_owned()).await.expect("it can be written");
    let limits = Limits::new(LimitSettings::default());
    restore(&limits, &document_store).await.expect("it can be read");
    assert_eq!(limits.budget.charge(&[tool("a", 1)], at(9, 1), MOST), Ok(()));
    store(&limits, &document_store).await.expect("it can be written");
    let again = Limits::new(LimitSettings::default());
    restore(&again, &document_store).await.expect("it can be read");
    assert_eq!(again.budget.charge(&[tool("a", 1)], at(9, 1), MOST), Err(0));
}
