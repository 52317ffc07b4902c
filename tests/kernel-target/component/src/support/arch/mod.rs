//! What tests need of the processor. Each architecture defines the same names.
//!
//! | name | purpose |
//! |---|---|
//! | `load`, `store`, `undefined` | functions whose first instruction may fault; `..._BYTES` long |
//! | `system_call`, `raw_system_call` | any system call, with all registers that the ABI uses |
//! | `SYSTEM_CALL_OFFSET` | offset of the instruction in `system_call` |
//! | `spin`, `call_once`, `call_twice` | programs of bare threads: no stack, registers as they are |
//! | `SECOND_CALL` | the registers that hold number and capability of `call_twice`'s second call |
//! | `fill_fpu`, `fpu_holds` | the contents of the floating-point registers |
//! | `count_up` | a program that increments a counter for ever |

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::*;

#[cfg(target_arch = "arm")]
mod arm;
#[cfg(target_arch = "arm")]
pub use arm::*;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

use userlib::CPtr;
use userlib::cap::Registers;

/// Registers of a bare thread that performs `call` on `cap` with an empty message, at `program`.
pub fn bare_registers(program: unsafe extern "C" fn(), call: abi::Syscall, cap: CPtr) -> Registers {
    let mut registers = Registers::default();
    registers.0[abi::registers::PC] = program as *const () as usize;
    registers.0[abi::registers::SYSCALL] = call.number();
    registers.0[abi::registers::CAP] = cap.0;
    registers
}
