//! `include`: other files, in any dialect.

use std::path::{Path, PathBuf};

use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

use super::read::{Reader, document};
use super::{Config, ConfigError};

const EXPECTED: &str = "a file or a list of files, such as [\"~/.cursor/mcp.json\"]";

/// The most files that one configuration may be made of.
const MOST: usize = 256;

/// Takes over what other files say. What is given already stays as it is.
pub(super) fn read(
    reader: &Reader<'_>,
    value: &RawJson,
    is_own: bool,
    chain: &[PathBuf],
    config: &mut Config,
) -> Result<(), ConfigError> {
    let files = match value.kind() {
        JsonKind::Array => value.elements().collect(),
        _ => vec![value.clone()],
    };
    // In a file of another program the word may mean anything.
    if !is_own && files.iter().any(|file| file.to_text().is_none()) {
        return Ok(());
    }
    let chain: Vec<PathBuf> = chain.iter().chain([&reader.source.file]).cloned().collect();
    for item in &files {
        let file = reader.path(&reader.expanded(item, "include", EXPECTED)?);
        if let Some(included) = one(reader, item, &file, &chain)? {
            config.absorb(included, reader.load_state);
        }
    }
    Ok(())
}

/// Reads one file; nothing if it was read before.
fn one(
    reader: &Reader<'_>,
    item: &RawJson,
    file: &Path,
    chain: &[PathBuf],
) -> Result<Option<Config>, ConfigError> {
    let place = || reader.place(item);
    // The same file may be named in more than one way.
    let real = |file: &Path| file.canonicalize().unwrap_or_else(|_| file.to_owned());
    if chain.iter().any(|earlier| real(earlier) == real(file)) {
        let all = chain.iter().map(PathBuf::as_path).chain([file]);
        let names: Vec<String> = all.map(|file| file.display().to_string()).collect();
        return Err(ConfigError::Cycle { place: place(), chain: names.join(" -> ") });
    }
    if !reader.load_state.touch(file) {
        return Ok(None);
    }
    if reader.load_state.files.borrow().len() > MOST {
        return Err(reader.form(item, "include", "fewer than 256 files in all"));
    }
    let text = std::fs::read(file).map_err(|error| ConfigError::Include {
        place: place(),
        file: file.to_owned(),
        error,
    })?;
    document(file, &text, reader.environment, reader.load_state, chain).map(Some)
}
