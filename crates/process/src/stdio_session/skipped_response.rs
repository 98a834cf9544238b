//! What is passed on instead of an answer that is too long, for whoever waits for it.
//!
//! Most programs say first or last which request they answer, so that it can be read from what is
//! left of the line.

use bytes::Bytes;

use gantry_transport::lines::LineTooLong;

/// The member that stands in the place of the answer, and says why there is none.
pub const SKIPPED: &str = "gantry/skipped";

/// What is left of a line that answers a request; none if it was no answer, or does not say to what.
pub(super) fn rest(long: &LineTooLong) -> Option<Bytes> {
    let (head, tail) = (String::from_utf8_lossy(&long.head), String::from_utf8_lossy(&long.tail));
    let members = [before_values(&head), behind_values(&tail)];
    if members.iter().any(|members| members.contains("\"method\"")) {
        return None;
    }
    let id = members.iter().find_map(|members| id(members))?;
    let text = format!("the answer is longer than the limit of {} bytes", long.limit);
    Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"{SKIPPED}":"{text}"}}"#).into())
}

/// The members of an object that stand before the first one which has members or elements itself.
fn before_values(head: &str) -> &str {
    let members = head.trim_start().strip_prefix('{').unwrap_or_default();
    members.find(['{', '[']).map_or(members, |end| &members[..end])
}

/// The members that stand behind the last such one.
fn behind_values(tail: &str) -> &str {
    let members = tail.trim_end().strip_suffix('}').unwrap_or_default();
    members.rfind(['}', ']']).map_or("", |start| &members[start + 1..])
}

/// The number that these members name as the id. Ours are numbers.
fn id(members: &str) -> Option<u64> {
    let (_, value) = members.split_once("\"id\"")?;
    let value = value.trim_start().strip_prefix(':')?.trim_start();
    let end = value.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(value.len());
    value[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(line: &str) -> LineTooLong {
        let (head, tail) = line.split_at(line.len() / 2);
        LineTooLong { limit: 9, head: head.into(), tail: tail.into() }
    }

    #[test]
    fn whoever_waits_is_found() {
        let text = "xy".repeat(20);
        let result = format!(r#"{{"content":[{{"text":"{text}","id":3}}]}}"#);
        let cases = [
            (format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#), Some(7)),
            (format!(r#" {{ "id" : 7 , "result" : {result} }} "#), Some(7)),
            (format!(r#"{{"result":{result},"jsonrpc":"2.0","id":7}}"#), Some(7)),
            (format!(r#"{{"result":{result},"id":7,"jsonrpc":"2.0"}}"#), Some(7)),
            (format!(r#"{{"jsonrpc":"2.0","error":{result},"id": 7}}"#), Some(7)),
            (format!(r#"{{"method":"m","params":{result},"jsonrpc":"2.0","id":7}}"#), None),
            (format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{result}}}"#), None),
            (format!(r#"{{"id":7,"params":{result},"method":"m"}}"#), None),
            (format!(r#"{{"jsonrpc":"2.0","id":"7","result":{result}}}"#), None),
            (format!(r#"{{"jsonrpc":"2.0","result":{result}}}"#), None),
            (format!(r#"[{result},{result}]"#), None),
            (text, None),
        ];
        for (line, expected) in cases {
            let rest = rest(&long(&line)).map(|it| String::from_utf8(it.to_vec()).unwrap());
            let found = rest.as_deref().and_then(id);
            assert_eq!(found, expected, "{line}: {rest:?}");
            assert!(rest.is_none_or(|it| it.contains("longer than the limit of 9 bytes")));
        }
    }
}
