//! Reads all pages of a list, within limits on pages, items and bytes.

use super::call::send_request;
use std::collections::HashSet;
use std::time::Duration;

use gantry_protocol::json::{JsonKind, ObjectWriter};
use gantry_protocol::{RawJson, code};

use super::connection_inner::ConnectionInner;
use crate::error::ClientError;
use crate::request::{Answer, List, Listed, Request};
use crate::request_handler::NoopHandler;
use crate::settings::ListLimits;

/// Pages that one list may have.
const PAGES: usize = 1000;

/// Bytes of a cursor.
const CURSOR: usize = 64 * 1024;

/// Characters shown of the name of a definition that is left out.
const NAMED: usize = 64;

/// Reads all pages. A failure after the first page truncates the list, with the reason.
pub(super) async fn list(inner: &ConnectionInner, list: List) -> Result<Listed, ClientError> {
    let declared =
        inner.negotiated().is_some_and(|negotiated| negotiated.peer.has(&[list.capability()]));
    if !declared {
        return Ok(Listed::default());
    }
    let mut collector = ListCollector::default();
    loop {
        match page(inner, list, collector.cursor.as_ref()).await {
            Ok(page) => collector.add(list, &page, &inner.settings.lists)?,
            Err(ClientError::Answered(error))
                if error.code == code::METHOD_NOT_FOUND && collector.pages == 0 =>
            {
                break;
            }
            Err(error) if collector.pages == 0 => return Err(error),
            Err(error) => collector.stop(format!(
                "page {} of `{}` could not be read: {error}",
                collector.pages + 1,
                list.member()
            )),
        }
        collector.bound(list, &inner.settings.lists);
        if collector.cursor.is_none() {
            break;
        }
    }
    Ok(collector.into_listed(list, &inner.settings.lists))
}

async fn page(
    inner: &ConnectionInner,
    list: List,
    cursor: Option<&RawJson>,
) -> Result<RawJson, ClientError> {
    let params = ObjectWriter::new().raw_some("cursor", cursor).finish();
    match send_request(inner, &Request::new(list.method(), params), &NoopHandler).await? {
        Answer::Complete(result) => Ok(result.into_raw()),
        _ => Err(ClientError::Malformed(format!("`{}` was answered with no list", list.method()))),
    }
}

#[derive(Default)]
struct ListCollector {
    items: Vec<RawJson>,
    ttl: Option<Duration>,
    truncated: Option<String>,
    /// Where the next page is, if there is one.
    cursor: Option<RawJson>,
    seen: HashSet<RawJson>,
    pages: usize,
    /// Bytes of the items.
    size: usize,
    /// Bytes of all pages.
    read: usize,
    oversized: Omitted,
    beyond_page: Omitted,
    beyond_total: Omitted,
}

/// Definitions that are left out for one reason.
#[derive(Default)]
struct Omitted {
    count: usize,
    /// The name of the first.
    first: Option<String>,
}

impl Omitted {
    fn add(&mut self, item: &RawJson) {
        self.count += 1;
        if self.first.is_none() {
            let name = item.get("name").or_else(|| item.get("uri")).and_then(|it| it.to_text());
            self.first = Some(name.unwrap_or_default().chars().take(NAMED).collect());
        }
    }

    fn told(&self, member: &str, reason: &str) -> Option<String> {
        let first = self.first.as_ref()?;
        let count = self.count;
        Some(format!("{count} of `{member}` left out ({reason}), the first is `{first}`"))
    }
}

impl ListCollector {
    fn add(&mut self, list: List, page: &RawJson, limits: &ListLimits) -> Result<(), ClientError> {
        let member = list.member();
        let items = page.get(member).filter(|items| items.kind() == JsonKind::Array);
        let Some(items) = items else {
            let text = format!("a page of `{}` has no array `{member}`", list.method());
            if self.pages == 0 {
                return Err(ClientError::Malformed(text));
            }
            self.stop(text);
            return Ok(());
        };
        self.pages += 1;
        self.read += page.bytes().len();
        self.keep(page, &items, limits);
        let ttl = page.get("ttlMs").and_then(|ttl| ttl.read()).unwrap_or(0);
        let ttl = Duration::from_millis(ttl);
        self.ttl = Some(self.ttl.map_or(ttl, |other| other.min(ttl)));
        // Opaque, and empty is not the end.
        self.cursor = page.get("nextCursor").filter(|cursor| !cursor.is_null());
        Ok(())
    }

    /// Keeps the definitions of a page that are within the limits, in their order.
    fn keep(&mut self, page: &RawJson, items: &RawJson, limits: &ListLimits) {
        let (start, mut kept) = (self.items.len(), 0usize);
        for item in items.elements() {
            let size = item.bytes().len();
            if self.items.len() > limits.items {
                break;
            } else if size > limits.definition {
                self.oversized.add(&item);
            } else if kept + size > limits.page {
                self.beyond_page.add(&item);
            } else if self.size + size > limits.total {
                self.beyond_total.add(&item);
            } else {
                kept += size;
                self.size += size;
                self.items.push(item);
            }
        }
        // An item is a slice of its page, and would keep all of it in memory.
        if kept < page.bytes().len() / 2 {
            self.items[start..].iter_mut().for_each(|item| *item = item.detached());
        }
    }

    /// Truncates the list at a limit, or when a cursor repeats.
    fn bound(&mut self, list: List, limits: &ListLimits) {
        let (member, limit) = (list.member(), limits.items);
        if self.items.len() > limit {
            self.items.truncate(limit);
            let text =
                format!("the server lists more than {limit} `{member}`; raise `limits.items`");
            self.stop(text);
        }
        // A slice of its page, which it would keep in memory.
        let Some(cursor) = self.cursor.as_ref().map(RawJson::detached) else { return };
        if cursor.bytes().len() > CURSOR {
            self.stop(format!(
                "the server's list of `{member}` has a cursor beyond {CURSOR} bytes"
            ));
        } else if self.read > limits.total.saturating_mul(2) {
            let text =
                format!("the server's list of `{member}` has more than `limits.definitions`");
            self.stop(text);
        } else if !self.seen.insert(cursor) {
            self.stop(format!("the server's list of `{member}` repeats a cursor"));
        } else if self.pages >= PAGES {
            self.stop(format!("the server lists `{member}` on more than {PAGES} pages"));
        }
    }

    fn stop(&mut self, reason: String) {
        self.truncated = Some(reason);
        self.cursor = None;
    }

    fn into_listed(self, list: List, limits: &ListLimits) -> Listed {
        let ListLimits { definition, total, page, .. } = limits;
        let member = list.member();
        let reasons = [
            self.truncated,
            self.oversized.told(
                member,
                &format!("larger than the {definition} bytes of `limits.definition`"),
            ),
            self.beyond_page
                .told(member, &format!("beyond the {page} bytes of a page by `limits.page`")),
            self.beyond_total
                .told(member, &format!("beyond the {total} bytes of `limits.definitions`")),
        ];
        let reasons: Vec<String> = reasons.into_iter().flatten().collect();
        let truncated = (!reasons.is_empty()).then(|| reasons.join("; "));
        Listed { items: self.items, ttl: self.ttl.unwrap_or_default(), truncated }
    }
}
