    # The thread R12, with its registers at RBX, runs on the scheduling context R14, which the current thread
    # donates or returns. RSI describes the message, and RDI is the badge.
7:  mov qword ptr [rsp + {SCHED_CONTEXT}], 0
    mov [rbx + {SCHED_CONTEXT}], r14
    mov [r14 + {CONTEXT_THREAD}], r12
    mov [rbp + {KERNEL_CURRENT}], r12
    mov gs:[{LOCAL_CURRENT}], rbx
    lea rax, [rbx + {REGISTERS_SIZE}]
    mov gs:[{TRAP_STACK}], rax

    # The message: only as many registers as it has words.
    and rsi, ~{CAPS_AND_UNWRAPPED}
    mov eax, esi
    and eax, {LENGTH}
    jz 8f
    mov [rbx + {R10}], r10
    dec eax
    jz 8f
    mov [rbx + {R8}], r8
    dec eax
    jz 8f
    mov [rbx + {R9}], r9
    dec eax
    jz 8f
    mov [rbx + {R15}], r15

    # Switch the address space, the floating-point registers and the bases.
8:  mov rax, [rbx + {SPACE_ROOT}]
    cmp rax, [rbp + {ACTIVE_ROOT}]
    je 5f
    mov [rbp + {ACTIVE_ROOT}], rax
.if {SPECTRE}
    mov r11, rax
    mov r13, rsp
    mov rsp, gs:[{STACK}]
    call escapement_forget_branches
    mov rsp, r13
    mov rax, r11
.endif
.if {MELTDOWN}
    mov gs:[{USER_ROOT}], rax
    cmp qword ptr gs:[{KERNEL_ROOT}], 0
    jne 5f
.endif
    mov cr3, rax
5:  xor edx, edx
    test byte ptr [rbx + {FLAGS}], {FPU_DISABLED}
    jnz 3f
    cmp byte ptr [rbp + {FPU_TRAPPING}], dl
    jne 4f
    # The current thread may use the unit, so that it is the owner of the registers.
    mov [rbp + {FPU_OWNER}], r12
    mov eax, [rbp + {FPU_COMPONENTS}]
    xsave64 [rsp + {FPU}]
    xrstor64 [rbx + {FPU}]
6:  mov [rbp + {BASES_OF}], r12
    mov byte ptr [rsp + {BASES_LOADED}], 0
    mov byte ptr [rbx + {BASES_LOADED}], 1
    # Selectors are cleared before the next thread runs, see `crate::bases`. RDX is zero.
    mov ds, edx
    mov es, edx
    rdfsbase rax
    mov [rsp + {FS_BASE}], rax
    mov fs, edx
    mov rax, [rbx + {FS_BASE}]
    wrfsbase rax
.if {CHECKED} + {MELTDOWN} + {MDS}
    # A kernel that checks its own invariants does so here, too. If the kernel is hidden from user mode, or
    # buffers are cleared, the return is that of all system calls.
    mov [rbx + {RDI}], rdi
    mov [rbx + {RSI}], rsi
    swapgs
    rdgsbase rax
    mov [rsp + {GS_BASE}], rax
    mov gs, edx
    mov rax, [rbx + {GS_BASE}]
    wrgsbase rax
    swapgs
.if {CHECKED}
    mov rsp, gs:[{STACK}]
    xor ebp, ebp
    call escapement_check
    jmp escapement_return_to_user
.endif
.if {CORES} > 1
    mov rax, [rbp + {LOCK_STATE}]
    mov qword ptr [rax], {UNLOCKED}
.endif
    mov rsp, rbx
    jmp escapement_return_to_thread
.else
    swapgs
    rdgsbase rax
    mov [rsp + {GS_BASE}], rax
    mov gs, edx
.if {CORES} > 1
    # Release the entry lock: what follows uses only core-local data, but not the previous thread.
    mov rax, [rbp + {LOCK_STATE}]
    mov qword ptr [rax], {UNLOCKED}
.endif
    mov rax, [rbx + {GS_BASE}]
    wrgsbase rax

    # Return to user mode. A thread that was interrupted, or had RCX or R11 written, returns by `iretq`.
    mov rsp, rbx
    mov rax, [rsp + {RAX}]
    mov rdx, [rsp + {RDX}]
    mov rbp, [rsp + {RBP}]
    mov r8, [rsp + {R8}]
    mov r9, [rsp + {R9}]
    mov r10, [rsp + {R10}]
    mov r12, [rsp + {R12}]
    mov r13, [rsp + {R13}]
    mov r14, [rsp + {R14}]
    mov r15, [rsp + {R15}]
    mov rbx, [rsp + {RBX}]
    cmp dword ptr [rsp + {VECTOR}], {SYSTEM_CALL}
    jne 2f
    mov rcx, [rsp + {RIP}]
    mov r11, [rsp + {RFLAGS}]
    mov rsp, [rsp + {RSP}]
    sysretq
2:  mov rcx, [rsp + {RCX}]
    mov r11, [rsp + {R11}]
    add rsp, {RIP}
    iretq
.endif

    # The next thread may not use the floating-point unit: its uses trap, and the registers stay with their
    # owner, which is another thread.
3:  cmp byte ptr [rbp + {FPU_TRAPPING}], dl
    jne 6b
    mov byte ptr [rbp + {FPU_TRAPPING}], 1
    mov rax, cr0
    or eax, {TASK_SWITCHED}
    mov cr0, rax
    jmp 6b

    # The next thread may use the unit, but the current one may not.
4:  clts
    mov [rbp + {FPU_TRAPPING}], dl
    mov rcx, [rbp + {FPU_OWNER}]
    cmp rcx, r12
    je 6b
    mov [rbp + {FPU_OWNER}], r12
    mov eax, [rbp + {FPU_COMPONENTS}]
    test rcx, rcx
    jz 5f
    xsave64 [rcx + {FPU_OF_THREAD}]
5:  xrstor64 [rbx + {FPU}]
    jmp 6b
.purgem escapement_find
.purgem escapement_require_next
.purgem escapement_require_known
