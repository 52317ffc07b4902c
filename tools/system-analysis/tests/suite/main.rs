//! From texts to reports, partitions and assignments.

mod assignment;
mod common;
mod partitions;
mod reports;
