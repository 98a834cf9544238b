//! Elicitations name the server that asks, where several servers stand behind one endpoint.

use gantry::client::{Endpoint, HttpKind, Target};
use gantry::{Eras, UpstreamConfig, UpstreamSettings, Upstreams};
use gantry_tests::request::call;
use gantry_tests::test_server::{TestOptions, TestServer, soon};
use serde_json::json;

/// What a person is asked by a tool of the first of these servers, all of one kind.
async fn asked(eras: Eras, names: &[&str]) -> String {
    let server = TestServer::with(TestOptions::eras(eras)).await;
    let upstreams = Upstreams::new(UpstreamSettings::default());
    let plan =
        TestOptions { bare: true, upstreams: Some(upstreams.clone()), ..TestOptions::default() };
    let gateway = TestServer::with(plan).await;
    let upstream = |name: &&str| {
        let address = format!("http://{}/mcp", server.address).parse().expect("an address");
        UpstreamConfig::new(name, Target::Http(Endpoint::new(address), HttpKind::Auto))
    };
    upstreams.configure(names.iter().map(upstream).collect(), Vec::new());
    soon("their lists", upstreams.settled()).await;
    let tool = format!("{}_ask_name", names[0]);
    let asking = call(&tool, json!({})).can(json!({"elicitation": {}}));
    let answer = asking.ask(gateway.address).await;
    let questions = answer["result"]["inputRequests"].as_object();
    let questions = questions.unwrap_or_else(|| panic!("questions in {answer}"));
    let question = questions.values().next().expect("a question");
    question["params"]["message"].as_str().expect("a message").to_owned()
}

#[tokio::test]
async fn where_there_are_several_a_person_is_told_which_one_asks() {
    for eras in [Eras::Legacy, Eras::Modern] {
        let alone = asked(eras, &["one"]).await;
        assert!(!alone.contains("one:"), "{eras:?}: {alone}");
        let among_others = asked(eras, &["one", "two"]).await;
        assert_eq!(among_others, format!("one: {alone}"), "{eras:?}");
    }
}
