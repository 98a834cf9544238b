//! Places, turns, and what becomes of those who give up.

use proptest::prelude::*;

use super::*;
use crate::limits::Keys;

const LONG: Duration = Duration::from_secs(3600);

struct TestGateway {
    limiter: Arc<ConcurrencyLimiter>,
    keys: Keys,
    limit: usize,
}

impl TestGateway {
    fn new(limit: usize) -> Self {
        Self { limiter: Arc::new(ConcurrencyLimiter::new()), keys: Keys::new(), limit }
    }

    fn enter(&self, who: &str) -> Acquire {
        let (room, who) = (self.room(), self.keys.of("test", &[who]));
        self.limiter.enter(ConcurrencyPermit { room, limit: self.limit, who, queue: 1000 })
    }

    fn waits(&self, who: &str) -> Waiting {
        match self.enter(who) {
            Acquire::Waits(waiting) => waiting,
            other => panic!("{who}: {other:?}"),
        }
    }

    fn room(&self) -> Key {
        self.keys.of("test", &["room"])
    }

    /// One leaves; whose turn it is then.
    fn next(&self, waiting: &mut Vec<(String, Waiting)>) -> Option<String> {
        self.limiter.leave(self.room());
        let at = waiting.iter_mut().position(|(_, it)| {
            it.entered = it.called.try_recv().is_ok();
            it.entered
        })?;
        Some(waiting.remove(at).0)
    }
}

#[test]
fn callers_take_turns_and_each_is_served_in_order() {
    let test_gateway = TestGateway::new(1);
    assert!(matches!(test_gateway.enter("a"), Acquire::Entered));
    let line = ["a1", "a2", "a3", "b1", "b2", "c1"];
    let waits = |name: &str| (name.to_owned(), test_gateway.waits(&name[..1]));
    let mut waiting: Vec<_> = line.into_iter().map(waits).collect();
    let mut order = Vec::new();
    while let Some(next) = test_gateway.next(&mut waiting) {
        order.push(next);
    }
    assert_eq!(order, ["a1", "b1", "c1", "a2", "b2", "a3"]);
    assert_eq!(test_gateway.limiter.len(), 0, "an empty room is forgotten");
}

#[test]
fn one_call_waits_for_one_of_a_thousand() {
    let test_gateway = TestGateway::new(1);
    assert!(matches!(test_gateway.enter("greedy"), Acquire::Entered));
    let mut waiting: Vec<_> =
        (0..1000).map(|_| ("greedy".to_owned(), test_gateway.waits("greedy"))).collect();
    assert!(matches!(test_gateway.enter("greedy"), Acquire::Full), "a line has an end");
    waiting.push(("modest".to_owned(), test_gateway.waits("modest")));
    assert_eq!(test_gateway.next(&mut waiting).as_deref(), Some("greedy"));
    assert_eq!(test_gateway.next(&mut waiting).as_deref(), Some("modest"));
}

#[test]
fn who_gives_up_leaves_the_line_or_the_place() {
    let test_gateway = TestGateway::new(1);
    assert!(matches!(test_gateway.enter("a"), Acquire::Entered));
    let (first, second) = (test_gateway.waits("a"), test_gateway.waits("a"));
    drop(first);
    test_gateway.limiter.leave(test_gateway.room());
    // It was called, but is gone before it hears of it.
    drop(second);
    assert_eq!(test_gateway.limiter.len(), 0);
    assert!(matches!(test_gateway.enter("a"), Acquire::Entered));
}

#[test]
fn a_raised_limit_lets_those_in_who_wait() {
    let mut test_gateway = TestGateway::new(1);
    assert!(matches!(test_gateway.enter("a"), Acquire::Entered));
    let mut waiting = test_gateway.waits("a");
    test_gateway.limit = 3;
    let mut later = test_gateway.waits("b");
    assert!(waiting.called.try_recv().is_ok() && later.called.try_recv().is_ok());
    (waiting.entered, later.entered) = (true, true);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever() {
    let test_gateway = TestGateway::new(1);
    assert!(matches!(test_gateway.enter("a"), Acquire::Entered));
    assert!(!test_gateway.waits("b").entered(LONG).await);
    test_gateway.limiter.leave(test_gateway.room());
    assert_eq!(test_gateway.limiter.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn never_more_than_may_be_and_none_is_lost() {
    let test_gateway = Arc::new(TestGateway::new(3));
    let inside = Arc::new(AtomicU64::new(0));
    let calls = (0..400).map(|number| {
        let (test_gateway, inside) = (test_gateway.clone(), inside.clone());
        tokio::spawn(async move {
            match test_gateway.enter(&(number % 7).to_string()) {
                Acquire::Entered => {}
                // Every fifth gives up when it has just begun to wait.
                Acquire::Waits(waiting) if number % 5 == 0 => {
                    let patience = Duration::from_nanos(1);
                    if !waiting.entered(patience).await {
                        return;
                    }
                }
                Acquire::Waits(waiting) => assert!(waiting.entered(LONG).await),
                Acquire::Full => panic!("there is room to wait"),
            }
            assert!(inside.fetch_add(1, Relaxed) < 3);
            tokio::task::yield_now().await;
            inside.fetch_sub(1, Relaxed);
            test_gateway.limiter.leave(test_gateway.room());
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.expect("it ends");
    }
    assert_eq!(test_gateway.limiter.len(), 0);
}

proptest! {
    /// However long the lines of others are, a caller's next call waits for at most one of each of
    /// them.
    #[test]
    fn nobody_waits_for_more_than_one_of_each_other(lines in prop::collection::vec(0_usize..30, 1..8)) {
        let test_gateway = TestGateway::new(1);
        assert!(matches!(test_gateway.enter("first"), Acquire::Entered));
        let mut waiting = Vec::new();
        for (caller, calls) in lines.iter().enumerate() {
            let caller = caller.to_string();
            waiting.extend((0..*calls).map(|_| (caller.clone(), test_gateway.waits(&caller))));
        }
        waiting.push(("modest".to_owned(), test_gateway.waits("modest")));
        let mut served = Vec::new();
        while let Some(next) = test_gateway.next(&mut waiting) {
            served.push(next);
        }
        let turn = served.iter().position(|who| who == "modest").expect("it has its turn");
        prop_assert!(turn <= lines.iter().filter(|calls| **calls > 0).count());
        prop_assert_eq!(served.len(), lines.iter().sum::<usize>() + 1);
    }
}
