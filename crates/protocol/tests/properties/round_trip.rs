//! What a revision can say survives the way through the newest form, byte for byte.

use gantry_protocol::meta::key;
use gantry_protocol::{Method, RawJson, Revision, compat};
use proptest::prelude::*;

use super::generate::text;
use super::{json, messages};

/// The same object with keys of one hop in its `_meta`.
fn with_hop_keys(object: &RawJson) -> RawJson {
    let meta = object.get(key::META).unwrap_or(RawJson::EMPTY_OBJECT);
    let meta = meta.edit().set(key::SERVER_INFO, RawJson::NULL).set(key::LOG_LEVEL, RawJson::NULL);
    object.edit().set(key::META, meta.apply()).apply()
}

/// An empty `_meta` is the one thing that hop keys take with them.
fn has_empty_meta(object: &RawJson) -> bool {
    object.get(key::META).is_some_and(|meta| meta.members().next().is_none())
}

fn older_and<T: std::fmt::Debug>(
    strategy: impl Fn(Revision) -> BoxedStrategy<T>,
) -> impl Strategy<Value = (Revision, T)> {
    messages::older().prop_flat_map(move |revision| (Just(revision), strategy(revision)))
}

fn older_with_method(
    strategy: impl Fn(Revision, &Method) -> BoxedStrategy<String>,
) -> impl Strategy<Value = (Revision, Method, String)> {
    (messages::older(), messages::method()).prop_flat_map(move |(revision, method)| {
        let text = strategy(revision, &method);
        (Just(revision), Just(method), text)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn results((revision, method, text) in older_with_method(messages::result)) {
        let result = json(&text);
        let lifted = compat::lift_result(revision, &method, &result);
        prop_assert_eq!(lifted.get("resultType"), Some(RawJson::string("complete")));
        let lowered = compat::lower_result(revision, &method, &lifted);
        prop_assert_eq!(lowered.as_str(), &text);
        if !has_empty_meta(&result) {
            let cached = lifted.edit().set("ttlMs", json("9")).set("cacheScope", json("\"public\""));
            let lowered = compat::lower_result(revision, &method, &with_hop_keys(&cached.apply()));
            prop_assert_eq!(lowered.as_str(), &text);
            prop_assert_eq!(compat::lift_result(revision, &method, &lowered), lifted);
        }
    }

    #[test]
    fn request_params((revision, method, text) in older_with_method(messages::params)) {
        let params = json(&text);
        let lifted = compat::lift_params(revision, &method, &params);
        prop_assert_eq!(lifted.as_str(), &text);
        prop_assert_eq!(compat::lower_params(revision, &method, &lifted), lifted);
        if method.takes_input() && !has_empty_meta(&params) {
            let retry = params.edit().set("inputResponses", json("{}")).set("requestState", json("1"));
            let lowered = compat::lower_params(revision, &method, &with_hop_keys(&retry.apply()));
            prop_assert_eq!(lowered.as_str(), &text);
        }
    }

    #[test]
    fn notifications((revision, text) in older_and(messages::progress)) {
        let method = Method::Progress;
        let lifted = compat::lift_notification(revision, &method, &json(&text));
        let lowered = compat::lower_notification(revision, &method, &lifted);
        prop_assert_eq!(lowered.as_str(), &text);
        if !has_empty_meta(&lifted) {
            let lowered = compat::lower_notification(revision, &method, &with_hop_keys(&lifted));
            prop_assert_eq!(lowered.as_str(), &text);
        }
    }

    #[test]
    fn forms((revision, text) in older_and(messages::form)) {
        let lifted = compat::lift_input_request(revision, &Method::Elicit, Some(&json(&text)));
        let lowered = compat::lower_input_request(revision, &Method::Elicit, lifted.as_ref(), "id");
        match lowered {
            Ok(lowered) => prop_assert_eq!(lowered, Some(json(&text))),
            Err(error) => prop_assert!(!revision.has_elicitation(), "{error}"),
        }
    }

    #[test]
    fn visits(text in messages::form(Revision::V2025_11_25)) {
        let visit = json(&text).edit().set("mode", json("\"url\"")).apply();
        let named = visit.edit().set("elicitationId", json("\"id\"")).apply();
        let lifted = compat::lift_input_request(Revision::V2025_11_25, &Method::Elicit, Some(&named));
        prop_assert_eq!(lifted.as_ref(), Some(&visit));
        let revision = Revision::V2025_11_25;
        let lowered = compat::lower_input_request(revision, &Method::Elicit, lifted.as_ref(), "id");
        prop_assert_eq!(lowered, Ok(Some(named)));
    }

    #[test]
    fn questions_to_the_model((revision, text) in older_and(messages::sampling)) {
        let method = Method::CreateMessage;
        let lifted = compat::lift_input_request(revision, &method, Some(&json(&text)));
        let lowered = compat::lower_input_request(revision, &method, lifted.as_ref(), "");
        prop_assert_eq!(lowered, Ok(Some(json(&text))));
    }

    #[test]
    fn answers((revision, text) in older_and(messages::sampled)) {
        for method in [Method::CreateMessage, Method::Elicit, Method::RootsList] {
            let lifted = compat::lift_answer(revision, &method, &json(&text));
            prop_assert_eq!(lifted.as_str(), &text);
            prop_assert_eq!(compat::lower_answer(revision, &method, &lifted), lifted);
        }
    }

    #[test]
    fn anything_is_lowered_once_and_for_all(
        revision in proptest::sample::select(&Revision::ALL[..]),
        (method, text) in messages::method()
            .prop_flat_map(|method| (Just(method.clone()), messages::newest_result(&method))),
    ) {
        let lowered = compat::lower_result(revision, &method, &json(&text));
        prop_assert_eq!(&compat::lower_result(revision, &method, &lowered), &lowered);
        prop_assert_eq!(lowered.get("resultType").is_some(), revision.is_stateless());
        let structured = lowered.get("structuredContent");
        if method == Method::ToolsCall && !revision.has_any_structured_content() {
            prop_assert!(structured.as_ref().is_none_or(RawJson::is_object));
            prop_assert!(structured.is_none() || revision.has_structured_content());
        }
        for block in lowered.get("content").iter().flat_map(RawJson::elements) {
            let kind = block.get("type").and_then(|kind| kind.to_text());
            let kind = kind.unwrap_or_default();
            prop_assert!(kind != "resource_link" || revision.has_resource_links());
            prop_assert!(kind != "audio" || revision.has_audio());
        }
    }

    #[test]
    fn any_value_is_survived(revision in proptest::sample::select(&Revision::ALL[..]), text in text()) {
        let raw = json(&text);
        for name in ["tools/call", "tools/list", "prompts/get", "elicitation/create",
            "sampling/createMessage", "notifications/progress", "other"] {
            let method = Method::parse(name);
            let _ = compat::lift_result(revision, &method, &raw);
            let _ = compat::lower_params(revision, &method, &raw);
            let _ = compat::lower_notification(revision, &method, &raw);
            let _ = compat::lower_input_request(revision, &method, Some(&raw), "");
            let _ = compat::lower_answer(revision, &method, &raw);
            let _ = compat::lift_client_capabilities(revision, &raw);
            let _ = compat::lower_server_capabilities(revision, &raw);
        }
    }
}
