//! One harness for every attack.

use std::time::Duration;

use gantry_tests::processes;
use gantry_tests::upstream_fixture::{Load, Scripted, UpstreamFixture, beside, scripted};
use serde_json::{Value, json};

use crate::attackers::Attackers;
use crate::bystander::p99;

/// Memory that may stay, in kilobytes, however little was used before: an allocator keeps some of
/// what it was given.
const SLACK: u64 = 24 * 1024;

/// What a bystander may feel.
struct Bounds {
    /// How long each part is measured.
    time: Duration,
    /// Below this no difference is felt, and a busy machine makes one.
    floor: Duration,
    /// What no call takes, whatever it took before.
    ceiling: Duration,
}

impl Bounds {
    fn given() -> Self {
        let is_strict = std::env::var("GANTRY_ADVERSARIAL").is_ok_and(|it| it == "strict");
        let milliseconds = Duration::from_millis;
        match is_strict {
            true => Self {
                time: milliseconds(2000),
                floor: milliseconds(25),
                ceiling: milliseconds(50),
            },
            false => Self {
                time: milliseconds(2000),
                floor: milliseconds(3000),
                ceiling: milliseconds(3000),
            },
        }
    }
}

pub(crate) async fn over_http(attack: &str) {
    let server = Scripted::run(beside("adversarial-server"), &[attack]).await;
    endure(&format!("{attack}-http"), server.entry(json!({}))).await;
}

pub(crate) async fn over_stdio(attack: &str) {
    let entry = json!({"command": beside("adversarial-server"), "args": [attack]});
    endure(&format!("{attack}-stdio"), entry).await;
}

/// Measures a bystander without the hostile server and beside it, then takes the server away.
async fn endure(name: &str, mut hostile: Value) {
    let bounds = Bounds::given();
    // A call of the hostile tool ends soon, so that there are many.
    hostile["timeout"] = json!("1s");
    let fine = || scripted(&["well"], json!({}));
    let fixture = UpstreamFixture::open(name, json!({"fine": fine()})).await;
    fixture.until_listed("fine").await;
    // The first calls make what later ones find ready.
    p99(fixture.address, "fine_well", bounds.time / 4).await;
    let quiet = p99(fixture.address, "fine_well", bounds.time).await;
    let before = processes::memory(fixture.id(), "VmRSS");

    fixture.configure(json!({"fine": fine(), "odd": hostile}));
    let known = |status: &Value| status["state"].is_string();
    fixture.until("odd", "known", known).await;
    let attackers = Attackers::start(fixture.address);
    let felt = p99(fixture.address, "fine_well", bounds.time).await;
    attackers.end();

    fixture.configure(json!({"fine": fine()}));
    let gone = |status: &Value| !status["state"].is_string();
    fixture.until("odd", "gone", gone).await;
    let most = (before + before / 5).max(before + SLACK);
    let calm = || processes::memory(fixture.id(), "VmRSS") <= most;
    let load = Load::start(fixture.address, "fine_well", &json!({}));
    processes::until(&format!("{name}: memory of {before} kB again"), calm).await;
    load.end().await;

    let allowed = (quiet * 3).max(bounds.floor).min(bounds.ceiling);
    assert!(
        felt <= allowed,
        "{name}: p99 {felt:?} beside the attack, {quiet:?} before\n{}",
        fixture.log()
    );
    fixture.close().await;
}
