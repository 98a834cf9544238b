//! What becomes of a call when its server fails.

use gantry_gateway::ErrorKind as Kind;

use super::super::fixture::raw;
use super::*;

fn outcome(method: &Method, answers: Option<&str>, error: ClientError) -> Outcome {
    let answers = answers.map(raw);
    let redaction = Redaction::default();
    let failed =
        Failed { server: "github", method, answers: answers.as_ref(), redaction: &redaction };
    failed.outcome(error)
}

fn answered(code: i64, data: Option<&str>) -> ClientError {
    ClientError::Answered(RpcError { code, message: "it says no".to_owned(), data: data.map(raw) })
}

#[test]
fn every_failure_has_its_kind() {
    let required = r#"{"requiredCapabilities":{"sampling":{}}}"#;
    let lacking = Kind::MissingCapability { required: raw(r#"{"sampling":{}}"#) };
    let (call, read) = (Method::ToolsCall, Method::ResourcesRead);
    let cases = [
        (&call, answered(-32603, None), Kind::Handler { code: -32603 }),
        (&call, answered(-32602, Some(r#"{"uri":"a:b"}"#)), Kind::Handler { code: -32602 }),
        (&call, answered(-32002, None), Kind::Handler { code: -32002 }),
        (&call, answered(7, None), Kind::Handler { code: 7 }),
        (&read, answered(-32002, None), Kind::ResourceNotFound),
        (&read, answered(-32602, Some(r#"{"uri":"a:b"}"#)), Kind::ResourceNotFound),
        (&read, answered(-32602, None), Kind::Handler { code: -32602 }),
        (&call, answered(-32021, Some(required)), lacking),
        (&call, answered(-32021, None), Kind::ToolFailed),
        (&call, answered(-32020, None), Kind::Internal),
        (&call, answered(-32022, None), Kind::Internal),
        (&call, ClientError::Unreachable("gone".to_owned()), Kind::Unavailable),
        (&call, ClientError::Lost("gone".to_owned()), Kind::Unavailable),
        (&call, ClientError::Unauthorized { status: 401, challenge: None }, Kind::Unavailable),
        (&call, ClientError::Timeout(Duration::from_secs(60)), Kind::Timeout),
        (&call, ClientError::Malformed("gibberish".to_owned()), Kind::ToolFailed),
    ];
    for (method, error, expected) in cases {
        let told = format!("{error:?}");
        let is_answer = matches!(error, ClientError::Answered(_));
        let error = outcome(method, None, error).unwrap_err();
        assert_eq!(error.kind, expected, "{told}");
        let hop = matches!(expected, Kind::Internal);
        assert!((is_answer && !hop) || error.public.contains("`github`"), "{}", error.public);
    }
}

#[test]
fn a_timeout_says_where_to_look() {
    let error = outcome(&Method::ToolsCall, None, ClientError::Timeout(Duration::from_secs(60)));
    let expected = "the server `github` did not answer within 60 s; \
                    `gantry logs github` shows what it wrote";
    assert_eq!(error.unwrap_err().public, expected);
}

#[test]
fn details_of_an_answer_are_carried() {
    let error = outcome(&Method::ToolsCall, None, answered(-32000, Some(r#"{"n":1.50}"#)));
    let error = error.unwrap_err();
    assert_eq!(error.public, "it says no");
    assert_eq!(error.data, Some(raw(r#"{"n":1.50}"#)));
}

const PAGES: &str = r#"{"elicitations":[
    {"mode":"url","elicitationId":"1","url":"http://a/","message":"m","x":1},
    {"mode":"url","elicitationId":"2","url":"http://b/","message":"n"}]}"#;

#[test]
fn pages_to_visit_become_questions() {
    let Ok(Reply::InputRequired(required)) =
        outcome(&Method::ToolsCall, None, answered(-32042, Some(PAGES)))
    else {
        panic!("questions")
    };
    assert_eq!(required.state, None);
    let expected = r#"{"url_1":{"method":"elicitation/create","params":{"mode":"url","url":"http://a/","message":"m","x":1}},"url_2":{"method":"elicitation/create","params":{"mode":"url","url":"http://b/","message":"n"}}}"#;
    assert_eq!(required.requests.unwrap().as_str(), expected);
}

#[test]
fn a_page_that_was_not_visited_is_not_asked_for_again() {
    let cases = [
        (r#"{"url_1":{"action":"accept"},"url_2":{"action":"accept"}}"#, true),
        (r#"{"url_1":{"action":"accept"},"url_2":{"action":"decline"}}"#, false),
        (r#"{"url_1":{"action":"cancel"}}"#, false),
        (r#"{"other":{"action":"cancel"}}"#, true),
    ];
    for (answers, asks) in cases {
        let outcome = outcome(&Method::ToolsCall, Some(answers), answered(-32042, Some(PAGES)));
        assert_eq!(outcome.is_ok(), asks, "{answers}");
    }
    assert!(outcome(&Method::ToolsCall, None, answered(-32042, None)).is_err());
}
