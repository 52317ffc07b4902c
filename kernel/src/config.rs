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

/// The most bytes of the queues of all cores, which have one for each domain, criticality and priority. Most of the memory
/// of the kernel's image is theirs.
pub const QUEUES_SIZE: usize = CORES * abi::config::DOMAINS * abi::CRITICALITIES * (8 << 10);
/// The most bytes of the state of a core beside its queues.
pub const CORE_SIZE: usize = 8 << 10;

/// Whether every kernel entry takes the entry lock exclusively, as with one big lock: for comparison.
pub const BIG_LOCK: bool = cfg!(feature = "big-lock");

/// Sets of cores are words of 64 bits.
const MAX_CORES: usize = 64;
