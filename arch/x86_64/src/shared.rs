//! State that exists once in the machine, for all cores.

use core::ops::{Deref, DerefMut};
#[cfg(feature = "smp")]
use core::{mem::MaybeUninit, ptr::NonNull};

/// A part of every core's state that is shared by all cores: interrupt lines, issued ports, the kernel's
/// page tables. It is used only in exclusive mode.
///
/// On one core it is a plain value.
/// With one core it is that core's own.
pub struct Shared<T: 'static>(
    #[cfg(not(feature = "smp"))] T,
    #[cfg(feature = "smp")] NonNull<T>,
);

#[cfg(not(feature = "smp"))]
impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(value)
    }
}

#[cfg(feature = "smp")]
impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}
#[cfg(feature = "smp")]
impl<T> Copy for Shared<T> {}

#[cfg(feature = "smp")]
impl<T> Shared<T> {
    /// Moves a value to a place that all cores share.
    pub(crate) fn new(value: T, place: &'static mut MaybeUninit<T>) -> Self {
        Self(NonNull::from(place.write(value)))
    }
}

#[cfg(feature = "smp")]
impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `new` has initialised it; cores use it in exclusive mode only, see above.
        unsafe { self.0.as_ref() }
    }
}

#[cfg(feature = "smp")]
impl<T> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }
}

#[cfg(not(feature = "smp"))]
impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(not(feature = "smp"))]
impl<T> DerefMut for Shared<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// A [`Shared`] value that is made once, in a static variable at this place.
macro_rules! shared {
    ($type:ty, $value:expr) => {{
        let value: $type = $value;
        #[cfg(feature = "smp")]
        {
            static mut PLACE: core::mem::MaybeUninit<$type> = core::mem::MaybeUninit::uninit();
            let place = &raw mut PLACE;
            // SAFETY: it is made once, so this is the only reference.
            $crate::shared::Shared::new(value, unsafe { &mut *place })
        }
        #[cfg(not(feature = "smp"))]
        $crate::shared::Shared::new(value)
    }};
}
pub(crate) use shared;
