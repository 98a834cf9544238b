//! The least that a schema must say, which is the same for a tool of a document and any other.

use super::findings::Findings;
use crate::scripts::manifest::elements::{Side, visit};
use crate::tool_spec::json::Located;
use crate::tool_spec::section::Section;

pub(super) fn check(schema: &Located, section: Section, findings: &mut Findings<'_>) {
    let side = if section == Section::Input { Side::Input } else { Side::Output };
    visit(&schema.value, side, &mut |part, (text, advice)| {
        if !findings.is_full() {
            findings.add(schema.line_of(part), text, advice);
        }
    });
}
