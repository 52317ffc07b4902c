//! Whether the kernel to be built has what the description of a system asks for. Otherwise it would refuse that at run time, and
//! a small kernel has no console on which the initialiser could say so.

use anyhow::bail;
use system_description::System;

use crate::Result;
use crate::cli::{AbiOption, Kernel};

/// Refuses endpoints that a kernel without thresholds cannot make, and criticalities that one with a single one does not have.
pub(super) fn require(system: &System, kernel: Kernel, abi: &[AbiOption]) -> Result<()> {
    let mut endpoints = system.endpoints.iter();
    let special = endpoints.find(|one| {
        one.threshold.is_some() || one.limit || one.donation_required || one.tell_budget
    });
    if let Some(endpoint) = special
        && kernel.is_small()
    {
        bail!(
            "`{}` is an endpoint with a threshold or another condition for its callers, which kernels of kind {} refuse",
            endpoint.name,
            kernel.name()
        );
    }
    let mut components = system.components.iter();
    let critical = components.find(|one| one.criticality > 0 || one.max_controlled_criticality > 0);
    if let Some(component) = critical
        && abi.contains(&AbiOption::OneCriticality)
    {
        bail!(
            "`{}` has a criticality above 0, which kernels of kind small and those with --abi {} refuse",
            component.name,
            AbiOption::OneCriticality.feature()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe;
    use crate::workspace::Workspace;

    fn refusal(system: &str, kernel: Kernel, abi: &[AbiOption]) -> Option<String> {
        let workspace = Workspace::find().unwrap();
        let file = crate::system::System::file(&workspace, system);
        let system = describe::of_file(&workspace, &file, Some("hikey")).unwrap();
        let error = require(&system, kernel, abi).err()?;
        Some(error.to_string())
    }

    #[test]
    fn what_a_small_kernel_refuses_is_refused_before_it_is_built() {
        const ONE: &[AbiOption] = &[AbiOption::OneCriticality];
        let thresholds = |kernel| refusal("systems/tolls", kernel, ONE);
        assert!(thresholds(Kernel::Small).unwrap().contains("a threshold"));
        assert_eq!(thresholds(Kernel::Release), None);
        let critical = |abi| refusal("systems/modes", Kernel::Release, abi);
        assert!(critical(ONE).unwrap().contains("a criticality above 0"));
        assert_eq!(critical(&[]), None);
        assert_eq!(refusal("systems/rates", Kernel::Small, ONE), None);
    }
}
