//! Servers that do something wrong, each beside one that does not: only the calls of the wrong one
//! suffer, with an error that names it and says why, and the other answers all the while.

use gantry_tests::processes;
use gantry_tests::upstream_fixture::{Load, Scripted, UpstreamFixture, scripted};
use serde_json::{Value, json};

/// The most memory that the gateway may ever need, in kilobytes.
const MEMORY: u64 = 512 * 1024;

/// How a call of the tool `odd` ends.
enum Call {
    /// With this text.
    Says(&'static str),
    /// With an error that has all of these words in it.
    Fails(&'static [&'static str]),
}
use Call::{Fails, Says};

/// A server, and what must come of it.
struct Case {
    /// What the server is told.
    words: &'static [&'static str],
    /// More of its entry in the configuration.
    entry: Value,
    /// The state that it comes to, and a word of the reason.
    state: (&'static str, &'static str),
    calls: &'static [Call],
    /// Words in what is wrong with its lists.
    problems: &'static [&'static str],
    /// How many tools are listed at the end.
    tools: usize,
}

/// One that is ready, has all its tools, and no problems.
fn case(words: &'static [&'static str], calls: &'static [Call]) -> Case {
    let (state, problems) = (("ready", ""), [].as_slice());
    Case { words, entry: json!({}), state, calls, problems, tools: 4 }
}

impl Case {
    fn entry(self, entry: Value) -> Self {
        Self { entry, ..self }
    }

    fn lists(self, tools: usize, problems: &'static [&'static str]) -> Self {
        Self { tools, problems, ..self }
    }

    fn becomes(self, state: &'static str, reason: &'static str) -> Self {
        Self { state: (state, reason), tools: 0, ..self }
    }

    /// It is of use, but something does not work.
    fn degraded(self, reason: &'static str) -> Self {
        Self { state: ("degraded", reason), ..self }
    }

    /// Over stdio.
    async fn spoken(self) {
        let entry = scripted(self.words, self.entry.clone());
        self.check(entry, "stdio").await;
    }

    /// Over HTTP.
    async fn posted(self) {
        let server = Scripted::start(self.words).await;
        let entry = server.entry(self.entry.clone());
        self.check(entry, "http").await;
    }

    async fn check(self, entry: Value, way: &str) {
        let name = format!("{}-{way}", self.words.join(""));
        let servers = json!({"odd": entry, "fine": scripted(&["well"], json!({}))});
        let fixture = UpstreamFixture::open(&name, servers).await;
        fixture.until_listed("fine").await;
        let load = Load::start(fixture.address, "fine_well", &json!({}));
        let (state, reason) = self.state;
        let settled = fixture
            .until("odd", state, |status| {
                let is_listed = self.tools == 0 || status["tools"] != 0;
                status["state"] == state && text(&status["reason"]).contains(reason) && is_listed
            })
            .await;
        if self.tools != 0 {
            fixture.until_offered("odd").await;
        }
        for (number, call) in self.calls.iter().enumerate() {
            let heard = fixture.call("odd_odd", json!({})).await;
            let is_right = match (call, &heard) {
                (Says(expected), Ok(heard)) => heard == expected,
                (Fails(words), Err(heard)) => words.iter().all(|word| heard.contains(word)),
                _ => false,
            };
            let heard = format!("{heard:.2000?}");
            assert!(is_right, "{name}, call {number}: {heard}\n{}", fixture.log());
        }
        let problems = text(&settled["problems"]);
        for word in self.problems {
            assert!(problems.contains(word), "{name}: `{word}` is not in {problems}");
        }
        assert_eq!(
            settled["problems"] == json!([]),
            self.problems.is_empty(),
            "{name}: {problems}"
        );
        let (log, status) = (fixture.log(), fixture.status("odd").await.to_string());
        assert!(!log.contains(SECRET) && !status.contains(SECRET), "{name}: {status}\n{log}");
        if state == "backing off" {
            let is_named = || fixture.log().contains("server=\"odd\"");
            processes::until("its name in the log", is_named).await;
            let refused = fixture.call("odd_odd", json!({})).await.expect_err("nobody is there");
            let is_told = refused.contains(reason) || refused.contains("still being started");
            assert!(refused.contains("the server `odd`") && is_told, "{name}: {refused}");
        }
        let most = processes::memory(fixture.id(), "VmHWM");
        assert!(most < MEMORY, "{name}: {most} kB");
        let made = load.end().await;
        assert!(made > 1, "{name}: {made} calls");
        fixture.until("odd", "listed", |status| status["tools"] == self.tools).await;
        fixture.close().await;
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A time that is short, for those who never answer.
fn hasty() -> Value {
    json!({"timeout": "700ms"})
}

const SILENT: &[Call] = &[Fails(&["`odd`", "did not answer within 700ms", "gantry logs odd"])];

#[tokio::test]
async fn one_that_never_answers() {
    case(&["silent"], SILENT).entry(hasty()).spoken().await;
    case(&["silent"], SILENT).entry(hasty()).posted().await;
    case(&["silent", "--modern"], SILENT).entry(hasty()).posted().await;
}

#[tokio::test]
async fn one_that_never_greets() {
    let hasty = || json!({"startup_timeout_ms": 700});
    let reason = "within 700ms";
    case(&["mute"], &[]).becomes("backing off", reason).entry(hasty()).spoken().await;
    case(&["mute"], &[]).becomes("backing off", reason).entry(hasty()).posted().await;
}

#[tokio::test]
async fn one_that_never_lists() {
    let problems = &["tools/list could not be had: no answer came within 700ms"];
    let listed = |status: &Value| status["problems"] != json!([]);
    for entry in [json!({}), json!({"era": "legacy"})] {
        let mut servers = json!({"odd": scripted(&["unlisted"], entry)});
        servers["odd"]["timeout"] = json!("700ms");
        servers["fine"] = scripted(&["well"], json!({}));
        let fixture = UpstreamFixture::open("unlisted", servers).await;
        fixture.until_listed("fine").await;
        let status = fixture.until("odd", "listed", listed).await;
        assert!(text(&status["problems"]).contains(problems[0]), "{status}");
        assert_eq!(fixture.call("fine_well", json!({})).await.as_deref(), Ok("well"));
        fixture.close().await;
    }
}

#[tokio::test]
async fn one_whose_list_has_no_end() {
    let problems = &["repeats a cursor", "the tool `odd` is listed twice"];
    let circles = |words| case(words, &[Says("well 1")]).lists(4, problems).degraded(problems[0]);
    circles(&["circles"]).spoken().await;
    circles(&["circles", "--modern"]).posted().await;
}

#[tokio::test]
async fn one_that_says_much_that_concerns_nobody() {
    case(&["chatter"], &[Says("well"), Says("well")]).spoken().await;
    case(&["chatter"], &[Says("well"), Says("well")]).posted().await;
}

#[tokio::test]
async fn one_that_writes_much_to_standard_error() {
    let servers = json!({"odd": scripted(&["shouts"], json!({}))});
    let fixture = UpstreamFixture::open("shouts", servers).await;
    fixture.until_listed("odd").await;
    for _ in 0..2 {
        assert_eq!(fixture.call("odd_odd", json!({})).await.as_deref(), Ok("well"));
    }
    let log = fixture.admin("GET", "/api/servers/odd/log").await;
    let kept = log["log"].as_str().map_or(0, str::len);
    assert!((1024..=300 * 1024).contains(&kept), "{kept} bytes");
    fixture.close().await;
}

/// Programs that are none, or end at once.
#[tokio::test]
async fn one_that_cannot_be_started() {
    let ends = |words: &str| json!({"command": "sh", "args": ["-c", words]});
    let entries = [
        ("missing", json!({"command": "/no/such/program"}), "/no/such/program"),
        ("unsaid", ends("exit 7"), "7"),
        ("said", ends("echo the key is missing >&2; exit 1"), "the key is missing"),
    ];
    for (name, entry, reason) in entries {
        let fixture =
            UpstreamFixture::open(&format!("log-{name}"), json!({"odd": entry.clone()})).await;
        fixture.until_state("odd", "backing off").await;
        let log = fixture.admin("GET", "/api/servers/odd/log").await;
        assert!(log["log"].as_str().is_some_and(|log| log.contains(reason)), "{name}: {log}");
        fixture.close().await;
        let case = case(&["well"], &[]).becomes("backing off", reason);
        case.check(entry, name).await;
    }
}

#[tokio::test]
async fn one_that_answers_twice() {
    let calls = &[Says("once"), Says("once")];
    case(&["twice"], calls).spoken().await;
    case(&["twice"], calls).posted().await;
    case(&["twice", "--modern"], calls).spoken().await;
}

#[tokio::test]
async fn one_that_answers_what_nobody_asked() {
    let calls = &[Says("well"), Says("well")];
    case(&["strangers"], calls).spoken().await;
    case(&["strangers"], calls).posted().await;
    case(&["strangers", "--modern"], calls).posted().await;
}

#[tokio::test]
async fn one_that_says_what_is_no_message() {
    let calls = &[Says("well"), Says("well")];
    case(&["garbage"], calls).spoken().await;
    case(&["garbage"], calls).posted().await;
    let hollow = &[Fails(&["`odd`", "cannot be understood"])];
    case(&["hollow"], hollow).spoken().await;
    case(&["hollow"], hollow).posted().await;
    case(&["hollow", "--modern"], hollow).posted().await;
}

#[tokio::test]
async fn one_that_says_too_much_at_once() {
    let calls = &[Fails(&["`odd`"])];
    let told = &[Fails(&["`odd`", "longer than the limit"])];
    case(&["flood"], told).entry(json!({"timeout": "20s"})).spoken().await;
    case(&["flood"], calls).entry(json!({"timeout": "20s"})).posted().await;
}

#[tokio::test]
async fn one_that_lists_a_tool_twice() {
    let problems = &["the tool `odd` is listed twice", "the tool `well` is listed twice"];
    case(&["duplicates"], &[Says("well 1")]).lists(4, problems).spoken().await;
}

#[tokio::test]
async fn one_whose_schemas_are_none() {
    let problems = &["`type`", "`list`", "`text`", "`none`", "`lost`", "`away`", "`pattern`"];
    case(&["schemas"], &[Says("well 1")]).lists(4, problems).spoken().await;
}

#[tokio::test]
async fn one_whose_headers_are_not_allowed() {
    let problems = &["`sign`", "`kind`", "`empty`", "x-mcp-header"];
    case(&["headers", "--modern"], &[Says("well 1")]).lists(4, problems).posted().await;
    // Without HTTP there are no headers, and so nothing is wrong.
    case(&["headers", "--modern"], &[Says("well 1")]).lists(7, &[]).spoken().await;
}

#[tokio::test]
async fn one_that_changes_its_tools_while_it_is_called() {
    case(&["changes"], &[Says("well"), Says("well")]).lists(5, &[]).spoken().await;
    case(&["changes"], &[Says("well"), Says("well")]).lists(5, &[]).posted().await;
}

#[tokio::test]
async fn one_that_dies_while_it_is_called() {
    let lost = &[Fails(&["`odd`", "was lost before a byte of its answer came", "check before"])];
    case(&["dies"], lost).spoken().await;
}

#[tokio::test]
async fn one_that_dies_and_then_refuses_connections() {
    let calls = &[
        Fails(&["`odd`", "was lost before its answer was complete"]),
        Fails(&["`odd`", "cannot be reached", "refused"]),
    ];
    case(&["dies"], calls).posted().await;
    case(&["dies", "--modern"], calls).posted().await;
}

#[tokio::test]
async fn one_that_refuses_connections() {
    let entry = json!({"url": "http://127.0.0.1:9/mcp"});
    let case = case(&["well"], &[]).becomes("backing off", "refused");
    case.check(entry, "nowhere").await;
}

#[tokio::test]
async fn one_that_sends_elsewhere() {
    case(&["redirects"], &[]).becomes("backing off", "which is not followed").posted().await;
}

#[tokio::test]
async fn one_of_a_revision_that_nobody_knows() {
    case(&["strange"], &[]).becomes("backing off", "2099-01-01").spoken().await;
    case(&["strange"], &[]).becomes("backing off", "2099-01-01").posted().await;
    case(&["strange", "--modern"], &[]).becomes("backing off", "2099-01-01").spoken().await;
    case(&["strange", "--modern"], &[]).becomes("backing off", "2099-01-01").posted().await;
}

#[tokio::test]
async fn one_that_lists_a_hundred_thousand_tools() {
    let problems = &["more than 20000 `tools`"];
    let crowd = case(&["crowd"], &[Says("well 1")]).lists(20_000, problems);
    crowd.degraded(problems[0]).spoken().await;
}

const SECRET: &str = "hunter2-hunter2";

#[tokio::test]
async fn one_that_tells_its_secrets() {
    let told = &[Fails(&["the key … is not valid"])];
    let variable = || json!({"env": {"SCRIPTED_SECRET": SECRET}});
    let header = || json!({"headers": {"X-Scripted-Secret": SECRET}});
    for conduct in ["tells", "tells-result"] {
        let words: &'static [&'static str] = match conduct {
            "tells" => &["tells"],
            _ => &["tells-result"],
        };
        case(words, told).entry(variable()).spoken().await;
        case(words, told).entry(header()).posted().await;
    }
    let greeting = || case(&["tells-greeting"], &[]).becomes("backing off", "the key … is not");
    greeting().entry(variable()).spoken().await;
    greeting().entry(header()).posted().await;
}

/// A question that belongs to no call is refused, and the server goes on.
#[tokio::test]
async fn one_that_asks_outside_of_any_call() {
    let server = Scripted::start(&["asks"]).await;
    let servers = json!({"odd": scripted(&["asks"], json!({})), "posted": server.entry(json!({}))});
    let fixture = UpstreamFixture::open("asks", servers).await;
    for server in ["odd", "posted"] {
        fixture.until_listed(server).await;
        let asked = fixture.until(server, "ready", |status| status["state"] == "ready").await;
        assert_eq!(asked["problems"], json!([]), "{server}");
        let answers = fixture.call(&format!("{server}_answers"), json!({})).await;
        assert_eq!(answers.as_deref(), Ok("3"), "{server}: {}", fixture.log());
    }
    fixture.close().await;
}
