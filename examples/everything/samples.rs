//! Small pieces of data that several fixtures show.

use gantry::Content;

/// One pixel, as PNG in base64.
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// One moment of silence, as WAV in base64.
const SILENCE: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/// The pixel as a block of content.
pub(crate) fn pixel() -> Content {
    Content::image(PIXEL, "image/png")
}

/// The silence as a block of content.
pub(crate) fn silence() -> Content {
    Content::audio(SILENCE, "audio/wav")
}
