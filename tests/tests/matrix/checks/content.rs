//! What can be listed and read.

use serde_json::{Value, json};

use super::expect;
use crate::client::{Client, result_of};
use crate::features::Cell;

/// The tools that every peer has.
const TOOLS: [&str; 16] = [
    "add",
    "ask_form",
    "ask_many",
    "ask_model",
    "ask_model_tools",
    "ask_roots",
    "ask_rounds",
    "ask_url",
    "cancelled",
    "echo",
    "fail",
    "grow",
    "logs",
    "progress",
    "slow",
    "touch",
];

/// The names of the tools, sorted.
pub(super) async fn tools(client: &mut Client) -> Result<Vec<String>, String> {
    let listed = result_of(client.ask("tools/list", json!({})).await?)?;
    let mut names = strings(&listed["tools"], "name");
    names.sort();
    Ok(names)
}

fn strings(list: &Value, member: &str) -> Vec<String> {
    let entries = list.as_array().into_iter().flatten();
    entries.filter_map(|it| it[member].as_str()).map(str::to_owned).collect()
}

/// Tools, resources, templates and prompts.
pub(crate) async fn list(client: &mut Client, _: &Cell) -> Result<(), String> {
    let mut names = tools(client).await?;
    names.retain(|name| name != "grown");
    expect("the tools", names, TOOLS.map(str::to_owned).to_vec())?;
    let cases = [
        ("resources/list", "resources", "uri", "peer://note"),
        ("resources/templates/list", "resourceTemplates", "uriTemplate", "peer://item/{id}"),
        ("prompts/list", "prompts", "name", "greet"),
    ];
    for (method, list, member, name) in cases {
        let listed = result_of(client.ask(method, json!({})).await?)?;
        expect(method, strings(&listed[list], member), vec![name.to_owned()])?;
    }
    Ok(())
}

/// A resource, and one of a template.
pub(crate) async fn read(client: &mut Client, _: &Cell) -> Result<(), String> {
    for (uri, text) in [("peer://note", "a note"), ("peer://item/7", "item 7")] {
        let read = result_of(client.ask("resources/read", json!({"uri": uri})).await?)?;
        expect(uri, &read["contents"][0]["text"], text)?;
        expect(uri, &read["contents"][0]["uri"], uri)?;
    }
    Ok(())
}

/// The prompt.
pub(crate) async fn prompt(client: &mut Client, _: &Cell) -> Result<(), String> {
    let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
    let got = result_of(client.ask("prompts/get", params).await?)?;
    expect("the prompt", &got["messages"][0]["content"]["text"], "Hello, Ada.")
}

/// Completion of the prompt's argument.
pub(crate) async fn completion(client: &mut Client, _: &Cell) -> Result<(), String> {
    let params = json!({
        "ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "name", "value": "a"},
    });
    let got = result_of(client.ask("completion/complete", params).await?)?;
    expect("the values", &got["completion"]["values"], &json!(["ada", "alan"]))
}
