//! What a server says on its own: that a resource or a list has changed.

use serde_json::{Value, json};

use super::content::tools;
use super::expect;
use crate::client::{Client, Pending, result_of};
use crate::features::Cell;

/// Listens in the way of the newest revision, and waits until the server does.
async fn listen(client: &mut Client, filter: Value) -> Result<Pending, String> {
    let since = client.notices.len();
    let listening = client.begin("subscriptions/listen", json!({"notifications": filter}));
    client.hear("notifications/subscriptions/acknowledged", since).await?;
    Ok(listening)
}

/// A watched resource changes.
pub(crate) async fn subscribe(client: &mut Client, cell: &Cell) -> Result<(), String> {
    let watched = json!({"uri": "peer://note"});
    let listening = match cell.client.is_stateless() {
        true => Some(listen(client, json!({"resourceSubscriptions": ["peer://note"]})).await?),
        false => {
            result_of(client.ask("resources/subscribe", watched.clone()).await?)?;
            None
        }
    };
    let since = client.notices.len();
    expect("the result", client.call("touch", json!({})).await?, "touched")?;
    let notice = client.hear("notifications/resources/updated", since).await?;
    expect("the resource", &notice["params"]["uri"], "peer://note")?;
    match listening {
        Some(listening) => client.cancel(&listening).await,
        None => drop(result_of(client.ask("resources/unsubscribe", watched).await?)?),
    }
    Ok(())
}

/// A tool comes or goes, and the list shows it.
pub(crate) async fn list_changed(client: &mut Client, cell: &Cell) -> Result<(), String> {
    let listening = match cell.client.is_stateless() {
        true => Some(listen(client, json!({"toolsListChanged": true})).await?),
        false => None,
    };
    let had = tools(client).await?.contains(&"grown".to_owned());
    let since = client.notices.len();
    expect("the result", client.call("grow", json!({})).await?, "grew")?;
    client.hear("notifications/tools/list_changed", since).await?;
    let has = tools(client).await?.contains(&"grown".to_owned());
    if let Some(listening) = listening {
        client.cancel(&listening).await;
    }
    expect("the tool `grown`", has, !had)
}
