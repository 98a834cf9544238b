//! The keychain of the system: the Secret Service of a Linux session, reached through its own
//! program `secret-tool`. A library for its bus would be larger than all the rest of this.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use gantry_process::{Child, ChildLimits, End, Finished, Program};
use gantry_protocol::Secret;

use crate::secrets::VaultError;

/// A person may have to unlock the keychain first.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Variables that the program needs to reach the session.
const VARIABLES: [&str; 7] = [
    "PATH",
    "HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
];

/// The program, with what it needs to reach the session.
#[derive(Debug)]
pub(crate) struct Keychain {
    program: PathBuf,
    env: Vec<(String, String)>,
}

impl Keychain {
    /// The keychain of this session, if there is a session and the program is installed.
    pub(crate) fn find(environment: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        environment("DBUS_SESSION_BUS_ADDRESS").filter(|address| !address.is_empty())?;
        let path = environment("PATH")?;
        let mut candidates = std::env::split_paths(&path).map(|it| it.join("secret-tool"));
        let program = candidates.find(|it| it.is_file())?;
        let env = VARIABLES.iter().filter_map(|it| Some(((*it).to_owned(), environment(it)?)));
        Some(Self { program, env: env.collect() })
    }

    pub(crate) fn get(&self, name: &str) -> Result<Option<Secret>, VaultError> {
        let finished = self.run(&["lookup", "service", "gantry", "account", name], "")?;
        match finished.end {
            End::Exited(0) if !finished.stdout.is_empty() => {
                let text = String::from_utf8_lossy(&finished.stdout).into_owned();
                Ok(Some(Secret::new(text)))
            }
            _ if says_nothing(&finished) => self.require_none(name).map(|()| None),
            _ => Err(failed(&finished)),
        }
    }

    pub(crate) fn set(&self, name: &str, secret: &Secret) -> Result<(), VaultError> {
        let label = format!("gantry: {name}");
        let words = ["store", "--label", &label, "service", "gantry", "account", name];
        let finished = self.run(&words, secret.expose())?;
        match finished.end {
            End::Exited(0) => Ok(()),
            _ => Err(failed(&finished)),
        }
    }

    /// Forgets a secret. Tells whether there was one.
    pub(crate) fn remove(&self, name: &str) -> Result<bool, VaultError> {
        let finished = self.run(&["clear", "service", "gantry", "account", name], "")?;
        match finished.end {
            End::Exited(0) => Ok(true),
            _ if says_nothing(&finished) => self.require_none(name).map(|()| false),
            _ => Err(failed(&finished)),
        }
    }

    /// Makes sure that there is no such secret. The program is as silent about one that is locked
    /// as about one that is not there; only a search tells them apart.
    fn require_none(&self, name: &str) -> Result<(), VaultError> {
        let finished = self.run(&["search", "service", "gantry", "account", name], "")?;
        match finished.stdout.is_empty() {
            true => Ok(()),
            false => Err(VaultError::Locked(name.to_owned())),
        }
    }

    /// Runs the program. Configurations are read wherever they are needed, so that a thread of its
    /// own waits for it.
    fn run(&self, words: &[&str], input: &str) -> Result<Finished, VaultError> {
        let program = Program {
            program: self.program.clone(),
            args: words.iter().map(|word| (*word).to_owned()).collect(),
            env: self.env.clone(),
            directory: None,
            memory: None,
        };
        let input = Bytes::from(input.to_owned());
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|error| error.to_string())?.block_on(async {
                let child = Child::start(&program, &ChildLimits::default());
                let child = child.map_err(|error| error.to_string())?;
                Ok(child.finish(input, TIMEOUT).await)
            })
        };
        let ended = std::thread::spawn(work).join();
        let ended = ended.unwrap_or_else(|_| Err("its thread ended early".to_owned()));
        ended.map_err(VaultError::Keychain)
    }
}

/// So the program says that there is nothing, or nothing it can get at.
fn says_nothing(finished: &Finished) -> bool {
    matches!(finished.end, End::Exited(0 | 1)) && finished.stderr.trim().is_empty()
}

fn failed(finished: &Finished) -> VaultError {
    let said = finished.stderr.trim();
    let said = if said.is_empty() { format!("{:?}", finished.end) } else { said.to_owned() };
    VaultError::Keychain(said)
}
