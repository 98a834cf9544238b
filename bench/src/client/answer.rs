//! Is this the answer to that call? Looks into JSON bodies and event streams alike.

use std::borrow::Cow;

use serde::Deserialize;

use super::request::{Work, text};
use crate::fault::Fault;

#[derive(Deserialize)]
struct Answer<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    result: Option<Outcome<'a>>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// Fails unless `body` holds the answer to call `id`.
pub(crate) fn check(body: &[u8], work: Work, id: u64) -> Result<(), Fault> {
    let right = messages(body).any(|message| match work {
        Work::Echo | Work::Tool => is_echo(message, id),
        Work::List => is_list(message) && has(message, &format!(r#""id":{id}"#)),
        Work::FixedList => is_list(message),
    });
    if right {
        return Ok(());
    }
    let body = String::from_utf8_lossy(body).chars().take(300).collect();
    Err(Fault::Answer { id, body })
}

/// The JSON messages of a body: the body itself, or the data of its events.
pub(crate) fn messages(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let plain = body.first() == Some(&b'{');
    body.split(move |&byte| byte == b'\n' && !plain).filter_map(move |line| {
        let data = if plain { line } else { line.strip_prefix(b"data:")? }.trim_ascii();
        (!data.is_empty()).then_some(data)
    })
}

fn is_echo(message: &[u8], id: u64) -> bool {
    let Ok(answer) = serde_json::from_slice::<Answer<'_>>(message) else {
        return false;
    };
    let blocks = answer.result.map(|result| result.content).unwrap_or_default();
    // A second block is payload, which only has to come through.
    answer.id == Some(id) && blocks.first().is_some_and(|block| block.text == text(id))
}

/// A list is too large to parse each time without taking the cores from the server: the member that
/// only its result has is looked for instead.
fn is_list(message: &[u8]) -> bool {
    has(message, r#""tools":["#)
}

fn has(message: &[u8], what: &str) -> bool {
    memchr::memmem::find(message, what.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: u64 = 100_000_001;

    fn echo(body: &str) -> bool {
        check(body.as_bytes(), Work::Echo, ID).is_ok()
    }

    #[test]
    fn an_echo_needs_its_own_id_and_text() {
        let text = text(ID);
        let good = format!(
            r#"{{"jsonrpc":"2.0","id":{ID},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
        );
        let notice = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
        assert!(echo(&good));
        assert!(echo(&format!(
            "id: 1\ndata:\n\nevent: message\ndata: {notice}\n\ndata: {good}\n\n"
        )));
        assert!(!echo(&good.replace("100000001,", "100000002,")));
        assert!(!echo(&good.replace("of the bench", "of another")));
        assert!(!echo(notice));
        assert!(!echo(""));
    }

    #[test]
    fn a_list_needs_its_id_unless_the_bytes_are_fixed() {
        let list = br#"{"id":100000000,"result":{"tools":[]}}"#;
        for (work, id, expected) in
            [(Work::List, 100_000_000, true), (Work::List, ID, false), (Work::FixedList, ID, true)]
        {
            assert_eq!(check(list, work, id).is_ok(), expected);
        }
    }
}
