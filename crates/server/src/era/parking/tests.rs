//! Calls that wait for answers: whose they are, how long, how many.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_gateway::{
    Ask, Badge, Call, Caller, ErrorKind, Exchange, Gateway, Identity, Listing, Outcome, Provider,
    Reply, Resolved, Step, ToolEntry,
};
use gantry_protocol::json::JsonLimits;
use gantry_protocol::{ClientCapabilities, Id, Method, RawJson};
use serde_json::{Value, json};

use super::super::ticket::Ticket;
use super::{Resumed, State};
use crate::lobby::Lobby;
use crate::quota::Resource;
use crate::seal::Purpose;
use crate::settings::Settings;

/// Asks for folders twice at once, and says how many answers it got.
struct Asking;

impl Provider for Asking {
    fn name(&self) -> &str {
        "asking"
    }

    fn serve(&self, _: &Resolved, exchange: &Exchange) -> BoxFuture<'static, Outcome> {
        let exchange = exchange.clone();
        Box::pin(async move {
            let (one, other) =
                tokio::join!(exchange.ask("one", Ask::roots()), exchange.ask("two", Ask::roots()));
            let both = RawJson::array([&one?, &other?]);
            Ok(Reply::result(raw(&json!({"content": [], "both": both}))))
        })
    }
}

fn raw(value: &Value) -> RawJson {
    RawJson::parse(value.to_string(), JsonLimits::default()).unwrap()
}

fn lobby(settings: Settings) -> Arc<Lobby> {
    let gateway = Gateway::builder(Identity::new("parking", "1")).build();
    let definition = raw(&json!({"name": "asks", "inputSchema": {"type": "object"}}));
    let tools = vec![Arc::new(ToolEntry::new(definition).unwrap())];
    gateway.attach(Arc::new(Asking)).publish(Listing { tools, ..Listing::default() });
    Lobby::new(gateway, settings)
}

#[expect(clippy::needless_pass_by_value, reason = "cases read better without borrows")]
fn ticket(principal: &str, arguments: Value, more: Value) -> Ticket {
    let mut params = json!({"name": "asks", "arguments": arguments, "_meta": {"any": "thing"}});
    for (member, value) in more.as_object().unwrap() {
        params[member] = value.clone();
    }
    let capabilities = ClientCapabilities::read(raw(&json!({"roots": {}})));
    let caller = Arc::new(Caller { capabilities, ..Caller::new(principal) });
    let (method, params) = (Method::ToolsCall, raw(&params));
    let (id, token, task) = (Id::number(1), None, None);
    Ticket { id, method, params, token, caller, json_content: false, task }
}

/// Parks a call. Gives the state that the client gets.
async fn park(lobby: &Lobby, principal: &str) -> Result<String, ErrorKind> {
    let ticket = ticket(principal, json!({"a": 1}), json!({}));
    let call = Call::new(ticket.method.clone(), ticket.params.clone(), ticket.caller.clone());
    let mut running = lobby.gateway.start(call);
    let Step::Questions(questions) = running.step().await else { panic!("it asks") };
    let parked = lobby.parking.park(lobby, &ticket, running, questions);
    let result: Value = parked.map_err(|error| error.kind)?.read().unwrap();
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(result["inputRequests"]["two"], json!({"method": "roots/list"}));
    Ok(result["requestState"].as_str().unwrap().to_owned())
}

#[expect(clippy::needless_pass_by_value, reason = "cases read better without borrows")]
fn retry(principal: &str, state: &str, responses: Value) -> Ticket {
    let more = json!({"requestState": state, "inputResponses": responses});
    ticket(principal, json!({"a": 1}), more)
}

/// What a retry comes to, in a word.
async fn resume(lobby: &Lobby, ticket: &Ticket) -> String {
    match lobby.parking.resume(lobby, ticket) {
        Ok(Resumed::Running(mut running)) => match running.step().await {
            Step::Done(Ok(Reply::Result(result))) => {
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
    let lobby = lobby(Settings::default());
    let state = park(&lobby, "ada").await.unwrap();
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
        let came = resume(&lobby, &retry("ada", &state, responses.clone())).await;
        assert!(came.starts_with(expected), "{responses} gave {came}");
    }
    assert_eq!(lobby.parking.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_state_belongs_to_its_principal_and_its_call() {
    let lobby = lobby(Settings::default());
    let state = park(&lobby, "ada").await.unwrap();
    let both = answer(&["one", "two"]);
    let more = json!({"requestState": state, "inputResponses": both});
    let mut other_method = retry("ada", &state, both.clone());
    other_method.method = Method::PromptsGet;
    let other_name = ticket("ada", json!({"a": 1}), {
        let mut more = more.clone();
        more["name"] = json!("other");
        more
    });
    let foreign = [
        ("other arguments", ticket("ada", json!({"a": 2}), more.clone())),
        ("more arguments", ticket("ada", json!({"a": 1, "b": 1}), more.clone())),
        ("another name", other_name),
        ("another method", other_method),
    ];
    for (what, ticket) in foreign {
        let came = resume(&lobby, &ticket).await;
        assert!(came.contains("belongs to another call"), "{what} gave {came}");
    }
    for stranger in ["eve", ""] {
        let came = resume(&lobby, &retry(stranger, &state, both.clone())).await;
        assert!(came.contains("is not one that this server gave"), "`{stranger}` gave {came}");
    }
    let session = lobby.seal.seal(Purpose::Session, b"{}").unwrap();
    let nonsense = lobby.seal.seal(Purpose::RequestState, b"{}").unwrap();
    let cut = &state[..state.len() - 2];
    for forged in ["", "x", cut, &session, &nonsense] {
        let came = resume(&lobby, &retry("ada", forged, both.clone())).await;
        assert!(came.contains("is not one that this server gave"), "{forged} gave {came}");
    }
    assert_eq!(lobby.parking.count(), 1, "it waits through all that");
    let came = resume(&lobby, &retry("ada", &state, both)).await;
    assert!(came.starts_with("done"), "{came}");
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_so_long_and_no_longer() {
    let parked_for = Duration::from_secs(60);
    let lobby = lobby(Settings { parked_for, ..Settings::default() });
    let (one, other) = (park(&lobby, "ada").await.unwrap(), park(&lobby, "ada").await.unwrap());
    tokio::time::advance(parked_for - Duration::from_secs(1)).await;
    lobby.sweep();
    assert_eq!(lobby.parking.count(), 2);
    let both = answer(&["one", "two"]);
    assert!(resume(&lobby, &retry("ada", &one, both.clone())).await.starts_with("done"));
    tokio::time::advance(Duration::from_secs(1)).await;
    let came = resume(&lobby, &retry("ada", &other, both)).await;
    assert!(came.starts_with("InputLost"), "{came}");
    park(&lobby, "ada").await.unwrap();
    tokio::time::advance(parked_for).await;
    lobby.sweep();
    assert_eq!(lobby.parking.count(), 0, "nobody came back");
    assert_eq!(lobby.gateway.calls_in_flight(), 0, "and its call was ended");
}

#[tokio::test(start_paused = true)]
async fn a_sealed_state_expires_by_the_clock_on_the_wall() {
    let lobby = lobby(Settings::default());
    let ticket = ticket("ada", json!({"a": 1}), json!({}));
    let mut state = State::of(&lobby, &ticket, None, Some("carried".to_owned()));
    let sealed = state.seal(&lobby).unwrap();
    let came = resume(&lobby, &retry("ada", &sealed, json!({}))).await;
    assert_eq!(came, r#"carried Some("carried")"#);
    state.expires = 1;
    let sealed = state.seal(&lobby).unwrap();
    let came = resume(&lobby, &retry("ada", &sealed, json!({}))).await;
    assert!(came.contains("has expired"), "{came}");
}

#[tokio::test(start_paused = true)]
async fn so_many_calls_may_wait_and_no_more() {
    let settings = Settings { parked: 5, parked_of_principal: 2, ..Settings::default() };
    let lobby = lobby(settings);
    let full = Err(ErrorKind::LimitExceeded { retry_after: None });
    let first = park(&lobby, "ada").await.unwrap();
    assert!(park(&lobby, "ada").await.is_ok());
    assert_eq!(park(&lobby, "ada").await, full, "two for each");
    for principal in ["bob", "cy", "dan"] {
        assert!(park(&lobby, principal).await.is_ok(), "{principal} has places of his own");
    }
    assert_eq!(park(&lobby, "eve").await, full, "five for all");
    assert_eq!(lobby.gateway.calls_in_flight(), 5, "those refused are ended");
    let came = resume(&lobby, &retry("ada", &first, answer(&["one", "two"]))).await;
    assert!(came.starts_with("done"), "{came}");
    assert!(park(&lobby, "eve").await.is_ok(), "a place is free again");
}

#[tokio::test(start_paused = true)]
async fn members_in_another_order_are_the_same_call() {
    let lobby = lobby(Settings::default());
    let state = park(&lobby, "ada").await.unwrap();
    let text = format!(
        r#"{{"inputResponses":{},"_meta":{{}},"requestState":"{state}","arguments":{{"a":1}},"name":"asks"}}"#,
        answer(&["one", "two"]),
    );
    let params = RawJson::parse(text, JsonLimits::default()).unwrap();
    let retry = Ticket { params, ..retry("ada", &state, json!({})) };
    assert!(resume(&lobby, &retry).await.starts_with("done"));
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_counted_until_it_ends() {
    let lobby = lobby(Settings::default());
    let both = answer(&["one", "two"]);
    let state = park(&lobby, "ada").await.unwrap();
    let held = lobby.quota.used(Resource::Held);
    assert!(held > 0 && lobby.quota.used(Resource::Parked) == 1);
    resume(&lobby, &retry("ada", &state, answer(&["one"]))).await;
    assert!(lobby.quota.used(Resource::Held) > held, "so are the answers that came first");
    assert!(resume(&lobby, &retry("ada", &state, both)).await.starts_with("done"));
    assert_eq!(lobby.quota.used(Resource::Parked) + lobby.quota.used(Resource::Held), 0);
}

#[tokio::test(start_paused = true)]
async fn a_parked_call_ends_with_its_credential() {
    let lobby = lobby(Settings::default());
    let badge = Arc::new(Badge::default());
    let mut ticket = ticket("ada", json!({"a": 1}), json!({}));
    // The call has begun when its credential ends: it would not begin after that.
    let begun = ticket.caller.clone();
    ticket.caller = Arc::new(Caller { badge: Some(badge.clone()), ..Caller::clone(&begun) });
    park(&lobby, "bob").await.unwrap();
    for is_over in [false, true] {
        let call = Call::new(ticket.method.clone(), ticket.params.clone(), begun.clone());
        let mut running = lobby.gateway.start(call);
        let Step::Questions(questions) = running.step().await else { panic!("it asks") };
        let parked = lobby.parking.park(&lobby, &ticket, running, questions);
        assert_eq!(parked.is_err(), is_over, "nothing is kept for a credential that is over");
        badge.end();
        while lobby.parking.count() > 1 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(lobby.quota.used(Resource::Parked), 1, "those of others stay");
    assert_eq!(lobby.gateway.calls_in_flight(), 1);
}
