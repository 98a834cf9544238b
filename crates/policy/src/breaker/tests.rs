//! The breaker of a server, in a gateway.

use gantry_gateway::CallStream;

use super::*;
use crate::fake_gateway::FakeGateway;

const DOWN: Option<ErrorKind> = Some(ErrorKind::Unavailable);

fn settings() -> BreakerSettings {
    let (wait, longest) = (Duration::from_secs(10), Duration::from_secs(25));
    BreakerSettings { failures: 3, wait, longest, ..BreakerSettings::default() }
}

fn fake_gateway() -> (FakeGateway, Breakers) {
    let breakers = Breakers::new(settings());
    (FakeGateway::new(|builder| builder.call_filter(breakers.clone())), breakers)
}

/// Fails until the breaker is open.
async fn open(fake_gateway: &FakeGateway, breakers: &Breakers) {
    fake_gateway.fake_provider.fails(DOWN);
    for _ in 0..3 {
        assert_eq!(fake_gateway.told("a", "far_get").await, "as it was told");
    }
    assert_eq!(breakers.state("far"), BreakerState::Open);
}

/// Lets the time of rest pass, and begins the call that is a try of the server, which does not end.
async fn probe(fake_gateway: &FakeGateway) -> CallStream {
    fake_gateway.fake_provider.fails(None);
    tokio::time::advance(Duration::from_secs(13)).await;
    fake_gateway.fake_provider.hold();
    let mut probe = fake_gateway.start("a", "far_get", "{}");
    assert!(futures_util::poll!(Box::pin(probe.next_event())).is_pending());
    probe
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_left_alone_and_then_tried() {
    let (fake_gateway, breakers) = fake_gateway();
    open(&fake_gateway, &breakers).await;
    let told = fake_gateway.told("a", "far_put").await;
    assert!(told.starts_with("the server `far` has failed 3 times in a row"), "{told}");
    assert!(told.ends_with("or begin it anew with `gantry restart far`"), "{told}");
    assert_eq!(fake_gateway.fake_provider.decisions(), ["!breaker: server far"]);
    assert_eq!(
        (fake_gateway.fake_provider.served(), fake_gateway.told("a", "here").await),
        (3, "as it was told".into())
    );

    // Longer and longer, with a fifth more or less, and not without end.
    for wait in [10, 20, 25, 25] {
        tokio::time::advance(Duration::from_secs(wait).mul_f64(0.79)).await;
        assert_ne!(
            fake_gateway.told("a", "far_get").await,
            "as it was told",
            "too early for {wait}"
        );
        tokio::time::advance(Duration::from_secs(wait).mul_f64(0.42)).await;
        assert_eq!(fake_gateway.told("a", "far_get").await, "as it was told", "{wait} are over");
    }
    fake_gateway.fake_provider.fails(None);
    tokio::time::advance(Duration::from_secs(31)).await;
    fake_gateway.fake_provider.decisions();
    assert_eq!(fake_gateway.told("a", "far_get").await, "ok");
    assert_eq!(fake_gateway.fake_provider.decisions(), ["breaker: server far is tried"]);
    assert_eq!(breakers.state("far"), BreakerState::Closed);
    assert_eq!(fake_gateway.told("a", "far_get").await, "ok");
}

#[tokio::test(start_paused = true)]
async fn one_call_at_a_time_is_a_try() {
    let (fake_gateway, breakers) = fake_gateway();
    open(&fake_gateway, &breakers).await;
    let probe = probe(&fake_gateway).await;
    assert_eq!(breakers.state("far"), BreakerState::HalfOpen);
    assert!(fake_gateway.told("b", "far_get").await.contains("is left alone"));
    // One that is given up has shown nothing; the next call is another.
    drop(probe);
    assert_eq!(breakers.state("far"), BreakerState::Open);
    fake_gateway.fake_provider.release(10);
    assert_eq!(fake_gateway.told("b", "far_get").await, "ok");
    assert_eq!(breakers.state("far"), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_try_that_takes_long_does_not_keep_others_from_it() {
    let (fake_gateway, breakers) = fake_gateway();
    open(&fake_gateway, &breakers).await;
    let probe = probe(&fake_gateway).await;
    tokio::time::advance(Duration::from_secs(11)).await;
    fake_gateway.fake_provider.release(2);
    assert_eq!(fake_gateway.told("b", "far_get").await, "ok");
    assert_eq!(breakers.state("far"), BreakerState::Closed);
    drop(probe);
    assert_eq!(breakers.state("far"), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn what_counts() {
    let (timeout, tool) = (Some(ErrorKind::Timeout), Some(ErrorKind::ToolFailed));
    let good = None;
    let limited = Some(ErrorKind::LimitExceeded { retry_after: None });
    let cases = [
        ("three in a row", vec![DOWN, timeout.clone(), DOWN], BreakerState::Open),
        ("not in a row", vec![DOWN, DOWN, good.clone(), DOWN], BreakerState::Closed),
        ("what a tool does", vec![tool.clone(), tool.clone(), tool.clone()], BreakerState::Closed),
        ("between them", vec![DOWN, DOWN, tool, DOWN], BreakerState::Closed),
        ("limits", vec![limited.clone(), limited.clone(), limited], BreakerState::Closed),
    ];
    for (case, failures, expected) in cases {
        let (fake_gateway, breakers) = fake_gateway();
        for failure in failures {
            fake_gateway.fake_provider.fails(failure);
            fake_gateway.told("a", "far_get").await;
        }
        assert_eq!(breakers.state("far"), expected, "{case}");
    }
    let (fake_gateway, breakers) = fake_gateway();
    fake_gateway.fake_provider.fails(timeout);
    for _ in 0..5 {
        fake_gateway.told("a", "far_get").await;
        tokio::time::advance(Duration::from_secs(61)).await;
    }
    assert_eq!(breakers.state("far"), BreakerState::Closed, "too far apart");
}

#[tokio::test(start_paused = true)]
async fn settings_resets_and_metrics() {
    let (fake_gateway, breakers) = fake_gateway();
    open(&fake_gateway, &breakers).await;
    let mut metrics = String::new();
    breakers.write_metrics(&mut metrics);
    assert!(metrics.ends_with("gantry_breaker{server=\"far\"} 2\n"), "{metrics}");
    breakers.configure(BreakerSettings { failures: 0, ..settings() });
    assert_eq!(fake_gateway.told("a", "far_get").await, "as it was told", "switched off");
    breakers.configure(settings());
    assert_ne!(fake_gateway.told("a", "far_get").await, "as it was told");
    breakers.reset("far");
    assert_eq!(breakers.state("far"), BreakerState::Closed);
    assert_eq!(fake_gateway.told("a", "far_get").await, "as it was told");
}

#[test]
fn no_more_servers_are_known_than_may_be() {
    let breakers = Breakers::new(settings());
    for number in 0..100 {
        let server: Arc<str> = number.to_string().into();
        breakers.circuit(&server, 10).failed(None, &settings());
    }
    assert!(breakers.0.circuits.read().expect("nobody panics").len() <= 10);
}
