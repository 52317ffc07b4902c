//! What the components say to each other.
#![no_std]
#![forbid(unsafe_code)]

userlib::protocol! {
    /// Additions.
    pub mod addition, version 1 {
        /// The sum of a number and a step.
        fn add(number: usize, step: usize) -> usize;
    }
}
