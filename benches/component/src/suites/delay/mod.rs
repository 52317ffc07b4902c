//! How long the kernel can delay a high-priority thread, whatever other threads do.
//!
//! The kernel's timer releases a high-priority thread at exact intervals while attackers, which are
//! lower-priority threads and their creators, keep the kernel busy. The intervals are not synchronised with
//! the attackers, so that over time releases occur during all operations. Neither side measures anything:
//! both execute marks ([`mark`](crate::mark)), and the emulator counts.
//!
//! If there are several cores, the high-priority thread has the first one for itself, and all other threads
//! are on the last.

mod attackers;
mod high_priority;
mod scenarios;

use super::benchmarks;
use crate::bench::Bench;
use high_priority::HighPriority;
use scenarios::SCENARIOS;
use userlib::Result;

benchmarks![scenario: SCENARIOS.len() * ATTACKERS.len()];

/// Numbers of attackers.
const ATTACKERS: [usize; 6] = [1, 4, 16, 64, 256, 1024];
/// Least number of repetitions of a scenario.
const ROUNDS: usize = 4;

/// Runs one scenario with one number of attackers, or the most that it can have.
fn scenario(bench: &mut Bench, variant: usize) -> Result {
    let scenario = &SCENARIOS[variant / ATTACKERS.len()];
    let most = bench.attackers.unwrap_or(usize::MAX).min(scenario.most);
    let mut numbers = ATTACKERS.map(|attackers| attackers.min(most)).into_iter();
    let variant = variant % ATTACKERS.len();
    let attackers = ATTACKERS[variant].min(most);
    if numbers.position(|number| number == attackers) != Some(variant) {
        // Another variant has the same number.
        return Ok(());
    }
    let high_priority = HighPriority::start(bench)?;
    let mut rounds = 0;
    while rounds < ROUNDS || !high_priority.is_content() {
        (scenario.play)(bench, attackers)?;
        rounds += 1;
    }
    let releases = high_priority.end(bench)?;
    let parameters = [
        ("attackers", attackers.into()),
        ("cores", bench.cores.into()),
    ];
    let known = if bench.cores > 1 { 2 } else { 1 };
    bench.report(scenario.name, &parameters[..known], &[releases]);
    Ok(())
}
