//! Tokens as a table, with times as people say them.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use crate::cli::render::{Style, Table};

/// A token as it is listed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Row {
    name: String,
    id: String,
    state: String,
    allow: Vec<String>,
    role: String,
    created: u64,
    expires: Option<u64>,
    last_used: Option<u64>,
}

/// All tokens, a line each.
pub(super) fn all(rows: &[Row], now: SystemTime, style: Style) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut table = Table::default();
    table.row(["NAME", "ID", "STATE", "CREATED", "EXPIRES", "LAST USE", "ROLE", "ALLOWS"]);
    for row in rows {
        let allows = match row.allow.as_slice() {
            [] => "everything".to_owned(),
            allow => allow.join(", "),
        };
        table.row([
            &row.name,
            &row.id,
            &row.state,
            &when(row.created, now),
            &row.expires.map_or_else(|| "never".to_owned(), |at| when(at, now)),
            &row.last_used.map_or_else(|| "never".to_owned(), |at| when(at, now)),
            &row.role,
            &allows,
        ]);
    }
    table.to_text(style)
}

/// A time as people say it.
fn when(at: u64, now: u64) -> String {
    match now.checked_sub(at) {
        Some(0..=1) => "now".to_owned(),
        Some(since) => format!("{} ago", span(since)),
        None => format!("in {}", span(at - now)),
    }
}

/// A length of time in its largest unit.
fn span(seconds: u64) -> String {
    let units = [("d", 86_400), ("h", 3600), ("m", 60)];
    let unit = units.iter().find(|(_, length)| seconds >= 2 * length);
    unit.map_or_else(
        || format!("{seconds}s"),
        |(unit, length)| format!("{}{unit}", seconds / length),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_line_each() {
        let text = r#"[
            {"name": "default", "id": "0a", "state": "active", "allow": [], "created": 1000,
             "expires": null, "revoked": null, "last_used": 99990, "role": "user"},
            {"name": "ci", "id": "0b", "state": "expired", "allow": ["a*", "b"], "created": 99999,
             "expires": 5000000, "role": "caller"}
        ]"#;
        let rows: Vec<Row> = serde_json::from_str(text).expect("tokens");
        let expected = "\
NAME     ID  STATE    CREATED  EXPIRES  LAST USE  ROLE    ALLOWS
default  0a  active   27h ago  never    10s ago   user    everything
ci       0b  expired  now      in 56d   never     caller  a*, b";
        let now = UNIX_EPOCH + Duration::from_secs(100_000);
        assert_eq!(all(&rows, now, Style::PLAIN), expected);
        assert_eq!(all(&[], now, Style::PLAIN), "");
    }
}
