//! Calls that wait for answers: whose they are, how long, how many.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_gateway::{
    Call, CallContext, CallEvent, Caller, ErrorKind, Gateway, InputRequest, Listing, Outcome,
    Provider, Reply, Resolved, ServerInfo, TokenLease, ToolEntry,
};
use gantry_protocol::json::JsonLimits;
use gantry_protocol::{ClientCapabilities, Id, Method, RawJson};
use serde_json::{Value, json};

use crate::quota::Resource;
use crate::request::RequestContext;
use crate::seal::Purpose;
use crate::server_state::ServerState;
use crate::settings::Settings;
use crate::stateless::parked_calls::{Resumed, State};

/// Asks for folders twice at once, and says how many answers it got.
struct Asking;

impl Provider for Asking {
    fn name(&self) -> &str {
        "asking"
    }

    fn serve(&self, _: &Resolved, context: &CallContext) -> BoxFuture<'static, Outcome> {
        let context = context.clone();
        Box::pin(async move {
            let (one, other) = tokio::join!(
                context.ask("one", InputRequest::roots()),
                context.ask("two", InputRequest::roots())
            );
            let both = RawJson::array([&one?, &other?]);
            Ok(Reply::result(raw(&json!({"content": [], "both": both}))))
        })
    }
}

fn raw(value: &Value) -> RawJson {
    RawJson::parse(value.to_string(), JsonLimits::default()).unwrap()
}

fn server_state(settings: Settings) -> Arc<ServerState> {
    let gateway = Gateway::builder(ServerInfo::new("parked_calls", "1")).build();
    let definition = raw(&json!({"name": "asks", "inputSchema": {"type": "object"}}));
    let tools = vec![Arc::new(ToolEntry::new(definition).unwrap())];
    gateway.attach(Arc::new(Asking)).publish(Listing { tools, ..Listing::default() });
    ServerState::new(gateway, settings)
}

#[expect(clippy::needless_pass_by_value, reason = "cases read better without borrows")]
fn request_context(principal: &str, arguments: Value, more: Value) -> RequestContext {
    let mut params = json!({"name": "asks", "arguments": arguments, "_meta": {"any": "thing"}});
    for (member, value) in more.as_object().unwrap() {
        params[member] = value.clone();
    }
    let capabilities = ClientCapabilities::read(raw(&json!({"roots": {}})));
    let caller = Arc::new(Caller { capabilities, ..Caller::new(principal) });
    let (method, params) = (Method::ToolsCall, raw(&params));
    let (id, token, task) = (Id::number(1), None, None);
    RequestContext { id, method, params, token, caller, json_content: false, task }
}

/// Parks a call. Gives the state that the client gets.
async fn park(server_state: &ServerState, principal: &str) -> Result<String, ErrorKind> {
    let request_context = request_context(principal, json!({"a": 1}), json!({}));
    let call = Call::new(
        request_context.method.clone(),
        request_context.params.clone(),
        request_context.caller.clone(),
    );
    let mut running = server_state.gateway.start(call);
    let CallEvent::InputRequests(input_requests) = running.next_event().await else {
        panic!("it asks")
    };
    let parked =
        server_state.parked_calls.park(server_state, &request_context, running, input_requests);
    let result: Value = parked.map_err(|error| error.kind)?.read().unwrap();
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(result["inputRequests"]["two"], json!({"method": "roots/list"}));
    Ok(result["requestState"].as_str().unwrap().to_owned())
}

#[expect(clippy::needless_pass_by_value, reason = "cases read better without borrows")]
fn retry(principal: &str, state: &str, responses: Value) -> RequestContext {
    let more = json!({"requestState": state, "inputResponses": responses});
    request_context(principal, json!({"a": 1}), more)
}

/// What a retry comes to, in a word.
async fn resume(server_state: &ServerState, request_context: &RequestContext) -> String {
    match server_state.parked_calls.resume(server_state, request_context) {
        Ok(Resumed::Call(mut running)) => match running.next_event().await {
            CallEvent::Done(Ok(Reply::Result(result))) => {
                format!("done {}", result.get("both").unwrap())
            }
            step => panic!("{step:?}"),
        },
        Ok(Resumed::Incomplete(again)) => {
            let requests = again.get("inputRequests").unwrap();
            let keys: Vec<_> = requests.members().map(|it| it.key().into_owned()).collect();
            format!("asks {}", keys.join(" "))
        }
        Ok(Resumed::Carried(state)) => format!("carried {state:?}"),
        Err(error) => format!("{:?}: {}", error.kind, error.public),
    }
}

fn answer(keys: &[&str]) -> Value {
    keys.iter().map(|key| ((*key).to_owned(), json!({"roots": []}))).collect()
}

#[tokio::test(start_paused = true)]
async fn answers_may_come_in_parts() {
    let server_state = server_state(Settings::default());
    let state = park(&server_state, "ada").await.unwrap();
    let cases = [
        (Value::Null, "InvalidParams"),
        (json!({}), "asks one two"),
        (json!({"other": 7}), "asks one two"),
        (json!({"two": {"roots": 7}}), "InvalidParams"),
        (answer(&["two"]), "asks one"),
        (json!({"one": "no"}), "InvalidParams"),
        (json!({}), "asks one"),
        (answer(&["one"]), r#"done [{"roots":[]},{"roots":[]}]"#),
        (answer(&["one", "two"]), "InputLost"),
    ];
    for (responses, expected) in cases {
        let came = resume(&server_state, &retry("ada", &state, responses.clone())).await;
        assert!(came.starts_with(expected), "{responses} gave {came}");
    }
    assert_eq!(server_state.parked_calls.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_state_belongs_to_its_principal_and_its_call() {
    let server_state = server_state(Settings::default());
    let state = park(&server_state, "ada").await.unwrap();
    let both = answer(&["one", "two"]);
    let more = json!({"requestState": state, "inputResponses": both});
    let mut other_method = retry("ada", &state, both.clone());
    other_method.method = Method::PromptsGet;
    let other_name = request_context("ada", json!({"a": 1}), {
        let mut more = more.clone();
        more["name"] = json!("other");
        more
    });
    let foreign = [
        ("other arguments", request_context("ada", json!({"a": 2}), more.clone())),
        ("more arguments", request_context("ada", json!({"a": 1, "b": 1}), more.clone())),
        ("another name", other_name),
        ("another method", other_method),
    ];
    for (what, request_context) in foreign {
        let came = resume(&server_state, &request_context).await;
        assert!(came.contains("belongs to another call"), "{what} gave {came}");
    }
    for stranger in ["eve", ""] {
        let came = resume(&server_state, &retry(stranger, &state, both.clone())).await;
        assert!(came.contains("was not issued by this server"), "`{stranger}` gave {came}");
    }
    let session = server_state.seal.seal(Purpose::Session, b"{}").unwrap();
    let nonsense = server_state.seal.seal(Purpose::RequestState, b"{}").unwrap();
    let cut = &state[..state.len() - 2];
    for forged in ["", "x", cut, &session, &nonsense] {
        let came = resume(&server_state, &retry("ada", forged, both.clone())).await;
        assert!(came.contains("was not issued by this server"), "{forged} gave {came}");
    }
    assert_eq!(server_state.parked_calls.count(), 1, "it waits through all that");
    let came = resume(&server_state, &retry("ada", &state, both)).await;
    assert!(came.starts_with("done"), "{came}");
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_so_long_and_no_longer() {
    let parked_for = Duration::from_secs(60);
    let server_state = server_state(Settings { parked_for, ..Settings::default() });
    let (one, other) =
        (park(&server_state, "ada").await.unwrap(), park(&server_state, "ada").await.unwrap());
    tokio::time::advance(parked_for - Duration::from_secs(1)).await;
    server_state.sweep();
    assert_eq!(server_state.parked_calls.count(), 2);
    let both = answer(&["one", "two"]);
    assert!(resume(&server_state, &retry("ada", &one, both.clone())).await.starts_with("done"));
    tokio::time::advance(Duration::from_secs(1)).await;
    let came = resume(&server_state, &retry("ada", &other, both)).await;
    assert!(came.starts_with("InputLost"), "{came}");
    park(&server_state, "ada").await.unwrap();
    tokio::time::advance(parked_for).await;
    server_state.sweep();
    assert_eq!(server_state.parked_calls.count(), 0, "nobody came back");
    assert_eq!(server_state.gateway.calls_in_flight(), 0, "and its call was ended");
}

#[tokio::test(start_paused = true)]
async fn a_sealed_state_expires_by_the_clock_on_the_wall() {
    let server_state = server_state(Settings::default());
    let request_context = request_context("ada", json!({"a": 1}), json!({}));
    let mut state = State::of(&server_state, &request_context, None, Some("carried".to_owned()));
    let sealed = state.seal(&server_state).unwrap();
    let came = resume(&server_state, &retry("ada", &sealed, json!({}))).await;
    assert_eq!(came, r#"carried Some("carried")"#);
    state.expires = 1;
    let sealed = state.seal(&server_state).unwrap();
    let came = resume(&server_state, &retry("ada", &sealed, json!({}))).await;
    assert!(came.contains("has expired"), "{came}");
}

#[tokio::test(start_paused = true)]
async fn so_many_calls_may_wait_and_no_more() {
    let settings = Settings { parked: 5, parked_of_principal: 2, ..Settings::default() };
    let server_state = server_state(settings);
    let full = Err(ErrorKind::LimitExceeded { retry_after: None });
    let first = park(&server_state, "ada").await.unwrap();
    assert!(park(&server_state, "ada").await.is_ok());
    assert_eq!(park(&server_state, "ada").await, full, "two for each");
    for principal in ["bob", "cy", "dan"] {
        assert!(park(&server_state, principal).await.is_ok(), "{principal} has places of his own");
    }
    assert_eq!(park(&server_state, "eve").await, full, "five for all");
    assert_eq!(server_state.gateway.calls_in_flight(), 5, "those refused are ended");
    let came = resume(&server_state, &retry("ada", &first, answer(&["one", "two"]))).await;
    assert!(came.starts_with("done"), "{came}");
    assert!(park(&server_state, "eve").await.is_ok(), "a place is free again");
}

#[tokio::test(start_paused = true)]
async fn members_in_another_order_are_the_same_call() {
    let server_state = server_state(Settings::default());
    let state = park(&server_state, "ada").await.unwrap();
    let text = format!(
        r#"{{"inputResponses":{},"_meta":{{}},"requestState":"{state}","arguments":{{"a":1}},"name":"asks"}}"#,
        answer(&["one", "two"]),
    );
    let params = RawJson::parse(text, JsonLimits::default()).unwrap();
    let retry = RequestContext { params, ..retry("ada", &state, json!({})) };
    assert!(resume(&server_state, &retry).await.starts_with("done"));
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_counted_until_it_ends() {
    let server_state = server_state(Settings::default());
    let both = answer(&["one", "two"]);
    let state = park(&server_state, "ada").await.unwrap();
    let held = server_state.quota.used(Resource::Held);
    assert!(held > 0 && server_state.quota.used(Resource::Parked) == 1);
    resume(&server_state, &retry("ada", &state, answer(&["one"]))).await;
    assert!(server_state.quota.used(Resource::Held) > held, "so are the answers that came first");
    assert!(resume(&server_state, &retry("ada", &state, both)).await.starts_with("done"));
    assert_eq!(
        server_state.quota.used(Resource::Parked) + server_state.quota.used(Resource::Held),
        0
    );
}

#[tokio::test(start_paused = true)]
async fn a_parked_call_ends_with_its_credential() {
    let server_state = server_state(Settings::default());
    let lease = Arc::new(TokenLease::default());
    let mut request_context = request_context("ada", json!({"a": 1}), json!({}));
    // The call has begun when its credential ends: it would not begin after that.
    let begun = request_context.caller.clone();
    request_context.caller =
        Arc::new(Caller { lease: Some(lease.clone()), ..Caller::clone(&begun) });
    park(&server_state, "bob").await.unwrap();
    for is_over in [false, true] {
        let call = Call::new(
            request_context.method.clone(),
            request_context.params.clone(),
            begun.clone(),
        );
        let mut running = server_state.gateway.start(call);
        let CallEvent::InputRequests(input_requests) = running.next_event().await else {
            panic!("it asks")
        };
        let parked = server_state.parked_calls.park(
            &server_state,
            &request_context,
            running,
            input_requests,
        );
        assert_eq!(parked.is_err(), is_over, "nothing is kept for a credential that is over");
        lease.end();
        while server_state.parked_calls.count() > 1 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(server_state.quota.used(Resource::Parked), 1, "those of others stay");
    assert_eq!(server_state.gateway.calls_in_flight(), 1);
}
