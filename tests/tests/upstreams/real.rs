//! Servers that people use, from `tests/servers/real.json`, all behind one gateway. One after the
//! other is killed while all are called: no call of another fails, and the killed ones come back.
//! `GANTRY_CHAOS_SECONDS` says for how long.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use gantry_tests::processes;
use gantry_tests::temp_folder::{Bench, cache, command, finish, program, root};
use gantry_tests::upstream_fixture::{Load, UpstreamFixture};
use rustix::process::Signal;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

/// How long the servers are killed, unless the variable says otherwise.
const SHORT: Duration = Duration::from_secs(20);

/// The servers, with the paths of this machine filled in.
async fn servers(bench: &Bench) -> Vec<Value> {
    let folder = bench.folder.join("work");
    fs::create_dir_all(&folder).expect("a folder");
    finish(command("git").args(["init", "--quiet"]).arg(&folder)).await;
    let list = fs::read_to_string(root().join("tests/servers/real.json")).expect("the list");
    let filled = list
        .replace("{cache}", &cache().display().to_string())
        .replace("{node}", &cache().join("node22/node_modules/node/bin/node").display().to_string())
        .replace("{folder}", &folder.display().to_string());
    serde_json::from_str(&filled).expect("the list is JSON")
}

/// The entries of all servers, in one of the two forms that the list has.
fn entries(servers: &[Value], form: &str) -> Value {
    let entry = |it: &Value| (it["name"].as_str().expect("a name").to_owned(), it[form].clone());
    Value::Object(servers.iter().map(entry).collect::<Map<_, _>>())
}

/// The calls that show that a server works, by its name.
fn calls(servers: &[Value]) -> BTreeMap<String, (String, Value)> {
    let callable = servers.iter().filter(|it| !it["call"].is_null());
    let call = |it: &Value| {
        let (name, call) = (it["name"].as_str().expect("a name"), &it["call"]);
        let tool = format!("{name}_{}", call["name"].as_str().expect("a name"));
        (name.to_owned(), (tool, call["arguments"].clone()))
    };
    callable.map(call).collect()
}

/// The entries as their authors write them are understood, all in one file.
#[tokio::test]
async fn entries_as_their_authors_write_them() {
    let bench = Bench::new("real-readme");
    let servers = servers(&bench).await;
    let file = bench.folder.join("gantry.json");
    let config = json!({"mcpServers": entries(&servers, "readme")});
    fs::write(&file, config.to_string()).expect("a file");
    let mut list = command(program());
    list.args(["list", "--json", "--config"]).arg(&file).env("XDG_STATE_HOME", &bench.folder);
    let listed = finish(&mut list).await;
    for server in &servers {
        let name = server["name"].as_str().expect("a name");
        let command = server["readme"]["command"].as_str().expect("a command");
        assert!(listed.contains(name) && listed.contains(command), "{name}: {listed}");
    }
    let mut check = command(program());
    finish(check.args(["config", "check", "--config"]).arg(&file)).await;
}

/// Which server is next: an order that nobody knows before, told when something fails.
struct Chance(u64);

impl Chance {
    fn pick(&mut self, count: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % count
    }
}

#[tokio::test]
async fn any_of_them_may_be_killed_at_any_time() {
    let bench = Bench::new("real-work");
    let servers = servers(&bench).await;
    assert!(servers.len() >= 10, "ten servers");
    let fixture = UpstreamFixture::open("real", entries(&servers, "pinned")).await;
    for server in &servers {
        fixture.until_listed(server["name"].as_str().expect("a name")).await;
    }
    let calls = calls(&servers);
    for (name, (tool, arguments)) in &calls {
        let called = fixture.call(tool, arguments.clone()).await;
        assert!(called.is_ok(), "{name}: {called:?}\n{}", fixture.log());
    }
    let seconds = std::env::var("GANTRY_CHAOS_SECONDS").ok().and_then(|it| it.parse().ok());
    let time = seconds.map_or(SHORT, Duration::from_secs);
    let before = processes::descriptors(fixture.id());
    let (kills, made) = chaos(&fixture, &calls, time).await;
    assert!(kills > 0 && made > kills, "{kills} kills, {made} calls");
    told(kills, made, time);
    accounted_for(&fixture, servers.len()).await;
    let after = processes::descriptors(fixture.id());
    assert!(after <= before + 16, "{before} descriptors became {after}");
    fixture.close().await;
}

#[expect(clippy::print_stdout, reason = "how much was done is worth seeing, and no assertion")]
fn told(kills: usize, made: usize, time: Duration) {
    println!("{kills} servers killed in {time:?}, {made} calls of the others made, none failed");
}

/// Kills one after the other for so long: how many were killed, and how many calls were made.
async fn chaos(
    fixture: &UpstreamFixture,
    calls: &BTreeMap<String, (String, Value)>,
    time: Duration,
) -> (usize, usize) {
    let begin = |(tool, arguments): &(String, Value)| Load::start(fixture.address, tool, arguments);
    let mut loads: BTreeMap<&str, Load> =
        calls.iter().map(|(name, call)| (name.as_str(), begin(call))).collect();
    let names: Vec<&str> = calls.keys().map(String::as_str).collect();
    let mut chance = Chance(RandomState::new().hash_one("chaos"));
    let (start, mut kills, mut made) = (Instant::now(), 0, 0);
    while start.elapsed() < time {
        let victim = names[chance.pick(names.len())];
        // Its own calls may fail from now on.
        made += loads.remove(victim).expect("it is called").end().await;
        kill(fixture, victim, &calls[victim]).await;
        kills += 1;
        loads.insert(victim, begin(&calls[victim]));
    }
    for load in loads.into_values() {
        made += load.end().await;
    }
    (kills, made)
}

/// Kills a server and calls it until it answers again. What fails until then names it.
async fn kill(fixture: &UpstreamFixture, name: &str, (tool, arguments): &(String, Value)) {
    let is_up = |status: &Value| status["process"].is_u64();
    let process = fixture.until(name, "running", is_up).await["process"].as_u64();
    let process = process.and_then(|it| it.try_into().ok()).expect("a number");
    // One call is under way when it dies.
    let dying = async { processes::signal(process, Signal::KILL) };
    let (mut called, ()) = tokio::join!(fixture.call(tool, arguments.clone()), dying);
    let start = Instant::now();
    loop {
        match called {
            Ok(_) if fixture.process(name).await != Some(process) => break,
            // The signal is under way.
            Ok(_) => {}
            Err(error) => assert!(error.contains(&format!("`{name}`")), "{name}: {error}"),
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "`{name}` stays away:\n{}",
            fixture.log()
        );
        // Only the pause between two looks; nothing depends on its length.
        sleep(Duration::from_millis(50)).await;
        called = fixture.call(tool, arguments.clone()).await;
    }
}

/// Every server has one group of processes, nothing else is left, and none waits to be reaped.
async fn accounted_for(fixture: &UpstreamFixture, count: usize) {
    let groups = || processes::leaders(&fixture.mark).len();
    processes::until("one group for each server", || groups() == count).await;
    processes::until("no zombies", || processes::zombies(fixture.id()).is_empty()).await;
}
