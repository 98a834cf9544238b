//! A command line as people may see it.

use super::{HIDDEN, Redactor};

impl Redactor {
    /// The arguments of a program without known secrets, what has the shape of one, and what follows
    /// an option such as `--api-key`.
    pub fn arguments(&self, arguments: &[String]) -> Vec<String> {
        let mut is_next_secret = false;
        let mut shown = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let (flag, value) = match argument.split_once('=') {
                Some((flag, _)) => (flag, true),
                None => (argument.as_str(), false),
            };
            let is_option = argument.starts_with('-');
            let tells_secret = is_option && is_secretive(flag);
            shown.push(match () {
                () if is_next_secret && !is_option => HIDDEN.to_owned(),
                () if tells_secret && value => format!("{}={HIDDEN}", self.place(flag)),
                () => self.place(argument),
            });
            is_next_secret = tells_secret && !value;
        }
        shown
    }
}

/// Whether the value of such an option is better not shown.
fn is_secretive(option: &str) -> bool {
    let option = option.to_ascii_lowercase();
    ["key", "token", "secret", "password", "auth"].iter().any(|word| option.contains(word))
}
