//! HTTP headers that repeat parts of a message.
