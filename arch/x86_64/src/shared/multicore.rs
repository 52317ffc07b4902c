//! On several cores: a value in a static variable, to which all cores refer.

use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// A value that exists once in the machine.
pub struct Shared<T: 'static>(NonNull<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}

impl<T> Shared<T> {
    /// Moves a value to a place that all cores share.
    pub(crate) fn new(value: T, place: &'static mut MaybeUninit<T>) -> Self {
        Self(NonNull::from(place.write(value)))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `new` has initialised it; cores use it in exclusive mode only.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }
}
