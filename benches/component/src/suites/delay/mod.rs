//! How long the kernel can delay an urgent thread, whatever others do.
//!
//! An urgent thread is released by the kernel's timer at exact intervals while attackers, less urgent
//! threads and their makers, let the kernel work. The intervals and what the attackers do have nothing
//! in common, so that releases come in the middle of everything in time. Neither measures anything: both
//! mark what they do ([`mark`](crate::mark)), and the emulator counts.
//!
//! Where there are several cores, the urgent thread has the first one for itself, and all others are on the
//! last.

mod attackers;
mod scenarios;
mod urgent;

use super::benchmarks;
use crate::bench::Bench;
use scenarios::SCENARIOS;
use urgent::Urgent;
use userlib::Result;

benchmarks![scenario: SCENARIOS.len() * ATTACKERS.len()];

/// How many attackers there are.
const ATTACKERS: [usize; 6] = [1, 4, 16, 64, 256, 1024];
/// How often a scenario is repeated at least.
const ROUNDS: usize = 4;

/// One scenario with one number of attackers, or as many as it can have.
fn scenario(bench: &mut Bench, variant: usize) -> Result {
    let scenario = &SCENARIOS[variant / ATTACKERS.len()];
    let most = bench.attackers.unwrap_or(usize::MAX).min(scenario.most);
    let mut numbers = ATTACKERS.map(|attackers| attackers.min(most)).into_iter();
    let variant = variant % ATTACKERS.len();
    let attackers = ATTACKERS[variant].min(most);
    if numbers.position(|number| number == attackers) != Some(variant) {
        // There was one with as many already.
        return Ok(());
    }
    let urgent = Urgent::start(bench)?;
    let mut rounds = 0;
    while rounds < ROUNDS || !urgent.is_content() {
        (scenario.play)(bench, attackers)?;
        rounds += 1;
    }
    let releases = urgent.end(bench)?;
    let parameters = [("attackers", attackers.into()), ("cores", bench.cores.into())];
    let known = if bench.cores > 1 { 2 } else { 1 };
    bench.report(scenario.name, &parameters[..known], &[releases]);
    Ok(())
}
