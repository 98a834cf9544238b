//! Keeps the lock file and the pins of a gateway alike while it runs, and tells clients when
//! something was held back or let go.

use std::io;
use std::time::Duration;

use gantry::Server;
use gantry_policy::Pins;
use gantry_policy::pins::News;
use gantry_providers::scripts::Watch;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};

use super::{LockFile, Trouble};

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
                tracing::info!("the lock file was read again");
            }
        }));
    }
}

fn report(done: Result<(), Trouble>) {
    if let Err(trouble) = done {
        tracing::error!("{trouble}; the pins that were in force stay so");
    }
}
