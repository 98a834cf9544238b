//! `/api/tools/NAME/standing`: what the policies make of a tool of the catalog, in words that the
//! program around this library chooses.

use std::fmt;
use std::sync::Arc;

use gantry_gateway::ToolEntry;
use gantry_gateway::contract::ErrorType;
use gantry_protocol::RawJson;
use http::{Method, StatusCode};

use super::servers::decode;
use super::{Admin, Answer, refuse};
use crate::policy_set::PolicySet;

/// The description of a tool's trust and pins, as JSON.
type Description = dyn Fn(&Arc<ToolEntry>, &PolicySet) -> RawJson + Send + Sync;

/// Describes how a tool stands with the policies.
#[derive(Clone)]
pub struct Describe(pub Arc<Description>);

impl fmt::Debug for Describe {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Describe").finish()
    }
}

impl Admin {
    /// The answer, or the method that the page takes; none if the path is not of this page.
    pub(super) fn standing(
        &self,
        method: &Method,
        below: &str,
    ) -> Option<Result<Answer, &'static str>> {
        let (policies, describe) = (self.policies.as_ref()?, self.describe.as_ref()?);
        let name = decode(below.strip_suffix("/standing")?)?;
        if method != Method::GET {
            return Some(Err("GET"));
        }
        let catalog = policies.gateway().map(|gateway| gateway.catalog().snapshot());
        let tool = catalog.and_then(|catalog| catalog.tool(&name).cloned());
        Some(Ok(match tool {
            Some(tool) => {
                // One that is held back is in no list.
                let told = (describe.0)(&tool, policies);
                let told = told.edit().set("definition", tool.definition.clone()).apply();
                (StatusCode::OK, told)
            }
            None => {
                let text = format!("there is no tool `{name}`");
                let told = (&*text, "`gantry tools list` shows those there are");
                refuse(StatusCode::NOT_FOUND, ErrorType::ToolNotFoundError, told)
            }
        }))
    }
}
