//! Wording that gives the model orders or hides something from the user. A short list: it shows a person where
//! to look, and stops nobody who knows it.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexSet};

use super::excerpt;

/// What is said, and how it is written, whatever its case and spaces.
const ORDERS: [(&str, &str); 16] = [
    (
        "tells the model to ignore its instructions",
        r"\b(ignore|disregard|forget|override)\s+(all\s+|any\s+|the\s+|your\s+|every\s+)*(previous|prior|above|earlier|preceding|other|system)\s+(instruction|prompt|message|rule|tool|guideline|direction|command)",
    ),
    (
        "tells the model to ignore its instructions",
        r"\b(ignore|disregard|forget)\s+(all\s+of\s+|all\s+|everything\s+)?(the\s+)?(above|your\s+(instructions|rules|guidelines))\b",
    ),
    ("gives new instructions", r"\b(new|updated|real|actual|secret|hidden)\s+instructions\s*:"),
    (
        "tells the model to hide something from the user",
        r"\b(do\s+not|don(?:'|\xE2\x80\x99)?t|never|must\s+not|should\s+not|without)\s+(ever\s+)?(tell|inform|notify|alert|show|mention|reveal|telling|informing|notifying|alerting|asking|mentioning)\s+(this\s+to\s+|it\s+to\s+|anything\s+to\s+)?(the\s+|your\s+)?(user|human|person|operator)",
    ),
    (
        "tells the model to hide something from the user",
        r"\b(do\s+not|don(?:'|\xE2\x80\x99)?t|never)\s+(mention|reveal|disclose)\s+(this|that\s+you|these\s+instructions)",
    ),
    (
        "tells the model to hide something from the user",
        r"\b(hide|conceal|keep)\s+(this|it|that)\s+(secret\s+|hidden\s+)?from\s+(the\s+)?(user|human)",
    ),
    (
        "pretends to be a message of the system",
        r"</?\s*(important|system|instructions?|secret|admin)\s*>",
    ),
    (
        "pretends to be a message of the system",
        r"\[\s*/?\s*(system|inst|sys)\s*\]|<\|im_start\||<<\s*sys\s*>>",
    ),
    (
        "wants to be used before other tools",
        r"\bbefore\s+(using|calling|invoking|running)\s+(any|all|every|each|this|the)\s*(other\s+)?tools?\b[^.]{0,80}\b(read|call|send|fetch|first|must|pass|include)",
    ),
    (
        "wants to be used before other tools",
        r"\b(you\s+must|always)\s+(first\s+)?(call|use|run|invoke)\s+this\s+tool\s+(first|before)",
    ),
    (
        "changes what other tools do",
        r"\b(when|whenever|if)\s+(using|calling|you\s+use|you\s+call|the\s+user\s+(uses|calls))\s+(the\s+)?(other|another|any\s+other)\s+tools?\b",
    ),
    (
        "names secrets of the user",
        r"\.ssh/|\bid_(rsa|ed25519|ecdsa)\b|\.aws/credentials|/etc/(passwd|shadow)|\.kube/config|\.netrc\b",
    ),
    (
        "names the configuration of a client",
        r"\.cursor/mcp\.json|claude_desktop_config\.json|\.codeium/|\.vscode/mcp\.json",
    ),
    (
        "asks for secrets",
        r"\b(contents?|copy)\s+of\s+(the\s+|your\s+|all\s+)?(\.env|environment\s+variables|credentials|private\s+keys?|ssh\s+keys?|api\s+keys?|system\s+prompt)\b",
    ),
    (
        "asks for the conversation",
        r"\b(entire|whole|full|complete)\s+(conversation|chat)(\s+history)?\b[^.]{0,60}\b(send|include|pass|argument|parameter)",
    ),
    (
        "asks for the conversation",
        r"\b(send|include|pass|put|provide)\b[^.]{0,60}\b(entire|whole|full|complete)\s+(conversation|chat)(\s+history)?\b",
    ),
];

/// As long as this without a space, a text is no word of any language.
const BLOB: usize = 100;

static SET: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let patterns = ORDERS.iter().map(|(_, pattern)| insensitive(pattern));
    RegexSet::new(patterns).ok()
});

fn insensitive(pattern: &str) -> String {
    format!("(?i-u:{pattern})")
}

/// Every order in a text, each sort once: what it is, and the text around it.
pub(super) fn orders(text: &str) -> Vec<(String, String)> {
    let matched = SET.as_ref().map(|set| set.matches(text.as_bytes()));
    let mut found: Vec<(String, String)> = Vec::new();
    for index in matched.iter().flat_map(|matched| matched.iter()) {
        let (what, pattern) = ORDERS[index];
        if found.iter().any(|(known, _)| known == what) {
            continue;
        }
        let place = Regex::new(&insensitive(pattern)).ok();
        let place =
            place.and_then(|it| it.find(text.as_bytes()).map(|it| it.range())).unwrap_or(0..0);
        found.push((what.to_owned(), excerpt(text, place.start, place.end)));
    }
    found.extend(blob(text).map(|at| {
        let end = (at + 20).min(text.len());
        ("holds a long encoded text".to_owned(), excerpt(text, at, end))
    }));
    found
}

/// Where something begins that looks like encoded bytes: long, without spaces, all sorts of letters.
fn blob(text: &str) -> Option<usize> {
    if text.len() < BLOB {
        return None;
    }
    let mut at = 0;
    for word in text.split(|it: char| !is_encoded(it)) {
        let has = |sort: fn(&u8) -> bool| word.as_bytes().iter().any(sort);
        let is_mixed =
            has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
        if word.len() >= BLOB && is_mixed && word.matches('/').count() * 12 < word.len() {
            return Some(at);
        }
        at += word.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
    None
}

fn is_encoded(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '=')
}
