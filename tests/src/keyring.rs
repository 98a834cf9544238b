//! A session of its own with a real keyring: a bus that nobody else is on, and the daemon that
//! keeps secrets on it. Everything of it lies in one folder, and ends with it.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::{Duration, Instant, sleep};

use crate::temp_folder::{Bench, command};
use crate::test_server::soon;

/// How long the daemon may take to be reached.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Nothing is started by the bus itself: who is there was started by the test.
const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:dir=FOLDER</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

/// A session. Dropping it ends the bus and the daemon.
#[derive(Debug)]
pub struct Session {
    /// Where the bus listens.
    address: String,
    keyring: Option<(Child, Lines<BufReader<ChildStdout>>)>,
    _bus: Child,
    /// The home of the session; the last field, so that it goes after the rest.
    bench: Bench,
}

impl Session {
    /// A session on whose bus nobody keeps secrets.
    pub async fn open(name: &str) -> Self {
        let bench = Bench::new(&format!("session-{name}"));
        std::fs::create_dir(bench.folder.join("run")).expect("a folder");
        let bus = BUS.replace("FOLDER", &bench.folder.join("run").display().to_string());
        let config = bench.write("bus.conf", &bus);
        let mut bus = command("dbus-daemon");
        bus.arg("--config-file").arg(config).args(["--nofork", "--nosyslog", "--print-address"]);
        let mut bus = bus.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect(PROVISION);
        let mut lines = BufReader::new(bus.stdout.take().expect("its output")).lines();
        let address = soon("the bus", lines.next_line()).await.expect("text");
        let address = address.expect("it says where it listens");
        Self { address, keyring: None, _bus: bus, bench }
    }

    /// A session with a keyring that is open.
    pub async fn with_keyring(name: &str) -> Self {
        let mut session = Self::open(name).await;
        session.start_keyring(&["--unlock"]).await;
        session
    }

    /// Ends the keyring and starts it again, so that nobody has opened it yet.
    pub async fn lock(&mut self) {
        let (mut daemon, _) = self.keyring.take().expect("it has a keyring");
        daemon.kill().await.expect("it ends");
        self.until_keyring(false).await;
        self.start_keyring(&[]).await;
    }

    /// The variables by which a program is part of the session.
    pub fn variables(&self) -> Vec<(String, String)> {
        let folder = |path: &Path| path.display().to_string();
        let pair = |name: &str, value| (name.to_owned(), value);
        vec![
            pair("DBUS_SESSION_BUS_ADDRESS", self.address.clone()),
            pair("HOME", folder(&self.bench.folder)),
            pair("XDG_RUNTIME_DIR", folder(&self.bench.folder.join("run"))),
        ]
    }

    async fn start_keyring(&mut self, words: &[&str]) {
        let mut daemon = command("gnome-keyring-daemon");
        daemon.args(["--foreground", "--components=secrets"]).args(words);
        daemon.envs(self.variables());
        daemon.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut daemon = daemon.spawn().expect(PROVISION);
        // The password: a new keyring is made with it. One that is not to be opened may not read it.
        let mut input = daemon.stdin.take().expect("its input");
        let _ = input.write_all(b"\n").await;
        drop(input);
        let lines = BufReader::new(daemon.stdout.take().expect("its output")).lines();
        self.keyring = Some((daemon, lines));
        self.until_keyring(true).await;
    }

    /// Waits until somebody keeps secrets on the bus, or nobody does any more.
    async fn until_keyring(&self, is_there: bool) {
        let start = Instant::now();
        loop {
            let mut ask = command("dbus-send");
            ask.args(["--session", "--print-reply=literal", "--dest=org.freedesktop.DBus", "/"]);
            ask.args(["org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"]);
            let answer = ask.envs(self.variables()).output().await.expect(PROVISION);
            let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
            if answer.contains(&format!("boolean {is_there}")) {
                return;
            }
            assert!(start.elapsed() < TIMEOUT, "the keyring is not on the bus: {answer}");
            // Only the pause between two looks; nothing depends on its length.
            sleep(Duration::from_millis(20)).await;
        }
    }
}

const PROVISION: &str = "it is installed by `cargo xtask provision`";
