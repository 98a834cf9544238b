//! Documents as people write them.

use super::{FILE_NAME, Folder, environment, told, tool};
use crate::scripts::folders::Folders;
use crate::scripts::manifest::{Runtime, read_file};
use crate::tool_spec::document::{SECTIONS, Section};
use crate::tool_spec::{check, is_document, read, write};

/// A document with all that it needs and nothing else.
const SMALL: &str = "\
# My tools

## Tool: `text.count`
**Version**: 1.0.0
### 1. Tool Purpose and Description
Counts words.
### 2. Invocation Name
`text.count`
### 3. Input Schema (Parameters)
```json
{\"type\": \"object\", \"properties\": {}}
```
### 4. Output Schema (Return Value)
```json
{\"type\": \"object\", \"properties\": {}}
```
### 5. Error Handling
None.
### 6. Idempotency
Yes.
### 7. Usage Examples
```json
{\"tool_name\": \"text.count\", \"arguments\": {}}
```
```json
{\"status\": \"success\", \"data\": {}}
```
```json
{\"status\": \"failure\", \"error\": {\"error_type\": \"ToolExecutionError\", \"error_message\": \"no\"}}
```
### 8. Security Considerations
None.
";

/// The only tool of a document, or all that is wrong with it.
fn read_one(text: &str) -> Result<String, Vec<String>> {
    let folder = Folder::new(&["count", "count.py"]);
    let tools = read(&folder.document(), text.as_bytes(), &environment);
    let path = folder.0.display().to_string();
    let problems = tools.iter().filter_map(|tool| tool.as_ref().err());
    let problems: Vec<_> = problems.map(|it| told(it).replace(&path, "FOLDER")).collect();
    match tools.first() {
        Some(Ok(tool)) if tools.len() == 1 => {
            Ok(format!("{} {} {}", tool.name, tool.version, tool.description))
        }
        _ => Err(problems),
    }
}

#[test]
fn a_document_is_read_however_it_is_laid_out() {
    let same = |text: &str| {
        assert_eq!(read_one(text), Ok("text.count 1.0.0 Counts words.".to_owned()), "{text}");
    };
    same(SMALL);
    same(&SMALL.replace('\n', "\r\n"));
    same(&format!("\u{feff}{SMALL}"));
    same(&SMALL.replace("### ", "# "));
    same(&SMALL.replace("### ", "###### "));
    same(&SMALL.replace("# 1. ", "# ").replace("# 2. ", "# 2) ").replace("# 3. ", "# §3 "));
    same(
        &SMALL.replace(
            "### 1. Tool Purpose and Description",
            "### **TOOL PURPOSE & DESCRIPTION** ###",
        ),
    );
    same(&SMALL.replace(" (Parameters)", "").replace(" (Return Value)", " (on success)"));
    same(&SMALL.replace("**Version**: 1.0.0", "- **Version:** `1.0.0`"));
    same(
        &SMALL
            .replace("**Version**: 1.0.0\n", "")
            .replace("Counts words.", "Version: 1.0.0\n\nCounts words."),
    );
    same(&SMALL.replace("## Tool: `text.count`", "## Tool: Counter"));
    same(
        &SMALL
            .replace("## Tool: `text.count`\n**Version**: 1.0.0\n", "")
            .replace("Counts", "**Version**: 1.0.0\n\nCounts"),
    );
    same(&SMALL.replace("`text.count`\n###", "The name is `text.count`.\n\nIt is new.\n###"));
    same(&SMALL.replace("```json", "~~~~ json").replace("```", "~~~~"));
    same(&SMALL.replace("```json", "   ```"));
    same(&SMALL.replace("Counts words.", "> Counts words.\n\nMore on words.\n#### Notes\nNone."));
    same(&SMALL.replace("Counts words.", "Counts words.\n\n#### Notes\nNone."));
    same(&SMALL.replace("# My tools", "# 1. Tool Purpose and Description\n# 5. Error Handling"));
    same(&SMALL.replace("# My tools", "    # Tool: `an.example`\n####### Tool: `an.example`"));
    same(&SMALL.replace("# My tools", "```markdown\n## Tool: `an.example`\n```"));
    same(&format!("{SMALL}### 9. Anything else\n```json\nnot json\n"));
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let wrong = |text: &str, expected: &str| {
        let problems = read_one(text).unwrap_err();
        let is_told = problems.iter().any(|problem| problem.starts_with(expected));
        assert!(is_told, "{problems:#?}\nhave not\n{expected}");
    };
    wrong("", "1: the document describes no tool; begin with the heading");
    wrong("# Title\ntext", "1: the document describes no tool");
    wrong(
        &SMALL.replace("**Version**: 1.0.0", ""),
        "3: the tool has no version; add a line such as",
    );
    wrong(&SMALL.replace("1.0.0", "1.0"), "4: `1.0` is no semantic version; write three numbers");
    wrong(&SMALL.replace("text.count", "Count"), "8: `Count` is no name for a tool; write module");
    wrong(
        &SMALL.replace("`text.count`\n###", "`text.other`\n###"),
        "3: the heading says `text.count`, section 2 says `text.other`; write the same",
    );
    wrong(
        &SMALL.replace("`text.count`\n###", "###"),
        "7: the section `2. Invocation Name` is empty; write its text",
    );
    wrong(
        &SMALL.replace("Counts words.", ""),
        "5: the section `1. Tool Purpose and Description` is empty; write its text",
    );
    wrong(&SMALL.replace("Counts words.", ">"), "5: the tool has no description; say in section 1");
    wrong(
        &SMALL.replace("### 1. Tool Purpose and Description", ""),
        "3: the section `1. Tool Purpose and Description` is missing",
    );
    wrong(
        &SMALL.replace("### 3.", "### Three"),
        "3: the section `3. Input Schema (Parameters)` is missing; add the heading",
    );
    wrong(
        &SMALL.replace("### 4.", "### Four"),
        "3: the section `4. Output Schema (Return Value)` is missing",
    );
    wrong(
        &SMALL.replacen("{\"type\"", "{\n\"type\" 1", 1),
        "12: the code block is not valid JSON: expected `:`; correct",
    );
    wrong(
        &SMALL.replacen("```\n", "", 1),
        "12: the code block is not valid JSON: trailing characters; correct",
    );
    wrong(
        SMALL.split("\n### 5.").next().unwrap().trim_end_matches('`'),
        "14: the code block has no end; end it with a line",
    );
    wrong(
        &SMALL.replacen("\"object\"", "\"array\"", 1),
        "11: the input schema is not that of an object",
    );
    wrong(
        &SMALL.replace("text.count", "text.missing"),
        "7: nothing tells how `text.missing` is run; put an executable `missing` or a script `missing.py` beside the document, or add to section 2 a heading `Runtime`",
    );
    let runtime = |json: &str| {
        SMALL.replace(
            "`text.count`\n###",
            &format!("`text.count`\n#### Runtime\n```json\n{json}\n```\n###"),
        )
    };
    wrong(&runtime("[]"), "11: the block `Runtime` is not an object; write an object such as");
    wrong(
        &runtime("{\n\"comand\": 1}"),
        "12: unknown key `comand`; remove it; the keys are title,",
    );
    wrong(&runtime("{\n\"name\": \"a.b\"}"), "12: unknown key `name`");
    wrong(
        &runtime("{\n\"command\": \"./other\"}"),
        "12: the program `./other` is not there; put it into FOLDER",
    );
    wrong(
        &runtime("{\n\"env\": {\"A\": \"${UNSET}\"}}"),
        "12: the variable `UNSET`, needed by `A` in `env`, is not set",
    );
    wrong(&runtime("{\n\n\"timeout\": 0}"), "13: `timeout` has the wrong form; write milliseconds");
    wrong(&runtime("{\"title\": \"a\",\n\"title\": \"b\"}"), "12: the key `title` is given twice");
}

#[test]
fn bytes_that_are_no_text_and_documents_too_long_are_refused() {
    let problems = |bytes: &[u8]| {
        let tools = read(std::path::Path::new("/x"), bytes, &environment);
        let read: Vec<_> = tools.into_iter().map(|tool| told(&tool.unwrap_err())).collect();
        let checked: Vec<_> = check(std::path::Path::new("/x"), bytes).iter().map(told).collect();
        assert_eq!(read, checked);
        read
    };
    assert_eq!(problems(b"a\nb\n\xff"), ["3: the document is not UTF-8; save the file as UTF-8"]);
    let long = vec![b'a'; 1024 * 1024 + 1];
    assert_eq!(
        problems(&long),
        ["the document has more than 1048576 bytes; spread its tools over several documents"]
    );
}

#[test]
fn too_many_tools_are_told_and_the_first_are_read() {
    let tools =
        read(std::path::Path::new("/x"), "# Tool: a.b\n".repeat(2000).as_bytes(), &environment);
    let last = told(tools.last().unwrap().as_ref().unwrap_err());
    assert_eq!(
        last,
        "1001: the document has too many tools; the rest was not looked at; spread the tools over several documents"
    );
}

#[test]
fn a_program_beside_the_document_is_found_by_name() {
    let case = |document: &str, programs: &[&str], expected: &str, runtime: Runtime| {
        let folder = Folder::new(programs);
        let tool =
            read(&folder.0.join(document), SMALL.as_bytes(), &environment).remove(0).unwrap();
        assert_eq!(
            (tool.command, tool.runtime),
            (folder.0.join(expected), runtime),
            "{programs:?}"
        );
    };
    let named = "words.MCP_TOOL_SPECIFICATION.md";
    case(FILE_NAME, &["count"], "count", Runtime::Process);
    case(FILE_NAME, &["count.sh"], "count.sh", Runtime::Process);
    case(FILE_NAME, &["count.py"], "count.py", Runtime::PythonUvScript);
    case(FILE_NAME, &["count.py", "count"], "count", Runtime::Process);
    case(named, &["count", "words.py"], "words.py", Runtime::PythonUvScript);
    case(named, &["count"], "count", Runtime::Process);
}

#[test]
fn a_document_registers_its_tools_from_a_folder_and_from_one_below() {
    let folder = Folder::new(&["count", "other", "below/count"]);
    let other = SMALL.replace("text.count", "text.other");
    let broken = SMALL.replace("text.count", "text.broken");
    let below = SMALL.replace("text.count", "below.count");
    folder.put(FILE_NAME, &format!("{SMALL}{broken}{other}"));
    folder.put(&format!("below/{FILE_NAME}"), &below);
    folder.put("README.md", SMALL);
    folder.put(&format!("third.{FILE_NAME}"), &SMALL.replace("text.count", "third.other"));
    let mut folders = Folders::new(vec![folder.0.clone()]);
    folders.scan();
    let (tools, problems) = (&folders.latest().manifests, &folders.latest().problems);
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["text.count", "text.other", "below.count", "third.other"]);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    let line = SMALL.lines().count() + 7;
    assert!(
        problems[0]
            .to_string()
            .contains(&format!("{FILE_NAME}:{line}: nothing tells how `text.broken` is run")),
        "{}",
        problems[0]
    );
}

#[test]
fn a_written_document_registers_its_tool() {
    let folder = Folder::new(&["count"]);
    let tool = tool(&folder.0);
    folder.put(FILE_NAME, &write(&tool));
    let document = folder.0.join(FILE_NAME);
    assert_eq!(read_file(&document, &environment), vec![Ok(tool)]);
}

#[test]
fn documents_are_known_by_their_names() {
    for (name, expected) in [
        (FILE_NAME, true),
        ("a.MCP_TOOL_SPECIFICATION.md", true),
        ("aMCP_TOOL_SPECIFICATION.md", false),
        ("MCP_TOOL_SPECIFICATION.md.bak", false),
        ("mcp_tool_specification.md", false),
    ] {
        assert_eq!(is_document(name), expected, "{name}");
    }
}

#[test]
fn every_section_is_known_by_its_own_heading() {
    for section in SECTIONS {
        assert_eq!(Section::of(section.heading()), Some(section));
    }
}
