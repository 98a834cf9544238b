//! `toolLimits`: what programs may use up.

use std::time::Duration;

use gantry_protocol::RawJson;
use gantry_providers::ToolSettings;
use gantry_providers::units;

use super::ConfigError;
use super::read::Reader;

const KEYS: [&str; 11] = [
    "strict",
    "children",
    "queue",
    "timeout",
    "memory",
    "stdout",
    "stderr",
    "grace",
    "olderVersions",
    "rescan",
    "resolve",
];

/// What programs may use up; what is not said stays as it is by default. The settings of tools say
/// what each means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is documented where it is applied to")]
pub struct ToolLimits {
    pub strict: Option<bool>,
    pub children: Option<usize>,
    pub queue: Option<Duration>,
    pub timeout: Option<Duration>,
    pub memory: Option<u64>,
    pub stdout: Option<usize>,
    pub stderr: Option<usize>,
    pub grace: Option<Duration>,
    pub older_versions: Option<usize>,
    pub rescan: Option<Duration>,
    pub resolve: Option<Duration>,
}

impl ToolLimits {
    /// Puts what is said in place of the defaults.
    pub fn apply(&self, settings: &mut ToolSettings) {
        fn set<T: Copy>(setting: &mut T, said: Option<T>) {
            *setting = said.unwrap_or(*setting);
        }
        set(&mut settings.strict, self.strict);
        set(&mut settings.children, self.children);
        set(&mut settings.queue, self.queue);
        set(&mut settings.timeout, self.timeout);
        set(&mut settings.memory, self.memory.map(Some));
        set(&mut settings.child.stdout, self.stdout);
        set(&mut settings.child.stderr, self.stderr);
        set(&mut settings.child.grace, self.grace);
        set(&mut settings.older_versions, self.older_versions);
        set(&mut settings.rescan, self.rescan);
        set(&mut settings.resolve, self.resolve);
    }
}

pub(super) fn read(reader: &Reader<'_>, value: &RawJson) -> Result<ToolLimits, ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, "toolLimits", "an object with limits"));
    }
    reader.check_keys(value, &KEYS, &[])?;
    let time = |key| reader.value(value, key, "milliseconds, or \"60s\"", units::duration);
    let bytes = |key| reader.value(value, key, "bytes, or a text such as \"512MiB\"", units::size);
    let length = |key| Ok(bytes(key)?.map(|it| usize::try_from(it).unwrap_or(usize::MAX)));
    let above_zero = |value: &RawJson| value.read().filter(|number: &usize| *number > 0);
    Ok(ToolLimits {
        strict: reader.value(value, "strict", "true or false", RawJson::read)?,
        children: reader.value(value, "children", "a number above zero", above_zero)?,
        queue: time("queue")?,
        timeout: time("timeout")?,
        memory: bytes("memory")?,
        stdout: length("stdout")?,
        stderr: length("stderr")?,
        grace: time("grace")?,
        older_versions: reader.value(value, "olderVersions", "a number", RawJson::read)?,
        rescan: time("rescan")?,
        resolve: time("resolve")?,
    })
}
