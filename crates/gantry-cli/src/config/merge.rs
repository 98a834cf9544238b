//! One configuration out of several files: what was said first stands.

use gantry_server::AllowedHosts;

use crate::config::source::LoadState;
use crate::config::{ClientLimits, Config, ResourceConfig, ToolLimits, TrustConfig, servers};

impl Config {
    /// Takes over what another file says and this one does not.
    pub(crate) fn absorb(&mut self, other: Self, load_state: &LoadState) {
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
        if self.resources == ResourceConfig::default() {
            self.resources = other.resources;
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
    pub(crate) fn conclude(&mut self, load_state: LoadState) {
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

/// Variables that are inherited.
const NAMES: [&str; 21] = [
    // Where programs and files are, and who runs them.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TEMP",
    "TMP",
    // In which language and time they speak.
    "TERM",
    "LANG",
    "LANGUAGE",
    "TZ",
    // How they reach the network.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    // Where containers are.
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    // Where displays are, for servers that drive a browser.
    "DISPLAY",
];

/// What the names of further ones begin with: languages, folders, certificates, and the settings
/// of the package runners.
const BEGINNINGS: [&str; 8] =
    ["LC_", "XDG_", "SSL_CERT_", "NODE_", "NPM_CONFIG_", "npm_config_", "UV_", "PIP_"];

/// Whether a variable is inherited.
pub(crate) fn is_inherited(name: &str) -> bool {
    // Proxies are written in both cases.
    let is_proxy = name.ends_with("_proxy") && NAMES.contains(&name.to_uppercase().as_str());
    let begins = BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    let holds_secret = ["TOKEN", "PASSWORD", "SECRET", "AUTH"]
        .iter()
        .any(|word| name.to_uppercase().contains(word) && !NAMES.contains(&name));
    (NAMES.contains(&name) || is_proxy || begins) && !holds_secret
}

/// What a program inherits.
pub(crate) fn environment() -> Vec<(String, String)> {
    let all = std::env::vars_os();
    let readable = all.filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let inherited = readable.filter(|(name, _)| is_inherited(name));
    inherited.filter_map(|(name, value)| Some((name, value.into_string().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::is_inherited;

    #[test]
    fn cases() {
        let inherited = ["PATH", "HOME", "LC_ALL", "XDG_CONFIG_HOME", "https_proxy", "NO_PROXY"];
        let runners = ["UV_INDEX_URL", "PIP_INDEX_URL", "npm_config_registry", "NODE_OPTIONS"];
        let kept = ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "path", "GANTRY_CONFIG", "OLDPWD"];
        let secret = ["UV_PUBLISH_TOKEN", "NODE_AUTH_TOKEN", "npm_config__auth"];
        for name in inherited.into_iter().chain(runners) {
            assert!(is_inherited(name), "{name}");
        }
        for name in kept.into_iter().chain(secret) {
            assert!(!is_inherited(name), "{name}");
        }
    }
}
