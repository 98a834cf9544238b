//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use gantry::Eras;

/// An MCP server with one of everything.
#[derive(Debug, Parser)]
pub(crate) struct Arguments {
    /// Where to listen for HTTP; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: String,
    /// Serve one client on standard input and output instead.
    #[arg(long, conflicts_with = "listen")]
    pub(crate) stdio: bool,
    /// Which clients are served.
    #[arg(long, value_enum, default_value_t = Era::Both)]
    pub(crate) era: Era,
    /// How many further tools to add, all alike.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) extra_tools: usize,
    /// A file with 64 hexadecimal digits; sessions sealed with that key outlive this process.
    #[arg(long, value_name = "PATH")]
    key_file: Option<PathBuf>,
}

/// An era of the protocol.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Era {
    /// All clients.
    Both,
    /// Clients that open with a handshake.
    Legacy,
    /// Clients whose every request stands alone.
    Modern,
}

impl From<Era> for Eras {
    fn from(era: Era) -> Self {
        match era {
            Era::Both => Self::Both,
            Era::Legacy => Self::Legacy,
            Era::Modern => Self::Modern,
        }
    }
}

impl Arguments {
    /// The key out of the key file, if one was named.
    pub(crate) fn key(&self) -> Result<Option<[u8; 32]>, String> {
        let Some(path) = &self.key_file else {
            return Ok(None);
        };
        let name = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read the key file `{name}`: {error}"))?;
        match parse_key(text.trim()) {
            Some(key) => Ok(Some(key)),
            None => Err(format!("the key file `{name}` must hold 64 hexadecimal digits")),
        }
    }
}

fn parse_key(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|it| it as u8)).collect::<Option<_>>()?;
    let bytes: Vec<u8> =
        digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, it| byte << 4 | it)).collect();
    (digits.len() == 64).then(|| bytes.try_into().ok())?
}
