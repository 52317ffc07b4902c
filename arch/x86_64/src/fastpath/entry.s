    # Exits to the slow path unless the thread with its registers at RBX may run next on the same scheduling
    # context: no other thread would have to run, and the timer deadline covers its priority.
.macro escapement_require_next
    movzx eax, byte ptr [rbx + {PRIORITY}]
    cmp al, [rsp + {PRIORITY}]
    je 2f
    lea edx, [rax + 1]
    cmp dx, [rbp + {DEADLINE_LOWEST}]
    jb 9b
    cmp dx, [rbp + {DEADLINE_END}]
    jae 9b
    cmp al, [rsp + {PRIORITY}]
    ja 2f
    mov rdx, [rbp + {NOW}]
    cmp rdx, [rbp + {DEADLINE_TIME}]
    jae 9b
    bsr rcx, [rbp + {READY_SUMMARY}]
    jz 2f
    bsr rdx, [rbp + {READY_WORDS} + rcx * 8]
    shl ecx, 6
    add ecx, edx
    cmp ecx, eax
    ja 9b
2:
.endm

    # Exits to the slow path unless the result of the address space lookup of the thread at RBX is still
    # valid, and the bases belong to the current thread, to which RDX is set.
.macro escapement_require_known
    mov rax, [rbx + {VSPACE}]
    cmp rax, [rbx + {SPACE}]
    jne 9b
    mov rax, [rbp + {GENERATION}]
    cmp rax, [rbx + {SPACE_REMOVALS}]
    jne 9b
    lea rdx, [rsp - {REGISTERS}]
    cmp rdx, [rbp + {BASES_OF}]
    jne 9b
.endm

    # Looks up the capability at the address RDI. Sets R11 to its first word, RDI to the address of its slot,
    # RAX to that of the CNode, and CL to its radix. Not eligible are messages that do not fit in registers or
    # have capabilities, and entries that need a budget check, which is when the threshold is zero. The CSpace
    # must have one level with a guard and radix that make up an address: `shr` takes its count from the
    # lowest bits of CL, which are the radix.
.macro escapement_find
    mov eax, esi
    and eax, {LENGTH_AND_CAPS}
    cmp eax, {MESSAGE_REGISTERS}
    ja 9b
    mov rbp, gs:[{KERNEL}]
.if {CORES} > 1
    # Take the entry lock in shared mode, unless it is held exclusively or this core was remotely modified.
    # The exchange is a barrier between the write and the reads (Intel SDM vol. 3, section 10.2.3.9).
    mov rcx, [rbp + {LOCK_STATE}]
    mov eax, {SHARED}
    xchg [rcx], rax
    mov rcx, [rbp + {LOCK_EXCLUSIVE}]
    movzx eax, byte ptr [rcx]
    or al, [rbp + {REMOTELY_MODIFIED}]
    jnz 9b
.endif
    cmp qword ptr [rbp + {CHECK_THRESHOLD}], 0
    je 9b
    mov rax, [rsp + {CSPACE}]
    mov ecx, eax
    shr ecx, {RADIX_SHIFT}
    mov r12d, eax
    and r12d, {WHOLE_CNODE_MASK}
    cmp r12d, {WHOLE_CNODE}
    jne 9b
    sar rax, {OBJECT_SHIFT}
    shl rax, 4
    mov r12, rdi
    shr r12, cl
    cmp r12, [rsp + {CSPACE} + 8]
    jne 9b
    shl r12, cl
    sub rdi, r12
    shl rdi, {SLOT_BITS}
    add rdi, rax
    mov r11, [rdi]
.endm

    # A system call of a kernel with fast paths. The processor has put the return address into RCX and the
    # flags into R11. All registers are saved into the thread's context first, so that an exit to the slow
    # path has nothing to undo. Then RSP points there, and RBP to the kernel. R10, R8, R9 and R15 keep the
    # message.
    swapgs
    mov gs:[{USER_STACK}], rsp
.if {MELTDOWN}
    mov rsp, gs:[{KERNEL_ROOT}]
    test rsp, rsp
    jz 2f
    mov cr3, rsp
2:
.endif
    mov rsp, gs:[{LOCAL_CURRENT}]
    mov [rsp + {RIP}], rcx
    sub rcx, {SYSCALL_BYTES}
    mov [rsp + {RESTART}], rcx
    mov rcx, gs:[{USER_STACK}]
    mov [rsp + {RSP}], rcx
    mov [rsp + {RFLAGS}], r11
    mov qword ptr [rsp + {VECTOR}], {SYSTEM_CALL}
    mov [rsp + {RAX}], rax
    mov [rsp + {RBX}], rbx
    mov [rsp + {RDX}], rdx
    mov [rsp + {RSI}], rsi
    mov [rsp + {RDI}], rdi
    mov [rsp + {RBP}], rbp
    mov [rsp + {R8}], r8
    mov [rsp + {R9}], r9
    mov [rsp + {R10}], r10
    mov [rsp + {R12}], r12
    mov [rsp + {R13}], r13
    mov [rsp + {R14}], r14
    mov [rsp + {R15}], r15

    cmp rdx, {CALL}
    je 6f
    cmp rdx, {REPLY_RECV}
    je 4f

    # All other system calls go to the portable kernel.
    mov rcx, rsp
    mov rsp, gs:[{STACK}]
    call escapement_other_system_call

    # Entries that are not eligible exit to the portable kernel here, with nothing changed.
9:  mov rdi, [rsp + {RDI}]
    mov rsi, [rsp + {RSI}]
    mov rdx, [rsp + {RDX}]
    mov rcx, rsp
    mov rsp, gs:[{STACK}]
    call escapement_call
