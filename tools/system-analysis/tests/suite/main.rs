//! From texts to reports, partitions and assignments.

mod assignment;
mod common;
mod overheads;
mod partitions;
mod reports;
