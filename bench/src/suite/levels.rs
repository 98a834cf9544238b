//! The service levels that no load shows: what the registry takes for one tool, and how soon a large
//! folder of tools can be listed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use gantry::{Failure, Handlers, HttpHandler, RawJson, Server, Tool, ToolSettings, Tools};
use gantry_cli::admin::{Admin, ManifestFolder};
use gantry_gateway::{Gateway, ServerInfo};
use hyper::Request;
use serde_json::{Value, json};

use super::{BenchEnv, start};
use crate::client::request::Work;
use crate::fault::Fault;
use crate::folder::{Folder, manifest};
use crate::goals::Level;
use crate::report::{Report, Section};
use crate::rounds::median;
use crate::window::quantile;

/// How many tools there are already.
const TOOLS: usize = 1000;
/// How often each thing is done.
const TIMES: usize = 500;
/// How many manifests the large folder holds.
const FILES: usize = 5000;
/// How often the gateway is started over it.
const STARTS: usize = 3;

/// Measures registration, look-up and validation through the library.
pub(crate) fn measure(_: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let gateway = Gateway::builder(ServerInfo::new("gantry-bench", "1.0.0")).build();
    let handlers = Handlers::default();
    handlers.publish_to(gateway.attach(Arc::new(handlers.clone())));
    (0..TOOLS).try_for_each(|number| register(&handlers, tool(number)))?;
    let measured = [
        ("registration of one more tool", Level::Registration, registration(&handlers)?),
        ("look-up of a schema", Level::Lookup, lookup(&gateway)?),
        ("validation of arguments", Level::Validation, validation(&gateway)?),
    ];
    let mut rows = Vec::new();
    for (what, level, times) in measured {
        let (middle, tail) = (quantile(&times, 0.5), quantile(&times, 0.99));
        report.level(level, tail / 1e3);
        rows.push(vec![what.to_owned(), format!("{middle:.1}"), format!("{tail:.1}")]);
    }
    report.sections.push(Section {
        title: "the registry with 1,000 tools".to_owned(),
        head: &["what", "p50 us", "p99 us"],
        rows,
        note: "Registration compiles both schemas and publishes the new catalog.".to_owned(),
    });
    Ok(())
}

fn register(handlers: &Handlers, tool: Tool) -> Result<(), Fault> {
    handlers.add_tool(tool).map_err(|error| Fault::Tools(error.to_string()))
}

fn registration(handlers: &Handlers) -> Result<Vec<Duration>, Fault> {
    let mut more: Vec<Tool> = (TOOLS..TOOLS + TIMES).map(tool).collect();
    times(|_| more.pop().map_or(Ok(()), |tool| register(handlers, tool)))
}

fn lookup(gateway: &Gateway) -> Result<Vec<Duration>, Fault> {
    let names: Vec<String> = (0..TIMES).map(|number| name(number * 7 % TOOLS)).collect();
    times(|number| {
        let snapshot = gateway.catalog().snapshot();
        let entry = snapshot.tool(&names[number]).ok_or_else(missing)?;
        entry.definition.get("inputSchema").map(drop).ok_or_else(missing)
    })
}

fn validation(gateway: &Gateway) -> Result<Vec<Duration>, Fault> {
    let entry = gateway.catalog().snapshot().tool(&name(0)).cloned().ok_or_else(missing)?;
    let arguments = RawJson::from(json!({"text": "some words", "count": 3, "kind": "long"}));
    times(|_| match entry.input.accept(Some(&arguments)) {
        Ok(_) => Ok(()),
        Err(violations) => Err(Fault::Tools(violations.to_string())),
    })
}

fn missing() -> Fault {
    Fault::Tools("a registered tool is not in the catalog".to_owned())
}

fn name(number: usize) -> String {
    format!("bench.echo_{number}")
}

/// Measures registration as users do it, over the administration, among the tools of a large folder.
pub(crate) fn measure_administration(
    bench_env: &BenchEnv,
    report: &mut Report,
) -> Result<(), Fault> {
    let folder = Folder::many(&bench_env.programs.echo()?, FILES)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|source| Fault::Machine { action: "make a runtime".to_owned(), source })?;
    let _entered = runtime.enter();
    let tools = Tools::open(vec![folder.tools()], ToolSettings::default());
    let server = Server::new("gantry-bench", "1.0.0").tools(tools.clone()).build();
    let _server = server.map_err(|error| Fault::Tools(error.to_string()))?;
    let admin = Admin::new(tools, ManifestFolder::in_folder(folder.state()), "").without_token();
    let program = bench_env.programs.echo()?;
    let times = times(|number| {
        let body = manifest(&format!("bench.more_{number}"), &program, 0).to_string();
        let request = Request::post("/api/tools").body(Bytes::from(body));
        let request = request.map_err(|error| Fault::Tools(error.to_string()))?;
        let answer = runtime.block_on(admin.serve(request));
        match answer.status().as_u16() {
            201 => Ok(()),
            _ => Err(Fault::Tools(String::from_utf8_lossy(answer.body()).into_owned())),
        }
    })?;
    let (middle, tail) = (quantile(&times, 0.5), quantile(&times, 0.99));
    report.level(Level::Administration, tail / 1e3);
    report.sections.push(Section {
        title: "registration over /api/tools with 5,000 tools".to_owned(),
        head: &["what", "p50 us", "p99 us"],
        rows: vec![vec!["one more".to_owned(), format!("{middle:.1}"), format!("{tail:.1}")]],
        note: "Includes the manifest's file in the state directory.".to_owned(),
    });
    Ok(())
}

/// Measures the start over a large folder, up to the first list.
pub(crate) fn measure_scan(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let folder = Folder::many(&bench_env.programs.echo()?, FILES)?;
    let mut all = Vec::new();
    for _ in 0..STARTS {
        let took = start::once(bench_env, bench_env.programs.gantry_with(&folder)?, Work::List)?;
        all.push(took.as_secs_f64() * 1e3);
    }
    let middle = median(all.into_iter());
    report.level(Level::Scan, middle);
    report.sections.push(Section {
        title: "start over a folder of tools".to_owned(),
        head: &["manifests", "ms to the first list"],
        rows: vec![vec![FILES.to_string(), format!("{middle:.0}")]],
        note: format!(
            "Median of {STARTS} starts; all manifests are read and all schemas compiled."
        ),
    });
    Ok(())
}

/// Does a thing some times; the sorted times that it took.
fn times(mut act: impl FnMut(usize) -> Result<(), Fault>) -> Result<Vec<Duration>, Fault> {
    let mut times = Vec::with_capacity(TIMES);
    for number in 0..TIMES {
        let began = Instant::now();
        act(number)?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

fn tool(number: usize) -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "maxLength": 1000},
            "count": {"type": "integer", "minimum": 1},
            "kind": {"enum": ["short", "long"]},
        },
        "required": ["text"],
    });
    Tool::new(name(number), "Gives its text back.")
        .input_schema(schema.clone())
        .output_schema(schema)
        .run(async |arguments: Value, _| Ok::<_, Failure>(arguments["text"].to_string()))
}
