//! Tokens, rules and lock files, by the first byte: no text makes any of them panic or run on, only
//! the token itself opens, what a rule shows is what it explains, and a lock file that was read is
//! written as the same.
#![no_main]

use std::sync::{Arc, LazyLock};

use gantry_gateway::filter::VisibilityFilter;
use gantry_gateway::{Caller, Target, ToolEntry};
use gantry_policy::pins::{Digest, Key, Kind};
use gantry_policy::{
    Clock, Condition, ConditionBounds, MemoryDocumentStore, PinSettings, Pins, Rule, RuleEffect,
    RuleSet, Rules, Signer, Token, Tokens,
};
use gantry_protocol::{JsonLimits, Method, RawJson};
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: let_others_panic(),
    |data: &[u8]| {
        let Some((choice, text)) = data.split_first() else {
            return;
        };
        match choice % 3 {
            0 => tokens(text),
            1 => rules(text),
            _ => lock(text),
        }
    }
);

/// The reader and runner of conditions are not ours. What they panic about is contained where they
/// are called; if it is not, it comes out at the target, which is a finding like any other.
fn let_others_panic() {
    let finding = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let file = info.location().map(|place| place.file()).unwrap_or_default();
        if !file.contains("/registry/") && !file.contains("/rustc/") {
            finding(info);
        }
    }));
}

/// A token that opens, among all that do not.
static HELD: LazyLock<(Tokens, Token)> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let store = Arc::new(MemoryDocumentStore::default());
        let opened = Tokens::open(store, Signer::new([1; 32]), Clock::new(|| 1)).await;
        let tokens = opened.expect("memory opens");
        let made = tokens.create("someone", None, None).await;
        (tokens, made.expect("a token").0)
    })
});

/// Any text, and the token with some of its bytes changed.
fn tokens(data: &[u8]) {
    let (tokens, token) = &*HELD;
    let mut changed = token.expose().as_bytes().to_vec();
    for pair in data.chunks_exact(2) {
        let place = usize::from(pair[0]) % (changed.len() + 1);
        match changed.get_mut(place) {
            Some(byte) => *byte = pair[1],
            None => changed.push(pair[1]),
        }
    }
    for shown in [data, &changed] {
        let Ok(shown) = std::str::from_utf8(shown) else {
            continue;
        };
        let opens = tokens.check(Some(shown)).is_ok();
        assert_eq!(opens, shown == token.expose());
        assert!(Token::parse(shown).is_none_or(|parsed| parsed.expose() == shown));
    }
}

static TOOL: LazyLock<Target> = LazyLock::new(|| {
    let definition = r#"{"name":"files_delete","inputSchema":{"type":"object"},
        "annotations":{"destructiveHint":true}}"#;
    let entry = ToolEntry::new(RawJson::from_static(definition)).expect("a tool");
    Target::Tool(Arc::new(entry))
});

/// A rule on the first line, or only its condition; the arguments of a call on the others.
fn rules(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (rule, arguments) = data.split_at(end);
    let arguments = RawJson::parse(arguments.to_vec(), JsonLimits::default()).ok();
    let Some(rule) = std::str::from_utf8(rule).ok().and_then(rule_of) else {
        return;
    };
    let rules = Rules::new(RuleSet::new(vec![rule], true));
    let caller = Caller::new("someone");
    let explain =
        || rules.current().explain(&caller, &TOOL, &Method::ToolsCall, arguments.as_ref());
    let (first, second) = (explain(), explain());
    assert_eq!((first.allowed, &first.by), (second.allowed, &second.by));
    let sees = rules.view(&caller).is_none_or(|view| (view.sees)(&TOOL));
    assert_eq!(sees, first.is_seen);
}

fn rule_of(text: &str) -> Option<Rule> {
    let written = RawJson::parse(text.to_owned(), JsonLimits::default()).ok();
    let written = written.filter(RawJson::is_object);
    let word = |key: &str| written.as_ref().and_then(|it| it.get(key)?.to_text());
    let list = |path: &[&str]| -> Vec<String> {
        written.as_ref().and_then(|it| it.at(path)?.read()).unwrap_or_default()
    };
    let effect = word("effect").and_then(|it| RuleEffect::parse(&it)).unwrap_or(RuleEffect::Deny);
    let mut rule = Rule::new("rule 1", effect);
    rule.who.principals = list(&["who", "principals"]);
    rule.what.tools = list(&["what", "tools"]);
    rule.what.servers = list(&["what", "servers"]);
    let condition = if written.is_some() { word("when") } else { Some(text.to_owned()) };
    let condition = condition.map(|it| Condition::new(&it, ConditionBounds::default()));
    rule.when = condition.transpose().ok()?.map(Arc::new);
    Some(rule)
}

fn lock(data: &[u8]) {
    let pins = Pins::new(PinSettings::default());
    let _ = pins.read_lock(data);
    let Ok(written) = RawJson::parse(data.to_vec(), JsonLimits::default()) else {
        return;
    };
    let entries = written.get("pins").map(|pins| pins.elements().map(|it| signed(&it)).collect());
    let entries: Vec<RawJson> = entries.unwrap_or_default();
    let written = written.edit().set("pins", RawJson::array(&entries)).apply();
    if pins.read_lock(written.bytes().to_vec()).is_ok() {
        let again = Pins::new(PinSettings::default());
        let lock = pins.to_lock();
        again.read_lock(lock.bytes().to_vec()).expect("what was written can be read");
        assert_eq!(again.all(), pins.all());
        assert_eq!(again.to_lock(), lock);
    }
}

/// The entry with the digest that it should have, which nobody guesses.
fn signed(entry: &RawJson) -> RawJson {
    let text = |key: &str| entry.get(key).and_then(|it| it.to_text()).unwrap_or_default();
    let kind = if text("kind") == "prompt" { Kind::Prompt } else { Kind::Tool };
    let (server, name) = (text("server").into(), text("name").into());
    let key = Key { server, kind, name, identity: text("identity").into() };
    let definition = entry.get("definition").unwrap_or(RawJson::NULL);
    let digest = Digest::of_written(&key, &text("identity"), &definition).to_string();
    entry.edit().set("digest", RawJson::string(&digest)).apply()
}
