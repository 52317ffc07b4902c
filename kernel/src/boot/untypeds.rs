//! Untyped capabilities to all remaining memory.

use core::ops::Range;

use abi::sizes::{MAX_UNTYPED_BITS, MIN_UNTYPED_BITS};
use abi::{MAX_BOOT_UNTYPEDS, UntypedDescriptor};

use super::BootAllocator;
use crate::ExclusiveKernel;
use crate::arch::{Arch, PhysAddr};
use crate::cap::{Cap, UntypedCap};
use crate::console::debug_line;

/// The untyped capabilities of the initial thread.
pub(super) struct Untypeds {
    pub list: [UntypedDescriptor; MAX_BOOT_UNTYPEDS],
    count: usize,
}

impl Untypeds {
    pub fn new() -> Self {
        let empty = UntypedDescriptor {
            address: 0,
            size_bits: 0,
            is_device: 0,
            padding: [0; size_of::<usize>() - 2],
        };
        Self {
            list: [empty; MAX_BOOT_UNTYPEDS],
            count: 0,
        }
    }

    /// Adds device memory: everything below `top` that is in none of the ranges.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn add_devices<A: Arch>(
        &mut self,
        kernel: &mut ExclusiveKernel<A>,
        boot: &mut BootAllocator<A>,
        used: &[&[Range<PhysAddr>]],
        top: u64,
    ) {
        let mut start = 0u64;
        while start < top {
            let ranges = || used.iter().copied().flatten();
            let inside = ranges()
                .filter(|range| (range.start.0 as u64) <= start && start < range.end.0 as u64)
                .map(|range| range.end.0 as u64)
                .max();
            if let Some(end) = inside {
                start = end;
                continue;
            }
            let end = ranges()
                .map(|range| range.start.0 as u64)
                .filter(|next| *next > start)
                .min()
                .unwrap_or(top)
                .min(top);
            self.add(kernel, boot, start, end, true);
            start = end;
        }
    }

    /// Adds one region, split greedily from its start into aligned powers of two.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn add<A: Arch>(
        &mut self,
        kernel: &mut ExclusiveKernel<A>,
        boot: &mut BootAllocator<A>,
        mut start: u64,
        end: u64,
        device: bool,
    ) {
        while end.saturating_sub(start) >= 1 << MIN_UNTYPED_BITS {
            let fits = (end - start).ilog2();
            let aligned = if start == 0 {
                u64::BITS
            } else {
                start.trailing_zeros()
            };
            let bits = fits.min(aligned).min(MAX_UNTYPED_BITS as u32) as usize;
            if bits >= MIN_UNTYPED_BITS {
                self.add_one(kernel, boot, PhysAddr(start as usize), bits, device);
            }
            start += 1 << bits;
        }
    }

    #[cfg_attr(target_os = "none", optimize(size))]
    fn add_one<A: Arch>(
        &mut self,
        kernel: &mut ExclusiveKernel<A>,
        boot: &mut BootAllocator<A>,
        address: PhysAddr,
        bits: usize,
        device: bool,
    ) {
        // The watermark marks all of it as used, without children: the first retype clears it.
        let cap = UntypedCap {
            address,
            bits,
            device,
            watermark: 1 << bits,
        };
        let fits = self.count < MAX_BOOT_UNTYPEDS;
        if !fits || !boot.provide_cap(kernel, Cap::Untyped(cap)) {
            debug_line::<A>(format_args!(
                "kernel: too many regions of memory, leaving out {:#x}",
                address.0
            ));
            return;
        }
        let entry = &mut self.list[self.count];
        entry.address = address.0;
        entry.size_bits = bits as u8;
        entry.is_device = device.into();
        self.count += 1;
    }
}
