//! State that exists once in the machine, for all cores: interrupt lines, issued ports, the kernel's page tables. It
//! is part of every core's state, and is used only in exclusive mode.

#[cfg(feature = "smp")]
mod multicore;
#[cfg(not(feature = "smp"))]
mod single_core;

#[cfg(feature = "smp")]
pub use multicore::Shared;
#[cfg(not(feature = "smp"))]
pub use single_core::Shared;

/// A [`Shared`] value that is made once, in a static variable at this place.
macro_rules! shared {
    ($type:ty, $value:expr) => {{
        static mut PLACE: core::mem::MaybeUninit<$type> = core::mem::MaybeUninit::uninit();
        let (value, place): ($type, _) = ($value, &raw mut PLACE);
        // SAFETY: it is made once, so this is the only reference.
        $crate::shared::Shared::new(value, unsafe { &mut *place })
    }};
}
pub(crate) use shared;
