//! A timer that the kernel leaves to users, with its interrupt. Each board defines the same names.

#[cfg(any(feature = "devices-imx31", feature = "devices-imx6"))]
mod epit;
#[cfg(any(feature = "devices-imx31", feature = "devices-imx6"))]
pub use epit::{KERNEL_KILOHERTZ, LINE, Timer};

#[cfg(any(feature = "devices-virt", feature = "devices-zynqmp"))]
mod generic;
#[cfg(any(feature = "devices-virt", feature = "devices-zynqmp"))]
pub use generic::{KERNEL_KILOHERTZ, LINE, Timer};

#[cfg(target_arch = "x86_64")]
mod pit;
#[cfg(target_arch = "x86_64")]
pub use pit::{KERNEL_KILOHERTZ, Timer};
