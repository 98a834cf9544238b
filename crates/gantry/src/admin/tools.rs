//! `/api/tools`: what is registered, and what is to be.

use bytes::Bytes;
use gantry_gateway::contract::ErrorType;
use gantry_gateway::{NameStyle, ToolEntry};
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
        let is_called =
            |it: &Manifest| it.name == name || NameStyle::default().fit(&it.name) == name;
        let is_meant = |it: &Manifest| is_called(it) && version.is_none_or(|one| it.version == one);
        match manifests.iter().find(|it| is_meant(it)) {
            Some(manifest) => (StatusCode::OK, row(manifest)),
            None => unknown(name),
        }
    }

    /// Registers the tool of a manifest.
    pub(super) fn register(&self, body: &Bytes) -> Answer {
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
                    let text = format!("it is registered, but only until the next start: {error}");
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
    pub(super) fn remove(&self, name: &str) -> Answer {
        let (name, version) = split(name);
        if !self.tools.unregister(name, version) {
            let text = format!("no tool `{name}` was registered here");
            let told = (&*text, "tools of folders go with their files");
            return refuse(StatusCode::NOT_FOUND, ErrorType::ToolNotFoundError, told);
        }
        match self.kept.forget(name, version) {
            Ok(()) => (StatusCode::OK, ObjectWriter::new().value("removed", name).finish()),
            Err(error) => {
                unkept(&format!("it is removed, but will be back at the next start: {error}"))
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
    let told = (text, "see to the state directory, and send the request again");
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
