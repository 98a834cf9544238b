//! The plan of a batch, checked as a whole before anything runs.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, RawJson};

use super::reference::{Find, fill, is_id};
use super::tool_calls::in_calls;
use crate::error::CallError;
use crate::gateway::Settings;

/// Calls and what they need of each other.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) calls: Vec<Arc<Planned>>,
    /// Whether nothing more is begun once a call has failed.
    pub(super) stops: bool,
    places: HashMap<String, usize>,
}

/// One call of a plan.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) id: String,
    what: What,
    /// The places of the calls that must go well before.
    pub(super) needs: BTreeSet<usize>,
}

/// What is called.
#[derive(Debug, Clone)]
enum What {
    Tool { name: RawJson, arguments: RawJson },
    Resource { uri: RawJson },
}

impl Plan {
    /// Reads a plan, or says what is wrong with it.
    pub(super) fn read(params: &RawJson, settings: &Settings) -> Result<Self, CallError> {
        let params = &in_calls(params)?;
        let calls = params.get("calls").filter(|calls| calls.as_str().starts_with('['));
        let calls = calls.ok_or_else(|| wrong("`calls` must be an array of calls"))?;
        let limit = settings.batch_calls;
        let written: Vec<RawJson> = calls.elements().take(limit.saturating_add(1)).collect();
        if written.len() > limit {
            return Err(wrong(format!("a batch may hold {limit} calls; send the rest in another")));
        }
        let mut plan = Self { calls: Vec::new(), stops: stops(params)?, places: HashMap::new() };
        for call in &written {
            plan.add(call)?;
        }
        let mut references = settings.batch_references;
        for (place, call) in written.iter().enumerate() {
            plan.connect(place, call, &mut references)?;
        }
        plan.check_order()?;
        Ok(plan)
    }

    /// The place of a call.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    fn add(&mut self, call: &RawJson) -> Result<(), CallError> {
        let place = self.calls.len();
        let id = call.get("id").and_then(|id| id.to_text()).filter(|id| is_id(id));
        let id = id.ok_or_else(|| {
            let form = "1 to 64 letters, digits, `_` and `-`";
            wrong(format!("call {} of the batch must have an `id` of {form}", place + 1))
        })?;
        if self.places.insert(id.clone(), place).is_some() {
            return Err(wrong(format!("two calls of the batch have the id `{id}`")));
        }
        let what = What::read(call).map_err(|what| wrong(format!("call `{id}`: {what}")))?;
        self.calls.push(Arc::new(Planned { id, what, needs: BTreeSet::new() }));
        Ok(())
    }

    /// Notes what a call needs: what it says that it comes after, and what it refers to.
    fn connect(
        &mut self,
        place: usize,
        call: &RawJson,
        references: &mut usize,
    ) -> Result<(), CallError> {
        let id = self.calls[place].id.clone();
        let mut needs = BTreeSet::new();
        let mut need = |named: &str| match self.find(named) {
            Some(found) => {
                needs.insert(found);
                Ok(RawJson::NULL)
            }
            None => Err(wrong(format!("call `{id}` needs `{named}`, which is not in the batch"))),
        };
        if let Some(after) = call.get("after") {
            let wrong = || wrong(format!("call `{id}`: `after` must be an array of ids"));
            after.as_str().starts_with('[').then_some(()).ok_or_else(wrong)?;
            for named in after.elements() {
                need(&named.to_text().ok_or_else(wrong)?)?;
            }
        }
        self.calls[place].params(&mut |reference| {
            let left = references.checked_sub(1);
            *references = left.ok_or_else(|| wrong("the batch refers too often to results"))?;
            need(&reference.id)
        })?;
        Arc::make_mut(&mut self.calls[place]).needs = needs;
        Ok(())
    }

    /// Calls that need each other in a circle could never begin.
    fn check_order(&self) -> Result<(), CallError> {
        let mut open: BTreeSet<usize> = (0..self.calls.len()).collect();
        loop {
            let is_free = |place: &usize| self.calls[*place].needs.is_disjoint(&open);
            let free: Vec<usize> = open.iter().copied().filter(is_free).collect();
            if free.is_empty() {
                break;
            }
            open.retain(|place| !free.contains(place));
        }
        let stuck: Vec<_> =
            open.iter().map(|place| format!("`{}`", self.calls[*place].id)).collect();
        match stuck.is_empty() {
            true => Ok(()),
            false => Err(wrong(format!("these calls wait for each other: {}", stuck.join(", ")))),
        }
    }
}

impl Planned {
    /// Bytes in which references may stand.
    pub(super) fn size(&self) -> usize {
        match &self.what {
            What::Tool { arguments, .. } => arguments.bytes().len(),
            What::Resource { uri } => uri.bytes().len(),
        }
    }

    /// The method and its parameters, with references filled in.
    pub(super) fn params(&self, find: &mut Find<'_>) -> Result<(Method, RawJson), CallError> {
        match &self.what {
            What::Tool { name, arguments } => {
                let filled = fill(arguments, find)?;
                let arguments = filled.as_ref().unwrap_or(arguments);
                let params = ObjectWriter::new().raw("name", name).raw("arguments", arguments);
                Ok((Method::ToolsCall, params.finish()))
            }
            What::Resource { uri } => {
                let filled = fill(uri, find)?;
                let params = ObjectWriter::new().raw("uri", filled.as_ref().unwrap_or(uri));
                Ok((Method::ResourcesRead, params.finish()))
            }
        }
    }
}

impl What {
    fn read(call: &RawJson) -> Result<Self, String> {
        const KNOWN: [&str; 5] = ["id", "name", "arguments", "uri", "after"];
        if let Some(other) = call.members().find(|it| !KNOWN.iter().any(|known| it.is(known))) {
            return Err(format!("`{}` is not a member of a call", other.key()));
        }
        let arguments = call.get("arguments");
        match (call.get("name"), call.get("uri")) {
            (Some(name), None) if name.to_text().is_some() => {
                Ok(Self::Tool { name, arguments: arguments.unwrap_or(RawJson::EMPTY_OBJECT) })
            }
            (None, Some(uri)) if arguments.is_none() => Ok(Self::Resource { uri }),
            (None, Some(_)) => Err("a resource is read without `arguments`".to_owned()),
            _ => {
                Err("it must have a `name`, the name of a tool, or the `uri` of a resource"
                    .to_owned())
            }
        }
    }
}

fn stops(params: &RawJson) -> Result<bool, CallError> {
    match params.get("onError").as_ref().map(RawJson::as_str) {
        None | Some(r#""continue""#) => Ok(false),
        Some(r#""stop""#) => Ok(true),
        Some(other) => Err(wrong(format!("`onError` is \"continue\" or \"stop\", not {other}"))),
    }
}

fn wrong(text: impl Into<String>) -> CallError {
    CallError::invalid_params(text)
}
