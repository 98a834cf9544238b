//! The gate in the pipeline, behind the rules: what reaches a provider, and what does not.

mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gantry_gateway::{Gateway, Listing, Origin, ServerInfo, ToolEntry, ToolVersions};
use gantry_protocol::RawJson;

use super::*;
use crate::test_gateway::{Maker, TestGateway, TestPolicies, listing};

#[tokio::test(start_paused = true)]
async fn the_most_specific_decision_counts_and_survives() {
    let plan = TestPolicies::default();
    let test_gateway = TestGateway::open(plan.clone()).await;
    let tool = |name: &str| Subject::Tool(name.to_owned());
    let far = Subject::Server("far".to_owned());
    let steps = [
        (None, "far_destroys", false),
        (Some((far.clone(), Level::Trusted)), "far_destroys", true),
        (Some((tool("far_destroys"), Level::Verified)), "far_destroys", false),
        (Some((tool("far_destroys"), Level::Trusted)), "far_destroys", true),
        (Some((far, Level::Untrusted)), "far_reads", false),
        (None, "far_destroys", true),
        (Some((Subject::Gateway, Level::Untrusted)), "far_destroys", false),
        (None, "reads", false),
        (Some((Subject::Gateway, Level::Verified)), "reads", true),
    ];
    for (decision, called, runs) in steps {
        let case = format!("{decision:?} {called}");
        if let Some((subject, level)) = decision {
            test_gateway.trust.rule(subject, level, "you", &test_gateway.snapshot()).await.unwrap();
        }
        assert_eq!(test_gateway.call(called).await == "run", runs, "{case}");
    }
    assert_eq!(test_gateway.call("far_destroys").await, "run");
    assert_eq!(test_gateway.decided(), "trust true: tool:far_destroys is trusted");
    let again = TestGateway::open(plan).await;
    assert_eq!(again.trust.decisions(), test_gateway.trust.decisions());
    assert_eq!(again.call("far_destroys").await, "run", "after a restart");
    assert!(again.trust.revoke(&tool("far_destroys"), "you").await.unwrap());
    assert!(!again.trust.revoke(&tool("far_destroys"), "you").await.unwrap());
    assert!(again.call("far_destroys").await.contains("its server is untrusted"));
}

#[tokio::test(start_paused = true)]
async fn trust_ends_where_the_definition_changes_and_distrust_does_not() {
    let test_gateway = TestGateway::open(TestPolicies::default()).await;
    for (name, level) in [("destroys", Level::Trusted), ("reads", Level::Untrusted)] {
        let subject = Subject::Tool(name.to_owned());
        test_gateway.trust.rule(subject, level, "you", &test_gateway.snapshot()).await.unwrap();
    }
    assert_eq!(test_gateway.call("destroys").await, "run");
    test_gateway.publisher.publish(listing("looks at everything"));
    assert!(
        test_gateway.call("destroys").await.contains("nobody has approved it yet"),
        "another definition"
    );
    assert!(test_gateway.call("reads").await.contains("it is untrusted"), "under the same name");
    test_gateway.publisher.publish(listing("looks at nothing"));
    assert_eq!(
        test_gateway.call("destroys").await,
        "run",
        "the definition is the trusted one again"
    );
    let snapshot = test_gateway.snapshot();
    let tool = snapshot.tool("reads").unwrap();
    let target = Target::Tool(Arc::new(tool.renamed("other").unwrap()));
    assert_eq!(
        test_gateway.trust.inputs(&target, false).level(),
        Level::Untrusted,
        "by another name"
    );
}

#[tokio::test]
async fn what_is_not_there_cannot_be_trusted() {
    let test_gateway = TestGateway::open(TestPolicies::default()).await;
    let snapshot = test_gateway.snapshot();
    for subject in ["nothing", "server:nowhere"] {
        let subject = Subject::parse(subject).unwrap();
        let ruled = test_gateway.trust.rule(subject.clone(), Level::Trusted, "you", &snapshot);
        assert_eq!(ruled.await, Err(TrustError::Unknown(subject.clone())));
        let ruled = test_gateway.trust.rule(subject, Level::Untrusted, "you", &snapshot);
        assert!(ruled.await.is_ok(), "distrust needs nothing to be there");
    }
}

#[tokio::test(start_paused = true)]
async fn a_forged_decision_does_not_count() {
    let plan = TestPolicies::default();
    let forged = r#"{"body":"{\"subject\":\"gateway\",\"level\":\"trusted\",\"bound\":null,\"by\":\"me\",\"at\":1}","signature":"00"}"#;
    use crate::document_store::DocumentStore;
    plan.document_store.put(KIND, "gateway", forged.to_owned()).await.unwrap();
    let test_gateway = TestGateway::open(plan).await;
    assert_eq!(
        (test_gateway.trust.level(), test_gateway.trust.decisions()),
        (Level::Verified, vec![])
    );
    assert!(test_gateway.call("destroys").await.contains("nobody has approved it yet"));
}

#[tokio::test(start_paused = true)]
async fn the_configuration_says_what_tools_do_and_what_is_asked() {
    let texts = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect();
    let with = |approve: &[&str], destructive: &[&str], read_only: &[&str]| TrustSettings {
        approve: approve.iter().map(|it| Wanted::parse(it)).collect(),
        destructive: texts(destructive),
        read_only: texts(read_only),
        ..TrustSettings::default()
    };
    let cases = [
        (with(&["destructive"], &["read*"], &[]), "reads", false),
        (with(&["destructive"], &[], &["far_*"]), "far_destroys", true),
        (with(&["destructive"], &["far_*"], &["far_*"]), "far_destroys", false),
        (with(&["destructive"], &[], &[]), "far_says_nothing", true),
        (with(&["destructive", "unannotated"], &[], &[]), "far_says_nothing", false),
        (with(&["unannotated"], &[], &["far_*"]), "far_says_nothing", true),
        (with(&["unannotated"], &[], &[]), "far_destroys", false),
        (with(&["changes"], &[], &[]), "far_says_nothing", false),
        (with(&["destructive"], &["far_says*"], &[]), "far_says_nothing", false),
        (with(&[], &[], &[]), "far_says_nothing", true),
        (with(&["changes"], &[], &[]), "changes", false),
        (with(&["changes"], &[], &[]), "reads", true),
        (with(&["all"], &[], &[]), "reads", false),
        (with(&["re*"], &[], &[]), "reads", false),
        (with(&["re*"], &[], &[]), "changes", true),
        (with(&[], &[], &[]), "destroys", false),
    ];
    for (settings, tool, runs) in cases {
        let test_gateway = TestGateway::open(TestPolicies::default()).await;
        test_gateway.trust.configure(settings.clone());
        assert_eq!(test_gateway.call(tool).await == "run", runs, "{settings:?} {tool}");
    }
}

/// The same tools, whose server writes the members of each definition in another order.
fn reordered(listing: Listing) -> Listing {
    let tool = |tool: Arc<ToolEntry>| {
        let mut members: Vec<_> = tool.definition.members().collect();
        members.reverse();
        let writer = gantry_protocol::json::ObjectWriter::new();
        let written = members.iter().fold(writer, |out, it| out.raw(&it.key(), &it.value()));
        let mut entry = ToolEntry::new(written.finish()).unwrap();
        entry.origin = tool.origin.clone();
        Arc::new(entry)
    };
    let tools = listing.tools.into_iter().map(tool).collect();
    Listing { tools, ..Listing::default() }
}

#[tokio::test(start_paused = true)]
async fn the_order_of_members_changes_no_decision() {
    let test_gateway = TestGateway::open(TestPolicies::default()).await;
    let subject = Subject::Tool("destroys".to_owned());
    test_gateway
        .trust
        .rule(subject, Level::Trusted, "you", &test_gateway.snapshot())
        .await
        .unwrap();
    test_gateway.publisher.publish(reordered(listing("looks at nothing")));
    assert_eq!(test_gateway.call("destroys").await, "run", "it says the same");
}

#[tokio::test(start_paused = true)]
async fn distrust_stays_with_the_server_and_its_name() {
    let test_gateway = TestGateway::open(TestPolicies::default()).await;
    let subject = Subject::Tool("far_reads".to_owned());
    test_gateway
        .trust
        .rule(subject, Level::Untrusted, "you", &test_gateway.snapshot())
        .await
        .unwrap();
    // Another definition, at an endpoint with another name, after the canonical name has changed.
    test_gateway.publisher.publish(listing("looks at everything"));
    let snapshot = test_gateway.snapshot();
    let tool = snapshot.tool("far_reads").unwrap();
    let named = |name: &str| gantry_gateway::CanonicalName {
        name: name.into(),
        full: None,
        is_contested: false,
    };
    for canonical in ["far_reads", "far_reads_1234abcd"] {
        let shown = tool.shown_as("reads_here", Some(Arc::new(named(canonical)))).unwrap();
        let inputs = test_gateway.trust.inputs(&Target::Tool(Arc::new(shown)), false);
        assert_eq!(inputs.level(), Level::Untrusted, "{canonical}");
    }
    // A tool of another server that has none of these names is another tool.
    let mut other = tool.shown_as("reads_here", None).unwrap();
    let origin = Origin { server: "near".into(), identity: "x".into() };
    let definition = tool.definition.clone();
    other.own =
        Arc::new(gantry_gateway::UpstreamDefinition { name: "reads_here".to_owned(), definition });
    other.origin = Some(Arc::new(origin));
    let other = Target::Tool(Arc::new(other));
    assert_eq!(test_gateway.trust.inputs(&other, false).level(), Level::Verified);
}

/// Registering a tool of our own costs the same however many tools servers have.
#[tokio::test(start_paused = true)]
async fn a_tool_of_our_own_costs_no_look_at_the_others() {
    let entry = |name: &str, server: Option<&str>| {
        let text = format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{{"readOnlyHint":true}}}}"#
        );
        let mut tool = ToolEntry::new(RawJson::parse(text, Default::default()).unwrap()).unwrap();
        let origin = |it: &str| Arc::new(Origin { server: it.into(), identity: it.into() });
        tool.origin = server.map(origin);
        Arc::new(tool)
    };
    for count in [1, 1000] {
        let approvals = TestGateway::open(TestPolicies::default()).await.trust.approvals().clone();
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = looks.clone();
        let in_order: InOrder = Arc::new(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            true
        });
        let trust = Trust::open(TrustSettings::default(), approvals, in_order).await.unwrap();
        let builder = Gateway::builder(ServerInfo::new("marks", "1"));
        let gateway = builder.publish_hook(trust.clone()).build();
        // A server about which there is nothing to say, so that it is never noted as reported.
        let tools = (0..count).map(|number| entry(&format!("far_{number}"), Some("far"))).collect();
        gateway.attach(Arc::new(Maker::default())).publish(Listing { tools, ..Listing::default() });
        let own = gateway.attach(Arc::new(Maker::default()));
        let at_first = looks.swap(0, Ordering::SeqCst);
        assert!((count..=2 * count).contains(&at_first), "{at_first} looks at {count} tools");
        let listed = Some(entry("own", None));
        own.replace(&ToolVersions { name: "own".to_owned(), listed, older: Vec::new() });
        assert!(gateway.catalog().snapshot().tool("own").is_some());
        assert_eq!(looks.load(Ordering::SeqCst), 0, "among {count} tools");
    }
}
