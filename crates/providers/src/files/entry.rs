//! What clients see of a file and of a root.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use gantry_files::{FileStatus, RelativePath, Root, file_uri};
use gantry_gateway::{EntryError, ResourceEntry, TemplateEntry};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::timestamp;

use super::settings::RootSettings;

/// The URI of a file.
pub(super) fn uri(root: &Root, path: &RelativePath) -> String {
    file_uri(root.path(), path)
}

/// A file in the list. None for a name that is not UTF-8: its URI leads to it all the same.
pub(super) fn resource(
    root: &Root,
    path: &RelativePath,
    status: &FileStatus,
) -> Result<Arc<ResourceEntry>, EntryError> {
    let annotations = ObjectWriter::new().value("lastModified", &modified(status)).finish();
    let definition = ObjectWriter::new()
        .value("uri", &uri(root, path))
        .value("name", &path.to_string())
        .value_some("mimeType", mime_type(path.as_path()))
        .value("size", &status.size)
        .raw("annotations", &annotations)
        .finish();
    ResourceEntry::new(definition).map(Arc::new)
}

/// The template that covers all files of a root.
pub(super) fn template(root: &Root, settings: &RootSettings) -> Result<TemplateEntry, EntryError> {
    let folder = root.path().file_name().unwrap_or(root.path().as_os_str());
    let name = settings.name.clone().unwrap_or_else(|| folder.to_string_lossy().into_owned());
    let some = RelativePath::new("x").map(|path| uri(root, &path)).unwrap_or_default();
    let definition = ObjectWriter::new()
        .value("uriTemplate", &format!("{}{{+path}}", some.trim_end_matches('x')))
        .value("name", &name)
        .value("description", &format!("Any file below the folder {}.", root.path().display()))
        .finish();
    TemplateEntry::new(definition)
}

/// When a file was modified, as the protocol writes it.
pub(super) fn modified(status: &FileStatus) -> String {
    let nanoseconds = u64::try_from(status.modified_ns).unwrap_or(0);
    timestamp::write(UNIX_EPOCH + Duration::from_nanos(nanoseconds))
}

/// What its name says that a file is.
pub(super) fn mime_type(path: &Path) -> Option<&'static str> {
    mime_guess::from_path(path).first_raw()
}
