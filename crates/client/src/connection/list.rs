//! All pages of a list, with bounds on how much a server may have us read.

use std::collections::HashSet;
use std::time::Duration;

use gantry_protocol::json::{JsonKind, ObjectWriter};
use gantry_protocol::{RawJson, code};

use super::link::Link;
use crate::error::ClientError;
use crate::line::Silent;
use crate::request::{Answer, List, Listed, Request};

/// Pages that one list may have.
const PAGES: usize = 1000;

impl Link {
    /// All pages. What is wrong with a later page is told beside what the earlier ones held.
    pub(super) async fn list(&self, list: List) -> Result<Listed, ClientError> {
        let declared = self.agreed().is_some_and(|agreed| agreed.peer.has(&[list.capability()]));
        if !declared {
            return Ok(Listed::default());
        }
        let mut gathered = Gathered::default();
        loop {
            match self.page(list, gathered.cursor.as_ref()).await {
                Ok(page) => gathered.add(list, &page)?,
                Err(ClientError::Answered(error))
                    if error.code == code::METHOD_NOT_FOUND && gathered.pages == 0 =>
                {
                    break;
                }
                Err(error) if gathered.pages == 0 => return Err(error),
                Err(error) => gathered.stop(format!(
                    "page {} of `{}` could not be had: {error}",
                    gathered.pages + 1,
                    list.member()
                )),
            }
            gathered.bound(list, self.settings.items);
            if gathered.cursor.is_none() {
                break;
            }
        }
        Ok(gathered.into_listed())
    }

    async fn page(&self, list: List, cursor: Option<&RawJson>) -> Result<RawJson, ClientError> {
        let params = ObjectWriter::new().raw_some("cursor", cursor).finish();
        match self.request(&Request::new(list.method(), params), &Silent).await? {
            Answer::Complete(result) => Ok(result.into_raw()),
            _ => Err(ClientError::Malformed(format!(
                "`{}` was answered with no list",
                list.method()
            ))),
        }
    }
}

#[derive(Default)]
struct Gathered {
    items: Vec<RawJson>,
    ttl: Option<Duration>,
    truncated: Option<String>,
    /// Where the next page is, if there is one.
    cursor: Option<RawJson>,
    seen: HashSet<RawJson>,
    pages: usize,
}

impl Gathered {
    fn add(&mut self, list: List, page: &RawJson) -> Result<(), ClientError> {
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
        self.items.extend(items.elements());
        let ttl = page.get("ttlMs").and_then(|ttl| ttl.read()).unwrap_or(0);
        let ttl = Duration::from_millis(ttl);
        self.ttl = Some(self.ttl.map_or(ttl, |other| other.min(ttl)));
        // Opaque, and empty is not the end.
        self.cursor = page.get("nextCursor").filter(|cursor| !cursor.is_null());
        Ok(())
    }

    /// Ends the list where there is too much of it, or where it turns in a circle.
    fn bound(&mut self, list: List, limit: usize) {
        let member = list.member();
        if self.items.len() > limit {
            self.items.truncate(limit);
            self.stop(format!("the server lists more than {limit} `{member}`; raise `items`"));
        }
        let Some(cursor) = self.cursor.clone() else { return };
        if !self.seen.insert(cursor) {
            self.stop(format!("the server's list of `{member}` comes back to a page it has given"));
        } else if self.pages >= PAGES {
            self.stop(format!("the server lists `{member}` on more than {PAGES} pages"));
        }
    }

    fn stop(&mut self, reason: String) {
        self.truncated = Some(reason);
        self.cursor = None;
    }

    fn into_listed(self) -> Listed {
        Listed { items: self.items, ttl: self.ttl.unwrap_or_default(), truncated: self.truncated }
    }
}
