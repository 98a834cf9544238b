//! `/api/tools`: what is registered, and what is to be.

use bytes::Bytes;
use gantry_gateway::contract::ErrorType;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson};
use gantry_providers::{Manifest, Problem, Registration};
use http::StatusCode;

use super::{Admin, Answer, refuse};

impl Admin {
    /// All tools, each with its versions, and what is wrong with those that are left out.
    pub(super) fn list(&self) -> Answer {
        let tools: Vec<RawJson> = self.tools.manifests().iter().map(|it| row(it)).collect();
        let problems: Vec<RawJson> = self.tools.problems().iter().map(problem).collect();
        let list = ObjectWriter::new().array("tools", &tools).array("problems", &problems);
        (StatusCode::OK, list.finish())
    }

    /// One tool, by `name` or `name@version`.
    pub(super) fn show(&self, name: &str) -> Answer {
        let (name, version) = split(name);
        let manifests = self.tools.manifests();
        let is_meant =
            |it: &Manifest| it.name == name && version.is_none_or(|one| it.version == one);
        match manifests.iter().find(|it| is_meant(it)) {
            Some(manifest) => (StatusCode::OK, row(manifest)),
            None => unknown(name),
        }
    }

    /// Registers the tool of a manifest.
    pub(super) fn register(&self, body: &Bytes) -> Answer {
        let manifest = match RawJson::parse(body.clone(), JsonLimits::default()) {
            Ok(manifest) => manifest,
            Err(error) => {
                let text = format!("the body is not a manifest in JSON: {error}");
                return refuse(StatusCode::BAD_REQUEST, ErrorType::ValidationError, &text);
            }
        };
        let read = match self.kept.read(&manifest) {
            Ok(read) => read,
            Err(problem) => {
                return refuse_problem(
                    StatusCode::BAD_REQUEST,
                    ErrorType::ValidationError,
                    &problem,
                );
            }
        };
        let shown = row(&read);
        let (name, version) = (read.name.clone(), read.version.clone());
        match self.tools.register(read) {
            Ok(Registration::Unchanged) => (StatusCode::OK, shown),
            Ok(Registration::New) => match self.kept.write(&name, &version, &manifest) {
                Ok(()) => (StatusCode::CREATED, shown),
                Err(error) => {
                    let text = format!("it is registered, but only until the next start: {error}");
                    refuse(StatusCode::INSUFFICIENT_STORAGE, ErrorType::RegistrationError, &text)
                }
            },
            Err(problem) => {
                refuse_problem(StatusCode::CONFLICT, ErrorType::RegistrationError, &problem)
            }
        }
    }

    /// Removes what was registered here: one version, or all of them.
    pub(super) fn remove(&self, name: &str) -> Answer {
        let (name, version) = split(name);
        if !self.tools.unregister(name, version) {
            let text = format!(
                "no tool `{name}` was registered here; those of folders go with their files"
            );
            return refuse(StatusCode::NOT_FOUND, ErrorType::ToolNotFoundError, &text);
        }
        match self.kept.forget(name, version) {
            Ok(()) => (StatusCode::OK, ObjectWriter::new().value("removed", name).finish()),
            Err(error) => {
                let text = format!("it is removed, but will be back at the next start: {error}");
                refuse(StatusCode::INSUFFICIENT_STORAGE, ErrorType::RegistrationError, &text)
            }
        }
    }
}

fn split(name: &str) -> (&str, Option<&str>) {
    match name.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (name, None),
    }
}

fn unknown(name: &str) -> Answer {
    let text = format!("there is no tool `{name}`; /api/tools lists those there are");
    refuse(StatusCode::NOT_FOUND, ErrorType::ToolNotFoundError, &text)
}

/// A tool as the list shows it. What its process is given is not shown: it may be a secret.
fn row(manifest: &Manifest) -> RawJson {
    ObjectWriter::new()
        .value("name", &manifest.name)
        .value("version", &manifest.version)
        .value("source", &manifest.source.to_string_lossy())
        .raw("definition", &manifest.definition())
        .finish()
}

fn problem(problem: &Problem) -> RawJson {
    ObjectWriter::new()
        .value("file", &problem.file.to_string_lossy())
        .value_some("line", problem.line)
        .value("message", &problem.message)
        .value("advice", &problem.advice)
        .finish()
}

fn refuse_problem(status: StatusCode, error_type: ErrorType, problem: &Problem) -> Answer {
    refuse(status, error_type, &format!("{}; {}", problem.message, problem.advice))
}
