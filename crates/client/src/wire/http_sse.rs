//! To be written.

use super::Pipe;
use crate::error::ClientError;
use crate::settings::Settings;
use crate::target::Endpoint;

pub(crate) async fn open(_endpoint: &Endpoint, _settings: &Settings) -> Result<Pipe, ClientError> {
    todo!()
}
