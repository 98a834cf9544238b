//! Rules in a gateway: refusals with their reason, what is recorded, lists for each caller.

use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_gateway::filter::{CallEnd, CallObserver, CallSummary, Recorded};
use gantry_gateway::{
    Absence, Call, CallEvent, Event, Gateway, Interest, ListKind, Listing, Outcome, Provider,
    Reply, ServerInfo, Subscription,
};
use tokio::time::timeout;

use super::*;
use gantry_gateway::ErrorKind;

struct Echo;

impl Provider for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn serve(&self, _: &Resolved, _: &CallContext) -> BoxFuture<'static, Outcome> {
        Box::pin(async { Ok(Reply::result(RawJson::from_static(r#"{"content":[]}"#))) })
    }
}

/// A server that is away, and says so of its tools.
struct Away;

impl Provider for Away {
    fn name(&self) -> &str {
        "away"
    }

    fn serve(&self, _: &Resolved, _: &CallContext) -> BoxFuture<'static, Outcome> {
        Box::pin(async { Ok(Reply::result(RawJson::EMPTY_OBJECT)) })
    }

    fn absence(&self, tool: &str) -> Option<Absence> {
        let error = CallError::new(ErrorKind::Unavailable, "the server `away` offers nothing");
        let origin = origin("away").filter(|_| tool.starts_with("away_"))?;
        Some(Absence { origin, error })
    }
}

/// Writes down what was decided.
#[derive(Clone, Default)]
struct Record(Arc<Mutex<Vec<String>>>);

impl CallObserver for Record {
    fn ended(&self, call: &CallSummary<'_>, _: &CallEnd<'_>) -> Recorded {
        let word = |it: &PolicyDecision| format!("{} {} {}", it.policy, it.allowed, it.rule);
        let all: Vec<String> = call.context.decisions().iter().map(word).collect();
        self.0.lock().expect("nobody panicked").push(all.join(", "));
        None
    }
}

fn open(rules: &Rules, record: &Record) -> Arc<Gateway> {
    let builder = Gateway::builder(ServerInfo::new("test", "1"));
    let builder = builder
        .call_filter(rules.clone())
        .visibility_filter(rules.clone())
        .observer(record.clone());
    let gateway = builder.build();
    let entries = ["get_a", "put_a", "put_b"].map(|name| tool("", name));
    let tools = entries.into_iter().filter_map(|target| match target {
        Target::Tool(entry) => Some(entry),
        _ => None,
    });
    let (Target::Resource(open), Target::Resource(secret), Target::Prompt(ask)) =
        (resource("", "x:open"), resource("", "x:secret"), prompt("", "ask"))
    else {
        panic!("they are what they are made as")
    };
    let Target::Template(files, _) = template("file:///{+path}", "") else { panic!("a template") };
    let covers: gantry_gateway::Matcher = Arc::new(|uri: &str| uri.starts_with("file:///"));
    let listing = Listing {
        tools: tools.collect(),
        resources: vec![open, secret],
        prompts: vec![ask],
        templates: vec![(files, covers)],
        ..Listing::default()
    };
    gateway.attach(Arc::new(Echo)).publish(listing);
    gateway
}

async fn run(gateway: &Arc<Gateway>, who: &Caller, method: Method, params: &str) -> Outcome {
    let mut running = gateway.start(Call::new(method, json(params), Arc::new(who.clone())));
    loop {
        if let CallEvent::Done(outcome) = running.next_event().await {
            return outcome;
        }
    }
}

fn names(outcome: Outcome, kind: ListKind) -> Vec<String> {
    let Ok(Reply::Page(page)) = outcome else { panic!("a list") };
    let items = page.result().get(kind.member()).expect("items");
    let name = |item: RawJson| {
        let keys = ["uri", "uriTemplate", "name"];
        keys.iter().find_map(|key| item.get(key)).and_then(|it| it.to_text()).expect("a name")
    };
    items.elements().map(name).collect()
}

#[tokio::test]
async fn a_refusal_names_the_rule_and_where_it_stands() {
    let denial = Rule {
        place: Some("gantry.json:7".into()),
        name: "no writes".into(),
        ..rule(Deny, &["bob", "local"], &["put_*"])
    };
    let look = Rule { name: "look".into(), shadow: true, ..rule(Deny, &[], &["put_b"]) };
    let ask = Rule { name: "ask".into(), ..rule(Approve, &["cat"], &["put_*"]) };
    let partly = Rule {
        name: "by arguments".into(),
        when: Condition::new("!has(args.a)", ConditionBounds::default()).ok().map(Arc::new),
        ..rule(Deny, &["eve"], &["get_a"])
    };
    let allow = rule(Allow, &["ann"], &["get_a"]);
    let rules = Rules::new(set(vec![denial, look, ask, partly, allow], true));
    let record = Record::default();
    let gateway = open(&rules, &record);
    let cases = [
        (
            caller("local"),
            "put_a",
            Some(
                "`put_a` may not be called by `local`: rule `no writes` at \
            gantry.json:7 denies it; `gantry policy explain --as local --tool put_a` says more",
            ),
            "rules false no writes",
        ),
        (
            caller("bob"),
            "put_a",
            Some("there is no tool `put_a`; tools/list shows those there are"),
            "rules false no writes",
        ),
        (
            caller("eve"),
            "get_a",
            Some(
                "`get_a` is denied by a policy of this gateway; ask its administrator if you \
                 need it",
            ),
            "rules false by arguments",
        ),
        (caller("dan"), "put_a", None, ""),
        (caller("dan"), "put_b", None, "rules true shadow: look"),
        (caller("cat"), "put_a", None, "rules true approve: ask"),
        (caller("ann"), "get_a", None, "rules true allow [\"ann\"] [\"get_a\"]"),
        (
            scoped(&["get_*"]),
            "put_a",
            Some("there is no tool `put_a`; tools/list shows those there are"),
            "rules false token scope",
        ),
    ];
    for (who, name, refused, decided) in cases {
        let params = format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
        let outcome = run(&gateway, &who, Method::ToolsCall, &params).await;
        if let Err(error) = &outcome {
            assert_eq!(error.kind, ErrorKind::ToolNotFound, "{name}: it is hidden");
        }
        assert_eq!(refusal(&outcome).as_deref(), refused, "{name}");
        let noted = record.0.lock().expect("nobody panicked").pop();
        assert_eq!(noted.as_deref(), Some(decided), "{} {name}", who.principal);
    }
    rules.put(set(vec![], false));
    let outcome = run(&gateway, &caller("local"), Method::ToolsCall, r#"{"name":"get_a"}"#).await;
    let text = refusal(&outcome).expect("it is refused");
    assert!(text.contains("no rule allows it"), "{text}");
}

/// What a call is refused with: a tool result, or an error for a tool that the caller may not know of.
fn refusal(outcome: &Outcome) -> Option<String> {
    match outcome {
        Err(error) => Some(error.public.clone()),
        Ok(Reply::Result(result))
            if result.get("isError").is_some_and(|it| it.as_str() == "true") =>
        {
            result.get("content")?.elements().next()?.get("text")?.to_text()
        }
        Ok(_) => None,
    }
}

#[tokio::test]
async fn every_caller_has_lists_of_its_own() {
    let about = |tools: &[&str], resources: &[&str], prompts: &[&str]| Rule {
        who: Who { principals: texts(&["bob"]), ..Who::default() },
        what: What {
            tools: texts(tools),
            resources: texts(resources),
            prompts: texts(prompts),
            ..What::default()
        },
        ..Rule::new("hide", Deny)
    };
    let rules = Rules::new(set(vec![about(&["put_*"], &["x:secret", "file://*"], &["*"])], true));
    let gateway = open(&rules, &Record::default());
    let (ann, bob) = (caller("ann"), caller("bob"));
    let cases = [
        (Method::ToolsList, ListKind::Tools, vec!["get_a", "put_a", "put_b"], vec!["get_a"]),
        (Method::ResourcesList, ListKind::Resources, vec!["x:open", "x:secret"], vec!["x:open"]),
        (Method::ResourceTemplatesList, ListKind::Templates, vec!["file:///{+path}"], vec![]),
        (Method::PromptsList, ListKind::Prompts, vec!["ask"], vec![]),
    ];
    for (method, kind, for_ann, for_bob) in cases {
        for (who, expected) in [(&ann, for_ann), (&bob, for_bob)] {
            let found = names(run(&gateway, who, method.clone(), "{}").await, kind);
            assert_eq!(found, expected, "{method} for {}", who.principal);
        }
    }
    let refused = [
        (Method::ResourcesRead, r#"{"uri":"x:secret"}"#, ErrorKind::ResourceNotFound),
        (Method::ResourcesRead, r#"{"uri":"file:///a"}"#, ErrorKind::ResourceNotFound),
        (Method::PromptsGet, r#"{"name":"ask"}"#, ErrorKind::InvalidParams),
        (
            Method::Complete,
            r#"{"ref":{"type":"ref/prompt","name":"ask"}}"#,
            ErrorKind::InvalidParams,
        ),
        (
            Method::Complete,
            r#"{"ref":{"type":"ref/resource","uri":"file:///{+path}"}}"#,
            ErrorKind::ResourceNotFound,
        ),
    ];
    for (method, params, expected) in refused {
        let outcome = run(&gateway, &bob, method.clone(), params).await;
        let kind = outcome.err().map(|error| error.kind);
        assert_eq!(kind, Some(expected), "{method} {params}");
        assert!(run(&gateway, &ann, method.clone(), params).await.is_ok(), "{method} {params}");
    }
}

/// The values that a server completes name addresses.
#[tokio::test]
async fn a_template_is_completed_if_everything_that_it_covers_may_be_read() {
    let about = |effect, uri: &str| Rule {
        what: What { resources: texts(&[uri]), ..What::default() },
        ..Rule::new("some", effect)
    };
    let cases = [
        (vec![], true, true, true),
        (vec![about(Deny, "file:///private/*")], true, true, false),
        (vec![about(Deny, "x:*")], true, true, true),
        (vec![about(Allow, "file:///public/*")], false, true, false),
        (vec![about(Allow, "file:///*")], false, true, true),
    ];
    for (number, (rules, default, is_listed, is_completed)) in cases.into_iter().enumerate() {
        let gateway = open(&Rules::new(set(rules, default)), &Record::default());
        let bob = caller("bob");
        let listed = run(&gateway, &bob, Method::ResourceTemplatesList, "{}").await;
        assert_eq!(names(listed, ListKind::Templates).len() == 1, is_listed, "case {number}");
        let params = r#"{"ref":{"type":"ref/resource","uri":"file:///{+path}"}}"#;
        let completed = run(&gateway, &bob, Method::Complete, params).await;
        assert_eq!(completed.is_ok(), is_completed, "case {number}: {completed:?}");
    }
}

/// What a caller is told of a call: kind, text and data.
fn told(outcome: Outcome) -> (String, String, Option<String>) {
    let error = outcome.expect_err("it cannot be used");
    (format!("{:?}", error.kind), error.public, error.data.map(|data| data.to_string()))
}

#[tokio::test]
async fn what_is_hidden_cannot_be_told_from_what_does_not_exist() {
    let hide = Rule {
        who: Who { principals: texts(&["bob"]), ..Who::default() },
        what: What {
            tools: texts(&["put_*"]),
            resources: texts(&["x:secret", "file://*"]),
            prompts: texts(&["*"]),
            ..What::default()
        },
        ..Rule::new("hide", Deny)
    };
    let rules = Rules::new(set(vec![hide], true));
    let gateway = open(&rules, &Record::default());
    let bob = caller("bob");
    let cases = [
        (Method::ToolsCall, r#"{"name":"NAME"}"#, "put_a", "none"),
        (Method::ToolsCall, r#"{"name":"NAME","arguments":[]}"#, "put_a", "none"),
        (Method::ToolsCall, r#"{"name":"NAME","arguments":{"a":1,"a":2}}"#, "put_a", "none"),
        (Method::ToolsCall, r#"{"name":"NAME@1","arguments":{}}"#, "put_a", "none"),
        (Method::ResourcesRead, r#"{"uri":"NAME"}"#, "x:secret", "x:none"),
        (Method::ResourcesRead, r#"{"uri":"NAME"}"#, "file:///a", "fil:///a"),
        (Method::PromptsGet, r#"{"name":"NAME"}"#, "ask", "none"),
        (Method::Complete, r#"{"ref":{"type":"ref/prompt","name":"NAME"}}"#, "ask", "none"),
        (
            Method::Complete,
            r#"{"ref":{"type":"ref/resource","uri":"NAME"}}"#,
            "file:///{+path}",
            "none:///{+path}",
        ),
    ];
    for (method, params, hidden, absent) in cases {
        let of = async |name: &str| {
            let params = params.replace("NAME", name);
            let (kind, text, data) = told(run(&gateway, &bob, method.clone(), &params).await);
            (kind, text.replace(name, "…"), data.map(|data| data.replace(name, "…")))
        };
        assert_eq!(of(hidden).await, of(absent).await, "{method} {params} {hidden}");
    }
}

#[tokio::test]
async fn nothing_else_tells_of_what_is_hidden() {
    let hide = Rule {
        who: Who { principals: texts(&["bob"]), ..Who::default() },
        what: What {
            tools: texts(&["put_*"]),
            resources: texts(&["x:secret", "file:///private/*"]),
            ..What::default()
        },
        ..Rule::new("hide", Deny)
    };
    let rules = Rules::new(set(vec![hide], true));
    let gateway = open(&rules, &Record::default());
    let (ann, bob) = (caller("ann"), caller("bob"));
    for (name, for_ann, for_bob) in
        [("get_a", true, true), ("put_a", true, false), ("no", false, false)]
    {
        let found = [&ann, &bob].map(|who| gateway.visible_tool(name, who).is_some());
        assert_eq!(found, [for_ann, for_bob], "{name}");
    }
    let counts = |who: &Caller| gateway.describe(who).counts.to_string();
    assert_eq!(counts(&ann), r#"{"tools_count":3,"resources_count":2,"prompts_count":1}"#);
    assert_eq!(counts(&bob), r#"{"tools_count":1,"resources_count":1,"prompts_count":1}"#);
    let cases = [
        ("x:open", true, true),
        ("x:secret", true, false),
        ("file:///private/a", true, false),
        ("file:///public/a", true, true),
        ("y:none", false, false),
    ];
    for (uri, for_ann, for_bob) in cases {
        let found = [&ann, &bob].map(|who| gateway.has_resource(uri, who).is_ok());
        assert_eq!(found, [for_ann, for_bob], "{uri}");
    }
}

#[tokio::test(start_paused = true)]
async fn everyone_hears_that_lists_may_have_changed() {
    let gateway = open(&Rules::new(set(vec![], true)), &Record::default());
    let virtual_server = gateway.virtual_server(ServerInfo::new("face", "1"));
    drop(gateway.virtual_server(ServerInfo::new("gone", "1")));
    let everything =
        || Interest { tools: true, prompts: true, resources: true, ..Interest::default() };
    let ann = Arc::new(caller("ann"));
    let mut subscriptions =
        [&gateway, &virtual_server].map(|gateway| gateway.subscribe(everything(), &ann));
    virtual_server.lists_may_have_changed();
    for subscription in &mut subscriptions {
        for kind in [ListKind::Tools, ListKind::Prompts, ListKind::Resources] {
            assert_eq!(subscription.next().await, Some(Event::ListChanged(kind)));
        }
    }
}

/// Everything that a subscription has to tell by now, sorted.
async fn heard(subscription: &mut Subscription) -> Vec<String> {
    let mut heard = Vec::new();
    // The time stands still until there is nothing left to do.
    while let Ok(Some(event)) = timeout(Duration::from_secs(1), subscription.next()).await {
        if let Event::ResourceUpdated { uri, .. } = event {
            heard.push(uri.to_string());
        }
    }
    heard.sort();
    heard
}

#[tokio::test(start_paused = true)]
async fn what_is_hidden_while_it_is_watched_is_heard_of_no_more() {
    let watched = ["file:///private/a", "file:///public/a", "x:open", "x:secret"];
    let hide = |resources: &[&str]| Rule {
        who: Who { principals: texts(&["bob"]), ..Who::default() },
        what: What { resources: texts(resources), ..What::default() },
        ..Rule::new("hide", Deny)
    };
    let rules = Rules::new(set(vec![], true));
    let gateway = open(&rules, &Record::default());
    let publisher = gateway.attach(Arc::new(Echo));
    let mut both = ["ann", "bob"].map(|who| {
        let interest = Interest::default();
        watched.iter().for_each(|uri| assert!(interest.resources_watched.add(uri, 10).is_ok()));
        gateway.subscribe(interest, &Arc::new(caller(who)))
    });
    let cases = [
        ("nothing is hidden", vec![], watched.to_vec()),
        ("one is", vec![hide(&["x:secret"])], watched[..3].to_vec()),
        (
            "some of a template is",
            vec![hide(&["x:secret", "file:///private/*"])],
            watched[1..3].to_vec(),
        ),
        ("all are", vec![hide(&["*"])], vec![]),
        ("nothing is hidden again", vec![], watched.to_vec()),
    ];
    for (case, now, for_bob) in cases {
        rules.put(set(now, true));
        // Each by itself, and then as someone hears of it who has missed too much.
        for missed in [0, 3000] {
            for uri in watched.iter().copied().chain(std::iter::repeat_n("x:other", missed)) {
                publisher.resource_updated(uri, None);
            }
            for (subscription, expected) in both.iter_mut().zip([&watched[..], &for_bob]) {
                assert_eq!(heard(subscription).await, expected, "{case}, {missed} missed");
            }
        }
    }
}

/// The name of a server, how it stands and what it last said are for those who may use it.
#[tokio::test]
async fn a_server_that_is_away_is_told_to_those_who_see_it() {
    let hidden = Rule {
        what: What { servers: texts(&["away"]), ..What::default() },
        ..rule(Deny, &["bob"], &[])
    };
    let rules = Rules::new(set(vec![hidden], true));
    let gateway = open(&rules, &Record::default());
    gateway.attach(Arc::new(Away));
    let scoped = |allow: &str| Caller {
        scope: Some(Arc::new(Scope { allow: texts(&[allow]) })),
        ..caller("eve")
    };
    let cases = [
        (caller("ann"), true),
        (caller("bob"), false),
        (scoped("away/*"), true),
        (scoped("get_*"), false),
    ];
    for (who, is_told) in cases {
        let outcome = run(&gateway, &who, Method::ToolsCall, r#"{"name":"away_x"}"#).await;
        let text = match outcome {
            Ok(Reply::Result(result)) => result.to_string(),
            Ok(reply) => panic!("{reply:?}"),
            Err(error) => error.public,
        };
        assert_eq!(text.contains("offers nothing"), is_told, "{who:?}: {text}");
        assert_eq!(text.contains("there is no tool `away_x`"), !is_told, "{who:?}: {text}");
    }
}
