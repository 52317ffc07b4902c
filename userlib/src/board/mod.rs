//! Addresses and interrupts of those devices of Arm boards that user programs may use. The tool selects the
//! board (`devices` in the platform's description, a feature of this crate); each defines the same names for the devices that it has.
//!
//! | name | meaning |
//! |---|---|
//! | `EPIT1`, `EPIT1_INTERRUPT`, `PERIPHERAL_MEGAHERTZ` | the timer of i.MX processors, and its clock
//! frequency |
//! | `PHYSICAL_TIMER_INTERRUPT` | the interrupt of the core's own timer that the kernel can leave to users |
//! | `CONTROLLER_PAGES` | pages of a GIC, all of which are the kernel's |
//! | `INTERRUPTS` | the number of interrupt lines |
//! | `HAS_TRIGGERS` | whether the trigger mode of a line can be configured |
//! | `HAS_DEVICE_TREE` | whether the boot information has a device tree |
//! | `HAS_CYCLE_COUNTER` | whether user mode can read the processor's cycle counter |

#[cfg_attr(feature = "devices-imx6", path = "imx6.rs")]
#[cfg_attr(feature = "devices-imx31", path = "imx31.rs")]
#[cfg_attr(feature = "devices-virt", path = "virt.rs")]
#[cfg_attr(feature = "devices-zynqmp", path = "zynqmp.rs")]
mod chosen;

pub use chosen::*;
