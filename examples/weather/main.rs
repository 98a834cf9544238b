//! A small server about the weather: tools, a resource, a template and a prompt.
//!
//! `cargo run --example weather` serves http://127.0.0.1:8787/mcp until it is interrupted.

use std::collections::HashMap;
use std::error::Error;

use gantry::{
    Context, Failure, Json, Prompt, PromptMessage, Resource, ResourceTemplate, Server, Tool,
    Variables,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The weather we know: city, sky, degrees Celsius.
const WEATHER: [(&str, &str, i32); 3] =
    [("Hamburg", "rain", 11), ("Lisbon", "sun", 24), ("Oslo", "snow", -3)];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::new("weather", "1.0.0")
        .instructions("Knows the weather of a few cities; read weather://cities for which.")
        .tool(Tool::new("weather", "Tells the weather of a city.").read_only().run(weather))
        .tool(
            Tool::new("forecast", "Tells how warm the next days will be.")
                .read_only()
                .run(forecast),
        )
        .resource(
            Resource::new("weather://cities", "cities")
                .description("The cities whose weather is known, one a line.")
                .mime_type("text/plain")
                .read(async |_, _| Ok(cities("").join("\n"))),
        )
        .template(
            ResourceTemplate::new("weather://city/{city}", "city")
                .description("The weather of a city, in words.")
                .mime_type("text/plain")
                .complete("city", cities)
                .read(report),
        )
        .prompt(
            Prompt::new("what_to_wear")
                .description("Asks what to wear in a city.")
                .required("city", "Where the user is going")
                .optional("occasion", "What for")
                .complete("city", cities)
                .render(what_to_wear),
        )
        .build()?;

    let stopping = server.clone();
    tokio::spawn(async move {
        // Without a signal handler there is nothing to wait for: stop at once.
        let _ = tokio::signal::ctrl_c().await;
        stopping.stop();
    });
    Ok(server.serve_http("127.0.0.1:8787").await?)
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// Name of the city.
    city: String,
}

#[derive(Deserialize, JsonSchema)]
struct Outlook {
    /// Name of the city.
    city: String,
    /// How many days to look ahead.
    #[serde(default = "three_days")]
    #[schemars(range(min = 1, max = 7))]
    days: u8,
}

fn three_days() -> u8 {
    3
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    /// What the sky does.
    sky: &'static str,
    /// Temperature in degrees Celsius.
    temperature: i32,
}

async fn weather(place: Place, _: Context) -> Result<Json<Weather>, Failure> {
    Ok(Json(look_up(&place.city)?))
}

async fn forecast(outlook: Outlook, context: Context) -> Result<String, Failure> {
    let today = look_up(&outlook.city)?.temperature;
    let mut lines = Vec::new();
    for day in 1..=outlook.days {
        lines.push(format!("in {day} days: {} °C", today + i32::from(day)));
        context.progress(day.into(), Some(outlook.days.into()), None);
    }
    Ok(lines.join("\n"))
}

async fn report(uri: String, variables: Variables, _: Context) -> Result<String, Failure> {
    let city = variables.text("city").unwrap_or_default();
    let weather = look_up(city).map_err(|_| Failure::resource_not_found(&uri))?;
    Ok(format!("{city}: {} at {} °C", weather.sky, weather.temperature))
}

async fn what_to_wear(
    given: HashMap<String, String>,
    _: Context,
) -> Result<PromptMessage, Failure> {
    let occasion = given.get("occasion").map_or("a walk", String::as_str);
    let text =
        format!("Look up the weather in {} and say what to wear for {occasion}.", given["city"]);
    Ok(PromptMessage::user(text))
}

fn look_up(city: &str) -> Result<Weather, Failure> {
    let known = WEATHER.iter().find(|(name, ..)| name.eq_ignore_ascii_case(city));
    let (_, sky, temperature) =
        known.ok_or_else(|| Failure::new(format!("the weather of `{city}` is not known")))?;
    Ok(Weather { sky, temperature: *temperature })
}

fn cities(typed: &str) -> Vec<String> {
    let names = WEATHER.iter().map(|(name, ..)| *name);
    names.filter(|name| name.starts_with(typed)).map(str::to_owned).collect()
}
