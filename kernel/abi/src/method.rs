//! Invocation labels: what a message to a kernel object asks for.

use crate::config::{AARCH32, AARCH64, ARM, HARDWARE_DEBUG, IOMMU, SMP, VTX, X86_64};
use crate::ordered::ordered;

/// The label of the first method that is not seL4's: high in the 20 bits that a label has on 32-bit
/// machines, far above all numbers of seL4.
const ADDITIONS: usize = 0xe5c00;

ordered! {
    /// The methods of kernel objects. The message label of an invocation is the method's number.
    pub enum Method {
        /// Never a method.
        InvalidInvocation if true,
        /// `Untyped_Retype`.
        UntypedRetype if true,
        /// `Tcb_ReadRegisters`.
        TcbReadRegisters if true,
        /// `Tcb_WriteRegisters`.
        TcbWriteRegisters if true,
        /// `Tcb_CopyRegisters`.
        TcbCopyRegisters if true,
        /// `Tcb_Configure`.
        TcbConfigure if true,
        /// `Tcb_SetPriority`.
        TcbSetPriority if true,
        /// `Tcb_SetMcPriority`.
        TcbSetMcPriority if true,
        /// `Tcb_SetSchedParams`.
        TcbSetSchedParams if true,
        /// `Tcb_SetTimeoutEndpoint`.
        TcbSetTimeoutEndpoint if true,
        /// `Tcb_SetIpcBuffer`.
        TcbSetIpcBuffer if true,
        /// `Tcb_SetSpace`.
        TcbSetSpace if true,
        /// `Tcb_Suspend`.
        TcbSuspend if true,
        /// `Tcb_Resume`.
        TcbResume if true,
        /// `Tcb_BindNotification`.
        TcbBindNotification if true,
        /// `Tcb_UnbindNotification`.
        TcbUnbindNotification if true,
        /// `Tcb_SetBreakpoint`.
        TcbSetBreakpoint if HARDWARE_DEBUG,
        /// `Tcb_GetBreakpoint`.
        TcbGetBreakpoint if HARDWARE_DEBUG,
        /// `Tcb_UnsetBreakpoint`.
        TcbUnsetBreakpoint if HARDWARE_DEBUG,
        /// `Tcb_ConfigureSingleStepping`.
        TcbConfigureSingleStepping if HARDWARE_DEBUG,
        /// `Tcb_SetTlsBase`.
        TcbSetTlsBase if true,
        /// `Tcb_SetFlags`.
        TcbSetFlags if true,
        /// `CNode_Revoke`.
        CNodeRevoke if true,
        /// `CNode_Delete`.
        CNodeDelete if true,
        /// `CNode_CancelBadgedSends`.
        CNodeCancelBadgedSends if true,
        /// `CNode_Copy`.
        CNodeCopy if true,
        /// `CNode_Mint`.
        CNodeMint if true,
        /// `CNode_Move`.
        CNodeMove if true,
        /// `CNode_Mutate`.
        CNodeMutate if true,
        /// `CNode_Rotate`.
        CNodeRotate if true,
        /// `Irq_IssueIrqHandler`.
        IrqIssueIrqHandler if true,
        /// `Irq_AckIrq`.
        IrqAckIrq if true,
        /// `Irq_SetIrqHandler`.
        IrqSetIrqHandler if true,
        /// `Irq_ClearIrqHandler`.
        IrqClearIrqHandler if true,
        /// `DomainSet_Set`.
        DomainSetSet if true,
        /// `DomainSchedule_Configure`.
        DomainScheduleConfigure if true,
        /// `DomainSchedule_SetStart`.
        DomainScheduleSetStart if true,
        /// `SchedControl_ConfigureFlags`.
        SchedControlConfigureFlags if true,
        /// `SchedContext_Bind`.
        SchedContextBind if true,
        /// `SchedContext_Unbind`.
        SchedContextUnbind if true,
        /// `SchedContext_UnbindObject`.
        SchedContextUnbindObject if true,
        /// `SchedContext_Consumed`.
        SchedContextConsumed if true,
        /// `SchedContext_YieldTo`.
        SchedContextYieldTo if true,
        /// `X86Pdpt_Map`.
        X86PdptMap if X86_64,
        /// `X86Pdpt_Unmap`.
        X86PdptUnmap if X86_64,
        /// `X86PageDirectory_Map`.
        X86PageDirectoryMap if X86_64,
        /// `X86PageDirectory_Unmap`.
        X86PageDirectoryUnmap if X86_64,
        /// `X86PageTable_Map`.
        X86PageTableMap if X86_64,
        /// `X86PageTable_Unmap`.
        X86PageTableUnmap if X86_64,
        /// `X86IoPageTable_Map`.
        X86IoPageTableMap if IOMMU,
        /// `X86IoPageTable_Unmap`.
        X86IoPageTableUnmap if IOMMU,
        /// `X86Page_Map`.
        X86PageMap if X86_64,
        /// `X86Page_Unmap`.
        X86PageUnmap if X86_64,
        /// `X86Page_MapIo`.
        X86PageMapIo if IOMMU,
        /// `X86Page_GetAddress`.
        X86PageGetAddress if X86_64,
        /// `X86Page_MapEpt`.
        X86PageMapEpt if VTX,
        /// `X86AsidControl_MakePool`.
        X86AsidControlMakePool if X86_64,
        /// `X86AsidPool_Assign`.
        X86AsidPoolAssign if X86_64,
        /// `X86IoPortControl_Issue`.
        X86IoPortControlIssue if X86_64,
        /// `X86IoPort_In8`.
        X86IoPortIn8 if X86_64,
        /// `X86IoPort_In16`.
        X86IoPortIn16 if X86_64,
        /// `X86IoPort_In32`.
        X86IoPortIn32 if X86_64,
        /// `X86IoPort_Out8`.
        X86IoPortOut8 if X86_64,
        /// `X86IoPort_Out16`.
        X86IoPortOut16 if X86_64,
        /// `X86IoPort_Out32`.
        X86IoPortOut32 if X86_64,
        /// `X86Irq_IssueIrqHandlerIoapic`.
        X86IrqIssueIrqHandlerIoapic if X86_64,
        /// `X86Irq_IssueIrqHandlerMsi`.
        X86IrqIssueIrqHandlerMsi if X86_64,
        /// `Tcb_SetEptRoot`.
        TcbSetEptRoot if VTX,
        /// `X86Vcpu_SetTcb`.
        X86VcpuSetTcb if VTX,
        /// `X86Vcpu_ReadVmcs`.
        X86VcpuReadVmcs if VTX,
        /// `X86Vcpu_WriteVmcs`.
        X86VcpuWriteVmcs if VTX,
        /// `X86Vcpu_EnableIoPort`.
        X86VcpuEnableIoPort if VTX,
        /// `X86Vcpu_DisableIoPort`.
        X86VcpuDisableIoPort if VTX,
        /// `X86Vcpu_WriteRegisters`.
        X86VcpuWriteRegisters if VTX,
        /// `X86EptPdpt_Map`.
        X86EptPdptMap if VTX,
        /// `X86EptPdpt_Unmap`.
        X86EptPdptUnmap if VTX,
        /// `X86EptPd_Map`.
        X86EptPdMap if VTX,
        /// `X86EptPd_Unmap`.
        X86EptPdUnmap if VTX,
        /// `X86EptPt_Map`.
        X86EptPtMap if VTX,
        /// `X86EptPt_Unmap`.
        X86EptPtUnmap if VTX,
        /// `ArmPageDirectory_CleanData`.
        ArmPageDirectoryCleanData if AARCH32,
        /// `ArmPageDirectory_InvalidateData`.
        ArmPageDirectoryInvalidateData if AARCH32,
        /// `ArmPageDirectory_CleanInvalidateData`.
        ArmPageDirectoryCleanInvalidateData if AARCH32,
        /// `ArmPageDirectory_UnifyInstruction`.
        ArmPageDirectoryUnifyInstruction if AARCH32,
        /// `ArmVspace_CleanData`.
        ArmVspaceCleanData if AARCH64,
        /// `ArmVspace_InvalidateData`.
        ArmVspaceInvalidateData if AARCH64,
        /// `ArmVspace_CleanInvalidateData`.
        ArmVspaceCleanInvalidateData if AARCH64,
        /// `ArmVspace_UnifyInstruction`.
        ArmVspaceUnifyInstruction if AARCH64,
        /// `ArmSmc_Call`.
        ArmSmcCall if AARCH64,
        /// `ArmPageTable_Map`.
        ArmPageTableMap if ARM,
        /// `ArmPageTable_Unmap`.
        ArmPageTableUnmap if ARM,
        /// `ArmPage_Map`.
        ArmPageMap if ARM,
        /// `ArmPage_Unmap`.
        ArmPageUnmap if ARM,
        /// `ArmPage_CleanData`.
        ArmPageCleanData if ARM,
        /// `ArmPage_InvalidateData`.
        ArmPageInvalidateData if ARM,
        /// `ArmPage_CleanInvalidateData`.
        ArmPageCleanInvalidateData if ARM,
        /// `ArmPage_UnifyInstruction`.
        ArmPageUnifyInstruction if ARM,
        /// `ArmPage_GetAddress`.
        ArmPageGetAddress if ARM,
        /// `ArmAsidControl_MakePool`.
        ArmAsidControlMakePool if ARM,
        /// `ArmAsidPool_Assign`.
        ArmAsidPoolAssign if ARM,
        /// `ArmIrq_IssueIrqHandlerTrigger`.
        ArmIrqIssueIrqHandlerTrigger if ARM,
        /// `ArmIrq_IssueSgiSignal`.
        ArmIrqIssueSgiSignal if ARM && !SMP,
        /// `ArmIrq_IssueIrqHandlerTriggerCore`.
        ArmIrqIssueIrqHandlerTriggerCore if ARM && SMP,
    }
    additions from ADDITIONS {
        /// `CNode_EndpointSetThreshold`.
        CNodeEndpointSetThreshold,
        /// `SchedContext_YieldToTimeout`.
        SchedContextYieldToTimeout,
        /// `Tcb_SetCriticality`.
        TcbSetCriticality,
        /// `Tcb_SetMcCriticality`.
        TcbSetMcCriticality,
        /// `SchedControl_SetCriticalityLevel`.
        SchedControlSetCriticalityLevel,
    }
}

#[cfg(test)]
mod tests {
    use super::Method;
    use crate::config;

    /// The host is numbered like pc99: without options as seL4's simulation settings, with `iommu`
    /// as its defaults, with `iommu` and `hwdebug` four more from the breakpoints on.
    #[test]
    fn labels_follow_the_options() {
        let debug = 4 * config::HARDWARE_DEBUG as usize;
        let iommu = config::IOMMU as usize;
        assert_eq!(Method::TcbUnbindNotification.number(), 15);
        assert_eq!(Method::TcbSetTlsBase.number(), 16 + debug);
        assert_eq!(Method::SchedContextYieldTo.number(), 38 + debug);
        assert_eq!(Method::X86PdptMap.number(), 39 + debug);
        assert_eq!(Method::X86PageMap.number(), 45 + debug + 2 * iommu);
        if !config::VTX {
            assert_eq!(
                Method::X86IrqIssueIrqHandlerMsi.number(),
                58 + debug + 3 * iommu
            );
            assert_eq!(Method::COUNT, 59 + debug + 3 * iommu);
        }
        assert_eq!(Method::ArmPageMap.checked_number(), None);
        for number in 0..Method::COUNT {
            assert_eq!(Method::from_number(number).unwrap().number(), number);
        }
        assert_eq!(Method::from_number(Method::COUNT), None);
    }

    #[test]
    fn additions_are_numbered_from_their_base() {
        assert_eq!(Method::CNodeEndpointSetThreshold.number(), 0xe5c00);
        assert_eq!(Method::SchedContextYieldToTimeout.number(), 0xe5c01);
        assert_eq!(Method::TcbSetCriticality.number(), 0xe5c02);
        assert_eq!(Method::TcbSetMcCriticality.number(), 0xe5c03);
        assert_eq!(Method::SchedControlSetCriticalityLevel.number(), 0xe5c04);
        for (index, method) in Method::ADDITIONS.iter().enumerate() {
            assert_eq!(method.number(), super::ADDITIONS + index);
            assert_eq!(Method::from_number(method.number()), Some(*method));
        }
        let behind = super::ADDITIONS + Method::ADDITIONS.len();
        assert!(behind < 1 << 20, "a label has 20 bits on 32-bit machines");
        for stranger in [super::ADDITIONS - 1, behind, usize::MAX] {
            assert_eq!(Method::from_number(stranger), None);
        }
    }
}
