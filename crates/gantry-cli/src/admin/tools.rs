//! `/api/tools`: what is registered, and what is to be.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use gantry::policy_set::PolicySet;
use gantry_gateway::contract::ErrorType;
use gantry_gateway::{NameStyle, ToolEntry};
use gantry_policy::Pins;
use gantry_policy::pins::{Key, PinError};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson};
use gantry_providers::{Manifest, Problem, Registration};
use http::{Method, Request, StatusCode};

use crate::admin::servers::decode;
use crate::admin::{Admin, Answer, refuse};

impl Admin {
    /// All tools, each with its versions, and what is wrong with those that are left out.
    pub(crate) fn list(&self) -> Answer {
        let tools: Vec<RawJson> = self.tools.manifests().iter().map(|it| row(it)).collect();
        let problems: Vec<RawJson> = self.tools.problems().iter().map(problem).collect();
        let list = ObjectWriter::new().array("tools", &tools).array("problems", &problems);
        (StatusCode::OK, list.finish())
    }

    /// One tool, by `name` or `name@version`.
    pub(crate) fn show(&self, name: &str) -> Answer {
        let (name, version) = split(name);
        let manifests = self.tools.manifests();
        let is_called =
            |it: &Manifest| it.name == name || NameStyle::default().fit(&it.name) == name;
        let is_meant = |it: &Manifest| is_called(it) && version.is_none_or(|one| it.version == one);
        match manifests.iter().find(|it| is_meant(it)) {
            Some(manifest) => (StatusCode::OK, row(manifest)),
            None => unknown(name),
        }
    }

    /// Registers the tool of a manifest.
    pub(crate) fn register(&self, body: &Bytes) -> Answer {
        let (manifest, read) = match self.read(body) {
            Ok(read) => read,
            Err((text, advice)) => {
                let told = (&*text, &*advice);
                return refuse(StatusCode::BAD_REQUEST, ErrorType::RegistrationError, told);
            }
        };
        let shown = row(&read);
        let (name, version) = (read.name.clone(), read.version.clone());
        match self.tools.register(read) {
            Ok(Registration::Unchanged) => (StatusCode::OK, shown),
            Ok(Registration::New) => match self.kept.write(&name, &version, &manifest) {
                Ok(()) => (StatusCode::CREATED, shown),
                Err(error) => {
                    let text = format!("registered, but only until the next start: {error}");
                    unkept(&text)
                }
            },
            Err(problem) => {
                let told = (&*problem.message, &*problem.advice);
                refuse(StatusCode::CONFLICT, ErrorType::RegistrationError, told)
            }
        }
    }

    /// A manifest and what it says, or what is wrong with it and what to do.
    fn read(&self, body: &Bytes) -> Result<(RawJson, Manifest), (String, String)> {
        let again = |text: String| (text, "correct it, and send it again".to_owned());
        let manifest = RawJson::parse(body.clone(), JsonLimits::default())
            .map_err(|error| again(format!("the body is not a manifest in JSON: {error}")))?;
        let read = self.kept.read(&manifest).map_err(|it| (it.message, it.advice))?;
        // Tried here, since what the registry refuses is a conflict with what it has.
        ToolEntry::new(read.definition()).map_err(|error| again(error.to_string()))?;
        Ok((manifest, read))
    }

    /// Removes what was registered here: one version, or all of them.
    pub(crate) fn remove(&self, name: &str) -> Answer {
        let (name, version) = split(name);
        if !self.tools.unregister(name, version) {
            let text = format!("no tool `{name}` was registered here");
            let told = (&*text, "tools of folders are removed with their files");
            return refuse(StatusCode::NOT_FOUND, ErrorType::ToolNotFoundError, told);
        }
        match self.kept.forget(name, version) {
            Ok(()) => (StatusCode::OK, ObjectWriter::new().value("removed", name).finish()),
            Err(error) => {
                unkept(&format!("removed, but it will be back at the next start: {error}"))
            }
        }
    }
}

/// The name and version of a path. Some clients write `@` in a path as `%40`.
fn split(name: &str) -> (&str, Option<&str>) {
    match name.split_once('@').or_else(|| name.split_once("%40")) {
        Some((name, version)) => (name, Some(version)),
        None => (name, None),
    }
}

fn unknown(name: &str) -> Answer {
    let text = format!("there is no tool `{name}`");
    let told = (&*text, "/api/tools lists those there are");
    refuse(StatusCode::NOT_FOUND, ErrorType::ToolNotFoundError, told)
}

/// What was done is done, but not for long.
fn unkept(text: &str) -> Answer {
    let told = (text, "repair the state directory, and send the request again");
    refuse(StatusCode::INSUFFICIENT_STORAGE, ErrorType::RegistrationError, told)
}

/// A tool as the list shows it. What its process is given is not shown: it may be a secret.
fn row(manifest: &Manifest) -> RawJson {
    let warnings: Vec<RawJson> = manifest.warnings.iter().map(problem).collect();
    let warnings = (!warnings.is_empty()).then(|| RawJson::array(&warnings));
    ObjectWriter::new()
        .value("name", &manifest.name)
        .value("version", &manifest.version)
        .value("source", &manifest.source.to_string_lossy())
        .raw("definition", &manifest.definition())
        .raw_some("warnings", warnings.as_ref())
        .finish()
}

fn problem(problem: &Problem) -> RawJson {
    ObjectWriter::new()
        .value("error_type", &ErrorType::RegistrationError)
        .value("file", &problem.file.to_string_lossy())
        .value_some("line", problem.line)
        .value("message", &problem.message)
        .value("advice", &problem.advice)
        .value_some("warning", problem.is_warning.then_some(true))
        .finish()
}

/// Who accepts, as far as is known here.
const BY: &str = "administrator";

/// The answer, or the method that the page would take; none if the page is none of these.
pub(crate) fn answer(
    pins: &Pins,
    request: &Request<Bytes>,
) -> Option<Result<Answer, &'static str>> {
    let rest = crate::admin::path(request).strip_prefix("pins")?;
    if rest.is_empty() || rest == "/lock" {
        let is_asked = request.method() == Method::GET;
        let told = || if rest.is_empty() { pins.report() } else { pins.to_lock() };
        return Some(if is_asked { Ok((StatusCode::OK, told())) } else { Err("GET") });
    }
    let (name, deed) = rest.strip_prefix('/')?.split_once('/')?;
    let name = decode(name).filter(|name| !name.is_empty())?;
    let done: fn(&Pins, &str, Option<&str>) -> Result<Key, PinError> = match deed {
        "accept" => |pins, name, digest| pins.accept(name, digest, BY),
        "unpin" => |pins, name, _| pins.unpin(name),
        _ => return None,
    };
    if request.method() != Method::POST {
        return Some(Err("POST"));
    }
    let digest = request.uri().query().and_then(|query| query.strip_prefix("digest="));
    Some(Ok(done(pins, &name, digest).map_or_else(|error| refused(&error), |key| told(&key, deed))))
}

fn told(key: &Key, deed: &str) -> Answer {
    let told = ObjectWriter::new()
        .value("path", &key.path())
        .value("kind", key.kind.word())
        .value("done", deed)
        .finish();
    (StatusCode::OK, told)
}

fn refused(error: &PinError) -> Answer {
    let (status, kind) = match error {
        PinError::Unknown(_) => (StatusCode::NOT_FOUND, ErrorType::ResourceNotFound),
        PinError::Ambiguous { .. } => (StatusCode::CONFLICT, ErrorType::ValidationError),
        PinError::Full => (StatusCode::CONFLICT, ErrorType::ApiLimitExceeded),
        PinError::ChangedAgain(_) => (StatusCode::CONFLICT, ErrorType::PermissionError),
    };
    refuse(status, kind, (&error.to_string(), "GET /api/pins lists them"))
}

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
    pub(crate) fn standing(
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
