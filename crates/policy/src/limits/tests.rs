//! The limits in a gateway: who is refused, what is said and what is noted.

use gantry_gateway::{CallError, ErrorKind, Outcome, Reply};

use super::*;
use crate::fake_gateway::{FakeGateway, end};

fn off() -> LimitSettings {
    LimitSettings { default: DefaultRate::Off, ..LimitSettings::default() }
}

fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

fn by<T>(values: &[(&str, T)]) -> Patterns<Option<T>>
where
    T: Copy,
{
    Patterns::new(values.iter().map(|(name, value)| ((*name).to_owned(), Some(*value))))
}

fn fake_gateway(settings: LimitSettings) -> (FakeGateway, Arc<Limits>) {
    let limits = Limits::new(settings);
    let fake_gateway = FakeGateway::new(|builder| {
        builder
            .request_filter(limits.request_filter())
            .call_filter(limits.rates())
            .call_filter(limits.places())
    });
    (fake_gateway, limits)
}

/// What callers other than the local user are told of a limit: not whom or what its pattern means.
fn without_pattern(rule: &str) -> String {
    let words: Vec<_> = rule.split(' ').collect();
    match words[..] {
        ["overall", ..] => rule.to_owned(),
        [kind, _, ref rest @ ..] => [&[kind], rest].concat().join(" "),
        _ => panic!("{rule}"),
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_local_user_is_told_a_pattern() {
    let settings = LimitSettings { per_tool: by(&[("far_*", rate("1/min"))]), ..off() };
    let (fake_gateway, _) = fake_gateway(settings);
    for (who, limit) in [("local", "tool far_* 1/min"), ("a", "tool 1/min")] {
        assert_eq!(fake_gateway.told(who, "far_get").await, "ok");
        let told = fake_gateway.told(who, "far_get").await;
        assert!(told.starts_with(&format!("the limit `{limit}` is reached; try again")), "{told}");
    }
}

/// What is said to each call: who, what, and `ok` or the limit that it met.
async fn check(settings: LimitSettings, cases: &[(&str, &str, &str)]) {
    let (fake_gateway, _) = fake_gateway(settings);
    for (number, (who, tool, expected)) in cases.iter().enumerate() {
        let told = fake_gateway.told(who, tool).await;
        let noted = fake_gateway.fake_provider.decisions();
        if *expected == "ok" {
            assert_eq!((told.as_str(), noted.len()), ("ok", 0), "call {number}");
            continue;
        }
        let told_of = without_pattern(expected);
        assert!(told.contains(&format!("`{told_of}`")), "call {number}: {told}");
        assert_eq!(noted, [format!("!limits: {expected}")], "call {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn rates_by_caller_tool_server_and_over_all() {
    let settings = LimitSettings {
        per_tool: by(&[("far_get", rate("2/min")), ("here", rate("1/min shared"))]),
        ..off()
    };
    check(
        settings,
        &[
            ("a", "far_get", "ok"),
            ("a", "far_get", "ok"),
            ("a", "far_get", "tool far_get 2/min"),
            ("b", "far_get", "ok"),
            ("a", "far_put", "ok"),
            ("a", "here", "ok"),
            ("b", "here", "tool here 1/min shared"),
        ],
    )
    .await;
    let settings = LimitSettings { per_principal: by(&[("a*", rate("1/min"))]), ..off() };
    check(
        settings,
        &[
            ("a", "here", "ok"),
            ("a", "far_get", "principal a* 1/min"),
            ("a2", "far_get", "ok"),
            ("b", "far_get", "ok"),
            ("b", "far_get", "ok"),
        ],
    )
    .await;
    let settings = LimitSettings { per_server: by(&[("far", rate("1/h"))]), ..off() };
    check(
        settings,
        &[("a", "far_get", "ok"), ("b", "far_put", "server far 1/h"), ("b", "here", "ok")],
    )
    .await;
    let settings = LimitSettings { overall: Some(rate("2/s burst 1")), ..off() };
    check(settings, &[("a", "here", "ok"), ("b", "far_get", "overall 2/s burst 1")]).await;
}

#[tokio::test(start_paused = true)]
async fn by_default_what_reaches_outside_has_a_rate() {
    let outside = DefaultRate::Outside(rate("1/min"));
    check(
        LimitSettings { default: outside, ..off() },
        &[
            ("a", "here", "ok"),
            ("a", "here", "ok"),
            ("a", "world", "ok"),
            ("a", "world", "tool * 1/min"),
            ("a", "far_get", "ok"),
            ("a", "far_get", "tool * 1/min"),
        ],
    )
    .await;
    let every = LimitSettings { default: DefaultRate::Every(rate("1/min")), ..off() };
    check(every, &[("a", "here", "ok"), ("a", "here", "tool * 1/min")]).await;
    let without = Patterns::new([("world".to_owned(), None)]);
    let settings = LimitSettings { default: outside, per_tool: without, ..off() };
    check(settings, &[("a", "world", "ok"), ("a", "world", "ok")]).await;
    assert_eq!(LimitSettings::default().default, DefaultRate::Outside(rate("600/min")));
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_when_told_is_served_and_what_changed_is_in_force() {
    let (fake_gateway, limits) =
        fake_gateway(LimitSettings { overall: Some(rate("7/min burst 1")), ..off() });
    assert_eq!(fake_gateway.told("a", "here").await, "ok");
    let refused = refusal(fake_gateway.run("a", "here", "{}").await);
    let ErrorKind::LimitExceeded { retry_after: Some(wait) } = refused.kind else {
        panic!("{refused:?}");
    };
    assert_eq!(refused.public, "the limit `overall 7/min burst 1` is reached; try again in 9s");
    assert_eq!(wait.subsec_nanos() % 1_000_000, 0, "whole milliseconds");
    tokio::time::advance(wait).await;
    assert_eq!(fake_gateway.told("a", "here").await, "ok");
    assert_ne!(fake_gateway.told("a", "here").await, "ok");
    limits.configure(off());
    assert_eq!(fake_gateway.told("a", "here").await, "ok");
    let mut metrics = String::new();
    limits.write_metrics(&mut metrics);
    assert!(metrics.contains("gantry_limited_total{limit=\"rate_overall\"} 2\n"), "{metrics}");
}

#[tokio::test]
async fn sizes() {
    let settings = LimitSettings { arguments: Some(10), response: Some(14), ..off() };
    let (fake_gateway, limits) = fake_gateway(settings.clone());
    // The result is 14 bytes.
    assert_eq!(fake_gateway.told("a", "here").await, "ok");
    let refused = refusal(fake_gateway.run("a", "here", r#"{"long":123}"#).await);
    assert_eq!(
        refused.public,
        "the arguments are 12 bytes, and the limit `arguments` is 10; send less"
    );
    assert_eq!(refused.kind, ErrorKind::LimitExceeded { retry_after: None });
    limits.configure(LimitSettings { response: Some(13), ..settings });
    let refused = refusal(fake_gateway.run("a", "here", "{}").await);
    assert_eq!(
        refused.public,
        "the result is 14 bytes, and the limit `response` is 13; ask for less at a time"
    );
    let expected = ["!limits: arguments 10 bytes", "!limits: response 13 bytes"];
    assert_eq!(fake_gateway.fake_provider.decisions(), expected);
}

#[tokio::test]
async fn a_day_has_a_budget() {
    let daily = DailySettings {
        per_principal: by(&[("*", 3)]),
        per_tool: by(&[("far_*", 1), ("here", 100)]),
    };
    check(
        LimitSettings { daily, ..off() },
        &[
            ("a", "far_get", "ok"),
            ("b", "far_get", "tool far_* 1 a day"),
            ("a", "far_put", "ok"),
            ("a", "here", "ok"),
            ("a", "here", "principal * 3 a day"),
            ("b", "here", "ok"),
        ],
    )
    .await;
}

fn places(change: impl FnOnce(&mut ConcurrencySettings)) -> LimitSettings {
    let mut settings = off();
    change(&mut settings.concurrency);
    settings
}

#[tokio::test(start_paused = true)]
async fn calls_wait_for_a_place_and_callers_take_turns() {
    let (fake_gateway, _) = fake_gateway(places(|it| it.overall = Some(1)));
    fake_gateway.fake_provider.hold();
    let line =
        ["a1", "a2", "a3", "b1"].map(|name| (name, fake_gateway.start(&name[..1], "here", "{}")));
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let calls = line.map(|(name, running)| {
        let order = order.clone();
        async move {
            end(running).await.expect("it is served");
            order.lock().expect("nobody panics").push(name);
        }
    });
    let serving = async {
        for _ in 0..4 {
            fake_gateway.fake_provider.release(1);
            tokio::task::yield_now().await;
        }
    };
    let [one, two, three, four] = calls;
    tokio::join!(one, two, three, four, serving);
    assert_eq!(*order.lock().expect("nobody panics"), ["a1", "a2", "b1", "a3"]);
}

#[tokio::test(start_paused = true)]
async fn a_line_has_an_end_and_so_has_patience() {
    type DefinitionChange = fn(&mut ConcurrencySettings);
    let kinds: [(&str, DefinitionChange); 4] = [
        ("overall 1 at once", |it| it.overall = Some(1)),
        ("principal * 1 at once", |it| it.per_principal = by(&[("*", 1)])),
        ("tool far_* 1 at once", |it| it.per_tool = by(&[("far_*", 1)])),
        ("server far 1 at once", |it| it.per_server = by(&[("far", 1)])),
    ];
    for (rule, limit) in kinds {
        let (fake_gateway, _) = fake_gateway(places(|it| {
            limit(it);
            (it.queue, it.wait) = (1, Duration::from_secs(10));
        }));
        fake_gateway.fake_provider.hold();
        let calls = async {
            let first = fake_gateway.told("a", "far_get");
            let second = fake_gateway.told("a", "far_get");
            let third = fake_gateway.told("a", "far_get");
            let later = async {
                tokio::time::sleep(Duration::from_secs(20)).await;
                fake_gateway.fake_provider.release(10);
            };
            tokio::join!(biased; first, second, third, later)
        };
        let (_, second, third, ()) = calls.await;
        let rule = without_pattern(rule);
        assert_eq!(
            third,
            format!("the limit `{rule}` is reached, and 1 calls wait already; try again in 1s")
        );
        assert_eq!(second, format!("the limit `{rule}` left no place within 10s; try again in 1s"));
    }
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_leaves_nothing_behind() {
    let (fake_gateway, _) = fake_gateway(places(|it| {
        it.overall = Some(1);
        it.per_tool = by(&[("*", 2)]);
    }));
    fake_gateway.fake_provider.hold();
    let (mut first, mut second) =
        (fake_gateway.start("a", "here", "{}"), fake_gateway.start("b", "here", "{}"));
    for running in [&mut first, &mut second] {
        assert!(futures_util::poll!(Box::pin(running.next_event())).is_pending());
    }
    assert_eq!(fake_gateway.fake_provider.served(), 1);
    drop(second);
    drop(first);
    fake_gateway.fake_provider.release(10);
    assert_eq!(fake_gateway.told("c", "here").await, "ok");
}

fn refusal(outcome: Outcome) -> CallError {
    match outcome {
        Err(error) => error,
        Ok(Reply::Result(result)) => panic!("{result:?}"),
        Ok(reply) => panic!("{reply:?}"),
    }
}
