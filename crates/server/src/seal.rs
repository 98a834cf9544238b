//! Sealed text (XChaCha20-Poly1305): state that a client keeps and can neither read nor change.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use rand::Rng;

/// Seals and opens with one key, for one endpoint.
pub(crate) struct Seal {
    cipher: XChaCha20Poly1305,
    /// Part of the associated data: what was sealed at one virtual server does not open at another.
    virtual_server: Vec<u8>,
}

/// The purpose of a sealed text, part of the associated data: text for another one does not open.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    Session,
    RequestState,
}

impl Purpose {
    fn label(self) -> &'static [u8] {
        match self {
            Self::Session => b"gantry session 1",
            Self::RequestState => b"gantry request state 1",
        }
    }
}

const NONCE: usize = 24;

impl Seal {
    /// A seal with this key, or with a random one.
    pub(crate) fn new(key: Option<[u8; 32]>) -> Self {
        let key = key.unwrap_or_else(random);
        Self { cipher: XChaCha20Poly1305::new(&Key::from(key)), virtual_server: Vec::new() }
    }

    /// A seal with the same key for a virtual server.
    pub(crate) fn for_virtual_server(&self, name: &str) -> Self {
        Self { cipher: self.cipher.clone(), virtual_server: [b" at ", name.as_bytes()].concat() }
    }

    /// Seals a text. The result is valid as a header value.
    pub(crate) fn seal(&self, purpose: Purpose, text: &[u8]) -> Option<String> {
        let nonce: [u8; NONCE] = random();
        let label = self.label(purpose);
        let payload = Payload { msg: text, aad: &label };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload).ok()?;
        Some(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// Opens what [`Seal::seal`] made for the same purpose.
    pub(crate) fn open(&self, purpose: Purpose, sealed: &str) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>()?;
        let label = self.label(purpose);
        let payload = Payload { msg: sealed, aad: &label };
        self.cipher.decrypt(&XNonce::from(*nonce), payload).ok()
    }

    fn label(&self, purpose: Purpose) -> Vec<u8> {
        [purpose.label(), &self.virtual_server].concat()
    }
}

/// Random bytes of a cryptographic generator.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

/// A random id of sixteen bytes, as text.
pub(crate) fn random_name() -> String {
    URL_SAFE_NO_PAD.encode(random::<16>())
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Seal")
    }
}

#[cfg(test)]
mod tests;
