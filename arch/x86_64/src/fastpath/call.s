    # Call. Looks up the capability to the endpoint, and its badge.
6:  escapement_find
    mov r12d, r11d
    and r12d, {WRITABLE_ENDPOINT_MASK}
    cmp r12d, {WRITABLE_ENDPOINT}
    jne 9b
    test r11d, {MAY_REPLY}
    jz 9b
    mov rdi, [rdi + 8]
    sar r11, {OBJECT_SHIFT} - 4

    # Eligible if a single receiver waits. R12 is the server, RBX its registers. Threads in this queue are
    # blocked on receive. If this core owns the endpoint, it also owns the server and all its objects.
    mov rbx, [r11 + {ENDPOINT_QUEUE}]
    mov eax, ebx
    and eax, {ENDPOINT_STATE_MASK}
.if {CORES} > 1
    cmp eax, [rbp + {CORE_RECEIVING}]
    jne 5f
3:  and rbx, {NO_MARKS}
    mov r12, rbx
    add rbx, {REGISTERS}
.else
    cmp eax, {ENDPOINT_RECEIVING}
    jne 5f
3:  lea r12, [rbx - {ENDPOINT_RECEIVING}]
    add rbx, {REGISTERS} - {ENDPOINT_RECEIVING}
.endif

    # The server has a reply object, R13, and no scheduling context.
    mov r13, [rbx + {RECEIVES_WITH}]
    test r13, r13
    jz 9b
    cmp qword ptr [rbx + {SCHED_CONTEXT}], 0
    jne 9b
    escapement_require_next
    escapement_require_known

    # No exit to the slow path from here on. The server no longer waits; the caller, RDX, waits for the reply.
    mov r14, [rbp + {CURRENT_CONTEXT}]
.if {CORES} > 1
    or rdx, [rbp + {CORE_BITS}]
.endif
    and qword ptr [r11 + {ENDPOINT_QUEUE}], {HAS_THRESHOLD} + {CORE_MASK}
    mov qword ptr [rbx + {NEXT}], 0
    mov qword ptr [rbx + {PREVIOUS}], 0
    mov byte ptr [rbx + {MEMBERSHIP}], {NO_MEMBER}
    mov qword ptr [rbx + {STATE}], {RUNNING}
    mov [r13 + {REPLY_THREAD}], rdx
    mov qword ptr [rsp + {STATE}], {BLOCKED_ON_REPLY}
    mov [rsp + {CALLS_WITH}], r13

    # The reply object becomes the top of the call chain of the scheduling context, R14, which is donated.
    mov rcx, [r14 + {CONTEXT_REPLY}]
    mov [r14 + {CONTEXT_REPLY}], r13
    mov [r13 + {REPLY_BELOW}], rcx
    mov qword ptr [r13 + {REPLY_ABOVE}], {ABOVE_CONTEXT}
    mov [r13 + {REPLY_ABOVE_WHICH}], r14
    test rcx, rcx
    jz 7f
    mov qword ptr [rcx + {REPLY_ABOVE}], {ABOVE_REPLY}
    mov [rcx + {REPLY_ABOVE_WHICH}], r13
    jmp 7f

    # A receiver behind a threshold: the caller must have the budget, and the budget check threshold shows how
    # much is left beyond the smallest budget. A threshold with flags exceeds all budgets.
5:  xor eax, {HAS_THRESHOLD}
.if {CORES} > 1
    cmp eax, [rbp + {CORE_RECEIVING}]
.else
    cmp eax, {ENDPOINT_RECEIVING}
.endif
    jne 9b
    rdtsc
    shl rdx, 32
    or rax, rdx
    sub rax, [rbp + {NOW}]
    add rax, [rbp + {CONSUMED}]
    add rax, [r11 + {ENDPOINT_THRESHOLD}]
    cmp rax, [rbp + {CHECK_THRESHOLD}]
    jae 9b
    sub rbx, {HAS_THRESHOLD}
    jmp 3b
