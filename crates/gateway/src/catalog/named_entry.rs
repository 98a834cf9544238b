//! The names that an entry of the catalog has, and the entry as clients see it.

use std::sync::Arc;

use gantry_protocol::RawJson;

use crate::entry::{CanonicalEntry, PromptEntry, ToolEntry};
use crate::names::{ClientNames, NameStyle, contract_name};

/// Something with names.
pub(super) trait Named: Clone {
    /// What its provider lists it as.
    fn listed_as(&self) -> &str;
    fn definition(&self) -> &RawJson;
    fn canonical(&self) -> CanonicalEntry<'_>;
    fn written(&self) -> Option<&Arc<str>>;
    fn client_names(&self) -> Option<&Arc<ClientNames>>;
    fn set_client_names(&mut self, names: Option<Arc<ClientNames>>, definition: RawJson);
}

macro_rules! named {
    ($entry:ident, $written:expr) => {
        impl Named for $entry {
            fn listed_as(&self) -> &str {
                &self.name
            }
            fn definition(&self) -> &RawJson {
                &self.definition
            }
            fn canonical(&self) -> CanonicalEntry<'_> {
                CanonicalEntry {
                    name: self.canonical_name(),
                    full: self.canonical.as_ref().and_then(|it| it.full.as_deref()),
                    own: &self.own.name,
                    server: self.origin.as_ref().map(|it| &*it.server),
                }
            }
            fn written(&self) -> Option<&Arc<str>> {
                let written: fn(&Self) -> Option<&Arc<str>> = $written;
                written(self)
            }
            fn client_names(&self) -> Option<&Arc<ClientNames>> {
                self.client_names.as_ref()
            }
            fn set_client_names(&mut self, names: Option<Arc<ClientNames>>, definition: RawJson) {
                (self.client_names, self.definition) = (names, definition);
            }
        }
    };
}

named!(ToolEntry, |it| it.written.as_ref());

named!(PromptEntry, |_| None);

/// The name of a thing whose name another one has.
pub(super) fn with_suffix(style: &NameStyle, names: &CanonicalEntry<'_>, number: u32) -> String {
    let hashed = format!("{}\n{}\n{number}", names.server.unwrap_or_default(), names.own);
    style.with_suffix(names.name, &hashed)
}

/// Whether a name is what remains of a longer one. Where it is another one because something else has
/// the longer name, or had it and is away, that is no name of this.
pub(super) fn is_shortened_from(full: &str, name: &str) -> bool {
    let style = NameStyle { dots: true, length: name.len() };
    full.len() > name.len() && style.fit(full) == name
}

/// The thing as clients see it under these names.
pub(super) fn with_client_names<T: Named>(base: &T, names: Option<Arc<ClientNames>>) -> T {
    let mut entry = base.clone();
    let definition = match &names {
        Some(names) if *names.shown != *base.listed_as() => {
            base.definition().edit().set("name", RawJson::string(&names.shown)).apply()
        }
        _ => base.definition().clone(),
    };
    entry.set_client_names(names, definition);
    entry
}

/// The names for clients; none if the name of the entry says it all.
pub(super) fn client_names<T: Named>(
    base: &T,
    shown: &str,
    is_taken: bool,
    style: &NameStyle,
) -> Option<Arc<ClientNames>> {
    let names = base.canonical();
    let canonical = style.fit(names.name);
    let says_all = shown == base.listed_as() && canonical == names.name && names.server.is_none();
    let make = || ClientNames {
        shown: shown.into(),
        canonical: canonical.into(),
        own: style.fit(names.own).into(),
        distinct: with_suffix(style, &names, 0).into(),
        contract: names.server.map(|server| contract_name(server, names.own).into()),
        is_taken,
    };
    (!says_all).then(|| Arc::new(make()))
}
