//! What the kernel was built for.

/// The largest number of cores that this kernel runs on.
pub const CORES: usize = if cfg!(feature = "smp") {
    cores_asked_for()
} else {
    1
};

/// Whether every kernel entry takes the entry lock exclusively, as with one big lock: for comparison.
pub const BIG_LOCK: bool = cfg!(feature = "big-lock");

/// The number in the environment variable `ESCAPEMENT_CORES` when the kernel was built; else 4.
const fn cores_asked_for() -> usize {
    let Some(number) = option_env!("ESCAPEMENT_CORES") else {
        return 4;
    };
    let digits = number.as_bytes();
    let (mut value, mut index) = (0, 0);
    while index < digits.len() {
        assert!(
            digits[index].is_ascii_digit(),
            "ESCAPEMENT_CORES is no number"
        );
        value = 10 * value + (digits[index] - b'0') as usize;
        index += 1;
    }
    assert!(
        0 < value && value <= MAX_CORES,
        "ESCAPEMENT_CORES must be from 1 to 64"
    );
    value
}

/// Sets of cores are words of 64 bits.
const MAX_CORES: usize = 64;
