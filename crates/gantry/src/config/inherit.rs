//! What a server's program inherits of this process' environment. A server is code of others: it
//! gets what programs need to run at all and to be fetched by `npx`, `uvx` or `pip`, and no secret
//! that happens to stand in the shell the gateway was started from.

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
pub(super) fn is_inherited(name: &str) -> bool {
    // Proxies are written in both cases.
    let is_proxy = name.ends_with("_proxy") && NAMES.contains(&name.to_uppercase().as_str());
    let begins = BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    let holds_secret = ["TOKEN", "PASSWORD", "SECRET", "AUTH"]
        .iter()
        .any(|word| name.to_uppercase().contains(word) && !NAMES.contains(&name));
    (NAMES.contains(&name) || is_proxy || begins) && !holds_secret
}

/// What a program inherits.
pub(super) fn environment() -> Vec<(String, String)> {
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
