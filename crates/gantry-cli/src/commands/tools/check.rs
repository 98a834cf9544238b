//! `gantry tools check`: what is wrong with tools, with file, line and advice.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gantry::contract::ErrorType;
use gantry::{ObjectWriter, Problem, RawJson, ToolSettings, Tools};
use gantry_providers::scripts::manifest::{self, Manifest};
use gantry_providers::tool_spec;

use crate::args::CheckOptions;
use crate::commands::tools::tally;
use crate::exit::{Code, Exit};
use crate::render::{self, Style};
use crate::tool_sources;

/// What was found: tools in order, and problems.
#[derive(Default)]
struct Findings {
    tools: Vec<Arc<Manifest>>,
    problems: Vec<Problem>,
}

pub(crate) fn run(options: &CheckOptions) -> Result<(), Exit> {
    let mut findings = Findings::default();
    for path in paths(options)? {
        findings.look_at(&path)?;
    }
    if options.json {
        render::print(&render::pretty(&findings.to_json()))?;
    } else {
        render::print(&findings.to_text(Style::of_stdout()))?;
        let problems = findings.errors();
        let tools = findings.tools.len();
        render::say(&format!("{} valid, {}", tally(tools, "tool"), tally(problems, "problem")));
    }
    if findings.errors() == 0 { Ok(()) } else { Err(Exit::silent(Code::Failed)) }
}

fn paths(options: &CheckOptions) -> Result<Vec<PathBuf>, Exit> {
    if !options.paths.is_empty() {
        return Ok(options.paths.clone());
    }
    let config = tool_sources::configuration(options.origin.config.as_deref())?;
    let folders = tool_sources::folders(&options.origin, config.as_ref());
    if folders.is_empty() {
        let text = "there is nothing to check";
        return Err(
            Exit::new(Code::Usage, text).hint("name files or folders: `tools check ./tools`")
        );
    }
    Ok(folders)
}

impl Findings {
    fn look_at(&mut self, path: &Path) -> Result<(), Exit> {
        if path.is_dir() {
            let tools = Tools::open(vec![path.to_owned()], ToolSettings::default());
            self.tools.extend(tools.manifests());
            self.problems.extend(tools.problems());
            return Ok(());
        }
        if !path.exists() {
            let text = format!("there is no file or folder {}", path.display());
            return Err(Exit::new(Code::NotFound, text));
        }
        let described = manifest::read_file(path, &|name| std::env::var(name).ok());
        // A document may describe nothing but tools that run elsewhere.
        if described.is_empty() && !is_document(path) {
            self.problems.push(not_a_tool(path));
        }
        // What is registered without a problem is valid, as in a folder.
        let registry = Tools::open(Vec::new(), ToolSettings::default());
        for read in described {
            let registered = read.and_then(|tool| registry.register(tool.clone()).map(|_| tool));
            match registered {
                Ok(tool) => {
                    self.problems.extend(tool.warnings.iter().cloned());
                    self.tools.push(Arc::new(tool));
                }
                Err(problem) => self.problems.push(problem),
            }
        }
        Ok(())
    }

    /// How many problems keep a tool out.
    fn errors(&self) -> usize {
        self.problems.iter().filter(|it| !it.is_warning).count()
    }

    fn to_text(&self, style: Style) -> String {
        let good = self.tools.iter().map(|tool| {
            let (ok, name) = (style.green("ok"), style.bold(&render::one_line(&tool.name)));
            let file = style.dim(&render::one_line(&shown(&tool.source)));
            format!("{ok}  {name} {}  {file}", tool.version)
        });
        let bad = self.problems.iter().map(|problem| {
            let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
            let place = style.bold(&render::one_line(&format!("{}{line}", shown(&problem.file))));
            let message = render::one_line(&problem.message);
            let advice = render::visible(&problem.advice);
            let is_warning = problem.is_warning;
            let word = if is_warning { style.bold("warning:") } else { style.red("error:") };
            format!("{place}: {word} {message}\n    {advice}")
        });
        good.chain(bad).collect::<Vec<_>>().join("\n")
    }

    fn to_json(&self) -> RawJson {
        let tools = self.tools.iter().map(|tool| {
            ObjectWriter::new()
                .value("name", &tool.name)
                .value("version", &tool.version)
                .value("file", &tool.source)
                .finish()
        });
        let problems = self.problems.iter().map(|problem| {
            ObjectWriter::new()
                .value("error_type", &ErrorType::RegistrationError)
                .value("file", &problem.file)
                .value("line", &problem.line)
                .value("message", &problem.message)
                .value("advice", &problem.advice)
                .value_some("warning", problem.is_warning.then_some(true))
                .finish()
        });
        let (tools, problems): (Vec<_>, Vec<_>) = (tools.collect(), problems.collect());
        ObjectWriter::new().array("tools", &tools).array("problems", &problems).finish()
    }
}

fn is_document(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(tool_spec::is_document)
}

fn not_a_tool(path: &Path) -> Problem {
    Problem {
        file: path.to_owned(),
        line: None,
        message: "the file describes no tool".to_owned(),
        advice: "a tool is a Python file with `[tool.gantry]` in its script block, or a manifest \
                 called NAME.tool.json or tool.json"
            .to_owned(),
        is_warning: false,
    }
}

/// A path as short as it can be from here.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}
