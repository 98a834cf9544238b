//! What headers say of the connection and of the length of a body.

/// What headers say of the connection and of the length of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// The bytes of the body.
    pub length: Option<u64>,
    /// Whether the body has a transfer coding.
    pub encoded: bool,
    /// Whether that is `chunked` and nothing else.
    pub chunked: bool,
    /// Whether the connection is not to be used again.
    pub close: bool,
    /// Whether it is, although the message is of HTTP/1.0.
    pub keep_alive: bool,
}

impl Hints {
    /// Takes note of a header. The error says what is wrong with it.
    pub fn note(&mut self, name: &str, value: &[u8]) -> Result<(), &'static str> {
        // Only these lengths are of interest, and most headers have another.
        match name.len() {
            10 if name.eq_ignore_ascii_case("connection") => {
                self.close |= words(value).any(|word| word.eq_ignore_ascii_case(b"close"));
                self.keep_alive |=
                    words(value).any(|word| word.eq_ignore_ascii_case(b"keep-alive"));
            }
            14 if name.eq_ignore_ascii_case("content-length") => {
                let length = number(value).ok_or("the length of the body is no number")?;
                if self.length.replace(length).is_some_and(|other| other != length) {
                    return Err("the body has two lengths");
                }
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                // A second header names a second coding.
                let is_chunked = value.trim_ascii().eq_ignore_ascii_case(b"chunked");
                self.chunked = is_chunked && !self.encoded;
                self.encoded = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a message of HTTP/1.1, or of what was before it, lets the connection go on.
    pub fn lasts(&self, is_newest: bool) -> bool {
        !self.close && (is_newest || self.keep_alive)
    }
}

/// Digits and nothing else: a sign or a list would be read differently by others.
fn number(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii();
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(value).ok()?.parse().ok()).flatten()
}

fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}
