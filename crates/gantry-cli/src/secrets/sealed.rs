//! The encrypted file: one sealed text for each name, which is sealed with it, so that two cannot be
//! exchanged.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use gantry_policy::Signer;
use gantry_protocol::Secret;
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::secrets::{Place, VaultError};

const NONCE: usize = 24;

/// The file and the key that opens it.
#[derive(Debug)]
pub(crate) struct SealedFile {
    path: PathBuf,
    /// Where the key of the state directory is.
    key_file: PathBuf,
    /// What the key is made of, if it is not that one.
    given: Option<Secret>,
}

/// What the file holds: sealed texts by name; none for a secret that is in the keychain of the system.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    secrets: BTreeMap<String, Option<String>>,
}

impl SealedFile {
    pub(crate) fn new(folder: &Path, given: Option<Secret>) -> Self {
        Self { path: folder.join("secrets.json"), key_file: folder.join("key"), given }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn get(&self, name: &str) -> Result<Option<Secret>, VaultError> {
        let Some(sealed) = self.read()?.secrets.remove(name).flatten() else { return Ok(None) };
        let opened = open(&self.cipher()?, name, &sealed);
        let spoilt = || VaultError::Spoilt { name: name.to_owned(), file: self.path.clone() };
        opened.map(|text| Some(Secret::new(text))).ok_or_else(spoilt)
    }

    pub(crate) fn set(&self, name: &str, secret: &Secret) -> Result<(), VaultError> {
        let sealed = seal(&self.cipher()?, name, secret.expose());
        let sealed = sealed.ok_or_else(|| VaultError::Key("the text is too long".to_owned()))?;
        self.change(|content| drop(content.secrets.insert(name.to_owned(), Some(sealed))))
    }

    /// Notes that a secret is kept elsewhere: keychains cannot be asked for their names.
    pub(crate) fn note(&self, name: &str) -> Result<(), VaultError> {
        self.change(|content| drop(content.secrets.insert(name.to_owned(), None)))
    }

    pub(crate) fn remove(&self, name: &str) -> Result<bool, VaultError> {
        if !self.read()?.secrets.contains_key(name) {
            return Ok(false);
        }
        self.change(|content| drop(content.secrets.remove(name)))?;
        Ok(true)
    }

    pub(crate) fn names(&self) -> Result<Vec<(String, Place)>, VaultError> {
        Ok(self.read()?.secrets.into_iter().map(|(name, it)| (name, place(it.as_ref()))).collect())
    }

    /// Where a secret is kept, if it is.
    pub(crate) fn place(&self, name: &str) -> Result<Option<Place>, VaultError> {
        Ok(self.read()?.secrets.get(name).map(|sealed| place(sealed.as_ref())))
    }

    fn read(&self) -> Result<Content, VaultError> {
        let text = match std::fs::read_to_string(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Content::default()),
            read => read.map_err(|error| self.failed("read", error))?,
        };
        serde_json::from_str(&text).map_err(|error| VaultError::Malformed {
            file: self.path.clone(),
            reason: error.to_string(),
        })
    }

    /// Changes the file as a whole: who reads it meanwhile sees the old or the new one.
    fn change(&self, change: impl FnOnce(&mut Content)) -> Result<(), VaultError> {
        let mut content = self.read()?;
        content.version = 1;
        change(&mut content);
        let text = serde_json::to_string_pretty(&content).unwrap_or_default();
        let unique = self.path.with_extension(std::process::id().to_string());
        let write = || {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            let mut options = OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).open(&unique)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&unique, &self.path)
        };
        write().map_err(|error| self.failed("written", error))
    }

    fn cipher(&self) -> Result<XChaCha20Poly1305, VaultError> {
        let key = match &self.given {
            Some(given) => Signer::new([0; 32]).sign("secrets", &[given.expose().as_bytes()]),
            None => {
                let key = std::fs::read(&self.key_file).map_err(|error| {
                    VaultError::Key(format!("{} cannot be read: {error}", self.key_file.display()))
                })?;
                let key = <[u8; 32]>::try_from(key).map_err(|_| {
                    VaultError::Key(format!("{} is not a valid key", self.key_file.display()))
                })?;
                Signer::new(key).sign("secrets", &[])
            }
        };
        Ok(XChaCha20Poly1305::new(&Key::from(key)))
    }

    fn failed(&self, what: &'static str, error: std::io::Error) -> VaultError {
        VaultError::File { file: self.path.clone(), what, error }
    }
}

/// What is not sealed here is kept elsewhere.
fn place(sealed: Option<&String>) -> Place {
    sealed.map_or(Place::Keychain, |_| Place::File)
}

fn seal(cipher: &XChaCha20Poly1305, name: &str, text: &str) -> Option<String> {
    let mut nonce = [0; NONCE];
    rand::rng().fill_bytes(&mut nonce);
    let payload = Payload { msg: text.as_bytes(), aad: name.as_bytes() };
    let sealed = cipher.encrypt(&XNonce::from(nonce), payload).ok()?;
    Some(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
}

fn open(cipher: &XChaCha20Poly1305, name: &str, sealed: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
    let (nonce, sealed) = bytes.split_first_chunk::<NONCE>()?;
    let payload = Payload { msg: sealed, aad: name.as_bytes() };
    let opened = cipher.decrypt(&XNonce::from(*nonce), payload).ok()?;
    String::from_utf8(opened).ok()
}
