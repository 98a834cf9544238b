//! What becomes of a call when its server fails.

use gantry_gateway::ErrorKind as Kind;

use super::super::tests::fixture::raw;
use super::*;

fn told(method: &Method, error: ClientError) -> CallError {
    told_by(true, method, error)
}

/// What a call is told of a server of the modern or the legacy era.
fn told_by(is_stateless: bool, method: &Method, error: ClientError) -> CallError {
    let mut aliases = Aliases::new("github", |_| false);
    aliases.add("a:b");
    let (aliases, redaction) = (Some(&aliases), &Redactor::default());
    let is_repeatable = *method != Method::ToolsCall;
    let failed =
        Failed { server: "github", method, aliases, is_stateless, is_repeatable, redaction };
    failed.error(error)
}

fn answered(code: i64, data: Option<&str>) -> ClientError {
    ClientError::Answered(RpcError { code, message: "it says no".to_owned(), data: data.map(raw) })
}

fn unauthorized(status: u16) -> ClientError {
    ClientError::Unauthorized { status, challenge: None }
}

fn refused(status: u16, retry_after: Option<u32>) -> ClientError {
    let retry_after = retry_after.map(|seconds| SECOND * seconds);
    ClientError::Http(Box::new(HttpError {
        status,
        retry_after,
        error: None,
        is_unsent: false,
        attempts: 1,
    }))
}

/// Of a message that is far too long the beginning is searched for secrets and passed on.
#[test]
fn long_messages_are_cut() {
    let message = "é".repeat(1024 * 1024);
    let error = ClientError::Answered(RpcError { code: 7, message, data: None });
    let told = told(&Method::ToolsCall, error);
    assert_eq!(told.public, "é".repeat(32 * 1024));
}

const SECOND: Duration = Duration::from_secs(1);

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
        (&read, answered(-32602, None), Kind::ResourceNotFound),
        (&read, answered(-32603, None), Kind::Handler { code: -32603 }),
        (&call, answered(-32021, Some(required)), lacking),
        (&call, answered(-32021, None), Kind::Internal),
        (&call, answered(-32020, None), Kind::Internal),
        (&call, answered(-32022, None), Kind::Internal),
        (&call, ClientError::Unreachable("gone".to_owned()), Kind::Unavailable),
        (&call, ClientError::Lost("gone".to_owned()), Kind::Unavailable),
        (&call, unauthorized(401), Kind::CredentialsRefused { status: 401 }),
        (&call, unauthorized(403), Kind::CredentialsRefused { status: 403 }),
        (&call, refused(429, Some(7)), Kind::UpstreamLimit { retry_after: Some(SECOND * 7) }),
        (&call, refused(429, None), Kind::UpstreamLimit { retry_after: None }),
        (&call, refused(503, Some(7)), Kind::Unavailable),
        (&call, refused(500, None), Kind::Unavailable),
        (&call, ClientError::Timeout(Duration::from_secs(60)), Kind::Timeout),
        (&call, ClientError::Malformed("gibberish".to_owned()), Kind::Malformed),
    ];
    for (method, error, expected) in cases {
        let case = format!("{error:?}");
        let is_answer = matches!(error, ClientError::Answered(_));
        let error = told(method, error);
        assert_eq!(error.kind, expected, "{case}");
        let hop = matches!(expected, Kind::Internal);
        assert!((is_answer && !hop) || error.public.contains("`github`"), "{}", error.public);
    }
}

#[test]
fn a_status_with_an_error_of_the_protocol_says_both() {
    let with = |status, data: &str| {
        let error =
            RpcError { code: -32010, message: "too many".to_owned(), data: Some(raw(data)) };
        let http = HttpError {
            status,
            retry_after: None,
            error: Some(error),
            is_unsent: false,
            attempts: 1,
        };
        told(&Method::ToolsCall, ClientError::Http(Box::new(http)))
    };
    let error = with(429, r#"{"retryAfterMs":1500}"#);
    let retry_after = Some(Duration::from_millis(1500));
    assert_eq!(error.kind, Kind::UpstreamLimit { retry_after });
    assert_eq!(error.data, Some(raw(r#"{"retryAfterMs":1500}"#)));
    assert_eq!(
        error.public,
        "the server `github` limits its rate (HTTP status 429): too many; call again after 1.5s"
    );
    let error = with(503, r#"{"n":1}"#);
    assert_eq!((error.kind, error.data), (Kind::Handler { code: -32010 }, Some(raw(r#"{"n":1}"#))));
}

#[test]
fn what_happened_is_told_and_what_follows() {
    let logs = "`gantry logs github` shows what it wrote";
    let unknown = "it is not known whether the call was carried out; check before you call again";
    let safe = "calling again is safe, since this only reads or may be repeated";
    let (call, read) = (Method::ToolsCall, Method::ResourcesRead);
    let text = || "it closed".to_owned();
    let lost = "the connection to the server `github` was lost before";
    for (method, error, expected) in [
        (
            &call,
            ClientError::Reset(text()),
            format!("{lost} a byte of its answer came: it closed; {unknown}; {logs}"),
        ),
        (
            &read,
            ClientError::Reset(text()),
            format!("{lost} a byte of its answer came: it closed; {safe}; {logs}"),
        ),
        (
            &call,
            ClientError::Lost(text()),
            format!("{lost} its answer was complete: it closed; {unknown}; {logs}"),
        ),
        (
            &call,
            ClientError::ConnectionRefused(text()),
            format!("the server `github` cannot be reached: it closed; {logs}"),
        ),
        (
            &call,
            refused(503, None),
            format!(
                "the server `github` failed: the server answered with HTTP status 503 (Service \
                 Unavailable); {unknown}"
            ),
        ),
        (
            &read,
            refused(502, None),
            format!(
                "the server `github` failed: the server answered with HTTP status 502 (Bad \
                 Gateway); {safe}"
            ),
        ),
    ] {
        assert_eq!(told(method, error).public, expected);
    }
}

#[test]
fn a_timeout_says_where_to_look() {
    let error = told(&Method::ToolsCall, ClientError::Timeout(Duration::from_secs(60)));
    let expected = "the server `github` did not answer within 60 s; \
                    `gantry logs github` shows what it wrote";
    assert_eq!(error.public, expected);
}

#[test]
fn codes_of_the_newest_revision_are_free_to_servers_of_the_others() {
    let data = r#"{"n":1.50}"#;
    for code in [-32020, -32021, -32022] {
        let error = told_by(false, &Method::ToolsCall, answered(code, Some(data)));
        assert_eq!((error.kind, error.public.as_str()), (Kind::Handler { code }, "it says no"));
        assert_eq!(error.data, Some(raw(data)));
        let error = told(&Method::ToolsCall, answered(code, Some(data)));
        assert_eq!((error.kind, error.data), (Kind::Internal, Some(raw(data))), "{code}");
    }
}

#[test]
fn details_of_an_answer_are_carried() {
    let error = told(&Method::ToolsCall, answered(-32000, Some(r#"{"n":1.50}"#)));
    assert_eq!(error.public, "it says no");
    assert_eq!(error.data, Some(raw(r#"{"n":1.50}"#)));
}

#[test]
fn an_address_that_leads_nowhere_is_told_as_ours() {
    let error = told(&Method::ResourcesRead, answered(-32602, Some(r#"{"uri":"a:b","n":1}"#)));
    assert_eq!(error.data, Some(raw(r#"{"uri":"gantry://github/a:b","n":1}"#)));
}
