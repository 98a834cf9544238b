//! Clocks that jump, while the program runs and while it does not.

use super::*;
use crate::document_store::{DocumentStore, MemoryDocumentStore};
use crate::signed_store::Signer;

const NOON: u64 = 1_000_000;

/// A clock, and what sets it.
fn clock(at: u64) -> (Clock, Arc<AtomicU64>) {
    let wall = Arc::new(AtomicU64::new(at));
    let told = wall.clone();
    (Clock::new(move || told.load(Ordering::SeqCst)), wall)
}

#[tokio::test(start_paused = true)]
async fn time_never_goes_back_and_never_stands_still() {
    let (clock, wall) = clock(NOON);
    // Seconds that pass, what the wall says then, and what it is.
    let cases = [
        (0, NOON, NOON),
        (10, NOON + 10, NOON + 10),
        (0, NOON + 3600, NOON + 3600),
        (0, NOON, NOON + 3600),
        (5, 0, NOON + 3605),
        (5, NOON + 3607, NOON + 3610),
        (0, NOON + 3611, NOON + 3611),
        (0, u64::MAX / 1000, u64::MAX / 1000),
    ];
    for (passed, says, expected) in cases {
        tokio::time::advance(Duration::from_secs(passed)).await;
        wall.store(says, Ordering::SeqCst);
        assert_eq!(clock.seconds(), expected, "{passed} later, {says}");
        assert_eq!(clock.clone().seconds(), expected, "a clone is the same clock");
    }
}

#[tokio::test(start_paused = true)]
async fn the_latest_time_is_kept_and_believed_only_if_we_wrote_it() {
    let document_store = Arc::new(MemoryDocumentStore::default());
    let recalled = async |at, key| {
        clock(at)
            .0
            .recall(document_store.clone(), Signer::new([key; 32]))
            .await
            .expect("memory")
            .seconds()
    };
    assert_eq!(recalled(NOON, 7).await, NOON, "nothing is kept");
    let (running, wall) = clock(NOON);
    let keeper = ClockFlusher::start(running, document_store.clone(), Signer::new([7; 32]));
    let seen = [("at the start", 0, NOON), ("after a minute", 61, NOON + 70)];
    for (case, passed, now) in seen {
        wall.store(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(passed)).await;
        tokio::task::yield_now().await;
        assert_eq!(recalled(NOON - 500, 7).await, now, "{case}");
    }
    wall.store(NOON + 99, Ordering::SeqCst);
    keeper.stop().await;
    let last = NOON + 99;
    assert_eq!(recalled(NOON, 7).await, last, "at the end");
    assert_eq!(recalled(last + 5, 7).await, last + 5, "what is later counts");
    assert_eq!(recalled(NOON, 8).await, NOON, "another key");

    let earlier = ClockFlusher::start(clock(NOON).0, document_store.clone(), Signer::new([7; 32]));
    earlier.stop().await;
    assert_eq!(recalled(NOON, 7).await, last, "a program that is behind changes nothing");
    document_store.put("clock", "latest", "7".to_owned()).await.expect("memory");
    assert_eq!(recalled(NOON, 7).await, NOON, "not signed");
}
