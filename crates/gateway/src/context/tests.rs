//! What comes from elsewhere is passed on with all that is in it, and by the same rules.

use std::task::{Poll, Waker};

use gantry_protocol::Method;

use super::*;
use crate::call_stream::QueuedEvent;

/// A line whose client wants progress and warnings, and what was said on it.
async fn said(say: impl AsyncFnOnce(&CallContext)) -> Vec<String> {
    let caller = Arc::new(Caller::new("someone"));
    let mut call = Call::new(Method::ToolsCall, RawJson::EMPTY_OBJECT, caller);
    (call.wants_progress, call.log_level) = (true, Some(Level::Warning));
    let context = CallContext::new(Arc::new(call), 8, Duration::from_secs(1));
    say(&context).await;
    let mut said = Vec::new();
    while let Poll::Ready(QueuedEvent::Notification(notification)) =
        context.event_queue().poll(Waker::noop(), false)
    {
        match notification {
            CallNotification::Progress(params) | CallNotification::Log(_, params) => {
                said.push(params.to_string());
            }
            notification => panic!("{notification:?}"),
        }
    }
    said
}

#[tokio::test]
async fn progress_rises_and_keeps_its_members() {
    let said = said(async |context| {
        let all = [
            r#"{"progress":1.50,"x":[1]}"#,
            r#"{"progress":1}"#,
            r#"{"progress":"2"}"#,
            r#"{"message":"no number"}"#,
            r#"{ "progress":2, "total":9007199254740993 }"#,
        ];
        for params in all {
            context.progress_raw(RawJson::from_static(params));
        }
    });
    let expected =
        [r#"{"progress":1.50,"x":[1]}"#, r#"{ "progress":2, "total":9007199254740993 }"#];
    assert_eq!(said.await, expected);
}

#[tokio::test]
async fn messages_that_are_not_wanted_are_not_passed_on() {
    let said = said(async |context| {
        for (level, params) in [(Level::Info, r#"{"a":1}"#), (Level::Error, r#"{"b":1.0}"#)] {
            context.log_raw(level, RawJson::from_static(params)).await;
        }
    });
    assert_eq!(said.await, [r#"{"b":1.0}"#]);
}

#[test]
fn a_number_is_no_name() {
    let caller = Arc::new(Caller::new("someone"));
    let call = Call::new(Method::ToolsCall, RawJson::EMPTY_OBJECT, caller);
    let context = CallContext::new(Arc::new(call), 8, Duration::from_secs(1));
    let numbered = context.number_input_request(&Method::RootsList);
    let cases = [
        (&*numbered, None),
        ("roots-7", None),
        ("roots", Some("roots")),
        ("roots-x", Some("roots-x")),
        ("sampling-1", Some("sampling-1")),
        ("user_name", Some("user_name")),
    ];
    for (key, expected) in cases {
        let (answer, _) = oneshot::channel();
        let input_request =
            PendingInputRequest { key: key.to_owned(), request: InputRequest::roots(), answer };
        assert_eq!(input_request.name(), expected, "{key}");
    }
}
