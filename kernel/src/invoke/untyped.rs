//! `Untyped_Retype`: creates objects in untyped memory.
//!
//! It has preemption points while memory is cleared (the watermark records the progress) and between two
//! objects (the caller's [`Progress`] records how many exist).

use core::ops::Range;
use core::ptr::NonNull;

use abi::sizes::{
    ENDPOINT_BITS, MAX_UNTYPED_BITS, MIN_SCHED_CONTEXT_BITS, MIN_UNTYPED_BITS, NOTIFICATION_BITS,
    REPLY_BITS, SLOT_BITS, TCB_BITS,
};
use abi::{GuardData, LookupFailure, Method, ObjectType, RETYPE_LIMIT, WORD_BITS};

use super::{Answer, Done, Error, Failure, Invocation, Outcome, allow, ensure};
use crate::ExclusiveKernel;
use crate::arch::{Arch, ArchCap, PhysAddr};
use crate::cap::{BadgedCap, CNode, Cap, UntypedCap};
use crate::object::{Endpoint, Notification, Progress, Reply, SchedContext, Thread};
use crate::sched::work;
use crate::slot::{RawCap, Slot};
use crate::token::Ptr;

/// A checked invocation.
struct Retype<A: Arch> {
    kind: ObjectType,
    /// The size argument, for objects of variable size.
    size_bits: usize,
    /// log2 of an object's size in bytes.
    object_bits: usize,
    cnode: CNode<A>,
    offset: usize,
    count: usize,
    /// How many of the objects were created before the operation was preempted.
    done: usize,
    /// Whether the memory must be cleared first.
    reset: bool,
}

impl<A: Arch> Invocation<A> {
    pub(super) fn invoke_untyped(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        untyped: UntypedCap,
    ) -> Outcome {
        allow(self.method == Method::UntypedRetype)?;
        let done = match kernel[self.caller].progress {
            Progress::Retype { untyped, done } if untyped == self.slot => done,
            _ => 0,
        };
        let outcome = self.retype(kernel, untyped, done);
        // An invocation that is preempted again keeps the progress recorded before.
        if !matches!(outcome, Err(Failure::Preempted)) {
            kernel[self.caller].progress = Progress::None;
        }
        outcome
    }

    fn retype(&self, kernel: &mut ExclusiveKernel<A>, untyped: UntypedCap, done: usize) -> Outcome {
        let request = self.decode_retype(kernel, untyped, done)?;
        // The checks for one object in cleared memory are short.
        if request.reset || request.count > 1 {
            kernel.preempt_after(work::CHECKS)?;
        }
        let mut untyped = untyped;
        if request.reset {
            reset(kernel, self.slot, &mut untyped)?;
        }
        self.create_objects(kernel, untyped, &request)?;
        Ok(Answer::Nothing)
    }

    #[inline(always)]
    fn decode_retype(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        untyped: UntypedCap,
        done: usize,
    ) -> Result<Retype<A>, Failure> {
        self.require(6, 1)?;
        let size_bits = self.word(kernel, 1);
        let kind =
            ObjectType::from_number(self.word(kernel, 0)).ok_or(Error::InvalidArgument(0))?;
        let too_big = Error::range(0, MAX_UNTYPED_BITS);
        ensure(size_bits < WORD_BITS, too_big)?;
        let object_bits = object_bits::<A>(kind, size_bits);
        ensure(object_bits <= MAX_UNTYPED_BITS, too_big)?;
        let smallest = match kind {
            ObjectType::CNode => 1,
            ObjectType::Untyped => MIN_UNTYPED_BITS,
            ObjectType::SchedContext => MIN_SCHED_CONTEXT_BITS,
            _ => 0,
        };
        ensure(size_bits >= smallest, Error::InvalidArgument(1))?;

        let cnode = self.destination(kernel)?;
        let offset = self.number_in(kernel, 4, 0..=cnode.slot_count() - 1)?;
        let count = self.number_in(kernel, 5, 1..=RETYPE_LIMIT)?;
        ensure(
            count <= cnode.slot_count() - offset,
            Error::range(1, cnode.slot_count() - offset),
        )?;
        // The slots of objects that were created before the preemption are not empty.
        let done = if done < count { done } else { 0 };
        require_empty(kernel, cnode, offset + done..offset + count)?;

        let reset = !kernel.has_children(self.slot);
        let free = if reset {
            untyped.size()
        } else {
            untyped.size() - untyped.watermark
        };
        ensure(
            free >> object_bits >= count - done,
            Error::NotEnoughMemory(free),
        )?;
        let may_be_device = kind == ObjectType::Untyped || A::is_frame(kind);
        ensure(may_be_device || !untyped.device, Error::InvalidArgument(1))?;
        Ok(Retype {
            kind,
            size_bits,
            object_bits,
            cnode,
            offset,
            count,
            done,
            reset,
        })
    }

    /// The CNode that receives the new capabilities.
    fn destination(&self, kernel: &mut ExclusiveKernel<A>) -> Result<CNode<A>, Failure> {
        let root = self.extra_cap(kernel, 0);
        let depth = self.word(kernel, 3);
        let cap = if depth == 0 {
            root
        } else {
            let index = self.word(kernel, 2);
            let slot = kernel.find_slot(root, index, depth, false)?;
            kernel[slot].cap()
        };
        match cap {
            Cap::CNode(cnode) => Ok(cnode),
            _ => Err(Error::lookup(LookupFailure::MissingCapability { bits_left: depth }).into()),
        }
    }

    fn create_objects(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        mut untyped: UntypedCap,
        request: &Retype<A>,
    ) -> Done {
        let slot = self.slot;
        let size = 1usize << request.object_bits;
        let mut index = request.done;
        loop {
            let base = untyped.address.0;
            let address = (base + untyped.watermark + (size - 1)) & !(size - 1);
            untyped.watermark = address - base + size;
            kernel[slot].set_cap(Cap::Untyped(untyped));
            let cap = kernel.create_object(request, PhysAddr(address), untyped.device);
            let target = request.cnode.slot(request.offset + index);
            kernel.insert_child(slot, target, cap);
            index += 1;
            if index >= request.count {
                return Ok(());
            }
            if kernel.preempt_between(work::OBJECT).is_err() {
                let (untyped, done) = (slot.into(), index);
                kernel[self.caller].progress = Progress::Retype { untyped, done };
                return Err(Failure::Preempted);
            }
        }
    }
}

/// Checks that the slots for the new capabilities are empty.
fn require_empty<A: Arch>(
    kernel: &mut ExclusiveKernel<A>,
    cnode: CNode<A>,
    slots: Range<usize>,
) -> Done {
    /// Slots between two preemption points.
    const PIECE: usize = 64;
    let mut start = slots.start;
    loop {
        let end = slots.end.min(start + PIECE);
        let are_empty = (start..end).all(|index| kernel[cnode.slot(index)].is_empty());
        ensure(are_empty, Error::DeleteFirst)?;
        if end == slots.end {
            return Ok(());
        }
        kernel.preempt_after(work::SLOT * PIECE)?;
        start = end;
    }
}

/// log2 of the size of an object in bytes.
fn object_bits<A: Arch>(kind: ObjectType, size_bits: usize) -> usize {
    match kind {
        ObjectType::Untyped | ObjectType::SchedContext => size_bits,
        ObjectType::CNode => size_bits + SLOT_BITS,
        ObjectType::Tcb => TCB_BITS,
        ObjectType::Endpoint => ENDPOINT_BITS,
        ObjectType::Notification => NOTIFICATION_BITS,
        ObjectType::Reply => REPLY_BITS,
        other => A::object_bits(other).unwrap_or(MAX_UNTYPED_BITS + 1),
    }
}

/// Clears memory that was used before and is free again, from the top down. The watermark records the
/// progress.
///
/// # Errors
/// [`Failure::Preempted`].
pub fn reset<A: Arch>(
    kernel: &mut ExclusiveKernel<A>,
    slot: Ptr<Slot<A>>,
    untyped: &mut UntypedCap,
) -> Done {
    /// Bytes cleared between two preemption points.
    const CHUNK: usize = 256;
    let mut done = Ok(());
    if untyped.device {
        untyped.watermark = 0;
    }
    while untyped.watermark > 0 {
        let start = (untyped.watermark - 1) / CHUNK * CHUNK;
        clear::<A>(untyped, start);
        untyped.watermark = start;
        if start > 0 && kernel.preempt_between(work::CHUNK).is_err() {
            done = Err(Failure::Preempted);
            break;
        }
    }
    kernel[slot].set_cap(Cap::Untyped(*untyped));
    done
}

/// Clears used memory from offset `start` up to the watermark.
fn clear<A: Arch>(untyped: &UntypedCap, start: usize) {
    let address = PhysAddr(untyped.address.0 + start);
    let used = untyped.watermark - start;
    // Objects are aligned to pairs of words. The words are written one by one: a volatile pair would be copied
    // from the stack.
    let memory = A::to_virtual(address) as *mut [u64; 2];
    for pair in 0..used / size_of::<[u64; 2]>() {
        for word in 0..2 {
            // SAFETY: no capability to any object in this memory exists, so nothing else accesses it.
            unsafe { memory.add(pair).cast::<u64>().add(word).write_volatile(0) };
        }
    }
    A::clean_new_memory(address, used);
}

impl<A: Arch> ExclusiveKernel<A> {
    /// Creates one object in cleared memory. Returns its capability, packed.
    fn create_object(&mut self, request: &Retype<A>, address: PhysAddr, device: bool) -> RawCap {
        let cap = match request.kind {
            ObjectType::Untyped => Cap::Untyped(UntypedCap {
                address,
                bits: request.size_bits,
                device,
                watermark: 0,
            }),
            ObjectType::Tcb => {
                let thread = Thread::new(self.core.current_domain(), self.core.id as u8);
                let thread = emplace::<A, _>(address, thread);
                #[cfg(feature = "debug")]
                self.list_thread(thread);
                self.trace_thread_created(thread);
                Cap::Thread(thread)
            }
            ObjectType::Endpoint => Cap::Endpoint(BadgedCap::original(emplace::<A, _>(
                address,
                Endpoint::new(),
            ))),
            ObjectType::Notification => {
                let notification = emplace::<A, _>(address, Notification::new());
                Cap::Notification(BadgedCap::original(notification))
            }
            ObjectType::CNode => Cap::CNode(CNode {
                // Cleared memory is a table of empty slots.
                slots: emplace::<A, _>(address, Slot::EMPTY),
                radix: request.size_bits,
                guard: GuardData { guard: 0, size: 0 },
            }),
            ObjectType::SchedContext => {
                let object = emplace::<A, _>(address, SchedContext::new());
                self.trace_context_created(object);
                Cap::SchedContext {
                    object,
                    bits: request.size_bits,
                }
            }
            ObjectType::Reply => Cap::Reply {
                object: emplace::<A, _>(address, Reply::new()),
                grant: true,
            },
            kind => return self.arch.create_object(kind, address, device).encode(),
        };
        cap.encode()
    }
}

/// Constructs a kernel object at a physical address.
pub(crate) fn emplace<A: Arch, T>(address: PhysAddr, value: T) -> Ptr<T> {
    let pointer = A::to_virtual(address) as *mut T;
    // SAFETY: retype and boot pass memory that is otherwise unused, large enough and aligned for the
    // object, and keep it as long as there are capabilities to it.
    unsafe {
        pointer.write(value);
        Ptr::new(NonNull::new_unchecked(pointer))
    }
}
