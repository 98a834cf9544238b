//! `/api/servers`: how the servers behind the gateway stand, what they have written, and how they
//! begin anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use gantry::policy_set::PolicySet;
use gantry_gateway::contract::ErrorType;
use gantry_policy::Breakers;
use gantry_policy::trust::Marks;
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use gantry_providers::upstreams::{Status, Upstreams};
use http::{Method, StatusCode};

use crate::admin::{Answer, refuse};
use crate::config::reload::ReloadState;

/// A page of servers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// All of them.
    List,
    /// One, by its name.
    Show(String),
    /// One that is to begin anew.
    Restart(String),
    /// What the program of one has written.
    Log(String),
}

impl Page {
    /// The page that is asked for, or the method that it would take; none if the path is not one
    /// of servers. A name may have signs that are written as `%20` in a path.
    pub(crate) fn of(method: &Method, path: &str) -> Option<Result<Self, &'static str>> {
        let rest = path.strip_prefix("servers")?;
        if rest.is_empty() {
            return Some(if method == Method::GET { Ok(Self::List) } else { Err("GET") });
        }
        let (name, below) = match rest.strip_prefix('/')?.split_once('/') {
            Some((name, below)) => (name, Some(below)),
            None => (rest.strip_prefix('/')?, None),
        };
        let name = decode(name).filter(|name| !name.is_empty())?;
        match (below, method) {
            (None, &Method::GET) => Some(Ok(Self::Show(name))),
            (Some("log"), &Method::GET) => Some(Ok(Self::Log(name))),
            (Some("restart"), &Method::POST) => Some(Ok(Self::Restart(name))),
            (None | Some("log"), _) => Some(Err("GET")),
            (Some("restart"), _) => Some(Err("POST")),
            _ => None,
        }
    }

    /// The answer; a gateway without servers has none to show.
    pub(crate) async fn answer(
        self,
        servers: Option<&Upstreams>,
        policies: Option<&PolicySet>,
        configuration: Option<&ReloadState>,
    ) -> Answer {
        let standings = || servers.map(Upstreams::status).unwrap_or_default();
        let breakers = policies.map(PolicySet::breakers);
        match self {
            Self::List => list(&standings(), policies, configuration),
            Self::Show(name) => match show(&standings(), breakers, &name) {
                (StatusCode::OK, row) => (StatusCode::OK, marked(row, &name, &marks(policies))),
                refused => refused,
            },
            Self::Log(name) => match servers.and_then(|it| Some((it.log(&name)?, it))) {
                Some((log, it)) => (StatusCode::OK, said(&name, &log, &it.own_logs(&name))),
                None => unknown(&name),
            },
            Self::Restart(name) => {
                let restarted = match servers {
                    Some(servers) => servers.restart(&name).await,
                    None => false,
                };
                if !restarted {
                    return unknown(&name);
                }
                if let Some(breakers) = breakers {
                    breakers.reset(&name);
                }
                show(&standings(), breakers, &name)
            }
        }
    }
}

fn list(
    standings: &[Status],
    policies: Option<&PolicySet>,
    configuration: Option<&ReloadState>,
) -> Answer {
    let breakers = policies.map(PolicySet::breakers);
    let marks = marks(policies);
    let row = |it: &Status| marked(row(it, breakers), &it.name, &marks);
    let rows: Vec<RawJson> = standings.iter().map(row).collect();
    let names = |policies: &PolicySet| -> Vec<String> {
        policies.pins().held().iter().map(|it| it.seen.shown.clone()).collect()
    };
    let lines = |policies: &PolicySet| -> Vec<String> {
        policies.pins().lines().into_iter().map(|line| line.text).collect()
    };
    let list = ObjectWriter::new()
        .array("servers", &rows)
        .value_some("held", policies.map(names))
        .value_some("pins", policies.map(lines))
        .raw_some("configuration", configuration.map(state).as_ref());
    (StatusCode::OK, list.finish())
}

/// How many tools of each server are destructive, or do not say.
fn marks(policies: Option<&PolicySet>) -> BTreeMap<Arc<str>, Marks> {
    let gateway = policies.and_then(PolicySet::gateway);
    let snapshot = gateway.map(|gateway| gateway.catalog().snapshot());
    let marks =
        policies.zip(snapshot).map(|(policies, snapshot)| policies.trust().marks(&snapshot));
    marks.unwrap_or_default()
}

/// A row with that.
fn marked(row: RawJson, server: &str, marks: &BTreeMap<Arc<str>, Marks>) -> RawJson {
    let Some(marks) = marks.get(server) else { return row };
    let number = |count: usize| RawJson::of(&count).ok();
    row.edit()
        .set_some("destructive", number(marks.destructive))
        .set_some("unannotated", number(marks.unannotated))
        .set_some("marks", marks.text(server).as_deref().map(RawJson::string))
        .apply()
}

/// Whether what the files of the configuration say is in force.
fn state(configuration: &ReloadState) -> RawJson {
    ObjectWriter::new()
        .value("reloading", &configuration.is_reloading())
        .value_some("problem", configuration.problem())
        .finish()
}

fn show(standings: &[Status], breakers: Option<&Breakers>, name: &str) -> Answer {
    let found = standings.iter().find(|it| it.name == name);
    found.map_or_else(|| unknown(name), |it| (StatusCode::OK, row(it, breakers)))
}

fn said(name: &str, log: &str, own: &[(String, String)]) -> RawJson {
    let own = own.iter().map(|(name, log)| {
        ObjectWriter::new().value("name", name.as_str()).value("log", log.as_str()).finish()
    });
    let own: Vec<RawJson> = own.collect();
    ObjectWriter::new().value("name", name).value("log", log).array("connections", &own).finish()
}

fn unknown(name: &str) -> Answer {
    let text = format!("there is no server `{name}`");
    let told = (&*text, "/api/servers lists those there are, and so does `gantry status`");
    refuse(StatusCode::NOT_FOUND, ErrorType::ResourceNotFound, told)
}

/// How a server stands, and what is known of its program or connection.
fn row(status: &Status, breakers: Option<&Breakers>) -> RawJson {
    let health = &status.health;
    let age = health.age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    let row = RawJson::of(status).unwrap_or(RawJson::EMPTY_OBJECT);
    let number = |value: Option<u64>| value.and_then(|it| RawJson::of(&it).ok());
    row.edit()
        .set_some("process", number(health.process.map(u64::from)))
        .set_some("memory_bytes", number(health.memory))
        .set_some("restarts", number(Some(health.restarts)))
        .set_some("in_flight", number(u64::try_from(health.in_flight).ok()))
        .set_some("age_ms", number(age))
        .set_some("breaker", breakers.map(|it| RawJson::string(it.state(&status.name).as_str())))
        .apply()
}

/// A part of a path without its `%20`; none if that is not text.
pub(crate) fn decode(part: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut pieces = part.split('%');
    bytes.extend_from_slice(pieces.next()?.as_bytes());
    for piece in pieces {
        let digits = piece.get(..2).filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(piece.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn pages() {
        let named = |page: fn(String) -> Page, name: &str| Some(Ok(page(name.to_owned())));
        let cases = [
            ("GET", "servers", Some(Ok(Page::List))),
            ("POST", "servers", Some(Err("GET"))),
            ("GET", "servers/git-hub", named(Page::Show, "git-hub")),
            ("GET", "servers/a%20b%2Fc", named(Page::Show, "a b/c")),
            ("DELETE", "servers/a", Some(Err("GET"))),
            ("GET", "servers/a/log", named(Page::Log, "a")),
            ("POST", "servers/a/log", Some(Err("GET"))),
            ("POST", "servers/a/restart", named(Page::Restart, "a")),
            ("GET", "servers/a/restart", Some(Err("POST"))),
            ("GET", "servers/a/other", None),
            ("GET", "servers/", None),
            ("GET", "servers/%zz", None),
            ("GET", "servers/%ff", None),
            ("GET", "serversa", None),
            ("GET", "tools", None),
        ];
        for (method, path, expected) in cases {
            let method = Method::from_bytes(method.as_bytes()).expect("a method");
            assert_eq!(Page::of(&method, path), expected, "{method} {path}");
        }
    }

    fn status() -> Status {
        let mut health =
            gantry_client::Health { process: Some(7), memory: Some(1024), ..Default::default() };
        (health.restarts, health.in_flight) = (2, 3);
        health.age = Some(Duration::from_secs(5));
        Status {
            name: "a".to_owned(),
            state: "degraded",
            reason: Some("why".to_owned()),
            transport: "stdio",
            place: "npx a".to_owned(),
            revision: None,
            server: Some("A 1".to_owned()),
            tools: 1,
            resources: 0,
            prompts: 0,
            problems: vec!["b".to_owned()],
            connections: Some(2),
            health,
        }
    }

    #[test]
    fn how_a_server_stands() {
        let expected = concat!(
            r#"{"name":"a","state":"degraded","reason":"why","transport":"stdio","place":"npx a","#,
            r#""revision":null,"server":"A 1","tools":1,"resources":0,"prompts":0,"problems":["b"],"connections":2,"#,
            r#""process":7,"memory_bytes":1024,"restarts":2,"in_flight":3,"age_ms":5000}"#
        );
        let all = [status()];
        let (code, shown) = show(&all, None, "a");
        assert_eq!((code, shown.compact().as_str()), (StatusCode::OK, expected));
        assert_eq!(
            list(&all, None, None).1.compact().as_str(),
            format!(r#"{{"servers":[{expected}]}}"#)
        );
        assert_eq!(show(&all, None, "b").0, StatusCode::NOT_FOUND);
        let own = [("me 1".to_owned(), "y\n".to_owned())];
        let expected = r#"{"name":"a","log":"x\n","connections":[{"name":"me 1","log":"y\n"}]}"#;
        assert_eq!(said("a", "x\n", &own).as_str(), expected);
    }

    #[tokio::test]
    async fn without_servers_nothing_is_found() {
        let cases = [
            (Page::List, StatusCode::OK),
            (Page::Show("a".to_owned()), StatusCode::NOT_FOUND),
            (Page::Log("a".to_owned()), StatusCode::NOT_FOUND),
            (Page::Restart("a".to_owned()), StatusCode::NOT_FOUND),
        ];
        for (page, expected) in cases {
            let named = format!("{page:?}");
            assert_eq!(page.answer(None, None, None).await.0, expected, "{named}");
        }
    }
}
