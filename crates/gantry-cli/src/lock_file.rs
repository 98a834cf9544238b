//! The lock file: where pins are kept. It is `gantry.lock` beside the configuration if someone put it
//! there, to be reviewed with it, else a file of the configuration's own in the state directory.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gantry::{RawJson, Server};
use gantry_policy::Pins;
use gantry_policy::pins::{LARGEST_LOCK, LockError, News};
use gantry_providers::scripts::Watch;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::config::{Config, edit};
use crate::exit::{Code, Exit};
use crate::{render, state_dir};

/// Where pins are kept.
#[derive(Debug, Clone)]
pub(crate) struct LockFile {
    /// Beside the configuration, if there is one.
    beside: Option<PathBuf>,
    state: PathBuf,
    known: Arc<Mutex<Known>>,
}

/// The file as it was read or written last.
#[derive(Debug, Default)]
struct Known {
    stamp: Option<Stamp>,
    /// Whether it could not be taken. Then it is left to who wrote it.
    is_wrong: bool,
}

/// Tells whether a file is still the same: its place, size, time and number.
type Stamp = (PathBuf, u64, (i64, i64), u64);

/// Why pins cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("the lock file {} is invalid: {error}", .file.display())]
    Wrong { file: PathBuf, error: LockError },
    #[error("the lock file {} cannot be read or written: {error}", .file.display())]
    Lost { file: PathBuf, error: io::Error },
    #[error(
        "the lock file {} is not written: it would have more than {LARGEST_LOCK} bytes, and could \
         not be read again; remove pins with `gantry tools unpin NAME`",
        .0.display()
    )]
    Large(PathBuf),
    #[error("the lock file {} is invalid and is not overwritten; correct or remove it", .0.display())]
    Left(PathBuf),
}

impl LockFile {
    /// The lock file of a configuration.
    pub(crate) fn of(config: Option<&Config>) -> Result<Self, Exit> {
        let folder = config.and_then(|config| config.file.parent());
        let beside = folder.map(|folder| folder.join("gantry.lock"));
        let name = config.map_or_else(|| "default".to_owned(), |config| encoded(&config.file));
        let state = state_dir::pins()?.join(name + ".lock");
        Ok(Self { beside, state, known: Arc::default() })
    }

    /// The file that counts now.
    fn place(&self) -> &Path {
        self.beside.as_deref().filter(|file| file.is_file()).unwrap_or(&self.state)
    }

    /// Reads the pins at the start. Without them everything would be taken as new, so one that is
    /// wrong ends the program.
    pub(crate) fn load(&self, pins: &Pins) -> Result<(), Exit> {
        self.refresh(pins).map(drop).map_err(|trouble| {
            Exit::new(Code::Configuration, trouble.to_string())
                .hint("correct the file, or remove it to pin everything again")
        })
    }

    /// Reads the pins again if the file has changed, and gives whether it has. A file that has gone
    /// changes nothing.
    pub(crate) fn refresh(&self, pins: &Pins) -> Result<bool, Trouble> {
        let file = self.place().to_owned();
        let now = stamp(&file);
        if now.is_none() || now == self.known().stamp {
            return Ok(false);
        }
        let text = match std::fs::read(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            read => read.map_err(|error| Trouble::Lost { file: file.clone(), error })?,
        };
        // Said once: the file is looked at again when it changes again.
        let read = pins.read_lock(text).map_err(|error| Trouble::Wrong { file, error });
        *self.known() = Known { stamp: now, is_wrong: read.is_err() };
        read.map(|()| true)
    }

    /// Writes the pins down. What someone else has written since counts, and is left as it is.
    pub(crate) fn save(&self, pins: &Pins) -> Result<(), Trouble> {
        match self.refresh(pins)? {
            true => Ok(()),
            false => self.write_over(pins),
        }
    }

    /// Writes the pins down, whatever was written before.
    pub(crate) fn write_over(&self, pins: &Pins) -> Result<(), Trouble> {
        let file = self.place().to_owned();
        if self.known().is_wrong && file.is_file() {
            return Err(Trouble::Left(file));
        }
        let text = text(&pins.to_lock());
        if text.len() > LARGEST_LOCK {
            return Err(Trouble::Large(file));
        }
        let written = edit::save(&file, &text)
            .map_err(|error| Trouble::Lost { file: file.clone(), error })?;
        // Not as the file is by now: someone may have written it since.
        *self.known() = Known { stamp: Some(stamp_of(&file, &written)), is_wrong: false };
        Ok(())
    }

    /// Writes the pins down beside the configuration, where they are kept from then on.
    pub(crate) fn save_beside(&self, lock: &RawJson) -> Result<PathBuf, Exit> {
        let Some(file) = self.beside.clone() else {
            return Err(Exit::new(
                Code::NotFound,
                "there is no configuration to put the file beside",
            )
            .hint("write ./gantry.json first"));
        };
        let failed = |error| {
            Exit::new(Code::Failed, Trouble::Lost { file: file.clone(), error }.to_string())
        };
        edit::save(&file, &text(lock)).map_err(failed)?;
        Ok(file)
    }

    /// Writes down what was seen for the first time by a program that soon ends.
    pub(crate) fn keep_new(&self, pins: &Pins) {
        if pins.news().borrow().pins > 0
            && let Err(trouble) = self.save(pins)
        {
            render::say(&trouble.to_string());
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lock file up to this size is indented for people. Indentation may be a hundred times as large as
/// what a server nests deeply.
const INDENTED: usize = LARGEST_LOCK / 8;

/// The pins as they stand in the file.
fn text(lock: &RawJson) -> String {
    match indented_size(lock.bytes()) <= INDENTED {
        true => render::pretty(lock) + "\n",
        false => lock.compact().to_string() + "\n",
    }
}

/// Bytes that the text may have when it is indented.
fn indented_size(text: &[u8]) -> usize {
    let (mut size, mut depth, mut is_inside, mut is_escaped) = (text.len(), 0_usize, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_inside,
            b'"' => is_inside = !is_inside,
            _ if is_inside => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !is_inside && matches!(byte, b'{' | b'[' | b'}' | b']' | b',' | b':') {
            size = size.saturating_add(2 * depth + 2);
        }
    }
    size
}

/// The name of a configuration's own file in the state directory: two projects may call different
/// servers the same. A long path is told by its end.
fn encoded(config: &Path) -> String {
    const LONGEST: usize = 200;
    let text = config.to_string_lossy().replace('%', "%25").replace('/', "%2F");
    let start = text.char_indices().map(|(at, _)| at).find(|at| text.len() - at <= LONGEST);
    text[start.unwrap_or(0)..].to_owned()
}

fn stamp(file: &Path) -> Option<Stamp> {
    file.metadata().ok().map(|it| stamp_of(file, &it))
}

fn stamp_of(file: &Path, it: &Metadata) -> Stamp {
    (file.to_owned(), it.len(), (it.mtime(), it.mtime_nsec()), it.ino())
}

/// How often the file is looked at when nothing is heard of it.
const LOOK: Duration = Duration::from_secs(5);

/// Saving a file makes several changes; they are looked at together.
const SETTLED: Duration = Duration::from_millis(50);

/// Keeps the pins until it is stopped.
#[derive(Debug)]
pub(crate) struct Kept {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

struct Keeper {
    lock: LockFile,
    pins: Pins,
    server: Server,
    /// What was done already.
    done: News,
}

impl LockFile {
    /// Keeps the file and the pins alike. Needs a runtime with sockets.
    pub(crate) fn keep(self, pins: Pins, server: Server) -> Kept {
        let (stop, stopped) = oneshot::channel();
        let keeper = Keeper { lock: self, pins, server, done: News::default() };
        Kept { stop, task: tokio::spawn(keeper.run(stopped)) }
    }

    fn watch(&self) -> Option<Watch> {
        let folder = self.beside.as_ref()?.parent()?;
        let watch = Watch::new().and_then(|watch| watch.add_one(folder).map(|_| watch));
        watch
            .inspect_err(
                |error: &io::Error| tracing::debug!(%error, "the lock file is not watched"),
            )
            .ok()
    }
}

impl Kept {
    /// Writes down what is not, and looks no longer.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

impl Keeper {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        let (mut news, watch) = (self.pins.news(), self.lock.watch());
        let mut tick = tokio::time::interval(LOOK);
        loop {
            let seen = async {
                match &watch {
                    Some(watch) => drop(watch.changed().await),
                    None => std::future::pending().await,
                }
                tokio::time::sleep(SETTLED).await;
            };
            let is_over = tokio::select! {
                _ = &mut stopped => true,
                _ = news.changed() => false,
                _ = tick.tick() => {
                    self.read().await;
                    false
                }
                () = seen => {
                    self.read().await;
                    false
                }
            };
            let now = *news.borrow_and_update();
            self.act(now).await;
            if is_over {
                return;
            }
        }
    }

    /// Tells clients, then writes down what is new.
    async fn act(&mut self, now: News) {
        if now.held != self.done.held {
            let gateway = self.server.gateway();
            gateway.run_publish_hooks();
            gateway.lists_may_have_changed();
        }
        if now.pins != self.done.pins {
            let (lock, pins) = (self.lock.clone(), self.pins.clone());
            report(spawn_blocking(move || lock.save(&pins)).await.unwrap_or(Ok(())));
        }
        self.done = now;
    }

    /// Reads what someone else has written.
    async fn read(&self) {
        let (lock, pins) = (self.lock.clone(), self.pins.clone());
        let read = spawn_blocking(move || lock.refresh(&pins)).await.unwrap_or(Ok(false));
        report(read.map(|has_changed| {
            if has_changed {
                tracing::info!("lock file reloaded");
            }
        }));
    }
}

fn report(done: Result<(), Trouble>) {
    if let Err(trouble) = done {
        tracing::error!("{trouble}; keeping the previous pins");
    }
}

#[cfg(test)]
mod tests {
    use gantry_protocol::JsonLimits;

    use super::*;

    /// What a person has written since counts, and is not written over.
    #[test]
    fn nobodys_words_are_lost() {
        let folder = std::env::temp_dir().join(format!("gantry-lock-{}", std::process::id()));
        let state = folder.join("state.lock");
        let lock = LockFile { beside: None, state: state.clone(), known: Arc::default() };
        let pins = Pins::new(gantry_policy::pins::PinSettings::default());
        lock.save(&pins).expect("it is written");
        assert_eq!(lock.known().stamp, stamp(&state), "its own words are no news");
        let theirs = "{ \"version\": 1,   \"pins\": [] }";
        std::fs::write(&state, theirs).expect("a file");
        lock.save(&pins).expect("it is read");
        assert_eq!(std::fs::read_to_string(&state).expect("a file"), theirs);
        lock.save(&pins).expect("it is written");
        assert_ne!(std::fs::read_to_string(&state).expect("a file"), theirs);
        std::fs::remove_dir_all(&folder).expect("it is there");
    }

    /// What a server nests deeply must not make a file that cannot be read at the next start.
    #[test]
    fn what_is_deep_is_not_indented() {
        let deep = format!("{}{}{}", "[".repeat(60), "1,".repeat(400_000) + "1", "]".repeat(60));
        for (value, is_indented) in [("[1]", true), ("{\"a\":\"[,\\\"\"}", true), (&*deep, false)] {
            let value = RawJson::parse(value.to_owned(), JsonLimits::default()).expect("JSON");
            let text = text(&value);
            assert_eq!(text.lines().count() > 1, is_indented);
            assert!(text.len() <= INDENTED && text.len() <= indented_size(value.bytes()) + 1);
        }
    }

    #[test]
    fn every_configuration_has_a_file_of_its_own() {
        let long = format!("/{}/gantry.json", "ö".repeat(200));
        let cases = [("/a/b.json", "%2Fa%2Fb.json"), ("/a%2Fb.json", "%2Fa%252Fb.json")];
        for (path, expected) in cases {
            assert_eq!(encoded(Path::new(path)), expected);
        }
        let name = encoded(Path::new(&long));
        assert!(name.len() <= 200 && name.ends_with("ö%2Fgantry.json"), "{name}");
    }
}
