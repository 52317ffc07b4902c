//! System-call numbers.

/// The system calls. Numbers are negative words, the same on every architecture; see the seL4
/// reference manual, chapter "System Calls".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(isize)]
#[allow(missing_docs, reason = "the names are the documentation of the manual")]
pub enum Syscall {
    Call = -1,
    ReplyRecv = -2,
    NBSendRecv = -3,
    NBSendWait = -4,
    Send = -5,
    NBSend = -6,
    Recv = -7,
    NBRecv = -8,
    Wait = -9,
    NBWait = -10,
    Yield = -11,
    DebugPutChar = -12,
    DebugDumpScheduler = -13,
    DebugHalt = -14,
    DebugCapIdentify = -15,
    DebugSnapshot = -16,
    DebugNameThread = -17,
    DebugSendIpi = -18,
    DebugGetThreadAffinity = -19,
    DebugRun = -20,
    BenchmarkFlushCaches = -21,
    BenchmarkResetLog = -22,
    BenchmarkFinalizeLog = -23,
    BenchmarkSetLogBuffer = -24,
    BenchmarkNullSyscall = -25,
    BenchmarkGetThreadUtilisation = -26,
    BenchmarkResetThreadUtilisation = -27,
    BenchmarkDumpAllThreadsUtilisation = -28,
    BenchmarkResetAllThreadsUtilisation = -29,
    X86DangerousWrmsr = -30,
    X86DangerousRdmsr = -31,
    VmEnter = -32,
    SetTlsBase = -33,
    /// Escapement, `debug` and `bench` kernels: ends the run. The cap register is the exit code.
    DebugExit = -1001,
    /// Escapement: continues when the current replenishment holds an amount of time, in microseconds: message
    /// word 0 (and 1 on 32-bit machines). The label of the reply is an error code.
    YieldUntilBudget = -1002,
    /// Escapement, `bench` kernels: reads the kernel's clock.
    BenchmarkReadClock = -1003,
    /// Escapement, `bench` kernels: programs the timer again with its deadline.
    BenchmarkSetTimer = -1004,
    /// Escapement, kernels with trace events: the program marks a point in the trace. Capability register: what, a
    /// number of [`Mark`](crate::Mark); message word 0: of which task; then a value of 64 bits.
    TraceMark = -1005,
}

impl Syscall {
    const ALL: [Self; 38] = {
        use Syscall::*;
        [
            Call,
            ReplyRecv,
            NBSendRecv,
            NBSendWait,
            Send,
            NBSend,
            Recv,
            NBRecv,
            Wait,
            NBWait,
            Yield,
            DebugPutChar,
            DebugDumpScheduler,
            DebugHalt,
            DebugCapIdentify,
            DebugSnapshot,
            DebugNameThread,
            DebugSendIpi,
            DebugGetThreadAffinity,
            DebugRun,
            BenchmarkFlushCaches,
            BenchmarkResetLog,
            BenchmarkFinalizeLog,
            BenchmarkSetLogBuffer,
            BenchmarkNullSyscall,
            BenchmarkGetThreadUtilisation,
            BenchmarkResetThreadUtilisation,
            BenchmarkDumpAllThreadsUtilisation,
            BenchmarkResetAllThreadsUtilisation,
            X86DangerousWrmsr,
            X86DangerousRdmsr,
            VmEnter,
            SetTlsBase,
            DebugExit,
            YieldUntilBudget,
            BenchmarkReadClock,
            BenchmarkSetTimer,
            TraceMark,
        ]
    };

    /// The register value of this call.
    pub const fn number(self) -> usize {
        self as isize as usize
    }

    /// The call with a given register value.
    pub fn from_number(number: usize) -> Option<Self> {
        let ordinal = (number as isize).wrapping_neg();
        match ordinal {
            1..=33 => Some(Self::ALL[ordinal as usize - 1]),
            1001 => Some(Self::DebugExit),
            1002 => Some(Self::YieldUntilBudget),
            1003 => Some(Self::BenchmarkReadClock),
            1004 => Some(Self::BenchmarkSetTimer),
            1005 => Some(Self::TraceMark),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Syscall;

    #[test]
    fn numbers_round_trip() {
        for call in Syscall::ALL {
            assert_eq!(Syscall::from_number(call.number()), Some(call));
        }
        for stranger in [
            0,
            1,
            (-34isize) as usize,
            isize::MIN as usize,
            (-1000isize) as usize,
            (-1006isize) as usize,
        ] {
            assert_eq!(Syscall::from_number(stranger), None);
        }
    }
}
