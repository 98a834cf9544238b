//! Calls in the middle of which the server asks its client.

use gantry::Revision;
use serde_json::{Value, json};

use super::expect;
use crate::client::Client;
use crate::features::Cell;

const FORM: &str = "elicitation/create";
const MODEL: &str = "sampling/createMessage";
const ROOTS: &str = "roots/list";

/// Calls a tool that asks: what it says in the end, and that the client was asked just that.
async fn ask(
    client: &mut Client,
    tool: &str,
    arguments: Value,
    questions: &[&str],
    said: &str,
) -> Result<(), String> {
    let since = client.asked.len();
    expect("the result", client.call(tool, arguments).await?, said)?;
    let mut asked = client.asked[since..].to_vec();
    let mut expected: Vec<String> = questions.iter().map(|&it| it.to_owned()).collect();
    // Questions that are asked at once have no order.
    asked.sort();
    expected.sort();
    expect("the questions", asked, expected)
}

fn has_forms(cell: &Cell) -> bool {
    cell.client >= Revision::V2025_06_18 && cell.server >= Revision::V2025_06_18
}

pub(crate) async fn form(client: &mut Client, _: &Cell) -> Result<(), String> {
    ask(client, "ask_form", json!({}), &[FORM], "accept Ada").await
}

pub(crate) async fn url(client: &mut Client, _: &Cell) -> Result<(), String> {
    ask(client, "ask_url", json!({}), &[FORM], "accept").await
}

pub(crate) async fn model(client: &mut Client, _: &Cell) -> Result<(), String> {
    ask(client, "ask_model", json!({}), &[MODEL], "hello").await
}

pub(crate) async fn model_tools(client: &mut Client, _: &Cell) -> Result<(), String> {
    ask(client, "ask_model_tools", json!({}), &[MODEL], "weather Paris").await
}

pub(crate) async fn roots(client: &mut Client, _: &Cell) -> Result<(), String> {
    ask(client, "ask_roots", json!({}), &[ROOTS], "file:///work").await
}

/// Several questions at once, a form among them where both sides know forms.
pub(crate) async fn many(client: &mut Client, cell: &Cell) -> Result<(), String> {
    if has_forms(cell) {
        let said = "accept Ada|hello|file:///work";
        return ask(client, "ask_many", json!({}), &[FORM, MODEL, ROOTS], said).await;
    }
    let without = json!({"form": false});
    ask(client, "ask_many", without, &[MODEL, ROOTS], "hello|file:///work").await
}

/// One question after the other.
pub(crate) async fn rounds(client: &mut Client, cell: &Cell) -> Result<(), String> {
    if has_forms(cell) {
        return ask(client, "ask_rounds", json!({}), &[FORM, FORM], "Ada likes blue").await;
    }
    let without = json!({"form": false});
    ask(client, "ask_rounds", without, &[MODEL, ROOTS], "hello then file:///work").await
}
