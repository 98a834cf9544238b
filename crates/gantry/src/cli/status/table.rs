//! How servers stand, as a table of all and as the lines of one.

use super::Standing;
use crate::cli::render::{Style, Table, one_line};

/// All servers, a line each.
pub(super) fn all(standings: &[Standing], style: Style) -> String {
    if standings.is_empty() {
        return String::new();
    }
    let mut table = Table::default();
    table.row([
        "SERVER",
        "STATE",
        "VIA",
        "REVISION",
        "TOOLS",
        "RESOURCES",
        "PROMPTS",
        "CALLS",
        "RESTARTS",
        "MEMORY",
        "BREAKER",
        "ABOUT",
    ]);
    for standing in standings {
        let about = standing.reason.as_ref().or(standing.server.as_ref());
        let via = match standing.connections {
            Some(own) => format!("{} +{own}", standing.transport),
            None => standing.transport.clone(),
        };
        table.row([
            &standing.name,
            &standing.state,
            &via,
            standing.revision.as_deref().unwrap_or("-"),
            &standing.tools.to_string(),
            &standing.resources.to_string(),
            &standing.prompts.to_string(),
            &standing.in_flight.to_string(),
            &standing.restarts.to_string(),
            &standing.memory_bytes.map_or_else(|| "-".to_owned(), memory),
            standing.breaker.as_deref().unwrap_or("-"),
            about.map_or("", String::as_str),
        ]);
    }
    table.to_text(style)
}

/// One server: all that is known of it.
pub(super) fn one(standing: &Standing, style: Style) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let state = match &standing.reason {
        Some(reason) => format!("{}: {reason}", standing.state),
        None => standing.state.clone(),
    };
    let process = standing.process.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let offers = format!(
        "{} tools, {} resources, {} prompts",
        standing.tools, standing.resources, standing.prompts
    );
    let age = standing.age_ms.map_or_else(|| "-".to_owned(), |millis| age(millis / 1000));
    let own = standing.connections;
    let own = own.map(|own| ("beside", format!("{own} connections for single users or sessions")));
    let lines = [
        ("state", state),
        ("via", format!("{} {}", standing.transport, standing.place)),
        ("revision", or_none(&standing.revision)),
        ("server", or_none(&standing.server)),
        ("offers", offers),
        ("calls", format!("{} under way", standing.in_flight)),
        ("process", process),
        ("memory", standing.memory_bytes.map_or_else(|| "-".to_owned(), memory)),
        ("connected", age),
        ("restarts", standing.restarts.to_string()),
        ("breaker", or_none(&standing.breaker)),
    ];
    let mut out = style.bold(&one_line(&standing.name)) + "\n";
    let marks = standing.marks.clone().map(|marks| ("tools", marks));
    for (name, value) in lines.into_iter().chain(own).chain(marks) {
        out.push_str(&format!("  {name:10} {}\n", one_line(&value)));
    }
    for problem in &standing.problems {
        out.push_str(&format!("  {} {}\n", style.red("left out"), one_line(problem)));
    }
    out
}

/// Bytes for people.
fn memory(bytes: u64) -> String {
    const MEBIBYTE: f64 = 1024.0 * 1024.0;
    match bytes as f64 / MEBIBYTE {
        small if small < 10.0 => format!("{small:.1} MiB"),
        large if large < 10_000.0 => format!("{large:.0} MiB"),
        huge => format!("{:.1} GiB", huge / 1024.0),
    }
}

/// A time for people, in its two largest units.
fn age(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, _, _) => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standings() -> Vec<Standing> {
        let text = r#"[
            {"name": "fs", "state": "ready", "transport": "stdio", "place": "npx fs",
             "revision": "2025-11-25", "server": "files 1.0", "tools": 12, "resources": 1,
             "prompts": 0, "problems": ["tool `x`: its\nschema is wrong"], "process": 7,
             "memory_bytes": 53477376, "restarts": 2, "in_flight": 1, "age_ms": 3725000,
             "breaker": "closed"},
            {"name": "web", "state": "backing off", "reason": "refused", "transport": "http",
             "place": "https://h/mcp", "later": true, "connections": 2}
        ]"#;
        serde_json::from_str(text).expect("servers")
    }

    #[test]
    fn a_line_each() {
        let expected = "\
SERVER  STATE        VIA      REVISION    TOOLS  RESOURCES  PROMPTS  CALLS  RESTARTS  MEMORY  BREAKER  ABOUT
fs      ready        stdio    2025-11-25  12     1          0        1      2         51 MiB  closed   files 1.0
web     backing off  http +2  -           0      0          0        0      0         -       -        refused";
        assert_eq!(all(&standings(), Style::PLAIN), expected);
    }

    #[test]
    fn all_of_one() {
        let expected = "\
fs
  state      ready
  via        stdio npx fs
  revision   2025-11-25
  server     files 1.0
  offers     12 tools, 1 resources, 0 prompts
  calls      1 under way
  process    7
  memory     51 MiB
  connected  1h 2m
  restarts   2
  breaker    closed
  left out tool `x`: its schema is wrong
";
        assert_eq!(one(&standings()[0], Style::PLAIN), expected);
        let other = one(&standings()[1], Style::PLAIN);
        assert!(other.contains("state      backing off: refused\n"), "{other}");
        assert!(
            other.contains("beside     2 connections for single users or sessions\n"),
            "{other}"
        );
    }

    #[test]
    fn numbers() {
        let sizes =
            [(0, "0.0 MiB"), (1 << 20, "1.0 MiB"), (15 << 20, "15 MiB"), (20 << 30, "20.0 GiB")];
        for (bytes, expected) in sizes {
            assert_eq!(memory(bytes), expected);
        }
        let ages = [(5, "5s"), (65, "1m 5s"), (3725, "1h 2m"), (90_000, "1d 1h")];
        for (seconds, expected) in ages {
            assert_eq!(age(seconds), expected);
        }
    }
}
