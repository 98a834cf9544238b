//! Calls that nobody answers in time, are answered themselves, and are repeated once they are
//! approved.

use futures_util::FutureExt;
use gantry_gateway::{CallEvent, CallNotification, CallStream, Reply};

use super::*;
use crate::Role;

const ARGUMENTS: &str = r#"{"n":1}"#;

fn start(test_gateway: &TestGateway, principal: &str, arguments: &str) -> CallStream {
    test_gateway.start(call("destroys", arguments, Caller::new(principal)))
}

/// Makes a call that nobody answers: the id of the approval that it is told.
async fn unanswered(test_gateway: &TestGateway) -> String {
    let outcome = ended(&mut start(test_gateway, "me", ARGUMENTS)).await;
    let open = test_gateway.trust.approvals().pending();
    let [one] = open.as_slice() else { panic!("one approval: {open:?}") };
    assert!(outcome.contains(&format!("`gantry approve {}`", one.id)), "{outcome}");
    assert!(outcome.contains("15 minutes"), "{outcome}");
    one.id.clone()
}

/// What becomes of a call that is made now, if that is known without waiting.
fn at_once(test_gateway: &TestGateway, principal: &str, arguments: &str) -> Option<String> {
    ended(&mut start(test_gateway, principal, arguments)).now_or_never()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_answers_is_answered_with_a_result() {
    let test_gateway = TestGateway::open(TestPolicies::default()).await;
    test_gateway.trust.approvals().set_page("http://gateway/ui/approvals".to_owned());
    let before = tokio::time::Instant::now();
    let mut running = start(&test_gateway, "me", ARGUMENTS);
    let CallEvent::Done(Ok(Reply::Result(result))) = running.next_event().await else {
        panic!("a result")
    };
    assert_eq!(before.elapsed(), Duration::from_secs(20));
    assert_eq!(result.get("isError").and_then(|it| it.read()), Some(true));
    let text = result.get("content").unwrap().elements().next().unwrap();
    let text = text.get("text").unwrap().to_text().unwrap();
    let id = test_gateway.trust.approvals().pending().remove(0).id;
    let told = ["destroys", &id, "http://gateway/ui/approvals", "`gantry trust grant destroys`"];
    for told in told {
        assert!(text.contains(told), "{told}: {text}");
    }
    let detail = |path: &[&str]| result.at(&[&["_meta", "gantry/error"], path].concat());
    assert_eq!(detail(&["error_type"]).unwrap().to_text().unwrap(), "PermissionError");
    let shown = detail(&["error_details", "approval", "id"]).unwrap();
    assert_eq!(shown.to_text().as_deref(), Some(&*id));
    assert_eq!(test_gateway.decided(), format!("approval false: waits for approval {id}"));
}

/// What is said after the call was answered, what happens meanwhile, and what a repeated call gets.
#[tokio::test(start_paused = true)]
async fn a_repeated_call_gets_what_was_said() {
    let same = ("me", ARGUMENTS);
    let brief = scope(false, Some(60), Some(Matching::Exact));
    let cases = [
        ("approved", Some(Answer::once("you")), 0, same, Some("run")),
        ("written otherwise", Some(Answer::once("you")), 0, ("me", r#"{ "n" :1}"#), Some("run")),
        ("shortly before the end", Some(Answer::once("you")), 899, same, Some("run")),
        ("too late", Some(Answer::once("you")), 901, same, None),
        ("not longer than was granted", Some(brief), 61, same, None),
        ("denied", Some(Answer::deny("you")), 0, same, Some("you denied it")),
        ("a denial that is long past", Some(Answer::deny("you")), 901, same, None),
        ("other arguments", Some(Answer::once("you")), 0, ("me", r#"{"n":2}"#), None),
        ("somebody else", Some(Answer::once("you")), 0, ("other", ARGUMENTS), None),
        ("nothing is said", None, 0, same, None),
    ];
    for (case, answer, seconds, (principal, arguments), expected) in cases {
        let test_gateway = TestGateway::open(TestPolicies::default()).await;
        let id = unanswered(&test_gateway).await;
        if let Some(answer) = answer {
            test_gateway.trust.approvals().answer(&id, &answer).await.unwrap();
        }
        assert_eq!(test_gateway.runs(), 0, "{case}: nothing runs by itself");
        tokio::time::advance(Duration::from_secs(seconds)).await;
        let outcome = at_once(&test_gateway, principal, arguments);
        let fits = |outcome: &str| expected.is_some_and(|it| outcome.contains(it));
        assert!(outcome.as_deref().map_or(expected.is_none(), fits), "{case}: {outcome:?}");
        assert_eq!(test_gateway.runs(), usize::from(expected == Some("run")), "{case}");
        assert_eq!(at_once(&test_gateway, principal, arguments), None, "{case}: only once");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_approved_can_be_taken_back() {
    let test_gateway = TestGateway::open(TestPolicies::default()).await;
    let id = unanswered(&test_gateway).await;
    let approvals = test_gateway.trust.approvals();
    approvals.answer(&id, &Answer::once("you")).await.unwrap();
    assert!(approvals.end_grant(&id).await.unwrap());
    assert_eq!((at_once(&test_gateway, "me", ARGUMENTS), test_gateway.runs()), (None, 0));
}

/// A client that leaves while its call waits has not taken the approval with it.
#[tokio::test(start_paused = true)]
async fn a_call_that_was_abandoned_can_be_repeated() {
    for answered_before_it_left in [true, false] {
        let test_gateway = TestGateway::open(TestPolicies::default()).await;
        let approvals = test_gateway.trust.approvals();
        let mut running = start(&test_gateway, "me", ARGUMENTS);
        assert!(!is_begun(&mut running).await);
        let id = approvals.pending().remove(0).id;
        if answered_before_it_left {
            approvals.answer(&id, &Answer::once("you")).await.unwrap();
        }
        drop(running);
        if !answered_before_it_left {
            assert!(!approvals.pending()[0].waiting);
            approvals.answer(&id, &Answer::once("you")).await.unwrap();
        }
        assert_eq!(test_gateway.runs(), 0);
        assert_eq!(at_once(&test_gateway, "me", ARGUMENTS).as_deref(), Some("run"));
        assert_eq!((at_once(&test_gateway, "me", ARGUMENTS), test_gateway.runs()), (None, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_the_same_share_an_approval_and_one_of_them_runs() {
    let test_gateway = TestGateway::open(TestPolicies::default()).await;
    let approvals = test_gateway.trust.approvals();
    let mut running =
        [start(&test_gateway, "me", ARGUMENTS), start(&test_gateway, "me", r#"{"n": 1}"#)];
    for one in &mut running {
        assert!(!is_begun(one).await);
    }
    let first = approvals.pending();
    assert_eq!(first.len(), 1);
    approvals.answer(&first[0].id, &Answer::once("you")).await.unwrap();
    let [one, other] = &mut running;
    assert_eq!(ended(one).await, "run");
    assert!(!is_begun(other).await);
    let second = approvals.pending();
    assert_eq!((second.len(), test_gateway.runs()), (1, 1));
    assert_ne!(second[0].id, first[0].id, "an expired or used approval is not open again");
    approvals.answer(&second[0].id, &Answer::deny("you")).await.unwrap();
    assert!(ended(other).await.contains("you denied it"));
    let denied = [start(&test_gateway, "me", ARGUMENTS), start(&test_gateway, "me", ARGUMENTS)];
    let answers =
        async { approvals.answer(&approvals.pending()[0].id, &Answer::deny("you")).await };
    let [mut one, mut other] = denied;
    let (one, other, _) = tokio::join!(ended(&mut one), ended(&mut other), answers);
    assert!(one.contains("you denied it") && other.contains("you denied it"), "{one} {other}");
    assert_eq!(
        (at_once(&test_gateway, "me", ARGUMENTS), test_gateway.runs()),
        (None, 1),
        "they have heard it"
    );
}

#[tokio::test(start_paused = true)]
async fn an_approval_that_has_expired_is_not_advised() {
    let expires = Duration::from_secs(10);
    let approvals = ApprovalSettings { expires, ..Default::default() };
    let test_gateway =
        TestGateway::open(TestPolicies { approvals, ..TestPolicies::default() }).await;
    let outcome = ended(&mut start(&test_gateway, "me", ARGUMENTS)).await;
    assert!(outcome.contains("nobody approved it in time"), "{outcome}");
    assert!(outcome.contains("gantry trust grant destroys"), "{outcome}");
    assert!(!outcome.contains("gantry approve"), "{outcome}");
    assert_eq!(test_gateway.trust.approvals().pending(), []);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_wants_progress_hears_what_its_call_waits_for() {
    let test_gateway = TestGateway::open(TestPolicies::default()).await;
    let mut wanted = call("destroys", ARGUMENTS, Caller::new("me"));
    wanted.wants_progress = true;
    let mut running = test_gateway.start(wanted);
    let mut heard = Vec::new();
    let result = loop {
        match running.next_event().await {
            CallEvent::Notification(CallNotification::Progress(params)) => heard.push(params),
            CallEvent::Done(outcome) => break crate::test_gateway::words(&outcome),
            step => panic!("{step:?}"),
        }
    };
    let id = test_gateway.trust.approvals().pending().remove(0).id;
    assert!(result.contains(&id) && heard.len() >= 4, "{result} {heard:?}");
    for params in &heard {
        assert!(params.as_str().contains(&format!("`gantry approve {id}`")), "{params}");
    }
}

/// A person may need longer than a client waits in silence.
#[tokio::test(start_paused = true)]
async fn a_client_whose_form_is_open_hears_progress() {
    for client_only in [false, true] {
        let test_gateway = TestGateway::open(TestPolicies::default()).await;
        if client_only {
            test_gateway.trust.approvals().set_client_only();
        }
        let mut wanted = call("destroys", ARGUMENTS, able("local"));
        wanted.wants_progress = true;
        let mut running = test_gateway.start(wanted);
        let before = tokio::time::Instant::now();
        let (mut form, mut heard) = (None, Vec::new());
        while heard.len() < 4 {
            match running.next_event().await {
                CallEvent::InputRequests(mut requests) => form = Some(requests.remove(0)),
                CallEvent::Notification(CallNotification::Progress(params)) => heard.push(params),
                step => panic!("{step:?}"),
            }
        }
        assert_eq!(before.elapsed(), Duration::from_secs(20));
        let id = test_gateway.trust.approvals().pending().remove(0).id;
        for params in &heard {
            let command = params.as_str().contains(&format!("`gantry approve {id}`"));
            assert!(params.as_str().contains("`destroys` waits") && command != client_only);
        }
        let answer = r#"{"action":"accept","content":{"decision":"allow once"}}"#;
        form.expect("a form").answer.send(Ok(RawJson::from_static(answer))).expect("it waits");
        assert_eq!(ended(&mut running).await, "run");
    }
}

/// A rule that names approvers counts for what was approved before there was one.
#[tokio::test(start_paused = true)]
async fn an_approval_does_not_outlive_a_change_of_approvers() {
    let names = BTreeMap::from([("the rule".to_owned(), vec!["ops".to_owned()])]);
    for answered in [true, false] {
        let rule = Some(crate::RuleEffect::Approve);
        let test_gateway =
            TestGateway::open(TestPolicies { rule, ..TestPolicies::default() }).await;
        let approvals = test_gateway.trust.approvals();
        ended(&mut start(&test_gateway, "me", ARGUMENTS)).await;
        let before = approvals.pending().remove(0);
        if answered {
            approvals.answer(&before.id, &Answer::once("you")).await.unwrap();
        }
        approvals
            .configure(ApprovalSettings { rule_approvers: names.clone(), ..Default::default() });
        assert_eq!((at_once(&test_gateway, "me", ARGUMENTS), test_gateway.runs()), (None, 0));
        let now = approvals.pending().pop().unwrap();
        assert_eq!(now.approvers, Some(vec!["ops".to_owned()]));
        assert_ne!(now.id, before.id);
    }
}

/// Whose clients are asked; the others wait for somebody else.
#[tokio::test(start_paused = true)]
async fn only_the_local_user_is_asked_unless_the_settings_say_so() {
    let restored =
        ApprovalSettings { elicitation_principals: vec!["ci".to_owned()], ..Default::default() };
    let usual = ApprovalSettings::default;
    let cases = [
        ("local", usual(), true),
        ("default", usual(), true),
        ("ci", usual(), false),
        ("ann", usual(), false),
        ("ci", restored.clone(), true),
        ("ci-2", restored, false),
        ("ann", ApprovalSettings { self_approval: true, ..usual() }, true),
    ];
    for (principal, approvals, is_asked) in cases {
        let test_gateway =
            TestGateway::open(TestPolicies { approvals, ..TestPolicies::default() }).await;
        let approvals = test_gateway.trust.approvals();
        approvals.set_roles(Arc::new(|name| match name {
            "default" => Role::User,
            "ann" => Role::Approver,
            _ => Role::Caller,
        }));
        let mut running = test_gateway.start(call("destroys", "{}", able(principal)));
        match running.next_event().await {
            CallEvent::InputRequests(mut input_requests) => {
                assert!(is_asked, "{principal}");
                input_requests.remove(0).answer.send(Ok(reply(Some(true)))).unwrap();
                assert_eq!(ended(&mut running).await, "run", "{principal}");
                let by =
                    format!("approved by the user of the client (`{principal}`) (elicitation)");
                assert_eq!(test_gateway.decided(), format!("approval true: {by}"));
            }
            CallEvent::Done(outcome) => {
                let words = crate::test_gateway::words(&outcome);
                assert!(!is_asked && words.contains("nobody has approved it yet"), "{principal}");
                let id = approvals.pending().remove(0).id;
                let own = Answer::once("x").with(Authority::Elicitation);
                let refused = approvals.answer(&id, &own).await;
                assert!(matches!(refused, Err(AnswerError::NotEntitled { .. })), "{refused:?}");
            }
            CallEvent::Notification(notification) => panic!("{notification:?}"),
        }
    }
}

/// A process that ends with its call has nobody else to wait for.
#[tokio::test(start_paused = true)]
async fn where_only_the_client_can_answer_nobody_else_is_waited_for() {
    for caller in [able("local"), Caller::new("local")] {
        let test_gateway = TestGateway::open(TestPolicies::default()).await;
        test_gateway.trust.approvals().set_client_only();
        let is_able = caller.capabilities.elicitation_form;
        let mut running = test_gateway.start(call("destroys", "{}", caller));
        if is_able {
            asked(&mut running).await.answer.send(Ok(reply(None))).unwrap();
        }
        let outcome = ended(&mut running).now_or_never().expect("it is known at once");
        assert!(outcome.contains("nobody approved it"), "{outcome}");
        assert!(!outcome.contains("gantry approve"), "{outcome}");
        assert_eq!(test_gateway.trust.approvals().pending(), []);
    }
}
