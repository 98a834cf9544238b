//! Writes a file whole or not at all.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes a file, making its folder if need be. One that is there keeps its mode, and a link to it
/// stays a link. A new one is for its owner alone, since what a server is given may be a secret. Gives
/// what is known of the file that was written, by which it is told from what others write later.
pub fn save(file: &Path, text: &str) -> io::Result<Metadata> {
    if let Some(folder) = file.parent().filter(|it| !it.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let unfinished = file.with_file_name(name);
    let written = write(&file, &unfinished, text)
        .and_then(|metadata| fs::rename(&unfinished, &file).map(|()| metadata));
    written.inspect_err(|_| {
        let _ = fs::remove_file(&unfinished);
    })
}

fn write(file: &Path, unfinished: &Path, text: &str) -> io::Result<Metadata> {
    let mut options = OpenOptions::new();
    let mut out = options.write(true).create(true).truncate(true).mode(0o600).open(unfinished)?;
    out.write_all(text.as_bytes())?;
    if let Ok(metadata) = fs::metadata(file) {
        out.set_permissions(metadata.permissions())?;
    }
    out.sync_all()?;
    out.metadata()
}
