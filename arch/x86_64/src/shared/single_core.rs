//! On one core: a plain value of that core.

use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};

/// A value that exists once in the machine.
pub struct Shared<T: 'static>(T);

impl<T> Shared<T> {
    pub(crate) fn new(value: T, _place: &'static mut MaybeUninit<T>) -> Self {
        Self(value)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Shared<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
