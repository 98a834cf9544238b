//! `gantry tools diff`: what changed between two tools, and which version that demands.

use std::path::Path;

use gantry::{ObjectWriter, RawJson};
use gantry_gateway::{ChangeClass, DefinitionChange, Version, changes, demanded, suffices};
use gantry_providers::scripts::manifest;

use crate::args::DiffOptions;
use crate::commands::tools::Opened;
use crate::exit::{Code, Exit};
use crate::render::{self, Style, Table};

/// What is compared.
struct Side {
    definition: RawJson,
    /// Tools in code have none.
    version: Option<Version>,
}

/// What came of it.
struct Comparison {
    changes: Vec<DefinitionChange>,
    versions: Option<(Version, Version)>,
}

pub(crate) fn run(options: &DiffOptions) -> Result<(), Exit> {
    let mut opened = None;
    let mut side = |text: &str| side(text, options, &mut opened);
    let (old, new) = (side(&options.old)?, side(&options.new)?);
    let comparison = Comparison {
        changes: changes(&old.definition, &new.definition),
        versions: old.version.zip(new.version),
    };
    if options.json {
        render::print(&render::pretty(&comparison.to_json()))?;
    } else {
        render::print(&comparison.to_text(Style::of_stdout()))?;
    }
    if comparison.suffices() { Ok(()) } else { Err(Exit::silent(Code::Failed)) }
}

/// A file, or the name of a tool. The registry is read only when a name is given.
fn side(text: &str, options: &DiffOptions, opened: &mut Option<Opened>) -> Result<Side, Exit> {
    let path = Path::new(text);
    let definition = if path.is_file() {
        of_file(path)?
    } else {
        if opened.is_none() {
            *opened = Some(crate::commands::tools::open(&options.origin)?);
        }
        let found = opened.as_ref().map(|opened| opened.find(text));
        found.transpose()?.map(|tool| tool.definition.clone()).unwrap_or(RawJson::EMPTY_OBJECT)
    };
    let version = definition.at(&["_meta", "gantry/tool", "version"]);
    let version = version.and_then(|it| it.to_text()?.parse().ok());
    Ok(Side { definition: without_version(&definition), version })
}

/// The definition without the version in it, which is no change of its own.
fn without_version(definition: &RawJson) -> RawJson {
    const KEY: &str = "gantry/tool";
    let meta = definition.get("_meta").unwrap_or(RawJson::EMPTY_OBJECT);
    let Some(about) = meta.get(KEY) else { return definition.clone() };
    let meta = meta.edit().set(KEY, about.edit().remove("version").apply()).apply();
    definition.edit().set("_meta", meta).apply()
}

fn of_file(path: &Path) -> Result<RawJson, Exit> {
    let mut described = manifest::read_file(path, &|name| std::env::var(name).ok());
    let failed = |text: String| Exit::new(Code::Failed, text);
    match (described.pop(), described.is_empty()) {
        (Some(Ok(manifest)), true) => Ok(manifest.definition()),
        (Some(Err(problem)), true) => Err(failed(problem.to_string())),
        (Some(_), false) => Err(failed(format!("{} describes several tools", path.display()))
            .hint("name one of them, with --tools for their folder")),
        (None, _) => Err(failed(format!("{} describes no tool", path.display()))
            .hint("`gantry tools check` says what a tool is")),
    }
}

impl Comparison {
    /// How far the changes reach together; the worst comes first.
    fn class(&self) -> Option<ChangeClass> {
        self.changes.first().map(|change| change.class)
    }

    fn suffices(&self) -> bool {
        let rises = |(old, new): &(Version, Version)| suffices(old, new, self.class());
        self.versions.as_ref().is_none_or(rises)
    }

    /// The least version that the changes demand.
    fn demanded(&self) -> Option<Version> {
        let (old, _) = self.versions.as_ref()?;
        self.class().map(|class| demanded(old, class))
    }

    fn to_text(&self, style: Style) -> String {
        let mut table = Table::default();
        for change in &self.changes {
            table.row([&change.class.to_string(), &change.place, &change.text]);
        }
        format!("{}\n{}", table.to_text(style), self.verdict(style)).trim_start().to_owned()
    }

    fn verdict(&self, style: Style) -> String {
        let Some((old, new)) = &self.versions else { return String::new() };
        let rise = format!("{old} -> {new}");
        match self.demanded() {
            None if self.suffices() => format!("{rise}: no change"),
            None => format!("{rise}: {}", style.red("a version must not fall")),
            Some(_) if self.suffices() => format!("{rise}: {}", style.green("suffices")),
            Some(least) => format!("{rise}: {} {least} or later", style.red("must be")),
        }
    }

    fn to_json(&self) -> RawJson {
        let change = |change: &DefinitionChange| {
            ObjectWriter::new()
                .value("class", &change.class.to_string())
                .value("place", &change.place)
                .value("text", &change.text)
                .finish()
        };
        let changes: Vec<RawJson> = self.changes.iter().map(change).collect();
        let text = |version: &Version| version.to_string();
        ObjectWriter::new()
            .array("changes", &changes)
            .value("old", &self.versions.as_ref().map(|it| text(&it.0)))
            .value("new", &self.versions.as_ref().map(|it| text(&it.1)))
            .value("demanded", &self.demanded().as_ref().map(text))
            .value("suffices", &self.suffices())
            .finish()
    }
}
