//! Aliases for resource URIs that another server has too: `gantry://SERVER/` before the server's
//! own URI, which leads back without a table and keeps templates valid.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use gantry_protocol::{Method, RawJson};

use crate::uri_template::Template;

/// The addresses of one server that are told as others. An alias is the address itself behind
/// something that names the server, so that it leads back by itself and templates stay templates.
#[derive(Debug, Clone)]
pub(super) struct Aliases {
    prefix: Arc<str>,
    uris: HashSet<String>,
    /// The templates as they are written, and those that can be parsed.
    texts: HashSet<String>,
    templates: Vec<Arc<Template>>,
}

impl Aliases {
    /// No aliases yet. Nothing that is listed may begin like an alias of this server.
    pub(super) fn new(server: &str, is_taken: impl Fn(&str) -> bool) -> Self {
        let host: String = server.bytes().map(host_character).collect();
        let mut prefix = format!("gantry://{host}/");
        let mut number = 1;
        while is_taken(&prefix) {
            number += 1;
            prefix = format!("gantry://{host}.{number}/");
        }
        let (uris, texts) = (HashSet::new(), HashSet::new());
        Self { prefix: prefix.into(), uris, texts, templates: Vec::new() }
    }

    /// Gives a resource another address.
    pub(super) fn add(&mut self, uri: &str) -> String {
        self.uris.insert(uri.to_owned());
        self.alias(uri)
    }

    /// Gives all resources of a template other addresses.
    pub(super) fn add_template(&mut self, text: &str, template: Option<&Arc<Template>>) -> String {
        self.templates.extend(template.cloned());
        self.texts.insert(text.to_owned());
        self.alias(text)
    }

    /// What stands before the server's own address.
    pub(super) fn prefix(&self) -> &Arc<str> {
        &self.prefix
    }

    /// Whether a resource that is listed has another address.
    pub(super) fn has(&self, uri: &str) -> bool {
        self.uris.contains(uri)
    }

    /// Whether a template has another text.
    pub(super) fn has_template(&self, text: &str) -> bool {
        self.texts.contains(text)
    }

    /// The other address of a resource or template.
    pub(super) fn alias(&self, text: &str) -> String {
        format!("{}{text}", self.prefix)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.uris.is_empty() && self.templates.is_empty()
    }

    /// The server's own address for one of ours.
    pub(super) fn inward<'a>(&self, uri: &'a str) -> &'a str {
        match self.is_empty() {
            true => uri,
            false => uri.strip_prefix(&*self.prefix).unwrap_or(uri),
        }
    }

    /// Our address for one of the server's.
    pub(super) fn outward<'a>(&self, uri: &'a str) -> Cow<'a, str> {
        let covers = |template: &Arc<Template>| template.matches(uri).is_some();
        match self.uris.contains(uri) || self.templates.iter().any(covers) {
            true => Cow::Owned(format!("{}{uri}", self.prefix)),
            false => Cow::Borrowed(uri),
        }
    }

    /// A result with our addresses in it.
    pub(super) fn outward_result(&self, method: &Method, result: RawJson) -> RawJson {
        if self.is_empty() {
            return result;
        }
        match method {
            Method::ToolsCall => each(&result, "content", |block| self.block(block)),
            Method::ResourcesRead => each(&result, "contents", |contents| self.uri(contents)),
            Method::PromptsGet => each(&result, "messages", |message| {
                let content = self.block(&message.get("content")?)?;
                Some(message.edit().set("content", content).apply())
            }),
            _ => None,
        }
        .unwrap_or(result)
    }

    /// A content block with our address; none if it has none.
    fn block(&self, block: &RawJson) -> Option<RawJson> {
        match block.get("type")?.as_str() {
            "\"resource_link\"" => self.uri(block),
            "\"resource\"" => {
                let resource = self.uri(&block.get("resource")?)?;
                Some(block.edit().set("resource", resource).apply())
            }
            _ => None,
        }
    }

    fn uri(&self, object: &RawJson) -> Option<RawJson> {
        let uri = object.get("uri")?.to_text()?;
        match self.outward(&uri) {
            Cow::Owned(uri) => Some(object.edit().set("uri", RawJson::string(&uri)).apply()),
            Cow::Borrowed(_) => None,
        }
    }
}

impl PartialEq for Aliases {
    fn eq(&self, other: &Self) -> bool {
        (&self.prefix, &self.uris, &self.texts) == (&other.prefix, &other.uris, &other.texts)
    }
}

impl Eq for Aliases {}

/// Changes elements of an array that is a member; none if none changes.
fn each(
    object: &RawJson,
    member: &str,
    change: impl Fn(&RawJson) -> Option<RawJson>,
) -> Option<RawJson> {
    let array = object.get(member)?;
    let mut changed = false;
    let elements: Vec<RawJson> = array
        .elements()
        .map(|element| match change(&element) {
            Some(other) => {
                changed = true;
                other
            }
            None => element,
        })
        .collect();
    changed.then(|| object.edit().set(member.to_owned(), RawJson::array(&elements)).apply())
}

fn host_character(byte: u8) -> char {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte),
        _ => '_',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aliases() -> Aliases {
        let mut aliases = Aliases::new("my server", |_| false);
        assert_eq!(aliases.add("file:///a"), "gantry://my_server/file:///a");
        let template = Arc::new(Template::parse("item://{id}?x=1").unwrap());
        let alias = aliases.add_template("item://{id}?x=1", Some(&template));
        assert_eq!(alias, "gantry://my_server/item://{id}?x=1");
        aliases
    }

    #[test]
    fn an_alias_leads_there_and_back() {
        let aliases = aliases();
        let cases = [
            ("file:///a", "gantry://my_server/file:///a"),
            ("item://7?x=1", "gantry://my_server/item://7?x=1"),
            ("item://a%2Fb?x=1", "gantry://my_server/item://a%2Fb?x=1"),
            ("file:///b", "file:///b"),
            ("item://7", "item://7"),
        ];
        for (own, ours) in cases {
            assert_eq!(aliases.outward(own), ours);
            assert_eq!(aliases.inward(ours), own);
        }
    }

    #[test]
    fn an_alias_never_looks_like_what_someone_lists() {
        let aliases = Aliases::new("a", |prefix| prefix == "gantry://a/");
        assert_eq!(&**aliases.prefix(), "gantry://a.2/");
    }

    #[test]
    fn addresses_in_results_are_ours_and_the_rest_stays() {
        let cases = [
            (
                Method::ToolsCall,
                r#"{ "content":[{"type":"text","text":"file:///a"},{"uri":"file:///a","type":"resource_link","n":1.50}], "x":1}"#,
                r#"{ "content":[{"type":"text","text":"file:///a"},{"uri":"gantry://my_server/file:///a","type":"resource_link","n":1.50}], "x":1}"#,
            ),
            (
                Method::ToolsCall,
                r#"{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"t"}}]}"#,
                r#"{"content":[{"type":"resource","resource":{"uri":"gantry://my_server/file:///a","text":"t"}}]}"#,
            ),
            (
                Method::PromptsGet,
                r#"{"messages":[{"role":"user","content":{"type":"resource_link","uri":"file:///a"}}]}"#,
                r#"{"messages":[{"role":"user","content":{"type":"resource_link","uri":"gantry://my_server/file:///a"}}]}"#,
            ),
            (
                Method::ResourcesRead,
                r#"{"contents":[{"uri":"item://7?x=1","text":""},{"uri":"file:///b"}]}"#,
                r#"{"contents":[{"uri":"gantry://my_server/item://7?x=1","text":""},{"uri":"file:///b"}]}"#,
            ),
            (
                Method::ToolsCall,
                r#"{"content": [ {"type":"resource_link","uri":"file:///b"} ]}"#,
                r#"{"content": [ {"type":"resource_link","uri":"file:///b"} ]}"#,
            ),
        ];
        for (method, result, expected) in cases {
            let result = aliases().outward_result(&method, RawJson::from_static(result));
            assert_eq!(result.as_str(), expected);
        }
    }
}
