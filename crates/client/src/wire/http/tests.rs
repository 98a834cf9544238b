//! Requests against servers of every kind of bad behaviour.
