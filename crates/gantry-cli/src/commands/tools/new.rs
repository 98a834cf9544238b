//! `gantry tools new`: writes a tool that works, to start from. Nothing is ever overwritten.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use gantry_process::{Child, ChildLimits, End, Program, StartError};
use gantry_providers::scripts::manifest::is_name;

use crate::args::{Kind, NewOptions, Output};
use crate::exit::{Code, Exit};
use crate::render::{self, Style};
use crate::tool_sources;

/// The name that the templates have, and that name in files.
const NAME: &str = "module.tool";
const STEM: &str = "module_tool";

const COUNT: &str = include_str!("new/count.json");
const SQUARE: &str = include_str!("new/square.json");

/// What a kind of tool consists of.
struct Template {
    /// The ending of the program's file, and its text.
    program: (&'static str, &'static str),
    /// The manifest beside it, and the command in it, as JSON; a Python script has its own inside.
    manifest: Option<(&'static str, &'static str)>,
    runtime: &'static str,
    /// Arguments that work.
    example: &'static str,
    /// The compiler, and its arguments but for the files.
    compiler: Option<&'static [&'static str]>,
}

fn template(kind: Kind) -> Template {
    let plain = Template {
        program: (".sh", include_str!("new/shell.sh")),
        manifest: Some((SQUARE, "\"./module_tool.sh\"")),
        runtime: "process",
        example: "number=12",
        compiler: None,
    };
    match kind {
        Kind::Shell => plain,
        Kind::Python => Template {
            program: (".py", include_str!("new/python.py")),
            manifest: None,
            example: "text=\"one two three\"",
            ..plain
        },
        Kind::Process => Template {
            program: (".py", include_str!("new/process.py")),
            manifest: Some((COUNT, "[\"python3\", \"./module_tool.py\"]")),
            example: "text=\"one two three\"",
            ..plain
        },
        Kind::Binary => Template {
            program: (".c", include_str!("new/binary.c")),
            manifest: Some((SQUARE, "\"./module_tool\"")),
            runtime: "binary",
            compiler: Some(&["cc", "-O2", "-Wall"]),
            ..plain
        },
        Kind::Rust => Template {
            program: (".rs", include_str!("new/native.rs")),
            manifest: Some((SQUARE, "\"./module_tool\"")),
            runtime: "binary",
            compiler: Some(&["rustc", "--edition=2021", "-O"]),
            ..plain
        },
    }
}

pub(crate) async fn run(options: &NewOptions) -> Result<(), Exit> {
    let name = &options.name;
    if !is_name(name) {
        let hint = "write module and tool in lower-case letters, digits and `_`: text.count";
        return Err(Exit::new(Code::Usage, format!("`{name}` is not a valid tool name")).hint(hint));
    }
    let folder = folder(options)?;
    let template = template(options.kind);
    let stem = name.replace('.', "_");
    let mut files = files(&template, name, &stem);
    if options.output == Output::Content {
        convert(&mut files);
    }
    write(&folder, &files)?;
    for (file, _) in &files {
        render::print(&folder.join(file).display().to_string())?;
    }
    if let Some(compiler) = template.compiler {
        let source = format!("{stem}{}", template.program.0);
        compile(&folder, compiler, &source, &stem).await?;
    }
    next(options, &folder, template.example)
}

/// Where to put it: as told, else where tools are.
fn folder(options: &NewOptions) -> Result<PathBuf, Exit> {
    if let Some(folder) = &options.dir {
        return Ok(folder.clone());
    }
    let config = tool_sources::configuration(options.origin.config.as_deref())?;
    let folders = tool_sources::folders(&options.origin, config.as_ref());
    Ok(folders.into_iter().next().unwrap_or_else(|| PathBuf::from("tools")))
}

/// The files of the tool, with its name in them.
fn files(template: &Template, name: &str, stem: &str) -> Vec<(String, String)> {
    let (outcome_class, program) = template.program;
    let named = |text: &str| text.replace(NAME, name).replace(STEM, stem);
    let manifest = template.manifest.map(|(manifest, command)| {
        let text = manifest.replace("\"COMMAND\"", command).replace("RUNTIME", template.runtime);
        (format!("{stem}.tool.json"), named(&text))
    });
    [(format!("{stem}{outcome_class}"), named(program))].into_iter().chain(manifest).collect()
}

fn write(folder: &Path, files: &[(String, String)]) -> Result<(), Exit> {
    let failed = |path: &Path, error: std::io::Error| {
        Exit::new(Code::Failed, format!("cannot write {}: {error}", path.display()))
    };
    // Asked for all of them first, so that nothing is written when one is there.
    if let Some((file, _)) = files.iter().find(|(file, _)| folder.join(file).exists()) {
        let text = format!("{} exists already", folder.join(file).display());
        return Err(Exit::new(Code::Failed, text).hint("choose another name, or another --dir"));
    }
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (file, text) in files {
        let path = folder.join(file);
        let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
        let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// Says how to try it: the options that lead to the folder are left out when it is known anyway.
fn next(options: &NewOptions, folder: &Path, example: &str) -> Result<(), Exit> {
    let config = tool_sources::configuration(options.origin.config.as_deref())?;
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let known = config.as_ref().is_some_and(|config| {
        options.origin.config.is_none()
            && config.folders.iter().any(|it| whole(it) == whole(folder))
    });
    let tools = if known { String::new() } else { format!(" --tools {}", folder.display()) };
    let name = &options.name;
    let next = Style::of_stderr().bold("next");
    render::say(&format!(
        "\n{next}: gantry call{tools} {name} {example}\n      gantry serve{tools}\n"
    ));
    Ok(())
}

/// What stands in the programs and in the head of a script, and what stands there for content. What
/// a file does not have is passed over.
const CHANGES: [(&str, &str); 6] = [
    (
        "# timeout = \"10s\"\n",
        "# timeout = \"10s\"\n# # It gives MCP content, such as text or images.\n# output = \"content\"\n",
    ),
    (
        r#"{"words": len(arguments["text"].split())}"#,
        r#"{"content": [{"type": "text", "text": f"{len(arguments['text'].split())} words"}]}"#,
    ),
    (r#"{"words": words}"#, r#"{"content": [{"type": "text", "text": f"{words} words"}]}"#),
    (r#"'{"square": %d}\n'"#, r#"'{"content": [{"type": "text", "text": "%d"}]}\n'"#),
    (r#""{\"square\": %ld}\n""#, r#""{\"content\": [{\"type\": \"text\", \"text\": \"%ld\"}]}\n""#),
    (r#""{{\"square\": {}}}""#, r#""{{\"content\": [{{\"type\": \"text\", \"text\": \"{}\"}}]}}""#),
];

/// The schema in a manifest and in the head of a script: from here to there, and what replaces it.
const SCHEMAS: [(&str, &str, &str); 2] = [
    ("\"outputSchema\"", "\"annotations\"", "\"output\": \"content\",\n  "),
    ("#\n# # What it gives", "# ///\n", ""),
];

/// Changes the files of a template.
pub(crate) fn convert(files: &mut [(String, String)]) {
    for (_, text) in files {
        for (from, to) in CHANGES {
            *text = text.replace(from, to);
        }
        for (from, to, replacement) in SCHEMAS {
            let Some(start) = text.find(from) else { continue };
            let Some(length) = text[start..].find(to) else { continue };
            text.replace_range(start..start + length, replacement);
        }
    }
}

/// How long a compiler may take for a page of source.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Runs `compiler` in the folder: it makes `program` of `source`.
pub(crate) async fn compile(
    folder: &Path,
    compiler: &[&str],
    source: &str,
    program: &str,
) -> Result<(), Exit> {
    let line = format!("{} -o {program} {source}", compiler.join(" "));
    render::say(&format!("compiling: {line}"));
    let again = format!("in {}, run: {line}", folder.display());
    let mut words = line.split(' ').map(str::to_owned);
    let command = Program {
        program: words.next().map(PathBuf::from).unwrap_or_default(),
        args: words.collect(),
        env: std::env::vars().collect(),
        directory: Some(folder.to_owned()),
        memory: None,
    };
    let child = Child::start(&command, &ChildLimits::default()).map_err(|error| {
        let missing = matches!(error, StartError::NotFound(_));
        let code = if missing { Code::Unreachable } else { Code::Failed };
        Exit::new(code, format!("the compiler could not be started: {error}")).hint(&*again)
    })?;
    let finished = child.finish(Bytes::new(), TIMEOUT).await;
    if finished.end == End::Exited(0) {
        return Ok(());
    }
    let text = format!("the compiler failed: {}", finished.stderr.trim());
    Err(Exit::new(Code::Failed, text).hint(again))
}

#[cfg(test)]
mod tests {
    use super::{convert, files, template};
    use crate::args::Kind;

    #[test]
    fn a_tool_that_answers_with_content_has_no_schema_of_its_data() {
        for kind in [Kind::Python, Kind::Shell, Kind::Process, Kind::Binary, Kind::Rust] {
            let mut files = files(&template(kind), "a.b", "a_b");
            convert(&mut files);
            let text: String = files.iter().map(|(_, text)| text.as_str()).collect();
            for gone in
                ["outputSchema", "gantry.output", "{\"words\"", "square\\\": ", "\"square\": "]
            {
                assert!(!text.contains(gone), "{kind:?}: {gone}\n{text}");
            }
            assert!(text.contains("content"), "{kind:?}\n{text}");
        }
    }

    #[test]
    fn no_placeholder_is_left() {
        for kind in [Kind::Python, Kind::Shell, Kind::Process, Kind::Binary, Kind::Rust] {
            for (file, text) in files(&template(kind), "a.b", "a_b") {
                assert!(file.starts_with("a_b."), "{kind:?}: {file}");
                for word in ["module", "COMMAND", "RUNTIME"] {
                    assert!(!text.contains(word), "{kind:?}: {file}: {word}");
                }
            }
        }
    }
}
