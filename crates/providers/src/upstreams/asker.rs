//! Who asks. Where several servers stand behind one endpoint, a person who is asked for something is
//! told which of them wants to know it.

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, RawJson};

/// A question with the name of its server before what people read of it. Questions to programs stay
/// as they are.
pub(super) fn named(server: &str, method: &Method, params: RawJson) -> RawJson {
    let message = params.get("message").and_then(|message| message.to_text());
    match message.filter(|_| *method == Method::Elicit) {
        Some(message) => {
            let message = RawJson::string(&format!("{server}: {message}"));
            params.edit().set("message", message).apply()
        }
        None => params,
    }
}

/// The same for all questions of a reply, by key.
pub(super) fn named_all(server: &str, input_requests: &RawJson) -> RawJson {
    let mut named_all = ObjectWriter::with_capacity(input_requests.bytes().len() + 64);
    for member in input_requests.members() {
        let input_request = member.value();
        let method = input_request.get("method").and_then(|method| method.to_text());
        let named = match (method, input_request.get("params")) {
            (Some(method), Some(params)) => {
                let params = named(server, &Method::parse(&method), params);
                input_request.edit().set("params", params).apply()
            }
            _ => input_request,
        };
        named_all = named_all.raw(&member.key(), &named);
    }
    named_all.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests::fixture::raw;
    use super::*;

    #[test]
    fn people_are_told_who_asks() {
        let cases = [
            (
                r#"{"a":{"method":"elicitation/create","params":{"message":"Your key?","big":1.50}}}"#,
                r#"{"a":{"method":"elicitation/create","params":{"message":"one: Your key?","big":1.50}}}"#,
            ),
            (
                r#"{"a":{"method":"sampling/createMessage","params":{"message":"x"}},"b":{"method":"roots/list"}}"#,
                r#"{"a":{"method":"sampling/createMessage","params":{"message":"x"}},"b":{"method":"roots/list"}}"#,
            ),
            (
                r#"{"a":{"method":"elicitation/create","params":{}},"b":7}"#,
                r#"{"a":{"method":"elicitation/create","params":{}},"b":7}"#,
            ),
        ];
        for (input_requests, expected) in cases {
            assert_eq!(named_all("one", &raw(input_requests)).as_str(), expected);
        }
    }
}
