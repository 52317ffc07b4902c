//! The analyses against simulations, other implementations, published examples, and broken variants of themselves.

mod book;
mod choices;
mod edf;
mod faults;
mod fixed;
mod global;
mod guests;
mod kernel;
mod mixed;
mod oracle;
mod properties;
mod random;
mod replenishments;
mod simulator;
mod tables;
mod threads;
