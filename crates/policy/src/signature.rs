//! Signs what is kept, so that who can write to the store but has not the key cannot change it.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Signs with one key, for one purpose each.
#[derive(Clone)]
pub struct Signer([u8; 32]);

impl Signer {
    /// Signs with this key.
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// The signature of these parts for a purpose. Parts are told apart: `ab`, `c` is not `a`, `bc`.
    pub fn sign(&self, purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
        self.mac(purpose, parts).finalize().into_bytes().into()
    }

    /// Whether that is the signature. Takes the same time whatever differs.
    pub fn is_signed(&self, purpose: &str, parts: &[&[u8]], signature: &[u8]) -> bool {
        self.mac(purpose, parts).verify_slice(signature).is_ok()
    }

    fn mac(&self, purpose: &str, parts: &[&[u8]]) -> Hmac<Sha256> {
        let key: &hmac::digest::Key<Hmac<Sha256>> = &{
            let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
            block[..self.0.len()].copy_from_slice(&self.0);
            block
        };
        let mut mac = Hmac::<Sha256>::new(key);
        for part in [purpose.as_bytes()].iter().chain(parts) {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Signer(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_key_purpose_and_parts_are_signed() {
        let signer = Signer::new([7; 32]);
        let signature = signer.sign("trust", &[b"ab", b"c"]);
        let cases: [(&Signer, &str, &[&[u8]], bool); 5] = [
            (&signer, "trust", &[b"ab", b"c"], true),
            (&signer, "trust", &[b"a", b"bc"], false),
            (&signer, "trust", &[b"abc"], false),
            (&signer, "audit", &[b"ab", b"c"], false),
            (&Signer::new([8; 32]), "trust", &[b"ab", b"c"], false),
        ];
        for (signer, purpose, parts, expected) in cases {
            let is_signed = signer.is_signed(purpose, parts, &signature);
            assert_eq!(is_signed, expected, "{purpose} {parts:?}");
        }
        assert!(!signer.is_signed("trust", &[b"ab", b"c"], &signature[..31]));
    }
}
