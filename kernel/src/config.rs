//! What the kernel was built for.

/// The largest number of cores that this kernel runs on: in kernels for several cores, the number in the environment
/// variable `ESCAPEMENT_CORES` when the kernel was built, or 4.
pub const CORES: usize = match option_env!("ESCAPEMENT_CORES") {
    _ if !cfg!(feature = "smp") => 1,
    None => 4,
    Some(number) => match usize::from_str_radix(number, 10) {
        Ok(number @ 1..=MAX_CORES) => number,
        _ => panic!("ESCAPEMENT_CORES must be a number from 1 to 64"),
    },
};

/// An upper bound, in bytes, of the queues of all cores: each core has one for each domain, criticality and
/// priority. They take up most of the kernel's memory.
pub const QUEUES_SIZE: usize = CORES * abi::config::DOMAINS * abi::CRITICALITIES * (8 << 10);
/// An upper bound, in bytes, of the state of a core without its queues.
pub const CORE_SIZE: usize = 8 << 10;

/// Whether every kernel entry takes the entry lock exclusively, like a big kernel lock: for comparison.
pub const BIG_LOCK: bool = cfg!(feature = "big-lock");

/// Sets of cores are words of 64 bits.
const MAX_CORES: usize = 64;
