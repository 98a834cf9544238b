//! The real program: the token of the first start, `gantry token`, and real clients.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use gantry_tests::request::{bodiless, call};
use gantry_tests::temp_folder::{Bench, cache, command, finish, program, root};
use gantry_tests::test_server::soon;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::by;

/// A gateway, and all that it has written to standard error.
struct Gateway {
    child: Child,
    log: Arc<Mutex<String>>,
    reading: JoinHandle<()>,
    address: SocketAddr,
}

fn gantry(bench: &Bench) -> Command {
    let mut command = command(program());
    command.current_dir(&bench.folder).env("XDG_STATE_HOME", &bench.folder);
    command.env("HOME", &bench.folder).env_remove("GANTRY_AUTH").env_remove("GANTRY_LISTEN");
    command.env("GANTRY_LOG", "trace");
    command
}

impl Gateway {
    async fn start(bench: &Bench, listen: &str) -> Self {
        let mut serve = gantry(bench);
        serve.args(["serve", "--listen", listen]);
        let mut child = serve.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("its log")).lines();
        let (tell, address) = oneshot::channel();
        let (log, mut tell) = (Arc::<Mutex<String>>::default(), Some(tell));
        let into = log.clone();
        let reading = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                into.lock().expect("nobody panics with it").push_str(&format!("{line}\n"));
                let url = line.split_whitespace().find_map(|word| word.strip_prefix("http://"));
                let address = url.and_then(|url| url.strip_suffix("/mcp")?.parse().ok());
                if let (Some(address), true) = (address, line.contains("is ready"))
                    && let Some(tell) = tell.take()
                {
                    let _ = tell.send(address);
                }
            }
        });
        let address = soon("the address", address).await.expect("it says where it listens");
        Self { child, log, reading, address }
    }

    async fn call(&self, token: &str) -> u16 {
        by(token, call("echo", json!({"text": "hi"}))).send(self.address).await.status
    }

    /// Ends it in good order. Gives all that it has written.
    async fn stop(mut self) -> String {
        gantry_tests::processes::signal(
            self.child.id().expect("it runs"),
            rustix::process::Signal::TERM,
        );
        let ended = soon("its end", self.child.wait()).await.expect("a status");
        soon("the end of its log", self.reading).await.expect("it reads");
        let log = self.log.lock().expect("nobody panics with it").clone();
        assert!(ended.success(), "{log}");
        log
    }
}

/// What a command line printed, which must have succeeded.
async fn token(bench: &Bench, words: &[&str]) -> Value {
    let printed = finish(gantry(bench).arg("token").args(words).arg("--json")).await;
    serde_json::from_str(&printed).expect("JSON")
}

/// Its exit code, and what it said.
async fn refused(bench: &Bench, words: &[&str]) -> (Option<i32>, String) {
    let output = soon("its end", gantry(bench).args(words).output()).await.expect("it runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test]
async fn the_first_start_makes_a_token_and_shows_it_once() {
    let bench = Bench::new("callers-first");
    let gateway = Gateway::start(&bench, "127.0.0.1:0").await;
    let file = bench.folder.join("gantry/client-token");
    let own = fs::read_to_string(&file).expect("it is kept");
    let mode = fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!((gateway.call(&own).await, gateway.call("gty_x").await), (200, 401));
    assert_eq!(bodiless("GET").to("/healthz").send(gateway.address).await.status, 200);
    let log = gateway.stop().await;
    let entry = format!(r#""headers": {{"Authorization": "Bearer {own}"}}"#);
    assert!(log.contains(&entry), "{log}");
    assert_eq!(log.matches(&own[17..]).count(), 1, "it is shown once: {log}");

    let gateway = Gateway::start(&bench, "127.0.0.1:0").await;
    assert_eq!(gateway.call(&own).await, 200);
    let log = gateway.stop().await;
    assert!(!log.contains(&own[17..]), "what it writes may be kept: {log}");
    assert!(log.contains("client-token"), "{log}");
    let store = fs::read(bench.folder.join("gantry/gantry.db")).expect("the store");
    let secret = &own.as_bytes()[17..];
    assert!(!store.windows(secret.len()).any(|window| window == secret), "only its hash is kept");
}

#[tokio::test]
async fn tokens_are_made_and_revoked_while_a_gateway_runs_and_while_none_does() {
    let bench = Bench::new("callers-verbs");
    let before = token(&bench, &["create", "--name", "before"]).await;
    let before = before["token"].as_str().expect("a token").to_owned();
    let gateway = Gateway::start(&bench, "127.0.0.1:0").await;
    assert!(!bench.folder.join("gantry/client-token").exists(), "there is a token already");
    assert_eq!(gateway.call(&before).await, 200);
    let words =
        ["create", "--name", "laptop", "--allow", "echo", "--allow", "c*", "--expires", "30d"];
    let made = token(&bench, &words).await;
    assert_eq!((&made["allow"], &made["state"]), (&json!(["echo", "c*"]), &json!("active")));
    let laptop = made["token"].as_str().expect("a token").to_owned();
    assert_eq!(gateway.call(&laptop).await, 200);
    let listed = token(&bench, &["list"]).await;
    let names: Vec<_> = listed.as_array().expect("a list").iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["before", "laptop"]);
    assert!(listed[1]["last_used"].is_u64() && listed[1].get("token").is_none(), "{listed}");
    assert_eq!(token(&bench, &["revoke", "laptop"]).await["state"], "revoked");
    assert_eq!(gateway.call(&laptop).await, 401, "at once");
    let log = gateway.stop().await;
    for secret in [&before[17..], &laptop[17..]] {
        assert!(!log.contains(secret), "{log}");
    }
    token(&bench, &["revoke", "before"]).await;
    let listed = token(&bench, &["list"]).await;
    assert!(listed[0]["last_used"].is_u64(), "it was written down: {listed}");
    let gateway = Gateway::start(&bench, "127.0.0.1:0").await;
    for revoked in [&before, &laptop] {
        assert_eq!(gateway.call(revoked).await, 401);
    }
    gateway.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_told() {
    let bench = Bench::new("callers-wrong");
    token(&bench, &["create", "--name", "a"]).await;
    let cases: [(&[&str], i32, &str); 8] = [
        (&["token", "create", "--name", "A"], 5, "there is a token `A` already"),
        (&["token", "create", "--name", "local"], 2, "choose another name"),
        (&["token", "create", "--name", "a b"], 2, "cannot be the name of a token"),
        (&["token", "create", "--name", "b", "--allow", ""], 2, "no pattern"),
        (&["token", "create", "--name", "b", "--expires", "soon"], 2, "write it as 30d"),
        (&["token", "revoke", "b"], 4, "`gantry token list` shows"),
        (&["serve", "--listen", "0.0.0.0:0", "--auth", "none"], 1, "set `auth` to `token`"),
        (&["serve", "--auth", "maybe"], 2, "token, none"),
    ];
    for (words, code, told) in cases {
        let (found, said) = refused(&bench, words).await;
        assert_eq!(found, Some(code), "{words:?}: {said}");
        assert!(said.contains(told), "{words:?}: {said}");
    }
}

#[tokio::test]
async fn beyond_loopback_callers_are_asked() {
    let bench = Bench::new("callers-beyond");
    let gateway = Gateway::start(&bench, "0.0.0.0:0").await;
    let own = fs::read_to_string(bench.folder.join("gantry/client-token")).expect("a token");
    let address = SocketAddr::from(([127, 0, 0, 1], gateway.address.port()));
    for (token, expected) in [(own.as_str(), 200), ("gty_x", 401)] {
        let answer = by(token, call("echo", json!({"text": "hi"}))).send(address).await;
        assert_eq!(answer.status, expected);
        let counters = by(token, bodiless("GET").to("/metrics")).send(address).await;
        assert_eq!(counters.status, expected, "counters are not for strangers");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn the_command_line_shows_the_users_token_to_the_users_gateway() {
    let bench = Bench::new("callers-own");
    let gateway = Gateway::start(&bench, "127.0.0.1:0").await;
    for path in ["http://127.0.0.1:{}/mcp", "http://localhost:{}/mcp", "ws://127.0.0.1:{}/ws"] {
        let url = path.replace("{}", &gateway.address.port().to_string());
        let printed = finish(gantry(&bench).args(["call", "echo", "text=hi", "--url", &url])).await;
        assert_eq!(printed.trim(), "hi", "{url}");
    }
    // Somebody else may listen on the other address of `localhost`, and most programs look there first.
    if let Ok(impostor) = std::net::TcpListener::bind(("::1", gateway.address.port())) {
        let heard = std::thread::spawn(move || {
            impostor.set_nonblocking(true).expect("a socket");
            std::thread::sleep(std::time::Duration::from_millis(1500));
            impostor.accept().is_ok()
        });
        let url = format!("http://localhost:{}/mcp", gateway.address.port());
        let printed = finish(gantry(&bench).args(["call", "echo", "text=hi", "--url", &url])).await;
        assert_eq!(printed.trim(), "hi", "{url}");
        assert!(!heard.join().expect("no panic"), "the token may have gone to an impostor");
    }
    let url = format!("http://{}/mcp", gateway.address);
    let stranger = Bench::new("callers-stranger");
    let (code, said) = refused(&stranger, &["call", "echo", "text=hi", "--url", &url]).await;
    assert_eq!(code, Some(6), "{said}");
    gateway.stop().await;
    // What a gateway that was killed has left behind leads nobody astray.
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = stranger.local_addr().expect("an address").to_string();
    let left = bench.folder.join("gantry/listening").join(address);
    fs::write(&left, "").expect("a file");
    assert_eq!(token(&bench, &["list"]).await[0]["name"], "default", "the store is asked");
    fs::remove_file(left).expect("it is there");
    assert_eq!(
        fs::read_dir(bench.folder.join("gantry/listening")).expect("it is there").count(),
        0
    );
}

#[tokio::test]
async fn real_clients_of_each_era() {
    let bench = Bench::new("callers-clients");
    let gateway = Gateway::start(&bench, "127.0.0.1:0").await;
    let own = fs::read_to_string(bench.folder.join("gantry/client-token")).expect("a token");
    let url = format!("http://{}/mcp", gateway.address);
    let cases = [
        ("python-mcp-1", "legacy", Some(own.as_str()), "ok 2025-11-25 hello"),
        ("python-mcp-2", "legacy", Some(&own), "ok 2025-11-25 hello"),
        ("python-mcp-2", "modern", Some(&own), "ok 2026-07-28 hello"),
        ("python-mcp-1", "legacy", None, "refused"),
        ("python-mcp-2", "modern", None, "refused"),
        ("python-mcp-2", "modern", Some("gty_x"), "refused"),
    ];
    for (library, era, token, expected) in cases {
        let mut client = command(cache().join(library).join("bin/python"));
        client.arg(root().join("tests/clients/python/caller.py"));
        client.args(["--url", &url, "--era", era]).env("PYTHONDONTWRITEBYTECODE", "1");
        client.args(token.map(|token| format!("--token={token}")));
        let printed = finish(&mut client).await;
        assert_eq!(printed.trim(), expected, "{library} {era}");
    }
    let log = gateway.stop().await;
    assert_eq!(log.matches(&own[17..]).count(), 1, "shown at the first start, logged never");
}
