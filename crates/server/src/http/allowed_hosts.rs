//! The names by which clients may know this server, and the websites that may use it, beside those
//! of this machine. They can change while it runs.

/// Names of this server and of its friends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    /// Hosts, as `name` for every port or `name:port`.
    pub hosts: Vec<String>,
    /// Origins, as browsers write them.
    pub origins: Vec<String>,
}

impl AllowedHosts {
    /// Whether an authority, which has this name in it, is one of them. The case of a host means
    /// nothing.
    pub(super) fn has_host(&self, authority: &str, name: &str) -> bool {
        let is_it =
            |host: &String| host.eq_ignore_ascii_case(authority) || host.eq_ignore_ascii_case(name);
        self.hosts.iter().any(is_it)
    }

    /// Whether a website may come.
    pub(super) fn has_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|it| it == origin)
    }
}
