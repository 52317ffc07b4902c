//! The description of a system, and its checker.
//!
//! `system.toml` says what a system consists of: components, their time, what they may call, signal and map,
//! their devices, and the handlers of their faults. [`check()`] reads it, finds everything that is wrong with
//! it before anything is built, and turns it into a [`System`] for each platform, from which a system can be
//! set up and analysed. [`SCHEMA`] is for editors.
//!
//! The tool makes the table of the generic initialiser from a [`System`], which sets up the components, unless the
//! description names a root task of its own.
//!
//! ```
//! use system_description::{Platform, Size, Source, check};
//!
//! let text = r#"
//!     [component.control]
//!     program = "control"
//!     priority = 100
//!     budget = "20 ms"
//!     period = "10 ms"
//! "#;
//! let board = Platform {
//!     name: "board".to_string(),
//!     word_bits: 64,
//!     cores: 1,
//!     memory: Size::from_bytes(1 << 30),
//!     devices: Default::default(),
//! };
//! let source = Source { path: "system.toml", text };
//! let checked = check(source, &[board]);
//! assert_eq!(
//!     checked.diagnostics[0].line(source).to_string(),
//!     "system.toml:5:14: error: the budget 20 ms is above the period 10 ms; reduce the budget, or lengthen \
//!      the period",
//! );
//! ```

mod check;
mod decode;
pub mod file;
mod platform;
mod report;
#[cfg(test)]
mod schema;
mod suggest;
pub mod system;
mod units;
mod variants;

pub use check::{Checked, Outline, check, outline, place};
pub use platform::{Device, Interrupt, Platform, Registers, Trigger};
pub use report::{Diagnostic, Kind, Severity, Source, Span};
pub use system::System;
pub use units::{Duration, Size};

/// The JSON schema of `system.toml`, as text. A test keeps it equal to the types of [`mod@file`].
pub const SCHEMA: &str = include_str!("../system.schema.json");
