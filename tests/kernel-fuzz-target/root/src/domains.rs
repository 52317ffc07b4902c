//! Kernels with several domains: hostile threads are in some of them, each of which has turns.

use abi::Method;
use userlib::{BootInfo, Result, boot, time};

/// Whether there are several.
pub const ARE_SEVERAL: bool = abi::config::DOMAINS > 1;

/// The domains, beside the first, of hostile threads.
pub const FURTHER: &[usize] = match ARE_SEVERAL {
    true => &[1, 7, abi::config::DOMAINS - 1],
    false => &[],
};

/// Turns of the first domain and of each other one, in microseconds. The first one is that of all well-behaved
/// components, whose pieces of work are so short that they see at most one other turn.
const TURNS: [u64; 2] = [1_000, 60];

/// Makes all domains take turns, the first one before each other.
pub fn take_turns(boot: &'static BootInfo) -> Result {
    let Some(frequency) = time::ticks_per_second(boot).filter(|_| ARE_SEVERAL) else {
        return Ok(());
    };
    let [own, other] = TURNS.map(|microseconds| microseconds * frequency / 1_000_000);
    for domain in (0..abi::config::DOMAINS).skip(1) {
        let index = 2 * (domain - 1);
        boot::DOMAIN.configure_schedule(index, 0, own)?;
        boot::DOMAIN.configure_schedule(index + 1, domain, other)?;
    }
    boot::DOMAIN.set_schedule_start(0)
}

/// Whether the hostile component cannot succeed by a method, for want of the right over domains: it could stop all
/// others.
pub fn withhold(method: Method) -> bool {
    use Method::{DomainScheduleConfigure, DomainScheduleSetStart, DomainSetSet};
    let is_of_domains = matches!(
        method,
        DomainSetSet | DomainScheduleConfigure | DomainScheduleSetStart
    );
    ARE_SEVERAL && is_of_domains
}
