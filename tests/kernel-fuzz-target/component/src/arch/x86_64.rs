//! x86-64.

use abi::{Method, ObjectType};
use core::arch::naked_asm;

use crate::forms::{Form, Part::*, form};
use crate::kind::Kind;

/// A program: makes two system calls, then executes an undefined instruction.
///
/// # Safety
/// Those of the system calls.
#[unsafe(naked)]
pub unsafe extern "C" fn probe() {
    naked_asm!("syscall", "syscall", "ud2")
}

/// The type of the root of an address space.
pub const SPACE: ObjectType = ObjectType::X86Pml4;
/// The types of frames.
pub const FRAMES: &[ObjectType] = &[ObjectType::X86Page4K, ObjectType::X86LargePage];
/// The types of paging structures.
pub const TABLES: &[(ObjectType, Kind)] = &[
    (ObjectType::X86PageTable, Kind::Table),
    (ObjectType::X86PageDirectory, Kind::Table2),
    (ObjectType::X86Pdpt, Kind::Table3),
];

/// One past the last interrupt line.
pub const LINES: usize = 108;

/// Methods of this architecture.
pub const FORMS: &[Form] = {
    use Kind::{
        AsidControl, AsidPool, CNode, Frame, IrqControl, PortsControl, Space, Table, Table2,
        Table3, Untyped,
    };
    use Method::*;
    &[
        form(X86PdptMap, Table3, &[Page, Below(8)], &[Space]),
        form(X86PdptUnmap, Table3, &[], &[]),
        form(X86PageDirectoryMap, Table2, &[Page, Below(8)], &[Space]),
        form(X86PageDirectoryUnmap, Table2, &[], &[]),
        form(X86PageTableMap, Table, &[Page, Below(8)], &[Space]),
        form(X86PageTableUnmap, Table, &[], &[]),
        form(X86PageMap, Frame, &[Page, Rights, Below(16)], &[Space]),
        form(X86PageUnmap, Frame, &[], &[]),
        form(X86PageGetAddress, Frame, &[], &[]),
        form(
            X86AsidControlMakePool,
            AsidControl,
            &[Empty(2)],
            &[Untyped, CNode],
        ),
        form(X86AsidPoolAssign, AsidPool, &[], &[Space]),
        form(
            X86IoPortControlIssue,
            PortsControl,
            &[Port, Port, Empty(1)],
            &[CNode],
        ),
        form(X86IoPortIn8, Kind::Ports, &[Port], &[]),
        form(X86IoPortIn16, Kind::Ports, &[Port], &[]),
        form(X86IoPortIn32, Kind::Ports, &[Port], &[]),
        form(X86IoPortOut8, Kind::Ports, &[Port, Any], &[]),
        form(X86IoPortOut16, Kind::Ports, &[Port, Any], &[]),
        form(X86IoPortOut32, Kind::Ports, &[Port, Any], &[]),
        form(
            X86IrqIssueIrqHandlerIoapic,
            IrqControl,
            &[
                Empty(1),
                Below(1),
                Below(24),
                Below(2),
                Below(2),
                Below(LINES),
            ],
            &[CNode],
        ),
        form(
            X86IrqIssueIrqHandlerMsi,
            IrqControl,
            &[Empty(1), Below(256), Below(32), Below(8), Any, Below(LINES)],
            &[CNode],
        ),
    ]
};

/// With I/O APICs, the generic method is refused; the other methods need hardware without a driver in this
/// kernel.
pub const NEVER: &[Method] = {
    use Method::*;
    &[
        IrqIssueIrqHandler,
        X86IoPageTableMap,
        X86IoPageTableUnmap,
        X86PageMapIo,
        X86PageMapEpt,
        TcbSetEptRoot,
        X86VcpuSetTcb,
        X86VcpuReadVmcs,
        X86VcpuWriteVmcs,
        X86VcpuEnableIoPort,
        X86VcpuDisableIoPort,
        X86VcpuWriteRegisters,
        X86EptPdptMap,
        X86EptPdptUnmap,
        X86EptPdMap,
        X86EptPdUnmap,
        X86EptPtMap,
        X86EptPtUnmap,
    ]
};
