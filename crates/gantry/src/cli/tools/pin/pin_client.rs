//! The pins of the gateway that runs, or those of the lock file when none does.

use std::path::PathBuf;

use gantry::RawJson;
use gantry_policy::Pins;
use gantry_policy::pins::PinError;

use super::HeldRow;
use crate::cli::admin_client::{self, AdminClient};
use crate::cli::args::{GatewayTarget, Origin};
use crate::cli::exit::{Code, Exit};
use crate::cli::lock::LockFile;
use crate::cli::tool_sources;
use crate::cli::tools::{Opened, reach};

/// Whose pins are meant.
pub(super) struct PinClient {
    place: Place,
    lock: LockFile,
}

enum Place {
    /// A gateway that runs, so that what is done is in force at once.
    There(AdminClient),
    /// This process, which has asked the servers itself.
    Here { pins: Pins, _opened: Box<Opened> },
}

impl PinClient {
    /// The gateway if one runs, else the servers of the configuration and the lock file.
    pub(super) async fn open(reached: &admin_client::GatewayTarget) -> Result<Self, Exit> {
        let config = tool_sources::configuration(reached.config.as_deref())?;
        let lock = LockFile::of(config.as_ref())?;
        // Pins belong to a configuration: a gateway with another one is not meant.
        let file = config.as_ref().map(|config| config.file.clone());
        let exact = admin_client::GatewayTarget { config: file, ..reached.clone() };
        match AdminClient::find(&exact).await {
            Ok(running) => Ok(Self { place: Place::There(running), lock }),
            Err(exit) if exit.code != Code::Unreachable || reached.is_named() => Err(exit),
            Err(_) => {
                let config = reached.config.clone();
                let options = GatewayTarget {
                    origin: Origin { config, ..Origin::default() },
                    ..GatewayTarget::default()
                };
                let opened = reach(&options, None).await?;
                let pins = opened.guarding.as_ref().map(|it| it.policies.pins().clone());
                let pins =
                    pins.ok_or_else(|| Exit::bug("tools were opened without their policies"))?;
                Ok(Self { place: Place::Here { pins, _opened: Box::new(opened) }, lock })
            }
        }
    }

    pub(super) async fn report(&self) -> Result<RawJson, Exit> {
        match &self.place {
            Place::There(running) => running.get("/api/pins").await,
            Place::Here { pins, .. } => Ok(pins.report()),
        }
    }

    /// Accepts what was shown, and nothing that took its place since.
    pub(super) async fn accept(&self, row: &HeldRow) -> Result<(), Exit> {
        let name = format!("{}:{}", row.kind, row.path);
        match &self.place {
            Place::There(running) => {
                let query = match row.digest.as_str() {
                    "" => String::new(),
                    digest => format!("?digest={digest}"),
                };
                let page = admin_client::page_in("/api/pins/", &name, &format!("/accept{query}"));
                running.post(&page).await.map(drop)
            }
            Place::Here { pins, .. } => {
                let digest = Some(row.digest.as_str()).filter(|digest| !digest.is_empty());
                let accepted = pins.accept(&name, digest, "command line");
                self.keep(pins, accepted.map(drop))
            }
        }
    }

    pub(super) async fn unpin(&self, name: &str) -> Result<(), Exit> {
        match &self.place {
            Place::There(running) => {
                running.post(&admin_client::page_in("/api/pins/", name, "/unpin")).await.map(drop)
            }
            Place::Here { pins, .. } => self.keep(pins, pins.unpin(name).map(drop)),
        }
    }

    /// Puts the pins as they are beside the configuration.
    pub(super) async fn save_beside(&self) -> Result<PathBuf, Exit> {
        let lock = match &self.place {
            Place::Here { pins, .. } => pins.to_lock(),
            Place::There(running) => running.get("/api/pins/lock").await?,
        };
        self.lock.save_beside(&lock)
    }

    fn keep(&self, pins: &Pins, done: Result<(), PinError>) -> Result<(), Exit> {
        done.map_err(|error| {
            let code = match error {
                PinError::Unknown(_) => Code::NotFound,
                PinError::Ambiguous { .. } => Code::Usage,
                PinError::ChangedAgain(_) => Code::Refused,
            };
            Exit::new(code, error.to_string())
        })?;
        let saved = self.lock.write_over(pins);
        saved.map_err(|trouble| Exit::new(Code::Failed, trouble.to_string()))
    }
}
