//! Where the devices of Arm boards are, as far as they are for user programs. The tool says which
//! (`devices` in the platform's description); each is the same list of names, as far as it has the
//! device.
//!
//! | name | what |
//! |---|---|
//! | `EPIT1`, `EPIT1_INTERRUPT`, `PERIPHERAL_MEGAHERTZ` | the timer of i.MX processors, and what it counts |
//! | `UART`, `UART2` | the port of [`drivers::Serial`](crate::drivers::Serial) |
//! | `PHYSICAL_TIMER_INTERRUPT` | the interrupt of the core's own timer that the kernel can leave to users |
//! | `INTERRUPTS` | how many interrupt lines there are |
//! | `HAS_TRIGGERS` | whether one can choose when a line raises its interrupt |
//! | `HAS_DEVICE_TREE` | whether the boot information has a device tree |

#[cfg_attr(devices = "imx6", path = "imx6.rs")]
#[cfg_attr(devices = "imx31", path = "imx31.rs")]
#[cfg_attr(devices = "virt", path = "virt.rs")]
#[cfg_attr(devices = "zynqmp", path = "zynqmp.rs")]
mod chosen;

pub use chosen::*;
