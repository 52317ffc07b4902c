//! The kernels that ready-made systems use.

use crate::cli::{AbiOption, Cores, Kernel};
use crate::platform::Platform;

/// The kernels of ready-made systems: with breakpoints, and for deployment with the calls of benchmarks; each on one core
/// with several domains, and on all cores that loaders usually start.
pub(super) fn ready_made(platform: &Platform) -> Vec<(Kernel, Vec<AbiOption>, Cores)> {
    let own = match platform.takes_module() {
        true => AbiOption::Iommu,
        false => AbiOption::Smc,
    };
    let mut all = Vec::new();
    for kernel in [Kernel::Debug, Kernel::Bench] {
        for count in [1, 4] {
            let options = [
                Some(AbiOption::LargeRoot),
                Some(own),
                (count == 1).then_some(AbiOption::Domains),
                (kernel == Kernel::Debug).then_some(AbiOption::Hwdebug),
            ];
            let cores = Cores {
                count,
                ..Cores::ONE
            };
            all.push((kernel, options.into_iter().flatten().collect(), cores));
        }
    }
    all
}
