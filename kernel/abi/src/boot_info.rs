//! What the kernel tells the initial thread.

/// Number of untyped descriptors in the boot information.
pub const MAX_BOOT_UNTYPEDS: usize = 230;

/// Slots `start..end` of the initial CNode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SlotRegion {
    /// First slot.
    pub start: usize,
    /// One past the last slot.
    pub end: usize,
}

impl SlotRegion {
    /// Number of slots.
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// One region of untyped memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct UntypedDescriptor {
    /// Physical address.
    pub address: usize,
    /// log2 of the size in bytes.
    pub size_bits: u8,
    /// 1 for device memory.
    pub is_device: u8,
    /// Zero.
    pub padding: [u8; size_of::<usize>() - 2],
}

/// The boot information frame.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BootInfo {
    /// Bytes of [`BootInfoRecord`]s in the pages behind this one.
    pub extra_length: usize,
    /// Core of the initial thread.
    pub node_id: usize,
    /// Number of cores.
    pub nodes: usize,
    /// Levels of I/O page tables; all ones without I/O memory management.
    pub io_page_table_levels: usize,
    /// Address of the IPC buffer.
    pub ipc_buffer: usize,
    /// Empty slots.
    pub empty: SlotRegion,
    /// Frames of the rings of trace events, core by core, in a kernel that streams them, which maps them behind the extra
    /// boot information; else empty.
    pub shared_frames: SlotRegion,
    /// Frames of the image, in address order.
    pub user_image_frames: SlotRegion,
    /// Paging structures of the initial address space.
    pub user_image_paging: SlotRegion,
    /// I/O spaces.
    pub io_space_caps: SlotRegion,
    /// Frames of the extra boot information.
    pub extra_boot_info_pages: SlotRegion,
    /// log2 of the slots of the initial CNode.
    pub cnode_size_bits: usize,
    /// Domain of the initial thread.
    pub domain: usize,
    /// SchedControl capabilities, one per core.
    pub sched_control: SlotRegion,
    /// Untyped capabilities.
    pub untyped: SlotRegion,
    /// What they describe, in the same order.
    pub untyped_list: [UntypedDescriptor; MAX_BOOT_UNTYPEDS],
}

const _: () = assert!(size_of::<BootInfo>() == if crate::WORD_BITS == 64 { 3864 } else { 1932 });

/// Head of a record of extra boot information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BootInfoHeader {
    /// A [`BootInfoRecord`].
    pub id: usize,
    /// Bytes of the record, this head included.
    pub length: usize,
}

/// Kinds of extra boot information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum BootInfoRecord {
    /// To be skipped.
    Padding = 0,
    /// VESA BIOS extension information.
    X86Vbe = 1,
    /// Multiboot memory map.
    X86MemoryMap = 2,
    /// Copy of the ACPI root pointer.
    X86AcpiRsdp = 3,
    /// Frame buffer.
    X86FrameBuffer = 4,
    /// Frequency of the time stamp counter, in MHz.
    X86TscFrequency = 5,
    /// Flattened device tree.
    DeviceTree = 6,
}
