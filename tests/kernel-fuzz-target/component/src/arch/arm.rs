//! Arm, 32 and 64 bits.

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
    naked_asm!("svc #0", "svc #0", "udf #0")
}

/// The type of the root of an address space.
#[cfg(target_arch = "arm")]
pub const SPACE: ObjectType = ObjectType::ArmPageDirectory;
/// The type of the root of an address space.
#[cfg(target_arch = "aarch64")]
pub const SPACE: ObjectType = ObjectType::ArmVspace;
/// The types of frames.
pub const FRAMES: &[ObjectType] = &[ObjectType::ArmSmallPage, ObjectType::ArmLargePage];
/// The types of paging structures.
pub const TABLES: &[(ObjectType, Kind)] = &[(ObjectType::ArmPageTable, Kind::Table)];

/// One past the last interrupt line.
pub const LINES: usize = userlib::board::INTERRUPTS;

/// Methods of this architecture.
pub const FORMS: &[Form] = {
    use Kind::{AsidControl, AsidPool, CNode, Frame, IrqControl, Space, Table, Untyped};
    use Method::*;
    &[
        #[cfg(target_arch = "arm")]
        form(ArmPageDirectoryCleanData, Space, &[Span], &[]),
        #[cfg(target_arch = "arm")]
        form(ArmPageDirectoryInvalidateData, Space, &[Span], &[]),
        #[cfg(target_arch = "arm")]
        form(ArmPageDirectoryCleanInvalidateData, Space, &[Span], &[]),
        #[cfg(target_arch = "arm")]
        form(ArmPageDirectoryUnifyInstruction, Space, &[Span], &[]),
        #[cfg(target_arch = "aarch64")]
        form(ArmVspaceCleanData, Space, &[Span], &[]),
        #[cfg(target_arch = "aarch64")]
        form(ArmVspaceInvalidateData, Space, &[Span], &[]),
        #[cfg(target_arch = "aarch64")]
        form(ArmVspaceCleanInvalidateData, Space, &[Span], &[]),
        #[cfg(target_arch = "aarch64")]
        form(ArmVspaceUnifyInstruction, Space, &[Span], &[]),
        form(ArmPageTableMap, Table, &[Page, Below(8)], &[Space]),
        form(ArmPageTableUnmap, Table, &[], &[]),
        form(ArmPageMap, Frame, &[Page, Rights, Below(8)], &[Space]),
        form(ArmPageUnmap, Frame, &[], &[]),
        form(ArmPageCleanData, Frame, &[Below(4096), Below(4097)], &[]),
        form(
            ArmPageInvalidateData,
            Frame,
            &[Below(4096), Below(4097)],
            &[],
        ),
        form(
            ArmPageCleanInvalidateData,
            Frame,
            &[Below(4096), Below(4097)],
            &[],
        ),
        form(
            ArmPageUnifyInstruction,
            Frame,
            &[Below(4096), Below(4097)],
            &[],
        ),
        form(ArmPageGetAddress, Frame, &[], &[]),
        form(
            ArmAsidControlMakePool,
            AsidControl,
            &[Empty(2)],
            &[Untyped, CNode],
        ),
        form(ArmAsidPoolAssign, AsidPool, &[], &[Space]),
        form(
            ArmIrqIssueIrqHandlerTrigger,
            IrqControl,
            &[Below(LINES), Below(2), Empty(1)],
            &[CNode],
        ),
        form(
            ArmIrqIssueIrqHandlerTriggerCore,
            IrqControl,
            &[Below(LINES), Below(2), Empty(1), Below(2)],
            &[CNode],
        ),
        form(
            ArmIrqIssueSgiSignal,
            IrqControl,
            &[Below(16), Below(2), Empty(1)],
            &[CNode],
        ),
    ]
};

/// Methods that cannot succeed: the component holds no capability for secure monitor calls. The i.MX31's interrupt
/// controller has neither trigger modes nor software-generated interrupts, and its emulator no debug registers.
pub const NEVER: &[Method] = &[
    #[cfg(feature = "devices-imx31")]
    Method::ArmIrqIssueIrqHandlerTrigger,
    #[cfg(feature = "devices-imx31")]
    Method::ArmIrqIssueSgiSignal,
    #[cfg(feature = "devices-imx31")]
    Method::TcbSetBreakpoint,
    #[cfg(feature = "devices-imx31")]
    Method::TcbGetBreakpoint,
    #[cfg(feature = "devices-imx31")]
    Method::TcbUnsetBreakpoint,
    #[cfg(feature = "devices-imx31")]
    Method::TcbConfigureSingleStepping,
    Method::ArmSmcCall,
];
