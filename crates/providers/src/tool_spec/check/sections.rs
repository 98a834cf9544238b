//! All eight sections, each once, in order, and none empty.

use super::findings::Findings;
use crate::tool_spec::document::Part;
use crate::tool_spec::section::SECTIONS;

pub(super) fn check(part: &Part<'_>, findings: &mut Findings<'_>) {
    for section in SECTIONS {
        if part.chapter(section).is_none() {
            let text = format!("the section `{}` is missing", section.heading());
            let advice = format!("add the heading `### {}` and its text", section.heading());
            findings.add(part.line, text, advice);
        }
    }
    let mut seen = Vec::new();
    for chapter in &part.chapters {
        let heading = chapter.section.heading();
        if seen.contains(&chapter.section) {
            let advice = "join the two; each tool begins with a heading \"## Tool: `name`\"";
            findings.add(chapter.line, format!("the section `{heading}` comes twice"), advice);
        } else if let Some(later) = seen.iter().filter(|it| **it > chapter.section).max() {
            let text = format!("the section `{heading}` comes after `{}`", later.heading());
            findings.add(chapter.line, text, "put the sections in the order of their numbers");
        }
        if chapter.is_empty() {
            findings.add(
                chapter.line,
                format!("the section `{heading}` is empty"),
                "write its text",
            );
        }
        if !seen.contains(&chapter.section) {
            seen.push(chapter.section);
        }
    }
}
