//! Tools whose server lists them while a call waits: all its waits together keep to one deadline.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep, sleep_until};

use super::probe::{call_tool, ended, raw};
use crate::{
    Call, CallContext, CallError, CallEvent, Gateway, Listing, Outcome, Provider, Resolved,
    ServerInfo, Target, ToolEntry,
};

/// A server that lists its tool at this moment, and never answers a call.
struct Late(Instant);

impl Provider for Late {
    fn name(&self) -> &str {
        "late"
    }

    fn next_listing(&self, _: &Call) -> Option<BoxFuture<'static, ()>> {
        let until = self.0;
        (Instant::now() < until).then(|| Box::pin(sleep_until(until)) as _)
    }

    fn relisted(&self, _: &Target) -> BoxFuture<'static, Result<(), CallError>> {
        let until = self.0;
        Box::pin(async move {
            sleep_until(until).await;
            Ok(())
        })
    }

    fn serve(&self, _: &Resolved, _: &CallContext) -> BoxFuture<'static, Outcome> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_server_counts_against_the_deadline() {
    let listing = |is_cached: bool| {
        let mut tool = ToolEntry::new(raw(r#"{"name":"late","inputSchema":{"type":"object"}}"#));
        tool.as_mut().unwrap().is_cached = is_cached;
        Listing { tools: vec![Arc::new(tool.unwrap())], ..Listing::default() }
    };
    for is_cached in [false, true] {
        // It always has a little time to answer.
        for (listed_after, door, ends_after) in
            [(0, 0, 30), (10, 0, 30), (29, 0, 34), (0, 20, 10), (0, 30, 5)]
        {
            let gateway = Gateway::builder(ServerInfo::new("late", "1")).build();
            let began = Instant::now();
            let listed_at = began + Duration::from_secs(listed_after);
            let provider = Late(listed_at + Duration::from_millis(1));
            let publisher = gateway.attach(Arc::new(provider));
            if is_cached || listed_after == 0 {
                publisher.publish(listing(is_cached));
            }
            let mut call = call_tool("late", "{}");
            call.waited = (door > 0).then(|| Duration::from_secs(door));
            let mut running = gateway.start(call);
            let lists = async {
                sleep(Duration::from_secs(listed_after)).await;
                publisher.publish(listing(false));
                std::future::pending::<()>().await;
            };
            let step = tokio::select! {
                biased;
                () = lists => panic!("it never ends"),
                step = running.next_event() => step,
            };
            let CallEvent::Done(outcome) = step else { panic!("an end, not {step:?}") };
            let case = format!("{is_cached} {listed_after} {door}");
            assert_eq!(ended(&outcome), "TimeoutError", "{case}");
            assert_eq!(began.elapsed().as_secs(), ends_after, "{case}");
        }
    }
}
