//! Messages of each revision, with everything it can say and members it does not know.

use gantry_protocol::{Method, Revision};
use proptest::prelude::*;

use super::generate::{array_of, leaf, member, object_of, one_of, string, text};

/// Members that no revision knows.
fn vendor() -> BoxedStrategy<String> {
    prop_oneof![member("vendor", text()), member("x.example/y", text())].boxed()
}

/// A `_meta` with keys that cross the gateway.
fn meta() -> BoxedStrategy<String> {
    let keys = vec![member("progressToken", leaf()), member("traceparent", string()), vendor()];
    member("_meta", object_of(vec![], keys))
}

/// A content block that `revision` knows.
fn block(revision: Revision) -> BoxedStrategy<String> {
    let typed = |kind, needed: Vec<BoxedStrategy<String>>| {
        let needed = [vec![member("type", one_of(kind))], needed].concat();
        object_of(needed, vec![member("annotations", text()), vendor()])
    };
    let mut kinds = vec![
        typed(&["\"text\""], vec![member("text", string())]),
        typed(&["\"image\""], vec![member("data", string())]),
        typed(&["\"resource\""], vec![member("resource", text())]),
    ];
    if revision.has_audio() {
        kinds.push(typed(&["\"audio\""], vec![member("data", string())]));
    }
    if revision.has_resource_links() {
        kinds.push(typed(&["\"resource_link\""], vec![member("uri", string())]));
    }
    proptest::strategy::Union::new(kinds).boxed()
}

fn tool(revision: Revision) -> BoxedStrategy<String> {
    let kind = member("type", one_of(&["\"object\""]));
    let schema = object_of(vec![kind], vec![member("properties", text()), vendor()]);
    let mut optional = vec![vendor(), member("icons", text()), member("title", string())];
    if revision.has_structured_content() {
        optional.push(member("outputSchema", schema.clone()));
    }
    object_of(vec![member("name", string()), member("inputSchema", schema)], optional)
}

/// The methods whose results differ, and one that stands for the others.
pub(crate) fn method() -> BoxedStrategy<Method> {
    proptest::sample::select(vec![
        Method::ToolsCall,
        Method::ToolsList,
        Method::PromptsGet,
        Method::ResourcesRead,
        Method::Complete,
    ])
    .boxed()
}

/// A revision older than the newest.
pub(crate) fn older() -> BoxedStrategy<Revision> {
    proptest::sample::select(&Revision::ALL[..4]).boxed()
}

/// A result that `revision` can say.
pub(crate) fn result(revision: Revision, method: &Method) -> BoxedStrategy<String> {
    let object = || object_of(vec![], vec![vendor()]);
    let members = match method {
        Method::ToolsCall => {
            let mut members = vec![
                member("content", array_of(block(revision))),
                member("isError", one_of(&["true", "false"])),
            ];
            if revision.has_structured_content() {
                members.push(member("structuredContent", object()));
            }
            members
        }
        Method::ToolsList => vec![member("tools", array_of(tool(revision)))],
        Method::PromptsGet => {
            let message = object_of(vec![member("content", block(revision))], vec![vendor()]);
            vec![member("messages", array_of(message))]
        }
        _ => vec![member("contents", text())],
    };
    object_of(vec![], [members, vec![meta(), vendor()]].concat())
}

/// Request params that `revision` can say.
pub(crate) fn params(revision: Revision, method: &Method) -> BoxedStrategy<String> {
    let mut optional = vec![meta(), vendor(), member("arguments", text())];
    if *method == Method::Complete && revision >= Revision::V2025_06_18 {
        optional.push(member("context", text()));
    }
    object_of(vec![], optional)
}

/// Params of a progress notice that `revision` can say.
pub(crate) fn progress(revision: Revision) -> BoxedStrategy<String> {
    let mut optional = vec![meta(), vendor(), member("progress", leaf())];
    if revision.has_progress_message() {
        optional.push(member("message", string()));
    }
    object_of(vec![], optional)
}

/// A form that `revision` can ask for.
pub(crate) fn form(revision: Revision) -> BoxedStrategy<String> {
    let kind = member("type", one_of(&["\"string\"", "\"number\"", "\"boolean\""]));
    let mut field = vec![member("title", string()), member("enum", text()), vendor()];
    let mut optional = vec![meta(), vendor(), member("message", string())];
    if revision.has_rich_elicitation() {
        field.push(member("oneOf", text()));
        optional.push(member("mode", one_of(&["\"form\""])));
    }
    let field = object_of(vec![kind], field);
    let fields = object_of(vec![], vec![member("a", field.clone()), member("b", field)]);
    let schema = object_of(vec![member("properties", fields)], vec![vendor()]);
    object_of(vec![member("requestedSchema", schema)], optional)
}

/// A question to the model that `revision` can ask.
pub(crate) fn sampling(revision: Revision) -> BoxedStrategy<String> {
    let mut content = text_or_image();
    let mut optional = vec![meta(), vendor(), member("maxTokens", leaf())];
    if revision.has_sampling_tools() {
        content = prop_oneof![content.clone(), array_of(content)].boxed();
        optional.extend([member("tools", text()), member("toolChoice", text())]);
    }
    let message = object_of(vec![member("content", content)], vec![vendor()]);
    object_of(vec![member("messages", array_of(message))], optional)
}

/// A model's answer that `revision` can give.
pub(crate) fn sampled(revision: Revision) -> BoxedStrategy<String> {
    let mut content = text_or_image();
    if revision.has_sampling_tools() {
        content = prop_oneof![content.clone(), array_of(content)].boxed();
    }
    object_of(vec![member("content", content)], vec![meta(), vendor(), member("model", string())])
}

fn text_or_image() -> BoxedStrategy<String> {
    let kind = member("type", one_of(&["\"text\"", "\"image\""]));
    object_of(vec![kind], vec![member("text", string()), vendor()])
}

/// A result of the newest revision, with what older ones cannot say.
pub(crate) fn newest_result(method: &Method) -> BoxedStrategy<String> {
    let structured = member("structuredContent", text());
    let newest = result(Revision::LATEST, method);
    (newest, structured, any::<bool>())
        .prop_map(|(result, structured, with)| {
            match with && !result.contains("structuredContent") {
                true => format!("{{{structured}{}{}", separator(&result), &result[1..]),
                false => result,
            }
        })
        .boxed()
}

fn separator(object: &str) -> &'static str {
    if object == "{}" { "" } else { "," }
}
