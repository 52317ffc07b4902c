//! Handles to kernel objects, and the token that is needed to access them.
//!
//! Kernel objects live in memory that users have retyped, so Rust's ownership does not cover them. A [`Ptr`] is
//! a handle: it may be copied and compared freely, but yields a reference only with [`Objects`], of which each
//! core's kernel has one. A shared reference borrows the token and a mutable one borrows it mutably, so two
//! mutable references to one object cannot exist.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};
use core::ptr::NonNull;

/// A handle to a kernel object of type `T`.
#[repr(transparent)]
pub struct Ptr<T> {
    address: NonNull<T>,
}

impl<T> Ptr<T> {
    /// The handle of the object at `address`.
    ///
    /// # Safety
    /// A valid, initialised `T` must be there, accessed only through handles, for as long as any copy of this
    /// handle is used for an access; after that, copies may still be compared (see [`Id`]). In the kernel the
    /// capability system guarantees it: handles are made by retype and at boot, and memory is reused only when no
    /// capability to it is left.
    ///
    /// The pointer must give access to all that is reached from the handle, such as further slots of a CNode;
    /// one that is made from a reference gives access to the referent only.
    pub const unsafe fn new(address: NonNull<T>) -> Self {
        Self { address }
    }

    /// The handle of the object at an address that [`Ptr::address`] returned.
    ///
    /// # Safety
    /// As for [`Ptr::new`].
    pub const unsafe fn from_address(address: usize) -> Option<Self> {
        match NonNull::new(core::ptr::with_exposed_provenance_mut::<T>(address)) {
            // SAFETY: the caller guarantees the object.
            Some(pointer) => Some(unsafe { Self::new(pointer) }),
            None => None,
        }
    }

    /// The address of the object in the kernel's address space. Exposes the provenance, because most callers
    /// pack the address into a word.
    pub fn address(self) -> usize {
        self.address.as_ptr().expose_provenance()
    }

    /// The raw pointer.
    pub const fn as_ptr(self) -> *mut T {
        self.address.as_ptr()
    }

    /// Whether both are the same object, or none. Compiles to one comparison of addresses, unlike `==`.
    #[inline(always)]
    pub fn is_same(one: Option<Self>, other: Option<Self>) -> bool {
        let address = |ptr: Option<Self>| ptr.map_or(core::ptr::null_mut(), Self::as_ptr);
        address(one) == address(other)
    }
}

copyable!([T] Ptr<T>);
impl<T> PartialEq for Ptr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}
impl<T> Eq for Ptr<T> {}
impl<T> fmt::Debug for Ptr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.address())
    }
}

/// The identity of an object that may have been deleted: it is compared, and gives no access.
pub struct Id<T>(Ptr<T>);

copyable!([T] Id<T>);
impl<T> From<Ptr<T>> for Id<T> {
    fn from(object: Ptr<T>) -> Self {
        Self(object)
    }
}
impl<T> PartialEq<Ptr<T>> for Id<T> {
    fn eq(&self, other: &Ptr<T>) -> bool {
        self.0 == *other
    }
}

/// The token: its holder may access the kernel's objects.
#[derive(Debug)]
pub struct Objects(PhantomData<*mut ()>);

impl Objects {
    /// Makes a token.
    ///
    /// # Safety
    /// At most one token may be in use at a time for a set of objects.
    pub const unsafe fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Index<Ptr<T>> for Objects {
    type Output = T;

    #[inline(always)]
    fn index(&self, object: Ptr<T>) -> &T {
        // SAFETY: `Ptr::new` promises a valid object; the borrow of the token excludes writers.
        unsafe { object.address.as_ref() }
    }
}

impl<T> IndexMut<Ptr<T>> for Objects {
    #[inline(always)]
    fn index_mut(&mut self, mut object: Ptr<T>) -> &mut T {
        // SAFETY: `Ptr::new` promises a valid object; the mutable borrow of the token excludes others.
        unsafe { object.address.as_mut() }
    }
}
