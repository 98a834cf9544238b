//! Where a page begins: after the item of this name. A name holds while other items come and go.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::page::ListKind;

/// The cursor that continues after `name`.
pub(super) fn encode(kind: ListKind, name: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}\n{name}", kind.member()))
}

/// The name that a cursor of this list continues after.
pub(super) fn decode(kind: ListKind, cursor: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (list, name) = text.split_once('\n')?;
    (list == kind.member()).then(|| name.to_owned())
}
