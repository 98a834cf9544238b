//! One configuration out of several files: what was said first stands.

use gantry_server::AllowedHosts;

use super::load_state::LoadState;
use super::{ClientLimits, Config, ToolLimits, TrustConfig, servers};

impl Config {
    /// Takes over what another file says and this one does not.
    pub(super) fn absorb(&mut self, other: Self, load_state: &LoadState) {
        self.listen = self.listen.take().or(other.listen);
        self.auth = self.auth.or(other.auth);
        self.http = self.http.take().or(other.http);
        self.metrics = self.metrics.take().or(other.metrics);
        self.state = self.state.take().or(other.state);
        self.limits = self.limits.take().or(other.limits);
        self.audit = self.audit.take().or(other.audit);
        self.startup_wait = self.startup_wait.or(other.startup_wait);
        self.uv = self.uv.take().or(other.uv);
        self.pins = self.pins.take().or(other.pins);
        self.tool_names = self.tool_names.or(other.tool_names);
        self.standby = self.standby.take().or(other.standby);
        self.telemetry = self.telemetry.take().or(other.telemetry);
        if self.names == AllowedHosts::default() {
            self.names = other.names;
        }
        if self.tool_limits == ToolLimits::default() {
            self.tool_limits = other.tool_limits;
        }
        if self.client_limits == ClientLimits::default() {
            self.client_limits = other.client_limits;
        }
        if self.trust == TrustConfig::default() {
            self.trust = other.trust;
        }
        self.policy.absorb(other.policy);
        let folders = other.folders.into_iter();
        let new: Vec<_> = folders.filter(|folder| !self.folders.contains(folder)).collect();
        self.folders.extend(new);
        self.inline.extend(other.inline);
        for server in other.servers {
            if let Some(place) = other.places.get(&server.name) {
                servers::add(self, server, place.clone(), load_state);
            }
        }
        for profile in other.profiles {
            match self.profiles.iter().any(|known| known.name == profile.name) {
                true => load_state.warn(format!(
                    "{}: the profile `{}` is given already; this one is not used",
                    other.file.display(),
                    profile.name
                )),
                false => self.profiles.push(profile),
            }
        }
    }

    /// Puts what was met on the way beside what was read, and tells of what cannot be meant.
    pub(super) fn conclude(&mut self, load_state: LoadState) {
        for profile in &self.profiles {
            let name = &profile.name;
            let missing = profile.servers.iter().filter(|it| !self.places.contains_key(*it));
            for server in missing {
                load_state
                    .warn(format!("the profile `{name}` names `{server}`, which is no server"));
            }
            if let Some(place) = self.places.get(name) {
                load_state.warn(format!(
                    "the profile `{name}` has the name of the server at {place}, \
                     which is the one at /mcp/{name}; rename one of them"
                ));
            }
        }
        self.files = load_state.files.into_inner();
        self.secrets = load_state.secrets.into_inner();
        self.warnings = load_state.warnings.into_inner();
        self.notes = load_state.notes.into_inner();
    }
}
