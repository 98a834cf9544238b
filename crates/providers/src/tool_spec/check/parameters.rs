//! The table of parameters and the schema say the same.

use std::collections::{HashMap, HashSet};

use super::findings::Findings;
use crate::tool_spec::document::Chapter;
use crate::tool_spec::json::Located;
use crate::tool_spec::table;

pub(super) fn check(chapter: &Chapter<'_>, schema: &Located, findings: &mut Findings<'_>) {
    let properties = schema.value.get("properties");
    let properties: Vec<_> = properties.iter().flat_map(|it| it.members()).collect();
    let required = schema.value.get("required").and_then(|it| it.read::<Vec<String>>());
    let required: HashSet<String> = required.unwrap_or_default().into_iter().collect();
    let Some(rows) = table::rows(&chapter.pieces) else {
        if !properties.is_empty() {
            let text = format!("`{}` has no table", chapter.section.heading());
            let advice = "add one with the columns Name, Type, Required and Description";
            findings.add(chapter.line, text, advice);
        }
        return;
    };
    let known: HashSet<_> = properties.iter().map(|member| member.key().into_owned()).collect();
    let mut listed: HashMap<&str, usize> = HashMap::new();
    for row in &rows {
        let name = row.name.as_str();
        if let Some(earlier) = listed.insert(name, row.line) {
            let text = format!("`{name}` stands in the table twice, first in line {earlier}");
            findings.add(row.line, text, "remove one of the rows");
        } else if known.contains(name) {
            let is_required = required.contains(name);
            if row.required.is_some_and(|told| told != is_required) {
                let (table, schema) = if is_required { ("no", "yes") } else { ("yes", "no") };
                let text =
                    format!("the table says required: {table} for `{name}`, the schema {schema}");
                findings.add(row.line, text, "correct the table, or `required` in the schema");
            }
        } else if !is_inner(name, &known) {
            let text = format!("`{name}` stands in the table and not in the schema");
            findings.add(row.line, text, "add it to `properties`, or remove the row");
        }
    }
    for member in properties.iter().filter(|member| !listed.contains_key(&*member.key())) {
        if findings.is_full() {
            return;
        }
        let text = format!("`{}` stands in the schema and not in the table", member.key());
        findings.add(schema.line_of(&member.value()), text, "add a row for it");
    }
}

/// Whether a row tells about a part of a property: `options.depth` or `items[].name`.
fn is_inner(name: &str, known: &HashSet<String>) -> bool {
    name.split_once(['.', '[']).is_some_and(|(outer, _)| known.contains(outer))
}
