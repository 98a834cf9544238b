//! What policy costs: the same call through the same gateway, with a thousand rules, limits and the
//! record of every call, and with none of it.

use serde_json::{Value, json};

use super::BenchEnv;
use super::gateway::{Gateway, HEAD, echo, over_http, plain, row};
use crate::client::request::Era::{Legacy, Modern};
use crate::fault::Fault;
use crate::goals::Row;
use crate::process::Server;
use crate::report::{Report, Section};
use crate::rounds::{Plan, interleave};

const RULES: usize = 1000;
const TOOLS: usize = 5000;

/// Measures the hop to a server of many tools with policy and without, sixteen connections.
pub(crate) fn measure(bench_env: &BenchEnv, report: &mut Report) -> Result<(), Fault> {
    let upstream = Server::start(bench_env.programs.everything(TOOLS)?)?;
    let servers = json!({"one": plain(&over_http(&upstream, Modern))});
    let on = Gateway::with(bench_env, &servers, &all())?;
    let off = Gateway::with(bench_env, &servers, &none())?;
    let runs = [
        echo("policy off, 2026-07-28", &off.server, Modern),
        echo("policy on, 2026-07-28", &on.server, Modern),
        echo("policy off, 2025-11-25", &off.server, Legacy),
        echo("policy on, 2025-11-25", &on.server, Legacy),
    ];
    // The limit is narrow, so this row needs more rounds than the others to be fair.
    let plan = Plan { rounds: bench_env.plan.rounds + 2, ..bench_env.plan };
    let all = interleave(&bench_env.programs, plan, &runs)?;
    if let [off, on, off_legacy, on_legacy] = &all[..] {
        report.figure(Row::PolicyModern, on.ratio(off, |it| it.cpu_us));
        report.figure(Row::PolicyLegacy, on_legacy.ratio(off_legacy, |it| it.cpu_us));
    }
    report.sections.push(Section {
        title: "echo through a hop, with policy and without, 16 connections".to_owned(),
        head: HEAD,
        rows: all.iter().map(row).collect(),
        note: format!(
            "{TOOLS} tools behind the gateway; on: {RULES} rules, pins, rates, concurrency and \
             budgets, and a record of every call."
        ),
    });
    Ok(())
}

/// Every policy, with rules that are looked at and limits that are counted but never reached.
fn all() -> Value {
    let rule = |number: usize| {
        let (effect, who, what) = match number % 4 {
            0 => ("deny", json!({}), json!({"tools": [format!("x{number}_*")]})),
            1 => ("deny", json!({}), json!({"servers": [format!("s{number}")]})),
            2 => {
                ("deny", json!({"principals": [format!("p{number}")]}), json!({"tools": ["echo*"]}))
            }
            _ => ("allow", json!({}), json!({"tools": [format!("tool_{number}")]})),
        };
        json!({"name": format!("r{number}"), "effect": effect, "who": who, "what": what})
    };
    let mut rules: Vec<Value> = (0..RULES - 1).map(rule).collect();
    rules.push(json!({"name": "last", "effect": "allow", "when": "args.text != 'no'"}));
    json!({
        "policy": {"trust": "trusted", "rules": rules},
        "limits": {
            "default": "100000000/s",
            "perTool": {"echo": "100000000/s"},
            "concurrency": {"perTool": {"*": 100_000}, "perPrincipal": {"*": 100_000}},
        },
        "audit": "batched",
        "pins": "compatible",
    })
}

fn none() -> Value {
    json!({"policy": {"trust": "trusted"}, "limits": {"default": "off"}, "audit": "off", "pins": "off"})
}
