//! What administrators do, on record beside the calls and in the same form.

use std::time::SystemTime;

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::timestamp;

use super::{Audit, AuditLogError, AuditMode};

/// Who is accountable for what is done over administration.
const PRINCIPAL: &str = "administrator";

impl Audit {
    /// Records that an administrator did something with a call. In strict mode this ends when the
    /// record is durable, and fails if it cannot be.
    pub async fn administration(
        &self,
        method: &str,
        call: &str,
        tool: &str,
    ) -> Result<(), AuditLogError> {
        let mode = self.settings.load().mode;
        if mode == AuditMode::Off {
            return Ok(());
        }
        let record = ObjectWriter::new()
            .value("at", &timestamp::write(SystemTime::now()))
            .value("call", call)
            .value("phase", "ended")
            .value("principal", PRINCIPAL)
            .value("method", method)
            .value("tool", tool)
            .value("outcome", "ok")
            .finish();
        let members = record.as_str().trim_start_matches('{').strip_suffix('}').unwrap_or_default();
        if mode == AuditMode::Strict {
            return self.log.keep(members.as_bytes()).await;
        }
        self.log.note(members.as_bytes());
        Ok(())
    }
}
