//! Where secrets are kept that the configuration names with `${keychain:NAME}`: the keychain of the
//! system where there is one, else an encrypted file in the state directory.

pub(crate) mod keychain;
pub(crate) mod scan;
pub(crate) mod sealed;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use gantry_protocol::Secret;

use crate::secrets::keychain::Keychain;
use crate::secrets::sealed::SealedFile;

/// Why a secret cannot be kept or found.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The name could be taken for something else.
    #[error("`{0}` is not a valid name of a secret; use letters, digits, `-`, `_` and `.`")]
    Name(String),
    /// The file cannot be read or written.
    #[error("the file of secrets {} cannot be {what}: {error}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// `read` or `written`.
        what: &'static str,
        /// Why.
        error: std::io::Error,
    },
    /// The file does not open: it was changed, or made with another key.
    #[error(
        "the secret `{name}` in {} cannot be decrypted: it was changed, or written with another key; set it again with `gantry secret set {name}`", file.display()
    )]
    Spoilt {
        /// Which secret.
        name: String,
        /// The file.
        file: PathBuf,
    },
    /// The file is not one of ours.
    #[error("{} is not a file of secrets: {reason}; move it away and set the secrets again", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// The keychain of the system does not take it.
    #[error("the keychain of the system failed: {0}")]
    Keychain(String),
    /// The keychain of the system has it, but must be unlocked first.
    #[error(
        "the keychain of the system is locked and has the secret `{0}`; unlock it, or set the secret again with `gantry secret set {0}`"
    )]
    Locked(String),
    /// The keychain of the system has it, and is out of reach.
    #[error(
        "the secret `{0}` is in the keychain of the system, which needs `secret-tool` and a session (DBUS_SESSION_BUS_ADDRESS); start gantry in one, or set the secret again with `gantry secret set {0}`"
    )]
    NoSession(String),
    /// There is no key to seal with.
    #[error("there is no key to seal secrets with: {0}")]
    Key(String),
}

/// Where a secret is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the keychain of the system.
    Keychain,
    /// In the encrypted file.
    File,
}

impl Place {
    /// The word for people and programs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Keychain => "keychain",
            Self::File => "file",
        }
    }
}

/// The secrets of one user.
#[derive(Debug)]
pub(crate) struct Vault {
    keychain: Option<Keychain>,
    file: SealedFile,
}

impl Vault {
    /// The secrets whose file and key are in this state directory. `environment` tells of a session
    /// with a keychain, and may have the key in `GANTRY_SECRETS_KEY`.
    pub(crate) fn new(folder: &Path, environment: &dyn Fn(&str) -> Option<String>) -> Self {
        let given = environment("GANTRY_SECRETS_KEY").filter(|key| !key.is_empty());
        Self {
            keychain: Keychain::find(environment),
            file: SealedFile::new(folder, given.map(Secret::new)),
        }
    }

    /// The file that changes when a secret of it does.
    pub(crate) fn file(&self) -> &Path {
        self.file.path()
    }

    /// The secret of that name, if there is one.
    pub(crate) fn get(&self, name: &str) -> Result<Option<Secret>, VaultError> {
        check_name(name)?;
        // The file goes first: to ask it costs nothing, and it has what the keychain refused.
        if let Some(found) = self.file.get(name)? {
            return Ok(Some(found));
        }
        self.ask_keychain(name, |keychain| keychain.get(name))
    }

    /// Keeps a secret, over what was kept under that name before. Tells where.
    pub(crate) fn set(&self, name: &str, secret: &Secret) -> Result<Place, VaultError> {
        check_name(name)?;
        if let Some(keychain) = &self.keychain {
            match keychain.set(name, secret) {
                Ok(()) => {
                    self.file.remove(name)?;
                    self.file.note(name)?;
                    return Ok(Place::Keychain);
                }
                Err(error) => tracing::warn!("{error}; the encrypted file is used instead"),
            }
        }
        self.file.set(name, secret)?;
        Ok(Place::File)
    }

    /// Forgets a secret. Tells whether there was one.
    pub(crate) fn remove(&self, name: &str) -> Result<bool, VaultError> {
        check_name(name)?;
        // The keychain goes first: what it does not give up must not be forgotten here.
        let was_there = self.ask_keychain(name, |keychain| keychain.remove(name))?;
        Ok(self.file.remove(name)? || was_there)
    }

    /// Asks the keychain. One that fails counts only for what it is known to keep: on many buses
    /// there is nobody who keeps secrets.
    fn ask_keychain<T: Default>(
        &self,
        name: &str,
        ask: impl FnOnce(&Keychain) -> Result<T, VaultError>,
    ) -> Result<T, VaultError> {
        let is_kept = self.file.place(name)? == Some(Place::Keychain);
        match self.keychain.as_ref().map(ask) {
            Some(Err(VaultError::Keychain(error))) if !is_kept => {
                tracing::debug!("reading `{name}` from the keychain failed: {error}");
                Ok(T::default())
            }
            Some(answer) => answer,
            None if is_kept => Err(VaultError::NoSession(name.to_owned())),
            None => Ok(T::default()),
        }
    }

    /// The names of all secrets, in order, and where each is.
    pub(crate) fn names(&self) -> Result<Vec<(String, Place)>, VaultError> {
        self.file.names()
    }
}

fn check_name(name: &str) -> Result<(), VaultError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    match !name.is_empty() && name.len() <= 128 && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(VaultError::Name(name.to_owned())),
    }
}
