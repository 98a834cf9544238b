//! A client that plays the scenarios of the official conformance suite, which starts it with a
//! server's address as its last argument and names the scenario in its environment.

mod answers;
mod player;

use std::env;
use std::error::Error;

use gantry_client::List;
use gantry_protocol::{JsonLimits, Method, RawJson};
use player::Player;
use serde_json::{Value, json};

/// Names the scenario to play.
const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
/// A JSON object with what the scenario wants to be told.
const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

type Played = Result<(), Box<dyn Error>>;

#[tokio::main]
async fn main() -> Played {
    let url = env::args().next_back().ok_or("the last argument must be the server's address")?;
    let scenario = env::var(SCENARIO).map_err(|_| format!("`{SCENARIO}` must name a scenario"))?;
    let player = Player::connect(&url)?;
    play(&scenario, &player).await?;
    player.leave().await;
    Ok(())
}

async fn play(scenario: &str, player: &Player) -> Played {
    match scenario {
        "initialize" | "json-schema-ref-no-deref" => player.tools().await.map(drop),
        "tools_call" => call(player, "add_numbers", &json!({"a": 5, "b": 3})).await,
        "sse-retry" => call(player, "test_reconnection", &json!({})).await,
        "elicitation-sep1034-client-defaults"
        | "http-invalid-tool-headers"
        | "request-metadata" => call_all(player).await,
        "http-standard-headers" => {
            call_all(player).await?;
            read_all(player).await
        }
        "http-custom-headers" => call_as_told(player).await,
        "sep-2322-client-request-state" => answer(player).await,
        "json-schema-2020-12-preservation" => give_back(player).await,
        unknown => Err(format!("no such scenario is known: `{unknown}`").into()),
    }
}

/// Calls one tool.
async fn call(player: &Player, name: &str, arguments: &Value) -> Played {
    let tools = player.tools().await?;
    player.call(player::find(&tools, name)?, RawJson::of(arguments)?).await.map(drop)
}

/// Calls every tool with arguments that fit.
async fn call_all(player: &Player) -> Played {
    for tool in player.tools().await? {
        let arguments = answers::filled_in(tool.get("inputSchema").as_ref());
        player.call(&tool, arguments).await?;
    }
    Ok(())
}

/// Reads every resource and gets every prompt.
async fn read_all(player: &Player) -> Played {
    for resource in player.list(List::Resources).await? {
        player.ask(Method::ResourcesRead, "uri", resource.get("uri")).await?;
    }
    for prompt in player.list(List::Prompts).await? {
        player.ask(Method::PromptsGet, "name", prompt.get("name")).await?;
    }
    Ok(())
}

/// Calls the tools that the suite names, with its arguments as it wrote them.
async fn call_as_told(player: &Player) -> Played {
    let context = env::var(CONTEXT).map_err(|_| format!("`{CONTEXT}` must name tool calls"))?;
    let context = RawJson::parse(context.into_bytes(), JsonLimits::default())?;
    let tools = player.tools().await?;
    for told in context.get("toolCalls").iter().flat_map(RawJson::elements) {
        let name = told.get("name").and_then(|name| name.to_text()).unwrap_or_default();
        let arguments = told.get("arguments").unwrap_or(RawJson::EMPTY_OBJECT);
        player.call(player::find(&tools, &name)?, arguments).await?;
    }
    Ok(())
}

/// Two calls that ask for input, one that does not beside the first, and one with an old result.
async fn answer(player: &Player) -> Played {
    let tools = player.tools().await?;
    let call = async |name: &str| {
        player.call(player::find(&tools, name)?, RawJson::EMPTY_OBJECT).await.map(drop)
    };
    tokio::try_join!(call("test_mrtr_echo_state"), call("test_mrtr_unrelated"))?;
    call("test_mrtr_no_state").await?;
    call("test_mrtr_no_result_type").await
}

/// Gives a schema back as it came.
async fn give_back(player: &Player) -> Played {
    let tools = player.tools().await?;
    let schema = player::find(&tools, "json_schema_2020_12_tool")?.get("inputSchema");
    let arguments = RawJson::EMPTY_OBJECT.edit().set_some("schema", schema).apply();
    player.call(player::find(&tools, "json_schema_echo")?, arguments).await.map(drop)
}
