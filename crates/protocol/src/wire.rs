//! Lift and lower.
