//! What a tool says about processes that wait for it.

use gantry_protocol::RawJson;

use crate::scripts::manifest::{Manifest, Runtime};

/// Whether processes of a tool wait to be called, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Never.
    Off,
    /// Once a call has shown that the tool reads its input. A tool that does not would do its work
    /// without being called.
    WhenProven,
    /// After the first call.
    On,
    /// At all times, at least so many.
    AtLeast(usize),
}

impl Wish {
    pub(super) fn of(manifest: &Manifest) -> Self {
        let stated = manifest.metadata.as_ref().and_then(|it| it.get("standby"));
        let flag = stated.as_ref().and_then(RawJson::read::<bool>);
        let number = stated.as_ref().and_then(RawJson::read::<usize>);
        match (flag, number) {
            (Some(false), _) | (_, Some(0)) => Self::Off,
            (Some(true), _) => Self::On,
            (_, Some(number)) => Self::AtLeast(number),
            _ if manifest.runtime == Runtime::PythonUvScript => Self::WhenProven,
            _ => Self::Off,
        }
    }

    /// How many wait even if nobody calls.
    pub(super) fn floor(self) -> usize {
        match self {
            Self::AtLeast(number) => number,
            _ => 0,
        }
    }
}
